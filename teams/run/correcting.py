"""Corrections of a run: kept in the workspace's file and in the run's ledger, and the report made again at once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from willowbark.agents.autogen import BaseChatMessage, TextMessage
from willowbark.agents.context import RunContext
from willowbark.agents.remaking import make_again
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.tools.appraisal.appraised import Readings, conditions_of
from willowbark.tools.appraisal.stored import StoredReader
from willowbark.tools.contracts.run_contract import explainer
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.transport import Transport
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.corrections import (
    Correction,
    CorrectionBook,
    append_corrections,
    corrections_beside,
    read_corrections,
)
from willowbark.tools.reading.store import STORE_FILE, StudyShelf

from ..config import Settings
from ..ledger import Ledger, LedgerError, restore
from ..ledger.journal import CORRECTIONS, FORMER, Journal
from .course import messages_of
from .options import replayed_endpoints
from .workspace import RunFolder


class MadeAgain(NamedTuple):
    """A report that was made again."""

    report: ResearchReport
    taken: dict[str, dict[str, Any]]
    """Readings that were taken from stores for it, by subject, for the ledger."""


async def correct_run(
    run_id: str, ledger: Ledger, corrections: Sequence[Correction], root: Path | None = None
) -> ResearchReport:
    """Keep corrections in the workspace's file, and make a run's report again with all that concern it.

    Args:
        run_id: a run with a report.
        ledger: holds the run, in a file.
        corrections: what people say now; empty takes what the file holds, such as a colleague's lines.
        root: folder of run folders, where the run's report is written anew; None writes none.

    Raises:
        LedgerError: no such run, one without a report, one that another process works on, or damaged content.
        UsageError: the file of corrections, or the run's folder, cannot be read or written.
    """
    if ledger.path is None:
        raise LedgerError("a run in memory keeps no corrections; ask with a ledger in a file")
    former = former_report(run_id, ledger)
    path = corrections_beside(ledger.path)
    if corrections:
        append_corrections(path, corrections)
    run = ledger.run(run_id)
    book = read_corrections(path).on_conditions(conditions_of(parse_question(run.question)))
    made = await make_corrected(run_id, ledger, book, former)
    ledger.keep_corrected(run_id, book.to_content(), made.report, made.taken)
    if root is not None and (root / run_id).is_dir():
        output = Settings.restored(run.settings).output
        RunFolder.open(root, run_id).write_report(made.report, output)
    return made.report


def former_report(run_id: str, ledger: Ledger) -> ResearchReport:
    """Return a run's report as it was before corrections of it; LedgerError if it has none."""
    content = ledger.taken(run_id, FORMER) or ledger.report(run_id)
    if content is None:
        raise LedgerError(f"run {run_id} has no report yet; `willowbark resume {run_id}` finishes it")
    return restore(ResearchReport, content, "report")


async def make_corrected(run_id: str, ledger: Ledger, corrections: CorrectionBook, former: ResearchReport) -> MadeAgain:
    """Make a run's report again with what people say, from its ledger and the stores of studies beside it.

    Args:
        run_id: a run with a report.
        ledger: holds the run.
        corrections: all that concern it.
        former: its report without what people have said since.

    Raises:
        LedgerError: no such run, or damaged content.
    """
    run, journal = ledger.run(run_id), ledger.journal(run_id)
    settings = Settings.restored(run.settings)
    question = TextMessage(content=run.question, source="user", created_at=run.created_at)
    messages: list[BaseChatMessage] = [question, *messages_of(journal.earlier_turns)]
    is_whole = any(isinstance(message, ReportMessage) for message in messages)
    taken = dict[str, dict[str, Any]]()
    with _open_reader(journal, settings, taken) as reader:
        before = journal.find_reading(CORRECTIONS)
        start = CorrectionBook() if before is None else CorrectionBook.from_content(before)
        readings = Readings(reader, corrections=start)
        if not is_whole:  # a stopped run looked nothing up for its report
            context = RunContext(readings=readings, stopped=former.stop_reason)
            return MadeAgain(await make_again(messages, former, context, corrections), taken)
        endpoints = replayed_endpoints(run, settings)
        policy = RetryPolicy.within(settings.research.search_timeout)
        explain = explainer(endpoints)
        async with Transport(endpoints, recorder=journal, policy=policy, explain=explain) as transport:
            context = RunContext(transport, readings=readings)
            return MadeAgain(await make_again(messages, former, context, corrections), taken)


def _open_reader(journal: Journal, settings: Settings, taken: dict[str, dict[str, Any]]) -> StoredReader:
    """Open the reader with the stores of a run, of which it notes what it takes."""
    own = None if journal.folder is None else journal.folder / STORE_FILE
    library = settings.library.path
    beside = [] if library in (None, "bundled") else [Path(library) / STORE_FILE]
    shelf = StudyShelf(own if own is not None and own.is_file() else None, beside)
    return StoredReader(shelf, recall=journal.find_reading, note=taken.__setitem__)
