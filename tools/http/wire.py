"""One request, one reply, over httpx or requests: capped, complete, without redirects.

Both libraries hand out a cut gzip body as a good reply and decode whatever encoding a server names, so bodies are read
raw here and decoded under a cap, and the compressed stream's end is required.

The timeouts of requests are for one read of the socket, so a server that drips its headers or its body would keep a
thread for hours: a `Cutoff` shuts the socket down from another thread, which ends the read, and with it the thread.
"""

import asyncio
import contextlib
import json
import logging
import mmap
import socket
import ssl
import threading
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import requests
import urllib3
from requests.adapters import HTTPAdapter

if TYPE_CHECKING:
    import httpx  # loaded with the first request: it brings a command line with it

MAX_BODY_BYTES = 32 * 1024 * 1024  # 200 PubMed records with reference lists take about 6 MB
USER_AGENT = "willowbark/0.1 (drug repurposing research)"
_HEADERS = {"User-Agent": USER_AGENT, "Accept-Encoding": "gzip"}
_CHUNK_BYTES = 64 * 1024
_MAX_MEMBERS = 1024  # of a gzip stream: 32 MB in the 64 kB members that block gzip writes, twice over
_INFLATED_BYTES = 1024 * 1024  # decoded at a time, so that a small bomb takes little room before it is refused


class _WithoutKeys(logging.Filter):
    """Takes keys out of the addresses that httpx logs."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(_redacted(each) if type(each).__name__ == "URL" else each for each in record.args)
        return True


def _redacted(url: Any) -> Any:
    return url.copy_set_param("api_key", "[key]") if "api_key" in url.params else url


logging.getLogger("httpx").addFilter(_WithoutKeys())


class WireError(Exception):
    """The exchange broke; the message says how, without an address."""


class TooSlow(WireError):
    """No whole answer came in time."""


class BrokenBody(WireError):
    """The body is cut, too large, or in an encoding that was not asked for."""


@dataclass(frozen=True, slots=True)
class WireRequest:
    """What to send."""

    method: str
    url: str
    params: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] | None = field(default=None, repr=False)
    """Sent in the body; keys travel here, so it is never shown."""
    json: Any = None
    text: str | None = None
    """Sent as plain text in the body."""
    secret: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Parameters that join the others on the wire alone: keys of sources that take them in no body. Over httpx only."""
    secret_headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Likewise headers."""

    @property
    def sent(self) -> str:
        """The JSON or text of the body; empty where there is neither."""
        return self.text or ("" if self.json is None else json.dumps(self.json, sort_keys=True))

    @property
    def headers(self) -> dict[str, str]:
        """Those of this request alone."""
        return {**({} if self.text is None else {"Content-Type": "text/plain"}), **self.secret_headers}


@dataclass(frozen=True, slots=True)
class WireReply:
    """What came back, decoded."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes = field(repr=False)


class Wire(Protocol):
    """An HTTP client of one exchange at a time."""

    async def send(self, request: WireRequest, timeout_s: float) -> WireReply:
        """Exchange one request for one whole reply within `timeout_s`, body included.

        Raises:
            WireError: no connection, no reply, no whole body.
        """

    async def close(self) -> None:
        """Close the connections."""


class HttpxWire:
    """httpx on the event loop.

    Args:
        transport: httpx's own seam for tests and recordings; None is the network.
    """

    def __init__(self, transport: "httpx.AsyncBaseTransport | None" = None) -> None:
        self._transport = transport
        self._clients: dict[bool, httpx.AsyncClient] = {}
        """By whether they have certificates to check by: reading those takes longer than all else."""

    async def send(self, request: WireRequest, timeout_s: float) -> WireReply:
        """Exchange one request for one whole reply; see `Wire.send`."""
        import httpx  # noqa: PLC0415

        url = httpx.URL(request.url).copy_merge_params({**request.params, **request.secret})
        if (client := self._clients.get(url.scheme == "https")) is None:  # here and not above, for the time it takes
            client = self._clients[url.scheme == "https"] = httpx.AsyncClient(
                transport=self._transport,
                headers=_HEADERS,
                follow_redirects=False,
                verify=True if url.scheme == "https" else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),  # trusts nobody
            )
        try:
            async with asyncio.timeout(timeout_s):
                async with client.stream(
                    request.method,
                    url,
                    data=dict(request.form) if request.form else None,
                    json=request.json,
                    content=request.text,
                    headers=request.headers,
                    timeout=timeout_s,
                ) as reply:
                    body = await _body(reply)
                    return WireReply(reply.status_code, {k.lower(): v for k, v in reply.headers.items()}, body)
        except TimeoutError as error:
            raise TooSlow(f"no whole answer within {timeout_s:.3g} s") from error
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise _translated(error) from None

    async def close(self) -> None:
        """Close the connections."""
        while self._clients:
            await self._clients.popitem()[1].aclose()


class RequestsWire:
    """requests in a thread."""

    def __init__(self) -> None:
        self._session: requests.Session | None = None

    async def send(self, request: WireRequest, timeout_s: float) -> WireReply:
        """Exchange one request for one whole reply; see `Wire.send`."""
        if self._session is None:
            self._session = requests.Session()
            self._session.headers.update(_HEADERS)
            for scheme in ("https://", "http://"):
                self._session.mount(scheme, CutoffAdapter())
        cutoff = Cutoff()
        try:
            async with asyncio.timeout(timeout_s):
                try:
                    return await asyncio.to_thread(self._exchange, self._session, request, timeout_s, cutoff)
                except asyncio.CancelledError:
                    cutoff.cut()
                    raise
        except TimeoutError as error:
            raise TooSlow(f"no whole answer within {timeout_s:.3g} s") from error
        except (requests.RequestException, urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise _translated(error) from None

    def _exchange(
        self, session: requests.Session, request: WireRequest, timeout_s: float, cutoff: "Cutoff"
    ) -> WireReply:
        with (
            cutoff.watching(),
            session.request(
                request.method,
                request.url,
                params=dict(request.params) or None,
                data=dict(request.form) if request.form else request.text,
                json=request.json,
                headers=request.headers,
                timeout=timeout_s,
                allow_redirects=False,
                stream=True,
            ) as reply,
            closing(_Decoder(reply.headers.get("content-encoding", ""))) as decoder,
        ):
            # Chunks as they come: a larger read would wait for a dripping server past any timeout.
            while chunk := reply.raw.read1(_CHUNK_BYTES, decode_content=False):
                cutoff.check()
                decoder.feed(chunk)
            return WireReply(reply.status_code, {k.lower(): v for k, v in reply.headers.items()}, decoder.finish())

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            self._session.close()
            self._session = None


class _Decoder:
    """Takes raw chunks, gives the decoded body, refuses what is cut, too large or strangely encoded.

    Closed after use: the frames of whatever error ended the reading would keep the body until the collector comes by.
    """

    def __init__(self, encoding: str) -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise BrokenBody(f"the answer is encoded as {encoding[:40]!r}; gzip was asked for")
        self._gzip = zlib.decompressobj(wbits=31) if "gzip" in encoding else None
        self._body = mmap.mmap(-1, MAX_BODY_BYTES)  # malloc would keep such room, once for every thread that had it
        self._members = 1
        self._room_raw = MAX_BODY_BYTES  # a stream that decodes to nothing could go on for ever

    def feed(self, chunk: bytes) -> None:
        self._room_raw -= len(chunk)
        if self._gzip is None:
            self._keep(chunk)
        elif self._room_raw < 0:
            raise _too_large()
        else:
            self._inflate(chunk)

    def finish(self) -> bytes:
        if self._gzip is not None and not self._gzip.eof:
            raise BrokenBody("the answer's gzip stream was cut")
        return self._body[: self._body.tell()]

    def close(self) -> None:
        self._body.close()
        self._gzip = None

    def _inflate(self, chunk: bytes) -> None:
        assert self._gzip is not None
        try:
            while chunk:
                if self._gzip.eof:  # RFC 1952, section 2.2: members follow one another
                    self._next_member()
                self._keep(self._gzip.decompress(chunk, _INFLATED_BYTES))
                chunk = self._gzip.unused_data or self._gzip.unconsumed_tail
        except zlib.error as error:
            raise BrokenBody("the answer's gzip stream is broken") from error

    def _next_member(self) -> None:
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise BrokenBody("the answer's gzip stream is broken into too many pieces")
        self._gzip = zlib.decompressobj(wbits=31)

    def _keep(self, piece: bytes) -> None:
        if self._body.tell() + len(piece) > MAX_BODY_BYTES:
            raise _too_large()
        self._body.write(piece)


def _too_large() -> BrokenBody:
    return BrokenBody(f"the answer is larger than {MAX_BODY_BYTES // 1024**2} MB")


async def _body(reply: "httpx.Response") -> bytes:
    if reply.is_stream_consumed:  # a transport handed in gave a reply that is read already
        return reply.content
    with closing(_Decoder(reply.headers.get("content-encoding", ""))) as decoder:
        async for chunk in reply.aiter_raw(_CHUNK_BYTES):
            decoder.feed(chunk)
        return decoder.finish()


def _translated(error: Exception) -> WireError:
    """Say what broke in words of ours: the libraries' own messages hold addresses, and those can hold keys."""
    kinds: Mapping[str, WireError] = {
        "ConnectTimeout": TooSlow("no connection in time"),
        "ReadTimeout": TooSlow("no answer in time"),
        "Timeout": TooSlow("no answer in time"),
        "ConnectError": WireError("no connection"),
        "ConnectionError": WireError("no connection"),
        "RemoteProtocolError": WireError("the answer was cut or malformed"),
        "ChunkedEncodingError": WireError("the answer was cut or malformed"),
        "ReadTimeoutError": TooSlow("no answer in time"),
        "ProtocolError": WireError("the answer was cut or malformed"),
        "ReadError": WireError("the connection broke"),
        "SSLError": WireError("the certificate was not accepted"),
    }
    for kind in type(error).__mro__:
        if kind.__name__ in kinds:
            return kinds[kind.__name__]
    return WireError(f"the exchange failed ({type(error).__name__})")


class Cutoff:
    """Knows the socket of one exchange, and can end it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._over = False

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Take note of the sockets that this thread reads from until the end of the block."""
        _here.cutoff = self
        try:
            yield
        finally:
            _here.cutoff = None
            with self._lock:
                self._socket = None  # the next exchange may have it already

    def cut(self) -> None:
        """End the exchange, now or as soon as it has a socket; called from any thread."""
        with self._lock:
            self._over = True
            self._shut()

    def check(self) -> None:
        """Go on reading, unless it is over: what the system had received already would still come.

        Raises:
            OSError: the exchange was cut off.
        """
        if self._over:
            raise ConnectionAbortedError("cut off")

    def note(self, found: socket.socket | None) -> None:
        """Take note of the socket that is read from now on."""
        with self._lock:
            self._socket = found
            if self._over:
                self._shut()

    def _shut(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                # The plain socket's method: TLS's own would touch what the other thread is using.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)


class CutoffAdapter(HTTPAdapter):
    """The adapter of requests, on connections that tell the thread's `Cutoff` which socket they use."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Set up connections without a proxy."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = _POOLS

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> urllib3.ProxyManager:
        """Set up connections through a proxy."""
        manager: urllib3.ProxyManager = super().proxy_manager_for(*args, **kwargs)
        manager.pool_classes_by_scheme = _POOLS
        return manager


class _Here(threading.local):
    cutoff: Cutoff | None = None


_here = _Here()


class _Connection(urllib3.connection.HTTPConnection):
    def getresponse(self) -> urllib3.HTTPResponse:  # type: ignore[override]  # as in urllib3 itself
        if _here.cutoff:
            _here.cutoff.note(self.sock)
        return super().getresponse()


class _TLSConnection(_Connection, urllib3.connection.HTTPSConnection):
    pass


class _Pool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Connection


class _TLSPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _TLSConnection


_POOLS = {"http": _Pool, "https": _TLSPool}
