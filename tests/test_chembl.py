"""ChEMBL: what is asked, what is read, and what every known form of failure turns into."""

from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from faults.replies import row_fits
from recorded import answering

from willowbark.tools.http.transport import RetryPolicy
from willowbark.tools.records import Drug
from willowbark.tools.search import Status
from willowbark.tools.sources.drugs.chembl import ChEMBL, names_it, parse_drug

Rows = list[dict[str, Any]]

PARENT = {
    "molecule_chembl_id": "CHEMBL27",
    "pref_name": "PROPRANOLOL",
    "molecule_type": "Small molecule",
    "max_phase": "4.0",
    "first_approval": 1967,
    "molecule_hierarchy": {"parent_chembl_id": "CHEMBL27"},
    "molecule_synonyms": [{"molecule_synonym": "Anaprilin"}],
}
SALT = {
    "molecule_chembl_id": "CHEMBL999999900",
    "pref_name": "PROPRANOLOL HYDROCHLORIDE",
    "max_phase": "4.0",
    "molecule_hierarchy": {"parent_chembl_id": "CHEMBL27"},
    "molecule_synonyms": [{"molecule_synonym": "Inderal"}],
}
MECHANISM = {
    "mechanism_of_action": "Beta-1 adrenergic receptor antagonist",
    "action_type": "ANTAGONIST",
    "molecule_chembl_id": "CHEMBL999999900",
    "parent_molecule_chembl_id": "CHEMBL27",
    "target_chembl_id": "CHEMBL213",
}
TARGET = {
    "target_chembl_id": "CHEMBL213",
    "pref_name": "Beta-1 adrenergic receptor",
    "target_components": [
        {
            "accession": "P08588",
            "target_component_synonyms": [
                {"component_synonym": "ADRB1", "syn_type": "GENE_SYMBOL"},
                {"component_synonym": "ADRB1R", "syn_type": "GENE_SYMBOL_OTHER"},
            ],
        }
    ],
}


WARNING = {
    "molecule_chembl_id": "CHEMBL999999900",
    "parent_molecule_chembl_id": "CHEMBL27",
    "warning_type": "Black Box Warning",
    "warning_class": "cardiotoxicity",
    "warning_country": "United States",
    "warning_year": None,
}


def indication(parent: str, heading: str | None, phase: object, **more: Any) -> dict[str, Any]:
    names = {"mesh_heading": heading, "max_phase_for_ind": phase}
    return {"molecule_chembl_id": parent, "parent_molecule_chembl_id": parent, **names, **more}


class Server:
    """Answers from lists, filtered as ChEMBL filters them, and keeps what it was asked."""

    def __init__(self, molecules: Rows, indications: Sequence[dict[str, Any]] = (), **replies: httpx.Response) -> None:
        self.lists = {
            "molecule": molecules,
            "drug_indication": list(indications),
            "mechanism": [MECHANISM],
            "target": [TARGET],
            "drug_warning": [WARNING],
        }
        self.replies = replies
        self.asked: list[tuple[str, dict[str, str]]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix("/chembl/").removesuffix(".json")
        params = dict(request.url.params)
        self.asked.append((path, params))
        assert params.pop("format") == "json"
        return self.replies.get(path) or self.page(path.partition("/")[0], params)

    def page(self, name: str, params: dict[str, str]) -> httpx.Response:
        limit, offset = int(params.pop("limit")), int(params.pop("offset", 0))
        rows = [row for row in self.lists[name] if all(row_fits(row, key, value) for key, value in params.items())]
        meta = {"total_count": len(rows), "next": "more" if offset + limit < len(rows) else None}
        plural = {"drug_indication": "drug_indications"}.get(name, f"{name}s")
        return httpx.Response(200, json={plural: rows[offset : offset + limit], "page_meta": meta})

    def source(self) -> ChEMBL:
        return answering(ChEMBL, self, policy=RetryPolicy(attempts=3, first_wait_s=0.001, longest_wait_s=0.002))


@pytest.mark.parametrize(
    "name", ["propranolol", "Anaprilin", "Inderal", "propranolol hydrochloride", "CHEMBL999999900"]
)
async def test_every_name_leads_to_the_parent_molecule(name: str) -> None:
    server = Server([SALT, PARENT], [indication("CHEMBL27", "Migraine Disorders", "4.0", mesh_id="D008881")])
    reply = await server.source().look_up(name)
    (record,) = reply.records
    assert reply.status is Status.OK
    assert record.metadata == {
        "drug": "propranolol",
        "chembl_id": "CHEMBL27",
        "molecule_type": "Small molecule",
        "max_phase": 4,
        "first_approval": 1967,
        "mechanisms": [
            {
                "mechanism_of_action": "Beta-1 adrenergic receptor antagonist",
                "action_type": "ANTAGONIST",
                "target_name": "Beta-1 adrenergic receptor",
                "target_id": "CHEMBL213",
                "gene_symbols": ["ADRB1"],
                "uniprot_ids": ["P08588"],
            }
        ],
        "indications": [{"name": "Migraine Disorders", "id": "D008881", "max_phase": 4}],
    }
    assert record.citation.url == "https://www.ebi.ac.uk/chembl/explore/compound/CHEMBL27"
    assert record.content.splitlines() == [
        "Propranolol (CHEMBL27)",
        "",
        "Propranolol: small molecule, highest phase 4 (marketed), first approved 1967.",
        "Propranolol: Beta-1 adrenergic receptor antagonist (target ADRB1).",
        "Propranolol was developed for: Migraine Disorders (phase 4).",
    ]


async def test_warnings_of_a_flagged_drug_and_its_salts_are_asked_for_and_told() -> None:
    server = Server([SALT, {**PARENT, "black_box_warning": 1}])
    (record,) = (await server.source().look_up("Inderal")).records
    assert record.metadata["warnings"] == [
        {"kind": "boxed warning", "about": "cardiotoxicity", "country": "United States"}
    ]
    assert "Propranolol: boxed warning (cardiotoxicity; United States)." in record.content


async def test_a_drug_that_is_searched_for_is_as_relevant_as_its_words() -> None:
    (record,) = (await Server([PARENT]).source().find("propranolol", 5)).records
    assert record.relevance > 0


@pytest.mark.parametrize("flags", [{}, {"black_box_warning": -1, "withdrawn_flag": False}])
async def test_a_drug_without_a_flag_costs_no_request_for_warnings(flags: dict[str, Any]) -> None:
    server = Server([{**PARENT, **flags}])
    (record,) = (await server.source().look_up("propranolol")).records
    assert "warnings" not in record.metadata
    assert "drug_warning" not in [path for path, _ in server.asked]


@pytest.mark.parametrize("table", ["mechanism", "drug_indication", "drug_warning"])
async def test_what_cannot_be_had_of_a_drug_is_named_and_the_rest_is_told(table: str) -> None:
    answer = httpx.Response(500, text="<!DOCTYPE html><title>EBI</title>")
    server = Server([{**PARENT, "withdrawn_flag": True}], **{table: answer})
    found = await server.source().look_up("propranolol")

    assert (found.status, len(found.records)) == (Status.PARTIAL, 1)
    assert f"{table.replace('_', ' ')}s could not be had" in found.warnings[0]


async def test_long_lists_are_read_page_by_page() -> None:
    rows = [indication("CHEMBL27", f"Condition {n}", "1.0") for n in range(1200)]
    server = Server([PARENT], [*rows, indication("CHEMBL27", "Migraine Disorders", "4.0")])
    (record,) = (await server.source().look_up("propranolol")).records
    assert record.metadata["indications"][0]["name"] == "Migraine Disorders"
    assert len([path for path, _ in server.asked if path == "drug_indication"]) == 2


async def test_one_refused_filter_of_names_costs_itself_alone() -> None:
    server = Server([PARENT])

    def answer(request: httpx.Request) -> httpx.Response:
        refused = "molecule_synonyms__molecule_synonym__in" in request.url.params
        return httpx.Response(400, json={"error_message": "unsupported filter"}) if refused else server(request)

    found = await answering(ChEMBL, answer).look_up("propranolol")

    assert [record.metadata["drug"] for record in found.records] == ["propranolol"]
    assert found.status is Status.PARTIAL
    assert any("some names could not be asked" in line for line in found.warnings)


def test_of_many_indications_some_are_told_and_the_rest_counted() -> None:
    said = parse_drug(PARENT, indications=[indication("CHEMBL27", f"Condition {n:02}", "2.0") for n in range(18)])
    assert said.content.endswith("Condition 13 (phase 2), Condition 14 (phase 2) and 3 more.")
    said = parse_drug(PARENT, indications=[indication("CHEMBL27", f"Condition {n:02}", "2.0") for n in range(15)])
    assert said.content.endswith("Condition 14 (phase 2).")


@pytest.mark.parametrize(
    ("said", "due"), [(15365, "CHEBI:15365"), ("15365", "CHEBI:15365"), (None, None), ("n/a", None)]
)
def test_the_number_in_chebi_is_kept_where_chembl_names_one(said: object, due: str | None) -> None:
    record = parse_drug({"molecule_chembl_id": "CHEMBL25", "pref_name": "ASPIRIN", "chebi_par_id": said}).record
    assert isinstance(record, Drug)
    assert record.chebi_id == due


def test_a_molecule_without_a_name_goes_by_its_id() -> None:
    record = parse_drug({"molecule_chembl_id": "CHEMBL27", "pref_name": None})
    assert record.metadata == {"drug": "chembl27", "chembl_id": "CHEMBL27"}


def test_a_salt_bears_the_name_of_its_drug() -> None:
    assert names_it(SALT, "Propranolol")
    assert not names_it(SALT, "pranolol")
