"""Hooks: told what happens, by the run's own events, and never in the way."""

import asyncio
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from builders import QUESTION
from faults.breakage import FaultyServer
from faults.plan import FaultPlan

from willowbark.teams.config import Settings
from willowbark.teams.events import AgentEvent
from willowbark.teams.run import options
from willowbark.teams.run.options import Hook, Hooks
from willowbark.teams.run.research import research_stream
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.search import SourceReply

pytestmark = pytest.mark.whole


def turn(**fields: Any) -> AgentEvent:
    return AgentEvent(**{"type": "progress", "message": "", "agent": "judge", "iteration": 1, "tokens": 110, **fields})


@pytest.fixture
def endpoints() -> Iterator[Endpoints]:
    with FaultyServer(faults=FaultPlan(dead={"chembl": "reset"})) as server:
        yield Endpoints.at(server.url)


async def test_hooks_get_the_runs_events_one_that_fails_is_told_and_the_log_says_who_searches_and_why(
    endpoints: Endpoints, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "willowbark.run")
    seen: dict[str, list[AgentEvent]] = {"before": [], "after": [], "turn": [], "report": []}

    def noting(what: str) -> Hook:
        async def note(event: AgentEvent) -> None:
            seen[what].append(event)

        return note

    async def broken(_: AgentEvent) -> None:
        raise ValueError("what it knows stays unsaid")

    quick = Settings.load().overridden({"research.max_iterations": 2, "research.search_timeout": 5})
    all_four = Hooks(*map(noting, seen))
    given = [all_four, Hooks(before_tool=broken)]
    stream = research_stream(QUESTION, settings=quick, endpoints=endpoints, hooks=given)
    events = [event async for event in stream]
    report = events[-1].report

    assert report is not None
    assert seen["before"] == [event for event in events if event.type == "searching"]
    assert all(event.call for event in seen["before"])
    assert all(isinstance(event.data, SourceReply) for event in seen["after"])
    assert {event.agent for event in seen["turn"]} == {"literature", "trials", "mechanism", "judge", "report"}
    assert seen["report"] == events[-1:]
    assert sum(event.tokens or 0 for event in seen["turn"]) == report.tokens_used > 0
    assert any(reply.warnings for reply in (event.data for event in seen["after"]) if reply.source == "chembl")
    assert [event.message for event in events].count("a hook failed on searching: ValueError") == len(seen["before"])
    assert report.references

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


async def test_a_hook_that_hangs_is_left_behind_and_the_others_are_called(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[AgentEvent] = []

    async def hangs(_: AgentEvent) -> None:
        await asyncio.sleep(60)

    async def works(event: AgentEvent) -> None:
        called.append(event)

    monkeypatch.setattr(options, "HOOK_TIMEOUT_S", 0.01)
    problems = [await each.call(turn()) for each in (Hooks(on_turn=hangs), Hooks(on_turn=works))]
    assert problems == [["a hook failed on progress: TimeoutError"], []]
    assert called == [turn(timestamp=called[0].timestamp)]
