"""Replies of the sources' own shape, broken in thousands of ways: an odd record costs itself, nothing ends untyped.

What the sandbox answers is kept once, then handed out again with one place of it changed, by a seeded choice.
"""

import asyncio
import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import pytest

from willowbark.tools.errors import SearchError
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.limiter import RateLimiter
from willowbark.tools.http.transport import RetryPolicy, Transport
from willowbark.tools.http.wire import HttpxWire, WireReply, WireRequest
from willowbark.tools.sandbox.server import SandboxServer
from willowbark.tools.search import SourceReply
from willowbark.tools.toolbox import source_class

pytestmark = pytest.mark.whole

QUERIES = {
    "clinicaltrials": "migraine",
    "europepmc": "migraine",
    "pubmed": "migraine",
    "opentargets": "propranolol AND topiramate AND candesartan",
    "chembl": "propranolol AND topiramate AND candesartan",
    "openfda": "propranolol AND topiramate AND candesartan",
    "uniprot": "propranolol AND lisinopril",
    "reactome": "propranolol AND lisinopril",
    "drugsfda": "propranolol AND topiramate AND losartan",
    "mychem": "propranolol AND topiramate AND candesartan",
}
MUTANTS = 350  # of each source
ODD: tuple[Any, ...] = (
    *(None, [], {}, "", " ", "x", 0, -1, 1.5, 10**400, True, [None], ["a"], [["a"]], [1, {}], {"a": 1}),
    *("\ud800", "\x00", "a" * 5000, {"id": None}, [{"id": 1}]),
)
RECORDS = {"clinicaltrials": "studies", "europepmc": "result", "openfda": "results", "opentargets": "data"}
"""Under which name a reply holds records."""
Kept = dict[str, WireReply]


def key_of(request: WireRequest) -> str:
    """What was asked, in a word."""
    return json.dumps([urlsplit(request.url).path, dict(request.params), request.json, request.text], sort_keys=True)


class Keeping:
    """A wire that keeps what another one brings."""

    def __init__(self) -> None:
        self.wire, self.kept = HttpxWire(), Kept()

    async def send(self, request: WireRequest, timeout_s: float) -> WireReply:
        found = await self.wire.send(request, timeout_s)
        self.kept[key_of(request)] = found
        return found

    async def close(self) -> None:
        await self.wire.close()


class Again:
    """A wire that hands out what was kept, with other bodies where there are any."""

    def __init__(self, kept: Kept, bodies: dict[str, bytes]) -> None:
        self.kept, self.bodies = kept, bodies

    async def send(self, request: WireRequest, timeout_s: float) -> WireReply:
        key = key_of(request)
        if key not in self.kept:
            return WireReply(404, {"content-type": "application/json"}, b"{}")
        known = self.kept[key]
        return WireReply(known.status, known.headers, self.bodies.get(key, known.body))

    async def close(self) -> None:
        """There is nothing to close."""


async def found(name: str, wire: Any, url: str = "http://127.0.0.1:1") -> SourceReply:
    policy = RetryPolicy(attempts=1)
    wires = {"httpx": wire, "requests": wire}
    async with Transport(Endpoints.sandbox(url), policy=policy, limiter=RateLimiter(None), wires=wires) as transport:
        return await source_class(name)(transport).find(QUERIES[name], 5)


@cache
def kept(name: str) -> tuple[Kept, int]:
    """A source's replies to its query, and how many records they hold."""
    wire = Keeping()
    with SandboxServer() as server:
        reply = asyncio.run(found(name, wire, server.url))
    again = asyncio.run(found(name, Again(wire.kept, {})))
    assert len(again.records) == len(reply.records) > 1
    return wire.kept, len(reply.records)


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to everything in a reply."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield (*path, key)
        yield from places(value, (*path, key))


def mutated(data: Any, path: tuple[Any, ...], choice: random.Random) -> Any:
    """A copy with one place taken out or put wrong."""
    changed = copy.deepcopy(data)
    holder = changed
    for step in path[:-1]:
        holder = holder[step]
    if choice.random() < 0.2:
        del holder[path[-1]]
    else:
        holder[path[-1]] = choice.choice(ODD)
    return changed


def mutants(name: str) -> Iterator[tuple[str, dict[str, bytes], bool]]:
    """What was changed, the reply that holds it, and whether it lies within a record."""
    replies, choice = kept(name)[0], random.Random(f"mutants of {name}")
    read = {key: json.loads(reply.body) for key, reply in replies.items() if reply.body[:1] in b"{["}
    listed = {key: list(places(data)) for key, data in read.items()}
    for _ in range(MUTANTS):
        key = choice.choice(sorted(read))
        path = choice.choice(listed[key])
        within = len(path) > (at := path.index(RECORDS[name]) + 2 if RECORDS.get(name) in path else 99) >= 0
        within = within and "mapIds" not in path  # what a name leads to is another request, of which no reply is kept
        changed = mutated(read[key], path, choice)
        yield f"{key} {path} {at}", {key: json.dumps(changed).encode()}, within


@pytest.mark.parametrize("name", QUERIES)
def test_a_mutant_is_read_or_refused_and_costs_no_other_record(name: str) -> None:
    replies, count = kept(name)

    async def try_all() -> None:
        for said, bodies, within in mutants(name):
            try:
                reply = await found(name, Again(replies, bodies))
            except SearchError:
                assert not within, said
                continue
            reply.model_dump_json()
            assert len(reply.records) >= count - 1 or not within, said
            assert len(reply.records) == count or not within or reply.warnings or name == "opentargets", said

    asyncio.run(try_all())


def test_an_article_that_lacks_any_element_costs_no_other() -> None:
    replies, count = kept("pubmed")
    [key] = [key for key, reply in replies.items() if reply.body[:1] == b"<"]
    body = replies[key].body.decode()
    elements = [found.span() for found in re.finditer(r"<(\w+)[^>]*>[^<]*</\1>", body)]
    choice = random.Random("articles")
    changes: list[Callable[[str], str]] = [lambda _: "", lambda text: text * 2, lambda _: "<Odd a='1'>x</Odd>"]

    async def try_all() -> None:
        for _ in range(MUTANTS):
            start, end = choice.choice(elements)
            changed = body[:start] + choice.choice(changes)(body[start:end]) + body[end:]
            reply = await found("pubmed", Again(replies, {key: changed.encode()}))
            assert len(reply.records) >= count - 1, body[start:end]

    asyncio.run(try_all())
