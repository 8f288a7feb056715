"""Crossref's works: one by its DOI, several by the filter `doi:`.

https://www.crossref.org/documentation/retrieve-metadata/rest-api/. A work of which the library does not know Crossref's
word is not found, as DOIs of other agencies are: silence on updates would be a word, too.
"""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ..library import Library

_DEFAULT_ROWS, _LARGEST_ROWS = 20, 1000


def routes(library: Library) -> list[Route]:
    """The works below `/crossref`."""
    works = {
        each.doi.lower(): _work(each.doi, each.crossref) for each in library.publications if each.doi and each.crossref
    }

    async def one(request: Request) -> Response:
        found = works.get(request.path_params["doi"].lower())
        if found is None:
            return PlainTextResponse("Resource not found.", status_code=404)
        return JSONResponse({"status": "ok", "message-type": "work", "message-version": "1.0.0", "message": found})

    async def several(request: Request) -> Response:
        filters = [part.partition(":") for part in request.query_params.get("filter", "").split(",") if part]
        if unknown := [name for name, _, value in filters if name != "doi" or not value.startswith("10.")]:
            return JSONResponse(_refusal(unknown[0]), status_code=400)
        wanted = {value.lower() for _, _, value in filters}
        asked = request.query_params.get("rows", "")
        rows = min(int(asked) if asked.isdecimal() else _DEFAULT_ROWS, _LARGEST_ROWS)
        select = list(filter(None, request.query_params.get("select", "").split(",")))
        found = [work for doi, work in works.items() if doi in wanted or not wanted]
        items = [{name: work[name] for name in select or work if name in work} for work in found[:rows]]
        message = {"facets": {}, "total-results": len(found), "items": items, "items-per-page": rows}
        return JSONResponse(
            {"status": "ok", "message-type": "work-list", "message-version": "1.0.0", "message": message}
        )

    return [
        Route("/crossref/works", several, methods=["GET"]),
        Route("/crossref/works/{doi:path}", one, methods=["GET"]),
    ]


def _work(doi: str, known: Mapping[str, Any]) -> dict[str, Any]:
    return {"DOI": doi.lower(), "source": "Crossref", **known}


def _refusal(value: str) -> dict[str, Any]:
    problem = {"type": "filter-not-available", "value": value, "message": f"Filter {value} specified but there is none"}
    return {"status": "failed", "message-type": "validation-failure", "message": [problem]}
