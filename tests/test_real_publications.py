"""The parsers lose nothing of the public APIs' own replies, where a collection of them lies beside the repository."""

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, ParseError

import pytest
from defusedxml import ElementTree

from willowbark.tools.evidence import Evidence, checked_identifier
from willowbark.tools.http.reply import read_each
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
            assert shown in groups | forenames or any(shown.startswith(name) for name in names if name)


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
        assert all(word in record.content for word in words)
