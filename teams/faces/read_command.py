"""`willowbark read FILE`: what each record of a file says of a drug in a condition, one line a reading.

An output that exists already is gone on with: its last record is read anew and compared, so that other input, other
options or another reader are refused and nothing is written twice.
"""

import csv
import io
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from willowbark.tools.errors import UsageError
from willowbark.tools.lexicon import is_generic
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.numbers import statistics_of
from willowbark.tools.reading.reading import Reading

from ..exports.evidence import cell
from .read_input import Entry, Unread, entries, format_of
from .terminal import Progress, complain

COLUMNS = (
    "record", "id", "drug", "condition", "role", "verdict", "probability", "match", "kind", "effect", "comparator",
    "hedged", "design", "participants", "quote", "in_figures", "statistics", "reader", "version",
)  # fmt: skip
_PROGRESS_EVERY_S = 5.0


class DocumentReader(Protocol):
    """What reads a record that is cut already for one drug and one condition."""

    def read_document(self, page: Document, drug: str, condition: str, key: str = "") -> Reading:
        """Read a record."""


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for."""

    file: Path
    """`-` is standard input."""
    form: str | None = None
    """As `--format` names it; None: by the ending."""
    condition: str | None = None
    """Asked about where a record names none of its own; None: the conditions that its text names."""
    to: str = "jsonl"
    """`jsonl` or `csv`."""
    out: Path | None = None
    """None: standard output."""
    quiet: bool = False


@dataclass
class Count:
    """What became of the records."""

    records: int = 0
    readings: int = 0
    unread: int = 0
    silent: int = 0
    """Records that name no drug of the lexicon, or no condition, where none is asked about."""


def read_file(options: Options, reader: DocumentReader) -> Count:
    """Read every record of a file and write the readings.

    Raises:
        UsageError: the file cannot be opened, is not of its form, holds no record that can be read; or the output
            holds readings of something else.
    """
    if options.to not in ("jsonl", "csv"):
        raise UsageError(f"--to {options.to} is not known; it is jsonl or csv")
    if options.condition is not None and not options.condition.strip():
        raise UsageError("--condition is empty")
    form = format_of(options.file, options.form)
    count = Count()
    with ExitStack() as stack:
        source = stack.enter_context(_opened(options.file))
        out = stack.enter_context(_Output(options.out, options.to))
        progress = stack.enter_context(Progress(quiet=options.quiet))
        began = told = time.monotonic()
        for entry in entries(cast(BufferedIOBase, source), form):
            count.records += 1
            if isinstance(entry, Unread):
                count.unread += 1
                complain(f"{_name(options.file)}, line {entry.line}: {entry.why}; left out")
            elif count.records >= out.last:
                lines = [_row(count.records, entry, reading) for reading in _read(entry, options, reader)]
                count.silent += not lines
                count.readings += out.write(count.records, lines)
            if (now := time.monotonic()) - told > _PROGRESS_EVERY_S:
                told = now
                progress.say(f"{count.records:,} records, {count.readings:,} readings, {now - began:.0f} s")
        if count.records < out.last:
            raise UsageError(f"{options.out} goes on beyond the end of {_name(options.file)}: it holds other readings")
        if count.unread and count.unread == count.records:
            raise UsageError(f"nothing in {_name(options.file)} can be read as {form}")
        progress.say(_told(count, out.kept))
    return count


def _told(count: Count, kept: int) -> str:
    parts = [f"{count.records:,} records, {count.readings:,} readings"]
    if kept:
        parts.append(f"{kept:,} were there already")
    if count.unread:
        parts.append(f"{count.unread:,} records could not be read")
    if count.silent:
        parts.append(f"{count.silent:,} name no known drug or condition")
    return "; ".join(parts)


def _name(path: Path) -> str:
    return "standard input" if str(path) == "-" else str(path)


def _opened(path: Path) -> AbstractContextManager[BinaryIO]:
    if str(path) == "-":
        return nullcontext(sys.stdin.buffer)
    try:
        return path.open("rb")
    except OSError as error:
        raise UsageError(f"{path} can't be read ({error.strerror})") from None


def _read(entry: Entry, options: Options, reader: DocumentReader) -> Iterator[Reading]:
    """A reading for each drug and condition that a record is to be read for."""
    page = Document(entry.title, entry.text, entry.publication_types)
    drugs = [entry.drug] if entry.drug else _distinct(page.drugs)
    condition = entry.condition or options.condition
    conditions = [condition] if condition else [name for name in _distinct(page.conditions) if not is_generic(name)]
    for drug in drugs:
        for asked_about in conditions:
            yield reader.read_document(page, drug, asked_about, str(entry.id))


def _distinct(named: Sequence[tuple[str, int, int]]) -> list[str]:
    return list(dict.fromkeys(name for name, _, _ in named))


def _row(order: int, entry: Entry, reading: Reading) -> dict[str, Any]:
    """A reading as it is written."""
    told = (*reading.passages, reading.in_figures)
    figures = reading.statistics or tuple(one for passage in told if passage for one in statistics_of(passage))
    return {
        "record": order,
        "id": entry.id,
        "drug": reading.drug,
        "condition": reading.condition,
        "role": reading.role,
        "verdict": reading.verdict,
        "probability": round(reading.probability, 4),
        "match": reading.match,
        "kind": reading.kind,
        "effect": reading.effect,
        "comparator": reading.comparator,
        "hedged": reading.hedged,
        "design": reading.design,
        "participants": reading.participants,
        "passages": [passage.model_dump() for passage in reading.passages],
        "in_figures": reading.in_figures and reading.in_figures.model_dump(),
        "statistics": [figure.model_dump() for figure in figures],
        "reader": reading.reader,
        "version": reading.version,
    }


def _as_json(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _as_csv(row: dict[str, Any]) -> bytes:
    """One line: the passages as one quote, figures and statistics as written."""
    cells = {
        **row,
        "quote": " … ".join(passage["text"] for passage in row["passages"]),
        "in_figures": row["in_figures"] and row["in_figures"]["text"],
        "statistics": "; ".join(figure["written"] for figure in row["statistics"]),
    }
    return _csv_line(["" if cells[name] is None else cells[name] for name in COLUMNS])


def _csv_line(cells: Sequence[Any]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([cell(value) for value in cells])
    return text.getvalue().encode()


class _Output:
    """Where readings go: whole lines, after what is there.

    Attributes:
        last: number of the last record of which a reading is there; 0 where there is none.
        kept: how many readings are there.
    """

    def __init__(self, path: Path | None, to: str) -> None:
        self._path, self._to = path, to
        self._line: Callable[[dict[str, Any]], bytes] = _as_json if to == "jsonl" else _as_csv
        self.last, self.kept = 0, 0
        self._there: list[bytes] = []
        self._file: BinaryIO

    def __enter__(self) -> "_Output":
        head = _csv_line(COLUMNS) if self._to == "csv" else b""
        if self._path is None:
            self._file = sys.stdout.buffer
            self._file.write(head)
            return self
        try:
            self._file = self._path.open("r+b" if self._path.exists() else "w+b")
        except OSError as error:
            raise UsageError(f"{self._path} can't be written ({error.strerror})") from None
        try:
            end = self._look_through(head)
        except UsageError:
            self._file.close()
            raise
        self._file.seek(end)
        self._file.truncate()
        if not end:
            self._file.write(head)
        return self

    def __exit__(self, *_: object) -> None:
        if self._path is not None:
            self._file.close()

    def _look_through(self, head: bytes) -> int:
        """Find the last record that is there, and where its last whole line ends; 0 in a file without a whole line."""
        end = 0
        for number, line in enumerate(self._file):
            if not line.endswith(b"\n"):
                break
            end += len(line)
            if number == 0 and head:
                if line != head:
                    raise UsageError(f"{self._path} is there and holds no readings as CSV; name another file")
                continue
            record = self._record_of(line)
            if record != self.last:
                self._there = []
            self.last = record
            self._there.append(line)
            self.kept += 1
        return end

    def _record_of(self, line: bytes) -> int:
        try:
            found = int(line.split(b",", 1)[0]) if self._to == "csv" else json.loads(line)["record"]
        except (ValueError, TypeError, KeyError):
            found = None
        if not isinstance(found, int) or found < max(1, self.last):
            raise UsageError(f"{self._path} is there and holds no readings as {self._to}; name another file")
        return found

    def write(self, record: int, rows: Sequence[dict[str, Any]]) -> int:
        """Write the lines of a record, but for those that are there; how many were written.

        Raises:
            UsageError: others are there.
        """
        lines = [self._line(row) for row in rows]
        there = self._there if record == self.last else []
        if lines[: len(there)] != there:
            raise UsageError(
                f"{self._path} holds readings of other input, other options or another reader; name another file"
            )
        self._file.write(b"".join(lines[len(there) :]))
        if self._path is None:
            self._file.flush()
        return len(lines) - len(there)
