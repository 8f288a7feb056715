"""Records by number from their sources, as lines of a library: what files gave by number alone, or without abstract."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import to_json

from ..errors import SearchError
from ..http.transport import Transport
from ..records.evidence import Evidence
from ..sources.studies.clinicaltrials import ClinicalTrials
from ..sources.studies.europepmc import by_numbers
from ..sources.studies.pubmed import PubMed

_PER_QUERY = 40  # numbers of a query of Europe PMC, which allows some 1,500 characters


@dataclass
class LookedUp:
    """What came of looking numbers up."""

    lines: dict[str, str] = field(default_factory=dict)
    """The line of each record, by the number it was asked by."""
    waiting: list[str] = field(default_factory=list)
    """Numbers whose source gave no answer."""
    failure: str = ""
    """Why the first of them gave none."""

    def miss(self, names: Sequence[str], error: SearchError) -> None:
        self.waiting += names
        self.failure = self.failure or str(error)


async def look_up_numbers(names: Sequence[str], transport: Transport) -> LookedUp:
    """Ask PubMed for `pmid:…`, ClinicalTrials.gov for `nct:…`, one by one, and Europe PMC for `doi:…` and `pmcid:…`.

    Args:
        names: numbers with their kinds; one that no source knows is neither in `lines` nor in `waiting`.
        transport: to the sources, which keeps their limits.
    """
    reply = LookedUp()
    await _look_up_papers([name for name in names if name.startswith("pmid:")], transport, reply)
    others = [name for name in names if name.startswith(("doi:", "pmcid:"))]
    for start in range(0, len(others), _PER_QUERY):
        await _look_up_others(others[start : start + _PER_QUERY], transport, reply)
    for name in names:
        if name.startswith("nct:"):
            await _look_up_trial(name, transport, reply)
    return reply


async def _look_up_papers(names: Sequence[str], transport: Transport, reply: LookedUp) -> None:
    if not names:
        return
    try:
        answer = await PubMed(transport).papers(*(name.removeprefix("pmid:") for name in names))
    except SearchError as error:
        reply.miss(names, error)
        return
    reply.lines.update({f"pmid:{record.record.pmid}": _write_line(record) for record in answer.records})


async def _look_up_others(names: Sequence[str], transport: Transport, reply: LookedUp) -> None:
    try:
        records = await by_numbers(names, transport)
    except SearchError as error:
        reply.miss(names, error)
        return
    for record in records:
        reply.lines.update({name: _write_line(record) for name in names if name in record.identifiers})


async def _look_up_trial(name: str, transport: Transport, reply: LookedUp) -> None:
    try:
        study = await ClinicalTrials(transport).study(name.removeprefix("nct:"))
    except SearchError as error:
        reply.miss([name], error)
        return
    if study:
        reply.lines[name] = to_json(study).decode()


def _write_line(record: Evidence) -> str:
    """Return the line of a publication, with every field: the index asks for those that are not reported, too."""
    fields: dict[str, Any] = {name: getattr(record.record, name) for name in type(record.record).model_fields}
    facts = {"content": record.content, "citation": record.citation.model_dump()}
    return to_json({**facts, "metadata": {**fields, "kind": record.record.kind}}).decode()
