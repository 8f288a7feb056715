"""ChEMBL: what is asked, what is read, and what every known form of failure turns into."""

from typing import Any

import httpx
import pytest
from recorded import recorded

from willowbark.tools.errors import SearchError
from willowbark.tools.search import Status
from willowbark.tools.sources.drugs.chembl import ChEMBL, names_it, parse_drug

PARENT = {"molecule_chembl_id": "CHEMBL27", "pref_name": "PROPRANOLOL", "molecule_type": "Small molecule"}
PARENT |= {"max_phase": "4.0", "first_approval": 1967}
SALT = {
    "molecule_chembl_id": "CHEMBL999999900",
    "pref_name": "PROPRANOLOL HYDROCHLORIDE",
    "molecule_hierarchy": {"parent_chembl_id": "CHEMBL27"},
    "molecule_synonyms": [{"molecule_synonym": "Inderal"}],
}
OF_SALT = {"molecule_chembl_id": "CHEMBL999999900", "parent_molecule_chembl_id": "CHEMBL27"}
MECHANISM = {
    **OF_SALT,
    "mechanism_of_action": "Beta-1 adrenergic receptor antagonist",
    "action_type": "ANTAGONIST",
    "target_chembl_id": "CHEMBL213",
}
NAMES = {"ADRB1": "GENE_SYMBOL", "ADRB1R": "GENE_SYMBOL_OTHER"}
SYNONYMS = [{"component_synonym": name, "syn_type": kind} for name, kind in NAMES.items()]
TARGET = {
    "target_chembl_id": "CHEMBL213",
    "pref_name": "Beta-1 adrenergic receptor",
    "target_components": [{"accession": "P08588", "target_component_synonyms": SYNONYMS}],
}
WARNING = {**OF_SALT, "warning_type": "Black Box Warning", "warning_class": "cardiotoxicity", "warning_year": None}


def indication(heading: str, phase: object, **more: Any) -> dict[str, Any]:
    return {**OF_SALT, "mesh_heading": heading, "max_phase_for_ind": phase, **more}


def source(*molecules: dict[str, Any], seen: list[httpx.Request] | None = None, **lists: Any) -> ChEMBL:
    """ChEMBL with these molecules, their mechanism, target and warning; other rows, or an answer, by a list's name."""
    rows = {"molecule": molecules, "mechanism": [MECHANISM], "target": [TARGET], "drug_warning": [WARNING], **lists}

    def answer(request: httpx.Request) -> httpx.Response:
        params, name = request.url.params, request.url.path.rpartition("/")[2].removesuffix(".json")
        found = rows.get(name, ())
        if isinstance(found, httpx.Response):
            return found
        start, end = int(params.get("offset", 0)), int(params.get("offset", 0)) + int(params["limit"])
        more = {"next": "more" if end < len(found) else None}
        return httpx.Response(200, json={f"{name}s": list(found[start:end]), "page_meta": more})

    return ChEMBL(recorded({"*": answer}, seen))


@pytest.mark.parametrize("name", ["propranolol", "Inderal", "propranolol hydrochloride", "CHEMBL999999900"])
async def test_every_name_leads_to_the_parent_molecule(name: str) -> None:
    rows = [indication("Migraine Disorders", "4.0", mesh_id="D008881"), indication("Migraine Disorders", "2.0")]
    reply = await source(SALT, PARENT, drug_indication=rows).look_up(name)
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


async def test_what_is_listed_for_several_drugs_is_told_of_each_drug_alone() -> None:
    other = {"molecule_chembl_id": "CHEMBL499", "pref_name": "TIMOLOL"}
    rows = [indication("Migraine Disorders", "4.0"), {**other, "mesh_heading": "Glaucoma", "max_phase_for_ind": "4.0"}]
    records = (await source(PARENT, other, drug_indication=rows).look_up("propranolol", "timolol")).records

    told = {each.metadata["drug"]: [use["name"] for use in each.metadata["indications"]] for each in records}
    assert told == {"propranolol": ["Migraine Disorders"], "timolol": ["Glaucoma"]}


@pytest.mark.parametrize(
    ("flags", "told"), [({"black_box_warning": 1}, True), ({"black_box_warning": -1, "withdrawn_flag": False}, False)]
)
async def test_warnings_are_asked_for_where_a_drug_is_flagged(flags: dict[str, Any], told: bool) -> None:
    seen = list[httpx.Request]()
    (record,) = (await source({**PARENT, **flags}, seen=seen).look_up("propranolol")).records

    assert ("Propranolol: boxed warning (cardiotoxicity)." in record.content) is told
    requests = "\n".join(request.url.path for request in seen)
    assert ("drug_warning" in requests) is told, requests


async def test_a_drug_that_is_searched_for_is_as_relevant_as_its_words() -> None:
    (record,) = (await source(PARENT).find("propranolol AND ADRB1", 5)).records
    assert record.relevance > 0


@pytest.mark.parametrize("table", ["mechanism", "drug_indication", "drug_warning"])
async def test_what_cannot_be_had_of_a_drug_is_named_and_the_rest_is_told(table: str) -> None:
    found = await source({**PARENT, "withdrawn_flag": True}, **{table: httpx.Response(500)}).look_up("propranolol")

    assert (found.status, len(found.records)) == (Status.PARTIAL, 1)
    assert f"{table.replace('_', ' ')}s could not be had" in found.warnings[0]


async def test_long_lists_are_read_page_by_page() -> None:
    rows = [indication(f"Condition {n}", "1.0") for n in range(1200)]
    found = source(PARENT, drug_indication=[*rows, indication("Migraine Disorders", "4.0")])
    (record,) = (await found.look_up("propranolol")).records
    assert record.metadata["indications"][0]["name"] == "Migraine Disorders"


async def test_one_refused_filter_of_names_costs_itself_alone() -> None:
    molecules = [PARENT]

    def answer(request: httpx.Request) -> httpx.Response:
        refused = "molecule_synonyms__molecule_synonym__in" in request.url.params
        whole = {"molecules": molecules, "page_meta": {"next": None}}
        empty = {"mechanisms": [], "drug_indications": [], "page_meta": {}}
        return httpx.Response(400) if refused else httpx.Response(200, json=whole | empty)

    found = await ChEMBL(recorded({"*": answer})).look_up("propranolol")

    assert (found.status, len(found.records)) == (Status.PARTIAL, 1)
    assert "some names could not be asked" in "\n".join(found.warnings)
    molecules.clear()
    with pytest.raises(SearchError):  # not: no molecule has this name
        await ChEMBL(recorded({"*": answer})).look_up("propranolol")


@pytest.mark.parametrize(("many", "end"), [(18, "Condition 14 (phase 2) and 3 more."), (15, "Condition 14 (phase 2).")])
def test_of_many_indications_some_are_told_and_the_rest_counted(many: int, end: str) -> None:
    said = parse_drug(PARENT, indications=[indication(f"Condition {n:02}", "2.0") for n in range(many)])
    assert said.content.endswith(end)


@pytest.mark.parametrize(("said", "due"), [(15365, "CHEBI:15365"), (None, None), ("n/a", None)])
def test_the_number_in_chebi_is_kept_where_chembl_names_one_and_a_name_may_lack(said: object, due: str | None) -> None:
    told = parse_drug({"molecule_chembl_id": "CHEMBL27", "pref_name": None, "chebi_par_id": said}).metadata
    assert told == {"drug": "chembl27", "chembl_id": "CHEMBL27"} | ({"chebi_id": due} if due else {})


def test_a_salt_bears_the_name_of_its_drug_and_what_resembles_it_does_not() -> None:
    assert names_it(SALT, "Propranolol")
    assert not names_it(SALT, "pranolol")
