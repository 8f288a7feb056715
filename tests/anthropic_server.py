"""A server on loopback that speaks Anthropic's Messages, refuses what it refuses, and keeps the beginnings it is told.

https://docs.anthropic.com/en/api/messages
"""

import json
import re
from collections.abc import Callable
from typing import Any

from openai_server import Answer, listening
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

_FIELDS = frozenset(
    "model messages max_tokens system temperature tools tool_choice stream stop_sequences top_p top_k metadata".split()
)
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_KEPT_FROM = 1024  # tokens
_BREAKPOINTS = 4
_LOOKS_BACK = 20  # parts of a prompt, from a mark, for what it kept up to an earlier mark


class AnthropicServer:
    """Answers messages.

    Args:
        answer: what it says to a request's body; a `Response` stands for itself.

    Attributes:
        bodies: what it was asked, refused or not.
        refused: its words for what it refused with 400.
        kept_tokens: what it read again from what it kept.
        tokens: of all prompts and answers, kept ones too.
        cost_usd: of them at Claude Haiku 4.5's prices.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], Answer | Response]) -> None:
        self.answer = answer
        self.bodies: list[dict[str, Any]] = []
        self.refused: list[str] = []
        self.kept_tokens = self.tokens = 0
        self.cost_usd = 0.0
        self._kept: set[str] = set()
        self.running = listening([Route("/v1/messages", self.messages, methods=["POST"])])

    async def messages(self, request: Request) -> Response:
        """Refuse or answer."""
        body = await request.json()
        self.bodies.append(body)
        if problem := _problem(body):
            self.refused.append(problem)
            return failure(400, problem, "invalid_request_error")
        said = self.answer(body)
        if isinstance(said, Response):
            return said
        content: list[dict[str, Any]] = [{"type": "text", "text": said}]
        if not isinstance(said, str):
            content = [
                {"type": "tool_use", "id": f"toolu_{at}", "name": name, "input": given}
                for at, (name, given) in enumerate(said.items())
            ]
        reason = "end_turn" if isinstance(said, str) else "tool_use"
        return JSONResponse(message(body, content, reason, self._usage(body)))

    def _usage(self, body: dict[str, Any]) -> dict[str, int]:
        """Tokens, those that it kept apart from those that it reads: by what stands before each mark."""
        blocks = [{"tools": body.get("tools")}, *body.get("system", []), *_blocks(body["messages"])]
        total, read, written, before = len(json.dumps(blocks)) // 4, 0, 0, frozenset(self._kept)
        for at, block in enumerate(blocks, 1):
            if "cache_control" in block and (tokens := len(json.dumps(blocks[:at])) // 4) >= _KEPT_FROM:
                earlier = [_unmarked(blocks[:place]) for place in range(at, max(0, at - _LOOKS_BACK), -1)]
                found = next((len(each) // 4 for each in earlier if each in before), 0)
                read, written = max(read, found), tokens - max(read, found)
                self._kept.add(earlier[0])
        self.kept_tokens += read
        self.cost_usd += (total - read - written + 0.1 * read + 1.25 * written + 5 * 7) / 1e6
        self.tokens += total + 7
        usage = {"cache_read_input_tokens": read, "cache_creation_input_tokens": written}
        return {"input_tokens": total - read - written, "output_tokens": 7, **usage}


def _unmarked(blocks: list[dict[str, Any]]) -> str:
    return json.dumps([{name: said for name, said in block.items() if name != "cache_control"} for block in blocks])


def message(
    body: dict[str, Any], content: list[dict[str, Any]], reason: str, usage: dict[str, int] | None = None
) -> dict[str, Any]:
    """An answer as Anthropic words it."""
    said = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": content}
    return {
        **said,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage or {"input_tokens": 11, "output_tokens": 7},
    }


def failure(status: int, words: str, kind: str) -> JSONResponse:
    """An error as Anthropic words it."""
    return JSONResponse({"type": "error", "error": {"type": kind, "message": words}}, status)


def _blocks(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        block
        for each in messages
        for block in (each["content"] if isinstance(each["content"], list) else [{"type": "text", **each}])
    ]


def _problem(body: dict[str, Any]) -> str | None:
    if extra := sorted(body.keys() - _FIELDS):
        return f"{extra[0]}: Extra inputs are not permitted"
    if not 0 <= body.get("temperature", 1) <= 1:
        return "temperature: range: 0..1"
    if not body["max_tokens"] or body["messages"][0]["role"] != "user":
        return "messages: first message must use the user role"
    blocks = [*(body.get("system") or []), *_blocks(body["messages"])]
    if any(not block["text"].strip() for block in blocks if "text" in block):
        return "messages: text content blocks must be non-empty"
    if sum("cache_control" in block for block in blocks) > _BREAKPOINTS:
        return "A maximum of 4 blocks with cache_control may be provided."
    tools = [tool["name"] for tool in body.get("tools", [])]
    if "tool_choice" in body and not tools:
        return "tool_choice: may only be specified while providing tools"
    if any(not _NAME.fullmatch(name) for name in tools):
        return "tools.0.name: String should match pattern"
    return _order_problem(body["messages"], tools)


def _order_problem(messages: list[dict[str, Any]], tools: list[str]) -> str | None:
    due: set[str] = set()
    for at, each in enumerate(messages):
        blocks = each["content"] if isinstance(each["content"], list) else []
        given = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        if given != due:
            return f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after"
        used = [block for block in blocks if block["type"] == "tool_use"]
        if used and not tools:
            return "Requests which include `tool_use` or `tool_result` blocks must define tools"
        if foreign := [block["name"] for block in used if block["name"] not in tools]:
            return f"messages.{at}: tool {foreign[0]} is not among the tools of this request"
        due = {block["id"] for block in used}
    return None
