"""Versions, notices, and papers and trials find each other by identifiers on either side; likeness unites nothing."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from builders import drug_record, record
from hypothesis import given
from hypothesis import strategies as st
from recorded import DOWN, publish, recorded
from trust_sample import PREPRINT_DOI, PUBLISHED_DOI

from willowbark.tools.records.evidence import Citation, Evidence
from willowbark.tools.works.identity import fetch_published, link, resolve, settle


def article(number: int, **more: Any) -> Evidence:
    return record(str(number), f"Article {number}", "Fever fell.", **more)


def preprint(number: int, **more: Any) -> Evidence:
    cited = Citation(
        source="preprint", title=f"Preprint {number}", url=f"https://europepmc.org/article/PPR/PPR{number}", date="2021"
    )
    return Evidence(content="Fever fell.", citation=cited, metadata={"ppr_id": f"PPR{number}", **more})


@pytest.mark.parametrize(
    ("early", "late"),
    [
        (preprint(1, published_version="2"), article(2)),
        (preprint(1, published_version="10.5555/two"), article(2, doi="10.5555/two")),
        (preprint(1), article(2, update_of=["ppr:PPR1"])),
        (preprint(1, doi="10.1101/1"), article(2, update_of=["pmid:9", "doi:10.1101/1"])),
        (preprint(1, pmid="9"), article(2, update_of=["pmid:9"])),
    ],
    ids=["PMID", "DOI", "article names Europe PMC's number", "article names the DOI", "article names the PMID"],
)
def test_either_side_joins_a_preprint_to_its_article(early: Evidence, late: Evidence) -> None:
    [kept] = settle([early, late])

    assert kept.key == late.key
    [linked] = kept.metadata["preprint_versions"]
    assert (linked["key"], linked["title"]) == (early.key, "Preprint 1")


@pytest.mark.parametrize("said", [{"updated_in": ["pmid:2"]}, {}], ids=["by the earlier", "by the later"])
def test_an_updated_review_speaks_for_its_earlier_version(said: dict[str, Any]) -> None:
    later = article(2) if said else article(2, update_of=["pmid:1"])
    [kept] = settle([article(1, **said), later])

    assert kept.key == "pmid:2"
    assert [each["key"] for each in kept.metadata["earlier_versions"]] == ["pmid:1"]
    assert "preprint_versions" not in kept.metadata


def test_the_last_of_a_chain_speaks_for_all() -> None:
    pool = [preprint(1, published_version="2"), article(2, updated_in=["pmid:3"]), article(3)]
    [kept] = settle(pool)

    assert kept.key == "pmid:3"
    assert len(kept.metadata["preprint_versions"]) == len(kept.metadata["earlier_versions"]) == 1


def test_a_ring_of_versions_unites_nothing() -> None:
    pool = [article(1, updated_in=["pmid:2"]), article(2, updated_in=["pmid:1"])]

    assert settle(pool) == pool


@pytest.mark.parametrize("flag", ["retracted", "expression_of_concern", "corrected"])
def test_a_notice_in_the_pool_flags_the_record_that_it_is_on(flag: str) -> None:
    notice = article(9, kind="notice", notice_on=[{"flag": flag, "name": "pmid:1"}])
    flagged, other, kept = settle([article(1), article(2), notice])

    assert flagged.metadata[flag] is True
    assert [each["key"] for each in flagged.metadata["notices"]] == ["pmid:9"]
    assert other == article(2)
    assert kept == notice


def test_a_record_that_is_two_notices_on_another_raises_both_flags() -> None:
    said = [{"flag": "retracted", "name": "pmid:1"}, {"flag": "corrected", "name": "pmid:1"}]
    flagged, _ = settle([article(1), article(9, kind="notice", notice_on=said)])
    assert (flagged.metadata["retracted"], flagged.metadata["corrected"]) == (True, True)


async def test_what_biorxiv_says_settles_it_of_no_more_preprints_than_the_limit() -> None:
    pool = [preprint(1, doi=PREPRINT_DOI), preprint(3, doi=f"{PREPRINT_DOI}1"), article(2, doi=PUBLISHED_DOI)]
    seen = list[httpx.Request]()
    async with recorded(seen=seen) as way:
        resolved = await resolve(pool, way, 1)

        before = len(seen)
        assert await resolve(resolved[:1], way) == resolved[:1]  # known, and not looked up again
        assert len(seen) == before

    assert resolved[0].metadata["published_version"] == PUBLISHED_DOI
    assert [record.key for record in settle(resolved)] == [pool[1].key, "pmid:2"]
    assert {request.url.path.split("/")[-3] for request in seen} == {PREPRINT_DOI.partition("/")[2]}


async def test_a_failure_is_kept_as_such_and_the_pool_stays_whole() -> None:
    pool = [preprint(1, doi=PREPRINT_DOI), article(2, doi=PUBLISHED_DOI)]
    async with recorded({"biorxiv/*": DOWN}) as way:
        resolved = await resolve(pool, way)

    assert "no answer" in resolved[0].metadata["published_version_unknown"]
    assert settle(resolved) == resolved


async def test_the_article_that_a_preprint_became_is_fetched_where_the_pool_lacks_it(tmp_path: Path) -> None:
    replies = publish(tmp_path, {"pmid": "99999977", "doi": PUBLISHED_DOI, "title": "Placebinol, published"})
    waiting = preprint(1, doi=PREPRINT_DOI, published_version=PUBLISHED_DOI).model_copy(update={"relevance": 0.5})
    seen = list[httpx.Request]()
    async with recorded(seen=seen, replies=replies) as way:
        [found] = await fetch_published([waiting], [waiting], way)
        assert await fetch_published([waiting], [waiting, found], way) == []
    async with recorded({"europepmc/*": DOWN}) as way:
        assert await fetch_published([waiting], [waiting], way) == []

    assert len(seen) == 1
    assert (found.metadata["pmid"], found.relevance) == ("99999977", 0.5)
    assert [record.key for record in settle([waiting, found])] == ["pmid:99999977"]


NUMBERS = st.integers(1, 5)
POOLS = st.lists(
    st.builds(lambda n, v: preprint(n, published_version=str(v)), NUMBERS, NUMBERS)
    | st.builds(lambda n, v: article(n, updated_in=[f"pmid:{v}"]), NUMBERS, NUMBERS)
    | st.builds(lambda n, v: article(n, update_of=[f"pmid:{v}", f"ppr:PPR{v}"]), NUMBERS, NUMBERS)
    | st.builds(article, NUMBERS),
    max_size=7,
    unique_by=lambda each: each.key,
)


@given(POOLS)
def test_every_record_stays_or_is_linked_whatever_says_what_of_whom(pool: list[Evidence]) -> None:
    once = settle(pool)
    linked = {
        each["key"]
        for r in once
        for kind in ("preprint_versions", "earlier_versions")
        for each in r.metadata.get(kind, [])
    }

    assert {record.key for record in once} | linked == {record.key for record in pool}
    assert not {record.key for record in once} & linked
    assert settle(once) == once


def trial(number: int = 1, **more: Any) -> Evidence:
    nct_id = f"NCT9999990{number}"
    citation = Citation(source="clinicaltrials", title="A trial", url=f"https://clinicaltrials.gov/study/{nct_id}")
    return Evidence(content="A trial", citation=citation, metadata={"nct_id": nct_id, **more})


@pytest.mark.parametrize(
    ("of_paper", "of_trial", "linked"),
    [
        ({"nct_ids": ["NCT99999901"]}, {}, True),
        ({}, {"result_pmids": ["1", "2"]}, True),
        ({"nct_ids": ["NCT99999902"]}, {"result_pmids": ["7"]}, False),
    ],
    ids=["registered", "named as its result", "outside the pool"],
)
def test_papers_and_trials_are_linked_on_both_sides(
    of_paper: dict[str, Any], of_trial: dict[str, Any], linked: bool
) -> None:
    paper, registered = link([article(1, **of_paper), trial(**of_trial)])

    assert paper.record.linked_trials == ["nct:NCT99999901"] * linked
    assert registered.record.linked_papers == ["pmid:1"] * linked


def test_trials_and_drugs_that_name_a_trial_are_no_papers() -> None:
    other = trial(2).model_copy(update={"content": "Extension of NCT99999901"})
    drug = drug_record("propranolol", "antagonist", "ADRB1")
    drug = drug.model_copy(update={"content": f"{drug.content} NCT99999901"})

    assert link([trial(), other, drug]) == [trial(), other, drug]


LINKED = st.lists(
    st.builds(
        lambda n, ncts: article(n, nct_ids=[f"NCT9999990{i}" for i in ncts]),
        NUMBERS,
        st.lists(st.integers(1, 4), max_size=3),
    )
    | st.builds(
        lambda n, pmids: trial(n, result_pmids=[str(i) for i in pmids]),
        st.integers(1, 4),
        st.lists(NUMBERS, max_size=3),
    ),
    max_size=7,
    unique_by=lambda each: each.key,
)


@given(LINKED)
def test_every_link_is_seen_from_both_sides_and_linking_twice_is_linking_once(pool: list[Evidence]) -> None:
    linked = link(pool)
    forth = {(each.key, other) for each in linked for other in each.record.linked_trials}
    back = {(other, each.key) for each in linked for other in each.record.linked_papers}

    assert forth == back
    assert link(linked) == linked
