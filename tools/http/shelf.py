"""What a run has asked for by number or name: each thing once, whoever wants it, in as few requests as it takes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


class Shelf:
    """Things that were asked for, by kind and name; shared by all sources and agents of a run."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str], asyncio.Task[Mapping[str, Any]]] = {}
        self._places: dict[str, asyncio.Future[None]] = {}

    def take(
        self, kind: str, names: Sequence[str], ask: Callable[[list[str]], Awaitable[Mapping[str, T]]]
    ) -> Awaitable[dict[str, T]]:
        """Take things; those that nobody asked for yet are asked for now, all at once.

        Args:
            kind: tells things of one name apart, such as `pubmed`.
            names: of the things.
            ask: gives what it can by name; called with the names that are new, and not at all where none is.

        Returns:
            Awaitable: the things by name, without those that could not be had. It raises what `ask` raised; the names
            are then asked for anew by the next who wants them.
        """
        wanted = list(dict.fromkeys(names))
        if fresh := [name for name in wanted if (kind, name) not in self._asked]:
            asking = asyncio.ensure_future(_mapping(ask(fresh)))
            asking.add_done_callback(lambda done: self._forget_failed(kind, fresh, done))
            self._asked.update(((kind, name), asking) for name in fresh)
        return self._given(wanted, [self._asked[kind, name] for name in wanted])

    async def _given(self, wanted: Sequence[str], asked: Sequence[asyncio.Task[Mapping[str, Any]]]) -> dict[str, Any]:
        if asked:
            await asyncio.wait(asked)  # who stops waiting stops nobody else's asking
        found = zip(wanted, (task.result() for task in asked), strict=True)
        return {name: things[name] for name, things in found if name in things}

    def _forget_failed(self, kind: str, names: Sequence[str], done: asyncio.Task[Mapping[str, Any]]) -> None:
        if done.cancelled() or done.exception() is not None:
            for name in names:
                self._asked.pop((kind, name), None)

    def queue(self, kind: str) -> "Place":
        """Take a place behind whoever searches the same source: what is taken then depends on no reply's speed."""
        before, mine = self._places.get(kind), asyncio.get_running_loop().create_future()
        self._places[kind] = mine
        return Place(before, mine)

    async def clear(self) -> None:
        """Stop asking, and forget everything."""
        under_way = [task for task in set(self._asked.values()) if not task.done()]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        self._asked.clear()
        self._places.clear()


class Place:
    """A place in a queue, to be left in any case: `with shelf.queue(…) as place`."""

    def __init__(self, before: "asyncio.Future[None] | None", mine: "asyncio.Future[None]") -> None:
        self._before, self._mine = before, mine

    def __enter__(self) -> "Place":
        return self

    def __exit__(self, *_: object) -> None:
        if not self._mine.done():
            self._mine.set_result(None)

    async def reached(self) -> None:
        """Wait until everyone before has left."""
        if self._before is not None:
            await asyncio.shield(self._before)


async def _mapping(asked: Awaitable[Mapping[str, T]]) -> Mapping[str, T]:
    return await asked
