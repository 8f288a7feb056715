"""What one record weighs and where it stands, and what a trial with several reports is taken for."""

from dataclasses import replace

import pytest

from willowbark.tools.appraisal import AppraisedItem, Direction, StudyDesign
from willowbark.tools.appraisal.trials_once import one_per_trial, weight

FREE = AppraisedItem(key="pmid:5", design=StudyDesign.rct_blinded, direction=Direction.supports, trial="NCT1")
FAULTS = [
    {"is_preprint": True},
    {"concern": True},
    {"hedged": True},
    {"direct": False},
    {"complication": True},
    {"unnamed": "children"},
    {"other_outcome": "a marker"},
]
AGAINST = replace(FREE, key="pmid:6", direction=Direction.contradicts)
SILENT = replace(FREE, key="pmid:7", direction=Direction.unclear)
REGISTERED = replace(FREE, key="nct:NCT1")


def trial(*reports: AppraisedItem) -> AppraisedItem:
    """What stands for a trial, in whatever order its reports come."""
    found, turned = one_per_trial(reports), one_per_trial(reports[::-1])
    assert found.counted == turned.counted
    assert len(found.counted) == 1
    return found.counted[0]


@pytest.mark.parametrize(
    ("design", "weighs"),
    [
        ("systematic_review", 128),
        ("rct_blinded", 128),
        ("rct", 96),
        ("rct_open", 96),
        ("controlled_cohort", 64),
        ("case_series", 32),
        ("in_vitro", 8),
        ("narrative_review", 8),
    ],
)
def test_each_level_of_design_counts_twice_the_next_and_an_open_trial_three_quarters(design: str, weighs: int) -> None:
    assert weight(replace(FREE, design=StudyDesign(design))) == weighs


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_each_fault_halves_the_weight_and_indirectness_once(fault: dict[str, object]) -> None:
    assert weight(replace(FREE, **fault)) == 64
    assert weight(replace(FREE, **{**fault, "is_preprint": True})) == (64 if "is_preprint" in fault else 32)
    every = {name: value for each in FAULTS for name, value in each.items()}
    assert weight(replace(FREE, **every)) == 8


def test_a_trial_stopped_for_cause_weighs_as_an_open_one_at_least() -> None:
    entry = replace(FREE, design=StudyDesign.registry_entry)
    assert weight(replace(entry, why_stopped_kind="administrative")) == weight(entry) < 96
    assert {weight(replace(entry, why_stopped_kind=kind)) for kind in ("safety", "futility")} == {96}
    assert weight(replace(FREE, why_stopped_kind="futility")) == 128


@pytest.mark.parametrize(
    ("stopped", "said", "stands"),
    [
        (None, "supports", "supports"),
        (None, "unclear", "unclear"),
        ("safety", "supports", "contradicts"),
        ("futility", "unclear", "contradicts"),
        ("administrative", "unclear", "neutral"),
        ("administrative", "supports", "supports"),
    ],
)
def test_where_a_record_stands(stopped: str | None, said: str, stands: str) -> None:
    item = replace(FREE, direction=Direction(said), why_stopped_kind=stopped)
    assert item.effective_direction is Direction(stands)


@pytest.mark.parametrize(
    ("reports", "stands", "agree"),
    [
        ([FREE, SILENT], "supports", True),
        ([FREE, AGAINST], "neutral", False),
        ([SILENT, replace(SILENT, key="pmid:8")], "unclear", True),
        ([SILENT, replace(SILENT, key="pmid:8", direction=Direction.neutral)], "neutral", True),
        ([REGISTERED, AGAINST], "supports", False),
        ([REGISTERED, replace(AGAINST, why_stopped_kind="safety")], "contradicts", False),
        ([replace(REGISTERED, direction=Direction.unclear), AGAINST], "contradicts", True),
    ],
)
def test_what_counts_of_reports_that_disagree(reports: list[AppraisedItem], stands: str, agree: bool) -> None:
    assert trial(*reports).direction is Direction(stands)
    note = one_per_trial(reports).notes[0]
    assert ("although they disagree" in note) is not agree


def test_the_best_report_stands_and_the_others_are_named() -> None:
    better = replace(FREE, key="pmid:9")
    weak = replace(FREE, is_preprint=True)
    found = one_per_trial([REGISTERED, weak, better, replace(FREE, key="pmid:1", trial=None)])

    assert [each.key for each in found.counted] == ["pmid:1", "pmid:9"]
    assert found.folded == ["nct:NCT1", "pmid:5"]
    assert found.notes == ["pmid:9, nct:NCT1, pmid:5 report one trial (NCT1) and count once."]
    assert trial(REGISTERED, FREE).key == "pmid:5"
    assert trial(FREE, replace(FREE, key="pmid:4")).key == "pmid:4"


@pytest.mark.parametrize(
    ("designs", "taken"),
    [
        (("rct_blinded", "rct_open"), "rct_blinded"),
        (("systematic_review", "rct"), "systematic_review"),
        (("rct", "rct_open"), "rct"),
        (("rct_open", "registry_entry"), "rct_open"),
        (("controlled_cohort", "case_series"), "controlled_cohort"),
    ],
)
def test_the_soundest_design_that_a_report_gives_is_the_trials(designs: tuple[str, str], taken: str) -> None:
    reports = [replace(FREE, key=f"pmid:{at}", design=StudyDesign(each)) for at, each in enumerate(designs)]
    assert trial(*reports).design is StudyDesign(taken)


@pytest.mark.parametrize(
    ("name", "one", "other", "together"),
    [
        ("is_preprint", True, False, False),
        ("is_preprint", True, True, True),
        ("hedged", True, False, False),
        ("hedged", True, True, True),
        ("complication", True, False, False),
        ("complication", True, True, True),
        ("direct", True, False, True),
        ("direct", False, False, False),
        ("rival_works", True, False, True),
        ("beats_rival", False, True, True),
        ("concern", True, True, True),
        ("concern", True, None, None),
        ("concern", True, False, False),
        ("concern", None, False, False),
        ("against_nothing", True, None, True),
        ("against_nothing", True, False, True),
        ("against_nothing", False, None, None),
        ("against_nothing", False, False, False),
        ("unnamed", "men", None, None),
        ("unnamed", "women", "men", "men"),
        ("other_outcome", "a marker", None, None),
        ("rivals", "timolol", "placebo", "placebo"),
        ("rivals", "timolol", None, None),
        ("disputed", None, "two say so", "two say so"),
        ("trial_status", None, "TERMINATED", "TERMINATED"),
        ("why_stopped_kind", "administrative", None, "administrative"),
        ("sample_size", 20, 30, 30),
        ("sample_size", None, 30, 30),
        ("sample_size", None, None, None),
    ],
)
def test_what_the_reports_of_a_trial_say_together(name: str, one: object, other: object, together: object) -> None:
    reports = [replace(FREE, **{name: one}), replace(FREE, key="pmid:8", **{name: other})]
    assert getattr(trial(*reports), name) == together


def test_a_silent_report_lends_its_size_and_one_that_is_opposed_does_not() -> None:
    assert trial(FREE, replace(SILENT, sample_size=900)).sample_size == 900
    assert trial(REGISTERED, replace(AGAINST, sample_size=900)).sample_size is None


def test_the_gravest_reason_to_stop_is_the_trials() -> None:
    kinds = ("administrative", "futility", "safety")
    reports = [replace(FREE, key=f"pmid:{at}", why_stopped_kind=kind) for at, kind in enumerate(kinds)]
    assert trial(*reports).why_stopped_kind == "safety"
    assert trial(*reports[:2]).why_stopped_kind == "futility"
