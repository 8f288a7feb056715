"""The gate in whole runs: asked just before the report, decided once, remembered by the ledger."""

import asyncio
import time
from types import SimpleNamespace
from typing import Any

import pytest
from autogen_core import CancellationToken
from builders import QUESTION, short_run

from willowbark.agents.approval import Approval, ApprovalAnswer, ApprovalRequest
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import Settings
from willowbark.teams.events import AgentEvent
from willowbark.teams.ledger import Ledger, journal
from willowbark.teams.run.options import ApproveOption
from willowbark.teams.run.research import research, research_stream, resume
from willowbark.tools.http.endpoints import Endpoints

pytestmark = pytest.mark.whole


def settings(**changes: Any) -> Settings:
    return short_run(**{"research.max_iterations": 1, "research.max_results_per_tool": 10, **changes})


class First:
    """Accepts the first candidate; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[ApprovalRequest] = []

    async def __call__(self, request: ApprovalRequest) -> ApprovalAnswer:
        self.asked.append(request)
        return request.only(request.candidates[0].name, reason="the best alone")


async def nobody_may_ask(_: ApprovalRequest) -> ApprovalAnswer:
    raise AssertionError("asked again")


def decision(report: ResearchReport) -> Approval:
    assert report.approval is not None
    return report.approval


async def test_a_function_decides_after_the_search_and_before_the_report(endpoints: Endpoints) -> None:
    first = First()
    events: list[AgentEvent] = []
    async for event in research_stream(QUESTION, settings=settings(), endpoints=endpoints, approve=first):
        events.append(event)
        if event.type == "synthesizing":
            assert first.asked
    report = events[-1].data

    assert len(first.asked) == 1
    assert [one.name for one in first.asked[0].candidates][:1] == report.drug_candidates
    assert (decision(report).decided_by, decision(report).via) == ("program", "Python")
    assert len(decision(report).set_aside) == len(first.asked[0].candidates) - 1 > 0
    assert [event.type for event in events].count("synthesizing") == 1


async def stopped_at_the_report(endpoints: Endpoints, ledger: Ledger, approve: ApproveOption) -> None:
    """A run that is cancelled after the decision, before the report."""
    token = CancellationToken()
    asked: Any = {"ledger": ledger, "run_id": "one", "approve": approve, "cancellation_token": token}
    async for event in research_stream(QUESTION, settings=settings(), endpoints=endpoints, **asked):
        if event.type == "synthesizing":
            token.cancel()


async def test_a_resumed_run_goes_by_what_was_decided(endpoints: Endpoints) -> None:
    with Ledger(None) as ledger:
        await stopped_at_the_report(endpoints, ledger, First())
        turns = [turn.type for turn in ledger.turns("one")]
        assert turns[-1] == "ApprovalMessage"
        report = await resume("one", ledger, endpoints=endpoints, approve=nobody_may_ask)
    assert (decision(report).decided_by, len(report.drug_candidates)) == ("program", 1)


async def test_a_run_cancelled_while_it_asks_reports_by_the_default_and_asks_again_later(endpoints: Endpoints) -> None:
    token = CancellationToken()

    async def away(_: ApprovalRequest) -> ApprovalAnswer:
        token.cancel()
        await asyncio.Event().wait()
        raise AssertionError

    chosen = settings(**{"research.approval_default": "none"})
    with Ledger(None) as ledger:
        asked: Any = {"ledger": ledger, "run_id": "one", "approve": away, "cancellation_token": token}
        stopped = await research(QUESTION, settings=chosen, endpoints=endpoints, **asked)
        report = await resume("one", ledger, endpoints=endpoints, approve=First())

    assert stopped.stop_reason == "cancelled"
    assert stopped.drug_candidates == []
    assert decision(stopped).because == "the run ended before anybody decided: cancelled"
    assert decision(report).decided_by == "program"


async def test_settings_that_want_approval_with_nobody_there_go_by_the_default(endpoints: Endpoints) -> None:
    report = await research(QUESTION, settings=settings(**{"research.approve": True}), endpoints=endpoints)

    assert report.drug_candidates
    assert (decision(report).decided_by, decision(report).because) == ("default", "nobody was there to ask")


async def test_time_that_a_person_takes_counts_for_no_limit(
    endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clock stands still while somebody is asked: a limit that would be passed by the waiting alone is not."""
    waited_s = 0.0
    monkeypatch.setattr(journal, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + waited_s))

    async def slow(request: ApprovalRequest) -> ApprovalAnswer:
        nonlocal waited_s
        waited_s = 100_000.0
        await asyncio.sleep(0.1)  # the clock is looked at meanwhile
        return request.all()

    chosen = settings(**{"research.limits.max_seconds": 50_000})
    with Ledger(None) as ledger:
        report = await research(
            QUESTION, settings=chosen, endpoints=endpoints, ledger=ledger, run_id="one", approve=slow
        )
        assert report.stop_reason != "timeout"
        assert decision(report).decided_by == "program"
        assert ledger.run("one").spent_s < 50_000
