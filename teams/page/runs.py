"""The runs that the server lives: each in a thread with a loop of its own, so that no page waits for an analysis.

What is told of a run is kept while the server lives, so that a page that comes late or comes back sees all of it. What
must outlive the server is in the ledger, as with every other face.
"""

import asyncio
import secrets
import threading
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import ExitStack, aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autogen_core import CancellationToken

from willowbark.tools.errors import UsageError
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.questions import validate_question
from willowbark.tools.registry import title_of

from ..config import Settings
from ..events import AgentEvent
from ..faces.ask import Outcome, follow, keep
from ..faces.terminal import Board, source_of
from ..ledger import DEFAULT_PATH, Ledger
from ..run.options import RunOptions
from ..run.workspace import RunFolder

if TYPE_CHECKING:
    from willowbark.agents.approval import ApprovalAnswer, ApprovalRequest
    from willowbark.agents.approver import ApproverAgent

MOST_AT_ONCE = 6  # runs under way; each keeps a core busy while it reads
_MOST_KEPT = 20  # runs of which all that was told is kept after their end
_TEAM = ("literature", "trials", "mechanism", "judge", "report")
_Events = AsyncGenerator[AgentEvent, None]


@dataclass(slots=True)
class Lane:
    """What one agent did when."""

    spans: list[list[float]] = field(default_factory=list)
    """Begin and end of each time at work, in seconds since the run began; one that lasts has no end."""
    said: str = ""
    """What it does, or came to last; empty before its first turn."""

    def begin(self, now: float) -> None:
        """At work from now on, unless it is already."""
        if not self.spans or len(self.spans[-1]) == 2:
            self.spans.append([now])

    def end(self, now: float) -> None:
        """At work no longer."""
        if self.spans and len(self.spans[-1]) == 1:
            self.spans[-1].append(now)


class LiveRun:
    """A run under way, and all that was told of it; to be used in the server's loop.

    Args:
        folder: of the run, made.
        question: as asked.

    Attributes:
        life: tells this life of the run from others: a resumed run tells its earlier part anew.
        board: the sources, and what is due.
        lanes: what each agent did, by its name.
        rounds: the judge's assessments, as JSON content.
        told: every event; without its data, but for what is searched.
        request: the candidates that a person is asked about; None while nobody is.
        outcome: what came of the run; None while it lasts.
    """

    def __init__(self, folder: RunFolder, question: str) -> None:
        self._ended_at: float | None = None
        self.run_id, self.question, self.folder = folder.run_id, question, folder
        self.life = secrets.token_hex(4)
        self.board = Board(self._clock)
        self.lanes = {name: Lane() for name in _TEAM}
        self.rounds: list[dict[str, Any]] = []
        self.told: list[AgentEvent] = []
        self.request: ApprovalRequest | None = None
        self.outcome: Outcome | None = None
        self.token = CancellationToken()
        self._home = asyncio.get_running_loop()
        self._away: asyncio.AbstractEventLoop | None = None
        self._answer: asyncio.Future[ApprovalAnswer] | None = None
        self._changed = asyncio.Event()
        self._read_at = 0.0  # when the latest findings came: from then on the judge is at work

    async def changed(self, seconds: float) -> None:
        """Wait until something is told, at most so long."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)

    async def begun(self) -> None:
        """Wait for the first event.

        Raises:
            UsageError: there is none: question, option, settings, model or ledger are at fault.
        """
        while not self.told and self.outcome is None:
            await self.changed(60)
        if not self.told and self.outcome is not None:
            raise UsageError(self.outcome.error or "the run did not begin")

    def live(self, stream: Callable[[], _Events], settings: Settings) -> None:
        """Live the run in a thread of its own; it goes on whether or not anybody looks."""
        threading.Thread(target=self._thread, args=(stream, settings), name=self.run_id, daemon=True).start()

    def cancel(self) -> None:
        """Ask for a report of what was found until now."""
        self._there(self.token.cancel)

    def answer(self, answer: "ApprovalAnswer") -> None:
        """Say what a person decided; nothing where nobody is asked any more."""
        if (waiting := self._answer) is not None:
            self._there(lambda: None if waiting.done() else waiting.set_result(answer))

    async def asked(self, request: "ApprovalRequest") -> "ApprovalAnswer":
        """Put candidates before whoever looks at the page, and wait; called by the run, in its own loop."""
        self._answer = asyncio.get_running_loop().create_future()
        self._here(self._ask, request)
        try:
            return await self._answer
        finally:
            self._answer = None
            self._here(self._ask, None)

    def _thread(self, stream: Callable[[], _Events], settings: Settings) -> None:
        outcome = Outcome(error="a fault of Willowbark itself; the server's terminal shows where")
        try:
            outcome = asyncio.run(self._lived(stream))
            keep(outcome, self.folder, settings)
        except UsageError as error:
            outcome.error = str(error)
        finally:
            self.folder.discard_if_empty()
            self._here(self._end, outcome)

    async def _lived(self, stream: Callable[[], _Events]) -> Outcome:
        self._away = asyncio.get_running_loop()
        return await follow(stream(), lambda event: self._here(self._note, event), self.token)

    def _here(self, job: Callable[..., None], *arguments: Any) -> None:
        """Have something done in the server's loop; nothing where that is closed."""
        with suppress(RuntimeError):
            self._home.call_soon_threadsafe(job, *arguments)

    def _there(self, job: Callable[[], object]) -> None:
        """Have something done in the run's loop; nothing where that is closed."""
        if self._away is not None:
            with suppress(RuntimeError):
                self._away.call_soon_threadsafe(job)

    def _note(self, event: AgentEvent) -> None:
        self.board.note(event)
        self._lane(event, self.board.elapsed_s)
        if event.verdict is not None:
            self.rounds.append(event.verdict.model_dump(mode="json"))
        if event.type != "streaming":
            told = event if event.type == "searching" else event.model_copy(update={"data": None})
            self.told.append(told)
        self._tell()

    def _lane(self, event: AgentEvent, now: float) -> None:
        """Note who is at work: specialists from a search to their findings, the judge from the last findings on."""
        if event.type == "synthesizing":
            self.lanes["report"].begin(now)
            self.lanes["report"].said = "writing"
        elif event.type == "complete":
            for lane in self.lanes.values():
                lane.end(now)
            self.lanes["report"].said = "written"
        elif event.agent is not None:
            lane = self.lanes.setdefault(event.agent, Lane())
            if event.call is not None:
                lane.begin(now)
                source = source_of(event.call["tool"])
                lane.said = f"asking {title_of(source) if source else 'for single records'}"
            elif event.verdict is not None:
                lane.spans.append([self._read_at, now])
                lane.said = f"{event.verdict.recommendation}, confidence {event.verdict.confidence:.2f}"
            elif event.type == "progress" and event.data is None:
                lane.begin(now)
                lane.said = "asking you"
            elif event.type == "progress":
                lane.end(now)
                self._read_at = now
                lane.said = event.message.removeprefix(f"{event.agent}, ")

    def _ask(self, request: "ApprovalRequest | None") -> None:
        self.request = request
        self._tell()

    def _end(self, outcome: Outcome) -> None:
        outcome.events.clear()  # they hold every record; what was told stands in `told`
        self.outcome, self._ended_at = outcome, time.monotonic()
        self._tell()

    def _clock(self) -> float:
        return time.monotonic() if self._ended_at is None else self._ended_at

    def _tell(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class Runs:
    """The runs of one server, in the workspace that is the current folder.

    Args:
        options: of every run, without a question.

    Attributes:
        settings: what the options come to.
        known: runs under way and the latest that ended, by id.

    Raises:
        UsageError: settings or keys are at fault.
    """

    def __init__(self, options: RunOptions) -> None:
        self.settings = options.chosen()
        self.known: dict[str, LiveRun] = {}
        self._options = options.model_copy(update={"settings": self.settings})
        self._open = ExitStack()
        self._where: asyncio.Task[Endpoints] | None = None
        if options.endpoints is None and self.settings.library.path is None:
            Endpoints.public().require(self.settings.tools.sources)

    def make_ready(self) -> None:
        """Load the team, and open the sources, beside what else the server does."""
        self._where = asyncio.create_task(asyncio.to_thread(self._loaded))

    def _loaded(self) -> Endpoints:
        from ..run import research, resume  # noqa: F401, PLC0415  the team takes seconds, and pages need none of it

        return self._open.enter_context(self._options.sources_at(self.settings))

    @property
    def root(self) -> Path:
        """Where run folders are made."""
        return self.settings.output.directory

    def options_with(self, choices: Mapping[str, Any]) -> RunOptions:
        """The server's options with what somebody chose.

        Raises:
            UsageError: a choice that does not hold.
        """
        return RunOptions.of(self._options, choices)

    @property
    def under_way(self) -> list[LiveRun]:
        """The runs that have not ended, the latest first."""
        return [run for run in reversed(self.known.values()) if run.outcome is None]

    async def ask(self, options: RunOptions) -> LiveRun:
        """Begin a run.

        Raises:
            UsageError: question, options, model, ledger or folder are at fault, or enough runs are under way.
        """
        settings, question = options.chosen(), validate_question(options.question or "")
        handed = await self._handed()
        run = LiveRun(RunFolder.create(settings.output.directory, question), question)

        def stream() -> _Events:
            from ..run.research import research_stream  # noqa: PLC0415

            given = {"settings": settings, "ledger": DEFAULT_PATH, "run_id": run.run_id, **handed}
            approve = _approver(run, settings) if settings.research.approve else None
            return research_stream(
                options.model_copy(update={**given, "approve": approve, "cancellation_token": run.token})
            )

        return await self._begin(run, stream, settings)

    async def resume(self, run_id: str) -> LiveRun:
        """Go on with a run, or join it where it is under way.

        Raises:
            UsageError: no such run, a complete one, one that another process works on, or enough are under way.
        """
        if (run := self.known.get(run_id)) is not None and run.outcome is None:
            return run
        with Ledger.existing() as ledger:
            kept = ledger.run(run_id)
        settings, handed = Settings.restored(kept.settings), await self._handed()
        run = LiveRun(RunFolder.at(settings.output.directory, run_id), kept.question)

        async def stream() -> _Events:
            from ..run.resume import resume_stream  # noqa: PLC0415

            approve = _approver(run, settings) if settings.research.approve else None
            with Ledger.existing() as ledger:
                again = resume_stream(run_id, ledger, approve=approve, cancellation_token=run.token, **handed)
                async with aclosing(again) as events:
                    async for event in events:
                        yield event

        return await self._begin(run, stream, settings)

    async def settled(self, seconds: float) -> None:
        """Stop what is under way, and wait for it to keep what it found; it can be gone on with."""
        under_way = self.under_way
        for run in under_way:
            run.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                for run in under_way:
                    while run.outcome is None:
                        await run.changed(seconds)
        self._open.close()

    async def _handed(self) -> dict[str, Any]:
        if len(self.under_way) >= MOST_AT_ONCE:
            raise UsageError(f"{MOST_AT_ONCE} runs are under way already; wait for one, or stop one")
        assert self._where is not None
        return {"endpoints": await asyncio.shield(self._where)}

    async def _begin(self, run: LiveRun, stream: Callable[[], _Events], settings: Settings) -> LiveRun:
        self.known.pop(run.run_id, None)
        self.known[run.run_id] = run
        run.live(stream, settings)
        try:
            await run.begun()
        except UsageError:
            del self.known[run.run_id]
            raise
        ended = [each.run_id for each in self.known.values() if each.outcome is not None]
        for run_id in ended[:-_MOST_KEPT]:
            del self.known[run_id]
        return run


def _approver(run: LiveRun, settings: Settings) -> "ApproverAgent":
    """Asks whoever looks at the page, as long as the settings say."""
    from willowbark.agents.approver import ApproverAgent  # noqa: PLC0415  agents take most of a second

    asked = settings.research
    return ApproverAgent(
        approve=run.asked,
        decided_by="person",
        via="page",
        default=asked.approval_default,
        timeout_s=asked.approval_timeout_s,
    )
