"""How far the reading has come, and when to stop it.

Sources rank by relevance, so records that change a verdict come early and then thin out. Reading goes on page by page,
and stops where the depth that was asked for is reached, where everything is read, or where the last `SETTLED_AFTER`
records changed no verdict: the rule by which people who screen ranked records stop after a run without a find
(Callaghan and Müller-Hansen 2020, https://doi.org/10.1186/s13643-020-01521-4, who show what such runs can miss). It
promises no recall; a report that stopped says of how many hits it read how many.
"""

from collections.abc import Iterable, Sequence

from pydantic import BaseModel, Field

from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.evidence import Evidence, SourceName
from willowbark.tools.registry import gives, kind_of
from willowbark.tools.search import Status
from willowbark.tools.sources.card import STUDIES

STANDARD = 300  # publications and trials of a run of which nothing else is said
SETTLED_AFTER = 100  # records in a row that changed no verdict


class Search(BaseModel, frozen=True, extra="forbid"):
    """A search that was made."""

    source: SourceName
    query: str
    """As it was asked, before the source put it into its own words."""
    status: Status
    read: int
    """Records that came."""
    hits: int
    """Records that the source says it has; 0 where a later page does not say it again."""


class Progress(BaseModel, frozen=True, extra="forbid"):
    """What was read of what was found."""

    read: int = Field(default=0, ge=0)
    """Publications and trials, each once."""
    hits: int = Field(default=0, ge=0)
    """Publications and trials that the widest searches found; at least those that were read."""
    most: int = Field(default=STANDARD, ge=1)
    """Records of the depth that was asked for."""
    unchanged: int = Field(default=0, ge=0)
    """Records read since a verdict on a drug last changed."""
    unread: list[str] = []
    """Queries of which a source has further hits."""

    @property
    def is_settled(self) -> bool:
        """Whether so many records changed no verdict that further ones are unlikely to."""
        return self.unchanged >= SETTLED_AFTER

    @property
    def is_deep(self) -> bool:
        """Whether as much is read as the depth allows."""
        return self.read >= self.most

    @property
    def has_ended(self) -> bool:
        """Whether hits are left unread by rule."""
        return bool(self.unread) and not self.goes_on

    @property
    def goes_on(self) -> bool:
        """Whether another page may be read."""
        return bool(self.unread) and not self.is_settled and not self.is_deep

    @property
    def said(self) -> str:
        """How much was read of what was found.

        >>> Progress(read=300, hits=770).said, Progress(read=12, hits=12).said, Progress().said
        ('300 of 770 hits were read', 'all 12 hits were read', 'there were no hits')
        """
        if not self.hits:
            return "there were no hits"
        if self.hits == 1:
            return "the only hit was read"
        return f"{'all' if self.read >= self.hits else f'{self.read:,} of'} {self.hits:,} hits were read"


def progress(searches: Sequence[Search], pool: Iterable[Evidence], most: int, unchanged: int) -> Progress:
    """Count what was read, and name what is left of it.

    Args:
        searches: all so far.
        pool: all records, united.
        most: records of the depth asked for.
        unchanged: records read since a verdict last changed.
    """
    read: dict[tuple[str, SourceName], int] = {}
    hits: dict[tuple[str, SourceName], int] = {}
    ended = set[tuple[str, SourceName]]()
    for search in searches:
        if gives(search.source) not in STUDIES:
            continue
        key = search.query, search.source
        read[key] = read.get(key, 0) + search.read
        hits[key] = max(hits.get(key, 0), search.hits)
        if not search.read:  # failed, or gave out before its count was reached
            ended.add(key)
    widest: dict[str, int] = {}  # sources of one kind find mostly the same records
    for (_, source), found in hits.items():
        widest[gives(source)] = max(widest.get(gives(source), 0), found)
    studies = sum(kind_of(record) in STUDIES for record in pool)
    unread = [
        query for (query, source), found in hits.items() if found > read[query, source] and (query, source) not in ended
    ]
    return Progress(
        read=studies,
        hits=max(sum(widest.values()), studies),
        most=most,
        unchanged=unchanged,
        unread=list(dict.fromkeys(unread)),
    )


def verdicts(candidates: Iterable[Candidate]) -> dict[str, str]:
    """What stands on each drug that has a verdict: what changes when reading still pays."""
    return {candidate.drug: candidate.appraisal.quality for candidate in candidates if candidate.has_verdict}
