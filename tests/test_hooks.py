"""Hooks: told what happens, by the run's own events, and never in the way."""

import asyncio
import logging
from collections.abc import Iterator

import pytest
from builders import QUESTION
from faults.breakage import FaultyServer
from faults.plan import FaultPlan

from willowbark.teams.config import Settings
from willowbark.teams.events import AgentEvent
from willowbark.teams.run import course
from willowbark.teams.run.research import research_stream
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.search import SourceReply

pytestmark = pytest.mark.whole


@pytest.fixture
def endpoints() -> Iterator[Endpoints]:
    with FaultyServer(faults=FaultPlan(dead={"chembl": "reset"})) as server:
        yield Endpoints.at(server.url)


async def test_hooks_get_the_runs_events_one_that_fails_is_told_and_the_log_says_who_searches_and_why(
    endpoints: Endpoints, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "willowbark.run")
    seen: list[AgentEvent] = []

    async def note(event: AgentEvent) -> None:
        seen.append(event)

    async def broken(event: AgentEvent) -> None:
        if event.type == "searching":
            raise ValueError("what it knows stays unsaid")

    quick = Settings().overridden({"research.max_iterations": 2, "research.search_timeout": 5})
    stream = research_stream(QUESTION, settings=quick, endpoints=endpoints, hooks=[broken, note])
    events = [event async for event in stream]
    report = events[-1].report

    told = "a hook failed on searching: ValueError"
    assert report is not None
    assert seen == [event for event in events if event.message != told]
    searches = [event for event in seen if event.type == "searching"]
    assert all(event.call for event in searches)
    assert [event.message for event in events].count(told) == len(searches) > 0
    replies = [event.data for event in seen if event.type == "search_complete"]
    assert any(isinstance(each, SourceReply) and each.warnings for each in replies if each.source == "chembl")
    turns = [event for event in seen if event.tokens is not None]
    assert {event.agent for event in turns} == {"literature", "trials", "mechanism", "judge", "report"}
    assert sum(event.tokens for event in turns) == report.tokens_used > 0
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


async def test_a_hook_that_hangs_is_left_behind(endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hangs(event: AgentEvent) -> None:
        await asyncio.sleep(60 if event.type == "started" else 0)

    monkeypatch.setattr(course, "HOOK_TIMEOUT_S", 0.01)
    stream = research_stream(QUESTION, settings=Settings(), endpoints=endpoints, hooks=[hangs])
    events = [await anext(stream), await anext(stream)]
    await stream.aclose()
    assert [event.message for event in events] == [QUESTION, "a hook failed on started: TimeoutError"]
