"""A run on the command line: check the input, follow the run, print its report and keep it in a folder."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from willowbark.tools.errors import MissingExtra, UsageError
from willowbark.tools.http.endpoints import Endpoints

from ..config import ENV_PREFIX, FILE_NAME, OutputSettings, Settings
from ..ledger.run_ids import make_run_id
from ..run.following import Events, ExitCode, RunOutcome, follow, keep
from ..run.logs import logged
from ..run.options import RunOptions, Shown
from ..run.workspace import RunFolder
from .doctor import advise_unreachable, find_reachable, list_addresses
from .terminal import TerminalProgress, complain, show_report

if TYPE_CHECKING:
    pass


def ask(options: RunOptions, stream: Callable[[RunOptions], Events] | None = None) -> ExitCode:
    """Answer a question on stdout and in a run folder; UsageError for bad input, before anything is written.

    `stream` starts the run in the research team's place.
    """
    settings = options.chosen()
    display = options.shown
    has_folder = options.settings or display.out or os.environ.get(f"{ENV_PREFIX}OUTPUT__DIRECTORY")
    is_stray = not has_folder and Path(FILE_NAME).exists()
    if is_stray and settings.output.directory != OutputSettings().directory:
        moved = settings.output.directory.absolute()
        complain(f"{FILE_NAME} in this folder writes run folders to {moved}; use --out to choose another place")
    question = options.check_question(settings)
    if settings.library.path is None:
        addresses = list_addresses(Endpoints.public(), settings)
        if not find_reachable(addresses, enough=1):
            complain(advise_unreachable(addresses))
            return ExitCode.UNREACHABLE
    else:
        complain_of_library(settings.library.path)
    is_first = not settings.output.directory.exists()
    folder = RunFolder.at(settings.output.directory, make_run_id(question))

    def start(**choices: Any) -> Events:
        from ..run.research import research_stream  # noqa: PLC0415  the whole team: bad input is reported before

        choices |= {"question": question, "settings": settings, "run_id": folder.run_id}
        return (stream or research_stream)(options.model_copy(update=choices))

    try:
        outcome = _follow_on_terminal(start, settings, display, folder.run_id)
        return _finish(outcome, folder, display, settings.output)
    finally:
        if folder.discard_if_empty() and is_first:
            with suppress(OSError):  # another run may have begun there
                settings.output.directory.rmdir()


def complain_of_library(path: str) -> None:
    """Say on stderr what is bent in the files of a library, with file and line; UsageError if it cannot be opened."""
    from willowbark.tools.library import BUNDLED, open_library  # noqa: PLC0415  online runs need none

    if path == BUNDLED:
        return
    for line in open_library(path, complain).contents.unread:
        complain(f"library {path}: {line}")


def resume_run(run_id: str, display: Shown) -> ExitCode:
    """Resume a run of the ledger and finish its report, on stdout and in its run folder.

    LedgerError if there is no such run, another process works on it, or its content is damaged.
    """
    from ..ledger import Ledger  # noqa: PLC0415  the whole team
    from ..run.history import load_stored_report  # noqa: PLC0415
    from ..run.research import resume_stream  # noqa: PLC0415

    with Ledger.existing() as ledger:
        run = ledger.run(run_id)
        settings = Settings.restored(run.settings)
        folder = RunFolder.at(display.out or settings.output.directory, run_id)
        report = load_stored_report(run_id) if run.status == "complete" else None
        if report is not None:
            folder.write_report(report, settings.output)
            show_report(report, as_json=display.as_json, full=display.full)
            complain(f"run {run_id} was already complete; its report is in {folder.path}")
            return ExitCode.REPORT
        outcome = _follow_on_terminal(partial(resume_stream, run_id, ledger), settings, display, run_id)
    return _finish(outcome, folder, display, settings.output)


def replay_run(run_id: str, display: Shown) -> ExitCode:
    """Recreate a run's report from the ledger and say on stderr whether it equals the stored one.

    The report is written to a folder only if `shown.out` names one. LedgerError as for `resume_run`.
    """
    from ..ledger import Ledger  # noqa: PLC0415  the whole team
    from ..run.history import strip_clock  # noqa: PLC0415
    from ..run.research import replay_stream  # noqa: PLC0415

    with Ledger.existing() as ledger:
        stored = ledger.report(run_id)
        settings = Settings.restored(ledger.run(run_id).settings)
        outcome = _follow_on_terminal(lambda **_: replay_stream(run_id, ledger), settings, display, run_id)
    if outcome.report is None:
        complain(f"the run cannot be replayed: {outcome.error or 'it was stopped'}")
        return ExitCode.CANCELLED if outcome.cancelled else ExitCode.FAILED
    if display.out is not None:
        RunFolder.at(display.out, run_id).write_report(outcome.report, settings.output)
    show_report(outcome.report, as_json=display.as_json, full=display.full)
    if stored is None:  # the run was killed before it was kept
        return ExitCode.REPORT
    same = strip_clock(stored) == strip_clock(json.loads(outcome.report.to_json()))
    complain("the report is the run's own" if same else "the report differs from the run's own")
    return ExitCode.REPORT if same else ExitCode.FAILED


def _follow_on_terminal(start: Callable[..., Events], settings: Settings, display: Shown, run_id: str) -> RunOutcome:
    """Follow a run to its end, showing progress or log, and writing spans, as requested.

    `start` gets the terminal's choices for recorder, token and approval.
    """
    verbosity = display.verbosity or int(display.log_json)
    with ExitStack() as stack:
        choices = dict[str, Any]()
        traced: Callable[[Events], Events] = lambda events: events  # noqa: E731
        if display.trace is not None:
            try:
                from ..run import trace  # noqa: PLC0415  an extra
            except ModuleNotFoundError:
                raise MissingExtra("--trace", "trace") from None
            stack.enter_context(trace.trace_file(display.trace))
            choices["recorder"] = trace.SpanRecorder()
            traced = trace.traced
        stack.enter_context(logged(verbosity, as_json=display.log_json))
        progress = stack.enter_context(TerminalProgress(quiet=display.quiet or verbosity > 0))
        from willowbark.agents.autogen import CancellationToken  # noqa: PLC0415  AutoGen takes most of a second

        if settings.research.approve:
            from willowbark.agents.approver import ask_at_terminal  # noqa: PLC0415  agents take most of a second

            from ..run.options import create_approver  # noqa: PLC0415

            async def read_answer(prompt: str, cancellation_token: CancellationToken | None) -> str:
                with progress.paused():
                    return await ask_at_terminal(prompt, cancellation_token)

            choices["approve"] = create_approver(None, settings, "terminal", read_answer)

        def end_at_once() -> None:
            progress.__exit__()
            complain(f"stopped at once; to resume: willowbark resume {run_id}")

        token = CancellationToken()
        events = traced(start(cancellation_token=token, **choices))
        outcome = asyncio.run(follow(events, progress.show, token, end_at_once))
    outcome.may_stand_in = settings.llm.fallback
    return outcome


def _finish(outcome: RunOutcome, folder: RunFolder, display: Shown, output: OutputSettings) -> ExitCode:
    """Write the report, print it even if writing fails, and say on stderr how the run ended."""
    try:
        keep(outcome, folder, output)
        place = f"is in {folder.path}"
        code = outcome.exit_code
    except UsageError as error:
        place = f"was not kept: {error}"
        code = outcome.exit_code or ExitCode.USAGE
    if outcome.report is not None:
        show_report(outcome.report, as_json=display.as_json or output.format == "json", full=display.full)
    if outcome.cancelled:
        stood = "the report so far" if outcome.report else "the log"
        complain(f"stopped; {stood} {place}; to resume: willowbark resume {folder.run_id}")
    elif outcome.error is not None:
        complain(f"the run failed: {outcome.error}; the partial result {place}")
    elif outcome.report is not None and outcome.model_failed:
        analyst = outcome.report.analyst
        complain(f"the model failed: the report is by {analyst} and {place}; --fallback accepts such a report")
    elif outcome.unanswered:
        who = ", ".join(outcome.silent_sources) if outcome.report and outcome.report.sources_searched else ""
        what = f"no answer, as {who} did not answer" if who else "no source answered"
        complain(f"{what}; the report says why for each and {place}")
    elif not place.startswith("is in"):
        complain(f"the report {place}")
    elif not display.quiet:
        files = ", ".join(sorted(path.name for path in folder.path.iterdir()))
        print(f"Run folder: {folder.path} ({files})", file=sys.stderr)
        print("Next: willowbark show last, or willowbark export last --to html", file=sys.stderr)
    return code
