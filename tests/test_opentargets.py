"""Open Targets: what is asked, what is read, and what every known form of failure turns into."""

import json
import re
from typing import Any

import httpx
import pytest
from recorded import answering

from willowbark.tools.errors import SourceRefused, SourceUnavailable, UnreadableReply
from willowbark.tools.http.transport import RetryPolicy
from willowbark.tools.records import Disease
from willowbark.tools.search import Status
from willowbark.tools.sources.drugs.opentargets import OpenTargets, parse_disease, parse_drug

MIGRAINE = {
    "id": "EFO_0003821",
    "name": "migraine disorder",
    "drugAndClinicalCandidates": {
        "count": 3,
        "rows": [
            {"maxClinicalStage": "PHASE_2", "drug": {"id": "CHEMBL1016", "name": "CANDESARTAN"}},
            {"maxClinicalStage": "PHASE_3", "drug": {"id": "CHEMBL27", "name": "PROPRANOLOL"}},
            {"maxClinicalStage": "APPROVAL", "drug": {"id": "CHEMBL27", "name": "PROPRANOLOL"}},
        ],
    },
    "associatedTargets": {"count": 1, "rows": [{"score": 0.612, "target": {"id": "x", "approvedSymbol": "CALCA"}}]},
}
PROPRANOLOL = {
    "id": "CHEMBL27",
    "name": "PROPRANOLOL",
    "drugType": "Small molecule",
    "maximumClinicalStage": "APPROVAL",
    "mechanismsOfAction": {
        "rows": [
            {
                "mechanismOfAction": "Beta-1 adrenergic receptor antagonist",
                "actionType": "ANTAGONIST",
                "targetName": "Beta-1 adrenergic receptor",
                "targets": [{"id": "ENSG00000043591", "approvedSymbol": "ADRB1"}],
            }
        ]
    },
    "indications": {
        "rows": [{"maxClinicalStage": "APPROVAL", "disease": {"id": "EFO_0003821", "name": "migraine disorder"}}]
    },
}


def hits(*found: tuple[str, str, str]) -> dict[str, Any]:
    return {
        "search": {"total": len(found), "hits": [{"id": i, "name": name, "entity": kind} for i, name, kind in found]}
    }


FOUND = {
    "disease": hits(("MONDO_1", "migraine with aura", "disease"), ("EFO_0003821", "migraine disorder", "disease")),
    "drug": hits(("CHEMBL27", "PROPRANOLOL", "drug")),
}


class Server:
    """Answers GraphQL by operation name, and keeps what it was asked."""

    def __init__(self, **data: dict[str, Any] | httpx.Response | None) -> None:
        self.data: dict[str, Any] = {"Disease": MIGRAINE, "Drug": PROPRANOLOL, **data}
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/opentargets/graphql"
        body = json.loads(request.content)
        name = re.match(r"query (\w+)", body["query"])
        assert name
        self.asked.append((name[1], body["variables"]))
        return self.answer(name[1], body)

    def answer(self, name: str, body: dict[str, Any]) -> httpx.Response:
        if name == "Search":
            made = self.data.get("Search", FOUND[body["variables"]["kinds"][0]])
            return made if isinstance(made, httpx.Response) else httpx.Response(200, json={"data": made})
        if name == "MapIds":
            found = self.data.get("Search", FOUND["drug"])["search"]["hits"]
            mappings = [{"term": term, "hits": found} for term in body["variables"]["names"]]
            return httpx.Response(200, json={"data": {"mapIds": {"mappings": mappings}}})
        made = self.data[name.removesuffix("s")]
        if name == "Drugs" and not isinstance(made, httpx.Response):
            return httpx.Response(200, json={"data": {"drugs": [made] if made else []}})
        return made if isinstance(made, httpx.Response) else httpx.Response(200, json={"data": {name.lower(): made}})

    def source(self) -> OpenTargets:
        return answering(OpenTargets, self, policy=RetryPolicy(attempts=3, first_wait_s=0.001, longest_wait_s=0.002))


async def test_a_condition_gives_its_disease_with_drugs_and_targets() -> None:
    server = Server()
    reply = await server.source().find("(migraine OR hemicrania) AND prevention")
    (record,) = reply.records
    assert (reply.status, reply.total) == (Status.OK, 1)
    assert server.asked[0] == ("Search", {"text": "migraine", "kinds": ["disease"]})
    assert record.metadata == {
        "disease": "migraine disorder",
        "disease_id": "EFO_0003821",
        "drugs": [
            {"name": "propranolol", "chembl_id": "CHEMBL27", "max_phase": 4, "stage": "APPROVAL"},
            {"name": "candesartan", "chembl_id": "CHEMBL1016", "max_phase": 2, "stage": "PHASE_2"},
        ],
        "targets": [{"symbol": "CALCA", "score": 0.612}],
    }
    assert record.citation.url == "https://platform.opentargets.org/disease/EFO_0003821"
    assert "propranolol (approved), candesartan (phase 2)" in record.content


async def test_a_drug_is_given_with_mechanisms_and_indications() -> None:
    reply = await Server().source().look_up("propranolol")
    (record,) = reply.records
    assert record.metadata == {
        "drug": "propranolol",
        "chembl_id": "CHEMBL27",
        "molecule_type": "Small molecule",
        "max_phase": 4,
        "mechanisms": [
            {
                "mechanism_of_action": "Beta-1 adrenergic receptor antagonist",
                "action_type": "ANTAGONIST",
                "target_name": "Beta-1 adrenergic receptor",
                "target_id": "ENSG00000043591",
                "gene_symbols": ["ADRB1"],
            }
        ],
        "indications": [{"name": "migraine disorder", "id": "EFO_0003821", "max_phase": 4, "stage": "APPROVAL"}],
    }
    assert "Propranolol: Beta-1 adrenergic receptor antagonist (target ADRB1)." in record.content


async def test_drugs_are_asked_for_together_and_none_twice() -> None:
    source = (server := Server()).source()
    await source.look_up("propranolol", "candesartan")
    reply = await source.look_up("candesartan", "propranolol", "CHEMBL27")
    assert [name for name, _ in server.asked] == ["MapIds", "Drugs", "Drugs"]
    assert server.asked[0][1]["names"] == ["propranolol", "candesartan"]
    assert [record.record.drug for record in reply.records] == ["propranolol"]  # type: ignore[union-attr]


async def test_nothing_else_is_given_for_what_was_asked_about() -> None:
    drug = await Server(Search=hits(("CHEMBL1016", "CANDESARTAN", "drug"))).source().look_up("propranolol")
    disease = await Server(Search=hits(("MONDO_1", "gout", "disease"))).source().find("migraine")
    unknown = await Server(Drug=None).source().look_up("CHEMBL27")

    relative = Server(Search=hits(("MONDO_1", "migraine with aura", "disease"), ("MONDO_2", "gout", "disease")))
    await relative.source().find("migraine")

    assert {each.status for each in (drug, disease, unknown)} == {Status.EMPTY}
    assert relative.asked[1:] == [("Disease", {"id": "MONDO_1"})]
    assert "CHEMBL27" in unknown.warnings[0]


@pytest.mark.parametrize(
    ("reply", "error"),
    [
        pytest.param(httpx.Response(200, json={"errors": [{"message": "Internal server error"}]}), SourceUnavailable),
        pytest.param(httpx.Response(400, json={"errors": [{"message": "No"}]}), SourceRefused),
        pytest.param(httpx.Response(400, json={"errors": "No"}), SourceRefused),
        pytest.param(httpx.Response(502, text="<html>"), SourceUnavailable),
        pytest.param(httpx.Response(200, text="<!doctype html>"), UnreadableReply),
        pytest.param(httpx.Response(200, json={"data": None}), UnreadableReply),
        pytest.param(httpx.Response(200, json=[1]), UnreadableReply),
    ],
)
async def test_a_failure_is_never_an_unknown_drug(reply: httpx.Response, error: type[Exception]) -> None:
    with pytest.raises(error):
        await Server(Drug=reply).source().look_up("CHEMBL27")


async def test_data_beside_errors_is_kept_and_what_failed_is_named() -> None:
    errors = [
        {"message": "Internal error at https://example.org/x", "path": ["disease", "associatedTargets", "rows", 3]},
        {"message": "No path"},
    ]
    data = {"disease": {**MIGRAINE, "associatedTargets": None}}
    server = Server(Disease=httpx.Response(200, json={"data": data, "errors": errors}))
    reply = await server.source().find("migraine")

    assert (reply.status, len(reply.records)) == (Status.PARTIAL, 1)
    assert reply.records[0].metadata["drugs"]
    assert reply.warnings == [
        "disease.associatedTargets.rows could not be had: Internal error at …",
        "a part of it could not be had: No path",
    ]
    assert [name for name, _ in server.asked] == ["Search", "Disease"]


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


def test_withdrawals_and_warnings_are_told_with_country_and_year() -> None:
    rows = [
        {"warningType": "Withdrawn", "toxicityClass": "cardiotoxicity", "country": "United States", "year": 2004},
        {"warningType": "Black Box Warning", "toxicityClass": None},
        {"warningType": None, "year": "odd"},
    ]
    record = parse_drug({"id": "CHEMBL122", "name": "ROFECOXIB", "drugWarnings": rows})
    assert record.metadata["warnings"] == [
        {"kind": "withdrawn", "about": "cardiotoxicity", "country": "United States", "year": 2004},
        {"kind": "boxed warning"},
    ]
    assert "Rofecoxib: withdrawn (cardiotoxicity; United States; 2004)." in record.content


def test_events_above_the_critical_value_are_told_with_their_ratio_and_as_no_cause() -> None:
    rows = [
        {"name": "Rash", "count": 12, "logLR": 3.0},
        {"name": "Hypotension", "count": 900, "logLR": 88.126},
        {"name": "Bradycardia", "count": 1204, "logLR": 310.52},
        {"name": None, "count": 1, "logLR": 400.0},
    ]
    told = {"count": 4, "criticalValue": 12.5, "rows": rows}
    record = parse_drug({"id": "CHEMBL27", "name": "PROPRANOLOL", "adverseEvents": told})
    assert record.metadata["signals"] == [
        {"term": "bradycardia", "count": 1204, "log_likelihood": 310.5},
        {"term": "hypotension", "count": 900, "log_likelihood": 88.1},
    ]
    assert "which shows no cause: bradycardia (1,204 reports, log-likelihood ratio 310.5)" in record.content
    without = parse_drug({"id": "CHEMBL27", "name": "X", "adverseEvents": {"rows": rows}})
    assert "signals" not in without.metadata


async def test_the_pathways_of_a_drugs_targets_are_given_those_of_most_targets_first() -> None:
    signalling, receptors = (
        {"pathwayId": "R-HSA-416476", "pathway": "G alpha (q) signalling events"},
        {"pathwayId": "R-HSA-390696", "pathway": "Adrenoceptors"},
    )
    targets = [
        {"id": "ENSG1", "approvedSymbol": "ADRA1A", "pathways": [signalling, receptors]},
        {
            "id": "ENSG2",
            "approvedSymbol": "ADRB1",
            "pathways": [receptors, {"pathwayId": None, "pathway": "unnumbered"}],
        },
        {"id": "ENSG3", "approvedSymbol": "ADRB2", "pathways": None},
    ]
    drug = PROPRANOLOL | {"mechanismsOfAction": {"rows": [{"mechanismOfAction": "blocks", "targets": targets}]}}
    (record,) = (await Server(Drug=drug).source().look_up("propranolol")).records

    assert record.metadata["pathways"] == [
        {"id": "R-HSA-390696", "name": "Adrenoceptors"},
        {"id": "R-HSA-416476", "name": "G alpha (q) signalling events"},
    ]
    assert "Pathways of its targets (Reactome): Adrenoceptors, G alpha (q) signalling events." in record.content


def test_evidence_on_a_target_is_kept_by_its_kind_where_it_is_of_genes_or_pathways() -> None:
    scores = [
        {"id": "genetic_association", "score": 0.4},
        {"id": "affected_pathway", "score": 0.2},
        {"id": "literature", "score": 0.9},
    ]
    row = {"score": 0.6, "datatypeScores": scores, "target": {"id": "ENSG00000043591", "approvedSymbol": "ADRB1"}}
    said = parse_disease({"id": "EFO_1", "name": "migraine", "associatedTargets": {"count": 1, "rows": [row]}}).record

    assert isinstance(said, Disease)
    assert said.targets == [{"symbol": "ADRB1", "score": 0.6, "genetic": 0.4, "pathway": 0.2}]
