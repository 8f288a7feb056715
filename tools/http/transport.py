"""HTTP requests to the sources: every one goes through a `Transport`.

It keeps to the rate limits, retries what may succeed (the reply is read inside the retry, so a truncated or wrong reply
counts as a failed attempt), honours Retry-After, pauses a source that keeps failing, and records every exchange. Each
run has one transport, which is passed to its sources.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, runtime_checkable
from urllib.parse import unquote, urlencode, urljoin, urlsplit

from ..errors import (
    AccessRefused,
    RateLimitError,
    SearchError,
    SourceRefused,
    SourceUnavailable,
    UnreadableReply,
)
from ..records.card import WireName
from ..records.registry import cards
from ..wording import listed
from .attempts import Breaker, RetriedCall, RetryPolicy
from .endpoints import LIMIT_SHARE, Endpoint, Endpoints, RateLimiter, default_path
from .ladder import Ladder, WireMemory
from .ladder import default_path as default_wires_path
from .opening import open_wire
from .recent import RecentReplies
from .reply import Carrier, Reply, Request
from .sample import ReplySample
from .wires import Wire

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
Explainer = Callable[[str, str, Reply], str]
"""Says which fields of a source's reply are other than due, by source and by what was asked; empty for none."""

_RETRIED_STATUS = frozenset({408, 425, 429, *range(500, 600)})
_FORBIDDEN = 403
_NO_ACCESS = frozenset({401, _FORBIDDEN})
_MAX_REDIRECTS = 3
_MOVED_FOR_GOOD = frozenset({301, 308})


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
    moved_to: str = ""
    """Path that answered in place of the one asked, after a permanent redirect; empty if there was none."""


class Recorder(Protocol):
    """Receives every exchange."""

    def exchanged(self, exchange: Exchange) -> None: ...


@runtime_checkable
class ReplayRecorder(Recorder, Protocol):
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


def _retrieve_failure(task: asyncio.Task[Any]) -> None:
    """Take note of a task's failure: whoever asked may be gone, or raises that of another task."""
    if not task.cancelled():
        task.exception()


class Shelf:
    """Items requested so far, by kind and name; shared by all sources and agents of a run."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, str], asyncio.Task[Mapping[str, Any]]] = {}
        self._places: dict[str, asyncio.Future[None]] = {}

    def take(
        self, kind: str, names: Sequence[str], ask: Callable[[list[str]], Awaitable[Mapping[str, T]]]
    ) -> Awaitable[dict[str, T]]:
        """Fetch items; those not requested before are requested now, before this is awaited, and all at once.

        Args:
            kind: separates items with the same name, such as `pubmed`.
            names: names of the items.
            ask: returns what it finds by name; called only with new names, and again with those of a call that raised.
        """
        distinct = list(dict.fromkeys(names))
        fresh = [name for name in distinct if (kind, name) not in self._asked]

        async def ask_now() -> Mapping[str, T]:
            try:
                return await ask(fresh)
            except BaseException:
                for name in fresh:
                    self._asked.pop((kind, name), None)
                raise

        if fresh:
            task = asyncio.create_task(ask_now())
            task.add_done_callback(_retrieve_failure)
            self._asked.update(dict.fromkeys(((kind, name) for name in fresh), task))
        tasks = {name: self._asked[kind, name] for name in distinct}

        async def collect() -> dict[str, T]:
            if tasks:
                await asyncio.wait(tasks.values())  # a caller that is cancelled leaves the requests running for others
            return {name: task.result()[name] for name, task in tasks.items() if name in task.result()}

        return collect()

    @contextmanager
    def queue(self, kind: str) -> Iterator[Callable[[], Awaitable[None]]]:
        """Queue behind earlier searches of a source, so that results do not depend on the speed of replies.

        The function that it gives waits until all earlier callers have left.
        """
        before = self._places.get(kind)
        mine = asyncio.get_running_loop().create_future()
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


class Transport:
    """Sends requests to the sources, with rate limits and retries.

    Opened and closed once per run, as an async context manager or by `close()`.

    Args:
        endpoints: addresses of the sources, the public ones by default; no other host is ever contacted, and none at
            all if a local library answers.
        policy: how long to keep retrying.
        recorder: receives every exchange.
        limiter: applies the rate limits; by default shared by all processes of the user.
        network: replaces the network for every request, whatever the wire, as `httpx.MockTransport` does in tests.
        wire_memory: which wires passed where others were refused; by default shared by all runs of the user against the
            public sources.
        sleep: async function that waits between attempts, in seconds.
        recent: replies of other transports to give again; None starts without any.
        explain: says which fields of a reply that was not understood are other than they are due; None says none.
    """

    def __init__(
        self,
        endpoints: Endpoints | None = None,
        *,
        policy: RetryPolicy | None = None,
        recorder: Recorder | None = None,
        limiter: RateLimiter | None = None,
        network: "httpx.AsyncBaseTransport | None" = None,
        wire_memory: WireMemory | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        recent: RecentReplies[Any] | None = None,
        explain: Explainer | None = None,
    ) -> None:
        self.endpoints = endpoints or Endpoints.public()
        self.policy = policy or RetryPolicy()
        self.recorder: Recorder = recorder or ExchangeLog()
        self.shelf = Shelf()
        self.recent: RecentReplies[Any] = RecentReplies() if recent is None else recent
        """Replies to searches, as `search.Source.find` gives them."""
        self.sample = ReplySample()
        """A few of the replies that were read."""
        self._explain = explain
        self.marks: dict[tuple[str, str, int], dict[int, tuple[str | None, int]]] = {}
        """Start of each page of a search, with the total number of hits: see `search.Source.page`."""
        self._limiter = limiter or RateLimiter(default_path(), sleep=sleep)
        self._network = network
        self._wire_memory = wire_memory
        self._wires = dict[WireName, Wire]()
        self._ladders = dict[str, Ladder]()
        self._sleep = sleep
        self._breakers: dict[str, Breaker] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self.shelf.clear()
        for wire in self._wires.values():
            await wire.close()
        self._wires.clear()
        self._limiter.close()

    def breaker(self, source: str) -> Breaker:
        if source not in self._breakers:
            card = cards().get(source)
            self._breakers[source] = Breaker(self.policy, one_first=card is not None and card.has_daily_budget)
        return self._breakers[source]

    async def get(
        self,
        source: str,
        path: str,
        *,
        read: Callable[[Reply], T],
        params: Mapping[str, object] | None = None,
        also: Collection[int] = (),
        longest_query: int | None = None,
        carrier: Carrier | None = None,
        needs_key: bool = False,
    ) -> T:
        """Query a source and read its reply, with as many attempts as needed and allowed.

        Args:
            source: name of the endpoint.
            path: below the endpoint's base URL.
            read: parses a reply; must be pure, since it runs once per attempt.
            params: query parameters; None values are left out.
            also: statuses besides 2xx that `read` handles (404 as "no such record", say).
            longest_query: bytes of parameters beyond which these go into the body, for sources that accept both; None
                keeps them in the URL.
            carrier: carries the request to the public source; None sends it by our own HTTP client, as a replacement
                server and `network` always get it.
            needs_key: refuse to ask the public source without a key.

        Raises:
            SourceUnavailable: no usable answer after all attempts.
            RateLimitError: the last answer was 429.
            UnreadableReply: the last answer was truncated or not in the expected form.
            SourceRefused: the source refuses this request.
        """
        clean = {name: str(value) for name, value in (params or {}).items() if value is not None}
        query = urlencode(clean)
        url = f"{self.endpoints[source].base_url}/{path}"
        shown_url = f"{url}?{query}" if query else url
        method = "GET" if longest_query is None or len(query) <= longest_query else "POST"
        hashed = self._hash(source, path, clean)
        request = Request(source, method, url, shown_url=shown_url, hash=hashed, also=also)
        request = replace(request, carrier=carrier, needs_key=needs_key)
        return await self._call(_add_query(request, query, self.endpoints[source]), read)

    async def post(
        self, source: str, path: str, *, body: Any, read: Callable[[Reply], T], also: Collection[int] = ()
    ) -> T:
        """Send JSON, or text as is, to a source and read its reply; otherwise like `get`."""
        url = f"{self.endpoints[source].base_url}/{path}"
        sent = body if isinstance(body, str) else json.dumps(body, sort_keys=True)
        headers = {"Content-Type": "text/plain" if isinstance(body, str) else "application/json"}
        hashed = self._hash(source, path, body)
        return await self._call(Request(source, "POST", url, sent.encode(), headers, url, sent, hashed, also), read)

    def _hash(self, source: str, path: str, content: Any) -> str:
        """Hash a request; a replacement server gets different hashes, so its replies never pass for the source's."""
        whole = [self.endpoints.is_public, source, path, content]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()

    async def _call(self, request: Request, read: Callable[[Reply], T]) -> T:
        if self.endpoints.library is not None:
            raise SourceUnavailable(request.source, "not asked offline: the local library does not hold this")
        if not isinstance(self.recorder, ReplayRecorder):
            return await self._ask(request, read)
        recorded = self.recorder.recall(request.source, request.hash)
        if isinstance(recorded, SearchError):
            raise recorded
        if recorded is not None:
            return self._read(request, recorded, read)
        try:
            return await self._ask(request, read)
        except SearchError as error:
            self.recorder.gave_up(request.hash, error)
            raise

    async def _ask(self, request: Request, read: Callable[[Reply], T]) -> T:
        # asked here, not by the source: a replay has no keys, and needs none, since the journal answers before
        if request.needs_key and not self.endpoints.may_search(request.source):
            raise SourceRefused(request.source, f"is not searched without a key ({cards()[request.source].key})")
        self._wire(self._ladder(request.source).first)  # before queueing: loading would delay the first
        card = cards().get(request.source)
        passing = card.passing_statuses if card else ()
        call = RetriedCall(
            request.source, self.policy, self.breaker(request.source), passing=passing, sleep=self._sleep
        )
        return await call.attempts(self._attempt, call, request, read)

    async def _attempt(self, call: RetriedCall, request: Request, read: Callable[[Reply], T]) -> T:
        """Send once, when a place is free and the source's rate limit allows."""
        breaker = call.breaker
        queued_at = time.monotonic()
        async with breaker.places:
            breaker.check(request.source)
            await self._wait_turn(request.source)
            waited_s = time.monotonic() - queued_at
            timeout_s = call.start_attempt(waited_s)
            try:
                outcome = await self._exchange(request, read, call.number, timeout_s, waited_s)
            except SourceRefused:
                breaker.worked()
                raise
            except (SourceUnavailable, UnreadableReply) as failed:
                breaker.failed(failed.reason)
                error = call.note_failure(failed, timeout_s)
            else:
                breaker.worked()
                return outcome
        raise error

    async def _exchange(
        self, request: Request, read: Callable[[Reply], T], attempt: int, timeout_s: float, waited_s: float
    ) -> T:
        """Send, follow redirects, read the reply, and record the exchange in any case."""
        started = time.monotonic()
        reply: Reply | None = None
        failure: str | None = None
        try:
            reply = await self._send(request, started + timeout_s)
            self.breaker(request.source).heard_at = time.monotonic()
            return self._read(request, reply, read)
        except SearchError as error:
            failure = error.reason
            raise
        except BaseException as error:  # a cancelled attempt, or a reader that met the unforeseen
            failure = f"ended by {type(error).__name__}"
            raise
        finally:
            body = reply.body if reply else b""
            key = self.endpoints[request.source].key
            self.recorder.exchanged(
                Exchange(
                    source=request.source,
                    method=request.method,
                    url=request.shown_url,
                    attempt=attempt,
                    status=reply.status if reply else None,
                    elapsed_s=time.monotonic() - started,
                    error=failure,
                    body=body.replace(key.get_secret_value().encode(), b"[key]") if key else body,
                    content_type=reply.headers.get("content-type", "") if reply else "",
                    request=request.hash,
                    sent=request.sent,
                    waited_s=waited_s,
                    moved_to=reply.moved_to if reply else "",
                )
            )

    def _read(self, request: Request, reply: Reply, read: Callable[[Reply], T]) -> T:
        """Read a reply; one that is not understood says which fields are other than they are due."""
        checked = self._checked(request, reply)
        sent = f"{unquote(urlsplit(request.shown_url).path)} {request.sent}".strip()
        try:
            value = read(checked)
        except UnreadableReply as error:
            fields = self._explain(request.source, sent, checked) if self._explain else ""
            raise UnreadableReply(request.source, f"{error.reason}: {fields}") if fields else error from None
        if reply.status in range(200, 300):
            self.sample.note(sent, request.hash, checked)
        return value

    async def _send(self, request: Request, until: float) -> Reply:
        """Send, and follow redirects within known hosts."""
        if request.carrier is not None and self._network is None and self.endpoints.is_public:
            return await request.carrier(request, until - time.monotonic())
        endpoint = self.endpoints[request.source]
        hosts = {endpoint.host} if endpoint.key else self.endpoints.hosts
        reply = await self._receive(request, until)
        moved_to = ""
        for _ in range(_MAX_REDIRECTS):
            if reply.status not in (301, 302, 307, 308):
                break
            try:
                target = urljoin(request.url, reply.headers.get("location", ""))
                host = urlsplit(target).netloc.lower()
                scheme = urlsplit(target).scheme
            except ValueError:
                reason = f"redirected ({reply.status}) to something that is not an address"
                raise SourceRefused(request.source, reason) from None
            if host not in hosts or scheme != urlsplit(request.url).scheme:
                reason = f"redirected ({reply.status}) to a host that is not one of the sources"
                raise SourceRefused(request.source, reason)
            if reply.status in _MOVED_FOR_GOOD:
                moved_to = urlsplit(target).path
            request = replace(request, url=target)
            await self._wait_turn(request.source)
            reply = await self._receive(request, until)
        return replace(reply, moved_to=moved_to) if moved_to else reply

    async def _receive(self, request: Request, until: float) -> Reply:
        """Send over the source's first wire, and after a 403 over each of its others in turn."""
        ladder = self._ladder(request.source)
        name: WireName | None = ladder.first
        while name is not None:
            reply = await self._wire(name).send(request, until - time.monotonic())
            if reply.status != _FORBIDDEN:
                ladder.accept(name)
                break
            name = ladder.refuse(name)
            if name is not None:
                await self._wait_turn(request.source)
        return reply

    def _ladder(self, source: str) -> Ladder:
        if source not in self._ladders:
            card = cards().get(source)
            wires = card.wires if card is not None and self._network is None else ("httpx",)
            if self._wire_memory is None:
                is_remembered = self.endpoints.is_public and len(wires) > 1
                self._wire_memory = WireMemory(default_wires_path() if is_remembered else None)
            self._ladders[source] = Ladder(source, wires, self._wire_memory)
        return self._ladders[source]

    def _wire(self, name: WireName) -> Wire:
        if name not in self._wires:
            self._wires[name] = open_wire(name, self._network)
        return self._wires[name]

    def _checked(self, request: Request, reply: Reply) -> Reply:
        """Return a reply that can be read, or raise the error that says how to proceed."""
        source = request.source
        status = reply.status
        if 200 <= status < 300 or status in request.also:
            return replace(reply, url=request.shown_url)
        line = f"asks for fewer requests ({status})" if status == 429 else f"is not available ({status})"
        if status == 429 or (status in _RETRIED_STATUS and reply.retry_after_s is not None):
            raise RateLimitError(source, line, reply.retry_after_s)
        if status in _RETRIED_STATUS:
            raise SourceUnavailable(source, line)
        if status in _NO_ACCESS:
            raise AccessRefused(source, self._explain_refusal(source, status), status)
        raise SourceRefused(source, f"refused the request ({status})", status)

    def _explain_refusal(self, source: str, status: int) -> str:
        """Say that a source lets nothing through, how it was asked, and what its user can do."""
        names = self._ladder(source).names
        ways = f" over {listed(names)}" if status == _FORBIDDEN and len(names) > 1 else ""
        card = cards().get(source)
        way_out = f"; {card.way_out}" if card is not None and card.way_out else ""
        return f"refused ({status}){ways}{way_out}"

    async def _wait_turn(self, source: str) -> None:
        endpoint = self.endpoints[source]
        if endpoint.per_second is not None:
            name = endpoint.host if self.endpoints.is_public else endpoint.base_url  # one server may stand for many
            await self._limiter.wait(name, endpoint.per_second * LIMIT_SHARE, endpoint.burst)


def _add_query(request: Request, query: str, endpoint: Endpoint) -> Request:
    """Add the parameters and the key, only here, so that no caller's frame holds it."""
    key = endpoint.key.get_secret_value() if endpoint.key else ""
    if key and endpoint.key_in != "header":
        query = "&".join(filter(None, (query, urlencode({"api_key": key}))))
    if request.method == "POST" or (key and endpoint.key_in == "body"):
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return replace(request, method="POST", content=query.encode(), headers=form)
    headers = {endpoint.key_header: key} if key and endpoint.key_in == "header" else {}
    return replace(request, url=f"{request.url}?{query}" if query else request.url, headers=headers)
