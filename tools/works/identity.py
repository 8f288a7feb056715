"""Which records belong together: versions of a publication, notices on it, papers and trials by NCT number.

Later versions replace earlier ones, an article its preprint. The identifiers from PubMed, Europe PMC, bioRxiv and
medRxiv decide. A notice of retraction, concern or correction on another record is noted on that record.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import SearchError
from ..http.reply import without_repeats
from ..http.transport import Transport
from ..records import FLAGS, Reference
from ..records.card import PAPERS
from ..records.evidence import Evidence, checked_identifier
from ..records.registry import kind_of
from ..sources.publications import find_trial_numbers
from ..sources.studies.biorxiv import fetch_published_doi, parse_own_number
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
    unsettled = [record for record in pool if record.is_preprint and parse_own_number(record.record.doi)]
    unsettled = [record for record in unsettled if record.paper is None or record.paper.published_version is None]
    preprints = unsettled[: max(0, limit)]
    answers: dict[str, dict[str, Any]] = {record.key: {"published_version_unknown": _NO_ANSWER} for record in preprints}

    async def look_up(record: Evidence) -> None:
        with contextlib.suppress(SearchError):
            version = await fetch_published_doi(record.record.doi or "", transport)
            answers[record.key] = {"published_version": version} if version else {}

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(deadline_s):
            await asyncio.gather(*map(look_up, preprints))
    return [record.noting(**answers[record.key]) if answers.get(record.key) else record for record in pool]


async def fetch_published(
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
    pool_names = _group_by_name(pool)
    relevances: dict[str, float] = {}
    for record in preprints:
        names = list_later_names(record)
        if names and pool_names.keys().isdisjoint(names):
            relevances[names[0]] = max(record.relevance, relevances.get(names[0], 0.0))
    missing = list(relevances)[:RESOLVE_LIMIT]
    if not missing:
        return []
    try:
        replies = await by_numbers(missing, transport)
    except SearchError:
        return []
    articles = []
    for record in replies:
        own_names = list_names(record)
        name = next((name for name in missing if name in own_names), None)
        if name is not None and not record.is_preprint:
            article = record.noting(fetched_as="published version")
            articles.append(article.model_copy(update={"relevance": relevances[name]}))
    return articles


def _group_by_name(pool: Iterable[Evidence]) -> dict[str, str]:
    """Return the key of the record that each name names; of several the last."""
    keys: dict[str, str] = {}
    for record in pool:
        keys |= dict.fromkeys(list_names(record), record.key)
    return keys


def settle(pool: Sequence[Evidence]) -> list[Evidence]:
    """Drop versions whose later version is in the pool, link them there, and copy notices to the records they concern.

    Returns:
        The other records in their order. Later records list their `preprint_versions` or, if they were peer-reviewed,
        `earlier_versions`. A record with a notice in the pool gets its flag, and the notice in `notices`.
    """
    key_by_name = _group_by_name(pool)
    records = {record.key: record for record in pool}
    pairs: list[tuple[str, str]] = []  # an earlier version and a later one
    for record in pool:
        pairs += [(record.key, key_by_name[name]) for name in list_later_names(record) if name in key_by_name]
    for record in pool:
        earlier_names = record.paper.update_of if record.paper else ()
        pairs += [(key_by_name[name], record.key) for name in earlier_names if name in key_by_name]
    later: dict[str, str] = {}  # the next version of each record, as either record states; never a preprint
    for key, heir in pairs:
        if key != heir and not records[heir].is_preprint:
            later.setdefault(key, heir)
    earlier: dict[str, list[Evidence]] = {}
    for key in later:
        latest = _find_latest(key, later)
        if latest is not None:
            earlier.setdefault(latest, []).append(records[key])
    replaced = set[str]()
    for group in earlier.values():
        replaced.update(record.key for record in group)
    current = [_add_versions(record, earlier.get(record.key, [])) for record in pool if record.key not in replaced]
    return _add_notices(current, key_by_name)


def _find_latest(key: str, later: Mapping[str, str]) -> str | None:
    """Follow a record to its last version; None in a cycle, which only faulty records create: it merges nothing."""
    chain = [key]
    while chain[-1] in later:
        following = later[chain[-1]]
        if following in chain:
            return None
        chain.append(following)
    return chain[-1]


def list_names(record: Evidence) -> list[str]:
    """Return the names by which other records refer to it: PMID, DOI, PMCID, Europe PMC's preprint number."""
    names = sorted(name for name in record.identifiers if not name.startswith("url:"))
    return [*names, f"ppr:{record.paper.ppr_id}"] if record.paper and record.paper.ppr_id else names


def list_later_names(record: Evidence) -> list[str]:
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
    for version in (record, *sorted(versions, key=lambda other: other.key)):
        if version is not record:
            citation = version.citation
            entry = Reference(key=version.key, title=citation.title, url=citation.url, date=citation.date)
            (preprints if version.is_preprint else earlier).append(entry)
        if version.paper:
            preprints += version.paper.preprint_versions
            earlier += version.paper.earlier_versions
    return record.noting(preprint_versions=without_repeats(preprints), earlier_versions=without_repeats(earlier))


def _add_notices(pool: Sequence[Evidence], key_by_name: Mapping[str, str]) -> list[Evidence]:
    notices_of: dict[str, dict[tuple[str, str], Reference]] = {}
    for record in pool:
        for notice in record.paper.notice_on if record.paper else ():
            target = key_by_name.get(notice["name"])
            if target and target != record.key and notice["flag"] in FLAGS:
                entry = Reference(flag=notice["flag"], key=record.key, url=record.citation.url)
                notices_of.setdefault(target, {})[record.key, notice["flag"]] = entry
    noted = list[Evidence]()
    for record in pool:
        entries = list(notices_of.get(record.key, {}).values())
        notices = without_repeats([*(record.paper.notices if record.paper else ()), *entries])
        flags = {notice["flag"]: True for notice in entries}
        noted.append(record.noting(**flags, notices=notices) if entries else record)
    return noted


def link(pool: Sequence[Evidence]) -> list[Evidence]:
    """Link papers and trials of a pool: `linked_trials` of papers and `linked_papers` of trials are sorted keys.

    A paper belongs to a trial if it names the trial's NCT number, or if the trial's record lists the paper's PMID as a
    result. Links are rebuilt from the records themselves, so a link to a record that has left the pool is dropped.
    """
    trials: dict[str, str] = {}
    papers: dict[str, str] = {}
    for record in pool:
        if record.record.nct_id:
            trials[record.record.nct_id] = record.key
        else:
            papers |= dict.fromkeys(record.identifiers, record.key)
    pairs: set[tuple[str, str]] = set()  # a paper and a trial
    for record in pool:
        pairs |= {(record.key, trials[number]) for number in list_named_trials(record) if number in trials}
        if record.trial and record.record.nct_id:
            names = [f"pmid:{pmid}" for pmid in record.trial.result_pmids]
            pairs |= {(papers[name], record.key) for name in names if name in papers}
    linked = []
    for record in pool:
        links = {
            "linked_trials": sorted(trial for paper, trial in pairs if paper == record.key),
            "linked_papers": sorted(paper for paper, trial in pairs if trial == record.key),
        }
        is_current = all(getattr(record.record, name) == keys for name, keys in links.items())
        linked.append(record if is_current else record.noting(**links))
    return linked


def list_named_trials(record: Evidence) -> list[str]:
    """Return the trials that a paper names, in its registration or text; empty for a trial's or drug's own record."""
    if record.record.nct_id or kind_of(record) not in PAPERS:
        return []
    listed = record.paper.nct_ids if record.paper else ()
    return list(dict.fromkeys([*find_trial_numbers(*listed), *find_trial_numbers(record.content)]))
