"""Reactome's pathways: some by their stable ids, and a search by name.

https://reactome.org/dev/content-service. The pathways are those that the library's drugs and proteins take part in;
the library holds no summaries of them but those of its `pathways.jsonl`, told in the project's own words.
"""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..library import Library
from ..matching import words

_LARGEST = 20  # ids of one request; the server leaves further ones out without a word


def routes(library: Library) -> list[Route]:
    """The addresses below `/reactome`."""
    names = {path.id: path.name for drug in library.drugs for each in drug.mechanisms for path in each.pathways}
    names |= {path["id"]: path["name"] for each in library.others.get("proteins", ()) for path in each["pathways"]}
    summaries = {each["id"]: each["summary"] for each in library.others.get("pathways", ())}

    async def several(request: Request) -> Response:
        asked = [number.strip() for number in (await request.body()).decode().split(",")][:_LARGEST]
        found = [_pathway(number, names[number], summaries.get(number)) for number in asked if number in names]
        return JSONResponse(found) if found else _refusal("No entries found")

    async def search(request: Request) -> Response:
        wanted = set(words(request.query_params.get("query", "")))
        found = sorted(number for number, name in names.items() if wanted and wanted <= set(words(name)))
        if not found:
            return _refusal(f"No entries found for query: {request.query_params.get('query', '')}")
        entries = [
            {"stId": number, "id": number, "name": names[number], "species": ["Homo sapiens"]} for number in found
        ]
        return JSONResponse({"results": [{"typeName": "Pathway", "entries": entries}]})

    return [
        Route("/reactome/data/query/ids", several, methods=["POST"]),
        Route("/reactome/search/query", search, methods=["GET"]),
    ]


def _pathway(number: str, name: str, summary: str | None) -> dict[str, Any]:
    told = {"summation": [{"text": summary}]} if summary else {}
    return {"stId": number, "displayName": name, "speciesName": "Homo sapiens", **told}


def _refusal(message: str) -> Response:
    return JSONResponse({"code": 404, "reason": "NOT_FOUND", "messages": [message]}, status_code=404)
