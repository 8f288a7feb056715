"""Papers and trials find each other by NCT number, from either side."""

from typing import Any

from builders import drug_record, record
from hypothesis import given
from hypothesis import strategies as st

from willowbark.tools.evidence import Citation, Evidence
from willowbark.tools.works.identity import link


def trial(number: int = 1, **more: Any) -> Evidence:
    nct_id = f"NCT9999990{number}"
    citation = Citation(source="clinicaltrials", title="A trial", url=f"https://clinicaltrials.gov/study/{nct_id}")
    return Evidence(content="A trial", citation=citation, metadata={"nct_id": nct_id, **more})


def links(pool: list[Evidence]) -> list[tuple[str, list[str]]]:
    return [
        (each.key, each.metadata.get("linked_trials") or each.metadata.get("linked_papers") or [])
        for each in link(pool)
    ]


def test_a_registration_links_both_sides() -> None:
    assert links([record("1", "A paper", nct_ids=["NCT99999901"]), trial()]) == [
        ("pmid:1", ["nct:NCT99999901"]),
        ("nct:NCT99999901", ["pmid:1"]),
    ]


def test_a_result_that_the_trial_names_links() -> None:
    assert links([trial(result_pmids=["1", "2"]), record("1", "A paper")]) == [
        ("nct:NCT99999901", ["pmid:1"]),
        ("pmid:1", ["nct:NCT99999901"]),
    ]


def test_records_outside_the_pool_are_not_linked() -> None:
    assert links([trial(result_pmids=["7"]), record("1", "A paper", nct_ids=["NCT99999902"])]) == [
        ("nct:NCT99999901", []),
        ("pmid:1", []),
    ]


def test_trials_and_drugs_that_name_a_trial_are_no_papers() -> None:
    other = trial(2).model_copy(update={"content": "Extension of NCT99999901"})
    drug = drug_record("propranolol", "antagonist", "ADRB1")
    drug = drug.model_copy(update={"content": f"{drug.content} NCT99999901"})

    assert all(found == [] for _, found in links([trial(), other, drug]))


POOLS = st.lists(
    st.builds(
        lambda n, ncts: record(str(n), "A paper", nct_ids=[f"NCT9999990{i}" for i in ncts]),
        st.integers(1, 5),
        st.lists(st.integers(1, 4), max_size=3),
    )
    | st.builds(
        lambda n, pmids: trial(n, result_pmids=[str(i) for i in pmids]),
        st.integers(1, 4),
        st.lists(st.integers(1, 5), max_size=3),
    ),
    max_size=7,
    unique_by=lambda each: each.key,
)


@given(POOLS)
def test_linking_twice_is_linking_once(pool: list[Evidence]) -> None:
    assert link(link(pool)) == link(pool)


@given(POOLS)
def test_every_link_is_seen_from_both_sides(pool: list[Evidence]) -> None:
    linked = link(pool)
    forth = {(each.key, other) for each in linked for other in each.metadata.get("linked_trials", [])}
    back = {(other, each.key) for each in linked for other in each.metadata.get("linked_papers", [])}

    assert forth == back
