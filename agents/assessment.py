"""The judge's request, as data and as text, its verdict, the message with the verdict, and the rule for reading on.

Reading continues page by page until the requested depth is reached, everything is read, or the last `SETTLED_AFTER`
records changed no verdict: the rule for ranked records of Callaghan and Müller-Hansen 2020 (who show what it can miss),
https://doi.org/10.1186/s13643-020-01521-4. It guarantees no recall; the report gives the numbers read and of hits.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field

from willowbark.agents.autogen import ModelTextMessage
from willowbark.tools.appraisal import Direction
from willowbark.tools.appraisal.appraised import AppraisedRecord
from willowbark.tools.appraisal.candidates import Candidate, select_strongest, select_with_failing
from willowbark.tools.appraisal.fit import COUNTED
from willowbark.tools.appraisal.judgement import JudgeView, StruckRow
from willowbark.tools.appraisal.views import MatchedStudy
from willowbark.tools.mechanism import HypothesisAssessment
from willowbark.tools.questions import parse_question
from willowbark.tools.questions.trials import list_trial_queries
from willowbark.tools.reading.reading import StudyDesign
from willowbark.tools.records.card import ENTRIES, STUDIES
from willowbark.tools.records.enclosure import embed, enclose_lines, new_marker, one_line, unmarked
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.registry import gives, kind_of
from willowbark.tools.search import SourceReply, Status
from willowbark.tools.toolbox import InputKind
from willowbark.tools.wording import counted, short

from .asking.drafts import NextSearch
from .asking.fits import TopicFit
from .findings import Specialist

JUDGE_THRESHOLD = 0.8  # least confidence for sufficient evidence; by contract
MIN_SCORE = 6  # of 10, for mechanism and for candidates; by contract
STANDARD = 300  # publications and trials of a run by default
SETTLED_AFTER = 100  # records in a row that changed no verdict
MOST_RECORDS = 60  # best publications and trials shown to a model; code appraises all of them
MOST_ENTRIES = 20  # entries of drug databases shown with them, including the leading candidates'
MOST_CANDIDATES = 20  # in a prompt, best supported first; a third of the places is for those that fail
MOST_EACH = 2  # records of each, at least, if so many have a verdict
MOST_READINGS = 6  # of a candidate, for the judge; the candidate's line gives their number
MOST_STUDIES = 90  # lines of a judge's prompt, of the leading candidates first
LONGEST_DETAIL = 160  # characters of a line's people or outcome, which are short in all but lists
LONGEST_QUERY = 200  # characters of a query
LONGEST_LINE = 200  # characters of a candidate's line
MOST_HYPOTHESES = 6  # mechanism hypotheses shown to a model

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


class Progress(BaseModel, frozen=True, extra="forbid"):
    """How many of the hits were read."""

    read: int = Field(default=0, ge=0)
    """Publications and trials without duplicates."""
    hits: int = Field(default=0, ge=0)
    """Publications and trials found by the widest searches; at least those read."""
    most: int = Field(default=STANDARD, ge=1)
    unchanged: int = Field(default=0, ge=0)
    """Records read since a verdict on a drug last changed."""
    unread: list[str] = []
    """Queries with further hits at a source."""

    @property
    def is_settled(self) -> bool:
        """Whether the last `SETTLED_AFTER` records changed no verdict, so that further ones are unlikely to."""
        return self.unchanged >= SETTLED_AFTER

    @property
    def is_deep(self) -> bool:
        """Whether the requested depth is reached."""
        return self.read >= self.most

    @property
    def has_ended(self) -> bool:
        """Whether reading stopped by rule with hits left."""
        return bool(self.unread) and not self.goes_on

    @property
    def goes_on(self) -> bool:
        """Whether another page may be read."""
        return bool(self.unread) and not self.is_settled and not self.is_deep

    @property
    def said(self) -> str:
        """How many of the hits were read, in words.

        >>> Progress(read=300, hits=770).said
        '300 of 770 hits were read'
        """
        if not self.hits:
            return "there were no hits"
        if self.unread and self.read >= self.hits:  # hits are those of the widest search, which others add to
            return f"{counted(self.read, 'record')} read, though not all hits of each source were fetched"
        if self.hits == 1:
            return "the only hit was read"
        return f"{'all' if self.read >= self.hits else f'{self.read:,} of'} {self.hits:,} hits were read"


def count_progress(searches: Sequence[SourceReply], pool: Iterable[Evidence], most: int) -> Progress:
    """Count the records read of a pool without duplicates, and list the queries with hits left.

    Args:
        searches: all so far, with their queries as they were asked.
        pool: all records.
        most: requested depth in records.
    """
    records_read = Counter[tuple[str, str]]()
    hits = Counter[tuple[str, str]]()
    widest = Counter[str]()
    ended = {(search.query, search.source) for search in searches if not search.records}  # failed, or ended early
    for search in searches:
        kind = gives(search.source)
        if kind in STUDIES:
            key = search.query, search.source
            records_read[key] += len(search.records)
            hits[key] = max(hits[key], search.total)  # a later page may not repeat it
            widest[kind] = max(widest[kind], search.total)  # sources of one kind find mostly the same records
    studies = sum(kind_of(record) in STUDIES for record in pool)
    unread: dict[str, None] = {}
    for key, total in hits.items():
        if total > records_read[key] and key not in ended:
            unread[key[0]] = None
    return Progress(read=studies, hits=max(widest.total(), studies), most=most, unread=list(unread))


class AssessmentDetails(BaseModel, extra="forbid"):
    """Scores of the evidence."""

    mechanism_score: int = Field(ge=0, le=10)
    mechanism_reasoning: str = Field(min_length=10)
    clinical_evidence_score: int = Field(ge=0, le=10)
    clinical_reasoning: str = Field(min_length=10)
    candidates_score: int = Field(default=0, ge=0, le=10)
    sources_score: int = Field(default=0, ge=0, le=10)
    """Number and kind of the sources, 0 to 10; computed from the records."""
    sources_breakdown: dict[str, int] = {}
    """Counts of `peer_reviewed`, `clinical_trials`, `preprints`, `other`; computed from the records."""
    drug_candidates: list[str] = []
    key_findings: list[str] = []
    """Sentences of the records that decide the question, each with its drug and record."""

    @property
    def reasons(self) -> list[str]:
        """The scores of mechanisms and clinical evidence with their reasons."""
        return [
            f"Mechanisms, {self.mechanism_score} of 10: {self.mechanism_reasoning}",
            f"Clinical evidence, {self.clinical_evidence_score} of 10: {self.clinical_reasoning}",
        ]


class JudgeAssessment(BaseModel, extra="forbid"):
    """The judge's verdict on one round."""

    details: AssessmentDetails
    sufficient: bool = False
    """Set by rule: confidence and scores over their thresholds."""
    confidence: float = Field(ge=0.0, le=1.0)
    recommendation: Literal["continue", "synthesize"] = "continue"
    """Set by rule: synthesize when the evidence suffices or a budget is nearly used."""
    view: JudgeView = JudgeView()
    """What it makes of the evidence in its own words, with keys; report and its JSON carry the last one's."""
    fits: dict[str, TopicFit] = {}
    """How the studies' topics fit the question, by their names, as the judge's model told them in this round."""
    read_again: list[MatchedStudy] = []
    """Studies of records that the judge had read again in this round."""
    is_by_model: bool | None = None
    """Whether the language model that was asked judged; None if none was asked."""
    gaps: list[str] = []
    next_search_queries: list[str] = []
    next_specialists: list[str] = []
    """Names of the specialists to search next; empty leaves the choice to the team."""
    next_searches: list[NextSearch] = []
    """Searches by specialist, each with the gap it should close; the two lists above name each query once."""
    reasoning: str = Field(min_length=20)
    iteration: int = Field(default=1, ge=1)
    stop_reason: StopReason | None = None
    """Why the search ends here; None while it continues. Set by code."""
    progress: Progress = Progress()
    tokens_used: int = 0
    notes: list[str] = []


class NextSearches(BaseModel, frozen=True, extra="forbid"):
    """A judge's next searches, as included in its message to the specialists."""

    after_round: int
    next_search_queries: list[str]
    as_written: bool = False
    """Whether they run as they are written; those of rules get synonyms."""


class AssessmentMessage(ModelTextMessage[JudgeAssessment]):
    """An assessment as a message."""

    def to_text(self) -> str:
        """One line for consoles."""
        verdict = self.content
        return f"Round {verdict.iteration}: {verdict.recommendation} (confidence {verdict.confidence:.2f})"

    def to_model_text(self) -> str:
        """Verdict, gaps and next queries for the specialists' models, with the queries also as data."""
        verdict = self.content
        lines = [self.to_text(), verdict.reasoning]
        lines += [f"Gap: {gap}" for gap in verdict.gaps]
        for query in verdict.next_search_queries:
            names = dict.fromkeys(search.specialist for search in verdict.next_searches if search.query == query)
            whose = f" for {' and '.join(names)}" if names else ""
            lines.append(f"Next query{whose}: {query}")
        next_searches = NextSearches(
            after_round=verdict.iteration,
            next_search_queries=verdict.next_search_queries,
            as_written=bool(verdict.view.by),
        )
        return f"{unmarked(chr(10).join(lines))}\n{embed(next_searches, new_marker())}"


class AssessmentRequest(BaseModel, frozen=True, extra="forbid"):
    """A judge's request to a model, as data and as text for a language model."""

    question: str
    iteration: int
    searches: list[SourceReply]
    """All so far, with their queries as they were asked."""
    candidates: list[Candidate]
    """The appraisal by rule of all records, best supported first."""
    pool: int
    progress: Progress
    records: list[Evidence]
    """Records of the pool shown to the model, best first."""
    specialists: list[Specialist] = []
    asks_mechanism: bool = False
    """Whether the question asks how drugs act, or nothing clinical is there, so that mechanisms are needed."""
    struck: list[StruckRow] = []
    """Rows that the judge struck before; they still count for nothing."""
    disputed: list[str] = []
    """What a model read and its own passages do not bear out, a line each."""
    hypotheses: HypothesisAssessment = Field(default_factory=HypothesisAssessment)
    """Hypotheses on how the leading candidates might act, with tests."""
    most_rounds: int = 10
    threshold: float = JUDGE_THRESHOLD
    gaps: list[str] = []
    """Gaps that the judge found in the previous round."""
    refused: list[str] = []
    """Searches it then requested that were not made, each with the reason."""
    later: dict[str, dict[str, InputKind]] = {}
    """Tools that the kind of question left for later, by specialist, each with what it takes."""
    reflections: dict[str, str] = {}
    """Each specialist's model's reflection on this round; empty without a language model."""
    tokens_used: int = 0
    max_tokens: int | None = None
    """Tokens after which the search ends; None for no limit."""
    marker: str = Field(default_factory=new_marker, exclude=True)

    @property
    def readers(self) -> list[str]:
        """Names of the specialists that find publications and trials."""
        return [specialist.name for specialist in self.specialists if "queries" in specialist.takes]

    @property
    def is_read(self) -> bool:
        """Whether the run has read its maximum of publications and trials, with hits left."""
        return self.progress.has_ended and self.progress.is_deep

    @property
    def is_last(self) -> bool:
        """Whether no round follows, so that nothing more can be searched."""
        return self.iteration >= self.most_rounds

    @property
    def budget(self) -> str:
        """The run's remaining budget, in words."""
        reading = self.progress
        limit = self.max_tokens
        left = f"{max(0, limit - self.tokens_used):,} of {limit:,} tokens left" if limit else "no limit of tokens"
        depth = f"{reading.read:,} of at most {reading.most:,} publications and trials read"
        if self.is_read:
            depth += ", so that searches for more of them are not made"
        rounds = max(0, self.most_rounds - self.iteration)
        if self.is_last:
            return f"no round left, so that no search is made; {depth}; {left}."
        return f"{counted(rounds, 'round')} left; {depth}; {left}; at most eight searches a round."

    @property
    def text(self) -> str:
        """The request as text for a language model."""
        candidates = select_strongest(self.candidates, MOST_CANDIDATES)
        made = {search.query for search in self.searches}
        hypotheses = [
            f"- {hypothesis.drug} on {hypothesis.target} ({hypothesis.effect}), {hypothesis.pathway}: "
            f"{hypothesis.confidence:.2f}{'' if self.is_last else '; '}"
            f"{'' if self.is_last else ' | '.join(hypothesis.to_search_queries())}"
            for hypothesis in self.hypotheses.hypotheses[:MOST_HYPOTHESES]
        ]
        trials = [f"- {query}" for query in list_trial_queries(parse_question(self.question)) if query not in made]
        refused = [f"- {unmarked(line)}" for line in self.refused]
        struck = [f"- {row.key} on {row.drug}: {unmarked(row.reason)}" for row in self.struck]
        disputed = [f"- {unmarked(line)}" for line in self.disputed]
        not_made = [] if self.is_last else trials
        later = [f"- {name}: {', '.join(tools)}" for name, tools in self.later.items()]
        thoughts = [f"- {name}: {unmarked(thought)}" for name, thought in self.reflections.items() if thought]
        tests = "" if self.is_last else ", with queries that could test them"
        return "\n".join(
            [
                f"Question: {self.question}",
                f"Thresholds: the search ends where you say that it is enough, at confidence {self.threshold:g} with "
                f"{MIN_SCORE} of 10 for {'mechanism and ' if self.asks_mechanism else ''}candidates; it ends after "
                f"round {self.most_rounds}.",
                *(
                    []
                    if self.is_last
                    else ["Specialists:", *(f"- {specialist.line}" for specialist in self.specialists)]
                ),
                "What was read of the candidates, a study a line:",
                enclose_lines(list_study_lines(candidates), self.marker),
                "Searches so far, with the hits that were fetched of those found:",
                *(_list_searches(self.searches, self.progress.unread) or ["- none"]),
                "Appraisal by rule (drug: supporting and contradicting studies, certainty):",
                *(
                    [f"- {_write_appraisal_line(candidate)}" for candidate in candidates]
                    or ["- no drug with evidence on the condition"]
                ),
                *(["Gaps that you named before:", *(f"- {unmarked(gap)}" for gap in self.gaps)] if self.gaps else []),
                *(["Rows that you struck before:", *struck] if struck else []),
                *(["Not borne out by their own sentences, and uncounted:", *disputed] if disputed else []),
                *(["Queries for trials and reviews, not made yet:", *not_made] if not_made else []),
                *(["Asked for before and not searched:", *refused] if refused else []),
                *(["Not asked yet, left for later by the kind of question:", *later] if later else []),
                *(["What the specialists make of this round:", *thoughts] if thoughts else []),
                f"Mechanism hypotheses (confidence in the chain, not in the effect){tests}:",
                *(hypotheses or ["- none: no mechanism is known"]),
                f"Budget: {self.budget}",
                f"Round: {self.iteration} of {self.most_rounds}. {self.pool} records; {self.progress.said}.",
            ]
        )


def _list_searches(searches: Sequence[SourceReply], unread: Collection[str]) -> list[str]:
    """List the searches of a run by query, each with the hits fetched of those found at each source.

    A query with hits left stands whole, since it may be given again as it is.
    """
    by_query = dict[str, dict[str, tuple[int, int]]]()
    failed = dict[tuple[str, str], str]()
    for search in searches:
        query = search.query if search.query in unread else search.query[:LONGEST_QUERY]
        fetched, hits = by_query.setdefault(query, {}).get(search.source, (0, 0))
        by_query[query][search.source] = fetched + len(search.records), max(hits, search.total)
        if search.status is not Status.OK:
            failed[query, search.source] = f" ({search.status.value})"
    lines = []
    for query, by_source in by_query.items():
        counts = []
        for source, (fetched, hits) in by_source.items():
            counts.append(f"{source} {fetched} of {hits}{failed.get((query, source), '')}")
        lines.append(f"- {query}: " + ", ".join(counts))
    return lines


def _write_appraisal_line(candidate: Candidate) -> str:
    """Return a candidate's studies, counted by side, with its certainty and mechanism, as far as there are any."""
    appraisal = candidate.appraisal
    sides = {"supporting": appraisal.supporting, "contradicting": appraisal.contradicting, "missed": appraisal.missed}
    parts = [f"{len(keys)} {side}" for side, keys in sides.items() if keys]
    parts.append("refuted" if appraisal.quality == "refuted" else f"{appraisal.certainty.level.said} certainty")
    parts += [str(mechanism) for mechanism in candidate.mechanisms[:1]]
    return short(f"{candidate.drug}: {', '.join(parts)}", LONGEST_LINE)


def make_reading_line(candidate: Candidate, record: AppraisedRecord) -> dict[str, Any]:
    """Return a record's reading on a candidate as data for models."""
    item = record.item
    says = "harm" if record.harm_told and item.direction is Direction.not_assessed else str(item.direction)
    line = {"key": record.key, "drug": candidate.drug, "says": says, "design": str(item.design)}
    return line if item.sample_size is None else {**line, "n": item.sample_size}


def list_study_lines(candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """Return the candidates' studies in a line each, the strongest of each first, a passage whole and once.

    `MOST_READINGS` of each candidate; of more than `MOST_STUDIES` those of the first candidates.
    """
    lines = list[dict[str, Any]]()
    passages = set[tuple[str, str]]()
    for candidate in candidates:
        for record in candidate.records[:MOST_READINGS]:
            line = make_study_line(candidate, record)
            passage = line.get("passage", "")
            tells = passage or "result" in line or record.item.design is StudyDesign.registry_entry
            if not tells:  # it names the drug and says nothing of it
                continue
            if passage and (record.key, passage) in passages:
                line["passage"] = "as above"
            passages.add((record.key, passage))
            lines.append(line)
    return lines[:MOST_STUDIES]


def make_study_line(candidate: Candidate, record: AppraisedRecord) -> dict[str, Any]:
    """Return what a record compared and found on a candidate as data for models; what is not told is left out."""
    row = record.stance.comparison
    result = record.told
    item = record.item
    arm = record.study.arm(row.arm) if row is not None else None
    more = {
        "people": one_line(record.study.people, LONGEST_DETAIL),
        "dose": arm.dose if arm is not None and candidate.drug in arm.drugs else "",
        "against": result.comparator,
        "outcome": one_line(row.outcome, LONGEST_DETAIL) if row is not None else "",
        "result": result.result,
        "estimate": row.estimate.written if row is not None and row.estimate else "",
        "in_part": item.fit if item.fit not in COUNTED and not item.is_telling else "",
        "read_by": "rules" if record.study.reader == "small_reader" else "",
        "retracted": item.retracted or None,
        "passage": record.sentence or record.harm_told or (result.passage.text if result.passage else ""),
    }
    return make_reading_line(candidate, record) | {name: value for name, value in more.items() if value}


def select_records(pool: Sequence[Evidence], candidates: Sequence[Candidate]) -> list[Evidence]:
    """Select the records for a model, best first: studies and the leading candidates' database entries.

    Of the leading candidates the strongest records with a verdict, each one's first before any second.
    """
    judged = [candidate for candidate in candidates if candidate.has_verdict]
    needed: set[str] = set()
    for candidate in judged:
        needed.update(candidate.drug_records)
    telling = []
    for candidate in select_with_failing(judged, MOST_CANDIDATES):
        decided = {*candidate.appraisal.telling}
        telling.append([record.key for record in candidate.records if record.key in decided])
    in_turns: list[str] = []
    for turn in range(MOST_EACH):
        in_turns += [keys[turn] for keys in telling if turn < len(keys)]
    entries = [record for record in pool if kind_of(record) in ENTRIES]
    entries.sort(key=lambda record: record.key not in needed and kind_of(record) != "disease")
    studies = dict.fromkeys([*in_turns, *(record.key for record in pool if kind_of(record) not in ENTRIES)])
    chosen = {*list(studies)[:MOST_RECORDS], *(record.key for record in entries[:MOST_ENTRIES])}
    return [record for record in pool if record.key in chosen]


def count_by_kind(pool: Sequence[Evidence]) -> dict[str, int]:
    """Count the records by kind: `peer_reviewed`, `clinical_trials`, `preprints`, `other`."""
    names = {"publication": "peer_reviewed", "trial": "clinical_trials"}
    counts = Counter("preprints" if record.is_preprint else names.get(kind_of(record), "other") for record in pool)
    return {name: counts[name] for name in ("peer_reviewed", "clinical_trials", "preprints", "other")}


def write_markdown(verdict: JudgeAssessment) -> str:
    """Write a verdict as Markdown."""
    details = verdict.details
    counts = ", ".join(f"{count} {kind.replace('_', ' ')}" for kind, count in details.sources_breakdown.items())
    reason = f" ({verdict.stop_reason.replace('_', ' ')})" if verdict.stop_reason else ""
    return "\n".join(
        [
            f"**Judge, round {verdict.iteration}: {verdict.recommendation}**{reason}",
            "",
            f"Confidence {verdict.confidence:.2f} · mechanism {details.mechanism_score}/10 · "
            f"clinical {details.clinical_evidence_score}/10 · candidates {details.candidates_score}/10 · "
            f"sources {details.sources_score}/10 ({counts})",
            "",
            verdict.reasoning,
            *(f"- Gap: {gap}" for gap in verdict.gaps),
            *(f"- Next query: `{query}`" for query in verdict.next_search_queries),
        ]
    )
