"""`willowbark read FILE`: what each record of a file reports about each drug, one reading per line.

https://en.wikipedia.org/wiki/RIS_(file_format), https://www.nlm.nih.gov/bsd/mms/medlineelements.html
"""

import csv
import io
import json
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain, product
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal
from xml.etree.ElementTree import ParseError, tostring

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse
from pydantic import AliasChoices as Names
from pydantic import BaseModel, Field, Strict, StrictInt, StringConstraints, ValidationError, field_validator

from willowbark.tools.appraisal.appraised import DocumentReader
from willowbark.tools.errors import SearchError, UsageError
from willowbark.tools.lexicon import is_generic
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.numbers import statistics_of
from willowbark.tools.sources.studies.pubmed import parse_articles

from ..config import wording_of
from ..exports.evidence import safe_cell
from ..screening.tables import csv_rows
from .terminal import Progress, complain

Format = Literal["jsonl", "xml", "nbib", "ris", "csv"]
_ENDINGS: dict[str, Format] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".xml": "xml", ".nbib": "nbib", ".ris": "ris",
    ".csv": "csv", ".tsv": "csv", "": "jsonl",
}  # fmt: skip
COLUMNS = (
    "record", "id", "drug", "condition", "role", "verdict", "probability", "match", "kind", "effect", "comparator",
    "hedged", "design", "participants", "quote", "in_figures", "statistics", "reader", "version",
)  # fmt: skip
_PROGRESS_EVERY_S = 5.0
_Rows = Iterator[tuple[str, Mapping[str, Any] | str]]
"""Place and fields of each record, or why it is unreadable."""
_TAG = re.compile(r"([A-Z][A-Z0-9]{1,3}) *- ?(.*)")
"""A line of RIS (`TI  - …`) or MEDLINE (`TI  - …`, `PMID- …`)."""
_TITLES = ("title", "article title", "primary title", "ti", "t1", "ct", "btl")
_TEXTS = ("text", "abstract", "abstract note", "ab", "n2")
_TYPES = ("publication_types", "publication type", "publication types", "pt", "m3")
_IDS = ("id", "pmid", "key", "accession number", "doi", "an", "c7", "do", "#")
_Text = Annotated[str, Strict(), StringConstraints(max_length=16_000_000)]  # a bound has half characters refused, too
_Line = Annotated[str, Strict(), StringConstraints(strip_whitespace=True)]


class InputRecord(BaseModel, frozen=True):
    """A record of an input file, by its columns, fields or tags in lower case; the first with a value is used."""

    id: _Text | StrictInt = Field(validation_alias=Names(*_IDS))
    """From the file, otherwise the record's number in the file."""
    title: _Line = Field("", validation_alias=Names(*_TITLES))
    text: _Text = Field("", validation_alias=Names(*_TEXTS))
    drug: _Line = ""
    condition: _Line = ""
    publication_types: tuple[_Line, ...] = Field((), validation_alias=Names(*_TYPES))

    @field_validator("publication_types", mode="before")
    @classmethod
    def split(cls, given: Any) -> Any:
        """Split a cell of a table."""
        return [each for each in re.split("[|;]", given) if each.strip()] if isinstance(given, str) else given


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A record that cannot be read."""

    place: str
    """`line 4` or `record 4`."""
    why: str


def read_file(
    file: Path,
    reader: DocumentReader,
    *,
    form: Format | None = None,
    condition: str | None = None,
    to: Literal["jsonl", "csv"] = "jsonl",
    out: Path | None = None,
    quiet: bool = False,
) -> None:
    """Read every record of a file and write the readings.

    Args:
        file: input file; `-` is standard input.
        reader: reads each record.
        form: input format; None derives it from the file's ending.
        condition: for records without their own; None uses the conditions named in the text.
        to: output format.
        out: new file for the output; None is standard output.
        quiet: show no progress.

    Raises:
        UsageError: the file cannot be opened, is not in its format or holds no readable record, or the output cannot be
            written or exists.
    """
    if condition is not None and not condition.strip():
        raise UsageError("--condition is empty")
    name = "standard input" if str(file) == "-" else str(file)
    if (form := form or _ENDINGS.get(file.suffix.lower())) is None:
        raise UsageError(f"the format of {file.name} is unknown from its extension; name it with --format")
    order = readings = unread = silent = 0
    with ExitStack() as stack:
        source = sys.stdin.buffer if str(file) == "-" else stack.enter_context(_open(file, "rb", "read"))
        target = sys.stdout.buffer if out is None else stack.enter_context(_open(out, "xb", "written"))
        progress = stack.enter_context(Progress(quiet=quiet))
        began = shown_at = time.monotonic()
        try:
            target.write(_csv_line(COLUMNS) if to == "csv" else b"")
            for order, record in enumerate(records_in(source, form), 1):
                if isinstance(record, Unreadable):
                    unread += 1
                    complain(f"{name}, {record.place}: {record.why}; skipped")
                else:
                    rows = list(_read(order, record, condition, reader, to))
                    silent += not rows
                    readings += len(rows)
                    target.write(b"".join(rows))
                    target.flush()
                if (now := time.monotonic()) - shown_at > _PROGRESS_EVERY_S:
                    shown_at = now
                    progress.print_line(f"{order:,} records, {readings:,} readings, {now - began:.0f} s")
            if unread and unread == order:
                raise UsageError(f"nothing in {name} can be read as {form}")
        except UsageError:
            if out is not None and not readings:
                out.unlink()  # so that the corrected command can write it
            raise
        parts = [f"{order:,} records, {readings:,} readings"]
        parts += [f"{unread:,} unreadable records skipped"] if unread else []
        parts += [f"{silent:,} records name no known drug or condition"] if silent else []
        progress.print_line("; ".join(parts))


def records_in(stream: BinaryIO, form: Format) -> Iterator[InputRecord | Unreadable]:
    """Read the records of a stream one at a time.

    Raises:
        UsageError: the stream is not in this format at all.
    """
    readers: dict[Format, Callable[[BinaryIO], _Rows]] = {
        "jsonl": _json_rows, "xml": _xml_rows, "nbib": _tagged_rows, "ris": _tagged_rows, "csv": _csv_rows,
    }  # fmt: skip
    for order, (place, row) in enumerate(readers[form](stream), 1):
        if isinstance(row, str):
            yield Unreadable(place, row)
            continue
        fields = {str(name).strip().lower(): value for name, value in row.items() if value not in (None, "")}
        try:
            record = InputRecord.model_validate({**fields, "#": str(order)})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            yield Unreadable(place, f"{first['loc'][0]}: {wording_of(first)}")
        else:
            is_empty = not record.title and not record.text.strip()
            yield Unreadable(place, "neither title nor text") if is_empty else record


def _text_lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Decode lines: UTF-8, else Windows-1252, which spreadsheets and older reference managers write."""
    for number, line in enumerate(stream, 1):
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            yield number, line.decode("cp1252", errors="replace")


def _json_rows(stream: BinaryIO) -> _Rows:
    for number, line in enumerate(stream, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            yield f"line {number}", "not JSON in UTF-8"
        else:
            yield f"line {number}", row if isinstance(row, dict) else "not an object"


def _csv_rows(stream: BinaryIO) -> _Rows:
    header, rows = csv_rows(line for _, line in _text_lines(stream))
    if header and not set(header) & {*_TITLES, *_TEXTS}:
        raise UsageError("the table's first line names neither a column title nor a column text or abstract")
    yield from ((f"line {number}", row) for number, row in rows)


def _tagged_rows(stream: BinaryIO) -> _Rows:
    """Parse records of RIS, each from `TY` to `ER`, or of MEDLINE, each from `PMID` to an empty line."""
    fields: dict[str, list[str]] = {}
    tag, begun, is_ris = "", 0, False
    for number, line in chain(_text_lines(stream), [(0, "")]):
        found = _TAG.match(line)
        is_start = found is not None and found[1] in ("TY", "PMID")
        if fields and (is_start or not number or (not line.strip() and not is_ris) or (found and found[1] == "ER")):
            is_cut = is_ris and not (found and found[1] == "ER")
            single = {name.lower(): values[0] for name, values in fields.items()}
            types = [kind for name in ("PT", "M3") for kind in fields.get(name, ())]
            yield f"line {begun}", "no 'ER  -' ends it" if is_cut else {**single, "publication_types": types}
            fields, tag = {}, ""
        if found is not None and found[1] != "ER":
            if is_start:
                begun, is_ris = number, found[1] == "TY"
            tag = found[1]
            fields.setdefault(tag, []).append(found[2].strip())
        elif tag and line.strip():  # continuation of a long field
            fields[tag][-1] = f"{fields[tag][-1]} {line.strip()}"
        elif line.strip() and not found:
            raise UsageError(f"line {number} belongs to no record: RIS begins one with 'TY  - ', MEDLINE with 'PMID- '")


def _xml_rows(stream: BinaryIO) -> _Rows:
    order = 0
    try:
        for _, element in iterparse(stream, forbid_dtd=False):
            if element.tag not in ("PubmedArticle", "PubmedBookArticle"):
                continue
            order += 1
            try:
                parsed = parse_articles(tostring(element))
                records, unread = parsed.records, parsed.unread
            except SearchError as error:
                records, unread = [], [error.reason]
            for record in records:
                paper, text = record.paper, record.content.partition("\n\n")[2]
                row = {"id": record.record.pmid, "title": record.citation.title, "text": text}
                yield f"record {order}", {**row, "publication_types": list(paper.publication_types) if paper else []}
            if not records:
                yield f"record {order}", unread[0]
            element.clear()
    except (ParseError, DefusedXmlException) as error:
        if order:
            yield f"record {order + 1}", f"the XML ends or breaks here ({error})"
    if not order:
        raise UsageError("the XML holds no PubMed articles")


def _open(path: Path, mode: str, verb: str) -> BinaryIO:
    try:
        return path.open(mode)  # type: ignore[return-value]  # modes are binary
    except OSError as error:
        raise UsageError(f"{path} can't be {verb} ({error.strerror})") from None


def _read(order: int, record: InputRecord, asked_about: str | None, reader: DocumentReader, to: str) -> Iterator[bytes]:
    """Yield a line of output for each drug and condition of a record."""
    document = Document(record.title, record.text, record.publication_types)
    drugs = [record.drug] if record.drug else list(dict.fromkeys(name for name, _, _ in document.drugs))
    condition = record.condition or asked_about
    named = dict.fromkeys(name for name, _, _ in document.conditions if not is_generic(name))
    for drug, each in product(drugs, [condition] if condition else named):
        reading = reader.read_document(document, drug, each, str(record.id))
        figures = [one for said in (*reading.passages, reading.in_figures) if said for one in statistics_of(said)]
        row = {
            "record": order,
            "id": record.id,
            **{name: getattr(reading, name) for name in COLUMNS[2:14]},
            "probability": round(reading.probability, 4),
            "passages": [passage.model_dump() for passage in reading.passages],
            "in_figures": reading.in_figures and reading.in_figures.model_dump(),
            "statistics": [figure.model_dump() for figure in figures],
            "reader": reading.reader,
            "version": reading.version,
        }
        if to == "jsonl":
            yield json.dumps(row, ensure_ascii=False).encode() + b"\n"
            continue
        row["quote"] = " … ".join(passage.text for passage in reading.passages)
        row["in_figures"] = reading.in_figures and reading.in_figures.text
        row["statistics"] = "; ".join(figure.written for figure in figures)
        yield _csv_line(row[name] for name in COLUMNS)


def _csv_line(cells: Iterable[Any]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow([safe_cell("" if value is None else value) for value in cells])
    return text.getvalue().encode()
