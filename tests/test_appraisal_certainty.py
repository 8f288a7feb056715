"""The rules of certainty and quality hold for any evidence, in any order."""

from dataclasses import replace
from itertools import permutations

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
from willowbark.tools.appraisal.soundness import soundest

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


def test_no_evidence_is_very_low_and_weak() -> None:
    assert appraise([]).level is CertaintyLevel.very_low
    assert quality([]) == "weak"


@pytest.mark.parametrize("design", list(StudyDesign))
def test_one_for_and_five_against_of_the_same_design_is_refuted(design: StudyDesign) -> None:
    assert quality([item(design=design), *[item("contradicts", design)] * 5]) == "refuted"


def test_five_for_and_one_against_is_not_refuted() -> None:
    assert quality([*[item()] * 5, item("contradicts")]) == "strong"


def test_a_lone_experiment_in_cells_refutes_nothing() -> None:
    assert quality([item("contradicts", "in_vitro")]) == "weak"


def test_two_large_blinded_trials_are_high() -> None:
    found = appraise([item(key="pmid:1"), item(key="pmid:2")])
    assert found.level is CertaintyLevel.high
    assert found.steps == ["Start at high: 2 randomised trials in support."]


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
    ],
)
def test_each_step_is_written_out(evidence: list[AppraisedItem], level: str, reason: str) -> None:
    found = appraise(evidence)
    assert found.level.value == level
    assert any(reason in step for step in found.steps)


@pytest.mark.parametrize("kind", ["safety", "futility"])
def test_a_trial_stopped_for_harm_or_futility_counts_against(kind: str) -> None:
    stopped = item("unclear", "registry_entry", 200, key="nct:NCT1", why_stopped_kind=kind)
    assert appraise_candidate([stopped]).contradicting == ["nct:NCT1"]


def test_a_trial_stopped_for_want_of_money_is_neutral() -> None:
    stopped = item("unclear", "registry_entry", 20, key="nct:NCT1", why_stopped_kind="administrative")
    assert appraise_candidate([stopped]).neutral == ["nct:NCT1"]


def test_a_stopped_trial_and_an_unchecked_record_are_said() -> None:
    stopped = item("unclear", "registry_entry", key="nct:NCT1", trial_status="TERMINATED")
    assert appraise_candidate([stopped]).notes == [
        "nct:NCT1 was stopped (terminated): reason not reported.",
        "1 of 1 records could not be checked for retraction.",
    ]


def test_every_permutation_gives_the_same_steps() -> None:
    evidence = [
        item(key="pmid:1"),
        item("contradicts", key="pmid:2"),
        item(design="cohort", key="pmid:3", retracted=True),
    ]
    assert len({appraise_candidate(list(p)).model_dump_json() for p in permutations(evidence)}) == 1


def test_a_lone_trial_against_another_drug_refutes_nothing() -> None:
    assert quality([item("contradicts", against_nothing=False)]) == "weak"
    assert quality([item("contradicts", against_nothing=True)]) == "weak"
    assert quality([item("contradicts", against_nothing=True)] * 2) == "refuted"


def test_two_cohorts_refute_nothing_and_three_do() -> None:
    assert quality([item("contradicts", "controlled_cohort")] * 2) == "weak"
    assert quality([item("contradicts", "controlled_cohort")] * 3) == "refuted"


def test_guarded_words_and_a_review_without_figures_give_no_more_than_low() -> None:
    assert appraise([item(size=900, hedged=True)]).level is CertaintyLevel.low
    assert appraise([item(design="systematic_review", size=None)]).level in (
        CertaintyLevel.low,
        CertaintyLevel.very_low,
    )


def test_steps_for_indirectness_add_up_and_those_for_bias_do_not() -> None:
    far = AppraisedItem(
        key="pmid:1",
        design=StudyDesign.rct_blinded,
        direction=Direction.supports,
        sample_size=900,
        direct=False,
        complication=True,
    )
    biased = replace(far, design=StudyDesign.rct_open, concern=True, direct=True, complication=False)

    for record, steps in ((far, [2]), (biased, [1])):
        body = soundest([record], 3, randomised=True)
        assert body is not None
        assert [step for step, _ in body.steps] == steps


@pytest.mark.parametrize(("chance", "level"), [(0.1, "high"), (0.4, "moderate"), (1.0, "low")])
def test_uncertain_readings_against_a_drug_weigh_as_much_as_they_are_likely(chance: float, level: str) -> None:
    trials = [item(key=f"pmid:{n}", size=500) for n in (1, 2)]
    doubts = [item("neutral", key=f"pmid:{n}", size=500 + n, leans="contradicts", chance=chance) for n in range(3, 6)]

    assert appraise([*trials, *doubts]).level.value == level


def test_records_with_every_fault_weigh_nothing_against_each_other() -> None:
    faults = {"design": "in_vitro", "is_preprint": True, "concern": True, "hedged": True, "direct": False}
    found = appraise([item(key="pmid:1", **faults), item("contradicts", key="pmid:2", **faults)])
    assert found.level is CertaintyLevel.very_low


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


def test_a_handful_of_participants_is_very_uncertain_however_well_they_were_blinded() -> None:
    assert appraise([item(size=7)]).level is CertaintyLevel.very_low
    assert appraise([item(size=60)]).level is CertaintyLevel.low


def test_a_review_is_not_called_a_trial() -> None:
    assert appraise([item(design="systematic_review")]).steps[0] == "Start at high: 1 review of trials in support."


@pytest.mark.parametrize(("sizes", "told"), [((200, 200), False), ((200, 199), True)])
def test_four_hundred_participants_are_enough(sizes: tuple[int, int], told: bool) -> None:
    steps = appraise([item(key=f"pmid:{at}", size=size) for at, size in enumerate(sizes, 1)]).steps
    assert any("imprecise" in step for step in steps) is told


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


@pytest.mark.parametrize(("design", "start"), [("case_series", "low"), ("narrative_review", "very low")])
def test_guarded_words_of_patients_start_at_low_and_those_of_nobody_at_very_low(design: str, start: str) -> None:
    assert appraise([item(design=design, hedged=True)]).steps[0].startswith(f"Start at {start}: ")


@pytest.mark.parametrize(("against", "refuted"), [(3, True), (2, False)])
def test_three_times_the_weight_against_refutes(against: int, refuted: bool) -> None:
    found = [
        item(key="pmid:1"),
        *(item("contradicts", key=f"pmid:{at}", against_nothing=True) for at in range(2, 2 + against)),
    ]
    assert (quality(found) == "refuted") is refuted
