"""Brave's search of the web: the pages of the library's publications and trials, and one that names neither.

https://api-dashboard.search.brave.com/documentation. The sandbox needs no key and takes any.
"""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..library import Library
from .publications import found_in

_LARGEST = 20
_LONGEST = 400  # characters of a query


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
