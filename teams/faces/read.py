"""`willowbark read FILE`: what each record of a file compared and found, as studies or as a table of comparisons.

https://en.wikipedia.org/wiki/RIS_(file_format), https://www.nlm.nih.gov/bsd/mms/medlineelements.html
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple
from xml.etree.ElementTree import ParseError, tostring

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import iterparse
from pydantic import (
    AliasChoices,
    BaseModel,
    Field,
    Strict,
    StrictInt,
    StringConstraints,
    ValidationError,
    field_validator,
)

from willowbark.tools.appraisal.appraised import DocumentReader
from willowbark.tools.appraisal.stance import stance_of
from willowbark.tools.errors import SearchError, UsageError
from willowbark.tools.http.xml import MAX_DEPTH, MAX_ELEMENTS
from willowbark.tools.lexicon import is_generic
from willowbark.tools.local_files import MAX_LINE_BYTES, read_lines
from willowbark.tools.reading.assembler import assemble_study, is_on_condition
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Reading
from willowbark.tools.records.study import Study
from willowbark.tools.sources.studies.pubmed import parse_articles

from ..config import wording_of
from ..exports.cells import csv_text
from ..exports.comparisons import COMPARISON_COLUMNS, rows_of
from ..screening.tables import csv_rows
from .terminal import complain

InputFormat = Literal["jsonl", "xml", "nbib", "ris", "csv"]
OutputFormat = Literal["jsonl", "csv"]
_ENDINGS: dict[str, InputFormat] = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".xml": "xml", ".nbib": "nbib", ".ris": "ris",
    ".csv": "csv", ".tsv": "csv", "": "jsonl",
}  # fmt: skip
_OF_READING = (
    "drug", "role", "verdict", "sure", "primary", "match", "kind", "effect", "comparator", "against", "hedged",
    "participants",
)  # fmt: skip
"""Fields of a drug's reading that are written as they are."""
_TABLE = ("record", "id", *COMPARISON_COLUMNS, "sure")
_TOLD_EVERY = 100  # records
_Rows = Iterator[tuple[str, Mapping[str, Any] | str]]
"""Place and fields of each record, or why it is unreadable."""
_NUMBER = re.compile(r"\d+\.|<\s*\d+\s*>")
_TAG = re.compile(r"([A-Z][A-Z0-9]{1,3}) *- ?(.*)")
"""A line of RIS (`TI  - …`) or MEDLINE (`TI  - …`, `PMID- …`)."""
_TITLES = ("title", "article title", "primary title", "ti", "t1", "ct", "btl")
_TEXTS = ("text", "abstract", "abstract note", "ab", "n2")
_TYPES = ("publication_types", "publication type", "publication types", "pt", "m3")
_IDS = ("id", "pmid", "key", "accession number", "doi", "an", "c7", "do", "#")
_InputText = Annotated[str, Strict(), StringConstraints(max_length=300_000)]  # has half characters refused, too
_InputLine = Annotated[str, Strict(), StringConstraints(strip_whitespace=True)]


class InputRecord(BaseModel, frozen=True):
    """A record of an input file, by its columns, fields or tags in lower case; the first with a value is used."""

    id: _InputText | StrictInt = Field(validation_alias=AliasChoices(*_IDS))
    """From the file, otherwise the record's number in the file."""
    title: _InputLine = Field("", validation_alias=AliasChoices(*_TITLES))
    text: _InputText = Field("", validation_alias=AliasChoices(*_TEXTS))
    drug: _InputLine = ""
    condition: _InputLine = ""
    publication_types: tuple[_InputLine, ...] = Field((), validation_alias=AliasChoices(*_TYPES))

    @field_validator("publication_types", mode="before")
    @classmethod
    def split(cls, given: Any) -> Any:
        """Split a cell of a table."""
        return [each for each in re.split("[|;]", given) if each.strip()] if isinstance(given, str) else given


def read_file(
    file: Path,
    reader: DocumentReader,
    *,
    form: InputFormat | None = None,
    condition: str | None = None,
    out: Path | None = None,
    to: OutputFormat | None = None,
    quiet: bool = False,
) -> None:
    """Read every record of a file, or of standard input if that is `-`, and write the studies.

    Args:
        file: UsageError if it cannot be opened, is not in its format, or holds no readable record.
        reader: reads each record.
        form: input format; None derives it from the file's ending.
        condition: for records without their own; None uses the conditions named in the text.
        out: new file for the output, UsageError if it exists; None is standard output.
        to: studies as JSON lines, or their comparisons as CSV; None takes it from the ending of `out`, else JSON lines.
        quiet: show no progress.
    """
    if condition is not None and not condition.strip():
        raise UsageError("--condition is empty")
    name = "standard input" if str(file) == "-" else str(file)
    if (form := form or _ENDINGS.get(file.suffix.lower())) is None:
        raise UsageError(f"the format of {file.name} is unknown from its extension; name it with --format")
    is_table = (to or ("csv" if out is not None and out.suffix.lower() == ".csv" else "jsonl")) == "csv"
    order = studies = unread = silent = 0
    with ExitStack() as stack:
        source = sys.stdin.buffer if str(file) == "-" else stack.enter_context(_open(file, "rb", "read"))
        target = sys.stdout.buffer if out is None else stack.enter_context(_open(out, "xb", "written"))
        try:
            if is_table:
                target.write(csv_text([_TABLE]).encode("utf-8-sig"))
            for order, (place, record) in enumerate(records_in(source, form), 1):
                if isinstance(record, str):
                    unread += 1
                    complain(f"{name}, {place}: {record}; skipped")
                    continue
                found = list(_read(record, condition, reader))
                silent += not found
                studies += len(found)
                form_lines = _as_table if is_table else _as_json
                target.write(b"".join(form_lines(order, record, each) for each in found))
                target.flush()
                if order % _TOLD_EVERY == 0 and not quiet:
                    complain(f"{order:,} records, {studies:,} studies")
            if unread and unread == order:
                raise UsageError(f"nothing in {name} can be read as {form}")
        except UsageError:
            if out is not None and not studies:
                out.unlink()  # so that the corrected command can write it
            raise
    if not quiet:
        skipped = f"; {unread:,} unreadable records skipped" if unread else ""
        unnamed = f"; {silent:,} records name no known drug or condition" if silent else ""
        complain(f"{order:,} records, {studies:,} studies{skipped}{unnamed}")


def records_in(stream: BinaryIO, form: InputFormat) -> Iterator[tuple[str, InputRecord | str]]:
    """Read a stream record by record: the place of each, and the record, or why it cannot be read.

    UsageError if the stream is not in this format at all.
    """
    readers: dict[InputFormat, Callable[[BinaryIO], _Rows]] = {
        "jsonl": _json_rows, "xml": _xml_rows, "nbib": _tagged_rows, "ris": _tagged_rows, "csv": _csv_rows,
    }  # fmt: skip
    for order, (place, row) in enumerate(readers[form](stream), 1):
        if isinstance(row, str):
            yield place, row
            continue
        fields = {str(name).strip().lower(): value for name, value in row.items() if value not in (None, "")}
        try:
            record = InputRecord.model_validate({**fields, "#": str(order)})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            yield place, f"{first['loc'][0]}: {wording_of(first)}"
        else:
            yield place, record if record.title or record.text.strip() else "neither title nor text"


def _text_lines(stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """Decode lines: UTF-8, else Windows-1252, which spreadsheets and older reference managers write."""
    for number, line in read_lines(stream):
        if line is None:
            raise UsageError(f"line {number} is longer than {MAX_LINE_BYTES >> 20} MB")
        try:
            yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            yield number, line.decode("cp1252", errors="replace")


def _json_rows(stream: BinaryIO) -> _Rows:
    for number, line in read_lines(stream):
        if line is None:
            yield f"line {number}", f"longer than {MAX_LINE_BYTES >> 20} MB"
            continue
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
    """Parse records of RIS, each of which begins with `TY`, or of MEDLINE, with `PMID`."""
    fields: dict[str, list[str]] = {}
    tag, begun = "", 0
    for number, line in chain(_text_lines(stream), [(0, "TY  - ")]):
        found = _TAG.match(line)
        if found and found[1] in ("TY", "PMID"):
            if fields:
                single = {name.lower(): values[0] for name, values in fields.items()}
                yield f"line {begun}", {**single, "publication_types": fields.get("PT", []) + fields.get("M3", [])}
            fields, begun = {}, number
        if found and found[1] == "ER":
            tag = ""
        elif found:
            tag = found[1]
            fields.setdefault(tag, []).append(found[2].strip())
        elif tag and line.strip():  # continuation of a long field
            fields[tag][-1] = f"{fields[tag][-1]} {line.strip()}"
        elif line.strip() and not _NUMBER.fullmatch(line.strip()):  # Ovid numbers the records of its RIS
            raise UsageError(f"line {number} belongs to no record: RIS begins one with 'TY  - ', MEDLINE with 'PMID- '")


def _xml_rows(stream: BinaryIO) -> _Rows:
    order = depth = count = 0
    broken = ""
    try:
        for event, element in iterparse(stream, events=("start", "end"), forbid_dtd=False):
            depth += 1 if event == "start" else -1
            count += 1
            if depth > MAX_DEPTH or count > 2 * MAX_ELEMENTS:
                raise ParseError("elements nested too deeply, or cut up beyond any article")
            if event == "start" or element.tag not in ("PubmedArticle", "PubmedBookArticle"):
                continue
            order += 1
            count = 0
            try:
                records, why = parse_articles(tostring(element)).records, "an article without PMID, or unreadable"
            except SearchError as error:
                records, why = [], error.reason
            for record in records:
                paper, text = record.paper, record.content.partition("\n\n")[2]
                row = {"id": record.record.pmid, "title": record.citation.title, "text": text}
                yield f"record {order}", {**row, "publication_types": list(paper.publication_types) if paper else []}
            if not records:
                yield f"record {order}", why
            element.clear()
    except (ParseError, DefusedXmlException) as error:
        broken = f" (it ends or breaks: {error})"
        if order:
            yield f"record {order + 1}", f"the XML ends or breaks here ({error})"
    if not order:
        raise UsageError(f"the XML holds no PubMed articles{broken}")


def _open(path: Path, mode: str, verb: str) -> BinaryIO:
    try:
        return path.open(mode)  # type: ignore[return-value]  # modes are binary
    except OSError as error:
        raise UsageError(f"{path} can't be {verb} ({error.strerror})") from None


class _Found(NamedTuple):
    """A study with the readings that it was assembled from, one a drug."""

    study: Study
    readings: list[Reading]


def _read(record: InputRecord, asked_about: str | None, reader: DocumentReader) -> Iterator[_Found]:
    """Yield the study of a record for each condition that it is read for."""
    document = Document(record.title, record.text, record.publication_types)
    drugs = [record.drug] if record.drug else list(dict.fromkeys(name for name, _, _ in document.drugs))
    named = dict.fromkeys(name for name, _, _ in document.conditions if not is_generic(name))
    condition = record.condition or asked_about
    for about in [condition] if condition else named:
        readings = [reader.read_document(document, drug, about, str(record.id)) for drug in drugs]
        if readings:
            yield _Found(assemble_study(readings, document), readings)


def _as_json(order: int, record: InputRecord, found: _Found) -> bytes:
    """Return the line of a study: the record, the study, and what it says of each drug."""
    drugs = [_describe_drug(found.study, reading) for reading in found.readings]
    row = {"record": order, "id": record.id, **found.study.model_dump(mode="json"), "drugs": drugs}
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _describe_drug(study: Study, reading: Reading) -> dict[str, Any]:
    stance = stance_of(study, reading.drug, is_on_condition)
    basis = stance.view.basis if stance.view else None
    if stance.comparison and "basis" not in study.not_read:
        basis = stance.comparison.basis
    return {
        **{name: getattr(reading, name) for name in _OF_READING},
        "says": stance.says,
        "basis": basis,
        "probability": round(reading.probability, 4),
        "passages": [passage.model_dump() for passage in reading.passages],
        "in_figures": reading.in_figures and reading.in_figures.model_dump(),
    }


def _as_table(order: int, record: InputRecord, found: _Found) -> bytes:
    """Return the lines of a study's comparisons; `probability` and `sure` are of the drug whose effect is compared."""
    by_drug = {reading.drug: reading for reading in found.readings}
    rows = []
    for row in rows_of(found.study):
        reading = by_drug.get(row["contrast"] or "")
        own = {"probability": None if reading is None else round(reading.probability, 4)}
        is_sure = None if reading is None else reading.sure
        rows.append([order, record.id, *{**row, **own}.values(), is_sure])
    return csv_text(rows).encode(errors="replace")
