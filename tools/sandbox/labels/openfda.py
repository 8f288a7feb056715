"""openFDA's drug labels: Lucene's fields, phrases, groups, OR and AND.

https://open.fda.gov/apis/advanced-syntax/. The labels are the library's `labels.jsonl`: names and numbers are
DailyMed's, the sections are told in the project's own words.
"""

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..library import Library
from ..matching import Document, Index
from ..syntax import parse

_FIELD = re.compile(r"\b(?:[a-z_]+\.)*([a-z_]+):(?=[(\"\w])")
_SEARCHED = ("generic_name", "brand_name", "substance_name", "indications_and_usage", "boxed_warning")
LARGEST_LIMIT = 1000


def routes(library: Library) -> list[Route]:
    """The one address below `/openfda`."""
    labels = {label["set_id"]: label for label in library.others.get("labels", ())}
    index = Index(
        (Document(set_id, {field: _text(label, field) for field in _SEARCHED}) for set_id, label in labels.items()),
        default=_SEARCHED,
        aliases={},
    )

    async def label(request: Request) -> Response:
        asked = request.query_params
        limit = int(asked.get("limit", "1")) if asked.get("limit", "1").isdecimal() else 0
        if not 1 <= limit <= LARGEST_LIMIT:
            return refusal(400, "BAD_REQUEST", "Limit must be between 1 and 1000")
        query = fields_in_capitals(asked.get("search", ""))
        found = [labels[each] for each in index.search(parse(query))]
        if not found:
            return refusal(404, "NOT_FOUND", "No matches found!")
        if asked.get("sort") == "effective_time:desc":
            found.sort(key=lambda each: each.get("effective_time", ""), reverse=True)
        served = [{name: part for name, part in each.items() if name != "willowbark"} for each in found[:limit]]
        return JSONResponse({"meta": {"results": {"skip": 0, "limit": limit, "total": len(found)}}, "results": served})

    return [Route("/openfda/drug/label.json", label, methods=["GET"])]


def _text(label: dict[str, Any], field: str) -> str:
    return " ; ".join([*label.get(field, ()), *label["openfda"].get(field, ())])


def fields_in_capitals(query: str) -> str:
    """A query with its fields as `parse` takes them, without the objects that they lie in.

    >>> fields_in_capitals("openfda.generic_name:(propranolol)")
    'GENERIC_NAME:(propranolol)'
    """
    return _FIELD.sub(lambda field: f"{field[1].upper()}:", query)


def refusal(status: int, code: str, message: str) -> Response:
    return JSONResponse({"error": {"code": code, "message": message}}, status)
