"""Posted results decide a trial's direction only where the registry says enough; everything else says why not."""

from typing import Any

import pytest
from builders import QUESTION
from posted_study import DRUG, PLACEBO, Facts, analysis, outcome, study, trial

from willowbark.tools.appraisal import Direction, StudyDesign, posted_finding
from willowbark.tools.appraisal.appraised import AppraisedRecord
from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.evidence import Evidence
from willowbark.tools.reading.registry_entries import more_is_better
from willowbark.tools.sources.studies.clinicaltrials_record import parse_study

DAYS = "Change from baseline in monthly migraine days"
BETTER = {"Topiramate": "-2.1", "Placebo": "-1.1"}
WORSE = {"Topiramate": "-0.4", "Placebo": "-1.6"}
SIGNIFICANT = analysis("0.003", ci=("-1.6", "-0.4"))
FIFTY = "Participants with at least a 50% reduction in migraine days"
COUNTS = {"Topiramate": ("60", 120), "Placebo": ("30", 118)}
TITRATED = tuple((f"Topiramate {mg} mg", "EXPERIMENTAL", [f"Drug: topiramate {mg} mg"]) for mg in (50, 100, 200))
ACTIVE = ("Propranolol", "ACTIVE_COMPARATOR", ["Drug: propranolol"])


def doses(*p_values: str) -> Facts:
    values = {name: "-2.0" for name, _, _ in TITRATED} | {"Placebo": "-1.0"}
    return outcome(
        DAYS, values, *(analysis(p, groups=[arm[0], "Placebo"]) for p, arm in zip(p_values, TITRATED, strict=True))
    )


def death(p: str, ratio: str, low: str, high: str, ours: int, theirs: int, **more: Any) -> Facts:
    return outcome(
        "First occurrence of stroke or death",
        {"Topiramate": (ours, 3000), "Placebo": (theirs, 3000)},
        analysis(p, "Hazard Ratio (HR)", ratio, ci=(low, high), **more),
        unit="Participants",
    )


CASES: dict[str, tuple[Evidence, str, str]] = {
    "fewer days than on placebo": (trial(outcome(DAYS, BETTER, SIGNIFICANT)), "supports", "better than placebo"),
    "p as a bound": (trial(outcome(DAYS, BETTER, analysis("<0.001"))), "supports", "better than placebo"),
    "p written with an equals sign": (trial(outcome(DAYS, BETTER, analysis("= 0.02"))), "supports", "better"),
    "more responders": (
        trial(
            outcome(
                FIFTY, COUNTS, analysis("<0.0001", "Odds Ratio (OR)", "2.9", ci=("1.7", "5.1")), unit="Participants"
            )
        ),
        "supports",
        "better",
    ),
    "a reduction posted as a positive number": (
        trial(outcome("Reduction in migraine attacks", {"Topiramate": "3.1", "Placebo": "1.9"}, SIGNIFICANT)),
        "supports",
        "better",
    ),
    "a reduction posted as a negative change": (
        trial(outcome("Reduction in migraine attacks", {"Topiramate": "-3.1", "Placebo": "-1.9"}, SIGNIFICANT)),
        "supports",
        "better",
    ),
    "fewer events by hazard ratio": (trial(death("0.0014", "0.82", "0.73", "0.93", 504, 600)), "supports", "better"),
    "longer survival is a hazard ratio below 1": (
        trial(
            outcome(
                "Overall survival",
                {"Topiramate": "14.1", "Placebo": "11.0"},
                analysis("0.01", "Hazard Ratio (HR)", "0.71", ci=("0.55", "0.92")),
                unit="months",
            )
        ),
        "supports",
        "better",
    ),
    "later relapse": (
        trial(
            outcome("Time to first relapse", {"Topiramate": "210", "Placebo": "120"}, analysis("0.004"), unit="days")
        ),
        "supports",
        "better",
    ),
    "sooner recovery": (
        trial(outcome("Time to recovery", {"Topiramate": "8", "Placebo": "12"}, analysis("0.004"), unit="days")),
        "supports",
        "better",
    ),
    "a scale whose description says which way it runs": (
        trial(
            outcome(
                "Functional rating at week 12",
                {"Topiramate": "20", "Placebo": "31"},
                analysis("0.01"),
                unit="score on a scale",
                description="The total runs from 0 to 60. Higher scores indicate greater severity.",
            )
        ),
        "supports",
        "better",
    ),
    "better than another drug": (
        trial(outcome(DAYS, {"Topiramate": "-2.1", "Propranolol": "-1.0"}, analysis("0.01")), arms=(DRUG, ACTIVE)),
        "supports",
        "better than another treatment",
    ),
    "one of three doses after correction": (
        trial(doses("0.30", "0.04", "0.001"), arms=(*TITRATED, PLACEBO)),
        "supports",
        "2 of 3 groups",
    ),
    "an added drug against the background alone": (
        trial(
            outcome(DAYS, {"Topiramate plus propranolol": "-3", "Propranolol": "-1"}, analysis("0.01")),
            arms=(("Topiramate plus propranolol", "EXPERIMENTAL", ["Drug: topiramate", "Drug: propranolol"]), ACTIVE),
        ),
        "supports",
        "better than placebo or no treatment",
    ),
    "the drug's code in the arm, its name in the group": (
        trial(
            outcome(
                DAYS,
                {"Arm A": "-2.1", "Arm B": "-1.1"},
                SIGNIFICANT,
                described={"Arm A": "Topiramate tablets", "Arm B": "Placebo tablets matching topiramate"},
            ),
            arms=(),
        ),
        "supports",
        "better than placebo",
    ),
    "worse than placebo": (trial(outcome(DAYS, WORSE, SIGNIFICANT)), "contradicts", "worse than placebo"),
    "more deaths": (trial(death("0.01", "1.30", "1.06", "1.58", 220, 170)), "contradicts", "worse"),
    "a large trial with nothing to show": (
        trial(death("0.81", "1.02", "0.90", "1.14", 598, 590)),
        "contradicts",
        "excludes an appreciable one",
    ),
    "means as close as a fifth of a standard deviation": (
        trial(
            outcome(
                DAYS,
                {"Topiramate": ("-2.0", 600), "Placebo": ("-2.1", 600)},
                analysis("0.70", value="0.1", ci=("-0.4", "0.6")),
                spread="4.0",
                dispersion="Standard Deviation",
            )
        ),
        "contradicts",
        "excludes an appreciable one",
    ),
    "a trend": (trial(death("0.07", "0.87", "0.76", "1.01", 350, 395)), "neutral", "none excluded"),
    "not significant with a wide interval": (
        trial(outcome(DAYS, BETTER, analysis("0.30", ci=("-2.9", "0.9")))),
        "neutral",
        "none excluded",
    ),
    "not significant without an interval": (
        trial(outcome(DAYS, BETTER, analysis("0.30"))),
        "neutral",
        "no interval is posted",
    ),
    "one of three doses before correction alone": (
        trial(doses("0.30", "0.04", "0.20"), arms=(*TITRATED, PLACEBO)),
        "neutral",
        "not after correction for 3 tests",
    ),
    "two primary outcomes that disagree": (
        trial(
            outcome(DAYS, BETTER, SIGNIFICANT),
            outcome(FIFTY, COUNTS, analysis("0.4", ci=("-1", "2")), unit="Participants"),
        ),
        "neutral",
        "1 of 2 in its favour",
    ),
    "intention to treat and per protocol disagree": (
        trial(outcome(DAYS, BETTER, analysis("0.06"), analysis("0.01"))),
        "neutral",
        "disagree",
    ),
    "another drug did better": (
        trial(outcome(DAYS, {"Topiramate": "-1", "Propranolol": "-2"}, analysis("0.01")), arms=(DRUG, ACTIVE)),
        "neutral",
        "says nothing of the drug against no treatment",
    ),
    "not inferior to another drug": (
        trial(
            outcome(
                DAYS,
                {"Topiramate": "-2", "Propranolol": "-1.9"},
                analysis("<0.001", ci=("-0.6", "0.4"), nonInferiorityType="NON_INFERIORITY"),
            ),
            arms=(DRUG, ACTIVE),
        ),
        "neutral",
        "non-inferiority",
    ),
    "no analysis": (trial(outcome(DAYS, BETTER)), "unclear", "no statistical analysis"),
    "not randomised": (
        trial(outcome(DAYS, BETTER, SIGNIFICANT), allocation="NON_RANDOMIZED"),
        "unclear",
        "not randomised",
    ),
    "one group against its own baseline": (
        trial(outcome(DAYS, BETTER, analysis("0.001", groups=["Topiramate"]))),
        "unclear",
        "one group alone",
    ),
    "doses against one another": (
        trial(outcome(DAYS, {"Topiramate 50 mg": "-1", "Topiramate 100 mg": "-2"}, analysis("0.01")), arms=TITRATED),
        "unclear",
        "on both sides",
    ),
    "given with a second drug": (
        trial(
            outcome(DAYS, {"Topiramate and propranolol": "-3", "Placebo": "-1"}, analysis("0.01")),
            arms=(("Topiramate and propranolol", "EXPERIMENTAL", ["Drug: topiramate", "Drug: propranolol"]), PLACEBO),
        ),
        "unclear",
        "together with propranolol",
    ),
    "another drug's trial": (
        trial(outcome(DAYS, {"Propranolol": "-2", "Placebo": "-1"}, SIGNIFICANT), arms=(ACTIVE, PLACEBO)),
        "unclear",
        "neither group",
    ),
    "safety": (
        trial(outcome("Participants with adverse events", COUNTS, analysis("0.001"), unit="Participants")),
        "unclear",
        "safety, not on efficacy",
    ),
    "kinetics": (
        trial(outcome("AUC of topiramate in plasma", BETTER, analysis("0.001"), unit="h*ng/mL")),
        "unclear",
        "pharmacokinetics",
    ),
    "an outcome that may be good or bad": (
        trial(outcome("Change in serum zinc", BETTER, analysis("0.001"), unit="umol/L")),
        "unclear",
        "which way the outcome is good",
    ),
    "a scale that nobody explains": (
        trial(outcome("Total score of the ABC-9", BETTER, analysis("0.001"), unit="score on a scale")),
        "unclear",
        "which way the outcome is good",
    ),
    "p and interval that disagree": (
        trial(outcome(DAYS, BETTER, analysis("0.01", ci=("-2.2", "0.3")))),
        "unclear",
        "disagree",
    ),
    "values and ratio that disagree": (
        trial(death("0.01", "1.30", "1.06", "1.58", 170, 220)),
        "unclear",
        "point different ways",
    ),
    "a one-sided p": (
        trial(outcome(DAYS, BETTER, analysis("0.04", statisticalMethod="t-test, 1 sided"))),
        "neutral",
        "not significant",
    ),
    "a threshold of the trial's own": (
        trial(
            death("0.04", "0.86", "0.75", "0.99", 500, 560, pValueComment="Significance was considered if p ≤ 0.0328")
        ),
        "neutral",
        "not significant",
    ),
    "a trial in another purpose": (
        trial(outcome(DAYS, BETTER, SIGNIFICANT), purpose="BASIC_SCIENCE"),
        "unclear",
        "neither treatment nor prevention",
    ),
}


def found(record: Evidence) -> Any:
    finding = posted_finding(record, "topiramate", ("topamax",))
    assert finding is not None
    return finding


@pytest.mark.parametrize(("record", "direction", "reason"), CASES.values(), ids=CASES.keys())
def test_a_posted_result_has_a_direction_with_its_reason(record: Evidence, direction: str, reason: str) -> None:
    finding = found(record)
    assert (finding.direction.value, reason in finding.reason) == (direction, True), finding.reason


@pytest.mark.parametrize("record", [case[0] for case in CASES.values()], ids=CASES.keys())
def test_the_sentence_stands_in_the_record_to_the_letter(record: Evidence) -> None:
    finding = found(record)
    assert finding.sentence in record.content
    assert bool(finding.sentence) == (finding.direction is not Direction.unclear)


def test_a_trial_without_posted_results_has_no_finding() -> None:
    record = parse_study({**study(), "resultsSection": {}})
    assert record
    assert posted_finding(record, "topiramate") is None


def test_serious_adverse_events_are_numbers_by_group() -> None:
    events = found(trial(outcome(DAYS, BETTER, SIGNIFICANT))).serious_events
    assert [(e.group, e.affected, e.at_risk) for e in events] == [("Topiramate", 4, 120), ("Placebo", 3, 118)]


@pytest.mark.parametrize(
    ("masking", "design"),
    [("NONE", StudyDesign.rct_open), ("DOUBLE", StudyDesign.rct_blinded), (None, StudyDesign.rct)],
)
def test_a_decided_trial_counts_as_the_design_that_was_registered(masking: str | None, design: StudyDesign) -> None:
    assert found(trial(outcome(DAYS, BETTER, SIGNIFICANT), masking=masking)).design is design


def test_an_undecided_trial_stays_a_registry_entry() -> None:
    assert found(trial(outcome(DAYS, BETTER))).design is StudyDesign.registry_entry


@pytest.mark.parametrize(
    ("title", "unit", "better"),
    [
        ("Change From Baseline in eGFR", "mL/min", True),
        ("Progression-free survival", "months", True),
        ("Percentage of participants free of relapse", "percentage of participants", True),
        ("All-cause mortality", "Participants", False),
        ("Hepatic venous pressure gradient", "mmHg", False),
        ("Continuous abstinence in weeks 9 to 12", "Participants", True),
        ("Change in MADRS total score", "score on a scale", False),
        ("Change in KCCQ total symptom score", "score on a scale", True),
        ("Effects of kidney disease, domain score", "scores on a scale", None),
        ("Change in serum potassium", "mmol/L", None),
    ],
)
def test_the_good_direction_of_an_outcome(title: str, unit: str, better: bool | None) -> None:
    assert more_is_better({"title": title, "unit": unit}) is better


def appraised(record: Evidence) -> AppraisedRecord:
    (candidate,) = [c for c in appraise_candidates(QUESTION, [record]) if c.drug == "topiramate"]
    return candidate.records[0]


def test_a_posted_result_is_evidence_for_the_candidate() -> None:
    (candidate,) = appraise_candidates(QUESTION, [trial(outcome(DAYS, BETTER, SIGNIFICANT))])
    assert candidate.appraisal.supporting == ["nct:NCT99999901"]
    assert candidate.records[0].sentence.startswith(DAYS)
    assert candidate.records[0].item.against_nothing


def test_a_stop_for_harm_outweighs_a_posted_success() -> None:
    stopped = {"overallStatus": "TERMINATED", "whyStopped": "Excess of serious adverse events"}
    seen = appraised(trial(outcome(DAYS, BETTER, SIGNIFICANT), status=stopped))
    assert (seen.item.direction, seen.sentence) == (Direction.contradicts, "Excess of serious adverse events")


@pytest.mark.parametrize(
    ("reason", "direction"),
    [
        ("Slow recruitment", Direction.neutral),
        ("Funding ended", Direction.neutral),
        ("DSMB advised to stop for futility", Direction.contradicts),
        ("Clear benefit at the interim analysis", Direction.unclear),
        (None, Direction.unclear),
    ],
)
def test_a_stopped_trial_without_results_stands_where_its_reason_puts_it(
    reason: str | None, direction: Direction
) -> None:
    bare = study(status={"overallStatus": "TERMINATED", **({"whyStopped": reason} if reason else {})})
    record = parse_study({**bare, "resultsSection": {}, "hasResults": False})
    assert record
    seen = appraised(record)
    assert (seen.item.direction, seen.sentence) == (direction, reason or "")


def test_a_trial_stopped_for_want_of_money_can_still_have_a_result() -> None:
    stopped = {"overallStatus": "TERMINATED", "whyStopped": "Funding ended"}
    assert appraised(trial(outcome(DAYS, BETTER, SIGNIFICANT), status=stopped)).item.direction is Direction.supports


def test_the_registrys_aims_decide_nothing() -> None:
    bare = study()
    bare["protocolSection"]["descriptionModule"] = {"briefSummary": "Topiramate significantly reduced migraine days."}
    record = parse_study({**bare, "resultsSection": {}})
    assert record
    assert appraised(record).item.direction is Direction.unclear
