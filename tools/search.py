"""Searching: what a source offers, and one search over many of them.

A source is a small class that asks its API through the transport it was handed, and reads replies with pure functions.
`SearchHandler` asks several at once and merges what they give; one that fails is named, and does not stop the others.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, ClassVar, Protocol, cast, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field

from .errors import SearchError, SourceRefused, SourceUnavailable, UnreadableReply
from .evidence import SOURCE_NAMES, Evidence, SearchResult, SourceName, merge
from .http.transport import Transport
from .ranking import rank
from .sources.card import SourceCard

Filters = Mapping[str, Any]


class ToolMetadata(BaseModel):
    """What a search tool says of itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

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


class SourceReply(BaseModel):
    """What one source said to one query."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: SourceName
    query: str
    """The query as it was sent."""
    status: Status
    records: list[Evidence] = Field(default_factory=list)
    total: int = 0
    """Hits that the source reports, of which `records` are the first."""
    warnings: list[str] = Field(default_factory=list)
    url: str = ""
    """What was asked, without any key."""
    sandboxed: bool = False
    """Whether a sandbox answered in the source's place."""
    asked: str = ""
    """The query as it was asked, before the source put it into its own words; empty where nobody noted it."""
    asked_at: datetime | None = None
    """When it was asked; None where nobody noted it."""

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


class Source:
    """Base of the sources: subclasses name themselves and write `find`.

    Args:
        transport: the way out, shared by all sources of a run.
    """

    card: ClassVar[SourceCard | None] = None
    """None for a source of the user's own, which says `name` and `description` itself."""
    name: ClassVar[SourceName]
    description: ClassVar[str]
    """One sentence for the models that choose among tools."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.card is not None:
            cls.name, cls.description = cast(SourceName, cls.card.name), cls.card.purpose

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    async def find(self, query: str, max_results: int = 10, filters: Filters | None = None) -> SourceReply:
        """Search, and say how it went: status, records, the source's own count, warnings.

        Args:
            query: words, or the boolean form that `preprocess_query` gives.
            max_results: 1 to 50 records.
            filters: source-dependent; unknown names raise `SourceRefused`. Sources that are asked in words know `page`,
                1 for the first `max_results` hits.

        Raises:
            SearchError: no answer, or no readable one.
        """
        raise NotImplementedError

    async def search(self, query: str, max_results: int = 10, filters: Filters | None = None) -> list[Evidence]:
        """Search for records, ranked for the query; raises `SearchError` where there is no answer."""
        return (await self.find(query, max_results, filters)).records

    async def look_up(self, *names: str) -> SourceReply:
        """Give what there is on single things, by their names; raises as `find`."""
        return await self.find(" OR ".join(names), len(names))

    def get_metadata(self) -> ToolMetadata:
        """Say what this source is and how often it may be asked."""
        return ToolMetadata(
            name=self.name,
            description=self.description,
            rate_limit=self.transport.endpoints[self.name].per_second,
            requires_api_key=self.card is not None and self.card.needs_key,
        )


class SearchHandler:
    """Asks several tools at once.

    Args:
        tools: the sources to ask.
        timeout: seconds for one tool, its retries included; a slower one is cancelled and named.
    """

    def __init__(self, tools: Sequence[SearchTool], timeout: float = 30.0) -> None:
        self.tools = list(tools)
        self.timeout = timeout

    async def execute(self, query: str, max_results_per_tool: int = 10) -> SearchResult:
        """Search all tools in parallel; failures are named in `errors`, never raised and never silent."""
        replies = await asyncio.gather(*(self._ask(tool, query, max_results_per_tool) for tool in self.tools))
        answered = [r for r in replies if r.status not in (Status.UNAVAILABLE, Status.BAD_QUERY)]
        ranked = (record for reply in replies for record in rank(query, reply.records))  # keeps each source's own order
        return SearchResult(
            query=query,
            evidence=rank(query, merge(ranked)),
            sources_searched=list(dict.fromkeys(reply.source for reply in answered)),
            total_found=sum(reply.total for reply in answered),
            errors=[
                f"{tool.name}: {warning}"
                for tool, reply in zip(self.tools, replies, strict=True)
                for warning in reply.warnings
            ],
        )

    async def _ask(self, tool: SearchTool, query: str, max_results: int) -> SourceReply:
        try:
            async with asyncio.timeout(self.timeout) as clock:
                if isinstance(tool, Source):
                    return await tool.find(query, max_results)
                records = await tool.search(query, max_results)
                status = Status.OK if records else Status.EMPTY
                return SourceReply(
                    source=_source_name(tool.name), query=query, status=status, records=records, total=len(records)
                )
        except SearchError as error:
            failure = error
        except TimeoutError:
            slow = f"no answer within {self.timeout:.3g} s" if clock.expired() else "no answer in time"
            failure = SourceUnavailable(tool.name, slow)
        except Exception as error:  # noqa: BLE001  tools are written by anyone, and one must not stop the others
            failure = UnreadableReply(tool.name, f"failed in an unknown way ({type(error).__name__})")
        return SourceReply.failed(tool.name, query, failure)


def _source_name(name: str) -> SourceName:
    """The name itself, or `web` for a tool of the user's that bears one of its own."""
    return cast(SourceName, name if name in SOURCE_NAMES else "web")
