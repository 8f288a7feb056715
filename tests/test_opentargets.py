"""Open Targets: what is asked, what is read, and what every known form of failure turns into."""

import json
from typing import Any

import httpx
import pytest
from recorded import Answer, recorded, reply_to

from willowbark.tools.records import Disease
from willowbark.tools.search import Status
from willowbark.tools.sources.drugs.opentargets import OpenTargets, parse_disease, parse_drug


def asked_of(seen: list[httpx.Request]) -> list[tuple[str, dict[str, Any]]]:
    """The queries by name with their variables."""
    sent = [json.loads(request.content) for request in seen]
    return [(body["query"].split("(")[0].removeprefix("query "), body["variables"]) for body in sent]


def source(seen: list[httpx.Request] | None = None, **answers: Answer) -> OpenTargets:
    """The source over its recorded replies, with other answers by the name of a query."""

    def answer(request: httpx.Request) -> httpx.Response:
        [(name, _)] = asked_of([request])
        if isinstance(found := answers.get(name), httpx.Response):
            return found
        reply = reply_to(request)
        return httpx.Response(reply.status, content=reply.body)

    return OpenTargets(recorded({"*": answer}, seen))


def hits(*names: str, kind: str = "disease") -> httpx.Response:
    listed = [{"id": f"MONDO_{at}", "name": name, "entity": kind} for at, name in enumerate(names)]
    found = {"search": {"total": len(names), "hits": listed}, "mapIds": {"mappings": [{"term": "x", "hits": listed}]}}
    return httpx.Response(200, json={"data": found})


async def test_a_condition_gives_its_disease_with_drugs_and_targets() -> None:
    seen = list[httpx.Request]()
    reply = await source(seen).find("(migraine OR hemicrania) AND prevention")
    (record,) = reply.records
    drugs = {each["name"]: each for each in record.metadata["drugs"]}

    assert (reply.status, reply.total) == (Status.OK, 1)
    assert asked_of(seen)[0] == ("Search", {"text": "migraine", "kinds": ["disease"]})
    assert drugs["propranolol"] == {
        "name": "propranolol",
        "chembl_id": "CHEMBL27",
        "max_phase": 4,
        "stage": "APPROVAL",
    }
    assert [*drugs][-2:] == ["candesartan", "naltrexone"]  # of the lowest phase
    assert record.citation.url == "https://platform.opentargets.org/disease/EFO_0003821"
    assert "valproic acid (approved)" in record.content


async def test_drugs_are_asked_for_together_with_mechanisms_and_indications_and_none_twice() -> None:
    seen = list[httpx.Request]()
    asked = source(seen)
    (record, _) = (await asked.look_up("candesartan", "propranolol")).records
    reply = await asked.look_up("propranolol", "candesartan", "chembl27")

    assert asked_of(seen) == [
        ("MapIds", {"names": ["candesartan", "propranolol"], "kinds": ["drug"]}),
        ("Drugs", {"ids": ["CHEMBL1016", "CHEMBL27"]}),
        ("Drugs", {"ids": ["CHEMBL27"]}),
    ]
    assert [each.metadata["drug"] for each in reply.records] == ["propranolol", "candesartan"]
    assert record.metadata == {
        "drug": "candesartan",
        "chembl_id": "CHEMBL1016",
        "molecule_type": "Small molecule",
        "max_phase": 4,
        "mechanisms": [
            {
                "mechanism_of_action": "Type-1 angiotensin II receptor antagonist",
                "action_type": "ANTAGONIST",
                "target_name": "Type-1 angiotensin II receptor",
                "target_id": "ENSG00000144891",
                "gene_symbols": ["AGTR1"],
                "pathways": [{"id": "R-HSA-416476", "name": "G alpha (q) signalling events"}],
            }
        ],
        "indications": [
            {"name": "hypertension", "id": "EFO_0000537", "max_phase": 4, "stage": "APPROVAL"},
            {"name": "migraine disorder", "id": "EFO_0003821", "max_phase": 2, "stage": "PHASE_2"},
        ],
        "pathways": [{"id": "R-HSA-416476", "name": "G alpha (q) signalling events"}],
    }
    assert "Candesartan: Type-1 angiotensin II receptor antagonist (target AGTR1)." in record.content


async def test_diseases_and_drugs_are_given_a_page_at_a_time() -> None:
    query = "migraine AND propranolol AND candesartan"
    pages = [await source().find(query, 1, {"page": number}) for number in (1, 2, 3, 4)]

    assert [(len(each.records), each.total) for each in pages] == [(1, 3), (1, 3), (1, 3), (0, 3)]
    assert len({record.key for each in pages for record in each.records}) == 3


async def test_nothing_else_is_given_for_what_was_asked_about() -> None:
    drug = await source(MapIds=hits("CANDESARTAN", kind="drug")).look_up("propranolol")
    disease = await source(Search=hits("gout")).find("migraine")
    unknown = await source().look_up("CHEMBL999")
    seen = list[httpx.Request]()
    await source(seen, Search=hits("migraine with aura", "gout")).find("migraine")

    assert {each.status for each in (drug, disease, unknown)} == {Status.EMPTY}
    assert asked_of(seen)[1:] == [("Disease", {"id": "MONDO_0"})]
    assert "CHEMBL999" in unknown.warnings[0]


async def test_data_beside_errors_is_kept_and_what_failed_is_named() -> None:
    errors = [
        {"message": "Internal error at https://example.org/x", "path": ["disease", "associatedTargets", "rows", 3]},
        {"message": "No path"},
    ]
    data = {"disease": {"id": "EFO_0003821", "drugAndClinicalCandidates": None, "associatedTargets": None}}
    reply = await source(Disease=httpx.Response(200, json={"data": data, "errors": errors})).find("migraine")

    assert reply.status is Status.PARTIAL
    assert "No known drugs are listed" in reply.records[0].content
    assert reply.warnings == [
        "disease.associatedTargets.rows could not be had: Internal error at …",
        "a part of it could not be had: No path",
    ]


@pytest.mark.parametrize(
    ("stage", "told", "phase"),
    [
        ("WITHDRAWAL", "migraine disorder (withdrawn)", None),
        ("IND", "migraine disorder (trials applied for)", 0),
        ("PHASE_4", "migraine disorder (phase 4)", 3),  # a trial is no approval
        ("UNKNOWN", "migraine disorder", None),
    ],
)
def test_a_stage_is_told_and_counts_as_a_phase_where_it_is_one(stage: str, told: str, phase: float | None) -> None:
    row = {"maxClinicalStage": stage, "disease": {"id": "EFO_0003821", "name": "migraine disorder"}}
    record = parse_drug({"id": "CHEMBL27", "name": "X", "indications": {"rows": [row]}})

    assert told in record.content
    assert record.metadata["indications"][0].get("max_phase") == phase


def test_warnings_and_events_above_the_critical_value_are_told_and_as_no_cause() -> None:
    warnings = [
        {"warningType": "Withdrawn", "toxicityClass": "cardiotoxicity", "country": "United States", "year": 2004},
        {"warningType": None, "year": "odd"},
    ]
    events = [("Rash", 12, 3.0), ("Hypotension", 900, 88.126), ("Bradycardia", 1204, 310.52), (None, 1, 400.0)]
    rows = [{"name": name, "count": count, "logLR": ratio} for name, count, ratio in events]
    drug = {"id": "CHEMBL27", "name": "PROPRANOLOL", "drugWarnings": warnings}
    record = parse_drug({**drug, "adverseEvents": {"criticalValue": 12.5, "rows": rows}})

    assert record.metadata["warnings"] == [
        {"kind": "withdrawn", "about": "cardiotoxicity", "country": "United States", "year": 2004},
    ]
    assert "Propranolol: withdrawn (cardiotoxicity; United States; 2004)." in record.content
    assert record.metadata["signals"] == [
        {"term": "bradycardia", "count": 1204, "log_likelihood": 310.5},
        {"term": "hypotension", "count": 900, "log_likelihood": 88.1},
    ]
    assert "which shows no cause: bradycardia (1,204 reports, log-likelihood ratio 310.5)" in record.content
    assert "signals" not in parse_drug({**drug, "adverseEvents": {"rows": rows}}).metadata


def test_the_pathways_of_a_drugs_targets_are_given_those_of_most_targets_first() -> None:
    first, both = ({"pathwayId": f"R-HSA-{n}", "pathway": name} for n, name in ((416476, "A"), (390696, "B")))
    targets = [{"id": "1", "pathways": [first, both]}, {"id": "2", "pathways": [both]}, {"id": "3", "pathways": None}]
    record = parse_drug({"id": "CHEMBL27", "mechanismsOfAction": {"rows": [{"targets": targets}]}})

    assert [each["name"] for each in record.metadata["pathways"]] == ["B", "A"]
    assert "Pathways of its targets (Reactome): B, A." in record.content


def test_evidence_on_a_target_is_kept_by_its_kind_where_it_is_of_genes_or_pathways() -> None:
    kinds = {"genetic_association": 0.4, "affected_pathway": 0.2, "literature": 0.9}
    scores = [{"id": name, "score": score} for name, score in kinds.items()]
    row = {"score": 0.6, "datatypeScores": scores, "target": {"id": "ENSG00000043591", "approvedSymbol": "ADRB1"}}
    said = parse_disease({"id": "EFO_1", "name": "migraine", "associatedTargets": {"count": 1, "rows": [row]}}).record

    assert isinstance(said, Disease)
    assert said.targets == [{"symbol": "ADRB1", "score": 0.6, "genetic": 0.4, "pathway": 0.2}]
