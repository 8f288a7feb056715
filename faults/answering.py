"""A model client whose answers are a function of what it is asked: for models that fail, babble or obey anybody."""

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any, Literal

from autogen_core import CancellationToken, FunctionCall
from autogen_core.models import (
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelCapabilities,
    ModelFamily,
    ModelInfo,
    RequestUsage,
)
from autogen_core.tools import Tool, ToolSchema
from pydantic import BaseModel

from willowbark.agents.asking import REQUEST


class Asked(BaseModel):
    """What a model is asked."""

    model_config = {"arbitrary_types_allowed": True}

    messages: list[Any]
    tools: list[str] = []
    """Names of the tools that are offered."""
    answer_type: str | None = None
    """Name of the type of answer that is due; None for free text."""
    request: Any = None
    """What is asked as data; None where there are words alone."""

    @property
    def text(self) -> str:
        """All that the model gets to read."""
        return "\n".join(_text(message) for message in self.messages)


Answer = str | list[FunctionCall]


class AnsweringClient(ChatCompletionClient):
    """Answers with what `answer` gives, or raises what it raises.

    Args:
        answer: called once a request.

    Attributes:
        asked: every request.
    """

    component_type = "model"
    reads_requests = True

    def __init__(self, answer: Callable[[Asked], Answer]) -> None:
        self._answer = answer
        self.asked: list[Asked] = []

    async def create(
        self,
        messages: Sequence[LLMMessage],
        *,
        tools: Sequence[Tool | ToolSchema] = (),
        tool_choice: Tool | Literal["auto", "required", "none"] = "auto",
        json_output: bool | type[BaseModel] | None = None,
        extra_create_args: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        """Answer one request."""
        offered = [] if tool_choice == "none" else [_name(tool) for tool in tools]
        due = json_output.__name__ if isinstance(json_output, type) else None
        request = (extra_create_args or {}).get(REQUEST)
        asked = Asked(messages=list(messages), tools=offered, answer_type=due, request=request)
        self.asked.append(asked)
        content = self._answer(asked)
        usage = RequestUsage(prompt_tokens=len(asked.text) // 4, completion_tokens=len(str(content)) // 4)
        reason: Literal["stop", "function_calls"] = "stop" if isinstance(content, str) else "function_calls"
        return CreateResult(finish_reason=reason, content=content, usage=usage, cached=False)

    async def create_stream(
        self, messages: Sequence[LLMMessage], **options: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        """Answer one request in one piece."""
        yield await self.create(messages, **options)

    async def close(self) -> None:
        """Nothing is open."""

    def actual_usage(self) -> RequestUsage:
        """Not counted here."""
        return RequestUsage(prompt_tokens=0, completion_tokens=0)

    def total_usage(self) -> RequestUsage:
        """Not counted here."""
        return self.actual_usage()

    def count_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()) -> int:
        """Four characters a token."""
        return sum(len(_text(message)) // 4 for message in messages)

    def remaining_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()) -> int:
        """Always enough."""
        return 1_000_000

    @property
    def capabilities(self) -> ModelCapabilities:
        """As `model_info`."""
        return ModelCapabilities(vision=False, function_calling=True, json_output=True)

    @property
    def model_info(self) -> ModelInfo:
        """It takes tools and schemas."""
        return ModelInfo(
            vision=False,
            function_calling=True,
            json_output=True,
            family=ModelFamily.UNKNOWN,
            structured_output=True,
            multiple_system_messages=True,
        )


def _name(tool: Tool | ToolSchema) -> str:
    return str(tool["name"]) if isinstance(tool, dict) else tool.name


def _text(message: LLMMessage) -> str:
    content = message.content
    if isinstance(content, str):
        return content
    return "\n".join(str(getattr(part, "content", None) or getattr(part, "arguments", part)) for part in content)


def calls(*named: tuple[str, Mapping[str, Any]]) -> list[FunctionCall]:
    """Tool calls, as a model writes them."""
    return [
        FunctionCall(id=f"call-{place}", name=name, arguments=json.dumps(dict(arguments)))
        for place, (name, arguments) in enumerate(named)
    ]
