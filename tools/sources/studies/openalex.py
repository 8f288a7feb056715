"""OpenAlex: a search of works where settings name it, and retraction flag and citation count of a work by its DOI.

Its terms ask for a key, which is free, since February 2026. Single look-ups are free; searches cost a tenth of a cent
each: a key gives a thousand a day. Without one a small daily allowance is shared by all who use the same address, and
once it is used up every request is refused until midnight UTC: https://developers.openalex.org/guides/authentication.
Abstracts come as an index of words by place, since their text may not be handed on.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

from ...errors import AccessRefused, RateLimitError, SearchError, SourceRefused, UnreadableReply
from ...http.reply import Reply, at, count, dicts, entries, read_each, text
from ...http.transport import Transport
from ...questions.query import remove_tags
from ...records import Notice, Publication
from ...records.card import SourceCard
from ...records.evidence import Citation, Evidence, checked_identifier
from ...search import Filters, Page, Source, SourceReply, choose_request_size, local_library
from ..publications import (
    NO_TITLE,
    DatedFilters,
    choose_publication_date,
    extract_words,
    find_date,
    find_trial_numbers,
    remove_markup,
    write_content,
)

CARD = SourceCard(
    name="openalex",
    place=160,
    title="OpenAlex",
    purpose="Search OpenAlex for publications of all fields, with citation counts and concepts.",
    address="https://api.openalex.org",
    documentation="https://developers.openalex.org/guides/authentication",
    per_second=8,
    has_daily_budget=True,
    key="OPENALEX_API_KEY",
    key_in="parameter",
    without_key="it is not searched; retractions and citation counts are looked up within a small daily allowance",
    hosts=("openalex.org",),
    gives="publication",
    dialect="boolean",
    use="named",
    specialist="literature",
)
_PAGE_SIZE = 100  # the largest allowed
_FIELDS = (
    "id,doi,ids,title,publication_date,publication_year,type,language,authorships,primary_location,biblio,open_access,"
    "cited_by_count,is_retracted,concepts,mesh,abstract_inverted_index"
)
_LONGEST_QUERY = 3000  # characters once encoded: the whole URL may have 4,094 bytes
_MOST_WORDS = 5000  # of an abstract
_MOST_CONCEPTS = 10
_ID = re.compile(r"https://openalex\.org/W[0-9]{1,15}")
_NOTICES = frozenset({"erratum", "retraction"})
"""Types of notices on other works, which report no study."""


class OpenAlex(Source):
    """OpenAlex's index of works."""

    card = CARD
    filters = DatedFilters

    async def find_online(self, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Search titles, abstracts and, where OpenAlex has them, full texts, most relevant first."""
        dates = DatedFilters.of(self.name, filters)
        words = extract_words(query)
        sent = remove_tags(query)
        notes = list[str]()
        if len(quote(sent)) > _LONGEST_QUERY:
            sent = words[: _LONGEST_QUERY // 3]
            notes = ["the query was too long for OpenAlex and was shortened to its words"]
        bounds = [f"from_publication_date:{dates.mindate}"] if dates.mindate else []
        bounds += [f"to_publication_date:{dates.maxdate}"] if dates.maxdate else []
        size = max(1, max_results)
        ask = partial(self._ask, sent, ",".join(bounds) or None, choose_request_size(size, _PAGE_SIZE))
        page, problems = await self.page(dates.page, size, f"{sent} {bounds}", ask)
        records, unread = read_each(page.hits, parse_record)
        problems = [*unread, *problems]
        return self.reply(sent, records, words=words, total=page.total, problems=problems, notes=notes, url=page.url)

    async def _ask(self, query: str, bounds: str | None, size: int, mark: str | None) -> Page:
        params = {"search": query, "filter": bounds, "select": _FIELDS, "per_page": size, "cursor": mark or "*"}
        read = partial(parse_page, first=mark is None)
        return await self.transport.get(
            self.name, "works", params=params, also=(400, 401, 403, 429), read=read, needs_key=True
        )


def parse_page(reply: Reply, *, first: bool = False) -> Page:
    """Parse a page of works, the first or another; `parse_record` reads its hits.

    Raises:
        RateLimitError: too many requests a second, or the day's allowance is used up.
        AccessRefused: OpenAlex refuses the key.
        SourceRefused: OpenAlex refuses the query.
        UnreadableReply: no list of works with its count.
    """
    if reply.status in (403, 429):
        raise parse_refusal(reply, has_key=True)
    if reply.status == 401:
        raise AccessRefused(reply.source, "refused the key (401)", reply.status)
    if reply.status != 200:
        raise SourceRefused(reply.source, f"refused the query ({reply.status})")
    data = reply.json()
    total = count(at(data, "meta", "count"))
    if total is None:
        raise UnreadableReply(reply.source, "answered without a count of works")
    hits = entries(reply.source, data, "results", what="a list of works", keys=("id",))
    if first and total and not hits:
        raise UnreadableReply(reply.source, f"counts {total} works and lists none")
    return Page(hits, total, text(at(data, "meta", "next_cursor")), reply.url)


def parse_record(hit: Mapping[str, Any]) -> Evidence:
    """Convert one work.

    Raises:
        LookupError: it has no OpenAlex number.
    """
    address = str(hit["id"])
    if not _ID.fullmatch(address):
        raise LookupError(address)
    title = remove_markup(text(hit.get("title")) or "") or NO_TITLE
    abstract = remove_markup(_parse_abstract(hit.get("abstract_inverted_index")))
    kind = text(hit.get("type"))
    is_preprint = kind == "preprint"
    authors = [text(at(entry, "author", "display_name")) for entry in dicts(hit, "authorships")]
    first_page = text(at(hit, "biblio", "first_page"))
    last_page = text(at(hit, "biblio", "last_page"))
    record = (Notice if kind in _NOTICES else Publication)(
        pmid=checked_identifier("pmid", _take_last_part(at(hit, "ids", "pmid"))),
        pmcid=_parse_pmcid(at(hit, "ids", "pmcid")),
        doi=checked_identifier("doi", hit.get("doi")),
        journal=text(at(hit, "primary_location", "source", "display_name")),
        volume=text(at(hit, "biblio", "volume")),
        issue=text(at(hit, "biblio", "issue")),
        pages=f"{first_page}-{last_page}" if first_page and last_page and first_page != last_page else first_page,
        language=text(hit.get("language")),
        is_open_access=_parse_flag(at(hit, "open_access", "is_oa")),
        cited_by_count=_parse_number(hit.get("cited_by_count")),
        publication_types=[kind] if kind else [],
        is_preprint=is_preprint,
        retracted=_parse_flag(hit.get("is_retracted")),
        concepts=[
            name for entry in dicts(hit, "concepts")[:_MOST_CONCEPTS] if (name := text(entry.get("display_name")))
        ],
        mesh_terms=[name for entry in dicts(hit, "mesh") if (name := text(entry.get("descriptor_name")))],
        nct_ids=find_trial_numbers(title, abstract),
        has_abstract=bool(abstract),
    )
    return Evidence(
        content=write_content(title, abstract, preprint=is_preprint),
        citation=Citation(
            source="openalex",
            title=title,
            url=address,
            date=_parse_date(hit),
            authors=[name for name in authors if name],
        ),
        record=record,
    )


def _parse_abstract(index: Any) -> str:
    """Put the words of an abstract in their places; empty without an index.

    >>> _parse_abstract({"fell.": [2], "Fever": [0], "quickly": [1]})
    'Fever quickly fell.'
    """
    places = dict[int, str]()
    for word, numbers in index.items() if isinstance(index, Mapping) else ():
        for place in numbers if isinstance(numbers, list) else ():
            if isinstance(place, int) and len(places) < _MOST_WORDS:
                places[place] = str(word)
    return " ".join(places[place] for place in sorted(places))


def _parse_date(hit: Mapping[str, Any]) -> str:
    day = find_date(text(hit.get("publication_date")) or "")
    year = find_date(text(hit.get("publication_year")) or "")
    # a work of which the year alone is known is given 1 January
    return choose_publication_date(year, day if day and not day.endswith("-01-01") else None)


def _parse_pmcid(address: Any) -> str | None:
    number = _take_last_part(address).upper().removeprefix("PMC")
    return checked_identifier("pmcid", f"PMC{number}")


def _take_last_part(address: Any) -> str:
    """Return what an address ends with.

    >>> _take_last_part("https://pubmed.ncbi.nlm.nih.gov/123/"), _take_last_part(None)
    ('123', '')
    """
    return (text(address) or "").rstrip("/").rpartition("/")[2]


def _parse_flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _parse_number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


_SPENT = ("budget", "daily limit", "credits")
"""Words of its refusals once the day's allowance is used up."""


class Work(NamedTuple):
    is_retracted: bool | None
    """None if not stated."""
    cited_by_count: int | None


async def fetch_work(doi: str, transport: Transport) -> Work | None:
    """Look up one publication; None if OpenAlex does not know it, or `doi` is invalid.

    Raises:
        SearchError: no reply, or an unreadable one.
    """
    checked = checked_identifier("doi", doi)
    if checked is None:
        return None
    if (library := local_library(transport)) is not None:
        publication = library.work("openalex", checked)
        return parse_work(publication) if publication else None
    params = {"select": "id,doi,is_retracted,cited_by_count"}
    path = f"works/doi:{quote(checked, safe='/')}"

    has_key = transport.endpoints["openalex"].key is not None

    def read(reply: Reply) -> Work | None:
        if reply.status in (403, 429):
            raise parse_refusal(reply, has_key)
        return None if reply.status == 404 else parse_work(reply.json())

    return await transport.get("openalex", path, params=params, read=read, also=(403, 404, 429))


def parse_refusal(reply: Reply, has_key: bool) -> SearchError:
    """Return the error that a 403 or 429 means: a day's allowance used up, too many requests at a time, or no access.

    OpenAlex sends 403 for too many requests as well: https://developers.openalex.org/api-reference/errors.
    """
    words = reply.body[:2000].decode("utf-8", "replace").lower()
    is_spent = reply.headers.get("x-ratelimit-remaining", "").strip() == "0" or any(word in words for word in _SPENT)
    if is_spent:
        way_out = "" if has_key else "; a free key raises it (set OPENALEX_API_KEY)"
        reason = f"its allowance for today is used up ({reply.status}){way_out}"
        return RateLimitError("openalex", reason, reply.retry_after_s or _count_seconds_to_midnight())
    if reply.status == 429 or "rate limit" in words:
        return RateLimitError("openalex", f"asks for fewer requests ({reply.status})", reply.retry_after_s)
    return AccessRefused("openalex", f"refused the request ({reply.status})", reply.status)


def _count_seconds_to_midnight() -> float:
    """Count the seconds to midnight UTC, when allowances are renewed."""
    now = datetime.now(UTC)
    midnight = (now + timedelta(days=1)).replace(hour=0, minute=0, second=0, microsecond=0)
    return (midnight - now).total_seconds()


def parse_work(data: Any) -> Work:
    """Parse a single publication; raises `UnreadableReply` if it has no DOI."""
    if not isinstance(data, dict) or checked_identifier("doi", data.get("doi")) is None:
        raise UnreadableReply("openalex", "answered without a work")
    return Work(
        is_retracted=_parse_flag(data.get("is_retracted")), cited_by_count=_parse_number(data.get("cited_by_count"))
    )
