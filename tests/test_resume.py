"""Stopped runs are resumed to the same report, asking nothing twice; a replay gives a run's own report and asks nobody.

Killed runs are F8 of the fault matrix.
"""

import json
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from autogen_core import CancellationToken
from builders import QUESTION, calling, scripted, without_clock
from builders import short_run as settings
from faults.breakage import FaultyServer
from faults.plan import Fault, FaultPlan
from faults.server import SourceServer

from willowbark.agents.judge import JudgeAgent
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.ledger import Ledger, LedgerError, journal
from willowbark.teams.run.research import replay, research, research_stream, resume
from willowbark.tools.http.endpoints import Endpoints

pytestmark = pytest.mark.whole


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".willowbark" / "ledger.db"


def rows(path: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(statement).fetchall()


def committed_twice(path: Path) -> list[Any]:
    """Requests that were answered more than once, those by POST told apart by what was sent."""
    return rows(path, "SELECT request, count(*) FROM exchange WHERE error IS NULL GROUP BY request HAVING count(*) > 1")


async def test_what_is_posted_is_kept_and_told_apart_by_its_body(sources: SourceServer, path: Path) -> None:
    await research(QUESTION, settings=settings(), endpoints=Endpoints.at(sources.url), ledger=path)
    posted = rows(path, "SELECT request, sent FROM exchange WHERE method = 'POST' AND source = 'opentargets'")

    assert len(posted) > 1
    assert [sent for _, sent in posted if not json.loads(sent)["query"]] == []
    assert len({request for request, _ in posted}) == len({sent for _, sent in posted}) == len(posted)


async def cancelled(sources: SourceServer, ledger: Ledger, **changes: Any) -> ResearchReport:
    """A run that is cancelled at the first verdict."""
    token = CancellationToken()
    chosen = settings(research__judge_threshold=1.0, **changes)
    asked: Any = {"cancellation_token": token, "ledger": ledger, "run_id": "one"}
    async for event in research_stream(QUESTION, settings=chosen, endpoints=Endpoints.at(sources.url), **asked):
        if event.type == "judge_complete":
            token.cancel()
    return cast(ResearchReport, event.data)


async def test_a_cancelled_run_can_be_resumed_and_its_time_goes_on(sources: SourceServer, path: Path) -> None:
    with Ledger(path) as ledger:
        partial, spent_s = await cancelled(sources, ledger), ledger.run("one").spent_s
        assert (partial.stop_reason, ledger.run("one").status) == ("cancelled", "cancelled")
        report = await resume("one", ledger, endpoints=Endpoints.at(sources.url))
        assert ledger.run("one").status == "complete"
        assert ledger.run("one").spent_s > spent_s > 0
        assert ledger.run("one").rounds == report.search_iterations  # no turn is kept twice
        with pytest.raises(LedgerError, match="is complete"):
            await resume("one", ledger, endpoints=Endpoints.at(sources.url))

    assert report.stop_reason == "max_iterations_reached"


async def test_a_run_that_stops_again_at_once_reports_what_it_had_before(sources: SourceServer) -> None:
    with Ledger(None) as ledger:
        partial = await cancelled(sources, ledger)
        ledger.connection.execute("UPDATE run SET spent_s = 1000")
        late = await resume("one", ledger, endpoints=Endpoints.at(sources.url))

    assert (partial.stop_reason, late.stop_reason) == ("cancelled", "timeout")
    assert late.references == partial.references != []


async def test_a_report_that_was_written_is_not_lost_to_a_late_resume(sources: SourceServer) -> None:
    endpoints = Endpoints.at(sources.url)
    with Ledger(None) as ledger:
        report = await research(QUESTION, settings=settings(), endpoints=endpoints, ledger=ledger, run_id="one")
        # killed between the last turn and the end, and out of time since
        ledger.connection.execute("UPDATE run SET status = 'running', spent_s = 1000, report = NULL")
        assert without_clock(await resume("one", ledger, endpoints=endpoints)) == without_clock(report)
        assert ledger.run("one").status == "complete"


async def test_a_run_is_resumed_by_one_at_a_time(sources: SourceServer, path: Path) -> None:
    endpoints = Endpoints.at(sources.url)
    with Ledger(path) as ledger, Ledger(path) as other:
        stream = research_stream(QUESTION, settings=settings(), endpoints=endpoints, ledger=ledger, run_id="one")
        await anext(stream)
        await anext(stream)
        assert other.run("one").status == "running"
        with pytest.raises(LedgerError, match="being worked on by another process"):
            await resume("one", other, endpoints=endpoints)
        with pytest.raises(LedgerError, match="being worked on by another process"):
            other.forget("one")
        await stream.aclose()
        assert other.run("one").status == "interrupted"
        await resume("one", other, endpoints=endpoints)


async def test_a_run_on_another_server_is_not_resumed_on_the_public_sources(sources: SourceServer) -> None:
    with Ledger(None) as ledger:
        await cancelled(sources, ledger)
        with pytest.raises(LedgerError, match="was asked of another server"):
            await resume("one", ledger, endpoints=Endpoints.public({}))


async def test_a_team_that_broke_is_lived_again(
    sources: SourceServer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoints = Endpoints.at(sources.url)
    whole = await research(QUESTION, settings=settings(research__judge_threshold=1.0), endpoints=endpoints)
    judged, rounds = JudgeAgent.on_messages_stream, []

    def breaking(self: JudgeAgent, *arguments: Any) -> Any:
        rounds.append(1)
        if len(rounds) == 2:
            raise RuntimeError("something unforeseen")
        return judged(self, *arguments)

    with Ledger(path) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(JudgeAgent, "on_messages_stream", breaking)
            chosen = settings(research__judge_threshold=1.0)
            broken = await research(QUESTION, settings=chosen, endpoints=endpoints, ledger=ledger, run_id="one")
        assert (broken.stop_reason, ledger.run("one").status) == ("error", "failed")
        before = len(sources.requests)
        report = await resume("one", ledger, endpoints=endpoints)

    assert without_clock(report) == without_clock(whole)
    assert len(sources.requests) - before < len(whole.references)
    assert committed_twice(path) == []


# --- replays ---


async def lived(server: SourceServer, ledger: Ledger, **options: Any) -> ResearchReport:
    return await research(QUESTION, endpoints=Endpoints.at(server.url), ledger=ledger, run_id="one", **options)


@pytest.mark.parametrize(
    ("plan", "told"),
    [
        (FaultPlan(), ""),
        (FaultPlan(dead={"europepmc": "hang"}), "europepmc"),
        (FaultPlan(seed=7, faults=(Fault(kind="reset", rate=0.2), Fault(kind="html", rate=0.1))), ""),
    ],
    ids=["nothing-fails", "a-source-times-out", "faults-all-over"],
)
async def test_a_replay_asks_nobody_and_meets_the_same_failures(plan: FaultPlan, told: str, path: Path) -> None:
    with FaultyServer(faults=plan) as broken, Ledger(path) as ledger:
        chosen = settings(research__max_iterations=1, research__search_timeout=5)
        report, before = await lived(broken, ledger, settings=chosen), len(broken.requests)
        again = await replay("one", ledger)
        assert len(broken.requests) == before

    assert told in "\n".join(report.limitations)
    assert without_clock(again) == without_clock(report)


@pytest.mark.parametrize("seconds", [0.2, 1, 3], ids=["at-once", "in-a-turn", "in-a-round"])
async def test_a_replay_of_a_run_that_ran_out_of_time_gives_its_report(seconds: float, path: Path) -> None:
    silent = FaultPlan(dead={"clinicaltrials": "hang"})
    late = settings(research__limits__max_seconds=seconds)
    with FaultyServer(faults=silent) as server, Ledger(path) as ledger:
        report = await lived(server, ledger, settings=late)
        again = await replay("one", ledger)
        ledger.connection.execute("UPDATE run SET status = 'running', report = NULL")  # as after a kill
        with pytest.raises(LedgerError, match="no report yet; `willowbark resume one` finishes it"):
            await replay("one", ledger)

    assert report.stop_reason == "timeout"
    assert without_clock(again) == without_clock(report)


async def test_a_replay_ends_with_the_verdict_that_time_forced(
    sources: SourceServer, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed_s = 0.0
    monkeypatch.setattr(journal, "time", SimpleNamespace(monotonic=lambda: time.monotonic() + passed_s))
    short = settings(research__judge_threshold=1.0, research__limits__max_seconds=10_000)
    with Ledger(path) as ledger:
        asked: Any = {"endpoints": Endpoints.at(sources.url), "ledger": ledger, "run_id": "one"}
        async for event in research_stream(QUESTION, settings=short, **asked):
            if event.type == "search_complete":
                passed_s = 9_500.0  # what is left is reserved for the report
        again = await replay("one", ledger)

    assert (event.report.stop_reason, event.report.search_iterations) == ("timeout", 1)
    assert without_clock(again) == without_clock(event.report)


async def test_a_replay_needs_no_model(sources: SourceServer, path: Path) -> None:
    searches = [calling("search_pubmed", "propranolol migraine")] * 3
    client = scripted(*searches, "It prevents some attacks.", "Nothing to add.", "junk", "junk")  # then it fails
    with Ledger(path) as ledger:
        report = await lived(sources, ledger, settings=settings(), model_client=client)
        asked, failed = ledger.run("one").model_calls, "SELECT count(*) FROM failure WHERE source = 'model'"
        again = await replay("one", ledger)
        failures = ledger.connection.execute(failed).fetchone()[0]

    assert (asked, failures > 0) == (7, True)  # which agent gets which answer is left to chance
    assert without_clock(again) == without_clock(report)


async def test_a_replay_gives_the_last_report_of_a_stopped_run_and_of_a_resumed_one(sources: SourceServer) -> None:
    with Ledger(None) as ledger:
        partial = await cancelled(sources, ledger)
        assert without_clock(await replay("one", ledger)) == without_clock(partial)

        report = await resume("one", ledger, endpoints=Endpoints.at(sources.url))
        again = await replay("one", ledger)

    assert (partial.stop_reason, report.stop_reason) == ("cancelled", "max_iterations_reached")
    assert without_clock(again) == without_clock(report)
