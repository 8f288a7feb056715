"""Reactome: pathways by their numbers and by name; nothing found is told from a failure."""

import asyncio
import gc

import httpx
import pytest
from recorded import answering, recorded

from willowbark.agents.report.forms import safe_url
from willowbark.tools.sources.drugs.reactome import MAX_SUMMARY, Reactome, parse_pathway


async def test_pathways_of_many_drugs_are_had_in_one_request_as_plain_text() -> None:
    seen = list[httpx.Request]()
    async with recorded(seen=seen) as transport:
        found = await Reactome(transport).look_up("propranolol", "losartan", "candesartan")
        again = await Reactome(transport).look_up("propranolol")

    assert [each.method for each in seen if each.url.path.startswith("/reactome/")] == ["POST"]
    assert next(record.metadata["process_name"] for record in again.records) == "Adrenoceptors"
    assert {record.key for record in again.records} <= {record.key for record in found.records}
    assert [record for record in found.records if safe_url(record.citation.url) != record.citation.url] == []


@pytest.mark.parametrize("steps", range(12))
async def test_a_look_up_that_is_cancelled_at_any_step_leaves_no_request_unasked(steps: int) -> None:
    async with recorded() as transport:
        looking_up = asyncio.ensure_future(Reactome(transport).look_up("propranolol"))
        for _ in range(steps):
            await asyncio.sleep(0)
        looking_up.cancel()
        await asyncio.gather(looking_up, return_exceptions=True)
    gc.collect()


async def test_pathways_are_found_by_words_a_page_at_a_time() -> None:
    entries = [{"stId": f"R-HSA-{number}", "name": f"Signaling {number}"} for number in (1, 2, 3)]
    answer = httpx.Response(200, json={"results": [{"entries": entries[:2]}, {"entries": entries[2:]}]})
    pages = [await answering(Reactome, answer).find("signaling pathway", 2, {"page": number}) for number in (1, 2)]

    shown = [[record.metadata["process_id"] for record in each.records] for each in pages]
    assert shown == [["R-HSA-1", "R-HSA-2"], ["R-HSA-3"]]
    assert [each.total for each in pages] == [3, 3]


def test_markup_is_taken_off_and_long_summaries_end_with_a_sentence() -> None:
    long = {"stId": "R-HSA-1", "name": '<span class="highlighting" >MAPK</span> cascade'}
    found = parse_pathway({**long, "summation": [{"text": f"First <br> sentence. {'It goes on. ' * 200}"}]})

    assert found is not None
    assert found.metadata["process_name"] == "MAPK cascade"
    assert len(found.metadata["summary"]) <= MAX_SUMMARY
    assert found.metadata["summary"].endswith("It goes on.")
    assert parse_pathway({**long, "stId": "R-MMU-1"}) is None
