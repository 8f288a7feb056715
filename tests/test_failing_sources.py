"""A source that changes its schema, answers an error inside 200 or refuses is named, and costs itself alone."""

import json
import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from autogen_core import CancellationToken
from faults.replies import Reply
from recorded import Answer, recorded, reply_to

from willowbark.tools.errors import SearchError
from willowbark.tools.registry import cards, searchable
from willowbark.tools.search import SearchHandler, Status, source_class
from willowbark.tools.sources.card import source_modules
from willowbark.tools.toolbox import SourceTool, asked_by

DRUG = "propranolol"
LOOKUPS = [card.name for card in cards().values() if card.use == "looked_up"]
Breaking = Callable[[Reply], Reply]


def answering(status: int, body: object, kind: str = "application/json") -> Breaking:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda _: Reply(status, kind, content)


def renamed(whole: bool) -> Breaking:
    """The source's own reply with other names: of all its fields, or of those of the entries in its lists."""

    def change(data: Any, inside: bool) -> Any:
        if isinstance(data, dict):
            return {f"{name}_2" if inside else name: change(each, inside) for name, each in data.items()}
        return [change(each, True) for each in data] if isinstance(data, list) else data

    def broken(reply: Reply) -> Reply:
        body = reply.body
        if body.lstrip()[:1] in (b"{", b"["):
            data = json.loads(body)
            changed = change(data, whole)
            body = json.dumps(changed).encode() if changed != data else body
        else:
            body = re.sub(rb"(</?)(?!html|\?xml|!)([A-Za-z])", rb"\1x\2", body).replace(b"class=", b"data-x=")
        return Reply(reply.status, reply.kind, body)

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
    "400": answering(400, {"message": "Bad Request"}),
    "403": answering(403, {"message": "Forbidden"}),
    "500": answering(500, b""),
}
STATUS = {
    "403": Status.BAD_QUERY,
    "500": Status.UNAVAILABLE,
    "a web page": Status.UNAVAILABLE,
    "an empty body": Status.UNAVAILABLE,
    "an empty object": Status.UNAVAILABLE,
}
"""What each way of failing is; of the others it depends on the source."""


def breaks(name: str, breaking: Breaking, broke: list[bool]) -> dict[str, Answer]:
    """What a source answers that is broken in a way; `broke` gets whether that differs from what is recorded."""

    def answered(request: httpx.Request) -> httpx.Response:
        found = reply_to(request)
        broken = breaking(found)
        broke.append((broken.status, broken.body) != (found.status, found.body))
        return httpx.Response(broken.status, headers={"content-type": broken.kind}, content=broken.body)

    return {f"{name}/*": answered}


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("name", searchable())
async def test_a_broken_source_is_named_and_costs_itself_alone(name: str, how: str) -> None:
    other, broke = "pubmed" if name != "pubmed" else "europepmc", list[bool]()
    async with recorded(breaks(name, BROKEN[how], broke)) as transport:
        tool = SourceTool(name, max_results=5)
        tool.bind(transport, "mark")
        told = tool.args_type()(**({"drugs": [DRUG]} if asked_by(tool.schema) == "drugs" else {"query": DRUG}))
        [reply] = (await tool.run(told, CancellationToken())).replies
        handler = SearchHandler([source_class(name)(transport), source_class(other)(transport)])
        found = await handler.execute(DRUG, 5)

    assert any(broke)
    assert reply.status in ([STATUS[how]] if how in STATUS else [Status.UNAVAILABLE, Status.BAD_QUERY, Status.PARTIAL])
    assert reply.warnings
    assert not reply.records
    assert any(line.startswith(f"{name}: ") for line in found.errors)
    assert other in {record.citation.source for record in found.evidence}


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("name", LOOKUPS)
async def test_a_broken_look_up_is_named(name: str, how: str) -> None:
    broke, failure = list[bool](), None
    async with recorded(breaks(name, BROKEN[how], broke)) as transport:
        try:
            await source_modules()[name].small_question(transport)
        except SearchError as error:
            failure = error

    if not any(broke):
        assert how == "a new schema of its entries"  # and there are none in its reply
        return
    assert failure is not None
    assert failure.source == name
