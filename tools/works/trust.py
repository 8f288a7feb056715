"""Checks cited records for retraction, expressions of concern and corrections.

PubMed, Europe PMC, Crossref (with Retraction Watch) and OpenAlex are queried about every record; any one of them is
enough to flag it. A record on which no source answered counts as not checked, never as clean.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from ..http.transport import Transport
from ..records import FLAGS, Flag, Paper, SaidNotice
from ..records.card import PAPERS
from ..records.evidence import Evidence
from ..records.registry import given_by, kind_of, title_of
from ..sources.lookups import gather_answers
from ..sources.studies import crossref, openalex
from ..sources.studies.europepmc import by_numbers
from ..sources.studies.pubmed import IDS_PER_FETCH, PubMed
from ..wording import listed

DEADLINE_S = 20.0  # per source; all are queried at once
_MOST_REASONS = 4
_KINDS: dict[str, Flag] = {"retraction": "retracted", "concern": "expression_of_concern", "correction": "corrected"}


class TrustState(StrEnum):
    """Retraction status of a record, worst first."""

    RETRACTED = "retracted"
    CONCERN = "concern"
    CORRECTED = "corrected"
    CLEAN = "checked-clean"
    """At least one source answered, and none raised a flag."""
    UNCHECKED = "could not check"
    """No source answered for this record."""


_STATES = dict(zip(FLAGS, TrustState, strict=False))
_WORDS = {
    TrustState.RETRACTED: "retracted",
    TrustState.CONCERN: "under an expression of concern",
    TrustState.CORRECTED: "corrected since",
}


class Word(NamedTuple):
    """One source's answer on one record."""

    flags: frozenset[Flag] = frozenset()
    notices: Sequence[SaidNotice] = ()
    cited_by_count: int | None = None


class TrustReply(NamedTuple):
    """One source's answers on the requested records, by their keys."""

    source: str
    words: Mapping[str, Word]
    unanswered: Mapping[str, str]
    """Why others have none: `source: why`."""


async def check_trust(
    records: Sequence[Evidence], transport: Transport, *, deadline_s: float = DEADLINE_S
) -> list[Evidence]:
    """Check the publications that a report cites; a failing source raises no error.

    Args:
        records: trials, drugs and diseases among them are returned unchanged.
        transport: sends the requests.
        deadline_s: seconds per source; records without an answer by then count as not checked with it.

    Returns:
        The records in their order. Publications have `trust_state`, `trust_checked` (sources that answered for the
        record), `trust_flagged` (by flag, the sources that raise it), `trust_unanswered`, `trust_notices` and the flags
        `retracted`, `expression_of_concern` and `corrected`, true if any source raises them.
    """
    papers = [record for record in records if is_paper(record)]
    replies = await asyncio.gather(*(_ask(name, papers, transport, deadline_s) for name in _SOURCES if papers))
    return [_judge(record, replies) if is_paper(record) else record for record in records]


def is_paper(record: Evidence) -> bool:
    """Whether a record is a publication that can be looked up: it has a PMID or DOI and is not a trial or drug."""
    if kind_of(record) not in PAPERS or record.record.nct_id:
        return False
    return bool(record.record.pmid or record.record.doi)


def _judge(record: Evidence, replies: Sequence[TrustReply]) -> Evidence:
    words = {reply.source: reply.words[record.key] for reply in replies if record.key in reply.words}
    raised = flags_of(record).union(*(word.flags for word in words.values()))
    state = next((_STATES[name] for name in FLAGS if name in raised), None)
    before = record.paper.trust_flagged if record.paper else None
    flagged: dict[Flag, set[str]] = {}
    for name in FLAGS:
        flagged[name] = {source for source, word in words.items() if name in word.flags}
        if before is not None:
            flagged[name].update(before.get(name, ()))
        elif name in flags_of(record):  # the flag came with the record
            flagged[name].add(given_by(record.citation.source))
    notices: list[Any] = []
    for word in words.values():
        notices += word.notices
    fields: dict[str, Any] = {
        "trust_state": str(state or (TrustState.CLEAN if words else TrustState.UNCHECKED)),
        "trust_checked": sorted(words),
        "trust_flagged": {name: sorted(sources) for name, sources in flagged.items() if sources},
        "trust_unanswered": [reply.unanswered[record.key] for reply in replies if record.key in reply.unanswered],
        "trust_notices": notices,
    }
    for name in FLAGS:
        if words or name in raised:
            fields[name] = name in raised
    counts = [record.paper.cited_by_count if record.paper else None, *(word.cited_by_count for word in words.values())]
    reported = [count for count in counts if count is not None]
    if reported:
        fields["cited_by_count"] = max(reported)
    return record.noting(**fields)


def retraction_note(record: Evidence) -> str:
    """Name the retracted record and the sources: `pmid:1 "Title" (PubMed; notice doi:10.…, 2014-03-01)`."""
    paper = record.paper
    flagged = paper.trust_flagged if paper else None
    sources = (flagged or {}).get("retracted") or (record.citation.source,)
    flagged_by = [title_of(name) for name in _SOURCES if name in sources] or list(sources)
    notices = [notice for notice in (paper and paper.trust_notices) or () if notice.get("kind") == "retraction"]
    references: list[str] = []
    for notice in notices:
        doi = f"doi:{notice['doi']}" if notice.get("doi") else None
        places = list(filter(None, (doi, notice.get("date"))))
        references += [f"notice {', '.join(places)}"] if places else []
    return f'{record.key} "{record.citation.title}" ({"; ".join([listed(flagged_by), *references])})'


def is_unchecked(record: Evidence) -> bool:
    """Whether no source could be reached to check a publication; false for trials and drugs."""
    paper = record.paper
    if paper is None or not is_paper(record):
        return False
    return paper.trust_state == TrustState.UNCHECKED if paper.trust_state else paper.retracted is None


def trust_summary(records: Iterable[Evidence], *, in_library: bool = False) -> str:
    """Summarise the check in one to three sentences for a report; empty if nothing was checked.

    `in_library` means that a local library answered in the sources' place, which lacks later notices.
    """
    every = [record.paper for record in records if record.paper]
    papers = [paper for paper in every if paper.trust_state]
    if not papers:
        return ""
    unchecked = [paper for paper in papers if paper.trust_state == TrustState.UNCHECKED]
    checked: set[str] = set()
    for paper in papers:
        checked.update(paper.trust_checked or ())
    sources = [title_of(name) for name in _SOURCES if name in checked]
    if in_library and sources:
        sources = ["the local library alone, which may lack later notices"]
    counts = Counter(paper.trust_state for paper in papers)
    flagged = listed([f"{counts[state]} {words}" for state, words in _WORDS.items() if counts[state]])
    line = (
        f"{len(papers) - len(unchecked)} of {len(papers)} publications behind the candidates were checked for "
        "retraction, expression of concern and correction"
    )
    line += f" with {listed(sources)}; {flagged or 'none of them is flagged'}." if sources else "."
    if unchecked:
        line += f" {len(unchecked)} could not be checked ({'; '.join(_list_reasons(unchecked))})."
    partly = [p for p in papers if p.trust_state != TrustState.UNCHECKED and p.trust_unanswered]
    if partly:
        line += f" {len(partly)} of them not by every source ({'; '.join(_list_reasons(partly))})."
    return line


def _list_reasons(papers: Iterable[Paper]) -> list[str]:
    reasons: dict[str, None] = {}
    for paper in papers:
        reasons |= dict.fromkeys(paper.trust_unanswered or ())
    lines: list[str] = []
    for reason in reasons:
        name, colon, why = reason.partition(": ")
        lines.append(f"{title_of(name)}{colon}{why}")
    return lines[:_MOST_REASONS] or ["no source was asked"]


async def _ask(source: str, papers: Sequence[Evidence], transport: Transport, deadline_s: float) -> TrustReply:
    how = _SOURCES[source]
    name_by_key: dict[str, str] = {}
    own_words: dict[str, Word] = {}  # of a merged record, only the first source's flags are certain to be current
    for paper in papers:
        names = [f"{kind}:{getattr(paper.record, kind)}" for kind in how.kinds if getattr(paper.record, kind)]
        if names:
            name_by_key[paper.key] = names[0]
        if given_by(paper.citation.source) == source and paper.paper and paper.paper.retracted is not None:
            own_words[paper.key] = Word(flags_of(paper))
    missing = list(dict.fromkeys(name for key, name in name_by_key.items() if key not in own_words))
    answers: dict[str, Word] = {}
    failure = "does not list it"

    async def ask(start: int) -> None:
        answers.update(await how.ask(missing[start : start + how.at_once], transport))

    try:
        async with asyncio.timeout(deadline_s) as clock:
            _, failures = await gather_answers(map(ask, range(0, len(missing[: how.most]), how.at_once)))
        if failures:
            failure = failures[0].reason
        elif transport.endpoints.library is not None:
            failure = "not checked offline"
        elif how.most is not None and len(missing) > how.most:
            failure = f"asked about the first {how.most} records alone"
    except TimeoutError:
        if not clock.expired():
            raise
        failure = f"no answer within {deadline_s:.3g} s"
    words = {key: answers[name] for key, name in name_by_key.items() if name in answers} | own_words
    unanswered = {key: f"{source}: {failure}" for key in name_by_key if key not in words}
    return TrustReply(source, words, unanswered)


def flags_of(record: Evidence) -> frozenset[Flag]:
    return record.paper.flags if record.paper else frozenset()


async def _ask_pubmed(names: Sequence[str], transport: Transport) -> Mapping[str, Word]:
    fetched = await PubMed(transport).papers(*(name.removeprefix("pmid:") for name in names))
    return {f"pmid:{record.record.pmid}": Word(flags_of(record)) for record in fetched.records}


async def _ask_europepmc(names: Sequence[str], transport: Transport) -> Mapping[str, Word]:
    words: dict[str, Word] = {}
    for record in await by_numbers(names, transport):
        paper = record.paper
        if paper and paper.retracted is not None:
            word = Word(paper.flags, cited_by_count=paper.cited_by_count)
            words |= {f"pmid:{paper.pmid}": word, f"doi:{paper.doi}": word}
    return words


async def _ask_crossref(names: Sequence[str], transport: Transport) -> Mapping[str, Word]:
    words: dict[str, Word] = {}
    updates = await crossref.fetch_updates([name.removeprefix("doi:") for name in names], transport)
    for doi, update in updates.items():
        flags = {_KINDS[notice["kind"]] for notice in update.notices if notice["kind"] in _KINDS}
        if "retracted" in flags and not update.retracted:  # reinstated, which leaves the record corrected
            flags = flags - {"retracted"} | {"corrected"}
        words[f"doi:{doi}"] = Word(frozenset(flags), update.notices)
    return words


async def _ask_openalex(names: Sequence[str], transport: Transport) -> Mapping[str, Word]:
    [name] = names
    publication = await openalex.fetch_work(name.removeprefix("doi:"), transport)
    if publication is None or publication.is_retracted is None:
        return {}
    flags: frozenset[Flag] = frozenset({"retracted"} if publication.is_retracted else ())
    return {name: Word(flags, cited_by_count=publication.cited_by_count)}


class _TrustSource(NamedTuple):
    """How a source is asked about publications."""

    kinds: tuple[Literal["pmid", "doi"], ...]
    """Identifiers that it knows them by."""
    ask: Callable[[Sequence[str], Transport], Awaitable[Mapping[str, Word]]]
    at_once: int
    """Publications per request."""
    most: int | None = None
    """Publications per call; None for all."""


_SOURCES: Mapping[str, _TrustSource] = {
    "pubmed": _TrustSource(("pmid",), _ask_pubmed, IDS_PER_FETCH),
    "europepmc": _TrustSource(("pmid", "doi"), _ask_europepmc, 40),  # keeps the URL below 2,000 bytes
    "crossref": _TrustSource(("doi",), _ask_crossref, crossref.DOIS_PER_REQUEST),
    "openalex": _TrustSource(("doi",), _ask_openalex, 1, most=40),
}
