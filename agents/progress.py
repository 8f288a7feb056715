"""Progress of reading, and the rule for stopping it.

Reading continues page by page until the requested depth is reached, everything is read, or the last `SETTLED_AFTER`
records changed no verdict: the rule for ranked records of Callaghan and Müller-Hansen 2020 (who show what it can miss),
https://doi.org/10.1186/s13643-020-01521-4. It guarantees no recall; the report gives the numbers read and of hits.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from pydantic import BaseModel, Field

from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.evidence import Evidence, SourceName
from willowbark.tools.registry import gives, kind_of
from willowbark.tools.search import Status
from willowbark.tools.sources.card import STUDIES
from willowbark.tools.wording import counted

STANDARD = 300  # publications and trials of a run by default
SETTLED_AFTER = 100  # records in a row that changed no verdict


class Search(BaseModel, frozen=True, extra="forbid"):
    """A completed search."""

    source: SourceName
    query: str
    """As asked, before the source rewrote it."""
    status: Status
    read: int
    hits: int
    """Hits reported by the source; 0 if a later page does not repeat it."""


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


def progress(searches: Sequence[Search], pool: Iterable[Evidence], most: int) -> Progress:
    """Count the records read of a pool without duplicates, and list the queries with hits left.

    Args:
        searches: all so far.
        pool: all records.
        most: requested depth in records.
    """
    read, hits, widest = Counter[tuple[str, SourceName]](), dict[tuple[str, SourceName], int](), dict[str, int]()
    ended = {(each.query, each.source) for each in searches if not each.read}  # failed, or ended early
    for each in searches:
        if (kind := gives(each.source)) in STUDIES:
            read[each.query, each.source] += each.read
            hits[each.query, each.source] = max(hits.get((each.query, each.source), 0), each.hits)
            widest[kind] = max(widest.get(kind, 0), each.hits)  # sources of one kind find mostly the same records
    studies = sum(kind_of(record) in STUDIES for record in pool)
    unread = dict.fromkeys(key[0] for key, found in hits.items() if found > read[key] and key not in ended)
    return Progress(read=studies, hits=max(sum(widest.values()), studies), most=most, unread=list(unread))


def verdicts(candidates: Iterable[Candidate]) -> dict[str, str]:
    """Return the verdict on each drug that has one; while these change, reading still pays."""
    return {candidate.drug: candidate.appraisal.quality for candidate in candidates if candidate.has_verdict}
