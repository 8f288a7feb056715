"""The judge: assesses the evidence so far and decides whether it is enough.

A model gives scores, confidence, searches, and reasons, gaps and findings in listed phrases and sentences of records.
Code sets the rest: counts come from the records, rules and budgets, which the model sees, decide whether to continue.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, Field

from willowbark.agents.autogen import (
    BaseChatMessage,
    CancellationToken,
    ChatCompletionClient,
    Component,
    Response,
    Streamed,
    TextMessage,
)
from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates
from willowbark.tools.lexicon import canonical_class, canonical_drug
from willowbark.tools.mechanism import HypothesisAssessment, assess
from willowbark.tools.questions import preprocess_query
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.registry import title_of
from willowbark.tools.search import SourceReply, Status
from willowbark.tools.toolbox import MAX_DRUGS
from willowbark.tools.wording import counted, listed

from .analyst import Analyst, AnalystConfig, Memory
from .asking import ask, to_ask
from .asking.drafts import MAX_QUERIES, Gap, JudgeDraft, NextSearch, Reason
from .assessment import (
    JUDGE_THRESHOLD,
    MIN_SCORE,
    SHOWN_QUERY,
    STANDARD,
    AssessmentDetails,
    AssessmentMessage,
    AssessmentRequest,
    JudgeAssessment,
    StopReason,
    as_markdown,
    progress,
    shown_records,
    sources_breakdown,
)
from .baseline.assessing import assessment
from .findings import FAILED, Dossier
from .report.forms import record_name
from .routing import route_of, title_of_tool

__all__ = ["BUDGET_RESERVE", "AssessmentDetails", "JudgeAgent", "JudgeAgentConfig", "JudgeAssessment", "JudgeLimits"]
NO_REASON, NO_CANDIDATE = "no reason given", "no candidate was found"
BUDGET_RESERVE = 0.1  # share of a budget reserved for the synthesis; by contract


class JudgeLimits(BaseModel, frozen=True, extra="forbid"):
    """Thresholds and budgets that end the search."""

    max_iterations: int = Field(default=10, ge=1, le=20)
    judge_threshold: float = Field(default=JUDGE_THRESHOLD, ge=0.0, le=1.0)
    max_tokens: int | None = Field(default=None, gt=0)
    """Tokens of the whole run; None for no limit."""
    max_seconds: float | None = Field(default=None, gt=0)
    """Wall time of the whole run; None for no limit."""
    max_records: int = Field(default=STANDARD, ge=1)
    """Publications and trials after which no further page is requested."""


class JudgeAgentConfig(AnalystConfig):
    """Configuration of a judge."""

    limits: JudgeLimits = JudgeLimits()


class JudgeMemory(Memory):
    """State of a judge."""

    assessed: int = 0
    verdicts: dict[str, str] = Field(default_factory=dict)
    """The verdict on each drug when one last changed."""
    changed_at: int = 0
    """Number of records read then."""
    gaps: list[str] = Field(default_factory=list)
    refused: list[str] = Field(default_factory=list)
    """Searches it then requested that were not made, each with the reason."""
    wanted: list[NextSearch] = Field(default_factory=list)
    """Searches it then requested that were passed on."""


class JudgeAgent(Analyst[JudgeMemory], Component[JudgeAgentConfig]):
    """Judges the rounds and answers with `AssessmentMessage`.

    Args:
        name: shown by the team and in its messages.
        model_client: proposes the assessments.
        limits: thresholds and budgets.
        options: passed to `Analyst`.
    """

    component_config_schema = JudgeAgentConfig
    DESCRIPTION = "Judges the evidence after each round: continue searching, or synthesize."
    PROMPT = "judge.md"
    ANSWER = AssessmentMessage

    def __init__(
        self, name: str, model_client: ChatCompletionClient, *, limits: JudgeLimits | None = None, **options: Any
    ) -> None:
        super().__init__(name, model_client, JudgeMemory(), **options)
        self.limits = limits or JudgeLimits()

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[Streamed, None]:
        """Judge the findings in the messages: yields text for people, then the assessment."""
        self._hear(messages, cancellation_token)
        memory, run = self._memory, self._run
        dossier = memory.dossier
        pool = await asyncio.to_thread(dossier.pool)
        yield self._tell("judging", f"Judging {counted(len(pool), 'record')}")
        run.readings.take(dossier.readings, dossier.studies)
        run.readings.begin(pool)
        candidates = await asyncio.to_thread(appraise_candidates, dossier.asked, pool, run.readings)
        iteration = max(dossier.iteration, memory.assessed + 1)
        not_run = [
            f"{each.query[:SHOWN_QUERY]} ({each.specialist}): sources do not take the query, or have nothing further"
            for each in memory.wanted
            if not any(
                _answers(reply, each)
                for found in dossier.findings
                if (found.specialist, found.iteration) == (each.specialist, iteration)
                for reply in found.replies
            )
        ]
        memory.refused = [*memory.refused, *not_run]
        known = [candidate for candidate in candidates if candidate.has_verdict and candidate.mechanisms][:MAX_DRUGS]
        if known:
            names = listed([candidate.drug for candidate in known])
            yield self._tell("hypothesizing", f"How might they act: {names}")
        request = await asyncio.to_thread(self._request, iteration, pool, candidates, known)
        asked = to_ask(self._system_message, request.text, source=self.name)
        aids = await self._aids(pool)
        answer = await ask(self._clients, asked, JudgeDraft, cancellation_token, request=request, aids=aids)
        draft, memory.refused = _sort_searches(answer.given or assessment(request), request)
        memory.wanted = draft.next_searches
        memory.gaps = _worded(draft.gaps, request)
        memory.assessed = iteration

        verdict = self._decide(draft, request, sources_breakdown(pool))
        why_not = dict.fromkeys(line.rpartition(": ")[2] for line in [*not_run, *memory.refused])  # shows no query
        excluded = {
            "candidates": len(draft.drug_candidates) - len(verdict.details.drug_candidates),
            "key findings": len(draft.key_findings) - len(verdict.details.key_findings),
        }
        verdict.notes += [f"{self.name}: {note}" for note in answer.notes]
        if verdict.stop_reason == "token_budget_exceeded":
            verdict.notes.append(self._describe_limit(dossier.tokens_used))
        if verdict.recommendation == "synthesize":
            verdict.notes += _name_unasked(dossier)
        elif iteration == 1:
            decided = [candidate.drug for candidate in candidates if candidate.has_verdict]
            run.look_up_ahead(decided, [each.drug for each in candidates if not each.has_verdict])
        verdict.notes += [f"Not every search proposed by the {self.name} was made: {why}" for why in why_not]
        verdict.notes += [
            f"{self.name}: {count} of the model's {what} excluded, since no record was read on them"
            for what, count in excluded.items()
            if count
        ]
        dossier.tokens_used += answer.usage.prompt_tokens + answer.usage.completion_tokens
        verdict.tokens_used = dossier.tokens_used

        for event in aids.events if aids else ():
            yield event
        yield TextMessage(content=as_markdown(verdict), source=self.name, metadata={"role": "judge"})
        yield Response(chat_message=AssessmentMessage(content=verdict, source=self.name, models_usage=answer.usage))

    def _tell(self, role: str, text: str) -> TextMessage:
        """Say what begins, to people alone: the message does not enter the thread."""
        return TextMessage(content=text, source=self.name, metadata={"role": role})

    def _request(
        self,
        iteration: int,
        pool: Sequence[Evidence],
        candidates: Sequence[Candidate],
        known: Sequence[Candidate],
    ) -> AssessmentRequest:
        """Build the request for an assessment, and note whether a verdict on a drug has changed."""
        memory, dossier = self._memory, self._memory.dossier
        searches = [reply.model_copy(update={"query": reply.asked or reply.query}) for reply in dossier.replies]
        reading = progress(searches, pool, self.limits.max_records)
        verdicts = {candidate.drug: candidate.appraisal.quality for candidate in candidates if candidate.has_verdict}
        if verdicts != memory.verdicts:
            memory.verdicts, memory.changed_at = dict(verdicts), reading.read
        return AssessmentRequest(
            question=" ".join(dossier.question.split()),
            iteration=iteration,
            searches=searches,
            candidates=list(candidates),
            pool=len(pool),
            progress=reading.model_copy(update={"unchanged": max(0, reading.read - memory.changed_at)}),
            records=shown_records(pool, candidates),
            most_rounds=self.limits.max_iterations,
            threshold=self.limits.judge_threshold,
            gaps=memory.gaps,
            refused=memory.refused,
            reflections={each.specialist: each.reflection for each in dossier.in_order if each.iteration == iteration},
            later=dossier.left_for_later(iteration),
            tokens_used=dossier.tokens_used,
            max_tokens=self.limits.max_tokens,
            specialists=dossier.specialists,
            marker=self._run.marker,
            hypotheses=assess(known, pool, dossier.asked)[0] if known else HypothesisAssessment(),
        )

    def _decide(self, draft: JudgeDraft, request: AssessmentRequest, breakdown: dict[str, int]) -> JudgeAssessment:
        """Apply the rules to a draft: known candidates from the records, the decision from thresholds and budgets.

        The search continues while reading pays, whatever the draft's confidence; then no further page is requested.
        """
        dossier, limits, reading, iteration = self._memory.dossier, self.limits, request.progress, request.iteration
        known = {candidate.drug for candidate in request.candidates}
        without_reason = NO_REASON if known else NO_CANDIDATE
        details = AssessmentDetails(
            mechanism_score=draft.mechanism_score,
            mechanism_reasoning="; ".join(_worded(draft.mechanism_reasons, request)) or without_reason,
            clinical_evidence_score=draft.clinical_evidence_score if known else 0,
            clinical_reasoning="; ".join(_worded(draft.clinical_reasons, request)) or without_reason,
            candidates_score=draft.candidates_score if known else 0,
            sources_score=min(10, len(dossier.answered) * 2),
            sources_breakdown=breakdown,
            drug_candidates=[name for name in map(_generic, draft.drug_candidates) if name in known],
            key_findings=_findings(draft, request),
        )

        # Next specialists and searches: all of them if the reading simply continues.
        queries, specialists = draft.next_search_queries, draft.next_specialists
        if reading.goes_on and not queries:
            queries, specialists = reading.unread, request.readers

        # Decide whether another round is worthwhile.
        is_sufficient = (
            not reading.goes_on
            and draft.confidence >= limits.judge_threshold
            and details.mechanism_score >= MIN_SCORE
            and details.candidates_score >= MIN_SCORE
        )
        asked = {search.query for search in request.searches}
        looks_up = not set(specialists) <= set(request.readers) and not asked.issuperset(queries)
        has_news = iteration == 1 or reading.goes_on or looks_up or dossier.has_news(iteration)
        nothing_to_ask = not specialists and (reading.has_ended or not (queries or draft.gaps))
        statuses = {r.status for each in dossier.findings if each.iteration == iteration for r in each.replies}
        all_failed = statuses <= FAILED
        unreachable = all_failed and Status.UNAVAILABLE in statuses
        elapsed_s = (datetime.now(UTC) - dossier.asked_at).total_seconds()

        reason: StopReason | None = None
        if is_sufficient:
            reason = "sufficient_evidence"
        elif unreachable and not dossier.answered:
            reason = "sources_unreachable"
        elif limits.max_tokens is not None and dossier.tokens_used > (1 - BUDGET_RESERVE) * limits.max_tokens:
            reason = "token_budget_exceeded"
        elif limits.max_seconds is not None and elapsed_s > (1 - BUDGET_RESERVE) * limits.max_seconds:
            reason = "timeout"
        elif exhausted := self._run.exhausted(iteration):
            reason = exhausted
        elif iteration >= limits.max_iterations:
            reason = "max_iterations_reached"
        elif unreachable:
            reason = "sources_unreachable"
        elif nothing_to_ask or not has_news or all_failed:
            reason = "no_new_evidence"
            if reading.has_ended:
                reason = "depth_reached" if reading.is_deep else "verdicts_settled"
        return JudgeAssessment(
            details=details,
            sufficient=is_sufficient,
            confidence=draft.confidence,
            recommendation="continue" if reason is None else "synthesize",
            gaps=self._memory.gaps,
            next_search_queries=queries,
            next_specialists=specialists,
            next_searches=draft.next_searches,
            reasoning=draft.reasoning,
            iteration=iteration,
            stop_reason=reason,
            progress=reading,
        )

    def _describe_limit(self, used: int) -> str:
        limit = self.limits.max_tokens
        if limit is None or used <= (1 - BUDGET_RESERVE) * limit:
            return "The search ended as its budget was nearly used up: raise `max_cost_usd` or `max_tokens`"
        ways = "raise `max_tokens` to go further, or set it to `none`"
        return f"The search ended after {used:,} of at most {limit:,} tokens: {ways}"

    def _to_config(self) -> JudgeAgentConfig:
        return JudgeAgentConfig(**dict(super()._to_config()), limits=self.limits)


def _name_unasked(dossier: Dossier) -> list[str]:
    """Say which tools were left for later and never used, in a line."""
    names = {name: title_of_tool(name) for findings in dossier.in_order for name in findings.later}
    sources = {title_of(reply.source) for reply in dossier.replies}
    unasked = [title for name, title in names.items() if title not in sources and name != "get_mechanisms"]
    route = route_of(dossier.asked)
    return [f"Not asked before the search ended: {listed(unasked)} ({route.line})"] if unasked else []


def _answers(reply: SourceReply, search: NextSearch) -> bool:
    """Whether a reply answers a judge's search, whose query its tool may have rewritten."""
    asked, wanted = (reply.asked or reply.query).casefold(), search.query.casefold()
    drug = canonical_drug(search.query)
    return (
        asked in (wanted, preprocess_query(search.query).casefold())
        or (drug is not None and drug in asked)
        or (asked.isdecimal() and asked in wanted)
    )


def _sort_searches(draft: JudgeDraft, request: AssessmentRequest) -> tuple[JudgeDraft, list[str]]:
    """Return the draft with only the searches to be made, and the refused ones, each with the reason."""
    kept, refused, length = list[NextSearch](), list[str](), 0
    names = {each.name for each in request.specialists}
    for each in draft.next_searches:
        length += len(each.query)
        why = None
        if each.specialist not in names:
            why = "no specialist has the name given"
        elif request.is_read and each.specialist in request.readers:
            why = f"{request.progress.most:,} publications and trials are read, the depth that was asked for"
        elif length > MAX_QUERIES:
            why = f"queries of a round have {MAX_QUERIES:,} characters at most"
        if why is None:
            kept.append(each)
        else:
            who = f" ({each.specialist})" if each.specialist in names else ""
            refused.append(f"{each.query[:SHOWN_QUERY]}{who}: {why}")
    return draft.model_copy(update={"next_searches": kept}), refused


def _worded(told: Sequence[Reason | Gap], request: AssessmentRequest) -> list[str]:
    """Word reasons or gaps with the drugs and classes that exist, without those that only name others."""
    read, lines = {candidate.drug for candidate in request.candidates}, list[str]()
    for each in told:
        named = [canonical_drug(name) or canonical_class(name) or name.casefold() for name in each.drugs]
        known = [name for name in named if canonical_drug(name) or canonical_class(name) or name in read]
        phrase = each.says if isinstance(each, Reason) else each.missing
        if known or not named:
            lines.append(f"{phrase} ({listed(list(dict.fromkeys(known)))})" if known else phrase)
    return lines


def _findings(draft: JudgeDraft, request: AssessmentRequest) -> list[str]:
    """Return the sentences of the readings that a draft names as key findings, with drug and record."""
    read = {(each.key, candidate.drug): each for candidate in request.candidates for each in candidate.records}
    named = [(each.evidence_key, _generic(each.drug)) for each in draft.key_findings]
    return [
        f"{drug}: “{' '.join(told.split())}” ({record_name(key)})"
        for key, drug in named
        if (key, drug) in read and (told := read[key, drug].sentence or read[key, drug].harm_told)
    ]


def _generic(name: str) -> str:
    return canonical_drug(name) or name.lower()
