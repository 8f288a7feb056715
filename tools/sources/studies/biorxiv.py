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


def parse_own_number(doi: object) -> str | None:
    """Return a DOI without its version if it has the form used by bioRxiv and medRxiv, else None.

    >>> parse_own_number("10.1101/2021.03.23.21254186v2"), parse_own_number("10.1101/gad.1234")
    ('10.1101/2021.03.23.21254186', None)
    """
    match = _THEIRS.fullmatch(checked_identifier("doi", doi) or "")
    return match[1] if match else None


async def fetch_published_doi(doi: str, transport: Transport) -> str | None:
    """Return the DOI under which a preprint was published; None if neither server knows one, or it is not theirs.

    Raises:
        SearchError: no reply, or an unreadable one.
    """
    if (number := parse_own_number(doi)) is None:
        return None
    if (library := local_library(transport)) is not None:
        if (publication := library.work("biorxiv", number)) is None:
            raise SourceUnavailable("biorxiv", "not checked offline")
        return parse_publication(publication)
    for server in SERVERS:
        path = f"pubs/{server}/{number}/na/json"
        article_doi = await transport.get("biorxiv", path, read=lambda reply: parse_publication(reply.json()))
        if article_doi is not None:
            return article_doi
    return None


def parse_publication(data: Any) -> str | None:
    """Parse the DOI of the published version; None if the answer says that there is none, else `UnreadableReply`."""
    for version in dicts(data, "collection"):
        published = checked_identifier("doi", version.get("published_doi"))
        if published and checked_identifier("doi", version.get("preprint_doi") or version.get("biorxiv_doi")):
            return published
    status = next((str(message.get("status")) for message in dicts(data, "messages")), "")
    if status == "ok" or status.startswith("no "):
        return None
    raise UnreadableReply("biorxiv", "answered with neither an article nor a reason")
