"""Frames: one row for each row of the report, and what is not reported stays missing."""

import sys

import pytest
from exports_sample import effect, empty, row, sample

from willowbark.agents.report.content import DrugCandidate, TrialRow
from willowbark.agents.report.frames import COLUMNS, FrameName
from willowbark.tools.errors import UsageError

pd = pytest.importorskip("pandas")


def test_each_row_is_a_row_and_what_is_not_reported_is_missing_and_never_zero() -> None:
    size = effect(0.6, 0.4, 0.9, "It fell.")
    rows = [row("url:a", "T", date="2002-05", sample_size=40, effects=[size, size]), row("url:b", "T", date="Unknown")]
    frame = sample(evidence_table=rows).to_dataframe()

    assert list(frame["key"]) == ["url:a", "url:b"]
    numbers = frame.loc[0, ["year", "sample_size", "measure", "value", "ci_low", "effects"]].to_list()
    assert numbers == [2002, 40, "OR", 0.6, 0.4, 2]
    assert frame.loc[1, ["year", "sample_size", "value", "ci_low", "p"]].isna().all()
    assert str(frame["sample_size"].dtype) == "Int64"
    trials = [TrialRow(key="k1", nct_id="", title="T", enrollment=12), TrialRow(key="k2", nct_id="", title="T")]
    assert sample(trials=trials).to_dataframe("trials")["enrollment"].isna().to_list() == [False, True]
    for nothing in (empty().to_dataframe(), empty().to_dataframe("candidates"), empty().to_dataframe("trials")):
        assert (len(nothing), len(nothing.columns) > 5) == (0, True)
    drug = DrugCandidate(
        name="riboflavin", evidence_quality="weak", supporting_citations=["a", "b"], contradicting_citations=["c"]
    )
    both = [drug, drug.model_copy(update={"name": "atenolol"})]
    candidates = sample(candidates=both).to_dataframe("candidates")
    assert list(candidates["drug"]) == ["riboflavin", "atenolol"]
    assert candidates.loc[0, ["supporting", "contradicting", "inconclusive"]].to_list() == [2, 1, 0]


def test_without_pandas_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)

    with pytest.raises(UsageError, match=r"install .*'\.\[notebook\]'"):
        sample().to_dataframe()


def test_a_report_is_one_line_where_a_notebook_shows_text() -> None:
    pretty = pytest.importorskip("IPython.lib.pretty")

    assert pretty.pretty(sample()) == f"<ResearchReport: {sample().title}; 1 candidate>"


def test_frames_of_drugs_and_studies_have_a_row_each() -> None:
    report = sample()
    drugs, studies = report.drugs, report.to_dataframe("studies")

    assert list(drugs["drug"]) == report.drug_candidates
    assert drugs.loc[0, "supporting"] == len(report.candidates[0].supporting_citations)
    assert list(studies["key"]) == [study.key for study in report.studies]
    assert str(studies["randomised"].dtype) == "Int64"
    assert drugs.isin(["not reported"]).sum().sum() == 0


@pytest.mark.parametrize("of", COLUMNS)
def test_polars_makes_the_same_frames(of: FrameName) -> None:
    pytest.importorskip("polars", reason="polars is no dependency")
    for report in (sample(), empty()):
        pandas, polars = report.to_dataframe(of), report.to_dataframe(of, library="polars")
        assert (polars.columns, polars.height) == (list(pandas.columns), len(pandas))


def test_a_frame_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(UsageError, match="there is no frame 'studys'; choose from evidence, candidates, drugs"):
        sample().to_dataframe("studys")
    with pytest.raises(UsageError, match="arrow: frames are of pandas or polars"):
        sample().to_dataframe(library="arrow")
