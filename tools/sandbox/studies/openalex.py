"""OpenAlex's works: one by its DOI or PMID, and a search for words.

https://developers.openalex.org/api-reference/introduction. A work of which the library does not know OpenAlex's word is
not found. The sandbox needs no key and takes any.
"""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..library import Library
from ..matching import Document, Index
from ..syntax import parse

_DEFAULT_PAGE, _LARGEST_PAGE = 25, 100
_DOI = "https://doi.org/"
_PMID = "https://pubmed.ncbi.nlm.nih.gov/"


def routes(library: Library) -> list[Route]:
    """The works below `/openalex`."""
    works = [_work(each.doi, each.pmid, each.openalex) for each in library.publications if each.doi and each.openalex]
    by_name = {f"doi:{work['doi'].removeprefix(_DOI)}": work for work in works}
    by_name |= {f"pmid:{work['ids']['pmid'].removeprefix(_PMID)}": work for work in works if "pmid" in work["ids"]}

    index = Index(
        (Document(work["id"], {"title": str(work.get("title", ""))}) for work in works), default=("title",), aliases={}
    )
    by_id = {work["id"]: work for work in works}

    async def one(request: Request) -> Response:
        name = request.path_params["name"].lower().replace(f"doi:{_DOI}", "doi:")
        found = by_name.get(name)
        if found is None:
            return JSONResponse({"error": "Not Found", "message": "No such work"}, status_code=404)
        return JSONResponse(_selected(found, request))

    async def search(request: Request) -> Response:
        found = [by_id[each] for each in index.search(parse(request.query_params.get("search", "")))]
        asked = request.query_params.get("per_page") or request.query_params.get("per-page") or ""
        size = min(int(asked) if asked.isdecimal() else _DEFAULT_PAGE, _LARGEST_PAGE)
        meta = {"count": len(found), "db_response_time_ms": 1, "page": 1, "per_page": size, "groups_count": None}
        return JSONResponse({"meta": meta, "results": [_selected(work, request) for work in found[:size]]})

    return [
        Route("/openalex/works", search, methods=["GET"]),
        Route("/openalex/works/{name:path}", one, methods=["GET"]),
    ]


def _work(doi: str, pmid: str | None, known: Mapping[str, Any]) -> dict[str, Any]:
    ids = {"doi": f"{_DOI}{doi.lower()}", **({"pmid": f"{_PMID}{pmid}"} if pmid else {})}
    return {"doi": ids["doi"], **known, "ids": {**ids, **known.get("ids", {})}}


def _selected(work: Mapping[str, Any], request: Request) -> dict[str, Any]:
    select = list(filter(None, request.query_params.get("select", "").split(",")))
    return {name: work[name] for name in select or work if name in work}
