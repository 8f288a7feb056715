"""One trial counts once, however it is written: by number, acronym, its spellings, author, versions, substudies."""

from collections.abc import Sequence

import pytest
from builders import QUESTION, ScriptedReader, record
from posted_study import analysis, outcome, trial

from willowbark.tools.appraisal import AppraisedItem, Direction
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates
from willowbark.tools.appraisal.certainty import count_participants, keep_one_per_trial, rate_certainty
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.arm_sizes import INERT, find_arm_sizes
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import StudyDesign
from willowbark.tools.records.evidence import Evidence, merge
from willowbark.tools.works.identity import link, settle
from willowbark.tools.works.trials import name_trial, trial_key

NUMBER = "NCT99999901"
FEWER = "Patients were randomised, double blind. Topiramate reduced monthly migraine days versus placebo (p=0.003)."
NONE = "Patients were randomised, double blind. Topiramate did not reduce migraine days versus placebo (p=0.4)."
TITLE = "Topiramate to prevent migraine"


def paper(pmid: str, text: str = FEWER, title: str = TITLE, author: str = "", **more: object) -> Evidence:
    found = record(pmid, title, text, publication_types=["Randomized Controlled Trial"], **more)
    authors = {"authors": [author] if author else [f"Nobody{'abcdefgh'[int(pmid)]} Q"]}
    return found.model_copy(update={"citation": found.citation.model_copy(update=authors)})


def topiramate(*pool: Evidence) -> Candidate:
    readings = Readings(ScriptedReader({FEWER: "better", NONE: "no_difference"}))
    found = appraise_candidates(parse_question(QUESTION), link(settle(pool)), readings)
    [candidate] = [each for each in found if each.drug == "topiramate"]
    return candidate


REGISTERED = trial(
    outcome("Monthly migraine days", {"Topiramate": "-2.1", "Placebo": "-1.1"}, analysis("0.003", ci=("-1.6", "-0.4")))
)
SPELT = f"{FEWER} This is the Topiramate Outcomes Prevention Evaluation (TOPE-MIG), {NUMBER}. 412 patients took part."
SIX_WAYS = {
    "registry number only": paper("1", f"{FEWER} Registered as {NUMBER}."),
    "acronym and year": paper("2", title="Topiramate and migraine: the TOPE-MIG 2019 trial"),
    "acronym spelt another way": paper("3", title="Prevention of migraine with topiramate (TOPE MIG study)"),
    "author and participants": paper("4", f"412 patients took part. {FEWER}", author="Larkspur AB"),
    "another version": paper("5", title="Topiramate to prevent migraine, first version", updated_in=["pmid:6"]),
    "secondary analysis": paper("7", NONE, title="Topiramate in the elderly: a substudy of the TOPE-MIG trial"),
}
MAIN = paper("6", SPELT, author="Larkspur A")


@pytest.mark.parametrize("way", SIX_WAYS)
def test_a_trial_written_in_one_of_six_ways_is_the_trial_of_its_main_report(way: str) -> None:
    appraisal = topiramate(MAIN, SIX_WAYS[way]).appraisal
    assert len(appraisal.supporting) == 1
    assert (appraisal.contradicting, appraisal.inconclusive, appraisal.not_assessed) == ([], [], [])


def test_a_trial_written_six_ways_and_registered_counts_once() -> None:
    appraisal = topiramate(REGISTERED, MAIN, *SIX_WAYS.values()).appraisal
    assert len(appraisal.supporting) == 1
    assert (appraisal.contradicting, appraisal.inconclusive, appraisal.not_assessed) == ([], [], [])
    assert f"report one trial ({NUMBER}) and count once" in "\n".join(appraisal.notes)


def test_one_trial_under_two_acronyms_is_one_where_a_record_has_both_names() -> None:
    registered = REGISTERED.model_copy(update={"metadata": {**REGISTERED.metadata, "acronym": "MIGRATE"}})
    one = paper("1", f"{FEWER} Registered as {NUMBER}.", title="Topiramate in migraine: the TOPE-MIG trial")
    other = paper("2", title="Topiramate in migraine: the MIGRATE trial")
    third = paper("3", title="Topiramate in chronic migraine: the TOPE-MIG study")
    assert len(topiramate(registered, one, other, third).appraisal.supporting) == 1


def test_a_programme_whose_name_two_registered_trials_share_is_no_trial() -> None:
    title = "Topiramate in migraine: the TOPE-MIG trial"
    one = paper("1", f"{FEWER} Registered as {NUMBER}.", title=title)
    two = paper("2", f"{FEWER} Registered as NCT99999902.", title=title)
    assert len(topiramate(one, two).appraisal.supporting) == 2


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("SENIORS", "SENIORS trial", True),
        ("CHARM-Preserved", "CHARM Preserved", True),
        ("MERIT-HF", "Merit HF study", True),
        ("SENIORS", "SENIORS 2005", True),
        ("CHARM-Preserved", "CHARM-Added", False),
        ("NCT01112005", "NCT01111999", False),
        ("MERIT", "MERIT-HF", False),
    ],
)
def test_spellings_of_a_name_are_one_and_names_that_differ_are_two(one: str, other: str, same: bool) -> None:
    assert (trial_key(one) == trial_key(other)) is same


def test_an_acronym_that_a_title_only_mentions_counts_where_another_record_is_known_by_it() -> None:
    named = paper("1", title="Topiramate in migraine: the TOPE-Preserved trial")
    hinted = paper("2", title="Effects of topiramate on migraine: results of TOPE Preserved")
    other = paper("3", title="Effects of topiramate on migraine: results of MIGRATE")
    assert len(topiramate(named, hinted).appraisal.supporting) == 1
    assert len(topiramate(named, hinted, other).appraisal.supporting) == 2


def test_a_small_trial_told_twice_is_known_by_its_author_participants_and_figures() -> None:
    told = f"40 patients took part. {FEWER} Days fell by 44% and by 12% (95% CI 20 to 60; p=0.002)."
    one, two = (paper(pmid, told, author=author) for pmid, author in (("1", "Osei K"), ("2", "Osei KM")))
    readings = Readings(ScriptedReader({told: "better"}))
    found = appraise_candidates(parse_question(QUESTION), [one, two], readings)
    assert [len(each.appraisal.supporting) for each in found if each.drug == "topiramate"] == [1]


def test_a_number_of_any_registry_names_a_trial_and_two_registries_numbers_are_one_trial() -> None:
    one = paper("1", f"{FEWER} Registered as ISRCTN 12345678 and EudraCT 2010-012345-12.")
    two = paper("2", f"{FEWER} (ISRCTN12345678)")
    three = paper("3", f"{FEWER} Trial registration: 2010-012345-12, {NUMBER}.")
    other = paper("4", f"{FEWER} (ISRCTN87654321)")
    assert len(topiramate(one, two, three).appraisal.supporting) == 1
    assert len(topiramate(one, two, three, other).appraisal.supporting) == 2


def test_one_paper_without_a_pmid_and_one_with_the_same_doi_is_one_study() -> None:
    one = paper("1", doi="10.1000/one")
    listed = one.model_copy(update={"record": one.record.model_copy(update={"pmid": None})})
    [merged] = merge([one, listed])
    assert len(topiramate(merged).appraisal.supporting) == 1


def test_a_review_that_names_a_trial_by_another_registrys_number_holds_it() -> None:
    types = {"publication_types": ["Systematic Review", "Meta-Analysis"]}
    review = record("8", "Topiramate in migraine: a systematic review", f"{FEWER} Among them ISRCTN12345678.", **types)
    assert name_trial(review, StudyDesign.systematic_review).holds == ("ISRCTN12345678",)


def test_a_pooled_analysis_adds_nothing_where_one_of_its_trials_counts() -> None:
    pooled = paper("1", f"{FEWER} Pooled data of ISRCTN12345678 and ISRCTN87654321.")
    assert name_trial(pooled, StudyDesign.rct).pools == ("ISRCTN12345678", "ISRCTN87654321")
    assert len(topiramate(pooled, paper("2", f"{FEWER} (ISRCTN12345678)")).appraisal.supporting) == 1


MAIN_REPORT = AppraisedItem(
    key="pmid:10", design=StudyDesign.rct_blinded, direction=Direction.supports, trial="MERIT-HF", sample_size=3991
)
EXERCISE = MAIN_REPORT.model_copy(update={"key": "pmid:11", "direction": Direction.contradicts, "sample_size": 94})


@pytest.mark.parametrize("reports", [(MAIN_REPORT, EXERCISE), (EXERCISE, MAIN_REPORT)])
def test_a_substudy_never_undoes_its_trials_main_report(reports: Sequence[AppraisedItem]) -> None:
    [stands] = keep_one_per_trial(reports).counted
    assert stands == MAIN_REPORT


def test_a_report_that_calls_itself_secondary_gives_way_even_to_a_smaller_main_report() -> None:
    secondary = EXERCISE.model_copy(update={"sample_size": 3991, "secondary": True})
    assert (
        keep_one_per_trial([MAIN_REPORT.model_copy(update={"sample_size": 3800}), secondary]).counted[0].key
        == "pmid:10"
    )
    assert keep_one_per_trial([secondary]).counted == [secondary]


def test_a_review_adds_nothing_to_the_trial_that_it_names() -> None:
    review = AppraisedItem(
        key="pmid:20",
        design=StudyDesign.systematic_review,
        direction=Direction.supports,
        comparator="placebo",
        sample_size=720,
        holds=("NCT00000001",),
    )
    inside = MAIN_REPORT.model_copy(update={"trial": "NCT00000001", "sample_size": 360})
    outside = inside.model_copy(update={"trial": "NCT00000002"})
    assert "contains pmid:10, and adds nothing to it" in "\n".join(keep_one_per_trial([review, inside]).notes)
    within = [step for step in rate_certainty([review, inside]).lowered if "Publication bias" in step]
    assert within == ["Publication bias: one trial, and the review that contains it (-1)."]
    assert [step for step in rate_certainty([review, outside]).lowered if "Publication bias" in step] == []


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        ("We randomised 360 adults to fenofibrate (n=120), losartan (n=121) or placebo (n=119).", (120, 119)),
        ("We randomised 240 adults to fenofibrate (n=120) or placebo (n=120).", (None, None)),
        ("Fenofibrate 100 mg (n=80), fenofibrate 200 mg (n=80) or placebo (n=80).", (None, 80)),
        ("Fenofibrate (n=80), losartan (n=80) or allopurinol (n=80).", (80, None)),
    ],
)
def test_in_trials_of_three_arms_a_drugs_comparison_has_its_own_arms_people(
    text: str, sizes: tuple[int | None, int | None]
) -> None:
    found = find_arm_sizes(Document.cut("Gout", text))
    assert (found.get(frozenset({"fenofibrate"})), found.get(INERT)) == sizes


def test_a_record_whose_title_says_that_it_is_retracted_or_withdrawn_supports_nothing() -> None:
    retracted = paper("1", title=f"RETRACTED: {TITLE}")
    withdrawn = paper("2", title=f"WITHDRAWN: {TITLE}")
    appraisal = topiramate(retracted, withdrawn, paper("3")).appraisal
    assert appraisal.supporting == ["pmid:3"]
    assert appraisal.excluded == ["pmid:1", "pmid:2"]


def test_a_review_is_no_more_people_than_it_has_where_its_trial_is_among_the_records() -> None:
    types = {"publication_types": ["Systematic Review", "Meta-Analysis"]}
    text = f"{FEWER} Three trials (720 participants), among them {NUMBER}, were pooled."
    review = record("8", "Topiramate in migraine: a systematic review and meta-analysis", text, **types)
    own = paper("1", f"{FEWER} Registered as {NUMBER}. 360 patients took part.")
    items = [each.item for each in topiramate(review, own).records]
    assert count_participants(items) == 720
