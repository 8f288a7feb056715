"""The local library: what its index finds, what it answers in the sources' place, and what it says it does not hold."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from willowbark.tools.errors import SourceRefused, SourceUnavailable, UsageError
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.library import Library, open_library
from willowbark.tools.search import Status
from willowbark.tools.sources.drugs.chembl import ChEMBL
from willowbark.tools.sources.drugs.opentargets import OpenTargets
from willowbark.tools.sources.drugs.uniprot import UniProt
from willowbark.tools.sources.labels.openfda import OpenFDA
from willowbark.tools.sources.studies import biorxiv, crossref, openalex
from willowbark.tools.sources.studies.brave import Brave
from willowbark.tools.sources.studies.clinicaltrials import ClinicalTrials
from willowbark.tools.sources.studies.europepmc import EuropePMC
from willowbark.tools.sources.studies.pubmed import PubMed
from willowbark.tools.works.fulltext import fetch_full_text

ROWS: list[dict[str, Any]] = [
    {"pmid": "1", "title": "Propranolol prevents migraine", "abstract": "A trial of timolol, too.", "date": "2019-03"},
    {"pmid": "2", "title": "Migraine and aura", "abstract": "Beta-blockers were not given.", "date": "2020"},
    {
        "pmid": "3",
        "title": "Headaches of children",
        "abstract": "Migraine in a child: propranolol failed.",
        "date": "2021-07-05",
        "authors": ["Smith AB"],
        "mesh_terms": ["Migraine Disorders"],
        "publication_types": ["Randomized Controlled Trial"],
    },
    {"pmid": None, "ppr_id": "PPR9", "title": "A preprint on migraine", "doi": "10.1101/2021.01.01.1", "date": "2021"},
    {"citing": "3", "cited": "1"},
]


def write(folder: Path, *rows: object, name: str = "records.jsonl") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder


@pytest_asyncio.fixture
async def small(tmp_path: Path) -> AsyncIterator[Transport]:
    async with Transport(Endpoints(library=open_library(write(tmp_path / "small", *ROWS)))) as transport:
        yield transport


@pytest_asyncio.fixture
async def bundled() -> AsyncIterator[Transport]:
    async with Transport(Endpoints(library=open_library("bundled"))) as transport:
        yield transport


@pytest.mark.parametrize(
    ("query", "pmids"),
    [
        ("migraine", {"1", "2", "3"}),
        ("migraines", {"1", "2", "3"}),
        ("migraine AND propranolol", {"1", "3"}),
        ("migraine propranolol", {"1", "3"}),
        ("propranolol OR aura", {"1", "2", "3"}),
        ("migraine NOT propranolol", {"2"}),
        ("NOT propranolol", {"2"}),
        ('"migraine disorders"', {"3"}),
        ('"disorders migraine"', set()),
        ("(aura OR timolol) AND migraine", {"1", "2"}),
        ("propranolol OR aura AND child", {"3"}),
        ("beta-blockers", {"2"}),
        ("migraine[ti]", {"1", "2"}),
        ("propranolol failed[tiab]", {"3"}),
        ("smith[au]", {"3"}),
        ("migraine disorders[mh]", {"3"}),
        ("clinical trial[pt]", {"3"}),
        ("2019:2020[dp] AND migraine", {"1", "2"}),
        ("TITLE:(migraine OR headache)", {"1", "2", "3"}),
        ("propran* AND migraine", {"1", "3"}),
        ("(migraine AND (aura", {"2"}),
        ("migraine AND", {"1", "2", "3"}),
        ("()", set()),
    ],
)
async def test_a_query_finds_what_it_would_find_at_pubmed(small: Transport, query: str, pmids: set[str]) -> None:
    reply = await PubMed(small).find(query, 10)

    assert {record.record.pmid for record in reply.records} == pmids
    assert reply.total == len(pmids)
    assert reply.status is (Status.OK if pmids else Status.EMPTY)


async def test_and_binds_tighter_than_or_at_europe_pmc_alone(small: Transport) -> None:
    reply = await EuropePMC(small).find("propranolol OR aura AND child", 10)

    assert {record.record.pmid for record in reply.records} == {"1", "3"}


@pytest.mark.parametrize(
    ("source", "filters", "keys"),
    [
        (PubMed, {"mindate": 2020}, {"pmid:2", "pmid:3"}),
        (PubMed, {"maxdate": "2019-03"}, {"pmid:1"}),
        (PubMed, {"publication_types": ["Randomized Controlled Trial"]}, {"pmid:3"}),
        (EuropePMC, {"preprints": "only"}, {"doi:10.1101/2021.01.01.1"}),
        (EuropePMC, {"preprints": "none"}, {"pmid:1", "pmid:2", "pmid:3"}),
    ],
)
async def test_filters_narrow_a_search(small: Transport, source: Any, filters: Any, keys: set[str]) -> None:
    reply = await source(small).find("migraine", 10, filters)

    assert {record.key for record in reply.records} == keys


async def test_pages_follow_each_other_and_count_all(small: Transport) -> None:
    pages = [await PubMed(small).find("migraine", 2, {"page": page}) for page in (1, 2, 3)]

    assert [len(page.records) for page in pages] == [2, 1, 0]
    assert len({record.key for page in pages for record in page.records}) == 3
    assert pages[0].total == pages[1].total == 3


async def test_databases_answer_for_the_drugs_of_the_library(bundled: Transport) -> None:
    for source in (ChEMBL, OpenTargets, UniProt, OpenFDA):
        reply = await source(bundled).look_up("Inderal", "zzyzx")
        assert reply.records, source
        assert reply.warnings == ["not checked offline: the library holds no entry on zzyzx"]
    assert (await OpenTargets(bundled).find("migraine", 5)).records


async def test_single_records_citations_and_their_lack(small: Transport) -> None:
    papers = await PubMed(small).papers("3", "99")
    cites = await PubMed(small).citations("1")
    trial = await ClinicalTrials(small).trial("NCT00000102")

    assert [record.key for record in papers.records] == ["pmid:3"]
    assert papers.warnings == ["not checked offline: the library does not hold PMID 99"]
    assert [record.key for record in cites.records] == ["pmid:3"]
    assert (await PubMed(small).citations("2")).warnings == [
        "not checked offline: the library holds no citations of PMID 2"
    ]
    assert (trial.status, trial.records) == (Status.EMPTY, [])
    assert trial.warnings == ["not checked offline: the library does not hold NCT00000102"]


async def test_a_source_that_it_holds_nothing_of_is_empty_with_a_word_on_it(small: Transport) -> None:
    reply = await Brave(small).find("migraine", 5)

    assert reply.status is Status.EMPTY
    assert reply.warnings == ["not checked offline: the library holds nothing of this source"]


async def test_what_silence_would_answer_is_a_failure(small: Transport) -> None:
    with pytest.raises(SourceUnavailable, match="not checked offline"):
        await biorxiv.fetch_published_doi("10.1101/2021.01.01.1", small)
    with pytest.raises(SourceRefused, match="not checked offline"):
        await fetch_full_text("PMC1", small)
    with pytest.raises(SourceUnavailable, match="not asked offline"):
        await small.get("pubmed", "esearch.fcgi", read=lambda reply: reply)
    assert await crossref.fetch_updates(["10.1000/1"], small) == {}
    assert await openalex.fetch_work("10.1000/1", small) is None


def test_the_bundled_library_says_what_it_is_and_where_each_record_is_from() -> None:
    library = open_library("bundled")

    assert isinstance(library, Library)
    assert "its texts are paraphrased" in library.summary
    for file in (Path(__file__).parents[1] / "tools" / "library" / "bundled").glob("*.jsonl"):
        for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
            assert row.get("willowbark", row)["provenance"], file.name


def test_a_library_is_opened_anew_where_its_files_have_changed(tmp_path: Path) -> None:
    folder = write(tmp_path, *ROWS)
    first = open_library(folder)

    assert open_library(folder) is first
    write(tmp_path, *ROWS[:1])
    assert open_library(folder).contents.publications == 1
    assert open_library(folder).contents.digest != first.contents.digest


def test_a_folder_that_is_missing_or_holds_no_records_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        open_library(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="holds no records"):
        open_library(tmp_path)


@pytest.mark.parametrize(
    "query",
    [
        "TITLE:" * 3000 + "migraine",
        "(" * 3000 + "migraine",
        f"{'9' * 9000}[dp]",
        "migraine AND 1[dp] : 99999999999999999999[dp]",
    ],
    ids=["prefixes without end", "groups without end", "a date of 9,000 digits", "a range beyond any year"],
)
def test_a_query_of_any_length_is_answered(query: str) -> None:
    lines, total = open_library("bundled").search(query, most=5)
    assert len(lines) <= total
