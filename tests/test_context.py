"""What a run hands to its agents: looking drugs up ahead."""

import asyncio
from collections.abc import Sequence

from willowbark.agents.context import RunContext


async def test_nobody_waits_for_what_is_looked_up_ahead() -> None:
    run, known = RunContext(), list[str]()

    async def look_up(drugs: Sequence[str]) -> None:
        await asyncio.sleep(0.01)
        known.extend(drugs)

    run.looks_up["mechanism"] = look_up
    run.look_ahead([])
    run.look_ahead(["propranolol"])
    assert known == []
    await asyncio.sleep(0.1)
    assert known == ["propranolol"]
    await run.leave()


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
