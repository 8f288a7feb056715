"""One source used alone, without a team."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .records.evidence import Evidence
    from .search import Source, SourceReply


@dataclass(frozen=True, slots=True)
class SourceAlone:
    """One of the sources that `registry.searchable()` names."""

    name: str

    async def search(self, query: str, max_results: int = 10, **filters: Any) -> "list[Evidence]":
        """Search for records, most relevant first; empty if the source has none.

        Args:
            query: words, with AND, OR, NOT, quotes and parentheses if needed; for drug databases, a name.
            max_results: 1 to 50 records.
            filters: filters of the source, such as `page=2`; see the table of sources.

        Raises:
            SearchError: no answer, an unreadable one, or an unknown filter.
        """
        return (await self.find(query, max_results, **filters)).records

    async def find(self, query: str, max_results: int = 10, **filters: Any) -> "SourceReply":
        """Search like `search`, also returning status, the source's hit count and warnings."""
        async with self._open() as source:
            return await source.find(query, max_results, filters)

    async def look_up(self, *names: str) -> "list[Evidence]":
        """Look up drugs by their generic names; raises as `search`."""
        async with self._open() as source:
            return (await source.look_up(*names)).records

    @asynccontextmanager
    async def _open(self) -> "AsyncIterator[Source]":
        from .http.transport import Transport  # noqa: PLC0415
        from .library import endpoints_of_environment  # noqa: PLC0415
        from .search import source_class  # noqa: PLC0415

        async with Transport(endpoints_of_environment()) as transport:
            yield source_class(self.name)(transport)
