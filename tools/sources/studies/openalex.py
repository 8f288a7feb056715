"""OpenAlex: retraction flag and citation count by DOI, and a search; searched with `OPENALEX_API_KEY` alone.

Single works are free, with and without a key; searches are paid from a daily allowance, which lasts for next to none
without one: https://developers.openalex.org/guides/authentication.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ...errors import SourceRefused, UnreadableReply
from ...evidence import Citation, Evidence, checked_identifier
from ...http.reply import Reply, at, count, dicts, read_each, text
from ...http.transport import Transport
from ...questions.query_syntax import without_tags
from ...records import Publication
from ...search import Filters, Page, Source, SourceReply
from ..card import SourceCard
from ..publications import (
    NO_TITLE,
    DatedFilters,
    date_of,
    leads_elsewhere,
    page_range,
    plain_words,
    trial_numbers,
    written,
)

CARD = SourceCard(
    name="openalex",
    title="OpenAlex",
    purpose="Search OpenAlex for scholarly works of every field, with citation counts and retraction flags.",
    address="https://api.openalex.org",
    documentation="https://developers.openalex.org/guides/authentication",
    per_second=8,
    key="OPENALEX_API_KEY",
    key_in="parameter",
    without_key="OpenAlex is not searched; it still tells what was retracted, as PubMed, Europe PMC and Crossref do",
    fresh_days=1,
    gives="publication",
    dialect="boolean",
    use="named",
    specialist="literature",
)

_FIELDS = (
    "id,doi,ids,title,display_name,publication_date,publication_year,type,is_retracted,cited_by_count,authorships,"
    "primary_location,biblio,open_access,mesh,abstract_inverted_index,language"
)
_MAX_PAGE = 100  # records a request
_MAX_POSITIONS = 20_000  # words of an abstract; real ones stay below 2,000


@dataclass(frozen=True, slots=True)
class Work:
    """OpenAlex's word on one work."""

    doi: str
    is_retracted: bool | None
    """None where it does not say."""
    cited_by_count: int | None
    pmid: str | None = None


class OpenAlex(Source):
    """OpenAlex: every field's literature, with citation counts."""

    card = CARD
    filters = DatedFilters

    async def find(self, query: str, max_results: int = 10, filters: Filters | None = None) -> SourceReply:
        """Search OpenAlex, most relevant first.

        Args:
            query: words, or a boolean form; field tags are taken off.
            max_results: records to give, up to 100.
            filters: of `DatedFilters`.

        Raises:
            SearchError: no answer, or no readable one.
        """
        if not self.transport.endpoints.may_search(self.name):
            raise SourceRefused(self.name, f"is not searched without a key ({CARD.key})")
        sent = without_tags(query)
        params = _asked(sent, max_results, DatedFilters.of(self.name, filters))
        page = await self.transport.get(self.name, "works", params=params, read=parse_page)
        records, unread = read_each(page.hits, parse_record)
        return self.reply(sent, records, words=plain_words(query), total=page.total, problems=unread, url=page.url)


async def work(doi: str, transport: Transport) -> Work | None:
    """Ask about one work; None where OpenAlex does not know it, or `doi` is none.

    Raises:
        SearchError: no answer, or no readable one.
    """
    checked = checked_identifier("doi", doi)
    if checked is None or leads_elsewhere(checked):
        return None
    params = {"select": "id,doi,ids,is_retracted,cited_by_count"}
    path = f"works/doi:{quote(checked, safe='/')}"
    return await transport.get("openalex", path, params=params, read=_work, also=(404,))


def _asked(words: str, max_results: int, filters: DatedFilters) -> dict[str, object]:
    if not words:
        raise SourceRefused("openalex", "cannot search for nothing: the query is empty")
    ends = {"from_publication_date": filters.mindate, "to_publication_date": filters.maxdate}
    dates = [f"{name}:{day}" for name, day in ends.items() if day is not None]
    return {
        "search": words,
        "per_page": max(1, min(max_results, _MAX_PAGE)),
        "page": filters.page if filters.page > 1 else None,
        "select": _FIELDS,
        "filter": ",".join(dates) or None,
    }


def _work(reply: Reply) -> Work | None:
    if reply.status == 404:
        return None
    return parse_work(reply.json())


def parse_work(data: Any) -> Work:
    """Read a single work.

    Raises:
        UnreadableReply: not a work with a DOI.

    >>> parse_work({"id": "W1", "doi": "https://doi.org/10.5555/A", "is_retracted": True}).is_retracted
    True
    """
    doi = checked_identifier("doi", data.get("doi")) if isinstance(data, dict) else None
    if doi is None:
        raise UnreadableReply("openalex", "answered without a work")
    retracted, cited = data.get("is_retracted"), data.get("cited_by_count")
    return Work(
        doi=doi,
        is_retracted=retracted if isinstance(retracted, bool) else None,
        cited_by_count=cited if isinstance(cited, int) and not isinstance(cited, bool) else None,
        pmid=_pmid(data),
    )


def parse_page(reply: Reply) -> Page:
    """Read a page of hits.

    Raises:
        UnreadableReply: not a list of works.
    """
    data = reply.json()
    total, results = count(at(data, "meta", "count")), at(data, "results")
    if total is None or not isinstance(results, list):
        raise UnreadableReply("openalex", "answered without a count or a list of works")
    return Page(results, total, url=reply.url)


def parse_record(hit: Mapping[str, Any]) -> Evidence:
    """Read one work as evidence.

    Raises:
        LookupError: it has no number.
    """
    title = " ".join(str(hit.get("title") or hit.get("display_name") or "").split()) or NO_TITLE
    abstract = rebuilt(hit.get("abstract_inverted_index"))
    preprint = hit.get("type") == "preprint"
    doi = checked_identifier("doi", hit.get("doi"))
    mesh = [each.get("descriptor_name") for each in dicts(hit, "mesh")]
    retracted, cited = hit.get("is_retracted"), hit.get("cited_by_count")
    names = (at(each, "author", "display_name") for each in dicts(hit, "authorships"))
    language = hit.get("language")
    journal, is_open = at(hit, "primary_location", "source", "display_name"), at(hit, "open_access", "is_oa")
    return Evidence(
        content=written(title, abstract, preprint=preprint),
        citation=Citation(
            source="openalex",
            title=title,
            url=f"https://doi.org/{quote(doi)}" if doi else str(hit["id"]),
            date=date_of(str(hit.get("publication_date") or hit.get("publication_year") or "")) or "Unknown",
            authors=[surname_first(name) for name in names if isinstance(name, str) and name.strip()],
        ),
        record=Publication(
            pmid=_pmid(hit),
            doi=doi,
            journal=journal if isinstance(journal, str) else None,
            volume=text(at(hit, "biblio", "volume")),
            issue=text(at(hit, "biblio", "issue")),
            pages=_pages(hit),
            language=language if isinstance(language, str) else None,
            mesh_terms=list(dict.fromkeys(str(term) for term in mesh if term)),
            nct_ids=trial_numbers(title, abstract),
            is_open_access=is_open if isinstance(is_open, bool) else None,
            is_preprint=preprint,
            retracted=retracted if isinstance(retracted, bool) else None,
            cited_by_count=cited if isinstance(cited, int) and not isinstance(cited, bool) else None,
            has_abstract=bool(abstract),
        ),
    )


def _pages(hit: Mapping[str, Any]) -> str | None:
    """First and last page, one where both are the same."""
    ends = (at(hit, "biblio", name) for name in ("first_page", "last_page"))
    return page_range("-".join(dict.fromkeys(str(end) for end in ends if end)))


def rebuilt(index: Any) -> str:
    """An abstract from its inverted index; empty where there is none.

    >>> rebuilt({"fell.": [1], "Pain": [0, 2], "rose.": [3]})
    'Pain fell. Pain rose.'
    """
    if not isinstance(index, dict):
        return ""
    placed = [
        (place, str(word))
        for word, places in index.items()
        for place in (places if isinstance(places, list) else [])
        if isinstance(place, int)
    ]
    return " ".join(word for _, word in sorted(placed)[:_MAX_POSITIONS])


def surname_first(name: str) -> str:
    """A name as citations write it.

    >>> surname_first("Ana María de Souza"), surname_first("WHO")
    ('Souza AMD', 'WHO')
    """
    *given, surname = name.split()
    initials = "".join(part[0].upper() for part in given)
    return f"{surname} {initials}".strip()


def _pmid(hit: Mapping[str, Any]) -> str | None:
    """The PMID, which OpenAlex writes as an address."""
    written_as = str(at(hit, "ids", "pmid") or "").rstrip("/").rpartition("/")[2]
    return checked_identifier("pmid", written_as)
