"""UniProt's search for reviewed human proteins: by accession, by gene, by words of a disease.

https://www.uniprot.org/help/query-fields. The proteins are the library's `proteins.jsonl`: names and numbers are
UniProt's, processes and pathways those that public mechanism paths name, functions are told in the project's own words.
"""

import re
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..library import Library
from ..matching import words

_TERM = re.compile(r"(accession|gene_exact|gene|cc_disease):(?:\"([^\"]*)\"|([A-Za-z0-9_-]+))")
_KNOWN = re.compile(r"(?:[()\s]|AND|OR|organism_id:9606|reviewed:true)*")
_LARGEST = 500


def routes(library: Library) -> list[Route]:
    """The one address below `/uniprot`."""
    proteins = library.others.get("proteins", ())

    async def search(request: Request) -> Response:
        asked = request.query_params
        query, size = asked.get("query", ""), asked.get("size", "25")
        if not query or not _KNOWN.fullmatch(_TERM.sub("", query)):
            return _refusal("query parameter has an invalid syntax")
        if not size.isdecimal() or int(size) > _LARGEST:
            return _refusal(f"'size' must be less than or equal to {_LARGEST}")
        terms = [(name, quoted or bare) for name, quoted, bare in _TERM.findall(query)]
        found = [each for each in proteins if any(_holds(each, name, value) for name, value in terms)]
        return JSONResponse({"results": [_entry(each) for each in found[: int(size)]]})

    return [Route("/uniprot/uniprotkb/search", search, methods=["GET"])]


def _holds(protein: dict[str, Any], name: str, value: str) -> bool:
    if name == "accession":
        return bool(protein["accession"] == value)
    if name.startswith("gene"):
        return bool(protein["gene"].lower() == value.lower())
    told = [words(f"{each['name']} {each['description']}") for each in protein.get("diseases", ())]
    return any(set(words(value)) <= set(each) for each in told)


def _entry(protein: dict[str, Any]) -> dict[str, Any]:
    """A protein as UniProt writes it."""
    told = protein.get("function")
    comments = [{"commentType": "FUNCTION", "texts": [{"value": told}]}] if told else []
    crossed = [
        *(
            _reference("GO", each["id"], GoTerm=f"P:{each['name']}", GoEvidenceType="TAS")
            for each in protein["processes"]
        ),
        *(_reference("Reactome", each["id"], PathwayName=each["name"]) for each in protein["pathways"]),
    ]
    return {
        "entryType": "UniProtKB reviewed (Swiss-Prot)",
        "primaryAccession": protein["accession"],
        "organism": {"scientificName": "Homo sapiens", "taxonId": 9606},
        "proteinDescription": {"recommendedName": {"fullName": {"value": protein["name"]}}},
        "genes": [{"geneName": {"value": protein["gene"]}, "synonyms": [{"value": x} for x in protein["synonyms"]]}],
        "comments": [*comments, *map(_disease, protein.get("diseases", ()))],
        "uniProtKBCrossReferences": crossed,
    }


def _reference(database: str, number: str, **properties: str) -> dict[str, Any]:
    return {
        "database": database,
        "id": number,
        "properties": [{"key": key, "value": value} for key, value in properties.items()],
    }


def _disease(said: dict[str, Any]) -> dict[str, Any]:
    crossed = {"database": "MIM", "id": said["mim"]}
    disease = {"diseaseId": said["name"], "description": said["description"], "diseaseCrossReference": crossed}
    return {"commentType": "DISEASE", "disease": disease, "note": {"texts": [{"value": said["note"]}]}}


def _refusal(message: str) -> Response:
    return JSONResponse({"url": "http://rest.uniprot.org/uniprotkb/search", "messages": [message]}, status_code=400)
