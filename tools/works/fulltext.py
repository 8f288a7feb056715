"""Open-access full text from Europe PMC, added to records: results, tables, limitations, with their place and licence.

A record's content stays its title and abstract, for which the appraisal rules were set.
"""

import asyncio
import contextlib
from collections.abc import Sequence

from ..enclosure import visible
from ..errors import SearchError, SourceRefused, UnreadableReply
from ..evidence import Evidence, checked_identifier
from ..http.reply import Reply
from ..http.transport import Transport
from ..reading.screening import addressed_to_machines, set_aside
from ..records.parts import FullText as ReadText
from ..records.parts import Section
from ..search import local_library
from .jats import FullText, parse_full_text

FULL_TEXT_LIMIT = 12  # articles per run, 0.1 to 1 MB each: one or two for every candidate that a report shows
DEADLINE_S = 15.0  # for all of them; Europe PMC delivers one in about a second
_AT_ONCE = 4  # concurrent requests; half of Europe PMC's rate limit
_OPEN = ("CC0", "CC BY")
"""Licences that allow quoting with attribution: every CC licence, https://creativecommons.org/licenses/."""


async def full_text(pmcid: str, transport: Transport) -> FullText | None:
    """Read one article; None if Europe PMC has no open full text of it.

    Raises:
        SearchError: no reply, or an unreadable one.
    """
    number = checked_identifier("pmcid", pmcid)
    if number is None:
        return None

    if (library := local_library(transport)) is not None:
        return parse_full_text(library.full_text(number).encode(), number)

    def read(reply: Reply) -> FullText | None:
        return None if reply.status == 404 else parse_full_text(reply.xml(), number)

    return await transport.get("europepmc", f"{number}/fullTextXML", read=read, also=(404,))


async def read_full_texts(
    records: Sequence[Evidence], transport: Transport, limit: int = FULL_TEXT_LIMIT, *, deadline_s: float = DEADLINE_S
) -> list[Evidence]:
    """Add results, tables and limitations to the first `limit` records that have an open full text.

    Args:
        records: best first.
        transport: sends the requests.
        limit: most articles to request.
        deadline_s: seconds for all of them.

    Returns:
        The records in their order. One that was read has `full_text`, without text addressed to machines; one whose
        text was not read has `full_text_unread`: why. Late and failed articles get the same reason, so that a resumed
        run gives the same result.
    """
    found, turns = list(records), asyncio.Semaphore(_AT_ONCE)
    wanted = [i for i, record in enumerate(records) if may_be_open(record)][: max(0, limit)]
    for i in wanted:
        found[i] = records[i].noting(full_text_unread="Europe PMC gave no answer in time")  # until it arrives

    async def read(i: int) -> None:
        async with turns:
            try:
                text = await full_text(records[i].record.pmcid or "", transport)
            except (SourceRefused, UnreadableReply) as error:
                found[i] = records[i].noting(full_text_unread=f"Europe PMC {error.reason}")
            except SearchError:
                return
            else:
                found[i] = extended(records[i], text)

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(deadline_s):
            await asyncio.gather(*map(read, wanted))
    return found


def may_be_open(record: Evidence) -> bool:
    """Whether to request the full text: not requested yet, in PubMed Central, not known to be closed or retracted."""
    known = record.paper
    if known is None or known.is_open_access is False or known.retracted or known.full_text_unread:
        return False
    return known.pmcid is not None and known.full_text is None


def extended(record: Evidence, found: FullText | None) -> Evidence:
    """Add the sections of the full text to a record, if there is one, its licence is open and there are any."""
    if found is None:
        return record.noting(full_text_unread="Europe PMC has no open full text")
    licence = found.licence or (record.paper and (record.paper.license or "").strip().upper()) or None
    if licence is None or not licence.startswith(_OPEN):
        return record.noting(full_text_unread="its licence is not open" if licence else "it states no licence")
    every = [
        Section(kind=each.kind, title=_clean(each.title), text="\n".join(filter(None, map(_clean, each.lines))))
        for each in found.sections
    ]
    sections = [each for each in every if each["text"]]
    if not sections:
        return record.noting(full_text_unread="its results have no section of their own")
    read = ReadText(source="europepmc", pmcid=found.pmcid, licence=licence, sections=sections)
    if any(addressed_to_machines(text) for each in found.sections for text in (each.title, *each.lines)):
        read["addressed_to_machines"] = True
    return record.noting(full_text=read)


def _clean(text: str) -> str:
    return " ".join(visible(set_aside(text)).split())
