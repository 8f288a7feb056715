"""One search over many sources, and over the records collected so far."""

import asyncio
from collections.abc import Sequence
from itertools import chain

from .library.collected import CollectedEvidence
from .records.evidence import SearchResult, merge
from .search import SearchTool, Source, SourceReply, Status, rank, reply_of, source_name_of


class SearchHandler:
    """Searches several tools at once.

    Args:
        tools: the sources to search.
        timeout: seconds per tool, including retries; a slower one is cancelled and named.
        include_rag: whether to also search collected records, see `add_rag_tool`.
        auto_ingest_to_rag: whether to collect the records found.
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
        """Search collected records, at first none, beside the sources; they count neither as source nor as hits."""
        self.collected = CollectedEvidence() if collected is None else collected
        return self.collected

    async def execute(self, query: str, max_results_per_tool: int = 10) -> SearchResult:
        """Search all tools in parallel; failures are named in `errors`, never raised and never silent."""
        searched: list[SearchTool | CollectedEvidence] = [*self.tools]
        searched += [] if self.collected is None else [self.collected]
        every = await asyncio.gather(*(self._ask(tool, query, max_results_per_tool) for tool in searched))
        replies = every[: len(self.tools)]
        answered = [r for r in replies if r.status not in (Status.UNAVAILABLE, Status.BAD_QUERY)]
        # Each source's own order is kept: it is part of a record's rank.
        ranked = chain.from_iterable(rank(query, reply.records) for reply in every)
        evidence = rank(query, merge(ranked))
        errors = []
        for tool, reply in zip(searched, every, strict=True):
            errors += [f"{tool.name}: {warning}" for warning in reply.warnings]
        if self.collected is not None and self.auto_ingest_to_rag:
            await asyncio.to_thread(self.collected.ingest, evidence)
        return SearchResult(
            query=query,
            evidence=evidence,
            sources_searched=list(dict.fromkeys(reply.source for reply in answered)),
            total_found=sum(reply.total for reply in answered),
            errors=errors,
        )

    async def _ask(self, tool: SearchTool | CollectedEvidence, query: str, max_results: int) -> SourceReply:
        async def find() -> SourceReply:
            if isinstance(tool, Source):
                return await tool.find(query, max_results)
            records = await tool.search(query, max_results)
            name = source_name_of(tool.name)
            status = Status.OK if records else Status.EMPTY
            return SourceReply(source=name, query=query, status=status, records=records, total=len(records))

        return await reply_of(tool.name, query, find, self.timeout)
