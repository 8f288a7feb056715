"""Servers on loopback that speak the batch interfaces of OpenAI and Anthropic, each beside its single calls.

https://developers.openai.com/api/docs/guides/batch
https://platform.claude.com/docs/en/build-with-claude/batch-processing
"""

import json
import threading
from collections.abc import Callable
from typing import Any, Literal

from anthropic_server import AnthropicServer
from openai_server import Answer, OpenAIServer, listening
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

Body = dict[str, Any]
Fate = Literal["answered", "errored", "expired", "missing"]


class BatchServer:
    """What both servers' batches have in common: `batches` holds the prompts of each, `single` those asked alone.

    Args:
        answer: what the model says, in batches and alone.
        fate: what becomes of the prompt at a place of its batch.
        looks: how often a batch is looked at before it has ended.
    """

    def __init__(
        self,
        answer: Callable[[Body], Answer | Response],
        fate: Callable[[int], Fate] = lambda _: "answered",
        looks: int = 1,
    ) -> None:
        self.answer, self.fate, self.looks = answer, fate, looks
        self.batches: list[dict[str, Body]] = []
        self.looked = 0
        self.is_waited_for = threading.Event()
        """Set once somebody has looked at a batch twice."""
        self.endless = False
        """Whether results never end."""

    def is_under_way(self) -> bool:
        """Count a look at a batch, and tell whether it still runs."""
        self.looked += 1
        if self.looked > 1:
            self.is_waited_for.set()
        return self.looked <= self.looks

    def fates(self, name: str) -> list[tuple[str, Body, Fate]]:
        """What becomes of the prompts of the batch of that name, the last first."""
        placed = enumerate(self.batches[int(name.partition("_")[2])].items())
        found = [(key, body, self.fate(place)) for place, (key, body) in placed]
        return [each for each in reversed(found) if each[2] != "missing"]

    def content(self, lines: list[Body]) -> Response:
        """Results, as lines."""
        if self.endless:
            return StreamingResponse(b'{"custom_id": "x"}\n' * 4096 for _ in range(10**9))
        return PlainTextResponse("".join(json.dumps(line) + "\n" for line in lines))


class OpenAIBatchServer(BatchServer):
    """Chat completions; `begins` replies to a new batch."""

    def __init__(self, *arguments: Any, begins: Response | None = None, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.single = OpenAIServer(self.answer)
        self.begins = begins
        self.files: list[str] = []
        routes = [
            Route("/files", self.upload, methods=["POST"]),
            Route("/files/{name}/content", self.download),
            Route("/batches", self.begin, methods=["POST"]),
            Route("/batches/{name}", self.look),
            Route("/chat/completions", self.single.completions, methods=["POST"]),
        ]
        self.running = listening(
            [Route(f"/v1{each.path}", each.endpoint, methods=each.methods) for each in routes], "/v1"
        )

    async def upload(self, request: Request) -> Response:
        """https://developers.openai.com/api/reference/resources/files/methods/create"""
        async with request.form() as form:
            assert form["purpose"] == "batch"
            self.files.append((await form["file"].read()).decode())  # type: ignore[union-attr]
        return JSONResponse({"id": f"file-{len(self.files) - 1}", "object": "file", "purpose": "batch"})

    async def begin(self, request: Request) -> Response:
        """https://developers.openai.com/api/reference/resources/batches/methods/create"""
        if self.begins is not None:
            return self.begins
        asked = await request.json()
        assert asked["endpoint"] == "/v1/chat/completions"
        assert asked["completion_window"] == "24h"
        lines = [json.loads(line) for line in self.files[int(asked["input_file_id"].partition("-")[2])].splitlines()]
        assert [line for line in lines if (line["method"], line["url"]) != ("POST", asked["endpoint"])] == []
        self.batches.append({line["custom_id"]: line["body"] for line in lines})
        return JSONResponse({"id": f"batch_{len(self.batches) - 1}", "object": "batch", "status": "validating"})

    async def look(self, request: Request) -> Response:
        """https://developers.openai.com/api/reference/resources/batches/methods/retrieve"""
        name = request.path_params["name"]
        if self.is_under_way():
            return JSONResponse({"id": name, "status": "in_progress", "output_file_id": None})
        fates = {fate for *_, fate in self.fates(name)}
        files = {"output_file_id": f"out-{name}"} | ({"error_file_id": f"err-{name}"} if len(fates) > 1 else {})
        status = "expired" if "expired" in fates else "completed"
        return JSONResponse({"id": name, "object": "batch", "status": status, **files})

    async def download(self, request: Request) -> Response:
        """https://developers.openai.com/api/docs/guides/batch#5-retrieve-the-results"""
        kind, _, name = request.path_params["name"].partition("-")
        lines = []
        for key, body, fate in self.fates(name):
            usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
            said = {"id": "x", "object": "chat.completion", "created": 1, "model": body["model"], "usage": usage}
            message = {"role": "assistant", "content": self.answer(body)}
            said["choices"] = [{"index": 0, "finish_reason": "stop", "message": message}]
            told: Body = {
                "answered": {"response": {"status_code": 200, "body": said}},
                "errored": {"response": {"status_code": 500, "body": {"error": {"message": "The server failed."}}}},
                "expired": {"error": {"code": "batch_expired", "message": "This was not executed in time."}},
            }[fate]
            if (fate == "answered") is (kind == "out"):
                lines.append({"custom_id": key, "response": None, "error": None, **told})
        return self.content(lines)


class AnthropicBatchServer(BatchServer):
    """Messages."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.single = AnthropicServer(self.answer)
        self.running = listening(
            [
                Route("/v1/messages", self.single.messages, methods=["POST"]),
                Route("/v1/messages/batches", self.begin, methods=["POST"]),
                Route("/v1/messages/batches/{name}", self.look),
                Route("/v1/messages/batches/{name}/results", self.download),
            ]
        )

    async def begin(self, request: Request) -> Response:
        """https://platform.claude.com/docs/en/api/messages/batches/create"""
        asked = (await request.json())["requests"]
        assert [
            each for each in asked if not (set(each) == {"custom_id", "params"} and len(each["custom_id"]) <= 64)
        ] == []
        self.batches.append({each["custom_id"]: each["params"] for each in asked})
        return JSONResponse({"id": f"msgbatch_{len(self.batches) - 1}", "processing_status": "in_progress"})

    async def look(self, request: Request) -> Response:
        """https://platform.claude.com/docs/en/api/messages/batches/retrieve"""
        status = "in_progress" if self.is_under_way() else "ended"
        return JSONResponse({"id": request.path_params["name"], "processing_status": status})

    async def download(self, request: Request) -> Response:
        """https://platform.claude.com/docs/en/api/messages/batches/results"""
        lines = []
        for key, body, fate in self.fates(request.path_params["name"]):
            message = {"id": "m", "type": "message", "role": "assistant", "model": body["model"], "stop_sequence": None}
            message |= {"content": [{"type": "text", "text": self.answer(body)}], "stop_reason": "end_turn"}
            message["usage"] = {"input_tokens": 1000, "output_tokens": 100}
            error = {"type": "error", "error": {"type": "api_error", "message": "The server failed."}}
            told: Body = {
                "answered": {"type": "succeeded", "message": message},
                "errored": {"type": "errored", "error": error},
                "expired": {"type": "expired"},
            }[fate]
            lines.append({"custom_id": key, "result": told})
        return self.content(lines)
