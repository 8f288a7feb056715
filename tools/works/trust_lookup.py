"""Asking PubMed, Europe PMC, Crossref and OpenAlex what was later said of publications at hand.

All are asked at once, each within its own time; what a source said by then counts, and why it said no more is kept.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field

from ..errors import SearchError
from ..evidence import Evidence
from ..http.transport import Transport
from ..records.parts import Flag
from ..registry import given_by
from ..sources.studies import crossref, openalex
from ..sources.studies.europepmc import by_numbers
from ..sources.studies.pubmed import PubMed

MAX_OPENALEX = 40  # works a call, one request each
_IDS_PER_QUERY = 40  # keeps Europe PMC's URL below 2,000 bytes
_KINDS: dict[str, Flag] = {"retraction": "retracted", "concern": "expression_of_concern", "correction": "corrected"}


@dataclass(frozen=True, slots=True)
class Word:
    """What one source says of one record."""

    flags: frozenset[Flag] = frozenset()
    """What it raises."""
    notices: tuple[crossref.Notice, ...] = ()
    notice_of: tuple[str, ...] = ()
    """DOIs of the works that the record is itself a notice on."""
    cited_by_count: int | None = None


@dataclass(slots=True)
class Answer:
    """What one source says of the records that it was asked about, and why not of the others."""

    source: str
    asked: frozenset[str] = frozenset()
    """Keys of the records."""
    words: dict[str, Word] = field(default_factory=dict)
    """By key; records of `asked` that the source does not know are missing."""
    failure: str | None = None
    """Why it could not be asked about all; None where it was."""

    def reason(self) -> str:
        """Why a record has no word of this source."""
        return f"{self.source}: {self.failure or 'does not list it'}"


Ask = Callable[[Sequence[Evidence], Answer, Transport], Awaitable[None]]


async def answers(papers: Sequence[Evidence], transport: Transport, deadline_s: float) -> list[Answer]:
    """What every source says of publications.

    Args:
        papers: each has a PMID or a DOI.
        transport: the way out.
        deadline_s: seconds for each source.
    """
    asks: dict[str, Ask] = {
        "pubmed": _ask_pubmed,
        "europepmc": _ask_europepmc,
        "crossref": _ask_crossref,
        "openalex": _ask_openalex,
    }
    lookups = (_ask(ask, papers, Answer(source), transport, deadline_s) for source, ask in asks.items())
    return list(await asyncio.gather(*lookups))


async def _ask(ask: Ask, papers: Sequence[Evidence], answer: Answer, transport: Transport, deadline_s: float) -> Answer:
    """Let a source fill in its answer until its time is over."""
    given = {paper.key: Word(flags_of(paper)) for paper in papers if _given_by(paper, answer.source)}
    answer.asked, answer.words = frozenset(given), given
    try:
        async with asyncio.timeout(deadline_s) as clock:
            await ask([paper for paper in papers if paper.key not in given], answer, transport)
        if transport.endpoints.library is not None:
            answer.failure = "not checked offline"
    except TimeoutError:
        if not clock.expired():
            raise
        answer.failure = f"no answer within {deadline_s:.3g} s"
    except SearchError as error:
        answer.failure = error.reason
    return answer


def _given_by(paper: Evidence, source: str) -> bool:
    """Whether the source has just given the record with its flags; of a merged one, only the first has for sure."""
    said = paper.paper
    return given_by(paper.citation.source) == source and said is not None and said.retracted is not None


def flags_of(record: Evidence) -> frozenset[Flag]:
    """What is said against a record; nothing of one that is no paper."""
    return record.paper.flags if record.paper else frozenset()


def _by(numbers: Iterable[tuple[str | None, Evidence]]) -> dict[str, list[str]]:
    """The keys of the records of each PMID or DOI."""
    found: dict[str, list[str]] = {}
    for number, paper in numbers:
        if number:
            found.setdefault(number, []).append(paper.key)
    return found


def _by_pmid(papers: Sequence[Evidence]) -> dict[str, list[str]]:
    return _by((paper.record.pmid, paper) for paper in papers)


def _by_doi(papers: Sequence[Evidence]) -> dict[str, list[str]]:
    return _by((paper.record.doi, paper) for paper in papers)


def _note(answer: Answer, keys: dict[str, list[str]]) -> None:
    answer.asked |= {key for each in keys.values() for key in each}


async def _ask_pubmed(papers: Sequence[Evidence], answer: Answer, transport: Transport) -> None:
    keys = _by_pmid(papers)
    _note(answer, keys)
    if not keys:
        return
    fetched = await PubMed(transport).papers(*keys)
    for record in fetched.records:
        for key in keys.get(record.record.pmid or "", ()):
            answer.words[key] = Word(flags_of(record))


async def _ask_europepmc(papers: Sequence[Evidence], answer: Answer, transport: Transport) -> None:
    by_pmid = _by_pmid(papers)
    by_doi = _by_doi([paper for paper in papers if not paper.record.pmid])
    _note(answer, by_pmid)
    _note(answer, by_doi)

    async def one(names: Sequence[str]) -> None:
        for record in await by_numbers(names, transport):
            if (said := record.paper) and said.retracted is not None:
                for key in [*by_pmid.get(said.pmid or "", ()), *by_doi.get(said.doi or "", ())]:
                    answer.words[key] = Word(said.flags, cited_by_count=said.cited_by_count)

    names = [f"pmid:{pmid}" for pmid in by_pmid] + [f"doi:{doi}" for doi in by_doi]
    await _all_of(one(names[start : start + _IDS_PER_QUERY]) for start in range(0, len(names), _IDS_PER_QUERY))


async def _all_of(asked: Iterable[Awaitable[None]]) -> None:
    """Have all answered side by side, as fast as the source allows, before the first failure is raised."""
    failures = await asyncio.gather(*asked, return_exceptions=True)
    if failure := next((each for each in failures if isinstance(each, BaseException)), None):
        raise failure


async def _ask_crossref(papers: Sequence[Evidence], answer: Answer, transport: Transport) -> None:
    keys = _by_doi(papers)
    _note(answer, keys)
    dois = list(keys)

    async def one(start: int) -> None:
        found = await crossref.updates(dois[start : start + crossref.DOIS_PER_REQUEST], transport)
        for doi, said in found.items():
            for key in keys.get(doi, ()):
                answer.words[key] = Word(_flags(said), said.notices, said.notice_of)

    await _all_of(map(one, range(0, len(dois), crossref.DOIS_PER_REQUEST)))


def _flags(said: crossref.Updates) -> frozenset[Flag]:
    """A retraction that was taken back leaves the record corrected."""
    flags = {_KINDS[notice.kind] for notice in said.notices if notice.kind in _KINDS}
    if "retracted" in flags and not said.retracted:
        flags = flags - {"retracted"} | {"corrected"}
    return frozenset(flags)


async def _ask_openalex(papers: Sequence[Evidence], answer: Answer, transport: Transport) -> None:
    keys = _by_doi(papers)
    _note(answer, keys)
    turns = asyncio.Semaphore(4)

    async def one(doi: str) -> None:
        async with turns:
            said = await openalex.work(doi, transport)
        if said is not None and said.is_retracted is not None:
            flags: frozenset[Flag] = frozenset({"retracted"} if said.is_retracted else ())
            for key in keys[doi]:
                answer.words[key] = Word(flags, cited_by_count=said.cited_by_count)

    await _all_of(map(one, list(keys)[:MAX_OPENALEX]))
    if len(keys) > MAX_OPENALEX:
        answer.failure = f"asked about the first {MAX_OPENALEX} records alone"
