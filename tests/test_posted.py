"""Posted results decide a trial's direction only where the registry says enough; everything else says why not."""

from typing import Any

import pytest
from builders import QUESTION, reading
from posted_study import DRUG, PLACEBO, Facts, analysis, outcome, study, trial

from willowbark.tools.appraisal import Direction, find_posted_result
from willowbark.tools.appraisal.appraised import AppraisedRecord, Readings, appraise_record
from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.outcomes import is_more_better
from willowbark.tools.reading.reading import QuotedPassage, StudyDesign
from willowbark.tools.reading.registered_arms import find_role
from willowbark.tools.records import Trial
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.sources.studies.clinicaltrials import parse_study

DAYS = "Change from baseline in monthly migraine days"
BETTER = {"Topiramate": "-2.1", "Placebo": "-1.1"}
REDUCTION = "Reduction in migraine attacks"
SIGNIFICANT = analysis("0.003", ci=("-1.6", "-0.4"))
FIFTY = "Participants with at least a 50% reduction in migraine days"
COUNTS = {"Topiramate": ("60", 120), "Placebo": ("30", 118)}
TITRATED = tuple((f"Topiramate {mg} mg", "EXPERIMENTAL", [f"Drug: topiramate {mg} mg"]) for mg in (50, 100, 200))
ACTIVE = ("Propranolol", "ACTIVE_COMPARATOR", ["Drug: propranolol"])


def days(*analyses: Facts, ours: str = "-2.1", theirs: str = "-1.1", **more: Any) -> Evidence:
    """A trial whose primary outcome is monthly migraine days."""
    return trial(outcome(DAYS, {"Topiramate": ours, "Placebo": theirs}, *analyses), **more)


def other(title: str, ours: object, theirs: object, told: Facts, unit: str = "days", description: str = "") -> Evidence:
    return trial(outcome(title, {"Topiramate": ours, "Placebo": theirs}, told, unit=unit, description=description))


def doses(*p_values: str) -> Evidence:
    values = {name: "-2.0" for name, _, _ in TITRATED} | {"Placebo": "-1.0"}
    told = (analysis(p, groups=[arm[0], "Placebo"]) for p, arm in zip(p_values, TITRATED, strict=True))
    return trial(outcome(DAYS, values, *told), arms=(*TITRATED, PLACEBO))


def rival(ours: str, theirs: str, told: Facts) -> Evidence:
    return trial(outcome(DAYS, {"Topiramate": ours, "Propranolol": theirs}, told), arms=(DRUG, ACTIVE))


def death(p: str, ratio: str, low: str, high: str, ours: int, theirs: int, **more: Any) -> Evidence:
    told = analysis(p, "Hazard Ratio (HR)", ratio, ci=(low, high), **more)
    values = {"Topiramate": (ours, 3000), "Placebo": (theirs, 3000)}
    events = outcome("First occurrence of stroke or death", values, told, unit="Participants")
    return trial(events, conditions=["Stroke"])


def together(name: str, against: str, arm: Any) -> Evidence:
    both = (name, "EXPERIMENTAL", ["Drug: topiramate", "Drug: propranolol"])
    return trial(outcome(DAYS, {name: "-3", against: "-1"}, analysis("0.01")), arms=(both, arm))


SURVIVAL = analysis("0.01", "Hazard Ratio (HR)", "0.71", ci=("0.55", "0.92"))
ODDS = analysis("<0.0001", "Odds Ratio (OR)", "2.9", ci=("1.7", "5.1"))
TABLETS = {"Arm A": "Topiramate tablets", "Arm B": "Placebo tablets matching topiramate"}
CODED = outcome(DAYS, {"Arm A": "-2.1", "Arm B": "-1.1"}, SIGNIFICANT, described=TABLETS)
SEVERITY = "The total runs from 0 to 60. Higher scores indicate greater severity."
NOT_INFERIOR = analysis("<0.001", ci=("-0.6", "0.4"), nonInferiorityType="NON_INFERIORITY")
FAVOURABLE = outcome(DAYS, BETTER, SIGNIFICANT)
P01, P001, P004 = analysis("0.01"), analysis("0.001"), analysis("0.004")
CASES: dict[str, tuple[Evidence, str, str]] = {
    "fewer days than on placebo": (days(SIGNIFICANT), "supports", "better than placebo"),
    "p as a bound": (days(analysis("<0.001")), "supports", "better than placebo"),
    "more responders": (other(FIFTY, ("60", 120), ("30", 118), ODDS, "Participants"), "supports", "better"),
    "fewer events by hazard ratio": (death("0.0014", "0.82", "0.73", "0.93", 504, 600), "supports", "better"),
    "longer survival, ratio below 1": (
        other("Overall survival", "14.1", "11.0", SURVIVAL, "months"),
        "supports",
        "better",
    ),
    "later relapse": (other("Time to first relapse", "210", "120", P004), "supports", "better"),
    "sooner recovery": (other("Time to recovery", "8", "12", P004), "supports", "better"),
    "a scale that is described": (
        other("Functional rating at week 12", "20", "31", P01, "score on a scale", SEVERITY),
        "supports",
        "better",
    ),
    "better than another drug": (rival("-2.1", "-1.0", P01), "supports", "better than another treatment"),
    "one of three doses after correction": (doses("0.30", "0.04", "0.001"), "supports", "1 of 3 groups"),
    "added to the background": (
        together("Topiramate plus propranolol", "Propranolol", ACTIVE),
        "supports",
        "better than placebo or no treatment",
    ),
    "the drug named in the group alone": (trial(CODED, arms=()), "supports", "better than placebo"),
    "worse than placebo": (days(SIGNIFICANT, ours="-0.4", theirs="-1.6"), "contradicts", "worse than placebo"),
    "more deaths": (death("0.01", "1.30", "1.06", "1.58", 220, 170), "contradicts", "worse"),
    "a large trial with nothing to show": (
        death("0.81", "1.02", "0.90", "1.14", 598, 590),
        "inconclusive",
        "not significant",
    ),
    "no different from another drug": (rival("-2", "-1.9", analysis("0.80")), "inconclusive", "another treatment"),
    "before correction alone": (doses("0.30", "0.04", "0.20"), "inconclusive", "not after correction for 3 tests"),
    "two primary outcomes that disagree": (
        trial(FAVOURABLE, outcome(FIFTY, COUNTS, analysis("0.4", ci=("-1", "2")), unit="Participants")),
        "inconclusive",
        "1 of 2 in its favour",
    ),
    "two analyses that disagree": (days(analysis("0.06"), P01), "not assessed", "disagree"),
    "another drug did better": (
        rival("-1", "-2", P01),
        "inconclusive",
        "says nothing of the drug against no treatment",
    ),
    "not inferior to another drug": (rival("-2", "-1.9", NOT_INFERIOR), "supports", "non-inferiority"),
    "no analysis": (days(), "not assessed", "no statistical analysis"),
    "not randomised": (days(SIGNIFICANT, allocation="NON_RANDOMIZED"), "not assessed", "not randomised"),
    "against its own baseline": (days(analysis("0.001", groups=["Topiramate"])), "not assessed", "one group alone"),
    "doses against one another": (
        trial(outcome(DAYS, {"Topiramate 50 mg": "-1", "Topiramate 100 mg": "-2"}, P01), arms=TITRATED),
        "not assessed",
        "on both sides",
    ),
    "given with a second drug": (
        together("Topiramate and propranolol", "Placebo", PLACEBO),
        "not assessed",
        "together with propranolol",
    ),
    "another drug's trial": (
        trial(outcome(DAYS, {"Propranolol": "-2", "Placebo": "-1"}, SIGNIFICANT), arms=(ACTIVE, PLACEBO)),
        "not assessed",
        "neither group",
    ),
    "safety": (
        other("Participants with adverse events", ("60", 120), ("30", 118), P001, "Participants"),
        "not assessed",
        "not on efficacy",
    ),
    "kinetics": (other("AUC of topiramate in plasma", "-2", "-1", P001, "h*ng/mL"), "not assessed", "not on efficacy"),
    "a reduction, posted as a change or as an amount": (
        other(REDUCTION, "3.1", "1.9", SIGNIFICANT),
        "not assessed",
        "which way the outcome is",
    ),
    "good or bad": (
        other("Change in serum zinc", "-2", "-1", P001, "umol/L"),
        "not assessed",
        "which way the outcome is",
    ),
    "a scale that nobody explains": (
        other("Total score of the ABC-9", "-2", "-1", P001, "score on a scale"),
        "not assessed",
        "which way the outcome is good",
    ),
    "p and interval that disagree": (days(analysis("0.01", ci=("-2.2", "0.3"))), "not assessed", "disagree"),
    "a one-sided p": (days(analysis("0.04", statisticalMethod="t-test, 1 sided")), "inconclusive", "not significant"),
    "another purpose": (days(SIGNIFICANT, purpose="BASIC_SCIENCE"), "not assessed", "neither treatment nor prevention"),
}


def found(record: Evidence) -> Any:
    finding = find_posted_result(record, "topiramate")
    assert finding is not None
    return finding


@pytest.mark.parametrize(("record", "direction", "reason"), CASES.values(), ids=CASES.keys())
def test_a_posted_result_has_a_direction_its_reason_and_a_sentence_to_the_letter(
    record: Evidence, direction: str, reason: str
) -> None:
    finding = found(record)
    assert (finding.direction.value, reason in finding.reason) == (direction, True), finding.reason
    assert finding.sentence in record.content
    assert bool(finding.sentence) == (finding.direction is not Direction.not_assessed)


def test_a_trial_without_posted_results_has_no_finding() -> None:
    record = parse_study({**study(), "resultsSection": {}})
    assert record
    assert find_posted_result(record, "topiramate") is None


def test_serious_adverse_events_are_numbers_by_group() -> None:
    events = found(trial(outcome(DAYS, BETTER, SIGNIFICANT))).serious_events
    assert [(e.group, e.affected, e.at_risk) for e in events] == [("Topiramate", 4, 120), ("Placebo", 3, 118)]


def test_a_decided_trial_counts_as_the_design_that_was_registered_and_an_undecided_one_as_an_entry() -> None:
    for masking, design in (("NONE", "rct_open"), ("DOUBLE", "rct_blinded"), (None, "rct")):
        assert appraised(days(SIGNIFICANT, masking=masking)).item.design.value == design
    assert appraised(days()).item.design is StudyDesign.registry_entry


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
        ("Percentage of participants with headache pain relief", "percentage of participants", True),
        ("Number of participants with ulcer healing", "Participants", True),
        ("Number of responders with 50% fewer attacks", "Participants", True),
        ("Migraine-specific quality of life", "points", True),
        ("Conversion to Alzheimer's disease", "Participants", False),
        ("Sputum culture conversion", "Participants", True),
    ],
)
def test_the_good_direction_of_an_outcome(title: str, unit: str, better: bool | None) -> None:
    assert is_more_better({"title": title, "unit": unit}) is better


def appraised(record: Evidence) -> AppraisedRecord:
    (candidate,) = [c for c in appraise_candidates(parse_question(QUESTION), [record]) if c.drug == "topiramate"]
    return candidate.records[0]


@pytest.mark.parametrize(
    ("reason", "direction"),
    [("Excess of serious adverse events", Direction.contradicts), ("Funding ended", Direction.supports)],
)
def test_a_stop_for_harm_outweighs_a_posted_success_and_one_for_want_of_money_does_not(
    reason: str, direction: Direction
) -> None:
    stopped = {"overallStatus": "TERMINATED", "whyStopped": reason}
    seen = appraised(trial(FAVOURABLE, status=stopped))
    assert (seen.item.direction, seen.sentence == reason) == (direction, direction is Direction.contradicts)


@pytest.mark.parametrize(
    ("reason", "direction"),
    [
        ("Slow recruitment", Direction.not_assessed),
        ("Funding ended", Direction.not_assessed),
        ("DSMB advised to stop for futility", Direction.contradicts),
        ("Clear benefit at the interim analysis", Direction.not_assessed),
        (None, Direction.not_assessed),
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


def test_a_stop_for_futility_is_shown_by_its_reason_not_by_a_quote_that_says_nothing() -> None:
    bare = study(status={"overallStatus": "TERMINATED", "whyStopped": "Stopped for futility"})
    record = parse_study({**bare, "resultsSection": {}, "hasResults": False})
    assert record
    start = len(record.citation.title) + 2
    quote = QuotedPassage(text=record.content[:20], section="Registry entry", start=start, end=start + 20)
    given = reading(record.key, "topiramate", effect="not_reported", kind="none", reader="model", passages=(quote,))
    seen = appraise_record(record, "topiramate", parse_question(QUESTION), Readings(given=[given]))
    assert seen.readings[0].reader == "model"
    assert (seen.item.direction, seen.sentence) == (Direction.contradicts, "Stopped for futility")


def test_the_registrys_aims_decide_nothing() -> None:
    bare = study()
    bare["protocolSection"]["descriptionModule"] = {"briefSummary": "Topiramate significantly reduced migraine days."}
    record = parse_study({**bare, "resultsSection": {}})
    assert record
    assert appraised(record).item.direction is Direction.not_assessed


@pytest.mark.parametrize(
    ("arms", "role", "alone"),
    [
        ([], "tested", True),
        ([("EXPERIMENTAL", ["Topiramate"]), ("PLACEBO_COMPARATOR", ["Placebo"])], "tested", True),
        ([("EXPERIMENTAL", ["Erenumab"]), ("ACTIVE_COMPARATOR", ["Topiramate"])], "comparator", True),
        ([("ACTIVE_COMPARATOR", ["Timolol"]), ("ACTIVE_COMPARATOR", ["Topiramate"])], "tested", True),
        ([("EXPERIMENTAL", ["Erenumab", "Topiramate"]), ("OTHER", ["Topiramate", "Placebo"])], "background", True),
        ([("EXPERIMENTAL", ["Timolol", "Topiramate"]), ("OTHER", ["Timolol"])], "tested", True),
        ([("EXPERIMENTAL", ["Timolol", "Topiramate"]), ("OTHER", ["Placebo"])], "tested", False),
        ([("EXPERIMENTAL", ["Erenumab"]), ("PLACEBO_COMPARATOR", ["Placebo topiramate"])], "tested", True),
    ],
)
def test_what_a_drug_is_in_a_registered_trial_follows_from_its_arms(
    arms: list[tuple[str, list[str]]], role: str, alone: bool
) -> None:
    given = [{"label": str(at), "type": kind, "interventions": names} for at, (kind, names) in enumerate(arms)]
    assert find_role(Trial.model_validate({"arms": given}), "topiramate") == (role, alone)


def test_a_stop_for_futility_contradicts_what_was_tested_and_neither_its_comparator_nor_a_combination() -> None:
    stop = {"status": {"overallStatus": "TERMINATED", "whyStopped": "Futility"}}
    bare = parse_study({**study(**stop), "resultsSection": {}, "hasResults": False})
    assert bare

    def directions(*arms: tuple[str, list[str]]) -> Direction:
        given = [{"label": str(at), "type": kind, "interventions": names} for at, (kind, names) in enumerate(arms)]
        return appraised(bare.model_copy(update={"metadata": {**bare.metadata, "arms": given}})).item.direction

    placebo = ("PLACEBO_COMPARATOR", ["Placebo"])
    assert directions(("EXPERIMENTAL", ["Topiramate"]), placebo) is Direction.contradicts
    assert directions(("EXPERIMENTAL", ["Erenumab"]), ("ACTIVE_COMPARATOR", ["Topiramate"])) is Direction.not_assessed
    assert directions(("EXPERIMENTAL", ["Timolol", "Topiramate"]), placebo) is Direction.not_assessed
