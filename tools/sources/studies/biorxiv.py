"""bioRxiv and medRxiv: published versions of preprints, which are found through Europe PMC (no search here)."""

import re
from typing import Any

from ...errors import SourceUnavailable, UnreadableReply
from ...http.reply import dicts
from ...http.transport import Transport
from ...records.card import SourceCard
from ...records.evidence import checked_identifier
from ...search import local_library

CARD = SourceCard(
    name="biorxiv",
    place=150,
    title="bioRxiv and medRxiv",
    purpose="Tells which article a preprint became.",
    address="https://api.biorxiv.org",
    documentation="https://api.biorxiv.org/pubs/help",
    per_second=1,  # none published
    gives="publication",
    dialect="identifiers",
    use="looked_up",
)

SERVERS = ("medrxiv", "biorxiv")
"""Clinical preprints are on the first; the DOI prefix does not distinguish the two."""
_THEIRS = re.compile(r"(10\.(?:1101|64898)/[\d.]+)(?:v\d+)?")  # old and new prefix of both, followed only by digits


def their_number(doi: object) -> str | None:
    """Return a DOI without its version if it has the form used by bioRxiv and medRxiv, else None.

    >>> their_number("10.1101/2021.03.23.21254186v2"), their_number("10.1101/gad.1234")
    ('10.1101/2021.03.23.21254186', None)
    """
    found = _THEIRS.fullmatch(checked_identifier("doi", doi) or "")
    return found[1] if found else None


async def published_version(doi: str, transport: Transport) -> str | None:
    """Return the DOI under which a preprint was published; None if neither server knows one, or it is not theirs.

    Raises:
        SearchError: no reply, or an unreadable one.
    """
    if (number := their_number(doi)) is None:
        return None
    if (library := local_library(transport)) is not None:
        if (held := library.work("biorxiv", number)) is None:
            raise SourceUnavailable("biorxiv", "not checked offline")
        return parse_publication(held)
    for server in SERVERS:
        path = f"pubs/{server}/{number}/na/json"
        found = await transport.get("biorxiv", path, read=lambda reply: parse_publication(reply.json()))
        if found is not None:
            return found
    return None


def parse_publication(data: Any) -> str | None:
    """Parse the DOI of the published version; None if the answer says that there is none, else `UnreadableReply`."""
    for each in dicts(data, "collection"):
        published = checked_identifier("doi", each.get("published_doi"))
        if published and checked_identifier("doi", each.get("preprint_doi") or each.get("biorxiv_doi")):
            return published
    status = next((str(each.get("status")) for each in dicts(data, "messages")), "")
    if status == "ok" or status.startswith("no "):
        return None
    raise UnreadableReply("biorxiv", "answered with neither an article nor a reason")
