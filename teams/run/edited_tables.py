"""A table of evidence that somebody edited in a spreadsheet, as CSV or as an Excel workbook, read as corrections."""

import csv
import io
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

from willowbark.agents.report.content import EvidenceRow
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.errors import MissingExtra, UsageError
from willowbark.tools.reading.corrections import EXCLUSION_REASONS
from willowbark.tools.reading.reading import Direction

from .changes import DESIGNS, PARTICIPANTS, ChangeRequest, parse_value

_MOST_BYTES = 64 << 20  # of a spreadsheet
_MOST_CONTENT = 512 << 20  # of a workbook, unpacked
_ZIP = b"PK\x03\x04"
_NEEDED = frozenset({"key", "drug"})
_EDITED = {"sample_size": PARTICIPANTS, "design": "design"}
"""Columns of the exported table that can be edited, beside verdict and the reviewer's, with the field of each."""
_EXCLUDE = "exclude"
Cells = Mapping[str, str]


def read_table(path: Path, report: ResearchReport) -> list[ChangeRequest]:
    """Read a table of evidence that somebody edited in a spreadsheet: every cell that differs from the report.

    Counted are `reviewer_verdict` (also `exclude`) with `reviewer_note`, `verdict`, `sample_size` and `design`.

    Raises:
        UsageError: no such table, a cell that cannot be understood, or one edited that cannot be.
    """
    rows = _read_rows(path)
    if rows is None:
        raise UsageError(
            f"{path}: is no table of evidence (columns key and drug); `willowbark export --to csv` or xlsx makes one"
        )
    own = {(row.key, row.drug): row for row in report.evidence_table}
    requests = list[ChangeRequest]()
    for line, cells in enumerate(rows, 2):
        place = f"{path}, line {line}"
        if not any(cells.values()):
            continue  # spreadsheets count rows whose content was deleted
        former = own.get((cells["key"], cells["drug"]))
        if former is None:
            raise UsageError(f"{place}: the report has no row {cells['key']} of {cells['drug']}")
        requests += _read_cells(cells, former, place)
    return requests


def is_table_of_evidence(path: Path) -> bool:
    """Whether a file is a table of evidence, as `export --to csv` and xlsx make it; other files are records."""
    try:
        return _read_rows(path) is not None
    except UsageError:
        return False


def _read_rows(path: Path) -> list[Cells] | None:
    """Read the rows of a table by column; None if it has no column `key` or `drug`, or no row."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise UsageError(f"{path}: has more than {_MOST_BYTES >> 20} MB")
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from None
    if content.startswith(_ZIP):
        return _read_workbook(content, path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{path}: is not UTF-8; save the spreadsheet as “CSV UTF-8” or as .xlsx") from None
    head = text.partition("\n")[0]
    delimiter = max((",", ";", "\t"), key=head.count)  # spreadsheets of many countries write semicolons
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:  # a field beyond the reader's bound: notes, a set of records
        return None
    return _name_cells([line for line in lines if line])


def _read_workbook(content: bytes, path: Path) -> list[Cells] | None:
    """Read the sheet of a workbook that has the columns, of values as they were last shown."""
    try:
        from openpyxl import load_workbook  # noqa: PLC0415  an extra
    except ModuleNotFoundError:
        raise MissingExtra("reading a workbook", "report") from None
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > _MOST_CONTENT:
            raise UsageError(f"{path}: holds more than {_MOST_CONTENT >> 20} MB; save the sheet as CSV")
        book = load_workbook(io.BytesIO(content), read_only=True, data_only=True)
        for sheet in book.worksheets:
            rows = _name_cells([list(map(_write_value, cells)) for cells in sheet.iter_rows(values_only=True)])
            if rows is not None:
                return rows
    except UsageError:
        raise
    except Exception as error:  # noqa: BLE001  openpyxl raises whatever a bent part of a workbook leads to
        raise UsageError(f"{path}: is no workbook that can be read ({type(error).__name__}); save it again") from None
    return None


def _name_cells(lines: Sequence[Sequence[str]]) -> list[Cells] | None:
    if len(lines) < 2 or not set(lines[0]) >= _NEEDED:
        return None
    names = lines[0]
    return [dict(zip(names, [*line, *[""] * len(names)], strict=False)) for line in lines[1:]]


def _write_value(value: object) -> str:
    """Write a workbook's value as the exported CSV has it: whole numbers without a point, dates as they stand."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value.isoformat()[:10] if isinstance(value, date) else str(value)


def _read_cells(cells: Cells, former: EvidenceRow, place: str) -> Iterator[ChangeRequest]:
    common = {"record": former.key, "drug": former.drug, "note": cells.get("reviewer_note", "").strip()}
    verdict = cells.get("reviewer_verdict", "").strip()
    edited = cells.get("verdict", "").strip()
    word = verdict or (edited if edited != former.direction else "")
    if word.partition(":")[0] == _EXCLUDE:
        reason = word.partition(":")[2].strip() or "other"
        if reason not in EXCLUSION_REASONS:
            raise UsageError(f"{place}: {reason!r} is no reason; there are {', '.join(EXCLUSION_REASONS)}")
        yield ChangeRequest.of({**common, "exclude": reason})
    elif word:
        if word not in {direction.value for direction in Direction}:
            options = ", ".join(direction.value for direction in Direction)
            raise UsageError(f"{place}: {word!r} is no verdict; there are {options} and exclude")
        yield ChangeRequest.of({**common, "says": word})
    for column, field in _EDITED.items():
        text = cells.get(column, "").strip()
        former_value = getattr(former, column)
        if column not in cells or text == ("" if former_value is None else f"{former_value}"):
            continue
        value = DESIGNS.get(text, text) if column == "design" else parse_value(text)
        yield ChangeRequest.of({**common, "field": field, "value": value})
