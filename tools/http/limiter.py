"""Rate limits that hold as the server sees them, across tasks and processes: by the second, and by the day.

The generic cell rate algorithm on one SQLite row a source: each request takes the next free moment and sleeps until
then. No bursts, so no window of a second ever holds more than the limit.
"""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import platformdirs

T = TypeVar("T")
_BUSY_TIMEOUT_S = 5.0  # other processes hold the row for well under a millisecond
_LATE_S = 0.2  # later starts would crowd the next ones: 1.2 s of starts at 80 % of a limit still stay within it
_FAR_AHEAD_S = 600.0
_LATE_STARTS = 5  # in a row, of one request; a loop that is blocked that often is past being polite


def default_path() -> Path:
    """Where the processes of one user share their limits."""
    return Path(platformdirs.user_cache_dir("willowbark")) / "limits.sqlite"


class RateLimiter:
    """Hands out moments at which a request may start.

    Args:
        path: the SQLite file that processes share; None keeps the limits within this object. A path that cannot be
            written falls back to the same, and `shared` is False then.
        sleep: seconds to wait, awaited.
    """

    def __init__(self, path: Path | None = None, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._path = path
        self._sleep = sleep
        self._moments: dict[str, float] = {}
        self._spent: dict[tuple[str, str], int] = {}
        self._database: sqlite3.Connection | None = None
        self._in_use = threading.Lock()  # threads, since a cancelled task leaves its own at work
        self.shared = path is not None

    async def wait(self, name: str, per_second: float) -> float:
        """Sleep until the next request to `name` may start.

        Args:
            name: what is limited, such as a source's host.
            per_second: requests a second that may start.

        Returns:
            Seconds waited.
        """
        waited = 0.0
        for _ in range(_LATE_STARTS):
            moment = await self._next(name, 1.0 / per_second)
            if (delay := moment - time.time()) > 0:
                await self._sleep(delay)
                waited += delay
            if time.time() - moment < _LATE_S:
                break
        return waited

    async def spend(self, name: str, per_day: int) -> bool:
        """Count one request of a day's allowance (UTC); False where it is spent already.

        Args:
            name: what is limited, such as a source's host.
            per_day: requests a day that may start.
        """
        day = f"{datetime.now(UTC):%Y-%m-%d}"
        spent = await asyncio.to_thread(self._shared, self._count, name, day, per_day) if self.shared else None
        if spent is None:
            spent = self._spent.get((name, day), 0)
            self._spent[name, day] = spent + 1
        return spent < per_day

    def close(self) -> None:
        """Close the shared file."""
        with self._in_use:
            if self._database is not None:
                self._database.close()
                self._database = None

    async def _next(self, name: str, interval_s: float) -> float:
        """Take the next free moment, in seconds since the epoch, from the shared file or else from this object."""
        moment = await asyncio.to_thread(self._shared, self._take, name, interval_s) if self.shared else None
        if moment is None:
            moment = max(time.time(), self._moments.get(name, 0.0))
        self._moments[name] = max(moment + interval_s, self._moments.get(name, 0.0))
        return moment

    def _shared(self, ask: Callable[..., T], *asked: object) -> T | None:
        """Ask the shared file; None when it cannot be used."""
        with self._in_use:
            try:
                return ask(*asked) if self.shared else None
            except (sqlite3.Error, OSError):
                self.shared = False
                return None

    def _take(self, name: str, interval_s: float) -> float:
        with self._open() as database:
            database.execute("BEGIN IMMEDIATE")
            now = time.time()
            row = database.execute("SELECT next FROM moment WHERE name = ?", (name,)).fetchone()
            # A moment far ahead was written under another clock: start anew rather than sleep for hours.
            moment = now if row is None or row[0] - now > _FAR_AHEAD_S else max(now, row[0])
            database.execute("INSERT OR REPLACE INTO moment VALUES (?, ?)", (name, moment + interval_s))
            return moment

    def _count(self, name: str, day: str, per_day: int) -> int:
        """The requests counted so far on a day, this one left out; what is spent is counted no further."""
        with self._open() as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute("DELETE FROM day WHERE day < ?", (day,))
            row = database.execute("SELECT spent FROM day WHERE name = ? AND day = ?", (name, day)).fetchone()
            spent = int(row[0]) if row else 0
            database.execute("INSERT OR REPLACE INTO day VALUES (?, ?, ?)", (name, day, min(spent + 1, per_day)))
            return spent

    def _open(self) -> sqlite3.Connection:
        if self._database is None:
            assert self._path is not None
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(
                self._path, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
            )
            self._database.execute("PRAGMA synchronous=OFF")  # a lost row costs one interval, nothing else
            # Taken at once, so that processes that start together wait for one another: to turn a lock for reading into
            # one for writing, as this statement alone or a change of the journal's mode would, is refused unwaited.
            with self._database as fresh:
                fresh.execute("BEGIN IMMEDIATE")
                fresh.execute("CREATE TABLE IF NOT EXISTS moment (name TEXT PRIMARY KEY, next REAL NOT NULL)")
                fresh.execute(
                    "CREATE TABLE IF NOT EXISTS day (name TEXT, day TEXT, spent INTEGER, PRIMARY KEY (name, day))"
                )
        return self._database
