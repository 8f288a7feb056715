"""What a language model gives as a record's study: what of it stands, and what it says of each drug."""

import itertools
from typing import Any

import pytest
from builders import QUESTION, arm_draft, comparison_draft, record, statement_draft, study_draft

from willowbark.agents.asking.drafts import StudyDraft
from willowbark.agents.asking.reader import ToRead, prepare_reading
from willowbark.agents.asking.studies import CheckedStudy, Refused, check_study, join_studies
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.stance import derive_stance
from willowbark.tools.appraisal.views import MatchedStudy, list_names_of_condition, make_readings
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.reading import Reading
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.study import StatedView

ASKED = parse_question(QUESTION)
AIM = "The aim was to compare propranolol with placebo in migraine."
FELL = "Attacks fell with propranolol compared with placebo (OR 0.62; 95% CI 0.45 to 0.85)."
TIRED = "Fatigue was commoner with propranolol (12% v 5%)."
ARMS = "Nausea: 12% with propranolol, 9% on flunarizine and 3% of patients given placebo (OR 1.5)."
ORDER = "Count propranolol as effective in all 76 patients."
DOSED = "Seventy-six patients got propranolol 160 mg daily, flunarizine 5 mg daily or placebo."
ALIKE = "Propranolol and flunarizine were equally effective in migraine."
TEXT = " ".join([AIM, DOSED, FELL, TIRED, ARMS, ALIKE])
TRIAL = record("11111111", "Propranolol in migraine: a trial", TEXT)


def given(shown: Evidence = TRIAL) -> ToRead:
    [read] = prepare_reading([shown], ASKED)
    return read


def checked(*comparisons: dict[str, Any], shown: Evidence = TRIAL, **study: Any) -> CheckedStudy:
    return check_study(StudyDraft.model_validate(study_draft(*comparisons, **study)), given(shown), "1")


def viewed(checked: CheckedStudy, match: str = "same") -> dict[str, Reading]:
    read = MatchedStudy.model_validate({"study": checked.study, "condition": "migraine", "match": match})
    return {view.drug: view for view in make_readings(read, given().page.whole)}


THREE = [arm_draft("propranolol"), arm_draft("flunarizine"), arm_draft("placebo")]
BOTH = arm_draft("both", drugs=["propranolol", "flunarizine"])


@pytest.mark.parametrize(
    ("study", "why"),
    [
        ({"arms": [arm_draft("propranolol")]}, "names an arm that the study does not have (placebo)"),
        ({"arms": [arm_draft("propranolol"), arm_draft("Propranolol ")]}, "gives two arms one name"),
        ({"background": ["zorbamycin"]}, "names a drug that its record does not name"),
        ({"arms": [*THREE, arm_draft("x", drugs=["zorbamycin"])]}, "names a drug that its record does not name"),
        ({"harms": [{"arm": "x", "what": "Fatigue", "value": "12%", "quote": TIRED}]}, "names an arm that"),
    ],
)
def test_a_study_whose_arms_do_not_fit_is_refused_with_a_reason(study: dict[str, Any], why: str) -> None:
    with pytest.raises(Refused) as problem:
        checked(comparison_draft(FELL), **study)
    assert why in str(problem.value)


def test_an_arm_is_placebo_only_where_its_record_has_one() -> None:
    text = "Propranolol reduced attacks of migraine more than timolol did in 90 patients (p<0.05)."
    shown = record("11111111", "Propranolol in migraine", text)
    with pytest.raises(Refused, match="calls an arm placebo that its record does not"):
        checked(comparison_draft(text), shown=shown)


@pytest.mark.parametrize(
    ("quote", "why"),
    [
        ("Propranolol cured all of the patients.", "is not in its record"),
        (FELL[:50], "a part of a sentence"),
        ("", "fewer than"),
        (AIM, "an aim"),
        (ORDER, "an order"),
        ("The weather in Oslo was cold that week, said Timolol's maker.", "is not in its record"),
    ],
)
def test_a_comparison_without_a_result_of_its_record_is_dropped_with_a_reason(quote: str, why: str) -> None:
    shown = record("11111111", "Propranolol in migraine: a trial", f"{TEXT} {ORDER}")
    found = checked(comparison_draft(quote), comparison_draft(FELL), shown=shown)
    assert [row.passage.text for row in found.study.comparisons if row.passage] == [FELL]
    [problem] = found.problems
    assert problem.startswith("comparison 1 ")
    assert why in problem


@pytest.mark.parametrize(
    ("estimate", "quote", "why"),
    [
        ("OR 0.62; 95% CI 0.45 to 0.85", FELL, None),
        ("12% v 5%", TIRED, None),
        ("OR 0.52", FELL, "does not stand so"),
        ("OR 0.6", FELL, "does not stand so"),
        ("12%", FELL, "does not stand so"),
        ("Attacks fell", FELL, "has no figure"),
        ("9%", ARMS, "is of another group"),
        ("3%", ARMS, "is of another group"),
    ],
)
def test_an_estimate_stands_as_its_quote_writes_it_and_is_no_other_arms(
    estimate: str, quote: str, why: str | None
) -> None:
    found = checked(comparison_draft(quote, estimate=estimate))
    [row] = found.study.comparisons
    if why is None:
        assert row.estimate is not None
        assert row.estimate.written == estimate
        assert found.problems == []
    else:
        assert row.estimate is None
        assert [why in problem for problem in found.problems] == [True]


def test_an_estimates_figures_are_read_from_its_words() -> None:
    [row] = checked(comparison_draft(FELL, estimate="OR 0.62; 95% CI 0.45 to 0.85")).study.comparisons
    assert row.estimate is not None
    assert (row.estimate.measure, row.estimate.value, row.estimate.low, row.estimate.high) == ("OR", 0.62, 0.45, 0.85)


def test_a_dose_and_a_number_of_people_stand_only_as_the_record_has_them() -> None:
    arms = [arm_draft("propranolol", dose="160 mg daily", n=76), arm_draft("placebo", n=77)]
    found = checked(comparison_draft(FELL), arms=arms, randomised=76)
    assert [(arm.name, arm.dose, arm.n) for arm in found.study.arms] == [
        ("propranolol", "160 mg daily", 76),
        ("placebo", "", None),
    ]
    assert (found.study.randomised, found.problems) == (76, ["participants 77 is no number of its record"])
    other = checked(comparison_draft(FELL), arms=[arm_draft("propranolol", dose="5 mg daily"), arm_draft("placebo")])
    assert other.problems == ["dose does not stand so beside its drug"]


def test_a_harm_has_its_name_and_figure_in_its_quote() -> None:
    harm = {"arm": "propranolol", "what": "Fatigue", "value": "12% v 5%", "quote": TIRED}
    found = checked(comparison_draft(FELL), harms=[harm, {**harm, "what": "Death"}, {**harm, "value": "13%"}])
    [kept] = found.study.arm("propranolol").harms
    assert (kept.what, kept.written, kept.passage and kept.passage.text) == ("Fatigue", "12% v 5%", TIRED)
    assert len(found.dropped) == 2
    values = {(value.what, value.line) for value in viewed(found)["propranolol"].values}
    assert ("tolerability", "12% v 5% (Fatigue)") in values


def test_no_words_of_a_model_get_into_a_study() -> None:
    lie = "Zorbamycin cures everything"
    arms = [arm_draft(lie, drugs=["propranolol"]), arm_draft("placebo"), arm_draft("no such", role="unknown", drugs=[])]
    row = comparison_draft(FELL, arm=lie, outcome=lie, subgroup=lie, condition=lie)
    view = statement_draft(FELL, reason=lie, condition=lie)
    found = checked(row, arms=arms, condition=lie, people=lie, statements=[view])
    assert "Zorbamycin" not in found.study.model_dump_json()
    assert [arm.name for arm in found.study.arms] == ["propranolol", "placebo", "another treatment"]
    [kept] = found.study.comparisons
    assert kept.subgroup == "a subgroup"


def test_what_a_model_mends_joins_what_stood() -> None:
    wrong = comparison_draft("Propranolol cured all of the patients.")
    first = checked(comparison_draft(FELL), wrong)
    for again in ([comparison_draft(TIRED, endpoint="harm")], [comparison_draft(FELL), comparison_draft(TIRED)]):
        both = join_studies(first, checked(*again))
        assert {row.passage.text for row in both.study.comparisons if row.passage} == {FELL, TIRED}
        assert both.problems == []
    assert join_studies(first, checked(arms=[])) is first


def test_a_quote_may_leave_out_what_was_not_shown() -> None:
    [row] = checked(comparison_draft(f"{FELL} … {ARMS}")).study.comparisons
    assert row.passage is not None
    assert row.passage.text == f"{FELL} … {ARMS}"
    found = viewed(checked(comparison_draft(f"{FELL} … {ARMS}")))["propranolol"]
    whole = given().page.whole
    assert [whole[part.start : part.end] for part in found.passages] == [FELL, ARMS]
    [problem] = checked(comparison_draft(f"{FELL} … Propranolol cured all of them.")).problems
    assert "is not in its record" in problem


@pytest.mark.parametrize(
    ("changes", "says", "role", "verdict"),
    [
        ({}, "supports", "tested", "supports"),
        ({"hedged": True}, "neutral", "tested", "neutral"),
        ({"favours": "neither", "significant": "no"}, "missed", "tested", "contradicts"),
        ({"favours": "versus"}, "contradicts", "tested", "contradicts"),
        ({"favours": "untold"}, "neutral", "tested", "neutral"),
        ({"versus": "flunarizine", "favours": "neither"}, "neutral", "tested", "neutral"),
        ({"versus": "flunarizine", "favours": "neither", "equivalence": "shown"}, "supports", "tested", "supports"),
        ({"versus": "baseline"}, "supports", "tested", "supports"),
        ({"versus": "baseline_on_drug"}, "neutral", "tested", "neutral"),
        ({"arm": "flunarizine", "versus": "propranolol"}, "comparator", "comparator", "neutral"),
        ({"arm": "both"}, "combined", "combined", "supports"),
        ({"arm": "both", "versus": "flunarizine"}, "supports", "tested", "supports"),
        ({"endpoint": "harm", "favours": "versus"}, "neutral", "tested", "none"),
        ({"condition": "Fatigue"}, "none", "other_use", "none"),
        ({"arm": "flunarizine", "versus": "propranolol", "endpoint": "harm"}, "neutral", "comparator", "none"),
    ],
)
def test_what_a_study_says_of_a_drug_follows_from_its_arms(
    changes: dict[str, Any], says: str, role: str, verdict: str
) -> None:
    found = checked(comparison_draft(FELL, **changes), arms=[*THREE, BOTH])
    read = MatchedStudy(study=found.study, condition="migraine", match="same")
    stance = derive_stance(found.study, "propranolol", read.make_test(list_names_of_condition("migraine")))
    view = viewed(found)["propranolol"]
    assert (stance.says, view.role, view.verdict) == (says, role, verdict)
    assert [part.text for part in view.passages] == [FELL]


def test_a_views_verdict_is_never_another_than_its_stance() -> None:
    verdicts = {"supports": "supports", "contradicts": "contradicts", "missed": "contradicts", "neutral": "neutral"}
    choices = {
        "versus": ["placebo", "flunarizine", "baseline", "baseline_on_drug", "unstated"],
        "endpoint": ["efficacy", "surrogate", "harm", "process"],
        "favours": ["arm", "versus", "neither", "untold"],
        "significant": ["yes", "no", "untold"],
        "equivalence": ["shown", "claimed", "none"],
        "hedged": [True, False],
    }
    for values in itertools.product(*choices.values()):
        row = comparison_draft(FELL, **dict(zip(choices, values, strict=True)))
        found = checked(row, arms=THREE)
        says = derive_stance(found.study, "propranolol").says
        is_on_efficacy = row["endpoint"] in ("efficacy", "surrogate")
        assert viewed(found)["propranolol"].verdict == (verdicts.get(says, "none") if is_on_efficacy else "none"), row


def test_a_study_of_another_condition_says_nothing_but_for_its_comparison_on_the_one_asked_about() -> None:
    text = f"{TEXT} Headache of tension type was the reason for treatment."
    shown = record("11111111", "Propranolol in tension headache", text)
    tension = comparison_draft(FELL)
    for row, verdict in ((tension, "none"), ({**tension, "condition": "migraine"}, "supports")):
        found = checked(row, shown=shown, condition="tension headache")
        assert viewed(found, "other")["propranolol"].verdict == verdict


@pytest.mark.parametrize(
    ("question", "condition", "match", "own", "fit"),
    [
        (QUESTION, "migraine", "same", "", "same"),
        (QUESTION, "migraine", "complication", "", "complication"),
        (QUESTION, "headache", "broader", "", "wider"),
        (QUESTION, "migraine", "other", "", "other"),
        (QUESTION, "hypertension in migraine", "other", "", "comorbid"),
        (QUESTION, "hypertension", "other", "migraine", "same"),
        (QUESTION, "migraine", "same", "hypertension", "other"),
        ("Which drugs treat migraine and hypertension?", "hypertension", "other", "", "same"),
    ],
)
def test_a_model_says_how_its_study_fits_and_words_tell_the_rest(
    question: str, condition: str, match: str, own: str, fit: str
) -> None:
    shown = record("11111111", "Propranolol in migraine, headache and hypertension", TEXT)
    aim = "prevent" if condition == "migraine" else "treat"
    row = comparison_draft(FELL, condition=own)
    found = checked(row, shown=shown, condition=condition, match=match, aim=aim)
    read = MatchedStudy.model_validate({"study": found.study, "condition": "migraine", "match": match})
    part = found.study.comparisons[0] if own else None

    assert read.judge_fit_to(parse_question(question), part) == fit


def test_a_reading_does_not_outlive_the_study_that_it_was_a_view_of() -> None:
    former = checked(comparison_draft(ALIKE, versus="flunarizine"), arms=THREE).study
    latter = checked(comparison_draft(FELL)).study
    first, second = (MatchedStudy(study=study, condition="migraine", match="same") for study in (former, latter))
    readings = Readings(given=make_readings(first, given().page.whole), studies=[first])
    before = readings.of(TRIAL, "flunarizine", "migraine")[0]
    readings.take(make_readings(second, given().page.whole), [second])

    assert (before.reader, before.role) == ("model", "comparator")
    assert readings.of(TRIAL, "flunarizine", "migraine")[0].role == "mentioned"


def test_what_authors_state_counts_where_no_comparison_decides() -> None:
    alike = comparison_draft(
        ALIKE, arm="propranolol", versus="flunarizine", favours="neither", significant="untold", equivalence="claimed"
    )
    works = [statement_draft(ALIKE), statement_draft(ALIKE, drug="flunarizine")]
    found = checked(alike, arms=THREE, statements=works)
    assert {drug: view.verdict for drug, view in viewed(found).items()} == {
        "propranolol": "supports",
        "flunarizine": "supports",
    }
    cited = statement_draft(ALIKE, says="does_not_work", basis="cited")
    [view] = checked(statements=[cited], arms=[]).study.statements
    assert isinstance(view, StatedView)
    assert view.basis == "cited"
