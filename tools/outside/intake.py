"""Turn what a tool from outside gave into a reply with records, each looked up at its own source."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ..http.transport import Transport
from ..records.evidence import Evidence
from ..search import SourceReply, Status, local_library
from ..sources.studies.leads import Numbered, fetch_numbers
from ..wording import counted
from .given import GivenOrigin, GivenWork, read_result

MOST_TRIALS = 10  # looked up of a result, a request each
DEADLINE_S = 30.0  # for the look-ups of a result


@dataclass
class IntakeResult:
    """What became of a result."""

    reply: SourceReply | None = None
    """None if the result names no publication or trial."""
    problems: list[str] = field(default_factory=list)
    """What could not be used, each in a few words."""


async def take_in(
    text: str, origin: GivenOrigin, query: str, transport: Transport | None, *, deadline_s: float = DEADLINE_S
) -> IntakeResult:
    """Look up what a result names, and return the records as a reply of that agent's tool.

    A record that its source has replaces what the result says of it. What its source cannot be asked about counts with
    the words of the result, if these hold number, title and text, and is marked `given_by`; else it is counted as a
    lead that was not followed. A number that its source does not know is taken off: what a function of the user's
    returned as `Evidence` counts without it, all else is left out. Raises nothing for whatever the result holds.

    Args:
        text: the result as models get it.
        origin: who gave it.
        asked: what the tool was asked.
        transport: to the sources; None looks nothing up.
        deadline_s: seconds for the look-ups.
    """
    result = await asyncio.to_thread(read_result, text, origin)
    if not result.works:
        return IntakeResult(problems=result.problems)
    names = [work.names[0] for work in result.works if work.names]
    numbered: Numbered | None = None
    if transport is not None and names:
        with suppress(TimeoutError):
            async with asyncio.timeout(deadline_s):
                numbered = await fetch_numbers(names, transport, MOST_TRIALS)
    is_library = transport is not None and local_library(transport) is not None
    records = list[Evidence]()
    unknown = unfollowed = taken_off = 0
    for work in result.works:
        record = _find_record(work, numbered)
        if record is None and numbered is not None and not is_library and _was_answered(work, numbered, names):
            if origin.is_typed and work.record is not None:
                records.append(_mark_origin(_remove_numbers(work.record), origin))
                taken_off += 1
            else:
                unknown += 1
        elif record is None and work.record is None:
            unfollowed += 1
        else:
            records.append(_mark_origin(record or work.record, origin))
    warnings = list(result.problems)
    if unknown:
        warnings.append(f"{unknown} of {counted(len(result.works), 'number')} led to no record")
    if taken_off:
        warnings.append(f"{taken_off} of {counted(len(result.works), 'number')} taken off, unknown to its source")
    if unfollowed:
        why = _explain_unfollowed(transport, numbered, is_library=is_library)
        warnings.append(f"{unfollowed} of {counted(len(result.works), 'number')} could not be followed: {why}")
    library = local_library(transport) if transport is not None else None
    reply = SourceReply(
        source=origin.source,
        query=query,
        status=Status.PARTIAL if warnings else Status.OK,
        records=records,
        total=len(records),
        warnings=warnings,
        asked=query,
        asked_at=datetime.now(UTC),
        library=library.summary if library else "",
    )
    return IntakeResult(reply)


def _find_record(work: GivenWork, numbered: Numbered | None) -> Evidence | None:
    if numbered is None:
        return None
    return next((numbered.records[name] for name in work.names if name in numbered.records), None)


def _was_answered(work: GivenWork, numbered: Numbered, names: Sequence[str]) -> bool:
    """Whether the source of a number said that there is none: no request failed, and it was asked for."""
    trials = [name for name in names if name.startswith("nct:")]
    return bool(work.names) and not numbered.failures and work.names[0] not in trials[MOST_TRIALS:]


def _explain_unfollowed(transport: Transport | None, numbered: Numbered | None, *, is_library: bool) -> str:
    if transport is None:
        return "there is no connection to the sources"
    if is_library:
        return "the local library does not hold them"
    if numbered is None:
        return "no answer in time"
    return "; ".join(dict.fromkeys(str(error) for error in numbered.failures)) or "too many trials at once"


def _remove_numbers(record: Evidence) -> Evidence:
    unnumbered = record.record.model_copy(update=dict.fromkeys(("pmid", "nct_id", "doi", "pmcid")))
    return record.model_copy(update={"record": unnumbered})


def _mark_origin(record: Evidence | None, origin: GivenOrigin) -> Evidence:
    """Note on a record which agent's tool led to it, besides the sources that have it."""
    assert record is not None
    sources = {record.citation.source, *record.record.found_in, origin.source}
    return record.noting(found_in=sorted(sources))
