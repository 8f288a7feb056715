"""The judge: assesses the evidence so far and decides whether it is enough.

A model says in its own words, with keys, what decides and what contradicts, how sure one may be of each drug, which
rows must not count and which were misread, what is missing, and whether it is enough. Code keeps what rests on records
that were read, counts, and decides by thresholds and budgets, which the model sees.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Sequence
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
from willowbark.tools.appraisal.judgement import JudgeView, MisreadRecord, StruckRow
from willowbark.tools.appraisal.views import MatchedStudy
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.mechanism import HypothesisAssessment, assess
from willowbark.tools.questions import preprocess_query
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.registry import title_of
from willowbark.tools.search import SourceReply, Status
from willowbark.tools.toolbox import MAX_DRUGS
from willowbark.tools.wording import counted, listed

from .analyst import Analyst, AnalystConfig, Memory
from .asking import add_usage, ask, make_messages, name_analyst, reads_requests
from .asking.drafts import MAX_QUERIES, JudgeDraft, NextSearch
from .asking.fits import FitAnswer, ask_fits
from .asking.reader import ReadingResults, prepare_reading, read
from .asking.words import CheckedWords, generic_name
from .assessment import (
    JUDGE_THRESHOLD,
    LONGEST_QUERY,
    MIN_SCORE,
    STANDARD,
    AssessmentDetails,
    AssessmentMessage,
    AssessmentRequest,
    JudgeAssessment,
    StopReason,
    count_by_kind,
    count_progress,
    select_records,
    write_markdown,
)
from .baseline.assessing import assessment
from .findings import FAILED, Dossier
from .report.forms import record_name
from .routing import route_of, title_of_tool

__all__ = ["BUDGET_RESERVE", "AssessmentDetails", "JudgeAgent", "JudgeAgentConfig", "JudgeAssessment", "JudgeLimits"]
NO_REASON = "no reason given"
NO_CANDIDATE = "no candidate was found"
SHORTEST_REASON = 10  # characters of a score's reason; by contract
AGAIN_S = 120.0  # for reading again what was misread
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
    struck: list[StruckRow] = Field(default_factory=list)
    """Rows that it struck, in all rounds."""
    misread: list[MisreadRecord] = Field(default_factory=list)
    """Records that it had read again, in all rounds."""
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
        memory = self._memory
        run = self._run
        dossier = memory.dossier
        pool = await asyncio.to_thread(dossier.pool)
        yield self._tell("judging", f"Judging {counted(len(pool), 'record')}")
        fitted = await self._ask_fits(cancellation_token)
        dossier.fits |= fitted.fits
        run.readings.replace_given(dossier.readings, dossier.studies, dossier.absent)
        run.readings.begin(pool)
        candidates = await asyncio.to_thread(appraise_candidates, dossier.asked, pool, run.readings)
        iteration = max(dossier.iteration, memory.assessed + 1)
        not_run = [
            f"{search.query[:LONGEST_QUERY]} ({search.specialist}): "
            "sources do not take the query, or have nothing further"
            for search in memory.wanted
            if not _is_answered(search, dossier, iteration)
        ]
        memory.refused = [*memory.refused, *not_run]
        explained = [candidate for candidate in candidates if candidate.has_verdict and candidate.mechanisms][
            :MAX_DRUGS
        ]
        if explained:
            names = listed([candidate.drug for candidate in explained])
            yield self._tell("hypothesizing", f"How might they act: {names}")
        request = await asyncio.to_thread(self._build_request, iteration, pool, candidates, explained)
        messages_to_ask = make_messages(self._system_message, request.text, source=self.name)
        aids = await self._aids(pool)
        answer = await ask(self._clients, messages_to_ask, JudgeDraft, cancellation_token, request=request, aids=aids)
        draft, memory.refused = _sort_searches(answer.given or assessment(request), request)
        is_by_model = answer.by is not None and not reads_requests(answer.by)
        words = CheckedWords(request.candidates)
        view = words.view(draft, name_analyst(answer.by)) if is_by_model else JudgeView()
        again = await self._read_again(view.misread, cancellation_token)
        dossier.read_again += again.studies
        memory.wanted = draft.next_searches
        memory.gaps = words.keep_gaps(draft.gaps)
        memory.assessed = iteration

        verdict = self._decide(draft, request, count_by_kind(pool), words)
        verdict.view = self._keep_view(view, again, words)
        verdict.fits = fitted.fits
        verdict.read_again = again.studies
        if not reads_requests(self._model_client):
            verdict.is_by_model = answer.by is self._model_client
        verdict.notes += [f"{self.name}: {note}" for note in answer.notes]
        verdict.notes += self._list_notes(verdict, draft, fitted, [*not_run, *memory.refused])
        for usage in (fitted.usage, again.usage):
            add_usage(answer.usage, usage)
        # While the second round searches, databases are asked about the candidates of the first.
        if verdict.recommendation != "synthesize" and iteration == 1:
            decided = [candidate.drug for candidate in candidates if candidate.has_verdict]
            run.look_up_ahead(decided, [candidate.drug for candidate in candidates if not candidate.has_verdict])
        dossier.tokens_used += answer.usage.prompt_tokens + answer.usage.completion_tokens
        verdict.tokens_used = dossier.tokens_used

        for event in aids.events if aids else ():
            yield event
        yield TextMessage(content=write_markdown(verdict), source=self.name, metadata={"role": "judge"})
        yield Response(chat_message=AssessmentMessage(content=verdict, source=self.name, models_usage=answer.usage))

    def _keep_view(self, view: JudgeView, again: ReadingResults, words: CheckedWords) -> JudgeView:
        """Return a view with what earlier rounds struck and had read again."""
        memory = self._memory
        mended = {study.study.key for study in again.studies}
        before = {record.key for record in memory.misread}
        memory.misread += [
            record.model_copy(update={"is_read_again": record.key in mended})
            for record in view.misread
            if record.key not in before
        ]
        memory.struck += [row for row in view.struck if row not in memory.struck]
        carried = {"struck": list(memory.struck), "misread": list(memory.misread), "dropped": list(words.dropped)}
        return view.model_copy(update=carried)

    def _list_notes(
        self, verdict: JudgeAssessment, draft: JudgeDraft, fitted: FitAnswer, refused: Sequence[str]
    ) -> list[str]:
        """List what the report must admit of a verdict."""
        name = self.name
        dossier = self._memory.dossier
        notes = [
            f"{name}: words told whether studies are on what is asked, as the model did not ({failure})"
            for failure in fitted.failures
        ]
        if verdict.stop_reason == "token_budget_exceeded":
            notes.append(self._describe_limit(dossier.tokens_used))
        if verdict.recommendation == "synthesize":
            notes += _describe_unasked(dossier)
        why_not = dict.fromkeys(line.rpartition(": ")[2] for line in refused)  # shows no query
        notes += [f"Not every search proposed by the {name} was made: {why}" for why in why_not]
        excluded = len(draft.drug_candidates) - len(verdict.details.drug_candidates)
        if excluded:
            notes.append(f"{name}: {excluded} of the model's candidates excluded, since no record was read on them")
        dropped = verdict.view.dropped
        if dropped:
            left_out = listed(list(dict.fromkeys(dropped)), most=5)
            notes.append(f"{name}: {counted(len(dropped), 'sentence')} left out: {left_out}")
        return notes

    async def _ask_fits(self, cancellation_token: CancellationToken) -> FitAnswer:
        """Have the model tell which studies are on what is asked; the baseline analyst leaves that to their words."""
        topics = self._memory.dossier.new_topics
        if not topics or reads_requests(self._model_client):
            return FitAnswer()
        question = self._memory.dossier.question
        return await ask_fits(self._model_client, question, topics, self._run.marker, cancellation_token)

    async def _read_again(
        self, misread: Sequence[MisreadRecord], cancellation_token: CancellationToken
    ) -> ReadingResults:
        """Have records read again that the judge calls misread, each once in a run."""
        run = self._run
        dossier = self._memory.dossier
        before = {record.key for record in self._memory.misread}
        reasons = {record.key: record.reason for record in misread if record.key not in before}
        reader = run.reader
        if not reasons or reader is None or reads_requests(reader):
            return ReadingResults()
        pool = await asyncio.to_thread(dossier.pool)
        records = [record for record in pool if record.key in reasons]
        if not records:
            return ReadingResults()
        requests = prepare_reading(records, dossier.asked, in_short=run.reads_in_short)
        why = {request.record.key: reasons[request.record.key] for request in requests}
        return await read(reader, dossier.question, requests, run.marker, cancellation_token, AGAIN_S, misread=why)

    def _tell(self, role: str, text: str) -> TextMessage:
        """Say what begins, to people alone: the message does not enter the thread."""
        return TextMessage(content=text, source=self.name, metadata={"role": role})

    def _build_request(
        self,
        iteration: int,
        pool: Sequence[Evidence],
        candidates: Sequence[Candidate],
        explained: Sequence[Candidate],
    ) -> AssessmentRequest:
        """Build the request for an assessment, and note whether a verdict on a drug has changed."""
        memory = self._memory
        dossier = self._memory.dossier
        searches = [reply.model_copy(update={"query": reply.asked or reply.query}) for reply in dossier.replies]
        reading = count_progress(searches, pool, self.limits.max_records)
        verdicts = {candidate.drug: candidate.appraisal.quality for candidate in candidates if candidate.has_verdict}
        if verdicts != memory.verdicts:
            memory.verdicts = dict(verdicts)
            memory.changed_at = reading.read
        return AssessmentRequest(
            question=" ".join(dossier.question.split()),
            iteration=iteration,
            searches=searches,
            candidates=list(candidates),
            pool=len(pool),
            progress=reading.model_copy(update={"unchanged": max(0, reading.read - memory.changed_at)}),
            records=select_records(pool, candidates),
            most_rounds=self.limits.max_iterations,
            threshold=self.limits.judge_threshold,
            gaps=memory.gaps,
            refused=memory.refused,
            reflections={
                findings.specialist: findings.reflection
                for findings in dossier.in_order
                if findings.iteration == iteration
            },
            later=dossier.list_left(iteration),
            asks_mechanism=dossier.asked.kind == "mechanism"
            or not any(candidate.has_verdict for candidate in candidates),
            struck=memory.struck,
            disputed=_list_disputed(dossier.studies),
            tokens_used=dossier.tokens_used,
            max_tokens=self.limits.max_tokens,
            specialists=dossier.specialists,
            marker=self._run.marker,
            hypotheses=assess(explained, pool, dossier.asked)[0] if explained else HypothesisAssessment(),
        )

    def _decide(
        self, draft: JudgeDraft, request: AssessmentRequest, breakdown: dict[str, int], words: CheckedWords
    ) -> JudgeAssessment:
        """Apply the rules to a draft: known candidates from the records, the decision from thresholds and budgets.

        A model ends the search by saying that it is enough; else it continues while reading pays, whatever the
        confidence; then no further page is requested. `words` checks what it says.
        """
        dossier = self._memory.dossier
        limits = self.limits
        reading = request.progress
        iteration = request.iteration
        drugs = {candidate.drug for candidate in request.candidates}
        without_reason = NO_REASON if drugs else NO_CANDIDATE

        def keep(text: str) -> str:
            checked = words.keep(text)
            return checked if len(checked) >= SHORTEST_REASON else without_reason

        details = AssessmentDetails(
            mechanism_score=draft.mechanism_score,
            mechanism_reasoning=keep(draft.mechanism_reasoning),
            clinical_evidence_score=draft.clinical_evidence_score if drugs else 0,
            clinical_reasoning=keep(draft.clinical_reasoning),
            candidates_score=draft.candidates_score if drugs else 0,
            sources_score=min(10, len(dossier.answered) * 2),
            sources_breakdown=breakdown,
            drug_candidates=[name for name in map(generic_name, draft.drug_candidates) if name in drugs],
            key_findings=_quote_findings(draft, request),
        )

        # Next specialists and searches: all of them if the reading simply continues.
        queries = draft.next_search_queries
        specialists = draft.next_specialists
        if reading.goes_on and not queries:
            queries = reading.unread
            specialists = request.readers

        # Decide whether another round is worthwhile.
        is_explained = not request.asks_mechanism or details.mechanism_score >= MIN_SCORE
        is_sufficient = (
            draft.is_enough
            and draft.confidence >= limits.judge_threshold
            and is_explained
            and details.candidates_score >= MIN_SCORE
        )
        queries_made = {search.query for search in request.searches}
        looks_up = not set(specialists) <= set(request.readers) and not queries_made.issuperset(queries)
        has_news = iteration == 1 or reading.goes_on or looks_up or dossier.has_news(iteration)
        nothing_to_ask = not specialists and (reading.has_ended or not (queries or draft.gaps))
        statuses: set[Status] = set()
        for finding in dossier.findings:
            if finding.iteration == iteration:
                statuses |= {reply.status for reply in finding.replies}
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


def _describe_unasked(dossier: Dossier) -> list[str]:
    """Say which tools were left for later and never used, in a line."""
    names: dict[str, str] = {}
    for findings in dossier.in_order:
        names |= {name: title_of_tool(name) for name in findings.later}
    sources = {title_of(reply.source) for reply in dossier.replies}
    unasked = [title for name, title in names.items() if title not in sources and name != "get_mechanisms"]
    route = route_of(dossier.asked)
    return [f"Not asked before the search ended: {listed(unasked)} ({route.line})"] if unasked else []


def _is_answered(search: NextSearch, dossier: Dossier, iteration: int) -> bool:
    """Whether a specialist's replies of a round answer a judge's search."""
    for finding in dossier.findings:
        is_own = (finding.specialist, finding.iteration) == (search.specialist, iteration)
        if is_own and any(_is_answer_to(reply, search) for reply in finding.replies):
            return True
    return False


def _is_answer_to(reply: SourceReply, search: NextSearch) -> bool:
    """Whether a reply answers a judge's search, whose query its tool may have rewritten."""
    query = (reply.asked or reply.query).casefold()
    proposed = search.query.casefold()
    drug = canonical_drug(search.query)
    return (
        query in (proposed, preprocess_query(search.query).casefold())
        or (drug is not None and drug in query)
        or (query.isdecimal() and query in proposed)
    )


def _sort_searches(draft: JudgeDraft, request: AssessmentRequest) -> tuple[JudgeDraft, list[str]]:
    """Return the draft with only the searches to be made, and the refused ones, each with the reason."""
    accepted = list[NextSearch]()
    refused = list[str]()
    length = 0
    names = {specialist.name for specialist in request.specialists}
    for search in draft.next_searches:
        length += len(search.query)
        why = None
        if search.specialist not in names:
            why = "no specialist has the name given"
        elif request.is_read and search.specialist in request.readers:
            why = f"{request.progress.most:,} publications and trials are read, the depth that was asked for"
        elif length > MAX_QUERIES:
            why = f"queries of a round have {MAX_QUERIES:,} characters at most"
        if why is None:
            accepted.append(search)
        else:
            who = f" ({search.specialist})" if search.specialist in names else ""
            refused.append(f"{search.query[:LONGEST_QUERY]}{who}: {why}")
    return draft.model_copy(update={"next_searches": accepted}), refused


def _quote_findings(draft: JudgeDraft, request: AssessmentRequest) -> list[str]:
    """Return the sentences of the records that a draft names as what decides, each with its drug and record."""
    keys: set[str] = set()
    for reason in draft.decides:
        keys.update(reason.keys)
    lines: dict[tuple[str, str], str] = {}  # of several readings of one record the last
    for candidate in request.candidates:
        for record in candidate.records:
            if record.key in keys:
                sentence = " ".join((record.sentence or record.harm_told).split())
                line = f"{candidate.drug}: “{sentence}” ({record_name(record.key)})"
                lines[record.key, candidate.drug] = line if sentence else ""
    return list(filter(None, lines.values()))


def _list_disputed(studies: Iterable[MatchedStudy]) -> list[str]:
    """List what its own passages do not bear out, a line each."""
    lines = []
    for matched in studies:
        reasons = [row.disputed for row in matched.study.comparisons]
        reasons += [view.disputed for view in matched.study.statements]
        lines += [f"{matched.study.key}: {reason}" for reason in reasons if reason]
    return lines
