"""DuckDuckGo, for leads: its page for browsers without scripts, as there is no API.

Suspected robots get, with status 202, a page with a picture puzzle: that is reported as a refusal, without retries.
Willowbark identifies itself and never poses as a browser.
"""

import re
from collections.abc import Sequence
from html import unescape
from urllib.parse import parse_qs, urlsplit

from ...errors import SourceRefused, UnreadableReply
from ...http.reply import Reply
from ...records.card import SourceCard
from .leads import Lead, WebSearch

CARD = SourceCard(
    name="duckduckgo",
    place=130,
    title="DuckDuckGo",
    purpose="Search the web by DuckDuckGo for pages that name a publication or a trial, and fetch those.",
    address="https://html.duckduckgo.com",
    documentation="https://duckduckgo.com/duckduckgo-help-pages/",
    per_second=0.25,  # none published; after a few quick requests it asks for proof of being human
    off="its page is made for people, and it may refuse programs; what it finds are leads of uneven worth",
    gives="publication",
    dialect="boolean",
    use="named",
    specialist="literature",
)
_LARGEST = 2_000_000  # bytes per page; real ones have some 40,000
_LINK = re.compile(r"<a\s([^<>]{1,4000})>((?:(?!</a>).){0,4000})", re.IGNORECASE | re.DOTALL)
_ATTRIBUTE = re.compile(r"\b(class|href)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{0,4000}>")
_CHALLENGE = ("anomaly-modal", "anomaly.js", "challenge-form")


class DuckDuckGo(WebSearch):
    """DuckDuckGo's web search."""

    card = CARD

    async def leads(self, words: str) -> Sequence[Lead]:
        return await self.transport.get(self.name, "html/", params={"q": words}, read=parse)


def parse(reply: Reply) -> Sequence[Lead]:
    """Parse a page of results; raises `SourceRefused` if it asks for proof of being human."""
    page = reply.html(_LARGEST) if reply.status == 200 else ""
    if not page or any(mark in page for mark in _CHALLENGE):
        why = "takes the request for a robot's and asks for a person; use Brave, with a key"
        raise SourceRefused(reply.source, why)
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
    """Return the target of a link, behind the forwarder; empty for advertisements and invalid addresses."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return ""
    if parts.netloc.lower().endswith("duckduckgo.com"):
        return next(iter(parse_qs(parts.query).get("uddg", ())), "") if parts.path == "/l/" else ""
    return href if parts.scheme in ("http", "https") else ""
