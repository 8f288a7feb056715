"""PubMed's EFetch XML as evidence: https://www.nlm.nih.gov/bsd/licensee/elements_descriptions.html

Journal articles and book chapters differ in where their parts stand.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from io import BytesIO
from xml.etree.ElementTree import Element, TreeBuilder
from xml.sax import SAXException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl

from defusedxml.common import DefusedXmlException
from defusedxml.expatreader import create_parser

from ...errors import SourceUnavailable, UnreadableReply
from ...evidence import Citation, Evidence, checked_identifier
from ...records import Notice, Publication
from ...records.parts import NoticeOn
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

_MAX_DEPTH = 100  # PubMed's own records stay below 20, formulas included
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
"""Notes by which an article speaks of another, and what that makes of the other."""


@dataclass(frozen=True, slots=True)
class Articles:
    """What an EFetch reply holds."""

    records: list[Evidence]
    unread: list[str] = field(default_factory=list)
    """One line for each article that could not be read."""


def parse_articles(xml: bytes) -> Articles:
    """Read a set of PubMed articles.

    Args:
        xml: a `PubmedArticleSet`, `PubmedBookArticleSet` or a single article.

    Raises:
        UnreadableReply: the XML is cut, is something else, holds entities, or is nested beyond any real record.
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
    """Read the articles of a reply, without what is not asked of them, and PubMed's own error message.

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
    """Builds a tree of each article: by SAX, which holds no whole reply and minds no prefix that is not declared."""

    def __init__(self) -> None:
        super().__init__()
        self.root = ""
        self.found: list[Element] = []
        self._depth = 0
        self._dropped_at = 0  # depth of the element that is being left out; 0 outside of one
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
    """Read one article.

    Raises:
        ValueError: it has no PMID.
    """
    if root.tag == "PubmedBookArticle":
        citation = article = _below(root, "BookDocument")
        book = _below(article, "Book")
        container = _text(book.find("BookTitle"))
        date = publication_date(_date(book.find("PubDate")), _date(article.find("ContributionDate")))
        identifiers = [*article.iterfind("ArticleIdList/ArticleId")]
        identifiers += root.iterfind("PubmedBookData/ArticleIdList/ArticleId")
        author_lists = article.findall("AuthorList") or book.findall("AuthorList")
        types = _texts(article.iterfind("PublicationType"))
    else:
        citation = _below(root, "MedlineCitation")
        article = _below(citation, "Article")
        container = _text(article.find("Journal/Title"))
        date = publication_date(_date(article.find("Journal/JournalIssue/PubDate")), _date(article.find("ArticleDate")))
        identifiers = root.findall("PubmedData/ArticleIdList/ArticleId")
        author_lists = article.findall("AuthorList")
        types = _texts(article.iterfind("PublicationTypeList/PublicationType"))
    pmid = checked_identifier("pmid", _text(citation.find("PMID")))
    if pmid is None:
        raise ValueError("an article without PMID")
    title, vernacular = _text(article.find("ArticleTitle")), _text(article.find("VernacularTitle"))
    title = (vernacular or title if title in ("", _UNTRANSLATED) else title) or container or NO_TITLE
    sections = list[str]()
    for section in article.iterfind("Abstract/AbstractText"):
        label = section.get("Label", "").strip(" :")
        if text := _text(section):
            sections.append(text if label in ("", "UNLABELLED") else f"{label}: {text}")
    abstract = "\n".join(sections)
    is_preprint, is_notice = "Preprint" in types, bool(NOTICE_TYPES.intersection(types))

    # https://www.nlm.nih.gov/bsd/licensee/elements_descriptions.html#commentscorrections
    referred = list[tuple[str, list[str]]]()  # what kind of note, and the names of the article that it is on
    for note in citation.iterfind("CommentsCorrectionsList/CommentsCorrections"):
        source = _text(note.find("RefSource"))
        said = source[source.find("10.") :].split() if "10." in source else []
        numbers = (
            ("pmid", checked_identifier("pmid", _text(note.find("PMID")))),
            ("doi", checked_identifier("doi", said[0].rstrip(".")) if said else None),
        )
        referred.append((note.get("RefType", ""), [f"{kind}:{number}" for kind, number in numbers if number]))
    kinds = {kind for kind, _ in referred}
    later = next((names for kind, names in referred if kind == "UpdateIn" and names), [])
    on = [(_NOTICES[kind], name) for kind, names in referred if kind in _NOTICES for name in names]
    journal = _below(article, "Journal")
    issue, pagination = _below(journal, "JournalIssue"), _below(article, "Pagination")
    own = {each.get("IdType"): _text(each) for each in identifiers}
    located = (  # the article's references carry lists of identifiers of the same name
        _text(each)
        for each in article.iterfind("ELocationID")
        if each.get("EIdType") == "doi" and each.get("ValidYN", "Y") == "Y"
    )
    registered = map(_text, article.iterfind("DataBankList/DataBank/AccessionNumberList/AccessionNumber"))
    record = (Notice if is_notice else Publication)(
        pmid=pmid,
        pmcid=checked_identifier("pmcid", own.get("pmc")),
        doi=checked_identifier("doi", own.get("doi")) or checked_identifier("doi", next(located, None)),
        journal=container or None,
        journal_abbreviation=_text(citation.find("MedlineJournalInfo/MedlineTA"))  # as reference lists have it
        or _text(journal.find("ISOAbbreviation"))
        or None,
        volume=_text(issue.find("Volume")) or None,
        issue=_text(issue.find("Issue")) or None,
        pages=page_range(
            _text(pagination.find("MedlinePgn"))
            or "-".join(filter(None, (_text(pagination.find("StartPage")), _text(pagination.find("EndPage")))))
        ),
        language=", ".join(map(_text, article.iterfind("Language"))) or None,
        publication_types=types,
        is_preprint=is_preprint,
        retracted="Retracted Publication" in types or bool(kinds & _RETRACTED),
        expression_of_concern="ExpressionOfConcernIn" in kinds,
        corrected=bool(kinds & _CORRECTED),
        published_version=later[0].partition(":")[2] if later and is_preprint else None,
        updated_in=[] if is_preprint else later,
        update_of=[name for kind, names in referred if kind == "UpdateOf" for name in names],
        notice_on=[NoticeOn(flag=flag, name=name) for flag, name in on] if is_notice else [],
        mesh_terms=_texts(citation.iterfind("MeshHeadingList/MeshHeading/DescriptorName")),
        keywords=_texts(citation.iterfind("KeywordList/Keyword")),
        chemicals=_texts(citation.iterfind("ChemicalList/Chemical/NameOfSubstance")),
        nct_ids=trial_numbers(*registered, title, abstract),
        has_abstract=bool(abstract),
    )
    return Evidence(
        content=written(title, abstract, preprint=is_preprint),
        citation=Citation(
            source="pubmed",
            title=title,
            url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/",
            date=date,
            authors=list(_authors(author_lists)),
        ),
        record=record,
    )


def _authors(lists: list[Element]) -> Iterator[str]:
    """Authors as `Surname Initials`, groups by their names; editors only speak for a book without authors."""
    authors = [group for group in lists if group.get("Type") != "editors"] or lists
    for author in (author for group in authors for author in group.iterfind("Author")):
        if author.get("ValidYN", "Y") == "Y":
            surname, forename = _text(author.find("LastName")), _text(author.find("ForeName"))
            initials = _text(author.find("Initials")) or "".join(name[0] for name in forename.split())
            name = f"{surname} {initials} {_text(author.find('Suffix'))}" if surname else forename
            if shown := " ".join((name or _text(author.find("CollectiveName"))).split()):
                yield shown


def _date(element: Element | None) -> str | None:
    if element is None:
        return None
    if free := _text(element.find("MedlineDate")):
        return date_of(free)
    return iso_date(*(_text(element.find(part)) for part in ("Year", "Month", "Day")))


def _below(element: Element, name: str) -> Element:
    """The first element of a name; an empty one where it is absent, which PubMed means the same by."""
    found = element.find(name)
    return Element(name) if found is None else found


def _texts(elements: Iterable[Element]) -> list[str]:
    """The texts of elements, each once."""
    return list(dict.fromkeys(filter(None, map(_text, elements))))


def _text(element: Element | None) -> str:
    """An element's running text on one line; empty where there is none."""
    if element is None:
        return ""
    text = running_text(element)
    if "</" in text or "<br" in text:  # some publishers' markup is sent escaped
        text = without_markup(text)
    return " ".join(text.split())
