"""Preprints and the articles they became: the published version speaks, the preprint stays linked.

Identifiers are the proof: Europe PMC's and PubMed's `published_version`, and what bioRxiv and medRxiv answer. Titles
and authors that are nearly the same only say which preprints are worth asking about.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rapidfuzz import fuzz, utils

from .biorxiv import is_theirs, published_version
from .errors import SearchError
from .evidence import Evidence, checked_identifier
from .publications import PREPRINT_MARK
from .transport import Transport

TITLE_SCORE = 88.0  # of 100: titles gain and lose a subtitle on their way to print
RESOLVE_LIMIT = 10  # preprints a call, one or two requests each
DEADLINE_S = 20.0  # for all of them
_AT_ONCE = 3


@dataclass(frozen=True, slots=True)
class Proposal:
    """A preprint and an article that may be one work; no proof."""

    preprint: str
    """Its key."""
    article: str
    """Its key."""
    title_score: float
    """0 to 100."""
    shared_authors: tuple[str, ...]
    """Surnames, in lower case; empty where either record names no authors."""


def propose(pool: Sequence[Evidence]) -> list[Proposal]:
    """Preprints and articles of a pool that look like one work, the most alike first.

    Titles must be nearly the same; where both name authors, at least one surname must be shared.
    """
    preprints = [record for record in pool if record.is_preprint]
    articles = [record for record in pool if not record.is_preprint and _is_publication(record)]
    found = []
    for preprint in preprints:
        for article in articles:
            score = title_score(preprint.citation.title, article.citation.title)
            shared = _surnames(preprint) & _surnames(article)
            known = _surnames(preprint) and _surnames(article)
            if score >= TITLE_SCORE and (shared or not known):
                found.append(Proposal(preprint.key, article.key, score, tuple(sorted(shared))))
    return sorted(found, key=lambda each: (-each.title_score, -len(each.shared_authors), each.preprint, each.article))


def title_score(one: str, other: str) -> float:
    """How alike two titles are, 0 to 100; case, punctuation and the preprint mark do not count.

    >>> title_score("Statins in Fever: A Trial", "statins in fever - a trial.")
    100.0
    """
    plain = [utils.default_process(title.removeprefix(PREPRINT_MARK)) for title in (one, other)]
    return round(fuzz.token_sort_ratio(*plain), 1)


def settle(pool: Sequence[Evidence]) -> list[Evidence]:
    """Leave out preprints whose published version is in the pool, and link them there.

    Args:
        pool: records in any order, which is kept.

    Returns:
        The pool without those preprints; the articles have them in `preprint_versions` (key, title, URL, date). A
        preprint whose article is not in the pool stays, with `published_version` in its metadata where it is known.
    """
    articles = {name: record.key for record in pool if not record.is_preprint for name in record.identifiers}
    heirs: dict[str, list[Evidence]] = {}
    gone: set[str] = set()
    for record in pool:
        heir = next((articles[name] for name in _published(record) if name in articles), None)
        if heir is not None and heir != record.key:
            heirs.setdefault(heir, []).append(record)
            gone.add(record.key)
    return [_with_preprints(record, heirs.get(record.key, [])) for record in pool if record.key not in gone]


async def resolve(
    pool: Sequence[Evidence], transport: Transport, limit: int = RESOLVE_LIMIT, *, deadline_s: float = DEADLINE_S
) -> list[Evidence]:
    """Ask bioRxiv and medRxiv what became of their preprints, those with a likely article in the pool first.

    Args:
        pool: records in any order, which is kept.
        transport: the way out.
        limit: preprints to ask about, at most.
        deadline_s: seconds for all of them.

    Returns:
        The pool; preprints that were published have `published_version`. One that could not be asked about has
        `published_version_unknown`: why.
    """
    likely = {proposal.preprint for proposal in propose(pool)}
    open_ones = [record for record in pool if _is_open(record)]
    asked = sorted(open_ones, key=lambda record: record.key not in likely)[: max(0, limit)]
    turns = asyncio.Semaphore(_AT_ONCE)
    found: dict[str, dict[str, Any]] = {}

    async def one(record: Evidence) -> None:
        async with turns:
            found[record.key] = {"published_version_unknown": f"no answer within {deadline_s:.3g} s"}
            try:
                version = await published_version(record.metadata["doi"], transport)
            except SearchError as error:
                found[record.key] = {"published_version_unknown": error.reason}
                return
        found[record.key] = {"published_version": version.published_doi} if version else {}

    try:
        async with asyncio.timeout(deadline_s) as clock:
            await asyncio.gather(*map(one, asked))
    except TimeoutError:
        if not clock.expired():
            raise
    return [
        record.model_copy(update={"metadata": {**record.metadata, **found[record.key]}})
        if found.get(record.key)
        else record
        for record in pool
    ]


def _is_open(record: Evidence) -> bool:
    return record.is_preprint and not record.metadata.get("published_version") and is_theirs(record.metadata.get("doi"))


def _is_publication(record: Evidence) -> bool:
    return not record.metadata.get("record_type") and not record.metadata.get("nct_id")


def _published(record: Evidence) -> list[str]:
    """The names by which a preprint's article may be in the pool."""
    version = record.metadata.get("published_version") if record.is_preprint else None
    numbers = ((kind, checked_identifier(kind, version)) for kind in ("pmid", "doi"))
    return [f"{kind}:{number}" for kind, number in numbers if number]


def _with_preprints(record: Evidence, preprints: Sequence[Evidence]) -> Evidence:
    if not preprints:
        return record
    known = list(record.metadata.get("preprint_versions") or [])
    for preprint in sorted(preprints, key=lambda each: each.key):
        said = preprint.citation
        entry = {"key": preprint.key, "title": said.title, "url": said.url, "date": said.date}
        known += [entry] if entry not in known else []
    return record.model_copy(update={"metadata": {**record.metadata, "preprint_versions": known}})


def _surnames(record: Evidence) -> frozenset[str]:
    """`Surname AB` without its initials, in lower case."""
    names = (re.sub(r"(?:\s+[A-Z]{1,4})?(?:\s+(?:Jr|Sr|I{2,3}))?$", "", name) for name in record.citation.authors)
    return frozenset(name.strip().lower() for name in names if name.strip())
