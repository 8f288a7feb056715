"""Exchanges with the sources: kept by their run, and for a while good for other runs that ask the same."""

import sqlite3
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from willowbark.tools.http.transport import Exchange
from willowbark.tools.registry import fresh_days

from .packs import Contents
from .rows import inserting, pack_bytes
from .writer import Job

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


class Kept(NamedTuple):
    """A reply that is in the ledger."""

    status: int
    content_type: str
    data: bytes | None
    """Compressed; None where it is in a pack."""
    hash: str


def kept_by(database: sqlite3.Connection, run_id: str, request: str) -> Kept | None:
    """The reply that a run has to a request; None where it has none that could be read."""
    row = database.execute(_OWN, (request, run_id)).fetchone()
    return None if row is None else Kept(*row)


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
) -> tuple[Kept, Job] | None:
    """A fresh reply of another run, and what writes it for this one; None where there is none.

    It is taken over as attempt 0: a run can be replayed when the one that asked is forgotten.
    """
    since = (datetime.now(UTC) - timedelta(days=fresh_days(source))).isoformat()
    found = database.execute(_FRESH, (request, since)).fetchone()
    if found is None:
        return None
    reply, (method, url, at, sent) = Kept(*found[:4]), found[4:]
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
