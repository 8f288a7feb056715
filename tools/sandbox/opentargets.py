"""Open Targets' GraphQL: search, diseases with their drugs and targets, drugs with their mechanisms and indications.

https://platform-docs.opentargets.org/data-access/graphql-api. The schema is the public one as far as the library can
answer it; a field outside of it gives `errors` with status 400. Rows whose drug, disease or target has no number are
left out, since the schema requires one.
"""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from .graphql import Field, Schema, execute
from .graphql_syntax import Arguments, GraphQLError
from .library import Disease, Drug, Library, Mechanism
from .matching import words

_STAGES = {4.0: "APPROVAL", 3.0: "PHASE_3", 2.0: "PHASE_2", 1.0: "PHASE_1", 0.5: "EARLY_PHASE_1"}
_UNKNOWN_STAGE = "UNKNOWN"
_DEFAULT_SIZE = 10
_FROM_DISEASE = "clinicalIndicationsFromDisease"


class Graph:
    """The library's diseases and drugs, joined by their numbers.

    Args:
        library: holds them.
    """

    def __init__(self, library: Library) -> None:
        self.diseases = {disease.id: disease for disease in library.diseases}
        self.drugs = {drug.molecule_chembl_id: drug for drug in library.drugs if drug.molecule_chembl_id}
        self.schema = _schema(self)

    def search(self, arguments: Arguments) -> dict[str, Any]:
        """Entities whose name or synonym holds all words of the query, those of that very name first."""
        wanted = set(words(str(arguments.get("queryString") or "")))
        kinds = arguments.get("entityNames") or ["disease", "drug"]
        hits: list[dict[str, Any]] = []
        for kind, known in (("disease", self.diseases), ("drug", self.drugs)):
            for number, each in known.items() if kind in kinds else ():
                score = max(_likeness(wanted, name) for name in (each.name, *each.synonyms))
                if score:
                    hits.append({"id": number, "name": each.name, "entity": kind, "score": score})
        hits.sort(key=lambda hit: (-hit["score"], hit["id"]))
        return {"total": len(hits), "hits": _paged(hits, arguments)}

    def drugs_of(self, disease: Disease) -> dict[str, Any]:
        """The drugs that were tried for a disease."""
        rows = [
            {"stage": each.max_phase, "drug": each.molecule_chembl_id}
            for each in disease.drugs
            if each.molecule_chembl_id in self.drugs
        ]
        return {"count": len(rows), "rows": rows}

    def indications_of(self, drug: Drug) -> dict[str, Any]:
        """The diseases that a drug was tried for."""
        rows = [
            {"stage": each.max_phase, "disease": each.efo_id}
            for each in drug.indications
            if each.efo_id in self.diseases
        ]
        return {"count": len(rows), "rows": rows}


def routes(graph: Graph) -> list[Route]:
    """The one address below `/opentargets`."""

    async def graphql(request: Request) -> Response:
        try:
            asked = await request.json()
        except ValueError:
            return _refusal("Malformed JSON in request body")
        if not isinstance(asked, dict) or not isinstance(asked.get("query"), str):
            return _refusal("No query in request body")
        variables = asked.get("variables")
        try:
            data = execute(
                graph.schema,
                asked["query"],
                variables if isinstance(variables, Mapping) else {},
                asked.get("operationName"),
            )
        except GraphQLError as error:
            return _refusal(str(error))
        return JSONResponse({"data": data})

    return [Route("/opentargets/graphql", graphql, methods=["POST"])]


def _refusal(message: str) -> Response:
    return JSONResponse({"errors": [{"message": message}]}, status_code=400)


def _likeness(wanted: set[str], name: str) -> float:
    held = set(words(name))
    return len(wanted) / len(held) if wanted and wanted <= held else 0.0


def _paged(rows: list[Any], arguments: Arguments) -> list[Any]:
    page = arguments.get("page") or {}
    size = int(page.get("size", _DEFAULT_SIZE))
    start = int(page.get("index", 0)) * size
    return rows[start : start + size]


def _stage(phase: float | None) -> str:
    return _UNKNOWN_STAGE if phase is None else _STAGES.get(float(phase), _UNKNOWN_STAGE)


def _targets(mechanism: Mechanism) -> list[dict[str, Any]]:
    """Targets by their Ensembl numbers; none where it is not certain which number is whose."""
    if len(mechanism.ensembl_ids) != len(mechanism.gene_symbols):
        return []
    pairs = zip(mechanism.ensembl_ids, mechanism.gene_symbols, strict=True)
    pathways = [{"pathwayId": each.id, "pathway": each.name} for each in mechanism.pathways]
    return [{"id": number, "approvedSymbol": symbol, "pathways": pathways} for number, symbol in pairs]


def _associated(disease: Disease, arguments: Arguments) -> dict[str, Any]:
    targets = sorted(disease.targets, key=lambda target: (-target.score, target.symbol))
    rows = [
        {"score": each.score, "target": {"id": each.ensembl_id, "approvedSymbol": each.symbol, "pathways": []}}
        for each in targets
    ]
    return {"count": len(rows), "rows": _paged(rows, arguments)}


def _mechanisms(drug: Drug) -> dict[str, Any]:
    actions = sorted({each.action_type for each in drug.mechanisms if each.action_type})
    return {"rows": list(drug.mechanisms), "uniqueActionTypes": actions}


def _schema(graph: Graph) -> Schema:
    """What can be asked, after https://api.platform.opentargets.org/api/v4/graphql/schema."""

    def item(name: str, kind: str | None = None) -> Field:
        return Field(lambda source, _: source[name], kind)

    def own(name: str) -> Field:
        return Field(lambda source, _: getattr(source, name))

    stage = Field(lambda source, _: _stage(source["stage"]))
    drug = Field(lambda source, _: graph.drugs.get(source["drug"]), "Drug")
    disease = Field(lambda source, _: graph.diseases.get(source["disease"]), "Disease")
    rows = {"count": item("count")}
    return {
        "Query": {
            "search": Field(lambda _, arguments: graph.search(arguments), "SearchResults"),
            "disease": Field(lambda _, arguments: graph.diseases.get(str(arguments.get("efoId"))), "Disease"),
            "drug": Field(lambda _, arguments: graph.drugs.get(str(arguments.get("chemblId"))), "Drug"),
        },
        "SearchResults": {"total": item("total"), "hits": item("hits", "SearchResult")},
        "SearchResult": {name: item(name) for name in ("id", "name", "entity", "score")},
        "Disease": {
            "id": own("id"),
            "name": own("name"),
            "drugAndClinicalCandidates": Field(lambda source, _: graph.drugs_of(source), _FROM_DISEASE),
            "associatedTargets": Field(_associated, "AssociatedTargets"),
        },
        _FROM_DISEASE: {**rows, "rows": item("rows", "ClinicalIndicationFromDisease")},
        "ClinicalIndicationFromDisease": {"maxClinicalStage": stage, "drug": drug},
        "AssociatedTargets": {**rows, "rows": item("rows", "AssociatedTarget")},
        "AssociatedTarget": {"score": item("score"), "target": item("target", "Target")},
        "Target": {name: item(name) for name in ("id", "approvedSymbol")}
        | {"pathways": item("pathways", "ReactomePathway")},
        "ReactomePathway": {name: item(name) for name in ("pathway", "pathwayId")},
        "Drug": {
            "id": own("molecule_chembl_id"),
            "name": own("name"),
            "drugType": Field(lambda source, _: source.molecule_type or "Unknown"),
            "maximumClinicalStage": Field(lambda source, _: _stage(source.max_phase)),
            "synonyms": own("synonyms"),
            "mechanismsOfAction": Field(lambda source, _: _mechanisms(source), "MechanismsOfAction"),
            "indications": Field(lambda source, _: graph.indications_of(source), "clinicalIndicationsFromDrug"),
        },
        "MechanismsOfAction": {
            "rows": item("rows", "MechanismOfActionRow"),
            "uniqueActionTypes": item("uniqueActionTypes"),
        },
        "MechanismOfActionRow": {
            "mechanismOfAction": own("mechanism_of_action"),
            "actionType": own("action_type"),
            "targetName": own("target_name"),
            "targets": Field(lambda source, _: _targets(source), "Target"),
        },
        "clinicalIndicationsFromDrug": {**rows, "rows": item("rows", "ClinicalIndicationFromDrug")},
        "ClinicalIndicationFromDrug": {"maxClinicalStage": stage, "disease": disease},
    }
