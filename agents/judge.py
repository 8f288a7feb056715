"""The judge: how good is the evidence so far, and is it enough?

A model proposes the assessment; code disposes: counts come from the records, scores without a candidate are nil, and
whether to go on follows from rules and budgets.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Self

from autogen_agentchat import EVENT_LOGGER_NAME
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, TextMessage
from autogen_core import CancellationToken, Component
from autogen_core.models import ChatCompletionClient, LLMMessage, RequestUsage, SystemMessage, UserMessage
from pydantic import BaseModel, ConfigDict, Field

from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates
from willowbark.tools.enclosure import GUIDANCE
from willowbark.tools.evidence import Evidence
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.mechanism.hypotheses import HypothesisAssessment, assess
from willowbark.tools.toolbox import MAX_DRUGS

from .analyst import Analyst, AnalystConfig, made_of
from .asking import Aids, ModelFailure, add_usage, ask, prompt
from .asking.drafts import JudgeDraft
from .assessment import (
    JUDGE_THRESHOLD,
    MIN_SCORE,
    AssessmentDetails,
    AssessmentMessage,
    AssessmentRequest,
    JudgeAssessment,
    StopReason,
    as_markdown,
    shown_records,
    sources_breakdown,
)
from .context import Exhausted, RunContext
from .findings import Dossier
from .progress import STANDARD, Progress, Search, progress, verdicts

__all__ = ["BUDGET_RESERVE", "AssessmentDetails", "JudgeAgent", "JudgeAgentConfig", "JudgeAssessment", "JudgeLimits"]
BUDGET_RESERVE = 0.1  # share of a budget that is kept for the synthesis; by contract


_log = logging.getLogger(EVENT_LOGGER_NAME)


class JudgeLimits(BaseModel):
    """When enough is enough."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_iterations: int = Field(default=10, ge=1, le=20)
    judge_threshold: float = Field(default=JUDGE_THRESHOLD, ge=0.0, le=1.0)
    max_tokens: int | None = Field(default=None, gt=0)
    """Tokens of the whole run; None sets no limit."""
    max_seconds: float | None = Field(default=None, gt=0)
    """Wall time of the whole run; None sets no limit."""
    max_records: int = Field(default=STANDARD, ge=1)
    """Publications and trials after which no further page is asked for."""


class JudgeAgentConfig(AnalystConfig):
    """What a judge is made of."""

    name: str = "judge"
    limits: JudgeLimits = JudgeLimits()


class JudgeState(BaseModel):
    """What a judge remembers."""

    dossier: Dossier
    assessed: int
    verdicts: dict[str, str] = {}
    """What stood on each drug when a verdict last changed."""
    changed_at: int = 0
    """Records that were read then."""
    gaps: list[str] = []
    """What it missed in the latest round."""
    told: list[tuple[str, str, bool]] = []
    """Record and drug of the readings that its model was shown, in their order; whether with a passage."""


class JudgeAgent(Analyst, Component[JudgeAgentConfig]):
    """Judges the rounds and answers with `AssessmentMessage`.

    Args:
        name: as the team and its messages show it.
        model_client: proposes assessments.
        fallback: assesses in the model's place when that fails.
        limits: thresholds and budgets.
        description: one sentence for whoever chooses speakers.
        system_message: another prompt than the one in `judge.md`.
        include_rag: whether a language model may ask the collected records before it answers.
    """

    component_config_schema = JudgeAgentConfig
    component_provider_override = "willowbark.agents.judge.JudgeAgent"

    def __init__(
        self,
        name: str,
        model_client: ChatCompletionClient,
        *,
        fallback: ChatCompletionClient | None = None,
        limits: JudgeLimits | None = None,
        description: str = "Judges the evidence after each round: continue searching, or synthesize.",
        system_message: str | None = None,
        include_rag: bool = False,
    ) -> None:
        super().__init__(name, description, model_client, fallback, system_message or prompt("judge.md"), include_rag)
        self.limits = limits or JudgeLimits()
        self._forget()
        self._run = RunContext()

    def join(self, run: RunContext) -> None:
        """Take part in a run: its budgets count beside the judge's own limits."""
        self._run = run

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """Assessments; naming the type lets any AutoGen team take them."""
        return (AssessmentMessage, TextMessage)

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """Judge what the messages bring: yields text for people, then the assessment."""
        self._go_on(cancellation_token)
        question = self._dossier.question
        self._dossier.add(messages)
        if self._dossier.question != question:
            self._forget()
        verdict, usage, events = await self._assess(cancellation_token)
        for event in events:
            yield event
        self._assessed = verdict.iteration
        self._dossier.tokens_used = verdict.tokens_used
        yield TextMessage(content=as_markdown(verdict), source=self.name, metadata={"role": "judge"})
        yield Response(chat_message=AssessmentMessage(content=verdict, source=self.name, models_usage=usage))

    def _forget(self) -> None:
        self._assessed, self._changed_at = 0, 0
        self._gaps: list[str] = []
        self._shown: list[tuple[str, str, bool]] = []
        self._verdicts: dict[str, str] = {}

    def _progress(self, pool: Sequence[Evidence], candidates: Sequence[Candidate]) -> Progress:
        """How far the reading has come; remembers when a verdict changed."""
        searches = _searches(self._dossier)
        found = progress(searches, pool, self.limits.max_records, 0)
        if (now := verdicts(candidates)) != self._verdicts:
            self._verdicts, self._changed_at = now, found.read
        return found.model_copy(update={"unchanged": max(0, found.read - self._changed_at)})

    async def _assess(
        self, cancellation_token: CancellationToken
    ) -> tuple[JudgeAssessment, RequestUsage, list[BaseAgentEvent]]:
        """The verdict, its tokens, and what a model asked the records before it."""
        dossier = self._dossier
        pool = self._run.pool(dossier)
        self._run.readings.take(dossier.readings)
        candidates = await asyncio.to_thread(appraise_candidates, dossier.asked, pool, self._run.readings)
        iteration = max(dossier.iteration, self._assessed + 1)
        if iteration >= self.limits.max_iterations:
            self._run.draft_ahead(dossier.asked, pool, iteration, cancellation_token)
        reading = self._progress(pool, candidates)
        known = [candidate for candidate in candidates if candidate.has_verdict and candidate.mechanisms]
        request = AssessmentRequest(
            question=" ".join(dossier.question.split()),
            iteration=iteration,
            searches=_searches(dossier),
            candidates=list(candidates),
            pool=len(pool),
            progress=reading,
            records=shown_records(pool, candidates),
            most_rounds=self.limits.max_iterations,
            threshold=self.limits.judge_threshold,
            gaps=self._gaps,
            shown_before=self._shown,
            specialists=dossier.specialists,
            marker=self._run.marker,
            hypotheses=assess(known[:MAX_DRUGS], pool, dossier.asked)[0] if known else HypothesisAssessment(),
        )
        notes: list[str] = []
        used = RequestUsage(prompt_tokens=0, completion_tokens=0)
        draft: JudgeDraft | None = None
        aids = self._aids(self._run, pool, iteration)
        for client in self._clients:
            draft = await self._ask(client, request, aids, notes, used, cancellation_token)
            if draft is not None:
                break
        draft = draft or _UNASSESSED
        known_names = {each.name for each in dossier.specialists}
        if strangers := sorted({each.specialist for each in draft.next_searches} - known_names):
            notes.append(f"{self.name}: searches left out, since no specialist is called {', '.join(strangers)}")
            kept = [each for each in draft.next_searches if each.specialist in known_names]
            draft = draft.model_copy(update={"next_searches": kept})
        self._gaps, self._shown = draft.gaps, request.shown
        exhausted = _used_up(dossier, self.limits) or self._run.exhausted(iteration)
        verdict = _decided(draft, dossier, iteration, pool, candidates, self.limits, exhausted, reading)
        if verdict.recommendation == "continue":
            if reading.has_ended:
                self._run.check_ahead(dossier.asked, pool)
            self._run.look_ahead([candidate.drug for candidate in candidates if candidate.has_verdict][:MAX_DRUGS])
        read = {candidate.drug for candidate in candidates}
        if strange := sum(_generic(name) not in read for name in draft.drug_candidates):
            notes.append(f"{self.name}: {strange} of the model's candidates left out, since no record was read on them")
        tokens = dossier.tokens_used + used.prompt_tokens + used.completion_tokens
        events = aids.events if aids else []
        return verdict.model_copy(update={"notes": notes, "tokens_used": tokens}), used, events

    async def _ask(
        self,
        client: ChatCompletionClient,
        request: AssessmentRequest,
        aids: Aids | None,
        notes: list[str],
        used: RequestUsage,
        cancellation_token: CancellationToken,
    ) -> JudgeDraft | None:
        """What a model says, with half of the readings and half of these where they were too many; None for nothing."""
        for asked in (request, request.halved, request.halved.halved):
            messages: list[LLMMessage] = [
                SystemMessage(content=f"{self._system_message}\n\n{GUIDANCE}"),
                UserMessage(content=asked.text, source=self.name),
            ]
            try:
                draft, usage = await ask(client, messages, JudgeDraft, cancellation_token, request=asked, aids=aids)
            except ModelFailure as failure:
                _log.warning("%s: %s", self.name, failure)
                notes.append(f"{self.name}: {failure}")
                add_usage(used, failure.usage)
                if not failure.may_be_shorter:
                    return None
                continue
            add_usage(used, usage)
            return draft
        return None

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """Forget everything."""
        self._dossier = Dossier()
        self._forget()

    async def save_state(self) -> Mapping[str, Any]:
        """Everything the judge remembers, JSON-safe."""
        state = JudgeState(
            dossier=self._dossier,
            assessed=self._assessed,
            verdicts=self._verdicts,
            changed_at=self._changed_at,
            gaps=self._gaps,
            told=self._shown,
        )
        return state.model_dump(mode="json")

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Remember what `save_state` gave."""
        loaded = JudgeState.model_validate(state)
        self._dossier, self._assessed = loaded.dossier, loaded.assessed
        self._verdicts, self._changed_at = loaded.verdicts, loaded.changed_at
        self._gaps, self._shown = loaded.gaps, loaded.told

    def _to_config(self) -> JudgeAgentConfig:
        return JudgeAgentConfig(**self._configured(), limits=self.limits)

    @classmethod
    def _from_config(cls, config: JudgeAgentConfig) -> Self:
        return cls(**made_of(config), limits=config.limits)


def _searches(dossier: Dossier) -> list[Search]:
    return [
        Search(source=r.source, query=r.asked or r.query, status=r.status, read=len(r.records), hits=r.total)
        for r in dossier.replies
    ]


_NOTHING = "Not assessed: no model answered."
_UNASSESSED = JudgeDraft(
    mechanism_reasoning=_NOTHING,
    mechanism_score=0,
    clinical_reasoning=_NOTHING,
    clinical_evidence_score=0,
    drug_candidates=[],
    candidates_score=0,
    key_findings=[],
    gaps=["The evidence could not be assessed."],
    next_searches=[],
    reasoning="No model gave an assessment; the rules decide on budgets alone.",
    confidence=0.0,
)
"""What stands when neither model nor fallback assessed."""


def _decided(
    draft: JudgeDraft,
    dossier: Dossier,
    iteration: int,
    pool: Sequence[Evidence],
    candidates: Sequence[Candidate],
    limits: JudgeLimits,
    exhausted: Exhausted | None,
    reading: Progress,
) -> JudgeAssessment:
    """Put the rules over a draft: counts and known candidates from the records, the decision from the thresholds.

    While reading pays it goes on, however sure the draft is; where it has ended, nobody is asked to read on.
    """
    breakdown = sources_breakdown(pool)
    known = {candidate.drug for candidate in candidates}
    details = AssessmentDetails(
        mechanism_score=draft.mechanism_score,
        mechanism_reasoning=draft.mechanism_reasoning,
        clinical_evidence_score=draft.clinical_evidence_score if known else 0,
        clinical_reasoning=draft.clinical_reasoning,
        candidates_score=draft.candidates_score if known else 0,
        sources_score=min(10, len(dossier.answered) * 2),
        sources_breakdown=breakdown,
        drug_candidates=[name for name in map(_generic, draft.drug_candidates) if name in known],
        key_findings=draft.key_findings,
    )
    readers = [each.name for each in dossier.specialists if "queries" in each.takes]
    queries, specialists = _next(draft, reading, readers)
    sufficient = (
        not reading.goes_on
        and draft.confidence >= limits.judge_threshold
        and details.mechanism_score >= MIN_SCORE
        and details.candidates_score >= MIN_SCORE
    )
    nothing_to_ask = not specialists and (reading.has_ended or not (queries or draft.gaps))
    asked = {search.query for search in _searches(dossier)}
    looks_up = not set(specialists) <= set(readers) and not asked.issuperset(queries)
    nothing_new = iteration > 1 and not (reading.goes_on or looks_up or dossier.has_news(iteration))
    reason = _stop_reason(sufficient, nothing_to_ask or nothing_new, dossier, iteration, limits, exhausted)
    if reason == "no_new_evidence" and reading.has_ended:
        reason = "depth_reached" if reading.is_deep else "verdicts_settled"
    return JudgeAssessment(
        details=details,
        sufficient=sufficient,
        confidence=draft.confidence,
        recommendation="continue" if reason is None else "synthesize",
        gaps=draft.gaps,
        next_search_queries=queries,
        next_specialists=specialists,
        next_searches=[search for search in draft.next_searches if search.specialist in specialists],
        reasoning=draft.reasoning,
        iteration=iteration,
        stop_reason=reason,
        progress=reading,
    )


def _next(draft: JudgeDraft, reading: Progress, readers: Sequence[str]) -> tuple[list[str], list[str]]:
    """What to search for next, and who: nobody reads on where reading has ended, all do where it just goes on."""
    queries, specialists = draft.next_search_queries, draft.next_specialists
    if reading.has_ended:
        return queries, [name for name in specialists if name not in readers]
    if reading.goes_on and not (queries or specialists):
        return reading.unread, list(readers)
    return queries, specialists


def _generic(name: str) -> str:
    return canonical_drug(name) or name.lower()


def _stop_reason(
    sufficient: bool,
    nothing_left: bool,
    dossier: Dossier,
    iteration: int,
    limits: JudgeLimits,
    exhausted: Exhausted | None,
) -> StopReason | None:
    if sufficient:
        return "sufficient_evidence"
    unreachable = dossier.unreachable(iteration)
    if unreachable and not dossier.answered:
        return "sources_unreachable"
    if exhausted is not None:
        return exhausted
    if iteration >= limits.max_iterations:
        return "max_iterations_reached"
    if unreachable:
        return "sources_unreachable"
    return "no_new_evidence" if nothing_left or dossier.all_failed(iteration) else None


def _used_up(dossier: Dossier, limits: JudgeLimits) -> Exhausted | None:
    """Which of the judge's own limits is reached, but for the reserve."""
    elapsed_s = (datetime.now(UTC) - dossier.asked_at).total_seconds()
    if limits.max_tokens is not None and dossier.tokens_used > (1 - BUDGET_RESERVE) * limits.max_tokens:
        return "token_budget_exceeded"
    if limits.max_seconds is not None and elapsed_s > (1 - BUDGET_RESERVE) * limits.max_seconds:
        return "timeout"
    return None
