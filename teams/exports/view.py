"""What a page or document shows of a report: rows put together, sorted, counted and linked, no markup."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from willowbark.agents.claims import Claim
from willowbark.agents.pictures.diagrams import Step, mechanism_steps
from willowbark.agents.report.links import named, url_of
from willowbark.agents.report.model import NOT_REPORTED, DrugCandidate, EvidenceRow, ResearchReport
from willowbark.agents.report.summary import LABELS

SAYS_NOTHING = "is not stated in the records read"  # the baseline analyst's ending where it knows no more
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
    def quotes(self) -> list[tuple[str, str]]:
        """The passages that stand behind the row, with where they stand (empty where that is not known).

        Each once: what a longer passage holds is not repeated.
        """
        found = [(self.row.sentence, self.row.section), *((claim.quote, claim.section) for claim in self.claims)]
        places: dict[str, str] = {}
        for quote, section in found:
            line = " ".join(quote.split())
            places[line] = places.get(line) or section or ""
        return [
            (quote, place)
            for quote, place in places.items()
            if quote and not any(quote != longer and quote in longer for longer in places)
        ]

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
        """Publications whose retraction status could not be checked; trials can't be retracted."""
        return sum(each.row.retracted is None for each in self._publications)

    @property
    def publications(self) -> int:
        """Publications appraised for it."""
        return len(self._publications)

    @property
    def proposed(self) -> str:
        """How it might act on the condition; empty where nothing is said beyond its mechanism."""
        told = self.candidate.proposed_mechanism
        return "" if told == NOT_REPORTED or told.endswith(SAYS_NOTHING) else told

    @property
    def _publications(self) -> list[Record]:
        return [each for records in self.records.values() for each in records if not each.row.key.startswith("nct:")]


def summary_parts(summary: str) -> list[tuple[str, str]]:
    """A summary by its labels; the answer, which comes first, has none.

    >>> summary_parts("A helps. Why: 2 trials. Read: 2 publications.")
    [('', 'A helps.'), ('Why', '2 trials.'), ('Read', '2 publications.')]
    """
    first, *others = re.split(rf"(?<=[.…]) (?=(?:{'|'.join(LABELS)}): )", summary)
    return [("", first), *((label, text) for label, _, text in (part.partition(": ") for part in others))]


def candidate_views(report: ResearchReport) -> list[CandidateView]:
    """The candidates in the report's order."""
    references = {str(reference["key"]): reference for reference in report.references}
    return [
        CandidateView(
            candidate, place, _records(candidate, report, references), mechanism_steps(report, candidate.name)
        )
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
