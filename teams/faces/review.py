"""`willowbark review`: a person looks at the rows that are worth it, the quote before the reading."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from willowbark.agents.report.forms import record_name

from ..ledger import DEFAULT_PATH, Ledger
from ..run.changes import ChangeRequest
from ..run.correcting import ask_changes
from ..run.history import list_differences
from ..run.reviewing import RowToReview, list_rows

ANSWERS = {"s": "supports", "c": "contradicts", "i": "inconclusive", "n": "not assessed"}
_ASKS = "What does it say of {drug}? s supports, c contradicts, i inconclusive, n nothing, x leave out, ? skip, q end"
_MENU = "Enter if that is right; else s supports, c contradicts, i inconclusive, n nothing, x leave out, ? skip, q end"
Say = Callable[[str], None]


def list_run_rows(run_id: str, most: int) -> list[RowToReview]:
    """Return the rows of a run that are worth looking at."""
    with Ledger.existing(DEFAULT_PATH) as ledger:
        return asyncio.run(list_rows(run_id, ledger, most))


def write_lines(rows: Sequence[RowToReview], *, as_json: bool, is_blind: bool) -> list[str]:
    """Return the rows for a pipe, as text or JSON; blind, without what the readers read."""
    if as_json:
        hidden = {"direction", "readers", "chance", "reason"} if is_blind else set[str]()
        return [json.dumps([row.model_dump(exclude=hidden) for row in rows], indent=2, ensure_ascii=False)]
    lines = list[str]()
    for number, row in enumerate(rows, 1):
        lines += [f"{number}. {row.drug}, {record_name(row.record)}: {row.title}", f"   “{row.quote}”"]
        lines += [] if is_blind else [f"   {row.direction}: {row.reason}", *(f"   {reader}" for reader in row.readers)]
    return lines or ["No row is worth a look: people have seen all that would move a conclusion."]


def review(
    run_id: str,
    rows: Sequence[RowToReview],
    root: Path,
    by: str | None,
    *,
    is_blind: bool,
    say: Say,
    ask: Callable[[], str],
) -> list[str]:
    """Ask a person about each row, and return what moved, a line each; what was answered before an end counts.

    Args:
        run_id: of this folder's ledger.
        rows: to ask about.
        root: folder of run folders.
        by: who answers; None takes the environment's.
        is_blind: whether the reading is shown only after the answer.
        say: shows a line.
        ask: returns what the person typed; EOFError ends the review.
    """
    requests = list[ChangeRequest]()
    for number, row in enumerate(rows, 1):
        began = time.monotonic()
        say(f"\n{number} of {len(rows)}: {row.drug}, {record_name(row.record)}: {row.title}")
        say(f"“{row.quote}”")
        typed = _ask_row(row, is_blind=is_blind, say=say, ask=ask)
        if typed == "q":
            break
        request = _build_request(row, typed, time.monotonic() - began)
        requests += [request] if request is not None else []
        if is_blind and request is not None:
            say(f"The report has: {row.direction}. {'; '.join(row.readers)}")
    if not requests:
        return ["Nothing was answered."]
    with Ledger.existing(DEFAULT_PATH) as ledger:
        before = ledger.report(run_id) or {}
        change = asyncio.run(ask_changes(run_id, ledger, requests, by=by, root=root))
    moved = list_differences(before, change.model_dump(mode="json"))[1:]
    seen = f"People have seen {change.rows_seen} of {len(change.evidence_table)} rows of this report."
    return [*moved, seen]


def _ask_row(row: RowToReview, *, is_blind: bool, say: Say, ask: Callable[[], str]) -> str:
    """Ask until the answer is a known one; an end of the input ends the review."""
    if not is_blind:
        say(f"The report has: {row.direction}; {row.reason}")
        for reader in row.readers:
            say(f"  {reader}")
    answers = {*ANSWERS, "x", "?", "q", *([] if is_blind else [""])}
    while True:
        say(_ASKS.format(drug=row.drug) if is_blind else _MENU)
        try:
            typed = ask().strip().casefold()[:1]
        except EOFError:
            return "q"
        if typed in answers:
            return typed


def _build_request(row: RowToReview, typed: str, seconds: float) -> ChangeRequest | None:
    """Turn an answer into a request; None for a skipped row."""
    fields: dict[str, Any] = {"record": row.record, "drug": row.drug, "seconds": round(seconds, 1)}
    if typed == "?":
        return None
    if typed == "x":
        return ChangeRequest.of({**fields, "drug": "", "exclude": "other"})
    direction = ANSWERS.get(typed, row.direction)
    fields["error"] = "direction" if direction != row.direction else None
    return ChangeRequest.of({**fields, "says": direction})
