"""Sources that are asked by name: one look-up of each name a run, and searches by the drugs that a query names."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from ..evidence import Evidence
from ..questions import Question
from ..questions.question import read_query
from ..search import Filters, SearchFilters, Source, SourceReply


class Item(NamedTuple):
    """What a source has under one name."""

    record: Evidence | None
    problems: Sequence[str] = ()
    """Parts that could not be retrieved."""
    note: str = ""
    """Why there is no record."""


class LookUps(Source):
    """A source searched by name: by the drugs in a query, else by its words.

    Subclasses set `path` and implement `fetch`, or `look_up_online` where names are those of something else first.
    """

    path: ClassVar[str]
    """Below the source's base URL, of the requests for names."""
    most_names: ClassVar[int | None] = None
    """Names looked up at a time; None if one request takes all."""

    @property
    def url(self) -> str:
        """Address of the requests for names."""
        return f"{self.transport.endpoints[self.name].base_url}/{self.path}"

    async def find_online(self, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Look up each name; a query without words is refused."""
        page = SearchFilters.of(self.name, filters).page
        asked = read_query(self.name, query)
        if not asked.drugs and (found := await self.without_drugs(asked)):
            shown = found.records[(page - 1) * max_results : page * max_results]
            return found.model_copy(update={"query": query, "records": shown})
        names = asked.drugs or (asked.words,)
        found = await self.look_up(*(names[:max_results] if self.most_names else names))
        return found.model_copy(update={"query": query, "records": found.records[:max_results]})

    async def without_drugs(self, asked: Question) -> SourceReply | None:
        """Answer a query without drugs, with all its records; None to look up its words as a name.

        Raises as `find`.
        """
        return None

    async def look_up_online(self, *names: str) -> SourceReply:
        """Look up names, all at once and each once per run; raises as `find`."""
        return await self.shelved(names, self.fetch, most=self.most_names)

    async def fetch(self, names: Sequence[str]) -> Mapping[str, Item]:
        """Request what the source has under each name; raises as `find`."""
        raise NotImplementedError

    async def shelved(
        self,
        names: Sequence[str],
        ask: Callable[[Sequence[str]], Awaitable[Mapping[str, Item]]],
        *,
        most: int | None = None,
        notes: Iterable[str] = (),
    ) -> SourceReply:
        """Build a reply on single items, each requested at most once per run; raises what `ask` raises.

        Args:
            names: names of the items.
            ask: looks up the new names.
            most: names that are looked up; a warning counts the others.
            notes: other warnings.
        """
        found = (await self.transport.shelf.take(self.name, names[:most], ask)).values()
        told = [*notes, *(each.note for each in found if each.note)]
        if left := len(names) - len(names[:most]):
            told.append(f"{left} further names were not asked for")
        return self.reply(
            ", ".join(names),
            [each.record for each in found if each.record is not None],
            problems=dict.fromkeys(line for each in found for line in each.problems),
            notes=dict.fromkeys(told),
            url=self.url,
        )
