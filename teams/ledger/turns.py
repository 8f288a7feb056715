"""The turns of a run, read back; and whether all that is kept of a run is what was written."""

import sqlite3
from typing import Any

from pydantic import BaseModel

from .packs import Contents
from .rows import check_seals

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
