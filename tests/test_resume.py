"""Runs that are killed and resumed, stopped and resumed, replayed: the same report, nothing asked twice."""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

import pytest
from autogen_core import CancellationToken
from builders import QUESTION

from willowbark.agents.report import ResearchReport
from willowbark.teams.config import Settings
from willowbark.teams.ledger import Ledger, LedgerError
from willowbark.teams.resume import replay, resume
from willowbark.teams.run import research, research_stream
from willowbark.tools.endpoints import Endpoints
from willowbark.tools.sandbox.faults import Fault, FaultPlan
from willowbark.tools.sandbox.server import SandboxServer

HERE = Path(__file__).parent
PROGRAM = HERE / "run_and_be_killed.py"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[SandboxServer]:
    with SandboxServer() as server:
        yield server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".willowbark" / "ledger.db"


def settings(**changes: Any) -> Settings:
    quick = {"research__max_iterations": 2, "research__max_results_per_tool": 5, "research__search_timeout": 5}
    return Settings().overridden({name.replace("__", "."): value for name, value in {**quick, **changes}.items()})


def without_clock(report: ResearchReport | dict[str, Any]) -> dict[str, Any]:
    dumped = json.loads(json.dumps(report) if isinstance(report, dict) else report.to_json())
    dumped["generated_at"] = None
    for entry in dumped["search_log"]:
        entry["asked_at"] = None
    return cast(dict[str, Any], dumped)


def program(sandbox: SandboxServer, path: Path, number: int, *more: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "WILLOWBARK_SANDBOX_URL": sandbox.url, "PYTHONPATH": str(HERE)}
    command = [sys.executable, str(PROGRAM), str(path), str(number), *more]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)


def asked(sandbox: SandboxServer, since: int) -> set[tuple[str, str]]:
    """Path and parameters of what reached the server by GET, whatever the encoding."""
    seen = [r for r in sandbox.requests[since:] if r.method == "GET"]
    return {(f"/{r.source}/{r.path}", str(sorted(parse_qsl(r.query)))) for r in seen}


def committed(path: Path) -> set[tuple[str, str]]:
    """The same of what the ledger holds a reply to."""
    with sqlite3.connect(path) as database:
        urls = database.execute("SELECT url FROM exchange WHERE error IS NULL AND method = 'GET'").fetchall()
    database.close()
    return {(urlsplit(url).path, str(sorted(parse_qsl(urlsplit(url).query)))) for (url,) in urls}


@pytest.fixture(scope="module")
def unkilled(sandbox: SandboxServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    done = program(sandbox, tmp_path_factory.mktemp("whole") / "ledger.db", 0)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("share", [0.0, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 1.0])
def test_a_killed_run_goes_on_where_it_was(
    share: float, sandbox: SandboxServer, path: Path, unkilled: dict[str, Any]
) -> None:
    killed = program(sandbox, path, max(1, round(share * unkilled["commits"])))
    assert killed.returncode == -9
    with Ledger(path) as ledger:
        assert ledger.run("the-run").status == "interrupted"
        answered = ledger.run("the-run").model_calls
    known, before = committed(path), len(sandbox.requests)

    resumed = program(sandbox, path, 0, "resume")
    assert resumed.returncode == 0, resumed.stderr
    found = json.loads(resumed.stdout)

    assert without_clock(found["report"]) == without_clock(unkilled["report"])
    assert found["model_calls"] == unkilled["model_calls"] - answered
    assert not known & asked(sandbox, before)


def test_what_is_compared_between_server_and_ledger_is_the_same(sandbox: SandboxServer, path: Path) -> None:
    before = len(sandbox.requests)
    program(sandbox, path, 0)
    assert committed(path) == asked(sandbox, before)


async def test_a_replay_asks_nobody_and_gives_the_same_report(sandbox: SandboxServer, path: Path) -> None:
    with Ledger(path) as ledger:
        endpoints = Endpoints.sandbox(sandbox.url)
        report = await research(QUESTION, settings=settings(), endpoints=endpoints, ledger=ledger, run_id="one")
        before = len(sandbox.requests)
        again = await replay("one", ledger)

    assert len(sandbox.requests) == before
    assert without_clock(again) == without_clock(report)


async def test_a_replay_meets_the_same_failures() -> None:
    faults = FaultPlan(faults=(Fault(kind="status", status=500, source="europepmc"),))
    with SandboxServer(faults=faults) as broken, Ledger(None) as ledger:
        endpoints = Endpoints.sandbox(broken.url)
        report = await research(QUESTION, settings=settings(), endpoints=endpoints, ledger=ledger, run_id="one")
        again = await replay("one", ledger)

    assert any("europepmc" in line for line in report.limitations)
    assert without_clock(again) == without_clock(report)


async def cancelled(sandbox: SandboxServer, ledger: Ledger, **changes: Any) -> ResearchReport:
    """A run that is cancelled at the first verdict."""
    token = CancellationToken()
    async for event in research_stream(
        QUESTION,
        settings=settings(research__judge_threshold=1.0, **changes),
        endpoints=Endpoints.sandbox(sandbox.url),
        cancellation_token=token,
        ledger=ledger,
        run_id="one",
    ):
        if event.type == "judge_complete":
            token.cancel()
    return cast(ResearchReport, event.data)


async def test_a_cancelled_run_can_be_resumed(sandbox: SandboxServer, path: Path) -> None:
    with Ledger(path) as ledger:
        partial = await cancelled(sandbox, ledger)
        assert (partial.stop_reason, ledger.run("one").status) == ("cancelled", "cancelled")
        report = await resume("one", ledger, endpoints=Endpoints.sandbox(sandbox.url))
        assert ledger.run("one").status == "complete"

    assert report.stop_reason == "max_iterations_reached"


async def test_a_replay_of_a_cancelled_run_gives_its_partial_report(sandbox: SandboxServer) -> None:
    with Ledger(None) as ledger:
        partial = await cancelled(sandbox, ledger)
        assert without_clock(await replay("one", ledger)) == without_clock(partial)


async def test_time_goes_on_where_it_was_and_waiting_does_not_count(sandbox: SandboxServer) -> None:
    with Ledger(None) as ledger:
        await cancelled(sandbox, ledger)
        spent_s = ledger.run("one").spent_s
        await asyncio.sleep(0.5)
        await resume("one", ledger, endpoints=Endpoints.sandbox(sandbox.url))
        assert ledger.run("one").spent_s > spent_s

        ledger._database.execute("UPDATE run SET status = 'cancelled', spent_s = 1000")
        late = await resume("one", ledger, endpoints=Endpoints.sandbox(sandbox.url))
        assert late.stop_reason == "timeout"


async def test_a_run_is_resumed_by_one_at_a_time(sandbox: SandboxServer, path: Path) -> None:
    endpoints = Endpoints.sandbox(sandbox.url)
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


async def test_a_complete_run_is_not_resumed(sandbox: SandboxServer) -> None:
    endpoints = Endpoints.sandbox(sandbox.url)
    with Ledger(None) as ledger:
        await research(QUESTION, settings=settings(), endpoints=endpoints, ledger=ledger, run_id="one")
        with pytest.raises(LedgerError, match="is complete"):
            await resume("one", ledger, endpoints=endpoints)


async def test_a_run_on_the_sandbox_is_not_resumed_on_the_public_sources(sandbox: SandboxServer) -> None:
    with Ledger(None) as ledger:
        await cancelled(sandbox, ledger)
        with pytest.raises(LedgerError, match="was asked of a sandbox"):
            await resume("one", ledger, endpoints=Endpoints.public({}))
