"""A source that changes its schema, answers an error inside 200 or refuses is named, and costs itself alone."""

import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import pytest
from autogen_core import CancellationToken

from willowbark.tools.errors import SearchError
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.limiter import RateLimiter
from willowbark.tools.http.transport import RetryPolicy, Transport
from willowbark.tools.http.wire import HttpxWire, WireReply, WireRequest
from willowbark.tools.registry import cards, searchable
from willowbark.tools.sandbox.server import SandboxServer
from willowbark.tools.search import SearchHandler, Status
from willowbark.tools.sources.card import source_modules
from willowbark.tools.toolbox import SourceTool, source_class

DRUG = "propranolol"
LOOKUPS = [card.name for card in cards().values() if card.use == "looked_up" and card.name != "openalex"]
Breaking = Callable[[WireReply], WireReply]


def answering(status: int, body: object, kind: str = "application/json") -> Breaking:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda _: WireReply(status, {"content-type": kind}, content)


def renamed(whole: bool) -> Breaking:
    """The source's own reply with other names: of all its fields, or of those of the entries in its lists."""

    def change(data: Any, inside: bool) -> Any:
        if isinstance(data, dict):
            return {f"{name}_2" if inside else name: change(each, inside) for name, each in data.items()}
        return [change(each, True) for each in data] if isinstance(data, list) else data

    def broken(reply: WireReply) -> WireReply:
        body = reply.body
        if body.lstrip()[:1] in (b"{", b"["):
            data = json.loads(body)
            changed = change(data, whole)
            body = json.dumps(changed).encode() if changed != data else body
        else:
            body = re.sub(rb"(</?)(?!html|\?xml|!)([A-Za-z])", rb"\1x\2", body).replace(b"class=", b"data-x=")
        return WireReply(reply.status, reply.headers, body)

    return broken


PAGE = b"<!DOCTYPE html><html><body>Down for maintenance</body></html>"
BROKEN: dict[str, Breaking] = {
    "an error inside 200": answering(200, {"error": {"code": "DOWN", "message": "database is down"}}),
    "errors inside 200": answering(200, {"errors": [{"message": "database is down"}]}),
    "a web page": answering(200, PAGE, "text/html"),
    "an empty body": answering(200, b""),
    "an empty object": answering(200, {}),
    "a new schema": renamed(whole=True),
    "a new schema of its entries": renamed(whole=False),
    "403": answering(403, {"message": "Forbidden"}),
}


class BreaksOne:
    """A wire to the sandbox on which one source is broken."""

    def __init__(self, name: str, breaking: Breaking) -> None:
        self.wire, self.name, self.breaking, self.broke = HttpxWire(), name, breaking, False

    async def send(self, request: WireRequest, timeout_s: float) -> WireReply:
        """As the other wire, but for what is broken."""
        reply = await self.wire.send(request, timeout_s)
        if urlsplit(request.url).path.split("/")[1] != self.name:
            return reply
        answer = self.breaking(reply)
        self.broke |= (answer.status, answer.body) != (reply.status, reply.body)
        return answer

    async def close(self) -> None:
        """As the other wire."""
        await self.wire.close()


@pytest.fixture(scope="module")
def server() -> Any:
    with SandboxServer() as running:
        yield running


def broken(server: SandboxServer, name: str, how: str) -> tuple[Transport, BreaksOne]:
    wire = BreaksOne(name, BROKEN[how])
    endpoints = Endpoints.sandbox(server.url)
    wires = {"httpx": wire, "requests": wire}
    return Transport(endpoints, policy=RetryPolicy(attempts=1), limiter=RateLimiter(None), wires=wires), wire


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("name", searchable())
async def test_a_broken_source_is_named_and_costs_itself_alone(server: SandboxServer, name: str, how: str) -> None:
    transport, wire = broken(server, name, how)
    other, drug = "pubmed" if name != "pubmed" else "europepmc", DRUG
    async with transport:
        tool = SourceTool(name, max_results=5)
        tool.bind(transport, "mark")
        told = tool.args_type()(**({"drugs": [drug]} if tool.takes_drugs else {"query": drug}))
        [reply] = (await tool.run(told, CancellationToken())).replies
        handler = SearchHandler([source_class(name)(transport), source_class(other)(transport)])
        found = await handler.execute(f"{drug} OR {DRUG}", 5)

    if not wire.broke:  # the sandbox has no entry of its, so that none has another name
        assert (name, how) == ("openalex", "a new schema of its entries")
        return
    assert reply.status in (Status.UNAVAILABLE, Status.BAD_QUERY, Status.PARTIAL)
    assert reply.warnings
    assert not reply.records
    assert any(line.startswith(f"{name}: ") for line in found.errors)
    assert other in {record.citation.source for record in found.evidence}


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("name", LOOKUPS)
async def test_a_broken_look_up_is_named(server: SandboxServer, name: str, how: str) -> None:
    transport, wire = broken(server, name, how)
    failure: SearchError | None = None
    async with transport:
        try:
            await source_modules()[name].small_question(transport)
        except SearchError as error:
            failure = error
    assert (failure is not None and failure.source == name) or not wire.broke
