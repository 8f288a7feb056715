"""Rate limits per second and per day, and the retry policy."""

import asyncio
import email.utils
import math
import sqlite3
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path

import platformdirs

_ABSURD_RETRY_AFTER_S = 3600.0  # a longer Retry-After is assumed to be a server error
_LONGEST_ATTEMPT_S = 15.0
_MORE_PATIENCE = 1.5  # a source that timed out once may be slow rather than down
_BUSY_TIMEOUT_S = 2.0  # other processes lock the file for well under a millisecond
_LATE_S = 0.2  # later starts would crowd the next ones: 1.2 s of starts at 80 % of a limit still stay within it
_FAR_AHEAD_S = 600.0
_LATE_STARTS = 5  # consecutive late starts of one request; then it starts anyway, as the event loop is too busy


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to keep retrying; all times in seconds."""

    attempts: int = 12
    """If every second request fails, one call in 4,000 fails twelve times; with eight attempts it is one in 250."""
    first_wait_s: float = 0.5
    longest_wait_s: float = 6.0
    first_timeout_s: float = 12.0
    """For a call's first attempt, body included; each timeout makes the next attempt's half as long again."""
    attempt_timeout_s: float = _LONGEST_ATTEMPT_S
    """Longest timeout of any attempt."""
    deadline_s: float = 60.0
    """For a call with all its attempts and waits, counted from the first send; time spent queueing does not count."""
    breaker_failures: int = 14
    """Consecutive failures after which a source is paused; chance alone rarely causes so many."""
    breaker_pause_s: float = 60.0

    @classmethod
    def within(cls, seconds: float) -> "RetryPolicy":
        """Build a policy for calls of at most `seconds`: time for twelve attempts, or three if the source is silent."""
        longest = min(_LONGEST_ATTEMPT_S, seconds / 2)
        return cls(
            longest_wait_s=min(8.0, seconds / 10),
            first_timeout_s=min(longest, max(seconds / 5, min(5.0, seconds / 3))),
            attempt_timeout_s=longest,
            deadline_s=seconds,
        )

    def timeout_s(self, silences: int) -> float:
        return min(self.attempt_timeout_s, self.first_timeout_s * _MORE_PATIENCE**silences)

    def scaled(self, factor: float) -> "RetryPolicy":
        """Return the policy with all times multiplied, so that fault tests can run fast without skipping waits."""
        times = (field.name for field in fields(self) if field.name.endswith("_s"))
        return replace(self, **{name: getattr(self, name) * factor for name in times})


class Breaker:
    """Circuit breaker: tracks a source's failures and whether it is paused."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self.failures = 0
        self.heard_at = -math.inf
        """When the source last replied, even with an error; monotonic seconds."""
        self._left_alone_until: float | None = None

    def lets_pass(self) -> bool:
        """Whether to send an attempt; after a pause one goes first and the others wait for its outcome."""
        if self._left_alone_until is None:
            return True
        if time.monotonic() < self._left_alone_until:
            return False
        self.leave_alone(self._policy.breaker_pause_s)
        return True

    def leave_alone(self, seconds: float) -> None:
        self._left_alone_until = time.monotonic() + seconds

    def failed(self) -> None:
        self.failures += 1
        if self.failures >= self._policy.breaker_failures:
            self.leave_alone(self._policy.breaker_pause_s)

    def worked(self) -> None:
        self.failures, self._left_alone_until = 0, None


def retry_after_s(value: str | None, now: float | None = None) -> float | None:
    """Parse a Retry-After header, given as seconds or as a date (RFC 9110, section 10.2.3), into seconds.

    None for a missing, unreadable, negative or excessive value (more than an hour).

    >>> retry_after_s("7"), retry_after_s("-1"), retry_after_s("1e9"), retry_after_s("soon")
    (7.0, None, None, None)
    """
    text = (value or "").strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            moment = email.utils.parsedate_to_datetime(text).timestamp()
        except (ValueError, TypeError, OverflowError, IndexError):
            return None
        seconds = max(0.0, moment - (time.time() if now is None else now))
    return seconds if 0 <= seconds <= _ABSURD_RETRY_AFTER_S else None


def default_path() -> Path:
    """Return the path of the rate-limit file that a user's processes share."""
    return Path(platformdirs.user_cache_dir("willowbark")) / "limits.sqlite"


class RateLimiter:
    """Spaces out requests evenly, so that no one-second window exceeds the limit.

    Args:
        path: SQLite file shared between processes; None, or one that cannot be written, keeps the limits in this object
            (`shared` is False).
        sleep: async function that waits a number of seconds.
    """

    def __init__(self, path: Path | None = None, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> None:
        self._path = path
        self._sleep = sleep
        self._database: sqlite3.Connection | None = None
        self.shared = path is not None

    async def wait(self, name: str, per_second: float) -> float:
        """Sleep until the next request to `name`, such as a host, may start; return the seconds waited."""
        waited = 0.0
        for _ in range(_LATE_STARTS):
            moment = self._take(name, 1.0 / per_second)
            if (delay := moment - time.time()) > 0:
                await self._sleep(delay)
                waited += delay
            if time.time() - moment < _LATE_S:
                break
        return waited

    def spend(self, name: str, per_day: int) -> bool:
        """Count one request to `name` against the daily limit (UTC); False if the limit is used up."""
        before = self._change(f"{name} on {datetime.now(UTC):%Y-%m-%d}", lambda spent: min((spent or 0) + 1, per_day))
        return (before or 0) < per_day

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None

    def _take(self, name: str, interval_s: float) -> float:
        """Reserve the next free start time, in seconds since the epoch."""
        now = time.time()

        def free(found: float | None) -> float:
            # A time far ahead was written with a different clock: start afresh rather than sleep for hours.
            return now if found is None or found - now > _FAR_AHEAD_S else max(now, found)

        return free(self._change(name, lambda found: free(found) + interval_s))

    def _change(self, name: str, change: Callable[[float | None], float]) -> float | None:
        """Replace a stored number atomically for all processes; returns the previous one, None if there was none."""
        try:
            if self._database is None:
                where: Path | str = ":memory:"
                if self.shared and self._path is not None:
                    self._path.parent.mkdir(parents=True, exist_ok=True)
                    where = self._path
                self._database = sqlite3.connect(
                    where, timeout=_BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False
                )
                self._database.execute("PRAGMA synchronous=OFF")  # losing a number costs one interval, nothing else
            with self._database as database:
                database.execute("BEGIN IMMEDIATE")  # lock at once, so that processes wait for one another
                database.execute("CREATE TABLE IF NOT EXISTS limits (name TEXT PRIMARY KEY, number REAL NOT NULL)")
                row = database.execute("SELECT number FROM limits WHERE name = ?", (name,)).fetchone()
                before = row[0] if row else None
                database.execute("INSERT OR REPLACE INTO limits VALUES (?, ?)", (name, change(before)))
                return before
        except (sqlite3.Error, OSError):
            if not self.shared:
                raise
            self.shared = False
            self.close()
            return self._change(name, change)
