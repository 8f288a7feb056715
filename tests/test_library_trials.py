"""The bundled library's trials and odd publications hold checked facts of real records."""

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_library_publications import KEYS, LIBRARY, PLACE, ROOT, read, runs

SHARED = ROOT.parent / "shared" / "data"

TOPICS = {
    "migraine_prevention",
    "diabetic_nephropathy",
    "smoking_cessation",
    "portal_hypertension",
    "Alzheimer_disease",
}
STATUSES = {"COMPLETED", "RECRUITING", "NOT_YET_RECRUITING", "TERMINATED", "WITHDRAWN"}
PHASES = {"NA", "EARLY_PHASE1", "PHASE1", "PHASE2", "PHASE3", "PHASE4"}
CONFIRMED_ON_A_REGISTRY_PAGE = {
    "NCT00006398",
    "NCT00549757",
    "NCT00772057",
    "NCT00884663",
    "NCT01581281",
    "NCT02630719",
}
"""Trials of which the shared data holds nothing; each record's provenance says where its facts were read."""
Record = dict[str, Any]


def nct_id(trial: Record) -> str:
    return str(trial["protocolSection"]["identificationModule"]["nctId"])


TRIALS = read(LIBRARY / "trials.jsonl")
PREPRINTS = read(LIBRARY / "publications_preprints.jsonl")
WITHOUT_ABSTRACT = read(LIBRARY / "publications_without_abstract.jsonl")
RETRACTED = read(LIBRARY / "publications_retracted.jsonl")

needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="../shared/data is not beside this clone")


def shared_texts(folder: Path) -> Iterator[str]:
    """Yield the text of every file below a folder, compressed ones unpacked."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            yield (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", errors="ignore")


def test_every_trial_stands_once_and_every_topic_has_some() -> None:
    ids = [nct_id(trial) for trial in TRIALS]

    assert len(ids) >= 14
    assert len(set(ids)) == len(ids)
    assert {trial["willowbark"]["topic"] for trial in TRIALS} == TOPICS


def test_a_trial_has_the_shape_of_a_registry_study() -> None:
    for trial in TRIALS:
        section, number = trial["protocolSection"], nct_id(trial)
        assert set(trial) - {"resultsSection"} == {"protocolSection", "derivedSection", "hasResults", "willowbark"}
        assert re.fullmatch(r"NCT\d{8}", number)
        assert number in trial["willowbark"]["provenance"]
        assert section["statusModule"]["overallStatus"] in STATUSES, number
        assert section["descriptionModule"]["briefSummary"].endswith("."), number
        assert set(section["designModule"].get("phases", [])) <= PHASES, number
        assert section["armsInterventionsModule"]["interventions"], number
        references = section.get("referencesModule", {}).get("references", [])
        assert all(set(reference) == {"pmid", "type"} for reference in references), number  # no text of a citation
        for module in trial["derivedSection"].values():
            assert all(re.fullmatch(r"[CD]\d{6,9}", mesh["id"]) and mesh["term"] for mesh in module["meshes"]), number


def test_stopped_trials_are_kept_with_their_reason() -> None:
    by_status = {trial["protocolSection"]["statusModule"]["overallStatus"]: trial for trial in TRIALS}
    reasons = {
        nct_id(trial): trial["protocolSection"]["statusModule"].get("whyStopped")
        for trial in TRIALS
        if trial["protocolSection"]["statusModule"]["overallStatus"] == "TERMINATED"
    }

    assert {"TERMINATED", "WITHDRAWN"} <= set(by_status)
    assert reasons
    assert all(reasons.values())


def test_a_withdrawn_trial_enrolled_nobody() -> None:
    withdrawn = [t for t in TRIALS if t["protocolSection"]["statusModule"]["overallStatus"] == "WITHDRAWN"]

    assert {t["protocolSection"]["designModule"]["enrollmentInfo"]["count"] for t in withdrawn} == {0}


def test_posted_results_hold_the_primary_outcome_and_the_serious_events() -> None:
    posted = [trial for trial in TRIALS if "resultsSection" in trial]

    assert {nct_id(trial) for trial in posted} == {"NCT01874431", "NCT02540993", "NCT02545049"}
    for trial in posted:
        assert trial["hasResults"]
        (outcome,) = trial["resultsSection"]["outcomeMeasuresModule"]["outcomeMeasures"]
        assert outcome["type"] == "PRIMARY"
        assert outcome["analyses"]
        for group in trial["resultsSection"]["adverseEventsModule"]["eventGroups"]:
            assert 0 <= group["seriousNumAffected"] <= group["seriousNumAtRisk"]


@needs_shared
def test_every_trial_is_in_the_shared_data_or_named_as_read_elsewhere() -> None:
    wanted = {nct_id(trial) for trial in TRIALS} - CONFIRMED_ON_A_REGISTRY_PAGE
    for text in shared_texts(SHARED):
        wanted -= {found for found in wanted if found in text}

    assert wanted == set()


@needs_shared
def test_no_summary_repeats_eight_words_of_the_registry() -> None:
    ours = {nct_id(trial): runs(trial["protocolSection"]["descriptionModule"]["briefSummary"]) for trial in TRIALS}
    copied = set()
    with gzip.open(SHARED / "library_source" / "trials.jsonl.gz", "rt", encoding="utf-8") as lines:
        for study in map(json.loads, lines):
            theirs = study["protocolSection"]["descriptionModule"]["briefSummary"]
            copied |= {nct_id(study)} if ours[nct_id(study)] & runs(theirs) else set()

    assert copied == set()


def test_a_preprint_has_a_doi_and_no_pmid() -> None:
    for record in PREPRINTS:
        assert set(record) == set(KEYS) | {"ppr_id"}
        assert record["pmid"] is None
        assert record["publication_types"] == ["Preprint"]
        assert record["doi"].startswith("10.")
        assert record["ppr_id"] is None or re.fullmatch(r"PPR\d+", record["ppr_id"])


def test_a_retracted_article_says_so_as_pubmed_does_and_names_where_that_was_read() -> None:
    for record in RETRACTED:
        assert set(record) == set(KEYS)
        assert "Retracted Publication" in record["publication_types"]
        assert record["topic"] in TOPICS
        assert record["pmid"] in record["provenance"]


def test_a_record_without_abstract_says_null() -> None:
    for record in WITHOUT_ABSTRACT:
        assert set(record) == set(KEYS) | PLACE
        assert re.fullmatch(r"\d{1,8}", record["pmid"])
        assert record["abstract"] is None
