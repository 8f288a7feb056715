"""HTTP requests to the sources: every one goes through a `Transport`.

It keeps to the rate limits, retries what may succeed (the reply is read inside the retry, so a truncated or wrong reply
counts as a failed attempt), honours Retry-After, pauses a source that keeps failing, and records every exchange. Each
run has one transport, which is passed to its sources.
"""

import asyncio
import hashlib
import json
import random
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar, runtime_checkable
from urllib.parse import urlencode, urljoin, urlsplit

from ..errors import RateLimitError, SearchError, SourceRefused, SourceUnavailable, UnreadableReply
from .endpoints import LIMIT_SHARE, Endpoint, Endpoints
from .limiter import Breaker, RateLimiter, RetryPolicy, default_path, retry_after_s
from .reply import Reply
from .wire import Request, TooSlow, open_client, send

if TYPE_CHECKING:
    import httpx

__all__ = ["Exchange", "ExchangeLog", "Memory", "Recorder", "RetryPolicy", "Transport"]

T = TypeVar("T")

_RETRIED = (SourceUnavailable, UnreadableReply)
_RETRIED_STATUS = frozenset({408, 425, 429, *range(500, 600)})
_MAX_REDIRECTS = 3
_AT_ONCE = 4  # concurrent exchanges with one source: enough for its limit, and few are lost if it is down
_LONG_URL_BYTES = 2000  # servers differ; longer requests are sent by POST where the source accepts it


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its outcome, as passed to recorders."""

    source: str
    method: str
    url: str
    """URL with its parameters, without any key."""
    attempt: int
    status: int | None
    """None when no reply came."""
    elapsed_s: float
    """Counted from sending."""
    received_bytes: int
    error: str | None = None
    """None if it succeeded."""
    body: bytes = field(default=b"", repr=False)
    """Body of the reply, without any key, which a source may send back."""
    content_type: str = ""
    request: str = ""
    """Hash of the request: the same for every attempt, at every address, with or without a key."""
    sent: str = field(default="", repr=False)
    """The JSON or text that was sent; empty if the URL holds everything."""
    waited_s: float = 0.0
    """Waited before sending, for a free connection and the source's rate limit."""


class Recorder(Protocol):
    """Receives every exchange."""

    def exchanged(self, exchange: Exchange) -> None: ...


@runtime_checkable
class Memory(Recorder, Protocol):
    """A recorder that can replay earlier answers."""

    def recall(self, source: str, request: str) -> Reply | SearchError | None:
        """Return the recorded reply to this request, or its failure; None sends it to the source."""

    def gave_up(self, request: str, error: SearchError) -> None:
        """Record the failure of a request after all its attempts."""


class ExchangeLog:
    """A list of exchanges without their bodies."""

    def __init__(self) -> None:
        self.exchanges: list[Exchange] = []

    def exchanged(self, exchange: Exchange) -> None:
        self.exchanges.append(replace(exchange, body=b""))


class Shelf:
    """Items requested so far, by kind and name; shared by all sources and agents of a run."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str], asyncio.Task[Mapping[str, Any]]] = {}
        self._places: dict[str, asyncio.Future[None]] = {}

    def take(
        self, kind: str, names: Sequence[str], ask: Callable[[list[str]], Awaitable[Mapping[str, T]]]
    ) -> Awaitable[dict[str, T]]:
        """Fetch items; those not requested before are requested now, all at once.

        Args:
            kind: separates items with the same name, such as `pubmed`.
            names: names of the items.
            ask: returns what it finds by name; called only with new names, and again with those of a call that raised.
        """
        wanted = list(dict.fromkeys(names))
        fresh = [name for name in wanted if (kind, name) not in self._asked]

        async def ask_now() -> Mapping[str, T]:
            try:
                return await ask(fresh)
            except BaseException:
                for name in fresh:
                    self._asked.pop((kind, name), None)
                raise

        if fresh:
            self._asked.update(dict.fromkeys(((kind, name) for name in fresh), asyncio.ensure_future(ask_now())))
        tasks = [self._asked[kind, name] for name in wanted]

        async def collect() -> dict[str, T]:
            if tasks:
                await asyncio.wait(tasks)  # a caller that is cancelled leaves the requests running for the others
            found = zip(wanted, (task.result() for task in tasks), strict=True)
            return {name: things[name] for name, things in found if name in things}

        return collect()

    @contextmanager
    def queue(self, kind: str) -> Iterator[Callable[[], Awaitable[None]]]:
        """Queue behind earlier searches of a source, so that results do not depend on the speed of replies.

        The function that it gives waits until all earlier callers have left.
        """
        before, mine = self._places.get(kind), asyncio.get_running_loop().create_future()
        self._places[kind] = mine

        async def wait_turn() -> None:
            if before is not None:
                await asyncio.shield(before)

        try:
            yield wait_turn
        finally:
            if not mine.done():
                mine.set_result(None)

    async def clear(self) -> None:
        under_way = [task for task in set(self._asked.values()) if not task.done()]
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)
        self._asked.clear()
        self._places.clear()


class _NotAsked(SourceUnavailable):
    """The source is paused, or its daily limit is used up: retrying is pointless."""


class Transport:
    """Sends requests to the sources, with rate limits and retries.

    Opened and closed once per run, as an async context manager or by `close()`.

    Args:
        endpoints: addresses of the sources, the public ones by default; no other host is ever contacted, and none at
            all if a local library answers.
        policy: how long to keep retrying.
        recorder: receives every exchange.
        limiter: applies the rate limits; by default shared by all processes of the user.
        network: replaces the network for every request, as `httpx.MockTransport` does in tests.
        sleep: async function that waits between attempts, in seconds.
    """

    def __init__(
        self,
        endpoints: Endpoints | None = None,
        *,
        policy: RetryPolicy | None = None,
        recorder: Recorder | None = None,
        limiter: RateLimiter | None = None,
        network: "httpx.AsyncBaseTransport | None" = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.endpoints = endpoints or Endpoints.public()
        self.policy = policy or RetryPolicy()
        self.recorder: Recorder = recorder or ExchangeLog()
        self.shelf = Shelf()
        self.marks: dict[tuple[str, str, int], dict[int, tuple[str | None, int]]] = {}
        """Start of each page of a search, with the total number of hits: see `search.Source.page`."""
        self._limiter = limiter or RateLimiter(default_path(), sleep=sleep)
        self._network = network
        self._client: httpx.AsyncClient | None = None
        self._sleep = sleep
        self._breakers: dict[str, Breaker] = {}
        self._places: dict[str, asyncio.Semaphore] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self.shelf.clear()
        if self._client is not None:
            await self._client.aclose()
            self._client = None
        self._limiter.close()

    def breaker(self, source: str) -> Breaker:
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
        """Query a source and read its reply, with as many attempts as needed and allowed.

        Args:
            source: name of the endpoint.
            path: below the endpoint's base URL.
            read: parses a reply; must be pure, since it runs once per attempt.
            params: query parameters; None values are left out.
            also: statuses besides 2xx that `read` handles (404 as "no such record", say).
            post_if_long: send long parameters in the body; for sources that accept both.

        Raises:
            SourceUnavailable: no usable answer after all attempts.
            RateLimitError: the last answer was 429.
            UnreadableReply: the last answer was truncated or not in the expected form.
            SourceRefused: the source refuses this request.
        """
        clean = {name: str(value) for name, value in (params or {}).items() if value is not None}
        endpoint, shown = self.endpoints[source], urlencode(clean)
        url = f"{endpoint.base_url}/{path}"
        request = _with_key(source, endpoint, url, shown, post_if_long and len(shown) > _LONG_URL_BYTES)
        url = f"{url}?{shown}" if shown else url
        return await self._call(_Call(source, endpoint, request, url, "", self._hash(source, path, clean), read, also))

    async def post(
        self, source: str, path: str, *, body: Any, read: Callable[[Reply], T], also: Collection[int] = ()
    ) -> T:
        """Send JSON, or text as is, to a source and read its reply; otherwise like `get`."""
        endpoint = self.endpoints[source]
        url = f"{endpoint.base_url}/{path}"
        sent = body if isinstance(body, str) else json.dumps(body, sort_keys=True)
        headers = {"Content-Type": "text/plain" if isinstance(body, str) else "application/json"}
        request = Request(source, "POST", url, sent.encode(), headers)
        return await self._call(_Call(source, endpoint, request, url, sent, self._hash(source, path, body), read, also))

    def _hash(self, source: str, path: str, content: Any) -> str:
        """Hash a request; a replacement server gets different hashes, so its replies never pass for the source's."""
        whole = [self.endpoints.is_public, source, path, content]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()

    async def _call(self, call: "_Call[T]") -> T:
        if self.endpoints.library is not None:
            raise SourceUnavailable(call.source, "not asked offline: the local library does not hold this")
        if not isinstance(self.recorder, Memory):
            return await self._ask(call)
        known = self.recorder.recall(call.source, call.hash)
        if isinstance(known, SearchError):
            raise known
        if known is not None:
            return call.understand(known)
        try:
            return await self._ask(call)
        except SearchError as error:
            self.recorder.gave_up(call.hash, error)
            raise

    async def _ask(self, call: "_Call[T]") -> T:
        """Retry until an attempt succeeds, retrying is pointless, or the deadline passes; queueing extends it."""
        client = self._open()  # before taking a slot: loading would delay the first requests
        policy, breaker, per_day = self.policy, self.breaker(call.source), call.endpoint.per_day
        places = self._places.setdefault(call.source, asyncio.Semaphore(_AT_ONCE))
        due = (began := time.monotonic()) + policy.deadline_s
        failures, silences, last = 0, 0, "none came"
        try:
            for attempt in count(1):
                queued = time.monotonic()
                try:
                    async with places:
                        if not breaker.lets_pass():
                            why = f"left alone after {breaker.failures} failed attempts in a row"
                            raise _NotAsked(call.source, why)
                        if per_day is not None and not self._limiter.spend(call.endpoint.host, per_day):
                            why = f"today's {per_day:,} requests are used up; a key may allow more"
                            raise _NotAsked(call.source, why)
                        await self._wait_turn(call.endpoint)
                        waited_s = time.monotonic() - queued
                        began, due = began + waited_s, due + waited_s
                        left_s, timeout_s = due - time.monotonic(), policy.timeout_s(silences)
                        found = await self._exchange(client, call, attempt, min(left_s, timeout_s), waited_s)
                except _NotAsked:
                    raise
                except SourceRefused:
                    breaker.worked()
                    raise
                except _RETRIED as error:
                    breaker.failed()
                    failures += 1
                    if isinstance(error, TooSlow):
                        silences += 1
                        if left_s <= timeout_s:
                            reason = f"no usable answer within {policy.deadline_s:.3g} s; the last: {last}"
                            raise SourceUnavailable(call.source, reason) from None
                    last = error.reason
                    longest_s = min(policy.longest_wait_s, policy.first_wait_s * 2 ** (attempt - 1))
                    asked_s = error.retry_after_s if isinstance(error, RateLimitError) else None
                    wait_s = random.uniform(0, longest_s) if asked_s is None else asked_s
                    if attempt >= policy.attempts or wait_s >= due - time.monotonic():
                        raise
                else:
                    breaker.worked()
                    return found
                await self._sleep(wait_s)
        except _RETRIED:
            if failures > 1 and breaker.heard_at < began:  # no reply to any call since: do not wait for the next
                breaker.leave_alone(policy.breaker_pause_s)
            raise
        raise AssertionError

    def _open(self) -> "httpx.AsyncClient":
        self._client = self._client or open_client(self._network)
        return self._client

    async def _exchange(
        self, client: "httpx.AsyncClient", call: "_Call[T]", attempt: int, timeout_s: float, waited_s: float
    ) -> T:
        """Send, follow redirects, read the reply, and record the exchange in any case."""
        started = time.monotonic()
        reply: Reply | None = None
        failure: str | None = None
        try:
            reply = await self._send(client, call, started + timeout_s)
            self.breaker(call.source).heard_at = time.monotonic()
            return call.understand(reply)
        except SearchError as error:
            failure = error.reason
            raise
        except BaseException as error:  # a cancelled attempt, or a reader that met the unforeseen
            failure = f"ended by {type(error).__name__}"
            raise
        finally:
            body, key = reply.body if reply else b"", call.endpoint.key
            self.recorder.exchanged(
                Exchange(
                    source=call.source,
                    method=call.request.method,
                    url=call.url,
                    attempt=attempt,
                    status=reply.status if reply else None,
                    elapsed_s=time.monotonic() - started,
                    received_bytes=len(body),
                    error=failure,
                    body=body.replace(key.get_secret_value().encode(), b"[key]") if key else body,
                    content_type=reply.headers.get("content-type", "") if reply else "",
                    request=call.hash,
                    sent=call.sent,
                    waited_s=waited_s,
                )
            )

    async def _send(self, client: "httpx.AsyncClient", call: "_Call[Any]", until: float) -> Reply:
        """Send, and follow redirects within known hosts."""
        request = call.request
        reply = await send(client, request, until - time.monotonic())
        for _ in range(_MAX_REDIRECTS):
            if reply.status not in (301, 302, 307, 308):
                break
            try:
                target = urljoin(request.url, reply.headers.get("location", ""))
                host, scheme = urlsplit(target).netloc.lower(), urlsplit(target).scheme
            except ValueError:
                raise SourceRefused(call.source, "redirected to something that is not an address") from None
            known = {call.endpoint.host} if call.endpoint.key else self.endpoints.hosts
            if host not in known or scheme != urlsplit(request.url).scheme:
                raise SourceRefused(call.source, "redirected to a host that is not one of the sources")
            request = replace(request, url=target)
            await self._wait_turn(call.endpoint)
            reply = await send(client, request, until - time.monotonic())
        return reply

    async def _wait_turn(self, endpoint: Endpoint) -> None:
        if endpoint.per_second is not None:
            name = endpoint.host if self.endpoints.is_public else endpoint.base_url  # one server may stand for many
            await self._limiter.wait(name, endpoint.per_second * LIMIT_SHARE)


def _with_key(source: str, endpoint: Endpoint, url: str, query: str, in_body: bool) -> Request:
    """Build a request, adding the key only here, so that no caller's frame holds it."""
    key = endpoint.key.get_secret_value() if endpoint.key else ""
    if key and endpoint.key_in != "header":
        query = "&".join(filter(None, (query, urlencode({"api_key": key}))))
    if in_body or (key and endpoint.key_in == "body"):
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return Request(source, "POST", url, query.encode(), form)
    headers = {endpoint.key_header: key} if key and endpoint.key_in == "header" else {}
    return Request(source, "GET", f"{url}?{query}" if query else url, None, headers)


@dataclass(frozen=True, slots=True)
class _Call(Generic[T]):
    """One request to a source, across all its attempts."""

    source: str
    endpoint: Endpoint
    request: Request
    url: str
    sent: str
    hash: str
    read: Callable[[Reply], T]
    also: Collection[int]

    def understand(self, reply: Reply) -> T:
        """Parse the reply, or raise the error that says how to proceed."""
        status = reply.status
        if 200 <= status < 300 or status in self.also:
            return self.read(replace(reply, url=self.url))
        wait_s = retry_after_s(reply.headers.get("retry-after"))
        if status == 429:
            raise RateLimitError(self.source, "asks for fewer requests (429)", wait_s)
        if status in _RETRIED_STATUS and wait_s is not None:
            raise RateLimitError(self.source, f"is not available ({status})", wait_s)
        if status in _RETRIED_STATUS:
            raise SourceUnavailable(self.source, f"is not available ({status})")
        raise SourceRefused(self.source, f"refused the request ({status})")
