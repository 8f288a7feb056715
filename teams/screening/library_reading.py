"""Read a library once: each publication for each drug and condition that it names, into a store beside the library.

What was read is committed every half second, so that a call that is killed loses no more, and the same command goes on.
Several processes may read one library: each takes the records in another order and skips what the others have read.
"""

import json
import os
import random
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from willowbark.tools.appraisal.appraised import DocumentReader, load_reader
from willowbark.tools.appraisal.candidates import find_named_drugs
from willowbark.tools.errors import MissingExtra, UsageError
from willowbark.tools.lexicon import is_generic
from willowbark.tools.library import BUNDLED, Library
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Reading
from willowbark.tools.reading.screening import readable
from willowbark.tools.reading.store import (
    STORE_FILE,
    ReaderIdentity,
    ReadSubject,
    StoredRow,
    StudyStore,
    dump_content,
    hash_text,
    identify_reader,
)

from .tables import has_parquet

PARQUET_FILE = "studies.parquet"
"""The store as a table, beside it."""
_COMMIT_S = 0.5
_TELL_S = 2.0
_BATCH = 10_000  # rows of the table at a time
_TEXTS = ("text", "reader", "version", "release", "form", "drug", "condition", "day", "content")


@dataclass
class LibraryTally:
    """What a call read."""

    seen: int = 0
    """Records met, those read before among them."""
    read: int = 0
    """Records read by this call."""
    readings: int = 0
    """Readings made by this call."""
    table: Path | None = None
    """The store as Parquet; None without pyarrow."""


@dataclass
class _Waiting:
    """What was read and is not committed yet."""

    rows: list[StoredRow] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)


def read_library(
    library: Library, tell: Callable[[str], None] = lambda _: None, reader: DocumentReader | None = None
) -> LibraryTally:
    """Read what nobody has read yet of a library's publications, and write the store as Parquet if pyarrow is there.

    Args:
        library: in a folder that can be written to.
        tell: receives progress lines.
        reader: None uses the bundled one.

    Raises:
        UsageError: the library is the bundled one, or the store beside it cannot be used.
    """
    if library.path == BUNDLED:
        raise UsageError("the bundled library is read as it is asked; name a library's folder")
    reader = reader or load_reader()
    identity = identify_reader(reader.name, reader.version, Reading)
    tally = LibraryTally()
    table = library.folder / PARQUET_FILE
    with StudyStore(library.folder / STORE_FILE) as store:
        if table.is_file() and has_parquet() and not store.counts():
            tell(f"taking in {take_in(table, store):,} readings of {table}")
        _read_all(library, store, reader, identity, tally, tell)
        if has_parquet():
            tally.table = write_table_of(store, table)
    return tally


def _read_all(
    library: Library,
    store: StudyStore,
    reader: DocumentReader,
    identity: ReaderIdentity,
    tally: LibraryTally,
    tell: Callable[[str], None],
) -> None:
    began = committed = told = time.monotonic()
    waiting = _Waiting()
    for record in library.publications(random.Random(os.getpid()).shuffle):
        shown = readable(record)
        document = Document.of(shown)
        text = hash_text(document)
        tally.seen += 1
        if store.is_done(text, identity):
            continue
        drugs = find_named_drugs(shown)
        for subject in _subjects_of(document, text, drugs):
            if store.find(subject, identity) is None:
                reading = reader.read_document(document, subject.drug, subject.condition)
                waiting.rows.append(StoredRow(subject, dump_content(reading)))
                tally.readings += 1
        waiting.texts.append(text)
        tally.read += 1
        now = time.monotonic()
        if now - committed > _COMMIT_S:
            store.keep(waiting.rows, identity, waiting.texts)
            waiting = _Waiting()
            committed = now
        if now - told > _TELL_S:
            told = now
            tell(_describe(tally, library.contents.publications, now - began))
    store.keep(waiting.rows, identity, waiting.texts)


def _subjects_of(document: Document, text: str, drugs: list[str]) -> Iterator[ReadSubject]:
    """Yield what a record is read for: each drug in each condition that it names."""
    conditions = dict.fromkeys(name for name, _, _ in document.conditions if not is_generic(name))
    for condition in conditions:
        for drug in drugs:
            yield ReadSubject(text, drug, condition)


def _describe(tally: LibraryTally, records: int, seconds: float) -> str:
    left_s = (records - tally.seen) * seconds / max(1, tally.seen)
    left = f"{left_s / 3600:.1f} h" if left_s > 5400 else f"{left_s / 60:.0f} min"
    rate = f"{tally.readings / seconds:,.0f} readings/s"
    return f"{tally.seen:,} of {records:,} records, {tally.readings:,} readings, {rate}, about {left} left"


def write_table_of(store: StudyStore, path: Path) -> Path:
    """Write all rows of a store as Parquet, in place of an earlier table; UsageError if that cannot be done."""
    import pyarrow  # noqa: PLC0415  an extra
    from pyarrow.parquet import ParquetWriter  # noqa: PLC0415

    schema = pyarrow.schema([(name, pyarrow.string()) for name in _TEXTS])
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        try:
            with ParquetWriter(beside, schema, compression="zstd") as writer:
                for batch in _in_batches(store.rows()):
                    writer.write_table(pyarrow.Table.from_pylist(batch, schema))
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written ({error.strerror or error}); the store beside it is whole"
        ) from None
    return path


def _in_batches(rows: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    batch = list[dict[str, Any]]()
    for row in rows:
        batch.append(row)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def take_in(path: Path, store: StudyStore) -> int:
    """Take the rows of a table into a store, and return their number; UsageError if it is damaged or foreign."""
    try:
        from pyarrow import ArrowException  # noqa: PLC0415  an extra
        from pyarrow.parquet import ParquetFile  # noqa: PLC0415
    except ModuleNotFoundError:
        raise MissingExtra(f"{path}, which is Parquet,", "scale") from None
    count = 0
    try:
        with ParquetFile(path) as table:
            for batch in table.iter_batches(_BATCH, columns=list(_TEXTS)):
                by_reader = defaultdict[ReaderIdentity, list[StoredRow]](list)
                for row in batch.to_pylist():
                    identity = ReaderIdentity(row["reader"], row["version"], row["release"], row["form"])
                    subject = ReadSubject(row["text"], row["drug"], row["condition"])
                    by_reader[identity].append(StoredRow(subject, json.loads(row["content"])))
                    count += 1
                for identity, rows in by_reader.items():
                    store.keep(rows, identity)
    except (OSError, ArrowException, ValueError, TypeError, LookupError):
        raise UsageError(
            f"{path}: is damaged or no table of studies; remove it, and the library is read anew"
        ) from None
    return count
