"""Cells of tables, which no spreadsheet runs as a formula, and CSV (RFC 4180) of them."""

import csv
import io
from collections.abc import Iterable, Sequence

from willowbark.tools.records.enclosure import one_line

FORMULA_STARTS = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
_LONGEST = 32_000  # characters; Excel's cells hold 32,767


def format_cell(value: object) -> str:
    """Format a value as one line: empty for None, `yes` or `no`, a number without needless digits."""
    if value is None or isinstance(value, bool):
        return {None: "", True: "yes", False: "no"}[value]
    return f"{value:g}" if isinstance(value, float) else one_line(str(value), _LONGEST)


def safe_cell(value: object) -> str:
    """Format a value for a cell so that no spreadsheet runs it as a formula.

    >>> safe_cell("=1+1"), safe_cell("@SUM(A1)"), safe_cell("p = 0.05"), safe_cell(None), safe_cell(12)
    ("'=1+1", "'@SUM(A1)", 'p = 0.05', '', '12')
    """
    text = format_cell(value)
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA_STARTS) else text


def write_csv(rows: Iterable[Sequence[object]]) -> str:
    """Write rows as CSV without a byte order mark."""
    file = io.StringIO(newline="")
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerows(map(safe_cell, row) for row in rows)
    return file.getvalue()
