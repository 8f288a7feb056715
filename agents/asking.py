"""Asking a model for a typed answer, whatever the model can do.

OpenAI's client takes a schema, Anthropic's refuses one, small local models write JSON inside prose. So: hand over the
schema where it is taken, write it into the prompt otherwise, validate in both cases, and let the model mend its answer
a bounded number of times.
"""

import json
import re
from collections.abc import Sequence
from importlib import resources
from typing import Any, TypeVar

from autogen_core import CancellationToken
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    LLMMessage,
    RequestUsage,
    UserMessage,
)
from pydantic import BaseModel, ValidationError

from willowbark.tools.errors import WillowbarkError

T = TypeVar("T", bound=BaseModel)

MAX_REPAIRS = 2  # answers that a model may mend
REQUEST = "request"
"""Names a request as data among a client's `extra_create_args`."""
_JSON_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


class ModelFailure(WillowbarkError):
    """The model gave no usable answer; the message says why, without the answer's text.

    Attributes:
        usage: tokens of the answers that could not be used.
    """

    def __init__(self, message: str, usage: RequestUsage) -> None:
        super().__init__(message)
        self.usage = usage


async def ask(
    model_client: ChatCompletionClient,
    messages: Sequence[LLMMessage],
    answer_type: type[T],
    cancellation_token: CancellationToken | None = None,
    *,
    request: BaseModel | None = None,
) -> tuple[T, RequestUsage]:
    """Ask for an answer of a type.

    Args:
        model_client: who is asked.
        messages: the request in words.
        answer_type: what an answer must hold.
        cancellation_token: as the client takes it.
        request: the same as data, handed as `REQUEST` to a client that reads data instead of words (`reads_requests`);
            None where there are words alone.

    Returns:
        The answer, and the tokens of all attempts.

    Raises:
        ModelFailure: the client raised, or no answer was valid after `MAX_REPAIRS` repairs.
    """
    structured = bool(model_client.model_info.get("structured_output"))
    asked = list(messages) if structured else [*messages, _schema_request(answer_type)]
    used = RequestUsage(prompt_tokens=0, completion_tokens=0)
    for _ in range(1 + MAX_REPAIRS):
        try:
            result = await model_client.create(
                asked,
                json_output=answer_type if structured else (True if model_client.model_info["json_output"] else None),
                extra_create_args={REQUEST: request} if request is not None and reads_requests(model_client) else {},
                cancellation_token=cancellation_token,
            )
        except Exception as error:  # clients raise whatever their libraries raise
            raise ModelFailure(f"the model did not answer ({type(error).__name__})", used) from error
        add_usage(used, result.usage)
        text = result.content if isinstance(result.content, str) else ""
        try:
            answer = answer_type.model_validate_json(_json_in(text))
        except ValidationError as error:
            problem = "; ".join(
                f"{'.'.join(map(str, item['loc'])) or 'answer'}: {item['msg']}" for item in error.errors()[:5]
            )
        else:
            return answer, used
        asked += [
            AssistantMessage(content=text or "(empty)", source="assistant"),
            UserMessage(content=f"That is not valid: {problem}. Answer again, with the JSON alone.", source="user"),
        ]
    raise ModelFailure(f"the model gave no valid {answer_type.__name__} in {1 + MAX_REPAIRS} attempts", used)


def reads_requests(client: Any) -> bool:
    """Whether a client takes requests as data, as the baseline analyst does; language models take the words."""
    return bool(getattr(client, "reads_requests", False))


def add_usage(total: RequestUsage, more: RequestUsage) -> None:
    """Add tokens to a count."""
    total.prompt_tokens += more.prompt_tokens
    total.completion_tokens += more.completion_tokens


def _schema_request(answer_type: type[BaseModel]) -> UserMessage:
    schema = json.dumps(answer_type.model_json_schema(), separators=(",", ":"))
    return UserMessage(
        content=f"Answer with one JSON object of this schema, and nothing else:\n{schema}", source="user"
    )


def _json_in(text: str) -> str:
    found = _JSON_OBJECT.search(text)
    return found.group() if found else text


def prompt(file: str) -> str:
    """The text of a prompt, such as `judge.md`: prompts stand as Markdown files beside the agents that use them."""
    return resources.files(__package__).joinpath(file).read_text(encoding="utf-8").strip()
