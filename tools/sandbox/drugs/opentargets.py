"""Open Targets' GraphQL: search, diseases with their drugs and targets, drugs with their mechanisms and indications.

https://platform-docs.opentargets.org/data-access/graphql-api. The schema is the public one as far as the library can
answer it. As there, a query that is not GraphQL gives 400 with `syntaxError`; one that the schema can't answer (a field
it does not know, a variable without value) 400 with `errors` and null for data; a failure on the way 200 with both.
Rows whose drug, disease or target has no number are left out, since the schema requires one.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from graphql import DocumentNode, GraphQLError, GraphQLSyntaxError, build_schema, parse, validate
from graphql.execution import ExecutionResult, execute_sync
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..library import Disease, Library, Mechanism
from ..matching import likeness, words

_STAGES = {4.0: "APPROVAL", 3.0: "PHASE_3", 2.0: "PHASE_2", 1.0: "PHASE_1", 0.5: "EARLY_PHASE_1"}
_UNKNOWN_STAGE = "UNKNOWN"
_DEFAULT_SIZE = 10
_SCHEMA = """
type Query {
  search(queryString: String!, entityNames: [String!], page: Pagination): SearchResults!
  disease(efoId: String!): Disease
  drug(chemblId: String!): Drug
  drugs(chemblIds: [String!]!): [Drug!]!
  mapIds(queryTerms: [String!]!, entityNames: [String!]): MappingResults!
}
type MappingResults { mappings: [MappingResult!]! }
type MappingResult { term: String!, hits: [SearchResult!]! }
input Pagination { index: Int!, size: Int! }
type SearchResults { total: Int!, hits: [SearchResult!]! }
type SearchResult { id: String!, name: String!, entity: String!, score: Float! }
type Disease {
  id: String!
  name: String!
  drugAndClinicalCandidates: clinicalIndicationsFromDisease
  associatedTargets(page: Pagination): AssociatedTargets!
}
type clinicalIndicationsFromDisease { count: Int!, rows: [ClinicalIndicationFromDisease!]! }
type ClinicalIndicationFromDisease { maxClinicalStage: String!, drug: Drug }
type AssociatedTargets { count: Int!, rows: [AssociatedTarget!]! }
type AssociatedTarget { score: Float!, target: Target! }
type Target { id: String!, approvedSymbol: String!, pathways: [ReactomePathway!]! }
type DrugWarning {
  warningType: String!, description: String, toxicityClass: String, country: String, year: Int
}
type AdverseEvents { count: Int!, criticalValue: Float!, rows: [AdverseEvent!]! }
type AdverseEvent { name: String!, count: Int!, logLR: Float!, meddraCode: String }
type ReactomePathway { pathway: String!, pathwayId: String! }
type Drug {
  id: String!
  name: String!
  drugType: String!
  maximumClinicalStage: String!
  synonyms: [String!]!
  drugWarnings: [DrugWarning!]!
  adverseEvents(page: Pagination): AdverseEvents
  mechanismsOfAction: MechanismsOfAction
  indications: clinicalIndicationsFromDrug
}
type MechanismsOfAction { rows: [MechanismOfActionRow!]!, uniqueActionTypes: [String!]! }
type MechanismOfActionRow { mechanismOfAction: String!, actionType: String, targetName: String, targets: [Target!]! }
type clinicalIndicationsFromDrug { count: Int!, rows: [ClinicalIndicationFromDrug!]! }
type ClinicalIndicationFromDrug { maxClinicalStage: String!, disease: Disease }
"""
"""After https://api.platform.opentargets.org/api/v4/graphql/schema."""


class Graph:
    """The library's diseases and drugs, joined by their numbers; its public methods answer the fields of `Query`.

    Args:
        library: holds them.
    """

    def __init__(self, library: Library) -> None:
        self._diseases = {disease.id: disease for disease in library.diseases}
        self._warnings, self._events = library.others.get("warnings", ()), library.others.get("signals", ())
        self._drugs = {drug.molecule_chembl_id: drug for drug in library.drugs if drug.molecule_chembl_id}

    def search(self, _: object, **asked: Any) -> dict[str, Any]:
        """Entities whose name or synonym holds all words of the query, those of that very name first."""
        wanted = set(words(asked["queryString"]))
        kinds = asked.get("entityNames") or ["disease", "drug"]
        hits = [
            (likeness(wanted, each.name, *each.synonyms), number, each.name, kind)
            for kind, known in (("disease", self._diseases), ("drug", self._drugs))
            for number, each in (known.items() if kind in kinds else ())
        ]
        found = sorted((hit for hit in hits if hit[0]), key=lambda hit: (-hit[0], hit[1]))
        rows = [dict(zip(("score", "id", "name", "entity"), hit, strict=True)) for hit in found]
        return {"total": len(rows), "hits": _paged(rows, asked)}

    def map_ids(self, _: object, **asked: Any) -> dict[str, Any]:
        """For each term the entities that bear it as a name, in whole."""
        kinds = {
            "queryString": "",
            "entityNames": asked.get("entityNames"),
            "page": {"index": 0, "size": _DEFAULT_SIZE},
        }
        mappings = [
            {
                "term": term,
                "hits": [hit for hit in self.search(_, **{**kinds, "queryString": term})["hits"] if hit["score"] == 1],
            }
            for term in asked["queryTerms"]
        ]
        return {"mappings": mappings}

    def drugs(self, _: object, **asked: Any) -> list[dict[str, Any]]:
        """Drugs by their numbers; an unknown number has no row."""
        return [drug for number in asked["chemblIds"] if (drug := self.drug(_, chemblId=number)) is not None]

    def disease(self, _: object, **asked: Any) -> dict[str, Any] | None:
        """A disease by its number; what it leads to is written when it is asked for."""
        disease = self._diseases.get(asked["efoId"])
        if disease is None:
            return None
        return {
            "id": disease.id,
            "name": disease.name,
            "associatedTargets": lambda _, **page: _associated(disease, page),
            "drugAndClinicalCandidates": _counted(
                {
                    "maxClinicalStage": _stage(each.max_phase),
                    "drug": lambda info, known=each.molecule_chembl_id: self.drug(info, chemblId=known),
                }
                for each in disease.drugs
                if each.molecule_chembl_id in self._drugs
            ),
        }

    def drug(self, _: object, **asked: Any) -> dict[str, Any] | None:
        """A drug by its number, in the same way."""
        drug = self._drugs.get(asked["chemblId"])
        if drug is None:
            return None
        return {
            "id": drug.molecule_chembl_id,
            "name": drug.name,
            "drugType": drug.molecule_type or "Unknown",
            "maximumClinicalStage": _stage(drug.max_phase),
            "synonyms": drug.synonyms,
            "drugWarnings": [
                {
                    "warningType": each["warning_type"],
                    "toxicityClass": each.get("warning_class"),
                    **{name: each.get(f"warning_{name}") for name in ("description", "country", "year")},
                }
                for each in self._warnings
                if each["parent_molecule_chembl_id"] == drug.molecule_chembl_id
            ],
            "adverseEvents": next((e for e in self._events if e["chembl_id"] == drug.molecule_chembl_id), None),
            "mechanismsOfAction": {
                "rows": [_mechanism(each) for each in drug.mechanisms],
                "uniqueActionTypes": sorted({each.action_type for each in drug.mechanisms if each.action_type}),
            },
            "indications": _counted(
                {
                    "maxClinicalStage": _stage(each.max_phase),
                    "disease": lambda info, known=each.efo_id: self.disease(info, efoId=known),
                }
                for each in drug.indications
                if each.efo_id in self._diseases
            ),
        }


def routes(library: Library) -> list[Route]:
    """The one address below `/opentargets`."""
    graph = Graph(library)
    schema = build_schema(_SCHEMA)
    assert schema.query_type is not None
    schema.query_type.fields["mapIds"].resolve = lambda root, info, **asked: root.map_ids(info, **asked)

    @lru_cache(maxsize=64)  # the same few are sent all the time
    def checked(query: str) -> tuple[DocumentNode, list[GraphQLError]]:
        document = parse(query)
        return document, validate(schema, document)

    async def graphql(request: Request) -> Response:
        try:
            asked = await request.json()
        except ValueError:
            return _refusal("Malformed JSON in request body")
        if not isinstance(asked, dict) or not isinstance(asked.get("query"), str):
            return _refusal("No query in request body")
        given, name = asked.get("variables"), asked.get("operationName")
        variables = given if isinstance(given, dict) else {}
        try:
            document, errors = checked(asked["query"])
        except GraphQLSyntaxError as error:
            said = error.formatted
            return JSONResponse({"syntaxError": said["message"], "locations": said["locations"]}, status_code=400)
        result = ExecutionResult(None, errors)
        if not errors:
            result = execute_sync(schema, document, graph, variable_values=variables, operation_name=name)
            errors = result.errors or []
        return JSONResponse(result.formatted, 400 if any(error.path is None for error in errors) else 200)

    return [Route("/opentargets/graphql", graphql, methods=["POST"])]


def _refusal(message: str) -> Response:
    return JSONResponse({"errors": [{"message": message}]}, status_code=400)


def _counted(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    found = list(rows)
    return {"count": len(found), "rows": found}


def _paged(rows: list[Any], asked: Mapping[str, Any]) -> list[Any]:
    page = asked.get("page") or {"index": 0, "size": _DEFAULT_SIZE}
    start = page["index"] * page["size"]
    return rows[start : start + page["size"]]


def _stage(phase: float | None) -> str:
    return _UNKNOWN_STAGE if phase is None else _STAGES.get(float(phase), _UNKNOWN_STAGE)


def _associated(disease: Disease, asked: Mapping[str, Any]) -> dict[str, Any]:
    targets = sorted(disease.targets, key=lambda target: (-target.score, target.symbol))
    rows = [
        {"score": each.score, "target": {"id": each.ensembl_id, "approvedSymbol": each.symbol, "pathways": []}}
        for each in targets
    ]
    return {"count": len(rows), "rows": _paged(rows, asked)}


def _mechanism(mechanism: Mechanism) -> dict[str, Any]:
    """One mechanism; without targets where it is not certain which Ensembl number is which gene's."""
    certain = len(mechanism.ensembl_ids) == len(mechanism.gene_symbols)
    pairs = zip(mechanism.ensembl_ids, mechanism.gene_symbols, strict=True) if certain else ()
    pathways = [{"pathwayId": each.id, "pathway": each.name} for each in mechanism.pathways]
    return {
        "mechanismOfAction": mechanism.mechanism_of_action,
        "actionType": mechanism.action_type,
        "targetName": mechanism.target_name,
        "targets": [{"id": number, "approvedSymbol": symbol, "pathways": pathways} for number, symbol in pairs],
    }
