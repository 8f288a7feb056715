"""One failing tool stops no other, and every failure is named."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from builders import evidence
from hypothesis import given
from hypothesis import strategies as st

from willowbark.tools.errors import SourceUnavailable
from willowbark.tools.handler import SearchHandler
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.registry import cards
from willowbark.tools.search import (
    Filters,
    Page,
    SearchTool,
    Source,
    SourceReply,
    Status,
    ToolMetadata,
    rank,
)


class Tool:
    """A tool as a user writes one: no base class, a name of its own."""

    def __init__(self, name: str, found: Any = (), delay_s: float = 0) -> None:
        self.name = name
        self._found = found
        self._delay_s = delay_s
        self.ended = "not begun"

    async def search(self, query: str, max_results: int = 10, filters: Filters | None = None) -> list[Evidence]:
        self.ended = "cancelled"
        await asyncio.sleep(self._delay_s)
        self.ended = "by itself"
        if isinstance(self._found, BaseException):
            raise self._found
        return self._found if self._found is None or isinstance(self._found, list | dict) else list(self._found)

    def get_metadata(self) -> ToolMetadata:
        return ToolMetadata(name=self.name, description="A tool.")


class PubMedStandIn(Source):
    """A source that answers what it is told to."""

    name = "pubmed"
    description = "Stands in for PubMed."

    def __init__(self, transport: Transport, records: Sequence[Evidence], status: Status, *warnings: str) -> None:
        super().__init__(transport)
        self._reply = SourceReply(
            source="pubmed", query="q", status=status, records=list(records), total=90, warnings=list(warnings)
        )

    async def find(self, query: str, max_results: int = 10, filters: Filters | None = None) -> SourceReply:
        return self._reply


@pytest.fixture
def transport() -> Transport:
    return Transport(Endpoints.at("http://127.0.0.1:1"))


async def test_a_tool_of_the_users_is_searched() -> None:
    tool = Tool("library", [evidence(pmid="1")])

    result = await SearchHandler([tool]).execute("migraine")

    assert isinstance(tool, SearchTool)
    assert [found.key for found in result.evidence] == ["pmid:1"]
    assert (result.sources_searched, result.total_found, result.errors) == (["library"], 1, [])


@pytest.mark.parametrize(
    ("failure", "named"),
    [
        (SourceUnavailable("pubmed", "is down"), "is down"),
        (KeyError("https://x/?api_key=canary"), "failed in an unknown way (KeyError)"),
        (TimeoutError("canary"), "no answer in time"),
        *((odd, "failed in an unknown way") for odd in (None, ["text"])),  # no records
    ],
    ids=repr,
)
async def test_one_failing_tool_is_named_and_stops_no_other(failure: Any, named: str) -> None:
    result = await SearchHandler([Tool("library", failure), Tool("europepmc", [evidence(pmid="1")])]).execute(
        "migraine"
    )

    (error,) = result.errors
    assert error.startswith(f"library: {named}")
    assert "canary" not in error
    assert result.sources_searched == ["europepmc"]
    assert len(result.evidence) == 1


async def test_a_slow_tool_is_cancelled_and_named() -> None:
    slow, quick = Tool("pubmed", [evidence(pmid="1")], delay_s=20), Tool("europepmc", [evidence(pmid="2")])

    result = await SearchHandler([slow, quick], timeout=0.1).execute("migraine")

    assert result.errors == ["pubmed: no answer within 0.1 s"]
    assert slow.ended == "cancelled"
    assert [found.key for found in result.evidence] == ["pmid:2"]


async def test_a_source_that_found_a_part_or_nothing_was_searched_and_says_so(
    transport: Transport,
) -> None:
    source = PubMedStandIn(transport, [evidence(pmid="1")], Status.PARTIAL, "2 records could not be had")
    nothing = await SearchHandler([Tool("pubmed", [])]).execute("migraine")
    partly = await SearchHandler([source]).execute("migraine")

    assert (nothing.sources_searched, nothing.evidence, nothing.errors) == (["pubmed"], [], [])
    assert (partly.sources_searched, partly.total_found) == (["pubmed"], 90)
    assert partly.errors == ["pubmed: 2 records could not be had"]


def test_a_source_says_what_it_is_and_how_often_it_may_be_asked() -> None:
    source = PubMedStandIn(Transport(Endpoints.public({})), [], Status.EMPTY)

    assert source.get_metadata() == ToolMetadata(name="pubmed", description="Stands in for PubMed.", rate_limit=3)


async def test_what_a_search_found_is_collected_and_searched_beside_the_sources() -> None:
    handler = SearchHandler([Tool("pubmed", [evidence("Timolol in migraine.", pmid="1")])], include_rag=True)
    await handler.execute("timolol")
    handler.tools = [
        Tool(name, [evidence("Timolol again.", pmid="2", source=name)]) for name in ("pubmed", "europepmc")
    ]

    result = await handler.execute("timolol")

    assert {each.key: each.record.found_in for each in result.evidence} == {
        "pmid:1": [],
        "pmid:2": ["europepmc", "pubmed"],
    }
    assert (result.sources_searched, result.total_found, result.errors) == (["pubmed", "europepmc"], 2, [])


async def test_nothing_is_collected_unless_that_is_wanted() -> None:
    handler = SearchHandler([Tool("pubmed", [evidence(pmid="1")])], auto_ingest_to_rag=False)
    assert handler.collected is None
    collected = handler.add_rag_tool()

    await handler.execute("timolol")

    assert handler.collected is collected
    assert len(collected) == 0


TEXTS = st.text(min_size=1, max_size=40) | st.sampled_from(
    ["migraine", "Migraine prevention", "naltrexone fatigue", "—", "β"]
)


@given(st.text(max_size=60), st.lists(TEXTS, max_size=6))
def test_relevance_lies_between_0_and_1_and_repeats(question: str, contents: list[str]) -> None:
    records = [evidence(text, pmid=at + 1) for at, text in enumerate(contents)]

    ranked = rank(question, records)

    assert ranked == rank(question, records)
    assert sorted(r.key for r in ranked) == sorted(r.key for r in records)
    assert [r for r in ranked if not 0 <= r.relevance <= 1] == []
    assert [r.relevance for r in ranked] == sorted((r.relevance for r in ranked), reverse=True)


def test_a_rare_word_weighs_more_and_a_repeated_one_a_little_more() -> None:
    texts = ["drugs", "drugs drugs", "migraine drugs", "migraine migraine drugs", "timolol drugs"]
    ranked = rank("timolol migraine", [evidence(text, pmid=at + 1) for at, text in enumerate(texts)])
    longer, shorter = evidence(f"migraine {'timolol ' * 40}", pmid="1"), evidence("migraine drugs", pmid="2")

    assert [each.content for each in ranked] == [*texts[:1:-1], *texts[:2]]
    assert [each.key for each in rank("migraine", [longer, shorter])] == ["pmid:2", "pmid:1"]


@pytest.mark.parametrize("question", ["", "?!", "which drugs might help", "zzz"])
def test_without_a_matching_word_the_sources_order_decides(question: str) -> None:
    ranked = rank(question, [evidence("A", pmid="9"), evidence("B", pmid="5")])

    assert [r.key for r in ranked] == ["pmid:9", "pmid:5"]
    assert ranked[0].relevance > ranked[1].relevance


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("COVID", "post-COVID-19 fatigue"),
        ("Sjögren", "SJOGREN disease"),
        ("β-blocker", "β blockers in angina"),
    ],
)
def test_a_word_is_found_however_it_is_written(asked: str, written: str) -> None:
    assert rank(asked, [evidence("soil", pmid="1"), evidence(written, pmid="2")])[0].key == "pmid:2"


class Paged(Source):
    """A source of ten hits, two by a request; its cursor is the number of the next hit."""

    name, description = "paged", "Gives pages."

    def __init__(self, transport: Transport, down_at: str = "") -> None:
        super().__init__(transport)
        self.asked, self.down_at = list[str | None](), down_at

    async def hits(self, number: int, size: int) -> tuple[list[int], int, list[str]]:
        page, problems = await self.page(number, size, "migraine", self.ask)
        return page.hits, page.total, problems

    async def ask(self, mark: str | None) -> Page:
        self.asked.append(mark)
        if mark == self.down_at:
            raise SourceUnavailable("paged", "is down")
        at = int(mark or 0)
        return Page([at, at + 1], 0 if at else 10, str(at + 2) if at < 8 else None)


async def test_each_page_goes_on_where_the_one_before_ended_and_is_filled(transport: Transport) -> None:
    source = Paged(transport)

    assert await source.hits(1, 4) == ([0, 1, 2, 3], 10, [])
    assert await source.hits(2, 4) == ([4, 5, 6, 7], 10, [])
    assert source.asked == [None, "2", "4", "6"]
    assert await source.hits(3, 4) == ([8, 9], 10, [])
    assert await source.hits(7, 4) == ([], 10, [])


async def test_a_page_that_breaks_off_keeps_its_hits_and_is_asked_for_again(transport: Transport) -> None:
    source = Paged(transport, down_at="2")

    assert await source.hits(1, 4) == ([0, 1], 10, ["only the first 2 could be had: is down"])
    source.down_at = ""
    assert await source.hits(1, 4) == ([0, 1, 2, 3], 10, [])


async def test_a_query_without_hits_is_widened_until_there_are_some(transport: Transport) -> None:
    class Narrow(Source):
        card = cards()["pubmed"]

        async def find_online(self, query: str, max_results: int, filters: Filters | None) -> SourceReply:
            asked.append(query)
            return self.reply(query, [evidence(pmid="1")] if len(asked) > 1 else [])

    asked = list[str]()
    reply = await Narrow(transport).find("acromegaly AND flares AND children")

    assert asked == ["acromegaly AND flares AND children", "acromegaly AND flares"]
    assert (reply.status, reply.warnings) == (Status.OK, [f"nothing on the whole query; asked {asked[1]}"])
