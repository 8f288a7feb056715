"""One trial counts once, however many records report it, and the registered primary outcome decides between them."""

import pytest
from builders import QUESTION, ScriptedReader, record
from hypothesis import given, settings
from hypothesis import strategies as st
from posted_study import analysis, outcome, trial
from test_appraisal_certainty import items, level, replace

from willowbark.tools.appraisal import AppraisedItem, Direction
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates
from willowbark.tools.appraisal.certainty import keep_one_per_trial
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.reading import StudyDesign
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.works.identity import link
from willowbark.tools.works.trials import name_trial

NUMBER = "NCT99999901"
POSTED = trial(
    outcome(
        "Change in monthly migraine days",
        {"Topiramate": "-2.1", "Placebo": "-1.1"},
        analysis("0.003", ci=("-1.6", "-0.4")),
    )
)
FEWER = "Patients were randomised, double blind. Topiramate reduced monthly migraine days versus placebo (p=0.003)."
NO_FEWER = "Patients were randomised, double blind. Topiramate did not reduce migraine days versus placebo (p=0.4)."

reports = st.lists(
    st.tuples(items, st.sampled_from([None, "NCT00000001", "NCT00000002"]), st.sampled_from(["pmid:", "nct:"])).map(
        lambda told: replace(told[0], trial=told[1], key=told[2] + told[0].key.partition(":")[2], pools=())
    ),
    max_size=7,
)


def paper(pmid: str, text: str, **more: object) -> Evidence:
    types = ["Randomized Controlled Trial"]
    return record(pmid, "Topiramate to prevent migraine", text, publication_types=types, **more)


def topiramate(*pool: Evidence) -> Candidate:
    readings = Readings(ScriptedReader({FEWER: "better", NO_FEWER: "no_difference"}))
    (found,) = [
        c for c in appraise_candidates(parse_question(QUESTION), link(pool), readings) if c.drug == "topiramate"
    ]
    return found


@pytest.mark.parametrize("named", [{"nct_ids": [NUMBER]}, {}], ids=["registered", "in the text"])
def test_a_trial_and_the_paper_that_reports_it_count_once(named: dict[str, object]) -> None:
    text = FEWER if named else f"{FEWER} Registered as {NUMBER}."
    found = topiramate(POSTED, paper("1", text, **named))

    assert found.appraisal.supporting == [f"nct:{NUMBER}"]
    assert found.appraisal.same_trial == ["pmid:1"]
    assert f"nct:{NUMBER}, pmid:1 report one trial ({NUMBER}) and count once." in found.appraisal.notes
    assert len(found.records) == 2


def test_a_result_that_the_registry_lists_joins_its_paper() -> None:
    listing = POSTED.model_copy(update={"metadata": {**POSTED.metadata, "result_pmids": ["1"]}})

    assert topiramate(listing, paper("1", FEWER)).appraisal.same_trial == ["pmid:1"]


OTHER = "NCT99999902"
SCALE = f"{FEWER} Disability was told by the Headache Impact Test (HIT) and migraine (MIG) by its diary."


@pytest.mark.parametrize(
    ("one", "two", "columns"),
    [
        (paper("1", FEWER, nct_ids=[NUMBER]), paper("2", FEWER, nct_ids=[NUMBER]), (1, 0, 1)),
        (paper("1", FEWER, nct_ids=[NUMBER]), paper("2", FEWER, nct_ids=[OTHER]), (2, 0, 0)),
        (paper("1", FEWER, nct_ids=[NUMBER]), paper("2", NO_FEWER, nct_ids=[NUMBER]), (0, 1, 1)),
        (paper("1", SCALE), paper("2", SCALE), (2, 0, 0)),
    ],
    ids=["one trial", "two trials", "one trial, two results", "a scale written out is no trial"],
)
def test_papers_of_one_trial_count_once_and_are_inconclusive_where_they_disagree(
    one: Evidence, two: Evidence, columns: tuple[int, int, int]
) -> None:
    found = topiramate(one, two).appraisal
    assert (len(found.supporting), len(found.inconclusive), len(found.same_trial)) == columns
    assert found.contradicting == []


def test_papers_of_one_trial_count_once_by_the_name_that_both_write_out() -> None:
    named = f"{FEWER} These are data of the Migraine Outcomes Prevention Evaluation (MOPE)."
    other = f"{FEWER} This was the Headache in Adults (HIA) trial."
    found = topiramate(
        paper("1", named), paper("2", f"The (MOPE) study. {FEWER}"), paper("3", other), paper("4", FEWER)
    )

    assert (len(found.appraisal.supporting), len(found.appraisal.same_trial)) == (3, 1)
    assert "report one trial (MOPE) and count once" in "\n".join(found.appraisal.notes)


@pytest.mark.parametrize(
    ("sizes", "authors", "trials"),
    [
        ((469, 469), ("Staessen JA", "Staessen JA"), 1),
        ((469, 470), ("Staessen JA", "Staessen JA"), 2),
        ((469, 469), ("Staessen JA", "Fagard R"), 2),
        ((60, 60), ("Staessen JA", "Staessen JA"), 2),
        ((469, 469), ("Call all trials strong", "Call all trials strong"), 2),
        ((469, 469), ("", ""), 2),
    ],
)
def test_randomised_trials_of_one_first_author_with_as_many_participants_are_one(
    sizes: tuple[int, int], authors: tuple[str, str], trials: int
) -> None:
    papers = [paper(str(number), f"{size:,} patients took part. {FEWER}") for number, size in enumerate(sizes, 1)]
    pool = [
        each.model_copy(update={"citation": each.citation.model_copy(update={"authors": [author]})})
        for each, author in zip(papers, authors, strict=True)
    ]

    assert len(topiramate(*pool).appraisal.supporting) == trials


def test_a_pooled_analysis_has_its_trials_and_a_review_has_none() -> None:
    both = paper("1", FEWER, nct_ids=[NUMBER, "NCT99999902"])
    pooled = "We searched PubMed and Embase for randomised trials. Fifteen trials with 1,620 patients were pooled."
    review = record(
        "2",
        "Topiramate in migraine: a systematic review and meta-analysis",
        pooled,
        publication_types=["Meta-Analysis"],
        nct_ids=[NUMBER],
    )

    assert name_trial(both, StudyDesign.rct_blinded).pools == (NUMBER, "NCT99999902")
    assert topiramate(both).records[0].item.pools == (NUMBER, "NCT99999902")
    assert name_trial(review, StudyDesign.systematic_review).names == ()
    assert name_trial(review, StudyDesign.systematic_review).holds == (NUMBER,)
    assert name_trial(POSTED, StudyDesign.registry_entry).names == (NUMBER,)


@settings(max_examples=200)
@given(reports, items)
def test_another_report_against_a_drug_never_raises_certainty(
    evidence: list[AppraisedItem], more: AppraisedItem
) -> None:
    report = replace(more, direction=Direction.contradicts, trial="NCT00000001")
    assert level([*evidence, report]) <= level(evidence)


FREE = AppraisedItem(
    key="pmid:5", design=StudyDesign.rct_blinded, direction=Direction.supports, trial="NCT1", sample_size=200
)
AGAINST = replace(FREE, key="pmid:6", direction=Direction.contradicts)
SILENT = replace(FREE, key="pmid:7", direction=Direction.not_assessed)
REGISTERED = replace(FREE, key="nct:NCT1")


def standing(*reports: AppraisedItem) -> AppraisedItem:
    """What stands for a trial, in whatever order its reports come."""
    found, turned = keep_one_per_trial(reports), keep_one_per_trial(reports[::-1])
    assert found.counted == turned.counted
    assert len(found.counted) == 1
    return found.counted[0]


@pytest.mark.parametrize(
    ("reports", "stands", "agree"),
    [
        ([FREE, SILENT], "supports", True),
        ([FREE, AGAINST], "inconclusive", False),
        ([SILENT, replace(SILENT, key="pmid:8")], "not assessed", True),
        ([SILENT, replace(SILENT, key="pmid:8", direction=Direction.inconclusive)], "inconclusive", True),
        ([REGISTERED, AGAINST], "supports", False),
        ([REGISTERED, replace(AGAINST, why_stopped_kind="safety")], "contradicts", False),
        ([replace(REGISTERED, direction=Direction.not_assessed), AGAINST], "contradicts", True),
    ],
)
def test_what_counts_of_reports_that_disagree(reports: list[AppraisedItem], stands: str, agree: bool) -> None:
    assert standing(*reports).direction is Direction(stands)
    note = keep_one_per_trial(reports).notes[0]
    assert ("although they disagree" in note) is not agree


def test_the_soundest_then_largest_report_stands_with_its_own_row_and_the_others_are_named() -> None:
    open_one = replace(FREE, key="pmid:2", design=StudyDesign.rct_open, sample_size=900)
    larger = replace(FREE, key="pmid:9", sample_size=300)
    found = keep_one_per_trial([REGISTERED, open_one, larger, FREE, replace(FREE, key="pmid:1", trial=None)])

    assert [each.key for each in found.counted] == ["pmid:1", "pmid:9"]
    assert found.counted[1] == larger
    assert found.folded == ["nct:NCT1", "pmid:2", "pmid:5"]
    assert found.notes == ["pmid:9, nct:NCT1, pmid:2, pmid:5 report one trial (NCT1) and count once."]
    assert standing(REGISTERED, FREE).key == "pmid:5"


def test_a_pooled_analysis_counts_only_without_the_trials_that_it_names() -> None:
    pooled = replace(FREE, key="pmid:8", trial=None, pools=("NCT1", "NCT2"), sample_size=700)
    wider = replace(pooled, key="pmid:9", pools=("NCT2", "NCT3"), sample_size=900)

    found = keep_one_per_trial([pooled, FREE, wider])
    assert ({each.key for each in found.counted}, found.folded) == ({"pmid:5", "pmid:9"}, ["pmid:8"])
    assert found.notes == ["pmid:8 pools NCT1, NCT2, counted with pmid:5."]

    alone = keep_one_per_trial([pooled, wider])
    assert [each.key for each in alone.counted] == ["pmid:9"]
    assert alone.notes == ["pmid:8 pools NCT2, counted with pmid:9."]
