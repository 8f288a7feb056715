"""MyChem.info's search by name, over the library's drugs: ChEMBL's part and the Guide to Pharmacology's.

https://docs.mychem.info. As there, an object stands in place of a list of one.
"""

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..library import Drug, Library
from ..matching import words


def routes(library: Library) -> list[Route]:
    """The one address below `/mychem`."""
    held = [drug for drug in library.drugs if drug.molecule_chembl_id]

    async def query(request: Request) -> Response:
        wanted = set(words(request.query_params.get("q", "").replace('"', " ")))
        if not wanted:
            return JSONResponse({"code": 400, "success": False, "error": "Bad Request", "missing": "q"}, 400)
        named = [drug for drug in held if any(wanted <= set(words(name)) for name in (drug.name, *drug.synonyms))]
        hits = [_hit(drug) for drug in named]
        return JSONResponse({"took": 1, "total": len(hits), "max_score": 1.0 if hits else None, "hits": hits})

    return [Route("/mychem/query", query, methods=["GET"])]


def _hit(drug: Drug) -> dict[str, Any]:
    mechanisms = [{"action_type": each.action_type, "target_name": each.target_name} for each in drug.mechanisms]
    genes = [{"symbol": gene} for each in drug.mechanisms for gene in each.gene_symbols]
    chembl = {
        "pref_name": drug.name,
        "molecule_chembl_id": drug.molecule_chembl_id,
        "molecule_type": drug.molecule_type,
    }
    return {
        "_id": f"{drug.molecule_chembl_id}",
        "_score": 1.0,
        "chembl": {**chembl, "drug_mechanisms": _alone(mechanisms)},
        "gtopdb": {"name": drug.name.lower(), "interaction_targets": _alone(genes)},
    }


def _alone(rows: list[Any]) -> Any:
    return rows[0] if len(rows) == 1 else rows
