"""Brave Search, for leads (https://api-dashboard.search.brave.com/documentation).

A wrong or missing key is 422 with `SUBSCRIPTION_TOKEN_INVALID` or `VALIDATION`; without hits, there is no `web`.
"""

from collections.abc import Sequence

from ...errors import AccessRefused, SourceRefused, UnreadableReply
from ...http.reply import Reply, at, entries, text
from ...records.card import SourceCard
from ..publications import is_code
from .leads import MOST_PAGES, Lead, WebSearch

CARD = SourceCard(
    name="brave",
    place=120,
    title="Brave Search",
    purpose="Search the web by Brave for pages that name a publication or a trial, and fetch those.",
    address="https://api.search.brave.com/res/v1",
    documentation="https://api-dashboard.search.brave.com/documentation",
    per_second=1,
    key="BRAVE_API_KEY",
    key_in="header",
    key_header="x-subscription-token",
    without_key="the web is not searched by Brave",
    gives="publication",
    dialect="boolean",
    use="web",
    specialist="literature",
)


class Brave(WebSearch):
    """Brave's web search."""

    card = CARD

    async def leads(self, words: str) -> Sequence[Lead]:
        """Return the top pages; raises `SourceRefused` where the key is missing or invalid."""
        params = {"q": words, "count": MOST_PAGES, "result_filter": "web", "text_decorations": "false"}
        refusals = (401, 403, 422)
        return await self.transport.get(
            self.name, "web/search", params=params, also=refusals, read=parse, needs_key=True
        )


def parse(reply: Reply) -> Sequence[Lead]:
    """Parse the pages of a reply; an error's wording, which may repeat the key, is left out.

    Raises:
        SourceRefused: the reply reports an error; `AccessRefused` where the key is at fault.
        UnreadableReply: neither a search nor an error.
    """
    data = reply.json()
    code = str(at(data, "error", "code") or "")
    if code or reply.status != 200:
        detail = f" ({code})" if is_code(code, 3, 60, "_") and code.isupper() else f" ({reply.status})"
        if "TOKEN" in code or reply.status in (401, 403):
            raise AccessRefused(reply.source, f"refused the key{detail}; its key is {CARD.key}", reply.status)
        raise SourceRefused(reply.source, f"refused the request{detail}; its key is {CARD.key}", reply.status)
    if at(data, "type") != "search":
        raise UnreadableReply(reply.source, "answered with something that is not a search result")
    if "web" not in data:
        return []
    hits = entries(reply.source, data, "web", "results", what="a list of pages", keys=("url", "title"))
    return [Lead(text(hit.get("url")) or "", f"{hit.get('title')} {hit.get('description')}") for hit in hits]
