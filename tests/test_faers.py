"""FAERS: counts of reports, each with the sentence that they show no cause."""

import json
from pathlib import Path

import httpx
import pytest

from willowbark.tools.errors import SourceRefused, UnreadableReply
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.limiter import RateLimiter
from willowbark.tools.http.transport import RetryPolicy, Transport
from willowbark.tools.http.wire import HttpxWire
from willowbark.tools.records import EventCounts
from willowbark.tools.registry import offered
from willowbark.tools.sandbox.server import SandboxServer
from willowbark.tools.search import Status
from willowbark.tools.sources.labels.faers import FAERS

REPLIES = Path(__file__).resolve().parents[1].parent / "shared" / "data" / "replies" / "biomcp_openfda"
NO_MATCH = {"error": {"code": "NOT_FOUND", "message": "No matches found!"}}


def answering(answer: httpx.Response) -> FAERS:
    def send(request: httpx.Request) -> httpx.Response:
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    wires = {"httpx": HttpxWire(httpx.MockTransport(send))}
    policy = RetryPolicy(attempts=1)
    return FAERS(Transport(Endpoints.public({}), policy=policy, limiter=RateLimiter(None), wires=wires))


async def test_counts_come_with_the_sentence_that_they_show_no_cause() -> None:
    with SandboxServer() as server:
        async with Transport(Endpoints.sandbox(server.url)) as transport:
            found = await FAERS(transport).find("pembrolizumab")

    [record] = found.records
    assert EventCounts.NOT_CAUSE in record.content
    assert record.metadata["counts"] == [{"term": "malignant neoplasm progression", "count": 12016}]


def test_it_is_asked_only_where_settings_name_it_and_needs_no_key_for_that() -> None:
    assert "faers" not in offered()
    assert Endpoints.public({}).may_search("faers")


async def test_no_report_is_a_true_zero() -> None:
    found = await answering(httpx.Response(404, json=NO_MATCH)).find("propranolol")

    assert (found.status, found.warnings) == (Status.EMPTY, ["no report names 'propranolol'"])


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(404, json={"error": {"code": "NOT_FOUND", "message": "Page not found"}}), UnreadableReply),
        (httpx.Response(200, json={"meta": {}}), UnreadableReply),
        (httpx.Response(400, json={"error": {"code": "BAD_REQUEST"}}), SourceRefused),
    ],
)
async def test_no_failure_looks_like_no_report(answer: httpx.Response, error: type[Exception]) -> None:
    with pytest.raises(error):
        await answering(answer).find("propranolol")


@pytest.mark.skipif(not REPLIES.exists(), reason="../shared/data/replies/biomcp_openfda is not beside this clone")
@pytest.mark.parametrize("name", ["faers_count_pembrolizumab_reaction_20260811", "faers_count"])
async def test_real_replies_are_read(name: str) -> None:
    [path] = REPLIES.rglob(f"*openfda__{name}.json")
    found = await answering(httpx.Response(200, json=json.loads(path.read_text()))).find("pembrolizumab")

    assert found.records[0].metadata["counts"][0]["count"] in (12016, 12)
