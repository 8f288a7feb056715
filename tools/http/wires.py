"""Wires: the HTTP libraries that carry requests, all under the same bounds of bytes and time.

httpx carries the requests of most sources. `threaded` holds the wires of libraries that block.
"""

import asyncio
import logging
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from ..errors import SourceUnavailable
from ..records.card import WireName
from .reply import CHUNK_BYTES, HEADERS, BodyReader, Reply, Request, TooSlow

if TYPE_CHECKING:
    import httpx

_MALFORMED = "the answer was cut or malformed"
_REASONS = (
    (("ConnectError", "NewConnectionError", "gaierror", "ConnectionRefusedError"), "no connection"),
    (("TimeoutException", "TimeoutError", "Timeout", "ReadTimeoutError", "ConnectTimeoutError"), "no answer in time"),
    (("RemoteDisconnected",), _MALFORMED),  # a reset too by its class; it ended before any answer
    (("ReadError", "ConnectionResetError", "BrokenPipeError", "ConnectionAbortedError"), "the connection broke"),
    (("RemoteProtocolError", "ProtocolError", "HTTPException"), _MALFORMED),
)
"""Short messages for the libraries' errors, whose own contain addresses and possibly keys; the first counts."""
_DEEPEST = 8  # errors within an error; more may go in circles

for _library in ("httpx", "urllib3.connectionpool", "urllib3.util.retry"):
    logging.getLogger(_library).addFilter(lambda record: "api_key=" not in record.getMessage())


class Wire(Protocol):
    """Sends one request at a time or several, and receives whole replies."""

    @property
    def name(self) -> WireName: ...

    async def send(self, request: Request, timeout_s: float) -> Reply:
        """Send one request and receive one complete reply within `timeout_s`, body included; follows no redirect.

        Raises:
            SourceUnavailable: no connection, no reply, or an incomplete body; the message says how, without an address.
        """

    async def close(self) -> None:
        """End all connections."""


class HttpxWire:
    """Sends requests over httpx.

    Args:
        network: carries the requests in place of the network, as `httpx.MockTransport` does in tests.
    """

    name: WireName = "httpx"

    def __init__(self, network: "httpx.AsyncBaseTransport | None" = None) -> None:
        import httpx  # noqa: PLC0415  takes a while to load, and is not needed offline

        timeout = None  # each exchange has its own
        verify = httpx.create_ssl_context(verify=network is None)
        self._client = httpx.AsyncClient(transport=network, headers=HEADERS, timeout=timeout, verify=verify)

    async def send(self, request: Request, timeout_s: float) -> Reply:
        import httpx  # noqa: PLC0415  loaded by now

        headers = dict(request.headers)
        try:
            async with (
                asyncio.timeout(timeout_s),
                self._client.stream(request.method, request.url, content=request.content, headers=headers) as reply,
            ):
                return await _receive(request, reply)
        except TimeoutError:
            raise TooSlow(request.source, f"no whole answer within {timeout_s:.3g} s") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            raise SourceUnavailable(request.source, explain_failure(error)) from None

    async def close(self) -> None:
        await self._client.aclose()


async def _receive(request: Request, reply: "httpx.Response") -> Reply:
    headers = {name.lower(): value for name, value in reply.headers.items()}
    if reply.is_stream_consumed:  # made in this process
        return Reply(request.source, reply.status_code, headers, reply.content)
    with BodyReader(request.source, headers.get("content-encoding", "")) as body:
        async for chunk in reply.aiter_raw(CHUNK_BYTES):
            body.feed(chunk)
        return Reply(request.source, reply.status_code, headers, body.finish())


def find_roots() -> str:
    """Return the file or folder of trusted certificates, the same for every wire: the user's, else certifi's."""
    import certifi  # noqa: PLC0415  not needed offline

    return os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR") or certifi.where()


def explain_failure(error: BaseException) -> str:
    """Say in a few words how an exchange failed, without an address."""
    names: set[str] = set()
    for cause in _list_causes(error):
        if "CERTIFICATE_VERIFY_FAILED" in str(cause):
            return "the certificate was not accepted"
        names.update(kind.__name__ for kind in type(cause).__mro__)
    for kinds, reason in _REASONS:
        if not names.isdisjoint(kinds):
            return reason
    return f"the exchange failed ({type(error).__name__})"


def _list_causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what it was made of; requests and urllib3 keep that in arguments and in `reason`."""
    inner: BaseException | None = error
    for _ in range(_DEEPEST):
        if inner is None:
            return
        yield inner
        parts = [*inner.args, getattr(inner, "reason", None), inner.__cause__]
        inner = next((part for part in parts if isinstance(part, BaseException)), None)
