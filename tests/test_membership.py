"""Whether a drug belongs to a class that a question asks about."""

import pytest
from builders import drug_record, record

from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.lexicon.drug_classes import belongs_to_class

TRIALS = [
    record("1", "Topiramate in migraine prevention", "Topiramate reduced migraine attacks against placebo (p<0.001)."),
    record("2", "Timolol in migraine prevention", "Timolol reduced migraine attacks against placebo (p=0.04)."),
]


@pytest.mark.parametrize(
    ("drug", "marketed_for", "classes", "expected"),
    [
        ("nadolol", [], ["beta-blockers"], True),
        ("bevantolol", [], ["beta-blockers"], True),
        ("enalapril", [], ["antihypertensives"], True),
        ("clonidine", ["Hypertension"], ["antihypertensives"], True),
        ("terlipressin", ["Hypertension, Portal"], ["antihypertensives"], False),
        ("varenicline", ["Tobacco Use Disorder"], ["antidepressants"], False),
        ("varenicline", [], ["antidepressants", "nicotinic receptor partial agonists"], True),
        ("colchicine", ["Gout"], ["gout drugs"], True),
        ("bevacizumab", ["Colorectal Neoplasms"], ["anticancer drugs"], True),
    ],
)
def test_members_endings_and_uses_decide(
    drug: str, marketed_for: list[str], classes: list[str], expected: bool
) -> None:
    assert belongs_to_class(drug, marketed_for, classes) is expected


def test_drugs_of_a_class_asked_about_come_first() -> None:
    found = appraise_candidates("Do beta-blockers prevent migraine?", TRIALS)

    assert [(each.drug, each.in_asked_class) for each in found] == [("timolol", True), ("topiramate", False)]


def test_without_a_class_nothing_is_said_of_one() -> None:
    assert {each.in_asked_class for each in appraise_candidates("Which drugs prevent migraine?", TRIALS)} == {None}


def test_a_marketed_use_makes_a_drug_one_of_a_class_by_use() -> None:
    pool = [TRIALS[0], drug_record("topiramate", "Sodium channel blocker", "SCN1A")]

    (found,) = appraise_candidates("Which blood pressure drugs prevent migraine?", pool)

    assert found.in_asked_class
