"""STRING's partners of human proteins, by gene symbol.

https://string-db.org/help/api/. The pairs are the library's `interactions.jsonl`: rows of STRING's own reply, under its
licence (CC BY 4.0); none of them is of a drug's target in migraine, and most proteins have none here.
"""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..library import Library

_SPECIES = "9606"
_SWAPPED = {"stringId_A": "stringId_B", "preferredName_A": "preferredName_B"}


def routes(library: Library) -> list[Route]:
    """The one address below `/stringdb`."""
    pairs = [pair for each in library.others.get("interactions", ()) for pair in (each, _from_the_other_end(each))]

    async def partners(request: Request) -> Response:
        asked = request.query_params
        names = {name.strip().upper() for name in asked.get("identifiers", "").split("\r")} - {""}
        if not names:
            return _refusal("bad request", "the parameter 'identifiers' is missing")
        least, most = int(asked.get("required_score", "400")) / 1000, int(asked.get("limit", "10"))
        found = [
            sorted((_row(each) for each in pairs if each["preferredName_A"] == name), key=lambda row: -row["score"])
            for name in sorted(names)
        ]
        rows = [row for each in found for row in [pair for pair in each if pair["score"] >= least][:most]]
        known = any(found) and asked.get("species") == _SPECIES
        return JSONResponse(rows) if known else _refusal("not found", "no protein of these names is known")

    return [Route("/stringdb/json/interaction_partners", partners, methods=["GET"])]


def _from_the_other_end(pair: dict[str, Any]) -> dict[str, Any]:
    return {**pair, **{a: pair[b] for a, b in _SWAPPED.items()}, **{b: pair[a] for a, b in _SWAPPED.items()}}


def _row(pair: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in pair.items() if name != "willowbark"}


def _refusal(error: str, message: str) -> Response:
    return JSONResponse([{"Error": error, "ErrorMessage": message}], status_code=404 if error == "not found" else 400)
