"""A source that changes its schema, answers an error inside 200 or refuses is named, and costs itself alone."""

import json
import re
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import pytest
from autogen_core import CancellationToken
from faults.replies import Reply
from recorded import Answer, recorded, reply_to

from willowbark.tools.errors import (
    AccessRefused,
    RateLimitError,
    SearchError,
    SourceRefused,
    SourceUnavailable,
    UnreadableReply,
)
from willowbark.tools.handler import SearchHandler
from willowbark.tools.http.transport import Transport
from willowbark.tools.records.registry import searchable
from willowbark.tools.search import Status, source_class
from willowbark.tools.sources.studies.biorxiv import fetch_published_doi
from willowbark.tools.sources.studies.crossref import fetch_updates
from willowbark.tools.sources.studies.openalex import fetch_work
from willowbark.tools.toolbox import SourceTool, find_input_kind

DRUG = "propranolol"
LOOKUPS: dict[str, Callable[[Transport], Awaitable[object]]] = {
    "crossref": lambda transport: fetch_updates(["10.1136/bmj.n71"], transport),
    "biorxiv": lambda transport: fetch_published_doi("10.1101/2021.03.23.21254186", transport),
    "openalex": lambda transport: fetch_work("10.1016/s0140-6736(97)11096-0", transport),
}
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
    "403": Status.UNAVAILABLE,
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
        told = tool.args_type()(**({"drugs": [DRUG]} if find_input_kind(tool.schema) == "drugs" else {"query": DRUG}))
        [reply] = (await tool.run(told, CancellationToken())).replies
        handler = SearchHandler([source_class(name)(transport), source_class(other)(transport)])
        found = await handler.execute(DRUG, 5)

    assert True in broke
    assert reply.status in ([STATUS[how]] if how in STATUS else [Status.UNAVAILABLE, Status.BAD_QUERY, Status.PARTIAL])
    assert reply.warnings
    assert not reply.records
    assert [line for line in found.errors if line.startswith(f"{name}: ")], found.errors
    assert other in {record.citation.source for record in found.evidence}


@pytest.mark.parametrize("how", BROKEN)
@pytest.mark.parametrize("name", LOOKUPS)
async def test_a_broken_look_up_is_named(name: str, how: str) -> None:
    broke, failure = list[bool](), None
    async with recorded(breaks(name, BROKEN[how], broke)) as transport:
        try:
            await LOOKUPS[name](transport)
        except SearchError as error:
            failure = error

    if not any(broke):
        assert how == "a new schema of its entries"  # and there are none in its reply
        return
    assert failure is not None
    assert failure.source == name


KEY, ADDRESS = "BSAs3cr3tk3y0fmine", "http://192.0.2.77/x"
LIMITED = {"error": "API rate limit exceeded", "api-key": ADDRESS}
OF_KEY = {"error": {"code": "SUBSCRIPTION_TOKEN_INVALID", "detail": f"{KEY} is wrong"}}
MOVED = "<!DOCTYPE html><html><body>We have moved.</body></html>"
FAULTS: list[tuple[str, int, object, type[SearchError]]] = [
    ("pubmed/esearch.fcgi", 200, LIMITED, RateLimitError),
    ("pubmed/esearch.fcgi", 200, {"esearchresult": {"ERROR": f"Search Backend failed, {ADDRESS}"}}, SourceUnavailable),
    ("pubmed/esearch.fcgi", 200, {"esearchresult": {"idlist": []}}, UnreadableReply),
    ("pubmed/esearch.fcgi", 200, {"esearchresult": {"count": "3", "idlist": []}}, UnreadableReply),
    ("pubmed/esearch.fcgi", 200, {"error": "API key invalid", "api-key": KEY}, SourceRefused),
    ("pubmed/efetch.fcgi", 200, LIMITED, RateLimitError),
    ("pubmed/efetch.fcgi", 200, "<eFetchResult><ERROR>No history data</ERROR></eFetchResult>", SourceUnavailable),
    ("pubmed/efetch.fcgi", 200, "<eSearchResult><Count>1</Count></eSearchResult>", UnreadableReply),
    ("pubmed/efetch.fcgi", 200, "<PubmedArticleSet/>", UnreadableReply),
    ("europepmc/search", 200, {"errCode": 404, "errMsg": f"Empty query, {ADDRESS}"}, SourceRefused),
    ("europepmc/search", 200, {"errCode": 500, "errMsg": "down"}, SourceUnavailable),
    ("europepmc/search", 200, {"hitCount": 3, "resultList": {"result": []}}, UnreadableReply),
    ("clinicaltrials/studies", 400, f"Error parsing query: no viable alternative, see {ADDRESS}", SourceRefused),
    ("clinicaltrials/studies", 200, {"studies": {}}, UnreadableReply),
    ("brave/*", 200, {"web": {"results": []}}, UnreadableReply),
    ("brave/*", 200, {"type": "search", "web": {"results": "none"}}, UnreadableReply),
    ("brave/*", 422, OF_KEY, AccessRefused),
    ("brave/*", 200, {"error": {"code": f"no {KEY}", "detail": KEY}}, SourceRefused),
    ("brave/*", 403, {"message": KEY}, AccessRefused),
    ("serpapi/*", 200, {"organic_results": []}, UnreadableReply),
    ("serpapi/*", 200, {"search_metadata": {"status": "Success"}, "organic_results": "none"}, UnreadableReply),
    ("serpapi/*", 200, {"search_metadata": {"status": "Error"}, "error": f"no {KEY}"}, SourceUnavailable),
    ("serpapi/*", 401, {"error": f"Invalid API key {KEY}, see {ADDRESS}"}, AccessRefused),
    ("serpapi/*", 429, {"error": "Your account has run out of searches."}, SourceRefused),
    ("serpapi/*", 429, {"error": "Too many"}, RateLimitError),
    ("duckduckgo/*", 200, MOVED, UnreadableReply),
    ("duckduckgo/*", 200, [], SourceRefused),
    ("duckduckgo/*", 200, [{"title": "PMID: 1"}], UnreadableReply),
    ("reactome/search/query", 404, MOVED, UnreadableReply),
    ("reactome/search/query", 404, {"error": "no such service"}, UnreadableReply),
    ("reactome/search/query", 200, {"groups": []}, UnreadableReply),
    ("openfda/*", 404, {"error": {"code": "NOT_FOUND", "message": "Page not found"}}, UnreadableReply),
    ("openfda/*", 200, {"results": []}, UnreadableReply),
    ("openfda/*", 200, {"meta": {"results": {"total": 1}}}, UnreadableReply),
    ("opentargets/*", 200, {"errors": [{"message": f"Internal error at {ADDRESS}"}]}, SourceUnavailable),
    ("opentargets/*", 200, {"errors": [{"message": "Query is too expensive."}]}, SourceRefused),
    ("opentargets/*", 400, {"errors": "No"}, SourceRefused),
    ("opentargets/*", 200, {"data": None}, UnreadableReply),
]


@pytest.mark.parametrize(("path", "status", "body", "error"), FAULTS)
async def test_no_failure_looks_like_nothing_found_or_tells_a_key_or_an_address(
    path: str, status: int, body: object, error: type[SearchError]
) -> None:
    name = path.partition("/")[0]
    query = "nosuch pathway" if name == "reactome" else DRUG
    answer = httpx.Response(status, text=body) if isinstance(body, str) else httpx.Response(status, json=body)
    async with recorded({path: answer}) as transport:
        with pytest.raises(SearchError) as raised:
            await source_class(name)(transport).find(query)

    assert type(raised.value) is error
    assert KEY not in str(raised.value)
    assert ADDRESS not in str(raised.value)
