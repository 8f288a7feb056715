"""The ledger as a file: what it keeps and refuses. Full disks, locks and permissions are F9 of the fault matrix."""

import json
import sqlite3
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from autogen_agentchat.messages import TextMessage
from autogen_core.models import RequestUsage
from builders import QUESTION, short_run
from faults.server import SourceServer
from pydantic import BaseModel

from willowbark.teams.config import Settings
from willowbark.teams.ledger import Ledger, LedgerError, Model
from willowbark.teams.run.research import research, research_stream, resume
from willowbark.tools.errors import SourceRefused, SourceUnavailable
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.reply import Reply
from willowbark.tools.http.transport import Exchange

MODEL = Model("baseline", "baseline", {})


class Ended(BaseModel):
    """A report, as far as a ledger looks at one."""

    title: str = ""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".willowbark" / "ledger.db"


def settings() -> Settings:
    return short_run(research__max_iterations=1)


def started(ledger: Ledger, run_id: str = "one", **more: Any) -> Any:
    return ledger.start(
        QUESTION, settings=settings().model_dump(mode="json"), model=MODEL, sandboxed=True, run_id=run_id, **more
    )


def exchange(body: bytes = b"{}", error: str | None = None, status: int = 200) -> Exchange:
    return Exchange("pubmed", "GET", "https://x/y", 1, status, 0.1, error, body, "application/json", "r1")


# --- what it keeps ---


async def test_a_run_is_listed_with_what_it_took(sources: SourceServer, path: Path) -> None:
    before = len(sources.requests)
    with Ledger(path) as ledger:
        endpoints = Endpoints.at(sources.url)
        report = await research(QUESTION, settings=settings(), endpoints=endpoints, ledger=ledger, run_id="one")
        (run,) = ledger.runs()

        assert (run.run_id, run.status, run.stop_reason, run.rounds) == ("one", "complete", report.stop_reason, 1)
        assert run.requests == len(sources.requests) - before
        assert (run.tokens, run.cost_usd) == (report.tokens_used, 0.0)
        assert ledger.report("one") == json.loads(report.to_json())


async def test_a_path_is_opened_for_the_run_and_closed_after_it(sources: SourceServer, path: Path) -> None:
    await research(QUESTION, settings=settings(), endpoints=Endpoints.at(sources.url), ledger=path)
    assert sorted(file.name for file in path.parent.iterdir() if file.is_file()) == ["ledger.db", "studies.db"]


def test_replies_come_back_and_failures_do_not_until_the_run_is_lived_again(path: Path) -> None:
    with Ledger(path) as ledger:
        with started(ledger) as journal:
            assert journal.recall("pubmed", "r1") is None
            journal.gave_up("r1", SourceRefused("pubmed", "refused the request (400)"))
            journal.exchanged(exchange(b"<html>", error="answered with a web page instead of data"))
            assert journal.recall("pubmed", "r1") is None
            journal.exchanged(exchange(b"[1]"))
        with ledger.reopen("one") as again:
            first, second = again.recall("pubmed", "r1"), again.recall("pubmed", "r1")

    assert isinstance(first, SourceRefused)
    assert isinstance(second, Reply)
    assert (second.status, second.body, second.headers["content-type"]) == (200, b"[1]", "application/json")


def test_replaying_what_is_not_there_fails_instead_of_asking_and_keeps_nothing(path: Path) -> None:
    with Ledger(path) as ledger:
        with started(ledger):
            pass
        replaying = ledger.journal("one")
        replaying.exchanged(exchange())
        assert isinstance(replaying.recall("pubmed", "r1"), SourceUnavailable)
        assert ledger.run("one").requests == 0


# --- replies of other runs ---


@pytest.mark.parametrize(("fresh", "asked_again"), [(False, False), (True, True)], ids=["reused", "fresh"])
async def test_what_another_run_asked_lately_is_not_asked_again(path: Path, fresh: bool, asked_again: bool) -> None:
    with SourceServer() as server:
        public = Endpoints.at(server.url).model_copy(update={"is_public": True})
        await research(QUESTION, settings=settings(), endpoints=public, ledger=path)
        before = len(server.requests)
        await research(QUESTION, settings=settings(), endpoints=public, ledger=path, fresh=fresh, run_id="two")
        assert (len(server.requests) > before) == asked_again


@pytest.mark.parametrize(
    ("source", "days", "fresh"),
    [
        ("pubmed", 0.9, True),
        ("pubmed", 1.1, False),
        ("chembl", 29.0, True),
        ("chembl", 31.0, False),
        ("somewhere", 0.1, False),
    ],
)
def test_how_long_a_reply_is_good_for_other_runs_depends_on_its_source(
    source: str, days: float, fresh: bool, path: Path
) -> None:
    with Ledger(path) as ledger:
        with started(ledger) as journal:
            journal.exchanged(replace(exchange(), source=source))
        when = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        ledger.connection.execute("UPDATE exchange SET at = ?", (when,))
        with started(ledger, "two", reuse=True) as other:
            assert (other.recall(source, "r1") is not None) == fresh


def test_a_reply_taken_over_keeps_its_age_and_outlives_the_run_that_asked(path: Path) -> None:
    with Ledger(path) as ledger:
        with started(ledger) as journal:
            journal.exchanged(exchange(b"[0]"))
            journal.exchanged(exchange(b"[1]"))  # of another run the latest counts
        with started(ledger, "two", reuse=True) as other:
            other.recall("pubmed", "r1")
        ledger.forget("one")
        ledger.verify("two")
        reply = ledger.journal("two").recall("pubmed", "r1")
        ages = ledger.connection.execute("SELECT attempt FROM exchange").fetchall()

    assert isinstance(reply, Reply)
    assert (reply.body, ages) == (b"[1]", [(0,)])


def test_forgetting_a_run_leaves_what_others_hold_and_nothing_else(path: Path) -> None:
    with Ledger(path) as ledger:
        for name in ("one", "two"):
            with started(ledger, name) as journal:
                journal.exchanged(exchange(b"shared"))
                journal.gave_up("r2", SourceRefused("pubmed", "refused the request (400)"))
                journal.keep_answer("m1", "baseline", Ended(title="yes"), RequestUsage(1, 1), 0.0)
                journal.keep_batch("m1", "batch_1")
                journal.keep_reading("s1", {"role": "tested"})
                journal.keep_turn(TextMessage(content="", source="judge"), 1)
        tables = [name for (name,) in ledger.query("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for run, left in (("one", 1), ("two", 0)):
            ledger.forget(run)
            rows = [ledger.query(f"SELECT count(*) FROM {name}") for name in tables]
            assert rows == [[(left,)]] * len(tables)
    assert [file.name for file in (path.parent / "locks").iterdir()] == []


def test_what_was_taken_from_a_store_is_committed_with_what_follows_from_it(path: Path) -> None:
    with Ledger(path) as ledger, started(ledger) as journal:
        journal.keep_reading("s1", {"role": "tested"})
        assert journal.find_reading("s1") is None
        journal.exchanged(exchange())
        assert journal.find_reading("s1") == {"role": "tested"}
        assert ledger.journal("one").find_reading("s2") is None


# --- what it refuses ---


@pytest.mark.parametrize("run_id", ["../x", "A", "", "a" * 65, "a/b", "x\n"])
def test_a_run_id_that_is_none_is_refused(run_id: str, path: Path) -> None:
    with Ledger(path) as ledger:
        if run_id:
            with pytest.raises(LedgerError, match="is not a run id"), started(ledger, run_id):
                pass
        with pytest.raises(LedgerError, match="there is no run"):
            ledger.run(run_id)


def test_a_commit_is_on_the_disk_when_the_run_goes_on_and_a_run_id_is_given_once(path: Path) -> None:
    with Ledger(path) as ledger:
        assert ledger.query("PRAGMA synchronous") == [(2,)]  # FULL
        with started(ledger):
            pass
        with pytest.raises(LedgerError, match="already"), started(ledger):
            pass


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE body SET data = x'789c030000000001'",
        "DELETE FROM body",
        "UPDATE model_call SET answer = x'00'",
        "UPDATE turn SET message = substr(message, 1, length(message) - 1)",
        "UPDATE run SET report = x'00'",
        "UPDATE run SET settings = x'00'",
    ],
)
async def test_contents_that_are_not_what_was_written_are_refused(edit: str, sources: SourceServer, path: Path) -> None:
    endpoints = Endpoints.at(sources.url)
    with Ledger(path) as ledger:
        await research(QUESTION, settings=settings(), endpoints=endpoints, ledger=ledger, run_id="one")
        ledger.connection.execute("UPDATE run SET status = 'cancelled'")
        ledger.connection.execute(edit)
        with pytest.raises(LedgerError, match="is damaged"):
            await resume("one", ledger, endpoints=endpoints)


def test_a_file_that_is_no_database_is_left_as_it_is(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"something else entirely" * 100)
    with pytest.raises(LedgerError, match=r"is damaged .* move it away"):
        Ledger(path)
    assert path.read_bytes() == b"something else entirely" * 100


@pytest.mark.parametrize(
    ("edit", "what"),
    [
        ("PRAGMA user_version=8", "of another version of Willowbark (schema 8, this one reads 9)"),
        ("PRAGMA user_version=0", "no ledger of Willowbark's"),
    ],
)
def test_a_ledger_of_another_version_and_a_foreign_database_are_refused_and_left_as_they_are(
    edit: str, what: str, path: Path
) -> None:
    with Ledger(path) as ledger:
        ledger.connection.execute(edit)
    before = path.read_bytes()
    with pytest.raises(LedgerError) as refused:
        Ledger(path)
    assert str(refused.value) == f"the ledger {path} is {what}; move it away, and a new one is made"
    assert path.read_bytes() == before


# --- when it can no longer be written ---


async def test_a_disk_that_is_full_at_the_very_end_is_told_beside_the_report(sources: SourceServer, path: Path) -> None:
    endpoints = Endpoints.at(sources.url)
    events = []
    with Ledger(path) as ledger:
        async for event in research_stream(
            QUESTION, settings=settings(), endpoints=endpoints, ledger=ledger, run_id="one"
        ):
            events.append(event)
            if event.type == "synthesizing":
                fill(ledger.connection)
        assert ledger.run("one").status == "interrupted"
        assert events[-1].type == "complete"
        assert [event for event in events if event.type == "error" and "the disk is full" in event.message], events

        ledger.connection.execute("PRAGMA max_page_count=1000000")
        report = await resume("one", ledger, endpoints=endpoints)
        assert ledger.run("one").status == "complete"
        assert [reference["key"] for reference in report.references]


def fill(database: sqlite3.Connection) -> None:
    """Leave the file no page to grow by."""
    database.execute(f"PRAGMA max_page_count={database.execute('PRAGMA page_count').fetchone()[0]}")


async def test_text_that_no_database_takes_ends_in_words(path: Path) -> None:
    with Ledger(path) as ledger, started(ledger) as journal:
        journal.exchanged(replace(exchange(), content_type="half a pair: \ud800"))
        assert journal.failure is not None
        assert "cannot be used" in str(journal.failure)
