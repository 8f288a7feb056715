"""bioRxiv's and medRxiv's word on what a preprint became: `/pubs/SERVER/DOI`.

https://api.biorxiv.org/pubs/help. Values are strings; a preprint without a known article has an empty collection.
"""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..library import Library, Publication

_SERVERS = ("biorxiv", "medrxiv")


def routes(library: Library) -> list[Route]:
    """The mapping below `/biorxiv`."""
    known = {each.doi.lower(): each for each in library.publications if each.doi and each.published_doi}

    async def published(request: Request) -> Response:
        doi = request.path_params["doi"].lower().removesuffix("/json").removesuffix("/na")
        found = known.get(doi) if request.path_params["server"] in _SERVERS else None
        if found is None:
            return JSONResponse({"messages": [{"status": "no posts found"}], "collection": []})
        return JSONResponse({"messages": [{"status": "ok", "count": 1, "total": 1}], "collection": [_pair(found)]})

    return [Route("/biorxiv/pubs/{server}/{doi:path}", published, methods=["GET"])]


def _pair(preprint: Publication) -> dict[str, Any]:
    return {
        "preprint_doi": preprint.doi,
        "published_doi": preprint.published_doi,
        "preprint_title": preprint.title,
        "preprint_authors": "; ".join(preprint.authors),
        "preprint_date": preprint.date or "",
        "preprint_platform": preprint.journal or "",
    }
