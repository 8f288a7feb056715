"""Over real sockets: a whole reply, or an error that says what broke, in time and in bounded room."""

import asyncio
import contextlib
import gzip
import ssl
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest
from urllib3.util.ssl_ import create_urllib3_context

from willowbark.tools.errors import SourceUnavailable
from willowbark.tools.http import wire
from willowbark.tools.http.reply import Reply
from willowbark.tools.http.wire import MAX_BODY_BYTES, Request, greet_as_requests, open_client

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


class Server:
    """A server of one answer on loopback; `asked` is set when a request came, `left` when its client went away."""

    def __init__(self, answer: Answer) -> None:
        self._answer = answer
        self._tasks: set[asyncio.Task[None]] = set()
        self._transports: list[asyncio.WriteTransport] = []
        self.requests: list[bytes] = []
        self.asked, self.left = asyncio.Event(), asyncio.Event()
        self.connected = False
        self.url = ""

    async def __aenter__(self) -> "Server":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for transport in self._transports:
            if transport.get_extra_info("socket").fileno() >= 0:  # an end that is gone cannot be aborted
                transport.abort()
        await asyncio.sleep(0.01)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connected = True
        self._transports.append(writer.transport)
        task = asyncio.create_task(self._exchange(reader, writer))
        self._tasks.add(task)
        await asyncio.wait([task])

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        watching: asyncio.Task[None] | None = None
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lengths = [
                line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
            ]
            self.requests.append(head + await reader.readexactly(sum(map(int, lengths))))
            self.asked.set()
            watching = asyncio.create_task(self._watch(reader))
            await self._answer(writer)
        except (OSError, asyncio.IncompleteReadError):
            self.left.set()
        finally:
            if watching:
                watching.cancel()
            writer.close()

    async def _watch(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            await reader.read()
        self.left.set()


@pytest.fixture
async def send() -> AsyncIterator[Send]:
    """Sends a request to an address, by GET and with much time unless it is told otherwise."""
    async with open_client() as client:

        def sending(url: str, timeout_s: float = TIMEOUT_S, content: bytes | None = None) -> Awaitable[Reply]:
            return wire.send(client, Request("pubmed", "POST" if content else "GET", url, content), timeout_s)

        yield sending


def test_a_firewall_that_looks_for_requests_sees_its_greeting() -> None:
    theirs, plain = create_urllib3_context(), httpx.create_ssl_context()
    for context in (theirs, greet_as_requests(httpx.create_ssl_context())):
        assert (bool(context.options & ssl.OP_NO_TICKET), context.post_handshake_auth) == (True, True)
    assert not plain.post_handshake_auth


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
    async with Server(answer) as server:
        reply = await send(f"{server.url}?term=a%26b")

    assert (reply.status, reply.body) == (200, TEXT)
    assert server.requests[0].startswith(b"GET /?term=a%26b HTTP/1.1\r\n")
    assert b"accept-encoding: gzip\r\n" in server.requests[0].lower()


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
    async with Server(answer) as server:
        with pytest.raises(SourceUnavailable, match=reason) as caught:
            await send(server.url, content=b"api_key=canary-3f9a")

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
    async with Server(answer) as server:
        with pytest.raises(SourceUnavailable, match=r"no whole answer within 0\.3 s|malformed|no connection"):
            await send(server.url, 0.3)

        if server.connected:
            await asyncio.wait_for(server.left.wait(), 15)  # before the server itself would end


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
    async with Server(answer) as server:
        tracemalloc.start()
        try:
            with pytest.raises(SourceUnavailable, match="larger than 32 MB"):
                await send(server.url)
            assert tracemalloc.get_traced_memory()[1] < 16 * 1024**2  # beside the body's own, which is mapped
        finally:
            tracemalloc.stop()


async def test_the_largest_body_that_is_taken_arrives_whole(send: Send) -> None:
    async with Server(sent(gzip.compress(bytes(MAX_BODY_BYTES)), "Content-Encoding: gzip")) as server:
        reply = await send(server.url)

    assert len(reply.body) == MAX_BODY_BYTES
