"""Reports as pandas frames: one row for each record, candidate or trial.

Columns of whole numbers are pandas' `Int64`, so that "not reported" stays missing and is never 0.
"""

from typing import TYPE_CHECKING, Any

from willowbark.tools.errors import UsageError

from ..content import EvidenceRow, ReportContent

if TYPE_CHECKING:
    import pandas as pd

_WHOLE_NUMBERS = ("year", "sample_size", "enrollment", "supporting", "contradicting", "undecided", "effects")
_NUMBERS = ("followup_months", "value", "ci_low", "ci_high", "p")
_EVIDENCE = (
    "drug direction design date year title sample_size followup_months measure value ci_low ci_high p effects "
    "is_preprint retracted concern sentence key"
).split()
_CANDIDATES = (
    "drug certainty evidence_quality clinical_status supporting contradicting undecided mechanism proposed_mechanism "
    "current_indications"
).split()
_TRIALS = (
    "nct_id title drugs status phases enrollment start_date completion_date why_stopped why_stopped_kind has_results"
).split()


def evidence_frame(report: ReportContent) -> "pd.DataFrame":
    """One row for each record that was appraised for a drug.

    `measure`, `value`, `ci_low`, `ci_high` and `p` are the first effect size that the record gives; `effects` counts
    all of them, and `report.evidence_table` holds them.

    Raises:
        UsageError: pandas is not installed.
    """
    return _frame([_evidence(row) for row in report.evidence_table], _EVIDENCE)


def candidates_frame(report: ReportContent) -> "pd.DataFrame":
    """One row for each candidate, best supported first; records for, against and undecided are counted.

    Raises:
        UsageError: pandas is not installed.
    """
    rows = [
        {
            **candidate.model_dump(include=set(_CANDIDATES)),
            "drug": candidate.name,
            "supporting": len(candidate.supporting_citations),
            "contradicting": len(candidate.contradicting_citations),
            "undecided": len(candidate.undecided_citations),
        }
        for candidate in report.candidates
    ]
    return _frame(rows, _CANDIDATES)


def trials_frame(report: ReportContent) -> "pd.DataFrame":
    """One row for each registered trial that names a candidate.

    Raises:
        UsageError: pandas is not installed.
    """
    return _frame([trial.model_dump(include=set(_TRIALS)) for trial in report.trials], _TRIALS)


def _evidence(row: EvidenceRow) -> dict[str, Any]:
    first = row.effects[0].model_dump(exclude={"sentence"}) if row.effects else {}
    year = int(row.date[:4]) if row.date[:4].isdigit() else None
    return {**row.model_dump(exclude={"effects"}), **first, "year": year, "effects": len(row.effects)}


def _frame(rows: list[dict[str, Any]], columns: list[str]) -> "pd.DataFrame":
    try:
        import pandas as pd  # noqa: PLC0415  an extra, and half a second
    except ImportError:
        raise UsageError("frames need pandas: pip install 'willowbark[notebook]'") from None
    types = dict.fromkeys(_WHOLE_NUMBERS, "Int64") | dict.fromkeys(_NUMBERS, "float64")
    frame = pd.DataFrame([{name: row.get(name) for name in columns} for row in rows], columns=columns)
    return frame.astype({name: kind for name, kind in types.items() if name in columns})
