"""The rules of certainty hold for any evidence, in any order, and a reader can redo them from the rows of the table."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from willowbark.tools.appraisal import AppraisedItem, Direction, appraise_candidate
from willowbark.tools.appraisal.certainty import CertaintyLevel, find_outcome, lower_level
from willowbark.tools.reading.reading import StudyDesign

LEVELS = ["very_low", "low", "moderate", "high"]
LABELLED = {design.label: design for design in StudyDesign}

items = st.builds(
    AppraisedItem,
    key=st.integers(1, 999).map("pmid:{}".format),
    design=st.sampled_from(StudyDesign),
    direction=st.sampled_from(Direction),
    sample_size=st.none() | st.integers(1, 2000),
    tested=st.booleans(),
    comparator=st.sampled_from(["placebo", "none", "active", "dose", "before_after", "not_reported"]),
    comparator_works=st.booleans(),
    indication=st.sampled_from(["condition", "complication"]),
    in_title=st.booleans(),
    surrogate=st.booleans(),
    unnamed=st.sampled_from([None, "children"]),
    is_preprint=st.booleans(),
    retracted=st.sampled_from([None, False, True]),
    concern=st.sampled_from([None, False, True]),
    why_stopped_kind=st.sampled_from([None, "safety", "futility", "administrative"]),
    second_reader=st.sampled_from([None, "supports"]),
    trial=st.sampled_from([None, None, "NCT00000001", "NCT00000002", "SOLVD"]),
    pools=st.sampled_from([(), (), (), ("NCT00000001", "SOLVD"), ("NCT00000009", "NCT00000010")]),
)


def replace(appraised: AppraisedItem, **changes: object) -> AppraisedItem:
    return appraised.model_copy(update=changes)


bodies = st.lists(items, max_size=9, unique_by=lambda each: each.key)


def item(
    direction: str = "supports", design: str = "rct_blinded", size: int | None = 300, **more: object
) -> AppraisedItem:
    fields = {"key": "pmid:1", "design": design, "direction": direction, "sample_size": size, "comparator": "placebo"}
    return AppraisedItem(**{**fields, **more})


def several(count: int, direction: str = "supports", **more: object) -> list[AppraisedItem]:
    """Trials with keys of their own."""
    start = 100 if direction == "supports" else 200
    return [item(direction, key=f"pmid:{start + at}", **more) for at in range(count)]


def level(evidence: Sequence[AppraisedItem]) -> int:
    return LEVELS.index(appraise_candidate(evidence).certainty.level.value)


def rebuild(rows: Sequence[dict[str, Any]], supporting: Sequence[str], contradicting: Sequence[str]) -> str:
    """A drug's certainty by pencil: from the rows that the report shows, and from which side each of them counts."""
    levels = []
    for tier in ("randomised", "observational", "other"):
        pros = [row for row in rows if row["key"] in supporting and tier_of(row) == tier]
        if not pros:
            continue
        worse_or_same = {"randomised": 1, "observational": 2, "other": 3}
        cons = [
            row for row in rows if row["key"] in contradicting and worse_or_same[tier_of(row)] <= worse_or_same[tier]
        ]
        size, opposed = participants(pros), participants(cons)
        points = {"randomised": 3, "observational": 1, "other": 0}[tier]
        trials = [row for row in pros if not is_review(row)]
        if tier == "randomised":
            points -= not enough(trials or pros, is_sound)
            points -= not any(row["comparator"] in ("placebo", "none") or row["comparator_works"] for row in pros)
            points -= len(trials) + (len(trials) < len(pros)) < 2 and participants(trials) < 1000
        if tier != "other":
            points -= (not enough(pros, is_direct)) + (not any(map(is_on_condition, pros)))
            points -= (size < 400) + (size < 100)
        points -= (4 * opposed >= size + opposed and bool(cons)) + (2 * opposed >= size + opposed and bool(cons))
        levels.append(max(0, points))
    return LEVELS[max(levels, default=0)]


def is_review(row: dict[str, Any]) -> bool:
    return LABELLED[str(row["design"])] is StudyDesign.systematic_review


def tier_of(row: dict[str, Any]) -> str:
    design = str(row["design"])
    if row["tested"] and ("RCT" in design or is_review(row)):
        return "randomised"
    observed = ("cohort", "case control", "case series")
    return "observational" if row["tested"] and design in observed else "other"


def is_sound(row: dict[str, Any]) -> bool:
    blinded = row["design"] == "blinded RCT" or row["comparator"] == "placebo"
    return blinded and not row["is_preprint"] and not row["concern"]


def is_on_condition(row: dict[str, Any]) -> bool:
    indirect = row["surrogate"] or row["unnamed"] or str(row["design"]) in ("in vivo", "in vitro")
    return row["indication"] == "condition" and not indirect


def is_direct(row: dict[str, Any]) -> bool:
    return is_on_condition(row) and bool(row["in_title"])


def size_of(row: dict[str, Any]) -> int:
    return 100 if row["sample_size"] is None else int(row["sample_size"])


def participants(rows: Sequence[dict[str, Any]]) -> int:
    reviews = [size_of(row) for row in rows if is_review(row)]
    return max([sum(size_of(row) for row in rows if not is_review(row)), *reviews])


def enough(rows: Sequence[dict[str, Any]], holds: Callable[[dict[str, Any]], object]) -> bool:
    good = [row for row in rows if holds(row)]
    return len(good) > 1 or 2 * sum(map(size_of, good)) > sum(map(size_of, rows))


@settings(max_examples=400)
@given(bodies)
def test_certainty_follows_from_the_rows_that_are_shown(evidence: list[AppraisedItem]) -> None:
    found = appraise_candidate(evidence)
    rows = [dict(each) | {"design": each.design.label} for each in evidence]
    assert rebuild(rows, found.supporting, found.contradicting) == found.certainty.level


@given(bodies)
def test_the_steps_written_out_add_up_to_the_level(evidence: list[AppraisedItem]) -> None:
    found = appraise_candidate(evidence).certainty
    start = found.steps[0].removeprefix("Starts at ").partition(":")[0].replace(" ", "_")
    down = sum(int(step[-3]) for step in found.steps if step.endswith(("(-1).", "(-2).")))
    assert LEVELS[max(0, LEVELS.index(start) - down)] == found.level
    assert found.lowered == [step for step in found.steps if step.endswith(("(-1).", "(-2)."))]


@given(bodies, items)
def test_a_contradiction_never_raises_certainty(evidence: list[AppraisedItem], more: AppraisedItem) -> None:
    evidence = [replace(each, pools=()) for each in evidence]
    against = replace(more, direction=Direction.contradicts, key="pmid:1000", pools=())
    assert level([*evidence, against]) <= level(evidence)


@given(bodies, st.randoms())
def test_the_order_of_the_evidence_never_matters(evidence: list[AppraisedItem], random: Random) -> None:
    shuffled = list(evidence)
    random.shuffle(shuffled)
    assert appraise_candidate(shuffled) == appraise_candidate(evidence)


@given(bodies, items)
def test_a_retracted_item_adds_a_listed_reason_and_nothing_else(
    evidence: list[AppraisedItem], more: AppraisedItem
) -> None:
    retracted = replace(more, retracted=True, key="pmid:1000")
    before, after = appraise_candidate(evidence), appraise_candidate([*evidence, retracted])
    assert (after.certainty.level, after.quality) == (before.certainty.level, before.quality)
    assert after.certainty.steps == before.certainty.steps
    assert "Left out: pmid:1000 is retracted." in after.notes


@given(bodies)
def test_every_kept_item_stands_in_one_column_of_the_table(evidence: list[AppraisedItem]) -> None:
    table = appraise_candidate(evidence)
    columns = [*table.supporting, *table.contradicting, *table.inconclusive, *table.not_assessed, *table.excluded]
    columns += table.same_trial
    assert sorted(columns) == sorted(i.key for i in evidence)


OPEN = {"design": "rct_open", "comparator": "none"}
ACTIVE = {"comparator": "active", "against": "propranolol"}
REVIEW = item(key="pmid:50", design="systematic_review", size=900)


@pytest.mark.parametrize(
    ("evidence", "level", "reason"),
    [
        ([], "very_low", "Starts at very low: no study supports it."),
        (several(2), "high", "Starts at high: 2 trials supporting."),
        ([item(), REVIEW], "high", "Starts at high: 1 trial and 1 systematic review supporting."),
        (several(1, size=999), "moderate", "Publication bias: a single, unreplicated trial (-1)."),
        (several(1, size=1000), "high", "Starts at high: 1 trial supporting."),
        ([REVIEW], "moderate", "Publication bias: no trial beside the review (-1)."),
        (several(2, **OPEN), "moderate", "Risk of bias: 0 of 2 blinded or placebo-controlled (-1)."),
        ([item(), item(key="pmid:9", size=700, **OPEN)], "moderate", "Risk of bias: 1 of 2"),
        (several(2, is_preprint=True), "moderate", "Risk of bias"),
        (several(2, **ACTIVE), "moderate", "Indirectness: none against placebo, no treatment"),
        (several(2, **ACTIVE, comparator_works=True), "high", "Starts at high"),
        (
            several(2, indication="complication"),
            "low",
            "Indirectness: 0 of 2 studies are on the outcome, condition and people",
        ),
        (several(2, in_title=False), "moderate", "name it in the title (-1)."),
        (
            [*several(1), item(key="pmid:9", in_title=False)],
            "moderate",
            "Indirectness: 1 of 2 studies are on the condition",
        ),
        (
            several(2, size=103),
            "moderate",
            "Imprecision: 206 participants compared; optimal information size 400 (-1).",
        ),
        (several(2, size=40), "low", "Imprecision: 80 participants compared; optimal information size 400 (-2)."),
        (
            several(2, size=None),
            "moderate",
            "Imprecision: 2 studies of unreported size; optimal information size 400 (-1)",
        ),
        (
            [*several(3, size=120), item(key="pmid:9", size=None)],
            "moderate",
            "Imprecision: 360 participants compared, 1 study of unreported size; optimal information size 400 (-1)",
        ),
        (
            several(2, size=None, trial_size=300),
            "moderate",
            "Imprecision: 300 participants compared, half of all arms of 2 studies among them; optimal",
        ),
        (several(2, design="cohort"), "low", "Starts at low: 2 observational studies supporting."),
        (several(2, tested=False), "very_low", "Starts at very low: 2 other records (blinded RCT) supporting."),
        (
            [*several(3), *several(1, "contradicts", size=100)],
            "high",
            "Inconsistency: 1 of 4 studies contradict (10% of participants).",
        ),
        (
            [*several(2, size=384), *several(1, "contradicts", size=192)],
            "high",
            "Inconsistency: 1 of 3 studies contradict (20% of participants).",
        ),
        ([*several(3), *several(1, "contradicts")], "moderate", "(25% of participants) (-1)."),
        ([*several(2), *several(2, "contradicts")], "low", "(50% of participants) (-2)."),
        (
            [*several(2, design="cohort"), *several(2, "contradicts")],
            "very_low",
            "Inconsistency: 2 of 4 studies contradict (50% of participants) (-2).",
        ),
    ],
)
def test_each_step_is_written_out(evidence: list[AppraisedItem], level: str, reason: str) -> None:
    found = appraise_candidate(evidence).certainty
    assert found.level.value == level
    assert reason in "\n".join(found.steps)


@pytest.mark.parametrize(
    ("evidence", "refuted"),
    [
        ([], False),
        ([*several(5), *several(1, "contradicts")], False),
        (several(1, "contradicts"), False),
        (several(2, "contradicts"), True),
        (several(3, "contradicts", design="cohort"), False),
        (several(2, "contradicts", **ACTIVE), False),
        (several(2, "contradicts", **ACTIVE, why_stopped_kind="futility"), True),
        ([*several(1), *several(2, "contradicts")], True),
        ([*several(2), *several(3, "contradicts")], False),
        ([replace(REVIEW, direction=Direction.contradicts)], True),
        ([*several(2), replace(REVIEW, direction=Direction.contradicts)], True),
        ([*several(3), replace(REVIEW, direction=Direction.contradicts)], True),
        ([*several(4), replace(REVIEW, direction=Direction.contradicts)], False),
        ([replace(REVIEW, sample_size=1200), replace(REVIEW, key="pmid:5", direction=Direction.contradicts)], False),
    ],
)
def test_what_refutes_is_the_largest_review_or_trials_with_two_thirds_of_participants(
    evidence: list[AppraisedItem], refuted: bool
) -> None:
    assert (appraise_candidate(evidence).quality == "refuted") == refuted


def test_a_stopped_trial_and_an_unchecked_record_are_said() -> None:
    stopped = item("not assessed", "registry_entry", key="nct:NCT1", trial_status="TERMINATED")
    assert appraise_candidate([stopped]).notes == [
        "nct:NCT1 was stopped (terminated): reason not reported.",
        "1 of 1 records could not be checked for retraction.",
    ]


@pytest.mark.parametrize(
    ("design", "tier"),
    [("rct", "randomised"), ("cohort", "observational"), ("case_report", "other"), ("in_vivo", "other")],
)
def test_a_study_is_rated_with_those_of_its_kind(design: str, tier: str) -> None:
    assert item(design=StudyDesign(design)).tier == tier


@pytest.mark.parametrize(
    ("support", "contradicting", "missed", "outcome"),
    [
        (0, 0, 0, "undecided"),
        (1, 0, 0, "supported"),
        (4, 1, 0, "supported"),
        (3, 1, 0, "mixed"),
        (3, 0, 1, "mixed"),
        (0, 2, 0, "failed"),
        (0, 1, 0, "missed"),
        (0, 0, 3, "missed"),
    ],
)
def test_a_quarter_against_makes_studies_mixed(support: int, contradicting: int, missed: int, outcome: str) -> None:
    assert find_outcome(support, contradicting, missed, is_refuted=False) == outcome
    assert find_outcome(support, contradicting, missed, is_refuted=True) == "failed"


def test_of_a_judges_level_and_the_computed_one_the_lower_counts() -> None:
    appraised = appraise_candidate(several(1, size=999))
    assert appraised.certainty.level is CertaintyLevel.moderate

    lower = lower_level(appraised, CertaintyLevel.low, "small and old").certainty
    assert (lower.level, lower.computed, lower.judged) == ("low", "moderate", "low")
    assert lower.steps[-1] == "Judge: low, where the rules come to moderate: small and old"
    for judged in (CertaintyLevel.moderate, CertaintyLevel.high):
        kept = lower_level(appraised, judged, "large").certainty
        assert (kept.level, kept.judged) == ("moderate", judged)
        assert kept.steps == appraised.certainty.steps
