"""What is tried again, how long, and what never leaves the house."""

import asyncio
import gc
import json
import logging
import random
import time
import traceback
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from pydantic import SecretStr

from willowbark.tools.errors import (
    AccessRefused,
    RateLimitError,
    SearchError,
    SourcePaused,
    SourceRefused,
    SourceUnavailable,
    UnreadableReply,
)
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.endpoints import Endpoint, Endpoints, RateLimiter
from willowbark.tools.http.reply import Reply, Request, TooSlow
from willowbark.tools.http.transport import ExchangeLog, Shelf, Transport
from willowbark.tools.http.wires import HttpxWire

KEY = "canary-3f9a"
GOOD = {"answer": 42}
QUICK = RetryPolicy(first_wait_s=0.001, longest_wait_s=0.01)

Step = httpx.Response | Exception | Callable[[httpx.Request], Any]
DOWN = httpx.ConnectError("no way to http://127.0.0.1:1")
SLOW = TooSlow("pubmed", "no answer in time")


def reply(status: int = 200, body: object = GOOD, **headers: str) -> httpx.Response:
    written = {name.replace("_", "-"): value for name, value in headers.items()}
    return httpx.Response(status, headers=written, content=body if isinstance(body, bytes) else json.dumps(body))


class Script(httpx.AsyncBaseTransport):
    """A network that plays its steps in turn, the last one for ever."""

    def __init__(self, *steps: Step) -> None:
        self._steps = list(steps)
        self.requests: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        if isinstance(step, Exception):
            raise step
        found: httpx.Response = step if isinstance(step, httpx.Response) else await step(request)
        return httpx.Response(found.status_code, headers=found.headers, content=found.content)


def asking(*steps: Step, policy: RetryPolicy = QUICK, **more: Any) -> tuple[Transport, Script]:
    """A transport whose sources play `steps`, and the network that plays them."""
    script = Script(*steps)
    more.setdefault("endpoints", Endpoints.at("http://127.0.0.1:1"))
    more.setdefault("limiter", RateLimiter())
    return Transport(policy=policy, network=script, **more), script


async def ask(transport: Transport, source: str = "pubmed", **more: Any) -> Any:
    return await transport.get(source, "x", read=more.pop("read", Reply.json), **more)


@pytest.mark.parametrize(
    "step",
    [*map(reply, (408, 425, 429, 500, 502, 503, 504, 599)), DOWN, SourceUnavailable("pubmed", "was cut")],
    ids=str,
)
async def test_what_may_pass_is_worth_retrying(step: Step) -> None:
    transport, script = asking(step, step, reply())

    assert await ask(transport) == GOOD
    assert len(script.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 410, 414, 422, 451, 303, 304, 100])
async def test_a_refusal_is_not_retried(status: int) -> None:
    transport, script = asking(reply(status), reply())

    with pytest.raises(SourceRefused, match=str(status)) as caught:
        await ask(transport, "europepmc")
    assert isinstance(caught.value, AccessRefused) is (status in (401, 403))
    assert len(script.requests) == 1


async def test_a_400_that_pubmed_sends_in_passing_costs_one_more_attempt_and_a_second_one_stands() -> None:
    transport, script = asking(reply(400), reply())
    assert await ask(transport) == GOOD
    assert len(script.requests) == 2

    transport, script = asking(reply(503), reply(400), reply(400), reply())
    with pytest.raises(SourceRefused, match="refused the request \\(400\\)"):
        await ask(transport)
    assert len(script.requests) == 3


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" \n",
        b'{"answer": 4',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b"1" * 5000,
        b"<html><body>Down for maintenance</body></html>",
        b"\xef\xbb\xbf\n<!DOCTYPE html><title>Busy</title>",
        b'<?xml version="1.0"?>\n<!-- a --><!-- b --><!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN">',
    ],
    ids=["empty", "blank", "cut", "bytes", "deep", "long number", "html", "doctype", "xhtml"],
)
@pytest.mark.parametrize("read", [Reply.json, Reply.xml])
async def test_a_body_that_is_not_what_was_due_is_worth_retrying(body: bytes, read: Callable[[Reply], object]) -> None:
    due = b"<eSearchResult/>" if read is Reply.xml else json.dumps(GOOD).encode()
    transport, script = asking(reply(body=body), reply(body=due))

    await ask(transport, read=read)
    assert len(script.requests) == 2


@pytest.mark.parametrize("error", [KeyError, TimeoutError])
async def test_a_reader_that_fails_unforeseen_is_heard_and_not_asked_again(error: type[Exception]) -> None:
    def read(_: Reply) -> object:
        raise error("a shape nobody foresaw")

    log = ExchangeLog()
    transport, script = asking(reply(), recorder=log)

    with pytest.raises(error, match="nobody foresaw"):
        await ask(transport, read=read)
    assert len(script.requests) == 1
    assert log.exchanges[0].error == f"ended by {error.__name__}"


@pytest.mark.parametrize(
    ("step", "error"),
    [
        (reply(429), RateLimitError),
        (reply(503), SourceUnavailable),
        (reply(body=b"<html>"), UnreadableReply),
        (DOWN, SourceUnavailable),
    ],
    ids=["429", "503", "html", "no connection"],
)
async def test_the_last_failure_is_named_when_all_attempts_fail(step: Step, error: type[SearchError]) -> None:
    transport, script = asking(step, policy=RetryPolicy(attempts=4, first_wait_s=0.001, longest_wait_s=0.002))

    with pytest.raises(error) as caught:
        await ask(transport)
    assert type(caught.value) is error
    assert len(script.requests) == 4


class Sleeps:
    """Takes note of the waits and skips them."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def test_waits_double_up_to_a_bound_unless_the_source_says_how_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random, "uniform", lambda _, longest: longest)
    sleeps, policy = Sleeps(), RetryPolicy(first_wait_s=1, longest_wait_s=5)
    steps = [reply(503), reply(503), reply(429, retry_after="7"), reply(503), reply(503), reply()]
    transport, _ = asking(*steps, policy=policy, sleep=sleeps)

    await ask(transport)

    assert sleeps.seconds == [1, 2, 7, 5, 5]


async def test_a_wait_past_the_deadline_is_named_and_not_begun() -> None:
    sleeps = Sleeps()
    transport, script = asking(reply(429, retry_after="120"), sleep=sleeps)

    with pytest.raises(RateLimitError) as caught:
        await ask(transport)
    assert caught.value.retry_after_s == 120
    assert (sleeps.seconds, len(script.requests)) == ([], 1)


@pytest.mark.parametrize("status", [429, 503])
async def test_a_source_that_asks_for_longer_than_a_call_may_take_is_asked_once_and_no_more(status: int) -> None:
    transport, script = asking(reply(status, retry_after="54000"), reply())

    with pytest.raises(RateLimitError, match=rf"\({status}\); to be asked again in 15 hours at the earliest"):
        await ask(transport)
    for _ in range(3):
        with pytest.raises(SourcePaused, match=rf"\({status}\); to be asked again in 15 hours at the earliest"):
            await ask(transport)
    assert len(script.requests) == 1
    assert await ask(transport, "europepmc") == GOOD


async def test_what_was_under_way_when_a_source_asked_for_rest_does_not_wake_it() -> None:
    is_under_way = asyncio.Event()
    has_asked = asyncio.Event()

    async def answer_later(_: httpx.Request) -> httpx.Response:
        is_under_way.set()
        await has_asked.wait()
        return reply()

    transport, script = asking(answer_later, reply(429, retry_after="54000"), reply())
    early = asyncio.create_task(ask(transport))
    await is_under_way.wait()
    with pytest.raises(RateLimitError):
        await ask(transport)
    has_asked.set()

    assert await early == GOOD
    with pytest.raises(SourcePaused):
        await ask(transport)
    assert len(script.requests) == 2


async def test_a_source_with_a_budget_of_a_day_is_asked_once_where_that_is_used_up_however_many_wait() -> None:
    transport, script = asking(reply(429, retry_after="54000"), reply())

    failures = await asyncio.gather(*(ask(transport, "openalex") for _ in range(40)), return_exceptions=True)

    assert {type(failure) for failure in failures} == {RateLimitError, SourcePaused}
    assert len(script.requests) == 1


async def test_a_source_with_a_budget_is_asked_side_by_side_after_its_first_answer() -> None:
    under_way, most = 0, list[int]()

    async def slowly(_: httpx.Request) -> httpx.Response:
        nonlocal under_way
        under_way += 1
        most.append(under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return reply()

    transport, _ = asking(slowly)

    await asyncio.gather(*(ask(transport, "openalex") for _ in range(20)))
    assert (most[0], most[1], max(most)) == (1, 1, 4)


async def test_a_call_ends_at_its_deadline_and_says_what_came_last() -> None:
    async def hang(_: httpx.Request) -> None:
        await asyncio.sleep(20)

    policy = RetryPolicy(first_wait_s=0.001, longest_wait_s=0.002, attempt_timeout_s=20, deadline_s=2)
    transport, _ = asking(DOWN, hang, policy=policy)
    started = time.monotonic()

    with pytest.raises(SourceUnavailable, match=r"no usable answer within 2 s; the last: no connection"):
        await ask(transport)
    assert 1.9 < time.monotonic() - started < 15  # before the hanging request would end by itself


async def test_a_source_that_keeps_failing_is_left_alone_and_then_one_goes_ahead() -> None:
    policy = RetryPolicy(attempts=8, first_wait_s=0.001, longest_wait_s=0.001, breaker_failures=10)
    transport, script = asking(*[reply(503)] * 11, reply(), policy=policy)

    for _ in range(5):
        with pytest.raises(SourceUnavailable):
            await ask(transport)
    assert len(script.requests) == 10

    transport.breaker("pubmed").pause(0.0)
    failures = await asyncio.gather(*(ask(transport) for _ in range(6)), return_exceptions=True)
    assert len(script.requests) == 11
    said = "paused after 11 failed attempts in a row; the last: is not available (503)"
    assert [failure for failure in failures if said not in str(failure)] == []

    transport.breaker("pubmed").pause(0.0)
    assert [await ask(transport) for _ in range(2)] == [GOOD, GOOD]


async def test_a_source_that_is_silent_all_through_a_call_is_left_alone() -> None:
    policy = RetryPolicy(attempts=3, first_wait_s=0.001, longest_wait_s=0.001)
    transport, script = asking(SLOW, policy=policy)

    with pytest.raises(SourceUnavailable, match="no answer in time"):
        await ask(transport)
    with pytest.raises(SourceUnavailable, match="paused after 3 failed attempts"):
        await ask(transport)
    assert len(script.requests) == 3


async def test_a_source_that_was_too_slow_gets_more_time_up_to_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []
    send = HttpxWire.send

    async def noted(wire: HttpxWire, request: Request, timeout_s: float) -> Reply:
        given.append(timeout_s)
        return await send(wire, request, timeout_s)

    monkeypatch.setattr(HttpxWire, "send", noted)
    policy = RetryPolicy(first_wait_s=0.001, longest_wait_s=0.001, first_timeout_s=4, attempt_timeout_s=8)
    transport, _ = asking(SLOW, reply(500), SLOW, SLOW, reply(), policy=policy)

    assert await ask(transport) == GOOD
    assert given == pytest.approx([4, 6, 6, 8, 8], abs=0.1)


@pytest.mark.parametrize(
    ("seconds", "timeouts_s"),
    [(5, [1.67, 2.5]), (12, [4.0, 6.0]), (30, [6.0, 9.0, 13.5, 15.0]), (60, [12.0, 15.0]), (120, [15.0])],
    ids=str,
)
def test_a_call_of_so_many_seconds_has_time_for_a_second_attempt(seconds: float, timeouts_s: list[float]) -> None:
    policy = RetryPolicy.within(seconds)

    assert policy.deadline_s == seconds
    assert 0 < policy.longest_wait_s <= seconds / 10
    assert [policy.timeout_s(silences) for silences in range(len(timeouts_s))] == pytest.approx(timeouts_s, abs=0.01)
    assert policy.timeout_s(0) + policy.timeout_s(1) + policy.first_wait_s < seconds


async def test_few_exchanges_with_a_source_are_under_way_at_once() -> None:
    under_way, most = 0, 0

    async def slowly(_: httpx.Request) -> httpx.Response:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.01)
        under_way -= 1
        return reply()

    transport, script = asking(slowly)

    await asyncio.gather(*(ask(transport) for _ in range(20)))
    assert (most, len(script.requests)) == (4, 20)


@pytest.mark.parametrize(
    "location",
    [
        *("http://169.254.169.254/latest/meta-data/", "http://127.0.0.1:2/", "http://localhost:1/", "//evil.invalid/"),
        *("http://2130706433:1/", "http://user@127.0.0.1:1/", "http://127.0.0.1:1@evil.invalid/", "http://["),
        *("http://evil.invalid\\@127.0.0.1:1/", "https://127.0.0.1:1/", "file:///etc/passwd"),
    ],
)
async def test_a_redirect_to_a_strange_host_is_refused(location: str) -> None:
    transport, script = asking(reply(302, location=location), reply())

    with pytest.raises(SourceRefused, match="redirected") as caught:
        await ask(transport)
    assert "evil" not in str(caught.value)
    assert len(script.requests) == 1


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_within_the_sources_is_followed(status: int) -> None:
    transport, script = asking(reply(status, location="/europepmc/y?a=1"), reply())

    assert await ask(transport, params={"a": 1}) == GOOD
    assert str(script.requests[1].url) == "http://127.0.0.1:1/europepmc/y?a=1"


async def test_a_circle_of_redirects_ends_and_a_key_follows_none_to_another_source() -> None:
    for step, endpoints, sent in (
        (reply(302, location="/pubmed/x"), Endpoints.at("http://127.0.0.1:1"), 4),
        (reply(307, location="https://www.ebi.ac.uk/x"), keyed(), 1),
    ):
        transport, script = asking(step, endpoints=endpoints)
        with pytest.raises(SourceRefused):
            await ask(transport)
        assert len(script.requests) == sent


def keyed() -> Endpoints:
    found = dict(Endpoints().by_source)
    found["pubmed"] = found["pubmed"].model_copy(update={"key": SecretStr(KEY), "per_second": None})
    return Endpoints(by_source=found)


@pytest.mark.parametrize("step", [reply(), reply(400), reply(503), DOWN, reply(302, location="//x/")])
async def test_a_key_is_sent_in_the_body_and_shown_nowhere(step: Step, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    log, seen, told = ExchangeLog(), list[Reply](), ""
    transport, script = asking(step, endpoints=keyed(), recorder=log)

    try:
        await ask(transport, params={"term": "x", "none": None}, read=seen.append)
    except SearchError as error:
        told = "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())

    (sent, *_) = script.requests
    assert sent.method == "POST"
    assert sent.content == f"term=x&api_key={KEY}".encode()
    shown = [str(sent.url), repr(sent), repr(log.exchanges), repr(seen), caplog.text, repr(transport.endpoints)]
    assert [text for text in shown if KEY in text] == []
    assert KEY not in told
    assert log.exchanges[0].url.endswith("/x?term=x")


@pytest.mark.parametrize(("where", "query"), [("header", "a=1"), ("parameter", f"a=1&api_key={KEY}")])
async def test_a_key_goes_where_its_source_wants_it(where: Any, query: str) -> None:
    endpoint = Endpoint(base_url="http://127.0.0.1:1", key=SecretStr(KEY), key_in=where, key_header="x-token")
    transport, script = asking(reply(), endpoints=Endpoints(by_source={"pubmed": endpoint}))

    await ask(transport, params={"a": 1})

    assert (script.requests[0].method, script.requests[0].url.query.decode()) == ("GET", query)
    assert script.requests[0].headers.get("x-token") == (KEY if where == "header" else None)


async def test_long_parameters_go_into_the_body_where_the_source_takes_them() -> None:
    transport, script = asking(reply())

    await ask(transport, params={"id": "1," * 2000}, longest_query=2000)
    await ask(transport, params={"id": "1"}, longest_query=2000)

    assert [request.method for request in script.requests] == ["POST", "GET"]


async def test_every_exchange_is_recorded() -> None:
    log = ExchangeLog()
    transport, _ = asking(reply(503), DOWN, reply(body=b"<html>"), reply(), recorder=log)

    await transport.post("opentargets", "graphql", body={"query": "{}"}, read=Reply.json)

    assert [(e.attempt, e.status, e.error) for e in log.exchanges] == [
        (1, 503, "is not available (503)"),
        (2, None, "no connection"),
        (3, 200, "answered with a web page instead of data"),
        (4, 200, None),
    ]
    assert {(e.source, e.method) for e in log.exchanges} == {("opentargets", "POST")}


@pytest.mark.parametrize("within", ["an attempt", "a wait"])
async def test_a_cancelled_call_ends_at_once(within: str) -> None:
    begun, log = asyncio.Event(), ExchangeLog()

    async def hang(_: object) -> None:
        begun.set()
        await asyncio.sleep(20)

    step = hang if within == "an attempt" else reply(429, retry_after="20")
    transport, script = asking(step, policy=RetryPolicy(), recorder=log, sleep=hang)
    task = asyncio.create_task(ask(transport))
    await begun.wait()
    started = time.monotonic()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - started < 15  # before what it waits for would be over
    assert len(script.requests) == 1
    assert log.exchanges[0].error == (
        "ended by CancelledError" if within == "an attempt" else "asks for fewer requests (429)"
    )


async def test_every_request_takes_its_turn_redirects_included() -> None:
    endpoints = Endpoints(by_source={"pubmed": Endpoint(base_url="http://127.0.0.1:1", per_second=0.0125)})
    turns = Sleeps()
    steps = (reply(302, location="/y"), reply(503), reply())
    transport, _ = asking(*steps, endpoints=endpoints, limiter=RateLimiter(sleep=turns))

    await ask(transport)

    assert turns.seconds == pytest.approx([100, 200], abs=40)  # 80 % of the limit, counted from the first request


async def test_json_and_text_travel_in_the_body() -> None:
    log = ExchangeLog()
    transport, script = asking(reply(), recorder=log)
    for body in ({"query": "β"}, "P12345,P67890"):
        await transport.post("pubmed", "x", body=body, read=Reply.json)

    assert [json.loads(script.requests[0].content), script.requests[1].content] == [{"query": "β"}, b"P12345,P67890"]
    assert [each.headers["content-type"] for each in script.requests] == ["application/json", "text/plain"]
    assert [each.sent for each in log.exchanges] == [each.content.decode() for each in script.requests]


class Asked:
    """Gives each name in capitals, but for `nothing`; keeps what it was asked for."""

    def __init__(self, failures: int = 0) -> None:
        self.asked: list[list[str]] = []
        self.failures = failures

    async def __call__(self, names: list[str]) -> dict[str, str]:
        self.asked.append(names)
        await asyncio.sleep(0)
        if len(self.asked) <= self.failures:
            raise SourceUnavailable("chembl", "is down")
        return {name: name.upper() for name in names if name != "nothing"}


async def test_each_name_is_asked_for_once_whoever_wants_it_and_anew_where_that_failed() -> None:
    shelf, ask = Shelf(), Asked(failures=1)
    with pytest.raises(SourceUnavailable):
        await shelf.take("x", ["a"], ask)
    both = await asyncio.gather(shelf.take("x", ["a", "b", "a"], ask), shelf.take("x", ["b", "c", "nothing"], ask))
    assert both == [{"a": "A", "b": "B"}, {"b": "B", "c": "C"}]
    assert await shelf.take("x", ["nothing", "a"], ask) == {"a": "A"}
    assert ask.asked == [["a"], ["a", "b"], ["c", "nothing"]]


async def test_one_who_gives_up_waiting_takes_nothing_from_another() -> None:
    shelf, ask = Shelf(), Asked()
    impatient = asyncio.ensure_future(shelf.take("x", ["a"], ask))
    patient = asyncio.ensure_future(shelf.take("x", ["a"], ask))
    await asyncio.sleep(0)
    impatient.cancel()
    assert await patient == {"a": "A"}


async def test_a_failure_that_nobody_waits_for_any_more_is_no_unhandled_one() -> None:
    shelf, ask, unhandled = Shelf(), Asked(failures=1), list[str]()
    asyncio.get_running_loop().set_exception_handler(lambda _, told: unhandled.append(str(told["message"])))
    gone = asyncio.ensure_future(shelf.take("x", ["a"], ask))
    await asyncio.sleep(0)
    gone.cancel()
    del gone
    for _ in range(5):
        await asyncio.sleep(0)
    gc.collect()

    assert ask.asked == [["a"]]
    assert unhandled == []


async def test_those_who_queue_go_on_in_the_order_in_which_they_came() -> None:
    shelf, went = Shelf(), []

    async def search(name: str, turns: int) -> None:
        with shelf.queue("pubmed") as reached:
            for _ in range(turns):
                await asyncio.sleep(0)
            await reached()
            went.append(name)

    await asyncio.gather(search("slow", 5), search("quick", 0), search("middling", 2))
    assert went == ["slow", "quick", "middling"]


async def test_clearing_ends_what_is_under_way() -> None:
    shelf = Shelf()

    async def never(_: list[str]) -> dict[str, str]:
        await asyncio.Event().wait()
        return {}

    waiting = asyncio.ensure_future(shelf.take("x", ["a"], never))
    await asyncio.sleep(0)
    await shelf.clear()
    with pytest.raises(asyncio.CancelledError):
        await waiting
