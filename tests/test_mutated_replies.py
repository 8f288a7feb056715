"""Replies of the sources' own shape, broken in thousands of ways: an odd record costs itself, nothing ends untyped.

What is recorded is handed out again with one place of it changed, by a seeded choice.
"""

import asyncio
import copy
import json
import operator
import random
import re
from collections.abc import Callable, Iterator
from functools import cache, reduce
from typing import Any

import httpx
import pytest
from recorded import recorded, reply_to

from willowbark.tools.errors import SearchError
from willowbark.tools.search import SourceReply, source_class

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
Kept = dict[str, bytes]


def key_of(request: httpx.Request) -> str:
    """What was asked, in a word."""
    return f"{request.url.raw_path.decode()} {request.content.decode()}"


def found(name: str, bodies: Kept, kept: Kept | None = None) -> SourceReply:
    """What a source gives for its query, with other bodies where there are any; `kept` gets those that were read."""

    def answered(request: httpx.Request) -> httpx.Response:
        reply = reply_to(request)
        body = bodies.get(key_of(request), reply.body)
        if kept is not None:
            kept[key_of(request)] = body
        return httpx.Response(reply.status, headers={"content-type": reply.kind}, content=body)

    async def ask() -> SourceReply:
        async with recorded({"*": answered}) as transport:
            return await source_class(name)(transport).find(QUERIES[name], 5)

    return asyncio.run(ask())


@cache
def kept(name: str) -> tuple[Kept, int]:
    """A source's replies to its query, and how many records they hold."""
    replies = Kept()
    count = len(found(name, {}, replies).records)
    assert count > 1
    return replies, count


def places(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to everything in a reply."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ():
        yield (*path, key)
        yield from places(value, (*path, key))


def mutants(name: str) -> Iterator[tuple[str, dict[str, bytes], bool]]:
    """What was changed, the reply that holds it, and whether it lies within a record."""
    replies, choice = kept(name)[0], random.Random(f"mutants of {name}")
    read = {key: json.loads(body) for key, body in replies.items() if body[:1] in b"{["}
    listed = {key: list(places(data)) for key, data in read.items()}
    for _ in range(MUTANTS):
        key = choice.choice(sorted(read))
        path = choice.choice(listed[key])
        within = len(path) > (at := path.index(RECORDS[name]) + 2 if RECORDS.get(name) in path else 99) >= 0
        within = within and "mapIds" not in path  # what a name leads to is another request, of which no reply is kept
        changed = copy.deepcopy(read[key])
        holder = reduce(operator.getitem, path[:-1], changed)
        if choice.random() < 0.2:
            del holder[path[-1]]
        else:
            holder[path[-1]] = choice.choice(ODD)
        yield f"{key} {path} {at}", {key: json.dumps(changed).encode()}, within


@pytest.mark.parametrize("name", QUERIES)
def test_a_mutant_is_read_or_refused_and_costs_no_other_record(name: str) -> None:
    _, count = kept(name)
    for said, bodies, within in mutants(name):
        try:
            reply = found(name, bodies)
        except SearchError:
            assert not within, said
            continue
        reply.model_dump_json()
        assert len(reply.records) >= count - 1 or not within, said
        assert len(reply.records) == count or not within or reply.warnings or name == "opentargets", said


def test_an_article_that_lacks_any_element_costs_no_other() -> None:
    replies, count = kept("pubmed")
    [key] = [key for key, body in replies.items() if body[:1] == b"<"]
    body = replies[key].decode()
    elements = [found.span() for found in re.finditer(r"<(\w+)[^>]*>[^<]*</\1>", body)]
    choice = random.Random("articles")
    changes: list[Callable[[str], str]] = [lambda _: "", lambda text: text * 2, lambda _: "<Odd a='1'>x</Odd>"]
    for _ in range(MUTANTS):
        start, end = choice.choice(elements)
        changed = body[:start] + choice.choice(changes)(body[start:end]) + body[end:]
        assert len(found("pubmed", {key: changed.encode()}).records) >= count - 1, body[start:end]
