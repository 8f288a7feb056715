"""RxNorm: ingredients and brands behind a name; what bears no name is told from a failure."""

import httpx
import pytest

from willowbark.tools.errors import SourceUnavailable, UnreadableReply
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.limiter import RateLimiter
from willowbark.tools.http.transport import RetryPolicy, Transport
from willowbark.tools.http.wire import HttpxWire
from willowbark.tools.registry import offered
from willowbark.tools.sandbox.server import SandboxServer
from willowbark.tools.search import Status
from willowbark.tools.sources.drugs.rxnorm import RxNorm


def answering(answer: httpx.Response) -> RxNorm:
    def send(request: httpx.Request) -> httpx.Response:
        return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)

    wires = {"httpx": HttpxWire(httpx.MockTransport(send))}
    policy = RetryPolicy(attempts=1)
    return RxNorm(Transport(Endpoints.public({}), policy=policy, limiter=RateLimiter(None), wires=wires))


async def test_a_brand_leads_to_its_ingredient() -> None:
    with SandboxServer() as server:
        async with Transport(Endpoints.sandbox(server.url)) as transport:
            found = await RxNorm(transport).look_up("Zyban")

    said = found.records[0].metadata
    assert (said["drug"], said["ingredients"], said["rxnorm_id"]) == ("bupropion", ["bupropion"], "42347")
    assert "Wellbutrin" in said["brand_names"]
    assert "rxnorm" not in offered()


async def test_a_name_that_nothing_bears_is_a_true_zero() -> None:
    found = await answering(httpx.Response(200, json={"idGroup": {"name": "nosuch"}})).find("nosuch")

    assert (found.status, found.warnings) == (Status.EMPTY, ["nothing is named 'nosuch'"])


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (httpx.Response(200, json={}), UnreadableReply),
        (httpx.Response(200, json={"idGroup": None}), UnreadableReply),
        (httpx.Response(200, json={"idGroup": {"rxnormId": ["1"]}}), UnreadableReply),  # and nothing is related
        (httpx.Response(200, html="<html>down</html>"), UnreadableReply),
        (httpx.Response(503), SourceUnavailable),
    ],
)
async def test_no_failure_looks_like_an_unknown_name(answer: httpx.Response, error: type[Exception]) -> None:
    with pytest.raises(error):
        await answering(answer).find("nosuch")
