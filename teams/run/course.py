"""Execute a run: turn the team's work into events, keep it in the journal, end it in time."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from willowbark.agents.approval import Approval, ApprovalMessage
from willowbark.agents.approver import ApproverAgent
from willowbark.agents.asking import ModelUnavailable
from willowbark.agents.assessment import AssessmentMessage
from willowbark.agents.autogen import (
    BaseAgentEvent,
    BaseChatMessage,
    CancellationToken,
    ChatCompletionClient,
    FunctionExecutionResult,
    ModelInfo,
    RequestUsage,
    TaskResult,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    UserInputRequestedEvent,
)
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import Exhausted, RunContext
from willowbark.agents.findings import ASKED_AS, Findings, FindingsMessage
from willowbark.agents.judge import BUDGET_RESERVE
from willowbark.agents.report.content import ModelCalls, TurnUsage
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.agents.reporter import ReportAgent, list_turns
from willowbark.agents.routing import route_of
from willowbark.tools.appraisal.appraised import Readings, list_conditions
from willowbark.tools.appraisal.stored import StoredReader
from willowbark.tools.contracts.run_contract import explainer
from willowbark.tools.errors import UsageError, WillowbarkError
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
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
from willowbark.tools.toolbox import replies_in
from willowbark.tools.wording import capital

from ..budget import WARN_SHARE, Budget, Prices, estimate
from ..config import DEPTHS, Settings
from ..events import AgentEvent, EventType, ToolRequest
from ..ledger import Journal, Model, Run
from ..ledger.journal import CORRECTIONS
from ..ledger.model_calls import JournaledClient
from ..model_clients import BASELINE, READS_REQUESTS, find_context_limit
from ..research_team import ResearchTeam, default_participants
from .binding import bind_report
from .hooks import Hooks
from .options import RunOptions, create_approver
from .turns import TurnMessage, restore_messages

UNDERSTANDING = "the question in words"
"""Key of the journal's answer by which a model interpreted the question, before the run."""
_Message = BaseAgentEvent | BaseChatMessage | TaskResult
_ROLES: Mapping[str, EventType] = {
    "specialist": "thinking",
    "judge": "thinking",
    "judging": "judging",
    "hypothesizing": "hypothesizing",
    "analyzing": "analyzing",
    "analysis_complete": "analysis_complete",
}
"""Events for the texts with which agents tell people what they do, by the texts' role."""
_PULSE_S = 0.5  # between updates while no message arrives


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
    model: Model
    """The main model, as ledger and price list describe it."""
    journal: Journal
    """Records the run, and answers repeated requests."""
    others: Mapping[str, ChatCompletionClient] = field(default_factory=dict)
    """Clients of the models that the settings name for roles, by model name; left open."""

    def __post_init__(self) -> None:
        limits = self.settings.research.limits
        self._approver = create_approver(self.options.approve, self.settings)
        self._earlier = self.journal.earlier_turns
        self._in_hand: Mapping[str, Findings] = {}
        self._is_late = False
        self._iteration = 1
        self._warnings: list[str] = []
        self._reader = self._open_reader()
        self._corrections = self._take_corrections()
        self._readings = Readings(self._reader, corrections=self._corrections)
        self._budget = Budget(
            Prices.of_run(self.model.name, self.settings.llm),
            max_tokens=self.settings.research.token_limit(is_baseline=self.model.name == BASELINE and not self.others),
            max_cost_usd=limits.max_cost_usd,
            warn=self._warnings.append,
        )
        understanding = self.journal.find_answer(UNDERSTANDING)
        self._typed = ""
        """The question as it was typed, where a model put it into other words."""
        if understanding is not None:
            self._budget.used(RequestUsage(**understanding["usage"]), self.model.name)
            self._typed = understanding.get("thought") or ""
        self._hooks = Hooks(self.options.hooks, self.journal, self._warnings)
        self._asked_at: dict[tuple[str, str], datetime] = {}
        self._token = CancellationToken()  # also ends agents at work when the caller leaves early

    async def run(self) -> AsyncGenerator[AgentEvent, None]:
        """Execute the run as a stream of events; the last one is `complete` with the report as its data."""
        if self.options.cancellation_token is not None:
            self.options.cancellation_token.add_callback(self._end)
        async with aclosing(self._work_to_report()) as events, AsyncExitStack() as stack:
            stack.callback(self._reader.close)
            async for event in events:
                earlier = len(self._warnings)
                await self._hooks.notify(event)
                if event.report is None:
                    yield event
                lines = [*self._warnings[earlier:], *self._warnings[:earlier]]
                self._warnings.clear()
                for line in lines:
                    yield self._make_event("progress", line)
                if event.report is not None:
                    yield event

    async def _work_to_report(self) -> AsyncGenerator[AgentEvent, None]:  # noqa: PLR0912, PLR0915
        journal = self.journal
        research = self.settings.research

        # 1. The question, and its estimated cost.
        yield AgentEvent(type="started", message=self.question)
        if understood := self._describe_question():
            yield AgentEvent(type="progress", message=f"Understood as “{understood}”")
        if self.model.name != BASELINE:
            outlook = estimate(self.model.name, research.max_iterations, self.settings.llm, DEPTHS[research.depth])
            yield AgentEvent(type="progress", message=f"{self.model.name}: {outlook}; {self._describe_limit()}")

        yield AgentEvent(type="progress", message=capital(route_of(parse_question(self.question)).line))

        # 2. The team works until its report, or until stopped; every turn is recorded before its event.
        journal.attach(self.options.recorder, self._end)
        metadata = {ASKED_AS: self._typed} if self._typed else {}
        question = TextMessage(content=self.question, source="user", metadata=metadata)
        transcript: list[BaseChatMessage] = [question, *restore_messages(self._earlier)]
        cost_of_turn: dict[str, int | float | None] = {}
        is_written = False
        reason = "error"
        reported_count = 0
        is_failure_reported = False
        policy = RetryPolicy.within(research.search_timeout)
        explain = explainer(self.endpoints)
        async with Transport(self.endpoints, recorder=journal, policy=policy, explain=explain) as transport:
            team = self._build_team(transport)
            clock = asyncio.create_task(self._watch_clock())
            try:
                async with aclosing(team.run_stream(task=question, cancellation_token=self._token)) as messages:
                    async for message in _add_pulse(messages, self._readings.stop):
                        if message is None:  # a pulse
                            read_count = self._readings.done
                            if read_count != reported_count:
                                reported_count = read_count
                                yield self._make_event("streaming", f"read {read_count} of {self._readings.found}")
                            continue
                        if isinstance(message, TaskResult):
                            continue
                        events = list(self._narrate(message))
                        iteration = self._iteration
                        if isinstance(message, FindingsMessage | AssessmentMessage):
                            iteration = message.content.iteration
                        if isinstance(message, TurnMessage):
                            usage = message.models_usage or RequestUsage(prompt_tokens=0, completion_tokens=0)
                            cost = self._budget.prices.cost_of(list_turns(message.source, 1, usage, message))
                            cost_of_turn = {"tokens": usage.prompt_tokens + usage.completion_tokens, "cost_usd": cost}
                            events[:1] = [event.model_copy(update=cost_of_turn) for event in events[:1]]
                            is_written = isinstance(message, ReportMessage)
                            if journal.keep_turn(message, iteration):
                                transcript.append(message)
                                self._keep_decision(message)
                        for event in events:
                            yield event
            except BaseException as error:
                is_stop = self._token.is_cancelled()  # agents may raise anything then
                if not isinstance(error, Exception) and not (is_stop and isinstance(error, asyncio.CancelledError)):
                    self._readings.stop()
                    raise  # the caller left, or is being cancelled: no one would read a report
                if journal.failure is not None:
                    is_failure_reported = True
                    yield self._make_event("error", f"{journal.failure}")
                elif is_stop and self._is_late:
                    reason = "timeout"
                    yield self._make_event("progress", "The run's time is up")
                elif is_stop:
                    reason = "cancelled"
                    yield self._make_event("error", "The run was stopped")
                else:
                    failed = f"The team failed ({type(error).__name__}); reporting what was found until then"
                    yield self._make_event("error", failed)
            finally:
                clock.cancel()
                self._token.cancel()
                await asyncio.sleep(0)  # lets cancelled tasks end before their connections are closed

        # 3. The report: the team's, one from before a resume, or one of what was found until the stop.
        reports = [message.content for message in transcript if isinstance(message, ReportMessage)]
        report = reports[-1] if reports else None
        line = "A report of what was found until then" if report is None else report.line
        if report is None:
            transcript += self._list_unsent_findings(transcript)
            readings = self._readings
            if self._earlier:  # readings from before a resume are made again
                readings = Readings(self._reader, corrections=self._corrections)
            report = await write_partial_report(
                transcript, reason, self.settings, self.model.name, self._budget.account, readings, self._budget.calls
            )

        # 4. The end is recorded; a ledger or a store of studies that cannot be written is reported once.
        self._reader.flush()
        if self.journal.ledger_path is not None:
            bind_report(report, self.journal.run_id, self.journal.ledger_path, self.settings.output.directory)
        complete = self._make_event("complete", line, report, agent="report")
        complete = complete.model_copy(update=cost_of_turn if is_written else {})
        if not is_failure_reported:
            status = {"cancelled": "cancelled", "error": "failed"}.get(report.stop_reason, "complete")
            journal.finish(status, report.stop_reason, report)
            if journal.failure is not None:
                yield self._make_event("error", f"{journal.failure}")
        yield complete

    def _list_unsent_findings(self, transcript: Sequence[BaseChatMessage]) -> list[FindingsMessage]:
        """What specialists had in hand at the stop, and had not handed over."""
        sent = {
            (message.source, message.content.iteration)
            for message in transcript
            if isinstance(message, FindingsMessage)
        }
        return [
            FindingsMessage(content=findings, source=name)
            for name, findings in self._in_hand.items()
            if (name, findings.iteration) not in sent
        ]

    def _take_corrections(self) -> CorrectionBook:
        """Take what people say of records on the question's condition; what a run took before stays as it was."""
        journal = self.journal
        before = journal.find_reading(CORRECTIONS)
        if before is not None:
            return CorrectionBook.from_content(before)
        path = self._find_corrections()
        if path is None or journal.replaying or self._earlier:
            return CorrectionBook()
        corrections = read_corrections(path).select_conditions(list_conditions(parse_question(self.question)))
        if corrections:
            journal.keep_reading(CORRECTIONS, corrections.write_content())
        return corrections

    def _find_corrections(self) -> Path | None:
        """Return the file of corrections: the one asked for, else the one beside the ledger; None without either."""
        if self.options.corrections is not None:
            return self.options.corrections
        ledger = self.journal.ledger_path
        return None if ledger is None else find_corrections_file(ledger)

    def _keep_decision(self, message: BaseChatMessage) -> None:
        """Keep as corrections that a person set drugs aside, for later runs on the condition."""
        path = self._find_corrections()
        if not isinstance(message, ApprovalMessage) or message.content.decided_by != "person" or path is None:
            return
        condition = list_conditions(parse_question(self.question))[0]
        try:
            who = find_person()
            words = [
                Correction(
                    change="set aside", drug=drug.name, condition=condition, note=drug.reason, who=who, at=get_time()
                )
                for drug in message.content.set_aside
            ]
            if words:
                append_corrections(path, words)
        except UsageError as error:
            self._warnings.append(f"The drugs set aside were not kept for later runs: {error}")

    def _open_reader(self) -> StoredReader:
        """Open the reader with the stores of this run; a replay takes from its ledger alone."""
        journal = self.journal
        library = self.endpoints.library
        own = self.options.studies
        if own is None and journal.folder is not None:
            own = journal.folder / STORE_FILE
        library_stores = [library.folder / STORE_FILE] if library is not None else []
        if journal.replaying:
            own = None
            library_stores = []
        shelf = StudyShelf(own, library_stores, self._warnings.append)
        return StoredReader(shelf, recall=journal.find_reading, note=journal.keep_reading)

    def _describe_question(self) -> str:
        """Return the question that is answered in place of the one that was typed; empty if they are the same."""
        typed = (self.options.question or "").strip()
        return parse_question(self.question).understood or (self.question if typed not in ("", self.question) else "")

    def _describe_limit(self) -> str:
        limit = self._budget.max_tokens
        if limit is None:
            return "without a limit of tokens (`max_tokens` sets one)"
        return f"the run ends before {limit:,} tokens (`max_tokens`, which `none` lifts)"

    def _make_event(self, kind: EventType, message: str, data: Any = None, agent: str | None = None) -> AgentEvent:
        return AgentEvent(type=kind, message=message, data=data, iteration=self._iteration, agent=agent)

    def _narrate(self, message: BaseAgentEvent | BaseChatMessage) -> Iterator[AgentEvent]:  # noqa: PLR0912
        """Yield the events for a message of the team."""
        agent = message.source
        if isinstance(message, ToolCallRequestEvent):
            for call in message.content:
                self._asked_at[agent, call.id] = message.created_at
                data = ToolRequest(tool=call.name, arguments=call.arguments, call_id=call.id)
                event = self._make_event("searching", f"{agent}: {call.name} {call.arguments}", data, agent)
                yield event.model_copy(update={"tool": call.name, "call_id": call.id})
        elif isinstance(message, ToolCallExecutionEvent):
            for result in message.content:
                of_call = {
                    "tool": result.name,
                    "call_id": result.call_id,
                    "elapsed_s": self._time_call(message, result),
                }
                for reply in replies_in(result.content):
                    warnings = f" ({'; '.join(reply.warnings)})" if reply.warnings else ""
                    event = self._make_event("search_complete", reply.line + warnings, reply, agent)
                    yield event.model_copy(update=of_call)
        elif isinstance(message, FindingsMessage):
            yield self._make_event("progress", message.to_text(), message.content, agent)
        elif isinstance(message, AssessmentMessage):
            verdict = message.content
            yield self._make_event("judge_complete", message.to_text(), verdict, agent)
            why = (verdict.stop_reason or "").replace("_", " ")
            if verdict.recommendation != "synthesize":
                self._iteration = verdict.iteration + 1
                yield self._make_event("looping", "; ".join(verdict.gaps) or "another round")
            elif self._approver is not None:
                yield self._make_event("progress", f"The search is over: {why}")
            else:
                yield self._make_event("synthesizing", f"Writing the report: {why}")
        elif isinstance(message, UserInputRequestedEvent):
            yield self._make_event("progress", "Waiting for a person's word on the candidates", agent=agent)
        elif isinstance(message, ApprovalMessage):
            yield self._make_event("progress", message.to_text(), message.content, agent)
            yield self._make_event("synthesizing", "Writing the report")
        elif isinstance(message, TextMessage):
            kind = _ROLES.get(message.metadata.get("role", ""))
            if kind is not None:
                yield self._make_event(kind, message.content, agent=agent)

    def _time_call(self, message: ToolCallExecutionEvent, result: FunctionExecutionResult) -> float | None:
        """Return the seconds that a call took, or from its request to the results of all calls made with it."""
        elapsed_s = self._hooks.elapsed_s(message.source, result.call_id, result.name)
        asked_at = self._asked_at.get((message.source, result.call_id))
        if elapsed_s is not None or asked_at is None:
            return elapsed_s
        return max(0.0, (message.created_at - asked_at).total_seconds())

    def _end(self) -> None:
        """Stop at once: no more reading, no more requests."""
        self._readings.stop()
        self._token.cancel()

    async def _watch_clock(self) -> None:
        """Warn when most of the run's time is over, and end the run when all is; a replay ends where the run ended."""
        limit = self.settings.research.limits.max_seconds
        if limit is None or self.journal.replaying:
            return
        for end_s in (WARN_SHARE * limit, limit):
            while (left_s := end_s - self.journal.spent_s) > 0:  # noqa: ASYNC110  the journal's clock may stand still
                await asyncio.sleep(max(left_s, 0.01))
            self._warnings += [f"{WARN_SHARE:.0%} of the run's {limit:g} s are over"] if end_s < limit else []
        self._is_late = True
        self._budget.end_waiting(self.journal.spent_s)
        self._end()

    def _build_team(self, transport: Transport) -> ResearchTeam:
        """Build the team on the run's models, each with journal and budget."""
        llm = self.settings.llm

        def journal_client(client: ChatCompletionClient, name: str) -> JournaledClient:
            context = find_context_limit(name, llm)
            return JournaledClient(client, self._budget, self.journal, name, self._token, context_tokens=context)

        client = journal_client(self.client, self.model.name)
        others = {name: journal_client(other, name) for name, other in self.others.items()}
        roles = {role: others[name] for role, name in llm.roles.model_dump().items() if name in others}
        decided = [turn.message["content"] for turn in self._earlier if turn.type == ApprovalMessage.__name__]
        run = RunContext(
            transport,
            exhausted=self._find_exhausted,
            account=None if self.model.name == BASELINE and not roles else self._budget.account,
            calls=lambda: self._budget.calls,
            decided=Approval.model_validate(decided[-1]) if decided else None,
            waiting=self.journal.paused,
            readings=self._readings,
            looks_ahead=self.settings.research.look_up_ahead,
            reads_in_batches=llm.batch,
            reads_in_short=llm.economy,
            gate=self._hooks.gate,
        )
        self._in_hand = run.in_hand
        members = default_participants(client, self.settings, approver=self._approver, roles=roles)
        return ResearchTeam(members, client, run=run)

    def _find_exhausted(self, iteration: int) -> Exhausted | None:
        """Return the budget used up except for its reserve; a replayed round repeats its earlier verdict on time."""
        if self._budget.share > 1 - BUDGET_RESERVE:
            return "token_budget_exceeded"
        verdicts = [turn.message["content"] for turn in self._earlier if turn.type == AssessmentMessage.__name__]
        before = next((verdict for verdict in verdicts if verdict["iteration"] == iteration), None)
        seconds = self.settings.research.limits.max_seconds
        if before is not None:
            late = before.get("stop_reason") == "timeout"
        else:
            late = seconds is not None and self.journal.spent_s > (1 - BUDGET_RESERVE) * seconds
        return "timeout" if late else None


async def _add_pulse(
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


async def write_partial_report(
    messages: Sequence[BaseChatMessage],
    stop_reason: str,
    settings: Settings,
    model: str,
    account: Callable[[Sequence[TurnUsage]], Sequence[TurnUsage]] | None,
    readings: Readings,
    calls: ModelCalls | None = None,
) -> ResearchReport:
    """Let the baseline analyst report what a run found before it stopped; WillowbarkError if none could be made.

    The question comes first among the messages. If a person was still to be asked, the settings' default applies.
    Publications that `readings` holds are not read again; None in place of an account of tokens gives none.
    """
    research = settings.research
    if research.approve and not any(isinstance(message, ApprovalMessage) for message in messages):
        because = f"the run ended before anybody decided: {stop_reason.replace('_', ' ')}"
        approver = ApproverAgent(nobody=because, default=research.approval_default)
        messages = [*messages, (await approver.on_messages(messages, CancellationToken())).chat_message]
    analyst = BaselineChatCompletionClient(estimates_tokens=model == BASELINE)
    if model != BASELINE:
        analyst.display_name += f", since the run ended before {model} wrote"
    agent = ReportAgent("report", analyst)
    is_counted = account if model != BASELINE else None
    asked_model = model if model != BASELINE else ""
    model_calls = calls or ModelCalls()
    run = RunContext(
        account=is_counted, readings=readings, stopped=stop_reason, asked_model=asked_model, calls=lambda: model_calls
    )
    agent.join(run)
    written = (await agent.on_messages(messages, CancellationToken())).chat_message
    if not isinstance(written, ReportMessage):
        raise WillowbarkError("no report could be made of what was found")
    return written.content


class AbsentModel(BaselineChatCompletionClient):
    """Stands in for a run's model during a replay; fails on any request that the journal cannot answer."""

    def __init__(self, run: Run, name: str) -> None:
        super().__init__()
        self.display_name = name
        self._info = {name: value for name, value in run.model_info.items() if name != READS_REQUESTS}
        self.reads_requests = bool(run.model_info.get(READS_REQUESTS))

    @property
    def model_info(self) -> ModelInfo:
        """Abilities of the run's model, which determine how requests are worded."""
        return cast(ModelInfo, self._info)

    async def create(self, *arguments: Any, **options: Any) -> Any:
        """Raise `ModelUnavailable`."""
        raise ModelUnavailable("the answer is not in the ledger")
