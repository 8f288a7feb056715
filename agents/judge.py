"""The judge: how good is the evidence so far, and is it enough?

A model proposes the assessment; code disposes: counts come from the records, scores without a candidate are nil, and
whether to go on follows from rules and budgets.
"""

import logging
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, Self

from autogen_agentchat import EVENT_LOGGER_NAME
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, StructuredMessage, TextMessage
from autogen_core import CancellationToken, Component
from autogen_core.models import ChatCompletionClient, LLMMessage, RequestUsage, SystemMessage, UserMessage
from pydantic import BaseModel, ConfigDict, Field

from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates
from willowbark.tools.enclosure import GUIDANCE, enclose_lines, new_marker, stated, unmarked
from willowbark.tools.evidence import Evidence
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.mechanism.hypotheses import HypothesisAssessment, assess
from willowbark.tools.questions.query import parse_question
from willowbark.tools.registry import kind_of
from willowbark.tools.search import Status
from willowbark.tools.sources.card import ENTRIES
from willowbark.tools.toolbox import MAX_DRUGS

from .analyst import Analyst, AnalystConfig, made_of
from .asking import Aids, ModelFailure, add_usage, ask, prompt
from .context import Exhausted, RunContext
from .drafts import JudgeDraft, NextSearch
from .findings import Dossier
from .progress import STANDARD, Progress, Search, progress, readers, verdicts

JUDGE_THRESHOLD = 0.8  # confidence from which evidence can suffice; by contract
MIN_SCORE = 6  # of 10, for mechanism and for candidates; by contract
BUDGET_RESERVE = 0.1  # share of a budget that is kept for the synthesis; by contract
SHOWN_RECORDS = 60  # best publications and trials that a model reads; the code appraises all of them
SHOWN_ENTRIES = 20  # entries of drug databases that it reads beside them: those of the leading candidates among them
SHOWN_CANDIDATES = 20  # in a prompt, best supported first
SHOWN_READINGS = 5  # of a candidate, for the judge; how many there are stands in the candidate's line
SHOWN_PASSAGES = 3  # of these, with the sentence that they rest on
SHOWN_PASSAGE = 180  # characters of it
SHOWN_QUERY = 200  # characters of a query
SHOWN_LINE = 200  # characters of a candidate's line
SHOWN_HYPOTHESES = 6  # mechanism hypotheses that a model reads

StopReason = Literal[
    "sufficient_evidence",
    "token_budget_exceeded",
    "max_iterations_reached",
    "timeout",
    "verdicts_settled",
    "depth_reached",
    "no_new_evidence",
    "sources_unreachable",
    "cancelled",
]

_log = logging.getLogger(EVENT_LOGGER_NAME)


class AssessmentDetails(BaseModel):
    """What the evidence holds, scored."""

    model_config = ConfigDict(extra="forbid")

    mechanism_score: int = Field(ge=0, le=10)
    """How well the candidates' mechanisms are established, 0 to 10."""
    mechanism_reasoning: str = Field(min_length=10)
    clinical_evidence_score: int = Field(ge=0, le=10)
    """How strong the clinical evidence is, 0 to 10."""
    clinical_reasoning: str = Field(min_length=10)
    candidates_score: int = Field(default=0, ge=0, le=10)
    """Whether there are named candidates with evidence on the condition, 0 to 10."""
    sources_score: int = Field(default=0, ge=0, le=10)
    """Number and kind of the sources, 0 to 10; computed from the records."""
    sources_breakdown: dict[str, int] = {}
    """Counts of `peer_reviewed`, `clinical_trials`, `preprints`, `other`; computed from the records."""
    drug_candidates: list[str] = []
    key_findings: list[str] = []


class JudgeAssessment(BaseModel):
    """The judge's verdict on one round."""

    model_config = ConfigDict(extra="forbid")

    details: AssessmentDetails
    sufficient: bool = False
    """Set by rule: confidence and scores over their thresholds."""
    confidence: float = Field(ge=0.0, le=1.0)
    recommendation: Literal["continue", "synthesize"] = "continue"
    """Set by rule: synthesize when the evidence suffices or a budget is nearly used."""
    gaps: list[str] = []
    next_search_queries: list[str] = []
    next_specialists: list[str] = []
    """Who should search next: `literature`, `trials`, `mechanism`; empty leaves the choice to the team."""
    next_searches: list[NextSearch] = []
    """Who should search for what, to close which gap; queries and specialists stand once each in the two lists above.
    Empty in assessments older than this field."""
    reasoning: str = Field(min_length=20)
    iteration: int = Field(default=1, ge=1)
    """The round that was judged; set by code."""
    stop_reason: StopReason | None = None
    """Why the search ends here; None while it goes on. Set by code."""
    progress: Progress = Progress()
    """How much was read of what was found; computed from the searches and records."""
    tokens_used: int = 0
    """Tokens of the run so far; set by code."""
    notes: list[str] = []
    """What went wrong on the way; set by code."""


class NextSearches(BaseModel):
    """What a judge asks the specialists to search for, as it stands in the message that they read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    after_round: int
    next_search_queries: list[str]


class AssessmentMessage(StructuredMessage[JudgeAssessment]):
    """An assessment as a message."""

    def to_text(self) -> str:
        """One line for consoles."""
        verdict = self.content
        return f"Round {verdict.iteration}: {verdict.recommendation} (confidence {verdict.confidence:.2f})"

    def to_model_text(self) -> str:
        """Verdict, gaps and next queries: what the specialists' models need, and the queries once more as data."""
        verdict = self.content
        lines = [self.to_text(), verdict.reasoning]
        lines += [f"Gap: {gap}" for gap in verdict.gaps]
        lines += [f"Next query{_addressed(verdict, query)}: {query}" for query in verdict.next_search_queries]
        wanted = NextSearches(after_round=verdict.iteration, next_search_queries=verdict.next_search_queries)
        return f"{unmarked(chr(10).join(lines))}\n{stated(wanted, new_marker())}"

    def to_model_message(self) -> UserMessage:
        """What other agents' models get: the text, not the whole content that AutoGen would send."""
        return UserMessage(content=self.to_model_text(), source=self.source)


class AssessmentRequest(BaseModel):
    """What a judge asks a model: data, and the words in which a language model gets them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    question: str
    iteration: int
    """The round to be judged, from 1."""
    searches: list[Search]
    """All so far, in the order of the rounds."""
    candidates: list[Candidate]
    """The appraisal by rule of all records, best supported first."""
    pool: int
    """Records found so far."""
    progress: Progress
    """How many of them are publications or trials, of how many that were found."""
    records: list[Evidence]
    """The best of the pool, which are shown; best first."""
    hypotheses: HypothesisAssessment = Field(default_factory=HypothesisAssessment)
    """How the leading candidates might act, with what could test that."""
    most_rounds: int = 10
    """After which the search ends."""
    threshold: float = JUDGE_THRESHOLD
    """Confidence from which evidence can suffice."""
    gaps: list[str] = []
    """What the judge missed in the round before."""
    shown_before: list[tuple[str, str]] = []
    """Record and drug of the readings that earlier rounds' requests showed, in their order."""
    marker: str = Field(default_factory=new_marker, exclude=True)
    """Of the block of readings."""

    @property
    def text(self) -> str:
        """The request in words: first what stays the same from round to round, so that a provider need not read it
        again, then what is new.
        """
        appraised = [f"- {candidate.line[:SHOWN_LINE]}" for candidate in self.candidates[:SHOWN_CANDIDATES]]
        unread = [f"- {query[:SHOWN_QUERY]}" for query in self.progress.unread]
        return "\n".join(
            [
                f"Question: {self.question}",
                f"Thresholds: the search may end at confidence {self.threshold:g} with {MIN_SCORE} of 10 for mechanism "
                f"and candidates; it ends after round {self.most_rounds}.",
                "What was read of the candidates:",
                enclose_lines(list(self._readings()), self.marker),
                "Searches so far:",
                *(self._searched or ["- none"]),
                "Appraisal by rule (drug: records for and against, certainty):",
                *(appraised or ["- no drug with evidence on the condition"]),
                *(["Gaps that you named before:", *(f"- {unmarked(gap)}" for gap in self.gaps)] if self.gaps else []),
                *(["Queries with further hits unread:", *unread] if unread else []),
                "Mechanism hypotheses (confidence in the chain, not in the effect), with queries that could test them:",
                *(self._hypotheses or ["- none: no mechanism is known"]),
                f"Round: {self.iteration} of {self.most_rounds}. {self.pool} records; {self.progress.said}.",
            ]
        )

    @property
    def halved(self) -> Self:
        """The same with the readings of half as many candidates, for a model that this was too long for."""
        half = min(len(self.candidates), SHOWN_CANDIDATES) // 2
        return self.model_copy(update={"candidates": self.candidates[:half], "shown_before": []})

    @property
    def _searched(self) -> list[str]:
        """A line a query, with what each source had for it."""
        found = dict[str, dict[str, tuple[int, int]]]()
        failed = dict[tuple[str, str], str]()
        for each in self.searches:
            query, source = each.query[:SHOWN_QUERY], each.source
            read, hits = found.setdefault(query, {}).get(source, (0, 0))
            found[query][source] = read + each.read, max(hits, each.hits)
            if each.status is not Status.OK:
                failed[query, source] = f" ({each.status.value})"
        return [
            f"- {query}: "
            + ", ".join(
                f"{source} {read} of {hits}{failed.get((query, source), '')}" for source, (read, hits) in came.items()
            )
            for query, came in found.items()
        ]

    @property
    def _hypotheses(self) -> list[str]:
        return [
            f"- {each.drug} on {each.target} ({each.effect}), {each.pathway}: {each.confidence:.2f}; "
            f"{' | '.join(each.to_search_queries())}"
            for each in self.hypotheses.hypotheses[:SHOWN_HYPOTHESES]
        ]

    @property
    def shown(self) -> list[tuple[str, str]]:
        """Record and drug of the readings that are shown: those of earlier rounds in their order, then new ones."""
        leading = [
            (each.key, candidate.drug)
            for candidate in self.candidates[:SHOWN_CANDIDATES]
            for each in candidate.records[:SHOWN_READINGS]
        ]
        return list(dict.fromkeys((*self.shown_before, *leading)))

    def _readings(self) -> Iterator[dict[str, Any]]:
        """What the leading candidates' records say of them: a judge weighs readings, and needs no abstract for that."""
        known = {
            (each.key, candidate.drug): (at, each)
            for candidate in self.candidates
            for at, each in enumerate(candidate.records)
        }
        for key, drug in self.shown:
            if (key, drug) not in known:
                continue
            at, each = known[key, drug]
            yield {
                "key": key,
                "drug": drug,
                "says": str(each.item.direction),
                "design": str(each.item.design),
                **({"n": each.item.sample_size} if each.item.sample_size is not None else {}),
                **({"retracted": True} if each.item.retracted else {}),
                **({"disputed": each.item.disputed} if each.item.disputed else {}),
                **({"passage": each.sentence[:SHOWN_PASSAGE]} if each.sentence and at < SHOWN_PASSAGES else {}),
            }


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
    shown: list[tuple[str, str]] = []
    """Record and drug of the readings that its model was shown, in their order."""


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
        yield TextMessage(content=_as_markdown(verdict), source=self.name)
        yield Response(chat_message=AssessmentMessage(content=verdict, source=self.name, models_usage=usage))

    def _forget(self) -> None:
        self._assessed, self._changed_at = 0, 0
        self._gaps: list[str] = []
        self._shown: list[tuple[str, str]] = []
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
        pool = dossier.pool()
        self._run.readings.take(dossier.readings)
        candidates = appraise_candidates(dossier.question, pool, self._run.readings)
        iteration = max(dossier.iteration, self._assessed + 1)
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
            marker=self._run.marker,
            hypotheses=assess(known[:MAX_DRUGS], pool, parse_question(dossier.question))[0]
            if known
            else HypothesisAssessment(),
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
        self._gaps, self._shown = draft.gaps, request.shown
        exhausted = _used_up(dossier, self.limits) or self._run.exhausted(iteration)
        verdict = _decided(draft, dossier, iteration, pool, candidates, self.limits, exhausted, reading)
        if verdict.recommendation == "continue":
            self._run.look_ahead([candidate.drug for candidate in candidates if candidate.has_verdict][:MAX_DRUGS])
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
            shown=self._shown,
        )
        return state.model_dump(mode="json")

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Remember what `save_state` gave."""
        loaded = JudgeState.model_validate(state)
        self._dossier, self._assessed = loaded.dossier, loaded.assessed
        self._verdicts, self._changed_at = loaded.verdicts, loaded.changed_at
        self._gaps, self._shown = loaded.gaps, loaded.shown

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


def shown_records(pool: Sequence[Evidence], candidates: Sequence[Candidate]) -> list[Evidence]:
    """The records that a model reads, best first: studies, and of the databases what the leading candidates need."""
    needed = [key for candidate in candidates if candidate.has_verdict for key in candidate.drug_records]
    entries = sorted(filter(_is_entry, pool), key=lambda record: record.key not in needed and not _is_disease(record))
    studies = [record for record in pool if not _is_entry(record)]
    chosen = {record.key for record in (*studies[:SHOWN_RECORDS], *entries[:SHOWN_ENTRIES])}
    return [record for record in pool if record.key in chosen]


def _is_disease(record: Evidence) -> bool:
    return kind_of(record) == "disease"


def _is_entry(record: Evidence) -> bool:
    return kind_of(record) in ENTRIES


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
    queries, specialists = draft.next_search_queries, draft.next_specialists
    if reading.has_ended:
        specialists = [name for name in specialists if name not in readers()]
    elif reading.goes_on and not (queries or specialists):
        queries, specialists = reading.unread, sorted(readers())
    sufficient = (
        not reading.goes_on
        and draft.confidence >= limits.judge_threshold
        and details.mechanism_score >= MIN_SCORE
        and details.candidates_score >= MIN_SCORE
    )
    nothing_to_ask = not specialists and (reading.has_ended or not (queries or draft.gaps))
    asked = {search.query for search in _searches(dossier)}
    looks_up = not set(specialists) <= readers() and not asked.issuperset(queries)
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


def sources_breakdown(pool: Sequence[Evidence]) -> dict[str, int]:
    """Count the records by kind: `peer_reviewed`, `clinical_trials`, `preprints`, `other`."""
    counts = {"peer_reviewed": 0, "clinical_trials": 0, "preprints": 0, "other": 0}
    for record in pool:
        if record.is_preprint:
            counts["preprints"] += 1
        elif kind_of(record) == "trial":
            counts["clinical_trials"] += 1
        elif kind_of(record) == "publication":
            counts["peer_reviewed"] += 1
        else:
            counts["other"] += 1
    return counts


def _addressed(verdict: JudgeAssessment, query: str) -> str:
    """For whom a query is; empty where nobody was named."""
    names = dict.fromkeys(search.specialist for search in verdict.next_searches if search.query == query)
    return f" for {' and '.join(names)}" if names else ""


def _as_markdown(verdict: JudgeAssessment) -> str:
    details = verdict.details
    counts = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in details.sources_breakdown.items())
    lines = [
        f"**Judge, round {verdict.iteration}: {verdict.recommendation}**"
        + (f" ({verdict.stop_reason.replace('_', ' ')})" if verdict.stop_reason else ""),
        "",
        f"Confidence {verdict.confidence:.2f} · mechanism {details.mechanism_score}/10 · "
        f"clinical {details.clinical_evidence_score}/10 · candidates {details.candidates_score}/10 · "
        f"sources {details.sources_score}/10 ({counts})",
        "",
        verdict.reasoning,
    ]
    lines += [f"- Gap: {gap}" for gap in verdict.gaps]
    lines += [f"- Next query: `{query}`" for query in verdict.next_search_queries]
    return "\n".join(lines)
