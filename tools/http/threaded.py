"""Wires of libraries that block: each exchange runs in a thread of its own, over a line that can be cut from outside.

A cancelled or late exchange returns at once; cutting its line shuts the socket, which ends the thread.
"""

import asyncio
import contextlib
import http.client
import os
import socket
import ssl
import threading
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from ..errors import SourceUnavailable
from ..records.card import WireName
from .reply import CHUNK_BYTES, HEADERS, BodyReader, Reply, Request, TooSlow
from .wires import explain_failure, find_roots

if TYPE_CHECKING:
    import requests


class BlockingLine:
    """A connection to a source, used by one thread at a time; another thread may cut it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handle: socket.socket | None = None
        self._is_cut = False

    def fetch(self, request: Request, timeout_s: float) -> Reply:
        """Send a request and receive a whole reply; each silence may last `timeout_s`. Raises as the library does."""
        raise NotImplementedError

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        """What the library raises where an exchange fails; anything else is a fault of ours."""
        return OSError, http.client.HTTPException

    def close(self) -> None:
        """End the connection, in the thread that used it or after that."""
        with self._lock:
            self._drop_handle()

    def watch(self, connection: socket.socket) -> None:
        """Take note of a new connection before anything is read from it."""
        with self._lock:
            self._drop_handle()
            if self._is_cut:
                connection.close()
                raise ConnectionAbortedError("the line was cut")
            # A handle of its own, as wrapping a socket in TLS takes the original one away.
            self._handle = connection.dup()

    def cut(self) -> None:
        """End the connection under the thread that uses it, for good."""
        with self._lock:
            self._is_cut = True
            if self._handle is not None:
                with contextlib.suppress(OSError):
                    self._handle.shutdown(socket.SHUT_RDWR)
                self._drop_handle()

    def _drop_handle(self) -> None:
        if self._handle is not None:
            self._handle.close()
            self._handle = None


class ThreadedWire:
    """Sends each request in a thread, over a line that no other thread uses.

    The threads are daemons: one that looks up a name in a broken network can't be ended, and must not keep the program.

    Args:
        name: of the library.
        open_line: opens a line, without connecting.
    """

    def __init__(self, name: WireName, open_line: Callable[[], BlockingLine]) -> None:
        self.name = name
        self._open_line = open_line
        self._idle = list[BlockingLine]()
        self._busy = set[BlockingLine]()

    async def send(self, request: Request, timeout_s: float) -> Reply:
        line = self._idle.pop() if self._idle else self._open_line()
        outcome = asyncio.get_running_loop().create_future()
        work = threading.Thread(target=_fetch, args=(line, request, timeout_s, outcome), name=self.name, daemon=True)
        self._busy.add(line)
        work.start()
        try:
            async with asyncio.timeout(timeout_s):
                reply: Reply = await outcome
        except TimeoutError:
            line.cut()
            raise TooSlow(request.source, f"no whole answer within {timeout_s:.3g} s") from None
        except BaseException:
            line.cut()
            raise
        finally:
            self._busy.discard(line)
        self._idle.append(line)
        return reply

    async def close(self) -> None:
        for line in self._busy:
            line.cut()
        while self._idle:
            self._idle.pop().close()


def _fetch(line: BlockingLine, request: Request, timeout_s: float, outcome: "asyncio.Future[Reply]") -> None:
    """Fetch in a thread, and deliver the reply or the failure to the loop that waits for it."""
    reply: Reply | None = None
    failure: BaseException | None = None
    try:
        reply = line.fetch(request, timeout_s)
    except SourceUnavailable as error:
        failure = error
    except Exception as error:  # noqa: BLE001  whoever waits for the thread is to hear of it
        failure = _translate(request.source, error, timeout_s) if isinstance(error, line.failures) else error
    if failure is not None:
        line.close()

    def deliver() -> None:
        if outcome.done():  # nobody waits any more
            line.close()
        elif failure is not None:
            outcome.set_exception(failure)
        elif reply is not None:
            outcome.set_result(reply)

    try:
        outcome.get_loop().call_soon_threadsafe(deliver)
    except RuntimeError:  # the loop is closed
        line.close()


def _translate(source: str, error: Exception, timeout_s: float) -> SourceUnavailable:
    reason = explain_failure(error)
    if reason == "no answer in time":
        return TooSlow(source, f"no whole answer within {timeout_s:.3g} s")
    return SourceUnavailable(source, reason)


def _receive(request: Request, status: int, headers: Mapping[str, str], chunks: Iterable[bytes]) -> Reply:
    lowered = {name.lower(): value for name, value in headers.items()}
    with BodyReader(request.source, lowered.get("content-encoding", "")) as body:
        for chunk in chunks:
            body.feed(chunk)
        return Reply(request.source, status, lowered, body.finish())


class RequestsLine(BlockingLine):
    """A session of requests with one connection, which is kept for the next exchange.

    Proxies are taken from the environment as httpx takes them; passwords of `.netrc` are not.
    """

    def __init__(self) -> None:
        super().__init__()
        self._session: requests.Session | None = None

    def fetch(self, request: Request, timeout_s: float) -> Reply:
        import requests  # noqa: PLC0415  loaded in the thread, so that nobody waits for it

        if self._session is None:
            self._session = _open_session(self)
        with self._session.request(
            request.method,
            request.url,
            data=request.content,
            headers=dict(request.headers),
            stream=True,
            allow_redirects=False,
            timeout=timeout_s,
            proxies=requests.utils.get_environ_proxies(request.url, no_proxy=None),
        ) as reply:
            chunks = reply.raw.stream(CHUNK_BYTES, decode_content=False)
            return _receive(request, reply.status_code, reply.headers, chunks)

    @property
    def failures(self) -> tuple[type[Exception], ...]:
        from urllib3.exceptions import HTTPError  # noqa: PLC0415  loaded by now

        return (*super().failures, HTTPError)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
        super().close()


def _open_session(line: BlockingLine) -> "requests.Session":
    """Open a session whose connections the line watches."""
    import requests  # noqa: PLC0415  loaded by now
    from requests.adapters import HTTPAdapter  # noqa: PLC0415
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool  # noqa: PLC0415
    from urllib3.connection import HTTPConnection, HTTPSConnection  # noqa: PLC0415

    class WatchedConnection(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            connection = super()._new_conn()
            line.watch(connection)
            return connection

    class WatchedTLSConnection(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            connection = super()._new_conn()
            line.watch(connection)
            return connection

    class WatchedPool(HTTPConnectionPool):
        ConnectionCls = WatchedConnection

    class WatchedTLSPool(HTTPSConnectionPool):
        ConnectionCls = WatchedTLSConnection

    pools = {"http": WatchedPool, "https": WatchedTLSPool}

    class WatchingAdapter(HTTPAdapter):
        def init_poolmanager(self, *args: Any, **options: Any) -> None:
            super().init_poolmanager(*args, **options)
            self.poolmanager.pool_classes_by_scheme = pools

        def proxy_manager_for(self, *args: Any, **options: Any) -> Any:
            manager = super().proxy_manager_for(*args, **options)
            manager.pool_classes_by_scheme = pools
            return manager

    session = requests.Session()
    session.trust_env = False
    session.verify = find_roots()
    session.headers.update(HEADERS)
    for scheme in ("http://", "https://"):
        session.mount(scheme, WatchingAdapter(pool_connections=1, pool_maxsize=1))
    return session


class StandardLine(BlockingLine):
    """The standard library's `urllib.request`, a new connection for each exchange."""

    def fetch(self, request: Request, timeout_s: float) -> Reply:
        director = urllib.request.OpenerDirector()
        for handler in (urllib.request.ProxyHandler(), _WatchedHandler(self), _WatchedTLSHandler(self)):
            director.add_handler(handler)
        headers = {**HEADERS, **request.headers}
        order = urllib.request.Request(  # noqa: S310  the transport refuses other schemes
            request.url, data=request.content, headers=headers, method=request.method
        )
        with director.open(order, timeout=timeout_s) as reply:
            reply_headers = {name: ", ".join(reply.headers.get_all(name)) for name in reply.headers}
            return _receive(request, reply.status, reply_headers, _list_chunks(reply))


def _list_chunks(reply: http.client.HTTPResponse) -> Iterable[bytes]:
    """Yield the body as it was sent; http.client itself does not say that its end is missing."""
    while chunk := reply.read(CHUNK_BYTES):
        yield chunk
    if reply.length:
        raise http.client.IncompleteRead(b"", reply.length)


class _WatchedConnection(http.client.HTTPConnection):
    line: BlockingLine

    def connect(self) -> None:
        super().connect()
        self.line.watch(self.sock)


class _WatchedTLSConnection(http.client.HTTPSConnection, _WatchedConnection):
    """Watched between connecting and TLS, as `HTTPSConnection.connect` begins with the class that follows it here."""


def _make_watched(kind: type[_WatchedConnection], line: BlockingLine, host: str, **options: Any) -> _WatchedConnection:
    connection = kind(host, **options)
    connection.line = line
    return connection


class _WatchedHandler(urllib.request.HTTPHandler):
    def __init__(self, line: BlockingLine) -> None:
        super().__init__()
        self._line = line

    def http_open(self, order: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_make_watched, _WatchedConnection, self._line), order)


class _WatchedTLSHandler(urllib.request.HTTPSHandler):
    def __init__(self, line: BlockingLine) -> None:
        super().__init__()
        self._line = line

    def https_open(self, order: urllib.request.Request) -> http.client.HTTPResponse:
        make = partial(_make_watched, _WatchedTLSConnection, self._line)
        return self.do_open(make, order, context=_open_context())


def _open_context() -> ssl.SSLContext:
    """Trust what the other wires trust, and greet as `http.client` does by itself."""
    roots = find_roots()
    is_folder = os.path.isdir(roots)
    context = ssl.create_default_context(cafile=None if is_folder else roots, capath=roots if is_folder else None)
    context.set_alpn_protocols(["http/1.1"])
    context.post_handshake_auth = True
    return context
