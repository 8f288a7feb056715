"""Asking a model for a typed answer, whatever the model can do: one way for all who ask.

OpenAI's client takes a schema, Anthropic's refuses one, small local models write JSON inside prose. So: hand over the
schema where it is taken, write it into the prompt otherwise or where it is refused, and validate in both cases. What is
wrong with an answer is sent back once; after that the next one is asked, at last the baseline analyst.
"""

import json
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from willowbark.agents.autogen import (
    EVENT_LOGGER_NAME,
    AssistantMessage,
    BaseAgentEvent,
    BaseTool,
    CancellationToken,
    ChatCompletionClient,
    CreateResult,
    FunctionCall,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from willowbark.tools.enclosure import visible
from willowbark.tools.errors import WillowbarkError

from ..autogen import REFUSED, ShortCalls, ShortResults, model_name, openai_server
from .drafts import strict

T = TypeVar("T", bound=BaseModel)

ATTEMPTS = 2  # answers of one model: the second with what is wrong with the first
MAX_LOOKUPS = 2  # times that a model may use tools before it answers
MAX_CALLS = 4  # of one time
MAX_ANSWER = 400_000  # characters; the longest draft that its bounds allow has fewer, what is longer ran away
MAX_SHOWN_BACK = 20_000  # characters of an answer that its model sees again when it mends it
REQUEST = "request"
"""Names a request as data among a client's `extra_create_args`."""
PROMPTS_VERSION = "2026.11.8"
"""Of the prompts beside the agents; raised whenever one of them changes what is asked."""
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
_KEY = re.compile(r"\b(?:sk|pk|rk|key|gsk|xai|api)[-_][\w*.-]{4,}|\b[\w-]*\*{3,}[\w-]*|\b[A-Za-z0-9_-]{32,}\b")
_log = logging.getLogger(EVENT_LOGGER_NAME)


class ModelUnavailable(Exception):
    """A model that gave no answer, or is not asked: the run is replayed, and the ledger does not hold its answer."""


@dataclass
class Answer(Generic[T]):
    """What came of asking."""

    given: T | None = None
    """None where nobody gave an answer that will do."""
    by: ChatCompletionClient | None = None
    """Who gave it."""
    failures: list[str] = field(default_factory=list)
    """Why those who were asked before gave none, in turn."""
    was_too_long: bool = False
    """Whether the last of them might have answered less of it."""
    usage: RequestUsage = field(default_factory=lambda: RequestUsage(prompt_tokens=0, completion_tokens=0))
    """Tokens of all attempts."""

    @property
    def notes(self) -> list[str]:
        """The failures for a report, with the name of who answered instead."""
        instead = f"; {analyst_name(self.by)} answered instead" if self.by is not None else ""
        return [f"{failure}{instead}" for failure in self.failures]


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
        results = []
        for number, call in enumerate(calls, 1):
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
            results.append(FunctionExecutionResult(content=said, name=call.name, call_id=call.id, is_error=is_error))
        self.events += [
            ShortCalls(content=calls, source=self._agent),
            ShortResults(content=results, source=self._agent),
        ]
        return [AssistantMessage(content=calls, source="assistant"), FunctionExecutionResultMessage(content=results)]


async def ask(  # noqa: PLR0915
    clients: Sequence[ChatCompletionClient],
    messages: Sequence[LLMMessage],
    answer_type: type[T],
    cancellation_token: CancellationToken | None = None,
    *,
    request: BaseModel | None = None,
    check: Callable[[T], str | None] = lambda _: None,
    aids: Aids | None = None,
) -> Answer[T]:
    """Ask for an answer of a type: one client after another until one gives it.

    Args:
        clients: who is asked, in turn; at last the baseline analyst, where there should be an answer in any case.
        messages: the request in words.
        answer_type: what an answer must hold.
        cancellation_token: as the client takes it.
        request: the same as data, for a client that reads data instead of words (`reads_requests`); None: words alone.
        check: what else is wrong with an answer; None where it will do.
        aids: tools that a language model may use first, `MAX_LOOKUPS` times; None offers none.
    """
    answer = Answer[T]()

    async def ask_one(client: ChatCompletionClient) -> T | str:
        """The answer of one client, or why it gave none."""
        takes_data, answer.was_too_long = reads_requests(client), False
        asked, form = list(messages), _schema_of(client, answer_type)
        loose: dict[str, Any] = {"json_output": True} if client.model_info["json_output"] else {}
        if form is None:
            asked, form = _with_schema(asked, answer_type), loose
        if request is not None and takes_data:
            form = {**form, "extra_create_args": {REQUEST: request}}
        lookups = MAX_LOOKUPS if aids and client.model_info.get("function_calling") and not takes_data else 0
        offered: dict[str, Any] = {"tools": aids.tools} if aids and lookups else {}
        attempts, refusals = 0, 2  # refusals: of the schema, and of JSON
        while attempts < ATTEMPTS:
            try:
                result = await client.create(asked, **form, **offered, cancellation_token=cancellation_token)
            except Exception as error:  # noqa: BLE001  clients raise whatever their libraries raise
                why = provider_error_line(error)
                is_of_form = "response_format" in form.get("extra_create_args", {}) or bool(form.get("json_output"))
                is_about_form = any(word in why.lower() for word in ("schema", "response_format", "grammar"))
                if not (refusals and is_of_form and is_about_form and why.startswith(("400 ", "422 "))):
                    answer.was_too_long = any(words in why.lower() for words in _TOO_LONG)
                    return f"the model did not answer ({why})"
                refusals -= 1
                if form.get("json_output") is True:
                    form = {}
                else:
                    asked, form = _with_schema(asked, answer_type), loose
                continue
            add_usage(answer.usage, result.usage)
            if aids and lookups and isinstance(result.content, list):
                asked += await aids.use(result.content, cancellation_token)
                lookups -= 1
                offered = offered if lookups else {**offered, "tool_choice": "none"}
                continue
            attempts += 1
            if refusal := refusal_in(result):
                answer.was_too_long = False
                return refusal
            said = result.content if isinstance(result.content, str) else ""
            given, problem = _read(said, answer_type)
            problem = check(given) if given is not None else problem
            if given is not None and problem is None:
                return given
            answer.was_too_long = result.finish_reason == "length"
            flaw = f"That is not valid: {problem}."
            if answer.was_too_long:
                flaw = "That was cut off at the limit of an answer's length: say less."
            asked += [
                AssistantMessage(content=said[:MAX_SHOWN_BACK] or "(empty)", source="assistant"),
                UserMessage(content=f"{flaw} Answer again, with the JSON alone.", source="user"),
            ]
        cut = ", cut off at the limit of an answer's length" if answer.was_too_long else ""
        return f"the model gave no valid {answer_type.__name__} in {ATTEMPTS} attempts{cut}"

    for client in clients:
        given = await ask_one(client)
        if not isinstance(given, str):
            answer.given, answer.by = given, client
            break
        _log.warning("%s: %s", analyst_name(client), given)
        answer.failures.append(given)
    return answer


def ask_to_mend(things: str, refused: Iterable[tuple[str, BaseModel]], agent: str) -> UserMessage:
    """What an agent adds to a request where parts of the answer don't stand: each with the reason."""
    lines = [f"- {reason}: {each.model_dump_json()}" for reason, each in refused]
    asked = f"These {things} don't stand. Mend them from their records or leave them out; give only these:"
    return UserMessage(content="\n".join([asked, *lines]), source=agent)


def _schema_of(client: ChatCompletionClient, answer_type: type[BaseModel]) -> dict[str, Any] | None:
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
    named = {"name": answer_type.__name__, "strict": True, "schema": strict(schema) if server == "strict" else schema}
    return {"extra_create_args": {"response_format": {"type": "json_schema", "json_schema": named}}}


def _with_schema(messages: Sequence[LLMMessage], answer_type: type[BaseModel]) -> list[LLMMessage]:
    """The messages with a schema in words: in the system prompt, which providers keep, and named again at the end."""
    schema = json.dumps(answer_type.model_json_schema(), separators=(",", ":"))
    words = f"Answer with one JSON object of this schema, and nothing else:\n{schema}"
    first, *rest = messages
    if not isinstance(first, SystemMessage):
        return [*messages, UserMessage(content=words, source="user")]
    system = SystemMessage(content=f"{first.content}\n\n{words}")
    return [system, *rest, UserMessage(content="Answer with the JSON object alone.", source="user")]


def _read(said: str, answer_type: type[T]) -> tuple[T | None, str | None]:
    """The first JSON in an answer that is of the type, or what is wrong with the last."""
    problem = "no JSON object"
    if len(said) > MAX_ANSWER:
        return None, f"longer than {MAX_ANSWER:,} characters"
    for found in _objects_in(without_thoughts(said)):
        try:
            return answer_type.model_validate(found), None
        except ValidationError as error:
            problem = "; ".join(
                f"{'.'.join(map(str, item['loc'])) or 'answer'}: {item['msg']}"
                for item in error.errors(include_url=False, include_input=False)[:5]
            )
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
    for tag in ("think", "thinking", "reasoning"):
        text = text.rpartition(f"</{tag}>")[2].partition(f"<{tag}>")[0]
    return text.strip()


def provider_error_line(error: BaseException) -> str:
    """Why a model did not answer, in a line: the provider's own words without keys, else the kind of failure.

    >>> provider_error_line(TimeoutError())
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


def refusal_in(result: CreateResult) -> str | None:
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


def analyst_name(client: Any) -> str:
    """What reports call a model."""
    return str(getattr(client, "display_name", None) or model_name(client) or type(client).__name__)


def prompt(file: str) -> str:
    """The text of a prompt, such as `judge.md`: prompts stand as Markdown files beside the agents that use them."""
    return resources.files("willowbark.agents").joinpath(file).read_text(encoding="utf-8").strip()
