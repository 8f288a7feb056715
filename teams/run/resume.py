"""A run lived again: resumed after a kill or a stop, or replayed without network and without a model.

Both ask a fresh team the same question and answer from the journal what it holds, so nothing committed is asked twice.
A resumed run then goes on; a replayed one meets the end it met before.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any, cast

from autogen_agentchat.messages import TextMessage
from autogen_core import CancellationToken
from autogen_core.models import ChatCompletionClient, ModelInfo

from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Recorder

from ..config import Settings
from ..events import AgentEvent
from ..ledger import Ledger, LedgerError, Model, Run
from ..ledger.model_calls import ModelUnavailable
from ..model_clients import BASELINE
from ..model_clients import close as close_client
from ..model_clients import model_client as client_by_name
from .course import Course
from .hooks import Hooks
from .lived import messages_of
from .partial import partial_report
from .research import Asked, approver_for, endpoints_for, report_of

_NOWHERE = "http://127.0.0.1:9"  # the discard port: a replay sends nothing anywhere


async def resume(
    run_id: str,
    ledger: Ledger,
    *,
    model_client: ChatCompletionClient | None = None,
    endpoints: Endpoints | None = None,
    cancellation_token: CancellationToken | None = None,
    hooks: Sequence[Hooks] = (),
    approve: Asked | None = None,
    recorder: Recorder | None = None,
) -> ResearchReport:
    """Bring an interrupted or cancelled run to its report.

    Args:
        run_id: as the ledger lists it.
        ledger: holds the run.
        model_client: None takes the one that the run was started with.
        endpoints: None takes the public sources, or a sandbox that the environment names.
        cancellation_token: stops it again.
        hooks: told what happens, the earlier part included.
        approve: as `research` takes it, for a run that was to ask and did not come to it; what was decided stands.
        recorder: gets every exchange that is still to be made.

    Raises:
        LedgerError: no such run, a complete one, one that another process works on, or damaged content.
        UsageError: the run's model is not to be had here.
        RunFailed: not even a partial report could be made.
    """
    stream = resume_stream(
        run_id,
        ledger,
        model_client=model_client,
        endpoints=endpoints,
        cancellation_token=cancellation_token,
        hooks=hooks,
        approve=approve,
        recorder=recorder,
    )
    return await report_of(stream)


async def resume_stream(
    run_id: str,
    ledger: Ledger,
    *,
    model_client: ChatCompletionClient | None = None,
    endpoints: Endpoints | None = None,
    cancellation_token: CancellationToken | None = None,
    hooks: Sequence[Hooks] = (),
    approve: Asked | None = None,
    recorder: Recorder | None = None,
) -> AsyncGenerator[AgentEvent, None]:
    """As `resume`, telling what happens, the earlier part included."""
    run = ledger.run(run_id)
    settings = Settings.restored(run.settings)
    where = endpoints or endpoints_for(settings)
    if where.sandboxed != run.sandboxed:
        kind = "a sandbox (WILLOWBARK_SANDBOX_URL)" if run.sandboxed else "the public sources"
        raise LedgerError(f"run {run_id} was asked of {kind}; resume it there")
    with ledger.reopen(run_id) as journal:
        client = model_client or client_by_name(run.model, settings)
        approver = approver_for(approve, settings)
        course = Course(
            run.question,
            settings,
            client,
            where,
            model=_model(run),
            hooks=hooks,
            recorder=recorder,
            approver=approver,
        )
        course.journal = journal
        try:
            async with aclosing(course.run(cancellation_token or CancellationToken())) as events:
                async for event in events:
                    yield event
        finally:
            if model_client is None:
                await close_client(client)


async def replay(run_id: str, ledger: Ledger) -> ResearchReport:
    """Make a run's report anew from its journal, without network and without a model.

    The report is the run's own, apart from when it was made and when its searches were asked.

    Raises:
        LedgerError: no such run, one whose replies were dropped, or damaged content.
        RunFailed: no report could be made.
    """
    return await report_of(replay_stream(run_id, ledger))


async def replay_stream(run_id: str, ledger: Ledger) -> AsyncGenerator[AgentEvent, None]:
    """As `replay`, telling what happens; of a run that was stopped, only its report."""
    run = ledger.run(run_id)
    if run.pruned_at is not None:
        when = f"{run.pruned_at:%Y-%m-%d}"
        raise LedgerError(f"the replies of run {run_id} were dropped on {when} to make room; its report stays")
    journal = ledger.journal(run_id)
    settings = Settings.restored(run.settings)
    if all(turn.type != "ReportMessage" for turn in journal.lived):
        question = TextMessage(content=run.question, source="user", created_at=run.created_at)
        said = [question, *messages_of(journal.lived)]
        report = await partial_report(said, run.stop_reason or "error", settings, run.model)
        yield AgentEvent(type="complete", message="A report of what was found until then", data=report)
        return
    endpoints = Endpoints.sandbox(_NOWHERE) if run.sandboxed else Endpoints.public({})
    email = settings.tools.pubmed.email
    endpoints = endpoints.model_copy(update={"email": email}) if email and not run.sandboxed else endpoints
    approver = approver_for(None, settings)
    analyst = BaselineChatCompletionClient() if run.model == BASELINE else _Absent(run)
    course = Course(run.question, settings, analyst, endpoints, model=_model(run), approver=approver)
    course.journal = journal
    async with aclosing(course.run(CancellationToken())) as events:
        async for event in events:
            yield event


class _Absent(BaselineChatCompletionClient):
    """Stands for a run's model while it is replayed, and answers nothing that the journal does not hold."""

    def __init__(self, run: Run) -> None:
        super().__init__()
        self.display_name = run.analyst
        self._info = run.model_info

    @property
    def model_info(self) -> ModelInfo:
        """What the run's model could do: requests are worded by that."""
        return cast(ModelInfo, self._info)

    async def create(self, *arguments: Any, **options: Any) -> Any:
        """Refuse."""
        raise ModelUnavailable("the answer is not in the ledger")


def _model(run: Run) -> Model:
    return Model(run.model, run.analyst, run.model_info)
