"""Trust: any source is enough to flag a record, and no answer is no clean record."""

from collections.abc import Mapping
from typing import Any

import httpx
import pytest
from builders import drug_record, record
from faults.breakage import FaultyServer
from faults.plan import Fault, FaultPlan
from recorded import DOWN, PAGE, Answer, recorded
from trust_sample import CLEAN_DOI, RETRACTED_DOI, RETRACTED_PMID, transport

from willowbark.tools.records import FLAGS
from willowbark.tools.records.evidence import Citation, Evidence
from willowbark.tools.works.trust import TrustState, check_trust, is_unchecked, retraction_note, trust_summary

EVERY_SOURCE = ("pubmed", "europepmc", "crossref", "openalex")


def bare(pmid: str | None = None, doi: str | None = None, **more: Any) -> Evidence:
    known = {name: value for name, value in {"pmid": pmid, "doi": doi}.items() if value}
    citation = Citation(source="web", title="A paper", url=f"https://example.org/{pmid}{doi}")
    return Evidence(content="A paper", citation=citation, metadata={**known, **more})


async def checked(*records: Evidence, others: Mapping[str, Answer] | None = None, **more: Any) -> list[Evidence]:
    async with recorded(others) as way:
        return await check_trust(records, way, **more)


async def test_a_retraction_that_only_crossref_knows_of_is_found() -> None:
    [found] = await checked(bare(RETRACTED_PMID, RETRACTED_DOI), others={"openalex/*": DOWN}, deadline_s=60)

    assert found.metadata["trust_state"] == TrustState.RETRACTED
    assert found.metadata["retracted"] is True
    assert found.metadata["trust_checked"] == ["crossref", "europepmc", "pubmed"]
    assert {"kind": "retraction", "doi": "10.1016/s0140-6736(10)60175-4", "date": "2010-02-06"}.items() <= (
        found.metadata["trust_notices"][-1].items()
    )
    assert [reason.partition(":")[0] for reason in found.metadata["trust_unanswered"]] == ["openalex"]


async def test_a_record_that_all_sources_know_nothing_against_is_clean() -> None:
    [found] = await checked(bare("99999951", CLEAN_DOI))

    assert found.metadata["trust_state"] == "checked-clean"
    assert found.metadata["trust_checked"] == sorted(EVERY_SOURCE)
    assert found.metadata["trust_unanswered"] == []
    assert found.metadata["cited_by_count"] == 7
    assert [name for name in FLAGS if found.metadata[name]] == []


async def test_a_record_that_no_source_knows_could_not_be_checked() -> None:
    [found] = await checked(bare("99999999", "10.5555/nobody.knows"))

    assert found.metadata["trust_state"] == "could not check"
    assert len(found.metadata["trust_unanswered"]) == len(EVERY_SOURCE)
    assert not set(FLAGS) & set(found.metadata)


@pytest.mark.parametrize("how", [DOWN, PAGE], ids=["down", "web page"])
async def test_all_sources_down_is_could_not_check_and_never_an_error(how: Answer) -> None:
    [found, flagged] = await checked(bare("1", CLEAN_DOI), bare("2", retracted=True), others={"*": how})

    assert (found.metadata["trust_state"], flagged.metadata["trust_state"]) == (
        TrustState.UNCHECKED,
        TrustState.RETRACTED,  # a flag once raised is never lowered
    )
    assert found.metadata["trust_checked"] == []
    assert "retracted" not in found.metadata


async def test_sources_that_hang_are_left_at_the_deadline() -> None:
    """Each source has the time for itself: the others are asked at once and answer long before."""
    slow = FaultPlan(faults=tuple(Fault(kind="hang", source=name) for name in ("crossref", "openalex")))
    with FaultyServer(slow) as server:
        async with transport(server) as way:
            [found] = await check_trust([bare("99999951", CLEAN_DOI)], way, deadline_s=10)

    assert found.metadata["trust_state"] == "checked-clean"
    assert found.metadata["trust_checked"] == ["europepmc", "pubmed"]
    assert "crossref: no answer within 10 s" in found.metadata["trust_unanswered"]


async def test_what_a_source_has_just_given_is_not_asked_for_again() -> None:
    fresh = record("99999952", "Record 2", retracted=False, expression_of_concern=True)
    seen = list[httpx.Request]()
    async with recorded(seen=seen) as way:
        [found] = await check_trust([fresh], way)

    assert {request.url.path.split("/")[1] for request in seen} == {"europepmc"}
    assert found.metadata["trust_state"] == TrustState.CONCERN
    assert found.metadata["trust_checked"] == ["europepmc", "pubmed"]


async def test_trials_and_drugs_come_back_as_they_are_and_the_order_is_kept() -> None:
    trial = bare(nct_id="NCT03194555")
    pool = [drug_record("propranolol", "antagonist", "ADRB1"), bare("99999951"), trial, bare("99999954")]
    found = await checked(*pool)

    assert [each.key for each in found] == [each.key for each in pool]
    assert (found[0], found[2]) == (pool[0], pool[2])


async def test_many_records_take_few_requests() -> None:
    pool = [bare(str(99990000 + i), f"10.5555/many.{i}") for i in range(45)]
    seen = list[httpx.Request]()
    async with recorded(seen=seen) as way:
        *_, last = await check_trust(pool, way)

    asked = [request.url.path.split("/")[1] for request in seen]
    assert {name: asked.count(name) for name in EVERY_SOURCE} == {
        "pubmed": 1,
        "europepmc": 2,
        "crossref": 3,
        "openalex": 40,
    }
    assert last.metadata["trust_unanswered"][2:] == [
        "crossref: does not list it",
        "openalex: asked about the first 40 records alone",
    ]


async def test_a_retraction_is_told_with_those_who_say_so_and_its_notice() -> None:
    [told, known] = await checked(
        bare(RETRACTED_PMID, RETRACTED_DOI), record("99999954", "Record 4", retracted=True), deadline_s=60
    )

    assert told.metadata["trust_flagged"] == {"retracted": ["crossref", "openalex"], "corrected": ["crossref"]}
    assert retraction_note(told) == (
        f'pmid:{RETRACTED_PMID} "A paper" (Crossref and OpenAlex; notice doi:10.1016/s0140-6736(10)60175-4, 2010-02-06)'
    )
    assert retraction_note(known) == 'pmid:99999954 "Record 4" (PubMed and Europe PMC)'
    assert retraction_note(record("1", "A paper", retracted=True)) == 'pmid:1 "A paper" (PubMed)'


async def test_who_raised_a_flag_is_kept_when_it_is_checked_again_with_all_sources_down() -> None:
    once = await checked(bare(RETRACTED_PMID, RETRACTED_DOI), deadline_s=60)
    [again] = await checked(*once, others={"*": DOWN})

    assert again.metadata["trust_flagged"] == once[0].metadata["trust_flagged"]


@pytest.mark.parametrize(
    ("paper", "unchecked"),
    [
        (bare("1"), True),
        (bare("1", trust_state="could not check"), True),
        (bare("1", trust_state="checked-clean"), False),
        (bare("1", retracted=False), False),
        (bare(nct_id="NCT03194555"), False),
        (drug_record("propranolol", "antagonist", "ADRB1"), False),
    ],
)
def test_a_publication_that_nobody_vouches_for_is_unchecked(paper: Evidence, unchecked: bool) -> None:
    assert is_unchecked(paper) is unchecked


async def test_the_summary_says_what_was_checked_what_was_found_and_what_was_not_checked() -> None:
    pool = [bare("99999951", CLEAN_DOI), bare(RETRACTED_PMID, RETRACTED_DOI), bare("99999999")]
    said = trust_summary(await checked(*pool))

    assert said.startswith(
        "2 of 3 publications behind the candidates were checked for retraction, expression of concern and correction"
    )
    assert "with PubMed, Europe PMC, Crossref and OpenAlex; 1 retracted." in said
    assert "1 could not be checked (PubMed: does not list it; Europe PMC: does not list it)." in said
    assert "not by every source" not in said
    assert "with the local library alone" in trust_summary(await checked(*pool), in_library=True)
    assert trust_summary(pool) == ""
