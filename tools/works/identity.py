"""Which records belong together: versions of a publication, notices on it, papers and trials by NCT number.

Later versions replace earlier ones, an article its preprint. The identifiers from PubMed, Europe PMC, bioRxiv and
medRxiv decide. A notice of retraction, concern or correction on another record is noted on that record.
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import SearchError
from ..http.reply import without_repeats
from ..http.transport import Transport
from ..records import FLAGS, Reference
from ..records.card import PAPERS
from ..records.evidence import Evidence, checked_identifier
from ..records.registry import kind_of
from ..sources.publications import trial_numbers
from ..sources.studies.biorxiv import published_version, their_number
from ..sources.studies.europepmc import by_numbers

RESOLVE_LIMIT = 6  # preprints per call, one or two requests each, one per second
DEADLINE_S = 12.0  # for all of them
_NO_ANSWER = "bioRxiv and medRxiv gave no answer in time"


async def resolve(
    pool: Sequence[Evidence], transport: Transport, limit: int = RESOLVE_LIMIT, *, deadline_s: float = DEADLINE_S
) -> list[Evidence]:
    """Look up on bioRxiv and medRxiv whether the first `limit` preprints were published.

    Returns:
        The pool in its order; published preprints have `published_version`. One whose look-up failed, or took longer
        than `deadline_s` for all of them, has `published_version_unknown`: why.
    """
    unsettled = [record for record in pool if record.is_preprint and their_number(record.record.doi)]
    unsettled = [record for record in unsettled if record.paper is None or record.paper.published_version is None]
    asked = unsettled[: max(0, limit)]
    found: dict[str, dict[str, Any]] = {record.key: {"published_version_unknown": _NO_ANSWER} for record in asked}

    async def one(record: Evidence) -> None:
        with contextlib.suppress(SearchError):
            version = await published_version(record.record.doi or "", transport)
            found[record.key] = {"published_version": version} if version else {}

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(deadline_s):
            await asyncio.gather(*map(one, asked))
    return [record.noting(**found[record.key]) if found.get(record.key) else record for record in pool]


async def published_articles(
    preprints: Sequence[Evidence], pool: Sequence[Evidence], transport: Transport
) -> list[Evidence]:
    """Fetch the published articles of preprints that the pool lacks; at most one request.

    Args:
        preprints: as returned by `resolve`.
        pool: all known records.
        transport: sends the requests.

    Returns:
        The articles, with their preprints' relevance and `fetched_as`; empty if Europe PMC does not answer.
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


def settle(pool: Sequence[Evidence]) -> list[Evidence]:
    """Drop versions whose later version is in the pool, link them there, and copy notices to the records they concern.

    Returns:
        The other records in their order. Later records list their `preprint_versions` or, if they were peer-reviewed,
        `earlier_versions`. A record with a notice in the pool gets its flag, and the notice in `notices`.
    """
    known = {name: record.key for record in pool for name in names_of(record)}
    records = {record.key: record for record in pool}
    said = [(record.key, known[name]) for record in pool for name in later_names(record) if name in known]
    said += [
        (known[name], record.key)
        for record in pool
        for name in (record.paper.update_of if record.paper else ())
        if name in known
    ]
    later: dict[str, str] = {}  # the next version of each record, as either record states; never a preprint
    for key, heir in said:
        if key != heir and not records[heir].is_preprint:
            later.setdefault(key, heir)
    earlier: dict[str, list[Evidence]] = {}
    for key in later:
        chain = [key]
        while (following := later.get(chain[-1])) is not None and following not in chain:
            chain.append(following)
        if following is None:  # a cycle, which only faulty records create, merges nothing
            earlier.setdefault(chain[-1], []).append(records[key])
    gone = {record.key for group in earlier.values() for record in group}
    kept = [_add_versions(record, earlier.get(record.key, [])) for record in pool if record.key not in gone]
    return _add_notices(kept, known)


def names_of(record: Evidence) -> list[str]:
    """Return the names by which other records refer to it: PMID, DOI, PMCID, Europe PMC's preprint number."""
    names = sorted(name for name in record.identifiers if not name.startswith("url:"))
    return [*names, f"ppr:{record.paper.ppr_id}"] if record.paper and record.paper.ppr_id else names


def later_names(record: Evidence) -> list[str]:
    """Return the names of its later version, as given in its own record."""
    paper = record.paper
    version = paper.published_version if paper and record.is_preprint else None
    numbers = ((kind, checked_identifier(kind, version)) for kind in ("pmid", "doi"))
    return [*(f"{kind}:{number}" for kind, number in numbers if number), *(paper.updated_in if paper else ())]


def _add_versions(record: Evidence, versions: Sequence[Evidence]) -> Evidence:
    if not versions:
        return record
    preprints = list[Reference]()
    earlier = list[Reference]()
    for version in (record, *sorted(versions, key=lambda each: each.key)):
        if version is not record:
            said = version.citation
            entry = Reference(key=version.key, title=said.title, url=said.url, date=said.date)
            (preprints if version.is_preprint else earlier).append(entry)
        if version.paper:
            preprints += version.paper.preprint_versions
            earlier += version.paper.earlier_versions
    return record.noting(preprint_versions=without_repeats(preprints), earlier_versions=without_repeats(earlier))


def _add_notices(pool: Sequence[Evidence], known: Mapping[str, str]) -> list[Evidence]:
    said: dict[str, dict[tuple[str, str], Reference]] = {}
    for record in pool:
        for each in record.paper.notice_on if record.paper else ():
            target = known.get(each["name"])
            if target and target != record.key and each["flag"] in FLAGS:
                entry = Reference(flag=each["flag"], key=record.key, url=record.citation.url)
                said.setdefault(target, {})[record.key, each["flag"]] = entry
    noted = list[Evidence]()
    for record in pool:
        entries = list(said.get(record.key, {}).values())
        notices = without_repeats([*(record.paper.notices if record.paper else ()), *entries])
        flags = {each["flag"]: True for each in entries}
        noted.append(record.noting(**flags, notices=notices) if entries else record)
    return noted


def link(pool: Sequence[Evidence]) -> list[Evidence]:
    """Link papers and trials of a pool: `linked_trials` of papers and `linked_papers` of trials are sorted keys.

    A paper belongs to a trial if it names the trial's NCT number, or if the trial's record lists the paper's PMID as a
    result. Links are rebuilt from the records themselves, so a link to a record that has left the pool is dropped.
    """
    trials = {number: record.key for record in pool if (number := record.record.nct_id)}
    papers = {name: record.key for record in pool if not record.record.nct_id for name in record.identifiers}
    pairs = {(record.key, trials[number]) for record in pool for number in named_trials(record) if number in trials}
    pairs |= {
        (papers[f"pmid:{pmid}"], record.key)
        for record in pool
        if record.trial and record.record.nct_id
        for pmid in record.trial.result_pmids
        if f"pmid:{pmid}" in papers
    }
    linked = []
    for record in pool:
        links = {
            "linked_trials": sorted(trial for paper, trial in pairs if paper == record.key),
            "linked_papers": sorted(paper for paper, trial in pairs if trial == record.key),
        }
        is_known = all(getattr(record.record, name) == keys for name, keys in links.items())
        linked.append(record if is_known else record.noting(**links))
    return linked


def named_trials(record: Evidence) -> list[str]:
    """Return the trials that a paper names, in its registration or text; empty for a trial's or drug's own record."""
    if record.record.nct_id or kind_of(record) not in PAPERS:
        return []
    listed = record.paper.nct_ids if record.paper else ()
    return list(dict.fromkeys([*trial_numbers(*listed), *trial_numbers(record.content)]))
