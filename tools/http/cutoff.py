"""Connections of requests that can be cut off from another thread.

The timeouts of requests are for one read of the socket, so a server that drips its headers or its body would keep a
thread for hours. Shutting the socket down ends the read, and with it the thread.
"""

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Any

import urllib3
from requests.adapters import HTTPAdapter


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
