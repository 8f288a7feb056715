"""bioRxiv and medRxiv: which article a preprint became.

Their API knows no search; preprints are found through Europe PMC. https://api.biorxiv.org/pubs/help
"""

from typing import Any, Literal

from ...errors import SourceUnavailable, UnreadableReply
from ...evidence import checked_identifier
from ...http.reply import dicts
from ...http.transport import Transport
from ..card import SourceCard

CARD = SourceCard(
    name="biorxiv",
    place=150,
    title="bioRxiv and medRxiv",
    purpose="Tells which article a preprint became.",
    address="https://api.biorxiv.org",
    documentation="https://api.biorxiv.org/pubs/help",
    per_second=1,  # none published
    fresh_days=1,
    gives="publication",
    dialect="identifiers",
    use="looked_up",
)

Server = Literal["medrxiv", "biorxiv"]
SERVERS: tuple[Server, ...] = ("medrxiv", "biorxiv")
"""Clinical preprints are on the first; the prefix does not tell which of the two holds one."""
_OURS = ("10.1101/", "10.64898/")  # the prefixes of both, old and new; numbers alone follow


def is_theirs(doi: object) -> bool:
    """Whether a DOI is of the form that bioRxiv and medRxiv give.

    >>> is_theirs("10.1101/2021.03.23.21254186"), is_theirs("10.1101/gad.1234"), is_theirs(None)
    (True, False, False)
    """
    checked = checked_identifier("doi", doi)
    number = _without_version(checked or "")
    return number.startswith(_OURS) and number.partition("/")[2].replace(".", "").isdecimal()


def _without_version(doi: str) -> str:
    """A DOI without the `v2` behind it."""
    before, _, version = doi.rpartition("v")
    return before if version.isdecimal() else doi


async def small_question(transport: Transport) -> str:
    """Ask about one preprint, for the doctor.

    Raises:
        SearchError: no reply, or an unreadable one.
    """
    found = await published_version("10.1101/2021.03.23.21254186", transport)
    return "knows no article of the preprint asked about" if found is None else f"knows it as {found}"


async def published_version(doi: str, transport: Transport) -> str | None:
    """Ask both servers for the DOI of the article that a preprint became; None where neither knows of an article.

    Args:
        doi: of the preprint; one that is not theirs is not asked about.
        transport: sends the requests.

    Raises:
        SearchError: no reply, or an unreadable one.
    """
    checked = checked_identifier("doi", doi)
    if checked is None or not is_theirs(checked):
        return None
    number = _without_version(checked)
    if (library := transport.endpoints.library) is not None:
        if (held := library.work("biorxiv", number)) is None:
            raise SourceUnavailable("biorxiv", "not checked offline")
        return parse_publication(held)
    for server in SERVERS:
        found = await transport.get(
            "biorxiv", f"pubs/{server}/{number}/na/json", read=lambda reply: parse_publication(reply.json())
        )
        if found is not None:
            return found
    return None


def parse_publication(data: Any) -> str | None:
    """Read the DOI of the article that an answer names; None where it says that there is no article.

    Raises:
        UnreadableReply: neither an article nor a word on why there is none.

    >>> parse_publication({"messages": [{"status": "no posts found"}], "collection": []}) is None
    True
    """
    for each in dicts(data, "collection"):
        published = checked_identifier("doi", each.get("published_doi"))
        if published and checked_identifier("doi", each.get("preprint_doi") or each.get("biorxiv_doi")):
            return published
    status = next((str(each.get("status")) for each in dicts(data, "messages")), "")
    if status == "ok" or status.startswith("no "):
        return None
    raise UnreadableReply("biorxiv", "answered with neither an article nor a reason")
