"""DGIdb's interactions of drugs and genes: those of the library's drugs with their targets.

https://dgidb.org/api. Two queries are answered, by drugs' names and by genes' symbols; names are compared in capitals.
"""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..library import Library

_WRONG = "Field doesn't exist on type 'Query'"


def routes(library: Library) -> list[Route]:
    """The one address below `/dgidb`."""
    rows = [
        (drug.name.upper(), gene, mechanism.action_type)
        for drug in library.drugs
        for mechanism in drug.mechanisms
        for gene in mechanism.gene_symbols
    ]

    async def graphql(request: Request) -> Response:
        asked = await request.json()
        names = {str(name).upper() for name in asked.get("variables", {}).get("names", ())}
        query = str(asked.get("query", ""))
        root = next((each for each in ("drugs", "genes") if f"{each}(names:" in query), None)
        if root is None:
            return JSONResponse({"errors": [{"message": _WRONG}]})
        other = "gene" if root == "drugs" else "drug"
        told = [(drug, gene, action) if root == "drugs" else (gene, drug, action) for drug, gene, action in rows]
        nodes = [
            {"name": name, "interactions": [_told(other, end, action) for own, end, action in told if own == name]}
            for name in sorted(names & {own for own, _, _ in told})
        ]
        return JSONResponse({"data": {root: {"nodes": nodes}}})

    return [Route("/dgidb/graphql", graphql, methods=["POST"])]


def _told(other: str, name: str, action: str | None) -> dict[str, Any]:
    types = [{"type": action.lower(), "directionality": None}] if action else []
    return {
        other: {"name": name},
        "interactionScore": 1.0,
        "interactionTypes": types,
        "publications": [],
        "sources": [{"sourceDbName": "ChEMBL"}],
    }
