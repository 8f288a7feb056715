"""One PubMed article as evidence.

Journal articles and book chapters differ in where their parts stand; `_Parts` gives both one shape. Elements are
documented at https://www.nlm.nih.gov/bsd/licensee/elements_descriptions.html
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import xmltodict

from ...errors import SourceUnavailable
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
    trial_numbers,
    written,
)
from .pubmed_xml import cut

_LISTS = (
    "AbstractText AccessionNumber ArticleDate ArticleId Author AuthorList Chemical CommentsCorrections DataBank"
    " ELocationID Keyword KeywordList Language MeshHeading PublicationType".split()
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

Node = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Articles:
    """What an EFetch reply holds."""

    records: list[Evidence]
    unread: list[str] = field(default_factory=list)
    """One line for each article that could not be read."""


@dataclass(frozen=True, slots=True)
class _Parts:
    """Where an article keeps what."""

    citation: Node
    article: Node
    container: str
    """Title of the journal or book."""
    date: str
    identifiers: list[Node]
    author_lists: list[Node]
    types: list[Any]


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
    found = cut(xml)
    if found.error and not any(said in found.error.lower() for said in _NO_RECORDS):
        raise SourceUnavailable("pubmed", f"reports an error: {redacted(found.error)}")
    records, unread = [], []
    for article in found.articles:
        try:
            records.append(parse_article(article))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            number = re.search(r"<PMID[^>]*>(\d+)<", article)
            unread.append(f"article {number[1] if number else 'without PMID'} is unreadable ({type(error).__name__})")
    return Articles(records, unread)


def parse_article(xml: str) -> Evidence:
    """Read one article whose running text holds no markup (see `pubmed_xml.cut`).

    Raises:
        ValueError: it has no PMID.
    """
    root = xmltodict.parse(xml, force_list=_LISTS, disable_entities=True)
    parts = _book(root["PubmedBookArticle"]) if "PubmedBookArticle" in root else _journal(root["PubmedArticle"])
    pmid = checked_identifier("pmid", _text(parts.citation.get("PMID")))
    if pmid is None:
        raise ValueError("an article without PMID")
    article, citation = parts.article, parts.citation
    title, vernacular = _text(article.get("ArticleTitle")), _text(article.get("VernacularTitle"))
    title = (vernacular or title if title in ("", _UNTRANSLATED) else title) or parts.container or NO_TITLE
    sections = list[str]()
    for section in _list(article, "Abstract/AbstractText"):
        label = str(section.get("@Label") or "").strip(" :") if isinstance(section, dict) else ""
        if text := _text(section):
            sections.append(text if label in ("", "UNLABELLED") else f"{label}: {text}")
    abstract = "\n".join(sections)
    types = _each(_text(node) for node in parts.types)
    is_preprint, is_notice = "Preprint" in types, bool(NOTICE_TYPES.intersection(types))

    # https://www.nlm.nih.gov/bsd/licensee/elements_descriptions.html#commentscorrections
    notes = _list(citation, "CommentsCorrectionsList/CommentsCorrections")
    referred = [(str(note.get("@RefType")), _referred(note)) for note in notes]
    kinds = {kind for kind, _ in referred}
    later = next((names for kind, names in referred if kind == "UpdateIn" and names), [])
    on = [(_NOTICES[kind], name) for kind, names in referred if kind in _NOTICES for name in names]
    headings, chemicals = _list(citation, "MeshHeadingList/MeshHeading"), _list(citation, "ChemicalList/Chemical")
    keywords = (word for group in _list(citation, "KeywordList") for word in _list(group, "Keyword"))
    journal, issue = _node(article, "Journal"), _node(article, "Journal/JournalIssue")
    pagination = _node(article, "Pagination")
    ends = (_text(pagination.get(name)) for name in ("StartPage", "EndPage"))
    own = {node["@IdType"]: _text(node) for node in parts.identifiers if isinstance(node, dict) and "@IdType" in node}
    located = (  # the article's references carry lists of identifiers of the same name
        _text(node)
        for node in _list(article, "ELocationID")
        if isinstance(node, dict) and node.get("@EIdType") == "doi" and node.get("@ValidYN", "Y") == "Y"
    )
    registered = (
        _text(number)
        for bank in _list(article, "DataBankList/DataBank")
        for number in _list(bank, "AccessionNumberList/AccessionNumber")
    )
    record = (Notice if is_notice else Publication)(
        pmid=pmid,
        pmcid=checked_identifier("pmcid", own.get("pmc")),
        doi=checked_identifier("doi", own.get("doi")) or checked_identifier("doi", next(located, None)),
        journal=parts.container or None,
        journal_abbreviation=_text(_node(citation, "MedlineJournalInfo").get("MedlineTA"))  # as reference lists have it
        or _text(journal.get("ISOAbbreviation"))
        or None,
        volume=_text(issue.get("Volume")) or None,
        issue=_text(issue.get("Issue")) or None,
        pages=page_range(_text(pagination.get("MedlinePgn")) or "-".join(filter(None, ends))),
        language=", ".join(_text(node) for node in _list(article, "Language")) or None,
        publication_types=types,
        is_preprint=is_preprint,
        retracted="Retracted Publication" in types or bool(kinds & _RETRACTED),
        expression_of_concern="ExpressionOfConcernIn" in kinds,
        corrected=bool(kinds & _CORRECTED),
        published_version=later[0].partition(":")[2] if later and is_preprint else None,
        updated_in=[] if is_preprint else later,
        update_of=[name for kind, names in referred if kind == "UpdateOf" for name in names],
        notice_on=[NoticeOn(flag=flag, name=name) for flag, name in on] if is_notice else [],
        mesh_terms=_each(_text(heading.get("DescriptorName")) for heading in headings),
        keywords=_each(_text(word) for word in keywords),
        chemicals=_each(_text(chemical.get("NameOfSubstance")) for chemical in chemicals),
        nct_ids=trial_numbers(*registered, title, abstract),
        has_abstract=bool(abstract),
    )
    return Evidence(
        content=written(title, abstract, preprint=is_preprint),
        citation=Citation(
            source="pubmed",
            title=title,
            url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/",
            date=parts.date,
            authors=list(_authors(parts.author_lists)),
        ),
        record=record,
    )


def _journal(root: Node) -> _Parts:
    citation = _node(root, "MedlineCitation")
    article = _node(citation, "Article")
    online = next(iter(_list(article, "ArticleDate")), None)
    return _Parts(
        citation=citation,
        article=article,
        container=_text(_node(article, "Journal").get("Title")),
        date=publication_date(_date(_node(article, "Journal/JournalIssue/PubDate")), _date(online)),
        identifiers=_list(root, "PubmedData/ArticleIdList/ArticleId"),
        author_lists=_list(article, "AuthorList"),
        types=_list(article, "PublicationTypeList/PublicationType"),
    )


def _book(root: Node) -> _Parts:
    document = _node(root, "BookDocument")
    book = _node(document, "Book")
    own = _list(document, "AuthorList")
    return _Parts(
        citation=document,
        article=document,
        container=_text(book.get("BookTitle")),
        date=publication_date(_date(_node(book, "PubDate")), _date(_node(document, "ContributionDate"))),
        identifiers=[
            *_list(document, "ArticleIdList/ArticleId"),
            *_list(root, "PubmedBookData/ArticleIdList/ArticleId"),
        ],
        author_lists=own or _list(book, "AuthorList"),
        types=_list(document, "PublicationType"),
    )


def _referred(note: Node) -> list[str]:
    """The names of the article that a note is on: its PMID, and the DOI in its reference."""
    source = _text(note.get("RefSource"))
    said = source[source.find("10.") :].split() if "10." in source else []
    pmid = checked_identifier("pmid", _text(note.get("PMID")))
    doi = checked_identifier("doi", said[0].rstrip(".")) if said else None
    return [f"{kind}:{number}" for kind, number in (("pmid", pmid), ("doi", doi)) if number]


def _authors(lists: list[Node]) -> Iterator[str]:
    """Authors as `Surname Initials`, groups by their names; editors only speak for a book without authors."""
    authors = [group for group in lists if isinstance(group, dict) and group.get("@Type") != "editors"] or lists
    for author in (author for group in authors for author in _list(group, "Author")):
        if author.get("@ValidYN", "Y") == "Y":
            surname, forename = _text(author.get("LastName")), _text(author.get("ForeName"))
            initials = _text(author.get("Initials")) or "".join(name[0] for name in forename.split())
            name = f"{surname} {initials} {_text(author.get('Suffix'))}" if surname else forename
            if shown := " ".join((name or _text(author.get("CollectiveName"))).split()):
                yield shown


def _date(node: Any) -> str | None:
    if not isinstance(node, dict):
        return None
    if free := _text(node.get("MedlineDate")):
        return date_of(free)
    return iso_date(_text(node.get("Year")), _text(node.get("Month")), _text(node.get("Day")))


def _each(texts: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(text for text in texts if text))


def _node(node: Node, path: str) -> Node:
    """The first element at a path; an empty one where it is absent, which PubMed means the same by."""
    found = node
    for name in path.split("/"):
        below = found.get(name)
        below = below[0] if isinstance(below, list) else below
        if not isinstance(below, dict):
            return {}
        found = below
    return found


def _list(node: Any, path: str) -> list[Any]:
    """All elements at a path whose last name is always a list; those without content left out."""
    parent, _, name = path.rpartition("/")
    found = (_node(node, parent) if parent else node).get(name) if isinstance(node, dict) else None
    return [item for item in found if item is not None] if isinstance(found, list) else []


def _text(node: Any) -> str:
    """An element's text; empty where there is none."""
    if isinstance(node, list):
        node = next(iter(node), None)
    if isinstance(node, dict):
        node = node.get("#text")
    return node.strip() if isinstance(node, str) else ""
