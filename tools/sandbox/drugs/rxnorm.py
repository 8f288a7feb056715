"""RxNorm's names: the number of a name, and what is related to it.

https://lhncbc.nlm.nih.gov/RxNav/APIs/RxNormAPIs.html. The names are the library's `rxnorm.jsonl`.
"""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..library import Library


def routes(library: Library) -> list[Route]:
    """The addresses below `/rxnorm`."""
    held = {each["rxcui"]: each for each in library.others.get("rxnorm", ())}
    by_name = {name.lower(): number for number, each in held.items() for name in (each["name"], *each["brands"])}

    async def number(request: Request) -> Response:
        name = request.query_params.get("name", "")
        found = by_name.get(name.strip().lower())
        return JSONResponse({"idGroup": {"name": name, **({"rxnormId": [found]} if found else {})}})

    async def related(request: Request) -> Response:
        found = held.get(request.path_params["number"])
        groups = (
            [
                {"tty": "IN", "conceptProperties": [{"rxcui": found["rxcui"], "name": found["name"], "tty": "IN"}]},
                {"tty": "BN", "conceptProperties": [{"name": brand, "tty": "BN"} for brand in found["brands"]]},
            ]
            if found
            else []
        )
        return JSONResponse({"allRelatedGroup": {"rxcui": request.path_params["number"], "conceptGroup": groups}})

    return [
        Route("/rxnorm/rxcui.json", number, methods=["GET"]),
        Route("/rxnorm/rxcui/{number}/allrelated.json", related, methods=["GET"]),
    ]
