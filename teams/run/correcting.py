"""Corrections of a run: kept in the workspace's file and in the run's ledger, and the report made again at once."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from willowbark.agents.autogen import BaseChatMessage, CancellationToken, TextMessage
from willowbark.agents.context import RunContext
from willowbark.agents.remaking import RewrittenAnswer, make_again
from willowbark.agents.report.forms import record_name
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.tools.appraisal.appraised import Readings, list_conditions
from willowbark.tools.appraisal.stored import StoredReader
from willowbark.tools.contracts.run_contract import explainer
from willowbark.tools.errors import SearchError, UsageError
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.library import open_library
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.corrections import (
    Correction,
    CorrectionBook,
    append_corrections,
    find_corrections_file,
    find_person,
    get_time,
    read_corrections,
)
from willowbark.tools.reading.store import STORE_FILE, StudyShelf
from willowbark.tools.records.enclosure import new_marker
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.search import Status
from willowbark.tools.sources.studies.europepmc import by_numbers
from willowbark.tools.toolbox import EvidenceTool, GetPaper, GetTrial, PaperArgs, TrialArgs

from ..config import Settings
from ..ledger import Ledger, LedgerError, restore
from ..ledger.journal import CORRECTIONS, FORMER, REWRITTEN, Journal
from ..state import merge_records, restore_findings
from .changes import ChangeRequest, RunToCorrect, build_corrections, parse_record_key
from .options import RunOptions, restore_endpoints
from .turns import restore_messages
from .workspace import RunFolder


class MadeAgain(NamedTuple):
    """A report that was made again."""

    report: ResearchReport
    taken: dict[str, dict[str, Any]]
    """Readings that were taken from stores for it, by subject, for the ledger."""


class RunAgain(NamedTuple):
    """An ended run, opened to be appraised again without a source or a model."""

    messages: list[BaseChatMessage]
    context: RunContext
    taken: dict[str, dict[str, Any]]


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
    former = load_former_report(run_id, ledger)
    path = find_corrections_file(ledger.path)
    if corrections:
        append_corrections(path, corrections)
    run = ledger.run(run_id)
    book = read_corrections(path).select_conditions(list_conditions(parse_question(run.question)))
    corrected = await make_corrected(run_id, ledger, book, former)
    ledger.keep_corrected(run_id, book.write_content(), corrected.report, corrected.taken)
    if root is not None and (root / run_id).is_dir():
        output = Settings.restored(run.settings).output
        RunFolder.open(root, run_id).write_report(corrected.report, output)
    return corrected.report


async def ask_changes(
    run_id: str,
    ledger: Ledger,
    requests: Sequence[ChangeRequest],
    *,
    by: str | None = None,
    root: Path | None = None,
    endpoints: Endpoints | None = None,
) -> ResearchReport:
    """Change a run as somebody asks, and return its report, made again.

    Args:
        run_id: a run with a report.
        ledger: holds the run, in a file.
        requests: what to change; empty takes what colleagues have added to the workspace's file.
        by: who asks; None takes `WILLOWBARK_PERSON`, else the system's user name.
        root: folder of run folders, where the run's report is written anew; None writes none.
        endpoints: where records to add are looked up; None takes the run's own sources.

    Raises:
        UsageError: a request that does not fit the run, or as `correct_run`. Nothing is changed then.
    """
    if ledger.path is None:
        raise LedgerError("a run in memory keeps no corrections; ask with a ledger in a file")
    run = ledger.run(run_id)
    content = ledger.report(run_id)
    if content is None:
        raise LedgerError(f"run {run_id} has no report yet; `willowbark resume {run_id}` finishes it")
    report = restore(ResearchReport, content, "report")
    pool = merge_records(restore_findings(ledger.turns(run_id)))
    book = read_corrections(find_corrections_file(ledger.path))
    corrections = list[Correction]()
    added = [request for request in requests if request.add]
    if added:
        who = find_person(by)
        conditions = list_conditions(parse_question(run.question))
        for request in added:
            for record in await _find_records(request, Settings.restored(run.settings), endpoints):
                pool.append(record)
                value = record.model_dump(mode="json", exclude_defaults=True)
                corrections.append(
                    Correction(
                        change="add",
                        record=record.key,
                        condition=conditions[0],
                        value=value,
                        note=request.note,
                        who=who,
                        at=get_time(),
                    )
                )
    others = [request for request in requests if not request.add]
    corrections += build_corrections(RunToCorrect(run.question, report, pool, book), others, by)
    return await correct_run(run_id, ledger, corrections, root)


async def _find_records(request: ChangeRequest, settings: Settings, endpoints: Endpoints | None) -> list[Evidence]:
    """Find the records to add: those of a file, or one by its number at the run's sources."""
    if request.file:
        records = list(open_library(request.file).studies())
        key = parse_record_key(request.record) if request.record else ""
        chosen = [record for record in records if key in ("", record.key, *record.identifiers)]
        if not chosen:
            raise UsageError(f"{request.file}: holds no {record_name(key) if key else 'record'}")
        return chosen
    key = parse_record_key(request.record)
    where = endpoints or RunOptions(settings=settings).open_endpoints(settings)
    async with Transport(where) as transport:
        record = await look_up_record(key, transport)
    if record is None:
        raise UsageError(f"{record_name(key)}: no source that the run searched has it; add it from a file (`--file`)")
    return [record]


async def look_up_record(key: str, transport: Transport) -> Evidence | None:
    """Look up a record by its key, at the sources or in the library; None if there is none.

    Raises:
        UsageError: its source did not answer.
    """
    kind, _, number = key.partition(":")
    try:
        if kind in ("doi", "pmcid"):
            return next(iter(await by_numbers([key], transport)), None)
        tool: EvidenceTool[Any] = GetTrial() if kind == "nct" else GetPaper()
        args = TrialArgs(nct_id=number) if kind == "nct" else PaperArgs(pmid=number)
        tool.bind(transport, new_marker())
        reply = (await tool.run(args, CancellationToken())).replies[0]
    except SearchError as error:
        raise UsageError(f"{record_name(key)}: {error}; try again later") from None
    if reply.status in (Status.UNAVAILABLE, Status.BAD_QUERY):
        raise UsageError(f"{record_name(key)}: {reply.source}: {', '.join(reply.warnings)}; try again later")
    return next(iter(reply.records), None)


def load_former_report(run_id: str, ledger: Ledger) -> ResearchReport:
    """Return a run's report as it was before corrections of it; LedgerError if it has none."""
    content = ledger.taken(run_id, FORMER) or ledger.report(run_id)
    if content is None:
        raise LedgerError(f"run {run_id} has no report yet; `willowbark resume {run_id}` finishes it")
    return restore(ResearchReport, content, "report")


async def make_corrected(
    run_id: str,
    ledger: Ledger,
    corrections: CorrectionBook,
    former: ResearchReport,
    rewritten: RewrittenAnswer | None = None,
) -> MadeAgain:
    """Make a run's report again with what people say, from its ledger and the stores of studies beside it.

    Args:
        run_id: a run with a report.
        ledger: holds the run.
        corrections: all that concern it.
        former: its report without what people have said since.
        rewritten: what a model has written since; None takes what the ledger holds.

    Raises:
        LedgerError: no such run, or damaged content.
    """
    content = ledger.taken(run_id, REWRITTEN)
    former_answer = None if content is None else restore(RewrittenAnswer, content, "answer")
    async with open_again(run_id, ledger, former) as again:
        report = await make_again(again.messages, former, again.context, corrections, rewritten or former_answer)
        return MadeAgain(report, again.taken)


@asynccontextmanager
async def open_again(run_id: str, ledger: Ledger, former: ResearchReport) -> AsyncIterator[RunAgain]:
    """Open an ended run: its messages, its readings, and its journal in the sources' place."""
    run = ledger.run(run_id)
    journal = ledger.journal(run_id)
    settings = Settings.restored(run.settings)
    question = TextMessage(content=run.question, source="user", created_at=run.created_at)
    messages: list[BaseChatMessage] = [question, *restore_messages(journal.earlier_turns)]
    is_whole = any(isinstance(message, ReportMessage) for message in messages)
    taken = dict[str, dict[str, Any]]()
    with _open_reader(journal, settings, taken) as reader:
        before = journal.find_reading(CORRECTIONS)
        start = CorrectionBook() if before is None else CorrectionBook.from_content(before)
        readings = Readings(reader, corrections=start)
        if not is_whole:  # a stopped run looked nothing up for its report
            yield RunAgain(messages, RunContext(readings=readings, stopped=former.stop_reason), taken)
            return
        endpoints = restore_endpoints(run, settings)
        policy = RetryPolicy.within(settings.research.search_timeout)
        explain = explainer(endpoints)
        async with Transport(endpoints, recorder=journal, policy=policy, explain=explain) as transport:
            yield RunAgain(messages, RunContext(transport, readings=readings), taken)


def _open_reader(journal: Journal, settings: Settings, taken: dict[str, dict[str, Any]]) -> StoredReader:
    """Open the reader with the stores of a run, of which it notes what it takes."""
    own = None if journal.folder is None else journal.folder / STORE_FILE
    library = settings.library.path
    library_stores = [] if library in (None, "bundled") else [Path(library) / STORE_FILE]
    shelf = StudyShelf(own if own is not None and own.is_file() else None, library_stores)
    return StoredReader(shelf, recall=journal.find_reading, note=taken.__setitem__)
