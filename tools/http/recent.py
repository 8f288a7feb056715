"""Replies of a moment ago, so that the same search does not ask a source again."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

MOST_REPLIES = 64  # of some 100 kB each
FRESH_S = 900.0  # a notebook's cell that is run again, a search that two agents make


class RecentReplies(Generic[T]):
    """Keeps the latest replies by search.

    Args:
        most: number of replies; further ones push out those asked for longest ago.
        fresh_s: seconds for which a reply is given again.
        clock: seconds, monotonic.
    """

    def __init__(
        self, most: int = MOST_REPLIES, fresh_s: float = FRESH_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most = most
        self._fresh_s = fresh_s
        self._clock = clock
        self._replies: OrderedDict[Hashable, tuple[float, T]] = OrderedDict()

    def get(self, search: Hashable) -> T | None:
        """Return the reply to a search; None if there is none that is fresh."""
        entry = self._replies.get(search)
        if entry is None:
            return None
        replied_at, reply = entry
        if self._clock() - replied_at > self._fresh_s:
            del self._replies[search]
            return None
        self._replies.move_to_end(search)
        return reply

    def put(self, search: Hashable, reply: T) -> None:
        """Keep a reply."""
        self._replies[search] = (self._clock(), reply)
        self._replies.move_to_end(search)
        while len(self._replies) > self._most:
            self._replies.popitem(last=False)
