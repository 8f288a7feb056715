"""Which records may be one work, and what became of preprints.

Identifiers are the proof: what bioRxiv and medRxiv answer (`versions.settle` acts on it). Titles and authors that are
nearly the same only say which preprints are worth asking about, and which records a reader should compare.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ..errors import SearchError
from ..evidence import Evidence, surname
from ..http.transport import Transport
from ..lexicon.stemming import words
from ..records import Noted
from ..registry import kind_of
from ..sources.card import PAPERS
from ..sources.publications import PREPRINT_MARK
from ..sources.studies.biorxiv import is_theirs, published_version
from ..sources.studies.europepmc import by_numbers
from .versions import later_names, names_of

TITLE_SCORE = 88.0  # of 100: titles gain and lose a subtitle on their way to print
_SHARED_WORDS = 0.5  # of the longer title: none of 60 million pairs of real titles that are so alike shared fewer
RESOLVE_LIMIT = 6  # preprints a call, one or two requests each, one a second
DEADLINE_S = 12.0  # for all of them
_AT_ONCE = 3
_NO_ANSWER = "bioRxiv and medRxiv gave no answer in time"


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two publications that may be one work; no proof."""

    one: str
    """The key of one, of the preprint where there is one."""
    other: str
    """The key of the other."""
    title_score: float
    """0 to 100."""
    shared_authors: tuple[str, ...]
    """Surnames, in lower case; empty where either record names no authors."""


def propose(pool: Sequence[Evidence]) -> list[Proposal]:
    """Publications of a pool that look like one work, the most alike first.

    Titles must be nearly the same; where both name authors, at least one surname must be shared. Versions that
    identifiers join are no proposal once `settle` has united them.
    """
    studies = filter(_is_study, pool)
    publications = [(record, {*_words(record.citation.title)}, _surnames(record)) for record in studies]
    found = []
    for place, (one, title, authors) in enumerate(publications):
        for other, other_title, other_authors in publications[place + 1 :]:
            shared = authors & other_authors
            if (one.is_preprint and other.is_preprint) or (authors and other_authors and not shared):
                continue
            if len(title & other_title) < _SHARED_WORDS * max(len(title), len(other_title)):
                continue
            if (score := title_score(one.citation.title, other.citation.title)) >= TITLE_SCORE:
                first, second = sorted((one, other), key=lambda record: (not record.is_preprint, record.key))
                found.append(Proposal(first.key, second.key, score, tuple(sorted(shared))))
    return sorted(found, key=lambda each: (-each.title_score, -len(each.shared_authors), each.one, each.other))


def title_score(one: str, other: str) -> float:
    """How alike two titles are, 0 to 100; case, punctuation, the preprint mark and the order of words do not count.

    >>> title_score("Statins in Fever: A Trial", "statins in fever - a trial.")
    100.0
    """
    first, second = sorted(" ".join(_words(title)) for title in (one, other))  # the same, whichever comes first
    return round(100 * SequenceMatcher(None, first, second, autojunk=False).ratio(), 1)


def _words(title: str) -> list[str]:
    return sorted(words(title.removeprefix(PREPRINT_MARK)))


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
    likely = {proposal.one for proposal in propose(pool)}
    open_ones = [record for record in pool if _is_open(record)]
    asked = sorted(open_ones, key=lambda record: record.key not in likely)[: max(0, limit)]
    turns = asyncio.Semaphore(_AT_ONCE)
    found: dict[str, Noted] = {}

    async def one(record: Evidence) -> None:
        async with turns:
            found[record.key] = {"published_version_unknown": _NO_ANSWER}
            try:
                version = await published_version(record.record.doi or "", transport)
            except SearchError:
                return
        found[record.key] = {"published_version": version.published_doi} if version else {}

    try:
        async with asyncio.timeout(deadline_s) as clock:
            await asyncio.gather(*map(one, asked))
    except TimeoutError:
        if not clock.expired():
            raise
    return [record.noting(**found[record.key]) if found.get(record.key) else record for record in pool]


async def published_articles(
    preprints: Sequence[Evidence], pool: Sequence[Evidence], transport: Transport
) -> list[Evidence]:
    """Fetch the articles that preprints became, where the pool lacks them; one request at most.

    Args:
        preprints: as `resolve` gives them.
        pool: everything that is known.
        transport: the way out.

    Returns:
        The articles, as relevant as their preprints and with `fetched_as` in their metadata; none where Europe PMC
        knows none or gives no answer.
    """
    known = {name for record in pool for name in names_of(record)}
    wanted: dict[str, float] = {}
    for record in preprints:
        names = later_names(record)
        if names and not known.intersection(names):
            wanted[names[0]] = max(record.relevance, wanted.get(names[0], 0.0))
    asked = list(wanted)[:RESOLVE_LIMIT]
    if not asked:
        return []
    try:
        given = await by_numbers(asked, transport)
    except SearchError:
        return []
    found = []
    for record in given:
        name = next((name for name in asked if name in names_of(record)), None)
        if name is not None and not record.is_preprint:
            noted = record.noting(fetched_as="published version")
            found.append(noted.model_copy(update={"relevance": wanted[name]}))
    return found


def _is_open(record: Evidence) -> bool:
    resolved = record.paper is not None and record.paper.published_version is not None
    return record.is_preprint and not resolved and is_theirs(record.record.doi)


def _is_study(record: Evidence) -> bool:
    """Whether it is a publication of its own: no trial's, drug's or disease's record, and no notice."""
    return kind_of(record) in PAPERS and not record.record.nct_id


def _surnames(record: Evidence) -> frozenset[str]:
    """`Surname AB` without its initials, in lower case."""
    names = map(surname, record.citation.authors)
    return frozenset(name.strip().lower() for name in names if name.strip())
