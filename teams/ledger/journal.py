"""One run's journal: what it is told while the run goes on, and what it answers when the run is lived again."""

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

from autogen_core.models import RequestUsage
from opentelemetry import trace
from pydantic import BaseModel, ConfigDict

from willowbark.tools import errors
from willowbark.tools.errors import SearchError, SourceUnavailable
from willowbark.tools.transport import Exchange, Recorder
from willowbark.tools.wire import WireReply

from .database import LedgerError, in_words, pack, pack_bytes, transaction, unpack, unpack_bytes

_tracer = trace.get_tracer("willowbark")
MODEL = "model"
"""Stands for a source's name in the failures of model calls."""
_NOTE_S = 0.5  # of a run's clock that a kill may lose
FRESH_DAYS: Mapping[str, float] = {
    "pubmed": 1,  # new records every day
    "europepmc": 1,
    "clinicaltrials": 1,  # updated on weekdays
    "chembl": 30,  # released a few times a year
    "opentargets": 30,  # released every three months
}
"""Days for which a source's reply may answer the same request of another run."""


class Turn(BaseModel):
    """What one speaker handed to the team."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    iteration: int
    source: str
    type: str
    """Name of the message's class."""
    message: dict[str, Any]
    """The message as AutoGen dumps it."""
    prompt_tokens: int
    completion_tokens: int

    @property
    def usage(self) -> RequestUsage:
        """The turn's tokens, as AutoGen counts them."""
        return RequestUsage(prompt_tokens=self.prompt_tokens, completion_tokens=self.completion_tokens)


class Journal:
    """Records a run, and remembers it; handed to the run's transport and model client.

    Args:
        database: the ledger's.
        path: of the ledger, for messages; None is in memory.
        run_id: the run.
        spent_s: seconds of work before now.
        replaying: whether what is not in the journal counts as not to be had; nothing is written then.

    Attributes:
        failure: why the ledger can no longer be written; None while it can.
        on_failure: called once when that happens.
        reuse: whether replies of other runs may answer.
        relay: gets every exchange too.
    """

    def __init__(
        self,
        database: sqlite3.Connection,
        path: Path | None,
        run_id: str,
        *,
        spent_s: float = 0.0,
        replaying: bool = False,
    ) -> None:
        self.run_id = run_id
        self.path = path
        self.replaying = replaying
        self.reuse = False
        self.relay: Recorder | None = None
        self.failure: LedgerError | None = None
        self.on_failure: Callable[[], None] = lambda: None
        self._database = database
        self._started = time.monotonic() - spent_s
        self._noted = 0.0
        self._events: list[tuple[Any, ...]] = []
        self._consumed: Counter[str] = Counter()
        self.lived = self.turns()
        """The turns of the run's earlier life, which are lived again and not written twice."""
        self._to_skip = Counter((turn.iteration, turn.source, turn.type) for turn in self.lived)
        self._known_failures = self._one("SELECT coalesce(max(id), 0) FROM failure WHERE run = ?", run_id)

    @property
    def spent_s(self) -> float:
        """Seconds of work so far."""
        return time.monotonic() - self._started

    # --- the transport's recorder ---

    def exchanged(self, exchange: Exchange) -> None:
        """Commit one exchange with a source."""
        if self.relay is not None:
            self.relay.exchanged(exchange)
        self._keep(exchange)

    def recall(self, source: str, request: str) -> WireReply | SearchError | None:
        """The reply or failure that a request ended in, in this run or, while fresh, in another one."""
        if failure := self._next_failure(request):
            kind, name, reason = failure
            found = getattr(errors, kind, SourceUnavailable)
            return (found if issubclass(found, SearchError) else SourceUnavailable)(name, reason)
        row = self._row(f"{_REPLY} AND exchange.run = ?", request, self.run_id)
        if row is None and self.reuse:
            row = self._from_another_run(source, request)
        if row is None:
            return SourceUnavailable(source, "its reply is not in the ledger") if self.replaying else None
        status, content_type, data, expected = row
        try:
            return WireReply(status, {"content-type": content_type}, unpack_bytes(data, expected))
        except LedgerError:
            return None

    def gave_up(self, request: str, error: SearchError) -> None:
        """Commit the failure that a request ended in."""
        self._failed(request, type(error).__name__, error.source, error.reason)

    def _from_another_run(self, source: str, request: str) -> Any:
        since = (datetime.now(UTC) - timedelta(days=FRESH_DAYS.get(source, 0))).isoformat()
        newest = f"{_REPLY} AND exchange.at >= ? AND exchange.status = 200 ORDER BY exchange.id DESC LIMIT 1"
        row = self._row(newest, request, since)
        if row is not None:
            self._write((_COPY, (self.run_id, request, since)))
        return row

    def _keep(self, exchange: Exchange) -> None:
        data, body = pack_bytes(exchange.body)
        row = (
            self.run_id,
            exchange.request,
            exchange.source,
            exchange.method,
            exchange.url,
            exchange.attempt,
            exchange.status,
            exchange.content_type,
            exchange.elapsed_s,
            exchange.error,
            body,
            _now(),
        )
        self._write(
            ("INSERT OR IGNORE INTO body VALUES (?, ?)", (body, data)),
            (
                "INSERT INTO exchange (run, request, source, method, url, attempt, status, content_type, elapsed_s,"
                " error, body, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            ),
        )

    # --- model calls ---

    def answer(self, request: str) -> Any:
        """The answer that a model once gave to a request, as JSON content; None where it was not asked."""
        row = self._row(
            "SELECT answer, hash FROM model_call WHERE request = ? AND run = ? LIMIT 1", request, self.run_id
        )
        return None if row is None else unpack(*row)

    def answered(self, request: str, model: str, answer: Any, tokens: tuple[int, int], cost_usd: float | None) -> None:
        """Commit a model's answer.

        Args:
            request: hash of what was asked.
            model: its name.
            answer: JSON content.
            tokens: of prompt and completion.
            cost_usd: None where the price is not known.
        """
        row = (self.run_id, request, model, *pack(answer), *tokens, cost_usd, _now())
        statement = (
            "INSERT INTO model_call (run, request, model, answer, hash, prompt_tokens, completion_tokens, cost_usd, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        )
        self._write((statement, row))

    def model_failed(self, request: str, kind: str) -> None:
        """Commit that a model raised an error of a kind instead of answering."""
        self._failed(request, kind, MODEL, "")

    def model_failure(self, request: str) -> str | None:
        """The kind of error that a model once raised; None where it did not."""
        failure = self._next_failure(request)
        return failure[0] if failure else None

    # --- turns, events, report ---

    @_tracer.start_as_current_span("ledger: turn", record_exception=False)
    def turn(self, message: Mapping[str, Any], state: Mapping[str, Any] | None, iteration: int) -> None:
        """Commit what a speaker handed to the team, and the team's state.

        Args:
            message: as AutoGen dumps it.
            state: as the team's `save_state` gave it; None where it could not be had.
            iteration: the round, from 1.
        """
        identity = (iteration, str(message["source"]), str(message["type"]))
        if self._to_skip[identity] > 0:
            self._to_skip[identity] -= 1
            return
        data, expected = pack(message)
        saved, state_hash = (None, None) if state is None else pack(state)
        usage = message.get("models_usage") or {}
        row = (
            self.run_id,
            *identity,
            data,
            saved,
            expected,
            state_hash,
            int(usage.get("prompt_tokens", 0)),
            int(usage.get("completion_tokens", 0)),
            _now(),
        )
        self._write(
            (
                "INSERT INTO turn (run, iteration, source, type, message, state, hash, state_hash, prompt_tokens,"
                " completion_tokens, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )
        )

    def turns(self) -> list[Turn]:
        """The turns so far, in their order."""
        with in_words(self.path):
            rows = self._database.execute(
                "SELECT iteration, source, type, message, hash, prompt_tokens, completion_tokens FROM turn"
                " WHERE run = ? ORDER BY id",
                (self.run_id,),
            ).fetchall()
        return [
            Turn(
                iteration=iteration,
                source=source,
                type=kind,
                message=unpack(data, expected),
                prompt_tokens=prompt_tokens,
                completion_tokens=completion_tokens,
            )
            for iteration, source, kind, data, expected, prompt_tokens, completion_tokens in rows
        ]

    def state(self, number: int) -> dict[str, Any] | None:
        """The team's state at a turn, for `load_state` of a fresh team; None where it was not kept.

        Args:
            number: of the turn, from 0.

        Raises:
            LedgerError: no such turn, or a state that is not what was written.
        """
        kept = "SELECT state, state_hash FROM turn WHERE run = ? ORDER BY id LIMIT 1 OFFSET ?"
        row = self._row(kept, self.run_id, number)
        if row is None:
            raise LedgerError(f"run {self.run_id} has no turn {number}")
        return None if row[0] is None else cast(dict[str, Any], unpack(*row))

    def event(self, kind: str, iteration: int, message: str) -> None:
        """Take note of an event; it is committed with what is committed next."""
        self._events.append((self.run_id, kind, iteration, message, _now()))

    @_tracer.start_as_current_span("ledger: finish", record_exception=False)
    def finish(self, status: str, stop_reason: str | None, report: str | None) -> None:
        """Commit how the run ended.

        Args:
            status: complete, cancelled or failed.
            stop_reason: as the report names it.
            report: as JSON text; None where there is none.
        """
        data, expected = pack(json.loads(report)) if report is not None else (None, None)
        statement = "UPDATE run SET status = ?, stop_reason = ?, report = ?, hash = ? WHERE id = ?"
        self._write((statement, (status, stop_reason, data, expected, self.run_id)))

    def verify(self) -> None:
        """Read everything and compare it with its hashes.

        Raises:
            LedgerError: something is not what was written.
        """
        self.turns()
        with in_words(self.path):
            bodies = self._database.execute(
                "SELECT data, hash FROM body WHERE hash IN (SELECT body FROM exchange WHERE run = ?)", (self.run_id,)
            )
            for data, expected in bodies:
                unpack_bytes(data, expected)
            states = self._database.execute(
                "SELECT state, state_hash FROM turn WHERE run = ? AND state IS NOT NULL", (self.run_id,)
            )
            for data, expected in states:
                unpack_bytes(data, expected)
            answers = self._database.execute("SELECT answer, hash FROM model_call WHERE run = ?", (self.run_id,))
            for data, expected in answers:
                unpack_bytes(data, expected)

    # --- reading and writing ---

    def _next_failure(self, request: str) -> tuple[str, str, str] | None:
        """The next failure of this request in the run's earlier life: they come back in their order."""
        row: tuple[str, str, str] | None = self._row(
            "SELECT kind, source, reason FROM failure WHERE request = ? AND run = ? AND id <= ? ORDER BY id"
            " LIMIT 1 OFFSET ?",
            request,
            self.run_id,
            self._known_failures,
            self._consumed[request],
        )
        if row is not None:
            self._consumed[request] += 1
        return row

    def _failed(self, request: str, kind: str, source: str, reason: str) -> None:
        statement = "INSERT INTO failure (run, request, kind, source, reason, at) VALUES (?, ?, ?, ?, ?, ?)"
        self._write((statement, (self.run_id, request, kind, source, reason, _now())))

    def _row(self, statement: str, *values: Any) -> Any:
        try:
            return self._database.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            self._broke(error)
            return None

    def _one(self, statement: str, *values: Any) -> Any:
        with in_words(self.path):
            return self._database.execute(statement, values).fetchone()[0]

    def _write(self, *statements: tuple[str, tuple[Any, ...]]) -> None:
        """One transaction, with the events that wait; a ledger that cannot be written ends the run, in words."""
        if self.failure is not None or self.replaying:
            return
        try:
            with transaction(self._database):
                for statement, values in statements:
                    self._database.execute(statement, values)
                if time.monotonic() - self._noted > _NOTE_S or not statements[0][0].startswith("INSERT OR"):
                    self._note()
        except (sqlite3.Error, OSError) as error:
            self._broke(error)

    def _note(self) -> None:
        """Write what need not be written with every exchange: the events that wait, and the time spent."""
        self._database.executemany(
            "INSERT INTO event (run, type, iteration, message, at) VALUES (?, ?, ?, ?, ?)", self._events
        )
        self._database.execute(
            "UPDATE run SET updated_at = ?, spent_s = ? WHERE id = ?", (_now(), self.spent_s, self.run_id)
        )
        self._events.clear()
        self._noted = time.monotonic()

    def _broke(self, error: Exception) -> None:
        if self.failure is not None:
            return
        try:
            with in_words(self.path):
                raise error
        except LedgerError as failure:
            self.failure = failure
        self.on_failure()


_REPLY = (
    "SELECT exchange.status, content_type, body.data, body.hash FROM exchange JOIN body ON body.hash = exchange.body"
    " WHERE request = ? AND error IS NULL"
)
_COPY = (
    "INSERT INTO exchange (run, request, source, method, url, attempt, status, content_type, elapsed_s, error, body,"
    " at) SELECT ?, request, source, method, url, 0, status, content_type, 0, NULL, body, at FROM exchange"
    " WHERE request = ? AND error IS NULL AND at >= ? AND status = 200 ORDER BY id DESC LIMIT 1"
)
"""A reply of another run, taken over as attempt 0: this run can be replayed when the other one is forgotten."""


def _now() -> str:
    return datetime.now(UTC).isoformat()
