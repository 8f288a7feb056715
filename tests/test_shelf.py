"""What a run asked for by name is asked for once, together, in an order that no reply's speed decides."""

import asyncio

import pytest

from willowbark.tools.errors import SourceUnavailable
from willowbark.tools.http.transport import Shelf


class Asked:
    """Gives each name in capitals, but for `nothing`; keeps what it was asked for."""

    def __init__(self, failures: int = 0) -> None:
        self.asked: list[list[str]] = []
        self.failures = failures

    async def __call__(self, names: list[str]) -> dict[str, str]:
        self.asked.append(names)
        await asyncio.sleep(0)
        if len(self.asked) <= self.failures:
            raise SourceUnavailable("chembl", "is down")
        return {name: name.upper() for name in names if name != "nothing"}


async def test_each_name_is_asked_for_once_whoever_wants_it() -> None:
    shelf, ask = Shelf(), Asked()
    both = await asyncio.gather(shelf.take("x", ["a", "b", "a"], ask), shelf.take("x", ["b", "c", "nothing"], ask))
    assert both == [{"a": "A", "b": "B"}, {"b": "B", "c": "C"}]
    assert await shelf.take("x", ["nothing", "a"], ask) == {"a": "A"}
    assert ask.asked == [["a", "b"], ["c", "nothing"]]


async def test_what_failed_is_asked_for_anew() -> None:
    shelf, ask = Shelf(), Asked(failures=1)
    with pytest.raises(SourceUnavailable):
        await shelf.take("x", ["a"], ask)
    assert await shelf.take("x", ["a"], ask) == {"a": "A"}


async def test_one_who_gives_up_waiting_takes_nothing_from_another() -> None:
    shelf, ask = Shelf(), Asked()
    impatient = asyncio.ensure_future(shelf.take("x", ["a"], ask))
    patient = asyncio.ensure_future(shelf.take("x", ["a"], ask))
    await asyncio.sleep(0)
    impatient.cancel()
    assert await patient == {"a": "A"}


async def test_those_who_queue_go_on_in_the_order_in_which_they_came() -> None:
    shelf, went = Shelf(), []

    async def search(name: str, turns: int) -> None:
        with shelf.queue("pubmed") as reached:
            for _ in range(turns):
                await asyncio.sleep(0)
            await reached()
            went.append(name)

    await asyncio.gather(search("slow", 5), search("quick", 0), search("middling", 2))
    assert went == ["slow", "quick", "middling"]


async def test_clearing_ends_what_is_under_way() -> None:
    shelf = Shelf()

    async def never(_: list[str]) -> dict[str, str]:
        await asyncio.Event().wait()
        return {}

    waiting = asyncio.ensure_future(shelf.take("x", ["a"], never))
    await asyncio.sleep(0)
    await shelf.clear()
    with pytest.raises(asyncio.CancelledError):
        await waiting
