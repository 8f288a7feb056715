"""One request, one reply over httpx, redirects left to the caller.

httpx hands out a cut gzip body as a good reply and decodes whatever encoding a server names, so bodies are read raw
here and decoded under a cap, and the compressed stream's end is required.
"""

import asyncio
import logging
import mmap
import ssl
import zlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import httpx

MAX_BODY_BYTES = 32 * 1024 * 1024  # 200 PubMed records with reference lists take about 6 MB
HEADERS = {"User-Agent": "willowbark/0.1 (drug repurposing research)", "Accept-Encoding": "gzip"}
_CHUNK_BYTES = 64 * 1024
_MAX_MEMBERS = 1024  # of a gzip stream: 32 MB in the 64 kB members that block gzip writes, twice over
_INFLATED_BYTES = 1024 * 1024  # decoded at a time, so that a small bomb takes little room before it is refused
_REASONS = {
    "ConnectError": "no connection",
    "RemoteProtocolError": "the answer was cut or malformed",
    "ReadError": "the connection broke",
}
"""What broke, by httpx's errors: their own messages hold addresses, and those can hold keys."""
Greeting = Literal["httpx", "requests"]
"""Whose TLS greeting a server gets: firewalls are reported to tell the two libraries apart by theirs."""

logging.getLogger("httpx").addFilter(lambda record: "api_key=" not in record.getMessage())


class WireError(Exception):
    """The exchange broke; the message says how, without an address."""


class TooSlow(WireError):
    """No whole answer came in time."""


@dataclass(frozen=True, slots=True)
class WireRequest:
    """What to send; a key may stand anywhere in it, so it is not shown."""

    method: str
    url: str = field(repr=False)
    content: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class WireReply:
    """What came back, decoded."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes = field(repr=False)


class HttpxWire:
    """httpx on the event loop.

    Args:
        network: what carries the requests; None is the network.
        greeting: whose TLS greeting is sent.
    """

    def __init__(self, network: "httpx.AsyncBaseTransport | None" = None, greeting: Greeting = "httpx") -> None:
        self._network, self._greeting = network, greeting
        self._client: httpx.AsyncClient | None = None

    def open(self) -> "httpx.AsyncClient":
        """The client, made where there is none: httpx and the certificates take a while to load."""
        if self._client is None:
            import httpx  # noqa: PLC0415  not needed offline

            context = httpx.create_ssl_context(verify=self._network is None)
            if self._greeting == "requests":
                context.options |= ssl.OP_NO_TICKET
                context.post_handshake_auth = True
            made = httpx.AsyncClient(transport=self._network, headers=HEADERS, timeout=None, verify=context)  # noqa: S113
            self._client = made
        return self._client

    async def send(self, request: WireRequest, timeout_s: float) -> WireReply:
        """Exchange one request for one whole reply within `timeout_s`, body included.

        Raises:
            WireError: no connection, no reply, no whole body.
        """
        client = self.open()
        import httpx  # noqa: PLC0415  loaded by now

        try:
            async with (
                asyncio.timeout(timeout_s),
                client.stream(
                    request.method, request.url, content=request.content, headers=dict(request.headers)
                ) as reply,
            ):
                headers = {name.lower(): value for name, value in reply.headers.items()}
                if reply.is_stream_consumed:  # made in this process
                    return WireReply(reply.status_code, headers, reply.content)
                with closing(Body(headers.get("content-encoding", ""))) as body:
                    async for chunk in reply.aiter_raw(_CHUNK_BYTES):
                        body.feed(chunk)
                    return WireReply(reply.status_code, headers, body.finish())
        except TimeoutError:
            raise TooSlow(f"no whole answer within {timeout_s:.3g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise _broken(error) from None

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None


class Body:
    """Takes raw chunks, gives the decoded body, refuses what is cut, too large or strangely encoded.

    Closed after use: the frames of whatever error ended the reading would keep the body until the collector comes by.

    Raises:
        WireError: here, and where a chunk or the end shows it.
    """

    def __init__(self, encoding: str) -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise WireError(f"the answer is encoded as {encoding[:40]!r}; gzip was asked for")
        self._gzip = zlib.decompressobj(wbits=31) if "gzip" in encoding else None
        self._body = mmap.mmap(-1, MAX_BODY_BYTES)  # malloc would keep such room, once for every thread that had it
        self._members = 1
        self._raw_bytes = 0  # a stream that decodes to nothing could go on for ever

    def feed(self, chunk: bytes) -> None:
        """Take the next chunk, as it came."""
        self._raw_bytes += len(chunk)
        while chunk:
            piece, chunk = (chunk, b"") if self._gzip is None else self._inflate(chunk)
            if max(self._raw_bytes, self._body.tell() + len(piece)) > MAX_BODY_BYTES:
                raise WireError(f"the answer is larger than {MAX_BODY_BYTES // 1024**2} MB")
            self._body.write(piece)

    def finish(self) -> bytes:
        """The whole body, decoded."""
        if self._gzip is not None and not self._gzip.eof:
            raise WireError("the answer's gzip stream was cut")
        return self._body[: self._body.tell()]

    def close(self) -> None:
        """Give the room back."""
        self._body.close()
        self._gzip = None

    def _inflate(self, chunk: bytes) -> tuple[bytes, bytes]:
        """The next decoded piece, and what is left of the chunk."""
        assert self._gzip is not None
        if self._gzip.eof:  # RFC 1952, section 2.2: members follow one another
            self._members += 1
            if self._members > _MAX_MEMBERS:
                raise WireError("the answer's gzip stream is broken into too many pieces")
            self._gzip = zlib.decompressobj(wbits=31)
        try:
            piece = self._gzip.decompress(chunk, _INFLATED_BYTES)
        except zlib.error as error:
            raise WireError("the answer's gzip stream is broken") from error
        return piece, self._gzip.unused_data or self._gzip.unconsumed_tail


def _broken(error: Exception) -> WireError:
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return WireError("the certificate was not accepted")
    names = (kind.__name__ for kind in type(error).__mro__)
    reason = next((_REASONS[name] for name in names if name in _REASONS), None)
    return WireError(reason or f"the exchange failed ({type(error).__name__})")
