"""One failing tool stops no other, and every failure is named."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from builders import evidence

from willowbark.tools.errors import RateLimitError, SourceRefused, SourceUnavailable, UnreadableReply, UsageError
from willowbark.tools.evidence import Evidence
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.search import Filters, SearchHandler, SearchTool, Source, SourceReply, Status, ToolMetadata


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
        (RateLimitError("pubmed", "asks for fewer requests (429)", 9), "asks for fewer requests (429)"),
        (UnreadableReply("pubmed", "answered nothing"), "answered nothing"),
        (SourceRefused("pubmed", "refused the request (400)"), "refused the request (400)"),
        (KeyError("https://x/?api_key=canary"), "failed in an unknown way (KeyError)"),
        (RuntimeError("canary"), "failed in an unknown way (RuntimeError)"),
        (ConnectionError("canary"), "failed in an unknown way (ConnectionError)"),
        (RecursionError("canary"), "failed in an unknown way (RecursionError)"),
        (UsageError("no source named x"), "failed in an unknown way (UsageError)"),
        (TimeoutError("canary"), "no answer in time"),
        *((odd, "failed in an unknown way") for odd in (None, [None], ["text"], {"a": 1})),  # no records
    ],
    ids=repr,
)
@pytest.mark.parametrize("name", ["pubmed", "library"])
async def test_one_failing_tool_is_named_and_stops_no_other(name: str, failure: Any, named: str) -> None:
    result = await SearchHandler([Tool(name, failure), Tool("europepmc", [evidence(pmid="1")])]).execute("migraine")

    (error,) = result.errors
    assert error.startswith(f"{name}: {named}")
    assert "canary" not in error
    assert result.sources_searched == ["europepmc"]
    assert len(result.evidence) == 1


async def test_a_slow_tool_is_cancelled_and_named() -> None:
    slow, quick = Tool("pubmed", [evidence(pmid="1")], delay_s=20), Tool("europepmc", [evidence(pmid="2")])

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


async def test_a_source_that_found_a_part_or_nothing_was_searched_and_says_so(
    transport: Transport,
) -> None:
    source = PubMedStandIn(transport, [evidence(pmid="1")], Status.PARTIAL, "2 records could not be had")
    nothing = await SearchHandler([Tool("pubmed", [])]).execute("migraine")
    partly = await SearchHandler([source]).execute("migraine")

    assert (nothing.sources_searched, nothing.evidence, nothing.errors) == (["pubmed"], [], [])
    assert (partly.sources_searched, partly.total_found) == (["pubmed"], 90)
    assert partly.errors == ["pubmed: 2 records could not be had"]


async def test_records_found_twice_are_one() -> None:
    tools = [Tool("pubmed", [evidence(pmid="1")]), Tool("europepmc", [evidence(pmid="1", source="europepmc")])]

    result = await SearchHandler(tools).execute("migraine")

    assert [found.metadata["found_in"] for found in result.evidence] == [["europepmc", "pubmed"]]
    assert result.total_found == 2


async def test_a_sources_own_order_counts_where_words_do_not_tell(transport: Transport) -> None:
    found = [evidence(pmid=pmid) for pmid in ("9", "3", "7", "1")]

    result = await SearchHandler([PubMedStandIn(transport, found, Status.OK)]).execute("migraine")

    assert [one.key for one in result.evidence] == ["pmid:9", "pmid:3", "pmid:7", "pmid:1"]
    assert len({one.relevance for one in result.evidence}) == 4


def test_a_source_says_what_it_is_and_how_often_it_may_be_asked() -> None:
    source = PubMedStandIn(Transport(Endpoints.public({})), [], Status.EMPTY)

    assert source.get_metadata() == ToolMetadata(name="pubmed", description="Stands in for PubMed.", rate_limit=3)


async def test_what_a_search_found_is_collected_and_searched_beside_the_sources() -> None:
    handler = SearchHandler([Tool("pubmed", [evidence("Timolol in migraine.", pmid="1")])], include_rag=True)
    await handler.execute("timolol")
    handler.tools = [Tool("pubmed", [evidence("Timolol again.", pmid="2")])]

    result = await handler.execute("timolol")

    assert {each.key for each in result.evidence} == {"pmid:1", "pmid:2"}
    assert (result.sources_searched, result.total_found, result.errors) == (["pubmed"], 1, [])


async def test_nothing_is_collected_unless_that_is_wanted() -> None:
    handler = SearchHandler([Tool("pubmed", [evidence(pmid="1")])], auto_ingest_to_rag=False)
    assert handler.collected is None
    collected = handler.add_rag_tool()

    await handler.execute("timolol")

    assert handler.collected is collected
    assert len(collected) == 0
