"""Packs: what runs that are over hold, many contents in one stream each, since most of it is said several times.

Sources hand out the same abstracts, and turns hold the records that replies gave. While a run goes on, each content
stands beside its hash, compressed by itself; when it is over, its replies go into one pack, its turns and its report
into another one, and empty blobs stay in their places. Contents are found by their hashes, by which they are checked.
"""

import json
import lzma
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

from .database import LedgerError, worded
from .rows import EDITED, MOST_BYTES, unpack_bytes
from .schema import digest
from .writer import Job

_FORM = [{"id": lzma.FILTER_LZMA2, "preset": 1, "dict_size": 3 << 17, "mf": lzma.MF_HC3}]
"""Half as large as what zlib makes of each content. Longer searches take two to ten times as long for a tenth less; so
much of the stream is looked back on as pages of two sources take, in less than 5 MB of memory."""
_MEMORY_BYTES = 1 << 26  # for unpacking; our own packs need a tenth of it
_GROUPS = (
    (("body", "data", "hash IN (SELECT body FROM exchange WHERE run = ?)"),),
    (
        ("turn", "message", "run = ?"),
        ("run", "report", "id = ?"),
    ),
)
"""What goes into a pack of its own: columns of tables, and which rows are a run's."""
_EMPTY = {
    "body": "DELETE FROM body WHERE hash IN (SELECT body FROM exchange WHERE run = ?)"
    " AND hash IN (SELECT hash FROM packed)",
    "turn": "UPDATE turn SET message = x'' WHERE run = ? AND hash IN (SELECT hash FROM packed)",
    "run": "UPDATE run SET report = x'' WHERE id = ? AND hash IN (SELECT hash FROM packed)",
}
_DROP = (
    "DELETE FROM body WHERE hash NOT IN (SELECT body FROM exchange)",
    "DELETE FROM packed WHERE hash NOT IN (SELECT body FROM exchange UNION ALL SELECT hash FROM turn"
    " UNION ALL SELECT hash FROM run WHERE hash IS NOT NULL)",
    "DELETE FROM pack WHERE id NOT IN (SELECT pack FROM packed)",
)
SIZE = """
    SELECT (SELECT coalesce(sum(length(data)), 0) FROM body) + (SELECT coalesce(sum(length(data)), 0) FROM pack
        WHERE id IN (SELECT pack FROM packed WHERE hash IN (SELECT body FROM exchange)))
"""
"""Bytes that replies take, in packs or beside their hashes."""


class Contents:
    """Reads contents back, from packs too; the latest pack stays unpacked.

    Args:
        database: a connection that reads.
    """

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._unpacked: tuple[int, bytes] | None = None

    def bytes_of(self, beside: bytes | None, expected: str) -> bytes:
        """A content.

        Args:
            beside: what stands beside its hash; None or empty where it is in a pack.
            expected: its hash.

        Raises:
            LedgerError: it is not what was written.
        """
        data = unpack_bytes(beside, expected) if beside else self._from_pack(expected)
        if digest(data) != expected:
            raise LedgerError(EDITED)
        return data

    def of(self, beside: bytes | None, expected: str) -> Any:
        """A content that is JSON; see `bytes_of`."""
        try:
            return json.loads(self.bytes_of(beside, expected).decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            raise LedgerError(EDITED) from None

    def _from_pack(self, expected: str) -> bytes:
        where = "SELECT pack, start, size FROM packed WHERE hash = ?"
        try:
            pack, start, size = self._database.execute(where, (expected,)).fetchone()
            if self._unpacked is None or self._unpacked[0] != pack:
                data = self._database.execute("SELECT data FROM pack WHERE id = ?", (pack,)).fetchone()[0]
                unpacker = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MEMORY_BYTES)
                self._unpacked = pack, unpacker.decompress(data, MOST_BYTES)
            return self._unpacked[1][start : start + size]
        except sqlite3.Error as error:
            raise worded(error, None) from error
        except (lzma.LZMAError, TypeError):  # also where there is no row
            raise LedgerError(EDITED) from None


def packing(reading: sqlite3.Connection, run_id: str) -> Iterator[Job]:
    """What puts a run's contents into packs; compressed here, so that nobody waits for that with the file locked.

    Raises:
        LedgerError: a content is not what was written.
    """
    for group in _GROUPS:
        if packed := _packed(reading, run_id, group):
            yield partial(_keep, run_id=run_id, tables=[table for table, _, _ in group], **packed)


def _packed(reading: sqlite3.Connection, run_id: str, group: Sequence[tuple[str, str, str]]) -> dict[str, Any]:
    """A stream with the contents of a group, and their sizes by hash; nothing where there are none."""
    compressor = lzma.LZMACompressor(filters=_FORM)
    sizes: dict[str, int] = {}
    data: list[bytes] = []
    for table, column, of_run in group:
        found = (
            f"SELECT hash, {column} FROM {table} WHERE {column} <> x'' AND {of_run}"  # noqa: S608  our own names
            " AND hash NOT IN (SELECT hash FROM packed)"
        )
        for expected, held in reading.execute(found, (run_id,)):
            if expected not in sizes:  # one at a time: together they are as large as all that was read
                content = unpack_bytes(held, expected)
                sizes[expected] = len(content)
                data.append(compressor.compress(content))
    return {"data": b"".join([*data, compressor.flush()]), "sizes": sizes} if sizes else {}


def _keep(
    database: sqlite3.Connection,
    *,
    run_id: str,
    tables: Sequence[str],
    data: bytes,
    sizes: Mapping[str, int],
) -> None:
    """Write a pack, and take its contents away from beside their hashes."""
    pack = database.execute("INSERT INTO pack (data) VALUES (?)", (data,)).lastrowid
    starts = accumulate(sizes.values(), initial=0)
    rows = [(expected, pack, start, size) for (expected, size), start in zip(sizes.items(), starts, strict=False)]
    database.executemany("INSERT OR IGNORE INTO packed VALUES (?, ?, ?, ?)", rows)
    for table in tables:
        database.execute(_EMPTY[table], (run_id,))


def drop_unused(database: sqlite3.Connection) -> None:
    """Drop contents that no row names any more."""
    for statement in _DROP:
        database.execute(statement)
