"""Hooks: told what happens, typed, and never in the way."""

import asyncio
import json
import logging
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
from autogen_core import CancellationToken, FunctionCall
from autogen_core.models import CreateResult, RequestUsage
from builders import QUESTION, asked, reply, scripted
from faults.breakage import FaultyServer
from faults.plan import FaultPlan
from pydantic import BaseModel

from willowbark.agents.context import RunContext
from willowbark.agents.report.model import ResearchReport
from willowbark.agents.specialist import SpecialistAgent
from willowbark.teams.config import Settings
from willowbark.teams.run import hooks
from willowbark.teams.run.hooks import (
    ErrorTracker,
    Hooks,
    TokenCounter,
    ToolCall,
    ToolResult,
    TurnTaken,
    logging_hooks,
    tell,
)
from willowbark.teams.run.logs import logged
from willowbark.teams.run.research import research_stream
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import RetryPolicy, Transport
from willowbark.tools.http.wire import HttpxWire
from willowbark.tools.toolbox import SourceTool

pytestmark = pytest.mark.whole

TURN = TurnTaken("judge", 1, "Round 1: continue", 100, 10)


@pytest.fixture
def endpoints() -> Iterator[Endpoints]:
    with FaultyServer(faults=FaultPlan(dead={"chembl": "reset"})) as server:
        yield Endpoints.at(server.url)


async def test_a_run_tells_of_every_tool_turn_and_report(
    endpoints: Endpoints, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[object] = []

    async def note(what: object) -> None:
        seen.append(what)

    counter, tracker = TokenCounter(), ErrorTracker()
    caplog.set_level(logging.INFO, "willowbark.run")
    chosen = Settings().overridden({"research.max_iterations": 2, "research.search_timeout": 5})
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
    logged = [one for one in caplog.records if one.getMessage() == "tool called"]
    assert len(logged) == len(calls)
    assert {one.agent for one in logged} == {"literature", "trials", "mechanism"}  # type: ignore[attr-defined]


async def test_before_tool_comes_before_the_call_and_the_call_waits_for_it() -> None:
    happened: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        happened.append("asked")
        return httpx.Response(503)

    async def hook(call: ToolCall) -> None:
        await asyncio.sleep(0)
        happened.append(f"{call.agent} {call.iteration} {call.tool} {call.arguments}")

    async def before(agent: str, iteration: int, tool: str, arguments: BaseModel) -> None:
        given = arguments.model_dump_json(exclude_unset=True)
        await tell([Hooks(before_tool=hook)], ToolCall(agent, tool, given, iteration))

    asks = FunctionCall(id="1", name="search_pubmed", arguments='{"query": "migraine"}')
    usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
    calls = CreateResult(finish_reason="function_calls", content=[asks], usage=usage, cached=False)
    agent = SpecialistAgent("literature", scripted(calls, "nothing there"), tools=[SourceTool("pubmed")])
    wires = {"httpx": HttpxWire(httpx.MockTransport(answer))}
    async with Transport(Endpoints.public({}), policy=RetryPolicy(attempts=1), wires=wires) as transport:
        agent.join(RunContext(transport, before_tool=before))
        await agent.on_messages([asked()], CancellationToken())

    assert happened == ['literature 1 search_pubmed {"query":"migraine"}', "asked"]


async def test_a_before_hook_that_fails_is_told_and_the_call_is_made(endpoints: Endpoints) -> None:
    async def broken(_: ToolCall) -> None:
        raise ValueError("what it knows stays unsaid")

    chosen = Settings().overridden({"research.max_iterations": 2, "research.search_timeout": 5})
    stream = research_stream(QUESTION, settings=chosen, endpoints=endpoints, hooks=[Hooks(before_tool=broken)])
    events = [event async for event in stream]

    assert "a hook failed on ToolCall: ValueError" in [event.message for event in events]
    assert events[-1].data.references


async def test_cost_is_counted_until_a_price_is_not_known() -> None:
    counter = TokenCounter()
    await tell([counter.hooks], replace(TURN, cost_usd=0.25))
    await tell([counter.hooks], replace(TURN, cost_usd=0.5))
    assert (counter.cost_usd, counter.by_agent["judge"]) == (0.75, 220)
    await tell([counter.hooks], TURN)
    await tell([counter.hooks], replace(TURN, cost_usd=0.5))
    assert counter.cost_usd is None


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


async def test_the_logging_hooks_are_laid_out_by_structlog(capsys: pytest.CaptureFixture[str]) -> None:
    with logged(1, as_json=True, environ={}):
        await tell([logging_hooks()], replace(TURN, cost_usd=0.25))
        await tell([logging_hooks()], ToolCall("trials", "get_trial", '{"nct_id": "NCT00000001"}', 2))
    turn, call = map(json.loads, capsys.readouterr().err.splitlines())

    assert (turn["event"], turn["agent"], turn["round"]) == ("turn taken", "judge", 1)
    assert (turn["tokens"], turn["cost_usd"]) == (110, 0.25)
    assert (call["event"], call["tool"], call["round"]) == ("tool called", "get_trial", 2)
    assert "NCT00000001" not in str(call)


async def test_the_log_says_which_specialist_takes_which_tools_in_a_round_and_why(
    endpoints: Endpoints, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "willowbark.run")
    settings = Settings().overridden({"research.max_iterations": 2, "research.search_timeout": 5})
    async for _ in research_stream(QUESTION, settings=settings, endpoints=endpoints):
        pass

    chosen = [vars(each) for each in caplog.records if each.getMessage() == "chosen"]
    first = {each["agent"]: each for each in chosen if each["round"] == 1}
    assert set(first) == {"literature", "trials", "mechanism"}
    assert first["literature"]["tool"] == "search_pubmed, search_europepmc"
    assert {each["told"] for each in first.values()} == {
        "a question of kind prevent: in the first round every specialist searches"
    }
    later = [each for each in chosen if each["round"] > 1]
    assert later
    assert all("first round" not in each["told"] for each in later)
