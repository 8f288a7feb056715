"""A run from question to report, even after a failure; its resume after a kill or a stop; its replay.

Resume and replay ask a fresh team the same question and answer from the journal where possible, so nothing committed
is asked twice. A resumed run then continues; a replayed one needs neither network nor model, and ends as it did before.
The team and its agents are imported by the first run, not by this module.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, TypeVar, Unpack

from willowbark.tools.errors import UsageError, WillowbarkError
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.questions import validate_question
from willowbark.tools.reading.corrections import CorrectionBook

from ..config import Settings
from ..events import AgentEvent
from ..ledger import Ledger, LedgerError, restore
from ..model_clients import BASELINE, WITH_BATCHES, create_role_clients, describe_model, preflight
from ..model_clients import close as close_client
from ..model_clients import model_client as client_by_name
from .choices import ChosenAnew, RunChoices
from .options import RunOptions, restore_endpoints

if TYPE_CHECKING:
    from willowbark.agents.autogen import ChatCompletionClient
    from willowbark.agents.report.model import ResearchReport

T = TypeVar("T")


class RunFailed(WillowbarkError):
    """A run ended without a report."""


class SourcesUnreachable(RunFailed):
    """No source answered, probably for lack of a network; nothing can be concluded.

    Attributes:
        report: lists the requests, and why each source did not answer.
    """

    def __init__(self, report: "ResearchReport") -> None:
        sources = ", ".join(sorted({entry.source for entry in report.search_log}))
        super().__init__(f"no source could be reached ({sources}); `willowbark doctor` shows which can be reached")
        self.report = report


async def research(question: str | RunOptions, **choices: Unpack[RunChoices]) -> "ResearchReport":
    """Answer a question with a report.

    Args:
        question: 1 to 2,000 characters, or a run's options with the question in them.
        choices: any of `RunOptions`, over those.

    Raises:
        UsageError: an invalid question, option, setting or model name, or an unusable ledger.
        SourcesUnreachable: no source answered; `raise_unreachable=False` returns a report that says so instead.
        RunFailed: not even a partial report could be made.
    """
    options = RunOptions.of(question, choices)
    return await await_report(research_stream(options), options)


async def await_report(stream: AsyncGenerator[AgentEvent, None], options: RunOptions) -> "ResearchReport":
    """Follow a run to its end, and return its report or raise as `research` does."""
    report: ResearchReport | None = None
    problem = "the run ended without a report"
    async with aclosing(stream):
        async for event in stream:
            if event.type == "complete":
                report = event.report
            elif event.type == "error":
                problem = event.message
    if report is None:
        raise RunFailed(problem)
    if options.raise_unreachable and report.stop_reason == "sources_unreachable" and not report.sources_searched:
        raise SourcesUnreachable(report)
    return report


async def research_stream(
    question: str | RunOptions, **choices: Unpack[RunChoices]
) -> AsyncGenerator[AgentEvent, None]:
    """Answer a question as a stream of events; the last one is `complete`, with the report as its data.

    Arguments and exceptions are those of `research`. After a failure an `error` event comes first, then `complete`
    with a report of what was found until then.
    """
    await _load_modules()
    from willowbark.agents.asking import understand  # noqa: PLC0415
    from willowbark.agents.autogen import CreateResult  # noqa: PLC0415

    from ..budget import Prices  # noqa: PLC0415
    from .course import UNDERSTANDING, Course  # noqa: PLC0415

    options = RunOptions.of(question, choices)
    question_text = validate_question(options.question or "")
    settings = options.chosen()
    began = time.monotonic()
    async with AsyncExitStack() as stack:
        client, others = await stack.enter_async_context(_open_clients(options, settings, settings.llm.model))
        opened: list[Endpoints] = []
        async for line in _tell_while(partial(options.open_endpoints, settings), opened):
            yield AgentEvent(type="progress", message=line)
        (where,) = opened
        if where.library is not None:  # stored with the run, so that a resume searches the same records
            library_fields = {"library.path": where.library.path, "library.digest": where.library.digest}
            settings = settings.overridden(library_fields)
        model_name = describe_model(client).name
        reader = settings.llm.roles.reader or model_name
        if settings.llm.batch and not reader.startswith(WITH_BATCHES):
            raise UsageError(f"--batch: {reader} has no batch interface, openai/… and anthropic/… have; leave it out")
        probes = options.model_client is None and settings.llm.structured_output is None
        limit = settings.research.limits.max_seconds
        if await preflight(client, model_name, probes=probes, timeout_s=limit):  # stored with the run, for a resume
            settings = settings.model_copy(update={"llm": settings.llm.model_copy(update={"structured_output": True})})
        question_text, understanding = await understand(question_text, client, options.cancellation_token, limit)
        model = describe_model(client)  # only now is its support for schemas known
        if options.hooks:  # stored with the run, so that a replay asks the same
            settings = settings.overridden({"research.look_up_ahead": False})
        settings = _set_token_limit(settings, is_baseline=model.name == BASELINE and not others)
        for name, other in others.items():
            await preflight(other, name, timeout_s=limit)
        book = options.ledger if isinstance(options.ledger, Ledger) else stack.enter_context(Ledger(options.ledger))
        begun = book.start(
            question_text,
            settings=settings.to_store(),
            model=model,
            sandboxed=not where.is_public,
            run_id=options.run_id,
            reuse=where.is_public and not options.fresh,
            spent_s=time.monotonic() - began,
        )
        journal = stack.enter_context(begun)
        if understanding is not None:  # counted again whenever the run is resumed
            answer = CreateResult(
                finish_reason="stop", content=question_text, usage=understanding, cached=False, thought=options.question
            )
            cost = Prices.of_run(model.name, settings.llm).cost_usd(understanding, model.name)
            journal.keep_answer(UNDERSTANDING, model.name, answer, understanding, cost)
        course = Course(question_text, settings, client, where, options, model, journal, others)
        async for event in await stack.enter_async_context(aclosing(course.run())):
            yield event


async def resume(run_id: str, ledger: Ledger, **choices: Unpack[ChosenAnew]) -> "ResearchReport":
    """Resume an interrupted or cancelled run and finish its report.

    Args:
        run_id: its id in the ledger.
        ledger: contains the run.
        choices: those of `RunOptions` that can be chosen again. Client and sources default to the run's own; hooks
            receive earlier events too; `approve` is asked if the run was to ask and had not done so.

    Raises:
        LedgerError: no such run, a complete one, one that another process works on, or damaged content.
        UsageError: an invalid option, or the run's model is not available here.
        SourcesUnreachable: no source answered; `raise_unreachable=False` returns a report that says so instead.
        RunFailed: not even a partial report could be made.
    """
    return await await_report(resume_stream(run_id, ledger, **choices), RunOptions.resuming(choices))


async def resume_stream(run_id: str, ledger: Ledger, **choices: Unpack[ChosenAnew]) -> AsyncGenerator[AgentEvent, None]:
    """Resume a run as a stream of events, including the earlier ones; see `resume`."""
    await _load_modules()
    from .course import Course  # noqa: PLC0415

    options = RunOptions.resuming(choices)
    run = ledger.run(run_id)
    settings = Settings.restored(run.settings)
    async with AsyncExitStack() as stack:
        opened: list[Endpoints] = []
        async for line in _tell_while(partial(options.open_endpoints, settings), opened):
            yield AgentEvent(type="progress", message=line)
        (where,) = opened
        if where.is_public is run.sandboxed:
            kind = "another server or library" if run.sandboxed else "the public sources"
            raise LedgerError(f"run {run_id} was asked of {kind}; resume it there")
        journal = stack.enter_context(ledger.reopen(run_id))
        client, others = await stack.enter_async_context(_open_clients(options, settings, run.model))
        course = Course(run.question, settings, client, where, options, run.of_model, journal, others)
        async for event in await stack.enter_async_context(aclosing(course.run())):
            yield event


async def replay(run_id: str, ledger: Ledger) -> "ResearchReport":
    """Recreate a run's report from its journal, without network and model; it equals the run's own but for clocks.

    Raises:
        LedgerError: no such run, one without a report, or damaged content.
        RunFailed: no report could be made.
    """
    return await await_report(replay_stream(run_id, ledger), RunOptions(raise_unreachable=False))


async def replay_stream(run_id: str, ledger: Ledger) -> AsyncGenerator[AgentEvent, None]:
    """Replay a run as a stream of events; of a stopped run only the stored report, since how far it had come when it
    was stopped depended on the moment. See `replay`."""
    await _load_modules()
    from willowbark.agents.baseline import BaselineChatCompletionClient  # noqa: PLC0415
    from willowbark.agents.report.model import ReportMessage, ResearchReport  # noqa: PLC0415

    from ..ledger.journal import CORRECTED  # noqa: PLC0415
    from .correcting import make_corrected  # noqa: PLC0415
    from .course import AbsentModel, Course  # noqa: PLC0415

    run = ledger.run(run_id)
    journal = ledger.journal(run_id)
    settings = Settings.restored(run.settings)
    if all(turn.type != ReportMessage.__name__ for turn in journal.earlier_turns):
        content = ledger.report(run_id)
        if content is None:
            raise LedgerError(f"run {run_id} has no report yet; `willowbark resume {run_id}` finishes it")
        report = restore(ResearchReport, content, "report")
        yield AgentEvent(type="complete", message="The report of what was found until the stop", data=report)
        return
    endpoints = await asyncio.to_thread(restore_endpoints, run, settings)
    analyst = BaselineChatCompletionClient() if run.model == BASELINE else AbsentModel(run, run.analyst)
    names = filter(None, settings.llm.roles.model_dump().values())
    others = {name: AbsentModel(run, name.partition("/")[2]) for name in names}
    course = Course(run.question, settings, analyst, endpoints, RunOptions(), run.of_model, journal, others)
    since = ledger.taken(run_id, CORRECTED)
    async with aclosing(course.run()) as events:
        async for event in events:
            if event.report is not None and since is not None:
                corrected = await make_corrected(run_id, ledger, CorrectionBook.from_content(since), event.report)
                yield event.model_copy(update={"data": corrected.report, "message": corrected.report.line})
            else:
                yield event


async def _load_modules() -> None:
    """Import what a run needs, on a worker: the first import takes a second, in which the event loop would stand."""
    await asyncio.to_thread(import_module, f"{__package__}.course")


async def _tell_while(work: Callable[[Callable[[str], None]], T], done: list[T]) -> AsyncGenerator[str, None]:
    """Do work in a thread, as opening a library takes long the first time; yield what it tells, then keep its result.

    Args:
        work: takes a function that tells a line.
        done: receives the result.
    """
    loop = asyncio.get_running_loop()
    lines = asyncio.Queue[str | None]()

    def tell(line: str) -> None:
        loop.call_soon_threadsafe(lines.put_nowait, line)

    task = asyncio.ensure_future(asyncio.to_thread(work, tell))
    task.add_done_callback(lambda _: lines.put_nowait(None))
    while (line := await lines.get()) is not None:
        yield line
    done.append(task.result())


def _set_token_limit(settings: Settings, *, is_baseline: bool) -> Settings:
    """Return settings with the limit of tokens of this run, which its resume and replay keep."""
    limit = settings.research.token_limit(is_baseline=is_baseline)
    return settings.overridden({"research.limits.max_tokens": "none" if limit is None else limit})


@asynccontextmanager
async def _open_clients(
    options: RunOptions, settings: Settings, model: str
) -> "AsyncIterator[tuple[ChatCompletionClient, Mapping[str, ChatCompletionClient]]]":
    """Yield the client of the main model and those of roles, by model name; close all but the caller's own."""
    async with AsyncExitStack() as stack:
        client = options.model_client or client_by_name(model, settings)
        others = create_role_clients(settings)
        for opened_client in others.values() if options.model_client else (client, *others.values()):
            stack.push_async_callback(close_client, opened_client)
        yield client, others
