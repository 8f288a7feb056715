"""openFDA's labels: one a drug, quoted by section, never a study; a true zero is told from a failure."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from recorded import answering, recorded

from willowbark.agents.assessment import count_by_kind
from willowbark.agents.report.forms import safe_url
from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.questions import parse_question
from willowbark.tools.search import Status
from willowbark.tools.sources.labels.openfda import MAX_SECTION, OpenFDA, parse_day, parse_label

SET_ID = "85973689-bb21-483f-becb-c5c8bfb05658"
NO_MATCH = {"error": {"code": "NOT_FOUND", "message": "No matches found!"}}


@pytest.fixture
async def openfda() -> AsyncIterator[OpenFDA]:
    async with recorded() as transport:
        yield OpenFDA(transport)


def page(*labels: dict[str, Any]) -> httpx.Response:
    return httpx.Response(200, json={"meta": {"results": {"total": len(labels)}}, "results": list(labels)})


def label(number: int = 1, generic: str = "X", **fields: Any) -> dict[str, Any]:
    return {"set_id": f"{number:08}-0000-0000-0000-000000000000", "openfda": {"generic_name": [generic]}, **fields}


@pytest.mark.parametrize(("asked", "title"), [("propranolol", "Propranolol"), ("valproate", "Divalproex sodium")])
async def test_a_drug_has_one_label_with_what_it_is_for_and_warned_of(openfda: OpenFDA, asked: str, title: str) -> None:
    found = await openfda.find(asked)

    [record] = found.records
    assert found.status is Status.OK
    assert record.citation.title.startswith(title)
    assert "Indications and usage: " in record.content
    assert safe_url(record.citation.url) == record.citation.url


async def test_the_label_of_the_drug_alone_comes_before_its_combinations_and_the_fullest_before_the_newest() -> None:
    labels = [
        label(1, "PROPRANOLOL AND HYDROCHLOROTHIAZIDE", boxed_warning=["B."], warnings=["W."], pregnancy=["P."]),
        label(2, "PROPRANOLOL HYDROCHLORIDE"),
        label(3, "PROPRANOLOL HYDROCHLORIDE", warnings=["W."]),
        {"openfda": {"generic_name": ["PROPRANOLOL"]}, "warnings": ["without a number"], "pregnancy": ["P."]},
    ]
    found = await answering(OpenFDA, page(*labels)).find("propranolol")
    combined = await answering(OpenFDA, page(labels[0])).find("propranolol")

    assert [record.metadata["set_id"][:8] for record in found.records] == ["00000003"]
    assert found.warnings == []
    assert combined.warnings == ["no label is of 'propranolol' alone"]


async def test_names_are_alternatives_and_syntax_in_them_is_none() -> None:
    seen: list[httpx.Request] = []
    await answering(OpenFDA, httpx.Response(404, json=NO_MATCH), seen).find('nosuch" (drug) [x]:y{1}~z^')

    search = seen[0].url.params["search"]
    assert search.count('"') == 4
    assert not set("[]{}~^") & set(search)
    assert " OR openfda.brand_name:" in search


def test_other_drugs_that_a_label_names_are_kept_with_their_sentence() -> None:
    said = "Propranolol adds to this. Avoid verapamil. Verapamil slows the heart."
    record = parse_label(label(generic="PROPRANOLOL", drug_interactions=[said], warnings=["Not with timolol."]))

    assert record is not None
    named = {"drug": "verapamil", "heading": "Drug interactions", "sentence": "Avoid verapamil."}
    assert record.metadata["named_drugs"] == [named]


def test_an_empty_openfda_block_and_odd_fields_are_read() -> None:
    record = parse_label({"set_id": SET_ID, "openfda": {}, "warnings": "Text.", "boxed_warning": [None, 3, " "]})

    assert record is not None
    assert record.content.endswith("Warnings: Text.")
    assert record.citation.date == "Unknown"
    assert "drug" not in record.metadata
    assert parse_label({"openfda": {}}) is None
    assert parse_label({"set_id": "../../x"}) is None


def test_a_long_section_is_cut_at_a_sentence_and_says_so() -> None:
    record = parse_label(label(warnings=["Do not stop suddenly. " * 200], effective_time="20250317"))

    assert record is not None
    assert record.citation.date == "2025-03-17"
    assert {parse_day(each) for each in ("2025031", "202503170", "2025-3-17", None)} == {"Unknown"}
    assert record.content.endswith("Do not stop suddenly. […]")
    assert len(record.content) < MAX_SECTION + 100


async def test_a_label_is_no_study_and_counts_as_none(openfda: OpenFDA) -> None:
    records = (await openfda.find("propranolol OR topiramate")).records

    assert len(records) == 2
    assert appraise_candidates(parse_question("Which drugs prevent migraine?"), records) == []
    assert count_by_kind(records) == {"peer_reviewed": 0, "clinical_trials": 0, "preprints": 0, "other": 2}
