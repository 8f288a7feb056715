"""Asking a model for a typed answer, whatever the model can do.

OpenAI's client takes a schema, Anthropic's refuses one, small local models write JSON inside prose. So: hand over the
schema where it is taken, write it into the prompt otherwise or where it is refused, validate in both cases, and let the
model mend its answer a bounded number of times.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from typing import Any, TypeVar

from autogen_agentchat.messages import BaseAgentEvent, ToolCallExecutionEvent, ToolCallRequestEvent
from autogen_core import CancellationToken, FunctionCall
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from autogen_core.tools import BaseTool
from pydantic import BaseModel, ValidationError

from willowbark.tools.enclosure import visible
from willowbark.tools.errors import WillowbarkError

from ..autogen import REFUSED, openai_server
from .drafts import strict

T = TypeVar("T", bound=BaseModel)

MAX_REPAIRS = 2  # answers that a model may mend
MAX_LOOKUPS = 2  # times that a model may use tools before it answers
MAX_CALLS = 4  # of one time
MAX_ANSWER = 400_000  # characters; the longest draft that its bounds allow has fewer, what is longer ran away
MAX_SHOWN_BACK = 20_000  # characters of an answer that its model sees again when it mends it
REQUEST = "request"
"""Names a request as data among a client's `extra_create_args`."""
_MAX_STARTS = 40  # braces at which an answer's JSON may begin: a reader from each of thousands would take minutes
_MAX_TOLD = 200  # characters of a provider's own words in a report
_TOO_LONG = (
    "context length",
    "context window",
    "context size",
    "too long",
    "too large",
    "too many tokens",
    "maximum context",
    "reduce the length",
    "exceeds the available context",
    "413 ",
)
"""What servers say of a prompt that does not fit."""
PROMPTS_VERSION = "2026.11.5"
"""Of the prompts beside the agents; raised whenever one of them changes what is asked."""
_THOUGHT = ("think", "thinking", "reasoning")  # tags around what a model thinks aloud
_KEY = re.compile(r"\b(?:sk|pk|rk|key|gsk|xai|api)[-_][\w*.-]{4,}|\b[\w-]*\*{3,}[\w-]*|\b[A-Za-z0-9_-]{32,}\b")


class ModelFailure(WillowbarkError):
    """The model gave no usable answer; the message says why, without the answer's text.

    Attributes:
        usage: tokens of the answers that could not be used.
        may_be_shorter: whether less of it might have been answered: the prompt or the answer was too long.
    """

    def __init__(self, message: str, usage: RequestUsage, *, may_be_shorter: bool = False) -> None:
        super().__init__(message)
        self.usage = usage
        self.may_be_shorter = may_be_shorter


class Aids:
    """Tools that a model may use before it answers, and what came of it.

    Args:
        tools: that are offered.
        agent: whose they are; events name it.

    Attributes:
        events: the calls and their results, in order, as AutoGen tells them.
    """

    def __init__(self, tools: Sequence[BaseTool[Any, Any]], agent: str) -> None:
        self.tools, self._agent = tools, agent
        self.events: list[BaseAgentEvent] = []

    async def use(self, calls: list[FunctionCall], token: CancellationToken | None) -> list[LLMMessage]:
        """Make the calls of a model, `MAX_CALLS` at most, and give them with what came; what fails is told."""
        results = [await self._result(call, number, token) for number, call in enumerate(calls, 1)]
        self.events += [
            ToolCallRequestEvent(content=calls, source=self._agent),
            ToolCallExecutionEvent(content=results, source=self._agent),
        ]
        return [AssistantMessage(content=calls, source="assistant"), FunctionExecutionResultMessage(content=results)]

    async def _result(
        self, call: FunctionCall, number: int, token: CancellationToken | None
    ) -> FunctionExecutionResult:
        tool = next((each for each in self.tools if each.name == call.name), None)
        said, is_error = f"not made: at most {MAX_CALLS} calls at once", True
        if tool is None:
            said = "there is no such tool"
        elif number <= MAX_CALLS:
            try:
                value = await tool.run_json(json.loads(call.arguments), token or CancellationToken())
                said, is_error = tool.return_value_as_string(value), False
            except (ValueError, TypeError):
                said = "unusable arguments"
            except WillowbarkError as error:
                said = str(error)
        return FunctionExecutionResult(content=said, name=call.name, call_id=call.id, is_error=is_error)


class ModelUnavailable(Exception):
    """A model that gave no answer, or is not asked: the run is replayed, and the ledger does not hold its answer."""


async def ask(
    model_client: ChatCompletionClient,
    messages: Sequence[LLMMessage],
    answer_type: type[T],
    cancellation_token: CancellationToken | None = None,
    *,
    request: BaseModel | None = None,
    objection: Callable[[T], str | None] = lambda _: None,
    aids: Aids | None = None,
    divisible: bool = False,
) -> tuple[T, RequestUsage]:
    """Ask for an answer of a type.

    Args:
        model_client: who is asked.
        messages: the request in words.
        answer_type: what an answer must hold.
        cancellation_token: as the client takes it.
        request: the same as data, for a client that reads data instead of words (`reads_requests`); None: words alone.
        objection: what else is wrong with an answer; None where it will do.
        aids: tools that a language model may use first, `MAX_LOOKUPS` times; None offers none.
        divisible: whether the caller asks in parts what was cut off at the limit of its length: it is not mended then.

    Returns:
        The answer, and the tokens of all attempts.

    Raises:
        ModelFailure: the client raised, or no answer was valid after `MAX_REPAIRS` repairs.
    """
    asked, form = _opened(model_client, messages, answer_type, request)
    used, was_cut = RequestUsage(prompt_tokens=0, completion_tokens=0), False
    attempts, refusals = 1 + MAX_REPAIRS, 2  # of the schema, and of JSON
    lookups = MAX_LOOKUPS if aids and _uses_tools(model_client) else 0
    offered: dict[str, Any] = {"tools": aids.tools} if aids and lookups else {}
    while attempts and not (was_cut and divisible):
        try:
            result = await model_client.create(asked, **form, **offered, cancellation_token=cancellation_token)
        except Exception as error:  # clients raise whatever their libraries raise
            if not refusals or not _refuses_schema(error, form):
                raise _no_answer(error, used) from error
            refusals -= 1
            asked, form = _loosened(model_client, asked, form, answer_type)
            continue
        add_usage(used, result.usage)
        if aids and lookups and isinstance(result.content, list):
            asked += await aids.use(result.content, cancellation_token)
            lookups -= 1
            offered = offered if lookups else {**offered, "tool_choice": "none"}
            continue
        attempts -= 1
        answer, problem = _taken(result, used, answer_type, objection)
        if answer is not None and problem is None:
            return answer, used
        asked += _sent_back(result, problem)
        was_cut = result.finish_reason == "length"
    raise _none_valid(answer_type, used, attempts=1 + MAX_REPAIRS - attempts, was_cut=was_cut)


def _opened(
    client: ChatCompletionClient, messages: Sequence[LLMMessage], answer_type: type[BaseModel], request: object
) -> tuple[list[LLMMessage], dict[str, Any]]:
    """The messages, and how the answer's form is told: by a schema, or in words where a client takes none."""
    asked, form = list(messages), _form(client, answer_type)
    if form is None:
        asked, form = _told_schema(asked, answer_type), _loose_form(client)
    if request is not None and reads_requests(client):
        form = {**form, "extra_create_args": {REQUEST: request}}
    return asked, form


def _loosened(
    client: ChatCompletionClient, asked: list[LLMMessage], form: dict[str, Any], answer_type: type[BaseModel]
) -> tuple[list[LLMMessage], dict[str, Any]]:
    """The same after a schema was refused, in words; after JSON was refused as well, without either."""
    if form.get("json_output") is True:
        return asked, {}
    return _told_schema(asked, answer_type), _loose_form(client)


def _form(client: ChatCompletionClient, answer_type: type[BaseModel]) -> dict[str, Any] | None:
    """How a client is handed a schema; None where it takes none.

    OpenAI's own gets it ready made: what AutoGen would make of the type keeps the bounds, and an answer that does not
    hold to it raises within the client, where its tokens are lost.
    """
    if not client.model_info.get("structured_output"):
        return None
    server = openai_server(client)
    if server is None:
        return {"json_output": answer_type}
    schema = answer_type.model_json_schema()
    named = {
        "name": answer_type.__name__,
        "strict": True,
        "schema": strict(schema) if server == "strict" else schema,
    }
    return {"extra_create_args": {"response_format": {"type": "json_schema", "json_schema": named}}}


def _uses_tools(client: ChatCompletionClient) -> bool:
    """Whether a client is a language model that can call functions."""
    return bool(client.model_info.get("function_calling")) and not reads_requests(client)


def _loose_form(client: ChatCompletionClient) -> dict[str, Any]:
    return {"json_output": True} if client.model_info["json_output"] else {}


def _refuses_schema(error: Exception, form: dict[str, Any]) -> bool:
    """Whether a server took no offence but at the schema, which can be put in words."""
    said = told(error).lower()
    typed = "response_format" in form.get("extra_create_args", {}) or bool(form.get("json_output"))
    about_it = any(word in said for word in ("schema", "response_format", "grammar"))
    return typed and about_it and said.startswith(("400 ", "422 "))


def _no_answer(error: Exception, used: RequestUsage) -> ModelFailure:
    why = told(error)
    too_long = any(word in why.lower() for word in _TOO_LONG)
    return ModelFailure(f"the model did not answer ({why})", used, may_be_shorter=too_long)


def _none_valid(answer_type: type[BaseModel], used: RequestUsage, *, attempts: int, was_cut: bool) -> ModelFailure:
    cut = ", cut off at the limit of an answer's length" if was_cut else ""
    made = f"{attempts} attempt{'s' if attempts > 1 else ''}"
    why = f"the model gave no valid {answer_type.__name__} in {made}{cut}"
    return ModelFailure(why, used, may_be_shorter=was_cut)


def _text_of(result: CreateResult) -> str:
    return result.content if isinstance(result.content, str) else ""


def _sent_back(result: CreateResult, problem: str | None) -> list[LLMMessage]:
    """An answer that will not do, and what is wrong with it."""
    flaw = f"That is not valid: {problem}."
    if result.finish_reason == "length":
        flaw = "That was cut off at the limit of an answer's length: say less."
    said = _text_of(result)[:MAX_SHOWN_BACK] or "(empty)"
    return [
        AssistantMessage(content=said, source="assistant"),
        UserMessage(content=f"{flaw} Answer again, with the JSON alone.", source="user"),
    ]


def _taken(
    result: CreateResult, used: RequestUsage, answer_type: type[T], objection: Callable[[T], str | None]
) -> tuple[T | None, str | None]:
    """What `_read` gives of an answer; raises `ModelFailure` where the model refused to give one."""
    if refusal := refused(result):
        raise ModelFailure(refusal, used)
    return _read(_text_of(result), answer_type, objection)


def _read(said: str, answer_type: type[T], objection: Callable[[T], str | None]) -> tuple[T | None, str | None]:
    """The first JSON in an answer that is of the type, and what is said against it; or what is wrong with the last."""
    problem = "no JSON object"
    if len(said) > MAX_ANSWER:
        return None, f"longer than {MAX_ANSWER:,} characters"
    for found in _objects_in(without_thoughts(said)):
        try:
            answer = answer_type.model_validate(found)
        except ValidationError as error:
            problem = "; ".join(
                f"{'.'.join(map(str, item['loc'])) or 'answer'}: {item['msg']}"
                for item in error.errors(include_url=False, include_input=False)[:5]
            )
        else:
            return answer, objection(answer)
    return None, problem


def _objects_in(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a text, whatever prose and braces stand around them."""
    decoder, at = json.JSONDecoder(strict=False), text.find("{")
    for _ in range(_MAX_STARTS):
        if at < 0:
            return
        try:
            found, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield found
        at = text.find("{", end)


def written_calls(text: str, names: Sequence[str]) -> list[FunctionCall]:
    """The calls of tools that a model wrote down instead of making them; empty where it wrote none.

    >>> written_calls('<tool_call>{"name": "get_label", "arguments": {"drugs": []}}</tool_call>', ["get_label"])
    [FunctionCall(id='written_0', arguments='{"drugs": []}', name='get_label')]
    """
    objects = [] if len(text) > MAX_ANSWER else list(_objects_in(without_thoughts(text)))
    calls = [each["function"] if isinstance(each.get("function"), dict) else each for each in objects]
    told = [(each.get("name"), each.get("arguments", each.get("parameters"))) for each in calls]
    return [
        FunctionCall(id=f"written_{at}", arguments=json.dumps(given), name=str(name))
        for at, (name, given) in enumerate(told)
        if name in names and isinstance(given, dict)
    ]


def without_thoughts(text: str) -> str:
    """A model's answer without what it thought aloud before; also where the server took the opening tag away.

    >>> without_thoughts("<think>{ not yet }</think> Propranolol.")
    'Propranolol.'
    """
    for tag in _THOUGHT:
        text = text.rpartition(f"</{tag}>")[2].partition(f"<{tag}>")[0]
    return text.strip()


def told(error: BaseException) -> str:
    """Why a model did not answer, in a line: the provider's own words without keys, else the kind of failure.

    >>> told(TimeoutError())
    'TimeoutError'
    """
    if isinstance(error, ModelUnavailable):
        return str(error) or type(error).__name__
    status = getattr(error, "status_code", None)
    if not isinstance(status, int):
        return type(error).__name__
    body = getattr(error, "body", None)
    for _ in range(2):  # Anthropic wraps the error once more than OpenAI
        body = body.get("error", body) if isinstance(body, dict) else body
    said = body.get("message") if isinstance(body, dict) else None
    said = said or getattr(error, "message", None) or getattr(error, "error", None) or type(error).__name__
    return f"{status} {in_a_line(str(said))}"


def in_a_line(said: str) -> str:
    """A stranger's words in a line of a report, without keys."""
    shown = _KEY.sub("[key]", " ".join(visible(said).split()))
    return f"{shown[:_MAX_TOLD]}{'…' if len(shown) > _MAX_TOLD else ''}".rstrip(" .")


def refused(result: CreateResult) -> str | None:
    """Why a model or its provider held an answer back, in their own words; None where they did not."""
    said = result.content if isinstance(result.content, str) else ""
    if said.startswith(REFUSED):
        return in_a_line(said)
    is_filtered = result.finish_reason == "content_filter" and not said.strip()
    return "the provider's content filter held the answer back" if is_filtered else None


def reads_requests(client: Any) -> bool:
    """Whether a client takes requests as data, as the baseline analyst does; language models take the words."""
    return bool(getattr(client, "reads_requests", False))


def add_usage(total: RequestUsage, more: RequestUsage) -> None:
    """Add tokens to a count."""
    total.prompt_tokens += more.prompt_tokens
    total.completion_tokens += more.completion_tokens


def _told_schema(messages: Sequence[LLMMessage], answer_type: type[BaseModel]) -> list[LLMMessage]:
    """The messages with a schema in words: in the system prompt, which providers keep, and named again at the end."""
    schema = json.dumps(answer_type.model_json_schema(), separators=(",", ":"))
    words = f"Answer with one JSON object of this schema, and nothing else:\n{schema}"
    first, *rest = messages
    if not isinstance(first, SystemMessage):
        return [*messages, UserMessage(content=words, source="user")]
    told = SystemMessage(content=f"{first.content}\n\n{words}")
    return [told, *rest, UserMessage(content="Answer with the JSON object alone.", source="user")]


def prompt(file: str) -> str:
    """The text of a prompt, such as `judge.md`: prompts stand as Markdown files beside the agents that use them."""
    return resources.files("willowbark.agents").joinpath(file).read_text(encoding="utf-8").strip()
