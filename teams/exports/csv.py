"""The evidence table as CSV (RFC 4180), safe to open in a spreadsheet.

A cell that a spreadsheet would take for a formula gets an apostrophe in front
(https://owasp.org/www-community/attacks/CSV_Injection). A byte order mark tells spreadsheets that it is UTF-8.
"""

import csv
import io

from willowbark.agents.report.forms.links import url_of
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.enclosure import visible

COLUMNS = (
    "drug",
    "stance",
    "key",
    "title",
    "date",
    "design",
    "sample_size",
    "followup_months",
    "effects",
    "passage",
    "is_preprint",
    "retracted",
    "expression_of_concern",
    "url",
)
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def as_csv(report: ResearchReport) -> bytes:
    """One row a candidate and record; an empty cell means "not reported", or for flags "could not be checked"."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    candidates = {candidate.name: candidate for candidate in report.candidates}
    urls = {str(reference["key"]): str(reference.get("url") or "") for reference in report.references}
    for row in report.evidence_table:
        candidate = candidates.get(row.drug)
        stance = candidate.stance_of(row) if candidate else row.direction
        effects = "; ".join(
            f"{size.measure} {size.value:g}"
            + (f" [{size.ci_low:g}, {size.ci_high:g}]" if size.ci_low is not None and size.ci_high is not None else "")
            for size in row.effects
        )
        cells = (row.drug, stance, row.key, row.title, row.date, row.design, row.sample_size, row.followup_months,
                 effects, row.sentence, row.is_preprint, row.retracted, row.concern,
                 url_of(row.key, urls.get(row.key, "")))  # fmt: skip
        writer.writerow([cell(value) for value in cells])
    return file.getvalue().encode("utf-8-sig", errors="replace")


def cell(value: object) -> str:
    """A value as a cell's text that no spreadsheet runs.

    >>> cell("=1+1"), cell("@SUM(A1)"), cell("p = 0.05"), cell(None), cell(12)
    ("'=1+1", "'@SUM(A1)", 'p = 0.05', '', '12')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:g}" if isinstance(value, float) else str(value)
    text = str(value)
    danger = text.startswith(FORMULA_STARTS) or text.lstrip().startswith(FORMULA_STARTS)
    plain = " ".join(visible(text).split())
    return f"'{plain}" if danger or plain.startswith(FORMULA_STARTS) else plain
