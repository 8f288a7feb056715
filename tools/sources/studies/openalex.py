"""OpenAlex: retraction flag and citation count of a publication by its DOI; it is not searched.

Its terms ask for a key, which is free, since February 2026; without one a small daily allowance is shared by all who
use the same address, and once that is used up every request is refused until midnight UTC:
https://developers.openalex.org/guides/authentication.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import quote

from ...errors import AccessRefused, RateLimitError, SearchError, UnreadableReply
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
    has_daily_budget=True,
    key="OPENALEX_API_KEY",
    key_in="parameter",
    without_key="retractions and citation counts are looked up until its small daily allowance is used up",
    gives="publication",
    dialect="identifiers",
    use="looked_up",
)


_SPENT = ("budget", "daily limit", "credits")
"""Words of its refusals once the day's allowance is used up."""


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

    has_key = transport.endpoints["openalex"].key is not None

    def read(reply: Reply) -> Work | None:
        if reply.status in (403, 429):
            raise read_refusal(reply, has_key)
        return None if reply.status == 404 else parse_work(reply.json())

    return await transport.get("openalex", path, params=params, read=read, also=(403, 404, 429))


def read_refusal(reply: Reply, has_key: bool) -> SearchError:
    """Return the error that a 403 or 429 means: a day's allowance used up, too many requests at a time, or no access.

    OpenAlex sends 403 for too many requests as well: https://developers.openalex.org/api-reference/errors.
    """
    words = reply.body[:2000].decode("utf-8", "replace").lower()
    is_spent = reply.headers.get("x-ratelimit-remaining", "").strip() == "0" or any(word in words for word in _SPENT)
    if is_spent:
        way_out = "" if has_key else "; a free key raises it (set OPENALEX_API_KEY)"
        reason = f"its allowance for today is used up ({reply.status}){way_out}"
        return RateLimitError("openalex", reason, reply.retry_after_s or _count_seconds_to_midnight())
    if reply.status == 429 or "rate limit" in words:
        return RateLimitError("openalex", f"asks for fewer requests ({reply.status})", reply.retry_after_s)
    return AccessRefused("openalex", f"refused the request ({reply.status})", reply.status)


def _count_seconds_to_midnight() -> float:
    """Count the seconds to midnight UTC, when allowances are renewed."""
    now = datetime.now(UTC)
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return (midnight - now).total_seconds()


def parse_work(data: Any) -> Work:
    """Parse a single publication; raises `UnreadableReply` if it has no DOI."""
    if not isinstance(data, dict) or checked_identifier("doi", data.get("doi")) is None:
        raise UnreadableReply("openalex", "answered without a work")
    retracted, cited = data.get("is_retracted"), data.get("cited_by_count")
    return Work(
        is_retracted=retracted if isinstance(retracted, bool) else None,
        cited_by_count=cited if isinstance(cited, int) and not isinstance(cited, bool) else None,
    )
