"""Search: what a source is, and how the records of a reply are ranked.

A source is a small class that queries its API through a given transport and parses replies with pure functions.
`Source` has the shared parts: checking filters, paging, building the reply. `SearchHandler` queries several at once and
merges the results; a source that fails is named and does not stop the others.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from importlib import import_module
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, model_validator

from .arguments import drop_absent
from .errors import AccessRefused, SearchError, SourceRefused, SourceUnavailable, UnreadableReply, UsageError
from .http.endpoints import Endpoints
from .http.recent import RecentReplies
from .http.transport import Transport
from .lexicon.matching import content_words, select_stems, stems
from .questions import widen_query
from .questions.query import raise_operators
from .records.card import SourceCard, load_source_modules
from .records.evidence import Evidence, SourceName
from .records.registry import searchable

Filters = Mapping[str, Any]
MAX_PAGE = 100
BM25_SHARE = 0.7
"""Weight of the word match; the rest is the source's own order, which also uses fields and synonyms."""
_K1 = 1.2
_B = 0.75  # Robertson & Zaragoza 2009, https://doi.org/10.1561/1500000019
_TITLE_WEIGHT = 2  # times that a word in the title counts
_NAME = TypeAdapter[SourceName](SourceName)


class SearchFilters(BaseModel, frozen=True, extra="forbid"):
    """Filters of a source, also arguments of its tool; a source with more than the page declares its own."""

    page: int = Field(default=1, ge=1, le=MAX_PAGE, description="1 for the first hits, 2 for those after them, …")

    @model_validator(mode="before")
    @classmethod
    def _drop_absent(cls, arguments: object) -> object:
        return drop_absent(cls.model_fields, arguments)

    @classmethod
    def of(cls, source: str, said: Filters | None) -> Self:
        """Parse filters; a SourceRefused names one that is unknown, or its invalid value."""
        try:
            return cls.model_validate(dict(said or {}))
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
        name = str(first["loc"][0])[:40]
        there_are = ", ".join(cls.model_fields)
        value = "" if first["type"] == "extra_forbidden" else f" {str(first['input'])[:40]!r}"
        raise SourceRefused(source, f"filter {name}{value}: {first['msg'][:200]}; its filters are {there_are}")


@dataclass(frozen=True, slots=True)
class Page:
    """Result of one request for hits."""

    hits: list[Any]
    total: int = 0
    """Total hits; may be 0 on later pages."""
    mark: str | None = None
    """The source's cursor for the next page; None on the last."""
    url: str = ""


class ToolMetadata(BaseModel, frozen=True, extra="forbid"):
    name: str
    description: str
    rate_limit: float | None = None
    """Requests per second; None if the source publishes no limit."""
    requires_api_key: bool = False


class Status(StrEnum):
    """Outcome of a search; `unavailable` is never reported as `empty`."""

    OK = "ok"
    EMPTY = "empty"
    PARTIAL = "partial"
    """Some records could not be retrieved; `warnings` say which."""
    UNAVAILABLE = "unavailable"
    """The source could not be reached or read."""
    BAD_QUERY = "bad_query"
    """The source refused the query."""


class SourceReply(BaseModel, frozen=True, extra="forbid", defer_build=True):
    """Reply of one source to one query."""

    source: SourceName
    query: str
    status: Status
    records: list[Evidence] = []
    total: int = 0
    """Hits reported by the source; `records` are the first of them."""
    warnings: list[str] = []
    url: str = ""
    """Without any key."""
    library: str = ""
    """Description of the local library that answered instead; empty if the source answered."""
    asked: str = ""
    """The query before the source translated it; empty if not recorded."""
    asked_at: datetime | None = None
    understood: str = ""
    truncated: bool = Field(default=False, exclude_if=lambda is_cut: not is_cut)
    """Whether records or parts of their text were dropped to shorten a message."""

    @property
    def line(self) -> str:
        return f"{self.source}: {self.status.value.replace('_', ' ')}, {len(self.records)} of {self.total}"

    @classmethod
    def failed(cls, source: str, query: str, error: SearchError) -> "SourceReply":
        is_about_query = isinstance(error, SourceRefused) and not isinstance(error, AccessRefused)
        status = Status.BAD_QUERY if is_about_query else Status.UNAVAILABLE
        return cls(source=source_name_of(source), query=query, status=status, warnings=[error.reason])


@runtime_checkable
class SearchTool(Protocol):
    """Anything that can be searched for evidence."""

    @property
    def name(self) -> str:
        """A `SourceName`."""

    async def search(self, query: str, max_results: int = 10, filters: Filters | None = None) -> list[Evidence]:
        """Return up to `max_results` records; raises `SearchError` if there is no answer."""

    def get_metadata(self) -> ToolMetadata:
        """Describe this tool."""


class LocalLibrary(Protocol):
    """What sources ask of the local library that answers in their place, as `library.Library` describes it."""

    path: str

    @property
    def digest(self) -> str: ...
    @property
    def summary(self) -> str: ...
    def find(self, source: "Source", query: str, max_results: int, filters: Filters | None) -> SourceReply: ...
    def look_up(self, source: "Source", names: Sequence[str]) -> SourceReply: ...
    def papers(self, source: "Source", pmids: Sequence[str]) -> SourceReply: ...
    def by_numbers(self, names: Iterable[str]) -> list[Evidence]: ...
    def citations(self, source: "Source", pmid: str) -> SourceReply: ...
    def trial(self, source: "Source", nct_id: str) -> SourceReply: ...
    def full_text(self, pmcid: str) -> str: ...
    def work(self, source: str, doi: str) -> dict[str, Any] | None: ...


def local_library(transport: Transport) -> LocalLibrary | None:
    library: LocalLibrary | None = transport.endpoints.library
    return library


def rank(question: str, records: Sequence[Evidence]) -> list[Evidence]:
    """Score each record's relevance (0 to 1) to the question; best first.

    A record's position in `records` is its source's rank. Ties are broken by key, so the order is deterministic.
    """
    wanted = frozenset(stems(question))
    counted = [_count_stems(record.citation.title, record.content, wanted) for record in records]
    holding = Counter(word for _, found in counted for word, _ in found)
    weights = {word: math.log(1 + (len(records) - held + 0.5) / (held + 0.5)) for word, held in holding.items()}
    mean_length = sum(length for length, _ in counted) / max(1, len(counted))
    scores = [
        sum(weights[word] * n / (n + _K1 * (1 - _B + _B * length / mean_length)) for word, n in found)
        for length, found in counted
    ]
    best = max(scores, default=0.0) or 1.0
    ranked = []
    for place, (record, score) in enumerate(zip(records, scores, strict=True)):
        relevance = BM25_SHARE * score / best + (1 - BM25_SHARE) * (1 - place / len(records))
        ranked.append(record.model_copy(update={"relevance": round(relevance, 4)}))
    return sorted(ranked, key=lambda record: (-record.relevance, record.key))


@lru_cache(maxsize=16384)
def _count_stems(title: str, text: str, wanted: frozenset[str]) -> tuple[int, tuple[tuple[str, int], ...]]:
    """Count the content words and the occurrences of each wanted stem; cached for the next round."""
    found = content_words(f"{(title + ' ') * _TITLE_WEIGHT}{text}")
    return len(found), tuple(sorted(Counter(select_stems(found, wanted)).items()))


_of_process: RecentReplies["SourceReply"] = RecentReplies()
"""Replies to searches of tools used alone, which open a transport each time."""


def open_transport() -> Transport:
    """Open the transport of a tool used alone: to the library that the environment names, else the public sources."""
    endpoints: Endpoints = import_module("willowbark.tools.library").read_environment()
    return Transport(endpoints, recent=_of_process)


class Source:
    """Base class of sources: subclasses set their name and implement `find_online` using `page` and `reply`.

    Without a transport it opens its own for each search, or once as an async context manager:

        async with PubMed() as pubmed:
            records = await pubmed.search("propranolol AND migraine")

    A search that was answered is not sent again for 15 minutes: by the same transport, or without one in this process.

    Args:
        transport: connection to the sources, left open; None opens one and closes it again.
    """

    card: ClassVar[SourceCard | None] = None
    """None for a user's own source, which sets `name` and `description` itself."""
    name: ClassVar[SourceName]
    description: ClassVar[str]
    """One sentence for the models that choose among tools."""
    filters: ClassVar[type[SearchFilters]] = SearchFilters

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.card is not None:
            cls.name = cls.card.name
            cls.description = cls.card.purpose

    def __init__(self, transport: Transport | None = None) -> None:
        self._transport = transport
        self._is_lent = transport is not None
        self._users = 0

    @property
    def transport(self) -> Transport:
        """The transport; UsageError where none is open."""
        if self._transport is None:
            how = f"`async with {type(self).__name__}() as source:`"
            raise UsageError(f"{self.name} has no connection open: use {how}, or pass a transport")
        return self._transport

    async def __aenter__(self) -> Self:
        if self._transport is None:
            self._transport = open_transport()
        self._users += 1
        return self

    async def __aexit__(self, *_: object) -> None:
        self._users -= 1
        if self._users or self._is_lent or self._transport is None:
            return
        transport = self._transport
        self._transport = None
        await transport.close()

    async def find(self, query: str, max_results: int = 10, filters: Filters | None = None) -> SourceReply:
        """Search, returning status, records, the source's hit count and warnings; a local library answers in its place.

        Args:
            query: words, or the boolean form from `preprocess_query`.
            max_results: 1 to 50 records.
            filters: fields of `self.filters`; unknown names raise `SourceRefused`.

        Raises:
            SearchError: no answer, or an unreadable one.
        """
        async with self:
            recent = self.transport.recent
            search = self._identify(query, max_results, filters)
            reply: SourceReply | None = recent.get(search)
            if reply is None:
                reply = await self._find_wider(query, max_results, filters)
                if reply.status in (Status.OK, Status.EMPTY):  # the others may succeed next time
                    recent.put(search, reply)
        return reply.model_copy(update={"records": [*reply.records], "warnings": [*reply.warnings]})

    def _identify(self, query: str, max_results: int, filters: Filters | None) -> tuple[object, ...]:
        """Return what tells a search from others, of other libraries and servers too."""
        endpoints = self.transport.endpoints
        library = local_library(self.transport)
        server = library.digest if library else endpoints[self.name].base_url if self.card else ""
        return (type(self), server, query, max_results, repr(sorted((filters or {}).items())))

    async def _find_wider(self, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Search, and search with fewer words if nothing is found."""
        asks_in_words = self.card is not None and self.card.dialect == "boolean"  # for publications or trials
        query = raise_operators(query) if asks_in_words else query
        reply = await self._find(query, max_results, filters)
        for wider in widen_query(query) if asks_in_words and reply.status is Status.EMPTY else ():
            reply = await self._find(wider, max_results, filters)
            told = [*reply.warnings, f"nothing on the whole query; asked {wider}"]
            reply = reply.model_copy(update={"warnings": told})
            if reply.status is not Status.EMPTY:
                break
        return reply

    async def _find(self, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        if not query.strip():
            raise SourceRefused(self.name, "cannot search for nothing: the query is empty")
        if (library := local_library(self.transport)) is not None:
            return await asyncio.to_thread(library.find, self, query, max_results, filters)
        return await self.find_online(query, max_results, filters)

    async def find_online(self, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Search the source itself; same interface as `find`."""
        raise NotImplementedError

    async def search(self, query: str, max_results: int = 10, filters: Filters | None = None) -> list[Evidence]:
        """Search for records, ranked for the query; raises `SearchError` if there is no answer."""
        return (await self.find(query, max_results, filters)).records

    async def page(
        self, number: int, size: int, asked: str, ask: Callable[[str | None], Awaitable[Page]]
    ) -> tuple[Page, list[str]]:
        """Return one page of hits from a source with cursor-based paging, and problems that left hits out.

        The transport remembers cursors, so that the next page costs one request. If the source returns fewer hits than
        requested, it is asked again until the page is full; a failure then keeps the hits so far.

        Args:
            number: 1 for the first page.
            size: hits per page.
            asked: the query with its filters, identifying the search.
            ask: returns the hits after a cursor; None returns the first hits.

        Raises:
            SearchError: no answer, or an unreadable one.
        """
        search = self.transport.marks.setdefault((self.name, asked, size), {1: (None, 0)})
        at = max(each for each in search if each <= number)
        while True:
            mark, total = search[at]
            found = await ask(mark)
            problems = list[str]()
            while found.mark not in (None, mark) and len(found.hits) < min(size, found.total or size) and not problems:
                mark = found.mark
                try:
                    more = await ask(mark)
                except SearchError as error:
                    problems = [f"only the first {len(found.hits)} could be had: {error.reason}"]
                else:
                    following = more.mark if more.hits else None
                    found = Page([*found.hits, *more.hits], found.total, following, found.url)
            total = total or found.total
            if found.mark and found.hits and not problems:
                search[at + 1] = (found.mark, total)
            if at == number:
                return Page(found.hits[:size], total, found.mark, found.url), problems
            if at + 1 not in search:
                return Page([], total, None, found.url), problems
            at += 1

    def reply(
        self,
        query: str,
        records: Iterable[Evidence],
        *,
        words: str | None = None,
        total: int = 0,
        problems: Iterable[str] = (),
        notes: Iterable[str] = (),
        url: str = "",
        understood: str = "",
    ) -> SourceReply:
        """Build a reply without duplicate records; its status follows from records and problems.

        Args:
            query: the query as sent.
            records: best first.
            words: words to rank by; None keeps the order.
            total: total hits; raised to the number of records if lower.
            problems: records that could not be retrieved; any makes the reply partial.
            notes: other warnings.
            url: the request's URL.
            understood: the query as interpreted by the source.
        """
        found = list({record.key: record for record in records}.values())
        failed = list(problems)
        status = Status.PARTIAL if failed else Status.OK if found else Status.EMPTY
        return SourceReply(
            source=self.name,
            query=query,
            status=status,
            records=found if words is None else rank(words, found),
            total=max(total, len(found)),
            warnings=[*notes, *failed],
            url=url,
            understood=understood,
        )

    async def look_up(self, *names: str) -> SourceReply:
        """Look up single items by name; raises as `find`."""
        async with self:
            library = local_library(self.transport)
            if library is not None:
                return await asyncio.to_thread(library.look_up, self, names)
            return await self.look_up_online(*names)

    async def look_up_online(self, *names: str) -> SourceReply:
        return await self.find_online(" OR ".join(names), len(names), None)

    def get_metadata(self) -> ToolMetadata:
        endpoints = Endpoints.public() if self._transport is None else self._transport.endpoints
        return ToolMetadata(
            name=self.name,
            description=self.description,
            rate_limit=endpoints[self.name].per_second,
            requires_api_key=self.card is not None and self.card.needs_key,
        )


def source_class(name: str) -> type[Source]:
    """Return the class of a searchable source; raises UsageError if there is none of this name."""
    if name not in searchable():
        raise UsageError(f"no source named {name!r}; there are {', '.join(searchable())}")
    module = load_source_modules()[name]
    classes = (each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Source))
    return next(class_ for class_ in classes if class_.card is module.CARD)


def request_size(size: int, most: int) -> int:
    """Return the request size that fills a page with equal requests of at most `most` hits.

    >>> request_size(50, 100), request_size(250, 100)
    (50, 84)
    """
    return -(-size // -(-size // most))


async def reply_of(source: str, query: str, ask: Callable[[], Awaitable[SourceReply]], timeout_s: float) -> SourceReply:
    """Return a source's reply, or a failed reply on any error or timeout, so that other sources go on."""
    try:
        async with asyncio.timeout(timeout_s) as clock:
            return await ask()
    except SearchError as error:
        failure = error
    except TimeoutError:
        slow = f"no answer within {timeout_s:.3g} s" if clock.expired() else "no answer in time"
        failure = SourceUnavailable(source, slow)
    except Exception as error:  # noqa: BLE001  sources may be third-party code
        failure = UnreadableReply(source, f"failed in an unknown way ({type(error).__name__})")
    return SourceReply.failed(source, query, failure)


def source_name_of(name: str) -> SourceName:
    """Return the name itself, or `web` if it is not a valid source name, as of many custom tools."""
    try:
        return _NAME.validate_python(name)
    except ValidationError:
        return "web"


def __getattr__(name: str) -> Any:
    """Return `SearchHandler`, which had this module as its address."""
    if name != "SearchHandler":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module("willowbark.tools.handler").SearchHandler
