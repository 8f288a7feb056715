"""PubMed, through NCBI's E-utilities: ESearch for PMIDs, EFetch for records, ELink for citations.

https://www.ncbi.nlm.nih.gov/books/NBK25499/; elements of records:
https://www.nlm.nih.gov/bsd/licensee/elements_descriptions.html.
"""

import asyncio
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from itertools import chain
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field, StringConstraints

from ...arguments import list_entries
from ...errors import RateLimitError, SourceRefused, SourceUnavailable, UnreadableReply
from ...http.reply import Reply, at, count, read_each
from ...http.together import gather_names
from ...http.xml import attribute, every, first, read_items, text_of
from ...lexicon import find_conditions
from ...lexicon.conditions import is_in_mesh
from ...records import Notice, Publication
from ...records.card import SourceCard
from ...records.evidence import Citation, Evidence, checked_identifier
from ...search import Filters, Source, SourceReply, local_library
from ..lookups import Item, T
from ..publications import (
    NO_TITLE,
    NOTICE_TYPES,
    Citations,
    DatedFilters,
    check_pmid,
    choose_publication_date,
    extract_words,
    find_date,
    find_trial_numbers,
    format_iso_date,
    format_pages,
    redact,
    remove_markup,
    write_content,
)

CARD = SourceCard(
    name="pubmed",
    place=20,
    title="PubMed",
    purpose="Search PubMed for published studies, reviews and meta-analyses; gives abstracts, publication types and"
    " MeSH terms.",
    address="https://eutils.ncbi.nlm.nih.gov/entrez/eutils",
    documentation="https://www.ncbi.nlm.nih.gov/books/NBK25497/",
    per_second=3,
    per_second_with_key=10,
    passing_statuses=(400,),  # its servers answer so now and then, and give the same request its records afterwards
    key="NCBI_API_KEY",
    without_key="PubMed is asked 3 times a second, not 10",
    hosts=("pubmed.ncbi.nlm.nih.gov",),
    gives="publication",
    dialect="boolean",
    use="searched",
    specialist="literature",
)

IDS_PER_FETCH = 200
PAGES_PER_SEARCH = 4
"""Pages of which one request lists the hits; numbers are small, and a later page costs no search."""
_IDS_PER_GET = 90  # above 200 NCBI asks for POST; its servers are reported to fail GETs from 100 on
_LONGEST_QUERY = 2000  # bytes in a URL
_LONGEST_TRANSLATION = 1000  # characters kept
_SHORTEST_MAPPED = 6  # letters per word; shorter ones are abbreviations, which PubMed mostly maps to something else
_GROUP = re.compile(r"[^()]+")
_PHRASE = re.compile(r'"([^"]+)"')
_EARLIEST = date(1500, 1, 1)
_LATEST = date(3000, 12, 31)  # ESearch applies a date range only if it has both ends
_REFUSED = ("empty term", "invalid db name", "api key invalid", "api key not wellformed")


class PubMedHits(NamedTuple):
    total: int
    pmids: list[str]
    """Best first."""
    notes: Sequence[str] = ()
    """Parts of the query that PubMed left out."""
    url: str = ""
    translation: str = ""
    """The query as PubMed translated it: terms mapped to headings, unknown phrases split."""


class PubMedFilters(DatedFilters, frozen=True):
    """Filters for a search of PubMed."""

    publication_types: Annotated[
        list[Annotated[str, StringConstraints(pattern=r'^[^"\[\]]+$')]],
        BeforeValidator(list_entries),
    ] = Field(default=[], description="Any of these, by PubMed's names, such as Randomized Controlled Trial")


class PubMed(Source):
    """PubMed: abstracts of the biomedical literature."""

    card = CARD
    filters = PubMedFilters

    async def find_online(self, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Search PubMed by words or in its own syntax with field tags, most relevant first; otherwise as `find`."""
        filter_values = PubMedFilters.of(self.name, filters)
        most = max(1, max_results)
        types = " OR ".join(f'"{kind}"[Publication Type]' for kind in filter_values.publication_types)
        term = f"({add_headings(query)}) AND ({types})" if types else add_headings(query)
        params: dict[str, object] = {"term": term, "retmode": "json", "sort": "relevance"}
        if filter_values.mindate or filter_values.maxdate:
            first = filter_values.mindate or _EARLIEST
            last = filter_values.maxdate or _LATEST
            params |= {"datetype": "pdat", "mindate": f"{first:%Y/%m/%d}", "maxdate": f"{last:%Y/%m/%d}"}
        with self.transport.shelf.queue(self.name) as reached:
            hits = await self._find_page(params, filter_values.page, most)
            pmids_of_all = await gather_names(hits.pmids)
            await reached()
            fetching = self.transport.shelf.take(self.name, pmids_of_all, partial(self._fetch, is_promised=True))
        return self._reply(query, term, hits, await fetching)

    async def _find_page(self, params: Mapping[str, object], page: int, most: int) -> PubMedHits:
        """Return a page of a search's hits; one request lists those of several pages."""
        block, place = divmod(page - 1, PAGES_PER_SEARCH)
        hits = await self._find_hits(params, block * PAGES_PER_SEARCH * most, PAGES_PER_SEARCH * most)
        pmids = hits.pmids[place * most : (place + 1) * most]
        start = (page - 1) * most
        if place and not pmids and hits.total > start:  # the server lists fewer hits at once than it was asked for
            return await self._find_hits(params, start, most)
        return hits._replace(pmids=pmids)

    async def _find_hits(self, params: Mapping[str, object], start: int, most: int) -> PubMedHits:
        """Return hits from a place on, asked once a run."""
        whole = {**params, "retmax": most, "retstart": start or None}
        name = json.dumps(whole, sort_keys=True)

        async def ask(names: list[str]) -> dict[str, PubMedHits]:
            hits = await self._ask("esearch.fcgi", whole, partial(_parse_hits, start))
            return dict.fromkeys(names, hits)

        pages = await self.transport.shelf.take(f"searches of {self.name}", [name], ask)
        return pages[name]

    async def papers(self, *pmids: str) -> SourceReply:
        """Return publications by PMID; the reply names those missing from PubMed.

        Raises:
            SearchError: no reply, or an unreadable one; `SourceRefused` where one is no PMID.
        """
        numbers = [check_pmid(self.name, pmid) for pmid in pmids]
        if (library := local_library(self.transport)) is not None:
            return await asyncio.to_thread(library.papers, self, numbers)
        listed = ", ".join(numbers)
        return self._reply(listed, listed, PubMedHits(0, numbers), await self._fetch(numbers))

    async def citations(self, pmid: str) -> SourceReply:
        """Return citing and cited publications that PubMed links (ELink); raises as `papers`."""
        number = check_pmid(self.name, pmid)
        if (library := local_library(self.transport)) is not None:
            return await asyncio.to_thread(library.citations, self, number)
        with self.transport.shelf.queue(self.name) as reached:
            links = await self._ask("elink.fcgi", {"dbfrom": "pubmed", "id": number, "cmd": "neighbor"}, _parse_links)
            await reached()
            fetching = self.transport.shelf.take(self.name, links.chosen, partial(self._fetch, is_promised=True))
        publications = links.noted((item.record for item in (await fetching).values() if item.record), number)
        missing = len(links.chosen) - len(publications)
        problems = [f"no readable record came for {missing} of them"] if missing else []
        return self.reply(f"citations of PMID {number}", publications, problems=problems, notes=links.notes)

    async def _fetch(self, pmids: Sequence[str], is_promised: bool = False) -> dict[str, Item]:
        batches = [pmids[start : start + IDS_PER_FETCH] for start in range(0, len(pmids), IDS_PER_FETCH)]
        pages = await asyncio.gather(*(self._fetch_batch(batch, is_promised=is_promised) for batch in batches))
        items: dict[str, Item] = {}
        for page in pages:
            items |= page
        return items

    async def _fetch_batch(self, pmids: Sequence[str], *, is_promised: bool) -> dict[str, Item]:
        params = {"id": ",".join(pmids), "retmode": "xml"}
        longest = _LONGEST_QUERY if len(pmids) <= _IDS_PER_GET else 0
        articles = await self._ask("efetch.fcgi", params, partial(_parse_articles, is_promised=is_promised), longest)
        by_pmid = {record.record.pmid: record for record in articles.records}
        return {pmid: Item(by_pmid.get(pmid), articles.unread) for pmid in pmids}

    async def _ask(
        self, path: str, params: Mapping[str, object], read: Callable[[Reply], T], longest: int = _LONGEST_QUERY
    ) -> T:
        # NCBI expects these in every request: https://www.ncbi.nlm.nih.gov/books/NBK25497/
        base = {"db": "pubmed", "tool": "willowbark", "email": self.transport.endpoints.email}
        return await self.transport.get(self.name, path, params={**base, **params}, read=read, longest_query=longest)

    def _reply(self, query: str, sent: str, hits: PubMedHits, items: Mapping[str, Item]) -> SourceReply:
        by_pmid = [items[pmid].record for pmid in hits.pmids]
        records = [record for record in by_pmid if record]
        missing = [pmid for pmid in hits.pmids if items[pmid].record is None]
        unread = list(dict.fromkeys(chain.from_iterable(item.problems for item in items.values())))
        lacking = [f"no readable record came for PMID {', '.join(missing)}"] if missing else []
        return self.reply(
            sent,
            records,
            words=extract_words(query),
            total=hits.total,
            problems=[*unread, *lacking] if records else unread,
            notes=hits.notes if records else [*hits.notes, *lacking],
            url=hits.url,
            understood=hits.translation,
        )


def add_headings(query: str) -> str:
    """Add the MeSH heading of each condition that a group of the query names only by quoted phrases.

    PubMed also finds a heading by its synonyms. A query with field tags is not changed.

    >>> add_headings('("heart failure" OR "cardiac failure") AND (migraine OR "migraine disorders")')
    '(("heart failure" OR "heart failure"[mh]) OR "cardiac failure") AND (migraine OR "migraine disorders")'
    """

    def with_its_headings(group: re.Match[str]) -> str:
        words = (word for word in _PHRASE.sub(" ", group[0]).split() if len(word) >= _SHORTEST_MAPPED)
        headings = set(map(_find_mesh_name, words))

        def beside(phrase: re.Match[str]) -> str:
            name = _find_mesh_name(phrase[1])
            if name is None or name in headings:
                return phrase[0]
            headings.add(name)
            return f'({phrase[0]} OR "{name}"[mh])'

        return _PHRASE.sub(beside, group[0])

    return query if "[" in query else _GROUP.sub(with_its_headings, query)


def _find_mesh_name(words: str) -> str | None:
    whole = (condition for condition in find_conditions(words) if (condition.start, condition.end) == (0, len(words)))
    return next((condition.name for condition in whole if is_in_mesh(condition.name)), None)


def _parse_hits(start: int, reply: Reply) -> PubMedHits:
    """Parse an ESearch reply; `start` is the number of hits skipped.

    Raises:
        RateLimitError: too many requests; the message may come with status 200, and contains the caller's IP or key.
        SourceUnavailable: the search failed at NCBI.
        SourceRefused: NCBI refuses this search.
        UnreadableReply: not an ESearch result.
    """
    data = reply.json()
    result = at(data, "esearchresult")
    _refuse_error(at(data, "error") or at(result, "ERROR"))
    total = count(at(result, "count"))
    numbers = at(result, "idlist")
    if total is None or not isinstance(numbers, list):
        raise UnreadableReply("pubmed", "answered without a count or a list of PMIDs")
    valid = filter(None, (checked_identifier("pmid", number) for number in numbers))
    pmids = list(dict.fromkeys(valid))
    if total > start and not pmids:
        raise UnreadableReply("pubmed", f"counts {total} hits and lists none")
    phrases: list[Any] = []
    for messages in (result.get("errorlist"), result.get("warninglist")):
        for words in messages.values() if isinstance(messages, dict) else ():
            phrases += words if isinstance(words, list) else ()
    own_words = [phrase for phrase in phrases if phrase != "No items found."]  # the count says so
    notes = [f"left out of the query: {redact(phrase)}" for phrase in own_words]
    translation = " ".join(str(result.get("querytranslation") or "").split())[:_LONGEST_TRANSLATION]
    return PubMedHits(total, pmids, notes, reply.url, translation)


def _refuse_error(error: Any) -> None:
    if not error:
        return
    message = str(error)
    if "rate limit" in message.lower():
        raise RateLimitError("pubmed", "asks for fewer requests")
    if any(phrase in message.lower() for phrase in _REFUSED):
        raise SourceRefused("pubmed", f"refuses the search: {redact(message)}")
    raise SourceUnavailable("pubmed", f"reports an error: {redact(message)}")


def _parse_links(reply: Reply) -> Citations:
    """Parse an ELink reply; a publication without links of a kind has no list of it. Raises as `_parse_hits`."""
    linked = dict[str, list[str]]()
    errors = list[str]()

    def take(name: str, data: Any) -> None:
        if name == "ERROR":
            errors.append(_get_error_text(data))
            return
        numbers = (checked_identifier("pmid", text_of(link)) for link in every_id(data))
        linked[text_of(first(data, "LinkName"))] = [pmid for pmid in numbers if pmid]

    def every_id(data: Any) -> Iterator[Any]:
        for link in every(data, "Link"):
            yield from every(link, "Id")

    root = read_items(
        "pubmed", _parse_xml(reply), take, items=("LinkSetDb", "ERROR"), texts=("Id", "LinkName", "ERROR")
    )
    _refuse_error(next(iter(errors), None))
    if root != "eLinkResult":
        raise UnreadableReply("pubmed", "answered without links")
    return Citations(linked.get("pubmed_pubmed_citedin", []), linked.get("pubmed_pubmed_refs", []))


def _parse_articles(reply: Reply, *, is_promised: bool = False) -> "Articles":
    """Parse an EFetch reply; `is_promised` means that a search has just named its articles. Raises as `_parse_hits`."""
    articles = parse_articles(_parse_xml(reply))
    if is_promised and not articles.records:
        raise UnreadableReply("pubmed", "gave none of the records that its search named")
    return articles


def _parse_xml(reply: Reply) -> bytes:
    if reply.body.lstrip().startswith(b"{"):  # an error of the server that passes requests on
        _refuse_error(at(reply.json(), "error"))
    return reply.xml()


_ARTICLES = frozenset({"PubmedArticle", "PubmedBookArticle"})
_ROOTS = frozenset({*_ARTICLES, "PubmedArticleSet", "PubmedBookArticleSet", "eFetchResult", "ERROR"})
_DROPPED = frozenset(
    "ReferenceList OtherAbstract CopyrightInformation AffiliationInfo InvestigatorList GrantList CoiStatement History"
    " GeneralNote PersonalNameSubjectList Sections DateCompleted DateRevised QualifierName RegistryNumber Identifier"
    " ISSN Country NlmUniqueID ISSNLinking CitationSubset PublicationStatus CitedMedium DataBankName OtherID".split()
)
"""Elements that are not read, the references of an article among them."""
_TEXTS = frozenset(
    "ERROR PMID ArticleTitle VernacularTitle BookTitle Title ISOAbbreviation MedlineTA AbstractText Volume Issue"
    " MedlinePgn StartPage EndPage Language PublicationType ELocationID ArticleId AccessionNumber RefSource"
    " DescriptorName Keyword NameOfSubstance LastName ForeName Initials Suffix CollectiveName MedlineDate Year Month"
    " Day".split()
)
"""Elements that hold text, of which some may be marked up; every element that is read as text has to be among them."""
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


class Articles(NamedTuple):
    records: list[Evidence]
    unread: list[str]
    """One line for each article that could not be read."""


def parse_articles(xml: bytes) -> Articles:
    """Parse a `PubmedArticleSet`, `PubmedBookArticleSet` or a single article.

    Raises:
        UnreadableReply: the XML is truncated, something else, holds entities, or is nested too deep.
        SourceUnavailable: the reply is PubMed's own error message.

    >>> parse_articles(b"<PubmedArticleSet/>").records
    []
    """
    articles = Articles([], [])
    errors = list[str]()

    def take(name: str, data: Any) -> None:
        if name == "ERROR":
            errors.append(_get_error_text(data))
            return
        place = len(articles.records) + len(articles.unread) + 1
        records, unread = read_each([{name: data}], parse_article, place)
        articles.records.extend(records)
        articles.unread.extend(unread)

    root = read_items("pubmed", xml, take, items=(*_ARTICLES, "ERROR"), texts=_TEXTS, dropped=_DROPPED)
    if root not in _ROOTS:
        raise UnreadableReply("pubmed", "answered with XML that holds no articles")
    for error in errors:
        if not any(phrase in error.lower() for phrase in _NO_RECORDS):
            raise SourceUnavailable("pubmed", f"reports an error: {redact(error)}")
    return articles


def _get_error_text(data: Any) -> str:
    return _get_text(data) or "no reason given"


def parse_article(data: Mapping[str, Any]) -> Evidence:
    """Convert one article, as `convert_article` takes it; raises `ValueError` if it has no PMID."""
    facts = convert_article(data)
    kind = Notice if facts["metadata"].pop("kind") == "notice" else Publication
    record = kind.model_validate(facts["metadata"])
    return Evidence(content=facts["content"], citation=Citation(**facts["citation"]), record=record)


def convert_article(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an `Evidence`, as in its JSON.

    Args:
        data: a `PubmedArticle` or `PubmedBookArticle` under its name, as `tools.http.xml` makes it of XML.

    Raises:
        ValueError: it has no PMID.
    """
    is_book = "PubmedBookArticle" in data
    root = first(data, "PubmedBookArticle" if is_book else "PubmedArticle")
    citation = first(root, "BookDocument" if is_book else "MedlineCitation")
    article = citation if is_book else first(citation, "Article")
    book = first(citation, "Book")
    journal = first(article, "Journal")
    issue = first(journal, "JournalIssue")
    container = _get_text(first(book, "BookTitle") if is_book else first(journal, "Title"))
    printed = first(book if is_book else issue, "PubDate")
    online = first(citation, "ContributionDate") if is_book else first(article, "ArticleDate")
    date = choose_publication_date(_parse_date(printed), _parse_date(online))
    pmid = checked_identifier("pmid", _get_text(first(citation, "PMID")))
    if pmid is None:
        raise ValueError("an article without PMID")
    title = _get_title(article) or container or NO_TITLE
    abstract = _write_abstract(article)
    types = _get_texts([*every(article, "PublicationTypeList", "PublicationType"), *every(article, "PublicationType")])
    is_preprint = "Preprint" in types
    is_notice = bool(NOTICE_TYPES.intersection(types))

    linked = _parse_linked(citation)
    kinds = linked.kinds
    later = linked.later
    added = first(root, "PubmedBookData" if is_book else "PubmedData")
    identifiers = [*every(citation, "ArticleIdList", "ArticleId"), *every(added, "ArticleIdList", "ArticleId")]
    own = {attribute(identifier, "IdType"): _get_text(identifier) for identifier in identifiers}
    registered = _list_accession_numbers(article)
    keywords = [keyword for group in every(citation, "KeywordList") for keyword in every(group, "Keyword")]
    headings = every(citation, "MeshHeadingList", "MeshHeading")
    chemicals = every(citation, "ChemicalList", "Chemical")
    metadata = {
        "kind": "notice" if is_notice else "publication",
        "pmid": pmid,
        "pmcid": checked_identifier("pmcid", own.get("pmc")),
        "doi": checked_identifier("doi", own.get("doi")) or _find_located_doi(article),
        "journal": container or None,
        "journal_abbreviation": _get_text(first(citation, "MedlineJournalInfo", "MedlineTA"))  # as in reference lists
        or _get_text(first(journal, "ISOAbbreviation"))
        or None,
        "volume": _get_text(first(issue, "Volume")) or None,
        "issue": _get_text(first(issue, "Issue")) or None,
        "pages": _write_pages(first(article, "Pagination")),
        "language": ", ".join(_get_texts(every(article, "Language"))) or None,
        "publication_types": types,
        "is_preprint": is_preprint,
        "retracted": "Retracted Publication" in types or bool(kinds & _RETRACTED),
        "expression_of_concern": "ExpressionOfConcernIn" in kinds,
        "corrected": bool(kinds & _CORRECTED),
        "published_version": later[0].partition(":")[2] if later and is_preprint else None,
        "updated_in": [] if is_preprint else later,
        "update_of": linked.earlier,
        "notice_on": linked.notice_on if is_notice else [],
        "mesh_terms": _get_texts(first(heading, "DescriptorName") for heading in headings),
        "keywords": _get_texts(keywords),
        "chemicals": _get_texts(first(chemical, "NameOfSubstance") for chemical in chemicals),
        "nct_ids": find_trial_numbers(*registered, title, abstract),
        "has_abstract": bool(abstract),
    }
    cited = {
        "source": "pubmed",
        "title": title,
        "url": f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/",
        "date": date,
        "authors": list(_list_authors(every(article, "AuthorList") or every(book, "AuthorList"))),
    }
    return {"content": write_content(title, abstract, preprint=is_preprint), "citation": cited, "metadata": metadata}


def _get_title(article: Any) -> str:
    """Return an article's title, the original one where PubMed has no English one; empty if there is none."""
    title = _get_text(first(article, "ArticleTitle"))
    if title not in ("", _UNTRANSLATED):
        return title
    return _get_text(first(article, "VernacularTitle")) or title


def _write_abstract(article: Any) -> str:
    """Write an abstract with a line for each section, under its label if it has one."""
    sections = list[str]()
    for section in every(article, "Abstract", "AbstractText"):
        label = (attribute(section, "Label") or "").strip(" :")
        text = _get_text(section)
        if text:
            sections.append(text if label in ("", "UNLABELLED") else f"{label}: {text}")
    return "\n".join(sections)


def _write_pages(pagination: Any) -> str | None:
    ends = [_get_text(first(pagination, name)) for name in ("StartPage", "EndPage")]
    return format_pages(_get_text(first(pagination, "MedlinePgn")) or "-".join(filter(None, ends)))


def _list_accession_numbers(article: Any) -> list[str]:
    """List the numbers under which an article's trials and data are registered."""
    numbers = list[str]()
    for bank in every(article, "DataBankList", "DataBank"):
        numbers += map(_get_text, every(bank, "AccessionNumberList", "AccessionNumber"))
    return numbers


class LinkedRecords(NamedTuple):
    """What an article's comments and corrections link it with."""

    kinds: frozenset[str]
    """PubMed's names for the links, https://www.nlm.nih.gov/bsd/licensee/elements_descriptions.html#commentscorrections."""
    later: list[str]
    """Names of the version that follows it."""
    earlier: list[str]
    """Names of the versions that it replaces."""
    notice_on: list[dict[str, str]]
    """The flags that it gives other articles, if it is a notice."""


def _parse_linked(citation: Any) -> LinkedRecords:
    kinds: set[str] = set()
    later: list[str] = []
    earlier: list[str] = []
    notice_on: list[dict[str, str]] = []
    for note in every(citation, "CommentsCorrectionsList", "CommentsCorrections"):
        kind = attribute(note, "RefType") or ""
        names = _list_subject_names(note)
        kinds.add(kind)
        if kind == "UpdateIn":
            later = later or names
        if kind == "UpdateOf":
            earlier += names
        if kind in _NOTICES:
            notice_on += [{"flag": _NOTICES[kind], "name": name} for name in names]
    return LinkedRecords(frozenset(kinds), later, earlier, notice_on)


def _find_located_doi(article: Any) -> str | None:
    """Return the article's first valid DOI by location; its references have identifier lists of the same name."""
    for location in every(article, "ELocationID"):
        if attribute(location, "EIdType") == "doi" and attribute(location, "ValidYN") in (None, "Y"):
            return checked_identifier("doi", _get_text(location))
    return None


def _list_subject_names(note: Any) -> list[str]:
    source = _get_text(first(note, "RefSource"))
    words = source[source.find("10.") :].split() if "10." in source else []
    pmid = checked_identifier("pmid", _get_text(first(note, "PMID")))
    doi = checked_identifier("doi", words[0].rstrip(".")) if words else None
    return [f"{kind}:{number}" for kind, number in (("pmid", pmid), ("doi", doi)) if number]


def _list_authors(lists: list[Any]) -> Iterator[str]:
    """Yield authors as `Surname Initials`, groups by name; editors only for a book without authors."""
    groups = [group for group in lists if attribute(group, "Type") != "editors"] or lists
    for author in chain.from_iterable(every(group, "Author") for group in groups):
        if attribute(author, "ValidYN") not in (None, "Y"):
            continue
        surname = _get_text(first(author, "LastName"))
        forename = _get_text(first(author, "ForeName"))
        name = forename or _get_text(first(author, "CollectiveName"))
        if surname:
            initials = _get_text(first(author, "Initials")) or _find_initials(forename)
            yield " ".join(filter(None, (surname, initials, _get_text(first(author, "Suffix")))))
        elif name:
            yield name


def _find_initials(forename: str) -> str:
    return "".join(name[0] for name in forename.split())


def _parse_date(data: Any) -> str | None:
    if free := _get_text(first(data, "MedlineDate")):
        return find_date(free)
    return format_iso_date(
        _get_text(first(data, "Year")), _get_text(first(data, "Month")), _get_text(first(data, "Day"))
    )


def _get_texts(elements: Iterable[Any]) -> list[str]:
    return list(dict.fromkeys(filter(None, map(_get_text, elements))))


def _get_text(data: Any) -> str:
    text = text_of(data)
    if not text:
        return ""
    if "<" in text and ("</" in text or "<br" in text):  # some publishers' markup arrives escaped
        text = remove_markup(text)
    return " ".join(text.split())
