"""Trust: was a cited record retracted, put in doubt or corrected since it appeared?

PubMed, Europe PMC, Crossref (with Retraction Watch) and OpenAlex are asked about every record; any one of
them is enough to flag it. A record that nobody could be asked about is not clean: it could not be checked.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from ..evidence import Evidence
from ..http.transport import Transport
from ..records import Noted, Paper
from ..records.parts import FLAGS, SaidNotice
from ..registry import given_by, kind_of, title_of
from ..sources.card import PAPERS
from ..sources.studies.crossref import Notice
from .trust_lookup import Answer, Word, answers, flags_of

MAX_RECORDS = 200  # a call; a report cites a few dozen
DEADLINE_S = 20.0  # for each source; all are asked at once
_ASKED = ("pubmed", "europepmc", "crossref", "openalex")
_REASONS_SHOWN = 4


class TrustState(StrEnum):
    """What is known of a record's standing, worst first."""

    RETRACTED = "retracted"
    CONCERN = "concern"
    CORRECTED = "corrected"
    CLEAN = "checked-clean"
    """At least one source answered, and none says anything against it."""
    UNCHECKED = "could not check"
    """No source answered for this record."""


_STATES = dict(zip(FLAGS, TrustState, strict=False))
_WORDS = {
    TrustState.RETRACTED: "retracted",
    TrustState.CONCERN: "under an expression of concern",
    TrustState.CORRECTED: "corrected since",
}


async def check_trust(
    records: Sequence[Evidence], transport: Transport, *, deadline_s: float = DEADLINE_S
) -> list[Evidence]:
    """Check the records that a report cites; never raises for a source that fails.

    Args:
        records: publications are checked; trials, drugs and diseases come back as they are.
        transport: the way out.
        deadline_s: seconds for each source; what it has not said by then counts as not checked with it.

    Returns:
        The records in their order. Publications have in their metadata `trust_state` (a `TrustState`), `trust_checked`
        (sources that answered for the record), `trust_flagged` (by flag, the sources that raise it),
        `trust_unanswered` (`source: why` for those that did not answer), `trust_notices` (kind, DOI, date and source of
        each notice, as far as given) and the flags `retracted`, `expression_of_concern` and `corrected`, true where any
        source raises them.
    """
    papers = [record for record in records if is_paper(record)]
    checked = papers[:MAX_RECORDS]
    said = await answers(checked, transport, deadline_s) if checked else []
    beyond = {record.key for record in papers[MAX_RECORDS:]} - {record.key for record in checked}
    return [_judged(record, said, record.key in beyond) if is_paper(record) else record for record in records]


def is_paper(record: Evidence) -> bool:
    """Whether a record is a publication that can be looked up: it has a PMID or a DOI, and is no trial or drug."""
    if kind_of(record) not in PAPERS or record.record.nct_id:
        return False
    return bool(record.record.pmid or record.record.doi)


def _judged(record: Evidence, said: Sequence[Answer], beyond: bool) -> Evidence:
    words = {answer.source: answer.words[record.key] for answer in said if record.key in answer.words}
    raised = flags_of(record).union(*(word.flags for word in words.values()))
    state = next((_STATES[name] for name in FLAGS if name in raised), None)
    unanswered = [answer.reason() for answer in said if record.key in answer.asked and answer.source not in words] or (
        [f"more than {MAX_RECORDS} records were to be checked"] if beyond else []
    )
    found: Noted = {
        "trust_state": str(state or (TrustState.CLEAN if words else TrustState.UNCHECKED)),
        "trust_checked": sorted(words),
        "trust_flagged": _raised_by(record, words),
        "trust_unanswered": unanswered,
        "trust_notices": [_told(notice) for word in words.values() for notice in word.notices],
    }
    for name in FLAGS:
        if words or name in raised:
            found[name] = name in raised
    if notice_of := sorted({doi for word in words.values() for doi in word.notice_of}):
        found["notice_of"] = notice_of
    counts = [record.paper.cited_by_count if record.paper else None, *(word.cited_by_count for word in words.values())]
    if known := [count for count in counts if count is not None]:
        found["cited_by_count"] = max(known)
    return record.noting(**found)


def _raised_by(record: Evidence, words: Mapping[str, Word]) -> dict[str, list[str]]:
    """The sources that raise each flag; the record's own source where it came with one."""
    own = given_by(record.citation.source)
    found = {name: {source for source, word in words.items() if name in word.flags} for name in FLAGS}
    before = record.paper.trust_flagged if record.paper else None
    for name in FLAGS:
        if before is not None:
            found[name].update(before.get(name, ()))
        elif name in flags_of(record):
            found[name].add(own)
    return {name: sorted(sources) for name, sources in found.items() if sources}


def retraction_note(record: Evidence) -> str:
    """Which record was retracted, and who says so: `pmid:1 "Title" (PubMed; notice doi:10.…, 2014-03-01)`."""
    paper = record.paper
    flagged = paper.trust_flagged if paper else None
    sources = (flagged or {}).get("retracted") or (record.citation.source,)
    said_by = [title_of(name) for name in _ASKED if name in sources] or list(sources)
    notices = [each for each in (paper and paper.trust_notices) or () if each.get("kind") == "retraction"]
    told = [
        "notice " + ", ".join(filter(None, (f"doi:{each['doi']}" if each.get("doi") else None, each.get("date"))))
        for each in notices
        if each.get("doi") or each.get("date")
    ]
    return f'{record.key} "{record.citation.title}" ({"; ".join([_listed(said_by), *told])})'


def is_unchecked(record: Evidence) -> bool:
    """Whether no source could be asked if a publication still stands; false for trials and drugs."""
    paper = record.paper
    if paper is None or not is_paper(record):
        return False
    return paper.trust_state == TrustState.UNCHECKED if paper.trust_state else paper.retracted is None


def _told(notice: Notice) -> SaidNotice:
    found = SaidNotice(kind=notice.kind)
    if notice.said_by:
        found["source"] = notice.said_by
    if notice.doi:
        found["doi"] = notice.doi
    if notice.date:
        found["date"] = notice.date
    return found


def trust_summary(records: Iterable[Evidence]) -> str:
    """How the check went, in one to three sentences for a report; empty where nothing was checked.

    Args:
        records: as `check_trust` gives them.
    """
    papers = [paper for record in records if (paper := record.paper) and paper.trust_state]
    if not papers:
        return ""
    unchecked = [paper for paper in papers if paper.trust_state == TrustState.UNCHECKED]
    sources = [title_of(name) for name in _ASKED if any(name in (paper.trust_checked or ()) for paper in papers)]
    counts = {state: sum(paper.trust_state == state for paper in papers) for state in _WORDS}
    flagged = _listed([f"{count} {_WORDS[state]}" for state, count in counts.items() if count])
    line = (
        f"{len(papers) - len(unchecked)} of {len(papers)} publications behind the candidates were checked for "
        "retraction, expression of concern and correction"
    )
    line += f" with {_listed(sources)}; {flagged or 'none of them is flagged'}." if sources else "."
    if unchecked:
        line += f" {len(unchecked)} could not be checked ({'; '.join(_reasons(unchecked))})."
    partly = [p for p in papers if p.trust_state != TrustState.UNCHECKED and p.trust_unanswered]
    if partly:
        line += f" {len(partly)} of them not by every source ({'; '.join(_reasons(partly))})."
    return line


def _reasons(papers: Iterable[Paper]) -> list[str]:
    every = dict.fromkeys(reason for paper in papers for reason in paper.trust_unanswered or ())
    told = [f"{title_of(name)}{colon}{why}" for name, colon, why in (each.partition(": ") for each in every)]
    return told[:_REASONS_SHOWN] or ["no source was asked"]


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
