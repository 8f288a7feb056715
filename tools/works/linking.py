"""Links between papers and trials by NCT number."""

from collections.abc import Sequence

from ..evidence import Evidence
from ..registry import kind_of
from ..sources.card import PAPERS
from ..sources.publications import trial_numbers


def link(pool: Sequence[Evidence]) -> list[Evidence]:
    """Link papers and trials of a pool.

    A paper belongs to a trial if it names the trial's NCT number (registered with it, or in its text), or if the
    trial's record lists the paper's PMID as a result. Links are rebuilt from the records themselves, so linking twice
    changes nothing, and a link to a record that has left the pool is dropped.

    Args:
        pool: records in any order, which is preserved.

    Returns:
        The records, papers with `linked_trials` and trials with `linked_papers` in their metadata: sorted keys
        (`nct:…`, `pmid:…`) of records of this pool. Records without a link have neither.
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
        is_trial = record.record.nct_id is not None
        of_paper = [] if is_trial else sorted({trial for paper, trial in pairs if paper == record.key})
        of_trial = sorted({paper for paper, trial in pairs if trial == record.key}) if is_trial else []
        if (of_paper, of_trial) != (record.record.linked_trials, record.record.linked_papers):
            record = record.noting(linked_trials=of_paper, linked_papers=of_trial)  # noqa: PLW2901
        linked.append(record)
    return linked


def named_trials(record: Evidence) -> list[str]:
    """Return the trials that a paper names, in its registration or text; empty for a trial's or drug's own record."""
    if record.record.nct_id or kind_of(record) not in PAPERS:
        return []
    listed = record.paper.nct_ids if record.paper else ()
    return list(dict.fromkeys([*trial_numbers(*listed), *trial_numbers(record.content)]))
