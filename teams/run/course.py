"""Execute a run: turn the team's work into events, keep it in the journal, end it in time."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import KW_ONLY, InitVar, dataclass, field

from willowbark.agents.approval import Approval, ApprovalMessage
from willowbark.agents.approver import ApproverAgent
from willowbark.agents.assessment import AssessmentMessage
from willowbark.agents.autogen import (
    EVENT_LOGGER_NAME,
    BaseAgentEvent,
    BaseChatMessage,
    CancellationToken,
    ChatCompletionClient,
    CreateResult,
    RequestUsage,
    TaskResult,
    TextMessage,
)
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import Exhausted, RunContext
from willowbark.agents.findings import Findings, FindingsMessage
from willowbark.agents.judge import BUDGET_RESERVE
from willowbark.agents.report.model import ReportMessage
from willowbark.agents.reporter import turns_of
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Recorder, RetryPolicy, Transport

from ..config import DEPTHS, Settings
from ..events import AgentEvent
from ..ledger import Journal, Model
from ..ledger.model_calls import JournaledClient
from ..model_clients import BASELINE, context_of
from ..research_team import ResearchTeam, participants_of
from .budget import WARN_SHARE, Alarm, Budget, Prices, estimate, rounds_warning
from .hooks import call_hooks
from .narrator import Narrator, merge_earlier_messages, partial_report, report_of
from .options import RunOptions

_Message = BaseAgentEvent | BaseChatMessage | TaskResult
_TURNS = FindingsMessage | AssessmentMessage | ApprovalMessage | ReportMessage
_UNDERSTANDING = "the question in words"  # key of the journal's answer from before the run
_PULSE_S = 0.5  # between updates while no message arrives
_log = logging.getLogger(EVENT_LOGGER_NAME)


@dataclass(eq=False)
class Course:
    """A run to execute: a new one, a resumed one or a replay."""

    question: str
    """Already validated."""
    settings: Settings
    client: ChatCompletionClient
    """Client of the main model; left open."""
    endpoints: Endpoints
    """Addresses of the sources."""
    options: RunOptions
    """Provides hooks, recorder and cancellation token."""
    _: KW_ONLY
    model: Model
    """The main model, as ledger and price list describe it."""
    others: Mapping[str, ChatCompletionClient] = field(default_factory=dict)
    """Clients of the models that the settings name for roles, by model name; left open."""
    approver: ApproverAgent | None = None
    """Asks a person before the report; None skips this."""
    journal: Journal | None = None
    """Records the run, and answers repeated requests; None records nothing."""
    waited_s: InitVar[float] = 0.0
    """Seconds already spent, on checking that the model answers; they count towards the run's time."""
    understanding: InitVar[RequestUsage | None] = None
    """Tokens that the model used to interpret the question; None if the rules interpreted it."""

    def __post_init__(self, waited_s: float, understanding: RequestUsage | None) -> None:
        journal, limits = self.journal, self.settings.research.limits
        self._earlier = journal.earlier_turns if journal is not None else []
        self._began = time.monotonic() - waited_s
        if journal is not None:
            journal.leave_out(-waited_s)
        self._readings = Readings()
        self._in_hand: Mapping[str, Findings] = {}
        self._narrator = Narrator(asks=self.approver is not None)
        self._warnings: list[str] = []
        self._budget = Budget(
            Prices.of_run(self.model.name, self.settings.llm),
            max_tokens=limits.max_tokens,
            max_cost_usd=limits.max_cost_usd,
            warn=self._warnings.append,
        )
        name = self.model.name
        if understanding is None and journal is not None and (kept := journal.find_answer(_UNDERSTANDING)):
            understanding = RequestUsage(**kept["usage"])
        elif understanding is not None and journal is not None:  # counted again whenever the run is resumed
            answer = CreateResult(finish_reason="stop", content=self.question, usage=understanding, cached=False)
            cost = self._budget.prices.cost_usd(understanding, name)
            journal.keep_answer(_UNDERSTANDING, name, answer, understanding, cost)
        if understanding is not None:
            self._budget.used(understanding, name)
        self._token = CancellationToken()  # also ends agents at work when the caller leaves early
        time_warning = f"{WARN_SHARE:.0%} of the run's {limits.max_seconds or 0:g} s are over"
        self._alarm = Alarm(self._end, lambda: self._warnings.append(time_warning))

    async def run(self) -> AsyncGenerator[AgentEvent, None]:
        """Execute the run as a stream of events; the last one is `complete` with the report as its data."""
        if self.options.cancellation_token is not None:
            self.options.cancellation_token.add_callback(self._readings.stop)
            self.options.cancellation_token.add_callback(self._token.cancel)
        async with aclosing(self._live()) as events:
            async for event in events:
                problems = await call_hooks(self.options.hooks, event)
                if event.report is None:
                    yield event
                told, self._warnings[:] = [*problems, *self._warnings], []
                for line in told:
                    yield self._narrator.event("progress", line)
                if event.report is not None:
                    yield event

    async def _live(self) -> AsyncGenerator[AgentEvent, None]:  # noqa: PLR0912, PLR0915
        narrator, journal, asked = self._narrator, self.journal, self.settings.research

        # 1. The question, and its estimated cost.
        yield AgentEvent(type="started", message=self.question)
        if self.model.name != BASELINE:
            takes = estimate(self.model.name, asked.max_iterations, self.settings.llm, DEPTHS[asked.depth])
            yield AgentEvent(type="progress", message=f"{self.model.name}: {takes}")

        # 2. The team works until its report, or until stopped; every turn is recorded before its event.
        recorder: Recorder | None = self.options.recorder
        if journal is not None:
            journal.attach(recorder, self._end)
            recorder = journal
        question = TextMessage(content=self.question, source="user")
        policy = RetryPolicy.within(asked.search_timeout)
        cost_of_turn: dict[str, int | float | None] = {}
        failure_told, told_read = False, 0
        async with Transport(self.endpoints, recorder=recorder, policy=policy) as transport:
            team = self._team(transport)
            if asked.limits.max_seconds is not None and not (journal is not None and journal.replaying):
                left = asked.limits.max_seconds - self._spent_s  # a replay ends where the run ended
                self._alarm.set(max(0.0, left), asked.limits.max_seconds)
            try:
                async with aclosing(team.run_stream(task=question, cancellation_token=self._token)) as messages:
                    async for message in _with_pulse(messages, self._readings.stop):
                        if message is None and told_read != (done := self._readings.done):
                            told_read = done
                            yield narrator.event("streaming", f"read {done} of {self._readings.found}")
                        if message is None or isinstance(message, TaskResult):
                            continue
                        events, iteration = list(narrator.narrate(message)), narrator.iteration
                        if isinstance(message, FindingsMessage | AssessmentMessage):
                            iteration = message.content.iteration
                        if isinstance(message, _TURNS):
                            usage = message.models_usage or RequestUsage(prompt_tokens=0, completion_tokens=0)
                            cost = self._budget.prices.cost_of(turns_of(message.source, 1, usage, message))
                            cost_of_turn = {"tokens": usage.prompt_tokens + usage.completion_tokens, "cost_usd": cost}
                            events[:1] = [event.model_copy(update=cost_of_turn) for event in events[:1]]
                            if journal is not None:
                                journal.keep_turn(message, iteration)
                        for event in events:
                            yield event
                        if isinstance(message, AssessmentMessage):
                            self._warnings += rounds_warning(iteration, asked.max_iterations)
            except (asyncio.CancelledError, Exception) as error:
                is_stop = self._token.is_cancelled()  # agents may raise anything
                if is_stop or isinstance(error, asyncio.CancelledError):
                    self._readings.stop()
                    if not is_stop:
                        raise  # the caller's task is being cancelled: no one would read a report
                _log.log(logging.INFO if is_stop else logging.WARNING, "the team stopped: %s", type(error).__name__)
                if journal is not None and journal.failure is not None:
                    narrator.stop_reason, failure_told = "error", True
                    yield narrator.event("error", f"{journal.failure}")
                elif self._alarm.rang and is_stop:
                    yield narrator.event("progress", "The run's time is up")
                else:
                    yield narrator.stopped(asyncio.CancelledError() if is_stop else error)
            except GeneratorExit:
                self._readings.stop()
                raise
            finally:
                self._alarm.clear()
                self._token.cancel()
                await asyncio.sleep(0)  # lets cancelled tasks end before their connections are closed

        # 3. The report: the team's, one from before a resume, or one of what was found until the stop.
        report = narrator.report or report_of(self._earlier)
        line = "A report of what was found until then" if report is None else report.line
        if report is None:
            reason = "timeout" if self._alarm.rang else narrator.stop_reason
            in_hand = [FindingsMessage(content=each, source=name) for name, each in self._in_hand.items()]
            said = merge_earlier_messages(self._earlier, [*(narrator.messages or [question]), *in_hand])
            readings = Readings() if self._earlier else self._readings  # readings from before a resume are made again
            report = await partial_report(said, reason, self.settings, self.model.name, self._budget.account, readings)

        # 4. The end is recorded; a ledger that cannot be written is reported once.
        complete = narrator.event("complete", line, report, agent="report")
        complete = complete.model_copy(update=cost_of_turn if narrator.report is not None else {})
        if journal is not None and not failure_told:
            status = {"cancelled": "cancelled", "error": "failed"}.get(report.stop_reason, "complete")
            journal.finish(status, report.stop_reason, report)
            if journal.failure is not None:
                yield narrator.event("error", f"{journal.failure}")
        yield complete

    def _end(self) -> None:
        """Stop at once: no more reading, no more requests."""
        self._readings.stop()
        self._token.cancel()

    def _team(self, transport: Transport) -> ResearchTeam:
        """Build the team on the run's models, each with journal and budget."""

        def journaled(client: ChatCompletionClient, name: str) -> JournaledClient:
            llm = self.settings.llm
            context = context_of(name, llm)
            return JournaledClient(
                client, self._budget, self.journal, name, self._token, context_tokens=context, streams=llm.streaming
            )

        client = self.client
        if self.journal is not None or not isinstance(client, BaselineChatCompletionClient):
            client = journaled(client, self.model.name)
        others = {name: journaled(other, name) for name, other in self.others.items()}
        roles = {role: others[name] for role, name in self.settings.llm.roles.model_dump().items() if name in others}
        decided = [turn.message["content"] for turn in self._earlier if turn.type == ApprovalMessage.__name__]
        run = RunContext(
            transport,
            exhausted=self._find_exhausted,
            account=None if self.model.name == BASELINE and not roles else self._budget.account,
            calls=lambda: self._budget.calls,
            decided=Approval.model_validate(decided[-1]) if decided else None,
            waiting=self._pause_clock,
            readings=self._readings,
            reads_in_batches=self.settings.llm.batch,
            reads_in_short=self.settings.llm.economy,
        )
        self._in_hand = run.in_hand
        return ResearchTeam(participants_of(self.settings, client, self.approver, roles), client, run=run)

    @property
    def _spent_s(self) -> float:
        """Seconds of work so far, including before a resume."""
        return time.monotonic() - self._began if self.journal is None else self.journal.spent_s

    def _find_exhausted(self, iteration: int) -> Exhausted | None:
        """Return the budget used up except for its reserve; a replayed round repeats its earlier verdict on time."""
        if self._budget.is_low:
            return "token_budget_exceeded"
        verdicts = [turn.message["content"] for turn in self._earlier if turn.type == AssessmentMessage.__name__]
        before = next((verdict for verdict in verdicts if verdict["iteration"] == iteration), None)
        seconds = self.settings.research.limits.max_seconds
        if before is not None:
            late = before.get("stop_reason") == "timeout"
        else:
            late = seconds is not None and self._spent_s > (1 - BUDGET_RESERVE) * seconds
        return "timeout" if late else None

    @contextmanager
    def _pause_clock(self) -> Iterator[None]:
        """Stop the clock while a person is asked."""
        since = time.monotonic()
        with self._alarm.paused():
            try:
                yield
            finally:
                if self.journal is not None:
                    self.journal.leave_out(time.monotonic() - since)


async def _with_pulse(
    messages: AsyncGenerator[_Message, None], stop: Callable[[], None]
) -> AsyncGenerator[_Message | None, None]:
    """Yield messages as they arrive, and None whenever none has arrived for a moment.

    If the caller leaves during a wait, `stop` is called first, so that the team finishes its turn.
    """
    while True:
        coming = asyncio.ensure_future(anext(messages, None))
        try:
            while not (await asyncio.wait({coming}, timeout=_PULSE_S))[0]:
                yield None
        finally:
            if not coming.done():
                stop()
                coming.cancel()
                await asyncio.gather(coming, return_exceptions=True)
        if (message := coming.result()) is None:
            return
        yield message
