"""The parsers lose nothing of the public APIs' own replies, where a collection of them lies beside the repository."""

import gzip
import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError

import httpx
import pytest
from defusedxml import ElementTree
from recorded import answering

from willowbark.tools.appraisal import find_posted_result
from willowbark.tools.http.reply import read_each
from willowbark.tools.records.evidence import Evidence, checked_identifier
from willowbark.tools.search import Source
from willowbark.tools.sources.drugs.mychem import MyChem
from willowbark.tools.sources.drugs.reactome import Reactome
from willowbark.tools.sources.drugs.uniprot import UniProt
from willowbark.tools.sources.labels.drugsfda import DrugsFDA
from willowbark.tools.sources.labels.openfda import OpenFDA
from willowbark.tools.sources.studies.clinicaltrials import UNKNOWN_ENROLLMENT, parse_study
from willowbark.tools.sources.studies.europepmc import parse_page, parse_record
from willowbark.tools.sources.studies.pubmed import parse_articles

REPLIES = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "replies"
pytestmark = pytest.mark.skipif(not REPLIES.exists(), reason="../shared/data/replies is not beside this clone")

ARTICLES = ("PubmedArticle", "PubmedBookArticle")


def raw(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


Pairs = list[tuple[Element, Evidence]]


def citation_of(article: Element) -> Element:
    found = article.find("MedlineCitation")
    found = article.find("BookDocument") if found is None else found
    assert found is not None
    return found


@pytest.fixture(scope="module")
def pairs() -> Pairs:
    """Each article of every file that holds a set of them, in whatever folder, beside the record read from it."""
    found, files = Pairs(), 0
    for path in sorted(REPLIES.rglob("*")):
        data = raw(path) if path.is_file() and path.suffix in (".xml", ".gz") else b""
        if not re.search(rb"<Pubmed(Book)?ArticleSet", data):
            continue
        try:
            root = ElementTree.fromstring(data)
        except ParseError:
            continue
        if root.tag not in ("PubmedArticleSet", "PubmedBookArticleSet"):
            continue
        files += 1
        articles = [article for article in root if article.tag in ARTICLES]
        known = [each for each in articles if re.fullmatch(r"\d+", citation_of(each).findtext("PMID", "").strip())]
        parsed = parse_articles(data)
        assert len(parsed.records) == len(known), path
        assert len(parsed.unread) == len(articles) - len(known), path
        found += zip(known, parsed.records, strict=True)
    assert files > 180
    return found


def squeezed(text: str) -> str:
    """Text without white space and without the mark of a superscript."""
    return "".join(text.split()).replace("^", "")


def abstract_of(article: Element) -> str:
    part = citation_of(article).find("Article/Abstract")
    part = citation_of(article).find("Abstract") if part is None else part
    sections = []
    for node in [] if part is None else part.findall("AbstractText"):
        if text := squeezed("".join(node.itertext())):
            label = node.get("Label", "").strip(" :")
            sections.append(text if label in ("", "UNLABELLED") else squeezed(f"{label}:") + text)
    return "".join(sections)


def text_at(article: Element, *places: str) -> str:
    nodes = (citation_of(article).find(place) for place in places)
    return next((text for node in nodes if node is not None and (text := squeezed("".join(node.itertext())))), "")


def test_no_text_of_a_title_or_an_abstract_is_lost(pairs: Pairs) -> None:
    for article, record in pairs:
        head, _, abstract = record.content.partition("\n\n")
        assert squeezed(abstract) == abstract_of(article)
        assert record.has_abstract == bool(abstract_of(article))
        title = text_at(article, "Article/ArticleTitle", "ArticleTitle")
        if title in ("", squeezed("[Not Available].")):
            title = text_at(article, "Article/VernacularTitle", "VernacularTitle") or title
        title = title or text_at(article, "Article/Journal/Title", "Book/BookTitle")
        assert squeezed(head).endswith(title)
        assert squeezed(record.citation.title).removesuffix("…") in title or not title


def test_the_year_and_the_authors_are_the_sources(pairs: Pairs) -> None:
    for article, record in pairs:
        dates = [node for node in article.iter() if node.tag in ("PubDate", "ArticleDate", "ContributionDate")]
        years = {year for node in dates for year in re.findall(r"\d{4}", " ".join(node.itertext()))}
        assert record.citation.date[:4] in years or (not years and record.citation.date == "Unknown")
        names = {squeezed(node.text or "") for node in article.iter("LastName")}
        groups = {squeezed("".join(node.itertext())) for node in article.iter("CollectiveName")}
        forenames = {squeezed(node.text or "") for node in article.iter("ForeName")}
        for author in record.citation.authors:
            shown = squeezed(author)
            begun = {name for name in names if name and shown.startswith(name)}
            assert shown in groups | forenames or begun, names


def europe_pmc_pages() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every search result; a bare list of hits is made a page."""
    for path in sorted([*REPLIES.glob("europepmc/**/*.json"), *REPLIES.glob("biomcp_europepmc/**/*.json")]):
        data = json.loads(path.read_text(encoding="utf-8"))
        pages = data if isinstance(data, list) else [data]
        if pages and "resultList" not in pages[0]:
            pages = [{"hitCount": len(pages), "resultList": {"result": pages}}]
        yield from ((f"{path.name}-{number}", page) for number, page in enumerate(pages))


def test_every_hit_is_read() -> None:
    pages = dict(europe_pmc_pages())
    assert len(pages) > 20
    read = list[tuple[dict[str, Any], Evidence]]()
    for name, page in pages.items():
        found, hits = parse_page(page), page["resultList"]["result"]
        records, unread = read_each(found.hits, parse_record)
        assert (found.total, len(records), unread) == (page["hitCount"], len(hits), []), name
        read += zip(hits, records, strict=True)
    for hit, record in read:
        for kind in ("pmid", "pmcid", "doi"):
            assert record.metadata.get(kind) == checked_identifier(kind, hit.get(kind)) or kind == "pmid"
        assert record.is_preprint == (hit["source"] == "PPR" or "preprint" in str(hit.get("pubTypeList")).lower())
        assert (record.citation.source == "preprint") == record.content.startswith("[PREPRINT - Not peer-reviewed]")
        if year := hit.get("pubYear"):
            assert record.citation.date[:4] in (year, hit.get("firstPublicationDate", year)[:4])
        words = re.findall(r"\w+", re.sub(r"</?[a-z]\w*>|&[a-z]+;", " ", hit.get("abstractText", "")))
        assert [word for word in words if word not in record.content] == []


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


Studies = list[tuple[dict[str, Any], Evidence]]


@pytest.fixture(scope="module")
def studies() -> Studies:
    """Each study of every file beside the record that was read from it."""
    found = [study for path in files_with(b"protocolSection") for study in studies_in(json.loads(path.read_bytes()))]
    records, unread = read_each(found, parse_study)
    assert not unread
    assert len(records) > 200
    return list(zip(found, records, strict=True))


def test_every_study_keeps_its_facts_arms_and_posted_primary_outcomes(studies: Studies) -> None:
    for study, record in studies:
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


def test_every_posted_result_is_decided_from_an_analysis_or_left_open_with_a_reason(studies: Studies) -> None:
    posted = {record.key: record for study, record in studies if "resultsSection" in study}
    for record in posted.values():
        for intervention in record.metadata.get("interventions", []):
            found = find_posted_result(record, intervention["name"])
            assert found is not None or "results" not in record.metadata
            assert found is None or found.reason
            assert found is None or found.sentence in record.content


def test_the_kidney_trials_of_finerenone_support_it_by_what_they_posted(studies: Studies) -> None:
    wanted = {"NCT01874431": "4 of 7 groups", "NCT02540993": "0.825"}
    found = {
        record.metadata["nct_id"]: finding
        for _, record in studies
        if record.metadata["nct_id"] in wanted
        if (finding := find_posted_result(record, "finerenone"))
    }
    assert {number: finding.direction.value for number, finding in found.items()} == dict.fromkeys(wanted, "supports")
    assert [
        (number, part) for number, part in wanted.items() if part not in found[number].sentence + found[number].reason
    ] == []


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

    assert [record for record in found.records if due in str(record.metadata.get(field))], found.records
