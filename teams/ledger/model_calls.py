"""A model client whose answers the ledger records: repeated requests of a run are answered from there."""

import asyncio
import hashlib
import json
import math
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, Protocol

from pydantic import BaseModel

from willowbark.agents.asking import (
    REQUEST,
    ModelUnavailable,
    describe_provider_error,
    find_written_calls,
    name_analyst,
    reads_requests,
)
from willowbark.agents.asking.batches import present_place
from willowbark.agents.asking.drafts import make_strict
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
)
from willowbark.agents.baseline.client import CHARACTERS_PER_TOKEN
from willowbark.teams.budget import Budget
from willowbark.tools.records.enclosure import without_embedded

from .journal import Journal

_CLOCK = re.compile(r'(?<!\\)\\*"asked_at\\*": ?\\*"[^"\\]*\\*"')
ANSWERS = 4  # divisor: this part of a context is reserved for the answer
MOST_TOKENS = 10_000_000  # of one prompt or answer: a ledger holds no integer of any size that a server may tell
MAX_CALLS = 40  # tool calls of one answer; a confused model makes hundreds
_MARKER = re.compile(r"(</?records )[0-9a-f]{16}>")


class Batches(Protocol):
    """Keeps in which batch of the provider's a prompt was sent, by the prompt's hash."""

    def find_batch(self, request: str) -> str | None: ...
    def keep_batch(self, request: str, batch: str) -> None: ...


class JournaledClient(ChatCompletionCache):
    """A model client that answers repeated requests from a run's journal, within a budget.

    Requests count as the same if they differ only in incidental parts: the marker of records, the time of a search, and
    the order of agents that worked in parallel. Content sent both as words and as data counts once.

    Args:
        client: the wrapped client.
        budget: checked before every call.
        journal: the run's; None applies only the budget.
        model: its name.
        stop: the run's token; once it is cancelled, no further call is made.
        context_tokens: of prompt and answer together; a prompt that leaves no room for an answer is not sent. None
            leaves it to the model's server to refuse.
        batches: keeps in which batch a prompt was sent; None takes the journal.
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
        batches: "Batches | None" = None,
    ) -> None:
        super().__init__(client, InMemoryStore())  # stays empty: the journal holds the answers
        self.display_name = name_analyst(client)
        self.reads_requests = reads_requests(client)
        self._budget = budget
        self._model = model
        self._journal = journal
        self._stop = stop
        self._context_tokens = context_tokens
        self._batches = batches or journal

    def _check_length(
        self, messages: Sequence[LLMMessage], tools: Sequence[Tool | ToolSchema], form: Any, extra: Mapping[str, Any]
    ) -> None:
        """Raise `ModelUnavailable` for a prompt that leaves no room for an answer."""
        most = self._context_tokens
        if most is None:
            return
        tokens = _estimate_tokens(messages, tools, form, extra)
        if tokens > most - most // ANSWERS:
            reason = f"its context length of {most:,} tokens has no room for a prompt of about {tokens:,}"
            raise ModelUnavailable(reason)

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        """Answer from the journal, or ask the model and commit its answer, or its failure.

        Raises:
            BudgetExceeded: the budget allows no further call.
            ModelUnavailable: the prompt is too long, or this request failed before in the run.
            CancelledError: the run was stopped; AutoGen still starts turns that were due.
        """
        if self._stop is not None and self._stop.is_cancelled():
            raise asyncio.CancelledError
        journal = self._journal
        place = present_place.get()
        tools = options.get("tools", ())
        form = options.get("json_output")
        extra = options.get("extra_create_args", {})
        key = request_key(messages, tools, form, extra)
        content = journal.find_answer(key) if journal is not None else None
        if content is not None:
            recorded = RecordedResult.model_validate(content | {"cached": True})
            self._budget.used(recorded.usage, self._model, in_batch=recorded.in_batch)
            if place is not None and (recorded.in_batch or recorded.unanswered):
                place.settle(recorded.usage, recorded.unanswered)
            return recorded
        first = place if place is not None and place.is_open else None
        if first is not None:
            first.key = key
            if self._batches is not None:
                first.batch = self._batches.find_batch(key)
                first.keep = partial(self._batches.keep_batch, key)
        self._check_length(messages, tools, form, extra)
        failure = journal.next_failure(key) if journal is not None else None
        if failure:
            kind, _, unanswered = failure
            if first is not None:
                first.unanswered = unanswered
            self._budget.failed(kind)
            raise ModelUnavailable(kind)
        try:
            self._budget.check()
            with self._budget.waiting():
                result = await self.client.create(messages, **options)
        except Exception as error:
            self._budget.failed(describe_provider_error(error))
            if journal is not None:
                journal.keep_failure(key, describe_provider_error(error), reason=first.unanswered if first else "")
            raise
        answer = _make_recorded(result, () if options.get("tool_choice") == "none" else tools)
        if first is not None and (first.was_answered or first.unanswered):
            answer.in_batch = first.was_answered
            answer.unanswered = first.unanswered
            first.settle(answer.usage, first.unanswered)
        if journal is not None:
            cost = self._budget.prices.cost_usd(answer.usage, self._model, in_batch=answer.in_batch)
            journal.keep_answer(key, self._model, answer, answer.usage, cost)
        self._budget.used(answer.usage, self._model, in_batch=answer.in_batch)
        return answer

    async def create_stream(self, *arguments: Any, **options: Any) -> AsyncGenerator[str | CreateResult, None]:
        """Answer as a stream of one piece, from the journal if it holds the answer."""
        result = await self.create(*arguments, **options)
        if isinstance(result.content, str):
            yield result.content
        yield result


class RecordedResult(CreateResult):
    """An answer, and whether the provider's batch gave it, which halves its price."""

    in_batch: bool = False
    unanswered: str = ""
    """Why the batch gave no answer, so that the prompt was sent alone."""


def _make_recorded(result: CreateResult, tools: Sequence[Tool | ToolSchema]) -> RecordedResult:
    """Take calls of tools that a model wrote as text for calls; bound their number, and counts of tokens."""
    answer = RecordedResult(**dict(result))
    usage = result.usage
    counts = map(_bound_count, (usage.prompt_tokens, usage.completion_tokens))
    answer.usage = RequestUsage(*counts)
    called = answer.content
    if isinstance(called, str) and tools:
        called = find_written_calls(called, [_get_schema(tool)["name"] for tool in tools])
    if called and not isinstance(called, str):
        answer.content = called[:MAX_CALLS]
        answer.finish_reason = "function_calls"
    return answer


def _bound_count(count: float) -> int:
    """Return a server's count of tokens within bounds; 0 for what is no number, such as NaN."""
    if not isinstance(count, int | float) or math.isnan(count):
        return 0
    return int(min(max(count, 0), MOST_TOKENS))


def _estimate_tokens(
    messages: Sequence[LLMMessage], tools: Sequence[Tool | ToolSchema], form: Any, extra: Mapping[str, Any]
) -> int:
    """Estimate the tokens of a prompt with its tools and schema."""
    schema = form.model_json_schema() if isinstance(form, type) else extra.get("response_format")  # type: ignore[attr-defined]
    offered = json.dumps([schema, *map(_get_schema, tools)])
    contents = (message.content if isinstance(message.content, str) else str(message.content) for message in messages)
    return (len(offered) + sum(map(len, contents))) // CHARACTERS_PER_TOKEN


def _get_schema(tool: Tool | ToolSchema) -> ToolSchema:
    return tool.schema if isinstance(tool, Tool) else tool


def request_key(
    messages: Sequence[LLMMessage],
    tools: Sequence[Tool | ToolSchema],
    json_output: bool | type[BaseModel] | None,
    extra_create_args: Mapping[str, Any],
) -> str:
    """Hash a request to a model, to the same value in every resume of a run."""
    schema = json_output.model_json_schema() if isinstance(json_output, type) else None
    if "response_format" in extra_create_args:  # the same schema, in the form that OpenAI's client takes
        schema = extra_create_args["response_format"]["json_schema"]["schema"]
    content = {
        "messages": list(_sort_messages(messages)),
        "tools": [_get_schema(tool) for tool in tools],
        "json_output": json_output if schema is None else make_strict(schema),
        "typed": schema is not None,
        "extra": {name: value for name, value in extra_create_args.items() if name not in (REQUEST, "response_format")},
    }
    text = json.dumps(content, sort_keys=True, default=str, ensure_ascii=False)
    text = _MARKER.sub(r"\1>", _CLOCK.sub("", text))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _sort_messages(messages: Sequence[LLMMessage]) -> Iterator[dict[str, Any]]:
    """Yield the messages, sorting those of agents in parallel, whose order is random."""
    for by_users, group in groupby(messages, key=lambda message: isinstance(message, UserMessage)):
        dumped = [message.model_dump(mode="json") for message in group]
        if by_users:
            for dump in dumped:
                if isinstance(dump["content"], str):
                    dump["content"] = without_embedded(dump["content"])
            dumped.sort(key=lambda dump: json.dumps(dump, sort_keys=True))
        yield from dumped
