"""Sources asked by name: one look-up of each name a run, and searches by the drugs that a query names."""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple, TypeVar

from ..errors import SearchError
from ..questions import Question, read_query
from ..records.evidence import Evidence
from ..search import Filters, SearchFilters, Source, SourceReply, rank

T = TypeVar("T")


async def gather_answers(asked: Iterable[Awaitable[T]]) -> tuple[list[T], list[SearchError]]:
    """Return the answers to several requests at once, and the failures."""
    found = await asyncio.gather(*asked, return_exceptions=True)
    for each in found:
        if isinstance(each, BaseException) and not isinstance(each, SearchError):
            raise each
    failures = [each for each in found if isinstance(each, SearchError)]
    return [each for each in found if not isinstance(each, BaseException)], failures


class Item(NamedTuple):
    """What a source has under one name."""

    record: Evidence | None
    problems: Sequence[str] = ()
    """Parts that could not be retrieved."""
    note: str = ""
    """Why there is no record."""


def items(
    names: Sequence[str], records: Mapping[str, Evidence], problems: Sequence[str] = (), missing: str = "{}"
) -> dict[str, Item]:
    """Return what there is under each name; `missing` is the note on one without a record."""
    return {
        name: Item(found := records.get(name), problems, "" if found else missing.format(name[:60])) for name in names
    }


class LookUps(Source):
    """A source searched by name: by the drugs in a query, else by its words.

    Subclasses set `path` and implement `fetch`, and `find_wanted` where they have no records of drugs themselves.
    """

    path: ClassVar[str]
    """Below the source's base URL, of the requests for names."""
    most_names: ClassVar[int | None] = None
    """Names requested at a time, of which a warning counts the others; None for all."""

    @property
    def url(self) -> str:
        return f"{self.transport.endpoints[self.name].base_url}/{self.path}"

    async def find_online(self, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Look up each drug and return one page of their records; a query without words is refused."""
        page = SearchFilters.of(self.name, filters).page
        asked = read_query(self.name, query)
        found = None if asked.drugs else await self.without_drugs(asked)
        is_ranked = found is not None or (self.card is not None and self.card.gives == "drug")
        if found is None:
            found = await self.look_up(*(asked.drugs or (asked.words,))[: page * max_results])
        shown = found.records[(page - 1) * max_results : page * max_results]
        records = rank(asked.words, shown) if is_ranked else shown
        return found.model_copy(update={"query": query, "records": records})

    async def without_drugs(self, asked: Question) -> SourceReply | None:
        """Answer a query without drugs; None to look up its words as a name.

        By default a condition has no records, and an unknown name is taken for a drug's.
        """
        return self.reply(asked.words, []) if asked.conditions else None

    async def look_up_online(self, *names: str) -> SourceReply:
        """Look up names, all at once and each once per run; raises as `find`."""
        wanted, notes = await self.find_wanted(names)
        found = await self.request(wanted, notes)
        return found.model_copy(update={"query": ", ".join(names)})

    async def find_wanted(self, names: Sequence[str]) -> tuple[Sequence[str], list[str]]:
        """Return the names to request for drugs, such as their targets', with warnings; raises as `find`."""
        return names, []

    async def request(self, names: Sequence[str], notes: Sequence[str] = ()) -> SourceReply:
        """Build a reply on names of this source, each requested at most once per run; raises as `find`."""
        asked = names[: self.most_names]
        found = (await self.transport.shelf.take(self.name, asked, self.fetch)).values()
        told = [*notes, *(each.note for each in found if each.note)]
        if left := len(names) - len(asked):
            told.append(f"{left} further names were not asked for")
        return self.reply(
            ", ".join(names),
            [each.record for each in found if each.record is not None],
            problems=dict.fromkeys(line for each in found for line in each.problems),
            notes=dict.fromkeys(told),
            url=self.url,
        )

    async def fetch(self, names: Sequence[str]) -> Mapping[str, Item]:
        """Request what the source has under each name; raises as `find`."""
        raise NotImplementedError
