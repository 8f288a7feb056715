"""Brave's search of the web: the pages of the library's publications and trials, and one that names neither.

https://api-dashboard.search.brave.com/documentation. The sandbox needs no key and takes any.
"""

from collections.abc import Callable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..library import Library
from ..matching import Document, Index
from ..syntax import parse

_LARGEST = 20
_LONGEST = 400  # characters of a query


class Page(NamedTuple):
    """A page of the web as search engines show it."""

    url: str
    title: str
    text: str


def found_in(library: Library) -> Callable[[str], list[Page]]:
    """What finds pages: those of the library, then a page on somebody's opinion."""
    pages: dict[str, Page] = {}
    for each in library.publications:
        if each.pmid or each.doi:
            url = f"https://pubmed.ncbi.nlm.nih.gov/{each.pmid}/" if each.pmid else f"https://doi.org/{each.doi}"
            pages[url] = Page(url, each.title, each.abstract or "")
    for trial in library.trials:
        url = f"https://clinicaltrials.gov/study/{trial.nct_id}"
        named = trial.study["protocolSection"]["identificationModule"]
        pages[url] = Page(url, str(named.get("briefTitle", "")), trial.topic)
    index = Index(
        (Document(url, {"text": f"{page.title} {page.text}"}) for url, page in pages.items()),
        default=("text",),
        aliases={},
    )

    def search(query: str) -> list[Page]:
        found = [pages[url] for url in index.search(parse(query.replace(" -", " NOT ")))]
        return [*found[:1], Page("https://blog.example.org/", "My view", f"What I think of {query}"), *found[1:]]

    return search


def routes(library: Library) -> list[Route]:
    """The one address below `/brave`."""
    find = found_in(library)

    async def search(request: Request) -> Response:
        query, most = request.query_params.get("q", ""), request.query_params.get("count", str(_LARGEST))
        if not query.strip() or len(query) > _LONGEST or not most.isdecimal() or int(most) > _LARGEST:
            error = {"status": 422, "code": "VALIDATION", "detail": "Unable to validate request parameter(s)"}
            return JSONResponse({"type": "ErrorResponse", "error": error}, status_code=422)
        hits = [{"url": each.url, "title": each.title, "description": each.text[:200]} for each in find(query)]
        web = {"type": "search", "results": hits[: int(most)]}
        return JSONResponse({"type": "search", "query": {"original": query}, "web": web})

    return [Route("/brave/web/search", search, methods=["GET"])]
