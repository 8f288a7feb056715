"""The bundled library's trials and odd publications hold checked facts of real records."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_library_publications import LIBRARY, ROOT, read, runs

SHARED = ROOT.parent / "shared" / "data"

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
RETRACTED = read(LIBRARY / "publications_retracted.jsonl")

needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="../shared/data is not beside this clone")


def shared_texts(folder: Path) -> Iterator[str]:
    """Yield the text of every file below a folder, compressed ones unpacked."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            yield (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", errors="ignore")


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


def test_a_retracted_article_says_so_as_pubmed_does_and_names_where_that_was_read() -> None:
    for record in RETRACTED:
        assert "Retracted Publication" in record["publication_types"]
        assert record["pmid"] in record["provenance"]
