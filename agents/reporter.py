"""The report agent: gets claims from a model, has each verified against its record, and lets code write the rest."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from pydantic import Field

from willowbark.agents.autogen import (
    BaseChatMessage,
    CancellationToken,
    ChatCompletionClient,
    Component,
    FunctionalTermination,
    NoSettings,
    RequestUsage,
    Response,
    Streamed,
    TextMessage,
    WithoutSettings,
)

from .analyst import Analyst, AnalystConfig, Memory
from .approval import Approval, ApprovalMessage
from .asking import analyst_name, reads_requests
from .asking.reader import WholeTexts
from .assessment import AssessmentMessage, JudgeAssessment
from .findings import FindingsMessage
from .report.assembly import assemble
from .report.content import BATCHED, BATCHED_TEXTS, OTHER_CALLS, READING, TEXTS, TurnUsage
from .report.material import Material, mechanisms_of
from .report.model import ReportMessage
from .report.writing import Writing


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


class ReportWritten(WithoutSettings, FunctionalTermination, Component[NoSettings]):
    """Ends a team's run with the report: a report agent that asks for a verdict ends nothing."""

    def __init__(self) -> None:
        super().__init__(lambda messages: any(isinstance(message, ReportMessage) for message in messages))


class ReportAgent(Analyst[ReportMemory], Component[AnalystConfig]):
    """Writes the report and answers with `ReportMessage`; called before the judge, it asks for a verdict once.

    Args:
        name: shown by the team and in its messages.
        model_client: proposes the claims.
        options: passed to `Analyst`.
    """

    component_config_schema = AnalystConfig
    DESCRIPTION = "Writes the cited report once the judge says synthesize."
    PROMPT = "report.md"
    ANSWER = ReportMessage

    def __init__(self, name: str, model_client: ChatCompletionClient, **options: Any) -> None:
        super().__init__(name, model_client, ReportMemory(), **options)

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[Streamed, None]:
        """Write the report: yields it as text for people, then as a message; first requests a missing verdict once."""
        new = self._hear(messages, cancellation_token)
        memory = self._memory
        for message in new:
            if isinstance(message, AssessmentMessage):
                memory.assessments.append(message.content)
                memory.judged = True
            elif isinstance(message, FindingsMessage):
                memory.judged = False
            elif isinstance(message, ApprovalMessage):
                memory.approval = message.content
            if isinstance(message, FindingsMessage | AssessmentMessage):
                memory.usage += turns_of(message.source, message.content.iteration, message.models_usage, message)
        run, dossier = self._run, memory.dossier
        if not (memory.judged or memory.has_asked or run.stopped):
            memory.has_asked = True
            yield Response(chat_message=TextMessage(content=ASKS, source=self.name))
            return

        # The claims, on the candidates that were not set aside.
        run.readings.take(dossier.readings, dossier.studies)
        pool, appraised = await run.checked(dossier.asked, dossier.pool())
        approval = memory.approval or Approval(decided_by="nobody")
        aside = [c for c in appraised if c.has_verdict and not approval.lets(c.drug)]
        candidates = [candidate for candidate in appraised if candidate not in aside]
        aids = await self._aids(pool)
        writing = Writing(self.name, self._system_message, dossier.asked.text, pool, candidates, approval, aids)
        if not aside or any(candidate.has_verdict for candidate in candidates):
            await writing.run(self._clients, cancellation_token)

        # Who wrote, at what cost, and what the report must admit.
        own = turns_of(self.name, max(1, dossier.iteration), writing.usage)
        usage = run.account([*memory.usage, *own]) if run.account is not None else ()
        beside = sum(turn.tokens for turn in usage if turn.agent == OTHER_CALLS)
        is_spent = run.exhausted(dossier.iteration) == "token_budget_exceeded"
        failure = None if is_spent else writing.failure  # a model without remaining budget has not failed
        analyst, failed = analyst_name(self._model_client), run.calls().said
        if failure is not None:
            stand_in = analyst_name(self._fallback) if self._fallback else "nobody"
            analyst = f"{stand_in}, since {analyst} {failed or f'gave no report: {failure}'}"
        elif failed:
            analyst = f"{analyst} ({failed})"
        early = []
        if not run.stopped and not memory.judged:
            early = [_UNJUDGED]
        elif not run.stopped and memory.assessments[-1].recommendation == "continue":
            early = [_UNENDED]

        changes = await run.find_changes()
        material = Material(
            dossier=dossier,
            assessments=memory.assessments,
            pool=pool,
            candidates=candidates,
            by_model=failure is None and not reads_requests(self._model_client),
            verdicts=writing.verdicts,
            repaired=writing.repaired,
            notes=[*writing.notes, *early],
            tokens_used=dossier.tokens_used + writing.usage.prompt_tokens + writing.usage.completion_tokens + beside,
            analyst=analyst,
            model_failed=failure is not None,
            stop_reason=run.stopped,
            approval=approval,
            aside=aside,
            usage=usage,
            readings=run.readings,
            changes=changes,
        )
        report = await asyncio.to_thread(lambda: assemble(material, mechanisms_of(material)))
        text = await asyncio.to_thread(report.to_markdown)
        for event in aids.events if aids else ():
            yield event
        yield TextMessage(content=text, source=self.name)
        yield Response(chat_message=ReportMessage(content=report, source=self.name, models_usage=writing.usage))


def turns_of(
    agent: str, iteration: int, usage: RequestUsage | None, message: BaseChatMessage | None = None
) -> list[TurnUsage]:
    """Return a turn's token usage, with reading listed separately; empty if it used none."""
    if usage is None:
        return []
    read, batched, whole = (0, 0), (0, 0), WholeTexts()
    if isinstance(message, FindingsMessage):
        read, batched = message.content.reading_tokens, message.content.batch_tokens
        whole = message.content.whole_texts
    alone = _subtract(read, batched)
    whole_alone = _subtract(whole.tokens, whole.batch_tokens)
    tokens = {
        agent: _subtract((usage.prompt_tokens, usage.completion_tokens), read),
        READING: _subtract(alone, whole_alone),
        BATCHED: _subtract(batched, whole.batch_tokens),
        TEXTS: whole_alone,
        BATCHED_TEXTS: whole.batch_tokens,
    }
    return [
        TurnUsage(agent=name, iteration=iteration, prompt_tokens=asked, completion_tokens=said)
        for name, (asked, said) in tokens.items()
        if asked or said
    ]


def _subtract(tokens: tuple[int, int], part: tuple[int, int]) -> tuple[int, int]:
    """Take a part out of prompt and completion tokens."""
    return tokens[0] - part[0], tokens[1] - part[1]
