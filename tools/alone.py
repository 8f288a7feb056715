"""The sources by themselves, for those who want records and no team.

    from willowbark.tools import pubmed

    records = await pubmed.search("propranolol AND migraine", max_results=20, mindate="2015")

Each call opens its own way to the source and closes it again; `WILLOWBARK_LIBRARY__PATH=bundled` has a local library
answer instead, without network.
"""

from dataclasses import dataclass
from typing import Any

from .evidence import Evidence
from .http.transport import Transport
from .library import endpoints_of_environment
from .search import SourceReply, source_class


@dataclass(frozen=True, slots=True)
class SourceAlone:
    """One source.

    Args:
        name: of `registry.searchable()`.
    """

    name: str

    async def search(self, query: str, max_results: int = 10, **filters: Any) -> list[Evidence]:
        """Search for records, the most fitting first; empty where the source answered that it has none.

        Args:
            query: words, with AND, OR, NOT, quotes and parentheses if needed; of databases of drugs, a name.
            max_results: 1 to 50 records.
            filters: of the source, such as `page=2`; the table of sources names them.

        Raises:
            SearchError: no answer, or no readable one; a filter that the source does not know.
        """
        return (await self.find(query, max_results, **filters)).records

    async def find(self, query: str, max_results: int = 10, **filters: Any) -> SourceReply:
        """As `search`, with how it went: status, the source's own count, warnings."""
        async with Transport(endpoints_of_environment()) as transport:
            return await source_class(self.name)(transport).find(query, max_results, filters)

    async def look_up(self, *names: str) -> list[Evidence]:
        """Give what there is on drugs, by their generic names.

        Raises:
            SearchError: no answer, or no readable one.
        """
        async with Transport(endpoints_of_environment()) as transport:
            return (await source_class(self.name)(transport).look_up(*names)).records
