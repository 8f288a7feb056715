"""Europe PMC: peer-reviewed articles and preprints in one search (https://europepmc.org/RestfulWebService).

Words without a field are also searched in full texts, where most hits are passing mentions, so they are searched in
titles, abstracts and keywords (which contain MeSH terms) alone.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from ...errors import SourceRefused, SourceUnavailable, UnreadableReply
from ...http.reply import Reply, at, count, dicts, read_each, text
from ...http.transport import Transport
from ...records import Notice, NoticeOn, Publication
from ...records.card import SourceCard
from ...records.evidence import Citation, Evidence, checked_identifier
from ...search import Filters, Page, Source, SourceReply, choose_request_size, local_library
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
    find_years,
    format_pages,
    redact,
    remove_markup,
    write_content,
)

CARD = SourceCard(
    name="europepmc",
    place=30,
    title="Europe PMC",
    purpose="Search Europe PMC for published studies and for preprints, which are marked as not peer-reviewed; gives"
    " abstracts, citation counts and licences.",
    address="https://www.ebi.ac.uk/europepmc/webservices/rest",
    documentation="https://europepmc.org/RestfulWebService",
    per_second=8,  # none published
    hosts=("europepmc.org",),
    gives="publication",
    dialect="boolean",
    use="searched",
    specialist="literature",
)

_PAGE_SIZE = 100  # records per request; the server allows 1,000, whose abstracts would reach the size limit of a reply
_FIELDS = {
    "ti": "TITLE",
    "title": "TITLE",
    "ab": "ABSTRACT",
    "abstract": "ABSTRACT",
    "tiab": "TITLE_ABS",
    "title/abstract": "TITLE_ABS",
    "au": "AUTH",
    "author": "AUTH",
    "mh": "KW",
    "mesh": "KW",
    "mesh terms": "KW",
    "majr": "KW",
    "pt": "PUB_TYPE",
    "publication type": "PUB_TYPE",
    "ta": "JOURNAL",
    "journal": "JOURNAL",
    "dp": "PUB_YEAR",
    "pdat": "PUB_YEAR",
}
"""PubMed's field tags in Europe PMC's syntax; others are dropped. That KW holds MeSH terms and other keywords is stated
by a users' guide (https://wiki.nested-knowledge.com/doku.php?id=wiki:autolit:search:europepmc), not by its provider."""
_NOTICE_TYPES = frozenset(kind.lower() for kind in NOTICE_TYPES)
_NOTICES = {
    "retraction of": "retracted",
    "expression of concern for": "expression_of_concern",
    "erratum for": "corrected",
    "correction of": "corrected",
}
"""Types of comments on another article, and the flag that each raises on it."""
_CORRECTED = frozenset({"erratum in", "correction in", "corrected and republished in"})
_OPERATORS = frozenset({"AND", "OR", "NOT"})
_TERM = r'(?:"[^"]*"|(?!(?:AND|OR|NOT)\b)[^\s()\[\]":]+(?![^\s()]))(?! ?\[)'
_PIECE = re.compile(
    r'(?P<own>[A-Z][A-Z_]+:(?:"[^"]*"|\([^()]*\)|\[[^\[\]]*\]|[^\s()"]*))'
    rf"|(?P<alternatives>\({_TERM}(?: OR {_TERM})+\)(?! ?\[))"
    r'|(?P<term>"[^"]*"|[^\s()\[\]"]++)?(?P<tag> ?\[[^\[\]]*\])?'
)


def _make_lower(value: object) -> object:
    return value.strip().lower() if isinstance(value, str) else value


class EuropePMCFilters(DatedFilters, frozen=True):
    """Filters for a search of Europe PMC."""

    preprints: Annotated[Literal["only", "none"] | None, BeforeValidator(_make_lower)] = Field(
        default=None, description="Preprints only, or none; otherwise both they and articles are given"
    )


class EuropePMC(Source):
    """Europe PMC: PubMed's literature and more, including preprints."""

    card = CARD
    filters = EuropePMCFilters

    async def find_online(self, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Search titles, abstracts and keywords, most relevant first; PubMed's field tags are translate_query."""
        filter_values = EuropePMCFilters.of(self.name, filters)
        sent = _build_query(query, filter_values)
        size = max(1, max_results)
        ask = partial(_ask, self.transport, sent, choose_request_size(size, _PAGE_SIZE))
        page, problems = await self.page(filter_values.page, size, sent, ask)
        records, unread = read_each(page.hits, parse_record)
        words = extract_words(query)
        return self.reply(sent, records, words=words, total=page.total, problems=[*unread, *problems], url=page.url)

    async def citations(self, pmid: str) -> SourceReply:
        """Return citing and cited publications for which Europe PMC has a PMID.

        Raises:
            SearchError: no reply, or an unreadable one; `SourceRefused` where `pmid` is no PMID.
        """
        number = check_pmid(self.name, pmid)
        if (library := local_library(self.transport)) is not None:
            return await asyncio.to_thread(library.citations, self, number)
        links = Citations(await self._fetch_links(number, "citation"), await self._fetch_links(number, "reference"))
        records = list[Evidence]()
        unread = list[str]()
        if links.chosen:
            terms = " OR ".join(f"EXT_ID:{number}" for number in links.chosen)
            page = await _ask(self.transport, f"({terms}) AND SRC:MED", len(links.chosen), None)
            records, unread = read_each(page.hits, parse_record)
        publications = links.noted(records, number)
        return self.reply(f"citations of PMID {number}", publications, problems=unread, notes=links.notes)

    async def _fetch_links(self, pmid: str, kind: Literal["citation", "reference"]) -> list[str]:
        params = {"format": "json", "page": 1, "pageSize": _PAGE_SIZE}
        read = partial(_parse_pmids, kind)
        return await self.transport.get(self.name, f"MED/{pmid}/{kind}s", params=params, read=read)


async def _ask(transport: Transport, query: str, size: int, mark: str | None = "*") -> Page:
    """Request a page of hits; a first page (`mark` is None) that lists none of those it counts is unreadable."""
    params = {
        "query": query,
        "format": "json",
        "resultType": "core",
        "pageSize": size,
        "cursorMark": mark or "*",
        "synonym": "true",  # like the website; the API's default leaves MeSH synonyms out
    }

    def read(reply: Reply) -> Page:
        return parse_page(reply.json(), reply.url, first=mark is None)

    return await transport.get("europepmc", "search", params=params, read=read)


async def by_numbers(names: Sequence[str], transport: Transport) -> list[Evidence]:
    """Fetch publications with the given numbers (`pmid:…`, `pmcid:…`, `doi:…`) in one request, without unknown ones.

    Raises:
        SearchError: no reply, or an unreadable one.
    """
    library = local_library(transport)
    if library is not None:
        return await asyncio.to_thread(library.by_numbers, names)
    pmids: list[str] = []
    terms: list[str] = []
    for name in names:
        kind, _, number = name.partition(":")
        if kind == "pmid":
            pmids.append(f"EXT_ID:{number}")
        else:
            terms.append(f"PMCID:{number}" if kind == "pmcid" else f'DOI:"{number}"')
    if pmids:
        terms.insert(0, f"(({' OR '.join(pmids)}) AND SRC:MED)")
    page = await _ask(transport, " OR ".join(terms), 2 * len(names))
    return read_each(page.hits, parse_record)[0]


def _build_query(query: str, filters: EuropePMCFilters) -> str:
    first = filters.mindate or "1500-01-01"
    last = filters.maxdate or "3000-12-31"
    extra = f" AND FIRST_PDATE:[{first} TO {last}]" if filters.mindate or filters.maxdate else ""
    extra += {None: "", "only": " AND SRC:PPR", "none": " NOT SRC:PPR"}[filters.preprints]
    term = translate_query(query)
    return f"({term}){extra}" if extra else term


def translate_query(query: str) -> str:
    """Translate a PubMed query to Europe PMC's syntax: field tags become prefixes, other terms get the default fields.

    >>> translate_query('"long covid"[tiab] AND 2019:2021[dp]')
    'TITLE_ABS:"long covid" AND PUB_YEAR:[2019 TO 2021]'
    >>> translate_query("(migraine OR hemicrania) AND timolol")
    '(TITLE_ABS:(migraine OR hemicrania) OR KW:(migraine OR hemicrania)) AND (TITLE_ABS:timolol OR KW:timolol)'
    """

    def in_fields(piece: re.Match[str]) -> str:
        term = piece["term"] or piece["alternatives"] or ""
        tag = (piece["tag"] or "").strip(" []").lower()
        if piece["own"] or term in _OPERATORS:
            return piece[0]
        prefix = _FIELDS.get(tag.partition(":")[0].strip())
        years = find_years(term) if prefix == "PUB_YEAR" else ()
        if years:
            return f"PUB_YEAR:[{years[0]} TO {years[-1]}]"
        if prefix and prefix != "PUB_YEAR":
            return f"{prefix}:{term}" if term else ""
        return f"(TITLE_ABS:{term} OR KW:{term})" if any(map(str.isalnum, term)) else term

    return " ".join(_PIECE.sub(in_fields, " ".join(query.split())).split())


def _parse_pmids(kind: str, reply: Reply) -> list[str]:
    data = reply.json()
    listed = dicts(data, f"{kind}List", kind)
    _count_hits(data, listed, kind)
    numbers = (checked_identifier("pmid", entry.get("id")) for entry in listed if entry.get("source") == "MED")
    return list(dict.fromkeys(filter(None, numbers)))


def parse_page(data: Any, url: str = "", *, first: bool = False) -> Page:
    """Parse a page of search results (`core`, `lite` or `idlist`), the first or another; `parse_record` reads its hits.

    Raises:
        SourceRefused: Europe PMC reports an invalid query, which it does with status 200.
        SourceUnavailable: Europe PMC reports an internal failure, also with status 200.
        UnreadableReply: neither hits nor an error; a page without a count is not an empty result.

    >>> parse_page({"version": "6.9", "hitCount": 0, "resultList": {"result": []}}).hits
    []
    """
    hits = at(data, "resultList", "result")
    total = _count_hits(data, hits if first or not isinstance(hits, list) else [*hits, None], "hit")
    return Page(hits or [], total, text(data.get("nextCursorMark")), url)


def _count_hits(data: Any, hits: Any, what: str) -> int:
    code = at(data, "errCode")
    if code or at(data, "errMsg"):
        reason = redact(data.get("errMsg") or code)
        if str(code).startswith("5"):
            raise SourceUnavailable("europepmc", f"reports an error: {reason}")
        raise SourceRefused("europepmc", f"refuses the search: {reason}")
    total = count(at(data, "hitCount"))
    if total is None or (total and not isinstance(hits, list)):
        raise UnreadableReply("europepmc", f"answered without a count or a list of {what}s")
    if total and not hits:
        raise UnreadableReply("europepmc", f"counts {total} {what}s and lists none")
    return total


def parse_record(hit: Mapping[str, Any]) -> Evidence:
    """Convert one hit, with its retraction status (unknown if it gives no types) and its other versions.

    Raises:
        LookupError: it has no source or no number.
    """
    source = str(hit["source"])
    number = str(hit["id"])
    types = list(dict.fromkeys(at(hit, "pubTypeList", "pubType") or ()))
    lowered = {kind.lower() for kind in types}
    is_preprint = source == "PPR" or "preprint" in lowered
    is_notice = bool(_NOTICE_TYPES & lowered)
    title = remove_markup(hit.get("title") or "") or NO_TITLE
    abstract = remove_markup(hit.get("abstractText") or "")
    listed = dicts(hit, "authorList", "author")
    authors: list[Any] = [author.get("fullName") or author.get("collectiveName") for author in listed]
    authors = authors or (hit.get("authorString") or "").rstrip(".").split(", ")

    first = find_date(str(hit.get("firstPublicationDate") or ""))
    issued = find_date(str(at(hit, "journalInfo", "dateOfPublication") or ""))
    if source == "PPR" or issued is None:
        date = choose_publication_date(first, find_date(str(hit.get("pubYear") or "")))
    else:  # as PubMed does: a printed month has no day
        date = choose_publication_date(issued, find_date(str(hit.get("electronicPublicationDate") or "")))

    kinds = set[str]()
    references = list[tuple[str, str]]()
    for note in dicts(hit, "commentCorrectionList", "commentCorrection"):
        kind = str(note.get("type")).lower()
        kinds.add(kind)
        pmid = checked_identifier("pmid", note.get("id"))
        if note.get("source") == "PPR":
            references.append((kind, f"ppr:{note.get('id')}"))
        elif note.get("source") == "MED" and pmid:
            references.append((kind, f"pmid:{pmid}"))
    has_types = bool(types or kinds)
    article = next((name for kind, name in references if kind == "preprint of" and name.startswith("pmid:")), None)
    issue = at(hit, "journalInfo")
    journal = at(hit, "journalInfo", "journal")
    keywords = at(hit, "keywordList", "keyword") or ()
    headings = [heading_row.get("descriptorName") for heading_row in dicts(hit, "meshHeadingList", "meshHeading")]
    chemicals = [chemical_row.get("name") for chemical_row in dicts(hit, "chemicalList", "chemical")]
    record = (Notice if is_notice else Publication)(
        pmid=checked_identifier("pmid", hit.get("pmid") or (number if source == "MED" else None)),
        pmcid=checked_identifier("pmcid", hit.get("pmcid") or (number if source == "PMC" else None)),
        doi=checked_identifier("doi", hit.get("doi")),
        ppr_id=number if source == "PPR" else None,
        journal=text(at(journal, "title") or at(hit, "bookOrReportDetails", "publisher")),
        journal_abbreviation=text(at(journal, "medlineAbbreviation") or at(journal, "isoabbreviation")),
        volume=text(at(issue, "volume")),
        issue=text(at(issue, "issue")),
        pages=format_pages(hit.get("pageInfo")),
        language=text(hit.get("language")),
        license=text(hit.get("license")),
        is_open_access={"Y": True, "N": False}.get(str(hit.get("isOpenAccess"))),
        cited_by_count=hit.get("citedByCount"),
        publication_types=types,
        is_preprint=is_preprint,
        retracted="retracted publication" in lowered or "retraction in" in kinds if has_types else None,
        expression_of_concern="expression of concern in" in kinds if has_types else None,
        corrected=bool(kinds & _CORRECTED) if has_types else None,
        published_version=article.partition(":")[2] if article else None,
        updated_in=[name for kind, name in references if kind == "update in"],
        update_of=[name for kind, name in references if kind in ("preprint in", "update of")],
        notice_on=[
            NoticeOn(flag=_NOTICES[kind], name=name) for kind, name in references if is_notice and kind in _NOTICES
        ],
        mesh_terms=[remove_markup(heading) for heading in headings if heading],
        chemicals=[remove_markup(chemical) for chemical in chemicals if chemical],
        keywords=[remove_markup(keyword) for keyword in keywords],
        nct_ids=find_trial_numbers(title, abstract),
        has_abstract=bool(abstract),
    )
    return Evidence(
        content=write_content(title, abstract, preprint=is_preprint),
        citation=Citation(
            source="preprint" if is_preprint else "europepmc",
            title=title,
            url=f"https://europepmc.org/article/{source}/{number}",
            date=date,
            authors=[name for author in authors if (name := remove_markup(author or ""))],
        ),
        record=record,
    )
