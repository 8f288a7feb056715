"""Attempts at a request: how many, how long apart, and when a source is paused. tenacity carries them.

The waits are exponential with full jitter, unless the source says how long to wait. Each call has a deadline, and each
source a circuit breaker.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, wait_random_exponential

from ..errors import RateLimitError, SearchError, SourcePaused, SourceRefused, SourceUnavailable, UnreadableReply
from .reply import TooSlow

_AT_ONCE = 4  # concurrent exchanges with one source: enough for its limit, and few are lost if it is down
_LONGEST_ATTEMPT_S = 15.0
_MORE_PATIENCE = 1.5  # a source that timed out once may be slow rather than down


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


class Breaker:
    """Circuit breaker of a source: counts its failures and pauses it.

    Args:
        policy: after how many failures it is paused, and for how long.
        one_first: whether one exchange goes alone until the source has given its first answer.
    """

    def __init__(self, policy: RetryPolicy, *, one_first: bool = False) -> None:
        self._policy = policy
        self._reserved_places = _AT_ONCE - 1 if one_first else 0
        self.places = asyncio.Semaphore(_AT_ONCE - self._reserved_places)
        self.failures = 0
        self.reason = ""
        self.heard_at = -math.inf
        """When the source last replied, even with an error; monotonic seconds."""
        self._paused_until = -math.inf
        self._rests_until = -math.inf
        self._rest_reason = ""

    def check(self, source: str) -> None:
        """Let an attempt pass; after a pause one goes first and the others wait for its outcome.

        Raises:
            SourcePaused: the source is not to be asked now; the message says why.
        """
        now = time.monotonic()
        if now < self._rests_until:
            raise SourcePaused(source, self._rest_reason)
        if now < self._paused_until:
            raise SourcePaused(
                source, f"paused after {self.failures} failed attempts in a row; the last: {self.reason}"
            )
        if self._paused_until > -math.inf:
            self.pause(self._policy.breaker_pause_s)

    def pause(self, seconds: float) -> None:
        self._paused_until = time.monotonic() + seconds

    def rest(self, reason: str, seconds: float) -> None:
        """Leave the source alone for as long as it asked, whatever exchanges that are under way bring."""
        self._rests_until = time.monotonic() + seconds
        self._rest_reason = reason

    def failed(self, reason: str) -> None:
        self.failures += 1
        self.reason = reason
        if self.failures >= self._policy.breaker_failures:
            self.pause(self._policy.breaker_pause_s)

    def worked(self) -> None:
        self.failures = 0
        self._paused_until = -math.inf
        while self._reserved_places:
            self._reserved_places -= 1
            self.places.release()


class RetriedCall:
    """One call to a source with all its attempts, and what they met.

    Args:
        source: name of the source.
        policy: how long to keep retrying.
        breaker: of the source.
        passing: statuses of refusals that the source is known to send in passing; the first is worth another attempt.
        sleep: async function that waits between attempts, in seconds.
    """

    def __init__(
        self,
        source: str,
        policy: RetryPolicy,
        breaker: Breaker,
        *,
        passing: Collection[int] = (),
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.source = source
        self.breaker = breaker
        self.number = 0
        """Of the attempt under way, from 1."""
        self._policy = policy
        self._passing = passing
        self._sleep = sleep
        self._jittered = wait_random_exponential(multiplier=policy.first_wait_s, max=policy.longest_wait_s)
        self._began = time.monotonic()
        self._due = self._began + policy.deadline_s
        self._silences = 0
        self._refusals = 0
        self._reason = "none came"
        self._is_over = False

    @property
    def attempts(self) -> AsyncRetrying:
        """Runs a coroutine function until it succeeds, retrying is pointless, or the deadline passes."""
        return AsyncRetrying(
            sleep=self._sleep,
            wait=self._find_wait,
            stop=self._is_last,
            retry=retry_if_exception(self._is_worth_retrying),
            retry_error_callback=self._give_up,
        )

    def start_attempt(self, queued_s: float) -> float:
        """Count an attempt that is sent now; return its timeout in seconds. Queueing extends the deadline."""
        self.number += 1
        self._began += queued_s
        self._due += queued_s
        return min(self._due - time.monotonic(), self._policy.timeout_s(self._silences))

    def note_failure(self, error: SearchError, timeout_s: float) -> SearchError:
        """Take note of an attempt's failure and return the error to raise: silence up to the deadline ends the call."""
        if isinstance(error, TooSlow):
            self._is_over = timeout_s < self._policy.timeout_s(self._silences)
            self._silences += 1
        if self._is_over:
            within = f"no usable answer within {self._policy.deadline_s:.3g} s"
            error = SourceUnavailable(self.source, f"{within}; the last: {self._reason}")
        self._reason = error.reason
        return error

    def _is_worth_retrying(self, error: BaseException) -> bool:
        if isinstance(error, SourcePaused):
            return False
        if isinstance(error, SourceRefused):
            self._refusals += 1
            return error.status in self._passing and self._refusals == 1
        return isinstance(error, SourceUnavailable | UnreadableReply)

    def _find_wait(self, state: RetryCallState) -> float:
        asked_s = _find_retry_after(state)
        return self._jittered(state) if asked_s is None else asked_s

    def _is_last(self, state: RetryCallState) -> bool:
        if self._is_over or state.attempt_number >= self._policy.attempts:
            return True
        return state.upcoming_sleep >= self._due - time.monotonic()

    def _give_up(self, state: RetryCallState) -> None:
        """Raise the last error; a source that was silent all through the call is paused."""
        assert state.outcome is not None
        error = state.outcome.exception()
        assert error is not None
        asked_s = _find_retry_after(state)
        if asked_s is not None and asked_s > self._policy.deadline_s:
            reason = f"{self._reason}; to be asked again in {write_span(asked_s)} at the earliest"
            self.breaker.rest(reason, asked_s)
            raise RateLimitError(self.source, reason, asked_s)
        if state.attempt_number > 1 and self.breaker.heard_at < self._began:
            self.breaker.pause(self._policy.breaker_pause_s)
        raise error


def _find_retry_after(state: RetryCallState) -> float | None:
    """Return the seconds for which the source asked not to be asked; None if it did not."""
    error = state.outcome.exception() if state.outcome else None
    return error.retry_after_s if isinstance(error, RateLimitError) else None


def write_span(seconds: float) -> str:
    """Say a span of time in words.

    >>> write_span(90), write_span(5400), write_span(54_000)
    ('90 seconds', '90 minutes', '15 hours')
    """
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.0f} hours"
