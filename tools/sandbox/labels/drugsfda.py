"""Drugs@FDA's approvals: ingredients and reference products by Lucene's fields, as openFDA takes them.

https://open.fda.gov/apis/drug/drugsfda/. The applications are the library's `approvals.jsonl`.
"""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..library import Library
from ..matching import Document, Index
from ..syntax import parse
from .openfda import LARGEST_LIMIT, fields_in_capitals, refusal


def routes(library: Library) -> list[Route]:
    """The one address below `/drugsfda`."""
    held = {each["application_number"]: each for each in library.others.get("approvals", ())}
    index = Index(
        (
            Document(
                number,
                {
                    "name": " ; ".join(x["name"] for p in each["products"] for x in p["active_ingredients"]),
                    "reference_drug": " ".join(p["reference_drug"] for p in each["products"]),
                },
            )
            for number, each in held.items()
        ),
        default=("name",),
        aliases={},
    )

    async def approvals(request: Request) -> Response:
        asked = request.query_params
        limit = int(asked.get("limit", "1")) if asked.get("limit", "1").isdecimal() else 0
        if not 1 <= limit <= LARGEST_LIMIT:
            return refusal(400, "BAD_REQUEST", "Limit must be between 1 and 1000")
        query = fields_in_capitals(asked.get("search", ""))
        found = [held[number] for number in index.search(parse(query))]
        if not found:
            return refusal(404, "NOT_FOUND", "No matches found!")
        served = [{name: part for name, part in each.items() if name != "willowbark"} for each in found[:limit]]
        return JSONResponse({"meta": {"results": {"skip": 0, "limit": limit, "total": len(found)}}, "results": served})

    return [Route("/drugsfda/drug/drugsfda.json", approvals, methods=["GET"])]
