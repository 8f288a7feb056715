"""Certainty falls where trials are small, alone, open, or answer another question, and each reason is said."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_appraisal_certainty import bodies, item, items

from willowbark.tools.appraisal import AppraisedItem, CertaintyLevel, Direction, appraise


@pytest.mark.parametrize(
    ("evidence", "level", "reason"),
    [
        ([item(size=900, complication=True)], "moderate", "on a complication of the condition"),
        ([item(size=900, other_outcome="a marker")], "moderate", "measured by a marker"),
        ([item(size=900, rivals="a drug", rival_works=True)], "moderate", "shown by other records"),
        ([item(size=900, rivals="a drug")], "low", "no record here shows"),
        (
            [item(size=900, rivals="a drug", complication=True, direct=False)],
            "low",
            "on a complication",
        ),
        ([item(size=172)], "low", "172 participants"),
        ([item(size=900, disputed="model: supports; learned: neutral")], "moderate", "read in two ways"),
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
    lambda plain, complication, outcome, rivals, works, disputed: replace(
        plain,
        complication=complication,
        other_outcome=outcome,
        rivals=rivals,
        rival_works=works,
        disputed=disputed,
    ),
    items,
    st.booleans(),
    st.sampled_from([None, "the heart and circulation"]),
    st.sampled_from([None, "propranolol"]),
    st.booleans(),
    st.sampled_from([None, "model: supports; learned: neutral"]),
)


@given(st.lists(faulty, max_size=8), faulty)
def test_support_with_any_faults_never_lowers_certainty(evidence: list[AppraisedItem], more: AppraisedItem) -> None:
    levels = list(CertaintyLevel)[::-1]
    support = replace(more, direction=Direction.supports, why_stopped_kind=None)
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
