"""What a judge is asked and answers: the request as data and in words, the verdict, the message that bears it."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field

from willowbark.agents.autogen import ModelTextMessage
from willowbark.tools.appraisal.appraised import AppraisedRecord
from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.enclosure import embed, enclose_lines, new_marker, unmarked
from willowbark.tools.evidence import Evidence
from willowbark.tools.mechanism.hypotheses import HypothesisAssessment
from willowbark.tools.registry import kind_of
from willowbark.tools.search import Status
from willowbark.tools.sources.card import ENTRIES
from willowbark.tools.wording import counted, short

from .asking.drafts import NextSearch
from .findings import Specialist
from .progress import Progress, Search

JUDGE_THRESHOLD = 0.8  # confidence from which evidence can suffice; by contract
MIN_SCORE = 6  # of 10, for mechanism and for candidates; by contract
SHOWN_RECORDS = 60  # best publications and trials that a model reads; the code appraises all of them
SHOWN_ENTRIES = 20  # entries of drug databases that it reads beside them: those of the leading candidates among them
SHOWN_CANDIDATES = 20  # in a prompt, best supported first
SHOWN_EACH = 2  # records of each, at least, where so many decide on it
SHOWN_READINGS = 5  # of a candidate, for the judge; how many there are stands in the candidate's line
SHOWN_PASSAGES = 3  # of these, with the sentence that they rest on
SHOWN_PASSAGE = 180  # characters of it
SHOWN_QUERY = 200  # characters of a query
SHOWN_LINE = 200  # characters of a candidate's line
SHORT_REASONS = 300  # characters of its reasons on a console
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


class AssessmentDetails(BaseModel, extra="forbid"):
    """What the evidence holds, scored."""

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


class JudgeAssessment(BaseModel, extra="forbid"):
    """The judge's verdict on one round."""

    details: AssessmentDetails
    sufficient: bool = False
    """Set by rule: confidence and scores over their thresholds."""
    confidence: float = Field(ge=0.0, le=1.0)
    recommendation: Literal["continue", "synthesize"] = "continue"
    """Set by rule: synthesize when the evidence suffices or a budget is nearly used."""
    gaps: list[str] = []
    next_search_queries: list[str] = []
    next_specialists: list[str] = []
    """Names of who should search next; empty leaves the choice to the team."""
    next_searches: list[NextSearch] = []
    """Who should search for what, to close which gap; queries and specialists stand once each in the two lists above.
    """
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


class NextSearches(BaseModel, frozen=True, extra="forbid"):
    """What a judge asks the specialists to search for, as it stands in the message that they read."""

    after_round: int
    next_search_queries: list[str]


class AssessmentMessage(ModelTextMessage[JudgeAssessment]):
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
        for query in verdict.next_search_queries:
            names = dict.fromkeys(search.specialist for search in verdict.next_searches if search.query == query)
            whose = f" for {' and '.join(names)}" if names else ""
            lines.append(f"Next query{whose}: {query}")
        wanted = NextSearches(after_round=verdict.iteration, next_search_queries=verdict.next_search_queries)
        return f"{unmarked(chr(10).join(lines))}\n{embed(wanted, new_marker())}"


class AssessmentRequest(BaseModel, frozen=True, extra="forbid"):
    """What a judge asks a model: data, and the words in which a language model gets them."""

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
    specialists: list[Specialist] = []
    """Who can be asked to search."""
    hypotheses: HypothesisAssessment = Field(default_factory=HypothesisAssessment)
    """How the leading candidates might act, with what could test that."""
    most_rounds: int = 10
    """After which the search ends."""
    threshold: float = JUDGE_THRESHOLD
    """Confidence from which evidence can suffice."""
    gaps: list[str] = []
    """What the judge missed in the round before."""
    refused: list[str] = []
    """What it asked for then and did not get, each with the reason."""
    reflections: dict[str, str] = {}
    """What each specialist's model made of this round; empty where none was asked."""
    tokens_used: int = 0
    """Tokens of the run so far."""
    max_tokens: int | None = None
    """Tokens after which the search ends; None sets no limit."""
    marker: str = Field(default_factory=new_marker, exclude=True)
    """Of the block of readings."""

    @property
    def readers(self) -> list[str]:
        """Names of the specialists who find publications and trials."""
        return [each.name for each in self.specialists if "queries" in each.takes]

    @property
    def is_read(self) -> bool:
        """Whether as many publications and trials were read as the run may read, and further hits are left."""
        return self.progress.has_ended and self.progress.is_deep

    @property
    def budget(self) -> str:
        """What the run may still use, in words."""
        reading, limit = self.progress, self.max_tokens
        left = f"{max(0, limit - self.tokens_used):,} of {limit:,} tokens left" if limit else "no limit of tokens"
        depth = f"{reading.read:,} of at most {reading.most:,} publications and trials read"
        if self.is_read:
            depth += ", so that searches for more of them are not made"
        rounds = max(0, self.most_rounds - self.iteration)
        return f"{counted(rounds, 'round')} left; {depth}; {left}; at most eight searches a round."

    @property
    def text(self) -> str:
        """The request in words."""
        shown = self.candidates[:SHOWN_CANDIDATES]
        found, failed = dict[str, dict[str, tuple[int, int]]](), dict[tuple[str, str], str]()
        for each in self.searches:
            query, source = each.query[:SHOWN_QUERY], each.source
            read, hits = found.setdefault(query, {}).get(source, (0, 0))
            found[query][source] = read + each.read, max(hits, each.hits)
            if each.status is not Status.OK:
                failed[query, source] = f" ({each.status.value})"
        searched = [
            f"- {query}: "
            + ", ".join(
                f"{source} {read} of {hits}{failed.get((query, source), '')}" for source, (read, hits) in by.items()
            )
            for query, by in found.items()
        ]
        hypotheses = [
            f"- {each.drug} on {each.target} ({each.effect}), {each.pathway}: {each.confidence:.2f}; "
            f"{' | '.join(each.to_search_queries())}"
            for each in self.hypotheses.hypotheses[:SHOWN_HYPOTHESES]
        ]
        unread = [f"- {query[:SHOWN_QUERY]}" for query in self.progress.unread]
        refused = [f"- {unmarked(each)}" for each in self.refused]
        thoughts = [f"- {name}: {unmarked(said)}" for name, said in self.reflections.items() if said]
        return "\n".join(
            [
                f"Question: {self.question}",
                f"Thresholds: the search may end at confidence {self.threshold:g} with {MIN_SCORE} of 10 for mechanism "
                f"and candidates; it ends after round {self.most_rounds}.",
                "Specialists:",
                *(f"- {each.line}" for each in self.specialists),
                "What was read of the candidates:",
                enclose_lines([line for each in shown for line in readings_of(each)], self.marker),
                "Searches so far:",
                *(searched or ["- none"]),
                "Appraisal by rule (drug: supporting and contradicting studies, certainty):",
                *([f"- {each.line[:SHOWN_LINE]}" for each in shown] or ["- no drug with evidence on the condition"]),
                *(["Gaps that you named before:", *(f"- {unmarked(gap)}" for gap in self.gaps)] if self.gaps else []),
                *(["Queries with further hits unread:", *unread] if unread else []),
                *(["Asked for before and not searched:", *refused] if refused else []),
                *(["What the specialists make of this round:", *thoughts] if thoughts else []),
                "Mechanism hypotheses (confidence in the chain, not in the effect), with queries that could test them:",
                *(hypotheses or ["- none: no mechanism is known"]),
                f"Budget: {self.budget}",
                f"Round: {self.iteration} of {self.most_rounds}. {self.pool} records; {self.progress.said}.",
            ]
        )


def reading_line(candidate: Candidate, record: AppraisedRecord) -> dict[str, Any]:
    """What a record says of a candidate, as models get it."""
    item = record.item
    line = {"key": record.key, "drug": candidate.drug, "says": str(item.direction), "design": str(item.design)}
    return line if item.sample_size is None else {**line, "n": item.sample_size}


def readings_of(candidate: Candidate) -> list[dict[str, Any]]:
    """What a candidate's strongest records say of it: a judge weighs readings, and needs no abstract for that."""
    lines = []
    for at, each in enumerate(candidate.records[:SHOWN_READINGS]):
        item = each.item
        more = {
            "retracted": item.retracted or None,
            "second_reader": item.second_reader if item.second_reader != str(item.direction) else None,
            "passage": each.sentence[:SHOWN_PASSAGE] if each.sentence and at < SHOWN_PASSAGES else None,
        }
        lines.append(reading_line(candidate, each) | {name: said for name, said in more.items() if said is not None})
    return lines


def shown_records(pool: Sequence[Evidence], candidates: Sequence[Candidate]) -> list[Evidence]:
    """The records that a model reads, best first: studies, and of the databases what the leading candidates need.

    Of each leading candidate the strongest that decide on it are among them, the first of all before any second: much
    is found on a common condition, and no drug can be shown whose records nobody quotes.
    """
    judged = [candidate for candidate in candidates if candidate.has_verdict]
    needed = [key for candidate in judged for key in candidate.drug_records]
    telling = []
    for candidate in judged[:SHOWN_CANDIDATES]:
        found = candidate.appraisal
        decided = {*found.supporting, *found.contradicting}
        telling.append([record.key for record in candidate.records if record.key in decided])
    in_turns = [keys[turn] for turn in range(SHOWN_EACH) for keys in telling if turn < len(keys)]
    entries = [record for record in pool if kind_of(record) in ENTRIES]
    entries.sort(key=lambda record: record.key not in needed and kind_of(record) != "disease")
    studies = dict.fromkeys([*in_turns, *(record.key for record in pool if kind_of(record) not in ENTRIES)])
    chosen = {*list(studies)[:SHOWN_RECORDS], *(record.key for record in entries[:SHOWN_ENTRIES])}
    return [record for record in pool if record.key in chosen]


def sources_breakdown(pool: Sequence[Evidence]) -> dict[str, int]:
    """Count the records by kind: `peer_reviewed`, `clinical_trials`, `preprints`, `other`."""
    names = {"publication": "peer_reviewed", "trial": "clinical_trials"}
    found = Counter("preprints" if each.is_preprint else names.get(kind_of(each), "other") for each in pool)
    return {name: found[name] for name in ("peer_reviewed", "clinical_trials", "preprints", "other")}


def as_markdown(verdict: JudgeAssessment, in_short: bool = False) -> str:
    """A verdict for people; in short without gaps and queries, which are counted."""
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
    if in_short:
        lines[-1] = short(verdict.reasoning, SHORT_REASONS)
        return "\n".join([*lines, f"{counted(len(verdict.gaps), 'gap')}." if verdict.gaps else ""]).strip()
    lines += [f"- Gap: {gap}" for gap in verdict.gaps]
    lines += [f"- Next query: `{query}`" for query in verdict.next_search_queries]
    return "\n".join(lines)
