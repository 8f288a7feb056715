"""Export what studies compared, one row a comparison, as CSV and Parquet; the workbook has it as a sheet.

Direction, comparator, participants, figures and passage of a row stand in one comparison of one study.
"""

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from willowbark.tools.records.study import Comparison, Estimate, Study

from .cells import write_csv

if TYPE_CHECKING:
    from ..report.model import ResearchReport

ColumnKind = Literal["text", "whole", "number", "flag"]
COMPARISON_COLUMNS: dict[str, ColumnKind] = {
    "key": "text", "place": "whole", "reader": "text", "version": "text", "depth": "text", "probability": "number",
    "design": "text", "study_condition": "text", "study_aim": "text", "background": "text",
    "arm": "text", "arm_drugs": "text", "arm_dose": "text",
    "versus": "text", "versus_role": "text", "versus_drugs": "text", "against": "text", "contrast": "text",
    "outcome": "text", "endpoint": "text", "primary": "flag", "condition": "text", "aim": "text", "subgroup": "text",
    "favours": "text", "significant": "flag", "hedged": "flag", "equivalence": "text", "basis": "text",
    "estimate": "text", "measure": "text", "value": "number", "low": "number", "high": "number", "level": "number",
    "p_sign": "text", "p": "number", "unit": "text", "time_point": "text", "analysis_set": "text",
    "participants": "whole", "unread": "text", "section": "text", "passage": "text",
}  # fmt: skip
"""Columns in order, with what their cells are."""
_OF_STUDY = ("key", "reader", "version", "depth", "probability", "design")
_OF_COMPARISON = (
    "arm", "versus", "against", "outcome", "endpoint", "primary", "subgroup", "favours", "significant", "hedged",
    "equivalence", "basis", "time_point", "analysis_set", "unread",
)  # fmt: skip
_OF_ESTIMATE = ("measure", "value", "low", "high", "level", "p", "unit")


def list_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Yield the cells of each comparison of a study by column, the deciding one first.

    None: not reported, or not read by this reader. `basis` is None where the reader does not tell it.
    """
    for place, comparison in enumerate(study.comparisons, 1):
        yield {**dict.fromkeys(COMPARISON_COLUMNS), "place": place, **_list_cells(study, comparison)}


def _list_cells(study: Study, comparison: Comparison) -> dict[str, Any]:
    arm = study.arm(comparison.arm)
    versus = study.arm(comparison.versus) if comparison.versus else None
    passage = comparison.passage
    cells = {
        **{name: getattr(study, name) for name in _OF_STUDY},
        "study_condition": study.condition,
        "study_aim": study.aim,
        "background": _list(study.background),
        **{name: getattr(comparison, name) for name in _OF_COMPARISON},
        "arm_drugs": _list(arm.drugs),
        "arm_dose": arm.dose,
        "versus_role": versus.role if versus else None,
        "versus_drugs": _list(versus.drugs) if versus else None,
        "contrast": _list(sorted(study.contrast_of(comparison))),
        "condition": comparison.condition or study.condition,
        "aim": comparison.aim or study.aim,
        "participants": study.participants_of(comparison),
        "section": passage.section if passage else None,
        "passage": passage.text if passage else None,
        **(_list_figures(comparison.estimate) if comparison.estimate else {}),
    }
    if "basis" in study.not_read:
        cells["basis"] = None
    return {name: None if value == "" else value for name, value in cells.items()}


def _list_figures(estimate: Estimate) -> dict[str, Any]:
    cells = {name: getattr(estimate, name) for name in _OF_ESTIMATE}
    return {**cells, "estimate": estimate.written, "p_sign": None if estimate.p is None else estimate.p_sign}


def _list(names: tuple[str, ...] | list[str]) -> str:
    return "; ".join(names)


def list_report_rows(report: "ResearchReport") -> Iterator[dict[str, Any]]:
    """Yield the rows of all studies of a report."""
    for study in report.studies:
        yield from list_rows(study)


def as_comparisons(report: "ResearchReport") -> bytes:
    """Export as CSV; an empty cell means "not reported", or not read by this reader."""
    rows = [COMPARISON_COLUMNS, *(list(row.values()) for row in list_report_rows(report))]
    return write_csv(list(row) for row in rows).encode("utf-8-sig", errors="replace")


def as_parquet(report: "ResearchReport") -> bytes:
    """Export as Parquet, with typed columns; null means as an empty cell of the CSV."""
    import pyarrow  # noqa: PLC0415  an extra
    from pyarrow.parquet import write_table  # noqa: PLC0415

    types = {"text": pyarrow.string(), "whole": pyarrow.int64(), "number": pyarrow.float64(), "flag": pyarrow.bool_()}
    schema = pyarrow.schema([(name, types[kind]) for name, kind in COMPARISON_COLUMNS.items()])
    file = io.BytesIO()
    write_table(pyarrow.Table.from_pylist(list(list_report_rows(report)), schema), file, compression="zstd")
    return file.getvalue()
