"""Posted results of registered trials as a report shows them: the analysis that decided, and serious adverse events."""

from collections.abc import Iterator, Sequence

from willowbark.tools.appraisal.appraised import AppraisedRecord
from willowbark.tools.appraisal.candidates import Candidate

from .markdown import escaped
from .model import PostedResult

MAX_GROUPS = 8  # groups of serious adverse events in a sentence; the trial's row has all
EVENTS_NOTE = "numbers alone; that the drug caused them is not said"


def posted_results(candidates: Sequence[Candidate], key: str) -> list[PostedResult]:
    """What a trial's posted results say of each drug that it names; empty where none are posted."""
    found = ((candidate.drug, _record(candidate, key)) for candidate in candidates)
    return [
        PostedResult(
            drug=drug,
            direction=record.item.direction.value,
            reason=record.posted.reason,
            outcome=record.posted.outcome,
            sentence=record.posted.sentence,
            serious_events=record.posted.serious_events,
        )
        for drug, record in found
        if record and record.posted
    ]


def _record(candidate: Candidate, key: str) -> AppraisedRecord | None:
    return next((record for record in candidate.records if record.key == key), None)


def posted_lines(results: Sequence[PostedResult]) -> Iterator[str]:
    """Posted results of one trial as lines below its own."""
    for result in results:
        said = f" ({escaped(result.sentence)})" if result.sentence else ""
        yield f"  - Posted results, {escaped(result.drug)}: {result.direction}, {escaped(result.reason)}{said}"
    if results and (events := results[0].serious_events):
        told = [f"{e.group} {e.affected} of {e.at_risk if e.at_risk is not None else '?'}" for e in events[:MAX_GROUPS]]
        more = "; …" if len(events) > MAX_GROUPS else ""
        yield f"  - Serious adverse events ({EVENTS_NOTE}): {escaped('; '.join(told))}{more}"
