"""STRING: partners of the targets of drugs, in one request; an error inside a list is named."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from recorded import answering, recorded

from willowbark.agents.report.forms.links import safe_url
from willowbark.tools.errors import SourceRefused, UnreadableReply
from willowbark.tools.search import Status
from willowbark.tools.sources.drugs.stringdb import STRING

REPLIES = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "replies" / "biomcp_string"
BRAF, MAP2K1 = "9606.ENSP00000493543", "9606.ENSP00000302486"


def row(partner: str = "MAP2K1", score: Any = 0.999, **more: Any) -> dict[str, Any]:
    ends = {"stringId_A": BRAF, "stringId_B": MAP2K1, "preferredName_A": "BRAF", "preferredName_B": partner}
    return {**ends, "ncbiTaxonId": "9606", "score": score, "escore": 0.9, "dscore": 0, "tscore": 0.99, **more}


async def test_a_drug_gives_the_partners_of_its_targets_in_one_request() -> None:
    pairs = [row(preferredName_A="ADRB1"), row("ADRB2", 0.8, preferredName_A="ADRB1")]
    seen = list[httpx.Request]()
    async with recorded({"stringdb/*": httpx.Response(200, json=pairs)}, seen) as transport:
        found = await STRING(transport).look_up("propranolol")
        again = await STRING(transport).look_up("propranolol")

    assert [(each["symbol"], each["score"]) for each in found.records[0].metadata["partners"]] == [
        ("MAP2K1", 0.999),
        ("ADRB2", 0.8),
    ]
    assert "ADRB1 works together with ADRB2 (score 0.800; experiments 0.900; texts 0.990)." in found.records[0].content
    assert safe_url(found.records[0].citation.url) == f"https://string-db.org/network/{BRAF}"
    assert [record.key for record in found.records] == [record.key for record in again.records]
    assert sum(each.url.path.startswith("/stringdb/") for each in seen) == 1


async def test_human_partners_of_high_confidence_alone_are_asked_for_by_symbol() -> None:
    asked: list[httpx.Request] = []
    found = await answering(STRING, httpx.Response(200, json=[row()]), asked).find("BRAF OR NOSUCH1", 5)

    params = asked[0].url.params
    assert (params["identifiers"], params["species"]) == ("BRAF\rNOSUCH1", "9606")
    assert (params["required_score"], params["caller_identity"]) == ("700", "willowbark")
    assert found.warnings == ["no partner is listed of NOSUCH1"]


async def test_a_later_page_goes_on_behind_the_earlier_ones() -> None:
    pairs = [row(preferredName_A="ADRB1"), row(preferredName_A="ADRB2", stringId_A=MAP2K1)]
    async with recorded({"stringdb/*": httpx.Response(200, json=pairs)}) as transport:
        for query in ("propranolol", "ADRB1 ADRB2"):
            pages = [await STRING(transport).find(query, 1, {"page": page}) for page in (1, 2, 3)]
            shown = [[record.metadata["gene_symbol"] for record in page.records] for page in pages]
            assert shown == [["ADRB1"], ["ADRB2"], []], query


async def test_a_row_that_is_odd_or_of_no_human_costs_itself_alone() -> None:
    rows = [row(), row(stringId_B="10090.ENSMUSP00000002487"), row("A", "odd"), {}, None, row(preferredName_B=None)]
    found = await answering(STRING, httpx.Response(200, json=rows)).find("BRAF", 5)

    told = [(each["symbol"], each["score"]) for each in found.records[0].metadata["partners"]]
    assert told == [("MAP2K1", 0.999), ("A", 0.0)]


async def test_names_that_it_does_not_know_are_a_true_zero() -> None:
    for status in (200, 404):
        body = [{"Error": "not found", "ErrorMessage": "no such protein"}]
        found = await answering(STRING, httpx.Response(status, json=body)).find("NOSUCH1", 5)
        assert (found.status, found.records) == (Status.EMPTY, [])


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(200, json=[{"Error": "busy", "ErrorMessage": "try http://x.example/?k=1"}]), SourceRefused),
        (httpx.Response(400, json={"Error": "bad input"}), SourceRefused),
        (httpx.Response(404, json=[]), UnreadableReply),
        (httpx.Response(200, json={}), UnreadableReply),
    ],
)
async def test_no_failure_looks_like_no_partner(answer: httpx.Response, error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        await answering(STRING, answer).find("BRAF")
    assert "x.example" not in str(raised.value)


@pytest.mark.skipif(not REPLIES.exists(), reason="../shared/data/replies/biomcp_string is not beside this clone")
async def test_a_real_reply_is_read() -> None:
    [path] = REPLIES.rglob("*network_braf*.json")
    found = await answering(STRING, httpx.Response(200, content=path.read_bytes())).find("CDC37", 5)

    [record] = found.records
    assert [each["symbol"] for each in record.metadata["partners"]] == ["NRAS", "KRAS", "HRAS", "MAP2K2", "MAP2K1"]
    assert record.metadata["string_id"] == "9606.ENSP00000222005"
    assert record.metadata["partners"][0]["parts"] == {"experiments": 0.046, "databases": 0.5, "texts": 0.304}
