"""One run from question to report: the team, its events, and a report even after a failure.

The team and its agents are imported by the first run, not by this module.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from typing import TYPE_CHECKING, Any

from willowbark.tools.errors import UsageError, WillowbarkError
from willowbark.tools.questions import validate_question

from ..events import AgentEvent
from ..ledger import Ledger
from ..model_clients import WITH_BATCHES, clients_of_roles, model_of, preflight
from ..model_clients import close as close_client
from ..model_clients import model_client as client_by_name
from .options import Asked, RunOptions

if TYPE_CHECKING:
    from willowbark.agents.report.model import ResearchReport

__all__ = ["Asked", "RunFailed", "SourcesUnreachable", "ask", "research", "research_stream"]


class RunFailed(WillowbarkError):
    """A run ended without a report."""


class SourcesUnreachable(RunFailed):
    """No source answered, probably for lack of a network; nothing can be concluded.

    Attributes:
        report: lists the requests, and why each source did not answer.
    """

    def __init__(self, report: "ResearchReport") -> None:
        asked = ", ".join(sorted({entry.source for entry in report.search_log}))
        super().__init__(f"no source could be reached ({asked}); `willowbark doctor` shows which can be reached")
        self.report = report


async def research(question: str | RunOptions, **choices: Any) -> "ResearchReport":
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
    return await report_of(research_stream(options), options)


def ask(question: str | RunOptions, **choices: Any) -> "ResearchReport":
    """Answer a question with a report, and block until it is ready: `research` for scripts without an event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(research(question, **choices))
    raise UsageError("ask cannot wait where an event loop runs already (a notebook, say): use `await research(…)`")


async def report_of(stream: AsyncGenerator[AgentEvent, None], options: RunOptions) -> "ResearchReport":
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


async def research_stream(question: str | RunOptions, **choices: Any) -> AsyncGenerator[AgentEvent, None]:
    """Answer a question as a stream of events; the last one is `complete`, with the report as its data.

    Arguments and exceptions are those of `research`. After a failure an `error` event comes first, then `complete`
    with a report of what was found until then.
    """
    from willowbark.agents.asking import understand  # noqa: PLC0415
    from willowbark.agents.autogen import CreateResult  # noqa: PLC0415

    from .budget import Prices  # noqa: PLC0415
    from .course import UNDERSTANDING, Course  # noqa: PLC0415

    options = RunOptions.of(question, choices)
    asked = validate_question(options.question or "")
    settings, began = options.chosen(), time.monotonic()
    async with AsyncExitStack() as stack:
        client = options.model_client or client_by_name(settings.llm.model, settings)
        if options.model_client is None:
            stack.push_async_callback(close_client, client)
        where = stack.enter_context(options.sources_at(settings))
        if where.library is not None:  # stored with the run, so that a resume searches the same records
            held = {"library.path": where.library.path, "library.digest": where.library.digest}
            settings = settings.overridden(held)
        named = model_of(client).name
        reader = settings.llm.roles.reader or named
        if settings.llm.batch and not reader.startswith(WITH_BATCHES):
            raise UsageError(f"--batch: {reader} has no batch interface, openai/… and anthropic/… have; leave it out")
        probes = options.model_client is None and settings.llm.structured_output is None
        limit = settings.research.limits.max_seconds
        if await preflight(client, named, probes=probes, timeout_s=limit):  # stored with the run, for a resume
            settings = settings.model_copy(update={"llm": settings.llm.model_copy(update={"structured_output": True})})
        asked, understanding = await understand(asked, client, options.cancellation_token, limit)
        model = model_of(client)  # only now is its support for schemas known
        others = clients_of_roles(settings)
        for name, other in others.items():
            stack.push_async_callback(close_client, other)
            await preflight(other, name, timeout_s=limit)
        book = options.ledger if isinstance(options.ledger, Ledger) else stack.enter_context(Ledger(options.ledger))
        begun = book.start(
            asked,
            settings=settings.model_dump(mode="json"),
            model=model,
            sandboxed=not where.is_public,
            run_id=options.run_id,
            reuse=where.is_public and not options.fresh,
            spent_s=time.monotonic() - began,
        )
        journal = stack.enter_context(begun)
        if understanding is not None:  # counted again whenever the run is resumed
            answer = CreateResult(finish_reason="stop", content=asked, usage=understanding, cached=False)
            cost = Prices.of_run(model.name, settings.llm).cost_usd(understanding, model.name)
            journal.keep_answer(UNDERSTANDING, model.name, answer, understanding, cost)
        course = Course(asked, settings, client, where, options, model, journal, others)
        async for event in await stack.enter_async_context(aclosing(course.run())):
            yield event
