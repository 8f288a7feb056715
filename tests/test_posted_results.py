"""What a trial posted is told in the report: direction, reason, analysis, and serious adverse events as numbers."""

from builders import QUESTION
from exports_sample import sample
from posted_study import analysis, outcome, trial
from recorded import recorded

from willowbark.agents.report.content import PostedResult
from willowbark.agents.report.tables import trial_table
from willowbark.teams.exports import as_html
from willowbark.tools.appraisal import SeriousEvents
from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.questions import parse_question
from willowbark.tools.sources.studies.clinicaltrials import ClinicalTrials
from willowbark.tools.sources.studies.pubmed import PubMed

TRIAL = trial(
    outcome(
        "Change in monthly migraine days",
        {"Topiramate": "-2.1", "Placebo": "-1.1"},
        analysis("0.003", ci=("-1.6", "-0.4")),
    )
)
CANDIDATES = appraise_candidates(parse_question(QUESTION), [TRIAL])
ANALYSIS = (
    "Change in monthly migraine days: Topiramate versus Placebo, Mean Difference (Net) -1.0, 95% CI -1.6 to -0.4, "
    "p = 0.003, ANCOVA."
)
KIDNEYS = "Which existing drugs might treat diabetic nephropathy?"


def test_a_trials_row_holds_what_it_posted_on_each_drug() -> None:
    (row,) = trial_table(CANDIDATES, {TRIAL.key: TRIAL})

    (posted,) = row.posted
    assert (posted.drug, posted.direction, posted.sentence) == ("topiramate", "supports", ANALYSIS)
    assert posted.serious_events == [
        SeriousEvents(group="Topiramate", affected=4, at_risk=120),
        SeriousEvents(group="Placebo", affected=3, at_risk=118),
    ]


def test_the_page_shows_posted_results_and_their_text_is_escaped() -> None:
    report = sample()
    posted = PostedResult(
        drug="bupropion",
        direction="contradicts",
        reason="no appreciable difference",
        sentence="<b>Abstinence</b>: p = 0.9",
        serious_events=[SeriousEvents(group="Bupropion", affected=2, at_risk=65)],
    )
    row = report.trials[0].model_copy(update={"posted": [posted]})
    page = as_html(report.model_copy(update={"trials": [row]})).decode()

    assert "no appreciable difference" in page
    assert "2 of 65" in page
    assert "<b>Abstinence</b>" not in page


async def test_posted_results_of_recorded_trials_support_a_drug() -> None:
    async with recorded() as way:
        found = await ClinicalTrials(way).find("diabetic nephropathy", 20)

    best = appraise_candidates(parse_question(KIDNEYS), found.records)[0]
    assert best.drug == "finerenone"
    assert best.appraisal.supporting == ["nct:NCT01874431", "nct:NCT02540993", "nct:NCT02545049"]


async def test_a_retracted_article_is_excluded() -> None:
    async with recorded() as way:
        found = await PubMed(way).find("valsartan AND microalbuminuria", 20)

    candidates = {c.drug: c.appraisal for c in appraise_candidates(parse_question(KIDNEYS), found.records)}
    assert candidates["valsartan"].excluded == ["pmid:18716365"]
    assert candidates["valsartan"].supporting == []
