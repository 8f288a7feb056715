"""The search log as readers need it: what each source was asked in all, and each query once with every answer to it."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from willowbark.agents.report.model import NOT_REPORTED, SearchLogEntry
from willowbark.tools.evidence import SOURCE_TITLES


class SourceAsked(NamedTuple):
    """One source's share of the search."""

    title: str
    searches: int
    failed: int
    """Searches that it gave no answer to."""
    hits: int
    """That it reports, all searches together; a record can be a hit of several."""
    taken: int
    filters: str
    """Every limit that was sent, in its own words."""
    first: datetime | None
    last: datetime | None
    """When it was asked; None where nobody noted it."""


class QueryAsked(NamedTuple):
    """One query, with the answers in the order in which they came."""

    query: str
    answers: tuple[SearchLogEntry, ...]


def by_source(log: Iterable[SearchLogEntry]) -> list[SourceAsked]:
    """The log by source, in the order in which they were first asked."""
    found: dict[str, list[SearchLogEntry]] = {}
    for entry in log:
        found.setdefault(entry.source, []).append(entry)
    return [_source(source, entries) for source, entries in found.items()]


def by_query(log: Iterable[SearchLogEntry]) -> list[QueryAsked]:
    """The log by query, in the order in which they were first sent."""
    found: dict[str, list[SearchLogEntry]] = {}
    for entry in log:
        found.setdefault(entry.query, []).append(entry)
    return [QueryAsked(query, tuple(entries)) for query, entries in found.items()]


def _source(source: str, entries: Sequence[SearchLogEntry]) -> SourceAsked:
    times = [entry.asked_at for entry in entries if entry.asked_at is not None]
    return SourceAsked(
        title=source_title(source),
        searches=len(entries),
        failed=sum(entry.status in ("unavailable", "bad_query") for entry in entries),
        hits=sum(entry.found for entry in entries),
        taken=sum(entry.taken for entry in entries),
        filters="; ".join(dict.fromkeys(filters_in_words(entry) for entry in entries)),
        first=min(times, default=None),
        last=max(times, default=None),
    )


def filters_in_words(entry: SearchLogEntry) -> str:
    """The limits of one search: `sort=relevance, retmax=10`; `none` where there were none."""
    if entry.filters is None:
        return NOT_REPORTED
    return ", ".join(f"{name}={value}" for name, value in entry.filters.items()) or "none"


def source_title(source: str) -> str:
    """A source's name as people write it.

    >>> source_title("clinicaltrials"), source_title("mine")
    ('ClinicalTrials.gov', 'mine')
    """
    return SOURCE_TITLES.get(source, source)
