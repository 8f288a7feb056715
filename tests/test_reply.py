"""Over real sockets: a whole reply, or an error that says what broke, in time and in bounded room."""

import asyncio
import contextlib
import email.utils
import gzip
import re
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import get_args

import pytest

from willowbark.tools.errors import SourceUnavailable
from willowbark.tools.http import reply as reply_module
from willowbark.tools.http.opening import open_wire
from willowbark.tools.http.reply import MAX_BODY_BYTES, Reply, Request
from willowbark.tools.records.card import WireName

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]
Send = Callable[..., Awaitable[Reply]]

TIMEOUT_S = 60.0  # for what ends by itself; a busy machine may take its time
TEXT = b'{"answer": "a body that is long enough to be cut somewhere"}' * 20
GZIPPED = gzip.compress(TEXT)
BOMB = gzip.compress(bytes(32 * 1024**2)) * 32  # 1 MB that unpacks to 1 GB


def sent(body: bytes, *headers: str, length: int | None = -1) -> Answer:
    """Answer 200 with `body`; `length` is the Content-Length that is declared: the true one for -1, none for None."""
    lines = ["HTTP/1.1 200 OK", *headers]
    lines += ["Connection: close"]
    lines += [] if length is None else [f"Content-Length: {len(body) if length == -1 else length}"]

    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write("\r\n".join([*lines, "", ""]).encode())
        for start in range(0, len(body), 65_536):
            writer.write(body[start : start + 65_536])
            await writer.drain()

    return answer


def chunked(body: bytes, *headers: str, end: bytes = b"0\r\n\r\n") -> Answer:
    start = "\r\n".join(["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *headers, "", ""]).encode()

    async def answer(writer: asyncio.StreamWriter) -> None:
        half = len(body) // 2
        chunks = [f"{len(part):x}\r\n".encode() + part + b"\r\n" for part in (body[:half], body[half:])]
        writer.write(start + b"".join(chunks) + end)
        await writer.drain()

    return answer


def dripped(start: bytes, drop: bytes) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        for _ in range(400):
            writer.write(drop)
            await writer.drain()
            await asyncio.sleep(0.05)

    return answer


async def hang(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(20)


async def reset_within(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\nabc")
    await writer.drain()
    await asyncio.sleep(0.05)
    writer.transport.abort()


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
    while True:
        writer.write(bytes(1024**2))
        await writer.drain()


def body_length(head: bytes) -> int:
    """The length of a request's body, as its head declares it; 0 if it declares none."""
    declared = re.search(rb"(?im)^content-length:\s*(\d+)", head)
    return int(declared[1]) if declared else 0


@contextlib.asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server of one answer on loopback: its address, and the heads of the requests that it gets."""
    heads, connections = list[bytes](), dict[asyncio.Task[None] | None, asyncio.StreamWriter]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections[asyncio.current_task()] = writer
        with contextlib.suppress(OSError):
            head = await reader.readuntil(b"\r\n\r\n")
            heads.append(head)
            # Closing with a body unread resets the connection, and some libraries send a body apart from its head.
            await reader.readexactly(body_length(head))
            await answer(writer)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", heads
    finally:
        server.close()
        for task, writer in connections.items():
            assert task is not None
            task.cancel()
            with contextlib.suppress(AttributeError):  # a transport that sent its last bytes has forgotten its loop
                writer.transport.abort()
        await asyncio.sleep(0.01)


@pytest.fixture(params=get_args(WireName))
async def send(request: pytest.FixtureRequest) -> AsyncIterator[Send]:
    """Sends a request to an address over each wire, by GET and with much time unless it is told otherwise."""
    wire = open_wire(request.param)

    def sending(url: str, timeout_s: float = TIMEOUT_S, content: bytes | None = None) -> Awaitable[Reply]:
        return wire.send(Request("pubmed", "POST" if content else "GET", url, content), timeout_s)

    yield sending
    await wire.close()


@pytest.mark.parametrize(
    "answer",
    [
        sent(TEXT),
        sent(TEXT, length=None),
        sent(TEXT, "Content-Encoding: identity"),
        sent(GZIPPED, "Content-Encoding: gzip"),
        sent(GZIPPED, "Content-Encoding: X-GZip", length=None),
        sent(gzip.compress(TEXT[:99]) + gzip.compress(TEXT[99:]), "Content-Encoding: gzip"),
        chunked(TEXT),
        chunked(GZIPPED, "Content-Encoding: gzip"),
    ],
    ids=["plain", "to the end", "identity", "gzip", "x-gzip to the end", "gzip in members", "chunked", "chunked gzip"],
)
async def test_a_whole_reply_arrives_as_it_was_meant(send: Send, answer: Answer) -> None:
    async with serving(answer) as (url, heads):
        reply = await send(f"{url}?term=a%26b")

    assert (reply.status, reply.body) == (200, TEXT)
    assert heads[0].startswith(b"GET /?term=a%26b HTTP/1.1\r\n")
    assert b"accept-encoding: gzip\r\n" in heads[0].lower()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (sent(GZIPPED[:-20], "Content-Encoding: gzip"), "gzip stream was cut"),
        (sent(GZIPPED[:-4], "Content-Encoding: gzip", length=None), "gzip stream was cut"),
        (sent(b"", "Content-Encoding: gzip", length=None), "gzip stream was cut"),
        (sent(GZIPPED + gzip.compress(TEXT)[:-9], "Content-Encoding: gzip"), "gzip stream was cut"),
        (sent(GZIPPED + b"garbage", "Content-Encoding: gzip"), "gzip stream is broken"),
        (sent(GZIPPED[:-8] + bytes(8), "Content-Encoding: gzip"), "gzip stream is broken"),
        (sent(TEXT, "Content-Encoding: br"), "encoded as 'br'"),
        (sent(TEXT, "Content-Encoding: gzip", "Content-Encoding: br"), "encoded as 'gzip, br'"),
        (sent(TEXT, length=len(TEXT) + 1), "cut or malformed"),
        (chunked(TEXT, end=b"ffff\r\nabc"), "cut or malformed"),
        (reset_within, "cut or malformed|the connection broke"),
        (sent(TEXT, f"X-Long: {'x' * 200_000}"), "malformed|the connection broke"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_reply_that_is_cut_or_strange_is_refused_and_no_address_named(
    send: Send, answer: Answer, reason: str
) -> None:
    async with serving(answer) as (url, _):
        with pytest.raises(SourceUnavailable, match=reason) as caught:
            await send(url, content=b"api_key=canary-3f9a")

    assert "127.0.0.1" not in str(caught.value)
    assert "canary" not in repr(caught.value) + repr(caught.value.__cause__) + repr(caught.value.__context__)


@pytest.mark.parametrize(
    "answer",
    [
        hang,
        dripped(b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n", b"x"),
        dripped(b"HTTP/1.1 200 OK\r\n", b"X-Drip: x\r\n"),
        dripped(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    ],
    ids=["hang", "body", "headers", "continue"],
)
async def test_a_slow_server_is_left_at_the_deadline(send: Send, answer: Answer) -> None:
    async with serving(answer) as (url, _):
        with pytest.raises(SourceUnavailable, match=r"no whole answer within 1 s|malformed"):
            await send(url, 1)


@pytest.mark.parametrize(
    "answer",
    [
        sent(BOMB, "Content-Encoding: gzip"),
        sent(gzip.compress(bytes(MAX_BODY_BYTES + 1)), "Content-Encoding: gzip"),
        sent(bytes(MAX_BODY_BYTES + 1)),
        endless,
    ],
    ids=["bomb", "one byte", "plain", "endless"],
)
async def test_a_body_that_is_too_large_is_refused_in_bounded_room(send: Send, answer: Answer) -> None:
    async with serving(answer) as (url, _):
        tracemalloc.start()
        try:
            with pytest.raises(SourceUnavailable, match="larger than 32 MB"):
                await send(url)
            assert tracemalloc.get_traced_memory()[1] < 16 * 1024**2  # beside the body's own, which is mapped
        finally:
            tracemalloc.stop()


async def test_the_largest_body_that_is_taken_arrives_whole(send: Send) -> None:
    async with serving(sent(gzip.compress(bytes(MAX_BODY_BYTES)), "Content-Encoding: gzip")) as (url, _):
        reply = await send(url)

    assert len(reply.body) == MAX_BODY_BYTES


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0),
        (" 1.5 ", 1.5),
        ("Wed, 21 Oct 2015 07:28:30 GMT", 30.0),
        ("Wed, 21 Oct 2015 07:27:00 GMT", 0.0),
        ("Wed, 21 Oct 2015 17:28:30 GMT", 36_030.0),
        ("Wed, 28 Oct 2015 17:28:30 GMT", None),
        *dict.fromkeys(["1e9", "-5", "nan", "9" * 400, "", "soon", "Wed, 99 Oct 99999 07:28:30 GMT"]).items(),
    ],
    ids=str,
)
def test_retry_after_is_read_as_seconds_or_as_a_date(
    header: str, seconds: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = email.utils.parsedate_to_datetime("Wed, 21 Oct 2015 07:28:00 GMT").timestamp()
    monkeypatch.setattr(reply_module.time, "time", lambda: now)

    assert Reply("x", 503, {"retry-after": header}, b"").retry_after_s == seconds
    assert Reply("x", 503, {}, b"").retry_after_s is None


def test_half_a_character_is_replaced_so_that_it_can_be_written() -> None:
    found = Reply("x", 200, {}, b'{"a": "\\ud83d\\ude00 \\ud83d"}').json()
    assert found == {"a": "\U0001f600 ?"}
