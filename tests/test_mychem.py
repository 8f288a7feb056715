"""MyChem.info: asked where ChEMBL gives no answer; an object in place of a list is read as one."""

from typing import Any

import httpx
import pytest
from autogen_core import CancellationToken
from recorded import DOWN, answering, recorded

from willowbark.agents.report.forms import safe_url
from willowbark.tools.records.registry import list_offered
from willowbark.tools.search import Status
from willowbark.tools.sources.drugs.mychem import MyChem
from willowbark.tools.toolbox import DrugArgs, GetMechanisms


@pytest.mark.parametrize("down", [True, False])
async def test_it_stands_in_for_chembl_and_is_not_asked_otherwise(down: bool) -> None:
    seen = list[httpx.Request]()
    async with recorded({"chembl/*": DOWN} if down else {}, seen) as transport:
        tool = GetMechanisms()
        tool.bind(transport, "mark")
        replies = (await tool.run(DrugArgs(drugs=["propranolol", "nosuch"]), CancellationToken())).replies

    statuses = {reply.source: reply.status for reply in replies}
    assert statuses["chembl"] is (Status.UNAVAILABLE if down else Status.OK)
    assert ("mychem" in statuses) is down
    assert ("/mychem" in {request.url.path[:7] for request in seen}) is down
    if down:
        [record] = next(reply.records for reply in replies if reply.source == "mychem")
        genes = [gene for each in record.metadata["mechanisms"] for gene in each.get("gene_symbols", ())]
        assert genes == ["ADRB1", "ADRB2"]
        assert "Propranolol: antagonist (target Beta-1 adrenergic receptor)." in record.content
        assert safe_url(record.citation.url) == record.citation.url
    assert "mychem" not in list_offered()


async def test_salts_belong_to_the_drug_and_what_only_resembles_it_does_not() -> None:
    hits: list[dict[str, Any]] = [
        {"_id": "SALT-1", "chembl": {"pref_name": "WARFARIN SODIUM", "drug_mechanisms": {"target_name": "VKOR"}}},
        {"_id": "PARENT-1", "chembl": {"pref_name": "WARFARIN", "molecule_chembl_id": "CHEMBL1464"}},
        {"_id": "OTHER-1", "chembl": {"pref_name": "BROMADIOLONE", "drug_mechanisms": [{"target_name": "X"}]}},
        {"_id": "odd", "chembl": "text", "gtopdb": None},
    ]
    [record] = (
        await answering(MyChem, httpx.Response(200, json={"total": 4, "hits": hits})).look_up("warfarin")
    ).records

    assert (record.metadata["chembl_id"], record.metadata["mechanisms"]) == ("CHEMBL1464", [{"target_name": "VKOR"}])
    assert record.citation.url == "https://mychem.info/v1/chem/PARENT-1"
