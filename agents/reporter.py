"""The report agent: gets claims from a model, has each verified against its record, and lets code write the rest."""

from collections.abc import AsyncGenerator, Sequence
from typing import Any, Self

from pydantic import Field

from willowbark.agents.autogen import (
    BaseAgentEvent,
    BaseChatMessage,
    CancellationToken,
    ChatCompletionClient,
    Component,
    RequestUsage,
    Response,
    StopMessage,
    TerminatedException,
    TerminationCondition,
    TextMessage,
)

from .analyst import Analyst, AnalystConfig, Memory
from .approval import Approval, ApprovalMessage
from .asking import analyst_name, reads_requests
from .assessment import AssessmentMessage, JudgeAssessment
from .autogen import NoSettings, ShortText
from .findings import FindingsMessage
from .report.assembly import assemble
from .report.content import BATCHED, OTHER_CALLS, READING, TurnUsage
from .report.material import Material, mechanisms_of
from .report.model import ReportMessage, ResearchReport
from .report.writing import Writing


class ReportAgentConfig(AnalystConfig):
    """Configuration of a report agent."""

    name: str = "report"


class ReportMemory(Memory):
    """State of a report agent."""

    assessments: list[JudgeAssessment] = Field(default_factory=list)
    approval: Approval | None = None
    usage: list[TurnUsage] = Field(default_factory=list)
    judged: bool = False
    """Whether the judge's verdict covers all findings."""
    has_asked: bool = False


ASKS = (
    "No report yet: no judge has spoken on what was found last. I ask the judge for a verdict; if I am called again "
    "without one, I write, and the report says so."
)
_UNJUDGED = "Written without a verdict: no judge spoke on what was found last."
_UNENDED = "Written although the judge asked for another round."


class ReportWritten(TerminationCondition, Component[NoSettings]):
    """Ends a team's run with the report: a report agent that asks for a verdict ends nothing."""

    component_config_schema = NoSettings

    def __init__(self) -> None:
        self._is_written = False

    @property
    def terminated(self) -> bool:
        """Whether a report has been written since the last reset."""
        return self._is_written

    async def __call__(self, messages: Sequence[BaseAgentEvent | BaseChatMessage]) -> StopMessage | None:
        """Stop if the latest messages contain a report.

        Raises:
            TerminatedException: a report was already written, without a reset since.
        """
        if self._is_written:
            raise TerminatedException("the report is written")
        written = [message for message in messages if isinstance(message, ReportMessage)]
        self._is_written = bool(written)
        return StopMessage(content="The report is written", source=written[-1].source) if written else None

    async def reset(self) -> None:
        """Reset, to wait for another report."""
        self._is_written = False

    def _to_config(self) -> NoSettings:
        return NoSettings()

    @classmethod
    def _from_config(cls, config: NoSettings) -> Self:
        return cls()


class ReportAgent(Analyst[ReportMemory], Component[ReportAgentConfig]):
    """Writes the report and answers with `ReportMessage`; called before the judge, it asks for a verdict once.

    Args:
        name: shown by the team and in its messages.
        model_client: proposes the claims.
        options: passed to `Analyst`.
    """

    component_config_schema = ReportAgentConfig
    DESCRIPTION = "Writes the cited report once the judge says synthesize."
    PROMPT = "report.md"

    def __init__(self, name: str, model_client: ChatCompletionClient, **options: Any) -> None:
        super().__init__(name, model_client, ReportMemory(), **options)

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """`ReportMessage`; AutoGen teams need the type to accept the reports."""
        return (ReportMessage, TextMessage)

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """Write the report: yields it as text for people, then as a message; first requests a missing verdict once."""
        self._hear(messages, cancellation_token)
        memory = self._memory
        for message in messages:
            if isinstance(message, AssessmentMessage):
                memory.assessments.append(message.content)
                memory.judged = True
            elif isinstance(message, FindingsMessage):
                memory.judged = False
            elif isinstance(message, ApprovalMessage):
                memory.approval = message.content
            if isinstance(message, FindingsMessage | AssessmentMessage):
                memory.usage += turns_of(message.source, message.content.iteration, message.models_usage, message)
        if not (memory.judged or memory.has_asked or self._run.stopped):
            memory.has_asked = True
            yield Response(chat_message=TextMessage(content=ASKS, source=self.name))
            return
        report, usage, events = await self._write(cancellation_token)
        for event in events:
            yield event
        in_short = f"# {report.title}\n\n{report.executive_summary}\n\n{report.to_digest().as_markdown()}"
        yield ShortText(content=report.to_markdown(), in_short=in_short, source=self.name)
        yield Response(chat_message=ReportMessage(content=report, source=self.name, models_usage=usage))

    async def _write(
        self, cancellation_token: CancellationToken
    ) -> tuple[ResearchReport, RequestUsage, list[BaseAgentEvent]]:
        """Return the report, its tokens, and the events of the model's searches in the records."""
        run, dossier = self._run, self._memory.dossier
        run.readings.take(dossier.readings)
        iteration, approval = max(1, dossier.iteration), self._memory.approval or Approval.not_asked()
        pool, appraised = await run.checked(dossier.asked, run.pool(dossier))
        aside = [c for c in appraised if c.has_verdict and not approval.lets(c.drug)]
        candidates = [candidate for candidate in appraised if candidate not in aside]
        aids = self._aids(run, pool)
        writing = Writing(self.name, self._system_message, dossier.asked.text, pool, candidates, approval, aids)
        if not aside or any(candidate.has_verdict for candidate in candidates):
            await writing.run(self._clients, cancellation_token)
        own = turns_of(self.name, iteration, writing.usage)
        usage = run.account([*self._memory.usage, *own]) if run.account is not None else ()
        beside = sum(turn.tokens for turn in usage if turn.agent == OTHER_CALLS)
        tokens_used = dossier.tokens_used + writing.usage.prompt_tokens + writing.usage.completion_tokens
        is_spent = run.exhausted(dossier.iteration) == "token_budget_exceeded"
        failure = None if is_spent else writing.failure  # a model without remaining budget has not failed
        early = []  # limitation of a report requested before the judge ended the search
        if not run.stopped and not self._memory.judged:
            early = [_UNJUDGED]
        elif not run.stopped and self._memory.assessments[-1].recommendation == "continue":
            early = [_UNENDED]
        material = Material(
            dossier=dossier,
            assessments=self._memory.assessments,
            pool=pool,
            candidates=candidates,
            by_model=failure is None and not reads_requests(self._model_client),
            verdicts=writing.verdicts,
            repaired=writing.repaired,
            notes=[*writing.notes, *early],
            tokens_used=tokens_used + beside,
            analyst=self._analyst(failure),
            model_failed=failure is not None,
            stop_reason=run.stopped,
            approval=approval,
            aside=aside,
            usage=usage,
            readings=run.readings,
        )
        report = assemble(material, mechanisms_of(material))
        return report, writing.usage, writing.aids.events if writing.aids else []

    def _analyst(self, failure: str | None) -> str:
        """Describe the writer and the model's failed calls; `failure` is why the model did not write."""
        name, failed = analyst_name(self._model_client), self._run.calls().said
        if failure is None:
            return f"{name} ({failed})" if failed else name
        stand_in = analyst_name(self._fallback) if self._fallback else "nobody"
        return f"{stand_in}, since {name} {failed or f'gave no report: {failure}'}"

    def _to_config(self) -> ReportAgentConfig:
        return ReportAgentConfig(**self._dump_config())

    @classmethod
    def _from_config(cls, config: ReportAgentConfig) -> Self:
        return cls._build_from(config)


def turns_of(
    agent: str, iteration: int, usage: RequestUsage | None, message: BaseChatMessage | None = None
) -> list[TurnUsage]:
    """Return a turn's token usage, with reading listed separately; empty if it used none."""
    if usage is None:
        return []
    read = batched = 0, 0
    if isinstance(message, FindingsMessage):
        read, batched = message.content.reading_tokens, message.content.batch_tokens
    tokens = {
        agent: (usage.prompt_tokens - read[0], usage.completion_tokens - read[1]),
        READING: (read[0] - batched[0], read[1] - batched[1]),
        BATCHED: batched,
    }
    return [
        TurnUsage(agent=name, iteration=iteration, prompt_tokens=asked, completion_tokens=said)
        for name, (asked, said) in tokens.items()
        if asked or said
    ]
