"""DuckDuckGo, for leads: its page for browsers without scripts (https://duckduckgo.com/duckduckgo-help-pages/).

There is no interface for programs; GET `html/` with `q` gives a page whose links bear the class `result__a` (title)
and `result__snippet`. Addresses stand there as they are, or behind `duckduckgo.com/l/?uddg=`; those of advertisements
lead to `duckduckgo.com/y.js`. Nothing found is a page with `no-results`. Whom it takes for a robot gets, with status
202, a page that asks for pictures to be looked at (`anomaly-modal`): that is told as a refusal, and not asked again.
Willowbark says who it is, and never passes for a browser.
"""

import re
from collections.abc import Sequence
from html import unescape
from urllib.parse import parse_qs, urlsplit

from ...errors import SourceRefused, UnreadableReply
from ...http.reply import Reply
from ..card import SourceCard
from .leads import Lead, WebSearch

CARD = SourceCard(
    name="duckduckgo",
    place=130,
    title="DuckDuckGo",
    purpose="Search the web by DuckDuckGo for pages that name a publication or a trial, and fetch those.",
    address="https://html.duckduckgo.com",
    documentation="https://duckduckgo.com/duckduckgo-help-pages/",
    per_second=0.25,  # none published; after a few requests at once it asks for a person
    off="its page is made for people, and it may refuse programs; what it finds are leads of uneven worth",
    fresh_days=1,
    gives="publication",
    dialect="boolean",
    use="named",
    specialist="literature",
)
_LARGEST = 2_000_000  # bytes of a page; real ones have some 40,000
_LINK = re.compile(r"<a\s([^<>]{1,4000})>((?:(?!</a>).){0,4000})", re.IGNORECASE | re.DOTALL)
_ATTRIBUTE = re.compile(r"\b(class|href)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{0,4000}>")
_CHALLENGE = ("anomaly-modal", "anomaly.js", "challenge-form")


class DuckDuckGo(WebSearch):
    """DuckDuckGo's search of the web."""

    card = CARD

    async def leads(self, words: str) -> Sequence[Lead]:
        """Give the pages found first; raises `SearchError` where there is no answer, or no readable one."""
        return await self.transport.get(self.name, "html/", params={"q": words}, read=parse)


def parse(reply: Reply) -> Sequence[Lead]:
    """Read a page of results.

    Raises:
        SourceRefused: it asks for a person.
        UnreadableReply: no page of results.
    """
    page = reply.html(_LARGEST) if reply.status == 200 else ""
    if not page or any(mark in page for mark in _CHALLENGE):
        raise SourceRefused(reply.source, "takes the request for a robot's, and asks for a person; Brave takes a key")
    found: list[Lead] = []
    for attributes, inside in _LINK.findall(page):
        said = {name.lower(): unescape(one or other) for name, one, other in _ATTRIBUTE.findall(attributes)}
        kinds, text = said.get("class", "").split(), unescape(_TAG.sub("", inside))
        if "result__a" in kinds:
            found.append(Lead(_target(said.get("href", "")), text))
        elif "result__snippet" in kinds and found:
            found[-1] = Lead(found[-1].url, f"{found[-1].text} {text}")
    if not found and "no-results" not in page:
        raise UnreadableReply(reply.source, "answered with a page that holds no results")
    return [lead for lead in found if lead.url]


def _target(href: str) -> str:
    """Where a link leads; empty for advertisements and for what is no address.

    >>> _target("//duckduckgo.com/l/?uddg=https%3A%2F%2Fpubmed.ncbi.nlm.nih.gov%2F1%2F&rut=x")
    'https://pubmed.ncbi.nlm.nih.gov/1/'
    >>> _target("https://duckduckgo.com/y.js?ad_domain=x.example"), _target("https://[")
    ('', '')
    """
    try:
        parts = urlsplit(href)
    except ValueError:
        return ""
    if parts.netloc.lower().endswith("duckduckgo.com"):
        return next(iter(parse_qs(parts.query).get("uddg", ())), "") if parts.path == "/l/" else ""
    return href if parts.scheme in ("http", "https") else ""
