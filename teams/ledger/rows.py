"""A ledger's rows: content packed beside its hash, columns under a seal, both checked when they are read.

Content is JSON or a raw body, compressed with zlib: nothing read back is ever executed, and what was edited or torn is
refused.
"""

import json
import sqlite3
import zlib
from typing import Any

from pydantic import BaseModel
from pydantic_core import to_json

from .database import LedgerError
from .schema import SEALED, digest

_LEVEL = 1  # of zlib: the higher ones cost more time than they save space
MOST_BYTES = 1 << 28  # of one row, unpacked: no source's reply comes near it
EDITED = "the ledger holds a row that is not what was written; forget the run, and ask again"


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
            raise LedgerError(EDITED)


def pack(content: Any) -> tuple[bytes, str]:
    """JSON content, or a model's, compressed, and its hash."""
    is_model = isinstance(content, BaseModel)
    try:
        data = content.model_dump_json().encode() if is_model else to_json(content)  # four times as fast as `json`
    except ValueError:  # half of a surrogate pair, which a source may send
        plain = content.model_dump(mode="json") if is_model else content
        data = json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return pack_bytes(data)


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
        data = unpacker.decompress(packed, MOST_BYTES)
        whole = unpacker.eof and digest(data) == expected
    except (zlib.error, TypeError):
        whole = False
    if not whole:
        raise LedgerError(EDITED)
    return data
