"""`willowbark read FILE`: what each record of a file compared and found, as studies or as a table of comparisons."""

import io
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple

from pydantic import BaseModel, Strict, StrictInt, StringConstraints, ValidationError

from willowbark.agents.exports.cells import write_csv
from willowbark.agents.exports.comparisons import COMPARISON_COLUMNS, list_rows
from willowbark.tools.appraisal.appraised import DocumentReader
from willowbark.tools.appraisal.posted import make_registered_reading
from willowbark.tools.appraisal.stance import derive_stance
from willowbark.tools.errors import UsageError
from willowbark.tools.files import FileItem, UnreadableRecord, read_records
from willowbark.tools.files.content import MAX_BYTES
from willowbark.tools.files.item import RecordFields
from willowbark.tools.files.reader import read_line, read_records_of
from willowbark.tools.files.structured import is_json_object
from willowbark.tools.lexicon import is_generic
from willowbark.tools.local_files import MAX_LINE_BYTES, UnusableFile, read_bounded, read_lines
from willowbark.tools.reading.assembler import assemble_study, is_on_condition
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Reading
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.study import Study
from willowbark.tools.sources.studies.clinicaltrials import parse_study

from ..config import format_problem
from .terminal import complain

OutputFormat = Literal["jsonl", "csv"]
_OF_READING = (
    "drug", "role", "verdict", "sure", "primary", "match", "kind", "effect", "comparator", "against", "hedged",
    "participants",
)  # fmt: skip
"""Fields of a drug's reading that are written as they are."""
_TABLE = ("record", "id", *COMPARISON_COLUMNS, "sure")
_PROGRESS_EVERY = 100  # records
_InputText = Annotated[str, Strict(), StringConstraints(max_length=300_000)]  # has half characters refused, too
_InputLine = Annotated[str, Strict(), StringConstraints(strip_whitespace=True)]


_NUMBERS = ("pmid", "nct_id", "doi", "pmcid")
_WITHOUT_TEXT = "neither title nor text; `willowbark library build FOLDER --from FILE` looks numbers up"


class InputRecord(BaseModel, frozen=True):
    """A record of a file, as far as it is read."""

    id: _InputText | StrictInt
    """Its PMID, NCT number or DOI, else the file's own, otherwise the record's number in the file."""
    title: _InputLine = ""
    text: _InputText = ""
    """Of a trial, what its registry record says."""
    drug: _InputLine = ""
    condition: _InputLine = ""
    publication_types: tuple[_InputLine, ...] = ()
    trial: Evidence | None = None
    """A registered trial, of which posted results are read and not the plan."""


def read_file(
    file: Path,
    reader: DocumentReader,
    *,
    condition: str | None = None,
    out: Path | None = None,
    to: OutputFormat | None = None,
    quiet: bool = False,
) -> None:
    """Read every record of a file, or of standard input if that is `-`, and write the studies.

    Args:
        file: of any form that `tools.files` reads. UsageError if it is of none, or holds no readable record.
        reader: reads each record.
        condition: for records without their own; None uses the conditions named in the text.
        out: new file for the output, UsageError if it exists; None is standard output.
        to: studies as JSON lines, or their comparisons as CSV; None takes it from the ending of `out`, else JSON lines.
        quiet: show no progress.
    """
    if condition is not None and not condition.strip():
        raise UsageError("--condition is empty")
    name = "standard input" if str(file) == "-" else str(file)
    is_table = (to or ("csv" if out is not None and out.suffix.lower() == ".csv" else "jsonl")) == "csv"
    order = studies = unread = silent = 0
    with ExitStack() as stack:
        items = _read_items(sys.stdin.buffer) if str(file) == "-" else read_records(file)
        target = sys.stdout.buffer if out is None else stack.enter_context(_create(out))
        try:
            if is_table:
                target.write(write_csv([_TABLE]).encode("utf-8-sig"))
            for order, (place, record) in enumerate(read_input_records(_read_to_the_end(items, name)), 1):
                if isinstance(record, str):
                    unread += 1
                    complain(f"{name}, {place}: {record}; skipped")
                    continue
                readings = list(_read(record, condition, reader))
                silent += not readings
                studies += len(readings)
                form_lines = _write_table if is_table else _write_json
                target.write(b"".join(form_lines(order, record, reading) for reading in readings))
                target.flush()
                if order % _PROGRESS_EVERY == 0 and not quiet:
                    complain(f"{order:,} records, {studies:,} studies")
            if unread and unread == order:
                raise UsageError(f"nothing in {name} can be read")
        except UsageError:
            if out is not None and not studies:
                out.unlink()  # so that the corrected command can write it
            raise
    if not quiet:
        skipped = f"; {unread:,} unreadable records skipped" if unread else ""
        unnamed = f"; {silent:,} records name no known drug or condition" if silent else ""
        complain(f"{order:,} records, {studies:,} studies{skipped}{unnamed}")


def read_input_records(items: Iterator[FileItem]) -> Iterator[tuple[str, InputRecord | str]]:
    """Give the place of each record of a file, and the record, or why it cannot be read."""
    for order, item in enumerate(items, 1):
        if isinstance(item, UnreadableRecord):
            yield item.place, item.why
            continue
        try:
            record = InputRecord.model_validate({"id": str(order), **_choose_text_fields(item.fields), **item.own})
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            yield item.place, f"{first['loc'][0]}: {format_problem(first)}"
        else:
            yield item.place, record if record.title or record.text.strip() else _WITHOUT_TEXT


def _choose_text_fields(fields: RecordFields) -> dict[str, Any]:
    """Return title, text, types and number of a record; those of a trial as its registry entry is written."""
    if "protocolSection" in fields:
        record = parse_study(fields)
        if record is None:
            return {}
        text = record.content.partition("\n\n")[2]
        return {"id": record.record.nct_id, "title": record.citation.title, "text": text, "trial": record}
    if "metadata" in fields:
        paper = fields["metadata"]
        title, _, text = fields["content"].partition("\n\n")
        types = paper.get("publication_types") or ()
        return {"id": paper.get("pmid") or paper.get("doi"), "title": title, "text": text, "publication_types": types}
    number = next((fields[name] for name in _NUMBERS if fields.get(name)), None)
    values = {"title": fields.get("title"), "text": fields.get("abstract"), "id": number}
    values["publication_types"] = fields.get("publication_types")
    return {name: value for name, value in values.items() if value}


def _read_to_the_end(items: Iterator[FileItem], name: str) -> Iterator[FileItem]:
    """Yield the items of a file up to where it breaks, which is told as a record; UsageError where it is the first."""
    count = 0
    try:
        for item in items:
            count += 1
            yield item
    except UnusableFile as error:
        if not count:
            raise UsageError(f"{name} {error}") from None
        yield UnreadableRecord(f"after record {count}", f"the file {error}")


def _read_items(stream: BinaryIO) -> Iterator[FileItem]:
    """Yield the records of standard input: JSON lines as they come, anything else once it ended."""
    first_line = stream.readline(MAX_LINE_BYTES)
    if is_json_object(first_line.decode("utf-8", "replace")):
        yield read_line(first_line, "line 1")
        for number, line in read_lines(stream):
            yield read_line(line, f"line {number + 1}")
    else:
        yield from read_records_of(io.BytesIO(first_line + read_bounded(stream, None, MAX_BYTES)))


def _create(path: Path) -> BinaryIO:
    try:
        return path.open("xb")
    except OSError as error:
        raise UsageError(f"{path} can't be written ({error.strerror})") from None


class _StudyReadings(NamedTuple):
    """A study with the readings that it was assembled from, one a drug."""

    study: Study
    readings: list[Reading]


def _read(record: InputRecord, default_condition: str | None, reader: DocumentReader) -> Iterator[_StudyReadings]:
    """Yield the study of a record for each condition that it is read for."""
    document = Document(record.title, record.text, record.publication_types)
    drugs = [record.drug] if record.drug else list(dict.fromkeys(name for name, _, _ in document.drugs))
    conditions = dict.fromkeys(name for name, _, _ in document.conditions if not is_generic(name))
    condition = record.condition or default_condition
    for about in [condition] if condition else conditions:
        readings = [_read_drug(record, document, drug, about, reader) for drug in drugs]
        if readings:
            yield _StudyReadings(assemble_study(readings, document), readings)


def _read_drug(record: InputRecord, document: Document, drug: str, condition: str, reader: DocumentReader) -> Reading:
    """Read a record for a drug: a registered trial by its posted results alone."""
    if record.trial is None:
        return reader.read_document(document, drug, condition, str(record.id))
    reading, _ = make_registered_reading(record.trial, drug, condition, (condition,))
    return reading


def _write_json(order: int, record: InputRecord, study_readings: _StudyReadings) -> bytes:
    """Return the line of a study: the record, the study, and what it says of each drug."""
    drugs = [_describe_drug(study_readings.study, reading) for reading in study_readings.readings]
    row = {"record": order, "id": record.id, **study_readings.study.model_dump(mode="json"), "drugs": drugs}
    return json.dumps(row, ensure_ascii=False).encode() + b"\n"


def _describe_drug(study: Study, reading: Reading) -> dict[str, Any]:
    stance = derive_stance(study, reading.drug, is_on_condition)
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


def _write_table(order: int, record: InputRecord, study_readings: _StudyReadings) -> bytes:
    """Return the lines of a study's comparisons; `probability` and `sure` are of the drug whose effect is compared."""
    by_drug = {reading.drug: reading for reading in study_readings.readings}
    rows = []
    for row in list_rows(study_readings.study):
        reading = by_drug.get(row["contrast"] or "")
        own = {"probability": None if reading is None else round(reading.probability, 4)}
        is_sure = None if reading is None else reading.sure
        rows.append([order, record.id, *{**row, **own}.values(), is_sure])
    return write_csv(rows).encode(errors="replace")
