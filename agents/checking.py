"""The evidence as it is checked before a report is written: versions, links, standing, full texts.

Looked up with the run's transport, so that a journal answers when a run is lived again. What can't be had is noted on
its record, and fails nothing.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates
from willowbark.tools.evidence import Evidence
from willowbark.tools.http.transport import Transport
from willowbark.tools.works.fulltext import FULL_TEXT_LIMIT, may_be_open, read_full_texts
from willowbark.tools.works.identity import published_articles, resolve
from willowbark.tools.works.linking import link
from willowbark.tools.works.trust import check_trust
from willowbark.tools.works.versions import settle

TEXTS_PER_CANDIDATE = 2  # full texts, of its strongest open records; every candidate's first comes before any second


async def checked(
    question: str, pool: Sequence[Evidence], transport: Transport | None, readings: Readings | None = None
) -> tuple[list[Evidence], list[Candidate]]:
    """Check a pool and appraise its candidates.

    Args:
        question: as it was asked.
        pool: all records found, united and ranked.
        transport: the way to the sources; None looks nothing up.
        readings: of the run, so that no record is read twice; None reads anew.

    Returns:
        The pool with versions united, links made, and for the records that candidates rest on: their standing, the full
        texts of the best that are open, and what became of preprints. And the candidates, best supported first.
    """
    settled, readings = link(settle(pool)), readings or Readings()
    candidates = appraise_candidates(question, settled, readings)
    if transport is None:
        return settled, candidates
    cited = _rested_on(candidates, settled)
    preprints = [record for record in cited if record.is_preprint]
    trusted, read, resolved = await asyncio.gather(
        check_trust(cited, transport),
        read_full_texts(_worth_reading(candidates, settled), transport),
        resolve(preprints, transport),
    )
    known = _overlaid(settled, trusted, read, resolved)
    articles = await published_articles(resolved, known, transport)
    if articles:
        known = sorted([*known, *await check_trust(articles, transport)], key=lambda record: -record.relevance)
    known = link(settle(known))
    return known, appraise_candidates(question, known, readings)


def _worth_reading(candidates: Sequence[Candidate], pool: Sequence[Evidence]) -> list[Evidence]:
    """The records whose full text should be read: the strongest open ones of each candidate, in turns."""
    is_open = {record.key: record for record in pool if may_be_open(record)}
    best = [[r.key for r in c.records if r.key in is_open][:TEXTS_PER_CANDIDATE] for c in candidates]
    in_turns = [keys[turn] for turn in range(TEXTS_PER_CANDIDATE) for keys in best if turn < len(keys)]
    return [is_open[key] for key in dict.fromkeys(in_turns)][:FULL_TEXT_LIMIT]


def _rested_on(candidates: Sequence[Candidate], pool: Sequence[Evidence]) -> list[Evidence]:
    """The records that candidates with a verdict rest on, and those that were retracted, to learn who says so.

    By key, so that the same are asked about in the same way.
    """
    keys = {r.key for candidate in candidates for r in candidate.records if candidate.has_verdict or r.item.retracted}
    return sorted((record for record in pool if record.key in keys), key=lambda record: record.key)


def _overlaid(pool: Sequence[Evidence], *lookups: Sequence[Evidence]) -> list[Evidence]:
    """The pool with what each look-up noted on its records."""
    before = {record.key: record.metadata for record in pool}
    changed: dict[str, dict[str, Any]] = {}
    for record in (record for lookup in lookups for record in lookup):
        old = before[record.key]
        new = {name: value for name, value in record.metadata.items() if name not in old or old[name] != value}
        changed.setdefault(record.key, {}).update(new)
    return [
        record.model_copy(update={"metadata": {**record.metadata, **changed[record.key]}})
        if changed.get(record.key)
        else record
        for record in pool
    ]
