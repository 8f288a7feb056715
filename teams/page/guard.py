"""Who may use our HTTP servers, and how much of them: their own pages, under their own name, with the token if any.

A name that another site binds to this machine is recognised by its `Host`, another site's page by its `Origin`:
https://owasp.org/www-community/attacks/DNS_Rebinding, https://www.rfc-editor.org/rfc/rfc6454#section-7.
"""

import asyncio
import hashlib
import json
import secrets
import socket
from collections.abc import Callable, Mapping
from typing import cast
from urllib.parse import urlsplit

import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from willowbark.tools.errors import UsageError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
COOKIE = "willowbark"
_SHORTEST_TOKEN = 16  # characters
_POLICY_VIOLATION = 1008  # https://datatracker.ietf.org/doc/html/rfc6455#section-7.4.1
MOST_CONNECTIONS = 256  # at once; processes may have 1,024 files open, as a rule
REQUEST_S = 10.0  # for the head of a request, and again for its body
_STOP_S = 2  # for requests under way when the server ends
_LONGEST_BODY = 4 << 20  # bytes


class Guarded:
    """An application that answers only its own pages, and programs that name no page.

    Args:
        inner: the application.
        any_name: accept any host name, not only the loopback's; such a server needs a token.
        headers: of every answer that does not set them itself.
    """

    def __init__(self, inner: ASGIApp, *, any_name: bool = False, headers: Mapping[str, str] | None = None) -> None:
        self._inner, self._any_name, self._headers = inner, any_name, headers or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse one of another site or under another name."""
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return

        async def send_sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(scope=message)
                for header, value in self._headers.items():
                    sent.setdefault(header, value)
            await send(message)

        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:  # a bracket without its other one, say
            name = None
        refusal: PlainTextResponse | None = None
        if name is None:
            refusal = PlainTextResponse("refused: the request names no host\n", 400)
        elif not self._any_name and name not in LOOPBACK:
            refusal = PlainTextResponse("refused: this server does not go by that name\n", 421)
        elif origin not in (None, f"http://{host}", *([f"https://{host}"] if self._any_name else [])):
            refusal = PlainTextResponse("refused: the request comes from another site\n", 403)
        elif scope["type"] == "http" and scope["method"] == "POST":
            body = await _read_body(receive, is_json="json" in headers.get("content-type", ""))
            if isinstance(body, PlainTextResponse):
                refusal = body
            else:
                left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
                rest = receive

                async def receive() -> Message:
                    return left.pop() if left else await rest()

        if refusal is None:
            await self._inner(scope, receive, send_sealed)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        else:
            await refusal(scope, receive, send_sealed)


async def _read_body(receive: Receive, *, is_json: bool) -> bytes | PlainTextResponse:
    """The body of a request, or the refusal of one that is late, long, or JSON that can't be read."""
    body, more = b"", True
    try:
        async with asyncio.timeout(REQUEST_S):
            while more:
                message = await receive()
                body += message.get("body", b"")
                more = message.get("more_body", False)
                if len(body) > _LONGEST_BODY:
                    return PlainTextResponse("refused: the request is too long\n", 413)
        if is_json:
            json.loads(body)
    except TimeoutError:
        return PlainTextResponse("refused: the request did not come in time\n", 408)
    except (ValueError, RecursionError):  # no JSON, a number of too many digits, or too many levels
        return PlainTextResponse("refused: the request is no JSON that can be read\n", 400)
    return body


class BoundedConnection(H11Protocol):
    """A connection that must bring its request in time; where there are too many, the oldest without one ends."""

    _waits: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Take a connection in, in the place of another where all are taken."""
        if len(self.connections) >= MOST_CONNECTIONS:
            idle = (each for each in self.connections if isinstance(each, BoundedConnection) and each._waits)
            oldest = min(idle, key=lambda each: cast(asyncio.TimerHandle, each._waits).when(), default=None)
            if oldest is None:
                transport.abort()
            else:
                oldest._give_up()
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take in a piece; the clock stops while a request is being answered, and starts with the next one."""
        self._wait()
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete and self._waits is not None:
            self._waits.cancel()
            self._waits = None

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        if self._waits is not None:
            self._waits.cancel()
            self._waits = None
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self._waits is None:
            self._waits = self.loop.call_later(REQUEST_S, self._give_up)

    def _give_up(self) -> None:
        self.connections.discard(self)
        self.transport.abort()


class Tokened:
    """An application that answers only requests that bear the token.

    Args:
        inner: the application.
        token: as `token_from` gives it, or made.
        variable: of the environment, named to those who lack the token.
        entry: answers those who lack it, instead of a line; browsers may then send it as a cookie.
    """

    def __init__(self, inner: ASGIApp, token: str, variable: str, entry: ASGIApp | None = None) -> None:
        self._inner, self._variable, self._entry = inner, variable, entry
        self._expected, self._cookie = f"Bearer {token}".encode(), cookie_of(token).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it; comparing takes the same time whatever is sent."""
        is_known = scope["type"] == "lifespan"
        if not is_known:
            headers = Headers(scope=scope)
            sent = headers.get("authorization", "").encode("latin-1")
            kept = cookie_parser(headers.get("cookie", "")).get(COOKIE, "").encode("latin-1", "replace")
            by_cookie = secrets.compare_digest(kept, self._cookie) and self._entry is not None
            is_known = secrets.compare_digest(sent, self._expected) or by_cookie
        if is_known:
            await self._inner(scope, receive, send)
        elif self._entry is not None:
            await self._entry(scope, receive, send)
        else:
            line = f"this server requires its token: Authorization: Bearer … (see {self._variable})\n"
            await PlainTextResponse(line, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)


def cookie_of(token: str) -> str:
    """What a browser keeps in place of the token, as other servers of the same name are sent it too."""
    return hashlib.sha256(f"{COOKIE}: {token}".encode()).hexdigest()


def token_from(environ: Mapping[str, str], variable: str) -> str | None:
    """The token that a variable of the environment holds; None where it holds none.

    Raises:
        UsageError: it is short enough to be guessed, or no header can hold it.
    """
    token = environ.get(variable, "").strip()
    if token and (len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise UsageError(f"{variable} is no token: use at least {_SHORTEST_TOKEN} letters and digits, or unset it")
    return token or None


def listening_at(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one.

    Raises:
        UsageError: address or port can't be had.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no address"
        raise UsageError(f"{host} port {port} can't be had ({reason}); name another with --port") from None


def tell_token(token: str | None, variable: str, say: Callable[[str], None]) -> str:
    """Say which token is required, and make one where none is named; gives it."""
    made = token or secrets.token_urlsafe(32)
    say(f"Token: as {variable} says" if token else f"Token: {made}")
    return made


async def serve_bounded(app: ASGIApp, listening: socket.socket) -> None:
    """Serve an application until the process is asked to end, over connections that are bounded."""
    config = uvicorn.Config(
        app,
        http=BoundedConnection,
        log_config=None,
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=_STOP_S,
    )
    await uvicorn.Server(config).serve([listening])
