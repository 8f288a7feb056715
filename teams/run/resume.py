"""Resume a run after a kill or a stop, or replay it without network and without a model.

Both ask a fresh team the same question and answer from the journal where possible, so nothing committed is asked
twice. A resumed run then continues; a replayed one ends as it did before.
"""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from typing import Any, cast

from pydantic import ValidationError

from willowbark.agents.asking import ModelUnavailable
from willowbark.agents.autogen import ModelInfo
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.tools.http.endpoints import Endpoints

from ..config import Settings
from ..events import AgentEvent
from ..ledger import Ledger, LedgerError, Run
from ..model_clients import BASELINE, READS_REQUESTS, clients_of_roles
from ..model_clients import close as close_client
from ..model_clients import model_client as client_by_name
from .course import Course
from .options import RunOptions, library_of
from .research import report_of


async def resume(run_id: str, ledger: Ledger, **choices: Any) -> ResearchReport:
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
    return await report_of(resume_stream(run_id, ledger, **choices), RunOptions.resuming(choices))


async def resume_stream(run_id: str, ledger: Ledger, **choices: Any) -> AsyncGenerator[AgentEvent, None]:
    """Resume a run as a stream of events, including the earlier ones; see `resume`."""
    options = RunOptions.resuming(choices)
    run = ledger.run(run_id)
    settings = Settings.restored(run.settings)
    async with AsyncExitStack() as stack:
        where = stack.enter_context(options.sources_at(settings))
        if where.is_public is run.sandboxed:
            kind = "another server or library" if run.sandboxed else "the public sources"
            raise LedgerError(f"run {run_id} was asked of {kind}; resume it there")
        journal = stack.enter_context(ledger.reopen(run_id))
        client = options.model_client or client_by_name(run.model, settings)
        if options.model_client is None:
            stack.push_async_callback(close_client, client)
        others = clients_of_roles(settings)
        for other in others.values():
            stack.push_async_callback(close_client, other)
        course = Course(run.question, settings, client, where, options, run.of_model, journal, others)
        async for event in await stack.enter_async_context(aclosing(course.run())):
            yield event


async def replay(run_id: str, ledger: Ledger) -> ResearchReport:
    """Recreate a run's report from its journal, without network and model; it equals the run's own but for clocks.

    Raises:
        LedgerError: no such run, one without a report, or damaged content.
        RunFailed: no report could be made.
    """
    return await report_of(replay_stream(run_id, ledger), RunOptions(raise_unreachable=False))


async def replay_stream(run_id: str, ledger: Ledger) -> AsyncGenerator[AgentEvent, None]:
    """Replay a run as a stream of events; of a stopped run only the stored report, since how far it had come when it
    was stopped depended on the moment. See `replay`."""
    run = ledger.run(run_id)
    journal = ledger.journal(run_id)
    settings = Settings.restored(run.settings)
    if all(turn.type != ReportMessage.__name__ for turn in journal.earlier_turns):
        report = _stored(run, ledger)
        yield AgentEvent(type="complete", message="The report of what was found until the stop", data=report)
        return
    if settings.library.path is not None:
        endpoints = Endpoints(library=library_of(settings.library))
    else:  # nothing is sent: the journal answers or fails each request
        email = None if run.sandboxed else settings.tools.pubmed.email
        endpoints = Endpoints.public({}).model_copy(update={"is_public": not run.sandboxed, "email": email})
    analyst = BaselineChatCompletionClient() if run.model == BASELINE else _Absent(run)
    others = {name: _Absent(run, name) for name in settings.llm.roles.model_dump().values() if name}
    course = Course(run.question, settings, analyst, endpoints, RunOptions(), run.of_model, journal, others)
    async with aclosing(course.run()) as events:
        async for event in events:
            yield event


def _stored(run: Run, ledger: Ledger) -> ResearchReport:
    content = ledger.report(run.run_id)
    if content is None:
        raise LedgerError(f"run {run.run_id} has no report yet; `willowbark resume {run.run_id}` finishes it")
    try:
        return ResearchReport.model_validate(content)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise LedgerError(f"its report is not of this version of Willowbark ({place})") from None


class _Absent(BaselineChatCompletionClient):
    """Stands in for a run's model during a replay; fails on any request that the journal cannot answer."""

    def __init__(self, run: Run, name: str | None = None) -> None:
        super().__init__()
        self.display_name = name.partition("/")[2] if name else run.analyst
        self._info = {name: value for name, value in run.model_info.items() if name != READS_REQUESTS}
        self.reads_requests = bool(run.model_info.get(READS_REQUESTS))

    @property
    def model_info(self) -> ModelInfo:
        """Abilities of the run's model, which determine how requests are worded."""
        return cast(ModelInfo, self._info)

    async def create(self, *arguments: Any, **options: Any) -> Any:
        """Raise `ModelUnavailable`."""
        raise ModelUnavailable("the answer is not in the ledger")
