"""How long to go on trying: waits, deadlines, and when to leave a source alone."""

import email.utils
import time
from dataclasses import dataclass

import tenacity

from .errors import RateLimitError, SourceUnavailable

_ABSURD_RETRY_AFTER_S = 3600.0  # servers that ask for more than an hour are taken to be confused


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How long to go on trying; all times in seconds."""

    attempts: int = 8
    first_wait_s: float = 0.5
    longest_wait_s: float = 8.0
    attempt_timeout_s: float = 15.0
    """For one exchange, body included."""
    deadline_s: float = 60.0
    """For a call with all its attempts and waits."""
    breaker_failures: int = 10
    """Failed attempts in a row after which a source is left alone."""
    breaker_pause_s: float = 60.0

    def scaled(self, factor: float) -> "RetryPolicy":
        """The same policy with every time multiplied: fault tests run compressed, and skip no wait."""
        return RetryPolicy(
            self.attempts,
            self.first_wait_s * factor,
            self.longest_wait_s * factor,
            self.attempt_timeout_s * factor,
            self.deadline_s * factor,
            self.breaker_failures,
            self.breaker_pause_s * factor,
        )


class BreakerOpen(SourceUnavailable):
    """The source failed so often that it is left alone for a while."""


class Breaker:
    """Counts failures in a row; while open, calls fail at once."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._policy = policy
        self._failures = 0
        self._closed_again_at = 0.0

    def check(self, source: str) -> None:
        """Let an attempt pass.

        Raises:
            BreakerOpen: the source is being left alone.
        """
        if time.monotonic() < self._closed_again_at:
            raise BreakerOpen(source, f"left alone after {self._failures} failed attempts in a row")

    def failed(self) -> None:
        """Count a failed attempt."""
        self._failures += 1
        if self._failures >= self._policy.breaker_failures:
            self._closed_again_at = time.monotonic() + self._policy.breaker_pause_s

    def worked(self) -> None:
        """Forget the failures: the source answered."""
        self._failures = 0
        self._closed_again_at = 0.0


class Wait(tenacity.wait.wait_base):
    """Full jitter, or as long as the source asked."""

    def __init__(self, policy: RetryPolicy) -> None:
        self._jitter = tenacity.wait_random_exponential(multiplier=policy.first_wait_s, max=policy.longest_wait_s)

    def __call__(self, retry_state: tenacity.RetryCallState) -> float:
        error = retry_state.outcome.exception() if retry_state.outcome else None
        asked = error.retry_after_s if isinstance(error, RateLimitError) else None
        return self._jitter(retry_state) if asked is None else asked


class Hopeless(tenacity.stop.stop_base):
    """Stops where the next attempt would start past the deadline: the caller is better told at once."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline

    def __call__(self, retry_state: tenacity.RetryCallState) -> bool:
        return time.monotonic() + retry_state.upcoming_sleep >= self._deadline


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
