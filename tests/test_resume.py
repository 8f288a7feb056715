"""Runs that are killed and resumed, stopped and resumed, replayed: the same report, nothing asked twice."""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

import pytest
from autogen_core import CancellationToken
from builders import QUESTION, without_clock
from faults.server import SourceServer

from willowbark.agents.judge import JudgeAgent
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import Settings
from willowbark.teams.ledger import Ledger, LedgerError
from willowbark.teams.run.research import research, research_stream
from willowbark.teams.run.resume import replay, resume
from willowbark.tools.http.endpoints import Endpoints

pytestmark = pytest.mark.whole

HERE = Path(__file__).parent
PROGRAM = HERE / "run_and_be_killed.py"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".willowbark" / "ledger.db"


def settings(**changes: Any) -> Settings:
    quick = {"research__max_iterations": 2, "research__max_results_per_tool": 5}
    return Settings().overridden({name.replace("__", "."): value for name, value in {**quick, **changes}.items()})


def program(sources: SourceServer, path: Path, when: str, *more: str) -> "subprocess.CompletedProcess[str]":
    environment = {
        **os.environ,
        "WILLOWBARK_LIBRARY__PATH": "bundled",
        "PYTHONPATH": f"{HERE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }
    command = [sys.executable, str(PROGRAM), str(path), when, *more]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


def asked(sources: SourceServer, since: int) -> set[tuple[str, str]]:
    """Path and parameters of what reached the server by GET, whatever the encoding."""
    seen = [r for r in sources.requests[since:] if r.method == "GET"]
    return {(f"/{r.source}/{r.path}", str(sorted(parse_qsl(r.query)))) for r in seen}


def rows(path: Path, statement: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute(statement).fetchall()


def committed(path: Path) -> set[tuple[str, str]]:
    """The same of what the ledger holds a reply to."""
    urls = rows(path, "SELECT url FROM exchange WHERE error IS NULL AND method = 'GET'")
    return {(urlsplit(url).path, str(sorted(parse_qsl(urlsplit(url).query)))) for (url,) in urls}


@pytest.fixture(scope="module")
def unkilled(sources: SourceServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("whole") / "ledger.db"
    done = program(sources, path, "never")
    assert done.returncode == 0, done.stderr
    assert committed(path) == asked(sources, 0)  # what is compared below is the same on both sides
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("what", "share"),
    [
        ("begun", 0.0),
        ("begun", 0.3),
        ("begun", 0.8),
        ("kept", 0.05),
        ("kept", 0.5),
        ("kept", 0.99),
    ],
)
def test_a_killed_run_goes_on_where_it_was(
    what: str, share: float, sources: SourceServer, path: Path, unkilled: dict[str, Any]
) -> None:
    number = max(3, round(share * unkilled["times"][what]))  # the run itself is the first thing to be kept
    while (killed := program(sources, path, f"{what}:{number}")).returncode == 0 or is_complete(path):
        path, number = path.with_name(f"{number}.db"), number // 2  # commits are shared: there were fewer this time
    assert killed.returncode == -9, killed.stderr
    with Ledger(path) as ledger:
        assert ledger.run("the-run").status == "interrupted"
        answered = ledger.run("the-run").model_calls
    known, before = committed(path), len(sources.requests)

    resumed = program(sources, path, "never", "resume")
    assert resumed.returncode == 0, resumed.stderr
    found = json.loads(resumed.stdout)

    assert without_clock(found["report"]) == without_clock(unkilled["report"])
    assert found["model_calls"] == unkilled["model_calls"] - answered
    assert not known & asked(sources, before)
    assert committed_twice(path) == []


def is_complete(path: Path) -> bool:
    return rows(path, "SELECT status FROM run") == [("complete",)]


def committed_twice(path: Path) -> list[Any]:
    """Requests that were answered more than once, those by POST told apart by what was sent."""
    return rows(path, "SELECT request, count(*) FROM exchange WHERE error IS NULL GROUP BY request HAVING count(*) > 1")


async def test_what_is_posted_is_kept_and_told_apart_by_its_body(sources: SourceServer, path: Path) -> None:
    await research(QUESTION, settings=settings(), endpoints=Endpoints.at(sources.url), ledger=path)
    posted = rows(path, "SELECT request, sent FROM exchange WHERE method = 'POST' AND source = 'opentargets'")

    assert len(posted) > 1
    assert all(json.loads(sent)["query"] for _, sent in posted)
    assert len({request for request, _ in posted}) == len({sent for _, sent in posted}) == len(posted)


async def cancelled(sources: SourceServer, ledger: Ledger, **changes: Any) -> ResearchReport:
    """A run that is cancelled at the first verdict."""
    token = CancellationToken()
    async for event in research_stream(
        QUESTION,
        settings=settings(research__judge_threshold=1.0, **changes),
        endpoints=Endpoints.at(sources.url),
        cancellation_token=token,
        ledger=ledger,
        run_id="one",
    ):
        if event.type == "judge_complete":
            token.cancel()
    return cast(ResearchReport, event.data)


async def test_a_cancelled_run_can_be_resumed(sources: SourceServer, path: Path) -> None:
    with Ledger(path) as ledger:
        partial = await cancelled(sources, ledger)
        assert (partial.stop_reason, ledger.run("one").status) == ("cancelled", "cancelled")
        report = await resume("one", ledger, endpoints=Endpoints.at(sources.url))
        assert ledger.run("one").status == "complete"

    assert report.stop_reason == "max_iterations_reached"


async def test_time_goes_on_where_it_was_and_waiting_does_not_count(sources: SourceServer) -> None:
    with Ledger(None) as ledger:
        await cancelled(sources, ledger)
        spent_s = ledger.run("one").spent_s
        await asyncio.sleep(0.5)
        await resume("one", ledger, endpoints=Endpoints.at(sources.url))
        assert ledger.run("one").spent_s > spent_s


async def test_a_run_that_stops_again_at_once_reports_what_it_had_before(sources: SourceServer) -> None:
    with Ledger(None) as ledger:
        partial = await cancelled(sources, ledger)
        ledger._database.connection.execute("UPDATE run SET spent_s = 1000")
        late = await resume("one", ledger, endpoints=Endpoints.at(sources.url))
        again = await replay("one", ledger)

    assert (partial.stop_reason, late.stop_reason) == ("cancelled", "timeout")
    assert late.references == partial.references != []
    assert without_clock(again) == without_clock(late)


async def test_a_report_that_was_written_is_not_lost_to_a_late_resume(sources: SourceServer) -> None:
    endpoints = Endpoints.at(sources.url)
    with Ledger(None) as ledger:
        report = await research(QUESTION, settings=settings(), endpoints=endpoints, ledger=ledger, run_id="one")
        # killed between the last turn and the end, and out of time since
        ledger._database.connection.execute("UPDATE run SET status = 'running', spent_s = 1000, report = NULL")
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
        await stream.aclose()
        assert other.run("one").status == "interrupted"
        await resume("one", other, endpoints=endpoints)


async def test_a_complete_run_is_not_resumed(sources: SourceServer) -> None:
    endpoints = Endpoints.at(sources.url)
    with Ledger(None) as ledger:
        await research(QUESTION, settings=settings(), endpoints=endpoints, ledger=ledger, run_id="one")
        with pytest.raises(LedgerError, match="is complete"):
            await resume("one", ledger, endpoints=endpoints)


async def test_a_run_on_another_server_is_not_resumed_on_the_public_sources(sources: SourceServer) -> None:
    with Ledger(None) as ledger:
        await cancelled(sources, ledger)
        with pytest.raises(LedgerError, match="was asked of another server"):
            await resume("one", ledger, endpoints=Endpoints.public({}))


HOLDING = """
import sys
from pathlib import Path
from willowbark.teams.ledger import Ledger, Model
model = Model("baseline", "baseline", {})
with Ledger(Path(sys.argv[1])) as ledger:
    with ledger.start("a question", settings={}, model=model, sandboxed=True, run_id="one"):
        print("held", flush=True)
        sys.stdin.read()
"""


def test_a_run_that_another_process_works_on_is_not_resumed(sources: SourceServer, path: Path) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", HOLDING, str(path)], text=True, **pipes) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with Ledger(path) as ledger:
            assert ledger.run("one").status == "running"
            with pytest.raises(LedgerError, match="being worked on by another process"):
                asyncio.run(resume("one", ledger, endpoints=Endpoints.at(sources.url)))
            with pytest.raises(LedgerError, match="being worked on by another process"):
                ledger.forget("one")
            other.kill()
            other.wait()
            assert ledger.run("one").status == "interrupted"


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
            broken = await research(
                QUESTION,
                settings=settings(research__judge_threshold=1.0),
                endpoints=endpoints,
                ledger=ledger,
                run_id="one",
            )
        assert (broken.stop_reason, ledger.run("one").status) == ("error", "failed")
        assert without_clock(await replay("one", ledger)) == without_clock(broken)
        before = len(sources.requests)
        report = await resume("one", ledger, endpoints=endpoints)

    assert without_clock(report) == without_clock(whole)
    assert len(sources.requests) - before < len(whole.references)
    assert committed_twice(path) == []
