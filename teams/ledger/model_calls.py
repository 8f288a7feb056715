"""A model client whose answers the ledger keeps: what was asked before in a run is answered from there."""

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from itertools import groupby
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from willowbark.agents.asking import (
    REQUEST,
    ModelUnavailable,
    analyst_name,
    provider_error_line,
    reads_requests,
    written_calls,
)
from willowbark.agents.asking.batches import present_place
from willowbark.agents.asking.drafts import strict
from willowbark.agents.autogen import (
    CancellationToken,
    ChatCompletionCache,
    ChatCompletionClient,
    CreateResult,
    InMemoryStore,
    LLMMessage,
    RequestUsage,
    Tool,
    ToolSchema,
    UserMessage,
    openai_server,
)
from willowbark.agents.baseline.client import CHARACTERS_PER_TOKEN
from willowbark.teams.run.budget import Budget
from willowbark.tools.enclosure import without_embedded

from .journal import Journal

_CLOCK = re.compile(r'(?<!\\)\\*"asked_at\\*": ?\\*"[^"\\]*\\*"')
ANSWERS = 4  # part of a context that is left to the answer, as a divisor
TOKENS_A_LETTER = 2  # of any script, at most on the average of a text
MOST_UNSEEN_SENT = 2_000  # tokens that a server's template puts around a prompt
MOST_THOUGHTS = 131_072  # tokens of an answer that nobody sees, and that are billed
MAX_CALLS = 40  # tools that one answer may call; a model that is lost calls hundreds
_SANDBOX = re.compile(r"http://(127\.0\.0\.1|localhost|\[::1\])(:\d+)?")
_MARKER = re.compile(r"(</?records )[0-9a-f]{16}>")


class JournaledClient(ChatCompletionCache):
    """A model client that answers from a run's journal what the run asked before, within a budget.

    Two requests count as the same when they differ only in what belongs to the moment: the marker of records, the time
    of a search, a sandbox's address, and who of those that spoke side by side was heard first; what is said twice, in
    words and as data, counts once.

    Args:
        client: the model itself.
        budget: asked before every call.
        journal: the run's; None keeps to the budget alone.
        model: its name.
        stop: the run's; once it is cancelled, nothing is asked any more.
        context_tokens: of prompt and answer together; a prompt that leaves no room for an answer is not asked. None
            leaves it to the model's server to refuse.
        streams: whether answers are taken piece by piece.
    """

    def __init__(
        self,
        client: ChatCompletionClient,
        budget: Budget,
        journal: Journal | None,
        model: str,
        stop: CancellationToken | None = None,
        *,
        context_tokens: int | None = None,
        streams: bool = False,
    ) -> None:
        super().__init__(client, InMemoryStore())  # which stays empty: the journal is what remembers
        self.display_name = analyst_name(client)
        self.reads_requests = reads_requests(client)
        self._budget = budget
        self._model = model
        self._journal = journal
        self._stop = stop
        self._context_tokens = context_tokens
        self._streams = streams and not self.reads_requests

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
        """Answer from the journal, or ask the model and commit its answer, or its failure.

        Raises:
            BudgetExceeded: nothing is left for another call.
            ModelUnavailable: the prompt is too long, or the run met a failure here before.
            CancelledError: the run was stopped; AutoGen hands out turns that were due even then.
        """
        if self._stop is not None and self._stop.is_cancelled():
            raise asyncio.CancelledError
        journal, extra, place = self._journal, extra_create_args or {}, present_place.get()
        key = request_key(messages, tools, json_output, extra)
        if journal is not None and (known := _answer_in(journal, key)) is not None:
            known.cached = True
            in_batch = isinstance(known, BatchedResult) and not known.unanswered
            self._budget.used(known.usage, self._model, in_batch=in_batch)
            if place is not None and isinstance(known, BatchedResult):
                place.settle(known.usage, known.unanswered)
            return known
        first = place if place is not None and place.is_open else None
        if first is not None:
            first.key = key
            if journal is not None:
                first.batch, first.keep = journal.find_batch(key), partial(journal.keep_batch, key)
        arguments: dict[str, Any] = {"tools": tools, "json_output": json_output, "extra_create_args": extra}
        arguments |= {"tool_choice": tool_choice, "cancellation_token": cancellation_token}
        most = self._context_tokens
        if most is not None and (tokens := _estimate_tokens(messages, arguments)) > most - most // ANSWERS:
            reason = f"its context length of {most:,} tokens has no room for a prompt of about {tokens:,}"
            raise ModelUnavailable(reason)
        if journal is not None and (failure := journal.find_model_failure(key)):
            kind, unanswered = failure
            if first is not None:
                first.unanswered = unanswered
            self._budget.failed(kind)
            raise ModelUnavailable(kind)
        try:
            self._budget.check()
            result = await self._ask(messages, arguments, streams=self._streams and first is None)
        except Exception as error:
            self._budget.failed(provider_error_line(error))
            if journal is not None:
                journal.keep_model_failure(key, provider_error_line(error), first.unanswered if first else "")
            raise
        answer = _with_calls(result, arguments)
        answer.usage = _bounded(answer, messages, arguments)
        in_batch = first is not None and first.was_answered
        if first is not None and (in_batch or first.unanswered):
            answer = BatchedResult(**dict(answer), unanswered=first.unanswered)
            first.settle(answer.usage, first.unanswered)
        if journal is not None:
            cost = self._budget.prices.cost_usd(answer.usage, self._model, in_batch=in_batch)
            journal.keep_answer(key, self._model, answer, answer.usage, cost)
        self._budget.used(answer.usage, self._model, in_batch=in_batch)
        return answer

    async def _ask(
        self, messages: Sequence[LLMMessage], arguments: Mapping[str, Any], *, streams: bool
    ) -> CreateResult:
        """What the model says, in one piece, or united from its pieces."""
        if not streams:
            return await self.client.create(messages, **arguments)
        if openai_server(self.client) is not None:  # else it counts no tokens of a stream
            extra = {**arguments["extra_create_args"], "stream_options": {"include_usage": True}}
            arguments = {**arguments, "extra_create_args": extra}
        text, result = list[str](), None
        async with aclosing(self.client.create_stream(messages, **arguments)) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    text.append(piece)
                else:
                    result = piece
        if result is None:
            raise ModelUnavailable("the stream of its answer ended early")
        return result if result.content else result.model_copy(update={"content": "".join(text)})

    async def create_stream(self, *arguments: Any, **options: Any) -> AsyncGenerator[str | CreateResult, None]:
        """Answer as a stream of one piece, from the journal where it holds the answer."""
        result = await self.create(*arguments, **options)
        if isinstance(result.content, str):
            yield result.content
        yield result


class BatchedResult(CreateResult):
    """An answer to a prompt that was sent in a batch: at its price, where the batch gave it."""

    in_batch: Literal[True] = True
    unanswered: str = ""
    """Why the batch gave none, and the prompt was asked alone."""


def _answer_in(journal: Journal, key: str) -> CreateResult | None:
    content = journal.find_answer(key)
    try:
        if content is None:
            return None
        return (BatchedResult if content.get("in_batch") else CreateResult).model_validate(content)
    except ValidationError:
        return None


def _with_calls(result: CreateResult, arguments: Mapping[str, Any]) -> CreateResult:
    """An answer with the calls that a model wrote as text, and no more than `MAX_CALLS`."""
    called = result.content
    if isinstance(called, str) and arguments["tools"] and arguments["tool_choice"] != "none":
        called = written_calls(called, [_schema(tool)["name"] for tool in arguments["tools"]])
    if isinstance(called, str) or not called:
        return result
    return result.model_copy(update={"content": called[:MAX_CALLS], "finish_reason": "function_calls"})


def _bounded(answer: CreateResult, messages: Sequence[LLMMessage], arguments: Mapping[str, Any]) -> RequestUsage:
    """The tokens that a server tells, as far as what was sent and received can have so many, thoughts included."""
    sent = _estimate_tokens(messages, arguments) * CHARACTERS_PER_TOKEN
    received = len(answer.content if isinstance(answer.content, str) else str(answer.content))
    told = answer.usage
    return RequestUsage(
        prompt_tokens=min(max(told.prompt_tokens, 0), TOKENS_A_LETTER * sent + MOST_UNSEEN_SENT),
        completion_tokens=min(max(told.completion_tokens, 0), TOKENS_A_LETTER * received + MOST_THOUGHTS),
    )


def _estimate_tokens(messages: Sequence[LLMMessage], arguments: Mapping[str, Any]) -> int:
    """About how many tokens a prompt has, with its tools and schema."""
    form = arguments["json_output"]
    schema = form.model_json_schema() if isinstance(form, type) else None  # type: ignore[attr-defined]
    schema = schema or arguments["extra_create_args"].get("response_format")
    offered = json.dumps([schema, *map(_schema, arguments["tools"])])
    said = (each.content if isinstance(each.content, str) else str(each.content) for each in messages)
    return (len(offered) + sum(map(len, said))) // CHARACTERS_PER_TOKEN


def _schema(tool: Tool | ToolSchema) -> ToolSchema:
    return tool.schema if isinstance(tool, Tool) else tool


def request_key(
    messages: Sequence[LLMMessage],
    tools: Sequence[Tool | ToolSchema],
    json_output: bool | type[BaseModel] | None,
    extra_create_args: Mapping[str, Any],
) -> str:
    """Hash of what a model is asked, the same for every life of a run."""
    schema = json_output.model_json_schema() if isinstance(json_output, type) else None
    if "response_format" in extra_create_args:  # the same, as OpenAI's client is handed it
        schema = extra_create_args["response_format"]["json_schema"]["schema"]
    content = {
        "messages": list(_sort_messages(messages)),
        "tools": [_schema(tool) for tool in tools],
        "json_output": json_output if schema is None else strict(schema),
        "typed": schema is not None,
        "extra": {name: value for name, value in extra_create_args.items() if name not in (REQUEST, "response_format")},
    }
    text = json.dumps(content, sort_keys=True, default=str, ensure_ascii=False)
    text = _SANDBOX.sub("", _MARKER.sub(r"\1>", _CLOCK.sub("", text)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _sort_messages(messages: Sequence[LLMMessage]) -> Iterator[dict[str, Any]]:
    """The messages, with those that came side by side sorted: which one was first is chance."""
    for by_users, group in groupby(messages, key=lambda message: isinstance(message, UserMessage)):
        dumped = [message.model_dump(mode="json") for message in group]
        if by_users:
            for each in dumped:
                if isinstance(each["content"], str):
                    each["content"] = without_embedded(each["content"])
            dumped.sort(key=lambda each: json.dumps(each, sort_keys=True))
        yield from dumped
