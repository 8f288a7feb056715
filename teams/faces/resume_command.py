"""`willowbark resume` and `willowbark replay`: a run of the ledger lived again, with `ask`'s ways to show it."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from autogen_core import CancellationToken

from ..config import Settings
from ..ledger import DEFAULT_PATH, Ledger
from ..run.logs import logged
from ..run.workspace import RunFolder
from .ask import ExitCode, Outcome, asked_in_terminal, follow, sandbox_if_needed, traced_if_asked
from .runs_command import without_clock
from .terminal import Progress, complain, show_report


@dataclass(frozen=True, slots=True)
class Shown:
    """How a run is shown, as for `ask`."""

    as_json: bool = False
    out: Path | None = None
    """Folder for run folders; None takes the run's own settings."""
    quiet: bool = False
    trace: Path | None = None
    verbosity: int = 0
    """0 logs nothing, 1 events, 2 details."""
    log_json: bool = False

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Progress and log, for as long as the block lasts."""
        with logged(self.verbosity, as_json=self.log_json), Progress(quiet=self.quiet or self.verbosity > 0) as shown:
            yield shown


def resume_run(run_id: str, path: Path = DEFAULT_PATH, *, shown: Shown | None = None) -> ExitCode:
    """Bring a run to its report, on stdout and in its run folder.

    Raises:
        LedgerError: no such run, a complete one, one that another process works on, or damaged content.
        UsageError: the folder cannot be written to.
    """
    from ..run.resume import resume_stream  # noqa: PLC0415  the whole team

    how = shown or Shown()
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger.existing(path))
        run = ledger.run(run_id)
        settings = Settings.restored(run.settings)
        folder = RunFolder.at(how.out or settings.output.directory, run_id)
        recorder, watched = traced_if_asked(how.trace, stack)
        endpoints = sandbox_if_needed(stack) if run.sandboxed else None
        progress = stack.enter_context(how.progress())
        token = CancellationToken()
        stream = resume_stream(
            run_id,
            ledger,
            endpoints=endpoints,
            cancellation_token=token,
            approve=asked_in_terminal(settings, progress),
            recorder=recorder,
        )
        outcome = asyncio.run(follow(watched(stream), progress.show, token))
    if outcome.report is not None:
        folder.write_report(outcome.report, settings.output.formats)
        show_report(outcome.report, as_json=how.as_json)
    _tell(outcome, run_id)
    return outcome.exit_code


def replay_run(run_id: str, path: Path = DEFAULT_PATH, *, shown: Shown | None = None) -> ExitCode:
    """Print a run's report, made anew from its journal; tells on stderr whether it is the one that the run made.

    It is written only where `out` names a folder.

    Raises:
        LedgerError: no such run, one whose replies were dropped, or damaged content.
        UsageError: the folder cannot be written to.
    """
    from ..run.resume import replay_stream  # noqa: PLC0415  the whole team

    how = shown or Shown()
    with ExitStack() as stack:
        ledger = stack.enter_context(Ledger.existing(path))
        run, stored = ledger.run(run_id), ledger.report(run_id)
        _, watched = traced_if_asked(how.trace, stack)
        progress = stack.enter_context(how.progress())
        outcome = asyncio.run(follow(watched(replay_stream(run_id, ledger)), progress.show, CancellationToken()))
    if outcome.report is None:
        complain(f"the run cannot be replayed: {outcome.error or 'it was stopped'}")
        return ExitCode.CANCELLED if outcome.cancelled else ExitCode.FAILED
    if how.out is not None:
        formats = Settings.restored(run.settings).output.formats
        RunFolder.at(how.out, run_id).write_report(outcome.report, formats)
    show_report(outcome.report, as_json=how.as_json)
    if stored is None:
        return ExitCode.REPORT
    same = without_clock(stored) == without_clock(json.loads(outcome.report.to_json()))
    complain("the report is the run's own" if same else "the report differs from the run's own")
    return ExitCode.REPORT if same else ExitCode.FAILED


def _tell(outcome: Outcome, run_id: str) -> None:
    if outcome.cancelled:
        complain(f"cancelled; go on with: willowbark resume {run_id}")
    elif outcome.error is not None:
        complain(f"the run failed: {outcome.error}; try again with: willowbark resume {run_id}")
    elif outcome.unanswered:
        complain("no source answered; the report names each and why")
