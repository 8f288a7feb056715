"""A server on loopback that speaks Ollama's chat. https://github.com/ollama/ollama/blob/main/docs/api.md"""

from collections.abc import Callable
from typing import Any

from openai_server import Answer, listening
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


class OllamaServer:
    """Answers chats.

    Args:
        answer: what it says to a request's body, in which a schema stands as OpenAI has it; a `Response` stands for
            itself.

    Attributes:
        bodies: what it was asked.
    """

    def __init__(self, answer: Callable[[dict[str, Any]], Answer | Response]) -> None:
        self.answer = answer
        self.bodies: list[dict[str, Any]] = []
        self.running = listening([Route("/api/chat", self.chat, methods=["POST"])])

    async def chat(self, request: Request) -> Response:
        """Answer, in one piece."""
        body = await request.json()
        self.bodies.append(body)
        form = body.get("format")
        typed = {"json_schema": {"name": named(form)}, "type": "json_schema"} if isinstance(form, dict) else None
        said = self.answer({**body, "response_format": typed})
        if isinstance(said, Response):
            return said
        made: dict[str, Any] = {"role": "assistant", "content": said}
        if not isinstance(said, str):
            calls = [{"function": {"name": name, "arguments": given}} for name, given in said.items()]
            made = {"role": "assistant", "content": "", "tool_calls": calls}
        done = {"done": True, "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 7}
        head = {"model": body["model"], "created_at": "2026-01-01T00:00:00Z"}
        return JSONResponse({**head, "message": made, **done})


def named(schema: dict[str, Any]) -> str:
    """The draft that a schema asks for."""
    fields = {"studies": "StudiesDraft", "mechanism_score": "JudgeDraft", "claims": "ReportDraft"}
    fields |= {"fits": "FitsDraft", "answer": "WrittenDraft", "sentences": "MendedDraft", "verdicts": "CheckDraft"}
    return next((name for field, name in fields.items() if field in schema["properties"]), "")
