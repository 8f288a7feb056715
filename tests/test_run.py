"""A run from question to report, over recorded replies: its events, its stops, and a report whatever happens."""

import asyncio
import gc
import re
import threading
import warnings
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest
from autogen_core import CancellationToken
from builders import QUESTION, without_clock
from builders import short_run as settings
from faults.breakage import FaultyServer
from faults.plan import Fault, FaultPlan
from faults.server import SourceServer

from willowbark.agents import context
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.events import AgentEvent
from willowbark.teams.ledger import Ledger
from willowbark.teams.research_team import ResearchTeam
from willowbark.teams.run import course, hooks
from willowbark.teams.run.options import RunOptions
from willowbark.teams.run.research import SourcesUnreachable, await_report, research, research_stream
from willowbark.teams.state import ResearchState, state_of
from willowbark.tools.appraisal.appraised import Readings, load_reader
from willowbark.tools.errors import UsageError
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import ExchangeLog
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.reading import Reading
from willowbark.tools.search import SourceReply


async def followed(**options: Any) -> list[AgentEvent]:
    return [event async for event in research_stream(QUESTION, **options)]


def types_of(events: list[AgentEvent]) -> list[str]:
    return [event.type for event in events]


async def test_a_run_starts_with_the_question_and_ends_with_the_report_that_research_gives(
    endpoints: Endpoints,
) -> None:
    chosen = settings(research__judge_threshold=1.0)
    events = await followed(settings=chosen, endpoints=endpoints)
    report = await research(QUESTION, settings=chosen, endpoints=endpoints)

    assert (events[0].type, events[0].message) == ("started", QUESTION)
    assert isinstance(events[-1].data, ResearchReport)
    assert types_of(events).count("complete") == 1
    assert "error" not in types_of(events)
    assert without_clock(report) == without_clock(events[-1].data)
    assert (report.usage, "Tokens and cost" in report.to_appendix()) == ([], False)  # of the baseline analyst
    verdicts = [event for event in events if event.type == "judge_complete"]
    assert [event.iteration for event in verdicts] == [event.data.iteration for event in verdicts]
    rounds = [event.iteration for event in events[1:]]
    assert rounds == sorted(rounds)
    assert rounds[-1] == report.search_iterations


async def test_with_every_source_down_the_report_says_so_and_invents_nothing() -> None:
    everything = FaultPlan(faults=(Fault(kind="status", status=503),))
    with FaultyServer(faults=everything) as dead:
        endpoints = Endpoints.at(dead.url)
        with pytest.raises(SourcesUnreachable, match=r"no source could be reached \(.*pubmed.*doctor") as raised:
            await research(QUESTION, settings=settings(research__search_timeout=5), endpoints=endpoints)

    report = raised.value.report
    assert report.stop_reason == "sources_unreachable"
    assert "no source could be reached" in report.executive_summary
    assert (report.references, report.drug_candidates, report.total_papers_reviewed) == ([], [], 0)
    for source in ("pubmed", "europepmc", "clinicaltrials"):
        assert [line for line in report.limitations if source in line.lower()], report.limitations

    async def ended() -> AsyncGenerator[AgentEvent, None]:
        yield AgentEvent(type="complete", message="", data=report)

    assert await await_report(ended(), RunOptions(raise_unreachable=False)) is report


async def test_a_question_that_nothing_matches_gets_an_honest_report(endpoints: Endpoints) -> None:
    report = await research(
        "Which drugs help with zyxgloop syndrome?", settings=settings(research__max_iterations=3), endpoints=endpoints
    )

    assert report.drug_candidates == []
    assert report.stop_reason == "no_new_evidence"


@pytest.fixture
def breaks_after_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A team that breaks once the specialist for literature has answered."""
    whole = ResearchTeam.run_stream

    async def breaking(self: ResearchTeam, **options: Any) -> AsyncGenerator[Any, None]:
        async for message in whole(self, **options):
            yield message
            if type(message).__name__ == "FindingsMessage" and message.source == "literature":
                raise RuntimeError("something in the team broke")

    monkeypatch.setattr(ResearchTeam, "run_stream", breaking)


@pytest.mark.usefixtures("breaks_after_findings")
async def test_a_team_that_fails_is_told_and_what_was_found_is_reported(endpoints: Endpoints) -> None:
    events = await followed(settings=settings(), endpoints=endpoints)

    assert types_of(events)[-2:] == ["error", "complete"]
    assert "RuntimeError" in events[-2].message
    assert events[-1].data.stop_reason == "error"
    assert events[-1].data.total_papers_reviewed > 0


async def test_time_that_is_used_up_is_warned_of_and_ends_in_a_report() -> None:
    with FaultyServer(faults=FaultPlan(faults=(Fault(kind="hang"),))) as silent:
        endpoints = Endpoints.at(silent.url)
        events = await followed(settings=settings(research__limits__max_seconds=0.6), endpoints=endpoints)
    assert events[-1].data.stop_reason == "timeout"
    told = [event.message for event in events]
    assert "80% of the run's 0.6 s are over" in told
    assert "The run's time is up" in told  # by the clock, not by searches that gave up


async def test_cancelling_stops_at_once_and_still_reports(endpoints: Endpoints) -> None:
    token, events = CancellationToken(), list[AgentEvent]()
    hanging = FaultPlan(dead={"clinicaltrials": "hang"})
    chosen = settings(research__search_timeout=120)
    with FaultyServer(faults=hanging) as slow:
        async with asyncio.timeout(100):  # the hanging source would hold it for 120
            async for event in research_stream(
                QUESTION, settings=chosen, endpoints=Endpoints.at(slow.url), cancellation_token=token
            ):
                events.append(event)
                if event.type == "search_complete":
                    token.cancel()

    assert types_of(events)[-2:] == ["error", "complete"]
    assert events[-1].data.stop_reason == "cancelled"


class SlowReadings(Readings):
    """Read until a record is done, and the next text only once reading is stopped."""

    name, version = "slow", "1"

    def __init__(self) -> None:
        super().__init__(self)
        self.texts, self.began, self.stopped = 0, threading.Event(), threading.Event()

    def read_document(self, document: Document, drug: str, condition: str, key: str = "") -> Reading:
        if self.done:
            self.began.set()
            self.stopped.wait(60)
        self.texts += self.began.is_set()
        return load_reader().read_document(document, drug, condition, key)

    def stop(self) -> None:
        super().stop()
        self.stopped.set()


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> SlowReadings:
    slow = SlowReadings()
    monkeypatch.setattr(course, "Readings", lambda _, corrections: slow)
    monkeypatch.setattr(context, "READERS", 1)
    return slow


async def test_a_stop_while_records_are_read_leaves_the_rest_unread_and_the_report_counts_them(
    slow: SlowReadings, endpoints: Endpoints
) -> None:
    token, counted = CancellationToken(), list[str]()
    async for event in research_stream(QUESTION, settings=settings(), endpoints=endpoints, cancellation_token=token):
        if event.type == "streaming":
            counted.append(event.message)
            token.cancel()

    report = event.report
    assert report is not None
    assert report.stop_reason == "cancelled"
    assert report.unread > 0
    assert slow.texts <= 1  # the one that was being read, if any
    stood = f"{report.total_papers_reviewed} of {report.total_papers_reviewed + report.unread} records read"
    assert f"the run was stopped with {stood}" in report.to_markdown()
    assert re.fullmatch(r"read \d+ of \d+", counted[0])
    assert "was found" not in report.summary_parts[0].text


async def test_a_cancelled_task_leaves_the_rest_unread(slow: SlowReadings, endpoints: Endpoints) -> None:
    task = asyncio.create_task(research(QUESTION, settings=settings(), endpoints=endpoints))
    assert await asyncio.to_thread(slow.began.wait, 60)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.get_running_loop().shutdown_default_executor()  # waits for what is still read

    assert slow.texts == 1


@pytest.mark.parametrize(
    ("question", "model"),
    [*((said, "baseline") for said in ("", "   ", "\x00" * 50, "x" * 2001, "x" * 1_000_000)), (QUESTION, "nobody")],
    ids=["empty", "blank", "invisible", "too-long", "1 MB", "no such model"],
)
async def test_what_cannot_be_asked_is_refused_before_anything_starts(
    question: str, model: str, sources: SourceServer
) -> None:
    before = len(sources.requests)
    with pytest.raises(UsageError):
        await research(question, settings=settings(llm__model=model), endpoints=Endpoints.at(sources.url))
    assert len(sources.requests) == before


async def test_everything_is_closed_when_the_stream_is_left_early(endpoints: Endpoints) -> None:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ResourceWarning)
        events = research_stream(QUESTION, settings=settings(), endpoints=endpoints)
        async for event in events:
            if event.type == "search_complete":
                break
        await events.aclose()
        gc.collect()
        await asyncio.sleep(0)
    assert [w for w in warned if issubclass(w.category, ResourceWarning)] == []


@pytest.mark.whole
async def test_a_run_asks_little_and_nothing_twice_and_says_how_much_it_read() -> None:
    log = ExchangeLog()
    report = await research(QUESTION, offline=True, recorder=log)

    assert len(log.exchanges) <= 60  # for the question that `make demo` asks
    assert [request for request, times in Counter(each.request for each in log.exchanges).items() if times > 1] == []
    assert "hits were read" in report.executive_summary
    assert "; all " in report.executive_summary


async def test_a_state_holds_what_the_report_was_made_of(endpoints: Endpoints) -> None:
    chosen = settings(research__judge_threshold=1.0)
    with Ledger(None) as ledger:
        report = await research(QUESTION, settings=chosen, endpoints=endpoints, ledger=ledger, run_id="one")
        state, earlier = state_of(ledger, "one"), state_of(ledger, "one", iteration=1)

    assert (state.query_id, state.question, state.iteration) == ("one", QUESTION, report.search_iterations)
    assert (len(state.evidence), len(state.search_history)) == (report.flow.screened, len(report.search_log))
    assert (state.tokens_used, state.stop_reason) == (report.tokens_used, report.stop_reason)
    assert state.created_at <= state.updated_at
    assert [verdict.iteration for verdict in state.assessments] == list(range(1, report.search_iterations + 1))
    assert (earlier.iteration, len(earlier.assessments)) == (1, 1)
    assert ResearchState.model_validate_json(state.model_dump_json()) == state


# --- hooks ---


@pytest.fixture
def no_chembl() -> Iterator[Endpoints]:
    with FaultyServer(faults=FaultPlan(dead={"chembl": "reset"})) as server:
        yield Endpoints.at(server.url)


@pytest.mark.whole
async def test_hooks_get_the_runs_events_and_one_that_fails_is_told(no_chembl: Endpoints) -> None:
    seen: list[AgentEvent] = []

    async def note(event: AgentEvent) -> None:
        seen.append(event)

    async def broken(event: AgentEvent) -> None:
        if event.type == "searching":
            raise ValueError("what it knows stays unsaid")

    quick = settings(research__max_results_per_tool=50, research__search_timeout=5)
    stream = research_stream(QUESTION, settings=quick, endpoints=no_chembl, hooks=[broken, note])
    events = [event async for event in stream]
    report = events[-1].report

    told = "a hook failed on searching: ValueError"
    assert report is not None
    others = [event for event in events if event.message != told and event.type != "searching"]
    assert [event for event in seen if event.type != "searching"] == others
    searches = [event for event in seen if event.type == "searching"]
    assert {(event.agent, event.message) for event in searches} == {
        (event.agent, event.message) for event in events if event.type == "searching"
    }
    assert [event for event in searches if not event.call] == []
    assert [event.message for event in events].count(told) == len(searches) > 0
    replies = [event.data for event in seen if event.type == "search_complete"]
    from_chembl = [each for each in replies if isinstance(each, SourceReply) and each.source == "chembl"]
    assert [each for each in from_chembl if each.warnings], from_chembl
    turns = [event for event in seen if event.tokens is not None]
    assert {event.agent for event in turns} == {"literature", "trials", "mechanism", "judge", "report"}
    assert sum(event.tokens for event in turns) == report.tokens_used > 0
    assert report.references


async def test_a_hook_that_hangs_is_left_behind(endpoints: Endpoints, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hangs(event: AgentEvent) -> None:
        await asyncio.sleep(60 if event.type == "started" else 0)

    monkeypatch.setattr(hooks, "HOOK_TIMEOUT_S", 0.01)
    stream = research_stream(QUESTION, settings=settings(), endpoints=endpoints, hooks=[hangs])
    events = [await anext(stream), await anext(stream)]
    await stream.aclose()
    assert [event.message for event in events] == [QUESTION, "a hook failed on started: TimeoutError"]


async def asked_sources(**options: Any) -> tuple[list[str], int, ResearchReport]:
    """The sources of a run's exchanges in their order, how many requests were sent twice, and the report."""
    log = ExchangeLog()
    with SourceServer(latency_s=0.02) as server:
        chosen = settings(research__judge_threshold=1.0)
        report = await research(QUESTION, settings=chosen, endpoints=Endpoints.at(server.url), recorder=log, **options)
    requests = [exchange.request for exchange in log.exchanges]
    return [exchange.source for exchange in log.exchanges], len(requests) - len(set(requests)), report


async def test_candidates_are_looked_up_while_the_next_round_searches_and_the_report_is_the_same() -> None:
    async def refuse_nothing(event: AgentEvent) -> None: ...

    names, repeated, report = await asked_sources()
    late_names, _, late = await asked_sources(hooks=[refuse_nothing])
    before = names[: names.index("chembl")].count("clinicaltrials")
    assert before < late_names[: late_names.index("chembl")].count("clinicaltrials")  # hooks may refuse the call
    assert repeated == 0
    assert without_clock(report) == without_clock(late)
