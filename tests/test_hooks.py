"""Hooks: told what happens, typed, and never in the way."""

import asyncio
import logging
from collections.abc import Iterator

import pytest
from builders import QUESTION, reply

from willowbark.agents.report import ResearchReport
from willowbark.teams import hooks
from willowbark.teams.config import Settings
from willowbark.teams.hooks import (
    ErrorTracker,
    Hooks,
    TokenCounter,
    ToolCall,
    ToolResult,
    TurnTaken,
    logging_hooks,
    tell,
)
from willowbark.teams.run import research_stream
from willowbark.tools.endpoints import Endpoints
from willowbark.tools.sandbox.faults import FaultPlan
from willowbark.tools.sandbox.server import SandboxServer

TURN = TurnTaken("judge", 1, "Round 1: continue", 100, 10)


@pytest.fixture
def endpoints() -> Iterator[Endpoints]:
    with SandboxServer(faults=FaultPlan(dead={"chembl": "reset"})) as server:
        yield Endpoints.sandbox(server.url)


async def test_a_run_tells_of_every_tool_turn_and_report(
    endpoints: Endpoints, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[object] = []

    async def note(what: object) -> None:
        seen.append(what)

    counter, tracker = TokenCounter(), ErrorTracker()
    caplog.set_level(logging.INFO, "willowbark.run")
    chosen = Settings().overridden({"research.max_iterations": 1, "research.search_timeout": 5})
    stream = research_stream(
        QUESTION,
        settings=chosen,
        endpoints=endpoints,
        hooks=[Hooks(note, note, note, note), counter.hooks, tracker.hooks, logging_hooks()],
    )
    report = [event async for event in stream][-1].data

    calls = [one for one in seen if isinstance(one, ToolCall)]
    results = [one for one in seen if isinstance(one, ToolResult)]
    assert len(calls) == len(results) > 0
    assert isinstance(seen[-1], ResearchReport)
    assert sum(counter.by_agent.values()) == sum(counter.by_round.values()) == report.tokens_used
    assert any(line.startswith("chembl: ") for line in tracker.errors)
    assert any("uses search_" in line for line in caplog.messages)


async def test_a_hook_that_fails_is_noted_and_the_others_are_called() -> None:
    called: list[TurnTaken] = []

    async def broken(_: TurnTaken) -> None:
        raise ValueError("what it knows stays unsaid")

    async def works(turn: TurnTaken) -> None:
        called.append(turn)

    assert await tell([Hooks(on_turn=broken), Hooks(on_turn=works)], TURN) == ["a hook failed on TurnTaken: ValueError"]
    assert called == [TURN]


async def test_a_hook_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hangs(_: TurnTaken) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(hooks, "HOOK_TIMEOUT_S", 0.01)
    assert await tell([Hooks(on_turn=hangs)], TURN) == ["a hook failed on TurnTaken: TimeoutError"]


async def test_arguments_that_could_not_be_used_are_an_error() -> None:
    tracker = ErrorTracker()
    await tell([tracker.hooks], ToolResult("trials", "get_trial", (), 1))
    await tell([tracker.hooks], ToolResult("trials", "get_trial", (reply(),), 1))
    assert tracker.errors == ["get_trial: unusable arguments"]
