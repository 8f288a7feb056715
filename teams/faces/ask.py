"""A run on the command line: check the input, follow it, leave its report in a folder; the same for one lived again."""

import asyncio
import gc
import json
import signal
import sys
import traceback
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, aclosing, contextmanager, suppress
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

from willowbark.tools.enclosure import one_line
from willowbark.tools.errors import UsageError
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.questions import validate_question

from ..config import FILE_NAME, Settings, directory_of_stray_file
from ..events import AgentEvent
from ..model_clients import BASELINE, close, model_client
from ..run.logs import log_event, logged
from ..run.options import RunOptions, Shown
from ..run.workspace import Report, RunFolder
from .doctor import addresses_of, reachable, unreachable_advice
from .terminal import Progress, complain, line_of, show_report

if TYPE_CHECKING:
    from autogen_core import CancellationToken
    from autogen_core.models import ChatCompletionClient

    from willowbark.tools.http.transport import Recorder

    from ..run.research import Asked

_GRACE_S = 10.0  # for a partial report after Ctrl-C; a second Ctrl-C ends the wait
_STOPS = ("SIGINT", "SIGTERM", "SIGHUP")  # Ctrl-C, an orderly stop, a terminal that was closed; Windows lacks the last
_Events = AsyncGenerator[AgentEvent, None]
ResearchStream = Callable[[RunOptions], _Events]
"""`willowbark.teams.run.research_stream`, or what stands in for it."""


class ExitCode(IntEnum):
    """What the command line answers to whoever called it."""

    REPORT = 0
    FAULT = 1
    USAGE = 2
    UNREACHABLE = 3
    FAILED = 4
    CANCELLED = 130


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
    may_stand_in: bool = False
    """Whether the baseline analyst may write the report where the model failed."""

    def note(self, event: AgentEvent) -> None:
        """Take in one event."""
        self.events.append(event)
        if event.type == "complete":
            self.report = event.report
        elif event.type == "error":
            self.error = one_line(event.message)

    @property
    def exit_code(self) -> ExitCode:
        """The code that tells this outcome."""
        if self.cancelled:
            return ExitCode.CANCELLED
        if self.report is None or self.error is not None:
            return ExitCode.FAILED
        if self.model_failed:
            return ExitCode.FAILED
        return ExitCode.UNREACHABLE if self.unanswered else ExitCode.REPORT

    @property
    def model_failed(self) -> bool:
        """Whether the report is by another analyst than the one that was asked for, and none was to stand in."""
        return bool(getattr(self.report, "model_failed", False)) and not self.may_stand_in

    @property
    def unanswered(self) -> bool:
        """Whether the report is one of a run in which sources were asked and none answered."""
        asked, answered = getattr(self.report, "search_log", []), getattr(self.report, "sources_searched", [])
        return bool(asked) and not answered


def ask(options: RunOptions, stream: ResearchStream | None = None) -> ExitCode:
    """Answer a question on stdout and in a run folder.

    Args:
        options: of the run, the question among them.
        stream: runs it; None takes the research team.

    Raises:
        UsageError: question, configuration, model or folder are at fault; nothing was written.
    """
    settings, shown = options.chosen(), options.shown
    if options.settings is None and shown.out is None and (folder_named := directory_of_stray_file()) is not None:
        complain(f"{FILE_NAME} in this folder has run folders written to {folder_named}; --out names another place")
    text = validate_question(options.question or "")
    client = None if settings.llm.model == BASELINE else model_client(settings.llm.model, settings)
    with ExitStack() as stack:
        recorder, watched = _traced_if_asked(shown.trace, stack)
        if settings.library.path is None and not _in_reach(options.endpoints or Endpoints.public(), settings):
            return ExitCode.UNREACHABLE
        folder = RunFolder.create(settings.output.directory, text)
        stack.callback(folder.discard_if_empty)
        progress = stack.enter_context(_progress(shown))
        progress.begin(text)
        from autogen_core import CancellationToken  # noqa: PLC0415  AutoGen and the agents take most of a second

        client, token = client or model_client(BASELINE, settings), CancellationToken()
        handed = {
            "question": text,
            "settings": settings,
            "model_client": client,
            "recorder": recorder,
            "cancellation_token": token,
            "approve": _asked_in_terminal(settings, progress),
            "run_id": folder.run_id,
        }
        events = (stream or _research_stream())(options.model_copy(update=handed))
        outcome = asyncio.run(follow(watched(events), progress.show, token, client))
        outcome.may_stand_in = settings.llm.fallback
        progress.__exit__(None, None, None)
        return _leave(outcome, folder, settings, shown)


def resume_run(run_id: str, shown: Shown) -> ExitCode:
    """Bring a run of the ledger to its report, on stdout and in its run folder.

    Raises:
        LedgerError: no such run, one that another process works on, or damaged content.
        UsageError: the folder cannot be written to.
    """
    from autogen_core import CancellationToken  # noqa: PLC0415

    from ..ledger import Ledger  # noqa: PLC0415
    from ..run.resume import resume_stream  # noqa: PLC0415  the whole team
    from .export_command import restored  # noqa: PLC0415

    token = CancellationToken()
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger.existing())
        run = ledger.run(run_id)
        settings = Settings.restored(run.settings)
        root = shown.out or settings.output.directory
        if run.status == "complete" and (report := restored(run_id, root)) is not None:
            show_report(report, as_json=shown.as_json, whole=shown.full)
            complain(f"run {run_id} was complete already; its report stands in {root / run_id}")
            return ExitCode.REPORT
        folder = RunFolder.at(root, run_id)
        recorder, watched = _traced_if_asked(shown.trace, stack)
        progress = stack.enter_context(_progress(shown))
        stream = resume_stream(
            run_id,
            ledger,
            cancellation_token=token,
            approve=_asked_in_terminal(settings, progress),
            recorder=recorder,
        )
        outcome = asyncio.run(follow(watched(stream), progress.show, token))
    return _leave(outcome, folder, settings, shown)


def replay_run(run_id: str, shown: Shown) -> ExitCode:
    """Print a run's report, made anew from its journal; tells on stderr whether it is the one that the run made.

    It is written only where `out` names a folder.

    Raises:
        LedgerError: no such run, one whose replies were dropped, or damaged content.
        UsageError: the folder cannot be written to.
    """
    from autogen_core import CancellationToken  # noqa: PLC0415

    from ..ledger import Ledger  # noqa: PLC0415
    from ..run.resume import replay_stream  # noqa: PLC0415  the whole team
    from .runs_command import without_clock  # noqa: PLC0415

    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger.existing())
        run, stored = ledger.run(run_id), ledger.report(run_id)
        _, watched = _traced_if_asked(shown.trace, stack)
        progress = stack.enter_context(_progress(shown))
        outcome = asyncio.run(follow(watched(replay_stream(run_id, ledger)), progress.show, CancellationToken()))
    if outcome.report is None:
        complain(f"the run cannot be replayed: {outcome.error or 'it was stopped'}")
        return ExitCode.CANCELLED if outcome.cancelled else ExitCode.FAILED
    if shown.out is not None:
        formats = Settings.restored(run.settings).output.formats
        RunFolder.at(shown.out, run_id).write_report(outcome.report, formats)
    show_report(outcome.report, as_json=shown.as_json, whole=shown.full)
    if stored is None:
        return ExitCode.REPORT
    same = without_clock(stored) == without_clock(json.loads(outcome.report.to_json()))
    complain("the report is the run's own" if same else "the report differs from the run's own")
    return ExitCode.REPORT if same else ExitCode.FAILED


@contextmanager
def _progress(shown: Shown) -> Iterator[Progress]:
    """Progress and log, for as long as the block lasts; a log tells the events too."""
    with (
        logged(shown.verbosity, as_json=shown.log_json),
        Progress(quiet=shown.quiet or shown.verbosity > 0) as progress,
    ):
        yield progress


async def follow(
    events: _Events,
    show: Callable[[AgentEvent], None],
    token: "CancellationToken",
    client: "ChatCompletionClient | None" = None,
) -> Outcome:
    """Follow a run to its end; Ctrl-C, SIGTERM or SIGHUP asks it for a partial report, a second one ends it.

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
                with suppress(OSError):  # a terminal that was closed, a full disk below a log: no reason to lose a run
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


def _asked_in_terminal(settings: Settings, progress: Progress) -> "Asked | None":
    """Who is asked about the candidates: the person at the terminal; None where the settings ask nobody."""
    if not settings.research.approve:
        return None
    from autogen_agentchat.agents import UserProxyAgent  # noqa: PLC0415  agents take most of a second

    from willowbark.agents.approver import terminal_input  # noqa: PLC0415

    from ..run.research import approver_for  # noqa: PLC0415

    async def typed(prompt: str, cancellation_token: "CancellationToken | None") -> str:
        with progress.paused():
            return await terminal_input(prompt, cancellation_token)

    return approver_for(UserProxyAgent("approver", input_func=typed), settings, via="terminal")


def _on_interrupt(outcome: Outcome, token: "CancellationToken", task: "asyncio.Task[object]") -> Callable[[], None]:
    """Answer what asks the run to stop from now on; the function given back ends that."""
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        if outcome.cancelled:
            task.cancel()
            return
        outcome.cancelled = True
        token.cancel()
        loop.call_later(_GRACE_S, task.cancel)

    heard = [getattr(signal, name) for name in _STOPS if hasattr(signal, name)]
    if heard[-1] is not signal.SIGINT and signal.getsignal(heard[-1]) is signal.SIG_IGN:
        heard.pop()  # `nohup`: the run is to outlive its terminal
    with suppress(NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread
        for number in heard:
            loop.add_signal_handler(number, interrupted)
    return lambda: _forget(loop, heard)


def _forget(loop: asyncio.AbstractEventLoop, heard: Sequence[signal.Signals]) -> None:
    with suppress(NotImplementedError, ValueError, RuntimeError):
        for number in heard:
            loop.remove_signal_handler(number)


def _traced_if_asked(path: Path | None, stack: ExitStack) -> "tuple[Recorder | None, Callable[[_Events], _Events]]":
    """What makes spans of requests, and what makes them of events; nothing does where no trace is asked for."""
    if path is None:
        return None, lambda events: events
    try:
        from ..run.observability import span_recorder, trace_file, traced  # noqa: PLC0415  off by default
    except ModuleNotFoundError:
        raise UsageError("--trace needs an extra: pip install 'willowbark[trace]'") from None
    stack.enter_context(trace_file(path))
    return span_recorder(), traced


def _in_reach(endpoints: Endpoints, settings: Settings) -> bool:
    """Whether any source can be reached; says so where none can."""
    addresses = addresses_of(endpoints, settings)
    if reachable(addresses, enough=1):
        return True
    complain(unreachable_advice(endpoints, addresses))
    return False


def _research_stream() -> ResearchStream:
    from ..run.course import Course  # noqa: F401, PLC0415  the whole team: bad input is told before it is loaded
    from ..run.research import research_stream  # noqa: PLC0415

    collect_seldom()
    return research_stream


def collect_seldom() -> None:
    """Have cyclic garbage looked for in what a run makes alone, and seldom: a look at all that is loaded takes .1 s."""
    gc.freeze()
    gc.set_threshold(10_000)


def _leave(outcome: Outcome, folder: RunFolder, settings: Settings, shown: Shown) -> ExitCode:
    """Write the report and print it, or what was told of a run without one; printed it is even on a full disk."""
    try:
        keep(outcome, folder, settings)
        place, code = f"stands in {folder.path}", outcome.exit_code
    except UsageError as error:
        place, code = f"was not kept: {error}", outcome.exit_code or ExitCode.USAGE
    if outcome.report is not None:
        show_report(outcome.report, as_json=shown.as_json, whole=shown.full)
    _tell(outcome, folder, place, quiet=shown.quiet)
    return code


def keep(outcome: Outcome, folder: RunFolder, settings: Settings) -> None:
    """Write into a run's folder what came of it: the report, or the events where there is none, and the log.

    Raises:
        UsageError: the folder cannot be written to.
    """
    if outcome.report is not None:
        folder.write_report(outcome.report, settings.output.formats)
    else:
        folder.write("events.jsonl", "\n".join(event.model_dump_json() for event in outcome.events))
    folder.write("log.txt", "\n".join(_log_of(outcome.events)))
    if outcome.trace is not None:
        folder.write("traceback.txt", outcome.trace)


def _log_of(events: Sequence[AgentEvent]) -> list[str]:
    """What was told, a line each, with the seconds since the first."""
    told = [event for event in events if event.type != "streaming"]
    return [line_of(event, (event.timestamp - told[0].timestamp).total_seconds()) for event in told]


def _tell(outcome: Outcome, folder: RunFolder, place: str, *, quiet: bool) -> None:
    go_on = f"to go on: willowbark resume {folder.run_id}"
    if outcome.cancelled:
        kept = "the report so far" if outcome.report is not None else "what happened until then"
        complain(f"cancelled; {kept} {place}; {go_on}")
    elif outcome.error is not None:
        complain(f"the run failed: {outcome.error}; what there is {place}")
    elif outcome.model_failed:
        analyst = getattr(outcome.report, "analyst", None)
        complain(f"the report is by {analyst}, and {place}; --fallback takes such a report for one")
    elif outcome.unanswered:
        complain(f"no source answered; the report names each and why, and {place}")
    elif not place.startswith("stands"):
        complain(f"the report {place}")
    elif not quiet:
        files = ", ".join(sorted(path.name for path in folder.path.iterdir()))
        print(f"Run folder: {folder.path} ({files})", file=sys.stderr)
        print("Next: willowbark show last, or willowbark export last --to html", file=sys.stderr)
