"""The flow of records: every number adds up, whatever came in."""

from typing import Any

from builders import QUESTION, asked, drug_record, findings, material, record, reply
from hypothesis import given
from hypothesis import strategies as st

from willowbark.agents.findings import Dossier
from willowbark.agents.report.content import Flow
from willowbark.agents.report.tables import count_flow
from willowbark.tools.records.evidence import Evidence

SAYS = (
    ("Propranolol in migraine prevention", "Propranolol reduced migraine attacks."),
    ("Sleep and migraine prevention", "Sleep reduced migraine attacks."),
    ("Propranolol in hypertension", "Propranolol lowered blood pressure."),
    ("Timolol in migraine", ""),
)
SOURCES = ("pubmed", "europepmc", "clinicaltrials", "chembl")


def flow_of(*replies: tuple[str, list[Evidence]]) -> Flow:
    dossier = Dossier()
    dossier.add([asked(), findings("literature", *(reply(*records, source=source) for source, records in replies))])
    return count_flow(material(QUESTION, dossier.pool(), dossier=dossier))


def made(number: int, says: tuple[str, str], retracted: bool) -> Evidence:
    flags: dict[str, Any] = {"retracted": True} if retracted else {}
    return record(str(10_000_000 + number), *says, **flags)


records = st.builds(made, st.integers(0, 12), st.sampled_from(SAYS), st.booleans())
drugs = st.builds(drug_record, st.sampled_from(["propranolol", "timolol"]), st.just("antagonist"), st.just("ADRB1"))
came = st.lists(st.tuples(st.sampled_from(SOURCES), st.lists(st.one_of(records, drugs), max_size=8)), max_size=5)


@given(came)
def test_all_that_was_identified_is_a_duplicate_or_excluded_or_included(came: list[tuple[str, list[Evidence]]]) -> None:
    found = flow_of(*came)

    assert sum(found.identified.values()) == sum(len(records) for _, records in came)
    assert sum(found.identified.values()) == found.duplicates + found.screened
    assert found.screened == sum(found.excluded.values()) + found.included
    assert min(found.duplicates, found.included, *found.excluded.values(), *found.identified.values()) >= 0


def test_each_exclusion_has_its_reason() -> None:
    pulled, kept = made(1, SAYS[0], True), made(2, SAYS[0], False)
    found = flow_of(
        ("pubmed", [pulled, kept, made(3, SAYS[1], False), made(4, SAYS[2], False)]),
        ("europepmc", [kept]),
        ("chembl", [drug_record("propranolol", "antagonist", "ADRB1")]),
    )

    assert found.identified == {"chembl": 1, "europepmc": 1, "pubmed": 4}
    assert found.duplicates == 1
    assert found.excluded == {
        "retracted": 1,
        "names no drug": 1,
        "not on the condition asked about": 1,
        "drug or disease database entry (used for mechanisms)": 1,
    }
    assert found.included == 1
