"""What a run hands to its agents: looking drugs up ahead, and waiting for it."""

import asyncio
from collections.abc import Sequence

import pytest

from willowbark.agents.context import RunContext


async def test_what_is_looked_up_ahead_is_back_before_a_round_is_judged() -> None:
    run, known = RunContext(), list[str]()

    async def look_up(drugs: Sequence[str]) -> None:
        await asyncio.sleep(0.01)
        known.extend(drugs)

    run.looks_up["mechanism"] = look_up
    run.look_ahead(["propranolol"])
    assert known == []
    await run.looked_up()
    assert known == ["propranolol"]


async def test_a_run_that_ends_leaves_nothing_under_way() -> None:
    run, ended = RunContext(), asyncio.Event()

    async def look_up(_: Sequence[str]) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    run.looks_up["mechanism"] = look_up
    run.look_ahead(["propranolol"])
    await asyncio.sleep(0)
    await asyncio.wait_for(run.leave(), 5)
    assert ended.is_set()


@pytest.mark.parametrize("drugs", [[], ["propranolol"]])
async def test_with_nobody_to_look_up_nothing_is_waited_for(drugs: list[str]) -> None:
    run = RunContext()
    run.look_ahead(drugs)
    await asyncio.wait_for(run.looked_up(), 5)
