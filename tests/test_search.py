"""One failing tool stops no other, and every failure is named."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from willowbark.tools.errors import RateLimitError, SourceRefused, SourceUnavailable, UnreadableReply, UsageError
from willowbark.tools.evidence import Citation, Evidence, SourceName
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.search import Filters, SearchHandler, SearchTool, Source, SourceReply, Status, ToolMetadata


def record(pmid: str, content: str = "Text.", source: SourceName = "pubmed") -> Evidence:
    return Evidence(content=content, citation=Citation(source=source, title="T", url=""), metadata={"pmid": pmid})


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
    tool = Tool("library", [record("1")])

    result = await SearchHandler([tool]).execute("migraine")

    assert isinstance(tool, SearchTool)
    assert [found.key for found in result.evidence] == ["pmid:1"]
    assert (result.sources_searched, result.total_found, result.errors) == (["library"], 1, [])


@pytest.mark.parametrize(
    ("failure", "named"),
    [
        (SourceUnavailable("pubmed", "is down"), "is down"),
        (RateLimitError("pubmed", "asks for fewer requests (429)", 9), "asks for fewer requests (429)"),
        (UnreadableReply("pubmed", "answered nothing"), "answered nothing"),
        (SourceRefused("pubmed", "refused the request (400)"), "refused the request (400)"),
        (KeyError("https://x/?api_key=canary"), "failed in an unknown way (KeyError)"),
        (RuntimeError("canary"), "failed in an unknown way (RuntimeError)"),
        (ConnectionError("canary"), "failed in an unknown way (ConnectionError)"),
        (RecursionError("canary"), "failed in an unknown way (RecursionError)"),
        (UsageError("no source named x"), "failed in an unknown way (UsageError)"),
        (TimeoutError("canary"), "no answer in time"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", ["pubmed", "library"])
async def test_one_failing_tool_is_named_and_stops_no_other(name: str, failure: Exception, named: str) -> None:
    result = await SearchHandler([Tool(name, failure), Tool("europepmc", [record("1")])]).execute("migraine")

    assert result.errors == [f"{name}: {named}"]
    assert result.sources_searched == ["europepmc"]
    assert len(result.evidence) == 1


@pytest.mark.parametrize("found", [None, [None], ["text"], {"a": 1}], ids=str)
async def test_a_tool_that_gives_no_records_but_something_else_is_named(found: Any) -> None:
    result = await SearchHandler([Tool("library", found)]).execute("migraine")

    (error,) = result.errors
    assert error.startswith("library: failed in an unknown way")


async def test_a_slow_tool_is_cancelled_and_named() -> None:
    slow, quick = Tool("pubmed", [record("1")], delay_s=20), Tool("europepmc", [record("2")])

    result = await SearchHandler([slow, quick], timeout=0.1).execute("migraine")

    assert result.errors == ["pubmed: no answer within 0.1 s"]
    assert slow.ended == "cancelled"
    assert [found.key for found in result.evidence] == ["pmid:2"]


async def test_a_cancelled_search_cancels_its_tools() -> None:
    tools = [Tool("pubmed", delay_s=20), Tool("europepmc", delay_s=20)]
    task = asyncio.create_task(SearchHandler(tools).execute("migraine"))
    await asyncio.sleep(0.05)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert [tool.ended for tool in tools] == ["cancelled", "cancelled"]


async def test_a_source_that_found_nothing_was_searched() -> None:
    result = await SearchHandler([Tool("pubmed", [])]).execute("migraine")

    assert (result.sources_searched, result.evidence, result.errors) == (["pubmed"], [], [])


async def test_a_source_that_gave_a_part_was_searched_and_says_what_is_missing(transport: Transport) -> None:
    source = PubMedStandIn(transport, [record("1")], Status.PARTIAL, "2 records could not be had")

    result = await SearchHandler([source]).execute("migraine")

    assert result.sources_searched == ["pubmed"]
    assert result.total_found == 90
    assert result.errors == ["pubmed: 2 records could not be had"]


async def test_records_found_twice_are_one() -> None:
    tools = [Tool("pubmed", [record("1")]), Tool("europepmc", [record("1", source="europepmc")])]

    result = await SearchHandler(tools).execute("migraine")

    assert [found.metadata["found_in"] for found in result.evidence] == [["europepmc", "pubmed"]]
    assert result.total_found == 2


async def test_a_sources_own_order_counts_where_words_do_not_tell(transport: Transport) -> None:
    found = [record(pmid) for pmid in ("9", "3", "7", "1")]

    result = await SearchHandler([PubMedStandIn(transport, found, Status.OK)]).execute("migraine")

    assert [one.key for one in result.evidence] == ["pmid:9", "pmid:3", "pmid:7", "pmid:1"]
    assert len({one.relevance for one in result.evidence}) == 4


async def test_no_tools_find_nothing() -> None:
    assert (await SearchHandler([]).execute("migraine")).evidence == []


def test_a_source_says_what_it_is_and_how_often_it_may_be_asked() -> None:
    source = PubMedStandIn(Transport(Endpoints.public({})), [], Status.EMPTY)

    assert source.get_metadata() == ToolMetadata(name="pubmed", description="Stands in for PubMed.", rate_limit=3)


async def test_what_a_search_found_is_collected_and_searched_beside_the_sources() -> None:
    handler = SearchHandler([Tool("pubmed", [record("1", "Timolol in migraine.")])], include_rag=True)
    await handler.execute("timolol")
    handler.tools = [Tool("pubmed", [record("2", "Timolol again.")])]

    result = await handler.execute("timolol")

    assert {each.key for each in result.evidence} == {"pmid:1", "pmid:2"}
    assert (result.sources_searched, result.total_found, result.errors) == (["pubmed"], 1, [])


async def test_nothing_is_collected_unless_that_is_wanted() -> None:
    handler = SearchHandler([Tool("pubmed", [record("1")])], auto_ingest_to_rag=False)
    assert handler.collected is None
    collected = handler.add_rag_tool()

    await handler.execute("timolol")

    assert handler.collected is collected
    assert len(collected) == 0
