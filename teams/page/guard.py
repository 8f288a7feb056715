"""Who may use our HTTP servers: their own pages, under their own name, and with the token where there is one.

A name that another site binds to this machine is recognised by its `Host`, another site's page by its `Origin`:
https://owasp.org/www-community/attacks/DNS_Rebinding, https://www.rfc-editor.org/rfc/rfc6454#section-7.
"""

import hashlib
import secrets
import socket
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from willowbark.tools.errors import UsageError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
COOKIE = "willowbark"
_SHORTEST_TOKEN = 16  # characters
_POLICY_VIOLATION = 1008  # https://datatracker.ietf.org/doc/html/rfc6455#section-7.4.1
_MISDIRECTED, _FORBIDDEN = 421, 403


class Guarded:
    """An application that answers only its own pages, and programs that name no page.

    Args:
        inner: the application.
        any_name: accept any host name, not only the loopback's; such a server needs a token.
    """

    def __init__(self, inner: ASGIApp, *, any_name: bool = False) -> None:
        self._inner, self._any_name = inner, any_name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse one of another site or under another name."""
        if scope["type"] == "lifespan":
            await self._inner(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self._any_name and urlsplit(f"//{host}").hostname not in LOOPBACK:
            refusal = PlainTextResponse("refused: this server does not go by that name\n", _MISDIRECTED)
        elif origin not in (None, f"http://{host}", *([f"https://{host}"] if self._any_name else [])):
            refusal = PlainTextResponse("refused: the request comes from another site\n", _FORBIDDEN)
        else:
            await self._inner(scope, receive, send)
            return
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        else:
            await refusal(scope, receive, send)


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
        if scope["type"] == "lifespan" or self._bears(Headers(scope=scope)):
            await self._inner(scope, receive, send)
        elif self._entry is not None:
            await self._entry(scope, receive, send)
        else:
            line = f"this server requires its token: Authorization: Bearer … (see {self._variable})\n"
            await PlainTextResponse(line, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)

    def _bears(self, headers: Headers) -> bool:
        sent = headers.get("authorization", "").encode("latin-1")
        kept = cookie_parser(headers.get("cookie", "")).get(COOKIE, "").encode("latin-1", "replace")
        by_cookie = secrets.compare_digest(kept, self._cookie) and self._entry is not None
        return secrets.compare_digest(sent, self._expected) or by_cookie


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
