"""The ledger: all requests, answers and decisions of the runs, in one SQLite file per workspace.

    from willowbark.teams.ledger import Ledger

To resume or replay a run, a fresh team is asked the same question, and every request and model call that the journal
holds is answered from it. So nothing committed is asked twice, and no team state needs saving. One process at a time
works on a run.
"""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import AwareDatetime, BaseModel, Field

from willowbark import __version__
from willowbark.teams.ledger.run_ids import RUN_ID, make_run_id

from .database import DEFAULT_PATH, Database, LedgerError, pack, restore, unpack, unpack_bytes
from .journal import CORRECTED, FORMER, REWRITTEN, Journal, Turn, list_turns, load_reading

__all__ = ["DEFAULT_PATH", "Journal", "Ledger", "LedgerError", "Model", "Run", "RunStatus", "Turn", "restore"]
RunStatus = Literal["running", "interrupted", "complete", "cancelled", "failed"]


@dataclass(frozen=True, slots=True)
class Model:
    """The model of a run."""

    name: str
    """Name in the settings, such as `openai/gpt-4.1-mini`."""
    analyst: str
    """The model's name in reports."""
    info: dict[str, Any]
    """Abilities in AutoGen's form, which determine how requests are worded."""


class Run(BaseModel, frozen=True, extra="forbid"):
    """A run in the list of runs."""

    run_id: str
    question: str
    status: RunStatus
    """interrupted: unfinished, and no process works on it."""
    stop_reason: str | None
    """Why the search ended; None until then."""
    created_at: AwareDatetime
    updated_at: AwareDatetime
    version: str
    """Willowbark's version at the start of the run."""
    model: str
    """This and the next two as in `Model`."""
    analyst: str
    model_info: dict[str, Any]
    sandboxed: bool
    settings: dict[str, Any]
    spent_s: float = Field(ge=0)
    """Seconds of work so far; time between a kill and a resume does not count."""
    rounds: int
    """Rounds judged so far."""
    requests: int
    """Requests sent, including retries."""
    model_calls: int
    tokens: int
    cost_usd: float | None
    """US dollars; None if the model's price is unknown."""

    @property
    def of_model(self) -> Model:
        """The run's model."""
        return Model(self.model, self.analyst, self.model_info)


class Ledger(Database):
    """A workspace's file of runs, created if missing, in memory if None; a context manager."""

    @classmethod
    def existing(cls, path: Path = DEFAULT_PATH) -> Self:
        """Open an existing ledger; LedgerError if there is none, or it cannot be used."""
        if not path.is_file():
            raise LedgerError(f"there is no ledger at {path}; `willowbark ask` in this folder makes one")
        return cls(path)

    @contextmanager
    def start(
        self,
        question: str,
        *,
        settings: dict[str, Any],
        model: Model,
        sandboxed: bool,
        run_id: str | None = None,
        reuse: bool = False,
        spent_s: float = 0.0,
    ) -> Iterator[Journal]:
        """Start a run and lock it for the duration of the block.

        Args:
            settings: JSON-safe, without keys.
            sandboxed: whether others than the public sources are asked.
            reuse: whether fresh replies of other runs may be used.
            spent_s: seconds of work before now.

        Raises:
            LedgerError: an invalid run id, one already in use, or a file that cannot be written.
        """
        name = run_id or make_run_id(question)
        if not RUN_ID.fullmatch(name):
            raise LedgerError(f"{name!r} is not a run id: use up to 64 of a-z, 0-9, - and _")
        now = datetime.now(UTC).isoformat()
        described = (model.name, model.analyst, pack(model.info), int(sandboxed), pack(settings), spent_s)
        row = (name, question, "running", None, now, now, __version__, *described, None)
        with self._hold(name):
            with self.transaction() as database:
                if database.execute("SELECT 1 FROM run WHERE id = ?", (name,)).fetchone():
                    raise LedgerError(f"there is a run {name!r} already; choose another id")
                database.execute(f"INSERT INTO run VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608
            with Journal(self, name, spent_s=spent_s, reuse=reuse) as journal:
                yield journal

    @contextmanager
    def reopen(self, run_id: str) -> Iterator[Journal]:
        """Reopen a run to resume it, and lock it for the duration of the block; LedgerError if that is impossible."""
        run = self.run(run_id)
        if run.status == "complete":
            raise LedgerError(f"run {run_id} is complete; see it with `willowbark show {run_id}`")
        with self._hold(run_id):
            self.verify(run_id)
            with self.transaction() as database:
                now = datetime.now(UTC).isoformat()
                database.execute("UPDATE run SET status = 'running', updated_at = ? WHERE id = ?", (now, run_id))
            with Journal(self, run_id, spent_s=run.spent_s) as journal:
                yield journal

    def journal(self, run_id: str) -> Journal:
        """Open a run's journal for a replay; LedgerError if there is no such run, or content is damaged."""
        run = self.run(run_id)
        self.verify(run_id)
        return Journal(self, run_id, spent_s=run.spent_s, replaying=True)

    def runs(self) -> list[Run]:
        """List all runs, the latest first."""
        rows = self.query(f"{_RUNS} ORDER BY run.created_at DESC, run.rowid DESC")
        return [self._run(row) for row in rows]

    def run(self, run_id: str) -> Run:
        """Return one run; LedgerError if there is none, or its row is damaged."""
        for row in self.query(f"{_RUNS} WHERE run.id = ?", run_id):
            return self._run(row)
        raise LedgerError(f"there is no run {run_id!r} in {self.path}; `willowbark runs` lists them")

    def turns(self, run_id: str) -> list[Turn]:
        """Return the turns of a run's agents, in order; LedgerError if there is no such run, or one is damaged."""
        self.run(run_id)
        return list_turns(self, run_id)

    def report(self, run_id: str) -> dict[str, Any] | None:
        """Return a run's report as JSON content, None if there is none yet; LedgerError if it is damaged."""
        self.run(run_id)
        ((packed,),) = self.query("SELECT report FROM run WHERE id = ?", run_id)
        return None if packed is None else unpack(packed)

    def taken(self, run_id: str, subject: str) -> dict[str, Any] | None:
        """Return what a run took for a subject, as `Journal.find_reading`; LedgerError if it is damaged."""
        self.run(run_id)
        return load_reading(self, run_id, subject)

    def keep_corrected(
        self,
        run_id: str,
        corrections: Mapping[str, Any],
        report: BaseModel,
        readings: Mapping[str, Mapping[str, Any]],
        rewritten: BaseModel | None = None,
    ) -> None:
        """Keep a report that was made again, with all it rests on; the run's first report stays beside it.

        Args:
            run_id: a run with a report that no process works on.
            corrections: what people have said since the run, as JSON content.
            report: made with them.
            readings: what was taken from stores for it, by subject.
            rewritten: what a model wrote for it; None leaves what one wrote before.

        Raises:
            LedgerError: another process works on the run, or the file cannot be written.
        """
        insert = "INSERT OR IGNORE INTO reading VALUES (?, ?, ?)"
        with self._hold(run_id), self.transaction() as database:
            first = "INSERT OR IGNORE INTO reading SELECT id, ?, report FROM run WHERE id = ? AND report IS NOT NULL"
            database.execute(first, (FORMER, run_id))
            for subject, content in readings.items():
                database.execute(insert, (run_id, subject, pack(content)))
            replaced: dict[str, BaseModel | Mapping[str, Any]] = {CORRECTED: corrections}
            if rewritten is not None:
                replaced[REWRITTEN] = rewritten
            for subject, replacement in replaced.items():
                database.execute("DELETE FROM reading WHERE run = ? AND subject = ?", (run_id, subject))
                database.execute(insert, (run_id, subject, pack(replacement)))
            end = "UPDATE run SET report = ?, updated_at = ? WHERE id = ?"
            database.execute(end, (pack(report), datetime.now(UTC).isoformat(), run_id))

    def verify(self, run_id: str) -> None:
        """Verify the checksum of every content of a run; LedgerError if one is damaged."""
        self.report(run_id)
        for table, column in (("turn", "message"), ("model_call", "answer"), ("reading", "content")):
            for (content,) in self.query(f"SELECT {column} FROM {table} WHERE run = ?", run_id):  # noqa: S608
                unpack(content)
        bodies = "SELECT DISTINCT data, body FROM exchange LEFT JOIN body ON hash = body WHERE run = ?"
        for data, expected in self.query(bodies, run_id):
            unpack_bytes(data, expected)

    def forget(self, run_id: str) -> None:
        """Delete a run, even a damaged one, with all content that no other run uses; LedgerError if it is held."""
        with self._hold(run_id), self.transaction() as database:
            if not database.execute("DELETE FROM run WHERE id = ?", (run_id,)).rowcount:
                raise LedgerError(f"there is no run {run_id!r} in {self.path}; `willowbark runs` lists them")
            database.execute("DELETE FROM body WHERE hash NOT IN (SELECT body FROM exchange)")
        if (lock := self._lock_file(run_id)) is not None:
            with suppress(OSError):
                lock.unlink(missing_ok=True)

    def _run(self, row: Sequence[Any]) -> Run:
        fields = dict(zip(Run.model_fields, row, strict=True))
        try:
            fields |= {name: unpack(fields[name]) for name in ("settings", "model_info")}
            if fields["status"] == "running":
                with suppress(LedgerError), self._hold(fields["run_id"]):  # no process works on it
                    fields["status"] = "interrupted"
            return Run.model_validate(fields)
        except (LedgerError, ValueError, TypeError):
            what = f"run {row[0]} of the ledger {self.path} is damaged (its row is not what was written)"
            raise LedgerError(f"{what}; remove it with `willowbark forget {row[0]}`, and ask again") from None

    def _lock_file(self, run_id: str) -> Path | None:
        if self.path is None or not RUN_ID.fullmatch(run_id):
            return None
        return self.path.parent / "locks" / f"{run_id}.lock"

    @contextmanager
    def _hold(self, run_id: str) -> Iterator[None]:
        """Lock a run: an exclusive SQLite lock on its own file, which the system releases when the process ends."""
        file = self._lock_file(run_id)
        if file is None:
            yield
            return
        with self.errors_in_words():
            file.parent.mkdir(parents=True, exist_ok=True)
            lock = sqlite3.connect(file, timeout=0, isolation_level=None)
        try:
            try:
                lock.execute("BEGIN EXCLUSIVE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise LedgerError(f"{file} cannot be written as a lock ({error})") from error
                raise LedgerError(f"run {run_id} is being worked on by another process; wait for its end") from None
            yield
        finally:
            lock.close()


_RUNS = """
    SELECT run.id, question, run.status, stop_reason, created_at, updated_at, version, run.model, analyst, model_info,
        sandboxed, settings, spent_s,
        (SELECT count(*) FROM turn WHERE turn.run = run.id AND type = 'AssessmentMessage'),
        (SELECT count(*) FROM exchange WHERE exchange.run = run.id AND attempt > 0),
        (SELECT count(*) FROM model_call WHERE model_call.run = run.id),
        (SELECT coalesce(sum(prompt_tokens + completion_tokens), 0) FROM model_call WHERE model_call.run = run.id),
        (SELECT CASE WHEN count(*) = count(cost_usd) THEN coalesce(sum(cost_usd), 0.0) END
            FROM model_call WHERE model_call.run = run.id)
    FROM run
"""
