"""Calls of one answer fetch what they need of a source in one request, whichever is answered first."""

import asyncio
from urllib.parse import parse_qs

import httpx
import pytest
from autogen_core import CancellationToken
from recorded import HERE, recorded, reply_to

from willowbark.tools.errors import SearchError, SourceUnavailable
from willowbark.tools.http.endpoints import Endpoints, RateLimiter
from willowbark.tools.http.reply import Reply
from willowbark.tools.http.together import MeetingPoint, gather_names
from willowbark.tools.http.transport import Exchange, Transport
from willowbark.tools.records.enclosure import new_marker
from willowbark.tools.toolbox import SourceTool, ToolReply


def asked_of(requests: list[httpx.Request], path: str) -> list[dict[str, str]]:
    found = [each for each in requests if each.url.path.endswith(path)]
    sent = [each.content.decode() if each.method == "POST" else each.url.query.decode() for each in found]
    return [{name: values[0] for name, values in parse_qs(line).items()} for line in sent]


async def search(transport: Transport, *queries: str, page: int = 1) -> list[ToolReply]:
    tool = SourceTool("pubmed", 2)
    tool.bind(transport, new_marker())
    asked = [{"query": query, "page": page} for query in queries]
    return list(await asyncio.gather(*(tool.run_json(each, CancellationToken()) for each in asked)))


async def test_searches_that_begin_at_once_have_their_records_fetched_in_one_request() -> None:
    seen = list[httpx.Request]()
    async with recorded(seen=seen) as transport:
        replies = await search(transport, "migraine", "propranolol", "smoking")

    [fetched] = asked_of(seen, "efetch.fcgi")
    shown = [record.key.removeprefix("pmid:") for each in replies for record in each.replies[0].records]
    assert [each.replies[0].status for each in replies] == ["ok", "ok", "ok"]
    assert sorted(fetched["id"].split(",")) == sorted(set(shown))


async def test_a_search_that_is_refused_costs_the_others_nothing() -> None:
    seen = list[httpx.Request]()

    async with recorded(seen=seen) as transport:
        replies = await search(transport, "migraine", " ")

    assert [each.replies[0].status for each in replies] == ["ok", "bad_query"]
    assert len(asked_of(seen, "efetch.fcgi")) == 1


async def test_the_hits_of_a_later_page_are_known_from_the_first_search() -> None:
    seen = list[httpx.Request]()
    async with recorded(seen=seen) as transport:
        first, second = [(await search(transport, "migraine", page=page))[0].replies[0] for page in (1, 2)]

    assert [each["retmax"] for each in asked_of(seen, "esearch.fcgi")] == ["8"]
    keys = [record.key for each in (first, second) for record in each.records]
    assert len(set(keys)) == len(keys) == 4


async def test_what_is_needed_together_follows_from_the_order_of_calls_alone() -> None:
    point, gathered = MeetingPoint(), list[list[str]]()

    async def call(names: list[str], turns: int) -> None:
        async with point.join():
            for _ in range(turns):
                await asyncio.sleep(0)
            gathered.append(list(await gather_names(names)))

    await asyncio.gather(call(["1", "2"], 9), call(["3", "1"], 0), call(["4"], 4))
    await call(["5"], 0)

    assert gathered == [["1", "2", "3", "4"]] * 3 + [["5"]]


async def test_a_call_that_ends_or_is_stopped_is_not_waited_for() -> None:
    point = MeetingPoint()

    async def call(names: list[str] | None) -> list[str]:
        async with point.join():
            if names is None:
                await asyncio.Event().wait()
            return list(await gather_names(names or []))

    stuck = asyncio.ensure_future(call(None))
    waiting = asyncio.ensure_future(call(["1"]))
    for _ in range(3):
        await asyncio.sleep(0)
    assert not waiting.done()
    stuck.cancel()

    assert await waiting == ["1"]
    assert await gather_names(["2"]) == ["2"]


class Kept:
    """A recorder that gives replies again, and lets nothing new pass in a replay."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply] = {}
        self.is_replay = False

    def exchanged(self, exchange: Exchange) -> None:
        headers = {"content-type": exchange.content_type}
        self.replies[exchange.request] = Reply(exchange.source, exchange.status or 0, headers, exchange.body)

    def recall(self, source: str, request: str) -> Reply | SearchError | None:
        unknown = SourceUnavailable(source, "its reply is not kept") if self.is_replay else None
        return self.replies.get(request, unknown)

    def gave_up(self, request: str, error: SearchError) -> None:
        raise AssertionError(f"gave up: {error}")


@pytest.mark.parametrize("slow", ["migraine", "smoking"])
async def test_a_replay_asks_for_the_same_records_whichever_search_was_answered_first(slow: str) -> None:
    kept, queries = Kept(), ("migraine", "propranolol", "smoking")

    async def send(request: httpx.Request) -> httpx.Response:
        for _ in range(20 if slow in str(request.url) else 1):
            await asyncio.sleep(0)
        found = reply_to(request)
        stream = httpx.ByteStream(found.body)
        return httpx.Response(found.status, headers={"content-type": found.kind}, stream=stream)

    replies = list[list[ToolReply]]()
    for kept.is_replay in (False, True):
        network = httpx.MockTransport(send)
        limiter = RateLimiter(None)
        async with Transport(Endpoints.at(HERE), network=network, recorder=kept, limiter=limiter) as transport:
            replies.append(await search(transport, *queries))

    live, replayed = ([reply.replies[0] for reply in each] for each in replies)
    assert [reply.status for reply in live] == ["ok"] * 3
    assert [reply.records for reply in replayed] == [reply.records for reply in live]
