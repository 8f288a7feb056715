"""A run's journal: records requests, answers and turns, and answers from them when the run is resumed or replayed."""

import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel

from willowbark.agents.autogen import BaseAgentEvent, BaseChatMessage, RequestUsage
from willowbark.tools import errors
from willowbark.tools.errors import SearchError, SourceUnavailable
from willowbark.tools.http.reply import Reply
from willowbark.tools.http.transport import Exchange, Recorder
from willowbark.tools.records.registry import get_fresh_days

from .database import Database, LedgerError, Statement, compute_digest, pack, unpack, unpack_bytes

_EXCHANGE_FIELDS = "request source method url sent attempt status content_type elapsed_s error".split()
CORRECTIONS = "what people said before the run"
CORRECTED = "what people have said since"
REWRITTEN = "what a model wrote after people corrected it"
FORMER = "the report before people corrected it"
"""Subjects of readings that a run takes from people, and of the report that it made without the latter."""
MODEL = "model"
"""In place of a source's name, in failures of model calls."""


class Turn(BaseModel, frozen=True, extra="forbid"):
    """One agent's contribution to the team."""

    iteration: int
    source: str
    type: str
    """Name of the message's class."""
    message: dict[str, Any]
    """The message as dumped by AutoGen."""
    prompt_tokens: int
    completion_tokens: int


class Journal:
    """Records a run and answers repeated requests, for the run's transport and model clients.

    Each reply, answer and turn is committed before the run continues, so a kill loses only what each agent was doing
    at that moment. After a failed commit nothing more is written and the run is stopped, since it would pay for
    results that could not be kept.

    Args:
        spent_s: seconds of work before now.
        replaying: whether requests that the journal cannot answer fail; nothing is written then.
        reuse: whether fresh replies of other runs may be used.

    Attributes:
        failure: why the ledger can no longer be written; None while it can.
        earlier_turns: turns from before a resume or replay; they are repeated, but not written twice.
    """

    def __init__(
        self, database: Database, run_id: str, *, spent_s: float = 0.0, replaying: bool = False, reuse: bool = False
    ) -> None:
        self.run_id = run_id
        self.replaying = replaying
        self.failure: LedgerError | None = None
        self._database = database
        self._reuse = reuse
        self._relay: Recorder | None = None
        self._on_failure: Callable[[], None] = lambda: None
        self._started = time.monotonic() - spent_s
        self._paused_at: float | None = None
        self._taken: list[Statement] = []
        """Readings from a store, written with what follows from them."""
        self._met: Counter[str] = Counter()
        """Of each request, how many failures of the earlier life were met again."""
        self.earlier_turns = list_turns(database, run_id)
        self._to_skip = Counter((turn.iteration, turn.source, turn.type) for turn in self.earlier_turns)
        ((self._earlier_failures,),) = database.query("SELECT coalesce(max(id), 0) FROM failure WHERE run = ?", run_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Commit the time spent."""
        self._write()

    @property
    def spent_s(self) -> float:
        """Seconds of work so far; stands still while `paused`."""
        return (time.monotonic() if self._paused_at is None else self._paused_at) - self._started

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Exclude the time in this block, in which a person is waited for."""
        self._paused_at = time.monotonic()
        try:
            yield
        finally:
            self._started += time.monotonic() - self._paused_at
            self._paused_at = None

    def attach(self, relay: Recorder | None, on_failure: Callable[[], None]) -> None:
        """Set who also receives every exchange, and what is called once the ledger can no longer be written."""
        self._relay = relay
        self._on_failure = on_failure
        if self.failure is not None:  # the question was put into words before, and could not be kept
            on_failure()

    # --- the transport's recorder ---

    def exchanged(self, exchange: Exchange) -> None:
        """Commit one exchange with a source."""
        if self._relay is not None:
            self._relay.exchanged(exchange)
        body = compute_digest(exchange.body)
        self._write(
            ("INSERT OR IGNORE INTO body VALUES (?, ?)", (body, zlib.compress(exchange.body, 1))),
            self._build_insert("exchange", body=body, **{name: getattr(exchange, name) for name in _EXCHANGE_FIELDS}),
        )

    def recall(self, source: str, request: str) -> Reply | SearchError | None:
        """Return a request's final reply or failure, from this run or a fresh one from another."""
        try:
            if failure := self.next_failure(request):
                kind, name, reason = failure
                error_type = getattr(errors, kind, SourceUnavailable)
                return (error_type if issubclass(error_type, SearchError) else SourceUnavailable)(name, reason)
            since = datetime.now(UTC) - timedelta(days=get_fresh_days(source)) if self._reuse else datetime.max
            rows = self._database.query(_REPLY, request, self.run_id, since.isoformat())
            for number, is_own, status, content_type, data, expected in rows:
                if not is_own:  # stored for this run too, so that it outlives the other run
                    self._write((_COPY_REPLY, (self.run_id, number)))
                return Reply(source, status, {"content-type": content_type}, unpack_bytes(data, expected))
        except LedgerError as error:
            self._fail(error)
        return SourceUnavailable(source, "its reply is not in the ledger") if self.replaying else None

    def gave_up(self, request: str, error: SearchError) -> None:
        """Commit a request's final failure."""
        self.keep_failure(request, type(error).__name__, error.source, error.reason)

    # --- model calls ---

    def find_answer(self, request: str) -> Any:
        """Return a model's earlier answer to a request, as JSON content; None if there is none."""
        try:
            rows = self._database.query(
                "SELECT answer FROM model_call WHERE request = ? AND run = ? LIMIT 1", request, self.run_id
            )
        except LedgerError as error:
            self._fail(error)
            return None
        return unpack(rows[0][0]) if rows else None

    def keep_answer(
        self, request: str, model: str, answer: BaseModel, usage: RequestUsage, cost_usd: float | None
    ) -> None:
        """Commit a model's answer; `cost_usd` is None if the price is unknown."""
        row = {"request": request, "model": model, "answer": pack(answer), "cost_usd": cost_usd}
        self._write(self._build_insert("model_call", **row, **vars(usage)))

    def find_batch(self, request: str) -> str | None:
        """Return the batch that contained a request; None if there was none."""
        rows = self._database.query("SELECT batch FROM batch WHERE request = ? AND run = ?", request, self.run_id)
        return str(rows[0][0]) if rows else None

    def keep_batch(self, request: str, batch: str) -> None:
        """Commit a request's batch, so that a resumed run waits for it."""
        self._write(self._build_insert("batch", request=request, batch=batch))

    def next_failure(self, request: str) -> tuple[str, str, str] | None:
        """Return a request's next failure from before the resume, in the original order, as `keep_failure` takes it."""
        rows = self._database.query(
            "SELECT kind, source, reason FROM failure WHERE request = ? AND run = ? AND id <= ? ORDER BY id"
            " LIMIT 1 OFFSET ?",
            *(request, self.run_id, self._earlier_failures, self._met[request]),
        )
        self._met[request] += len(rows)
        return rows[0] if rows else None

    def keep_failure(self, request: str, kind: str, source: str = MODEL, reason: str = "") -> None:
        """Commit a failure; `reason` is a source's, or why a batch gave no answer before a model failed."""
        self._write(self._build_insert("failure", request=request, kind=kind, source=source, reason=reason))

    def find_decision(self, request: str) -> str | None:
        """Return what a hook decided on a call, as kept; None if it decided nothing."""
        rows = self._database.query("SELECT reason FROM failure WHERE request = ? AND run = ?", request, self.run_id)
        return str(rows[0][0]) if rows else None

    def keep_decision(self, request: str, decision: str) -> None:
        """Commit what a hook decided on a call, so that a replay needs no hook."""
        self.keep_failure(request, "Decision", "hook", decision)

    # --- readings ---

    @property
    def folder(self) -> Path | None:
        """The ledger's folder; None for one in memory."""
        return None if self._database.path is None else self._database.path.parent

    def find_reading(self, subject: str) -> dict[str, Any] | None:
        """Return what the run took from a store of studies for a subject; None if it took nothing."""
        try:
            return load_reading(self._database, self.run_id, subject)
        except LedgerError as error:
            self._fail(error)
            return None

    def keep_reading(self, subject: str, content: dict[str, Any]) -> None:
        """Keep what was taken from a store; it is committed with the next exchange, answer or turn."""
        statement = "INSERT OR IGNORE INTO reading VALUES (?, ?, ?)"
        self._taken.append((statement, (self.run_id, subject, pack(content))))

    @property
    def ledger_path(self) -> Path | None:
        """The ledger's file; None for one in memory."""
        return self._database.path

    # --- turns, report ---

    def keep_turn(self, message: BaseAgentEvent | BaseChatMessage, iteration: int) -> bool:
        """Commit an agent's turn in a round, counted from 1; return False for one from before a resume."""
        identity = (iteration, message.source, type(message).__name__)
        if self._to_skip[identity] > 0:
            self._to_skip[identity] -= 1
            return False
        identity_fields = dict(zip(("iteration", "source", "type"), identity, strict=True))
        tokens = vars(message.models_usage or RequestUsage(0, 0))
        self._write(self._build_insert("turn", **identity_fields, **tokens, message=pack(message)))
        return True

    def finish(self, status: str, stop_reason: str, report: BaseModel) -> None:
        """Commit the end of the run: `complete`, `cancelled` or `failed`, the report's reason and the report."""
        end = "UPDATE run SET status = ?, stop_reason = ?, report = ? WHERE id = ?"
        self._write((end, (status, stop_reason, pack(report), self.run_id)))

    def _build_insert(self, table: str, **row: Any) -> Statement:
        """Build the statement that inserts a row of this run, given by column."""
        row |= {"run": self.run_id, "at": _get_time()}
        places = ", ".join("?" * len(row))
        return f"INSERT INTO {table} ({', '.join(row)}) VALUES ({places})", tuple(row.values())  # noqa: S608  our names

    def _write(self, *statements: Statement) -> None:
        """Commit statements together with the time spent."""
        if self.failure is not None or self.replaying:
            return
        readings = self._taken
        self._taken = []  # readings are added by another thread
        try:
            with self._database.transaction() as database:
                for statement, values in (*readings, *statements):
                    database.execute(statement, values)
                spent = (_get_time(), self.spent_s, self.run_id)
                database.execute("UPDATE run SET updated_at = ?, spent_s = ? WHERE id = ?", spent)
        except LedgerError as error:
            self._fail(error)

    def _fail(self, error: LedgerError) -> None:
        if self.failure is None:
            self.failure = error
            self._on_failure()


def load_reading(database: Database, run_id: str, subject: str) -> dict[str, Any] | None:
    """Return what a run took from a store of studies for a subject, as JSON content; None if it took nothing."""
    rows = database.query("SELECT content FROM reading WHERE run = ? AND subject = ?", run_id, subject)
    content: dict[str, Any] | None = unpack(rows[0][0]) if rows else None
    return content


def list_turns(database: Database, run_id: str) -> list[Turn]:
    """Return a run's turns in order; LedgerError if one of them is damaged."""
    columns = "iteration, source, type, message, prompt_tokens, completion_tokens"
    with database.errors_in_words():
        return [
            Turn(**{**dict(zip(columns.split(", "), row, strict=True)), "message": unpack(row[3])})
            for row in database.query(f"SELECT {columns} FROM turn WHERE run = ? ORDER BY id", run_id)  # noqa: S608
        ]


def _get_time() -> str:
    return datetime.now(UTC).isoformat()


_REPLY = """
    SELECT exchange.id, run = ?2 AS own, exchange.status, content_type, data, hash
    FROM exchange JOIN body ON hash = body
    WHERE request = ?1 AND error IS NULL AND (run = ?2 OR (at >= ?3 AND exchange.status = 200))
    ORDER BY own DESC, CASE own WHEN 1 THEN exchange.id ELSE -exchange.id END LIMIT 1
"""
"""A run's own reply, the first; else the latest of another run."""
_COPY_REPLY = """
    INSERT INTO exchange SELECT NULL, ?, request, source, method, url, sent, 0, status, content_type, 0, NULL, body, at
    FROM exchange WHERE id = ?
"""
