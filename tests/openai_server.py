"""A server on loopback that speaks OpenAI's chat completions, refuses what OpenAI refuses, and answers by rote."""

import asyncio
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

_UNSUPPORTED = frozenset(
    "minLength maxLength minItems maxItems minimum maximum exclusiveMinimum exclusiveMaximum multipleOf pattern format "
    "default uniqueItems contains allOf not dependentRequired if then else patternProperties propertyNames prefixItems "
    "minProperties maxProperties unevaluatedProperties additionalItems oneOf title".split()
)
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
Answer = dict[str, Any] | str
"""A message's tool calls by name, or its text."""


def strict_problem(schema: Any, context: tuple[str, ...] = ()) -> str | None:
    """What OpenAI's strict mode objects to in a schema, in its words; None for nothing.

    https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
    """
    where = f"In context={context!r}, "
    if not context and (schema.get("type") != "object" or "anyOf" in schema):
        return where + "schema must have type 'object'"
    if "$ref" in schema and len(schema) > 1:
        return where + "$ref cannot have keywords beside it"
    if found := sorted(_UNSUPPORTED & schema.keys()):
        return where + f"'{found[0]}' is not permitted."
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            return where + "'additionalProperties' is required to be supplied and to be false."
        fields = schema.get("properties", {})
        if missing := sorted(fields.keys() ^ set(schema.get("required", []))):
            return where + f"'required' is required to include every key in properties. Missing '{missing[0]}'."
    below = {
        **{("properties", name): field for name, field in schema.get("properties", {}).items()},
        **{("$defs", name): kind for name, kind in schema.get("$defs", {}).items()},
        **({("items",): schema["items"]} if "items" in schema else {}),
        **{("anyOf", str(at)): kind for at, kind in enumerate(schema.get("anyOf", []))},
    }
    if schema.get("type") == "array" and "items" not in schema:
        return where + "array schema missing items."
    problems = (strict_problem(inner, (*context, *steps)) for steps, inner in below.items())
    return next((problem for problem in problems if problem), None)


def rote(schema: dict[str, Any], defs: dict[str, Any] | None = None) -> Any:
    """The dullest value that a schema allows."""
    defs = schema.get("$defs", defs or {})
    if "$ref" in schema:
        return rote(defs[schema["$ref"].rpartition("/")[2]], defs)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type")
    if kind == "object":
        return {name: rote(field, defs) for name, field in schema["properties"].items()}
    if kind == "array":
        return [rote(schema["items"], defs)]
    return {"integer": 1, "number": 0.5, "boolean": False}.get(kind or "", "said by rote, twenty letters and more")


class OpenAIServer:
    """Answers chat completions.

    Args:
        answer: what it says to a request's body; a `Response` fails the request.
        takes_bounds: whether it takes any schema, as llama.cpp and vLLM do.

    Attributes:
        bodies: what it was asked, refused or not.
        refused: OpenAI's messages for what it refused with 400.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], Answer | Response], *, takes_bounds: bool = False) -> None:
        self.answer = answer
        self.takes_bounds = takes_bounds
        self.bodies: list[dict[str, Any]] = []
        self.refused: list[str] = []
        self.running = listening([Route("/{path:path}", self.completions, methods=["POST"])], "/v1")

    async def completions(self, request: Request) -> Response:
        """https://platform.openai.com/docs/api-reference/chat"""
        body = await request.json()
        self.bodies.append(body)
        if problem := _problem(body, self.takes_bounds):
            self.refused.append(problem)
            return refusal(400, problem)
        said = await asyncio.to_thread(self.answer, body)  # one that takes its time holds up no other
        if isinstance(said, Response):
            return said
        message: dict[str, Any] = {"role": "assistant", "content": said}
        if not isinstance(said, str):
            made = [
                {"id": f"call_{at}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
                for at, (name, given) in enumerate(said.items())
            ]
            message = {"role": "assistant", "content": None, "tool_calls": made}
        reason = "tool_calls" if "tool_calls" in message else "stop"
        usage = {"prompt_tokens": len(json.dumps(body)) // 4, "completion_tokens": 7, "total_tokens": 7}
        return JSONResponse(
            {"id": "x", "object": "chat.completion", "created": 1, "model": body["model"], "usage": usage}
            | {"choices": [{"index": 0, "finish_reason": reason, "message": message}]}
        )


def listening(routes: list[Route], path: str = "") -> Callable[[], AbstractContextManager[str]]:
    """Opens a server on loopback and gives its address, with a path behind it, for as long as that is open."""

    @contextmanager
    def running() -> Iterator[str]:
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen()  # who connects before uvicorn is up waits, and is not refused
        config = uvicorn.Config(Starlette(routes=routes), log_level="error", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}{path}"
        finally:
            server.should_exit = True
            thread.join(5)
            listener.close()

    return running


def refusal(status: int, message: str, code: str | None = None) -> JSONResponse:
    """An error as OpenAI words it."""
    return JSONResponse({"error": {"message": message, "type": "invalid_request_error", "code": code}}, status)


def _problem(body: dict[str, Any], takes_bounds: bool) -> str | None:
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        named = form["json_schema"]
        if not _NAME.fullmatch(named.get("name", "")):
            return f"Invalid 'response_format.json_schema.name': {named.get('name')!r}"
        if named.get("strict") and not takes_bounds and (problem := strict_problem(named["schema"])):
            return f"Invalid schema for response_format '{named['name']}': {problem}"
    if form.get("type") == "json_object" and "json" not in json.dumps(body["messages"]).lower():
        return "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'."
    if "tool_choice" in body and not body.get("tools"):
        return "'tool_choice' is only allowed when 'tools' are specified."
    for tool in body.get("tools") or []:
        function = tool["function"]
        if not _NAME.fullmatch(function["name"]):
            return f"Invalid 'tools[0].function.name': {function['name']!r}"
        if function.get("strict") and (problem := strict_problem(function["parameters"])):
            return f"Invalid schema for function '{function['name']}': {problem}"
    return _order_problem(body["messages"])


def _order_problem(messages: list[dict[str, Any]]) -> str | None:
    due: set[str] = set()
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in due:
                return f"Invalid parameter: messages[{at}] with role 'tool' must answer a preceding 'tool_calls'."
            due.discard(message["tool_call_id"])
        elif due:
            return f"An assistant message with 'tool_calls' must be followed by tool messages: {sorted(due)}"
        if re.search(r"[\s<|\\/>]", message.get("name", "")):
            return f"Invalid 'messages[{at}].name': string does not match pattern."
        due |= {call["id"] for call in message.get("tool_calls") or []}
    return None
