"""UniProt: what proteins do; human ones alone, a failure is never taken for a protein without function."""

from typing import Any

import httpx
from recorded import answering, recorded

from willowbark.agents.report.forms import safe_url
from willowbark.tools.records import Protein
from willowbark.tools.search import Status
from willowbark.tools.sources.drugs.uniprot import UniProt, parse_protein


def crossing(database: str, number: str, **said: str) -> dict[str, Any]:
    return {"database": database, "id": number, "properties": [{"key": k, "value": v} for k, v in said.items()]}


DISEASE = {"diseaseId": "A disease", "diseaseCrossReference": {"database": "MIM", "id": "123456"}}
ENTRY: dict[str, Any] = {
    "primaryAccession": "P08588",
    "organism": {"scientificName": "Homo sapiens"},
    "proteinDescription": {"recommendedName": {"fullName": {"value": "Beta-1 adrenergic receptor"}}},
    "genes": [{"geneName": {"value": "ADRB1"}, "synonyms": [{"value": "ADRB1R"}]}],
    "comments": [
        {"commentType": "FUNCTION", "texts": [{"value": "Mediates activation (PubMed:1, PubMed:22). More."}]},
        {"commentType": "DISEASE", "disease": DISEASE, "note": {"texts": [{"value": "Caused by variants."}]}},
    ],
    "uniProtKBCrossReferences": [
        crossing("GO", "GO:1", GoTerm="P:heart rate", GoEvidenceType="IDA:UniProtKB"),
        crossing("GO", "GO:2", GoTerm="P:guessed", GoEvidenceType="IEA:InterPro"),
        crossing("GO", "GO:3", GoTerm="F:binding"),
        crossing("Reactome", "R-HSA-390696", PathwayName="Adrenoceptors"),
    ],
}


def test_an_entry_tells_function_processes_pathways_and_diseases() -> None:
    found = parse_protein(ENTRY)
    assert found is not None
    said = found.record
    assert isinstance(said, Protein)

    assert (said.uniprot_id, said.gene_symbol, said.function) == ("P08588", "ADRB1", "Mediates activation. More.")
    assert said.processes == [{"id": "GO:1", "name": "heart rate"}]
    assert said.pathways == [{"id": "R-HSA-390696", "name": "Adrenoceptors"}]
    assert said.diseases == [{"name": "A disease", "id": "MIM:123456", "note": "Caused by variants."}]
    assert said.organism is None
    assert safe_url(found.citation.url) == found.citation.url


async def test_a_drug_gives_the_human_proteins_it_acts_on_and_a_condition_those_involved_in_it() -> None:
    async with recorded() as transport:
        drug, condition = await UniProt(transport).find("propranolol"), await UniProt(transport).find("migraine")
        pages = [await UniProt(transport).find("migraine", 1, {"page": number}) for number in (1, 2)]

    assert {record.metadata["gene_symbol"] for record in drug.records} == {"ADRB1", "ADRB2"}
    assert "CACNA1A" in {record.metadata["gene_symbol"] for record in condition.records}
    keys = {record.key for page in pages for record in page.records}
    assert len(keys) == min(2, condition.total)


async def test_a_target_that_is_not_human_is_named_and_not_asked_for() -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        meta = {"page_meta": {"next": None}}
        rows: dict[str, Any] = {
            "molecule": {"molecules": [{"molecule_chembl_id": "CHEMBL1", "pref_name": "ISONIAZID"}]},
            "mechanism": {"mechanisms": [{"molecule_chembl_id": "CHEMBL1", "target_chembl_id": "CHEMBL2"}]},
            "drug_indication": {"drug_indications": []},
            "target": {
                "targets": [
                    {
                        "target_chembl_id": "CHEMBL2",
                        "pref_name": "Enoyl reductase",
                        "organism": "Mycobacterium tuberculosis",
                        "target_components": [{"accession": "P9WGR1"}],
                    }
                ]
            },
        }
        name = request.url.path.rpartition("/")[2].removesuffix(".json")
        return httpx.Response(200, json={**rows[name], **meta}) if name in rows else httpx.Response(500)

    found = await answering(UniProt, answer).look_up("isoniazid")

    assert (found.status, found.records) == (Status.EMPTY, [])
    assert "Enoyl reductase is of Mycobacterium tuberculosis, not human" in found.warnings
    assert "one database alone" in "\n".join(found.warnings)
    assert [request for request in asked if request.url.path.startswith("/uniprot/")] == []
