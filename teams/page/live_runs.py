"""The server's runs in progress, each in a thread with its own event loop, so that no page waits for a run.

A run's events are kept in memory, so that a page opened later or again sees all of them. What must outlive the
server is in the ledger, as with every other interface.
"""

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import aclosing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from willowbark.agents.autogen import CancellationToken
from willowbark.tools.errors import UsageError
from willowbark.tools.records.registry import title_of

from ..config import OutputSettings, Settings
from ..events import AgentEvent
from ..ledger import DEFAULT_PATH, Ledger
from ..ledger.run_ids import make_run_id
from ..run.board import Board, find_source
from ..run.following import Events, RunOutcome, follow, keep
from ..run.options import RunOptions, create_approver
from ..run.workspace import RunFolder

if TYPE_CHECKING:
    from willowbark.agents.approval import ApprovalAnswer, ApprovalRequest
    from willowbark.agents.findings import Findings

MOST_AT_ONCE = 6  # runs in progress; each keeps a core busy while reading
_MOST_ENDED_RUNS = 20  # ended runs whose events are kept
_TEAM = ("literature", "trials", "mechanism", "judge", "report")


class LiveRun:
    """A run in progress and its events, with its existing folder; for use in the server's event loop."""

    def __init__(
        self, folder: RunFolder, question: str, *, offline: bool, output: OutputSettings | None = None
    ) -> None:
        self._output = output
        self.run_id = folder.run_id
        self.question = question
        self.folder = folder
        self.offline = offline
        self.life = secrets.token_hex(4)
        """Distinguishes a resumed run, which repeats its earlier events."""
        self._ended_at: float | None = None
        self.board = Board(lambda: time.monotonic() if self._ended_at is None else self._ended_at)
        self.agents = dict.fromkeys(_TEAM, "waiting for its turn")
        """Current or latest activity of each."""
        self.found: list[Findings] = []
        """What each specialist found in each round, without the records."""
        self.rounds: list[dict[str, Any]] = []
        """The judge's assessments, as JSON content."""
        self.events: list[AgentEvent] = []
        """All events, without data except for searches."""
        self.stopping = False
        """Whether the user asked for a report of what was found so far."""
        self.request: ApprovalRequest | None = None
        """The candidates that a person is asked about; None if nobody is being asked."""
        self.outcome: RunOutcome | None = None
        """None until the run ends."""
        self.token = CancellationToken()
        self._server_loop = asyncio.get_running_loop()
        self._run_loop: asyncio.AbstractEventLoop | None = None
        self._answer: asyncio.Future[ApprovalAnswer] | None = None
        self._changed = asyncio.Event()

    @property
    def activity(self) -> str:
        """What the run is doing or waiting for."""
        if self.stopping:
            return "stopping: reporting what was found"
        return "waiting for your approval of the candidates" if self.request else self.board.activity

    async def wait_for_change(self, seconds: float) -> None:
        """Wait for a change, at most so many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._changed.wait(), seconds)

    def start(self, stream: Callable[[], Events]) -> None:
        """Start the run in its own thread; it continues without a viewer."""

        async def follow_run() -> RunOutcome:
            self._run_loop = asyncio.get_running_loop()
            return await follow(stream(), lambda event: self._call_in_server(self._note, event), self.token)

        def work() -> None:
            outcome = RunOutcome(error="a fault of Willowbark itself; see the server's terminal")
            try:
                outcome = asyncio.run(follow_run())
                keep(outcome, self.folder, self._output)
            except UsageError as error:
                outcome.error = str(error)
            finally:
                self.folder.discard_if_empty()
                self._call_in_server(self._end, outcome)

        threading.Thread(target=work, name=self.run_id, daemon=True).start()

    def cancel(self) -> None:
        """Ask for a report of what was found so far."""
        self.request = None
        self.stopping = True
        self._call_in_run(self.token.cancel)
        self._notify()

    def answer(self, answer: "ApprovalAnswer") -> None:
        """Pass on a person's decision; ignored if nobody is being asked any more."""
        self._ask(None)
        if (waiting := self._answer) is not None:
            self._call_in_run(lambda: None if waiting.done() else waiting.set_result(answer))

    async def ask_person(self, request: "ApprovalRequest") -> "ApprovalAnswer":
        """Show candidates on the page and wait for an answer; called by the run, in its own event loop."""
        self._answer = asyncio.get_running_loop().create_future()
        self._call_in_server(self._ask, request)
        try:
            return await self._answer
        finally:
            self._answer = None
            self._call_in_server(self._ask, None)

    def _call_in_server(self, job: Callable[..., None], *arguments: Any) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self._server_loop.call_soon_threadsafe(job, *arguments)

    def _call_in_run(self, job: Callable[[], object]) -> None:
        if self._run_loop is not None:
            with suppress(RuntimeError):  # the loop is closed
                self._run_loop.call_soon_threadsafe(job)

    def _note(self, event: AgentEvent) -> None:
        """Record an event: specialists are active until their findings, the judge from the last findings on."""
        self.board.note(event)
        agent = event.agent
        verdict = event.verdict
        if event.type in ("synthesizing", "complete"):
            self.agents["report"] = "writing" if event.type == "synthesizing" else "written"
        elif agent is not None and event.call is not None:
            source = find_source(event.call["tool"])
            self.agents[agent] = f"asking {title_of(source) if source else 'for single records'}"
        elif agent is not None and verdict is not None:
            self.agents[agent] = f"{verdict.recommendation}, confidence {verdict.confidence:.2f}"
            self.rounds.append(verdict.model_dump(mode="json"))
        elif agent is not None and event.type == "progress":
            state = event.message.removeprefix(f"{agent}, ")
            self.agents[agent] = "asking you" if event.data is None else state
            if hasattr(event.data, "digest"):
                findings: Any = event.data  # whose module is loaded with the run
                self.found.append(findings.model_copy(update={"replies": [], "readings": [], "studies": []}))
        if event.type != "streaming":
            self.events.append(event if event.type == "searching" else event.model_copy(update={"data": None}))
        self._notify()

    def _ask(self, request: "ApprovalRequest | None") -> None:
        self.request = request
        self._notify()

    def _end(self, outcome: RunOutcome) -> None:
        self.outcome = outcome
        self._ended_at = time.monotonic()
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


class LiveRuns:
    """The runs of one server, in the current folder's workspace, with the same options but for the question.

    Raises:
        UsageError: invalid settings, keys or library.
    """

    def __init__(self, options: RunOptions, tell: Callable[[str], None] = lambda _: None) -> None:
        self.settings = options.chosen()
        self.known: dict[str, LiveRun] = {}
        """Runs in progress and the latest ended ones, by id."""
        self._options = options.model_copy(update={"settings": self.settings})
        self._endpoints = options.open_endpoints(self.settings, tell)

    @property
    def root(self) -> Path:
        """Folder for run folders."""
        return self.settings.output.directory

    @property
    def under_way(self) -> list[LiveRun]:
        """Runs in progress, the latest first."""
        return [run for run in reversed(self.known.values()) if run.outcome is None]

    async def ask(self, choices: Mapping[str, Any]) -> LiveRun:
        """Start a run with the server's options, overridden by the user's choices.

        Raises:
            UsageError: invalid question, choices, model, ledger or folder, or too many runs in progress.
        """
        options = RunOptions.of(self._options, choices)
        settings = options.chosen()
        question = options.check_question(settings)

        def start(run_id: str, **run_choices: Any) -> Events:
            from ..run.research import research_stream  # noqa: PLC0415  the team

            run_choices |= {"settings": settings, "ledger": DEFAULT_PATH, "run_id": run_id}
            return research_stream(options.model_copy(update=run_choices))

        return await self._begin(None, question, settings, start)

    async def resume(self, run_id: str) -> LiveRun:
        """Resume a run, or return it if it is in progress.

        Raises:
            UsageError: no such run, a complete one, one that another process works on, or too many in progress.
        """
        run = self.known.get(run_id)
        if run is not None and run.outcome is None:
            return run
        with Ledger.existing() as ledger:
            ledger_run = ledger.run(run_id)

        async def start(run_id: str, **run_choices: Any) -> Events:
            from ..run.research import resume_stream  # noqa: PLC0415  the team

            with Ledger.existing() as ledger:
                async with aclosing(resume_stream(run_id, ledger, **run_choices)) as events:
                    async for event in events:
                        yield event

        return await self._begin(run_id, ledger_run.question, Settings.restored(ledger_run.settings), start)

    async def settle(self, seconds: float) -> None:
        """Stop the runs in progress, and wait for them to save what they found; they can be resumed."""
        for run in self.under_way:
            run.cancel()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while under_way := self.under_way:
                    await under_way[0].wait_for_change(seconds)

    async def _begin(
        self, run_id: str | None, question: str, settings: Settings, start: Callable[..., Events]
    ) -> LiveRun:
        """Start a run and wait for its first event; without one, question, options, model or ledger are invalid."""
        if len(self.under_way) >= MOST_AT_ONCE:
            raise UsageError(f"{MOST_AT_ONCE} runs are already under way; wait for one to end, or stop one")
        folder = RunFolder.at(settings.output.directory, run_id or make_run_id(question))
        run = LiveRun(folder, question, offline=settings.library.path is not None, output=settings.output)
        approve = create_approver(run.ask_person, settings, "page")
        is_of_server = settings.library.path == self.settings.library.path
        endpoints = self._endpoints if is_of_server else None  # a run of somebody's files opens them itself
        run_choices = {"endpoints": endpoints, "approve": approve, "cancellation_token": run.token}
        self.known.pop(run.run_id, None)
        self.known[run.run_id] = run
        run.start(lambda: start(run.run_id, **run_choices))
        while not run.events and run.outcome is None:
            await run.wait_for_change(60)
        if not run.events and run.outcome is not None:
            del self.known[run.run_id]
            raise UsageError(run.outcome.error or "the run did not begin")
        ended = [live_run.run_id for live_run in self.known.values() if live_run.outcome is not None]
        for ended_id in ended[:-_MOST_ENDED_RUNS]:
            del self.known[ended_id]
        return run
