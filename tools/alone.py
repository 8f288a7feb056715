"""One source used alone, without a team."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .records.evidence import Evidence
    from .search import Source, SourceReply, ToolMetadata


@dataclass(frozen=True, slots=True)
class SourceAlone:
    """One of the sources that `registry.searchable()` names."""

    name: str

    async def search(
        self, query: str, max_results: int = 10, filters: Mapping[str, Any] | None = None, **others: Any
    ) -> "list[Evidence]":
        """Search for records, most relevant first; empty if the source has none.

        The same search is not sent again for 15 minutes, the last 64 of this process.

        Args:
            query: words, with AND, OR, NOT, quotes and parentheses if needed; for drug databases, a name.
            max_results: 1 to 50 records.
            filters: filters of the source, such as `{"page": 2}`; see the table of sources.
            others: the same by name, such as `page=2`.

        Raises:
            SearchError: no answer, an unreadable one, or an unknown filter.
        """
        return (await self.find(query, max_results, filters, **others)).records

    async def find(
        self, query: str, max_results: int = 10, filters: Mapping[str, Any] | None = None, **others: Any
    ) -> "SourceReply":
        """Search like `search`, also returning status, the source's hit count and warnings."""
        async with self._open() as source:
            return await source.find(query, max_results, {**(filters or {}), **others})

    def get_metadata(self) -> "ToolMetadata":
        """Describe the source: what it is for, its limit of requests, whether it needs a key."""
        from .search import source_class  # noqa: PLC0415

        return source_class(self.name)().get_metadata()

    async def look_up(self, *names: str) -> "list[Evidence]":
        """Look up drugs by their generic names; raises as `search`."""
        async with self._open() as source:
            return (await source.look_up(*names)).records

    @asynccontextmanager
    async def _open(self) -> "AsyncIterator[Source]":
        from .search import source_class  # noqa: PLC0415

        async with source_class(self.name)() as source:
            yield source
