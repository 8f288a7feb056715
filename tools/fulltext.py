"""Open-access full text from Europe PMC, added to records: results and limitations, with their place and licence.

`fullTextXML` of https://europepmc.org/RestfulWebService; `jats` reads it.
"""

import asyncio
from collections.abc import Sequence

from .errors import SearchError
from .evidence import Evidence, checked_identifier
from .jats import FullText, parse_full_text
from .transport import Reply, Transport

FULL_TEXT_LIMIT = 5  # articles a call
DEADLINE_S = 30.0  # for all articles of a call
_AT_ONCE = 3  # requests
_HEADINGS = {"results": "FULL TEXT, RESULTS", "limitations": "FULL TEXT, LIMITATIONS"}


async def full_text(pmcid: str, transport: Transport) -> FullText | None:
    """Read one article; None where Europe PMC has no open full text of it.

    Raises:
        SearchError: no answer, or no readable one.
    """
    number = checked_identifier("pmcid", pmcid)
    if number is None:
        return None

    def read(reply: Reply) -> FullText | None:
        return None if reply.status == 404 else parse_full_text(reply.xml(), number)

    return await transport.get("europepmc", f"{number}/fullTextXML", read=read, also=(404,))


async def read_full_texts(
    records: Sequence[Evidence], transport: Transport, limit: int = FULL_TEXT_LIMIT, *, deadline_s: float = DEADLINE_S
) -> list[Evidence]:
    """Add results and limitations from the full text to the first records that have an open one.

    Args:
        records: best first.
        transport: the way out.
        limit: articles to ask for, at most.
        deadline_s: seconds for all of them; the slower ones stay as they are.

    Returns:
        The records in their order. A record that was read has `full_text` in its metadata: source, PMCID, licence, and
        where in the content each section stands. One whose text could not be had has `full_text_unread`: why.
    """
    wanted = [i for i, record in enumerate(records) if _is_open(record)][: max(0, limit)]
    turns = asyncio.Semaphore(_AT_ONCE)
    tasks = {i: asyncio.create_task(_extended(records[i], transport, turns)) for i in wanted}
    try:
        if tasks:
            await asyncio.wait(tasks.values(), timeout=deadline_s)
    finally:
        for task in tasks.values():
            task.cancel()
        await asyncio.gather(*tasks.values(), return_exceptions=True)
    found = list(records)
    for i, task in tasks.items():
        late = task.cancelled()
        found[i] = _unread(records[i], f"no answer within {deadline_s:.3g} s") if late else task.result()
    return found


def _is_open(record: Evidence) -> bool:
    """Whether it is worth asking for: not read yet, in PubMed Central, not known to be closed."""
    known = record.metadata
    return bool(known.get("pmcid")) and known.get("is_open_access") is not False and "full_text" not in known


async def _extended(record: Evidence, transport: Transport, turns: asyncio.Semaphore) -> Evidence:
    async with turns:
        try:
            found = await full_text(str(record.metadata["pmcid"]), transport)
        except SearchError as error:
            return _unread(record, error.reason)
    if found is None:
        return _unread(record, "Europe PMC has no open full text")
    return extended(record, found) if found.sections else _unread(record, "its results have no section of their own")


def _unread(record: Evidence, reason: str) -> Evidence:
    return record.model_copy(update={"metadata": {**record.metadata, "full_text_unread": reason}})


def extended(record: Evidence, found: FullText) -> Evidence:
    """A record with sections of its full text after its abstract, and where each of them stands."""
    content, places = record.content, []
    for section in found.sections:
        content += f"\n\n{_HEADINGS[section.kind]} ({section.title}):\n"
        start = len(content)
        content += "\n".join(section.paragraphs)
        places.append({"kind": section.kind, "title": section.title, "start": start, "end": len(content)})
    licence = found.licence or record.metadata.get("license")
    read = {"source": "europepmc", "pmcid": found.pmcid, "licence": licence, "sections": places}
    metadata = {**record.metadata, "full_text": read, "has_abstract": True}
    metadata.pop("full_text_unread", None)
    return record.model_copy(update={"content": content, "metadata": metadata})


def section_of(record: Evidence, quote: str) -> str | None:
    """The heading under which a quote stands in the full text; None where it is of title or abstract, or not there."""
    place = record.content.find(quote)
    read = record.metadata.get("full_text")
    sections = read.get("sections", []) if isinstance(read, dict) and place >= 0 else []
    return next((str(each["title"]) for each in sections if each["start"] <= place < each["end"]), None)
