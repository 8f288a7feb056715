"""The clock of a run: warns when most of the time is used up, stops the run when all of it is."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from autogen_core import CancellationToken


class Alarm:
    """Cancels a run when its time is used up, and remembers that it did.

    Args:
        token: of the run.
        warn: called once, when most of the time is used up.
        warn_share: the part of the limit that is used up then.

    Attributes:
        rang: whether the time was used up.
    """

    def __init__(self, token: CancellationToken, warn: Callable[[], None], warn_share: float) -> None:
        self._token = token
        self._warn = warn
        self._warn_share = warn_share
        self._timers: list[asyncio.TimerHandle] = []
        self._ends: float | None = None
        self._warns: float | None = None
        self.rang = False

    def set(self, seconds: float | None, limit: float | None) -> None:
        """Start the clock.

        Args:
            seconds: until it rings; None never rings.
            limit: of the whole run, earlier lives included; the warning comes at its share of that.
        """
        if seconds is None or limit is None:
            return
        now = monotonic()
        self._ends = now + seconds
        self._warns = self._ends - (1 - self._warn_share) * limit
        self._start()

    def clear(self) -> None:
        """Stop the clock for good."""
        self._stop()
        self._ends = self._warns = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock while this is open."""
        self._stop()
        since = monotonic()
        try:
            yield
        finally:
            waited = monotonic() - since
            if self._ends is not None:
                self._ends += waited
            if self._warns is not None:
                self._warns += waited
            self._start()

    def _start(self) -> None:
        loop, now = asyncio.get_running_loop(), monotonic()
        for when, what in ((self._warns, self._warn_once), (self._ends, self._ring)):
            if when is not None:
                self._timers.append(loop.call_later(max(0.0, when - now), what))

    def _stop(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def _warn_once(self) -> None:
        self._warns = None
        self._warn()

    def _ring(self) -> None:
        self.rang = True
        self._token.cancel()
