"""Europe PMC: peer-reviewed articles and preprints in one search.

https://europepmc.org/RestfulWebService; the query language is described at https://europepmc.org/searchsyntax
"""

import re
from dataclasses import dataclass
from typing import Any

from ..errors import SearchError, SourceRefused, SourceUnavailable, UnreadableReply
from ..evidence import Evidence
from ..http.transport import Reply
from ..ranking import rank
from ..search import Filters, Source, SourceReply, Status
from .card import SourceCard
from .europepmc_record import parse_record
from .publications import boundary, check_filters, plain_words, redacted

CARD = SourceCard(
    name="europepmc",
    title="Europe PMC",
    purpose="Search Europe PMC for published studies and for preprints, which are marked as not peer-reviewed; gives"
    " abstracts, citation counts and licences.",
    address="https://www.ebi.ac.uk/europepmc/webservices/rest",
    documentation="https://europepmc.org/RestfulWebService",
    per_second=8,  # none published
    typical_s=0.8,
    fresh_days=1,
    hosts=("europepmc.org",),
    gives="publication",
    dialect="boolean",
    use="searched",
    specialist="literature",
)

_PAGE_SIZE = 100  # records a request; the server allows 1,000, whose abstracts would fill the reply's cap
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
"""PubMed's field tags as Europe PMC names them; KW holds MeSH terms and keywords. Others are left out."""
_TAGGED = re.compile(r'("[^"]*"|(?<![^\s()\[\]"])[^\s()\[\]"]++)? ?\[([^\[\]]*)\]')


@dataclass(frozen=True, slots=True)
class Page:
    """One page of hits."""

    total: int
    records: list[Evidence]
    unread: list[str]
    """One line for each hit that could not be read."""
    next_mark: str | None
    """None on the last page."""
    url: str = ""


class EuropePMC(Source):
    """Europe PMC: PubMed's literature and more, with preprints."""

    card = CARD

    async def find(self, query: str, max_results: int = 10, filters: Filters | None = None) -> SourceReply:
        """Search Europe PMC, most relevant first.

        Args:
            query: words, or a boolean form; PubMed's field tags are translated.
            max_results: records to give.
            filters: `preprints` (`only` or `none`), `mindate`, `maxdate` (years or dates), `page` (from 1).

        Raises:
            SearchError: no answer, or no readable one.
        """
        sent = _asked(query, filters or {})
        wanted = max(1, max_results)
        pages, warnings = await self._pages(sent, wanted, int((filters or {}).get("page", 1)))
        warnings = [*(line for page in pages for line in page.unread), *warnings]
        records = list({record.citation.url: record for page in pages for record in page.records}.values())[:wanted]
        return SourceReply(
            source=self.name,
            query=sent,
            status=Status.PARTIAL if warnings else Status.OK if records else Status.EMPTY,
            records=rank(plain_words(query), records),
            total=pages[0].total,
            warnings=warnings,
            url=pages[0].url,
        )

    async def _pages(self, query: str, wanted: int, number: int) -> tuple[list[Page], list[str]]:
        """Pages until there are enough records or no more; a later page that fails is named, and loses no earlier."""
        pages: list[Page] = []
        mark = "*" if number == 1 else self.transport.marks.get((self.name, query, number))
        if (self.name, query, number) not in self.transport.marks and number > 1:  # of a run's earlier life
            await self._pages(query, wanted, number - 1)
            mark = self.transport.marks[self.name, query, number]
        if mark is None:
            return [Page(0, [], [], None)], []
        while mark and (not pages or sum(len(page.records) for page in pages) < min(wanted, pages[0].total)):
            try:
                page = await self._page(query, min(wanted, _PAGE_SIZE), mark)
            except SearchError as error:
                if not pages:
                    raise
                return pages, [f"only the first hits could be had: {error.reason}"]
            pages.append(page)
            mark = page.next_mark if page.records and page.next_mark != mark else None
        self.transport.marks[self.name, query, number + 1] = mark
        return pages, []

    async def _page(self, query: str, size: int, mark: str) -> Page:
        return await self.transport.get(
            self.name,
            "search",
            params={
                "query": query,
                "format": "json",
                "resultType": "core",
                "pageSize": size,
                "cursorMark": mark,
                "synonym": "true",  # as the website searches; the API's default leaves MeSH synonyms out
            },
            read=_first_page if mark == "*" else _page,
        )


def _asked(query: str, filters: Filters) -> str:
    """The query in Europe PMC's language, with its filters."""
    check_filters("europepmc", filters, ("preprints", "mindate", "maxdate", "page"))
    if not query.strip():
        raise SourceRefused("europepmc", "cannot search for nothing: the query is empty")
    first, last = (boundary("europepmc", filters, name) for name in ("mindate", "maxdate"))
    extra = f" AND FIRST_PDATE:[{first or '1500-01-01'} TO {last or '3000-12-31'}]" if first or last else ""
    sources = {None: "", "only": " AND SRC:PPR", "none": " NOT SRC:PPR"}
    wanted = filters.get("preprints")
    if wanted not in sources:
        raise SourceRefused("europepmc", f"takes 'only' or 'none' as preprints, not {redacted(wanted)!r}")
    extra += sources[wanted]
    return f"({translated(query)}){extra}" if extra else translated(query)


def translated(query: str) -> str:
    """A PubMed query in Europe PMC's language: field tags become prefixes, unknown ones are left out.

    >>> translated('("long covid"[tiab] OR PASC[all]) AND metformin AND 2019:2021[dp]')
    '(TITLE_ABS:"long covid" OR PASC) AND metformin AND PUB_YEAR:[2019 TO 2021]'
    """
    return " ".join(_TAGGED.sub(_prefixed, " ".join(query.split())).split())


def _prefixed(match: re.Match[str]) -> str:
    term, tag = match[1] or "", match[2].lower().partition(":")[0].strip()
    if term.endswith(":"):  # a range of Europe PMC's own
        return match[0]
    prefix = _FIELDS.get(tag)
    if not term or prefix is None:
        return term
    if prefix != "PUB_YEAR":
        return f"{prefix}:{term}"
    years = re.findall(r"(?<!\d)[12]\d{3}(?!\d)", term)
    return f"PUB_YEAR:[{years[0]} TO {years[-1]}]" if years else term


def _page(reply: Reply) -> Page:
    return parse_page(reply.json(), url=reply.url)


def _first_page(reply: Reply) -> Page:
    """Read a page that must hold hits when any are counted."""
    page = _page(reply)
    if page.total and not page.records and not page.unread:
        raise UnreadableReply("europepmc", f"counts {page.total} hits and lists none")
    return page


def parse_page(data: Any, url: str = "") -> Page:
    """Read a page of search results (`core`, `lite` or `idlist`).

    Raises:
        SourceRefused: Europe PMC says that the query is at fault, which it does with status 200.
        SourceUnavailable: Europe PMC reports a fault of its own, likewise.
        UnreadableReply: neither hits nor an error; a page without a count is no empty result.

    >>> parse_page({"version": "6.9", "hitCount": 0, "resultList": {"result": []}}).records
    []
    """
    if not isinstance(data, dict):
        raise UnreadableReply("europepmc", "answered without a search result")
    if "errCode" in data or "errMsg" in data:
        said = redacted(data.get("errMsg") or data.get("errCode"))
        if str(data.get("errCode")).startswith("5"):
            raise SourceUnavailable("europepmc", f"reports an error: {said}")
        raise SourceRefused("europepmc", f"refuses the search: {said}")
    count, listed = str(data.get("hitCount")), data.get("resultList")
    hits = listed.get("result") if isinstance(listed, dict) else None
    if not count.isdecimal() or (int(count) and not isinstance(hits, list)):
        raise UnreadableReply("europepmc", "answered without a count or a list of hits")
    records, unread = _records(hits or [])
    mark = data.get("nextCursorMark")
    return Page(int(count), records, unread, mark if isinstance(mark, str) and mark else None, url)


def _records(hits: list[Any]) -> tuple[list[Evidence], list[str]]:
    records, unread = [], []
    for hit in hits:
        try:
            records.append(parse_record(hit))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            name = redacted(hit.get("id")) if isinstance(hit, dict) else "without number"
            unread.append(f"hit {name} is unreadable ({type(error).__name__})")
    return records, unread
