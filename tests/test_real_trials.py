"""The parsers lose nothing of the public APIs' own replies, where a collection of them lies beside the repository."""

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from willowbark.tools.appraisal import posted_finding
from willowbark.tools.evidence import Evidence
from willowbark.tools.http.reply import read_each
from willowbark.tools.lexicon import drug_synonyms, find_drugs
from willowbark.tools.sources.drugs.chembl_record import parse_drug as parse_chembl_drug
from willowbark.tools.sources.drugs.chembl_record import parse_mechanisms
from willowbark.tools.sources.drugs.opentargets_record import parse_disease, parse_drug
from willowbark.tools.sources.studies.clinicaltrials_record import UNKNOWN_ENROLLMENT, parse_study

REPLIES = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "replies"
pytestmark = pytest.mark.skipif(not REPLIES.exists(), reason="../shared/data/replies is not beside this clone")


def files_with(word: bytes, folder: str = "") -> list[Path]:
    """Every JSON file below a folder that holds a word."""
    return [path for path in sorted((REPLIES / folder).rglob("*.json")) if word in path.read_bytes()]


def studies_in(value: Any) -> Iterator[dict[str, Any]]:
    """The study objects of a file, at whatever depth."""
    if isinstance(value, dict) and "protocolSection" in value:
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from studies_in(inner)


def one_line(text: str | None) -> str | None:
    return " ".join(html.unescape(text).split()) if text else None


each_file = pytest.mark.parametrize(
    "path", files_with(b"protocolSection"), ids=lambda path: str(path.relative_to(REPLIES))
)


def pairs(path: Path) -> list[tuple[dict[str, Any], Evidence]]:
    """Each study's protocol and results beside the record that was read from it."""
    studies = list(studies_in(json.loads(path.read_bytes())))
    records, unread = read_each(studies, parse_study)
    assert not unread
    return list(zip(studies, records, strict=True))


@each_file
def test_every_study_keeps_what_it_was_and_what_became_of_it(path: Path) -> None:
    for study, record in pairs(path):
        protocol, told = study["protocolSection"], record.metadata
        names, status = protocol["identificationModule"], protocol.get("statusModule", {})
        assert told["nct_id"] == names["nctId"]
        title = names.get("briefTitle") or names.get("officialTitle") or names["nctId"]
        assert record.citation.title == one_line(title)
        assert told.get("overall_status") == status.get("overallStatus")
        assert told.get("why_stopped") == one_line(status.get("whyStopped"))
        assert told.get("start_date") == status.get("startDateStruct", {}).get("date")
        if "why_stopped" in told:
            assert told["why_stopped"] in record.content


@each_file
def test_every_study_keeps_its_design(path: Path) -> None:
    for study, record in pairs(path):
        design = study["protocolSection"].get("designModule", {})
        count = design.get("enrollmentInfo", {}).get("count")
        assert record.metadata.get("enrollment") == (None if count == UNKNOWN_ENROLLMENT else count)
        assert record.metadata.get("phases", []) == design.get("phases", [])
        assert record.metadata.get("study_type") == design.get("studyType")


@each_file
def test_every_study_keeps_its_arms_and_interventions(path: Path) -> None:
    for study, record in pairs(path):
        module = study["protocolSection"].get("armsInterventionsModule", {})
        wanted = [one_line(each.get("name")) for each in module.get("interventions", [])]
        assert [each.get("name") for each in record.metadata.get("interventions", [])] == wanted
        assert len(record.metadata.get("arms", [])) == len(module.get("armGroups", []))


@each_file
def test_every_posted_primary_outcome_is_told(path: Path) -> None:
    for study, record in pairs(path):
        measures = study.get("resultsSection", {}).get("outcomeMeasuresModule", {}).get("outcomeMeasures", [])
        primary = [one_line(each["title"]) for each in measures if each["type"] == "PRIMARY"][:5]
        told = record.metadata.get("results", {}).get("primary_outcomes", [])
        assert [each["title"] for each in told] == primary
        assert record.content.count("\nRESULT: ") == len(primary)


@each_file
def test_every_posted_result_is_decided_from_an_analysis_or_left_open_with_a_reason(path: Path) -> None:
    for study, record in pairs(path):
        if "resultsSection" not in study:
            continue
        for intervention in record.metadata.get("interventions", []):
            found = posted_finding(record, intervention["name"], [m.name for m in find_drugs(intervention["name"])])
            assert found is not None or "results" not in record.metadata
            assert found is None or found.reason
            assert found is None or found.sentence in record.content


def test_the_kidney_trials_of_finerenone_support_it_by_what_they_posted() -> None:
    studies = [study for path in files_with(b"resultsSection") for study in studies_in(json.loads(path.read_bytes()))]
    wanted = {"NCT01874431": "4 of 7 groups", "NCT02540993": "0.825", "NCT02545049": "0.87"}
    found = {
        record.metadata["nct_id"]: finding
        for study in studies
        if (record := parse_study(study)) and record.metadata["nct_id"] in wanted
        if (finding := posted_finding(record, "finerenone", drug_synonyms("finerenone")))
    }
    assert {number: finding.direction.value for number, finding in found.items()} == dict.fromkeys(wanted, "supports")
    assert all(part in found[number].sentence + found[number].reason for number, part in wanted.items())


def test_some_studies_are_stopped_observational_or_with_results() -> None:
    """Else the claims above would hold of nothing."""
    studies = [study for path in files_with(b"protocolSection") for study in studies_in(json.loads(path.read_bytes()))]
    records = [record for study in studies if (record := parse_study(study))]
    assert len(records) == len(studies) > 200
    assert sum("why_stopped" in record.metadata for record in records) >= 10
    assert sum("results" in record.metadata for record in records) >= 10
    assert sum(record.metadata.get("study_type") == "OBSERVATIONAL" for record in records) >= 10


@pytest.mark.parametrize("path", files_with(b"mechanisms", "biomcp_chembl"), ids=lambda path: path.stem)
def test_every_mechanism_of_chembl_is_read(path: Path) -> None:
    rows = json.loads(path.read_bytes())["mechanisms"]
    told = parse_mechanisms(rows, [])
    assert [each.get("action_type") for each in told] == [row["action_type"] for row in rows if row["action_type"]]
    record = parse_chembl_drug({"molecule_chembl_id": "CHEMBL25"}, mechanisms=rows)
    assert record.metadata["mechanisms"] == told


@pytest.mark.parametrize("path", files_with(b"indications", "biomcp_opentargets"), ids=lambda path: path.stem)
def test_every_drug_of_open_targets_is_read(path: Path) -> None:
    drug = json.loads(path.read_bytes())["data"]["drug"]
    record = parse_drug(drug)
    approved = {row["disease"]["name"] for row in drug["indications"]["rows"] if row["maxClinicalStage"] == "APPROVAL"}
    assert {each["name"] for each in record.metadata["indications"] if each.get("max_phase") == 4} == approved
    symbols = [each["approvedSymbol"] for row in drug["mechanismsOfAction"]["rows"] for each in row["targets"]]
    assert [each for told in record.metadata["mechanisms"] for each in told["gene_symbols"]] == symbols


@pytest.mark.parametrize("path", files_with(b"drugAndClinicalCandidates"), ids=lambda path: path.stem)
def test_every_list_of_candidates_of_open_targets_is_read(path: Path) -> None:
    target = json.loads(path.read_bytes())["data"]["target"]
    record = parse_disease({**target, "id": "EFO_0000000", "name": "any"})
    wanted = {row["drug"]["name"].lower() for row in target["drugAndClinicalCandidates"]["rows"]}
    told = [each["name"] for each in record.metadata.get("drugs", [])]
    assert set(told) <= wanted
    assert len(told) == min(len(wanted), 60)


@pytest.mark.parametrize("path", files_with(b"associatedTargets"), ids=lambda path: path.stem)
def test_every_disease_with_its_targets_is_read(path: Path) -> None:
    disease = json.loads(path.read_bytes())["data"]["disease"]
    record = parse_disease(disease)
    assert record.metadata["disease_id"] == disease["id"]
    wanted = [(row["target"]["approvedSymbol"], row["score"]) for row in disease["associatedTargets"]["rows"]]
    assert [(each["symbol"], each["score"]) for each in record.metadata["targets"]] == wanted
