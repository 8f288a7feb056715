"""One run's journal: what it is told while the run goes on, and what it answers when the run is lived again."""

import asyncio
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage
from autogen_core.models import RequestUsage
from opentelemetry import trace
from pydantic import BaseModel

from willowbark.tools import errors
from willowbark.tools.errors import SearchError, SourceUnavailable
from willowbark.tools.http.transport import Exchange, Recorder
from willowbark.tools.http.wire import WireReply

from .database import LedgerError, in_words, worded
from .kept import KeptReply, Turn, keep, kept_by, take_over, turns_of
from .packs import Contents
from .rows import inserting, pack
from .writer import Job, Kept, Writer

_tracer = trace.get_tracer("willowbark")
MODEL = "model"
"""Stands for a source's name in the failures of model calls."""
_NOTE_S = 0.5  # of a run's clock that a kill may lose


class Journal:
    """Records a run, and remembers it; handed to the run's transport and model client.

    What it is told is committed by a thread that waits for the disk. Who is about to ask a source or a model waits
    until all that was told before is kept (`settled`): so a kill costs no more than what each of them was at just then.
    Outside an event loop everything is kept at once.

    Args:
        reading: the ledger's connection for reading.
        writer: writes to it.
        path: of the ledger, for messages; None is in memory.
        run_id: the run.
        spent_s: seconds of work before now.
        replaying: whether what is not in the journal counts as not to be had; nothing is written then.
        reuse: whether replies of other runs may answer.

    Attributes:
        failure: why the ledger can no longer be written; None while it can.
        is_complete: whether it was told that the run is finished, and that is kept.
        lacked: hashes of the requests of a replay that the journal could not answer.
    """

    def __init__(
        self,
        reading: sqlite3.Connection,
        writer: Writer,
        path: Path | None,
        run_id: str,
        *,
        spent_s: float = 0.0,
        replaying: bool = False,
        reuse: bool = False,
    ) -> None:
        self.run_id = run_id
        self.path = path
        self.replaying = replaying
        self.failure: LedgerError | None = None
        self.is_complete = False
        self.lacked: list[str] = []
        self._reuse = reuse
        self._relay: Recorder | None = None
        self._on_failure: Callable[[], None] = lambda: None
        self._reading = reading
        self._contents = Contents(reading)
        self._writer = writer
        self._kept: Kept | None = None
        """The latest that was handed to the writer."""
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

    def idle(self, seconds: float) -> None:
        """Leave time out of the run's: it waited for a person."""
        self._started += seconds

    def watched_by(self, relay: Recorder | None, on_failure: Callable[[], None]) -> None:
        """Tell others too.

        Args:
            relay: gets every exchange; None for nobody.
            on_failure: called once when the ledger can no longer be written.
        """
        self._relay, self._on_failure = relay, on_failure

    # --- the transport's recorder ---

    def exchanged(self, exchange: Exchange) -> None:
        """Commit one exchange with a source."""
        if self._relay is not None:
            self._relay.exchanged(exchange)
        self._write(keep(self.run_id, exchange))
        if time.monotonic() - self._noted > _NOTE_S:
            self._write(self._note())

    def recall(self, source: str, request: str) -> WireReply | SearchError | None:
        """The reply or failure that a request ended in, in this run or, while fresh, in another one."""
        if failure := self._next_failure(request):
            kind, name, reason = failure
            found = getattr(errors, kind, SourceUnavailable)
            return (found if issubclass(found, SearchError) else SourceUnavailable)(name, reason)
        reply = self._reply(source, request)
        if reply is None and self.replaying:
            self.lacked.append(request)
            return SourceUnavailable(source, "its reply is not in the ledger")
        if reply is None:
            return None
        try:
            body = self._contents.bytes_of(reply.data, reply.hash)
        except LedgerError:
            return None
        return WireReply(reply.status, {"content-type": reply.content_type}, body)

    def _reply(self, source: str, request: str) -> KeptReply | None:
        try:
            own = kept_by(self._reading, self.run_id, request)
            if own is not None or not self._reuse:
                return own
            found = take_over(self._reading, self._contents, self.run_id, source, request)
        except sqlite3.Error as error:
            self._broke(error)
            return None
        if found is None:
            return None
        self._write(found[1])
        return found[0]

    def gave_up(self, request: str, error: SearchError) -> None:
        """Commit the failure that a request ended in."""
        self._failed(request, type(error).__name__, error.source, error.reason)

    async def settled(self) -> None:
        """Wait until all that was told so far is committed."""
        kept = self._kept
        if kept is not None and not kept.done():
            await asyncio.wait([asyncio.wrap_future(kept)])
        self._look_at(kept)

    def flush(self) -> None:
        """Commit all that was told so far, the events too, before going on."""
        self._write(self._note())
        if self._kept is not None:
            self._kept.result()
            self._look_at(self._kept)

    # --- model calls ---

    def answer(self, request: str) -> Any:
        """The answer that a model once gave to a request, as JSON content; None where it was not asked."""
        row = self._row(
            "SELECT answer, hash FROM model_call WHERE request = ? AND run = ? LIMIT 1", request, self.run_id
        )
        return None if row is None else self._contents.of(*row)

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
        self._write(lambda database: database.execute(_INSERT_ANSWER, row))

    def model_failed(self, request: str, kind: str) -> None:
        """Commit that a model raised an error of a kind instead of answering."""
        self._failed(request, kind, MODEL, "")

    def model_failure(self, request: str) -> str | None:
        """The kind of error that a model once raised; None where it did not."""
        failure = self._next_failure(request)
        return failure[0] if failure else None

    # --- turns, events, report ---

    @_tracer.start_as_current_span("ledger: turn", record_exception=False)
    def turn(self, message: BaseAgentEvent | BaseChatMessage, iteration: int) -> None:
        """Commit what a speaker handed to the team.

        Args:
            message: is kept as AutoGen dumps it; not to be changed any more.
            iteration: the round, from 1.
        """
        identity = (iteration, message.source, type(message).__name__)
        if self._to_skip[identity] > 0:
            self._to_skip[identity] -= 1
            return
        usage = message.models_usage or RequestUsage(0, 0)
        tokens = (usage.prompt_tokens, usage.completion_tokens)
        at = _now()

        row = (self.run_id, *identity, *pack(message), *tokens, at)
        self._write(lambda database: database.execute(_INSERT_TURN, row))
        self._write(self._note())

    def turns(self) -> list[Turn]:
        """The turns so far, in their order."""
        with in_words(self.path):
            return turns_of(self._reading, self.run_id)

    def event(self, kind: str, iteration: int, message: str) -> None:
        """Take note of an event; it is committed with what is committed next."""
        self._events.append((self.run_id, kind, iteration, message, _now()))

    @_tracer.start_as_current_span("ledger: finish", record_exception=False)
    def finish(self, status: str, stop_reason: str | None, report: BaseModel | None) -> None:
        """Commit how the run ended.

        Args:
            status: complete, cancelled or failed.
            stop_reason: as the report names it.
            report: is kept as JSON; None where there is none.
        """
        data, expected = pack(report) if report is not None else (None, None)
        statement = "UPDATE run SET status = ?, stop_reason = ?, report = ?, hash = ? WHERE id = ?"
        self._write(lambda database: database.execute(statement, (status, stop_reason, data, expected, self.run_id)))
        self.flush()
        self.is_complete = status == "complete" and self.failure is None

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
        row = (self.run_id, request, kind, source, reason, _now())
        self._write(lambda database: database.execute(_INSERT_FAILURE, row))

    def _row(self, statement: str, *values: Any) -> Any:
        try:
            return self._reading.execute(statement, values).fetchone()
        except sqlite3.Error as error:
            self._broke(error)
            return None

    def _one(self, statement: str, *values: Any) -> Any:
        with in_words(self.path):
            return self._reading.execute(statement, values).fetchone()[0]

    def _write(self, job: Job) -> None:
        """Hand something to the writer; a ledger that cannot be written ends the run, in words."""
        if self.failure is not None or self.replaying:
            return
        self._kept = kept = self._writer.submit(job)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            kept.result()
            self._look_at(kept)
        else:
            kept.add_done_callback(partial(self._tell, loop))

    def _tell(self, loop: asyncio.AbstractEventLoop, kept: Kept) -> None:
        """Tell the run's own thread of a failure."""
        if kept.result() is not None:
            with suppress(RuntimeError):  # the run is over, and its loop is closed
                loop.call_soon_threadsafe(self._look_at, kept)

    def _look_at(self, kept: Kept | None) -> None:
        if kept is not None and kept.done() and (error := kept.result()) is not None:
            self._broke(error)

    def _note(self) -> Job:
        """What need not be written with every exchange: the events that wait, and the time spent."""
        events, self._events = self._events, []
        spent = (_now(), self.spent_s, self.run_id)
        self._noted = time.monotonic()

        def note(database: sqlite3.Connection) -> None:
            database.executemany(_INSERT_EVENT, events)
            database.execute("UPDATE run SET updated_at = ?, spent_s = ? WHERE id = ?", spent)

        return note

    def _broke(self, error: Exception) -> None:
        if self.failure is None:
            self.failure = worded(error, self.path)
            self._on_failure()


_INSERT_FAILURE = inserting("failure", "run, request, kind, source, reason, at")
_INSERT_ANSWER = inserting(
    "model_call", "run, request, model, answer, hash, prompt_tokens, completion_tokens, cost_usd, at"
)
_INSERT_TURN = inserting("turn", "run, iteration, source, type, message, hash, prompt_tokens, completion_tokens, at")
_INSERT_EVENT = "INSERT INTO event (run, type, iteration, message, at) VALUES (?, ?, ?, ?, ?)"


def _now() -> str:
    return datetime.now(UTC).isoformat()
