"""Frames: one row for each row of the report, and what is not reported stays missing."""

import builtins
from typing import Any

import pytest

from willowbark.agents.report.content import DrugCandidate, EvidenceRow, ReportSection, TrialRow
from willowbark.agents.report.frames import candidates_frame, trials_frame
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.appraisal import EffectSize
from willowbark.tools.errors import UsageError

pd = pytest.importorskip("pandas")


def section() -> ReportSection:
    return ReportSection.of("T", [])


def report(**fields: Any) -> ResearchReport:
    return ResearchReport(
        title="A report",
        executive_summary="x" * 100,
        research_question="Q",
        methodology=section(),
        mechanistic_findings=section(),
        clinical_findings=section(),
        conclusion="C",
        stop_reason="sufficient_evidence",
        confidence_score=0.5,
        **fields,
    )


def row(**fields: Any) -> EvidenceRow:
    base = {
        "key": "url:a",
        "drug": "topiramate",
        "direction": "supports",
        "design": "RCT",
        "date": "2002-05",
        "title": "T",
    }
    return EvidenceRow(**{**base, "title": "T", **fields})


def test_each_row_of_the_evidence_table_is_a_row() -> None:
    effect = EffectSize(measure="RR", value=0.6, ci_low=0.4, ci_high=0.9, sentence="It fell.")
    frame = report(evidence_table=[row(sample_size=40, effects=[effect, effect]), row(key="url:b")]).to_frame()

    assert list(frame["key"]) == ["url:a", "url:b"]
    assert frame.loc[0, ["year", "sample_size", "measure", "value", "ci_low", "effects"]].to_list() == [
        2002, 40, "RR", 0.6, 0.4, 2,
    ]  # fmt: skip


def test_what_is_not_reported_is_missing_and_never_zero() -> None:
    frame = report(evidence_table=[row(date="Unknown")]).to_frame()

    assert frame[["year", "sample_size", "followup_months", "value", "ci_low", "p"]].isna().all(axis=None)
    assert str(frame["sample_size"].dtype) == "Int64"


def test_a_report_without_evidence_gives_frames_with_columns() -> None:
    empty = report()

    for frame in (empty.to_frame(), candidates_frame(empty), trials_frame(empty)):
        assert len(frame) == 0
        assert len(frame.columns) > 5


def test_candidates_keep_their_order_and_count_their_records() -> None:
    candidates = [
        DrugCandidate(
            name=name, evidence_quality="weak", supporting_citations=["a", "b"], contradicting_citations=["c"]
        )
        for name in ("riboflavin", "atenolol")
    ]
    frame = candidates_frame(report(candidates=candidates))

    assert list(frame["drug"]) == ["riboflavin", "atenolol"]
    assert frame.loc[0, ["supporting", "contradicting", "undecided"]].to_list() == [2, 1, 0]


def test_trials_without_an_enrollment_keep_it_missing() -> None:
    trials = [TrialRow(key="k1", nct_id="", title="T", enrollment=12), TrialRow(key="k2", nct_id="", title="T")]

    assert trials_frame(report(trials=trials))["enrollment"].isna().to_list() == [False, True]


def test_without_pandas_the_way_out_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def no_pandas(name: str, *arguments: Any, **named: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return imported(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", no_pandas)

    with pytest.raises(UsageError, match=r"willowbark\[notebook\]"):
        report().to_frame()


def test_a_report_is_one_line_where_a_notebook_shows_text() -> None:
    pretty = pytest.importorskip("IPython.lib.pretty")

    assert pretty.pretty(report()) == "<ResearchReport: A report; 0 candidates>"
