"""Hooks stand before tool calls, and events come at their moment."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from builders import without_clock

from willowbark.agents.report.model import ResearchReport
from willowbark.teams import AgentEvent, Ledger, Veto, replay, research, research_stream
from willowbark.teams.run.options import Hook

QUESTION = "Which existing drugs could prevent migraine attacks?"
SEARCH = "search_pubmed"
SHORT: Mapping[str, Any] = {"offline": True, "depth": "quick", "max_iterations": 1}


async def replayed(folder: Path, *hooks: Hook) -> tuple[ResearchReport, ResearchReport]:
    """A run with hooks, and its replay, which has none."""
    with Ledger(folder / "ledger.sqlite") as ledger:
        report = await research(QUESTION, hooks=hooks, ledger=ledger, run_id="hooked", **SHORT)
        return report, await replay("hooked", ledger)


async def test_a_hook_gets_each_call_before_it_is_made_and_how_long_it_took() -> None:
    events: list[AgentEvent] = []

    async def note(event: AgentEvent) -> None:
        events.append(event)

    await research(QUESTION, hooks=[note], **SHORT)
    calls = {(event.agent, event.call_id): event for event in events if event.type == "searching"}
    replies = [event for event in events if event.type == "search_complete"]

    assert {event.tool for event in calls.values()} >= {"search_pubmed", "search_clinicaltrials", "search_opentargets"}
    assert {(event.agent, event.call_id) for event in replies} == calls.keys()
    for reply in replies:
        call = calls[reply.agent, reply.call_id]
        assert reply.tool == call.tool
        assert reply.elapsed_s is not None
        assert call.timestamp < reply.timestamp


async def test_a_call_that_a_hook_refuses_is_not_made_and_the_report_says_so_in_a_replay_too(
    tmp_path: Path,
) -> None:
    async def refuse(event: AgentEvent) -> Veto | None:
        return Veto("no registry today") if event.tool == "search_clinicaltrials" else None

    report, again = await replayed(tmp_path, refuse)

    assert "clinicaltrials" not in report.sources_searched
    assert "not asked, by a hook: no registry today" in report.to_markdown() + report.to_appendix()
    assert without_clock(again) == without_clock(report)


async def test_arguments_that_a_hook_changes_are_what_is_sent_and_replayed(tmp_path: Path) -> None:
    seen: list[AgentEvent] = []

    async def narrow(event: AgentEvent) -> dict[str, Any] | None:
        if event.call is None or event.tool != SEARCH:
            return None
        return {**json.loads(event.call["arguments"]), "query": "migraine AND propranolol"}

    async def note(event: AgentEvent) -> None:
        seen.append(event)

    report, again = await replayed(tmp_path, narrow, note)
    asked = [entry.query for entry in report.search_log if entry.source == "pubmed"]
    queries = [json.loads(event.call["arguments"])["query"] for event in seen if event.call and event.tool == SEARCH]

    assert set(asked) == {"migraine AND propranolol"}
    assert set(queries) == {"migraine AND propranolol"}, "the next hook sees what is sent"
    assert without_clock(again) == without_clock(report)


async def test_what_hooks_change_and_what_they_answer_wrongly_is_told() -> None:
    async def confused(event: AgentEvent) -> Any:
        return 3 if event.tool == "search_pubmed" else None

    async def narrow(event: AgentEvent) -> dict[str, Any] | None:
        return {"query": "propranolol"} if event.tool == SEARCH and event.type == "searching" else None

    stream = research_stream(QUESTION, hooks=[confused, narrow], **SHORT)
    events = [event async for event in stream]
    report = events[-1].report
    lines = [event.message for event in events]

    assert report is not None
    assert "pubmed" in report.sources_searched
    assert "a hook answered with int, not with arguments or a Veto" in lines
    assert 'a hook changed the arguments of search_pubmed: {"query": "propranolol"}' in lines


async def test_each_step_is_told_when_it_begins() -> None:
    stream = research_stream(QUESTION, offline=True, depth="quick", max_iterations=2)
    events = [event async for event in stream]
    kinds = [event.type for event in events]
    of_literature = [event.type for event in events if event.agent == "literature" and event.iteration == 1]
    of_judge = [event.type for event in events if event.agent == "judge" and event.iteration == 2]

    steps = [kind for kind in of_literature if kind.startswith(("analy", "thinking"))]
    assert steps == ["analyzing", "analysis_complete", "thinking"]
    assert of_judge == ["judging", "hypothesizing", "thinking", "judge_complete"]
    judging = next(event for event in events if event.type == "judging")
    assert judging.message.startswith("Judging ")
    assert kinds.index("analysis_complete") < kinds.index("judging") < kinds.index("judge_complete")
