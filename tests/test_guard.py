"""Whom our servers answer, and what they make of malformed requests."""

import contextlib

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from willowbark.teams.page import guard
from willowbark.teams.page.guard import Guarded
from willowbark.tools.errors import UsageError

HOST = "127.0.0.1:8081"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost:8081", "origin": "http://localhost:8081"}, 200),
        ({"origin": f"http://{HOST}"}, 200),
        ({"origin": "https://elsewhere.invalid"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"origin": "null"}, 403),
        ({"host": "elsewhere.invalid:8081"}, 421),
        ({"host": ""}, 400),
        ({"host": "["}, 400),
    ],
)
def test_a_server_answers_its_own_pages_under_its_own_name_alone(headers: dict[str, str], status: int) -> None:
    async def answer_page(request: Request) -> PlainTextResponse:
        return PlainTextResponse(request.url.path)

    async def open_socket(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.send_text("open")

    routes = [Route("/", answer_page), WebSocketRoute("/socket", open_socket)]
    client = TestClient(Guarded(Starlette(routes=routes), headers={"x-sealed": "yes"}))
    headers = {"host": HOST, **headers}
    answer = client.get("/", headers=headers)
    assert (answer.status_code, answer.headers["x-sealed"]) == (status, "yes")
    refused = contextlib.nullcontext() if status == 200 else pytest.raises(WebSocketDisconnect)
    with refused, client.websocket_connect("/socket", headers=headers) as connection:
        assert connection.receive_text() == "open"


def test_a_token_that_could_be_guessed_or_sent_in_no_header_is_refused() -> None:
    for token in ("short", "sixteen\tor more letters", "mehr als sechzehn Zeichen, äöü"):
        with pytest.raises(UsageError, match="A_TOKEN"):
            guard.token_from({"A_TOKEN": token}, "A_TOKEN")
