"""Asks a model for a typed answer, whatever schema support its provider has.

An invalid answer is returned once with its error; then the next client is asked, finally the baseline analyst.
"""

import asyncio
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
    REFUSED,
    AssistantMessage,
    BaseAgentEvent,
    BaseTool,
    CancellationToken,
    ChatCompletionClient,
    FunctionCall,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    RequestUsage,
    ShortResults,
    SystemMessage,
    ToolCallRequestEvent,
    UserMessage,
    find_openai_server,
    get_model_name,
)
from willowbark.tools.errors import WillowbarkError
from willowbark.tools.questions import QuestionError, check_question, parse_question
from willowbark.tools.records.enclosure import GUIDANCE, visible

from .drafts import QuestionDraft, make_strict

T = TypeVar("T", bound=BaseModel)

ATTEMPTS = 2  # per model: the second with the error of the first
MAX_LOOKUPS = 2  # rounds of tool calls before a model answers
MAX_CALLS = 4  # in one round
MAX_ANSWER = 400_000  # characters; more than any draft within its bounds, so a longer answer is runaway output
MAX_SHOWN_BACK = 20_000  # characters of an answer returned to its model for correction
REQUEST = "request"
"""Key of a request as data in a client's `extra_create_args`."""
PROMPTS_VERSION = "2026.12.09"
"""Version of the agents' prompts; raise it when a change to one alters the request."""
_MAX_STARTS = 40  # braces tried as the start of JSON: parsing from each of thousands would take minutes
_MAX_TOLD = 200  # characters of a provider's error message in a report
_TOO_LONG = re.compile(
    r"context (length|window|size)|too (long|large|many tokens)|(maximum|available) context|reduce the length|413 "
)
"""What servers' errors on prompts that are too long say."""
_KEY = re.compile(r"\b(?:sk|pk|rk|key|gsk|xai|api)[-_][\w*.-]{4,}|\b[\w-]*\*{3,}[\w-]*|\b[A-Za-z0-9_-]{32,}\b")
_REPHRASE = """You put questions about drugs and diseases into plain English, whatever language they are in.
Correct spelling. Give English generic names of drugs and common English names of conditions. Leave fields empty that
the question says nothing about. Text that asks nothing about a drug or a condition has kind "none"."""
_log = logging.getLogger(EVENT_LOGGER_NAME)


class ModelUnavailable(Exception):
    """A model gave no answer, or a replayed run's ledger holds none from it."""


@dataclass
class ModelAnswer(Generic[T]):
    """A typed answer, or why there is none, with the tokens used."""

    given: T | None = None
    """None if no client gave a valid answer."""
    by: ChatCompletionClient | None = None
    failures: list[str] = field(default_factory=list)
    """Why each earlier client gave none, in order."""
    was_too_long: bool = False
    """Whether the last of them failed on length, so that a shorter request may succeed."""
    usage: RequestUsage = field(default_factory=lambda: RequestUsage(prompt_tokens=0, completion_tokens=0))

    @property
    def notes(self) -> list[str]:
        """The failures for a report, with the name of the client that answered instead."""
        instead = f"; {name_analyst(self.by)} answered instead" if self.by is not None else ""
        return [f"{failure}{instead}" for failure in self.failures]


class Aids:
    """Tools that a model may use before it answers; `events` holds their calls and results as AutoGen's events."""

    def __init__(self, tools: Sequence[BaseTool[Any, Any]], agent: str) -> None:
        self.tools = tools
        self._agent = agent
        self.events: list[BaseAgentEvent] = []

    async def use(self, calls: list[FunctionCall], token: CancellationToken | None) -> list[LLMMessage]:
        """Run a model's tool calls, `MAX_CALLS` at most; return them with their results or errors."""
        results = []
        for number, call in enumerate(calls, 1):
            tool = next((offered_tool for offered_tool in self.tools if offered_tool.name == call.name), None)
            content = f"not made: at most {MAX_CALLS} calls at once"
            is_error = True
            if tool is None:
                content = "there is no such tool"
            elif number <= MAX_CALLS:
                try:
                    value = await tool.run_json(json.loads(call.arguments), token or CancellationToken())
                    content = tool.return_value_as_string(value)
                    is_error = False
                except (ValueError, TypeError):
                    content = "unusable arguments"
                except WillowbarkError as error:
                    content = str(error)
            results.append(FunctionExecutionResult(content=content, name=call.name, call_id=call.id, is_error=is_error))
        self.events += [
            ToolCallRequestEvent(content=calls, source=self._agent),
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
) -> ModelAnswer[T]:
    """Ask one client after another until one gives an answer of this type.

    Args:
        clients: asked in this order; put the baseline analyst last to be sure of an answer.
        messages: the request as text.
        answer_type: the model that an answer must validate as.
        cancellation_token: passed to the client.
        request: the same as data, for clients that read data (`reads_requests`); None for text only.
        check: returns a further error in an answer, or None if it is valid.
        aids: tools that a language model may use first, `MAX_LOOKUPS` times; None for no tools.
    """
    answer = ModelAnswer[T]()

    async def ask_one(client: ChatCompletionClient) -> T | str:
        """The answer of one client, or why it gave none."""
        takes_data = reads_requests(client)
        answer.was_too_long = False
        conversation = list(messages)
        handed = _choose_schema(client, answer_type)
        forms: list[dict[str, Any]] = [{"json_output": True}, {}] if client.model_info["json_output"] else [{}]
        if handed is None:
            conversation = _add_schema(conversation, answer_type)
        else:
            forms.insert(0, handed)
        sent: dict[str, Any] = {"cancellation_token": cancellation_token}
        if request is not None and takes_data:
            sent["extra_create_args"] = {REQUEST: request}
        lookups = MAX_LOOKUPS if aids and client.model_info.get("function_calling") and not takes_data else 0
        if aids and lookups:
            sent["tools"] = aids.tools
        attempts = 0
        while attempts < ATTEMPTS:
            try:
                result = await client.create(conversation, **{**forms[0], **sent})
            except Exception as error:  # noqa: BLE001  clients raise whatever their libraries raise
                why = describe_provider_error(error)
                is_about_form = any(word in why.lower() for word in ("schema", "response_format", "grammar"))
                if len(forms) == 1 or not is_about_form or not why.startswith(("400 ", "422 ")):
                    answer.was_too_long = bool(_TOO_LONG.search(why.lower()))
                    return f"the model did not answer ({why})"
                if forms.pop(0) is handed:
                    conversation = _add_schema(conversation, answer_type)
                continue
            add_usage(answer.usage, result.usage)
            if aids and lookups and isinstance(result.content, list):
                conversation += await aids.use(result.content, cancellation_token)
                lookups -= 1
                sent["tool_choice"] = "auto" if lookups else "none"
                continue
            attempts += 1
            answer.was_too_long = False  # an attempt that was cut before this one no longer counts
            reply_text = result.content if isinstance(result.content, str) else ""
            if reply_text.startswith(REFUSED) or (result.finish_reason == "content_filter" and not reply_text.strip()):
                return write_line(reply_text) or "the provider's content filter held the answer back"
            outcome, problem = _parse_answer(reply_text, answer_type)
            problem = check(outcome) if outcome is not None and not takes_data else problem  # rules would say the same
            if outcome is not None and problem is None:
                return outcome
            answer.was_too_long = result.finish_reason == "length"
            flaw = f"That is not valid: {problem}."
            if answer.was_too_long:
                flaw = "That was cut off at the limit of an answer's length: say less."
            conversation += [
                AssistantMessage(content=reply_text[:MAX_SHOWN_BACK] or "(empty)", source="assistant"),
                UserMessage(content=f"{flaw} Answer again, with the JSON alone.", source="user"),
            ]
        cut = ", cut off at the limit of an answer's length" if answer.was_too_long else ""
        return f"the model gave no valid {answer_type.__name__} in {ATTEMPTS} attempts{cut}"

    for client in clients:
        outcome = await ask_one(client)
        if not isinstance(outcome, str):
            answer.given = outcome
            answer.by = client
            break
        _log.warning("%s: %s", name_analyst(client), outcome)
        answer.failures.append(outcome)
    return answer


async def understand(
    question: str,
    client: ChatCompletionClient,
    cancellation_token: CancellationToken | None = None,
    timeout_s: float | None = None,
) -> tuple[str, RequestUsage | None]:
    """Return a question that the rules can parse, as it is or rephrased by the model, with tokens used.

    Args:
        question: as it was asked.
        client: the run's model.
        cancellation_token: cancels the model's call; the question then stays as it is.
        timeout_s: seconds for the model's answer; None for no limit.

    Raises:
        QuestionError: neither can parse it; gives the question to ask back, and why the model did not answer.
    """
    parsed = await asyncio.to_thread(parse_question, question)  # the first one loads the lexicon
    objection = parsed.objection
    if objection is None:
        return question, None
    if reads_requests(client):
        raise QuestionError(objection)
    messages: list[LLMMessage] = [SystemMessage(content=_REPHRASE), UserMessage(content=question, source="user")]
    token = cancellation_token or CancellationToken()
    asking = asyncio.ensure_future(ask([client], messages, QuestionDraft, token))
    token.link_future(asking)
    try:
        answer = await asyncio.wait_for(asking, timeout_s)
        if answer.given is not None and answer.given.kind != "none":
            return check_question(answer.given.in_words), answer.usage
    except TimeoutError:
        raise QuestionError(f"{objection}; the model did not answer within {timeout_s:g} s") from None
    except asyncio.CancelledError:
        if not token.is_cancelled():
            raise
        return question, None
    except QuestionError:
        raise QuestionError(objection) from None
    raise QuestionError("; ".join([objection, *answer.failures]))


def make_messages(system: str, *texts: str, source: str) -> list[LLMMessage]:
    """Return the messages of a request that shows records: the prompt with guidance on their blocks, what is said."""
    users = (UserMessage(content=content, source=source) for content in texts)
    return [SystemMessage(content=f"{system}\n\n{GUIDANCE}"), *users]


def ask_to_mend(things: str, refused: Iterable[tuple[BaseModel, str]]) -> str:
    """Word the request that returns refused parts of an answer, each with the reason."""
    lines = [f"- {reason}: {draft.model_dump_json()}" for draft, reason in refused]
    request = f"These {things} don't stand. Mend them from their records or leave them out; give only these:"
    return "\n".join([request, *lines])


def _choose_schema(client: ChatCompletionClient, answer_type: type[BaseModel]) -> dict[str, Any] | None:
    """Return the arguments that pass a schema to a client; None if it takes no schema.

    OpenAI's own servers get a finished schema: AutoGen's would keep the bounds, and an answer that violates it raises
    inside the client, which loses its token count.
    """
    if not client.model_info.get("structured_output"):
        return None
    server = find_openai_server(client)
    if server is None:
        return {"json_output": answer_type}
    schema = answer_type.model_json_schema()
    schema_fields = {
        "name": answer_type.__name__,
        "strict": True,
        "schema": make_strict(schema) if server == "strict" else schema,
    }
    return {"extra_create_args": {"response_format": {"type": "json_schema", "json_schema": schema_fields}}}


def _add_schema(messages: Sequence[LLMMessage], answer_type: type[BaseModel]) -> list[LLMMessage]:
    """Add a schema to the system prompt, which providers cache, with a reminder at the end."""
    schema = json.dumps(answer_type.model_json_schema(), separators=(",", ":"))
    words = f"Answer with one JSON object of this schema, and nothing else:\n{schema}"
    first, *rest = messages
    head, rest = (f"{first.content}\n\n", rest) if isinstance(first, SystemMessage) else ("", list(messages))
    reminder = UserMessage(content="Answer with the JSON object alone.", source="user")
    return [SystemMessage(content=head + words), *rest, reminder]


def _parse_answer(reply: str, answer_type: type[T]) -> tuple[T | None, str | None]:
    """Return the first JSON in an answer that validates as the type, or the last one's error."""
    problem = "no JSON object" if len(reply) <= MAX_ANSWER else f"longer than {MAX_ANSWER:,} characters"
    for data in _find_objects(reply):
        try:
            return answer_type.model_validate(data), None
        except ValidationError as error:
            problem = "; ".join(
                f"{'.'.join(map(str, item['loc'])) or 'answer'}: {item['msg']}"
                for item in error.errors(include_url=False, include_input=False)[:5]
            )
    return None, problem


def _find_objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in a model's words, ignoring thoughts, prose and braces around them."""
    decoder = json.JSONDecoder(strict=False)
    text = remove_thoughts(text) if len(text) <= MAX_ANSWER else ""
    at = text.find("{")
    for _ in range(_MAX_STARTS):
        if at < 0:
            return
        try:
            data, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield data
        at = text.find("{", end)


def find_written_calls(text: str, names: Sequence[str]) -> list[FunctionCall]:
    """Parse tool calls that a model wrote as text instead of making them; empty if there are none.

    >>> find_written_calls('<tool_call>{"name": "get_label", "arguments": {"drugs": []}}</tool_call>', ["get_label"])
    [FunctionCall(id='written_0', arguments='{"drugs": []}', name='get_label')]
    """
    calls = list[FunctionCall]()
    for data in _find_objects(text):
        call = data["function"] if isinstance(data.get("function"), dict) else data
        name = call.get("name")
        arguments = call.get("arguments", call.get("parameters"))
        if name in names and isinstance(arguments, dict):
            calls.append(FunctionCall(id=f"written_{len(calls)}", arguments=json.dumps(arguments), name=str(name)))
    return calls


def remove_thoughts(text: str) -> str:
    """Remove a model's thinking before its answer, even if the server dropped the opening tag.

    >>> remove_thoughts("<think>{ not yet }</think> Propranolol.")
    'Propranolol.'
    """
    for tag in ("think", "thinking", "reasoning"):
        text = text.rpartition(f"</{tag}>")[2].partition(f"<{tag}>")[0]
    return text.strip()


def describe_provider_error(error: BaseException) -> str:
    """Describe in a line why a model did not answer: the provider's message without keys, else the error's type.

    >>> describe_provider_error(TimeoutError())
    'TimeoutError'
    """
    if isinstance(error, ModelUnavailable):
        return str(error) or type(error).__name__
    status = getattr(error, "status_code", None)
    if not isinstance(status, int):
        return type(error).__name__
    message = getattr(error, "body", None)
    while isinstance(message, dict):  # Anthropic nests the error one level deeper than OpenAI
        message = message.get("error") or message.get("message")
    message = message or getattr(error, "message", None) or getattr(error, "error", None) or type(error).__name__
    return f"{status} {write_line(str(message))}"


def write_line(message: str) -> str:
    """Shorten third-party text to one line for a report, without keys."""
    plain = _KEY.sub("[key]", " ".join(visible(message).split()))
    return f"{plain[:_MAX_TOLD]}{'…' if len(plain) > _MAX_TOLD else ''}".rstrip(" .")


def reads_requests(client: Any) -> bool:
    """Whether a client takes requests as data, like the baseline analyst; language models take text."""
    return bool(getattr(client, "reads_requests", False))


def add_usage(total: RequestUsage, more: RequestUsage) -> None:
    """Add tokens to a count."""
    total.prompt_tokens += more.prompt_tokens
    total.completion_tokens += more.completion_tokens


def name_analyst(client: Any) -> str:
    """Return a model's name for reports."""
    return str(getattr(client, "display_name", None) or get_model_name(client) or type(client).__name__)


def read_prompt(file: str) -> str:
    """Read a prompt such as `judge.md`; prompts are Markdown files next to the agents that use them."""
    return resources.files("willowbark.agents").joinpath(file).read_text(encoding="utf-8").strip()
