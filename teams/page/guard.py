"""Access control of the HTTP servers: only their own pages, under their own name, with the token if set.

DNS rebinding is recognised by the `Host` header, another site's page by its `Origin`:
https://owasp.org/www-community/attacks/DNS_Rebinding, https://www.rfc-editor.org/rfc/rfc6454#section-7.
"""

import hashlib
import secrets
import socket
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from willowbark.tools.errors import UsageError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
COOKIE = "willowbark"
_SHORTEST_TOKEN = 16  # characters
_POLICY_VIOLATION = 1008  # https://datatracker.ietf.org/doc/html/rfc6455#section-7.4.1
MOST_CONNECTIONS = 256  # at once; processes usually may have 1,024 files open
_STOP_S = 2  # for requests in progress when the server stops


class Guarded:
    """An application that answers only its own pages, and programs that send no origin.

    Args:
        inner: the wrapped application.
        any_name: accept any host name, not only the loopback's; such a server needs a token.
        headers: added to every answer that does not set them itself.
    """

    def __init__(self, inner: ASGIApp, *, any_name: bool = False, headers: Mapping[str, str] | None = None) -> None:
        self._inner, self._any_name, self._headers = inner, any_name, headers or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse one from another site or under another name."""

        async def send_sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                sent = MutableHeaders(scope=message)
                for header, value in self._headers.items():
                    sent.setdefault(header, value)
            await send(message)

        refusal = None if scope["type"] == "lifespan" else self._refuse(Headers(scope=scope))
        if refusal is None:
            await self._inner(scope, receive, send_sealed)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        else:
            await refusal(scope, receive, send_sealed)

    def _refuse(self, headers: Headers) -> PlainTextResponse | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:  # for example an unmatched bracket
            name = None
        if name is None:
            return PlainTextResponse("refused: the request names no host\n", 400)
        if not self._any_name and name not in LOOPBACK:
            return PlainTextResponse("refused: this server does not go by that name\n", 421)
        if origin not in (None, f"http://{host}", *([f"https://{host}"] if self._any_name else [])):
            return PlainTextResponse("refused: the request comes from another site\n", 403)
        return None


class Tokened:
    """An application that answers only requests with the token.

    Args:
        inner: the wrapped application.
        token: from `token_from`, or generated.
        variable: environment variable to mention in a refusal.
        entry: answers requests without the token, in place of a line; browsers may then send a cookie.
    """

    def __init__(self, inner: ASGIApp, token: str, variable: str, entry: ASGIApp | None = None) -> None:
        self._inner, self._variable, self._entry = inner, variable, entry
        self._expected, self._cookie = f"Bearer {token}".encode(), cookie_of(token).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it; tokens are compared in constant time."""
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
    """Derive the cookie's value from the token, as browsers also send cookies to other servers of the same name."""
    return hashlib.sha256(f"{COOKIE}: {token}".encode()).hexdigest()


def token_from(environ: Mapping[str, str], variable: str) -> str | None:
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
    made = token or secrets.token_urlsafe(32)
    say(f"Token: as {variable} says" if token else f"Token: {made}")
    return made


def listening_at(host: str, port: int) -> socket.socket:
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
    """Serve an application, over 256 connections at most, until the process is terminated."""
    config = uvicorn.Config(
        app,
        limit_concurrency=MOST_CONNECTIONS,
        log_config=None,
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=_STOP_S,
    )
    await uvicorn.Server(config).serve([listening])
