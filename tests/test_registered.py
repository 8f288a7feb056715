"""A registered trial as a study: who got what by its own names, every primary comparison, figures as data."""

from typing import Any

import pytest
from posted_study import DRUG, PLACEBO, Facts, analysis, outcome, study, trial

from willowbark.tools.appraisal import Direction, PostedFinding, find_posted_result
from willowbark.tools.reading.outcomes import is_more_better
from willowbark.tools.reading.registered import read_registered_trial
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.study import Study
from willowbark.tools.sources.studies.clinicaltrials import parse_study

GLUCOSE = "Change from baseline in HbA1c"
CODED = ("QV 2208 5 mg", "EXPERIMENTAL", ["Drug: QV2208", "Drug: Placebo tablet"])
RIVAL = ("Metformin", "ACTIVE_COMPARATOR", ["Drug: Metformin", "Drug: Placebo injection"])
BETTER = {"Topiramate": "-2.1", "Placebo": "-1.1"}
SIGNIFICANT = analysis("0.003", ci=("-1.6", "-0.4"))


def read(record: Evidence) -> Study:
    found = read_registered_trial(record)
    assert found
    return found


def find(record: Evidence, drug: str = "topiramate") -> PostedFinding:
    found = find_posted_result(record, drug)
    assert found
    return found


def grouped(*titles: str, arms: Any, described: dict[str, str] | None = None) -> dict[str, tuple[str, tuple[str, ...]]]:
    """What groups of results got, by title: the role of the arm and its drugs."""
    told = read(trial(outcome(GLUCOSE, dict.fromkeys(titles, "-1"), described=described or {}), arms=arms))
    return {arm.name: (arm.role, arm.drugs) for arm in told.arms}


def test_a_research_code_in_a_double_dummy_arm_is_active_and_its_comparator_is_not_blamed() -> None:
    values = {"QV 2208 5 mg": "-0.9", "Metformin": "-0.5"}
    record = trial(outcome(GLUCOSE, values, analysis("0.004")), arms=(CODED, RIVAL), conditions=["Type 2 Diabetes"])
    told = read(record)
    assert [(arm.role, arm.drugs) for arm in told.arms] == [("drug", ("qv2208",)), ("drug", ("metformin",))]
    assert find(record, "metformin").direction is Direction.not_assessed
    assert find(record, "metformin").reason == "it is what another treatment was compared with"
    assert find(record, "qv2208").direction is Direction.supports


def test_doses_that_are_posted_together_are_the_drug_and_decide_only_where_every_comparison_is_read() -> None:
    doses = tuple((f"Topiramate {mg} mg", "EXPERIMENTAL", [f"Drug: Topiramate {mg} mg"]) for mg in (50, 100))
    pooled, low = "Topiramate pooled (50 mg and 100 mg)", "Topiramate 50 mg"
    told = outcome(
        "Monthly migraine days",
        {pooled: "NA", low: "-1.2", "Placebo": "-1.0"},
        analysis("0.011", groups=[pooled, "Placebo"]),
        analysis("0.2", groups=[low, "Placebo"]),
    )
    record = trial(told, arms=(*doses, PLACEBO))
    assert {arm.drugs for arm in read(record).arms} == {("topiramate",), ()}
    assert find(record).direction is Direction.not_assessed
    assert not find(record).missed_primary


@pytest.mark.parametrize(
    ("titles", "arms", "due"),
    [
        (
            ["Topiramate 100 mg", "Placebo"],
            (DRUG, ("Placebo", "EXPERIMENTAL", ["Drug: Topiramate", "Drug: Placebo"])),
            {"Topiramate 100 mg": ("drug", ("topiramate",)), "Placebo": ("placebo", ())},
        ),
        (
            ["On topiramate", "Not on topiramate"],
            (("Early", "EXPERIMENTAL", ["Drug: Topiramate"]), ("Late", "OTHER", ["Drug: Topiramate"])),
            {"On topiramate": ("none", ()), "Not on topiramate": ("none", ())},
        ),
        (
            ["Topiramate + Zzt", "Topiramate"],
            (
                ("A", "EXPERIMENTAL", ["Drug: Topiramate"]),
                ("B", "EXPERIMENTAL", ["Drug: Topiramate", "Drug: Zinc oxide"]),
            ),
            {"Topiramate + Zzt": ("unknown", ()), "Topiramate": ("none", ())},
        ),
        (
            ["Placebo then topiramate", "Topiramate"],
            (DRUG, PLACEBO),
            {"Placebo then topiramate": ("unknown", ()), "Topiramate": ("drug", ("topiramate",))},
        ),
        (
            ["Placebo-controlled period: topiramate", "Placebo-controlled period: placebo"],
            (DRUG, PLACEBO),
            {
                "Placebo-controlled period: topiramate": ("drug", ("topiramate",)),
                "Placebo-controlled period: placebo": ("placebo", ()),
            },
        ),
        (
            ["Topiramate withdrawal", "Placebo"],
            (DRUG, PLACEBO),
            {"Topiramate withdrawal": ("unknown", ()), "Placebo": ("placebo", ())},
        ),
    ],
)
def test_a_groups_own_name_says_what_it_got_before_a_careless_list_does(
    titles: list[str], arms: Any, due: dict[str, Any]
) -> None:
    assert grouped(*titles, arms=arms) == due


def test_a_combination_and_one_of_its_parts_differ_by_the_other_part() -> None:
    both = ("Dapagliflozin + metformin", "EXPERIMENTAL", ["Drug: Dapagliflozin", "Drug: Metformin"])
    one = ("Metformin + placebo", "ACTIVE_COMPARATOR", ["Drug: Metformin", "Drug: dapagliflozin matching placebo"])
    values = {"Dapagliflozin + metformin": "-2.0", "Metformin": "-1.4"}
    record = trial(outcome(GLUCOSE, values, analysis("0.001")), arms=(both, one), conditions=["Type 2 Diabetes"])
    assert find(record, "dapagliflozin").reason.startswith("significantly better than placebo or no treatment")


@pytest.mark.parametrize(
    ("title", "condition", "direction"),
    [
        ("First occurrence of a major adverse cardiovascular event", "Type 2 Diabetes", Direction.not_assessed),
        ("First occurrence of a major adverse cardiovascular event", "Heart Failure", Direction.supports),
        ("Change in systolic blood pressure", "Obesity", Direction.not_assessed),
        ("Change in systolic blood pressure", "Hypertension", Direction.supports),
    ],
)
def test_an_outcome_on_another_condition_than_the_trials_says_nothing_of_it(
    title: str, condition: str, direction: Direction
) -> None:
    record = trial(outcome(title, BETTER, SIGNIFICANT), conditions=[condition])
    assert find(record).direction is direction


def test_one_primary_outcome_that_cannot_be_read_keeps_the_others_from_deciding() -> None:
    readable = outcome("Monthly migraine days", BETTER, SIGNIFICANT)
    unreadable = outcome("Total score of the QV index", BETTER, analysis("0.01"), unit="score on a scale")
    assert find(trial(readable)).direction is Direction.supports
    found = find(trial(readable, unreadable))
    assert (found.direction, found.reason) == (Direction.not_assessed, "which way the outcome is good is not said")


def test_no_difference_is_a_missed_outcome_and_refutes_nothing() -> None:
    found = find(trial(outcome("Monthly migraine days", BETTER, analysis("0.4", ci=("-2", "0.5")))))
    assert (found.direction, found.missed_primary) == (Direction.inconclusive, True)
    rival = ("Propranolol", "ACTIVE_COMPARATOR", ["Drug: propranolol"])
    against = outcome("Monthly migraine days", {"Topiramate": "-2", "Propranolol": "-2.1"}, analysis("0.8"))
    assert not find(trial(against, arms=(DRUG, rival))).missed_primary


def test_figures_are_carried_as_data_with_the_people_of_the_comparison() -> None:
    told = outcome("Monthly migraine days", {"Topiramate": ("-2.1", 97), "Placebo": ("-1.1", 101)}, SIGNIFICANT)
    record = trial(told)
    [row] = read(record).comparisons
    assert row.estimate
    assert (row.estimate.measure, row.estimate.value) == ("Mean Difference (Net)", -1.0)
    assert (row.estimate.low, row.estimate.high, row.estimate.level, row.estimate.p) == (-1.6, -0.4, 95, 0.003)
    assert [(count.mean, count.n) for count in row.estimate.counts] == [(-2.1, 97), (-1.1, 101)]
    assert (row.participants, find(record).participants) == (198, 198)
    assert row.passage
    assert row.estimate.written in row.passage.text


def test_a_marker_of_exposure_is_no_efficacy() -> None:
    told = outcome("Change in specific activity of the enzyme", BETTER, SIGNIFICANT, unit="ratio")
    assert find(trial(told)).reason == "its primary outcome is not on efficacy"


@pytest.mark.parametrize(
    ("title", "better"),
    [
        ("Percentage of participants with at least a 75% reduction in PASI", True),
        ("Number of participants with a response by the disease activity index", True),
        ("Number of non-responders", False),
        ("Number of participants with a 40% decline in eGFR", False),
        ("Number of participants with relapse", False),
    ],
)
def test_people_who_reached_a_goal_are_counted_whatever_their_scale_means(title: str, better: bool | None) -> None:
    scale = "The index runs from 0 to 72. Higher scores indicate greater severity."
    found = {"title": title, "unit": "percentage of participants", "description": scale}
    assert is_more_better(found) is better


def test_a_trial_without_results_has_arms_and_no_comparison() -> None:
    bare: Facts = {**study(), "resultsSection": {}}
    record = parse_study(bare)
    assert record
    told = read(record)
    assert [(arm.name, arm.role) for arm in told.arms] == [("Topiramate", "drug"), ("Placebo", "placebo")]
    assert told.comparisons == ()
