"""One question from the command line: check the input, follow the run, leave its report in a folder."""

import asyncio
import signal
import sys
import traceback
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, ExitStack, aclosing, suppress
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from autogen_core import CancellationToken

from willowbark.tools.errors import UsageError
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Recorder
from willowbark.tools.questions.query import validate_question

from ..config import Settings
from ..events import AgentEvent
from ..model_clients import close, model_client
from ..run.logs import log_event, logged
from ..run.workspace import Report, RunFolder
from .doctor import addresses_of, reachable, unreachable_advice
from .terminal import Progress, complain, one_line, show_report

if TYPE_CHECKING:
    from autogen_core.models import ChatCompletionClient

    from ..run.research import Asked

_GRACE_S = 10.0  # for a partial report after Ctrl-C; a second Ctrl-C ends the wait
_Watch = Callable[[AsyncGenerator[AgentEvent, None]], AsyncGenerator[AgentEvent, None]]
_REGULAR_ENDS = frozenset(
    {"sufficient_evidence", "token_budget_exceeded", "max_iterations_reached", "timeout", "no_new_evidence"}
)


class ExitCode(IntEnum):
    """What the command line answers to whoever called it."""

    REPORT = 0
    FAULT = 1
    USAGE = 2
    UNREACHABLE = 3
    FAILED = 4
    CANCELLED = 130


class ResearchStream(Protocol):
    """`willowbark.teams.run.research_stream`, or what stands in for it."""

    def __call__(
        self,
        question: str,
        *,
        settings: Settings,
        model_client: "ChatCompletionClient",
        endpoints: Endpoints | None,
        recorder: Recorder | None,
        cancellation_token: CancellationToken,
        approve: "Asked | None",
    ) -> AsyncGenerator[AgentEvent, None]:
        """Run a question; the last event is `complete`, with the report as its data, or `error`."""


@dataclass(frozen=True, slots=True)
class Question:
    """What was asked on the command line; None leaves a setting as configured."""

    text: str
    offline: bool = False
    model: str | None = None
    max_iterations: int | None = None
    max_results: int | None = None
    as_json: bool = False
    out: Path | None = None
    quiet: bool = False
    config: Path | None = None
    ledger: bool = True
    """Whether the run is kept in the workspace's ledger."""
    fresh: bool = False
    """Whether sources are asked even what another run asked lately."""
    trace: Path | None = None
    verbosity: int = 0
    """0 logs nothing, 1 events, 2 details."""
    log_json: bool = False
    approve: bool = False
    """Whether the person at the terminal is asked about the candidates before the report; False as configured."""


@dataclass(slots=True)
class Outcome:
    """What came of a run."""

    events: list[AgentEvent] = field(default_factory=list)
    report: Report | None = None
    error: str | None = None
    """One line; None when nothing failed."""
    trace: str | None = None
    """The traceback of an unexpected exception."""
    cancelled: bool = False

    def note(self, event: AgentEvent) -> None:
        """Take in one event."""
        self.events.append(event)
        if event.type == "complete":
            self.report = event.data
            if getattr(self.report, "stop_reason", None) in _REGULAR_ENDS:
                self.error = None
        elif event.type == "error":
            self.error = one_line(event.message)
            self.report = event.data if hasattr(event.data, "to_markdown") else self.report

    @property
    def exit_code(self) -> ExitCode:
        """The code that tells this outcome."""
        if self.cancelled:
            return ExitCode.CANCELLED
        if self.report is None or self.error is not None:
            return ExitCode.FAILED
        return ExitCode.UNREACHABLE if self.unanswered else ExitCode.REPORT

    @property
    def unanswered(self) -> bool:
        """Whether the report is one of a run in which sources were asked and none answered."""
        asked, answered = getattr(self.report, "search_log", []), getattr(self.report, "sources_searched", [])
        return bool(asked) and not answered


def ask(question: Question, stream: ResearchStream | None = None) -> ExitCode:
    """Answer a question on stdout and in a run folder.

    Args:
        question: as asked.
        stream: runs it; None takes the research team.

    Raises:
        UsageError: question, configuration, model or folder are at fault; nothing was written.
    """
    settings = Settings.load(question.config).overridden(
        {
            "llm.model": question.model,
            "research.max_iterations": question.max_iterations,
            "research.max_results_per_tool": question.max_results,
            "output.directory": question.out,
            "research.approve": question.approve or None,
        }
    )
    text = validate_question(question.text)
    client = model_client(settings.llm.model, settings)
    with ExitStack() as stack:
        stack.enter_context(logged(question.verbosity, as_json=question.log_json))
        recorder, watched = traced_if_asked(question.trace, stack)
        endpoints = _sandbox(stack) if question.offline else None
        if endpoints is None and not _in_reach(settings):
            return ExitCode.UNREACHABLE
        folder = RunFolder.create(settings.output.directory, text)
        stack.callback(folder.discard_if_empty)
        quiet = question.quiet or question.verbosity > 0  # a log tells the events too
        progress = stack.enter_context(Progress(quiet=quiet))
        token = CancellationToken()
        events = (stream or _research_stream(question, folder))(
            text,
            settings=settings,
            model_client=client,
            endpoints=endpoints,
            recorder=recorder,
            cancellation_token=token,
            approve=asked_in_terminal(settings, progress),
        )
        outcome = asyncio.run(follow(watched(events), progress.show, token, client))
        progress.__exit__(None, None, None)
        _leave(outcome, folder, settings)
        if outcome.report is not None:
            show_report(outcome.report, as_json=question.as_json)
        _tell(outcome, folder, quiet=question.quiet)
    return outcome.exit_code


async def follow(
    events: AsyncGenerator[AgentEvent, None],
    show: Callable[[AgentEvent], None],
    token: CancellationToken,
    client: "ChatCompletionClient | None" = None,
) -> Outcome:
    """Follow a run to its end; Ctrl-C asks it for a partial report, a second one ends it.

    Args:
        events: of the run.
        show: called with each.
        token: cancels the run.
        client: closed at the end.

    Raises:
        UsageError: as the run raises it.
    """
    outcome, task = Outcome(), asyncio.current_task()
    assert task is not None
    async with AsyncExitStack() as stack:
        if client is not None:
            stack.push_async_callback(close, client)
        stack.callback(_on_interrupt(outcome, token, task))
        await stack.enter_async_context(aclosing(events))
        try:
            async for event in events:
                outcome.note(event)
                log_event(event)
                show(event)
        except UsageError:
            raise
        except asyncio.CancelledError:
            outcome.cancelled = True
            task.uncancel()
        except Exception as error:  # noqa: BLE001  the outer edge: whatever a run raises becomes one line and a trace
            outcome.error = one_line(f"{type(error).__name__}: {error}")
            outcome.trace = traceback.format_exc()
    if outcome.report is None and outcome.error is None and not outcome.cancelled:
        outcome.error = "the run ended without a report"
    return outcome


def asked_in_terminal(settings: Settings, progress: Progress) -> "Asked | None":
    """Who is asked about the candidates: the person at the terminal; None where the settings ask nobody."""
    if not settings.research.approve:
        return None
    from autogen_agentchat.agents import UserProxyAgent  # noqa: PLC0415  agents take most of a second

    from willowbark.agents.prompt_line import terminal_input  # noqa: PLC0415

    from ..run.research import approver_for  # noqa: PLC0415

    async def typed(prompt: str, cancellation_token: CancellationToken | None) -> str:
        with progress.paused():
            return await terminal_input(prompt, cancellation_token)

    return approver_for(UserProxyAgent("approver", input_func=typed), settings, via="terminal")


def _on_interrupt(outcome: Outcome, token: CancellationToken, task: "asyncio.Task[object]") -> Callable[[], None]:
    """Answer Ctrl-C from now on; the function given back ends that."""
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        if outcome.cancelled:
            task.cancel()
            return
        outcome.cancelled = True
        token.cancel()
        loop.call_later(_GRACE_S, task.cancel)

    try:
        loop.add_signal_handler(signal.SIGINT, interrupted)
    except (NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread
        return lambda: None
    return lambda: _forget(loop)


def _forget(loop: asyncio.AbstractEventLoop) -> None:
    with suppress(ValueError, RuntimeError):
        loop.remove_signal_handler(signal.SIGINT)


def traced_if_asked(path: Path | None, stack: ExitStack) -> tuple[Recorder | None, _Watch]:
    """What makes spans of requests, and what makes them of events; nothing does where no trace is asked for."""
    if path is None:
        return None, lambda events: events
    try:
        from ..run.observability import span_recorder, traced  # noqa: PLC0415  off by default
        from ..run.trace_file import trace_file  # noqa: PLC0415
    except ModuleNotFoundError:
        raise UsageError("--trace needs an extra: pip install 'willowbark[trace]'") from None
    stack.enter_context(trace_file(path))
    return span_recorder(), traced


def sandbox_if_needed(stack: ExitStack) -> Endpoints:
    """The sandbox that the environment names, else one of our own until the stack is left."""
    named = Endpoints.from_environment()
    return named if named.sandboxed else _sandbox(stack)


def _sandbox(stack: ExitStack) -> Endpoints:
    from willowbark.tools.sandbox.server import SandboxServer  # noqa: PLC0415  online runs need no server

    return Endpoints.sandbox(stack.enter_context(SandboxServer()).url)


def _in_reach(settings: Settings) -> bool:
    """Whether any source can be reached; says so where none can."""
    endpoints = Endpoints.from_environment()
    addresses = addresses_of(endpoints, settings)
    if reachable(addresses, enough=1):
        return True
    complain(unreachable_advice(endpoints, addresses))
    return False


def _research_stream(question: Question, folder: RunFolder) -> ResearchStream:
    from ..ledger import DEFAULT_PATH  # noqa: PLC0415
    from ..run.research import research_stream  # noqa: PLC0415  the whole team: bad input is told before it is loaded

    if not question.ledger:
        return research_stream
    return partial(research_stream, ledger=DEFAULT_PATH, run_id=folder.run_id, fresh=question.fresh)


def _leave(outcome: Outcome, folder: RunFolder, settings: Settings) -> None:
    """Write the report; of a run without one, what was told until it ended."""
    if outcome.report is not None:
        folder.write_report(outcome.report, settings.output.formats)
    else:
        folder.write("events.jsonl", "\n".join(event.model_dump_json() for event in outcome.events))
    if outcome.trace is not None:
        folder.write("traceback.txt", outcome.trace)


def _tell(outcome: Outcome, folder: RunFolder, *, quiet: bool) -> None:
    if outcome.cancelled:
        kept = "the report so far" if outcome.report is not None else "what happened until then"
        complain(f"cancelled; {kept} stands in {folder.path}; to go on: willowbark resume {folder.run_id}")
    elif outcome.error is not None:
        complain(f"the run failed: {outcome.error}; what there is stands in {folder.path}")
    elif outcome.unanswered:
        complain(f"no source answered; the report in {folder.path} names each and why")
    elif not quiet:
        print(f"Run folder: {folder.path}", file=sys.stderr)
