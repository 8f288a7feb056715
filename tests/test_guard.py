"""Whom our servers answer, and under strain: half-open connections, late and malformed requests."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from willowbark.teams import guard
from willowbark.teams.guard import BoundedConnection, Guarded
from willowbark.teams.page.uploads import read_form
from willowbark.tools.errors import UsageError

PATIENCE_S = 30  # of a test on a busy machine


async def echo(request: Request) -> PlainTextResponse:
    given = (await read_form(request)).fields if request.method == "POST" else {}
    return PlainTextResponse(f"{request.url.path} {given}")


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, int]]:
    """A server with room for 20 connections, which wait a second for a request."""
    monkeypatch.setattr(guard, "MOST_CONNECTIONS", 20)
    monkeypatch.setattr(guard, "REQUEST_S", 1.0)
    app = Guarded(Starlette(routes=[Route("/", echo, methods=["GET", "POST"])]))
    listening = guard.listen_at("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, http=BoundedConnection, log_config=None, ws="none"))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    yield listening.getsockname()
    server.should_exit = True
    thread.join()
    listening.close()


def get(address: tuple[str, int], method: str = "GET", **sent: Any) -> httpx.Response:
    return httpx.request(method, f"http://{address[0]}:{address[1]}/", timeout=PATIENCE_S, trust_env=False, **sent)


def connected(address: tuple[str, int]) -> socket.socket:
    return socket.create_connection(address, timeout=PATIENCE_S)


def ends(connection: socket.socket) -> bool:
    """Whether the server ends a connection, without a word or after some."""
    with contextlib.suppress(ConnectionError):
        while connection.recv(65_536):
            pass
    return True


@pytest.mark.parametrize("begun", [b"", b"GET / HTTP/1.1\r\nHost: 127"], ids=["silent", "half a head"])
def test_half_open_connections_end_and_others_are_answered_meanwhile(begun: bytes, address: tuple[str, int]) -> None:
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(connected(address)) for _ in range(60)]
        for each in held[-20:]:
            each.sendall(begun)
        assert get(address).status_code == 200
        assert [connection for connection in held if not ends(connection)] == []


def test_a_second_request_must_come_in_time_too(address: tuple[str, int]) -> None:
    with connected(address) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        connection.sendall(b"GET / HTTP")
        assert ends(connection)


def test_a_body_that_does_not_come_is_refused(address: tuple[str, int]) -> None:
    began = time.monotonic()
    with connected(address) as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\na=")
        assert connection.recv(65_536).startswith(b"HTTP/1.1 408")
    assert time.monotonic() - began < PATIENCE_S


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        ({"method": "POST", "data": {f"field{number}": "x" for number in range(5_000)}}, 400),
        ({"method": "POST", "content": b"x" * (5 << 20)}, 413),
        ({"method": "POST", "content": b"[" * 100_000, "headers": {"Content-Type": "application/json"}}, 400),
        ({"method": "POST", "content": b"9" * 5_000, "headers": {"Content-Type": "application/json"}}, 400),
        ({"method": "POST", "data": {"question": "what prevents migraine?"}}, 200),
    ],
    ids=["5,000 fields", "5 MB", "100,000 levels", "5,000 digits", "a form"],
)
def test_a_malformed_request_is_refused_and_never_a_fault(
    sent: dict[str, Any], status: int, address: tuple[str, int]
) -> None:
    assert get(address, **sent).status_code == status


HOST = "127.0.0.1:8081"


@pytest.mark.parametrize(
    ("headers", "alone", "open_to_all"),
    [
        ({}, 200, 200),
        ({"host": "localhost:8081", "origin": "http://localhost:8081"}, 200, 200),
        ({"origin": f"https://{HOST}"}, 403, 200),
        ({"origin": "https://elsewhere.invalid"}, 403, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403, 403),
        ({"origin": "null"}, 403, 403),
        ({"host": "elsewhere.invalid:8081"}, 421, 200),
        ({"host": ""}, 400, 400),
        ({"host": "["}, 400, 400),
    ],
)
@pytest.mark.parametrize("any_name", [False, True])
def test_a_server_answers_its_own_pages_under_its_own_name_alone(
    headers: dict[str, str], alone: int, open_to_all: int, any_name: bool
) -> None:
    async def answer_page(request: Request) -> PlainTextResponse:
        return PlainTextResponse(request.url.path)

    async def open_socket(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.send_text("open")

    routes = [Route("/", answer_page), WebSocketRoute("/socket", open_socket)]
    client = TestClient(Guarded(Starlette(routes=routes), any_name=any_name, headers={"x-sealed": "yes"}))
    status = open_to_all if any_name else alone
    headers = {"host": HOST, **headers}
    answer = client.get("/", headers=headers)
    assert (answer.status_code, answer.headers["x-sealed"]) == (status, "yes")
    refused = contextlib.nullcontext() if status == 200 else pytest.raises(WebSocketDisconnect)
    with refused, client.websocket_connect("/socket", headers=headers) as connection:
        assert connection.receive_text() == "open"


def test_a_token_that_could_be_guessed_or_sent_in_no_header_is_refused() -> None:
    for token in ("short", "sixteen\tor more letters", "mehr als sechzehn Zeichen, äöü"):
        with pytest.raises(UsageError, match="A_TOKEN"):
            guard.read_token({"A_TOKEN": token}, "A_TOKEN")


@pytest.mark.parametrize(
    "host", ["evil.com@127.0.0.1", "127.0.0.1:8931,evil.com", "127.0.0.1:port", "127.0.0.1/x", "[::1"]
)
def test_a_host_that_is_no_plain_name_is_refused(host: str) -> None:
    app = Guarded(Starlette(routes=[Route("/", echo, methods=["GET", "POST"])]))
    for any_name in (False, True):
        client = TestClient(Guarded(app, any_name=any_name), base_url="http://127.0.0.1")
        assert client.get("/", headers={"Host": host}).status_code in (400, 421)
    assert TestClient(app, base_url="http://127.0.0.1").get("/", headers={"Host": "[::1]:8000"}).status_code == 200


@pytest.mark.parametrize(
    ("method", "site", "status"),
    [
        ("POST", "cross-site", 403),
        ("POST", "same-site", 403),
        ("POST", "same-origin", 200),
        ("POST", "none", 200),
        ("GET", "cross-site", 200),
    ],
)
def test_a_change_that_another_site_sends_without_its_name_is_refused(method: str, site: str, status: int) -> None:
    client = TestClient(
        Guarded(Starlette(routes=[Route("/", echo, methods=["GET", "POST"])])), base_url="http://127.0.0.1"
    )

    assert client.request(method, "/", headers={"Sec-Fetch-Site": site}).status_code == status
