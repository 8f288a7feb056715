"""FAERS' counts of reported adverse events, by the names of drugs.

https://open.fda.gov/apis/drug/event/. The counts are the library's `adverse_events.jsonl`, recorded ones alone.
"""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..library import Library
from .openfda import refusal

_COUNTED = "patient.reaction.reactionmeddrapt.exact"


def routes(library: Library) -> list[Route]:
    """The one address below `/faers`."""
    held = library.others.get("adverse_events", ())

    async def events(request: Request) -> Response:
        asked = request.query_params
        if asked.get("count") != _COUNTED:
            return refusal(400, "BAD_REQUEST", "Nothing to analyze")
        found = [each for each in held if each["drug"].lower() in asked.get("search", "").lower()]
        if not found:
            return refusal(404, "NOT_FOUND", "No matches found!")
        return JSONResponse({"meta": {}, "results": found[0]["counts"]})

    return [Route("/faers/drug/event.json", events, methods=["GET"])]
