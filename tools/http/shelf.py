"""A run's cache of look-ups by number or name: each is fetched once, in as few requests as possible."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")


class Shelf:
    """Items requested so far, by kind and name; shared by all sources and agents of a run."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str], asyncio.Task[Mapping[str, Any]]] = {}
        self._places: dict[str, asyncio.Future[None]] = {}

    def take(
        self, kind: str, names: Sequence[str], ask: Callable[[list[str]], Awaitable[Mapping[str, T]]]
    ) -> Awaitable[dict[str, T]]:
        """Fetch items; those not requested before are requested now, all at once.

        Args:
            kind: separates items with the same name, such as `pubmed`.
            names: names of the items.
            ask: returns what it finds by name; called only with new names, and not at all if there are none.

        Returns:
            Awaitable: the items found, by name. It raises what `ask` raised; those names are then requested again by
            the next caller.
        """
        wanted = list(dict.fromkeys(names))
        fresh = [name for name in wanted if (kind, name) not in self._asked]

        async def ask_now() -> Mapping[str, T]:
            try:
                return await ask(fresh)
            except BaseException:
                for name in fresh:
                    self._asked.pop((kind, name), None)
                raise

        if fresh:
            self._asked.update(dict.fromkeys(((kind, name) for name in fresh), asyncio.ensure_future(ask_now())))
        tasks = [self._asked[kind, name] for name in wanted]

        async def collect() -> dict[str, T]:
            if tasks:
                await asyncio.wait(tasks)  # a caller that is cancelled leaves the requests running for the others
            found = zip(wanted, (task.result() for task in tasks), strict=True)
            return {name: things[name] for name, things in found if name in things}

        return collect()

    @contextmanager
    def queue(self, kind: str) -> Iterator[Callable[[], Awaitable[None]]]:
        """Queue behind earlier searches of the same source, so that results do not depend on the speed of replies.

        Returns:
            An async function that waits until all earlier callers have left.
        """
        before, mine = self._places.get(kind), asyncio.get_running_loop().create_future()
        self._places[kind] = mine

        async def wait_turn() -> None:
            if before is not None:
                await asyncio.shield(before)

        try:
            yield wait_turn
        finally:
            if not mine.done():
                mine.set_result(None)

    async def clear(self) -> None:
        """Cancel all requests and forget everything."""
        under_way = [task for task in set(self._asked.values()) if not task.done()]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        self._asked.clear()
        self._places.clear()
