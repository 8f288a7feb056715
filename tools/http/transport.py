"""The one way out: every request to a source goes through a `Transport`.

It keeps to the rate limits, retries what is worth retrying (the reply is read inside the retry, so a cut or misplaced
reply counts as a failed attempt), honours Retry-After, stops asking a source that keeps failing, and records every
exchange. One transport serves a run; sources get it handed in.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, Self, TypeVar, runtime_checkable
from urllib.parse import urlencode, urljoin, urlsplit

import tenacity

from ..errors import RateLimitError, SearchError, SourceRefused, SourceUnavailable, UnreadableReply
from .endpoints import LIMIT_SHARE, Endpoint, Endpoints
from .limiter import (
    AllowanceSpent,
    Breaker,
    BreakerOpen,
    Due,
    Hopeless,
    RateLimiter,
    RetryPolicy,
    Silence,
    Wait,
    default_path,
    retry_after_s,
)
from .reply import Reply
from .shelf import Shelf
from .wire import HttpxWire, TooSlow, Wire, WireError, WireReply, WireRequest

__all__ = ["Exchange", "ExchangeLog", "Memory", "Recorder", "RetryPolicy", "Transport"]

T = TypeVar("T")

_RETRIED = (SourceUnavailable, UnreadableReply)
_HOPELESS = (BreakerOpen, AllowanceSpent)
_WORTH_ANOTHER = tenacity.retry_if_exception_type(_RETRIED) & tenacity.retry_if_not_exception_type(_HOPELESS)
_RETRIED_STATUS = frozenset({408, 425, 429, *range(500, 600)})
_MAX_REDIRECTS = 3
_AT_ONCE = 4  # exchanges with one source: enough for its limit, and few are lost on one that is dead
_LONG_URL_BYTES = 2000  # servers differ; longer requests go by POST where the source takes it


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what came of it, as recorders get it."""

    source: str
    method: str
    url: str
    """With its parameters, without any key."""
    attempt: int
    status: int | None
    """None when no reply came."""
    elapsed_s: float
    """From sending on."""
    received_bytes: int
    error: str | None = None
    """Why the attempt failed; None when it did not."""
    body: bytes = field(default=b"", repr=False)
    """Without any key, which a source may send back."""
    content_type: str = ""
    request: str = ""
    """Hash of what was asked: the same for every attempt, at every address, with or without a key."""
    sent: str = field(default="", repr=False)
    """The JSON or text that was sent; empty where the URL says all."""
    waited_s: float = 0.0
    """Before sending: for a place, and for what the source's limit allows."""


class Recorder(Protocol):
    """Whoever wants to know of every exchange."""

    def exchanged(self, exchange: Exchange) -> None:
        """Take note of one exchange."""


@runtime_checkable
class Memory(Recorder, Protocol):
    """A recorder that can answer what was asked before."""

    def recall(self, source: str, request: str) -> WireReply | SearchError | None:
        """The reply, or the failure, that this request once ended in; None sends it to the source."""

    def gave_up(self, request: str, error: SearchError) -> None:
        """Take note of the failure that a request ended in, after all its attempts."""


class ExchangeLog:
    """The plainest recorder: a list, without bodies."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def exchanged(self, exchange: Exchange) -> None:
        """Keep the exchange."""
        self.exchanges.append(replace(exchange, body=b""))


class Transport:
    """Asks the sources, politely and stubbornly.

    Opened and closed once a run, as an async context manager or by `close()`.

    Args:
        endpoints: where the sources are, the public ones by default; no other host is ever asked, and none where a
            local library answers.
        policy: how long to go on trying.
        recorder: gets every exchange.
        limiter: keeps the rate limits; by default shared by all processes of the user.
        wires: HTTP clients by name (`httpx`, `requests`).
        sleep: awaited between attempts, seconds.
    """

    def __init__(
        self,
        endpoints: Endpoints | None = None,
        *,
        policy: RetryPolicy | None = None,
        recorder: Recorder | None = None,
        limiter: RateLimiter | None = None,
        wires: Mapping[str, Wire] | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.endpoints = endpoints or Endpoints.public()
        self.policy = policy or RetryPolicy()
        self.recorder: Recorder = recorder or ExchangeLog()
        self._limiter = limiter or RateLimiter(default_path(), sleep=sleep)
        self._wires = dict(wires) if wires is not None else _wires()
        self._sleep = sleep
        self.shelf = Shelf()
        self.marks: dict[tuple[str, str, int], dict[int, tuple[str | None, int]]] = {}
        """Where the pages of each search begin, with its hits in all: see `search.Source.page`."""
        self._breakers: dict[str, Breaker] = {}
        self._places: dict[str, asyncio.Semaphore] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close every connection; the transport can be used again afterwards."""
        await self.shelf.clear()
        for wire in self._wires.values():
            await wire.close()
        self._limiter.close()

    def breaker(self, source: str) -> Breaker:
        """What is known of how a source has been answering."""
        return self._breakers.setdefault(source, Breaker(self.policy))

    async def get(
        self,
        source: str,
        path: str,
        *,
        read: Callable[[Reply], T],
        params: Mapping[str, object] | None = None,
        also: Collection[int] = (),
        post_if_long: bool = False,
    ) -> T:
        """Ask a source and read its reply, as often as it takes and the policy allows.

        Args:
            source: name of the endpoint.
            path: below the endpoint's base URL.
            read: turns a reply into what the caller wants; pure, since it runs once an attempt.
            params: query parameters; None values are left out.
            also: statuses beside 2xx that `read` wants to see (404 as "no such record", say).
            post_if_long: send long parameters in the body; for sources that take both.

        Raises:
            SourceUnavailable: no usable answer in all attempts.
            RateLimitError: the last answer was 429.
            UnreadableReply: the last answer was cut or not what was due.
            SourceRefused: the source will not answer this request.
        """
        clean = {name: str(value) for name, value in (params or {}).items() if value is not None}
        endpoint = self.endpoints[source]
        url = f"{endpoint.base_url}/{path}"
        if _in_body(endpoint) or (post_if_long and len(urlencode(clean)) > _LONG_URL_BYTES):
            request = WireRequest("POST", url, form={**clean, **_secret(endpoint)})
        else:
            request = WireRequest(
                "GET", url, params=clean, secret=_parameter(endpoint), secret_headers=_header(endpoint)
            )
        shown = f"{url}?{urlencode(clean)}" if clean else url
        asked = self._request(source, path, clean)
        return await self._call(_Call(source, endpoint, request, shown, read, frozenset(also), asked))

    async def post(
        self, source: str, path: str, *, body: Any, read: Callable[[Reply], T], also: Collection[int] = ()
    ) -> T:
        """Send JSON, or a text as it is, to a source and read its reply; otherwise as `get`."""
        endpoint = self.endpoints[source]
        url = f"{endpoint.base_url}/{path}"
        request = WireRequest("POST", url, text=body) if isinstance(body, str) else WireRequest("POST", url, json=body)
        asked = self._request(source, path, body)
        return await self._call(_Call(source, endpoint, request, url, read, frozenset(also), asked))

    def _request(self, source: str, path: str, content: Any) -> str:
        """Hash of a request; what another server says in a source's place never stands for the source's own words."""
        whole = [self.endpoints.is_public, source, path, content]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()

    async def _call(self, call: "_Call[T]") -> T:
        if self.endpoints.library is not None:
            raise SourceUnavailable(call.source, "not asked offline: the local library does not hold this")
        if not isinstance(self.recorder, Memory):
            return await self._ask(call)
        known = self.recorder.recall(call.source, call.asked)
        if isinstance(known, SearchError):
            raise known
        if known is not None:
            return call.understood(known)
        try:
            return await self._ask(call)
        except SearchError as error:
            self.recorder.gave_up(call.asked, error)
            raise

    async def _ask(self, call: "_Call[T]") -> T:
        policy, due = self.policy, Due(self.policy.deadline_s)
        breaker = self.breaker(call.source)
        last, attempts, failures, silences = "none came", 0, 0, 0
        retrying = tenacity.AsyncRetrying(
            sleep=self._sleep,
            stop=tenacity.stop_any(tenacity.stop_after_attempt(policy.attempts), Hopeless(due)),
            wait=Wait(policy),
            retry=_WORTH_ANOTHER,
            reraise=True,
        )

        async def attempt() -> T:
            nonlocal last, attempts, failures, silences
            attempts += 1
            queued = time.monotonic()
            clock.reschedule(None)
            async with self._places.setdefault(call.source, asyncio.Semaphore(_AT_ONCE)):
                breaker.check(call.source)
                await self._spend(call)
                await self._turn(call)
                waited_s = time.monotonic() - queued
                clock.reschedule(asyncio.get_running_loop().time() + due.put_off(waited_s))
                try:
                    found = await self._attempt(call, breaker, attempts, policy.timeout_s(silences), waited_s)
                except _RETRIED as error:
                    breaker.failed()
                    last, failures = error.reason, failures + 1
                    silences += isinstance(error, Silence)
                    raise
                except SourceRefused:
                    breaker.worked()
                    raise
            breaker.worked()
            return found

        try:
            async with asyncio.timeout_at(None) as clock:
                return await retrying(attempt)
        except _RETRIED:
            breaker.gave_up(due.since, failures)
            raise
        except TimeoutError:
            if not clock.expired():
                raise
            breaker.gave_up(due.since, failures)
            reason = f"no usable answer within {policy.deadline_s:.3g} s; the last: {last}"
            raise SourceUnavailable(call.source, reason) from None
        finally:
            retrying.iter_state.reset()  # its actions hold it: a cycle that the collector would have to find

    async def _attempt(self, call: "_Call[T]", breaker: Breaker, number: int, timeout_s: float, waited_s: float) -> T:
        started = time.monotonic()
        reply: WireReply | None = None
        failure: str | None = None
        try:
            reply = await self._exchange(call, timeout_s)
            breaker.heard()
            return call.understood(reply)
        except SearchError as error:
            failure = error.reason
            raise
        except WireError as error:
            failure = str(error)
            raise (Silence if isinstance(error, TooSlow) else SourceUnavailable)(call.source, failure) from None
        except BaseException as error:  # a cancelled attempt, or a reader that met what nobody foresaw
            failure = f"ended by {type(error).__name__}"
            raise
        finally:
            self.recorder.exchanged(
                Exchange(
                    source=call.source,
                    method=call.request.method,
                    url=call.shown,
                    attempt=number,
                    status=reply.status if reply else None,
                    elapsed_s=time.monotonic() - started,
                    received_bytes=len(reply.body) if reply else 0,
                    error=failure,
                    body=call.without_key(reply.body) if reply else b"",
                    content_type=reply.headers.get("content-type", "") if reply else "",
                    request=call.asked,
                    sent=call.request.sent,
                    waited_s=waited_s,
                )
            )

    async def _turn(self, call: "_Call[Any]") -> None:
        """Wait until the source may be asked once more."""
        if call.endpoint.per_second is not None:
            who = call.endpoint.limited_as or call.endpoint.host
            await self._limiter.wait(who, call.endpoint.per_second * LIMIT_SHARE)

    async def _spend(self, call: "_Call[Any]") -> None:
        """Count the attempt where the source counts by the day.

        Raises:
            AllowanceSpent: today's requests are used up.
        """
        per_day = call.endpoint.per_day
        if per_day is not None and not await self._limiter.spend(call.endpoint.host, per_day):
            raise AllowanceSpent(call.source, f"today's {per_day:,} requests are used up; a key may allow more")

    async def _exchange(self, call: "_Call[Any]", timeout_s: float) -> WireReply:
        """Send, follow redirects within the known hosts, and try the other client once where a firewall says 403."""
        request, wire = replace(call.request, source=call.source), self._wires[call.endpoint.wire]
        reply = await wire.send(request, timeout_s)
        for _ in range(_MAX_REDIRECTS):
            if reply.status not in (301, 302, 307, 308):
                break
            request = self._redirected(call, request, reply.headers.get("location", ""))
            await self._turn(call)
            reply = await wire.send(request, timeout_s)
        if reply.status == 403 and call.endpoint.wire == "requests" and (other := self._wires.get("httpx")):
            await self._turn(call)
            reply = await other.send(request, timeout_s)
        return reply

    def _redirected(self, call: "_Call[Any]", request: WireRequest, location: str) -> WireRequest:
        try:
            target = urljoin(request.url, location)
            here, there = urlsplit(request.url), urlsplit(target)
        except ValueError:
            raise SourceRefused(call.source, "redirected to something that is not an address") from None
        known = {call.endpoint.host} if call.endpoint.key else self.endpoints.hosts
        if there.netloc.lower() not in known or there.scheme != here.scheme:
            raise SourceRefused(call.source, "redirected to a host that is not one of the sources")
        return replace(request, url=target, params={})


def _in_body(endpoint: Endpoint) -> bool:
    return endpoint.key is not None and endpoint.key_in == "body"


def _secret(endpoint: Endpoint) -> dict[str, str]:
    return {"api_key": endpoint.key.get_secret_value()} if endpoint.key and endpoint.key_in == "body" else {}


def _parameter(endpoint: Endpoint) -> dict[str, str]:
    in_url = endpoint.key is not None and endpoint.key_in == "parameter"
    return {"api_key": endpoint.key.get_secret_value()} if in_url and endpoint.key else {}


def _header(endpoint: Endpoint) -> dict[str, str]:
    in_header = endpoint.key is not None and endpoint.key_in == "header"
    return {endpoint.key_header: endpoint.key.get_secret_value()} if in_header and endpoint.key else {}


@dataclass(frozen=True, slots=True)
class _Call(Generic[T]):
    """One question to a source, for all its attempts."""

    source: str
    endpoint: Endpoint
    request: WireRequest
    shown: str
    read: Callable[[Reply], T]
    also: frozenset[int]
    asked: str

    def without_key(self, body: bytes) -> bytes:
        """The body without the key, which NCBI repeats in its refusals."""
        key = self.endpoint.key
        return body.replace(key.get_secret_value().encode(), b"[key]") if key else body

    def understood(self, reply: WireReply) -> T:
        """Turn a reply into what was asked for, or into the error that says what to do."""
        status = reply.status
        if 200 <= status < 300 or status in self.also:
            return self.read(Reply(self.source, status, reply.headers.get("content-type", ""), reply.body, self.shown))
        wait = retry_after_s(reply.headers.get("retry-after"))
        if status == 429:
            raise RateLimitError(self.source, "asks for fewer requests (429)", wait)
        if status in _RETRIED_STATUS and wait is not None:
            raise RateLimitError(self.source, f"is not available ({status})", wait)
        if status in _RETRIED_STATUS:
            raise SourceUnavailable(self.source, f"is not available ({status})")
        raise SourceRefused(self.source, f"refused the request ({status})")


def _wires() -> dict[str, Wire]:
    from .requests_wire import RequestsWire  # noqa: PLC0415  requests takes a while, and a run is told before it asks

    return {"httpx": HttpxWire(), "requests": RequestsWire()}
