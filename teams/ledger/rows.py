"""A ledger's rows: content packed beside its hash, columns under a seal, both checked when they are read.

Content is JSON or a raw body, compressed with zlib: nothing read back is ever executed, and what was edited or torn is
refused. Exchanges with the sources are such rows: kept by their run, and for a while good for others that ask the same.
"""

import json
import sqlite3
import zlib
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from pydantic_core import to_json

from willowbark.tools.http.transport import Exchange
from willowbark.tools.registry import fresh_days

from .database import LedgerError
from .schema import SEALED, digest
from .writer import Job

_LEVEL = 1  # of zlib: the higher ones cost more time than they save space
_MOST_BYTES = 1 << 28  # of one row, unpacked: no source's reply comes near it
_EDITED = "the ledger holds a row that is not what was written; forget the run, and ask again"


def inserting(table: str, columns: str) -> str:
    """The statement that inserts a sealed row; `columns` hold those of `SEALED` and more."""
    names = [name.strip() for name in columns.split(",")]
    places = ", ".join(f"?{number}" for number in range(1, len(names) + 1))
    seal = ", ".join(f"?{names.index(name.strip()) + 1}" for name in SEALED[table].split(","))
    return f"INSERT INTO {table} ({columns}, seal) VALUES ({places}, sealed({seal}))"  # noqa: S608  names of our own


def check_seals(database: sqlite3.Connection, run_id: str) -> None:
    """Compare the rows of a run with their seals.

    Raises:
        LedgerError: a row is not what was written.
    """
    for table, columns in SEALED.items():
        key = "id" if table == "run" else "run"
        edited = f"SELECT 1 FROM {table} WHERE {key} = ? AND seal IS NOT sealed({columns}) LIMIT 1"  # noqa: S608
        if database.execute(edited, (run_id,)).fetchone():
            raise LedgerError(_EDITED)


def pack(content: Any) -> tuple[bytes, str]:
    """JSON content, compressed, and its hash."""
    try:
        data = to_json(content)  # four times as fast as `json`
    except ValueError:  # half of a surrogate pair, which a source may send
        data = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return zlib.compress(data, _LEVEL), digest(data)


def pack_bytes(data: bytes) -> tuple[bytes, str]:
    """A raw body, compressed, and its hash."""
    return zlib.compress(data, _LEVEL), digest(data)


def unpack_bytes(packed: bytes, expected: str) -> bytes:
    """What `pack_bytes` packed.

    Raises:
        LedgerError: the content is not what was written.
    """
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(packed, _MOST_BYTES)
        whole = unpacker.eof and digest(data) == expected
    except (zlib.error, TypeError):
        whole = False
    if not whole:
        raise LedgerError(_EDITED)
    return data


def unpack(packed: bytes, expected: str) -> Any:
    """What `pack` packed.

    Raises:
        LedgerError: the content is not what was written.
    """
    data = unpack_bytes(packed, expected)
    try:
        return json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise LedgerError(_EDITED) from None


_COLUMNS = "run, request, source, method, url, attempt, status, content_type, elapsed_s, error, body, at, sent"
_INSERT = inserting("exchange", _COLUMNS)
_OWN = (
    "SELECT exchange.status, content_type, data, hash FROM exchange JOIN body ON hash = body"
    " WHERE request = ? AND run = ? AND error IS NULL ORDER BY id LIMIT 1"
)
_FRESH = (
    "SELECT exchange.status, content_type, data, hash, method, url, at, sent FROM exchange JOIN body ON hash = body"
    " WHERE request = ? AND error IS NULL AND at >= ? AND exchange.status = 200 ORDER BY id DESC LIMIT 1"
)


class KeptReply(NamedTuple):
    """A reply that is in the ledger."""

    status: int
    content_type: str
    data: bytes
    """Packed."""
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


def take_over(database: sqlite3.Connection, run_id: str, source: str, request: str) -> tuple[KeptReply, Job] | None:
    """A fresh reply of another run, and what writes it for this one; None where there is none.

    It is taken over as attempt 0: a run can be replayed when the one that asked is forgotten.
    """
    since = (datetime.now(UTC) - timedelta(days=fresh_days(source))).isoformat()
    found = database.execute(_FRESH, (request, since)).fetchone()
    if found is None:
        return None
    reply, (method, url, at, sent) = KeptReply(*found[:4]), found[4:]
    row = (
        *(run_id, request, source, method, url, 0),
        *(reply.status, reply.content_type, 0.0, None, reply.hash, at, sent),
    )

    def write(database: sqlite3.Connection) -> None:
        database.execute("INSERT OR IGNORE INTO body VALUES (?, ?)", (reply.hash, reply.data))
        database.execute(_INSERT, row)

    return reply, write
