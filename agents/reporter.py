"""The report agent: has a model answer in its own words, each sentence checked, or quote; code writes the rest."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from pydantic import Field

from willowbark.agents.autogen import (
    BaseChatMessage,
    CancellationToken,
    ChatCompletionClient,
    Component,
    ComponentModel,
    FunctionalTermination,
    NoSettings,
    RequestUsage,
    Response,
    Streamed,
    TextMessage,
    WithoutSettings,
)
from willowbark.tools.appraisal.appraised import list_conditions
from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.appraisal.judgement import judge_candidates
from willowbark.tools.mechanism import MechanismFindings

from .analyst import Analyst, AnalystConfig, Memory
from .approval import Approval, ApprovalMessage
from .asking import Aids, add_usage, name_analyst, read_prompt, reads_requests
from .asking.claims import Verdicts
from .asking.reader import WholeTexts
from .assessment import AssessmentMessage, JudgeAssessment
from .checking.checker import SentenceChecker
from .checking.judged import leave_out, list_judged
from .checking.written import WrittenAnswer
from .findings import FindingsMessage
from .report.answer_request import build_request
from .report.answering import Answering
from .report.answers import answer_question
from .report.assembly import assemble
from .report.content import BATCHED, BATCHED_TEXTS, CHECKING, OTHER_CALLS, READING, TEXTS, TurnUsage
from .report.material import Material, find_mechanisms
from .report.model import ReportMessage
from .report.writing import Writing
from .work import WorkShare, measure_work


class ReportAgentConfig(AnalystConfig):
    """Configuration of a report agent."""

    words: Literal["written", "quoted"] = "written"
    """Whose words a language model's part of a report is in: its own, each sentence checked, or the records'."""
    checker: ComponentModel | None = None


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


def no_usage() -> RequestUsage:
    """Return a count of no tokens."""
    return RequestUsage(prompt_tokens=0, completion_tokens=0)


@dataclass(frozen=True)
class WritingOutcome:
    """What a report agent's model wrote or quoted, and what that took."""

    written: WrittenAnswer | None = None
    verdicts: Verdicts = field(default_factory=Verdicts)
    repaired: int = 0
    notes: list[str] = field(default_factory=list)
    failure: str | None = None
    """Why the agent's own model did not do it; None if it did, or if nobody was asked."""
    turns: list[TurnUsage] = field(default_factory=list)
    spent: RequestUsage = field(default_factory=no_usage)
    refuted: Sequence[str] = ()
    """The judge's sentences that their records do not bear out."""


class ReportAgent(Analyst[ReportMemory], Component[ReportAgentConfig]):
    """Writes the report and answers with `ReportMessage`; called before the judge, it asks for a verdict once.

    Args:
        name: shown by the team and in its messages.
        model_client: writes the answer, or proposes the quotes.
        words: `written` has it answer in its own words, `quoted` has it choose passages; the baseline analyst quotes.
        checker: compares written sentences with the passages that they cite; None asks `model_client`, in calls that
            do not show who wrote them.
        options: passed to `Analyst`.
    """

    component_config_schema = ReportAgentConfig
    DESCRIPTION = "Writes the cited report once the judge says synthesize."
    PROMPT = "report.md"
    ANSWER = ReportMessage

    def __init__(
        self,
        name: str,
        model_client: ChatCompletionClient,
        *,
        words: Literal["written", "quoted"] = "written",
        checker: ChatCompletionClient | None = None,
        system_message: str | None = None,
        **options: Any,
    ) -> None:
        own = system_message or read_prompt(self.PROMPT if words == "written" else "claims.md")
        super().__init__(name, model_client, ReportMemory(), system_message=own, **options)
        self._words: Literal["written", "quoted"] = words
        self._checker = checker

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
                memory.usage += list_turns(message.source, message.content.iteration, message.models_usage, message)
        run = self._run
        dossier = memory.dossier
        if not (memory.judged or memory.has_asked or run.stopped):
            memory.has_asked = True
            yield Response(chat_message=TextMessage(content=ASKS, source=self.name))
            return

        # What a model writes or quotes, on the candidates that were not set aside.
        run.readings.replace_given(dossier.readings, dossier.studies, dossier.absent)
        pool, checked = await run.check(dossier.asked, dossier.pool())
        conditions = list_conditions(dossier.asked)
        appraised = judge_candidates(checked, memory.view, run.readings.corrections, conditions)
        decision = memory.approval or Approval(decided_by="nobody")
        approval = decision.add_set_aside(appraised, dossier.asked, run.readings.corrections)
        excluded = [c for c in appraised if c.has_verdict and not approval.lets(c.drug)]
        candidates = [candidate for candidate in appraised if candidate not in excluded]
        aids = await self._aids(pool)
        material = Material(
            dossier=dossier,
            assessments=memory.assessments,
            pool=pool,
            candidates=candidates,
            stop_reason=run.stopped,
            approval=approval,
            aside=excluded,
            readings=run.readings,
        )
        mechanisms = find_mechanisms(material)
        outcome = await self._write(material, mechanisms, aids, cancellation_token)
        if outcome.refuted:
            material = self._judge_again(material, checked, outcome.refuted)

        # Who wrote, at what cost, and what the report must admit.
        usage = run.account([*memory.usage, *outcome.turns]) if run.account is not None else ()
        other_tokens = sum(turn.tokens for turn in usage if turn.agent == OTHER_CALLS)
        is_spent = run.exhausted(dossier.iteration) == "token_budget_exceeded"
        failure = None if is_spent else outcome.failure  # a model without remaining budget has not failed
        analyst = self._choose_analyst(failure)
        work = self._measure_work(failure, outcome, is_spent=is_spent)
        early = []
        if not run.stopped and not memory.judged:
            early = [_UNJUDGED]
        elif not run.stopped and memory.assessments[-1].recommendation == "continue":
            early = [_UNENDED]

        material = replace(
            material,
            work=work,
            by_model=failure is None and not reads_requests(self._model_client),
            verdicts=outcome.verdicts,
            written=outcome.written,
            repaired=outcome.repaired,
            notes=[*outcome.notes, *early],
            tokens_used=dossier.tokens_used
            + outcome.spent.prompt_tokens
            + outcome.spent.completion_tokens
            + other_tokens,
            analyst=analyst,
            model_failed=failure is not None if work is None else work.has_failed,
            usage=usage,
            changes=await run.find_changes(),
        )
        report = await asyncio.to_thread(assemble, material, mechanisms)
        text = await asyncio.to_thread(report.to_markdown)
        for event in aids.events if aids else ():
            yield event
        yield TextMessage(content=text, source=self.name)
        yield Response(chat_message=ReportMessage(content=report, source=self.name, models_usage=outcome.spent))

    async def _write(
        self, material: Material, mechanisms: MechanismFindings, aids: Aids | None, token: CancellationToken
    ) -> WritingOutcome:
        """Have a model write or quote; without a candidate that was let through nobody is asked."""
        iteration = max(1, material.dossier.iteration)
        if material.aside and not any(candidate.has_verdict for candidate in material.candidates):
            return WritingOutcome()
        answering = self._prepare(material, mechanisms, aids)
        outcome = WritingOutcome()
        clients = self._clients
        if answering is not None and not answering.basis.sources:
            return outcome  # each sentence has to cite something, and there is nothing
        if answering is not None:
            await answering.run(self._model_client, token)
            clients = self._clients[1:]
            outcome = make_answering_outcome(answering, self.name, iteration, clients)
        if answering is not None and not (answering.failure and clients):
            return outcome
        question = material.asked.text
        pool = list(material.pool)
        system_message = self._system_message if answering is None else read_prompt("claims.md")
        writing = Writing(self.name, system_message, question, pool, list(material.candidates), material.approval, aids)
        await writing.run(clients, token)
        return WritingOutcome(
            verdicts=writing.verdicts,
            repaired=writing.repaired,
            notes=[*outcome.notes, *writing.notes],
            failure=outcome.failure or writing.failure,
            turns=[*outcome.turns, *list_turns(self.name, iteration, writing.usage)],
            spent=sum_usage(outcome.spent, writing.usage),
        )

    def _judge_again(self, material: Material, checked: Sequence[Candidate], refuted: Sequence[str]) -> Material:
        """Return the material without the judge's sentences that its records do not bear out."""
        *before, last = material.assessments
        view = leave_out(last.view, frozenset(refuted))
        judged = judge_candidates(checked, view, material.readings.corrections, list_conditions(material.asked))
        by_drug = {candidate.drug: candidate for candidate in judged}
        return replace(
            material,
            assessments=[*before, last.model_copy(update={"view": view})],
            candidates=[by_drug[candidate.drug] for candidate in material.candidates],
            aside=[by_drug[candidate.drug] for candidate in material.aside],
        )

    def _choose_analyst(self, failure: str | None) -> str:
        """Name who wrote, with why another one did, and how many calls failed."""
        analyst = name_analyst(self._model_client)
        failed = self._run.calls().said
        if failure is not None:
            stand_in = name_analyst(self._fallback) if self._fallback else "nobody"
            return f"{stand_in}, since {analyst} {failed or f'gave no report: {failure}'}"
        return f"{analyst} ({failed})" if failed else analyst

    def _measure_work(self, failure: str | None, outcome: WritingOutcome, *, is_spent: bool) -> WorkShare | None:
        """Measure how much the model did that was asked for; None if none was asked for."""
        memory = self._memory
        run = self._run
        calls = run.calls()
        is_written: bool | None = failure is None
        if is_spent or (run.stopped and not calls.failed):  # a model that was not reached has not failed
            is_written = None
        elif run.stopped:
            is_written = False
        model = run.asked_model or ("" if reads_requests(self._model_client) else name_analyst(self._model_client))
        if not model:
            return None
        findings = memory.dossier.in_order
        reason = failure or calls.reason
        return measure_work(model, findings, memory.assessments, is_written=is_written, reason=reason)

    def _prepare(self, material: Material, mechanisms: MechanismFindings, aids: Aids | None) -> Answering | None:
        """Prepare an answer in a model's words; None where a report quotes: as set, or by the baseline analyst."""
        if self._words == "quoted" or reads_requests(self._model_client):
            return None
        marker = self._run.marker
        request, basis = build_request(material, mechanisms, answer_question(material, mechanisms), marker)
        checker = SentenceChecker(self._checker or self._model_client, CHECKING, marker=lambda: marker)
        judged = list_judged(self._memory.view)
        return Answering(self.name, self._system_message, request, basis, checker, aids, judged)

    def _to_config(self) -> ReportAgentConfig:
        checker = self._checker.dump_component() if self._checker else None
        return ReportAgentConfig(**dict(super()._to_config()), words=self._words, checker=checker)

    @classmethod
    def _from_config(cls, config: Any) -> Self:
        given = dict(config)
        checker = given.pop("checker")
        if checker is not None:
            given["checker"] = ChatCompletionClient.load_component(checker)
        return super()._from_config(given)


def make_answering_outcome(
    answering: Answering, agent: str, iteration: int, instead: Sequence[ChatCompletionClient]
) -> WritingOutcome:
    """Return what came of an answer in a model's words; `instead` answers where it failed."""
    notes = [*answering.notes]
    if answering.failure:
        by_other = f"; {name_analyst(instead[0])} answered instead" if instead else ""
        notes.append(f"{agent}: {answering.failure}{by_other}")
    turns = list_turns(agent, iteration, answering.usage) + list_turns(CHECKING, iteration, answering.checker.usage)
    return WritingOutcome(
        written=None if answering.failure else answering.written,
        notes=notes,
        failure=answering.failure,
        turns=turns,
        spent=sum_usage(answering.usage, answering.checker.usage),
        refuted=answering.refuted,
    )


def sum_usage(*usages: RequestUsage) -> RequestUsage:
    """Add the tokens of several calls."""
    total = no_usage()
    for usage in usages:
        add_usage(total, usage)
    return total


def list_turns(
    agent: str, iteration: int, usage: RequestUsage | None, message: BaseChatMessage | None = None
) -> list[TurnUsage]:
    """Return a turn's token usage, with reading listed separately; empty if it used none."""
    if usage is None:
        return []
    reading = (0, 0)
    batched = (0, 0)
    whole = WholeTexts()
    if isinstance(message, FindingsMessage):
        reading = message.content.reading_tokens
        batched = message.content.batch_tokens
        whole = message.content.whole_texts
    alone = _subtract(reading, batched)
    whole_alone = _subtract(whole.tokens, whole.batch_tokens)
    tokens = {
        agent: _subtract((usage.prompt_tokens, usage.completion_tokens), reading),
        READING: _subtract(alone, whole_alone),
        BATCHED: _subtract(batched, whole.batch_tokens),
        TEXTS: whole_alone,
        BATCHED_TEXTS: whole.batch_tokens,
    }
    return [
        TurnUsage(agent=name, iteration=iteration, prompt_tokens=prompt_tokens, completion_tokens=completion_tokens)
        for name, (prompt_tokens, completion_tokens) in tokens.items()
        if prompt_tokens or completion_tokens
    ]


def _subtract(tokens: tuple[int, int], part: tuple[int, int]) -> tuple[int, int]:
    """Take a part out of prompt and completion tokens."""
    return tokens[0] - part[0], tokens[1] - part[1]
