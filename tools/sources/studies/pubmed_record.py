"""Converts PubMed's EFetch XML to evidence: https://www.nlm.nih.gov/bsd/licensee/elements_descriptions.html

Journal articles and book chapters keep their parts in different places. `article_facts` reads articles of replies and
of PubMed's baseline files alike, without building a typed record.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from xml.etree.ElementTree import Element, TreeBuilder
from xml.sax import SAXException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl

from defusedxml.common import DefusedXmlException
from defusedxml.expatreader import create_parser

from ...errors import SourceUnavailable, UnreadableReply
from ...evidence import Citation, Evidence, checked_identifier
from ...records import Notice, Publication
from ..publications import (
    NO_TITLE,
    NOTICE_TYPES,
    date_of,
    iso_date,
    page_range,
    publication_date,
    redacted,
    running_text,
    trial_numbers,
    without_doctype,
    without_markup,
    written,
)

_MAX_DEPTH = 100  # PubMed's own records stay below 20, including formulas
_ARTICLES = frozenset({"PubmedArticle", "PubmedBookArticle"})
_ROOTS = frozenset({*_ARTICLES, "PubmedArticleSet", "PubmedBookArticleSet", "eFetchResult", "ERROR"})
_DROPPED = frozenset(
    "ReferenceList OtherAbstract CopyrightInformation AffiliationInfo InvestigatorList GrantList CoiStatement History"
    " GeneralNote PersonalNameSubjectList Sections".split()
)
_NO_RECORDS = ("empty result", "empty id list", "nothing to do", "nothing todo")
_UNTRANSLATED = "[Not Available]."
_RETRACTED = frozenset({"RetractionIn", "PartialRetractionIn"})
_CORRECTED = frozenset({"ErratumIn", "CorrectedandRepublishedIn"})
_NOTICES = {
    "RetractionOf": "retracted",
    "PartialRetractionOf": "retracted",
    "ExpressionOfConcernFor": "expression_of_concern",
    "ErratumFor": "corrected",
}
"""Types of comments on another article, and the flag that each raises on it."""
_NOTHING = Element("nothing")


@dataclass(frozen=True, slots=True)
class Articles:
    """Contents of an EFetch reply."""

    records: list[Evidence]
    unread: list[str] = field(default_factory=list)
    """One line for each article that could not be read."""


def parse_articles(xml: bytes) -> Articles:
    """Parse a set of PubMed articles.

    Args:
        xml: a `PubmedArticleSet`, `PubmedBookArticleSet` or a single article.

    Raises:
        UnreadableReply: the XML is truncated, something else, holds entities, or is nested too deep.
        SourceUnavailable: the reply is PubMed's own error message.

    >>> parse_articles(b"<PubmedArticleSet/>").records
    []
    """
    found = read_articles(xml)
    for element in found:
        error = _text(element) or "no reason given"
        if element.tag == "ERROR" and not any(said in error.lower() for said in _NO_RECORDS):
            raise SourceUnavailable("pubmed", f"reports an error: {redacted(error)}")
    records, unread = [], []
    for article in found:
        try:
            records += [parse_article(article)] if article.tag in _ARTICLES else []
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            number = checked_identifier("pmid", _text(article.find(".//PMID")))
            unread.append(f"article {number or 'without PMID'} is unreadable ({type(error).__name__})")
    return Articles(records, unread)


def read_articles(xml: bytes) -> list[Element]:
    """Parse the articles of a reply, without unused elements, and PubMed's own error message.

    Raises:
        UnreadableReply: as `parse_articles`.
    """
    reader = _Reader()
    parser = create_parser(forbid_dtd=True)
    parser.setContentHandler(reader)
    try:
        parser.parse(BytesIO(without_doctype(xml)))
    except (SAXException, DefusedXmlException, ValueError, LookupError) as error:
        raise UnreadableReply("pubmed", f"answered with XML that is cut or broken ({type(error).__name__})") from None
    if reader.root not in _ROOTS:
        raise UnreadableReply("pubmed", "answered with XML that holds no articles")
    return reader.found


class _Reader(ContentHandler):
    """Builds a tree for each article with SAX, which keeps no whole reply and ignores undeclared prefixes."""

    def __init__(self) -> None:
        super().__init__()
        self.root = ""
        self.found: list[Element] = []
        self._depth = 0
        self._dropped_at = 0  # depth of the element being skipped; 0 outside of one
        self._began_at = 0  # depth of the article; 0 outside of one
        self._tree = TreeBuilder()

    def startElement(self, name: str, attrs: AttributesImpl) -> None:  # noqa: N802 - SAX's name
        self._depth += 1
        self.root = self.root or name
        if self._depth > _MAX_DEPTH:
            raise ValueError("nested too deeply")
        if not self._began_at and (name in _ARTICLES or name == "ERROR"):
            self._began_at, self._tree = self._depth, TreeBuilder()
        if self._began_at and not self._dropped_at and name in _DROPPED:
            self._dropped_at = self._depth
        if self._began_at and not self._dropped_at:
            self._tree.start(name, dict(attrs.items()))

    def characters(self, content: str) -> None:
        if self._began_at and not self._dropped_at:
            self._tree.data(content)

    def endElement(self, name: str) -> None:  # noqa: N802 - SAX's name
        if self._began_at and not self._dropped_at:
            self._tree.end(name)
        if self._depth == self._dropped_at:
            self._dropped_at = 0
        if self._depth == self._began_at:
            self.found.append(self._tree.close())
            self._began_at = 0
        self._depth -= 1


def parse_article(root: Element) -> Evidence:
    """Convert one article.

    Raises:
        ValueError: it has no PMID.
    """
    facts = article_facts(root)
    kind = Notice if facts["metadata"].pop("kind") == "notice" else Publication
    return Evidence(
        content=facts["content"], citation=Citation(**facts["citation"]), record=kind.model_validate(facts["metadata"])
    )


def article_facts(root: Element) -> dict[str, Any]:
    """Return the fields of an `Evidence` for one article, as in its JSON.

    Args:
        root: a `PubmedArticle` or `PubmedBookArticle`.

    Raises:
        ValueError: it has no PMID.
    """
    is_book = root.tag == "PubmedBookArticle"
    citation = _at(root, "BookDocument" if is_book else "MedlineCitation")
    article, book = citation if is_book else _at(citation, "Article"), _at(citation, "Book")
    journal, pagination = _at(article, "Journal"), _at(article, "Pagination")
    issue = _at(journal, "JournalIssue")
    container = _text(book.find("BookTitle") if is_book else journal.find("Title"))
    if is_book:
        date = publication_date(_date(book.find("PubDate")), _date(citation.find("ContributionDate")))
    else:
        date = publication_date(_date(issue.find("PubDate")), _date(article.find("ArticleDate")))
    pmid = checked_identifier("pmid", _text(citation.find("PMID")))
    if pmid is None:
        raise ValueError("an article without PMID")
    title, vernacular = _text(article.find("ArticleTitle")), _text(article.find("VernacularTitle"))
    title = (vernacular or title if title in ("", _UNTRANSLATED) else title) or container or NO_TITLE
    sections = list[str]()
    for section in _all(article, "Abstract", "AbstractText"):
        label = section.get("Label", "").strip(" :")
        if text := _text(section):
            sections.append(text if label in ("", "UNLABELLED") else f"{label}: {text}")
    abstract = "\n".join(sections)
    types = _texts([*_all(article, "PublicationTypeList", "PublicationType"), *article.findall("PublicationType")])
    is_preprint, is_notice = "Preprint" in types, bool(NOTICE_TYPES.intersection(types))

    # https://www.nlm.nih.gov/bsd/licensee/elements_descriptions.html#commentscorrections
    notes = _all(citation, "CommentsCorrectionsList", "CommentsCorrections")
    referred = [(note.get("RefType", ""), _names_of_subject(note)) for note in notes]
    kinds = {kind for kind, _ in referred}
    later = next((names for kind, names in referred if kind == "UpdateIn" and names), [])
    ends = (_text(pagination.find(name)) for name in ("StartPage", "EndPage"))
    data = _at(root, "PubmedBookData" if is_book else "PubmedData")
    identifiers = [*_all(citation, "ArticleIdList", "ArticleId"), *_all(data, "ArticleIdList", "ArticleId")]
    own = {node.get("IdType"): _text(node) for node in identifiers}
    located = (  # the article's references have identifier lists of the same name
        _text(node)
        for node in article.findall("ELocationID")
        if node.get("EIdType") == "doi" and node.get("ValidYN", "Y") == "Y"
    )
    banks = _all(article, "DataBankList", "DataBank")
    registered = _texts(each for bank in banks for each in _all(bank, "AccessionNumberList", "AccessionNumber"))
    headings = _all(citation, "MeshHeadingList", "MeshHeading")
    chemicals = _all(citation, "ChemicalList", "Chemical")
    metadata = {
        "kind": "notice" if is_notice else "publication",
        "pmid": pmid,
        "pmcid": checked_identifier("pmcid", own.get("pmc")),
        "doi": checked_identifier("doi", own.get("doi")) or checked_identifier("doi", next(located, None)),
        "journal": container or None,
        "journal_abbreviation": _text(_at(citation, "MedlineJournalInfo").find("MedlineTA"))  # as in reference lists
        or _text(journal.find("ISOAbbreviation"))
        or None,
        "volume": _text(issue.find("Volume")) or None,
        "issue": _text(issue.find("Issue")) or None,
        "pages": page_range(_text(pagination.find("MedlinePgn")) or "-".join(filter(None, ends))),
        "language": ", ".join(_texts(article.findall("Language"))) or None,
        "publication_types": types,
        "is_preprint": is_preprint,
        "retracted": "Retracted Publication" in types or bool(kinds & _RETRACTED),
        "expression_of_concern": "ExpressionOfConcernIn" in kinds,
        "corrected": bool(kinds & _CORRECTED),
        "published_version": later[0].partition(":")[2] if later and is_preprint else None,
        "updated_in": [] if is_preprint else later,
        "update_of": [name for kind, names in referred if kind == "UpdateOf" for name in names],
        "notice_on": [
            {"flag": _NOTICES[kind], "name": name} for kind, names in referred if kind in _NOTICES for name in names
        ]
        if is_notice
        else [],
        "mesh_terms": _texts(each.find("DescriptorName") for each in headings),
        "keywords": _texts(word for group in citation.findall("KeywordList") for word in group.findall("Keyword")),
        "chemicals": _texts(each.find("NameOfSubstance") for each in chemicals),
        "nct_ids": trial_numbers(*registered, title, abstract),
        "has_abstract": bool(abstract),
    }
    cited = {
        "source": "pubmed",
        "title": title,
        "url": f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/",
        "date": date,
        "authors": list(_authors(article.findall("AuthorList") or book.findall("AuthorList"))),
    }
    return {"content": written(title, abstract, preprint=is_preprint), "citation": cited, "metadata": metadata}


def _names_of_subject(note: Element) -> list[str]:
    """Return the identifiers of the article that a note concerns: its PMID, and the DOI in its reference."""
    source = _text(note.find("RefSource"))
    said = source[source.find("10.") :].split() if "10." in source else []
    pmid = checked_identifier("pmid", _text(note.find("PMID")))
    doi = checked_identifier("doi", said[0].rstrip(".")) if said else None
    return [f"{kind}:{number}" for kind, number in (("pmid", pmid), ("doi", doi)) if number]


def _authors(lists: list[Element]) -> Iterator[str]:
    """Yield authors as `Surname Initials`, groups by name; editors only for a book without authors."""
    authors = [group for group in lists if group.get("Type") != "editors"] or lists
    for author in (author for group in authors for author in group.findall("Author")):
        if author.get("ValidYN", "Y") == "Y":
            forename, initials = author.find("ForeName"), _text(author.find("Initials"))
            if surname := _text(author.find("LastName")):
                initials = initials or "".join(name[0] for name in _text(forename).split())
                yield " ".join(filter(None, (surname, initials, _text(author.find("Suffix")))))
            elif name := _text(forename) or _text(author.find("CollectiveName")):
                yield name


def _date(node: Element | None) -> str | None:
    if node is None:
        return None
    if free := _text(node.find("MedlineDate")):
        return date_of(free)
    return iso_date(_text(node.find("Year")), _text(node.find("Month")), _text(node.find("Day")))


def _texts(nodes: Iterable[Element | None]) -> list[str]:
    """Return the texts of elements, without duplicates."""
    return list(dict.fromkeys(filter(None, map(_text, nodes))))


def _at(node: Element, name: str) -> Element:
    """Return the first child with a name; an empty one if missing, since PubMed treats both alike."""
    found = node.find(name)
    return _NOTHING if found is None else found


def _all(node: Element, group: str, name: str) -> list[Element]:
    """Return the members of a group; single names are found much faster than paths."""
    return _at(node, group).findall(name)


def _text(element: Element | None) -> str:
    """Return an element's running text on one line; empty if there is none."""
    if element is None or not (text := running_text(element) if len(element) else element.text):
        return ""
    if "<" in text and ("</" in text or "<br" in text):  # some publishers' markup arrives escaped
        text = without_markup(text)
    return " ".join(text.split())
