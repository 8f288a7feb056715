"""The rules of certainty and quality hold for any evidence, in any order."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from willowbark.tools.appraisal import (
    AppraisedItem,
    CertaintyLevel,
    Direction,
    StudyDesign,
    appraise,
    appraise_candidate,
    quality,
)

LEVELS = ["very_low", "low", "moderate", "high"]
QUALITIES = ["refuted", "weak", "moderate", "strong"]

items = st.builds(
    AppraisedItem,
    key=st.integers(1, 999).map("pmid:{}".format),
    design=st.sampled_from(StudyDesign),
    direction=st.sampled_from(Direction),
    sample_size=st.none() | st.integers(1, 2000),
    is_preprint=st.booleans(),
    retracted=st.sampled_from([None, False, True]),
    concern=st.sampled_from([None, False, True]),
    why_stopped_kind=st.sampled_from([None, "safety", "futility", "administrative"]),
    direct=st.booleans(),
    complication=st.booleans(),
    other_outcome=st.sampled_from([None, "the heart and circulation"]),
    rivals=st.sampled_from([None, "propranolol"]),
    rival_works=st.booleans(),
    disputed=st.sampled_from([None, "model: supports; learned: neutral"]),
)

bodies = st.lists(items, max_size=9)


def rank(evidence: list[AppraisedItem]) -> tuple[int, int]:
    return LEVELS.index(appraise(evidence).level), QUALITIES.index(quality(evidence))


def item(
    direction: str = "supports", design: str = "rct_blinded", size: int | None = 300, **more: object
) -> AppraisedItem:
    fields = {"key": "pmid:1", "design": design, "direction": direction, "sample_size": size, **more}
    return AppraisedItem(**fields)


@settings(max_examples=150)
@given(bodies, items)
def test_a_supporting_blinded_trial_never_lowers_certainty_or_quality(
    evidence: list[AppraisedItem], more: AppraisedItem
) -> None:
    trial = replace(more, design=StudyDesign.rct_blinded, direction=Direction.supports, why_stopped_kind=None)
    before, after = rank(evidence), rank([*evidence, trial])
    assert after[0] >= before[0]
    assert after[1] >= before[1]


@settings(max_examples=150)
@given(bodies, items)
def test_a_contradiction_never_raises_certainty_or_quality(evidence: list[AppraisedItem], more: AppraisedItem) -> None:
    against = replace(more, direction=Direction.contradicts)
    before, after = rank(evidence), rank([*evidence, against])
    assert after[0] <= before[0]
    assert after[1] <= before[1]


@given(bodies, items)
def test_support_with_any_faults_never_lowers_certainty(evidence: list[AppraisedItem], more: AppraisedItem) -> None:
    support = replace(more, direction=Direction.supports, why_stopped_kind=None)
    assert rank([*evidence, support])[0] >= rank(evidence)[0]


@given(bodies)
def test_the_steps_written_out_add_up_to_the_level(evidence: list[AppraisedItem]) -> None:
    found = appraise(evidence)
    levels = ["very low", "low", "moderate", "high"]
    if not found.steps[0].startswith("Start at "):
        assert found.level is CertaintyLevel.very_low
        return
    start = levels.index(found.steps[0].removeprefix("Start at ").partition(":")[0])
    down = sum({"Down one": 1, "Down two": 2}.get(step.partition(":")[0], 0) for step in found.steps)
    assert levels[max(0, start - down)] == found.level.said


@given(bodies, st.randoms())
def test_the_order_of_the_evidence_never_matters(evidence: list[AppraisedItem], random: object) -> None:
    shuffled = list(evidence)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert appraise_candidate(shuffled) == appraise_candidate(evidence)


@given(bodies, items)
def test_a_retracted_item_adds_a_listed_reason_and_nothing_else(
    evidence: list[AppraisedItem], more: AppraisedItem
) -> None:
    retracted = replace(more, retracted=True, key="pmid:1000")
    before, after = appraise(evidence), appraise([*evidence, retracted])
    assert after.level == before.level
    assert quality([*evidence, retracted]) == quality(evidence)
    assert sorted([*before.steps, "Left out: pmid:1000 is retracted."]) == sorted(after.steps)


@given(bodies)
def test_every_kept_item_stands_in_one_column_of_the_table(evidence: list[AppraisedItem]) -> None:
    table = appraise_candidate(evidence)
    columns = [*table.supporting, *table.contradicting, *table.neutral, *table.unclear, *table.excluded]
    columns += table.same_trial
    assert sorted(columns) == sorted(i.key for i in evidence)


@pytest.mark.parametrize("design", list(StudyDesign))
def test_one_for_and_five_against_of_the_same_design_is_refuted(design: StudyDesign) -> None:
    assert quality([item(design=design), *[item("contradicts", design)] * 5]) == "refuted"


AGAINST = item("contradicts", against_nothing=True)
COHORT = item("contradicts", "controlled_cohort")


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        ([], "weak"),
        ([*[item()] * 5, item("contradicts")], "strong"),
        ([item("contradicts", "in_vitro")], "weak"),
        ([item("contradicts", against_nothing=False)], "weak"),
        ([AGAINST], "weak"),
        ([AGAINST] * 2, "refuted"),
        ([COHORT] * 2, "weak"),
        ([COHORT] * 3, "refuted"),
        ([item(), *[AGAINST] * 2], "weak"),
        ([item(), *[AGAINST] * 3], "refuted"),
    ],
)
def test_what_refutes_is_several_records_against_or_trials_of_three_times_the_weight(
    evidence: list[AppraisedItem], said: str
) -> None:
    assert quality(evidence) == said


FAULTS = {"design": "in_vitro", "is_preprint": True, "concern": True, "hedged": True, "direct": False}


@pytest.mark.parametrize(
    ("evidence", "level", "reason"),
    [
        ([item(design="rct_open", size=900)], "moderate", "risk of bias"),
        ([item(size=900)], "moderate", "a single trial"),
        ([item(size=250)], "low", "a single small trial"),
        ([item(size=150), item(size=100)], "moderate", "250 participants"),
        ([item(size=350), item(size=20)], "low", "nearly all participants are of a single small trial"),
        ([item(size=150)], "low", "150 participants"),
        ([item(size=None)], "low", "not reported"),
        ([item(size=900, direct=False)], "moderate", "indirect"),
        ([item(size=900, is_preprint=True)], "low", "peer-reviewed"),
        ([item(size=900), item("contradicts", size=900)], "low", "inconsistent"),
        ([item(size=900), *[item(size=900)] * 2, item("contradicts", size=900)], "moderate", "inconsistent"),
        ([item(design="controlled_cohort", size=900)], "low", "Start at low"),
        ([item(design="in_vitro", size=None)], "very_low", "Start at very low"),
        ([], "very_low", "no evidence supports it"),
        ([item(key="pmid:1"), item(key="pmid:2")], "high", "Start at high: 2 randomised trials in support."),
        ([item(design="systematic_review")], "moderate", "Start at high: 1 review of trials in support."),
        ([item(design="systematic_review", size=None)], "very_low", "Start at low: 1 systematic review in support."),
        ([item(size=900, hedged=True)], "low", "Start at low: 1 guarded result in support."),
        ([item(design="narrative_review", hedged=True)], "very_low", "Start at very low"),
        ([item(size=7)], "very_low", "far too few"),
        ([item(size=60)], "low", "very imprecise"),
        ([item(size=900, complication=True)], "moderate", "on a complication of the condition"),
        ([item(size=900, other_outcome="a marker")], "moderate", "measured by a marker"),
        ([item(size=900, rivals="a drug", rival_works=True)], "moderate", "shown by other records"),
        ([item(size=900, rivals="a drug")], "low", "no record here shows"),
        ([item(size=900, rivals="a drug", complication=True, direct=False)], "low", "on a complication"),
        ([item(size=172)], "low", "172 participants"),
        ([item(size=900, disputed="model: supports; learned: neutral")], "moderate", "read in two ways"),
        ([item(size=900), item(size=45, key="pmid:2")], "moderate", "too small to repeat it"),
        ([item(size=900, design="rct")], "moderate", "not reported to be blinded"),
        ([item(size=900), item(size=300), item(size=90, design="rct_open")], "high", "of the rest, 1 open"),
        ([*[item(size=900)] * 5, item("contradicts", size=100)], "high", "No step for inconsistency"),
        ([item(**FAULTS), item("contradicts", key="pmid:2", **FAULTS)], "very_low", "Start at very low"),
    ],
)
def test_each_step_is_written_out(evidence: list[AppraisedItem], level: str, reason: str) -> None:
    found = appraise(evidence)
    assert found.level.value == level
    assert any(reason in step for step in found.steps)


def test_a_stopped_trial_and_an_unchecked_record_are_said() -> None:
    stopped = item("unclear", "registry_entry", key="nct:NCT1", trial_status="TERMINATED")
    assert appraise_candidate([stopped]).notes == [
        "nct:NCT1 was stopped (terminated): reason not reported.",
        "1 of 1 records could not be checked for retraction.",
    ]


@pytest.mark.parametrize(("chance", "level"), [(0.1, "high"), (0.4, "moderate"), (1.0, "low")])
def test_uncertain_readings_against_a_drug_weigh_as_much_as_they_are_likely(chance: float, level: str) -> None:
    trials = [item(key=f"pmid:{n}", size=500) for n in (1, 2)]
    doubts = [item("neutral", key=f"pmid:{n}", size=500 + n, leans="contradicts", chance=chance) for n in range(3, 6)]

    assert appraise([*trials, *doubts]).level.value == level


def leaning(chances: list[float]) -> list[AppraisedItem]:
    return [item("neutral", key=f"pmid:{n}", size=500 + n, leans="supports", chance=c) for n, c in enumerate(chances)]


@pytest.mark.parametrize(
    ("chances", "count"),
    [([], 0), ([0.75], 0), ([0.5, 0.5], 0), ([0.6, 0.7], 1), ([0.5] * 6, 2), ([0.7] * 10, 5), ([0.9, 0.1], 1)],
)
def test_uncertain_readings_bear_out_a_sure_one_as_far_as_they_can_hardly_all_be_wrong(
    chances: list[float], count: int
) -> None:
    found = appraise_candidate([item(key="pmid:99", size=450), *leaning(chances)])
    assert found.supporting == ["pmid:99"]
    assert len(found.leaning) == len(chances)
    assert any(f"Counted too: {count} of {len(chances)} records" in step for step in found.certainty.steps) == bool(
        count
    )
    assert found.certainty.level is (CertaintyLevel.high if count else CertaintyLevel.moderate)


@given(st.lists(st.floats(0, 1), max_size=8))
def test_where_no_reading_is_sure_none_counts_however_many_they_are(chances: list[float]) -> None:
    found = appraise_candidate(leaning(chances))
    assert (found.supporting, found.certainty.level) == ([], CertaintyLevel.very_low)
    assert set(found.leaning) == {each.key for each in leaning(chances)}


def test_a_single_trial_takes_one_step_and_is_told_from_one_that_others_hardly_repeat() -> None:
    alone, hardly = [item(size=900)], [item(size=900), item(key="pmid:2", size=50)]
    assert "Down one: a single trial, which no other one here repeats." in appraise(alone).steps
    assert any(
        step.startswith("Down one: nearly all participants are of a single trial") for step in appraise(hardly).steps
    )


def test_the_weight_against_is_told_in_percent_with_how_many_records_it_is_of() -> None:
    found = [item(key=f"pmid:{at}", size=300) for at in range(1, 4)]
    against = item("contradicts", key="pmid:9", size=300)
    assert (
        "Down one: inconsistent, 1 of 4 records speaks against it (25 % of the weight)."
        in appraise([*found, against]).steps
    )
    two = appraise([*found, against, replace(against, key="pmid:8")]).steps
    assert any("2 of 5 records speak against it (40 % of the weight)" in step for step in two)


def test_a_stop_for_safety_takes_a_step_beside_that_for_inconsistency() -> None:
    trials = [item(key=f"pmid:{at}", size=300) for at in (1, 2)]
    stopped = item("contradicts", "registry_entry", key="nct:NCT9", why_stopped_kind="safety")
    for_cause = appraise([*trials, stopped])
    without = appraise([*trials, replace(stopped, why_stopped_kind=None)])

    assert (without.level, for_cause.level) == (CertaintyLevel.high, CertaintyLevel.low)
    assert "Down one: stopped for safety: nct:NCT9." in for_cause.steps
