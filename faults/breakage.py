"""How faults are done: as ASGI replies where HTTP holds them, on the bare connection where HTTP itself must break.

`FaultyServer` answers from recorded replies, with a plan of faults around its answers.
"""

import asyncio
import gzip
import html
import json
import math
import socket
import struct
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from pathlib import Path
from typing import cast

from starlette.datastructures import MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .plan import Fault, FaultPlan, FaultRun, Kind
from .replies import REPLIES
from .server import CONNECTION, SourceServer

_MEGABYTE = 1 << 20
_ZSTD_BLOCK = 128 * 1024  # the largest that zstd allows
_BROTLI_BLOCK = 1 << 16
_REASONS = {404: "Not Found", 429: "Too Many Requests", 500: "Internal Server Error", 503: "Service Unavailable"}


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request, with all that a fault needs to spoil its answer."""

    fault: Fault
    source: str
    app: ASGIApp
    scope: Scope
    receive: Receive
    send: Send

    @property
    def connection(self) -> asyncio.Transport:
        """The bare connection."""
        return cast(asyncio.Transport, self.scope[CONNECTION])

    async def answer(self, response: Response) -> None:
        """Send a whole reply."""
        await response(self.scope, self.receive, self.send)

    async def gone(self, within_s: float | None = None) -> bool:
        """Wait that long, or as long as it takes; tell whether the client has left."""
        try:
            async with asyncio.timeout(within_s):
                while (await self.receive())["type"] != "http.disconnect":
                    pass
        except TimeoutError:
            return False
        return True

    async def write(self, data: bytes) -> None:
        """Write to the bare connection and close it."""
        self.connection.write(data)
        self.connection.close()
        await self.gone()

    async def real(self) -> tuple[int, MutableHeaders, bytes]:
        """What the source would have answered: status, headers, body without encoding."""
        headers = [(name, value) for name, value in self.scope["headers"] if name != b"accept-encoding"]
        started: Message = {}
        parts: list[bytes] = []

        async def keep(message: Message) -> None:
            if message["type"] == "http.response.start":
                started.update(message)
            else:
                parts.append(message.get("body", b""))

        await self.app({**self.scope, "headers": headers}, self.receive, keep)
        return started["status"], MutableHeaders(raw=list(started["headers"])), b"".join(parts)

    async def real_as(self, change: Callable[[bytes], bytes], encoding: str | None = None) -> None:
        """Answer with the real body changed, its length set to match."""
        status, headers, body = await self.real()
        spoilt = change(body)
        headers["content-length"] = str(len(spoilt))
        if encoding:
            headers["content-encoding"] = encoding
        await self.send({"type": "http.response.start", "status": status, "headers": headers.raw})
        await self.send({"type": "http.response.body", "body": spoilt})


async def _status(exchange: Exchange) -> None:
    fault, response = exchange.fault, _error_page(exchange.source, exchange.fault.status)
    if fault.retry_after is not None:
        response.headers["retry-after"] = retry_after(fault)
    await exchange.answer(response)


def retry_after(fault: Fault) -> str:
    """The header's value: dates know whole seconds only, so one is rounded up.

    >>> retry_after(Fault(kind="status", retry_after="seconds", retry_after_s=7))
    '7'
    """
    fixed = {"huge": "1e9", "negative": "-5", "junk": "when we are back"}
    if fault.retry_after == "date":
        return formatdate(math.ceil(time.time() + fault.retry_after_s), usegmt=True)
    return fixed.get(fault.retry_after or "", f"{fault.retry_after_s:g}")


def _error_page(source: str, status: int) -> Response:
    """An error in the form that the source gives it."""
    reason = _REASONS.get(status, "Error")
    if source == "pubmed" and status == 429:
        said = {"error": "API rate limit exceeded", "api-key": "127.0.0.1", "count": "4", "limit": "3"}
        return JSONResponse(said, status)
    if source == "clinicaltrials":
        return PlainTextResponse(reason, status)
    return HTMLResponse(_page(f"{status} {reason}"), status)


def _page(heading: str) -> str:
    title = html.escape(heading)
    return f"<!DOCTYPE html>\n<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>"


async def _reset(exchange: Exchange) -> None:
    """End the connection with RST: nothing lingers, so the kernel sends no FIN."""
    bare = exchange.connection.get_extra_info("socket")
    bare.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    exchange.connection.abort()
    await exchange.gone()


async def _truncate(exchange: Exchange) -> None:
    status, headers, body = await exchange.real()
    headers["connection"] = "close"
    await exchange.write(_head(status, headers.items()) + body[: len(body) // 2])


def _head(status: int, headers: list[tuple[str, str]]) -> bytes:
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'OK')}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def _cut_body(exchange: Exchange) -> None:
    await exchange.real_as(lambda body: body[: len(body) // 2])


async def _cut_gzip(exchange: Exchange) -> None:
    def cut(body: bytes) -> bytes:
        packed = gzip.compress(body)
        return packed[: len(packed) // 2]

    await exchange.real_as(cut, "gzip")


async def _html(exchange: Exchange) -> None:
    await exchange.answer(HTMLResponse(_page("This service is temporarily undergoing maintenance")))


async def _esearch_error(exchange: Exchange) -> None:
    said = {"ERROR": "Search Backend failed: Couldn't resolve #exLinkSrv2, the address table is empty."}
    body = json.dumps({"header": {"type": "esearch", "version": "0.3"}, "esearchresult": said})
    await exchange.answer(Response(body, media_type="application/json"))


async def _hang(exchange: Exchange) -> None:
    if not await exchange.gone(exchange.fault.hang_s):
        exchange.connection.abort()
        await exchange.gone()


async def _drip(exchange: Exchange) -> None:
    status, headers, body = await exchange.real()
    await exchange.send({"type": "http.response.start", "status": status, "headers": headers.raw})
    for place in range(len(body)):
        last = place == len(body) - 1
        await exchange.send({"type": "http.response.body", "body": body[place : place + 1], "more_body": not last})
        if await exchange.gone(exchange.fault.drip_s):
            return


async def _many_headers(exchange: Exchange) -> None:
    status, headers, body = await exchange.real()
    padding = [(f"x-padding-{number}", "x" * 20) for number in range(exchange.fault.headers)]
    await exchange.write(_head(status, [*headers.items(), *padding, ("connection", "close")]) + body)


async def _huge_body(exchange: Exchange) -> None:
    size = exchange.fault.huge_bytes
    await _stream(exchange, _blanks_of(size), {"content-length": str(size)})


def _blanks_of(size: int) -> Iterator[bytes]:
    chunk = b" " * (256 * 1024)
    yield from (chunk[: min(len(chunk), size - start)] for start in range(0, size, len(chunk)))


async def _stall(exchange: Exchange) -> None:
    size = exchange.fault.huge_bytes
    begun = _blanks_of(min(exchange.fault.stalls_after, size - 1))
    await _stream(exchange, begun, {"content-length": str(size)}, ends=False)
    await _hang(exchange)


async def _gzip_bomb(exchange: Exchange) -> None:
    await _stream(exchange, gzip_bomb(exchange.fault.huge_bytes // _MEGABYTE), {"content-encoding": "gzip"})


async def _stream(
    exchange: Exchange, chunks: Iterator[bytes], headers: Mapping[str, str], *, ends: bool = True
) -> None:
    raw = [(name.encode(), value.encode()) for name, value in {"content-type": "application/json", **headers}.items()]
    await exchange.send({"type": "http.response.start", "status": 200, "headers": raw})
    for chunk in chunks:
        if exchange.connection.is_closing():
            await exchange.gone()
            return
        await exchange.send({"type": "http.response.body", "body": chunk, "more_body": True})
        await asyncio.sleep(0)  # sending waits only when buffers are full; others want to be served too
    if ends:
        await exchange.send({"type": "http.response.body", "body": b"", "more_body": False})


def gzip_bomb(megabytes: int) -> Iterator[bytes]:
    """A gzip stream of blanks, made of one block over and over.

    >>> len(gzip.decompress(b"".join(gzip_bomb(2))))
    2097152
    """
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(b" " * _MEGABYTE) + packer.flush(zlib.Z_FULL_FLUSH)
    yield b"\x1f\x8b\x08" + bytes(6) + b"\xff"
    checksum = 0
    for _ in range(megabytes):
        checksum = zlib.crc32(_blanks(), checksum)
        yield block
    yield b"\x03\x00" + struct.pack("<II", checksum, megabytes * _MEGABYTE & 0xFFFFFFFF)


@lru_cache(maxsize=1)
def _blanks() -> bytes:
    return b" " * _MEGABYTE


def zstd_bomb(megabytes: int) -> bytes:
    """A zstd frame of blanks: run-length blocks of 4 bytes for 128 kB each (RFC 8878, section 3.1.1)."""
    frame = b"\x28\xb5\x2f\xfd" + b"\x00" + b"\x58"  # no size given, a window of 2 MB
    count = megabytes * (_MEGABYTE // _ZSTD_BLOCK)
    run = 1 << 1  # block type
    blocks = ((_ZSTD_BLOCK << 3 | run | (place == count - 1)).to_bytes(3, "little") + b" " for place in range(count))
    return frame + b"".join(blocks)


def brotli(body: bytes) -> bytes:
    """A body as a Brotli stream of blocks that are not compressed (RFC 7932, section 9.2)."""
    packed = bytearray()
    for start in range(0, len(body), _BROTLI_BLOCK):
        block = body[start : start + _BROTLI_BLOCK]
        header = (len(block) - 1) << 3 | 1 << 19  # not last, four nibbles of length, uncompressed
        packed += (header << (start == 0)).to_bytes(3, "little") + block  # the first one follows a bit for the window
    return bytes(packed) + (b"\x03" if body else b"\x06")


async def _stacked(exchange: Exchange) -> None:
    await exchange.real_as(lambda body: gzip.compress(gzip.compress(body)), "gzip, gzip")


async def _br(exchange: Exchange) -> None:
    await exchange.real_as(brotli, "br")


async def _zstd(exchange: Exchange) -> None:
    await exchange.real_as(lambda _: zstd_bomb(exchange.fault.huge_bytes // _MEGABYTE), "zstd")


async def _redirect(exchange: Exchange) -> None:
    await exchange.answer(RedirectResponse(exchange.fault.to, status_code=302))


_DEEDS: Mapping[Kind, Callable[[Exchange], Awaitable[None]]] = {
    "status": _status,
    "reset": _reset,
    "truncate": _truncate,
    "cut_body": _cut_body,
    "cut_gzip": _cut_gzip,
    "html": _html,
    "esearch_error": _esearch_error,
    "hang": _hang,
    "drip": _drip,
    "many_headers": _many_headers,
    "huge_body": _huge_body,
    "stall": _stall,
    "gzip_bomb": _gzip_bomb,
    "stacked_encoding": _stacked,
    "br": _br,
    "zstd": _zstd,
    "redirect": _redirect,
}


class FaultyServer(SourceServer):
    """A server of recorded replies that misbehaves by a plan.

    Args:
        faults: what goes wrong; None is nothing.
        latency_s: as for `SourceServer`, like the rest.

    Attributes:
        faults: what was done to each request, in the order of arrival; None for nothing.
        refused: requests above a limit of the plan, by source.
    """

    def __init__(
        self,
        faults: FaultPlan | None = None,
        latency_s: float | Callable[[str], float] = 0.0,
        *,
        replies: Path = REPLIES,
    ) -> None:
        super().__init__(latency_s, replies=replies, around=self._spoilt)
        self._run = FaultRun(faults or FaultPlan())
        self.refused = self._run.refused
        self.faults: list[Kind | None] = []

    def _spoilt(self, app: ASGIApp) -> ASGIApp:
        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            source, _, path = scope["path"].lstrip("/").partition("/")
            fault = self._run.next(source, path, time.monotonic())
            self.faults.append(fault.kind if fault else None)
            if fault is None:
                await app(scope, receive, send)
            else:
                await _DEEDS[fault.kind](Exchange(fault, source, app, scope, receive, send))

        return answer
