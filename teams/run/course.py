"""The course of a run: the team at work, told as events, kept in the journal, ended in time."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager

from autogen_agentchat import EVENT_LOGGER_NAME
from autogen_agentchat.base import TaskResult
from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    TextMessage,
    ToolCallExecutionEvent,
)
from autogen_core import CancellationToken
from autogen_core.models import ChatCompletionClient, RequestUsage
from pydantic import BaseModel

from willowbark.agents.approval import Approval, ApprovalMessage
from willowbark.agents.approver import ApproverAgent
from willowbark.agents.assessment import AssessmentMessage
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import Exhausted, RunContext
from willowbark.agents.findings import FindingsMessage
from willowbark.agents.judge import BUDGET_RESERVE
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.agents.reporter import turns_of
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Recorder, RetryPolicy, Transport
from willowbark.tools.toolbox import replies_in
from willowbark.tools.wording import counted

from ..config import DEPTHS, Settings
from ..events import AgentEvent
from ..ledger import Journal, Model
from ..ledger.model_calls import JournaledClient
from ..model_clients import BASELINE, context_of
from ..research_team import ResearchTeam, participants_of
from .budget import WARN_SHARE, Alarm, Budget, Haul, estimate, haul_of, prices_of, rounds_warning
from .hooks import Told, ToolCall, ToolResult, TurnTaken, tell
from .narrator import Narrator, partial_report, report_of, together
from .options import RunOptions

_TURNS = FindingsMessage | AssessmentMessage | ApprovalMessage | ReportMessage
_log = logging.getLogger(EVENT_LOGGER_NAME)


class Course:
    """A run that is about to be lived, for the first time or again.

    Args:
        question: checked.
        settings: of the run.
        client: the model itself; left open.
        endpoints: where the sources are.
        options: who is told of it, and who may stop it.
        model: what the ledger and the price list know of the model.
        others: the clients of the models that the settings name for roles, by their names; left open.
        approver: asks a person before the report; None asks nobody.
        journal: keeps the run, and answers what it did before; None keeps nothing.
    """

    def __init__(
        self,
        question: str,
        settings: Settings,
        client: ChatCompletionClient,
        endpoints: Endpoints,
        options: RunOptions,
        *,
        model: Model,
        others: Mapping[str, ChatCompletionClient] | None = None,
        approver: ApproverAgent | None = None,
        journal: Journal | None = None,
    ) -> None:
        self._question = question
        self._settings = settings
        self._readings = Readings(settings.research.reader)
        self._client = client
        self._endpoints = endpoints
        self._options = options
        self._model = model
        self._others = others or {}
        self._approver = approver
        self._journal = journal
        self._failure_told = False
        self._is_reckoned = model.name == BASELINE
        self._earlier = journal.earlier_turns if journal is not None else []
        self._began = time.monotonic()
        self._narrator = Narrator(asks=approver is not None)
        self._warnings: list[str] = []
        limits = settings.research.limits
        self._budget = Budget(
            prices_of(model.name, settings.llm),
            max_tokens=limits.max_tokens,
            max_cost_usd=limits.max_cost_usd,
            warn=self._warnings.append,
        )
        self._token = CancellationToken()  # also ends agents at work when the caller leaves early
        self._alarm = Alarm(self._token, self._warn_of_time, WARN_SHARE)

    async def run(self) -> AsyncGenerator[AgentEvent, None]:
        """Live it: events, the last one `complete` with the report as its data."""
        if self._options.cancellation_token is not None:
            self._options.cancellation_token.add_callback(self._token.cancel)
        async with aclosing(self._events()) as events:
            async for event in events:
                if self._journal is not None:
                    self._journal.note_event(event.type, event.iteration, event.message)
                if event.report is not None and (problem := self._finish(event.report)):
                    yield self._narrator.event("error", problem)
                yield event

    async def _events(self) -> AsyncGenerator[AgentEvent, None]:
        narrator, token, asked = self._narrator, self._token, self._settings.research
        yield AgentEvent(type="started", message=self._question)
        if self._model.name != BASELINE:
            yield AgentEvent(type="progress", message=f"{self._model.name}: {self._estimated()}")
        question = TextMessage(content=self._question, source="user")
        async with Transport(
            self._endpoints, recorder=self._memory(), policy=RetryPolicy.within(asked.search_timeout)
        ) as transport:
            team = self._team(transport)
            self._alarm.set(self._seconds_left(), asked.limits.max_seconds)
            try:
                async with aclosing(team.run_stream(task=question, cancellation_token=token)) as messages:
                    async for message in messages:
                        if isinstance(message, TaskResult):
                            continue
                        for event in [*narrator.tell(message), *await self._note(message)]:
                            yield event
                        if isinstance(message, AssessmentMessage):
                            self._warnings += rounds_warning(message.content.iteration, asked.max_iterations)
            except (asyncio.CancelledError, Exception) as error:
                if isinstance(error, asyncio.CancelledError) and not token.is_cancelled():
                    raise  # the caller's own task is being cancelled: nobody would read a report
                level = logging.INFO if isinstance(error, asyncio.CancelledError) else logging.WARNING
                _log.log(level, "the team stopped: %s", type(error).__name__)
                yield self._stopped(error)
            finally:
                self._alarm.clear()
                token.cancel()
                await asyncio.sleep(0)  # lets what was cancelled end before its connections are closed
        report = narrator.report or report_of(self._earlier)
        told = "A report of what was found until then" if report is None else report.line
        if report is None:
            reason = "timeout" if self._alarm.rang else narrator.stop_reason
            said = together(self._earlier, narrator.messages or [question])
            report = await partial_report(
                said, reason, self._settings, self._model.name, self._budget.account, self._readings
            )
        await tell(self._options.hooks, report)
        yield narrator.event("complete", told, report)

    async def _note(self, message: BaseAgentEvent | BaseChatMessage) -> list[AgentEvent]:
        """Keep a turn, call the hooks; gives what is to be told of it."""
        told = self._told(message)
        if isinstance(message, ToolCallExecutionEvent) and not self._is_reckoned:
            self._reckon(message)
        if self._journal is not None and isinstance(message, _TURNS):
            self._journal.keep_turn(message, _round(message, self._narrator.iteration))
        problems = [problem for one in told for problem in await tell(self._options.hooks, one)]
        lines, self._warnings[:] = [*self._warnings, *problems], []
        return [self._narrator.event("progress", line) for line in lines]

    def _reckon(self, event: ToolCallExecutionEvent) -> None:
        """Say what the run takes as soon as the first searches tell how much there is to read."""
        haul = haul_of(self._question, [reply for result in event.content for reply in replies_in(result.content)])
        if haul.publications:
            self._is_reckoned = True
            self._warnings.append(f"{counted(haul.publications, 'publication')} to read: {self._estimated(haul)}")

    def _estimated(self, haul: Haul | None = None) -> str:
        asked = self._settings.research
        return estimate(self._model.name, asked.max_iterations, self._settings.llm, DEPTHS[asked.depth], haul)

    def _told(self, message: BaseAgentEvent | BaseChatMessage) -> list[Told]:
        """What the hooks hear of a message."""
        agent, iteration = message.source, self._narrator.iteration
        if isinstance(message, ToolCallExecutionEvent):
            return [ToolResult(agent, r.name, replies_in(r.content), iteration) for r in message.content]
        if isinstance(message, _TURNS):
            usage = message.models_usage or RequestUsage(prompt_tokens=0, completion_tokens=0)
            tokens = (usage.prompt_tokens, usage.completion_tokens)
            cost = self._budget.cost_of(turns_of(agent, 1, usage, message))
            return [TurnTaken(agent, _round(message, iteration), message.to_text(), *tokens, cost)]
        return []

    async def _before_tool(self, agent: str, iteration: int, tool: str, arguments: BaseModel) -> None:
        self._warnings += await tell(self._options.hooks, ToolCall(agent, tool, arguments.model_dump_json(), iteration))

    def _stopped(self, error: BaseException) -> AgentEvent:
        """What is told when the team was stopped or failed; a ledger that cannot be written comes first."""
        if self._journal is not None and self._journal.failure is not None:
            self._narrator.stop_reason, self._failure_told = "error", True
            return self._narrator.event("error", f"{self._journal.failure}")
        if self._alarm.rang and isinstance(error, asyncio.CancelledError):
            return self._narrator.event("progress", "The run's time is up")
        return self._narrator.stopped(error)

    def _finish(self, report: ResearchReport) -> str | None:
        """Commit the report; gives why that could not be done, where it was not told before."""
        if self._journal is None or self._failure_told:
            return None
        status = {"cancelled": "cancelled", "error": "failed"}.get(report.stop_reason, "complete")
        self._journal.finish(status, report.stop_reason, report)
        return None if self._journal.failure is None else f"{self._journal.failure}"

    def _memory(self) -> Recorder | None:
        """What the transport reports to, and asks first."""
        if self._journal is None:
            return self._options.recorder
        self._journal.attach(self._options.recorder, self._token.cancel)
        return self._journal

    @property
    def _spent_s(self) -> float:
        """Seconds of work so far, in earlier lives too."""
        return time.monotonic() - self._began if self._journal is None else self._journal.spent_s

    def _seconds_left(self) -> float | None:
        """Until the time is up; None where the run has no limit, or meets its earlier end."""
        seconds = self._settings.research.limits.max_seconds
        if seconds is None or (self._journal is not None and self._journal.replaying):
            return None
        return max(0.0, seconds - self._spent_s)

    def _exhausted(self, iteration: int) -> Exhausted | None:
        """Which budget is used up but for the reserve; in a round lived before, the clock says what it said then."""
        if self._budget.is_low:
            return "token_budget_exceeded"
        verdicts = [turn.message["content"] for turn in self._earlier if turn.type == AssessmentMessage.__name__]
        before = next((verdict for verdict in verdicts if verdict["iteration"] == iteration), None)
        seconds = self._settings.research.limits.max_seconds
        if before is not None:
            late = before.get("stop_reason") == "timeout"
        else:
            late = seconds is not None and self._spent_s > (1 - BUDGET_RESERVE) * seconds
        return "timeout" if late else None

    def _team(self, transport: Transport) -> ResearchTeam:
        client = self._client
        if self._journal is not None or not isinstance(client, BaselineChatCompletionClient):
            client = self._kept(client, self._model.name)
        kept = {name: self._kept(other, name) for name, other in self._others.items()}
        named = self._settings.llm.roles.model_dump()
        roles = {role: kept[name] for role, name in named.items() if name in kept}
        members = participants_of(self._settings, client, self._approver, roles)
        decided = [turn.message["content"] for turn in self._earlier if turn.type == ApprovalMessage.__name__]
        run = RunContext(
            transport,
            before_tool=self._before_tool if any(one.before_tool for one in self._options.hooks) else None,
            exhausted=self._exhausted,
            account=None if self._model.name == BASELINE and not roles else self._budget.account,
            calls=lambda: self._budget.calls,
            decided=Approval.model_validate(decided[-1]) if decided else None,
            waiting=self._waiting,
            readings=self._readings,
        )
        return ResearchTeam(members, client, run=run)

    def _kept(self, client: ChatCompletionClient, name: str) -> JournaledClient:
        llm = self._settings.llm
        return JournaledClient(
            client,
            self._budget,
            self._journal,
            name,
            self._token,
            context_tokens=context_of(name, llm),
            streams=llm.streaming,
        )

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """A person is waited for: that time counts for no limit."""
        since = time.monotonic()
        with self._alarm.paused():
            try:
                yield
            finally:
                if self._journal is not None:
                    self._journal.leave_out(time.monotonic() - since)

    def _warn_of_time(self) -> None:
        self._warnings.append(
            f"{WARN_SHARE:.0%} of the run's {self._settings.research.limits.max_seconds:g} s are over"
        )


def _round(message: BaseAgentEvent | BaseChatMessage, otherwise: int) -> int:
    if isinstance(message, FindingsMessage | AssessmentMessage):
        return message.content.iteration
    return otherwise
