"""Which report stands for a trial, and which pooled analyses count."""

from dataclasses import replace

import pytest

from willowbark.tools.appraisal import AppraisedItem, Direction
from willowbark.tools.appraisal.trials_once import one_per_trial
from willowbark.tools.reading.design import StudyDesign

FREE = AppraisedItem(
    key="pmid:5", design=StudyDesign.rct_blinded, direction=Direction.supports, trial="NCT1", sample_size=200
)
AGAINST = replace(FREE, key="pmid:6", direction=Direction.contradicts)
SILENT = replace(FREE, key="pmid:7", direction=Direction.not_assessed)
REGISTERED = replace(FREE, key="nct:NCT1")


def trial(*reports: AppraisedItem) -> AppraisedItem:
    """What stands for a trial, in whatever order its reports come."""
    found, turned = one_per_trial(reports), one_per_trial(reports[::-1])
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
    assert trial(*reports).direction is Direction(stands)
    note = one_per_trial(reports).notes[0]
    assert ("although they disagree" in note) is not agree


def test_the_soundest_then_largest_report_stands_with_its_own_row_and_the_others_are_named() -> None:
    open_one = replace(FREE, key="pmid:2", design=StudyDesign.rct_open, sample_size=900)
    larger = replace(FREE, key="pmid:9", sample_size=300)
    found = one_per_trial([REGISTERED, open_one, larger, FREE, replace(FREE, key="pmid:1", trial=None)])

    assert [each.key for each in found.counted] == ["pmid:1", "pmid:9"]
    assert found.counted[1] == larger
    assert found.folded == ["nct:NCT1", "pmid:2", "pmid:5"]
    assert found.notes == ["pmid:9, nct:NCT1, pmid:2, pmid:5 report one trial (NCT1) and count once."]
    assert trial(REGISTERED, FREE).key == "pmid:5"


def test_a_pooled_analysis_counts_only_without_the_trials_that_it_names() -> None:
    pooled = replace(FREE, key="pmid:8", trial=None, pools=("NCT1", "NCT2"), sample_size=700)
    wider = replace(pooled, key="pmid:9", pools=("NCT2", "NCT3"), sample_size=900)

    found = one_per_trial([pooled, FREE, wider])
    assert ({each.key for each in found.counted}, found.folded) == ({"pmid:5", "pmid:9"}, ["pmid:8"])
    assert found.notes == ["pmid:8 pools NCT1, NCT2, counted with pmid:5."]

    alone = one_per_trial([pooled, wider])
    assert [each.key for each in alone.counted] == ["pmid:9"]
    assert alone.notes == ["pmid:8 pools NCT2, counted with pmid:9."]
