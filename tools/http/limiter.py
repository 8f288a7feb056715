"""When to ask a source: rate limits, by the second and by the day, and how long to go on trying.

Limits hold as the server sees them, across tasks and processes, by the generic cell rate algorithm on one SQLite row a
source: each request takes the next free moment and sleeps until then. No bursts, so no window of a second ever holds
more than the limit.
"""

import asyncio
import email.utils
import math
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import platformdirs
import tenacity

from ..errors import RateLimitError, SourceUnavailable

_ABSURD_RETRY_AFTER_S = 3600.0  # servers that ask for more than an hour are taken to be confused
_LONGEST_ATTEMPT_S = 15.0
_MORE_PATIENCE = 1.5  # a source that was too slow once may be slow, and not dead


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to go on trying; all times in seconds."""

    attempts: int = 12
    """Where every second request fails, one in 4,000 fails twelve times; with eight it is one in 250."""
    first_wait_s: float = 0.5
    longest_wait_s: float = 6.0
    first_timeout_s: float = 12.0
    """For a call's first exchange, body included; each one that took too long gives the next half as much again."""
    attempt_timeout_s: float = _LONGEST_ATTEMPT_S
    """For any exchange."""
    deadline_s: float = 60.0
    """For a call with all its attempts and waits, from sending on: the queue before a source counts for nothing."""
    breaker_failures: int = 14
    """Failed attempts in a row after which a source is left alone; chance alone rarely comes so far."""
    breaker_pause_s: float = 60.0

    @classmethod
    def within(cls, seconds: float) -> "RetryPolicy":
        """For calls that have so many seconds: twelve attempts fit in, or three to a source that is silent."""
        longest = min(_LONGEST_ATTEMPT_S, seconds / 2)
        return cls(
            longest_wait_s=min(8.0, seconds / 10),
            first_timeout_s=min(longest, max(seconds / 5, min(5.0, seconds / 3))),
            attempt_timeout_s=longest,
            deadline_s=seconds,
        )

    def timeout_s(self, silences: int) -> float:
        """Seconds for an exchange of a call of which so many exchanges took too long already."""
        return min(self.attempt_timeout_s, self.first_timeout_s * _MORE_PATIENCE**silences)

    def scaled(self, factor: float) -> "RetryPolicy":
        """The same policy with every time multiplied: fault tests run compressed, and skip no wait."""
        times = (field.name for field in fields(self) if field.name.endswith("_s"))
        return replace(self, **{name: getattr(self, name) * factor for name in times})


class Silence(SourceUnavailable):
    """No whole answer came in the time of an attempt."""


class BreakerOpen(SourceUnavailable):
    """The source failed so often that it is left alone for a while."""


class AllowanceSpent(SourceUnavailable):
    """The day's requests are used up: nothing is gained by asking again today."""


class Breaker:
    """Knows how a source has been answering; while open, calls fail at once."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._failures = 0
        self._left_alone_until: float | None = None
        self._heard_at = -math.inf

    def check(self, source: str) -> None:
        """Let an attempt pass; after a pause one goes ahead, and the others wait for what comes of it.

        Raises:
            BreakerOpen: the source is being left alone.
        """
        if self._left_alone_until is None:
            return
        if time.monotonic() < self._left_alone_until:
            raise BreakerOpen(source, f"left alone after {self._failures} failed attempts in a row")
        self.leave_alone()

    def heard(self) -> None:
        """Note that the source replied, whatever it said."""
        self._heard_at = time.monotonic()

    def failed(self) -> None:
        """Count a failed attempt."""
        self._failures += 1
        if self._failures >= self._policy.breaker_failures:
            self.leave_alone()

    def worked(self) -> None:
        """Forget the failures: the source answered."""
        self._failures = 0
        self._left_alone_until = None

    def gave_up(self, since: float, attempts: int) -> None:
        """Leave a source alone that replied to nobody while a call tried: the next one would wait as long for nothing.

        Args:
            since: when the call began, monotonic seconds.
            attempts: that it made; a single one proves nothing.
        """
        if attempts > 1 and self._heard_at < since:
            self.leave_alone()

    def leave_alone(self, seconds: float | None = None) -> None:
        """Let no attempt pass for so many seconds; None takes the policy's pause."""
        pause_s = self._policy.breaker_pause_s if seconds is None else seconds
        self._left_alone_until = time.monotonic() + pause_s


class Wait(tenacity.wait.wait_base):
    """Full jitter, or as long as the source asked."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._jitter = tenacity.wait_random_exponential(multiplier=policy.first_wait_s, max=policy.longest_wait_s)

    def __call__(self, retry_state: tenacity.RetryCallState) -> float:
        error = retry_state.outcome.exception() if retry_state.outcome else None
        asked = error.retry_after_s if isinstance(error, RateLimitError) else None
        return self._jitter(retry_state) if asked is None else asked


class Due:
    """When a call must have its answer: so many seconds after it began, and later by what it queued.

    Attributes:
        since: when the call began, monotonic seconds, put off likewise.
    """

    def __init__(self, seconds: float) -> None:
        self.since = time.monotonic()
        self._seconds = seconds

    @property
    def left_s(self) -> float:
        """Seconds left; negative when it is late."""
        return self.since + self._seconds - time.monotonic()

    def put_off(self, seconds: float) -> float:
        """Take seconds of queueing out of the account; gives the seconds left."""
        self.since += seconds
        return self.left_s


class Hopeless(tenacity.stop.stop_base):
    """Stops where the next attempt would start past the deadline: the caller is better told at once."""

    def __init__(self, due: Due) -> None:
        self._due = due

    def __call__(self, retry_state: tenacity.RetryCallState) -> bool:
        return retry_state.upcoming_sleep >= self._due.left_s


def retry_after_s(value: str | None, now: float | None = None) -> float | None:
    """Seconds that a Retry-After header asks for, given as seconds or as a date (RFC 9110, section 10.2.3).

    None for a missing, unreadable, negative or absurd value (more than an hour).

    >>> retry_after_s("7"), retry_after_s("-1"), retry_after_s("1e9"), retry_after_s("soon")
    (7.0, None, None, None)
    """
    if value is None:
        return None
    text = value.strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            moment = email.utils.parsedate_to_datetime(text).timestamp()
        except (ValueError, TypeError, OverflowError, IndexError):
            return None
        seconds = max(0.0, moment - (time.time() if now is None else now))
    return seconds if 0 <= seconds <= _ABSURD_RETRY_AFTER_S else None


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
