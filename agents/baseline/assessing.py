"""Assessing: scores from the appraisal of the records, gaps from what candidates lack and what is unread."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from willowbark.agents.judge import SHOWN_RECORDS, AssessmentDetails, AssessmentRequest, JudgeAssessment, Search
from willowbark.tools.appraisal.candidates import Candidate, known_drugs
from willowbark.tools.lexicon import class_members
from willowbark.tools.questions.membership import belongs
from willowbark.tools.questions.query import ParsedQuestion, parse_question, preprocess_query
from willowbark.tools.registry import gives, offered

LEADING = 6  # candidates whose mechanisms and further evidence are asked for
MAX_UNTRIED = 6  # drugs listed for the condition that are asked for in one round
MAX_NAMED = 4  # drugs that records name without a result, asked for in one round
MAX_EXCLUDED = 12  # drugs that a search for the rest leaves out
MAX_MEMBERS = 40  # of a class that one query names: sources take queries by GET
UNTRIED_SCORE = 5  # candidates_score while such drugs are left: not enough to end the search
ENOUGH_CANDIDATES = 5  # with a verdict: full score
ENOUGH_READ = SHOWN_RECORDS  # publications and trials: of more hits, the best so many stand for all
UNREAD_COSTS = 0.5  # share of the confidence that is lost where nothing of the hits was read
_CLINICAL = {"high": 10, "moderate": 8, "low": 5, "very_low": 2}  # score by the best candidate's certainty
_READERS = ("literature", "trials")  # specialists who search for records on the condition


@dataclass
class _Plan:
    """What to ask next, by whom, and why."""

    queries: list[str] = field(default_factory=list)
    specialists: list[str] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)

    def ask(self, gap: str, queries: Sequence[str], *specialists: str) -> None:
        if queries:
            self.gaps.append(gap)
            self.queries += [query for query in queries if query not in self.queries]
            self.specialists += [name for name in specialists if name not in self.specialists]


@dataclass(frozen=True)
class _Reading:
    """How many of the hits on the question were read."""

    read: int
    hits: int

    @property
    def share(self) -> float:
        """Of the hits, or of as many as stand for all; 1 where there were none."""
        due = min(self.hits, ENOUGH_READ)
        return min(1.0, self.read / due) if due else 1.0

    @property
    def said(self) -> str:
        """The share in words."""
        return f"{min(self.read, self.hits)} of {self.hits} hits were read."


class _Searched(dict[str, dict[str, int]]):
    """The queries asked before, each with the hits that its sources reported, by source."""

    def __init__(self, searches: Iterable[Search]) -> None:
        super().__init__()
        for search in searches:
            self.setdefault(search.query, {})[search.source] = search.hits

    def hits(self, query: str, sources: Iterable[str]) -> int:
        """The most hits that one of the sources reported; 0 where none was asked."""
        return max((self.get(query, {}).get(source, 0) for source in sources), default=0)


def assessment(request: AssessmentRequest) -> JudgeAssessment:
    """Assess what was found; equal requests get equal assessments."""
    asked = parse_question(request.question)
    searched = _Searched(request.searches)
    candidates = [c for c in request.candidates if c.in_asked_class is not False]
    decided = [candidate for candidate in candidates if candidate.has_verdict]
    leading = decided[:LEADING]
    untried = _untried(asked, candidates, known_drugs(asked, request.records), searched)
    reading = _Reading(request.studies, _hits(searched))

    mechanism = round(10 * sum(bool(c.mechanisms) for c in leading) / len(leading)) if leading else 0
    clinical = max((_CLINICAL[c.appraisal.certainty.level.value] for c in decided), default=0)
    named = min(10, round(10 * len(decided) / ENOUGH_CANDIDATES), UNTRIED_SCORE if untried else 10)
    confidence = (mechanism + clinical + named) / 30 * (1 - UNREAD_COSTS * (1 - reading.share))
    plan = _plan(asked, candidates, untried, reading, searched)
    return JudgeAssessment(
        details=AssessmentDetails(
            mechanism_score=mechanism,
            mechanism_reasoning=_mechanism_reasoning(leading),
            clinical_evidence_score=clinical,
            clinical_reasoning=f"Best certainty of a candidate scores {clinical} of 10; {len(decided)} have a verdict.",
            candidates_score=named,
            drug_candidates=[candidate.drug for candidate in decided],
            key_findings=[candidate.line for candidate in leading],
        ),
        confidence=round(confidence, 2),
        gaps=plan.gaps,
        next_search_queries=plan.queries,
        next_specialists=plan.specialists,
        reasoning=f"{_reasoning(decided)} {reading.said}",
    )


def _plan(
    asked: ParsedQuestion,
    candidates: Sequence[Candidate],
    untried: Sequence[str],
    reading: _Reading,
    searched: _Searched,
) -> _Plan:
    """What another round could ask; nothing that was asked before, and first what finds most."""
    plan, condition = _Plan(), _condition(asked)
    decided = [candidate.drug for candidate in candidates if candidate.has_verdict]
    leading, undecided = decided[:LEADING], [c.drug for c in candidates if not c.has_verdict]
    if not candidates and not untried:
        gap = f"No drug with evidence on {condition} was found."
        plan.ask(gap, _new([condition], searched), *_READERS)
    if reading.share < 1:
        gap = f"{reading.hits - reading.read} of {reading.hits} hits unread."
        plan.ask(gap, _new(_rest(asked, decided), searched), *_READERS)
    for name in asked.drug_classes:
        gap = f"Records that name {name} by their own names alone."
        plan.ask(gap, _new(_of_class(name, condition), searched), *_READERS)
    open_drugs = _unasked((*leading, *untried), condition, searched)
    gap = f"Further records on {', '.join(open_drugs)}, for or against."
    plan.ask(gap, list(open_drugs.values()), *_READERS)
    open_drugs = _unasked(undecided, condition, searched, most=MAX_NAMED)
    gap = f"Results on {', '.join(open_drugs)}, which records name without any."
    plan.ask(gap, list(open_drugs.values()), *_READERS)
    unknown = [c.drug for c in candidates if c.drug in leading and not c.pathways and c.drug not in searched]
    plan.ask(f"Mechanisms and pathways of {', '.join(unknown)}.", unknown, "mechanism")
    return plan


def _unasked(drugs: Sequence[str], condition: str, searched: _Searched, most: int | None = None) -> dict[str, str]:
    """The drugs that were not asked for on the condition, each with its query."""
    wanted = {drug: query for drug in drugs for query in _new([_query(drug, condition)], searched)}
    return dict(list(wanted.items())[:most])


def _hits(searched: _Searched) -> int:
    """Publications and trials that the widest searches found; sources of publications find mostly the same ones."""
    by_kind = ([name for name in offered() if gives(name) == kind] for kind in ("publication", "trial"))
    return sum(max((searched.hits(query, sources) for query in searched), default=0) for sources in by_kind)


def _untried(
    asked: ParsedQuestion, candidates: Sequence[Candidate], known: Sequence[str], searched: _Searched
) -> list[str]:
    """Drugs that the databases list for the condition, on which no record was read and none was asked for."""
    read = {candidate.drug for candidate in candidates if candidate.has_verdict}
    if asked.drug_classes:
        known = [drug for drug in known if belongs(drug, (), asked.drug_classes)]
    condition = _condition(asked)
    return [drug for drug in known if drug not in read and _new([_query(drug, condition)], searched)][:MAX_UNTRIED]


def _condition(asked: ParsedQuestion) -> str:
    return (asked.conditions or (asked.text,))[0]


def _query(drug: str, condition: str) -> str:
    return f"{_quoted(drug)} AND {_quoted(condition)}"


def _of_class(name: str, condition: str) -> list[str]:
    """A query for the listed members of a class; none where none are listed."""
    members = class_members(name)[:MAX_MEMBERS]
    return [f"{_any(members)} AND {_quoted(condition)}"] if members else []


def _rest(asked: ParsedQuestion, decided: Sequence[str]) -> list[str]:
    """The question without the drugs that are looked up by name: its further hits."""
    known = decided[:MAX_EXCLUDED]
    return [f"{preprocess_query(asked.text)} NOT {_any(known)}"] if known else []


def _any(names: Sequence[str]) -> str:
    return f"({' OR '.join(map(_quoted, names))})"


def _new(queries: Sequence[str], searched: _Searched) -> list[str]:
    """Those of the queries that were not asked before."""
    return [query for query in queries if query not in searched and preprocess_query(query) not in searched]


def _quoted(name: str) -> str:
    return f'"{name}"' if " " in name else name


def _mechanism_reasoning(leading: Sequence[Candidate]) -> str:
    if not leading:
        return "There is no candidate whose mechanism could be asked for."
    known = sum(bool(candidate.mechanisms) for candidate in leading)
    without = sum(not candidate.drug_records for candidate in leading)
    asked = f"; {without} not looked up yet" if without else ""
    return f"Mechanism known for {known} of the {len(leading)} leading candidates{asked}."


def _reasoning(decided: Sequence[Candidate]) -> str:
    if not decided:
        return "No record speaks for or against an existing drug in this condition."
    best = "; ".join(f"{c.drug} ({c.appraisal.quality})" for c in decided[:5])
    return f"{len(decided)} drugs have evidence for or against; leading: {best}."
