"""Names of drugs that registered trials give beside known ones."""

from typing import Any

import pytest
from builders import evidence

from willowbark.tools.appraisal.candidates import find_named_drugs
from willowbark.tools.reading.document import Document
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.works.drug_names import find_codes, is_code, note_codes


def trial_of(*interventions: dict[str, Any]) -> Evidence:
    told = {"kind": "trial", "nct_id": "NCT00000001", "interventions": list(interventions)}
    return evidence("A trial in gout", source="clinicaltrials", **told)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("XYZ 94-8862", True), ("LY2484595", True), ("MK-0431A", True), ("Kerendia", False), ("20 mg", False)],
)
def test_a_research_code_is_told_by_its_form(name: str, is_one: bool) -> None:
    assert is_code(name) is is_one


def test_a_drug_under_a_research_code_is_known_by_its_other_names() -> None:
    coded = trial_of({"name": "XYZ 94-8862", "other_names": ["Finerenone"]})
    assert find_named_drugs(coded) == ["finerenone"]
    assert find_named_drugs(trial_of({"name": "Usual care", "other_names": ["Finerenone"]})) == []


def test_codes_are_learnt_from_trials_that_give_them_for_one_drug() -> None:
    one = trial_of({"name": "Finerenone", "other_names": ["BAY 94-8862", "Kerendia"]})
    two = trial_of({"name": "Finerenone and losartan", "other_names": ["Finerenone", "Losartan", "XX 1234"]})
    assert find_codes([one, two]) == {"finerenone": ["BAY 94-8862"]}


CODED = {"name": "Finerenone", "other_names": ["ZZQ-4471"]}


@pytest.mark.parametrize("written", ["ZZQ-4471", "ZZQ 4471", "zzq4471"])
def test_a_publication_that_names_a_code_is_on_the_drug_that_a_registered_trial_calls_so(written: str) -> None:
    paper = evidence(f"{written} lowered albuminuria more than placebo in diabetic nephropathy.")
    _, noted = note_codes([trial_of(CODED), paper])

    assert find_named_drugs(paper) == []
    assert find_named_drugs(noted) == ["finerenone"]
    document = Document.of(noted)
    assert [document.whole[start:end] for _, start, end in document.drugs] == [written]
    assert noted.content == paper.content


def test_a_code_of_two_drugs_or_of_few_figures_or_within_a_longer_one_tells_nothing() -> None:
    others = {"name": "Losartan", "other_names": ["ZZQ-4471"]}
    short = {"name": "Finerenone", "other_names": ["D3"]}
    paper = evidence("ZZQ-4471 and D3 lowered albuminuria.")
    longer = evidence("ZZQ-44710 lowered albuminuria.")

    assert note_codes([trial_of(CODED), trial_of(others), paper])[-1] == paper
    assert note_codes([trial_of(short), paper])[-1] == paper
    assert note_codes([trial_of(CODED), longer])[-1] == longer
