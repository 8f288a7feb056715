"""What a trial posted is told in the report: direction, reason, analysis, and serious adverse events as numbers."""

from recorded import recorded

from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.questions import parse_question
from willowbark.tools.sources.studies.clinicaltrials import ClinicalTrials
from willowbark.tools.sources.studies.pubmed import PubMed

KIDNEYS = "Which existing drugs might treat diabetic nephropathy?"


async def test_posted_results_of_recorded_trials_support_a_drug_by_outcomes_on_the_condition() -> None:
    async with recorded() as way:
        found = await ClinicalTrials(way).find("diabetic nephropathy", 20)

    best = appraise_candidates(parse_question(KIDNEYS), found.records)[0]
    assert best.drug == "finerenone"
    assert best.appraisal.supporting == ["nct:NCT01874431", "nct:NCT02540993"]
    on_the_heart = {each.key: each.posted for each in best.records}["nct:NCT02545049"]
    assert on_the_heart
    assert on_the_heart.reason == "its primary outcome is on cardiovascular events"


async def test_a_retracted_article_is_excluded() -> None:
    async with recorded() as way:
        found = await PubMed(way).find("valsartan AND microalbuminuria", 20)

    candidates = {c.drug: c.appraisal for c in appraise_candidates(parse_question(KIDNEYS), found.records)}
    assert candidates["valsartan"].excluded == ["pmid:18716365"]
    assert candidates["valsartan"].supporting == []
