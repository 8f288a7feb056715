"""Export the evidence table for reviewers to edit, one row per candidate and record, as CSV (RFC 4180) or workbook.

No cell is a formula. In CSV a cell that a spreadsheet would read as a formula is prefixed with an apostrophe
(https://owasp.org/www-community/attacks/CSV_Injection), and a byte order mark marks the file as UTF-8. In the
workbook texts are written as texts, and remain so when edited. https://xlsxwriter.readthedocs.io
"""

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from willowbark.tools.reading.reading import ValueKind
from willowbark.tools.records.enclosure import one_line

from ..report.forms import find_url
from .cells import format_cell, write_csv
from .comparisons import COMPARISON_COLUMNS, list_report_rows

if TYPE_CHECKING:
    from ..report.model import ResearchReport

WIDTHS = {
    "drug": 14, "stance": 12, "verdict": 12, "key": 16, "title": 44, "date": 11,
    "population": 22, "intervention": 18, "comparator": 18, "outcome": 24, "result": 18,
    "estimate": 26, "figures": 18, "dose": 18, "tolerability": 26, "sample_size": 9, "design": 16,
    "passage": 60, "in_figures": 60, "section": 14, "second_reader": 14,
    "is_preprint": 9, "retracted": 9, "expression_of_concern": 11, "url": 30,
}  # fmt: skip
COLUMNS = tuple(WIDTHS)
"""Columns in order, with their widths in the workbook in characters."""
REVIEWER = ("reviewer_verdict", "reviewer_note")
"""Columns left for the reviewer, which `willowbark correct --from` reads."""
_CORRECTIONS = ("record", "drug", "correction", "by", "on")
VERDICTS = ("supports", "contradicts", "inconclusive", "not assessed", "exclude")
_PICO_FIELDS = ("population", "intervention", "comparator", "outcome", "result")
_VALUES: tuple[ValueKind, ...] = ("estimate", "dose", "tolerability")
_ABOUT = (
    "One row per candidate drug and record. An empty cell means not reported; for flags, could not be checked.",
    "verdict: what the record says of the drug. stance: how it counts in the appraisal; retracted ones are excluded.",
    "population, intervention, comparator, outcome, result: as read from the record, in the reader's own words.",
    "estimate, dose, tolerability: as the record writes them, or from posted results; the report has their sentences.",
    "figures and passage: verbatim from the record; section is where the passage occurs; in_figures is "
    "another sentence, which gives the result in figures where the passage does not.",
    "reviewer_verdict and reviewer_note are for you.",
    "Corrections: what people said of records and drugs, as the report took it.",
    "Comparisons: one row per comparison of a study, as its reader read it; place 1 decides. An empty cell means not "
    "reported, or not read by this reader.",
)


def as_csv(report: "ResearchReport") -> bytes:
    """Export as CSV with columns for a reviewer; an empty cell means "not reported", or "could not be checked"."""
    rows = [(*row, "", "") for row in _list_rows(report)]
    return write_csv([(*COLUMNS, *REVIEWER), *rows]).encode("utf-8-sig", errors="replace")


def as_xlsx(report: "ResearchReport") -> bytes:
    """Export as a workbook with columns for a reviewer's verdict and note; the same report gives the same bytes."""
    from xlsxwriter import Workbook  # noqa: PLC0415  an extra

    file = io.BytesIO()
    safe = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False, "in_memory": True}
    with Workbook(file, safe) as book:
        book.set_properties({"title": one_line(report.title, 255), "created": report.generated_at.replace(tzinfo=None)})
        text = book.add_format({"text_wrap": True, "valign": "top", "quote_prefix": True})
        head = book.add_format({"bold": True, "text_wrap": True, "valign": "top", "bottom": 1})
        sheet = book.add_worksheet("Evidence")
        compared = book.add_worksheet("Comparisons")
        words = book.add_worksheet("Corrections")
        about = book.add_worksheet("About")
        last = _fill(sheet, (*COLUMNS, *REVIEWER), list(_list_rows(report)), head, text)
        compared_rows = [tuple(row.values()) for row in list_report_rows(report)]
        _fill(compared, tuple(COMPARISON_COLUMNS), compared_rows, head, text)
        corrections = [(word.record, word.drug, word.line, ", ".join(word.by), word.on) for word in report.corrections]
        _fill(words, _CORRECTIONS, corrections, head, text)
        choice = {"validate": "list", "source": list(VERDICTS), "ignore_blank": True}
        sheet.data_validation(1, len(COLUMNS), max(last, 1), len(COLUMNS), choice)
        about.set_column(0, 0, 110)
        when = f"Generated {report.generated_at:%Y-%m-%d %H:%M} UTC by Willowbark"
        for place, value in enumerate((report.title, report.research_question, when, report.disclaimer, *_ABOUT)):
            about.write_string(place, 0, format_cell(value), text)
    return file.getvalue()


def _fill(sheet: Any, columns: Sequence[str], rows: Sequence[Sequence[object]], head: Any, text: Any) -> int:
    """Write a sheet's heads and rows; return how many rows there are."""
    sheet.freeze_panes(1, 1)
    for column, name in enumerate(columns):
        sheet.write_string(0, column, name, head)
        sheet.set_column(column, column, WIDTHS.get(name, 24 if name in REVIEWER else 16))
    for line, row in enumerate(rows, 1):
        for column, value in enumerate(row):
            if isinstance(value, int | float) and not isinstance(value, bool):
                sheet.write_number(line, column, value, text)
            elif value is not None and format_cell(value):
                sheet.write_string(line, column, format_cell(value), text)
    sheet.autofilter(0, 0, len(rows), len(columns) - 1)
    return len(rows)


def _list_rows(report: "ResearchReport") -> Iterator[tuple[object, ...]]:
    """Yield the cells of each row, in the order of `COLUMNS`; None means "not reported"."""
    candidates = {candidate.name: candidate for candidate in report.candidates}
    urls = {str(reference["key"]): str(reference.get("url") or "") for reference in report.references}
    for row in report.evidence_table:
        candidate = candidates.get(row.drug)
        comparisons: dict[str, str] = {}
        for what in _VALUES:
            comparisons[what] = "; ".join(comparison.line for comparison in row.compared(what))
        values: dict[str, object] = {
            **row.model_dump(include=set(COLUMNS)),
            **(row.pico.model_dump() if row.pico else dict.fromkeys(_PICO_FIELDS)),
            "stance": candidate.stance_of(row) if candidate else row.direction,
            "verdict": row.direction,
            **comparisons,
            "figures": "; ".join(row.figures),
            "passage": row.sentence,
            "expression_of_concern": row.concern,
            "url": find_url(row.key, urls.get(row.key, "")),
        }
        yield tuple(values[name] for name in COLUMNS)
