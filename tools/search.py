"""Searching: what a source offers, and one search over many of them.

A source is a small class that asks its API through the transport it was handed, and reads replies with pure functions.
What all sources do alike stands in `Source`: checking filters, turning pages, writing the reply. `SearchHandler` asks
several at once and merges what they give; one that fails is named, and does not stop the others.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Protocol, Self, cast, runtime_checkable

from pydantic import BaseModel, Field, ValidationError

from .collected import CollectedEvidence
from .errors import SearchError, SourceRefused, SourceUnavailable, UnreadableReply, UsageError
from .evidence import Evidence, SearchResult, SourceName, merge
from .http.transport import Transport
from .questions import Question
from .questions.question import read_query, wider_queries
from .ranking import rank
from .registry import searchable
from .sources.card import SourceCard, source_modules

Filters = Mapping[str, Any]
MAX_PAGE = 100
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")  # as `SourceName`


class SearchFilters(BaseModel, frozen=True, extra="forbid"):
    """What narrows a search: the filters of a source, which are also arguments of its tool.

    A source that knows more of them than the page declares its own in a subclass.
    """

    page: int = Field(default=1, ge=1, le=MAX_PAGE, description="1 for the first hits, 2 for those after them, …")

    @classmethod
    def of(cls, source: str, said: Filters | None) -> Self:
        """Read filters; those without a value are not set.

        Raises:
            SourceRefused: an unknown one, or a value that it does not take.

        >>> SearchFilters.of("chembl", {"page": 2}).page
        2
        """
        try:
            return cls.model_validate({name: each for name, each in (said or {}).items() if each not in (None, "")})
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False)[0]
        name, there_are = str(first["loc"][0])[:40], ", ".join(cls.model_fields)
        if first["type"] == "extra_forbidden":
            raise SourceRefused(source, f"knows no filter {name}; there are {there_are}")
        raise SourceRefused(source, f"does not take {str(first['input'])[:40]!r} as {name}: {first['msg'][:200]}")


@dataclass(frozen=True, slots=True)
class Page:
    """What one request for hits gave."""

    hits: list[Any]
    total: int = 0
    """Hits in all; 0 on later pages, whose source need not say it again."""
    mark: str | None = None
    """Where the next page begins, in the source's own words; None on the last."""
    url: str = ""


class ToolMetadata(BaseModel, frozen=True, extra="forbid"):
    """What a search tool says of itself."""

    name: str
    description: str
    rate_limit: float | None = None
    """Requests a second; None where the source publishes none."""
    requires_api_key: bool = False


class Status(StrEnum):
    """How a search ended; `unavailable` is never the same as `empty`."""

    OK = "ok"
    EMPTY = "empty"
    """The source answered: nothing matches."""
    PARTIAL = "partial"
    """Some records came, others could not be had; `warnings` say which."""
    UNAVAILABLE = "unavailable"
    """The source could not be reached or read."""
    BAD_QUERY = "bad_query"
    """The source refused the query."""


class SourceReply(BaseModel, frozen=True, extra="forbid", defer_build=True):
    """What one source said to one query."""

    source: SourceName
    query: str
    """The query as it was sent."""
    status: Status
    records: list[Evidence] = []
    total: int = 0
    """Hits that the source reports, of which `records` are the first."""
    warnings: list[str] = []
    url: str = ""
    """What was asked, without any key."""
    library: str = ""
    """The local library that answered in the source's place, in words for a report; empty where the source did."""
    asked: str = ""
    """The query as it was asked, before the source put it into its own words; empty where nobody noted it."""
    asked_at: datetime | None = None
    """When it was asked; None where nobody noted it."""
    understood: str = ""
    """The query as the source itself says that it understood it; empty where it doesn't say."""
    truncated: bool = Field(default=False, exclude_if=lambda is_cut: not is_cut)
    """Whether records or parts of their text were left out to keep a message short."""

    @property
    def line(self) -> str:
        """What came of it, for people: source, status, records of hits."""
        return f"{self.source}: {self.status.value.replace('_', ' ')}, {len(self.records)} of {self.total}"

    @classmethod
    def failed(cls, source: str, query: str, error: SearchError) -> "SourceReply":
        """A reply that says why there is none."""
        status = Status.BAD_QUERY if isinstance(error, SourceRefused) else Status.UNAVAILABLE
        return cls(source=_source_name(source), query=query, status=status, warnings=[error.reason])


@runtime_checkable
class SearchTool(Protocol):
    """Anything that can be searched for evidence."""

    @property
    def name(self) -> str:
        """A `SourceName`."""

    async def search(self, query: str, max_results: int = 10, filters: Filters | None = None) -> list[Evidence]:
        """Give up to `max_results` records; raises `SearchError` where there is no answer."""

    def get_metadata(self) -> ToolMetadata:
        """Say what this tool is."""


class Library(Protocol):
    """What a local library answers in the sources' place."""

    def find(self, source: "Source", query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Answer a search; raises `SourceRefused` for filters that the source does not know, or an empty query."""

    def look_up(self, source: "Source", names: Sequence[str]) -> SourceReply:
        """Answer a look-up of things by their names, mostly drugs."""

    def papers(self, source: "Source", pmids: Sequence[str]) -> SourceReply:
        """Give publications by their PMIDs."""

    def by_numbers(self, names: Iterable[str]) -> list[Evidence]:
        """Give the publications of some numbers (`pmid:…`, `pmcid:…`, `doi:…`)."""

    def citations(self, source: "Source", pmid: str) -> SourceReply:
        """Give what cites a publication and what it cites."""

    def trial(self, source: "Source", nct_id: str) -> SourceReply:
        """Give one trial by its NCT number."""


def local_library(transport: Transport) -> Library | None:
    """Give the library that answers in the sources' place; None where they are asked themselves."""
    return cast("Library | None", transport.endpoints.library)


class Source:
    """Base of the sources: subclasses name themselves and write `find_online`, with the help of `page` and `reply`.

    Args:
        transport: the way out, shared by all sources of a run.
    """

    card: ClassVar[SourceCard | None] = None
    """None for a source of the user's own, which says `name` and `description` itself."""
    name: ClassVar[SourceName]
    description: ClassVar[str]
    """One sentence for the models that choose among tools."""
    filters: ClassVar[type[SearchFilters]] = SearchFilters
    """What narrows a search."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.card is not None:
            cls.name, cls.description = cls.card.name, cls.card.purpose

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    async def find(self, query: str, max_results: int = 10, filters: Filters | None = None) -> SourceReply:
        """Search, and say how it went: status, records, the source's own count, warnings.

        Where the run has a local library, that answers in the source's place.

        Args:
            query: words, or the boolean form that `preprocess_query` gives.
            max_results: 1 to 50 records.
            filters: of `self.filters`; unknown names raise `SourceRefused`.

        Raises:
            SearchError: no answer, or no readable one.
        """
        reply = await self._find(query, max_results, filters)
        asks_in_words = self.card is not None and self.card.dialect == "boolean"  # for publications or trials
        for wider in wider_queries(query) if asks_in_words and reply.status is Status.EMPTY else ():
            reply = await self._find(wider, max_results, filters)
            told = [*reply.warnings, f"nothing on the whole query; asked {wider}"]
            reply = reply.model_copy(update={"warnings": told})
            if reply.status is not Status.EMPTY:
                break
        return reply

    async def _find(self, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        if (library := local_library(self.transport)) is not None:
            return library.find(self, query, max_results, filters)
        return await self.find_online(query, max_results, filters)

    async def find_online(self, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Search the source itself; takes, gives and raises what `find` does."""
        raise NotImplementedError

    async def search(self, query: str, max_results: int = 10, filters: Filters | None = None) -> list[Evidence]:
        """Search for records, ranked for the query; raises `SearchError` where there is no answer."""
        return (await self.find(query, max_results, filters)).records

    async def page(
        self, number: int, size: int, asked: str, ask: Callable[[str | None], Awaitable[Page]]
    ) -> tuple[Page, list[str]]:
        """Give the hits of one page of a source that is paged by marks, and what could not be had of them.

        Where pages begin is remembered by the transport, so that going on costs one request. A source may give less at
        once than it is asked for; it is asked again until the page is full, and a failure then loses nothing.

        Args:
            number: 1 for the first page.
            size: hits of a page.
            asked: the query with its filters; tells one search from another.
            ask: gives what follows a mark; None gives the first hits.

        Raises:
            SearchError: no answer, or no readable one.
        """
        search = self.transport.marks.setdefault((self.name, asked, size), {1: (None, 0)})
        at = max(each for each in search if each <= number)
        while True:
            mark, total = search[at]
            found, problems = await _filled(mark, size, ask)
            total = found.total if mark is None else total
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
        """Write a reply: records each once; its status follows from what came and what could not be had.

        Args:
            query: as it was sent.
            records: best first.
            words: what to rank by; None leaves them as they stand.
            total: hits in all; at least the records.
            problems: what could not be had; any makes the reply partial.
            notes: what else is worth knowing.
            url: what was asked.
            understood: the query as the source understood it.
        """
        found, failed = list({record.key: record for record in records}.values()), list(problems)
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

    async def shelved(
        self,
        path: str,
        names: Sequence[str],
        ask: Callable[[Sequence[str]], Awaitable[Mapping[str, "Evidence | str"]]],
    ) -> SourceReply:
        """Write a reply on single things, none of which is asked for twice in a run.

        Args:
            path: where they are asked for, below the source's address.
            names: of the things.
            ask: gives for each new name its record, or a line that says why there is none.

        Raises:
            SearchError: what `ask` raised.
        """
        found = (await self.transport.shelf.take(self.name, names, ask)).values()
        return self.reply(
            ", ".join(names),
            [each for each in found if isinstance(each, Evidence)],
            notes=dict.fromkeys(each for each in found if isinstance(each, str)),
            url=f"{self.transport.endpoints[self.name].base_url}/{path}",
        )

    async def by_names(self, query: str, names: Sequence[str], most: int) -> SourceReply:
        """Answer a query by looking up what it names; `most` records at most. Raises as `look_up`."""
        found = await self.look_up(*names)
        return found.model_copy(update={"query": query, "records": found.records[:most]})

    async def look_up(self, *names: str) -> SourceReply:
        """Give what there is on single things, by their names; raises as `find`."""
        if (library := local_library(self.transport)) is not None:
            return library.look_up(self, names)
        return await self.look_up_online(*names)

    async def look_up_online(self, *names: str) -> SourceReply:
        """Look things up at the source itself; gives and raises what `look_up` does."""
        return await self.find_online(" OR ".join(names), len(names), None)

    def get_metadata(self) -> ToolMetadata:
        """Say what this source is and how often it may be asked."""
        return ToolMetadata(
            name=self.name,
            description=self.description,
            rate_limit=self.transport.endpoints[self.name].per_second,
            requires_api_key=self.card is not None and self.card.needs_key,
        )


def source_class(name: str) -> type[Source]:
    """The class of a source that can be searched.

    Raises:
        UsageError: there is no such source.
    """
    if name not in searchable():
        raise UsageError(f"no source named {name!r}; there are {', '.join(searchable())}")
    module = source_modules()[name]
    classes = (each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Source))
    return next(each for each in classes if each.card is module.CARD)


class LookUps(Source):
    """A source that is asked by names: by the drugs that a query names, else by its words."""

    MOST_NAMES: ClassVar[int | None] = 8
    """Of one query, a request each; None where one request takes them all."""

    async def find_online(self, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Give what there is on each name; a query without words is refused."""
        page = SearchFilters.of(self.name, filters).page
        asked = read_query(self.name, query)
        if not asked.drugs and (others := await self.without_drugs(asked)):
            records, problems, url = others
            shown = records[(page - 1) * max_results : page * max_results]
            return self.reply(query, shown, words=asked.words, total=len(records), problems=problems, url=url)
        names = asked.drugs or (asked.words,)
        asked_for_now = names[: min(max_results, self.MOST_NAMES)] if self.MOST_NAMES else names
        return await self.by_names(query, asked_for_now, max_results)

    async def without_drugs(self, asked: Question) -> tuple[Sequence[Evidence], Sequence[str], str] | None:
        """All there is on a query that names no drug: records, problems, the request; None takes its words for a name.

        Raises as `find`.
        """
        return None


def request_size(size: int, most: int) -> int:
    """Hits to ask for at once, so that equal requests of at most so many fill a page.

    >>> request_size(50, 100), request_size(150, 100), request_size(250, 100)
    (50, 75, 84)
    """
    return -(-size // -(-size // most))


async def _filled(mark: str | None, size: int, ask: Callable[[str | None], Awaitable[Page]]) -> tuple[Page, list[str]]:
    """What follows a mark, in as many requests as it takes; a later one that fails is named."""
    found = await ask(mark)
    while found.mark and found.mark != mark and len(found.hits) < (min(size, found.total) if found.total else size):
        mark = found.mark
        try:
            more = await ask(mark)
        except SearchError as error:
            return found, [f"only the first {len(found.hits)} could be had: {error.reason}"]
        found = Page([*found.hits, *more.hits], found.total, more.mark if more.hits else None, found.url)
    return found, []


async def reply_of(source: str, query: str, ask: Callable[[], Awaitable[SourceReply]], timeout_s: float) -> SourceReply:
    """Give what a source replies in time, else a reply that names the failure: whatever it is, it stops no other."""
    try:
        async with asyncio.timeout(timeout_s) as clock:
            return await ask()
    except SearchError as error:
        failure = error
    except TimeoutError:
        slow = f"no answer within {timeout_s:.3g} s" if clock.expired() else "no answer in time"
        failure = SourceUnavailable(source, slow)
    except Exception as error:  # noqa: BLE001  sources are written by anyone
        failure = UnreadableReply(source, f"failed in an unknown way ({type(error).__name__})")
    return SourceReply.failed(source, query, failure)


class SearchHandler:
    """Asks several tools at once.

    Args:
        tools: the sources to ask.
        timeout: seconds for one tool, its retries included; a slower one is cancelled and named.
        include_rag: whether what was collected before is searched too, as `add_rag_tool` has it.
        auto_ingest_to_rag: whether what a search finds is then collected.
    """

    def __init__(
        self,
        tools: Sequence[SearchTool],
        timeout: float = 30.0,
        include_rag: bool = False,
        auto_ingest_to_rag: bool = True,
    ) -> None:
        self.tools = list(tools)
        self.timeout = timeout
        self.auto_ingest_to_rag = auto_ingest_to_rag
        self.collected: CollectedEvidence | None = None
        if include_rag:
            self.add_rag_tool()

    def add_rag_tool(self, collected: CollectedEvidence | None = None) -> CollectedEvidence:
        """Search what was collected, beside the sources.

        Args:
            collected: what was collected so far; None begins with nothing, in memory.

        Returns:
            CollectedEvidence: what is searched; it counts neither as a source nor among the hits of sources.
        """
        self.collected = CollectedEvidence() if collected is None else collected
        return self.collected

    async def execute(self, query: str, max_results_per_tool: int = 10) -> SearchResult:
        """Search all tools in parallel; failures are named in `errors`, never raised and never silent."""
        asked: list[SearchTool | CollectedEvidence] = [*self.tools]
        if self.collected is not None:
            asked.append(self.collected)
        every = await asyncio.gather(*(self._ask(tool, query, max_results_per_tool) for tool in asked))
        replies = every[: len(self.tools)]
        answered = [r for r in replies if r.status not in (Status.UNAVAILABLE, Status.BAD_QUERY)]
        ranked = (record for reply in every for record in rank(query, reply.records))  # keeps each source's own order
        evidence = rank(query, merge(ranked))
        if self.collected is not None and self.auto_ingest_to_rag:
            await asyncio.to_thread(self.collected.ingest, evidence)
        return SearchResult(
            query=query,
            evidence=evidence,
            sources_searched=list(dict.fromkeys(reply.source for reply in answered)),
            total_found=sum(reply.total for reply in answered),
            errors=[
                f"{tool.name}: {warning}"
                for tool, reply in zip(asked, every, strict=True)
                for warning in reply.warnings
            ],
        )

    async def _ask(self, tool: SearchTool | CollectedEvidence, query: str, max_results: int) -> SourceReply:
        async def found() -> SourceReply:
            if isinstance(tool, Source):
                return await tool.find(query, max_results)
            records = await tool.search(query, max_results)
            status = Status.OK if records else Status.EMPTY
            return SourceReply(
                source=_source_name(tool.name), query=query, status=status, records=records, total=len(records)
            )

        return await reply_of(tool.name, query, found, self.timeout)


def _source_name(name: str) -> SourceName:
    """The name itself; `web` for a tool whose name is none that a record could bear."""
    return name if _NAME.fullmatch(name) else "web"
