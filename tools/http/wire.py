"""One request, one reply: capped, complete, without redirects; here over httpx, in `requests_wire.py` over requests.

Both libraries hand out a cut gzip body as a good reply and decode whatever encoding a server names, so bodies are read
raw here and decoded under a cap, and the compressed stream's end is required.
"""

import asyncio
import importlib
import json
import logging
import mmap
import ssl
import sys
import zlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import httpx

MAX_BODY_BYTES = 32 * 1024 * 1024  # 200 PubMed records with reference lists take about 6 MB
USER_AGENT = "willowbark/0.1 (drug repurposing research)"
HEADERS = {"User-Agent": USER_AGENT, "Accept-Encoding": "gzip"}
CHUNK_BYTES = 64 * 1024
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


def httpx_alone() -> Any:
    """The module httpx, loaded with the first request, and without its command line.

    That is optional there, and would bring rich and pygments into every process: 4 MB.
    """
    if (loaded := sys.modules.get("httpx")) is not None:
        return loaded
    sys.modules["httpx._main"] = None  # type: ignore[assignment]  # not to be imported, by the language's reference
    try:
        return importlib.import_module("httpx")
    finally:
        sys.modules.pop("httpx._main", None)


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
    source: str = field(default="", compare=False)
    """Whose connections carry it: in a pool of all sources' each request looks at every idle connection there is."""

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
        self._clients: dict[tuple[str, bool], httpx.AsyncClient] = {}
        """By source, and whether they have certificates to check by."""
        self._trusted: ssl.SSLContext | None = None  # read once, and where needed: it takes longer than all else

    async def send(self, request: WireRequest, timeout_s: float) -> WireReply:
        """Exchange one request for one whole reply; see `Wire.send`."""
        httpx = httpx_alone()
        url = httpx.URL(request.url).copy_merge_params({**request.params, **request.secret})
        name = request.source, url.scheme == "https"
        if (client := self._clients.get(name)) is None:  # here and not above, for the time it takes
            if url.scheme == "https":
                trusted = self._trusted = self._trusted or httpx.create_ssl_context()
            else:
                trusted = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody
            client = self._clients[name] = httpx.AsyncClient(
                transport=self._transport, headers=HEADERS, follow_redirects=False, verify=trusted
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
            raise translated(error) from None

    async def close(self) -> None:
        """Close the connections."""
        while self._clients:
            await self._clients.popitem()[1].aclose()


class Decoder:
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
        """Take the next chunk, as it came.

        Raises:
            BrokenBody: a broken stream, or too much of it.
        """
        self._room_raw -= len(chunk)
        if self._gzip is None:
            self._keep(chunk)
        elif self._room_raw < 0:
            raise _too_large()
        else:
            self._inflate(chunk)

    def finish(self) -> bytes:
        """The whole body, decoded.

        Raises:
            BrokenBody: the compressed stream did not end.
        """
        if self._gzip is not None and not self._gzip.eof:
            raise BrokenBody("the answer's gzip stream was cut")
        return self._body[: self._body.tell()]

    def close(self) -> None:
        """Give the room back."""
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
    with closing(Decoder(reply.headers.get("content-encoding", ""))) as decoder:
        async for chunk in reply.aiter_raw(CHUNK_BYTES):
            decoder.feed(chunk)
        return decoder.finish()


def translated(error: Exception) -> WireError:
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
