"""Use single sources without a team.

    from willowbark.tools import pubmed

    records = await pubmed.search("propranolol AND migraine", max_results=20, mindate="2015")

Each call opens and closes its own connection; with `WILLOWBARK_LIBRARY__PATH=bundled` a local library answers instead,
without network.
"""

from dataclasses import dataclass
from typing import Any

from .evidence import Evidence
from .http.transport import Transport
from .library import endpoints_of_environment
from .search import SourceReply, source_class


@dataclass(frozen=True, slots=True)
class SourceAlone:
    """One of the sources that `registry.searchable()` names."""

    name: str

    async def search(self, query: str, max_results: int = 10, **filters: Any) -> list[Evidence]:
        """Search for records, most relevant first; empty if the source has none.

        Args:
            query: words, with AND, OR, NOT, quotes and parentheses if needed; for drug databases, a name.
            max_results: 1 to 50 records.
            filters: filters of the source, such as `page=2`; see the table of sources.

        Raises:
            SearchError: no answer, an unreadable one, or an unknown filter.
        """
        return (await self.find(query, max_results, **filters)).records

    async def find(self, query: str, max_results: int = 10, **filters: Any) -> SourceReply:
        """Search like `search`, also returning status, the source's hit count and warnings."""
        async with Transport(endpoints_of_environment()) as transport:
            return await source_class(self.name)(transport).find(query, max_results, filters)

    async def look_up(self, *names: str) -> list[Evidence]:
        """Look up drugs by their generic names; raises as `search`."""
        async with Transport(endpoints_of_environment()) as transport:
            return (await source_class(self.name)(transport).look_up(*names)).records
