"""DGIdb: genes of drugs and drugs of genes; an error inside 200 is named."""

import json
from pathlib import Path

import httpx
import pytest

from willowbark.agents.report.forms.links import safe_url
from willowbark.tools.errors import SourceRefused, SourceUnavailable, UnreadableReply
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.limiter import RateLimiter
from willowbark.tools.http.transport import RetryPolicy, Transport
from willowbark.tools.http.wire import HttpxWire
from willowbark.tools.registry import offered
from willowbark.tools.sandbox.server import SandboxServer
from willowbark.tools.search import Status
from willowbark.tools.sources.drugs.dgidb import DGIdb

REPLIES = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "replies" / "biomcp_dgidb"


def answering(answer: httpx.Response) -> DGIdb:
    def send(request: httpx.Request) -> httpx.Response:
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    wires = {"httpx": HttpxWire(httpx.MockTransport(send))}
    policy = RetryPolicy(attempts=1)
    return DGIdb(Transport(Endpoints.public({}), policy=policy, limiter=RateLimiter(None), wires=wires))


async def test_a_drug_gives_its_genes_and_a_gene_its_drugs() -> None:
    with SandboxServer() as server:
        async with Transport(Endpoints.sandbox(server.url)) as transport:
            drug = await DGIdb(transport).look_up("propranolol", "nosuch")
            gene = await DGIdb(transport).find("ADRB1", 50)

    assert [m["gene_symbols"] for m in drug.records[0].metadata["mechanisms"]] == [["ADRB1"], ["ADRB2"]]
    assert drug.warnings == ["no drug is named 'nosuch'"]
    assert "propranolol" in {record.metadata["drug"] for record in gene.records}
    assert all(safe_url(record.citation.url) == record.citation.url for record in gene.records)
    assert "dgidb" not in offered()


async def test_interactions_with_an_action_come_first_and_one_without_is_kept() -> None:
    rows = [
        {"gene": {"name": "B"}, "interactionScore": 9.0, "interactionTypes": []},
        {"gene": {"name": "A"}, "interactionScore": 0.1, "interactionTypes": [{"type": "inhibitor"}]},
        {"gene": None, "interactionScore": "odd"},
    ]
    node = {"name": "PROPRANOLOL", "interactions": rows}
    found = await answering(httpx.Response(200, json={"data": {"drugs": {"nodes": [node, {}]}}})).look_up("propranolol")

    assert found.records[0].metadata["mechanisms"] == [
        {"gene_symbols": ["A"], "action_type": "inhibitor"},
        {"gene_symbols": ["B"]},
    ]


async def test_no_node_is_a_true_zero() -> None:
    found = await answering(httpx.Response(200, json={"data": {"genes": {"nodes": []}}})).find("NOSUCH1")

    assert (found.status, found.records) == (Status.EMPTY, [])


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(200, json={"errors": [{"message": "Field 'x' doesn't exist"}]}), SourceRefused),
        (httpx.Response(200, json={"data": None}), UnreadableReply),
        (httpx.Response(200, html="<html>down</html>"), UnreadableReply),
        (httpx.Response(502), SourceUnavailable),
    ],
)
async def test_no_failure_looks_like_no_interaction(answer: httpx.Response, error: type[Exception]) -> None:
    with pytest.raises(error):
        await answering(answer).find("ADRB1")


@pytest.mark.skipif(not REPLIES.exists(), reason="../shared/data/replies/biomcp_dgidb is not beside this clone")
@pytest.mark.parametrize(
    ("name", "drug"), [("gene_braf_interactions", "dabrafenib"), ("gene_egfr_20260811", "panitumumab")]
)
async def test_real_replies_are_read(name: str, drug: str) -> None:
    [path] = REPLIES.rglob(f"*dgidb__{name}.json")
    found = await answering(httpx.Response(200, json=json.loads(path.read_text()))).find("BRAF", 50)

    assert drug in {record.metadata["drug"] for record in found.records}
