"""Sources asked by name: one look-up of each name a run, and searches by the drugs that a query names."""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple, TypeVar

from ..errors import SearchError
from ..questions import Question, parse_query
from ..records.evidence import Evidence
from ..search import Filters, SearchFilters, Source, SourceReply, rank

T = TypeVar("T")


async def gather_answers(requests: Iterable[Awaitable[T]]) -> tuple[list[T], list[SearchError]]:
    """Return the answers to several requests at once, and the failures."""
    outcomes = await asyncio.gather(*requests, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, SearchError):
            raise outcome
    failures = [outcome for outcome in outcomes if isinstance(outcome, SearchError)]
    return [outcome for outcome in outcomes if not isinstance(outcome, BaseException)], failures


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
        name: Item(record := records.get(name), problems, "" if record else missing.format(name[:60])) for name in names
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
        question = parse_query(self.name, query)
        reply = None if question.drugs else await self.without_drugs(question)
        is_ranked = reply is not None or (self.card is not None and self.card.gives == "drug")
        if reply is None:
            reply = await self.look_up(*(question.drugs or (question.words,))[: page * max_results])
        page_records = reply.records[(page - 1) * max_results : page * max_results]
        records = rank(question.words, page_records) if is_ranked else page_records
        return reply.model_copy(update={"query": query, "records": records})

    async def without_drugs(self, question: Question) -> SourceReply | None:
        """Answer a query without drugs; None to look up its words as a name.

        By default a condition has no records, and an unknown name is taken for a drug's.
        """
        return self.reply(question.words, []) if question.conditions else None

    async def look_up_online(self, *names: str) -> SourceReply:
        """Look up names, all at once and each once per run; raises as `find`."""
        own_names, notes = await self.find_wanted(names)
        reply = await self.request(own_names, notes)
        return reply.model_copy(update={"query": ", ".join(names)})

    async def find_wanted(self, names: Sequence[str]) -> tuple[Sequence[str], list[str]]:
        """Return the names to request for drugs, such as their targets', with warnings; raises as `find`."""
        return names, []

    async def request(self, names: Sequence[str], notes: Sequence[str] = ()) -> SourceReply:
        """Build a reply on names of this source, each requested at most once per run; raises as `find`."""
        first_names = names[: self.most_names]
        by_name = await self.transport.shelf.take(self.name, first_names, self.fetch)
        records: list[Evidence] = []
        problems: dict[str, None] = {}
        every_note = [*notes]
        for item in by_name.values():
            records += [item.record] if item.record is not None else []
            problems |= dict.fromkeys(item.problems)
            every_note += [item.note] if item.note else []
        left = len(names) - len(first_names)
        if left:
            every_note.append(f"{left} further names were not asked for")
        own_notes = dict.fromkeys(every_note)
        return self.reply(", ".join(names), records, problems=problems, notes=own_notes, url=self.url)

    async def fetch(self, names: Sequence[str]) -> Mapping[str, Item]:
        """Request what the source has under each name; raises as `find`."""
        raise NotImplementedError
