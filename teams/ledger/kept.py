"""What is kept of a run: exchanges with the sources, which other runs that ask the same may use for a while, and turns.

Both are read back here, and whether all that is kept of a run is what was written.
"""

import sqlite3
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from pydantic import BaseModel

from willowbark.tools.http.transport import Exchange
from willowbark.tools.registry import fresh_days

from .packs import Contents
from .rows import check_seals, inserting, pack_bytes
from .writer import Job

_TURNS = (
    "SELECT iteration, source, type, message, hash, prompt_tokens, completion_tokens FROM turn"
    " WHERE run = ? ORDER BY id"
)
_CONTENTS = (
    "SELECT DISTINCT data, body FROM exchange LEFT JOIN body ON hash = body WHERE run = ?",
    "SELECT message, hash FROM turn WHERE run = ?",
    "SELECT answer, hash FROM model_call WHERE run = ?",
)


class Turn(BaseModel, frozen=True, extra="forbid"):
    """What one speaker handed to the team."""

    iteration: int
    source: str
    type: str
    """Name of the message's class."""
    message: dict[str, Any]
    """The message as AutoGen dumps it."""
    prompt_tokens: int
    completion_tokens: int


def turns_of(database: sqlite3.Connection, run_id: str) -> list[Turn]:
    """A run's turns, in their order.

    Raises:
        LedgerError: one is not what was written.
    """
    contents = Contents(database)
    return [
        Turn(
            iteration=iteration,
            source=source,
            type=kind,
            message=contents.of(data, expected),
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
        )
        for iteration, source, kind, data, expected, prompt_tokens, completion_tokens in database.execute(
            _TURNS, (run_id,)
        )
    ]


def check(database: sqlite3.Connection, run_id: str) -> None:
    """Read all of a run and compare it with its hashes and seals.

    Raises:
        LedgerError: something is not what was written.
    """
    check_seals(database, run_id)
    contents = Contents(database)
    for statement in _CONTENTS:
        for data, expected in database.execute(statement, (run_id,)):
            contents.bytes_of(data, expected)


_COLUMNS = "run, request, source, method, url, attempt, status, content_type, elapsed_s, error, body, at, sent"
_INSERT = inserting("exchange", _COLUMNS)
_OWN = (
    "SELECT exchange.status, content_type, data, body FROM exchange LEFT JOIN body ON hash = body"
    " WHERE request = ? AND run = ? AND error IS NULL ORDER BY id LIMIT 1"
)
_FRESH = (
    "SELECT exchange.status, content_type, data, body, method, url, at, sent FROM exchange LEFT JOIN body"
    " ON hash = body WHERE request = ? AND error IS NULL AND at >= ? AND exchange.status = 200 ORDER BY id DESC LIMIT 1"
)


class KeptReply(NamedTuple):
    """A reply that is in the ledger."""

    status: int
    content_type: str
    data: bytes | None
    """Compressed; None where it is in a pack."""
    hash: str


def kept_by(database: sqlite3.Connection, run_id: str, request: str) -> KeptReply | None:
    """The reply that a run has to a request; None where it has none that could be read."""
    row = database.execute(_OWN, (request, run_id)).fetchone()
    return None if row is None else KeptReply(*row)


def keep(run_id: str, exchange: Exchange) -> Job:
    """What writes an exchange."""
    data, body = pack_bytes(exchange.body)
    asked = (exchange.request, exchange.source, exchange.method, exchange.url, exchange.attempt)
    came = (exchange.status, exchange.content_type, exchange.elapsed_s, exchange.error, body)
    row = (run_id, *asked, *came, datetime.now(UTC).isoformat(), exchange.sent)

    def write(database: sqlite3.Connection) -> None:
        database.execute("INSERT OR IGNORE INTO body VALUES (?, ?)", (body, data))
        database.execute(_INSERT, row)

    return write


def take_over(
    database: sqlite3.Connection, contents: Contents, run_id: str, source: str, request: str
) -> tuple[KeptReply, Job] | None:
    """A fresh reply of another run, and what writes it for this one; None where there is none.

    It is taken over as attempt 0: a run can be replayed when the one that asked is forgotten.
    """
    since = (datetime.now(UTC) - timedelta(days=fresh_days(source))).isoformat()
    found = database.execute(_FRESH, (request, since)).fetchone()
    if found is None:
        return None
    reply, (method, url, at, sent) = KeptReply(*found[:4]), found[4:]
    if reply.data is None:  # in a pack, which is gone once the other run is forgotten
        reply = reply._replace(data=pack_bytes(contents.bytes_of(reply.data, reply.hash))[0])
    row = (
        *(run_id, request, source, method, url, 0),
        *(reply.status, reply.content_type, 0.0, None, reply.hash, at, sent),
    )

    def write(database: sqlite3.Connection) -> None:
        database.execute("INSERT OR IGNORE INTO body VALUES (?, ?)", (reply.hash, reply.data))
        database.execute(_INSERT, row)

    return reply, write
