"""A server on loopback that answers in the sources' place, from recorded replies; for faults and rehearsals."""

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import uvicorn
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from willowbark.tools.records.registry import cards

from .replies import REPLIES, answer, asked_by

CONNECTION = "faults.connection"
"""Where the scope holds the bare connection, an `asyncio.Transport`."""
_HOST = "127.0.0.1"
_STOP_S = 0.1  # for requests under way to notice that the server stops
_LOG = logging.getLogger("faults.server")
_LOG.setLevel(logging.ERROR)  # clients that hang up are no news here


@dataclass(slots=True)
class SeenRequest:
    """A request that reached the server."""

    source: str
    """First part of the path."""
    path: str
    """Below the source."""
    moment: float
    """When it arrived, in seconds of `time.monotonic`."""
    status: int | None = None
    """What was answered; None before, and where HTTP itself was broken."""
    method: str = "GET"
    query: str = ""
    """As it was sent, without `?`."""


class SourceServer:
    """A server on 127.0.0.1, as a context manager: it answers when entering returns, and is gone after leaving.

    Args:
        latency_s: seconds before each answer, of all sources or by a source's name (`typical_s`).
        replies: folder of recorded replies.
        around: ASGI middleware around the answers; it finds the bare connection in the scope, under `CONNECTION`.

    Attributes:
        requests: every request in the order of arrival.
    """

    def __init__(
        self,
        latency_s: float | Callable[[str], float] = 0.0,
        *,
        replies: Path = REPLIES,
        around: Callable[[ASGIApp], ASGIApp] = lambda app: app,
    ) -> None:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            request = Request(scope, receive)
            kind, body = request.headers.get("content-type", ""), await request.body()
            asked = asked_by(request.method, scope["path"], scope["query_string"].decode("latin-1"), body, kind)
            reply = await asyncio.to_thread(answer, asked, replies)
            await Response(reply.body, reply.status, media_type=reply.kind)(scope, receive, send)

        self.requests: list[SeenRequest] = []
        self._latency_s, self._port = latency_s, 0
        self._app: ASGIApp = around(GZipMiddleware(app, minimum_size=1000, compresslevel=1))
        self._stopping = False
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._socket: socket.socket

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`, without a slash at its end."""
        return f"http://{_HOST}:{self._port}"

    def __enter__(self) -> Self:
        # With the protocol named, asyncio turns Nagle's algorithm off; left out, answers wait 40 ms for each other.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((_HOST, self._port))
        self._port, self._stopping, ready = self._socket.getsockname()[1], False, threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(ready)), name="sources", daemon=True)
        self._thread.start()
        ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._stopping = True
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()
            self._thread = None

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self.__exit__)

    async def _serve(self, ready: threading.Event) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
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
        state = ServerState()
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
        self.logger, self.access_log = _LOG, False
        app: Any = self.app

        async def with_connection(scope: Any, receive: Any, send: Any) -> None:
            scope[CONNECTION] = self.transport
            await app(scope, receive, send)

        self.app = with_connection
