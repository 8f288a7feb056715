"""One request and one reply over httpx; redirects are left to the caller.

httpx accepts a truncated gzip body as a good reply and decodes any encoding that a server names, so bodies are read raw
here, decoded under a size cap, and must contain the end of the compressed stream.
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
_INFLATED_BYTES = 1024 * 1024  # decoded at a time, so that a decompression bomb is refused before it takes much memory
_REASONS = {
    "ConnectError": "no connection",
    "RemoteProtocolError": "the answer was cut or malformed",
    "ReadError": "the connection broke",
}
"""Short messages for httpx's errors, whose own messages contain addresses and possibly keys."""
Greeting = Literal["httpx", "requests"]
"""HTTP library whose TLS greeting a server gets: firewalls are reported to tell the two apart by it."""

logging.getLogger("httpx").addFilter(lambda record: "api_key=" not in record.getMessage())


class WireError(Exception):
    """The exchange failed; the message says how, without an address."""


class TooSlow(WireError):
    """No complete reply in time."""


@dataclass(frozen=True, slots=True)
class WireRequest:
    """The request to send; it may contain a key, so its repr is hidden."""

    method: str
    url: str = field(repr=False)
    content: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class WireReply:
    """The decoded reply."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes = field(repr=False)


class HttpxWire:
    """Sends requests with httpx on the event loop.

    Args:
        network: transport that carries the requests; None uses the network.
        greeting: HTTP library whose TLS greeting is sent.
    """

    def __init__(self, network: "httpx.AsyncBaseTransport | None" = None, greeting: Greeting = "httpx") -> None:
        self._network, self._greeting = network, greeting
        self._client: httpx.AsyncClient | None = None

    def open(self) -> "httpx.AsyncClient":
        """Return the client, created on first use, since httpx and the certificates take a while to load."""
        if self._client is None:
            import httpx  # noqa: PLC0415  not needed offline

            context = httpx.create_ssl_context(verify=self._network is None)
            if self._greeting == "requests":
                context.options |= ssl.OP_NO_TICKET
                context.post_handshake_auth = True
            self._client = httpx.AsyncClient(
                transport=self._network,
                headers=HEADERS,
                timeout=None,  # noqa: S113  each exchange has its own
                verify=context,
            )
        return self._client

    async def send(self, request: WireRequest, timeout_s: float) -> WireReply:
        """Send one request and receive one complete reply within `timeout_s`, body included.

        Raises:
            WireError: no connection, no reply, or an incomplete body.
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
            raise _convert_error(error) from None

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None


class Body:
    """Decodes raw chunks into the body; refuses one that is truncated, too large or in an unknown encoding.

    Close it after use: otherwise the frames of an error keep the body in memory until garbage collection.

    Raises:
        WireError: here, or at the chunk or end that reveals the fault.
    """

    def __init__(self, encoding: str) -> None:
        encoding = encoding.strip().lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise WireError(f"the answer is encoded as {encoding[:40]!r}; gzip was asked for")
        self._gzip = zlib.decompressobj(wbits=31) if "gzip" in encoding else None
        self._body = mmap.mmap(-1, MAX_BODY_BYTES)  # malloc would keep that much memory for every thread that used it
        self._members = 1
        self._raw_bytes = 0  # a stream that decodes to nothing could go on forever

    def feed(self, chunk: bytes) -> None:
        """Decode the next chunk."""
        self._raw_bytes += len(chunk)
        while chunk:
            piece, chunk = (chunk, b"") if self._gzip is None else self._inflate(chunk)
            if max(self._raw_bytes, self._body.tell() + len(piece)) > MAX_BODY_BYTES:
                raise WireError(f"the answer is larger than {MAX_BODY_BYTES // 1024**2} MB")
            self._body.write(piece)

    def finish(self) -> bytes:
        """Return the whole decoded body."""
        if self._gzip is not None and not self._gzip.eof:
            raise WireError("the answer's gzip stream was cut")
        return self._body[: self._body.tell()]

    def close(self) -> None:
        """Free the memory."""
        self._body.close()
        self._gzip = None

    def _inflate(self, chunk: bytes) -> tuple[bytes, bytes]:
        """Return the next decoded piece and the rest of the chunk."""
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


def _convert_error(error: Exception) -> WireError:
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return WireError("the certificate was not accepted")
    names = (kind.__name__ for kind in type(error).__mro__)
    reason = next((_REASONS[name] for name in names if name in _REASONS), None)
    return WireError(reason or f"the exchange failed ({type(error).__name__})")
