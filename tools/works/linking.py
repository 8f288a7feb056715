"""Papers and trials, joined by NCT number: the paper that reports a trial, the trial behind a paper."""

from collections.abc import Iterable, Mapping, Sequence

from ..evidence import Evidence, Metadata, checked_identifier
from ..registry import kind_of
from ..sources.card import PAPERS
from ..sources.publications import trial_numbers

_LINKS = ("linked_trials", "linked_papers")


def link(pool: Sequence[Evidence]) -> list[Evidence]:
    """Join papers and trials of a pool.

    A paper belongs to a trial when it names the trial's NCT number (registered with it, or in its text), or when the
    trial's record names the paper's PMID as its result. Links are made anew from what the records themselves say, so
    that linking twice is linking once, and a link to a record that has left the pool goes with it.

    Args:
        pool: records in any order, which is kept.

    Returns:
        The records, papers with `linked_trials` and trials with `linked_papers` in their metadata: sorted keys
        (`nct:…`, `pmid:…`) of records of this pool. Records without a link have neither.
    """
    trials = {number: record.key for record in pool if (number := trial_number(record))}
    results = {
        (pmid, record.key)
        for record in pool
        if trial_number(record)
        for pmid in _numbers("pmid", record, "result_pmids")
    }
    pairs = {(record.key, trials[number]) for record in pool for number in named_trials(record) if number in trials}
    pairs |= {
        (record.key, trial)
        for record in pool
        if not trial_number(record)
        for pmid, trial in results
        if f"pmid:{pmid}" in record.identifiers
    }
    return [_with_links(record, _links(record, pairs)) for record in pool]


def trial_number(record: Evidence) -> str | None:
    """The NCT number of a trial's own record; None for anything else."""
    return checked_identifier("nct_id", record.metadata.get("nct_id"))


def named_trials(record: Evidence) -> list[str]:
    """The trials that a paper names, in its registration or its text; none for a trial's or a drug's own record."""
    if trial_number(record) or kind_of(record) not in PAPERS:
        return []
    return list(dict.fromkeys([*_numbers("nct_id", record, "nct_ids"), *trial_numbers(record.content)]))


def _numbers(kind: str, record: Evidence, name: str) -> list[str]:
    listed = record.metadata.get(name)
    found = (checked_identifier(kind, each) for each in (listed if isinstance(listed, list | tuple) else ()))
    return [number for number in found if number]


def _links(record: Evidence, pairs: Iterable[tuple[str, str]]) -> Metadata:
    if trial_number(record):
        return {"linked_papers": sorted({paper for paper, trial in pairs if trial == record.key})}
    return {"linked_trials": sorted({trial for paper, trial in pairs if paper == record.key})}


def _with_links(record: Evidence, links: Mapping[str, list[str]]) -> Evidence:
    metadata = {name: value for name, value in record.metadata.items() if name not in _LINKS}
    metadata |= {name: keys for name, keys in links.items() if keys}
    return record if metadata == record.metadata else record.model_copy(update={"metadata": metadata})
