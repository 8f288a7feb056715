"""What a page or document shows of a report: rows put together, sorted, counted and linked, no markup."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from willowbark.agents.claims import Claim
from willowbark.agents.report import NOT_REPORTED, DrugCandidate, EvidenceRow, ResearchReport
from willowbark.tools.query import parse_question

from .diagrams import Step
from .links import named, url_of

STANCES = ("supports", "contradicts", "undecided", "excluded")


@dataclass(frozen=True, slots=True)
class Record:
    """One record's row in a candidate's table."""

    row: EvidenceRow
    stance: str
    """One of `STANCES`."""
    url: str | None
    number: int | None
    """Its place among the references; None where it is not cited."""
    byline: str
    """`Smith J et al., 2001`, as far as it is known."""
    claims: tuple[Claim, ...] = ()

    @property
    def name(self) -> str:
        """The record's identifier as people write it."""
        return named(self.row.key)

    @property
    def quotes(self) -> list[str]:
        """The passages that stand behind the row, each once."""
        found = [self.row.sentence, *(claim.quote for claim in self.claims)]
        return list(dict.fromkeys(quote.strip() for quote in found if quote.strip()))

    @property
    def flags(self) -> list[str]:
        """What a reader must know before trusting it."""
        marks = (
            ("retracted", self.row.retracted),
            ("expression of concern", self.row.concern),
            ("preprint, not peer-reviewed", self.row.is_preprint),
        )
        return [name for name, is_set in marks if is_set]


@dataclass(frozen=True, slots=True)
class CandidateView:
    """One candidate with its records by stance."""

    candidate: DrugCandidate
    place: int
    """1 for the best supported."""
    records: Mapping[str, list[Record]] = field(default_factory=dict)
    """By stance, every stance present."""
    steps: tuple[Step, ...] = ()
    """Drug, target, pathway, disease; empty where no mechanism was found."""

    @property
    def unchecked(self) -> int:
        """Records whose retraction status could not be checked."""
        return sum(each.row.retracted is None for records in self.records.values() for each in records)

    @property
    def total(self) -> int:
        """All records appraised for it."""
        return sum(map(len, self.records.values()))


def candidate_views(report: ResearchReport) -> list[CandidateView]:
    """The candidates in the report's order."""
    references = {str(reference["key"]): reference for reference in report.references}
    return [
        CandidateView(candidate, place, _records(candidate, report, references), _steps(candidate, report))
        for place, candidate in enumerate(report.candidates, 1)
    ]


def _records(
    candidate: DrugCandidate, report: ResearchReport, references: Mapping[str, dict[str, Any]]
) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = {stance: [] for stance in STANCES}
    for row in report.evidence_table:
        if row.drug == candidate.name:
            reference = references.get(row.key, {})
            record = Record(
                row=row,
                stance=stance_of(row, candidate),
                url=url_of(row.key, str(reference.get("url") or "")),
                number=reference.get("number"),
                byline=byline(reference.get("authors") or [], row.date),
                claims=tuple(claim for claim in candidate.claims if claim.evidence_key == row.key),
            )
            found[record.stance].append(record)
    return found


def stance_of(row: EvidenceRow, candidate: DrugCandidate) -> str:
    """Where a record stands in a candidate's appraisal; retracted ones are excluded."""
    if row.retracted:
        return "excluded"
    if row.key in candidate.supporting_citations:
        return "supports"
    return "contradicts" if row.key in candidate.contradicting_citations else "undecided"


def byline(authors: list[str], date: str) -> str:
    """Authors and date in short.

    >>> byline(["Smith J", "Jones A"], "2001-03"), byline([], "Unknown")
    ('Smith J et al., 2001-03', 'date not reported')
    """
    when = date if date[:1].isdigit() else "date not reported"
    if not authors:
        return when
    return f"{authors[0]}{' et al.' if len(authors) > 1 else ''}, {when}"


def _steps(candidate: DrugCandidate, report: ResearchReport) -> tuple[Step, ...]:
    for tested in report.hypotheses_tested:
        if tested.get("drug") == candidate.name:
            told = {name: str(tested.get(name) or NOT_REPORTED) for name in ("target", "pathway", "effect")}
            effect = "" if told["effect"] == NOT_REPORTED else told["effect"]
            return (
                Step("drug", candidate.name),
                Step("target", told["target"], effect),
                Step("pathway", told["pathway"]),
                Step("disease", condition_of(report)),
            )
    return ()


def condition_of(report: ResearchReport) -> str:
    """The condition asked about, in the question's words where no condition is known in them."""
    asked = parse_question(report.research_question)
    return " and ".join(asked.conditions) or " ".join(asked.terms) or report.research_question
