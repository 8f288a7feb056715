"""Access control and limits of the HTTP servers: only their own pages, under their own name, with the token if set.

DNS rebinding is recognised by the `Host` header, another site's page by its `Origin`:
https://owasp.org/www-community/attacks/DNS_Rebinding, https://www.rfc-editor.org/rfc/rfc6454#section-7.
"""

import asyncio
import hashlib
import json
import re
import secrets
import socket
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from willowbark.tools.errors import UsageError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
COOKIE = "willowbark"
_HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?")
_READING = ("GET", "HEAD", "OPTIONS")
"""Methods that change nothing: a link from another site may lead to a page."""
_SHORTEST_TOKEN = 16  # characters
_POLICY_VIOLATION = 1008  # https://datatracker.ietf.org/doc/html/rfc6455#section-7.4.1
MOST_CONNECTIONS = 256  # at once; processes usually may have 1,024 files open
REQUEST_S = 10.0  # for the head of a request, and again for its body
_STOP_S = 2  # for requests in progress when the server stops
_LONGEST_BODY = 4 << 20  # bytes
_UPLOAD_S = 60.0  # for the body of a request with files


class Guarded:
    """An application that answers only its own pages, and programs that send no origin.

    Args:
        inner: the wrapped application.
        any_name: accept any host name, not only the loopback's; such a server needs a token.
        headers: added to every answer that does not set them itself.
        most_upload: bytes of a form with files; by default as of any request.
    """

    def __init__(
        self,
        inner: ASGIApp,
        *,
        any_name: bool = False,
        headers: Mapping[str, str] | None = None,
        most_upload: int = _LONGEST_BODY,
    ) -> None:
        self._inner = inner
        self._any_name = any_name
        self._headers = headers or {}
        self._most_upload = most_upload

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse one from another site or under another name, late, too long, or invalid JSON."""

        async def send_sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(scope=message)
                for header, value in self._headers.items():
                    sent.setdefault(header, value)
            await send(message)

        try:
            if scope["type"] != "lifespan":
                headers = Headers(scope=scope)
                self._check_names(headers, is_change=scope.get("method") not in _READING)
            if scope.get("method") == "POST":
                receive = await self._read_body(receive, headers.get("content-type", ""))
        except HTTPException as refusal:
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
            else:
                answer = PlainTextResponse(f"refused: {refusal.detail}\n", refusal.status_code)
                await answer(scope, receive, send_sealed)
        else:
            await self._inner(scope, receive, send_sealed)

    async def _read_body(self, receive: Receive, kind: str) -> Receive:
        """Read the body of a request of this content type; one with files may be longer, and slower."""
        if kind.startswith("multipart/form-data") and self._most_upload > _LONGEST_BODY:
            return await _read_body(receive, self._most_upload, _UPLOAD_S, is_json=False)
        return await _read_body(receive, _LONGEST_BODY, REQUEST_S, is_json="json" in kind)

    def _check_names(self, headers: Headers, *, is_change: bool) -> None:
        host = headers.get("host", "")
        origin = headers.get("origin")
        try:
            parts = urlsplit(f"//{host}")
            is_plain = parts.port is None or parts.port >= 0  # raises for a port that is none
        except ValueError:  # for example an unmatched bracket
            is_plain = False
        # a name before @ or a list of names passes for the last or first of them elsewhere
        if not is_plain or parts.hostname is None or not _HOST.fullmatch(host):
            raise HTTPException(400, "the request names no host")
        name = parts.hostname
        if not self._any_name and name not in LOOPBACK:
            raise HTTPException(421, "this server does not go by that name")
        if origin not in (None, f"http://{host}", *([f"https://{host}"] if self._any_name else [])):
            raise HTTPException(403, "the request comes from another site")
        if origin is None and is_change and headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise HTTPException(403, "the request comes from another site")


async def _read_body(receive: Receive, most: int, seconds: float, *, is_json: bool) -> Receive:
    """Read a request's body of at most so many bytes in so many seconds, and return what hands it on."""
    message: Message = {"body": b"", "more_body": True}
    content = bytearray()
    try:
        async with asyncio.timeout(seconds):
            while message.get("more_body", False):
                message = await receive()
                content += message.get("body", b"")
                if len(content) > most:
                    raise HTTPException(413, f"the request is longer than {most >> 20} MB")
        body = bytes(content)
        if is_json:
            json.loads(body)
    except TimeoutError:
        raise HTTPException(408, "the request did not come in time") from None
    except (ValueError, RecursionError):  # not JSON, too many digits, or nested too deeply
        raise HTTPException(400, "the request is no JSON that can be read") from None
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def hand_on() -> Message:
        return left.pop() if left else await receive()

    return hand_on


class BoundedConnection(H11Protocol):
    """A connection that must send its request in time; if there are too many, the oldest without one is closed."""

    _late: asyncio.TimerHandle | None = None
    """Closes it; None while a request is being answered."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Accept a connection, in place of another if all are taken."""
        if len(self.connections) >= MOST_CONNECTIONS:
            waiting = [
                connection
                for connection in self.connections
                if isinstance(connection, BoundedConnection) and connection._late
            ]
            oldest = min(
                waiting,
                key=lambda waiting_connection: waiting_connection._late.when() if waiting_connection._late else 0.0,
                default=None,
            )
            transport.abort() if oldest is None else oldest._give_up()
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Receive data; the clock stops while a request is being answered, and restarts with the next one."""
        self._wait()
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_clock()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._late = self._late or self.loop.call_later(REQUEST_S, self._give_up)

    def _stop_clock(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _give_up(self) -> None:
        self.connections.discard(self)
        self.transport.abort()


class Tokened:
    """An application that answers only requests with the token.

    Args:
        inner: the wrapped application.
        token: from `read_token`, or generated.
        variable: environment variable to mention in a refusal.
        entry: answers requests without the token, in place of a line; browsers may then send a cookie.
    """

    def __init__(self, inner: ASGIApp, token: str, variable: str, entry: ASGIApp | None = None) -> None:
        self._inner = inner
        self._variable = variable
        self._entry = entry
        self._expected = f"Bearer {token}".encode()
        self._cookie = derive_cookie(token).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it; tokens are compared in constant time."""
        is_admitted = scope["type"] == "lifespan"
        if not is_admitted:
            headers = Headers(scope=scope)
            sent = headers.get("authorization", "").encode("latin-1")
            cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "").encode("latin-1", "replace")
            by_cookie = secrets.compare_digest(cookie, self._cookie) and self._entry is not None
            is_admitted = secrets.compare_digest(sent, self._expected) or by_cookie
        if is_admitted:
            await self._inner(scope, receive, send)
        elif self._entry is not None:
            await self._entry(scope, receive, send)
        else:
            line = f"this server requires its token: Authorization: Bearer … (see {self._variable})\n"
            await PlainTextResponse(line, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)


def derive_cookie(token: str) -> str:
    """Derive the cookie's value from the token, as browsers also send cookies to other servers of the same name."""
    return hashlib.sha256(f"{COOKIE}: {token}".encode()).hexdigest()


def read_token(environ: Mapping[str, str], variable: str) -> str | None:
    """Read the token from an environment variable; None if it is unset.

    Raises:
        UsageError: the token is too short, or not valid in a header.
    """
    token = environ.get(variable, "").strip()
    if token and (len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise UsageError(f"{variable} is not a token: use at least {_SHORTEST_TOKEN} letters and digits, or unset it")
    return token or None


def tell_token(token: str | None, variable: str, say: Callable[[str], None]) -> str:
    """Print the required token, generating one if none is given, and return it."""
    required_token = token or secrets.token_urlsafe(32)
    say(f"Token: as {variable} says" if token else f"Token: {required_token}")
    return required_token


def listen_at(host: str, port: int) -> socket.socket:
    """Open a listening socket; port 0 picks a free port.

    Raises:
        UsageError: the address or port is unavailable.
    """
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no address"
        raise UsageError(f"{host} port {port} cannot be opened ({reason}); name another with --port") from None


async def serve_app(app: ASGIApp, listening: socket.socket) -> None:
    """Serve an application, over a limited number of connections, until the process is terminated."""
    config = uvicorn.Config(
        app,
        http=BoundedConnection,
        log_config=None,
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=_STOP_S,
    )
    await uvicorn.Server(config).serve([listening])
