"""The parsers lose nothing of the public APIs' own replies, where a collection of them lies beside the repository."""

import html
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from recorded import answering

from willowbark.tools.appraisal import posted_finding
from willowbark.tools.evidence import Evidence
from willowbark.tools.http.reply import read_each
from willowbark.tools.search import Source
from willowbark.tools.sources.drugs.mychem import MyChem
from willowbark.tools.sources.drugs.reactome import Reactome
from willowbark.tools.sources.drugs.uniprot import UniProt
from willowbark.tools.sources.labels.drugsfda import DrugsFDA
from willowbark.tools.sources.labels.openfda import OpenFDA
from willowbark.tools.sources.studies.clinicaltrials import UNKNOWN_ENROLLMENT, parse_study

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


Pairs = list[tuple[dict[str, Any], Evidence]]


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    """Each study of every file beside the record that was read from it."""
    studies = [study for path in files_with(b"protocolSection") for study in studies_in(json.loads(path.read_bytes()))]
    records, unread = read_each(studies, parse_study)
    assert not unread
    assert len(records) > 200
    return list(zip(studies, records, strict=True))


def test_every_study_keeps_its_facts_arms_and_posted_primary_outcomes(pairs: Pairs) -> None:
    for study, record in pairs:
        protocol, told = study["protocolSection"], record.metadata
        names, status, design, arms = (
            protocol.get(f"{part}Module", {}) for part in ("identification", "status", "design", "armsInterventions")
        )
        count = design.get("enrollmentInfo", {}).get("count")
        due = {
            "nct_id": names["nctId"],
            "overall_status": status.get("overallStatus"),
            "why_stopped": one_line(status.get("whyStopped")),
            "start_date": status.get("startDateStruct", {}).get("date"),
            "enrollment": None if count == UNKNOWN_ENROLLMENT else count,
            "phases": design.get("phases"),
            "study_type": design.get("studyType"),
        }
        assert {name: told.get(name) for name in due} == due
        assert record.citation.title == one_line(
            names.get("briefTitle") or names.get("officialTitle") or names["nctId"]
        )
        assert told.get("why_stopped", "") in record.content
        wanted = [one_line(each.get("name")) for each in arms.get("interventions", [])]
        assert [each.get("name") for each in told.get("interventions", [])] == wanted
        assert len(told.get("arms", [])) == len(arms.get("armGroups", []))
        measures = study.get("resultsSection", {}).get("outcomeMeasuresModule", {}).get("outcomeMeasures", [])
        primary = [one_line(each["title"]) for each in measures if each["type"] == "PRIMARY"]
        assert [each["title"] for each in told.get("results", {}).get("primary_outcomes", [])] == primary
        assert record.content.count("\nRESULT: ") == len(primary)


def test_every_posted_result_is_decided_from_an_analysis_or_left_open_with_a_reason(pairs: Pairs) -> None:
    posted = {record.key: record for study, record in pairs if "resultsSection" in study}
    for record in posted.values():
        for intervention in record.metadata.get("interventions", []):
            found = posted_finding(record, intervention["name"])
            assert found is not None or "results" not in record.metadata
            assert found is None or found.reason
            assert found is None or found.sentence in record.content


def test_the_kidney_trials_of_finerenone_support_it_by_what_they_posted(pairs: Pairs) -> None:
    wanted = {"NCT01874431": "4 of 7 groups", "NCT02540993": "0.825", "NCT02545049": "0.87"}
    found = {
        record.metadata["nct_id"]: finding
        for _, record in pairs
        if record.metadata["nct_id"] in wanted
        if (finding := posted_finding(record, "finerenone"))
    }
    assert {number: finding.direction.value for number, finding in found.items()} == dict.fromkeys(wanted, "supports")
    assert all(part in found[number].sentence + found[number].reason for number, part in wanted.items())


@pytest.mark.parametrize(
    ("source", "file", "query", "field", "due"),
    [
        (UniProt, "biomcp_uniprot/*search_braf*", "melanoma", "function", "Protein kinase involved"),
        (
            Reactome,
            "biomcp_reactome/*search_mapk_limit5*",
            "mapk signaling",
            "process_name",
            "Oncogenic MAPK signaling",
        ),
        (MyChem, "biomcp_mychem/*query_imatinib_get_20260811*", "imatinib", "first_approval", "2001"),
        (MyChem, "biomcp_mychem/*query_warfarin_get_20260811*", "warfarin", "mechanisms", "VKORC1"),
        (OpenFDA, "biomcp_openfda/*label_keytruda*", "pembrolizumab", "drug", "pembrolizumab"),
        (DrugsFDA, "biomcp_openfda/*drugsfda_imatinib_20260811*", "imatinib", "first_approved", "2003-04-18"),
    ],
)
async def test_a_real_reply_of_each_database_is_read(
    source: type[Source], file: str, query: str, field: str, due: str
) -> None:
    folder, _, name = file.partition("/")
    [path] = (REPLIES / folder).rglob(f"{name}.json")
    found = await answering(source, httpx.Response(200, content=path.read_bytes())).find(query)

    assert any(due in str(record.metadata.get(field)) for record in found.records)
