"""OpenAlex: retraction flag and citation count of a publication by its DOI; it is not searched.

Single look-ups are free, without a key: https://developers.openalex.org/guides/authentication.
"""

from typing import Any, NamedTuple
from urllib.parse import quote

from ...errors import UnreadableReply
from ...http.reply import Reply
from ...http.transport import Transport
from ...records.card import SourceCard
from ...records.evidence import checked_identifier
from ...search import local_library

CARD = SourceCard(
    name="openalex",
    place=160,
    title="OpenAlex",
    purpose="Tells which works were retracted, and how often each is cited.",
    address="https://api.openalex.org",
    documentation="https://developers.openalex.org/guides/authentication",
    per_second=8,
    gives="publication",
    dialect="identifiers",
    use="looked_up",
)


class Work(NamedTuple):
    is_retracted: bool | None
    """None if not stated."""
    cited_by_count: int | None


async def work(doi: str, transport: Transport) -> Work | None:
    """Look up one publication; None if OpenAlex does not know it, or `doi` is invalid.

    Raises:
        SearchError: no reply, or an unreadable one.
    """
    checked = checked_identifier("doi", doi)
    if checked is None:
        return None
    if (library := local_library(transport)) is not None:
        held = library.work("openalex", checked)
        return parse_work(held) if held else None
    params = {"select": "id,doi,is_retracted,cited_by_count"}
    path = f"works/doi:{quote(checked, safe='/')}"

    def read(reply: Reply) -> Work | None:
        return None if reply.status == 404 else parse_work(reply.json())

    return await transport.get("openalex", path, params=params, read=read, also=(404,))


def parse_work(data: Any) -> Work:
    """Parse a single publication; raises `UnreadableReply` if it has no DOI."""
    if not isinstance(data, dict) or checked_identifier("doi", data.get("doi")) is None:
        raise UnreadableReply("openalex", "answered without a work")
    retracted, cited = data.get("is_retracted"), data.get("cited_by_count")
    return Work(
        is_retracted=retracted if isinstance(retracted, bool) else None,
        cited_by_count=cited if isinstance(cited, int) and not isinstance(cited, bool) else None,
    )
