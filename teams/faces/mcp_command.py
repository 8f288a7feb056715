"""`willowbark mcp`: the server on standard input and output, or as streamable HTTP on loopback, behind a token.

https://modelcontextprotocol.io/specification/2025-06-18/basic/transports
"""

import os
import secrets
import socket
from collections.abc import Callable, Mapping
from pathlib import Path

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from willowbark.tools.errors import UsageError
from willowbark.tools.http.transport import Transport

from ..run.options import RunOptions
from .mcp_server import Server

HOST = "127.0.0.1"
TOKEN_VARIABLE = "WILLOWBARK_MCP_TOKEN"  # noqa: S105  its name, not the token
_SHORTEST_TOKEN = 16  # characters
_NAMES = (HOST, "localhost")
_STOP_S = 2  # for requests under way when the server ends
_SETTLE_S = 10.0  # for their runs to keep what they found; they can be gone on with


class Tokened:
    """An application that answers only requests that bear the token."""

    def __init__(self, inner: ASGIApp, token: str) -> None:
        self._inner, self._expected = inner, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it; what is compared takes the same time whatever is sent."""
        sent = b"" if scope["type"] == "lifespan" else Headers(scope=scope).get("authorization", "").encode("latin-1")
        if scope["type"] == "lifespan" or secrets.compare_digest(sent, self._expected):
            await self._inner(scope, receive, send)
        else:
            refused = f"this server wants its token: Authorization: Bearer … (see {TOKEN_VARIABLE})\n"
            await PlainTextResponse(refused, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)


async def serve_stdio(options: RunOptions, ledger: Path) -> None:
    """Serve one client on standard input and output, until it closes them.

    Raises:
        UsageError: settings or keys are at fault.
    """
    settings = options.chosen()
    with options.sources_at(settings) as endpoints:
        async with Transport(endpoints) as transport:
            server = Server(settings, transport, ledger)
            await server.run_stdio_async()
            await server.settled(_SETTLE_S)


async def serve_http(options: RunOptions, ledger: Path, port: int, say: Callable[[str], None]) -> None:
    """Serve on loopback, until the process is asked to end.

    Args:
        options: of every run, without a question.
        ledger: where runs are kept.
        port: 0 takes a free one.
        say: told the address, and the token where the environment names none.

    Raises:
        UsageError: settings, keys or the token are at fault, or the port is taken.
    """
    settings, token = options.chosen(), token_from(os.environ)
    with options.sources_at(settings) as endpoints, _bound(port) as listening:
        port = listening.getsockname()[1]
        named = [f"{name}:{port}" for name in _NAMES]
        checks = TransportSecuritySettings(allowed_hosts=named, allowed_origins=[f"http://{name}" for name in named])
        async with Transport(endpoints) as transport:
            server = Server(settings, transport, ledger, transport_security=checks)
            app = Tokened(server.streamable_http_app(), token or (made := secrets.token_urlsafe(32)))
            config = uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=_STOP_S)
            say(f"MCP at http://{HOST}:{port}/mcp (Ctrl-C ends it)")
            say(f"Token: as {TOKEN_VARIABLE} says" if token else f"Token: {made}")
            await uvicorn.Server(config).serve([listening])
            await server.settled(_SETTLE_S)


def token_from(environ: Mapping[str, str]) -> str | None:
    """The token that the environment names; None where it names none.

    Raises:
        UsageError: it is short enough to be guessed, or no header can hold it.
    """
    token = environ.get(TOKEN_VARIABLE, "").strip()
    if token and (len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise UsageError(
            f"{TOKEN_VARIABLE} is no token: at least {_SHORTEST_TOKEN} letters and digits; unset makes one"
        )
    return token or None


def _bound(port: int) -> socket.socket:
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        raise UsageError(f"port {port} can't be had ({error.strerror}); name another with --port") from None
