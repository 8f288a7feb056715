"""AutoGen Studio's web application as Willowbark serves it: closed to other web sites, and readable.

Studio 0.4.2.2 takes a WebSocket from any page that the user's browser has open, and a run's team may hold code. It also
grows its page to the length of the longest address in a message, so that the buttons that open messages stand outside
the window, and it breaks words at any letter.
"""

import importlib
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..page.guard import Guarded

STYLE = b"<style>.flex-1{min-width:0}.break-all{word-break:normal;overflow-wrap:break-word}</style>"
_HEAD_ENDS = b"</head>"


class Restyled:
    """An application whose HTML pages carry `STYLE` at the end of their head."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; only HTML pages differ from the inner application's."""
        if scope["type"] == "http":
            await self._inner(scope, receive, _Page(send))
        else:
            await self._inner(scope, receive, send)


class _Page:
    """A response on its way: a page is held back until it is whole, anything else passes."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_page(message):
            self._start = message
        elif message["type"] == "http.response.body" and self._start is not None:
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._finish(self._start)
        else:
            await self._send(message)

    async def _finish(self, start: Message) -> None:
        styled = self._body.replace(_HEAD_ENDS, STYLE + _HEAD_ENDS, 1)
        MutableHeaders(scope=start)["content-length"] = str(len(styled))
        await self._send(start)
        await self._send({"type": "http.response.body", "body": styled})


def _is_page(start: Message) -> bool:
    headers = MutableHeaders(scope=start)
    return start["status"] == 200 and headers.get("content-type", "").startswith("text/html")


def app() -> ASGIApp:
    """Studio with guard and style; for `uvicorn --factory`.

    Raises:
        ImportError: AutoGen Studio is not installed.
    """
    studio: Any = importlib.import_module("autogenstudio.web.app")
    return Guarded(Restyled(studio.app))
