"""Runs with a ledger in processes of their own, which others can watch, kill and cripple."""

import asyncio
import ctypes
import json
import logging
import multiprocessing
import os
import resource
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from autogen_core.models import CreateResult, LLMMessage
from benchmarks.prompt_tokens import StandIn

from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import Settings
from willowbark.teams.ledger import Journal, Ledger
from willowbark.teams.ledger.database import BUSY_TIMEOUT_S
from willowbark.teams.run.research import research_stream, resume_stream
from willowbark.tools.errors import UsageError
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.lexicon import canonical_drug

from .running import QUESTIONS

RUN_ID = "the-run"
Mark = Literal["fetch", "model", "answered", "checkpoint", "report", "end"]
"""What a life is about to do: commit a reply, ask the model, commit its answer, commit a turn, write the report; or it
is over."""
_SETTINGS = {"research.max_iterations": 2, "research.max_results_per_tool": 5, "research.judge_threshold": 1.0}
_KINDS_OF_FAILURE = 3  # one of them is none
_TAKES_S = 0.02  # of the stand-in's answer: those asked side by side are under way together
_CAN_IGNORE_PERMISSIONS = 1  # CAP_DAC_OVERRIDE, see capabilities(7): what lets root write into read-only folders
_CAPABILITIES_VERSION = 0x20080522

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload([__name__])  # a life then begins within milliseconds
canonical_drug("propranolol")  # reads the dictionary of drugs


Model = Literal["baseline", "scripted", "failing"]
"""Who reads: the baseline analyst; a stand-in for a language model, which is asked in words and in many calls; or one
that leaves some of them unanswered, so that the report has its failures to tell."""
MODELS: tuple[Model, ...] = ("baseline", "scripted", "failing")


@dataclass(frozen=True, slots=True)
class Ailment:
    """What a life has to do with."""

    file_bytes: int | None = None
    """No file may grow larger than this: the operating system refuses to write on. None has no bound."""
    pages: int | None = None
    """The ledger may grow by so many pages, then SQLite says that the disk is full."""
    heeds_permissions: bool = False
    """Whether files and folders that are read-only are so for root, too."""
    patience_s: float = BUSY_TIMEOUT_S
    """How long it waits for a ledger that is locked."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a life says at its end."""

    report: Mapping[str, Any] | None = None
    """Without anything that the clock decides; None where none came."""
    model_calls: int = 0
    """That the model answered."""
    errors: tuple[str, ...] = ()
    """Error events, and what was raised instead of a report."""
    crash: str | None = None
    """An exception of a kind that nobody should see; None for none."""


@dataclass(slots=True)
class Life:
    """A process that lives a run, or goes on with it.

    Attributes:
        told: at the end of `lived`; None for a life that was killed.
        marks: how often it came to what.
    """

    path: Path
    url: str
    again: bool = False
    ailment: Ailment = Ailment()
    run_id: str = RUN_ID
    model: Model = "baseline"
    told: Told | None = None
    marks: list[str] = field(default_factory=list)

    def lived(self, watch: Callable[[str, int], None] = lambda mark, pid: None) -> "Life":
        """Live it to its end, or until `watch(mark, pid)` has killed it."""
        ours, theirs = _processes.Pipe()
        process = _processes.Process(target=_live, args=(theirs, self), daemon=True)
        process.start()
        theirs.close()
        with closing(ours):
            while (found := _received(ours)) is not None:
                if isinstance(found, Told):
                    self.told = found
                else:
                    self.marks.append(found)
                    watch(found, process.pid or 0)
        process.join()
        process.close()
        return self


def without_clock(report: ResearchReport | Mapping[str, Any]) -> dict[str, Any]:
    """A report's content, without moments: what two lives of one run must have in common."""
    content: dict[str, Any] = json.loads(report.to_json()) if isinstance(report, ResearchReport) else dict(report)
    content = {**content, "generated_at": None}
    return {**content, "search_log": [{**entry, "asked_at": None} for entry in content["search_log"]]}


def intact(path: Path) -> bool:
    """Whether SQLite finds nothing wrong with a file; one that is not there is not torn."""
    if not path.exists():
        return True
    with closing(sqlite3.connect(path)) as database:
        return database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _received(ours: Connection) -> Any:
    try:
        return ours.recv()
    except (EOFError, ConnectionResetError):
        return None


def _live(theirs: Connection, life: Life) -> None:
    logging.getLogger().addHandler(logging.NullHandler())
    _mark(theirs)
    _cripple(life.ailment)
    theirs.send(asyncio.run(_told(theirs, life)))
    theirs.close()


async def _told(theirs: Connection, life: Life) -> Told:
    client: _Counting | _CountingStandIn = _Counting(theirs)
    if life.model != "baseline":
        client = _CountingStandIn(theirs, fails=life.model == "failing")
    report, errors, crash = None, list[str](), None
    try:
        with Ledger(life.path, busy_timeout_s=life.ailment.patience_s) as ledger:
            where, settings = Endpoints.at(life.url), Settings().overridden(_SETTINGS)
            stream = (
                resume_stream(life.run_id, ledger, model_client=client, endpoints=where)
                if life.again
                else research_stream(
                    QUESTIONS[0],
                    settings=settings,
                    model_client=client,
                    endpoints=where,
                    ledger=ledger,
                    run_id=life.run_id,
                )
            )
            async for event in stream:
                if event.type == "synthesizing":
                    theirs.send("report")
                elif event.type == "error":
                    errors.append(event.message)
                elif event.type == "complete":
                    report = without_clock(event.data)
    except UsageError as error:
        errors.append(str(error))
    except Exception as error:  # noqa: BLE001  any other exception is what must not happen
        crash = f"{type(error).__name__}: {error}"
    theirs.send("end")
    return Told(report, client.made, tuple(errors), crash)


class _Counting(BaselineChatCompletionClient):
    """The baseline analyst, counting how often it is asked."""

    def __init__(self, theirs: Connection) -> None:
        super().__init__()
        self.made = 0
        self._theirs = theirs

    async def create(self, *arguments: Any, **options: Any) -> Any:
        self._theirs.send("model")
        answer = await super().create(*arguments, **options)
        self.made += 1
        self._theirs.send("answered")
        return answer


class _CountingStandIn(StandIn):
    """A stand-in for a language model, likewise; one that fails does not answer some prompts, always the same ones."""

    def __init__(self, theirs: Connection, *, fails: bool) -> None:
        super().__init__(_TAKES_S)
        self.made = 0
        self._theirs = theirs
        self._fails = fails

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        self._theirs.send("model")
        place = len(str(messages[-1].content)) % _KINDS_OF_FAILURE
        if self._fails and options.get("json_output") is not None and place:
            await asyncio.sleep(_TAKES_S)
            raise ConnectionError("nobody home") if place == 1 else TimeoutError("too late")
        answer = await super().create(messages, **options)
        self.made += 1
        self._theirs.send("answered")
        return answer


def _mark(theirs: Connection) -> None:
    """Have the process tell when it is about to commit a reply or a turn."""
    exchanged, turn = Journal.exchanged, Journal.keep_turn

    def told_exchanged(self: Journal, *arguments: Any) -> None:
        theirs.send("fetch")
        exchanged(self, *arguments)

    def told_turn(self: Journal, *arguments: Any) -> bool:
        theirs.send("checkpoint")
        return turn(self, *arguments)

    Journal.exchanged, Journal.keep_turn = told_exchanged, told_turn  # type: ignore[method-assign,assignment]


def _cripple(ailment: Ailment) -> None:
    if ailment.file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (ailment.file_bytes, resource.RLIM_INFINITY))
    if ailment.heeds_permissions and os.geteuid() == 0:
        _drop_capability(_CAN_IGNORE_PERMISSIONS)
    if ailment.pages is not None:
        _bound_pages(ailment.pages)


def _bound_pages(pages: int) -> None:
    """Have every ledger that is opened grow by no more than so many pages."""
    connect = sqlite3.connect

    def bounded(database: Any, *arguments: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(database, *arguments, **options)
        if Path(database).name == "ledger.db":
            held = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count={held + pages}")
        return connection

    sqlite3.connect = bounded  # type: ignore[assignment]


def _drop_capability(number: int) -> None:
    """Give up one of root's capabilities (capset(2)).

    Raises:
        OSError: it cannot be given up.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(_CAPABILITIES_VERSION, 0)
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable, twice 32 of each
    if libc.capget(header, sets):
        raise OSError(ctypes.get_errno(), "capget")
    for place in range(3):
        sets[place] &= ~(1 << number)
    if libc.capset(header, sets):
        raise OSError(ctypes.get_errno(), "capset")
