"""Commits are shared, kept in order, and waited for before anything else is asked."""

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from builders import QUESTION

from willowbark.teams.ledger import Ledger, Model
from willowbark.teams.ledger.writer import Writer
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.http.wire import HttpxWire

MODEL = Model("baseline", "baseline", {})


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    path = tmp_path / "some.db"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as opened:
        opened.execute("CREATE TABLE line (text TEXT NOT NULL)")
        yield opened


def adding(text: str | None) -> Any:
    return lambda database: database.execute("INSERT INTO line VALUES (?)", (text,))


def lines(database: sqlite3.Connection) -> list[str]:
    return [text for (text,) in database.execute("SELECT text FROM line ORDER BY rowid")]


def held_up(writer: Writer) -> threading.Event:
    """Have a commit under way until the event is set."""
    begun, go_on = threading.Event(), threading.Event()

    def wait(database: sqlite3.Connection) -> None:
        begun.set()
        go_on.wait()

    writer.submit(wait)
    begun.wait()
    return go_on


def test_what_is_told_during_a_commit_shares_the_next_one(database: sqlite3.Connection) -> None:
    commits: list[str] = []
    writer = Writer(database, aside=True)
    go_on = held_up(writer)
    kept = [writer.submit(adding(str(number))) for number in range(20)]
    database.set_trace_callback(lambda statement: commits.append(statement) if statement == "COMMIT" else None)
    assert not any(one.done() for one in kept)
    go_on.set()
    assert [one.result() for one in kept] == [None] * 20
    writer.close()

    assert lines(database) == [str(number) for number in range(20)]
    assert len(commits) == 2


def test_a_job_that_fails_takes_nothing_with_it(database: sqlite3.Connection) -> None:
    writer = Writer(database, aside=True)
    go_on = held_up(writer)
    first, wrong, last = (writer.submit(adding(text)) for text in ("a", None, "b"))
    go_on.set()
    assert (first.result(), last.result()) == (None, None)
    assert isinstance(wrong.result(), sqlite3.IntegrityError)
    writer.close()

    assert lines(database) == ["a", "b"]


def test_closing_finishes_what_was_told(database: sqlite3.Connection) -> None:
    writer = Writer(database, aside=True)
    go_on = held_up(writer)
    writer.submit(adding("a"))
    go_on.set()
    writer.close()

    assert lines(database) == ["a"]


def test_in_memory_nothing_waits() -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.execute("CREATE TABLE line (text TEXT NOT NULL)")
        assert Writer(database, aside=False).submit(adding("a")).done()


async def test_nothing_is_asked_before_what_came_is_committed(tmp_path: Path) -> None:
    path, sent = tmp_path / "ledger.db", []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.url.path.rsplit("/", 1)[-1])
        return httpx.Response(200, json={})

    with (
        Ledger(path) as ledger,
        ledger.start(QUESTION, settings={}, model=MODEL, sandboxed=False, run_id="one") as journal,
    ):
        wires = {"httpx": HttpxWire(httpx.MockTransport(answer))}
        async with Transport(Endpoints.public({}), recorder=journal, wires=wires) as transport:
            go_on = held_up(ledger._writer)
            try:
                await transport.get("europepmc", "first", read=lambda reply: reply.json())
                second = asyncio.create_task(transport.get("europepmc", "second", read=lambda reply: reply.json()))
                await asyncio.wait([second], timeout=0.2)
                assert sent == ["first"]
            finally:
                go_on.set()
            await second
    assert sent == ["first", "second"]
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("SELECT count(*) FROM exchange").fetchone() == (2,)
