"""SerpApi, for leads: Google's results by a paid interface (https://serpapi.com/search-api).

A wrong key is 401. 429 is either too many requests an hour or an account without searches left; only the words tell
which (https://serpapi.com/api-status-and-error-codes). A search without results has status `Success` and an error.
"""

from collections.abc import Sequence

from ...errors import AccessRefused, RateLimitError, SourceRefused, SourceUnavailable, UnreadableReply
from ...http.reply import Reply, at, entries, text
from ...records.card import SourceCard
from .leads import Lead, WebSearch

CARD = SourceCard(
    name="serpapi",
    place=125,
    title="SerpApi",
    purpose="Search the web by Google, through SerpApi, for pages that name a publication or a trial, and fetch those.",
    address="https://serpapi.com",
    documentation="https://serpapi.com/search-api",
    per_second=1,  # published by the hour and by plan
    key="SERPAPI_API_KEY",
    key_in="parameter",
    without_key="the web is not searched by SerpApi",
    gives="publication",
    dialect="boolean",
    use="web",
    specialist="literature",
)
_REFUSALS = (400, 401, 403, 429)
_NO_SEARCHES_LEFT = "run out of searches"


class SerpApi(WebSearch):
    """Google's web search through SerpApi."""

    card = CARD

    async def leads(self, words: str) -> Sequence[Lead]:
        """Return the top pages; raises `SourceRefused` where the key is missing or invalid, or no search is left."""
        params = {"engine": "google", "q": words}
        return await self.transport.get(
            self.name, "search.json", params=params, also=_REFUSALS, read=parse, needs_key=True
        )


def parse(reply: Reply) -> Sequence[Lead]:
    """Parse the pages of a reply; an error's wording, which may repeat the key, is left out.

    Raises:
        RateLimitError: too many requests an hour.
        AccessRefused: the key is refused.
        SourceRefused: the reply reports another error.
        SourceUnavailable: SerpApi got no results from Google this time.
        UnreadableReply: neither a search nor an error.
    """
    data = reply.json()
    message = str(at(data, "error") or "")
    if reply.status == 429 and _NO_SEARCHES_LEFT in message:
        raise SourceRefused(reply.source, f"has no searches left for the account of {CARD.key}")
    if reply.status == 429:
        raise RateLimitError(reply.source, "asks for fewer requests (429)")
    if reply.status != 200:
        if reply.status in (401, 403):
            raise AccessRefused(reply.source, f"refused the key ({reply.status}); its key is {CARD.key}", reply.status)
        raise SourceRefused(reply.source, f"refused the request ({reply.status}); its key is {CARD.key}")
    state = at(data, "search_metadata", "status")
    if state == "Error":
        raise SourceUnavailable(reply.source, "got no results from Google this time")
    if state != "Success":
        raise UnreadableReply(reply.source, "answered with something that is not a search result")
    if message and "organic_results" not in data:  # Google has none
        return []
    hits = entries(reply.source, data, "organic_results", what="a list of pages", keys=("link", "title"))
    return [Lead(text(hit.get("link")) or "", f"{hit.get('title')} {hit.get('snippet')}") for hit in hits]
