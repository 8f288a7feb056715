"""One request and one reply over httpx; redirects are left to the caller.

httpx accepts a truncated gzip body as a good reply and decodes any encoding that a server names, so bodies are read raw
here, decoded under a size cap, and must contain the end of the compressed stream.
"""

import asyncio
import logging
import mmap
import ssl
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import SourceUnavailable
from .reply import Reply

if TYPE_CHECKING:
    import httpx

MAX_BODY_BYTES = 32 * 1024 * 1024  # 200 PubMed records with reference lists take about 6 MB
HEADERS = {"User-Agent": "willowbark/0.1 (drug repurposing research)", "Accept-Encoding": "gzip"}
_CHUNK_BYTES = 64 * 1024
_INFLATED_BYTES = 1024 * 1024  # decoded at a time, so that a decompression bomb is refused before it takes much memory
_REASONS = {
    "ConnectError": "no connection",
    "RemoteProtocolError": "the answer was cut or malformed",
    "ReadError": "the connection broke",
}
"""Short messages for httpx's errors, whose own messages contain addresses and possibly keys."""

logging.getLogger("httpx").addFilter(lambda record: "api_key=" not in record.getMessage())


class TooSlow(SourceUnavailable):
    """No complete reply in time."""


@dataclass(frozen=True, slots=True)
class Request:
    """The request to send; it may contain a key, so its repr is hidden."""

    source: str
    method: str
    url: str = field(repr=False)
    content: bytes | None = field(default=None, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


def open_client(network: "httpx.AsyncBaseTransport | None" = None) -> "httpx.AsyncClient":
    """Open a client; `network` carries its requests, None uses the network."""
    import httpx  # noqa: PLC0415  takes a while to load, and is not needed offline

    return httpx.AsyncClient(
        transport=network,
        headers=HEADERS,
        timeout=None,  # noqa: S113  each exchange has its own
        verify=greet_as_requests(httpx.create_ssl_context(verify=network is None)),
    )


def greet_as_requests(context: ssl.SSLContext) -> ssl.SSLContext:
    """Send the TLS greeting of `requests`, since ClinicalTrials.gov's firewall is reported to refuse httpx's."""
    context.options |= ssl.OP_NO_TICKET
    context.post_handshake_auth = True
    return context


async def send(client: "httpx.AsyncClient", request: Request, timeout_s: float) -> Reply:
    """Send one request and receive one complete reply within `timeout_s`, body included.

    Raises:
        SourceUnavailable: no connection, no reply, or an incomplete body; the message says how, without an address.
    """
    import httpx  # noqa: PLC0415  loaded by now

    try:
        async with (
            asyncio.timeout(timeout_s),
            client.stream(request.method, request.url, content=request.content, headers=dict(request.headers)) as reply,
        ):
            headers = {name.lower(): value for name, value in reply.headers.items()}
            if reply.is_stream_consumed:  # made in this process
                body = reply.content
            else:
                encoding = headers.get("content-encoding", "").strip().lower()
                body = await _decode_body(request.source, encoding, reply.aiter_raw(_CHUNK_BYTES))
            return Reply(request.source, reply.status_code, headers, body)
    except TimeoutError:
        raise TooSlow(request.source, f"no whole answer within {timeout_s:.3g} s") from None
    except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
        names = [kind.__name__ for kind in type(error).__mro__]
        why = next((_REASONS[name] for name in names if name in _REASONS), f"the exchange failed ({names[0]})")
        why = "the certificate was not accepted" if "CERTIFICATE_VERIFY_FAILED" in str(error) else why
        raise SourceUnavailable(request.source, why) from None


async def _decode_body(source: str, encoding: str, chunks: AsyncIterator[bytes]) -> bytes:
    """Decode raw chunks; refuses a body that is truncated, too large or in an unknown encoding."""
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise SourceUnavailable(source, f"the answer is encoded as {encoding[:40]!r}; gzip was asked for")
    gzip = zlib.decompressobj(wbits=31) if "gzip" in encoding else None
    raw_bytes = 0  # a stream that decodes to nothing could go on forever
    # malloc would keep as much memory for every thread that used it; closed, it is not kept by an error's frames
    with closing(mmap.mmap(-1, MAX_BODY_BYTES)) as body:
        async for chunk in chunks:
            rest = chunk
            raw_bytes += len(chunk)
            while rest:
                piece, rest = rest, b""
                if gzip is not None:
                    if gzip.eof:  # RFC 1952, section 2.2: members follow one another
                        gzip = zlib.decompressobj(wbits=31)
                    try:
                        piece = gzip.decompress(piece, _INFLATED_BYTES)
                    except zlib.error as error:
                        raise SourceUnavailable(source, "the answer's gzip stream is broken") from error
                    rest = gzip.unused_data or gzip.unconsumed_tail
                if max(raw_bytes, body.tell() + len(piece)) > MAX_BODY_BYTES:
                    raise SourceUnavailable(source, f"the answer is larger than {MAX_BODY_BYTES // 1024**2} MB")
                body.write(piece)
        if gzip is not None and not gzip.eof:
            raise SourceUnavailable(source, "the answer's gzip stream was cut")
        return body[: body.tell()]
