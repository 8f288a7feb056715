"""Which publications decide a question, so that their full texts are worth reading whole."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from ..reading.reading import RANDOMISED, Direction
from ..reading.sections import DecidingReason
from .appraised import AppraisedRecord
from .candidates import Candidate

MOST_PIVOTAL = 2
"""Of a drug: two trials are what a marketing authorisation usually rests on."""


def find_deciding(candidates: Sequence[Candidate]) -> dict[str, DecidingReason]:
    """Return the records that decide, by key, with the reason; those that matter most first.

    Of a drug with studies for it and others that are against it or found nothing, these, the strongest on either side
    first; of others the two largest randomised trials of it on the condition. The first of every drug comes before any
    drug's second.

    Args:
        candidates: best supported first.
    """
    queues = [list(_list_deciding(candidate)) for candidate in candidates]
    reasons = dict[str, DecidingReason]()
    for turn in zip_longest(*queues):
        for entry in turn:
            if entry is not None:
                key, reason = entry
                reasons.setdefault(key, reason)
    return reasons


def _list_deciding(candidate: Candidate) -> Iterator[tuple[str, DecidingReason]]:
    """Yield what decides on one drug, strongest first."""
    against = [record.key for record in candidate.records if _is_negative(record)]
    support = [record.key for record in candidate.records if record.item.direction is Direction.supports]
    if against and support:
        for pair in zip_longest(against, support):
            for key in pair:
                if key is not None:
                    yield key, "disagrees with others"
        return
    trials = [record for record in candidate.records if _is_pivotal(record)]
    trials.sort(key=lambda record: -record.item.weight)
    for record in trials[:MOST_PIVOTAL]:
        yield record.key, "pivotal trial"


def _is_negative(record: AppraisedRecord) -> bool:
    """Whether a study speaks against the drug, or missed its primary outcome."""
    return record.item.direction is Direction.contradicts or record.item.says == "missed"


def _is_pivotal(record: AppraisedRecord) -> bool:
    """Whether it is the main report of a randomised trial of the drug on the condition, whatever it found."""
    item = record.item
    return item.design in RANDOMISED and item.tested and not item.secondary and item.is_on_condition
