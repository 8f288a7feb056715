"""Follows a run to its end, and keeps its report and log."""

import asyncio
import os
import signal
import traceback
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

from willowbark.tools.errors import UsageError
from willowbark.tools.records.enclosure import one_line

from ..config import OutputSettings
from ..events import AgentEvent
from .board import format_event
from .logs import log_event
from .workspace import RunFolder

if TYPE_CHECKING:
    from willowbark.agents.autogen import CancellationToken
    from willowbark.agents.report.model import ResearchReport


_GRACE_S = 60.0  # to wait for a partial report after Ctrl-C; a second Ctrl-C ends the wait


_STOPS = ("SIGINT", "SIGTERM", "SIGHUP")  # Ctrl-C, a termination request, a closed terminal; Windows lacks the last


Events = AsyncGenerator[AgentEvent, None]


class ExitCode(IntEnum):
    """Exit codes of the command line."""

    REPORT = 0
    FAULT = 1
    USAGE = 2
    UNREACHABLE = 3
    FAILED = 4
    CANCELLED = 130


@dataclass(slots=True)
class RunOutcome:
    """Result of a run."""

    log: list[str] = field(default_factory=list)
    """Its events, one per line, and the traceback of an unexpected exception."""
    report: "ResearchReport | None" = None
    error: str | None = None
    """One line; None when nothing failed."""
    cancelled: bool = False
    may_stand_in: bool = False
    """Whether the baseline analyst may write the report if the model fails."""

    @property
    def exit_code(self) -> ExitCode:
        """The exit code for this outcome."""
        if self.cancelled:
            return ExitCode.CANCELLED
        if self.report is None or self.error is not None or self.model_failed:
            return ExitCode.FAILED
        return ExitCode.UNREACHABLE if self.unanswered else ExitCode.REPORT

    @property
    def model_failed(self) -> bool:
        """Whether the baseline analyst wrote the report, although unwanted, because the model failed."""
        return self.report is not None and self.report.model_failed and not self.may_stand_in

    @property
    def unanswered(self) -> bool:
        """Whether there is no answer because sources failed: none answered, or not all that hold studies."""
        if self.report is None or not self.report.search_log:
            return False
        return not self.report.sources_searched or (not self.report.candidates and bool(self.silent_sources))

    @property
    def silent_sources(self) -> list[str]:
        """The sources of studies that were searched and answered no search."""
        from willowbark.tools.records.registry import cards  # noqa: PLC0415  not needed where the input is bad
        from willowbark.tools.sources.card import STUDIES  # noqa: PLC0415

        if self.report is None:
            return []
        searched = dict.fromkeys(entry.source for entry in self.report.search_log)
        silent = [name for name in searched if name in cards() and name not in self.report.sources_searched]
        return [name for name in silent if cards()[name].use == "searched" and cards()[name].gives in STUDIES]


async def follow(
    events: Events,
    show: Callable[[AgentEvent], None],
    token: "CancellationToken",
    end_at_once: Callable[[], object] = lambda: None,
) -> RunOutcome:
    """Follow a run to its end; Ctrl-C, SIGTERM or SIGHUP asks for a partial report, a second one ends the process.

    `end_at_once` is called before the process ends. UsageError of the run is raised again.
    """
    outcome = RunOutcome()
    task = asyncio.current_task()
    loop = asyncio.get_running_loop()
    began = None
    assert task is not None

    def interrupt() -> None:
        outcome.cancelled = True
        for number in signals:  # a plain signal handler is called even while the event loop is busy
            loop.remove_signal_handler(number)
            signal.signal(number, leave if signal.Signals(number).name != "SIGHUP" else signal.SIG_IGN)
        token.cancel()
        loop.call_later(_GRACE_S, task.cancel)

    def leave(*_: object) -> None:
        with suppress(Exception):  # whatever state the run is in
            end_at_once()
        os._exit(ExitCode.CANCELLED)  # doesn't wait for threads and agents; the ledger survives a kill at any moment

    signals = [getattr(signal, name) for name in _STOPS if hasattr(signal, name)]
    if signals[-1] is not signal.SIGINT and signal.getsignal(signals[-1]) is signal.SIG_IGN:
        signals.pop()  # `nohup`: the run should outlive its terminal
    async with AsyncExitStack() as stack:
        with suppress(NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread
            for number in signals:
                before = signal.getsignal(number)
                loop.add_signal_handler(number, interrupt)
                stack.callback(signal.signal, number, before)
                stack.callback(loop.remove_signal_handler, number)
        await stack.enter_async_context(aclosing(events))
        try:
            async for event in events:
                began = began or event.timestamp
                if event.type != "streaming":
                    outcome.log.append(format_event(event, (event.timestamp - began).total_seconds()))
                if event.type == "complete":
                    outcome.report = event.report
                elif event.type == "error":
                    outcome.error = one_line(event.message)
                with suppress(OSError):  # a closed terminal or a full disk under a log should not lose a run
                    log_event(event)
                    show(event)
        except UsageError:
            raise
        except asyncio.CancelledError:
            outcome.cancelled = True
            task.uncancel()
        except Exception as error:  # noqa: BLE001  top level: any exception becomes one line and a traceback
            outcome.error = one_line(f"{type(error).__name__}: {error}")
            outcome.log.append(traceback.format_exc())
    if outcome.report is None and outcome.error is None and not outcome.cancelled:
        outcome.error = "the run ended without a report"
    return outcome


def keep(outcome: RunOutcome, folder: RunFolder, output: OutputSettings | None = None) -> None:
    """Write a run's report, as the settings say, and its log into its folder; UsageError if that cannot be done."""
    if outcome.report is not None:
        folder.write_report(outcome.report, output)
    folder.write("log.txt", "\n".join(outcome.log))
