"""A store of studies: what readers read in texts, each text once by each version of a reader, in one SQLite file.

A row is what a reader read in one text: a whole `Study`, or, by a reader that reads for one drug and one condition, a
`Reading`. Rows of other versions of a reader stay and are not taken. The file can be copied: it names readers,
versions and days, and no record, question or run. Rows whose quotes the text does not hold are refused as damage.
"""

import hashlib
import json
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ValidationError

from ..errors import UsageError
from ..records.study import Study
from .document import Document
from .reading import Reading

STORE_FILE = "studies.db"
"""Beside the ledger of a workspace, or among the files of a library."""
APPLICATION_ID = 0x57424B53  # https://www.sqlite.org/pragma.html#pragma_application_id
STORE_FORMAT = 1
"""The file's `user_version`. Others are refused; nothing is converted."""
BUSY_TIMEOUT_S = 60.0  # a commit takes milliseconds, but SQLite has no queue
_MOST_BYTES = 1 << 24  # of one row, uncompressed; a study of a long record has some 20,000
_WAITING_ROWS = 25  # about half a second of reading, which a kill loses
_SCHEMA = """
    CREATE TABLE reader (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, version TEXT NOT NULL, release TEXT NOT NULL, form TEXT NOT NULL,
        UNIQUE (name, version, release, form)
    );
    CREATE TABLE study (
        text BLOB NOT NULL, reader INTEGER NOT NULL REFERENCES reader (id), drug TEXT NOT NULL,
        condition TEXT NOT NULL, day TEXT NOT NULL, content BLOB NOT NULL,
        PRIMARY KEY (text, reader, drug, condition)
    ) WITHOUT ROWID;
    CREATE TABLE done (
        text BLOB NOT NULL, reader INTEGER NOT NULL REFERENCES reader (id), PRIMARY KEY (text, reader)
    ) WITHOUT ROWID
"""


class StoreError(UsageError):
    """An unusable store of studies; the message says what to do, and reading goes on without it."""


class ReaderIdentity(NamedTuple):
    """Who reads, so that what others read is not taken for it."""

    name: str
    version: str
    """Of weights, prompts or a person's word."""
    release: str = ""
    """Of Willowbark, whose code reads with the weights."""
    form: str = ""
    """Digest of the fields of what is read."""


class ReadSubject(NamedTuple):
    """What is read: a text, and for whom."""

    text: str
    """SHA-256 of title, text and publication types, in 32 hexadecimal digits."""
    drug: str = ""
    """Generic name; empty for the whole record."""
    condition: str = ""
    """Empty for the whole record."""

    @property
    def digest(self) -> str:
        """One name for all three."""
        return _hash(self)


class StoredRow(NamedTuple):
    """A row to keep."""

    subject: ReadSubject
    content: dict[str, Any]
    """JSON content of a `Study` or `Reading`, without its key and defaults."""


class ReaderCount(NamedTuple):
    """How much a store holds by one version of a reader."""

    reader: ReaderIdentity
    texts: int
    rows: int
    first: date
    last: date

    @property
    def line(self) -> str:
        """The count in words.

        >>> day = date(2026, 11, 29)
        >>> ReaderCount(ReaderIdentity("learned", "d56c", "1.2.0"), 1200, 3400, day, day).line
        '1,200 studies (3,400 readings) by learned d56c of Willowbark 1.2.0, 2026-11-29'
        """
        name = f"{self.reader.name} {self.reader.version} of Willowbark {self.reader.release}"
        days = f"{self.first}" if self.first == self.last else f"{self.first} to {self.last}"
        return f"{self.texts:,} studies ({self.rows:,} readings) by {name}, {days}"


class StudyStore:
    """One file of studies, shared by threads through a lock and by processes through SQLite's own.

    Args:
        path: the file.
        is_writable: whether it is created if missing and written to; otherwise it has to exist.

    Raises:
        StoreError: it cannot be opened, is damaged, of a newer version, or no store of studies.
    """

    def __init__(self, path: Path, *, is_writable: bool = True, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._readers = dict[ReaderIdentity, int]()
        with self._put_errors_into_words():
            if is_writable:
                path.parent.mkdir(parents=True, exist_ok=True)
            mode = "rwc" if is_writable else "ro"
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}",
                timeout=busy_timeout_s,
                isolation_level=None,
                check_same_thread=False,
                uri=True,
            )
            try:
                self._prepare(is_writable)
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self, is_writable: bool) -> None:
        if self._is_new() and is_writable:
            with self._begin_transaction():
                for statement in _SCHEMA.split(";") if self._is_new() else ():  # another process may have been first
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
                self._connection.execute(f"PRAGMA user_version={STORE_FORMAT}")
        if is_writable:
            self._connection.execute("PRAGMA synchronous=NORMAL")

    def _is_new(self) -> bool:
        """Check whether the file is still empty; StoreError if it is no store of this version."""
        application, version, tables = self._connection.execute(
            "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
            " FROM pragma_application_id, pragma_user_version"
        ).fetchone()
        if (application, version) == (APPLICATION_ID, STORE_FORMAT):
            return False
        if (application, version, tables) == (0, 0, 0):
            return True
        if application != APPLICATION_ID:
            raise StoreError(f"{self.path} is no store of studies; move it away, and a new one is made")
        age = "a newer" if version > STORE_FORMAT else "another"
        form = f"(form {version}, this one reads {STORE_FORMAT})"
        way_out = "update Willowbark, or move it away" if version > STORE_FORMAT else "move it away"
        raise StoreError(
            f"the store of studies {self.path} is of {age} version {form}; {way_out}, and a new one is made"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def find(self, subject: ReadSubject, reader: ReaderIdentity) -> dict[str, Any] | None:
        """Return the content of a row; None if there is none. Raises StoreError."""
        number = self._find_number(reader)
        rows = self._query(
            "SELECT content FROM study WHERE text = ? AND reader = ? AND drug = ? AND condition = ?",
            *(bytes.fromhex(subject.text), number, subject.drug, subject.condition),
        )
        return self._unpack(rows[0][0]) if rows else None

    def keep(self, rows: Sequence[StoredRow], reader: ReaderIdentity, done: Iterable[str] = ()) -> None:
        """Commit rows, and the texts of which all was read; what is there already stays. Raises StoreError."""
        day = datetime.now(UTC).date().isoformat()
        packed = []
        for row in rows:
            subject = row.subject
            packed.append((bytes.fromhex(subject.text), *subject[1:], day, _pack(row.content)))
        with self._put_errors_into_words(), self._begin_transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO reader VALUES (NULL, ?, ?, ?, ?)", reader)
            number = self._find_number(reader)
            for text, drug, condition, *rest in packed:
                values = (text, number, drug, condition, *rest)
                connection.execute("INSERT OR IGNORE INTO study VALUES (?, ?, ?, ?, ?, ?)", values)
            texts = [(bytes.fromhex(text), number) for text in done]
            connection.executemany("INSERT OR IGNORE INTO done VALUES (?, ?)", texts)

    def is_done(self, text: str, reader: ReaderIdentity) -> bool:
        """Whether all of a text was read by a reader. Raises StoreError."""
        number = self._find_number(reader)
        return bool(self._query("SELECT 1 FROM done WHERE text = ? AND reader = ?", bytes.fromhex(text), number))

    def count_done(self, reader: ReaderIdentity) -> int:
        """Count the texts of which all was read by a reader. Raises StoreError."""
        ((count,),) = self._query("SELECT count(*) FROM done WHERE reader = ?", self._find_number(reader))
        return int(count)

    def counts(self) -> list[ReaderCount]:
        """Count what it holds by each version of a reader, the latest first. Raises StoreError."""
        rows = self._query(
            "SELECT name, version, release, form, count(DISTINCT text), count(*), min(day), max(day)"
            " FROM study JOIN reader ON reader.id = study.reader"
            " GROUP BY reader.id ORDER BY max(day) DESC, reader.id DESC"
        )
        with self._put_errors_into_words():
            counts = []
            for *identity, texts, studies, first, last in rows:
                days = (date.fromisoformat(first), date.fromisoformat(last))
                counts.append(ReaderCount(ReaderIdentity(*identity), texts, studies, *days))
            return counts

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield all rows with their reader, for other forms of the store. Raises StoreError."""
        statement = (
            "SELECT lower(hex(text)), name, version, release, form, drug, condition, day, content"
            " FROM study JOIN reader ON reader.id = study.reader ORDER BY text, reader.id, drug, condition"
        )
        names = ("text", "reader", "version", "release", "form", "drug", "condition", "day")
        with self._lock, self._put_errors_into_words():
            for *cells, content in self._connection.execute(statement):
                yield {**dict(zip(names, cells, strict=True)), "content": json.dumps(self._unpack(content))}

    def _find_number(self, reader: ReaderIdentity) -> int:
        """Return a reader's number; 0 if the store has nothing by it yet."""
        if reader not in self._readers:
            where = "name = ? AND version = ? AND release = ? AND form = ?"
            rows = self._query(f"SELECT id FROM reader WHERE {where}", *reader)  # noqa: S608  our names
            if not rows:
                return 0
            self._readers[reader] = int(rows[0][0])
        return self._readers[reader]

    def _query(self, statement: str, *values: Any) -> list[Any]:
        with self._lock, self._put_errors_into_words():
            return self._connection.execute(statement, values).fetchall()

    def _unpack(self, packed: Any) -> dict[str, Any]:
        with self._put_errors_into_words():
            unpacker = zlib.decompressobj()
            content = json.loads(unpacker.decompress(packed, _MOST_BYTES))
            if not unpacker.eof or not isinstance(content, dict):
                raise ValueError("cut")
            return content

    @contextmanager
    def _begin_transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                self._readers.clear()
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _put_errors_into_words(self) -> Iterator[None]:
        """Turn errors of SQLite, the file system and damaged rows into a `StoreError` that says what to do."""
        try:
            yield
        except (sqlite3.Error, OSError, zlib.error, ValueError, TypeError, LookupError, RecursionError) as error:
            text = str(getattr(error, "strerror", None) or error).lower()
            is_content = not isinstance(error, sqlite3.Error | OSError)
            said = _DAMAGED if is_content else f"cannot be used ({text})"
            said = next((advice for words, advice in _ADVICE if any(word in text for word in words)), said)
            raise StoreError(f"the store of studies {self.path} {said}") from error


_DAMAGED = "is damaged; it was left as it is: move it away, and a new one is made"
_ADVICE = (
    (("locked", "busy"), "is in use by another program, for longer than is waited; try again when that has ended"),
    (("full", "no space"), "cannot grow, since the disk is full; make room, and what was not kept is read again"),
    (("malformed", "not a database", "corrupt", "no such table", "no such column"), _DAMAGED),
    (
        ("readonly", "read-only", "permission", "unable to open", "not a directory", "is a directory", "file exists"),
        "cannot be opened or written; make its folder writable, or work in another one",
    ),
)


class StudyShelf:
    """Stores to take readings from, in order, and the one that takes in what is read. Thread-safe.

    What a store refuses is told once, and that store is left alone from then on: reading goes on without it.

    Args:
        own: store that is taken from first and written to; None keeps nothing.
        others: stores that are only taken from; those that do not exist are left out.
        tell: receives a line for each store that cannot be used.

    Attributes:
        taken: readings taken from a store.
        kept: readings given to it.
    """

    def __init__(
        self, own: Path | None, others: Sequence[Path] = (), tell: Callable[[str], None] = lambda _: None
    ) -> None:
        self._tell = tell
        self._lock = threading.RLock()
        self._stores = list[StudyStore]()
        self._waiting = list[StoredRow]()
        self._identity: ReaderIdentity | None = None
        self._own: StudyStore | None = None
        self.taken = self.kept = 0
        if own is not None:
            self._own = self._open(own, is_writable=True)
        for path in others:
            if path.is_file() and path != own:
                self._open(path, is_writable=False)

    def __reduce__(self) -> tuple[type["StudyShelf"], tuple[None]]:
        """Its files are this process's: sent to another one, it is empty."""
        return StudyShelf, (None,)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self, path: Path, *, is_writable: bool) -> StudyStore | None:
        try:
            store = StudyStore(path, is_writable=is_writable)
        except StoreError as error:
            self._tell(f"{error}")
            return None
        self._stores.append(store)
        return store

    def find(self, subject: ReadSubject, reader: ReaderIdentity, document: Document) -> dict[str, Any] | None:
        """Return the content of a document's reading; None if no store holds it.

        A store whose row is no reading, or quotes what the document does not hold, is damaged.
        """
        with self._lock:
            for row in self._waiting:
                if row.subject == subject:
                    return row.content
            for store in list(self._stores):
                try:
                    content = store.find(subject, reader)
                    if content is None:
                        continue
                    if restore_reading(content, document, "") is None:
                        raise StoreError(f"the store of studies {store.path} {_DAMAGED}")
                except StoreError as error:
                    self._leave(store, error)
                    continue
                self.taken += 1
                return content
        return None

    def is_done(self, text: str, reader: ReaderIdentity) -> bool:
        """Whether all of a text was read into the own store."""
        with self._lock:
            try:
                return self._own is not None and self._own.is_done(text, reader)
            except StoreError as error:
                self._leave(self._own, error)
                return False

    def keep(self, subject: ReadSubject, content: dict[str, Any], reader: ReaderIdentity) -> None:
        """Keep a reading; it is written with others, at the latest when the shelf is closed."""
        with self._lock:
            if self._own is None:
                return
            self._identity = reader
            self._waiting.append(StoredRow(subject, content))
            self.kept += 1
            if len(self._waiting) >= _WAITING_ROWS:
                self.flush()

    def flush(self, done: Iterable[str] = ()) -> None:
        """Write what waits, and the texts of which all was read."""
        with self._lock:
            rows = self._waiting
            self._waiting = []
            texts = list(done)
            if self._own is None or self._identity is None or not (rows or texts):
                return
            try:
                self._own.keep(rows, self._identity, texts)
            except StoreError as error:
                self._leave(self._own, error)

    def close(self) -> None:
        """Write what waits, and close the files."""
        with self._lock:
            self.flush()
            for store in self._stores:
                store.close()
            self._stores = []
            self._own = None

    @property
    def can_keep(self) -> bool:
        """Whether what is read is kept."""
        return self._own is not None

    def _leave(self, store: StudyStore | None, error: StoreError) -> None:
        self._tell(f"{error}")
        if store is None:
            return
        if store is self._own:
            self._own = None
        if store in self._stores:
            self._stores.remove(store)
        store.close()


def hash_text(document: Document) -> str:
    """Hash everything of a record that determines its reading."""
    return _hash((document.title, document.text, document.types))


def identify_reader(name: str, version: str, form: type[BaseModel]) -> ReaderIdentity:
    """Return the identity of a reader of this release that gives this form."""
    return ReaderIdentity(name, version, _release(), _hash(sorted(form.model_fields))[:12])


@cache
def _release() -> str:
    try:
        return metadata.version("willowbark")
    except metadata.PackageNotFoundError:  # run from its source
        return "unreleased"


def dump_content(reading: Reading | Study) -> dict[str, Any]:
    """Return what is kept of a reading: all but its key, which is the record's, and fields at their defaults."""
    return reading.model_dump(mode="json", exclude={"key"}, exclude_defaults=True)


def restore_reading(content: dict[str, Any], document: Document, key: str) -> Reading | None:
    """Restore a reading of a document; None if the content is no reading, or quotes what the document does not hold."""
    try:
        reading = Reading.model_validate({**content, "key": key})
    except ValidationError:
        return None
    quotes = [*reading.passages, *([reading.in_figures] if reading.in_figures else [])]
    is_quoted = not [quote for quote in quotes if quote.text not in document.whole]
    return reading if is_quoted else None


def _hash(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode(errors="surrogatepass")).hexdigest()[:32]


def _pack(content: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(content, ensure_ascii=False).encode(errors="surrogatepass"), 6)
