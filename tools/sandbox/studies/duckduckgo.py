"""DuckDuckGo's page of results, with an advertisement on top: the pages that Brave finds.

The markup is that of https://html.duckduckgo.com/html/, as far as it is read.
"""

from html import escape
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from ..library import Library
from .publications import Page, found_in

_LARGEST = 10
_AD = Page("https://duckduckgo.com/y.js?ad_domain=shop.example", "Pills, cheap", "PMID: 1")


def routes(library: Library) -> list[Route]:
    """The one address below `/duckduckgo`."""
    find = found_in(library)

    async def search(request: Request) -> Response:
        shown = [_AD, *find(request.query_params.get("q", ""))[:_LARGEST]]
        rows = "".join(_row(each, wrapped=bool(place % 2)) for place, each in enumerate(shown))
        return HTMLResponse(f"<!DOCTYPE html><html><body><div id='links' class='results'>{rows}</div></body></html>")

    return [Route("/duckduckgo/html/", search, methods=["GET"])]


def _row(page: Page, *, wrapped: bool) -> str:
    url = f"//duckduckgo.com/l/?uddg={quote(page.url, safe='')}&rut=0" if wrapped else page.url
    link = f'<a rel="nofollow" class="result__a" href="{escape(url)}">{escape(page.title)}</a>'
    snippet = f'<a class="result__snippet" href="{escape(url)}">{escape(page.text[:200])}</a>'
    return f'<div class="result results_links web-result"><h2 class="result__title">{link}</h2>{snippet}</div>'
