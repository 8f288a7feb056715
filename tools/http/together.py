"""Calls of a tool that begin at once fetch what they need of a source in one request."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass


class Gathering:
    """Calls that began at once, and the names that each needs, in the order of the calls.

    What they need together follows from the calls alone, whichever is answered first: a run and its replay ask the
    same.
    """

    def __init__(self) -> None:
        self._needed: list[Sequence[str] | None] = []
        self._all_told = asyncio.Event()

    def add_call(self) -> "GatheringPlace":
        """Add a call, which must tell what it needs, if only that this is nothing."""
        self._needed.append(None)
        return GatheringPlace(self, len(self._needed) - 1)

    def tell(self, number: int, names: Sequence[str]) -> None:
        """Note what a call needs, the first time that it tells."""
        if self._needed[number] is None:
            self._needed[number] = names
        if None not in self._needed:
            self._all_told.set()

    async def wait_for_all(self) -> list[str]:
        """Wait until all calls have told, and return what they need together, each name once."""
        await self._all_told.wait()
        return list(dict.fromkeys(name for names in self._needed for name in names or ()))


@dataclass(eq=False)
class GatheringPlace:
    """One call's place in a gathering."""

    gathering: Gathering
    number: int
    has_told: bool = False

    async def gather(self, names: Sequence[str]) -> Sequence[str]:
        """Tell the names that this call needs, and return those that all need; a second time only its own."""
        if self.has_told:
            return names
        self.leave(names)
        return await self.gathering.wait_for_all()

    def leave(self, names: Sequence[str] = ()) -> None:
        """Tell the names, without waiting for others."""
        self.has_told = True
        self.gathering.tell(self.number, names)


_PLACE: ContextVar[GatheringPlace | None] = ContextVar("place", default=None)


async def gather_names(names: Sequence[str]) -> Sequence[str]:
    """Return what all calls of a tool need that began with the present one; outside of such a call the names alone."""
    place = _PLACE.get()
    return names if place is None else await place.gather(names)


class MeetingPoint:
    """Brings together the calls of one tool that begin at once."""

    def __init__(self) -> None:
        self._open: Gathering | None = None

    @asynccontextmanager
    async def join(self) -> AsyncIterator[None]:
        """Make the block a call that others which begin now may wait for."""
        if self._open is None:
            self._open = Gathering()
        place = self._open.add_call()
        before = _PLACE.set(place)
        try:
            await asyncio.sleep(0)  # the other calls of an answer begin before this one goes on
            self._open = None
            yield
        finally:
            place.leave()
            _PLACE.reset(before)
