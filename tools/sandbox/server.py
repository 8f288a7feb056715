"""The sandbox server: the sources' protocols on loopback, in a thread of its own."""

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from willowbark.tools.registry import cards
from willowbark.tools.sources.card import source_modules

from .library import Library

CONNECTION = "willowbark.connection"
"""Where the scope holds the bare connection, an `asyncio.Transport`."""
_HOST = "127.0.0.1"
_STOP_S = 0.1  # for requests under way to notice that the server stops
_MARK = (b"x-willowbark-sandbox", b"a library of real records with summaries in Willowbark's own words")

_LOG = logging.getLogger("willowbark.sandbox")
_LOG.setLevel(logging.ERROR)  # clients that hang up are no news here


@dataclass(slots=True)
class SeenRequest:
    """A request that reached the server."""

    source: str
    """First part of the path; empty for a path of no source."""
    path: str
    """Below the source."""
    moment: float
    """When it arrived, in seconds of `time.monotonic`."""
    status: int | None = None
    """What was answered; None before, and where HTTP itself was broken."""
    method: str = "GET"
    query: str = ""
    """As it was sent, without `?`."""


def module_of(name: str) -> ModuleType:
    """The file that speaks a source's protocol, in a folder named as the source's own; its `routes` take the library.

    Raises:
        ModuleNotFoundError: the source has none, and would be missing offline without a word.
    """
    folder = source_modules()[name].__name__.split(".")[-2]
    return import_module(f".{folder}.{name}", __package__)


def application(library: Library) -> ASGIApp:
    """All sources over one library; starting needs no event loop."""
    routes = [route for name in cards() for route in module_of(name).routes(library)]
    return GZipMiddleware(Starlette(routes=routes), minimum_size=1000, compresslevel=1)


class SandboxServer:
    """A server on 127.0.0.1, as a context manager: it answers when entering returns, and is gone after leaving.

    Args:
        library: what to serve; None is the bundled library.
        latency_s: seconds before each answer, of all sources or by a source's name (`typical_s`).
        port: 0 takes a free one.
        around: ASGI middleware around the answers; it finds the bare connection in the scope, under `CONNECTION`.

    Attributes:
        requests: every request in the order of arrival.

    Raises:
        OSError: on entering, where the port is taken.
    """

    def __init__(
        self,
        library: Library | None = None,
        latency_s: float | Callable[[str], float] = 0.0,
        *,
        port: int = 0,
        around: Callable[[ASGIApp], ASGIApp] = lambda app: app,
    ) -> None:
        self.requests: list[SeenRequest] = []
        self._library = library
        self._around = around
        self._latency_s = latency_s
        self._port = port
        self._app: ASGIApp
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._socket: socket.socket

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`, without a slash at its end."""
        return f"http://{_HOST}:{self._port}"

    def start(self) -> None:
        """Serve, until `stop`.

        Raises:
            OSError: the port is taken.
            UsageError: the library cannot be read.
        """
        self._stopping = False
        self._socket = _bound(self._port)
        self._port = self._socket.getsockname()[1]
        try:
            self._app = self._around(application(self._library or Library.load()))
        except BaseException:
            self._socket.close()
            raise
        ready = threading.Event()
        self._thread = threading.Thread(target=self._work, args=(ready,), name="willowbark-sandbox", daemon=True)
        self._thread.start()
        ready.wait()

    def stop(self) -> None:
        """End every connection and the thread; a server that is not running is left as it is."""
        if self._thread is not None:
            self._stopping = True
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
            self._thread = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.start)
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.stop)

    def _work(self, ready: threading.Event) -> None:
        asyncio.run(self._serve(ready))

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        state = ServerState()
        config = uvicorn.Config(
            self._answer,
            interface="asgi3",
            http=_Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            proxy_headers=False,
            timeout_keep_alive=75,  # seconds; clients pause, and a connection that ends under them is a fault of ours
        )
        config.load()
        server = await self._loop.create_server(lambda: _Protocol(config, state, {}), sock=self._socket, backlog=2048)
        ready.set()
        await self._stop.wait()
        server.close()
        for protocol in list(state.connections):
            protocol.transport.abort()
        if state.tasks:
            await asyncio.wait(state.tasks, timeout=_STOP_S)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Note the request, wait the latency, answer."""
        source, _, path = scope["path"].lstrip("/").partition("/")
        query = scope["query_string"].decode("latin-1")
        seen = SeenRequest(source, path, time.monotonic(), method=scope["method"], query=query)
        self.requests.append(seen)

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                seen.status = message["status"]
                message["headers"] = [*message["headers"], _MARK]
            await send(message)

        try:
            if pause_s := self._latency_s(source) if callable(self._latency_s) else self._latency_s:
                await asyncio.sleep(pause_s)
            await self._app(scope, receive, noted)
        except ClientDisconnect:
            pass  # while it was still sending its request
        except asyncio.CancelledError:
            if not self._stopping:
                raise


def typical_s(source: str) -> float:
    """Seconds that a source's card calls typical of a reply; 0 for a path of no source."""
    return cards()[source].typical_s if source in cards() else 0.0


class _Protocol(H11Protocol):
    """uvicorn's HTTP over h11, which shows the bare connection to middleware and keeps its log to itself."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.logger = _LOG
        self.access_log = False
        answer: Any = self.app

        async def with_connection(scope: Any, receive: Any, send: Any) -> None:
            scope[CONNECTION] = self.transport
            await answer(scope, receive, send)

        self.app = with_connection


def _bound(port: int) -> socket.socket:
    """A socket on loopback.

    Raises:
        OSError: the port is taken.
    """
    # With the protocol named, asyncio turns Nagle's algorithm off; left out, answers wait 40 ms for each other.
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((_HOST, port))
    except OSError:
        bound.close()
        raise
    return bound
