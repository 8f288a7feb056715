"""What a run has asked for by number or name: each thing once, whoever wants it, in as few requests as it takes."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
        fresh = [name for name in wanted if (kind, name) not in self._asked]

        async def asked_now() -> Mapping[str, T]:
            try:
                return await ask(fresh)
            except BaseException:
                for name in fresh:
                    self._asked.pop((kind, name), None)
                raise

        if fresh:
            self._asked.update(dict.fromkeys(((kind, name) for name in fresh), asyncio.ensure_future(asked_now())))
        tasks = [self._asked[kind, name] for name in wanted]

        async def given() -> dict[str, T]:
            if tasks:
                await asyncio.wait(tasks)  # who stops waiting stops nobody else's asking
            found = zip(wanted, (task.result() for task in tasks), strict=True)
            return {name: things[name] for name, things in found if name in things}

        return given()

    @contextmanager
    def queue(self, kind: str) -> Iterator[Callable[[], Awaitable[None]]]:
        """Hold a place behind whoever searches the same source: what is taken then depends on no reply's speed.

        Returns:
            Awaited, it waits until everyone before has left.
        """
        before, mine = self._places.get(kind), asyncio.get_running_loop().create_future()
        self._places[kind] = mine

        async def reached() -> None:
            if before is not None:
                await asyncio.shield(before)

        try:
            yield reached
        finally:
            if not mine.done():
                mine.set_result(None)

    async def clear(self) -> None:
        """Stop asking, and forget everything."""
        under_way = [task for task in set(self._asked.values()) if not task.done()]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        self._asked.clear()
        self._places.clear()
