"""Open-access full text from Europe PMC, added to records: results, tables, limitations, with their place and licence.

A record's content stays its title and abstract, on which the rules of the appraisal were set; what was read of the
full text stands beside it, in `metadata["full_text"]`. `fullTextXML` of https://europepmc.org/RestfulWebService; `jats`
reads it.
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
from .jats import FullText, parse_full_text

FULL_TEXT_LIMIT = 12  # articles a run, 0.1 to 1 MB each: one or two for every candidate that a report shows
DEADLINE_S = 15.0  # for all of them; Europe PMC answers one in about a second
_AT_ONCE = 4  # requests; half of the pace at which Europe PMC is asked
_OPEN = ("CC0", "CC BY")
"""Licences that let a passage be shown with its source: every Creative Commons licence, https://creativecommons.org/licenses/."""


async def full_text(pmcid: str, transport: Transport) -> FullText | None:
    """Read one article; None where Europe PMC has no open full text of it.

    Raises:
        SearchError: no answer, or no readable one.
    """
    number = checked_identifier("pmcid", pmcid)
    if number is None:
        return None

    if (library := transport.endpoints.library) is not None:
        return parse_full_text(library.full_text(number).encode(), number)

    def read(reply: Reply) -> FullText | None:
        return None if reply.status == 404 else parse_full_text(reply.xml(), number)

    return await transport.get("europepmc", f"{number}/fullTextXML", read=read, also=(404,))


async def read_full_texts(
    records: Sequence[Evidence], transport: Transport, limit: int = FULL_TEXT_LIMIT, *, deadline_s: float = DEADLINE_S
) -> list[Evidence]:
    """Add results, tables and limitations from the full text to the first records that have an open one.

    Args:
        records: best first.
        transport: the way out.
        limit: articles to ask for, at most.
        deadline_s: seconds for all of them; the slower ones stay as they are.

    Returns:
        The records in their order. A record that was read has `full_text` in its metadata: source, PMCID, licence, and
        the sections (kind, title, text), without what is addressed to machines. One whose text was not read has
        `full_text_unread`: why; there, an article that was late and one whose source failed are told alike, so that a
        run lived again tells the same.
    """
    wanted = [i for i, record in enumerate(records) if may_be_open(record)][: max(0, limit)]
    found, turns = list(records), asyncio.Semaphore(_AT_ONCE)
    for i in wanted:
        found[i] = _unread(records[i], _NO_ANSWER)  # until there is one

    async def read(i: int) -> None:
        record = records[i]
        async with turns:
            with contextlib.suppress(SearchError):
                try:
                    text = await full_text(record.record.pmcid or "", transport)
                except (SourceRefused, UnreadableReply) as error:
                    found[i] = _unread(record, f"Europe PMC {error.reason}")
                else:
                    found[i] = extended(record, text) if text else _unread(record, "Europe PMC has no open full text")

    try:
        async with asyncio.timeout(deadline_s) as clock:
            await asyncio.gather(*map(read, wanted))
    except TimeoutError:
        if not clock.expired():
            raise
    return found


_NO_ANSWER = "Europe PMC gave no answer in time"


def may_be_open(record: Evidence) -> bool:
    """Whether it is worth asking for: not asked for yet, in PubMed Central, not known to be closed or retracted."""
    known = record.paper
    if known is None or known.is_open_access is False or known.retracted or known.full_text_unread:
        return False
    return known.pmcid is not None and known.full_text is None


def _unread(record: Evidence, reason: str) -> Evidence:
    return record.noting(full_text_unread=reason)


def extended(record: Evidence, found: FullText) -> Evidence:
    """A record with the sections of its full text, where its licence is open and it has any."""
    licence = found.licence or (record.paper and (record.paper.license or "").strip().upper()) or None
    if licence is None or not licence.startswith(_OPEN):
        return _unread(record, "its licence is not open" if licence else "it states no licence")
    every = [
        Section(kind=each.kind, title=_clean(each.title), text="\n".join(filter(None, map(_clean, each.paragraphs))))
        for each in found.sections
    ]
    sections = [each for each in every if each["text"]]
    if not sections:
        return _unread(record, "its results have no section of their own")
    read = ReadText(source="europepmc", pmcid=found.pmcid, licence=licence, sections=sections)
    if any(addressed_to_machines(text) for each in found.sections for text in (each.title, *each.paragraphs)):
        read["addressed_to_machines"] = True
    return record.noting(full_text=read)


def _clean(text: str) -> str:
    """The text without what can't be seen, and without what speaks to machines rather than of the study."""
    return " ".join(visible(set_aside(text)).split())
