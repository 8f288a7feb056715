"""The course of a run: the team at work, told as events, kept in the journal, ended in time."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime, timedelta

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
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.findings import FindingsMessage
from willowbark.agents.judge import AssessmentMessage, JudgeAgent, JudgeLimits
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.agents.reporter import ReportAgent
from willowbark.agents.specialist import SpecialistAgent
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Recorder, RetryPolicy, Transport
from willowbark.tools.toolbox import replies_in

from ..config import Settings
from ..events import AgentEvent
from ..ledger import Journal, Model
from ..ledger.model_calls import JournaledClient
from ..model_clients import BASELINE
from ..research_team import ResearchTeam, default_participants
from .alarm import Alarm
from .budget import WARN_SHARE, Budget, estimate, price_of, rounds_warning
from .hooks import Hooks, Told, ToolCall, ToolResult, TurnTaken, tell
from .lived import report_of, together
from .narrator import Narrator
from .partial import partial_report

_TURNS = FindingsMessage | AssessmentMessage | ApprovalMessage | ReportMessage
_AT_ONCE_S = 1e-9  # a time limit that has always passed
_log = logging.getLogger(EVENT_LOGGER_NAME)


class Course:
    """A run that is about to be lived, for the first time or again.

    Args:
        question: checked.
        settings: of the run.
        client: the model itself; left open.
        endpoints: where the sources are.
        model: what the ledger and the price list know of the model.
        hooks: told what happens.
        recorder: gets every exchange.
        approver: asks a person before the report; None asks nobody.

    Attributes:
        journal: keeps the run, and answers what it did before; None keeps nothing.
    """

    def __init__(
        self,
        question: str,
        settings: Settings,
        client: ChatCompletionClient,
        endpoints: Endpoints,
        *,
        model: Model,
        hooks: Sequence[Hooks] = (),
        recorder: Recorder | None = None,
        approver: ApproverAgent | None = None,
    ) -> None:
        self.journal: Journal | None = None
        self._question = question
        self._settings = settings
        self._endpoints = endpoints
        self._client = client
        self._model = model
        self._hooks = hooks
        self._recorder = recorder
        self._approver = approver
        self._narrator = Narrator(asks=approver is not None)
        self._warnings: list[str] = []
        limits = settings.research.limits
        self.budget = Budget(
            price_of(model.name, settings.llm.prices),
            max_tokens=limits.max_tokens,
            max_cost_usd=limits.max_cost_usd,
            warn=self._warnings.append,
            near_end=self._end_the_search,
        )
        self._judge: JudgeAgent | None = None

    async def run(self, token: CancellationToken) -> AsyncGenerator[AgentEvent, None]:
        """Live it: events, the last one `complete` with the report as its data."""
        own = CancellationToken()  # also ends agents at work when the caller leaves early
        token.add_callback(own.cancel)
        async with aclosing(self._events(own)) as events:
            async for event in events:
                if self.journal is not None:
                    self.journal.event(event.type, event.iteration, event.message)
                if event.type == "complete" and (problem := self._finish(event.data)):
                    yield self._narrator.event("error", problem)
                yield event

    async def _events(self, token: CancellationToken) -> AsyncGenerator[AgentEvent, None]:
        narrator = self._narrator
        self._alarm = alarm = Alarm(token, self._warn_of_time, WARN_SHARE)
        yield AgentEvent(type="started", message=self._question)
        if self._model.name != BASELINE:
            asked = self._settings.research
            told = estimate(self._model.name, asked.max_iterations, self._settings.llm.prices)
            yield AgentEvent(type="progress", message=f"{self._model.name}: {told}")
        async with Transport(
            self._endpoints,
            recorder=self._memory(token),
            policy=RetryPolicy.within(self._settings.research.search_timeout),
        ) as transport:
            team, judge = self._team(transport, token)
            alarm.set(self._seconds_left(), self._settings.research.limits.max_seconds)
            try:
                async with aclosing(team.run_stream(task=self._task(), cancellation_token=token)) as messages:
                    async for message in messages:
                        if isinstance(message, TaskResult):
                            continue
                        for event in [*narrator.tell(message), *await self._note(message)]:
                            yield event
                        if isinstance(message, AssessmentMessage):
                            most = self._settings.research.max_iterations
                            self._warnings += rounds_warning(message.content.iteration, most)
                            judge.limits = self._limits(message.content.iteration + 1)
            except (asyncio.CancelledError, Exception) as error:
                if isinstance(error, asyncio.CancelledError) and not token.is_cancelled():
                    raise  # the caller's own task is being cancelled: nobody would read a report
                _log.warning("the team stopped: %s", type(error).__name__)
                yield self._stopped(error)
            finally:
                alarm.clear()
                token.cancel()
                await asyncio.sleep(0)  # lets what was cancelled end before its connections are closed
        earlier = self.journal.lived if self.journal is not None else []
        report = narrator.report or report_of(earlier)
        told = "A report of what was found until then" if report is None else _line(report)
        if report is None:
            reason = "timeout" if alarm.rang else narrator.stop_reason
            said = together(earlier, narrator.messages or [self._task()])
            report = await partial_report(said, reason, self._settings, self._model.name)
        await tell(self._hooks, report)
        yield narrator.event("complete", told, report)

    async def _note(self, message: BaseAgentEvent | BaseChatMessage) -> list[AgentEvent]:
        """Keep a turn, call the hooks; gives what is to be told of it."""
        told = self._told(message)
        if self.journal is not None and isinstance(message, _TURNS):
            self.journal.turn(message.dump(), _round(message, self._narrator.iteration))
        problems = [problem for one in told for problem in await tell(self._hooks, one)]
        lines, self._warnings[:] = [*self._warnings, *problems], []
        return [self._narrator.event("progress", line) for line in lines]

    def _told(self, message: BaseAgentEvent | BaseChatMessage) -> list[Told]:
        """What the hooks hear of a message."""
        agent, iteration = message.source, self._narrator.iteration
        if isinstance(message, ToolCallExecutionEvent):
            return [ToolResult(agent, r.name, replies_in(r.content), iteration) for r in message.content]
        if isinstance(message, _TURNS):
            usage = message.models_usage or RequestUsage(prompt_tokens=0, completion_tokens=0)
            tokens = (usage.prompt_tokens, usage.completion_tokens)
            cost = self.budget.cost_usd(usage)
            return [TurnTaken(agent, _round(message, iteration), message.to_text(), *tokens, cost)]
        return []

    async def _before_tool(self, agent: str, iteration: int, tool: str, arguments: BaseModel) -> None:
        self._warnings += await tell(self._hooks, ToolCall(agent, tool, arguments.model_dump_json(), iteration))

    def _stopped(self, error: BaseException) -> AgentEvent:
        """What is told when the team was stopped or failed; a ledger that cannot be written comes first."""
        if self.journal is not None and self.journal.failure is not None:
            self._narrator.stop_reason = "error"
            return self._narrator.event("error", f"{self.journal.failure}")
        return self._narrator.stopped(error)

    def _finish(self, report: ResearchReport) -> str | None:
        """Commit the report; gives why that could not be done, where it was not told before."""
        if self.journal is None or self.journal.failure is not None:
            return None
        status = {"cancelled": "cancelled", "error": "failed"}.get(report.stop_reason, "complete")
        self.journal.finish(status, report.stop_reason, report.to_json())
        return None if self.journal.failure is None else f"{self.journal.failure}"

    def _memory(self, token: CancellationToken) -> Recorder | None:
        """What the transport reports to, and asks first."""
        if self.journal is None:
            return self._recorder
        self.journal.relay = self._recorder
        self.journal.on_failure = token.cancel
        return self.journal

    def _task(self) -> TextMessage:
        """The question, dated back by the time that the run has worked already: the judge counts from there."""
        spent_s = self.journal.spent_s if self.journal is not None else 0.0
        return TextMessage(
            content=self._question, source="user", created_at=datetime.now(UTC) - timedelta(seconds=spent_s)
        )

    def _seconds_left(self) -> float | None:
        seconds = self._settings.research.limits.max_seconds
        if seconds is None or self.journal is None:
            return seconds
        return None if self.journal.replaying else max(_AT_ONCE_S, seconds - self.journal.spent_s)

    def _limits(self, iteration: int) -> JudgeLimits:
        """The judge's limits in a round; in one that was lived before, the clock decides as it did then."""
        asked = self._settings.research
        limits = JudgeLimits(
            max_iterations=asked.max_iterations,
            judge_threshold=asked.judge_threshold,
            max_tokens=1 if self.budget.is_low else asked.limits.max_tokens,
            max_seconds=asked.limits.max_seconds,
        )
        verdicts = [turn for turn in (self.journal.lived if self.journal else []) if turn.type == "AssessmentMessage"]
        before = next((turn for turn in verdicts if turn.iteration == iteration), None)
        if before is None:
            return limits
        late = before.message["content"].get("stop_reason") == "timeout"
        return limits.model_copy(update={"max_seconds": _AT_ONCE_S if late else None})

    def _end_the_search(self) -> None:
        """Have the judge say that the budget is used up, at its next verdict."""
        if self._judge is not None:
            self._judge.limits = self._judge.limits.model_copy(update={"max_tokens": 1})

    def _team(self, transport: Transport, token: CancellationToken) -> tuple[ResearchTeam, JudgeAgent]:
        client: ChatCompletionClient = self._client
        if self.journal is not None or not isinstance(client, BaselineChatCompletionClient):
            client = JournaledClient(client, self.budget, self.journal, self._model.name, token)
        members = default_participants(
            client,
            limits=self._limits(1),
            max_results=self._settings.research.max_results_per_tool,
            sources=self._settings.tools.sources,
            approver=self._ready_approver(),
        )
        for member in members:
            if isinstance(member, SpecialistAgent) and any(one.before_tool for one in self._hooks):
                member.before_tool = self._before_tool
            elif isinstance(member, ReportAgent) and self._model.name != BASELINE:
                member.account = self.budget.account
        self._judge = judge = next(member for member in members if isinstance(member, JudgeAgent))
        return ResearchTeam(members, client, transport=transport), judge

    def _ready_approver(self) -> ApproverAgent | None:
        """The approver: it knows what was decided in an earlier life, and stops the clock while it waits."""
        if self._approver is not None:
            lived = self.journal.lived if self.journal is not None else []
            decided = [turn.message["content"] for turn in lived if turn.type == ApprovalMessage.__name__]
            self._approver.decided = Approval.model_validate(decided[-1]) if decided else None
            self._approver.waiting = self._waiting
        return self._approver

    @contextmanager
    def _waiting(self) -> Iterator[None]:
        """A person is waited for: that time counts for no limit."""
        since = time.monotonic()
        with self._alarm.paused():
            try:
                yield
            finally:
                if self.journal is not None:
                    self.journal.idle(time.monotonic() - since)

    def _warn_of_time(self) -> None:
        self._warnings.append(
            f"{WARN_SHARE:.0%} of the run's {self._settings.research.limits.max_seconds:g} s are over"
        )


def _round(message: BaseAgentEvent | BaseChatMessage, otherwise: int) -> int:
    if isinstance(message, FindingsMessage | AssessmentMessage):
        return message.content.iteration
    return otherwise


def _line(report: ResearchReport) -> str:
    return f"{report.title}: {len(report.candidates)} candidates, {len(report.references)} references"
