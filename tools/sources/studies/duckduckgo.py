"""DuckDuckGo, for leads, through the package `ddgs` (the extra `web`), as DuckDuckGo has no interface for programs.

`ddgs` sends its own requests, as a browser would: SECURITY.md says what that means. Its class for DuckDuckGo is asked,
not `DDGS`, whose `text` goes to other engines if this one is gone, and calls a refusal "No results found.".
https://github.com/deedy5/ddgs
"""

import asyncio
import json
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from importlib import import_module
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ...errors import SearchError, SourceRefused, SourceUnavailable, UnreadableReply
from ...http.reply import Reply, Request, TooSlow, text
from ...records.card import SourceCard
from .leads import MOST_PAGES, Lead, WebSearch

CARD = SourceCard(
    name="duckduckgo",
    place=130,
    title="DuckDuckGo",
    purpose="Search the web by DuckDuckGo for pages that name a publication or a trial, and fetch those.",
    address="https://html.duckduckgo.com",
    documentation="https://duckduckgo.com/duckduckgo-help-pages/",
    per_second=0.25,  # none published; after a few quick requests it asks for proof of being human
    package="ddgs",
    off="it is searched where no key of another engine is set",
    gives="publication",
    dialect="boolean",
    use="web",
    specialist="literature",
)
_UNSURE = "gave no results: there are none, or it takes programs for robots for a while; brave and serpapi take a key"
_UNKNOWN = "cannot be asked: the installed version of ddgs is not one that Willowbark knows; install '.[web]'"


class DuckDuckGo(WebSearch):
    """DuckDuckGo's web search."""

    card = CARD

    async def leads(self, words: str) -> Sequence[Lead]:
        """Return the top pages; raises `SourceRefused` where there are none, since a refusal looks the same."""
        return await self.transport.get(self.name, "html/", params={"q": words}, read=parse, carrier=search_by_ddgs)


def parse(reply: Reply) -> Sequence[Lead]:
    """Parse the results of ddgs, a list of `title`, `href` and `body`.

    Raises:
        SourceRefused: the list is empty.
        UnreadableReply: no list of results.
    """
    hits = reply.json()
    if not isinstance(hits, list):
        raise UnreadableReply(reply.source, "answered with something that is not a list of results")
    if not hits:
        raise SourceRefused(reply.source, _UNSURE)
    leads = list[Lead]()
    for hit in hits:
        address = text(hit.get("href")) if isinstance(hit, dict) else None
        if address is not None:
            leads.append(Lead(_find_target(address), f"{hit.get('title')} {hit.get('body')}"))
    if not leads:
        raise UnreadableReply(reply.source, "answered with results that have no address")
    return [lead for lead in leads if lead.url]


async def search_by_ddgs(request: Request, timeout_s: float) -> Reply:
    """Ask DuckDuckGo by ddgs, in a thread of its own, and return the results as JSON.

    Raises:
        TooSlow: no results in time; the thread ends with the timeout that ddgs was given.
        SearchError: ddgs failed, or DuckDuckGo refused.
    """
    words = parse_qs(urlsplit(request.url).query)["q"][0]
    outcome: Future[list[dict[str, Any]]] = Future()

    def search() -> None:
        try:
            hits = _search(words, timeout_s)
        except Exception as error:  # noqa: BLE001  told to whoever waits
            outcome.set_exception(error)
        else:
            outcome.set_result(hits)

    # a daemon, not asyncio's pool: a program that ends would wait for a search that hangs
    outcome.set_running_or_notify_cancel()
    threading.Thread(target=search, name="willowbark-ddgs", daemon=True).start()
    try:
        async with asyncio.timeout(timeout_s):
            hits = await asyncio.wrap_future(outcome)
    except SearchError:
        raise
    except TimeoutError:
        raise TooSlow(request.source, f"no whole answer within {timeout_s:.3g} s") from None
    except Exception as error:  # noqa: BLE001  whatever ddgs and its client raise
        raise SourceUnavailable(request.source, f"the exchange failed ({type(error).__name__})") from None
    return Reply(request.source, 200, {"content-type": "application/json"}, json.dumps(hits).encode())


def _search(words: str, timeout_s: float) -> list[dict[str, Any]]:
    """Return the results of one page; runs in a thread."""
    try:
        engine_class = import_module("ddgs.engines").ENGINES["text"]["duckduckgo"]
        engine = engine_class(timeout=max(1, round(timeout_s)))
    except (ImportError, AttributeError, LookupError, TypeError):
        raise SourceRefused(CARD.name, _UNKNOWN) from None
    hits = engine.search(words)
    if hits is None:  # ddgs says so of every status but 200
        raise SourceRefused(CARD.name, "refused the request; brave and serpapi take a key")
    pages: list[dict[str, Any]] = []
    for hit in hits[:MOST_PAGES]:
        pages.append({name: getattr(hit, name, None) for name in ("title", "href", "body")})
    return pages


def _find_target(href: str) -> str:
    """Return the target of a link, behind the forwarder; empty for advertisements and invalid addresses."""
    try:
        parts = urlsplit(href)
    except ValueError:
        return ""
    if not parts.netloc.lower().endswith("duckduckgo.com"):
        return href if parts.scheme in ("http", "https") else ""
    targets = parse_qs(parts.query).get("uddg", [""])
    return targets[0] if parts.path == "/l/" else ""
