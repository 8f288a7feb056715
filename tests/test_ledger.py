"""The ledger as a file: what it keeps, what it refuses, and what happens when it cannot be written."""

import json
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import QUESTION
from pydantic import SecretStr

from willowbark.teams.config import Settings
from willowbark.teams.ledger import Journal, Ledger, LedgerError, Model
from willowbark.teams.ledger.database import MIGRATIONS
from willowbark.teams.research_team import ResearchTeam
from willowbark.teams.resume import resume
from willowbark.teams.run import research, research_stream
from willowbark.tools.endpoints import Endpoints
from willowbark.tools.errors import SourceRefused, SourceUnavailable
from willowbark.tools.sandbox.faults import Fault, FaultPlan
from willowbark.tools.sandbox.server import SandboxServer
from willowbark.tools.transport import Exchange
from willowbark.tools.wire import WireReply

CANARY = "canary0123456789abcdef"
MODEL = Model("baseline", "baseline", {})


@pytest.fixture(scope="module")
def sandbox() -> Iterator[SandboxServer]:
    with SandboxServer() as server:
        yield server


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".willowbark" / "ledger.db"


def settings(**changes: Any) -> Settings:
    quick = {"research.max_iterations": 1, "research.max_results_per_tool": 5, "research.search_timeout": 5}
    return Settings().overridden({**quick, **changes})


def started(ledger: Ledger, run_id: str = "one") -> Any:
    return ledger.start(
        QUESTION, settings=settings().model_dump(mode="json"), model=MODEL, sandboxed=True, run_id=run_id
    )


def exchange(body: bytes = b"{}", error: str | None = None, status: int = 200) -> Exchange:
    return Exchange("pubmed", "GET", "https://x/y", 1, status, 0.1, len(body), error, body, "application/json", "r1")


# --- what it keeps ---


async def test_a_run_is_listed_with_what_it_took(sandbox: SandboxServer, path: Path) -> None:
    before = len(sandbox.requests)
    with Ledger(path) as ledger:
        endpoints = Endpoints.sandbox(sandbox.url)
        report = await research(QUESTION, settings=settings(), endpoints=endpoints, ledger=ledger, run_id="one")
        (run,) = ledger.runs()

        assert (run.run_id, run.status, run.stop_reason, run.rounds) == ("one", "complete", report.stop_reason, 1)
        assert run.requests == len(sandbox.requests) - before
        assert (run.tokens, run.cost_usd) == (report.tokens_used, 0.0)
        assert ledger.report("one") == json.loads(report.to_json())


async def test_every_turn_is_kept_with_a_state_that_a_fresh_team_loads(sandbox: SandboxServer, path: Path) -> None:
    endpoints = Endpoints.sandbox(sandbox.url)
    with Ledger(path) as ledger:
        await research(QUESTION, settings=settings(), endpoints=endpoints, ledger=ledger, run_id="one")
        turns = ledger.journal("one").lived
        states = [ledger.journal("one").state(number) for number in range(len(turns))]

    assert [turn.source for turn in turns[-2:]] == ["judge", "report"]
    assert {turn.source for turn in turns[:-2]} == {"literature", "trials", "mechanism"}
    for state in states:
        assert state is not None
        await ResearchTeam().load_state(state)


async def test_a_path_is_opened_for_the_run_and_closed_after_it(sandbox: SandboxServer, path: Path) -> None:
    await research(QUESTION, settings=settings(), endpoints=Endpoints.sandbox(sandbox.url), ledger=path)
    assert [file.name for file in path.parent.iterdir() if file.is_file()] == ["ledger.db"]


def test_replies_come_back_and_failures_do_not_until_the_run_is_lived_again(path: Path) -> None:
    with Ledger(path) as ledger:
        with started(ledger) as journal:
            assert journal.recall("pubmed", "r1") is None
            journal.gave_up("r1", SourceRefused("pubmed", "refused the request (400)"))
            assert journal.recall("pubmed", "r1") is None
            journal.exchanged(exchange(b"[1]"))
        with ledger.reopen("one") as again:
            first, second = again.recall("pubmed", "r1"), again.recall("pubmed", "r1")

    assert isinstance(first, SourceRefused)
    assert isinstance(second, WireReply)
    assert (second.status, second.body, second.headers["content-type"]) == (200, b"[1]", "application/json")


def test_a_reply_that_could_not_be_read_is_not_given_again(path: Path) -> None:
    with Ledger(path) as ledger, started(ledger) as journal:
        journal.exchanged(exchange(b"<html>", error="answered with a web page instead of data"))
        assert journal.recall("pubmed", "r1") is None


def test_replaying_what_is_not_there_fails_instead_of_asking(path: Path) -> None:
    with Ledger(path) as ledger:
        with started(ledger):
            pass
        found = ledger.journal("one").recall("pubmed", "r1")
    assert isinstance(found, SourceUnavailable)


# --- replies of other runs ---


@pytest.mark.parametrize(("fresh", "asked_again"), [(False, False), (True, True)], ids=["reused", "fresh"])
async def test_what_another_run_asked_lately_is_not_asked_again(path: Path, fresh: bool, asked_again: bool) -> None:
    with SandboxServer() as server:
        public = Endpoints.sandbox(server.url).model_copy(update={"sandboxed": False})
        await research(QUESTION, settings=settings(), endpoints=public, ledger=path)
        before = len(server.requests)
        await research(QUESTION, settings=settings(), endpoints=public, ledger=path, fresh=fresh, run_id="two")
        assert (len(server.requests) > before) == asked_again


def test_a_reply_that_is_too_old_is_asked_again(path: Path) -> None:
    with Ledger(path) as ledger:
        with started(ledger) as journal:
            journal.exchanged(exchange())
        with started(ledger, "two") as other:
            other.reuse = True
            assert isinstance(other.recall("pubmed", "r1"), WireReply)
        ledger._database.execute("UPDATE exchange SET at = '2020-01-01T00:00:00+00:00'")
        with started(ledger, "three") as late:
            late.reuse = True
            assert late.recall("pubmed", "r1") is None


def test_forgetting_a_run_leaves_what_others_hold(path: Path) -> None:
    with Ledger(path) as ledger:
        for name in ("one", "two"):
            with started(ledger, name) as journal:
                journal.exchanged(exchange(b"shared"))
        ledger.forget("one")
        ledger.verify("two")
        assert isinstance(ledger.journal("two").recall("pubmed", "r1"), WireReply)
        ledger.forget("two")
        counts = [ledger._database.execute(f"SELECT count(*) FROM {t}").fetchone() for t in ("run", "exchange", "body")]
        assert counts == [(0,), (0,), (0,)]


def test_a_run_that_is_worked_on_is_not_forgotten(path: Path) -> None:
    with Ledger(path) as ledger, Ledger(path) as other, started(ledger), pytest.raises(LedgerError, match="worked on"):
        other.forget("one")


# --- what it refuses ---


@pytest.mark.parametrize("run_id", ["../x", "A", "", "a" * 65, "a/b", "x\n"])
def test_a_run_id_that_is_none_is_refused(run_id: str, path: Path) -> None:
    with Ledger(path) as ledger:
        if run_id:
            with pytest.raises(LedgerError, match="is no run id"), started(ledger, run_id):
                pass
        with pytest.raises(LedgerError, match="there is no run"):
            ledger.run(run_id)


def test_a_run_id_is_given_once(path: Path) -> None:
    with Ledger(path) as ledger:
        with started(ledger):
            pass
        with pytest.raises(LedgerError, match="already"), started(ledger):
            pass


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE body SET data = x'789c030000000001'",
        "UPDATE body SET data = x'00'",
        "UPDATE model_call SET answer = x'00'",
        "UPDATE turn SET message = x'00'",
        "UPDATE turn SET state = x'00'",
        "UPDATE run SET report = x'00'",
    ],
)
async def test_edited_rows_are_refused(edit: str, sandbox: SandboxServer, path: Path) -> None:
    endpoints = Endpoints.sandbox(sandbox.url)
    with Ledger(path) as ledger:
        await research(QUESTION, settings=settings(), endpoints=endpoints, ledger=ledger, run_id="one")
        ledger._database.execute("UPDATE run SET status = 'cancelled'")
        ledger._database.execute(edit)
        with pytest.raises(LedgerError, match="not what was written"):
            await resume("one", ledger, endpoints=endpoints)


def test_a_file_that_is_no_database_is_left_as_it_is(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"something else entirely" * 100)
    with pytest.raises(LedgerError, match=r"is damaged .* move it away"):
        Ledger(path)
    assert path.read_bytes() == b"something else entirely" * 100


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LedgerError, match=r"ledger .*file/ledger\.db"):
        Ledger(tmp_path / "file" / "ledger.db")


def test_a_ledger_of_a_newer_version_is_refused(path: Path) -> None:
    Ledger(path).close()
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA user_version={len(MIGRATIONS) + 1}")
    database.close()
    with pytest.raises(LedgerError, match="newer Willowbark"):
        Ledger(path)


def test_an_older_schema_is_brought_up_and_keeps_its_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger(path) as ledger, started(ledger):
        pass
    newer = (*MIGRATIONS, "ALTER TABLE run ADD COLUMN note TEXT")
    monkeypatch.setattr("willowbark.teams.ledger.database.MIGRATIONS", newer)
    with Ledger(path) as ledger:
        assert [run.run_id for run in ledger.runs()] == ["one"]
        assert ledger._database.execute("SELECT note FROM run").fetchall() == [(None,)]
        assert ledger._database.execute("PRAGMA user_version").fetchone() == (2,)


def test_a_locked_ledger_says_so(path: Path) -> None:
    Ledger(path).close()
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("BEGIN IMMEDIATE")
    ledger = Ledger(path, busy_timeout_s=0.05)
    with pytest.raises(LedgerError, match="in use by another program"), started(ledger):
        pass
    ledger.close()
    database.close()


# --- when it can no longer be written ---


async def test_a_full_disk_ends_the_run_in_words_and_loses_nothing(sandbox: SandboxServer, path: Path) -> None:
    endpoints = Endpoints.sandbox(sandbox.url)
    with Ledger(path) as ledger:
        pages = ledger._database.execute("PRAGMA page_count").fetchone()[0]
        ledger._database.execute(f"PRAGMA max_page_count={pages + 30}")
        stream = research_stream(QUESTION, settings=settings(), endpoints=endpoints, ledger=ledger, run_id="one")
        events = [event async for event in stream]
        assert [event.type for event in events[-2:]] == ["error", "complete"]
        assert "the disk is full" in events[-2].message
        assert ledger.run("one").status == "interrupted"
        assert ledger._database.execute("PRAGMA integrity_check").fetchone() == ("ok",)

        ledger._database.execute("PRAGMA max_page_count=1000000")
        report = await resume("one", ledger, endpoints=endpoints)
        assert report.stop_reason == "max_iterations_reached"


# --- secrets ---


async def test_a_key_is_nowhere_in_the_ledger(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCBI_API_KEY", CANARY)
    refused = FaultPlan(faults=(Fault(kind="status", status=429, source="pubmed", times=3),))
    with SandboxServer(faults=refused) as server:
        endpoints = Endpoints.sandbox(server.url)
        pubmed = endpoints["pubmed"].model_copy(update={"key": SecretStr(CANARY)})
        keyed = endpoints.model_copy(update={"by_source": {**endpoints.by_source, "pubmed": pubmed}})
        await research(QUESTION, settings=settings(), endpoints=keyed, ledger=path)

    database = sqlite3.connect(path)
    for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        for row in database.execute(f"SELECT * FROM {table}"):
            for value in row:
                assert CANARY not in _readable(value)
    database.close()


def _readable(value: object) -> str:
    if isinstance(value, bytes):
        return zlib.decompress(value).decode("utf-8", "replace")
    return str(value)


def test_a_journal_takes_note_of_nothing_while_replaying(path: Path) -> None:
    with Ledger(path) as ledger:
        with started(ledger):
            pass
        replaying: Journal = ledger.journal("one")
        replaying.exchanged(exchange())
        assert ledger.run("one").requests == 0
