"""Certainty falls where trials are small, alone, open, or answer another question, and each reason is said."""

import pytest
from builders import QUESTION, record
from hypothesis import given
from hypothesis import strategies as st
from test_appraisal_certainty import bodies, item, items

from willowbark.tools.appraisal import AppraisedItem, CertaintyLevel, appraise
from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates
from willowbark.tools.evidence import Evidence
from willowbark.tools.reading.directness import beats, compared, narrower_group, other_outcome

NEPHROPATHY = ["diabetic nephropathy"]
PLACEBO = "450 adults were randomised, double blind. {0} reduced migraine attacks versus placebo (p=0.001)."
RIVAL = "450 adults were randomised, double blind. Flunarizine reduced migraine attacks more than propranolol (p=0.01)."


def trial(pmid: str, title: str, text: str) -> Evidence:
    return record(pmid, title, text, publication_types=["Randomized Controlled Trial"])


def candidate(drug: str, *pool: Evidence) -> Candidate:
    return next(c for c in appraise_candidates(QUESTION, pool) if c.drug == drug)


@pytest.mark.parametrize(
    ("title", "asked", "group"),
    [
        ("Drug A in children with migraine", "Which drugs prevent migraine?", "children or adolescents"),
        ("Drug A in children with migraine", "Which drugs prevent migraine in children?", None),
        ("Drug A in children and adults", "Which drugs prevent migraine?", None),
        ("Drug A for menstrual migraine", "Which drugs prevent migraine?", "the days around menstruation"),
        ("Drug A in Child-Pugh class C cirrhosis", "Which drugs treat portal hypertension?", None),
    ],
)
def test_a_study_of_a_part_of_those_asked_about_is_told(title: str, asked: str, group: str | None) -> None:
    assert narrower_group(title, "", asked) == group


@pytest.mark.parametrize(
    ("outcome", "about"),
    [
        ("First cardiovascular death, infarction, stroke or heart-failure admission", "the heart and circulation"),
        ("Kidney failure, sustained eGFR fall or death from cardiovascular causes", None),
        ("UACR at day 90 relative to baseline", None),
        ("Death from any cause", None),
    ],
)
def test_an_outcome_of_another_condition_is_told(outcome: str, about: str | None) -> None:
    assert other_outcome(outcome, NEPHROPATHY, registered=True) == about


def test_a_registered_outcome_that_cannot_be_placed_is_said_so_and_a_sentence_is_not() -> None:
    assert "cannot be told" in str(other_outcome("Plasma level at week 4", NEPHROPATHY, registered=True))
    assert other_outcome("Plasma level fell at week 4.", NEPHROPATHY) is None


def test_a_trial_of_several_drugs_counts_with_the_arms_that_compare_one() -> None:
    assert compared("300 patients took A, B or placebo.", 300, 1, has_inert=True) == 200
    assert compared("300 patients took A or placebo.", 300, 0, has_inert=True) == 300
    assert compared("In a crossover 300 patients took A, B and placebo.", 300, 1, has_inert=True) == 300
    assert compared("Patients took A, B or placebo.", None, 1, has_inert=True) is None


def test_doing_better_than_a_drug_is_not_doing_as_well() -> None:
    assert beats("Attacks were fewer with A than with B.")
    assert not beats("A was not inferior to B, with fewer dropouts than the other.")


def test_a_trial_against_another_drug_alone_is_indirect_and_its_reason_names_the_drug() -> None:
    title = "Flunarizine versus propranolol to prevent migraine"
    alone = candidate("flunarizine", trial("1", title, RIVAL))
    known = trial("2", "Propranolol to prevent migraine", PLACEBO.format("Propranolol"))
    beside = candidate("flunarizine", trial("1", title, RIVAL), known)

    for found in (alone, beside):
        assert any("compared with propranolol, not with placebo" in step for step in found.appraisal.certainty.steps)
    assert any("works is shown by other records" in step for step in beside.appraisal.certainty.steps)


@pytest.mark.parametrize(
    ("evidence", "level", "reason"),
    [
        ([item(size=900, narrower="children or adolescents")], "moderate", "confined to children"),
        ([item(size=900, other_outcome="the heart")], "moderate", "an outcome of the heart"),
        ([item(size=900, rivals="a drug", rival_works=True)], "moderate", "shown by other records"),
        ([item(size=900, rivals="a drug")], "low", "no record here shows"),
        (
            [item(size=900, rivals="a drug", narrower="pregnant women", direct=False)],
            "low",
            "confined to pregnant women",
        ),
        ([item(size=259, compared=172)], "low", "172 participants"),
        ([item(size=900), item(size=45, key="pmid:2")], "moderate", "too small to repeat it"),
        ([item(size=900, design="rct")], "moderate", "not reported to be blinded"),
        (
            [item(size=900), item(size=300, key="pmid:2"), item(size=90, design="rct_open")],
            "high",
            "of the rest, 1 open",
        ),
        ([*[item(size=900)] * 5, item("contradicts", size=100)], "high", "No step for inconsistency"),
    ],
)
def test_each_fault_takes_its_steps_and_is_said(evidence: list[AppraisedItem], level: str, reason: str) -> None:
    found = appraise(evidence)
    assert found.level.value == level
    assert any(reason in step for step in found.steps)


faulty = st.builds(
    lambda plain, narrower, outcome, rivals, works: plain.model_copy(
        update={"narrower": narrower, "other_outcome": outcome, "rivals": rivals, "rival_works": works}
    ),
    items,
    st.sampled_from([None, "children or adolescents"]),
    st.sampled_from([None, "the heart and circulation"]),
    st.sampled_from([None, "propranolol"]),
    st.booleans(),
)


@given(st.lists(faulty, max_size=8), faulty)
def test_support_with_any_faults_never_lowers_certainty(evidence: list[AppraisedItem], more: AppraisedItem) -> None:
    levels = list(CertaintyLevel)[::-1]
    support = more.model_copy(update={"direction": "supports", "why_stopped_kind": None})
    assert levels.index(appraise([*evidence, support]).level) >= levels.index(appraise(evidence).level)


@given(bodies)
def test_the_steps_written_out_add_up_to_the_level(evidence: list[AppraisedItem]) -> None:
    found = appraise(evidence)
    levels = ["very low", "low", "moderate", "high"]
    if not found.steps[0].startswith("Start at "):
        assert found.level is CertaintyLevel.very_low
        return
    start = levels.index(found.steps[0].removeprefix("Start at ").partition(":")[0])
    down = sum({"Down one": 1, "Down two": 2}.get(step.partition(":")[0], 0) for step in found.steps)
    assert levels[max(0, start - down)] == found.level.value.replace("_", " ")
