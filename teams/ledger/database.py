"""The ledger's file: one SQLite connection, the schema, contents as compressed JSON, and errors in one line."""

import hashlib
import json
import re
import sqlite3
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import to_json

from willowbark.tools.errors import UsageError

DEFAULT_PATH = Path(".willowbark") / "ledger.db"
"""Relative to the current folder, which is the workspace."""
M = TypeVar("M", bound=BaseModel)
SCHEMA_VERSION = 9
"""The file's `user_version`. Ledgers of other versions are refused; nothing is converted."""
BUSY_TIMEOUT_S = 60.0  # writes take milliseconds, but SQLite has no queue: one of 40 processes may wait for 10 s
MAX_CONTENT_BYTES = 1 << 28  # of one content, uncompressed; far above any source's reply
DAMAGED = "is damaged (it holds what nobody wrote); it was left as it is: move it away, and a new one is made"

_SCHEMA = """
    CREATE TABLE run (
        id TEXT PRIMARY KEY, question TEXT NOT NULL, status TEXT NOT NULL, stop_reason TEXT,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL, version TEXT NOT NULL, model TEXT NOT NULL,
        analyst TEXT NOT NULL, model_info BLOB NOT NULL, sandboxed INTEGER NOT NULL,
        settings BLOB NOT NULL, spent_s REAL NOT NULL DEFAULT 0, report BLOB
    );
    CREATE TABLE body (hash TEXT PRIMARY KEY, data BLOB NOT NULL);
    CREATE TABLE exchange (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE, request TEXT NOT NULL,
        source TEXT NOT NULL, method TEXT NOT NULL, url TEXT NOT NULL, sent TEXT NOT NULL, attempt INTEGER NOT NULL,
        status INTEGER, content_type TEXT NOT NULL, elapsed_s REAL NOT NULL, error TEXT, body TEXT NOT NULL,
        at TEXT NOT NULL
    );
    CREATE INDEX exchange_request ON exchange (request, run);
    CREATE INDEX exchange_run ON exchange (run);
    CREATE TABLE failure (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE, request TEXT NOT NULL,
        kind TEXT NOT NULL, source TEXT NOT NULL, reason TEXT NOT NULL, at TEXT NOT NULL
    );
    CREATE INDEX failure_request ON failure (run, request);
    CREATE TABLE model_call (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE, request TEXT NOT NULL,
        model TEXT NOT NULL, answer BLOB NOT NULL, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL,
        cost_usd REAL, at TEXT NOT NULL
    );
    CREATE INDEX model_call_request ON model_call (run, request);
    CREATE TABLE batch (
        run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE, request TEXT NOT NULL, batch TEXT NOT NULL,
        at TEXT NOT NULL, PRIMARY KEY (run, request)
    );
    CREATE TABLE reading (
        run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE, subject TEXT NOT NULL, content BLOB NOT NULL,
        PRIMARY KEY (run, subject)
    );
    CREATE TABLE turn (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE, iteration INTEGER NOT NULL,
        source TEXT NOT NULL, type TEXT NOT NULL, message BLOB NOT NULL, prompt_tokens INTEGER NOT NULL,
        completion_tokens INTEGER NOT NULL, at TEXT NOT NULL
    );
    CREATE INDEX turn_run ON turn (run)
"""


class LedgerError(UsageError):
    """An unusable ledger file, damaged content or an invalid request; the message says what to do."""


class Database:
    """A ledger's only connection, shared by threads through a lock and by processes through SQLite's write-ahead log.

    A commit survives the process's death at any moment, and a power cut.

    Args:
        path: the file, created with its folder if missing; None keeps everything in memory.
        busy_timeout_s: seconds to wait while other programs write to it.

    Raises:
        LedgerError: the file cannot be opened or written, is damaged, or is not a ledger of this version.
    """

    def __init__(self, path: Path | None = DEFAULT_PATH, busy_timeout_s: float = BUSY_TIMEOUT_S) -> None:
        self.path = path
        self._lock = threading.RLock()
        with self.errors_in_words():
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
            self.connection = sqlite3.connect(
                path or ":memory:", timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare(time.monotonic() + busy_timeout_s)
            except BaseException:
                self.connection.close()
                raise

    def _prepare(self, end: float) -> None:
        """Create the tables of a new file, waiting until `end` for other processes that do the same."""
        while self._is_new():
            try:
                self.connection.execute("PRAGMA journal_mode=WAL")
            except sqlite3.OperationalError as error:  # SQLite does not wait here
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                    raise
                time.sleep(0.01)
                continue
            with self.transaction():
                for statement in _SCHEMA.split(";") if self._is_new() else ():
                    self.connection.execute(statement)
                self.connection.execute(f"PRAGMA user_version={SCHEMA_VERSION}")
        self.connection.execute("PRAGMA synchronous=FULL")
        self.connection.execute("PRAGMA foreign_keys=ON")

    def _is_new(self) -> bool:
        """Check whether the file is still empty; LedgerError if it is no ledger of this version."""
        version, tables = self.connection.execute(  # one statement, since another process may be creating the tables
            "SELECT user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version"
        ).fetchone()
        if version == SCHEMA_VERSION:
            return False
        if version == 0 and tables == 0:
            return True
        what = f"of another version of Willowbark (schema {version}, this one reads {SCHEMA_VERSION})"
        what = "no ledger of Willowbark's" if version <= 0 else what
        raise LedgerError(f"the ledger {self.path} is {what}; move it away, and a new one is made")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()

    def query(self, statement: str, *values: Any) -> list[Any]:
        """Return all rows of a statement; LedgerError in place of any error of SQLite's."""
        with self._lock, self.errors_in_words():
            return self.connection.execute(statement, values).fetchall()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Commit a block as a whole, or roll it back; LedgerError if it cannot be written."""
        with self._lock, self.errors_in_words():
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    @contextmanager
    def errors_in_words(self) -> Iterator[None]:
        """Turn errors of SQLite, the file system and damaged rows into a `LedgerError` that says what to do."""
        try:
            yield
        except (sqlite3.Error, OSError, OverflowError, ValueError, TypeError, LookupError) as error:
            text = str(getattr(error, "strerror", None) or error)
            is_content = isinstance(error, ValueError | TypeError | LookupError)
            reason = DAMAGED if is_content and not isinstance(error, UnicodeEncodeError) else f"cannot be used ({text})"
            for words, advice in _ADVICE.items():
                if re.search(words, text.lower()):
                    reason = advice.format(text)
            where = f"the ledger {self.path}" if self.path else "the ledger in memory"
            raise LedgerError(f"{where} {reason}") from error


_ADVICE = {
    "locked|busy": "is in use by another program, for longer than is waited; try again when that has ended",
    "full|no space": "cannot grow: the disk is full; what was written stays, go on with `resume` once there is room",
    "read-?only|permission|unable to open": "cannot be written ({}); make its folder writable, or work in another one",
    "malformed|not a database|corrupt": "is damaged ({}); it was left as it is: move it away, and a new one is made",
}
Statement = tuple[str, tuple[Any, ...]]
"""SQL with its values."""


def pack(content: Any) -> bytes:
    """Compress JSON content, or a model's. Unpacking never executes anything."""
    try:
        data = to_json(content)  # four times as fast as `json`
    except ValueError:  # half a surrogate pair, which a source may send
        data = json.dumps(content.model_dump(mode="json") if isinstance(content, BaseModel) else content).encode()
    return zlib.compress(data, 1)


def unpack(packed: Any) -> Any:
    """Return the JSON content that `pack` packed; LedgerError if it is not what was written."""
    try:
        return json.loads(unpack_bytes(packed))
    except (ValueError, RecursionError):
        raise LedgerError(f"the ledger {DAMAGED}") from None


def unpack_bytes(packed: Any, expected: str | None = None) -> bytes:
    """Decompress a content; LedgerError if it is damaged, too large, or its SHA-256 is not the `expected` one."""
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(packed, MAX_CONTENT_BYTES)
        if unpacker.eof and expected in (None, compute_digest(data)):
            return data
    except (zlib.error, TypeError):
        pass
    raise LedgerError(f"the ledger {DAMAGED}")


def restore(model: type[M], content: Any, what: str) -> M:
    """Validate JSON content as a model; LedgerError if it is not of this version."""
    try:
        return model.model_validate(content)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise LedgerError(f"its {what} is not of this version of Willowbark ({place})") from None


def compute_digest(data: bytes) -> str:
    """Return the SHA-256 as hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
