"""The sandbox library's trials, mechanisms, diseases and odd publications hold checked facts of real records."""

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "tools" / "sandbox" / "library"
SHARED = ROOT.parent / "shared" / "data"
RUN = 8  # words in a row that would make a summary a copy

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
NOT_IN_MECHANISMS = {"Artificial tears", "AZD2693", "CS0159 (Linafexor)"}
"""Trial drugs that are new compounds or no drug at all."""
MECHANISM_KEYS = {
    "name",
    "synonyms",
    "molecule_chembl_id",
    "molecule_type",
    "max_phase",
    "first_approval",
    "mechanisms",
    "indications",
    "provenance",
}
PUBLICATION_KEYS = {
    "pmid",
    "title",
    "authors",
    "date",
    "journal",
    "doi",
    "pmcid",
    "publication_types",
    "nct_ids",
    "mesh_terms",
    "topic",
    "abstract",
    "provenance",
}

Record = dict[str, Any]


def read(name: str) -> list[Record]:
    return [json.loads(line) for line in (LIBRARY / name).read_text(encoding="utf-8").splitlines()]


def nct_id(trial: Record) -> str:
    return str(trial["protocolSection"]["identificationModule"]["nctId"])


TRIALS = read("trials.jsonl")
MECHANISMS = read("mechanisms.jsonl")
DISEASES = read("diseases.jsonl")
PREPRINTS = read("publications_preprints.jsonl")
WITHOUT_ABSTRACT = read("publications_without_abstract.jsonl")
RETRACTED = read("publications_retracted.jsonl")

each_trial = pytest.mark.parametrize("trial", TRIALS, ids=nct_id)
each_drug = pytest.mark.parametrize("drug", MECHANISMS, ids=lambda drug: drug["name"])
each_disease = pytest.mark.parametrize("disease", DISEASES, ids=lambda disease: disease["name"])
needs_shared = pytest.mark.skipif(not SHARED.exists(), reason="../shared/data is not beside this clone")


def runs(text: str) -> set[tuple[str, ...]]:
    """Return every run of RUN words, case and punctuation aside."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return {tuple(words[i : i + RUN]) for i in range(len(words) - RUN + 1)}


def shared_texts(folder: Path) -> Iterator[str]:
    """Yield the text of every file below a folder, compressed ones unpacked."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            yield (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", errors="ignore")


def drugs_named(intervention: str) -> set[str]:
    """Return the library's drugs that an intervention's name holds, by name or synonym."""
    text = intervention.lower()
    return {
        drug["name"]
        for drug in MECHANISMS
        if any(re.search(rf"\b{re.escape(name.lower())}\b", text) for name in [drug["name"], *drug["synonyms"]])
    }


def medicines(trial: Record) -> list[str]:
    interventions = trial["protocolSection"]["armsInterventionsModule"]["interventions"]
    named = [i["name"] for i in interventions if i["type"] in {"DRUG", "BIOLOGICAL"}]
    return [name for name in named if "placebo" not in name.lower() and name not in NOT_IN_MECHANISMS]


def test_a_run_of_eight_words_is_found_across_case_and_punctuation() -> None:
    assert runs("One two, three four five six seven EIGHT.") == runs("one two three four five six seven eight")
    assert not runs("only seven words stand in this line")


def test_every_trial_stands_once_and_every_topic_has_some() -> None:
    ids = [nct_id(trial) for trial in TRIALS]

    assert len(ids) >= 14
    assert len(set(ids)) == len(ids)
    assert {trial["willowbark"]["topic"] for trial in TRIALS} == TOPICS


@each_trial
def test_a_trial_has_the_shape_of_a_registry_study(trial: Record) -> None:
    section = trial["protocolSection"]

    assert set(trial) - {"resultsSection"} == {"protocolSection", "derivedSection", "hasResults", "willowbark"}
    assert re.fullmatch(r"NCT\d{8}", nct_id(trial))
    assert nct_id(trial) in trial["willowbark"]["provenance"]
    assert section["statusModule"]["overallStatus"] in STATUSES
    assert section["descriptionModule"]["briefSummary"].endswith(".")
    assert set(section["designModule"].get("phases", [])) <= PHASES
    assert section["armsInterventionsModule"]["interventions"]


@each_trial
def test_a_reference_carries_no_citation_text(trial: Record) -> None:
    references = trial["protocolSection"].get("referencesModule", {}).get("references", [])

    assert all(set(reference) == {"pmid", "type"} for reference in references)


@each_trial
def test_a_mesh_term_of_a_trial_has_a_descriptor_id(trial: Record) -> None:
    for module in trial["derivedSection"].values():
        assert all(re.fullmatch(r"[CD]\d{6,9}", mesh["id"]) and mesh["term"] for mesh in module["meshes"])


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


@each_trial
def test_every_medicine_of_a_trial_is_a_drug_of_the_library(trial: Record) -> None:
    assert {name: len(drugs_named(name)) for name in medicines(trial)} == dict.fromkeys(medicines(trial), 1)


def test_no_drug_and_no_chembl_id_stands_twice() -> None:
    names = [drug["name"] for drug in MECHANISMS]
    chembl_ids = [drug["molecule_chembl_id"] for drug in MECHANISMS if drug["molecule_chembl_id"]]
    synonyms = [name.lower() for drug in MECHANISMS for name in [drug["name"], *drug["synonyms"]]]

    assert len(names) >= 34
    assert len(set(names)) == len(names)
    assert len(set(chembl_ids)) == len(chembl_ids)
    assert len(set(synonyms)) == len(synonyms)


@each_drug
def test_a_drug_has_the_agreed_keys_and_well_formed_ids(drug: Record) -> None:
    assert set(drug) == MECHANISM_KEYS
    assert drug["name"] == drug["name"].upper()
    assert drug["molecule_chembl_id"] is None or re.fullmatch(r"CHEMBL\d+", drug["molecule_chembl_id"])
    assert drug["max_phase"] in {None, 1, 2, 3, 4}
    for mechanism in drug["mechanisms"]:
        assert all(re.fullmatch(r"R-HSA-\d+", pathway["id"]) and pathway["name"] for pathway in mechanism["pathways"])
        assert mechanism["target_chembl_id"] is None or re.fullmatch(r"CHEMBL\d+", mechanism["target_chembl_id"])
        assert all(re.fullmatch(r"[OPQ][0-9][A-Z0-9]{3}[0-9]", accession) for accession in mechanism["uniprot_ids"])
        assert all(re.fullmatch(r"ENSG\d{11}", ensembl_id) for ensembl_id in mechanism["ensembl_ids"])
        assert len(mechanism["ensembl_ids"]) <= len(mechanism["gene_symbols"]) == len(mechanism["uniprot_ids"])


@each_drug
def test_an_id_left_null_is_named_as_not_confirmed(drug: Record) -> None:
    assert ("not confirmed, left null" in drug["provenance"]) is (drug["molecule_chembl_id"] is None)


@each_drug
def test_an_indication_never_outranks_its_drug(drug: Record) -> None:
    for indication in drug["indications"]:
        assert indication["mesh_id"] is None or re.fullmatch(r"D\d{6}", indication["mesh_id"])
        assert (indication["efo_id"] is None) is (indication["efo_term"] is None)
        assert 1 <= indication["max_phase"] <= drug["max_phase"]


def test_a_gene_has_the_same_ids_wherever_it_stands() -> None:
    pairs: dict[str, set[str]] = {}
    for drug in MECHANISMS:
        for mechanism in drug["mechanisms"]:
            for gene, accession in zip(mechanism["gene_symbols"], mechanism["uniprot_ids"], strict=True):
                pairs.setdefault(gene, set()).add(accession)

    assert {gene for gene, accessions in pairs.items() if len(accessions) != 1} == set()


@each_disease
def test_a_disease_lists_exactly_the_drugs_indicated_for_it(disease: Record) -> None:
    expected = {
        (drug["name"], drug["molecule_chembl_id"], indication["max_phase"])
        for drug in MECHANISMS
        for indication in drug["indications"]
        if indication["efo_id"] == disease["id"]
    }

    assert re.fullmatch(r"(EFO|MONDO)_\d{7}", disease["id"])
    assert {(d["name"], d["molecule_chembl_id"], d["max_phase"]) for d in disease["drugs"]} == expected


def test_every_ontology_id_of_an_indication_has_its_disease() -> None:
    used = {i["efo_id"]: i["efo_term"] for drug in MECHANISMS for i in drug["indications"] if i["efo_id"]}

    assert used == {disease["id"]: disease["name"] for disease in DISEASES}


def test_a_preprint_has_a_doi_and_no_pmid() -> None:
    for record in PREPRINTS:
        assert set(record) == PUBLICATION_KEYS | {"ppr_id"}
        assert record["pmid"] is None
        assert record["publication_types"] == ["Preprint"]
        assert record["doi"].startswith("10.")
        assert record["ppr_id"] is None or re.fullmatch(r"PPR\d+", record["ppr_id"])


def test_a_retracted_article_says_so_as_pubmed_does_and_names_where_that_was_read() -> None:
    for record in RETRACTED:
        assert set(record) == PUBLICATION_KEYS
        assert "Retracted Publication" in record["publication_types"]
        assert record["topic"] in TOPICS
        assert record["pmid"] in record["provenance"]


def test_a_record_without_abstract_says_null() -> None:
    for record in WITHOUT_ABSTRACT:
        assert set(record) == PUBLICATION_KEYS | {"journal_abbreviation", "volume", "issue", "pages"}
        assert re.fullmatch(r"\d{1,8}", record["pmid"])
        assert record["abstract"] is None
