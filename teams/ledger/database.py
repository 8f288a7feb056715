"""The ledger's file: opened, checked, brought to the newest schema, its errors put into words.

Content is JSON or a raw body, compressed with zlib, and stands beside a hash of itself: nothing read back is ever
executed, and what was edited or torn is refused.
"""

import hashlib
import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from willowbark.tools.errors import UsageError

BUSY_TIMEOUT_S = 5.0  # other runs hold the file for a few milliseconds at a time
_LEVEL = 1  # of zlib: the higher ones cost more time than they save space
_MOST_BYTES = 1 << 28  # of one row, unpacked: no source's reply comes near it

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE run (
        id TEXT PRIMARY KEY, question TEXT NOT NULL, status TEXT NOT NULL, stop_reason TEXT,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL, version TEXT NOT NULL, model TEXT NOT NULL,
        analyst TEXT NOT NULL, model_info TEXT NOT NULL, sandboxed INTEGER NOT NULL,
        settings TEXT NOT NULL, spent_s REAL NOT NULL DEFAULT 0, report BLOB, hash TEXT
    );
    CREATE TABLE body (hash TEXT PRIMARY KEY, data BLOB NOT NULL);
    CREATE TABLE exchange (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE, request TEXT NOT NULL,
        source TEXT NOT NULL, method TEXT NOT NULL, url TEXT NOT NULL, attempt INTEGER NOT NULL, status INTEGER,
        content_type TEXT NOT NULL, elapsed_s REAL NOT NULL, error TEXT, body TEXT NOT NULL, at TEXT NOT NULL
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
        model TEXT NOT NULL, answer BLOB NOT NULL, hash TEXT NOT NULL, prompt_tokens INTEGER NOT NULL,
        completion_tokens INTEGER NOT NULL, cost_usd REAL, at TEXT NOT NULL
    );
    CREATE INDEX model_call_request ON model_call (run, request);
    CREATE TABLE turn (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE, iteration INTEGER NOT NULL,
        source TEXT NOT NULL, type TEXT NOT NULL, message BLOB NOT NULL, state BLOB, hash TEXT NOT NULL,
        state_hash TEXT, prompt_tokens INTEGER NOT NULL, completion_tokens INTEGER NOT NULL, at TEXT NOT NULL
    );
    CREATE INDEX turn_run ON turn (run);
    CREATE TABLE event (
        id INTEGER PRIMARY KEY, run TEXT NOT NULL REFERENCES run(id) ON DELETE CASCADE, type TEXT NOT NULL,
        iteration INTEGER NOT NULL, message TEXT NOT NULL, at TEXT NOT NULL
    );
    CREATE INDEX event_run ON event (run);
    """,
)
"""What brings the schema from each version to the next; the version is the file's `user_version`."""


class LedgerError(UsageError):
    """The ledger cannot be used: its file, its content or what was asked of it; the message names the way out."""


@contextmanager
def in_words(path: Path | None) -> Iterator[None]:
    """Turn SQLite's errors into one line.

    Raises:
        LedgerError: instead of any error of SQLite or the file system.
    """
    where = f"the ledger {path}" if path else "the ledger in memory"
    try:
        yield
    except (sqlite3.Error, OSError, OverflowError) as error:
        raise LedgerError(f"{where} {_said(error)}") from error


def _said(error: Exception) -> str:
    text = str(getattr(error, "strerror", None) or error)
    low = text.lower()
    if "locked" in low or "busy" in low:
        return "is in use by another program, for longer than is waited; try again when that has ended"
    if "full" in low or "no space" in low:
        return "cannot grow: the disk is full; what was written stays, go on with `resume` once there is room"
    if "readonly" in low or "read-only" in low or "permission" in low or "unable to open" in low:
        return f"cannot be written ({text}); make its folder writable, or work in another one"
    if "malformed" in low or "not a database" in low or "corrupt" in low:
        return f"is damaged ({text}); it was left as it is: move it away, and a new one is made"
    return f"cannot be used ({text})"


def connect(path: Path | None, busy_timeout_s: float = BUSY_TIMEOUT_S) -> sqlite3.Connection:
    """Open the file, making it and its folder where they are missing, and bring it to the newest schema.

    Args:
        path: None keeps everything in memory.
        busy_timeout_s: how long to wait for other programs that write to it.

    Raises:
        LedgerError: it cannot be opened or written, is damaged, or a newer Willowbark wrote it.
    """
    with in_words(path):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        database = sqlite3.connect(
            path or ":memory:", timeout=busy_timeout_s, isolation_level=None, check_same_thread=False
        )
        try:
            database.execute("PRAGMA journal_mode=WAL")
            database.execute("PRAGMA synchronous=FULL")
            database.execute("PRAGMA foreign_keys=ON")
            _migrate(database, path)
        except BaseException:
            database.close()
            raise
        return database


def _migrate(database: sqlite3.Connection, path: Path | None) -> None:
    if _version(database) == len(MIGRATIONS):
        return
    with transaction(database):
        version = _version(database)  # again: another process may have been first
        if version > len(MIGRATIONS):
            raise LedgerError(f"the ledger {path} was written by a newer Willowbark; upgrade, or move it away")
        for number in range(version, len(MIGRATIONS)):
            for statement in filter(str.strip, MIGRATIONS[number].split(";")):
                database.execute(statement)
            database.execute(f"PRAGMA user_version={number + 1}")


def _version(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[None]:
    """All of a block is written, or none of it."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")


def digest(data: bytes) -> str:
    """SHA-256, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def pack(content: Any) -> tuple[bytes, str]:
    """JSON content, compressed, and its hash."""
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return zlib.compress(data, _LEVEL), digest(data)


def pack_bytes(data: bytes) -> tuple[bytes, str]:
    """A raw body, compressed, and its hash."""
    return zlib.compress(data, _LEVEL), digest(data)


def unpack_bytes(packed: bytes, expected: str) -> bytes:
    """What `pack_bytes` packed.

    Raises:
        LedgerError: the content is not what was written.
    """
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(packed, _MOST_BYTES)
        whole = unpacker.eof and digest(data) == expected
    except (zlib.error, TypeError):
        whole = False
    if not whole:
        raise LedgerError("the ledger holds a row that is not what was written; forget the run, and ask again")
    return data


def unpack(packed: bytes, expected: str) -> Any:
    """What `pack` packed.

    Raises:
        LedgerError: the content is not what was written.
    """
    return json.loads(unpack_bytes(packed, expected).decode("utf-8", "surrogatepass"))
