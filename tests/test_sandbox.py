"""The sandbox answers as the public sources do, over a library of records."""

import logging
import shutil
import socket
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from willowbark.tools.errors import UsageError
from willowbark.tools.sandbox.library import OWN_WORDS, Disease, Library, summary
from willowbark.tools.sandbox.matching import Document, Index
from willowbark.tools.sandbox.server import SandboxServer
from willowbark.tools.sandbox.syntax import QueryError, parse
from willowbark.tools.sources.studies.europepmc import parse_record

SYNTHETIC = Path(__file__).parent / "library"


@pytest.fixture(scope="module")
def library() -> Library:
    return Library.load(SYNTHETIC)


@pytest.fixture(scope="module")
def client(library: Library) -> Iterator[httpx.Client]:
    with SandboxServer(library) as sandbox, httpx.Client(base_url=sandbox.url, trust_env=False, timeout=60) as opened:
        yield opened


@pytest.fixture(scope="module")
def bundled() -> Iterator[httpx.Client]:
    with SandboxServer() as sandbox, httpx.Client(base_url=sandbox.url, trust_env=False, timeout=60) as opened:
        yield opened


# --- the library ---


def test_the_bundled_library_says_in_one_line_what_it_covers() -> None:
    library, said = Library.load(), summary()

    assert "migraine prevention" in said
    assert "\n" not in said
    assert said.startswith(f"{sum(each.number is not None for each in library.publications)} publications and ")
    assert f" {len(library.trials)} trials on " in said
    assert said.endswith(f"; {len(library.drugs)} drugs.")


def test_records_cannot_be_changed(library: Library) -> None:
    with pytest.raises(ValueError, match="frozen"):
        library.publications[0].title = "another"


def test_an_empty_folder_is_an_empty_library(tmp_path: Path) -> None:
    assert summary(tmp_path) == "0 publications and 0 trials on nothing; 0 drugs."


def test_a_missing_folder_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be read"):
        Library.load(tmp_path / "none")


@pytest.mark.parametrize(
    "line",
    ["{", '{"pmid": "x", "title": "t", "topic": "t", "provenance": "p"}', '{"pmid": "1"}', "[]"],
    ids=["cut", "no PMID", "fields missing", "no object"],
)
def test_a_record_of_another_form_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "publications_broken.jsonl").write_text(line)

    with pytest.raises(UsageError, match="cannot be read"):
        Library.load(tmp_path)


def test_a_pmid_stands_once(tmp_path: Path) -> None:
    for name in ("a", "b"):
        shutil.copy(SYNTHETIC / "publications_synthetic.jsonl", tmp_path / f"publications_{name}.jsonl")

    with pytest.raises(UsageError, match="99999901"):
        Library.load(tmp_path)


def test_every_record_of_the_tests_says_that_it_is_synthetic(library: Library) -> None:
    assert all(record.provenance.startswith("Synthetic") for record in (*library.publications, *library.drugs))
    assert all(record.title.startswith("[SYNTHETIC]") for record in library.publications)


# --- matching ---

DOCUMENTS = Index(
    [
        Document(
            "1", {"title": "Migraine prevention with propranolol", "abstract": "Beta-blockers help."}, {"dp": "2001"}
        ),
        Document("2", {"title": "Migraine attacks", "abstract": "Topiramate prevents attacks."}, {"dp": "2005-06-07"}),
        Document("3", {"title": "Portal hypertension", "abstract": "Propranolol lowers pressure in portal veins."}),
    ],
    default=("title", "abstract"),
    aliases={"tiab": ("title", "abstract"), "ti": ("title",)},
)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("migraine", {"1", "2"}),
        ("migraines PREVENTING", {"1", "2"}),
        ("migraine AND nosuchword", set()),
        ("migraine OR nosuchword", {"1", "2"}),
        ("propranolol NOT migraine", {"3"}),
        ("propranolol AND NOT migraine", {"3"}),
        ("NOT migraine", {"3"}),
        ('"portal hypertension"', {"3"}),
        ('"hypertension portal"', set()),
        ("hypertension portal", {"3"}),
        ("beta blocker", {"1"}),
        ("topira*", {"2"}),
        ("migraine[ti] AND propranolol[tiab]", {"1"}),
        ("portal veins[ti]", set()),
        ("TI:propranolol", {"1"}),
        ("TI:(propranolol OR attacks)", {"1", "2"}),
        ("AREA[ti]propranolol", {"1"}),
        ("2000:2003[dp]", {"1"}),
        ("DP:[2005-06-07 TO 2005-06-07]", {"2"}),
        ("AREA[dp]RANGE[2002-01-01, MAX]", {"2"}),
        ("DP:[2001 TO 2003] prevention[ti]", {"1"}),
        ("the drugs with", set()),
        ("migraine AND (the drugs)", {"1", "2"}),
        ("(((migraine", {"1", "2"}),
        ("migraine)) AND topiramate", {"2"}),
        ('migraine "', {"1", "2"}),
        ("", set()),
        ("AND OR NOT", set()),
    ],
)
def test_a_query_finds_what_it_means(query: str, found: set[str]) -> None:
    assert set(DOCUMENTS.search(parse(query))) == found


def test_pubmed_takes_operators_from_left_to_right() -> None:
    query = "migraine OR portal AND propranolol"

    assert set(DOCUMENTS.search(parse(query))) == {"1", "2", "3"}
    assert set(DOCUMENTS.search(parse(query, flat=True))) == {"1", "3"}


def test_the_better_match_comes_first_and_ties_go_by_id() -> None:
    assert DOCUMENTS.search(parse("migraine OR topiramate OR attacks"))[0] == "2"
    assert DOCUMENTS.search(parse("NOT nosuchword")) == ["1", "2", "3"]


def test_missing_terms_are_named() -> None:
    assert [term.text for term in DOCUMENTS.missing(parse('migraine AND "no such" NOT nothing'))] == ["no such"]


@pytest.mark.parametrize("query", ["(migraine", "migraine)", "migraine AND", 'migr"aine', "AREA[ti]", "OR migraine"])
def test_a_strict_reader_refuses_what_is_not_well_formed(query: str) -> None:
    with pytest.raises(QueryError):
        parse(query, strict=True)


@given(st.text(alphabet='ab ()[]"*:-AND ORNOT', max_size=60))
def test_no_text_breaks_the_reader(query: str) -> None:
    for flat in (True, False):
        found = DOCUMENTS.search(parse(query, flat=flat))
        assert set(found) <= {"1", "2", "3"}


# --- PubMed ---


def esearch(client: httpx.Client, term: str, **params: Any) -> dict[str, Any]:
    asked = {"db": "pubmed", "term": term, "retmode": "json", "sort": "relevance", **params}
    reply = client.get("/pubmed/esearch.fcgi", params=asked)
    assert reply.headers["content-type"].startswith("application/json")
    result: dict[str, Any] = reply.json()["esearchresult"]
    return result


def articles(client: httpx.Client, *pmids: str) -> list[ET.Element]:
    reply = client.get("/pubmed/efetch.fcgi", params={"db": "pubmed", "id": ",".join(pmids), "retmode": "xml"})
    assert reply.headers["content-type"].startswith("text/xml")
    return ET.fromstring(reply.content).findall("PubmedArticle")


def test_a_search_gives_its_count_as_text_and_its_translation(client: httpx.Client) -> None:
    found = esearch(client, "placebinol AND test fever", retmax=1)

    assert (found["count"], found["retmax"], found["retstart"]) == ("2", "1", "0")
    assert found["idlist"] == ["99999901"]
    assert found["querytranslation"] == '"placebinol"[All Fields] AND ("test"[All Fields] AND "fever"[All Fields])'
    assert "errorlist" not in found


def test_a_search_is_paged(client: httpx.Client) -> None:
    whole = esearch(client, "placebinol")["idlist"]
    pages = [esearch(client, "placebinol", retstart=start, retmax=2)["idlist"] for start in range(0, len(whole), 2)]

    assert len(whole) == 4
    assert [pmid for page in pages for pmid in page] == whole


def test_preprints_are_not_in_pubmed(client: httpx.Client) -> None:
    assert esearch(client, "preprint placebinol")["count"] == "0"


def test_a_search_without_hits_names_what_is_missing(client: httpx.Client) -> None:
    found = esearch(client, 'placebinol AND nosuchword AND "no such phrase"[zz]')

    assert found["count"] == "0"
    assert found["errorlist"] == {"phrasesnotfound": ["nosuchword", '"no such phrase"'], "fieldsnotfound": ["zz"]}
    assert found["warninglist"]["outputmessages"] == ["No items found."]


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"term": " "}, "Empty term"),
        ({"term": "x", "db": "nosuch"}, "Invalid db name"),
        ({"term": "x", "retstart": 9999}, "'retstart' cannot be larger than 9998"),
    ],
    ids=["empty", "database", "too far"],
)
def test_a_search_that_cannot_be_done_says_so_with_status_200(
    client: httpx.Client, params: dict[str, Any], said: str
) -> None:
    assert said in esearch(client, **params)["ERROR"]


def test_dates_and_types_narrow_a_search(client: httpx.Client) -> None:
    dates = {"datetype": "pdat", "mindate": "2019/01/01", "maxdate": "2020/12/31"}

    assert set(esearch(client, "synthetic", **dates)["idlist"]) == {"99999901", "99999902"}
    assert esearch(client, '"Review"[Publication Type]')["idlist"] == ["99999902"]
    assert esearch(client, '"2021"[dp] : "2022"[dp]')["idlist"] == ["99999903"]
    assert esearch(client, "Nobody AB[au] AND retracted publication[pt]")["idlist"] == ["99999901"]


def test_without_relevance_the_newest_come_first(client: httpx.Client) -> None:
    assert esearch(client, "placebinol", sort="pub_date")["idlist"][:2] == ["99999903", "99999902"]


def test_a_search_goes_by_post_too(client: httpx.Client) -> None:
    reply = client.post("/pubmed/esearch.fcgi", data={"term": "placebinol AND nosuchword", "retmode": "json"})

    assert reply.json()["esearchresult"]["errorlist"]["phrasesnotfound"] == ["nosuchword"]


def test_what_willowbark_never_asks_for_is_refused(client: httpx.Client) -> None:
    for path in ("pubmed/esearch.fcgi?term=x", "europepmc/search?query=x&format=json"):
        reply = client.get(f"/{path}")
        assert (reply.status_code, reply.text.startswith("The sandbox answers")) == (400, True)


def test_an_article_holds_what_the_library_knows(client: httpx.Client) -> None:
    [article] = articles(client, "99999901")

    assert article.findtext("MedlineCitation/PMID") == "99999901"
    assert article.findtext(".//ArticleTitle") == "[SYNTHETIC] Retracted trial of placebinol in test fever."
    assert article.findtext(".//AbstractText").startswith("Placebinol lowered test fever in 20 of 40 people (P<0.05 &")  # type: ignore[union-attr]
    assert [node.text for node in article.iter("PublicationType")][-1] == "Retracted Publication"
    assert [node.text for node in article.iter("AccessionNumber")] == ["NCT99999901"]
    assert [node.text for node in article.iter("DescriptorName")] == ["Fever", "Humans"]
    assert [node.text for node in article.find(".//PubDate")] == ["2019", "Mar", "04"]  # type: ignore[union-attr]
    authors = [{part.tag: part.text for part in author} for author in article.iter("Author")]
    assert authors == [
        {"LastName": "Nobody", "ForeName": "A B", "Initials": "AB"},
        {"LastName": "Nemo", "ForeName": "C", "Initials": "C", "Suffix": "Jr"},
        {"CollectiveName": "Synthetic Trials Group"},
    ]
    journal = [article.findtext(f".//{name}") for name in ("Title", "ISOAbbreviation", "MedlineTA")]
    assert journal == ["Journal of Synthetic Records", "J Synth Rec", "J Synth Rec"]
    assert [article.findtext(f".//{name}") for name in ("Volume", "Issue", "MedlinePgn")] == ["7", "2", "101-109"]
    ids = {node.get("IdType"): node.text for node in article.iter("ArticleId")}
    assert ids == {"pubmed": "99999901", "doi": "10.5555/Synthetic.1", "pmc": "PMC99999901"}


def test_every_served_abstract_says_whose_words_it_is_in(bundled: httpx.Client) -> None:
    found = articles(bundled, *esearch(bundled, "migraine", retmax=500)["idlist"])

    assert len(found) > 50
    for article in found:
        assert article.findtext(".//Abstract/CopyrightInformation") == OWN_WORDS
        assert OWN_WORDS not in (article.findtext(".//AbstractText") or "")


def test_unknown_numbers_are_silently_missing(client: httpx.Client) -> None:
    assert [a.findtext(".//PMID") for a in articles(client, "99999902", "1", "99999901")] == ["99999902", "99999901"]
    assert articles(client, "1") == []


def test_a_record_without_abstract_date_or_authors_is_whole(client: httpx.Client) -> None:
    letter, note = articles(client, "99999903", "99999904")

    assert letter.find(".//Abstract") is None
    assert letter.find(".//AuthorList") is None
    assert list(note.find(".//PubDate")) == []  # type: ignore[arg-type]


def test_fetching_nothing_is_an_error(client: httpx.Client) -> None:
    reply = client.get("/pubmed/efetch.fcgi", params={"id": ""})

    assert reply.status_code == 400
    assert "<ERROR>" in reply.text


# --- Europe PMC ---


def europepmc(client: httpx.Client, query: str, **params: Any) -> dict[str, Any]:
    asked = {"query": query, "format": "json", "resultType": "core", **params}
    found: dict[str, Any] = client.get("/europepmc/search", params=asked).json()
    return found


def hits(found: dict[str, Any]) -> list[str]:
    return [f"{hit['source']}:{hit['id']}" for hit in found["resultList"]["result"]]


def test_every_article_of_pubmed_is_in_europe_pmc(bundled: httpx.Client) -> None:
    pubmed = esearch(bundled, "NOT nosuchword", retmax=1000)["idlist"]
    found = europepmc(bundled, "SRC:MED", pageSize=1000)

    assert len(pubmed) > 150
    assert set(hits(found)) == {f"MED:{pmid}" for pmid in pubmed}


def test_preprints_come_from_their_own_source(client: httpx.Client) -> None:
    assert hits(europepmc(client, "(placebinol AND fever) AND SRC:PPR")) == ["PPR:PPR99999905"]
    assert "PPR:PPR99999905" not in hits(europepmc(client, "(placebinol) NOT SRC:PPR"))


def test_a_preprint_without_number_is_not_served(client: httpx.Client) -> None:
    assert europepmc(client, '"unknown number"')["hitCount"] == 0


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("EXT_ID:99999901 AND SRC:MED", ["MED:99999901"]),
        ("PMCID:PMC99999901", ["MED:99999901"]),
        ('DOI:"10.5555/synthetic.5"', ["PPR:PPR99999905"]),
        ('PUB_TYPE:"Retracted Publication"', ["MED:99999901"]),
        ("TITLE:letter", ["MED:99999903"]),
        ("synthetic AND PUB_YEAR:[2022 TO 2023]", ["PPR:PPR99999905"]),
        ("synthetic AND FIRST_PDATE:[2020-01-01 TO 2020-12-31]", ["MED:99999902"]),
        ("AUTH:Emile", ["MED:99999904"]),
    ],
)
def test_fields_of_europe_pmc_are_understood(client: httpx.Client, query: str, found: list[str]) -> None:
    assert hits(europepmc(client, query)) == found


def test_a_record_is_whole(client: httpx.Client) -> None:
    [core] = europepmc(client, "EXT_ID:99999901")["resultList"]["result"]

    assert core["abstractText"].startswith("Placebinol lowered")
    assert core["pubTypeList"]["pubType"] == ["Randomized Controlled Trial", "Retracted Publication"]
    assert core["journalInfo"]["journal"] == {
        "title": "Journal of Synthetic Records",
        "medlineAbbreviation": "J Synth Rec",
        "isoabbreviation": "J Synth Rec",
    }
    assert (core["journalInfo"]["volume"], core["journalInfo"]["issue"], core["pageInfo"]) == ("7", "2", "101-109")
    assert core["pageInfo"] == parse_record(core).metadata["pages"]
    assert core["doi"] == "10.5555/synthetic.1"
    assert core["authorString"] == "Nobody AB, Nemo C Jr, Synthetic Trials Group."


def test_pages_follow_their_cursor_to_the_end(client: httpx.Client) -> None:
    whole, mark, found = hits(europepmc(client, "placebinol")), "*", []
    while mark:
        page = europepmc(client, "placebinol", pageSize=2, cursorMark=mark)
        found += hits(page)
        assert page["hitCount"] == len(whole)
        mark = page.get("nextCursorMark", "")

    assert found == whole
    assert len(found) == 5


def test_no_hits_and_an_empty_query_look_as_they_do_in_public(client: httpx.Client) -> None:
    nothing = europepmc(client, "nosuchword")

    assert (nothing["hitCount"], nothing["resultList"]) == (0, {"result": []})
    assert "errCode" in europepmc(client, " ")


# --- ClinicalTrials.gov ---


def trials(client: httpx.Client, **params: Any) -> list[str]:
    reply = client.get("/clinicaltrials/studies", params={name.replace("_", "."): v for name, v in params.items()})
    assert reply.status_code == 200, reply.text
    studies = reply.json()["studies"]
    return [study["protocolSection"]["identificationModule"]["nctId"][-1] for study in studies]


@pytest.mark.parametrize(
    ("params", "found"),
    [
        ({"query_term": "placebinol"}, ["1", "2"]),
        ({"query_cond": "test fever"}, ["1", "3"]),
        ({"query_cond": "test fever", "query_intr": "propranolol"}, ["3"]),
        ({"query_intr": "fever AND nosuch"}, []),
        ({"filter_overallStatus": "TERMINATED|RECRUITING"}, ["2", "3"]),
        ({"query_term": "placebinol", "filter_overallStatus": "TERMINATED,WITHDRAWN"}, ["2"]),
        ({"filter_advanced": "AREA[StudyType]INTERVENTIONAL AND AREA[Phase](PHASE2 OR PHASE3)"}, ["1", "2"]),
        ({"filter_advanced": "AREA[Phase]PHASE1"}, ["2"]),
        ({"filter_advanced": "AREA[HasResults]true"}, ["1"]),
        ({"filter_advanced": "AREA[StartDate]RANGE[2012-01-01,MAX]"}, ["2", "3"]),
        ({"filter_ids": "NCT99999903|NCT99999901", "sort": "StartDate:desc"}, ["3", "1"]),
        ({"sort": "EnrollmentCount:desc"}, ["3", "2", "1"]),
    ],
)
def test_queries_and_filters_of_trials(client: httpx.Client, params: dict[str, Any], found: list[str]) -> None:
    assert trials(client, **params) == found


def test_trials_are_paged_and_counted_on_the_first_page_only(client: httpx.Client) -> None:
    first = client.get("/clinicaltrials/studies", params={"pageSize": 2, "countTotal": "true"}).json()
    more = {"pageSize": 2, "countTotal": "true", "pageToken": first["nextPageToken"]}
    last = client.get("/clinicaltrials/studies", params=more).json()

    assert (first["totalCount"], len(first["studies"]), len(last["studies"])) == (3, 2, 1)
    assert "totalCount" not in last
    assert "nextPageToken" not in last


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"query.term": "(placebinol"}, "Error parsing query in `query.term`"),
        ({"query.term": "placebinol]"}, "Error parsing query"),
        ({"filter.advanced": "AREA[NoSuch]x"}, "Unknown area name: `NoSuch`"),
        ({"filter.overallStatus": "FINISHED"}, "FINISHED"),
        ({"filter.ids": "NCT99999901,NCT00000000"}, "NCT00000000"),
        ({"pageToken": "nonsense"}, "pageToken"),
        ({"pageSize": "many"}, "pageSize"),
        ({"nosuch": "1"}, "nosuch"),
        ({"sort": "NoSuch"}, "invalid field name"),
    ],
)
def test_a_refusal_is_400_in_plain_text(client: httpx.Client, params: dict[str, str], said: str) -> None:
    reply = client.get("/clinicaltrials/studies", params=params)

    assert reply.status_code == 400
    assert reply.headers["content-type"].startswith("text/plain")
    assert said in reply.text


def test_a_single_trial_and_its_absence(client: httpx.Client) -> None:
    study = client.get("/clinicaltrials/studies/NCT99999902").json()

    assert study["protocolSection"]["statusModule"]["whyStopped"] == "Synthetic: slow accrual"
    assert "willowbark" not in study
    assert client.get("/clinicaltrials/studies/NCT00000000").status_code == 404
    assert client.get("/clinicaltrials/studies/12").status_code == 400


# --- ChEMBL ---


def chembl(client: httpx.Client, path: str, **params: Any) -> dict[str, Any]:
    reply = client.get(f"/chembl/{path}", params=params)
    assert reply.status_code == 200, reply.text
    found: dict[str, Any] = reply.json()
    return found


@pytest.mark.parametrize(
    ("params", "count"),
    [
        ({}, 1),
        ({"pref_name__iexact": "Placebinol"}, 1),
        ({"pref_name__exact": "Placebinol"}, 0),
        ({"molecule_synonyms__molecule_synonym__iexact": "nothingol"}, 1),
        ({"molecule_chembl_id__in": "CHEMBL1,CHEMBL99999901"}, 1),
        ({"molecule_hierarchy__parent_chembl_id": "CHEMBL99999901", "max_phase": 4}, 1),
        ({"max_phase__gte": 5}, 0),
        ({"first_approval__isnull": "true"}, 1),
    ],
)
def test_molecules_are_filtered(client: httpx.Client, params: dict[str, Any], count: int) -> None:
    found = chembl(client, "molecule.json", **params)

    assert found["page_meta"]["total_count"] == len(found["molecules"]) == count


def test_phases_are_text_and_a_molecule_is_its_own_parent(client: httpx.Client) -> None:
    [molecule] = chembl(client, "molecule.json")["molecules"]

    assert molecule["max_phase"] == "4.0"
    assert molecule["molecule_hierarchy"]["parent_chembl_id"] == molecule["molecule_chembl_id"] == "CHEMBL99999901"
    assert chembl(client, "molecule/CHEMBL99999901.json") == molecule


def test_mechanisms_indications_and_targets_join(client: httpx.Client) -> None:
    mechanisms = chembl(client, "mechanism.json", parent_molecule_chembl_id__in="CHEMBL99999901")["mechanisms"]
    indications = chembl(client, "drug_indication.json", mesh_heading__icontains="fever")["drug_indications"]
    [target] = chembl(client, "target.json", target_chembl_id__in="CHEMBL99999911")["targets"]

    assert [row["target_chembl_id"] for row in mechanisms] == ["CHEMBL99999911", None]
    assert [(row["efo_id"], row["max_phase_for_ind"]) for row in indications] == [("EFO:9999901", "4.0")]
    assert target["target_components"][0]["accession"] == "P99991"
    assert target["target_components"][0]["target_component_synonyms"][0]["component_synonym"] == "SYNT1"


def test_lists_are_paged_with_links(bundled: httpx.Client) -> None:
    found, path, total = [], "/chembl/drug_indication.json?limit=30&max_phase_for_ind=4", 0
    while path:
        page = bundled.get(path).json()
        found += page["drug_indications"]
        path, total = page["page_meta"]["next"], page["page_meta"]["total_count"]

    assert len(found) == total > 60


def test_chembl_names_what_it_refuses(client: httpx.Client) -> None:
    assert client.get("/chembl/molecule.json?nosuch=1").status_code == 400
    assert client.get("/chembl/molecule/CHEMBL1.json").status_code == 404


# --- Open Targets ---


def graphql(client: httpx.Client, query: str, status: int = 200, **variables: Any) -> dict[str, Any]:
    reply = client.post("/opentargets/graphql", json={"query": query, "variables": variables})
    assert reply.status_code == status
    found: dict[str, Any] = reply.json()
    return found


def test_a_disease_is_found_by_a_synonym(client: httpx.Client) -> None:
    query = (
        'query S($q: String!) { search(queryString: $q, entityNames: ["disease"]) { total hits { id entity name } } }'
    )
    found = graphql(client, query, q="febrile test")["data"]["search"]

    assert found == {"total": 1, "hits": [{"id": "EFO_9999901", "entity": "disease", "name": "test fever"}]}


def test_a_disease_gives_its_drugs_and_its_best_targets(client: httpx.Client) -> None:
    query = """query D($id: String!) { disease(efoId: $id) { name
      drugAndClinicalCandidates { count rows { maxClinicalStage drug { ...D } } }
      associatedTargets(page: {index: 0, size: 1}) { count rows { score target { approvedSymbol } } } } }
    fragment D on Drug { id name }"""
    found = graphql(client, query, id="EFO_9999901")["data"]["disease"]

    drug = {"id": "CHEMBL99999901", "name": "PLACEBINOL"}
    assert found["drugAndClinicalCandidates"] == {"count": 1, "rows": [{"maxClinicalStage": "APPROVAL", "drug": drug}]}
    assert found["associatedTargets"] == {"count": 2, "rows": [{"score": 0.75, "target": {"approvedSymbol": "SYNT1"}}]}


def test_a_drug_gives_mechanisms_and_indications(client: httpx.Client) -> None:
    query = """{ found: drug(chemblId: "CHEMBL99999901") { drugType maximumClinicalStage __typename
      mechanismsOfAction { rows { mechanismOfAction actionType
        targets { id approvedSymbol pathways { pathwayId pathway } } } }
      indications { count rows { maxClinicalStage disease { id } } } } }"""
    found = graphql(client, query)["data"]["found"]

    assert found["__typename"] == "Drug"
    first, second = found["mechanismsOfAction"]["rows"]
    pathways = [{"pathwayId": "R-HSA-99999901", "pathway": "Synthetic signalling"}]
    assert first["targets"] == [{"id": "ENSG99999999901", "approvedSymbol": "SYNT1", "pathways": pathways}]
    assert second["targets"] == []
    assert found["indications"]["rows"] == [{"maxClinicalStage": "APPROVAL", "disease": {"id": "EFO_9999901"}}]


def test_unknown_numbers_are_null(client: httpx.Client) -> None:
    assert graphql(client, '{ drug(chemblId: "CHEMBL1") { id } disease(efoId: "EFO_1") { id } }') == {
        "data": {"drug": None, "disease": None}
    }


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ('{ disease(efoId: "x") { knownDrugs { count } } }', "Cannot query field 'knownDrugs' on type 'Disease'"),
        ("{ drug }", "must have a selection of subfields"),
        ("query Q($id: String!) { drug(chemblId: $id) { id } }", "Variable '$id'"),
        ("{ ...A } fragment A on Query { ...A }", "within itself"),
        ("query A { __typename } query B { __typename }", "operation name"),
    ],
)
def test_a_query_that_the_schema_cannot_answer_gives_errors_and_no_data(
    client: httpx.Client, query: str, said: str
) -> None:
    found = graphql(client, query, status=400)

    assert said in found["errors"][0]["message"]
    assert found["data"] is None


@pytest.mark.parametrize(
    "query", ["{ drug { id ", "{ % }", "", "{ drug " * 10_000], ids=["cut", "sign", "none", "deep"]
)
def test_a_text_that_is_no_graphql_gives_a_syntax_error_alone(client: httpx.Client, query: str) -> None:
    found = graphql(client, query, status=400)

    assert set(found) == {"syntaxError", "locations"}
    assert "Syntax Error" in found["syntaxError"]


def test_a_failure_on_the_way_gives_errors_beside_the_data_that_there_is() -> None:
    nameless = Disease.model_construct(id="EFO_1", name=None, synonyms=[], drugs=[], targets=[])
    library = Library.model_construct(diseases=(nameless,))
    with SandboxServer(library) as sandbox, httpx.Client(base_url=sandbox.url, trust_env=False, timeout=60) as client:
        found = graphql(client, '{ disease(efoId: "EFO_1") { name } drug(chemblId: "CHEMBL1") { id } }')

    assert found["data"] == {"disease": None, "drug": None}
    assert found["errors"][0]["path"] == ["disease", "name"]


def test_a_body_that_is_no_query_is_refused(client: httpx.Client) -> None:
    assert client.post("/opentargets/graphql", content=b"{").status_code == 400
    assert client.post("/opentargets/graphql", json=["query"]).status_code == 400


# --- the server ---


def test_a_server_is_ready_when_it_is_entered_and_gone_when_it_is_left(library: Library) -> None:
    with SandboxServer(library) as sandbox:
        port = int(sandbox.url.rpartition(":")[2])
        assert sandbox.url.startswith("http://127.0.0.1:")
        assert httpx.get(f"{sandbox.url}/clinicaltrials/studies", timeout=60).status_code == 200

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))


async def test_a_server_works_in_a_running_loop(library: Library) -> None:
    async with SandboxServer(library) as sandbox, httpx.AsyncClient(timeout=60) as client:
        assert (await client.get(f"{sandbox.url}/chembl/molecule.json")).status_code == 200


def test_a_server_notes_every_request(library: Library) -> None:
    with SandboxServer(library) as sandbox:
        before = time.monotonic()
        httpx.get(f"{sandbox.url}/pubmed/esearch.fcgi?term=a&retmode=json", timeout=60)
        httpx.get(f"{sandbox.url}/clinicaltrials/studies/NCT00000000", timeout=60)
        httpx.get(f"{sandbox.url}/nowhere", timeout=60)

    seen = [(each.source, each.path, each.status) for each in sandbox.requests]
    assert seen == [
        ("pubmed", "esearch.fcgi", 200),
        ("clinicaltrials", "studies/NCT00000000", 404),
        ("nowhere", "", 404),
    ]
    assert sandbox.requests[0].query == "term=a&retmode=json"
    assert before <= sandbox.requests[0].moment <= sandbox.requests[1].moment <= time.monotonic()


def test_a_server_can_be_started_again(library: Library) -> None:
    sandbox = SandboxServer(library)
    for _ in range(2):
        with sandbox:
            assert httpx.get(f"{sandbox.url}/chembl/molecule.json", timeout=60).status_code == 200
    sandbox.stop()


def test_a_taken_port_is_an_os_error(library: Library) -> None:
    with SandboxServer(library) as sandbox:
        port = int(sandbox.url.rpartition(":")[2])
        with pytest.raises(OSError, match="in use"):
            SandboxServer(library, port=port).start()


def test_latency_is_waited_before_each_answer(library: Library) -> None:
    with SandboxServer(library, latency_s=0.1) as sandbox:
        before = time.perf_counter()
        httpx.get(f"{sandbox.url}/chembl/molecule.json", timeout=60)

    assert time.perf_counter() - before >= 0.1


def test_a_server_stops_at_once_and_says_nothing(library: Library, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO), httpx.Client(trust_env=False) as client:
        with SandboxServer(library, latency_s=60) as sandbox:
            with pytest.raises(httpx.ReadTimeout):
                client.get(f"{sandbox.url}/chembl/molecule.json", timeout=0.1)
            waiting = socket.create_connection(("127.0.0.1", int(sandbox.url.rpartition(":")[2])))
            waiting.sendall(b"GET /chembl/molecule.json HTTP/1.1\r\nHost: x\r\n\r\n")
            time.sleep(0.05)
            before = time.perf_counter()
        took = time.perf_counter() - before
        waiting.close()

    assert took < 20
    assert [record for record in caplog.records if record.name.startswith(("uvicorn", "willowbark", "asyncio"))] == []


def test_every_answer_says_that_it_is_the_sandboxs(client: httpx.Client) -> None:
    assert "x-willowbark-sandbox" in client.get("/chembl/molecule.json").headers


def test_long_answers_are_compressed_for_those_who_ask(client: httpx.Client) -> None:
    asked = "/clinicaltrials/studies"

    assert client.get(asked).headers["content-encoding"] == "gzip"
    assert "content-encoding" not in client.get(asked, headers={"accept-encoding": "identity"}).headers


def test_the_same_question_has_the_same_answer(library: Library) -> None:
    paths = [
        "/pubmed/esearch.fcgi?term=placebinol&sort=relevance&retmode=json",
        "/europepmc/search?query=fever&format=json&resultType=core",
    ]
    answers = []
    for _ in range(2):
        with SandboxServer(library) as sandbox:
            answers.append([httpx.get(sandbox.url + path, timeout=60).content for path in paths])

    assert answers[0] == answers[1]


def test_the_program_prints_its_address_and_serves() -> None:
    command = [sys.executable, "-m", "willowbark.tools.sandbox", "--library", str(SYNTHETIC)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        url = program.stdout.readline().strip()
        status = httpx.get(f"{url}/chembl/molecule.json", timeout=60).status_code
        program.send_signal(2)
        assert program.wait(60) == 0

    assert status == 200


def test_the_program_names_a_library_that_it_cannot_read(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "willowbark.tools.sandbox", "--library", str(tmp_path / "none")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "cannot be read" in done.stderr


def test_the_library_is_read_without_a_server_around_it() -> None:
    asked = "import sys, willowbark.tools.sandbox.library; print(*{'graphql', 'starlette', 'uvicorn'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []
