"""One request, one reply over requests, in a thread; loaded with a run's transport.

The timeouts of requests are for one read of the socket, so a server that drips its headers or its body would keep a
thread for hours: a `Cutoff` shuts the socket down from another thread, which ends the read, and with it the thread.
"""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter

from .wire import CHUNK_BYTES, HEADERS, Decoder, TooSlow, WireReply, WireRequest, translated


class RequestsWire:
    """requests in a thread."""

    def __init__(self) -> None:
        self._session: requests.Session | None = None

    async def send(self, request: WireRequest, timeout_s: float) -> WireReply:
        """Exchange one request for one whole reply; see `Wire.send`."""
        if self._session is None:
            self._session = requests.Session()
            self._session.headers.update(HEADERS)
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
            raise translated(error) from None

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
            closing(Decoder(reply.headers.get("content-encoding", ""))) as decoder,
        ):
            # Chunks as they come: a larger read would wait for a dripping server past any timeout.
            while chunk := reply.raw.read1(CHUNK_BYTES, decode_content=False):
                cutoff.check()
                decoder.feed(chunk)
            return WireReply(reply.status_code, {k.lower(): v for k, v in reply.headers.items()}, decoder.finish())

    async def close(self) -> None:
        """Close the connections."""
        if self._session is not None:
            self._session.close()
            self._session = None


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
