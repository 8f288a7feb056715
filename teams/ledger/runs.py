"""The runs of a ledger: started, listed, opened again by one process at a time, forgotten."""

import json
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import AwareDatetime, BaseModel, Field

from willowbark import __version__
from willowbark.teams.run.workspace import RUN_ID, new_run_id

from .database import BUSY_TIMEOUT_S, LedgerError, connect, in_words, reader
from .journal import Journal
from .kept import check
from .packs import SIZE, Contents, drop_unused, packing
from .rows import inserting
from .schema import SEALED
from .writer import Writer

if TYPE_CHECKING:
    from autogen_core.models import RequestUsage

DEFAULT_PATH = Path(".willowbark") / "ledger.db"
"""Below the current folder, which is the workspace."""
MAX_BYTES = 2 << 30  # of replies kept, 2 GiB: thousands of runs
_PRUNED_SHARE = 0.8  # of `MAX_BYTES`: what pruning leaves, so that not every run prunes
Status = Literal["running", "interrupted", "complete", "cancelled", "failed"]
_INSERT = inserting(
    "run",
    "id, question, status, created_at, updated_at, version, model, analyst, model_info, sandboxed, settings",
)
_log = logging.getLogger(__name__)
_STATUS = "UPDATE run SET status = ?, updated_at = ? WHERE id = ?"


@dataclass(frozen=True, slots=True)
class Model:
    """Who answers a run's model calls."""

    name: str
    """As in the settings, such as `openai/gpt-4.1-mini`."""
    analyst: str
    """What the report calls it."""
    info: dict[str, Any]
    """What it can do, as AutoGen tells it: requests are worded by that."""


class Run(BaseModel, frozen=True, extra="forbid"):
    """One line of the list of runs."""

    run_id: str
    question: str
    status: Status
    """interrupted: nobody works on it any more, and it was not finished."""
    stop_reason: str | None
    """Why the search ended; None while it has not."""
    created_at: AwareDatetime
    updated_at: AwareDatetime
    version: str
    """Of Willowbark, when the run was started."""
    model: str
    """Its name in the settings."""
    analyst: str
    """What the report calls it."""
    model_info: dict[str, Any]
    """What the model can do, as AutoGen tells it."""
    sandboxed: bool
    settings: dict[str, Any]
    spent_s: float = Field(ge=0)
    """Seconds of work so far; time between a kill and a resume does not count."""
    rounds: int
    """Rounds judged so far."""
    requests: int
    """Requests sent, every attempt counted."""
    model_calls: int
    tokens: int
    cost_usd: float | None
    """None where the price of the model is not known."""
    pruned_at: AwareDatetime | None
    """When its replies were dropped to make room; None while they are kept."""


class Ledger:
    """One workspace's file of runs; a context manager.

    Args:
        path: the file, made where it is missing; None keeps everything in memory.
        busy_timeout_s: how long to wait for other programs that write to it.
        max_bytes: of replies; above, those of the oldest complete runs are dropped when a run starts.

    Raises:
        LedgerError: the file cannot be used.
    """

    def __init__(
        self,
        path: Path | None = DEFAULT_PATH,
        *,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._database = connect(path, busy_timeout_s)
        with in_words(path):
            self._reading = reader(self._database, path, busy_timeout_s)
        self._writer = Writer(self._database, aside=path is not None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Commit what was told, and close the file."""
        self._writer.close()
        self._reading.close()
        self._database.close()

    @classmethod
    def existing(cls, path: Path = DEFAULT_PATH) -> Self:
        """Open a ledger that is there.

        Raises:
            LedgerError: there is none, or it cannot be used.
        """
        if not path.is_file():
            raise LedgerError(f"there is no ledger at {path}; `willowbark ask` in this folder makes one")
        return cls(path)

    @contextmanager
    def start(
        self,
        question: str,
        *,
        settings: dict[str, Any],
        model: "Model",
        sandboxed: bool,
        run_id: str | None = None,
        reuse: bool = False,
    ) -> Iterator[Journal]:
        """Begin a run, and hold it while the block lasts.

        Args:
            question: as asked.
            settings: JSON-safe, without keys.
            model: the run's.
            sandboxed: whether the sources are a sandbox's.
            run_id: None makes one.
            reuse: whether replies of other runs may answer, while they are fresh.

        Raises:
            LedgerError: not a run id, one that is taken, or a file that cannot be written.
        """
        name = run_id or new_run_id(question)
        if not RUN_ID.fullmatch(name):
            raise LedgerError(f"{name!r} is no run id: those are up to 64 of a-z, 0-9, - and _")
        now = datetime.now(UTC).isoformat()
        known = (__version__, model.name, model.analyst, json.dumps(model.info))
        row = (name, question, "running", now, now, *known, int(sandboxed), json.dumps(settings))
        with self._held(name):
            with in_words(self.path):
                try:
                    self._writer.commit(lambda database: database.execute(_INSERT, row))
                except sqlite3.IntegrityError:
                    raise LedgerError(f"there is a run {name!r} already; choose another id") from None
                self._writer.commit(partial(_prune, max_bytes=self._max_bytes))
            with self._journal(name, reuse=reuse) as journal:
                yield journal

    @contextmanager
    def reopen(self, run_id: str) -> Iterator[Journal]:
        """Go on with a run, and hold it while the block lasts.

        Raises:
            LedgerError: no such run, a finished one, one that another process works on, or damaged content.
        """
        run = self.run(run_id)
        if run.status == "complete":
            raise LedgerError(f"run {run_id} is complete; see it with `willowbark show {run_id}`")
        with self._held(run_id):
            self.verify(run_id)
            row = ("running", datetime.now(UTC).isoformat(), run_id)
            with in_words(self.path):
                self._writer.commit(lambda database: database.execute(_STATUS, row))
            with self._journal(run_id, spent_s=run.spent_s) as journal:
                yield journal

    def journal(self, run_id: str) -> Journal:
        """A run's journal, to read and to replay from.

        Raises:
            LedgerError: no such run, or damaged content.
        """
        run = self.run(run_id)
        self.verify(run_id)
        return Journal(self._reading, self._writer, self.path, run_id, spent_s=run.spent_s, replaying=True)

    @contextmanager
    def _journal(self, run_id: str, spent_s: float = 0.0, reuse: bool = False) -> Iterator[Journal]:
        """A journal that is written to while the block lasts."""
        journal = Journal(self._reading, self._writer, self.path, run_id, spent_s=spent_s, reuse=reuse)
        try:
            yield journal
        finally:
            journal.flush()
        if self.path is not None and journal.is_complete:
            self._pack(run_id)

    def _pack(self, run_id: str) -> None:
        """Keep what a finished run holds in less room; where that fails, it stays as it is."""
        try:
            for job in packing(self._reading, run_id):
                self._writer.commit(job)
        except (LedgerError, sqlite3.Error, OSError) as error:
            _log.info("run %s was not packed: %s", run_id, error)

    def runs(self) -> list[Run]:
        """Every run, the latest first."""
        with in_words(self.path):
            rows = self._reading.execute(f"{_RUNS} ORDER BY run.created_at DESC, run.rowid DESC").fetchall()
            return [self._run(row) for row in rows]

    def run(self, run_id: str) -> Run:
        """One run.

        Raises:
            LedgerError: there is no such run, or its row is not what was written.
        """
        with in_words(self.path):
            row = self._reading.execute(f"{_RUNS} WHERE run.id = ?", (run_id,)).fetchone()
            if row is None:
                raise self._unknown(run_id)
            if self._reading.execute(_EDITED, (run_id,)).fetchone():
                raise self._damaged(run_id)
            return self._run(row)

    def report(self, run_id: str) -> dict[str, Any] | None:
        """A run's report as JSON content; None where there is none yet.

        Raises:
            LedgerError: no such run, or a report that is not what was written.
        """
        self.run(run_id)
        with in_words(self.path):
            packed, expected = self._reading.execute("SELECT report, hash FROM run WHERE id = ?", (run_id,)).fetchone()
            return None if packed is None else Contents(self._reading).of(packed, expected)

    def usage(self, run_id: str) -> "RequestUsage":
        """The tokens of all model calls of a run."""
        from autogen_core.models import RequestUsage  # noqa: PLC0415  AutoGen takes a while

        used = (
            "SELECT coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0) FROM model_call WHERE run = ?"
        )
        with in_words(self.path):
            prompt, completion = self._reading.execute(used, (run_id,)).fetchone()
        return RequestUsage(prompt_tokens=prompt, completion_tokens=completion)

    def verify(self, run_id: str) -> None:
        """Read everything of a run and compare it with its hashes.

        Raises:
            LedgerError: something is not what was written.
        """
        self.report(run_id)
        with in_words(self.path):
            check(self._reading, run_id)

    def forget(self, run_id: str) -> None:
        """Remove a run and all that only it holds, be it damaged or not.

        Raises:
            LedgerError: no such run, or a process is working on it.
        """
        with in_words(self.path):
            if self._reading.execute("SELECT 1 FROM run WHERE id = ?", (run_id,)).fetchone() is None:
                raise self._unknown(run_id)
        with self._held(run_id), in_words(self.path):
            self._writer.commit(partial(_forget, run_id=run_id))
        if (lock := self._lock_file(run_id)) is not None:
            with suppress(OSError):
                lock.unlink(missing_ok=True)

    def is_held(self, run_id: str) -> bool:
        """Whether a process is working on a run."""
        try:
            with self._held(run_id):
                return False
        except LedgerError:
            return True

    def _unknown(self, run_id: str) -> LedgerError:
        return LedgerError(f"there is no run {run_id!r} in {self.path}; `willowbark runs` lists them")

    def _damaged(self, run_id: str) -> LedgerError:
        what = f"run {run_id} of the ledger {self.path} is damaged (its row is not what was written)"
        return LedgerError(f"{what}; remove it with `willowbark forget {run_id}`, and ask again")

    def _run(self, row: Sequence[Any]) -> Run:
        fields = dict(zip(_FIELDS, row, strict=True))
        try:
            for name in ("settings", "model_info"):
                fields[name] = json.loads(fields[name])
            return self._as_it_stands(fields)
        except (ValueError, TypeError):
            raise self._damaged(row[0]) from None

    def _as_it_stands(self, fields: dict[str, Any]) -> Run:
        if fields["status"] == "running" and not self.is_held(fields["run_id"]):
            fields["status"] = "interrupted"
        return Run.model_validate(fields)

    def _lock_file(self, run_id: str) -> Path | None:
        if self.path is None or not RUN_ID.fullmatch(run_id):
            return None
        return self.path.parent / "locks" / f"{run_id}.lock"

    @contextmanager
    def _held(self, run_id: str) -> Iterator[None]:
        """Hold a run: an exclusive lock of SQLite's on a file of its own, which the system lets go with the process."""
        file = self._lock_file(run_id)
        if file is None:
            yield
            return
        with in_words(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            lock = sqlite3.connect(file, timeout=0, isolation_level=None)
        try:
            try:
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise LedgerError(f"{file} cannot be used as a lock ({error})") from error
                raise LedgerError(f"run {run_id} is being worked on by another process; wait for its end") from None
            yield
        finally:
            lock.close()


_FIELDS = tuple(Run.model_fields)
_RUNS = """
    SELECT run.id, question, run.status, stop_reason, created_at, updated_at, version, run.model, analyst, model_info,
        sandboxed, settings,
        spent_s,
        (SELECT count(*) FROM turn WHERE turn.run = run.id AND type = 'AssessmentMessage'),
        (SELECT count(*) FROM exchange WHERE exchange.run = run.id AND attempt > 0),
        (SELECT count(*) FROM model_call WHERE model_call.run = run.id),
        (SELECT coalesce(sum(prompt_tokens + completion_tokens), 0) FROM model_call WHERE model_call.run = run.id),
        (SELECT CASE WHEN count(*) = count(cost_usd) THEN coalesce(sum(cost_usd), 0.0) END
            FROM model_call WHERE model_call.run = run.id),
        pruned_at
    FROM run
"""
_EDITED = f"SELECT 1 FROM run WHERE id = ? AND seal IS NOT sealed({SEALED['run']})"  # noqa: S608  names of our own


def _forget(database: sqlite3.Connection, *, run_id: str) -> None:
    database.execute("DELETE FROM run WHERE id = ?", (run_id,))
    drop_unused(database)


def _prune(database: sqlite3.Connection, *, max_bytes: int) -> None:
    """Drop the replies that the oldest complete runs got; turns, answers and reports stay."""
    size = database.execute(SIZE).fetchone()[0]
    if size <= max_bytes:
        return
    kept = "SELECT id FROM run WHERE status = 'complete' AND pruned_at IS NULL ORDER BY created_at"
    for (run_id,) in database.execute(kept).fetchall():
        database.execute("DELETE FROM exchange WHERE run = ?", (run_id,))
        database.execute("UPDATE run SET pruned_at = ? WHERE id = ?", (datetime.now(UTC).isoformat(), run_id))
        drop_unused(database)
        size = database.execute(SIZE).fetchone()[0]
        if size <= max_bytes * _PRUNED_SHARE:
            return
