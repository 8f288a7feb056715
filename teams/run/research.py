"""One run from question to report: the team, its events, and a report whatever happens."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import ExitStack, aclosing
from pathlib import Path

from autogen_agentchat.agents import UserProxyAgent
from autogen_agentchat.agents._user_proxy_agent import InputFuncType, cancellable_input
from autogen_core import CancellationToken
from autogen_core.models import ChatCompletionClient

from willowbark.agents.approval import ApprovalAnswer, ApprovalRequest, Approve, NobodyToAsk
from willowbark.agents.approver import ApproverAgent
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.errors import WillowbarkError
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Recorder
from willowbark.tools.questions.query import validate_question

from ..config import Settings
from ..events import AgentEvent
from ..ledger import Ledger
from ..model_clients import close as close_client
from ..model_clients import model_client as client_by_name
from ..model_clients import model_of
from .course import Course
from .hooks import Hooks
from .partial import partial_report

__all__ = ["Asked", "RunFailed", "partial_report", "research", "research_stream"]

Asked = Approve | UserProxyAgent
"""Who is asked about the candidates: a function that takes the typed request, or AutoGen's agent for a person."""


class RunFailed(WillowbarkError):
    """A run ended without a report."""


async def research(
    question: str,
    *,
    settings: Settings | None = None,
    model_client: ChatCompletionClient | None = None,
    endpoints: Endpoints | None = None,
    recorder: Recorder | None = None,
    cancellation_token: CancellationToken | None = None,
    ledger: Ledger | Path | None = None,
    run_id: str | None = None,
    fresh: bool = False,
    hooks: Sequence[Hooks] = (),
    approve: Asked | None = None,
) -> ResearchReport:
    """Answer a question with a report.

    Args:
        question: 1 to 2,000 characters.
        settings: None reads `willowbark.toml` and the environment.
        model_client: None takes the one that the settings name.
        endpoints: where the sources are; None takes the public ones, or a sandbox that the environment names.
        recorder: gets every exchange with a source.
        cancellation_token: stops the run; the report of what was found until then still comes.
        ledger: keeps the run, so that it can be resumed and replayed; a path is opened for this run. None keeps none.
        run_id: the run's name in the ledger; None makes one.
        fresh: ask the sources even what another run of the ledger asked lately.
        hooks: told what happens.
        approve: asked which candidates the report should deal with, before it is written; None asks nobody, unless the
            settings want it: then what they call the default holds, and the report says so.

    Raises:
        UsageError: a question, setting or model name that does not hold, or a ledger that cannot be used.
        RunFailed: not even a partial report could be made.
    """
    stream = research_stream(
        question,
        settings=settings,
        model_client=model_client,
        endpoints=endpoints,
        recorder=recorder,
        cancellation_token=cancellation_token,
        ledger=ledger,
        run_id=run_id,
        fresh=fresh,
        hooks=hooks,
        approve=approve,
    )
    return await report_of(stream)


async def report_of(stream: AsyncGenerator[AgentEvent, None]) -> ResearchReport:
    """Follow a run to its end.

    Raises:
        RunFailed: it ended without a report.
    """
    report: ResearchReport | None = None
    problem = "the run ended without a report"
    async with aclosing(stream):
        async for event in stream:
            if event.type == "complete":
                report = event.data
            elif event.type == "error":
                problem = event.message
    if report is None:
        raise RunFailed(problem)
    return report


async def research_stream(
    question: str,
    *,
    settings: Settings | None = None,
    model_client: ChatCompletionClient | None = None,
    endpoints: Endpoints | None = None,
    recorder: Recorder | None = None,
    cancellation_token: CancellationToken | None = None,
    ledger: Ledger | Path | None = None,
    run_id: str | None = None,
    fresh: bool = False,
    hooks: Sequence[Hooks] = (),
    approve: Asked | None = None,
) -> AsyncGenerator[AgentEvent, None]:
    """Answer a question, telling what happens; the last event is `complete`, with the report as its data.

    Takes and raises what `research` does. After a failure an `error` event comes first, then `complete` with a report
    of what was found until then.
    """
    asked = validate_question(question)
    chosen = settings or Settings.load()
    if approve is not None:
        chosen = chosen.overridden({"research.approve": True})
    client = model_client or client_by_name(chosen.llm.model, chosen)
    where = endpoints or endpoints_for(chosen)
    try:
        with ExitStack() as stack:
            model = model_of(client)
            approver = approver_for(approve, chosen)
            course = Course(
                asked, chosen, client, where, model=model, hooks=hooks, recorder=recorder, approver=approver
            )
            if ledger is not None:
                book = stack.enter_context(Ledger(ledger)) if isinstance(ledger, Path) else ledger
                course.journal = stack.enter_context(
                    book.start(
                        asked,
                        settings=chosen.model_dump(mode="json"),
                        model=model,
                        sandboxed=where.sandboxed,
                        run_id=run_id,
                    )
                )
                course.journal.reuse = not (fresh or where.sandboxed)
            async with aclosing(course.run(cancellation_token or CancellationToken())) as events:
                async for event in events:
                    yield event
    finally:
        if model_client is None:
            await close_client(client)


def endpoints_for(settings: Settings) -> Endpoints:
    """The sources as environment and settings name them.

    Raises:
        UsageError: a source is to be searched that needs a key, and there is none.
    """
    endpoints = Endpoints.from_environment()
    endpoints.require(settings.tools.sources)
    email = settings.tools.pubmed.email
    return endpoints.model_copy(update={"email": email}) if email else endpoints


def approver_for(approve: Asked | None, settings: Settings, via: str | None = None) -> ApproverAgent | None:
    """The agent that asks, as the settings want it; None where they ask nobody.

    Args:
        approve: who is asked; None leaves nobody.
        settings: whether, how long, and what holds without an answer.
        via: how the report calls the way by which they are asked; None goes by who it is.
    """
    asked = settings.research
    if not asked.approve:
        return None
    if isinstance(approve, ApproverAgent):
        return approve
    approver = (
        ApproverAgent(input_func=_input_of(approve), via=via)
        if isinstance(approve, UserProxyAgent)
        else ApproverAgent(approve=approve or _nobody, via=via if approve else "")
    )
    approver.default, approver.timeout_s = asked.approval_default, asked.approval_timeout_s
    return approver


def _input_of(person: UserProxyAgent) -> InputFuncType | None:
    """How a person is asked; AutoGen's own prompt waits in a thread that nothing can end, so ours takes its place."""
    return None if person.input_func is cancellable_input else person.input_func


async def _nobody(_: ApprovalRequest) -> ApprovalAnswer:
    raise NobodyToAsk("nobody was there to ask")
