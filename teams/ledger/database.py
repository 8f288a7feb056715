"""The ledger's file: opened, checked, brought to the newest schema, its errors put into words."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from willowbark.tools.errors import UsageError

from .schema import MIGRATIONS, sealed

BUSY_TIMEOUT_S = 60.0  # others hold the file for milliseconds, but nobody has a turn: one of 40 may wait for 10 s


class LedgerError(UsageError):
    """The ledger cannot be used: its file, its content or what was asked of it; the message names the way out."""


@contextmanager
def in_words(path: Path | None) -> Iterator[None]:
    """Turn SQLite's errors, and those of reading what a damaged file gives, into one line.

    Raises:
        LedgerError: instead of any error of SQLite or the file system, and of values that nobody wrote.
    """
    try:
        yield
    except (sqlite3.Error, OSError, OverflowError, ValueError, TypeError, LookupError) as error:
        raise worded(error, path) from error


def worded(error: Exception, path: Path | None) -> LedgerError:
    """An error of a ledger as one line, with the way out."""
    where = f"the ledger {path}" if path else "the ledger in memory"
    return LedgerError(f"{where} {_said(error)}")


def _said(error: Exception) -> str:
    if isinstance(error, ValueError | TypeError | LookupError) and not isinstance(error, UnicodeEncodeError):
        return "is damaged (it holds what nobody wrote); it was left as it is: move it away, and a new one is made"
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
            database.create_function("sealed", -1, sealed, deterministic=True)
            _to_wal(database, busy_timeout_s)
            database.execute("PRAGMA synchronous=FULL")
            database.execute("PRAGMA foreign_keys=ON")
            _migrate(database, path)
        except BaseException:
            database.close()
            raise
        return database


def reader(
    database: sqlite3.Connection, path: Path | None, busy_timeout_s: float = BUSY_TIMEOUT_S
) -> sqlite3.Connection:
    """A second connection to an open file, which reads while the first one waits for the disk; memory has but one."""
    if path is None:
        return database
    reading = sqlite3.connect(path, timeout=busy_timeout_s, isolation_level=None, check_same_thread=False)
    reading.create_function("sealed", -1, sealed, deterministic=True)
    reading.execute("PRAGMA query_only=ON")
    return reading


def _to_wal(database: sqlite3.Connection, patience_s: float) -> None:
    """Have the ledger written ahead; SQLite refuses that unwaited while another process does the same to a new file.

    A new file also gives the room back of what is packed; an older one keeps it for what comes.
    """
    end = time.monotonic() + patience_s
    while True:
        try:
            if database.execute("PRAGMA page_count").fetchone()[0] == 0:
                database.execute("PRAGMA auto_vacuum=FULL")
            database.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= end:
                raise
            time.sleep(0.01)


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
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise
