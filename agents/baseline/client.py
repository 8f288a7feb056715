"""The baseline analyst as an AutoGen model client: no language model, no network, no key.

It recognises requests by their data (to assess or to report on, tool results, tools, a speaker to name), never by the
agent or the words. Deterministic: equal requests get equal answers.
"""

import ast
import json
import re
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any, Literal, Self

from pydantic import BaseModel

from willowbark.agents.asking import REQUEST, add_usage
from willowbark.agents.assessment import AssessmentRequest, NextSearches
from willowbark.agents.autogen import (
    AssistantMessage,
    CancellationToken,
    ChatCompletionClient,
    Component,
    CreateResult,
    FunctionCall,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelCapabilities,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    Tool,
    ToolSchema,
    UserMessage,
)
from willowbark.agents.findings import make_digest_of_replies
from willowbark.agents.report.writing import DraftRequest
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.questions import follow_up, parse_question, preprocess_query
from willowbark.tools.questions.trials import list_first_queries
from willowbark.tools.records.enclosure import RecordBlock, blocks, extract
from willowbark.tools.records.evidence import checked_identifier
from willowbark.tools.records.registry import gives, select_by_condition
from willowbark.tools.toolbox import MAX_DRUGS, find_input_kind, replies_in

from .assessing import assessment, make_draft

CHARACTERS_PER_TOKEN = 4  # usual estimate for English, so that budgets are comparable to a language model's
CONTEXT_TOKENS = 10_000_000  # no limit: rules read a text of any length
_PARTICIPANTS = re.compile(r"\['\w+'(?:, '\w+')*\]")
"""A list of agents as AutoGen writes it into a selector's prompt, whatever the words around it."""


class BaselineConfig(BaseModel):
    """Settings of the baseline."""

    estimates_tokens: bool = True


class BaselineChatCompletionClient(ChatCompletionClient, Component[BaselineConfig]):
    """Answers what any model of the team is asked, by documented rules.

    Args:
        estimates_tokens: whether answers estimate a language model's tokens, so that budgets are comparable.
    """

    component_type = "model"
    component_config_schema = BaselineConfig
    display_name = "baseline analyst (rules, no language model)"
    reads_requests = True

    def __init__(self, *, estimates_tokens: bool = True) -> None:
        self._estimates_tokens = estimates_tokens
        self._usage = RequestUsage(prompt_tokens=0, completion_tokens=0)

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
        """Answer a request at once.

        Raises:
            ValueError: a typed answer is requested without data under `REQUEST` that the baseline knows.
        """
        request = (extra_create_args or {}).get(REQUEST)
        if isinstance(json_output, type) and not isinstance(request, AssessmentRequest | DraftRequest):
            raise ValueError(f"the baseline analyst cannot answer with {json_output.__name__} from words alone")
        content = choose_answer(request, messages, tools if tool_choice != "none" else ())
        text = content if isinstance(content, str) else json.dumps([call.arguments for call in content])
        usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        if self._estimates_tokens:
            usage = RequestUsage(prompt_tokens=self.count_tokens(messages), completion_tokens=_count_tokens(text))
        add_usage(self._usage, usage)
        reason: Literal["stop", "function_calls"] = "stop" if isinstance(content, str) else "function_calls"
        return CreateResult(finish_reason=reason, content=content, usage=usage, cached=False)

    async def create_stream(
        self, messages: Sequence[LLMMessage], **options: Any
    ) -> AsyncGenerator[str | CreateResult, None]:
        """Answer a request as a stream of one item; arguments as in `create`."""
        result = await self.create(messages, **options)
        if isinstance(result.content, str):
            yield result.content
        yield result

    async def close(self) -> None:
        """Do nothing; there are no connections."""

    def actual_usage(self) -> RequestUsage:
        """Tokens of all requests, estimated at four characters a token."""
        return self._usage

    def total_usage(self) -> RequestUsage:
        """Same as `actual_usage`, as nothing is cached."""
        return self._usage

    def count_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()) -> int:
        """Estimated tokens of messages."""
        return sum(_count_tokens(_get_text(message)) for message in messages)

    def remaining_tokens(self, messages: Sequence[LLMMessage], *, tools: Sequence[Tool | ToolSchema] = ()) -> int:
        """Tokens that could still be sent."""
        return CONTEXT_TOKENS - self.count_tokens(messages)

    @property
    def capabilities(self) -> ModelCapabilities:
        """The baseline's capabilities in AutoGen's older form."""
        return ModelCapabilities(vision=False, function_calling=True, json_output=True)

    @property
    def model_info(self) -> ModelInfo:
        """The baseline's capabilities."""
        return ModelInfo(
            vision=False,
            function_calling=True,
            json_output=True,
            family=ModelFamily.UNKNOWN,
            structured_output=True,
            multiple_system_messages=True,
        )

    def _to_config(self) -> BaselineConfig:
        return BaselineConfig(estimates_tokens=self._estimates_tokens)

    @classmethod
    def _from_config(cls, config: BaselineConfig) -> Self:
        return cls(estimates_tokens=config.estimates_tokens)


def choose_answer(
    request: object, messages: Sequence[LLMMessage], tools: Sequence[Tool | ToolSchema]
) -> str | list[FunctionCall]:
    """Answer a request given as data, else tool results, offered tools, or a selector's prompt."""
    if isinstance(request, AssessmentRequest):
        return assessment(request).model_dump_json()
    if isinstance(request, DraftRequest):
        return make_draft(request).model_dump_json()
    last = messages[-1] if messages else None
    if isinstance(last, FunctionExecutionResultMessage):
        results = [result.content for result in last.content]
        if not tools or any(next(blocks(result), None) for result in results):  # else all calls failed
            replies = list(chain.from_iterable(map(replies_in, results)))
            return make_digest_of_replies(parse_question(_find_latest(messages)[0]), replies, Readings()).as_markdown()
    if tools:
        return choose_calls(messages, tools) or "There is nothing to search for with these tools."
    prompt = _get_text(messages[-1]) if messages else ""
    participants = _PARTICIPANTS.findall(prompt)
    if not participants:
        return "The baseline analyst can only answer research requests."
    speakers: list[str] = ast.literal_eval(participants[-1])  # the first whose latest turn is longest ago speaks
    return min(speakers, key=lambda name: prompt.rfind(f"\n{name}: "))


def _get_text(message: LLMMessage) -> str:
    if isinstance(message, FunctionExecutionResultMessage):
        return "".join(result.content for result in message.content)
    return message.content if isinstance(message.content, str) else str(message.content)


def _count_tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


_NUMBERS = {"pmid": re.compile(r"\bPMID:?\s*(\d+)"), "nct_id": re.compile(r"\bNCT\d{8}\b")}
_CITATIONS = re.compile(r"\bcitations of PMID:?\s*(\d+)", re.IGNORECASE)
"""Matches `citations_query` and variants that people type."""
_FULL_TEXTS = re.compile(r"\bfull texts? of PMID:?\s*(\d+)", re.IGNORECASE)
"""Matches `full_text_query` and variants that people type."""


def _find_latest(messages: Sequence[LLMMessage]) -> tuple[str, NextSearches, list[tuple[FunctionCall, str]]]:
    """Return the user's latest message and, since then, the judge's last queries and the calls with results."""
    text = ""
    next_searches = NextSearches(after_round=0, next_search_queries=[])
    pending = dict[str, FunctionCall]()
    answered = list[tuple[FunctionCall, str]]()
    for message in messages:
        if isinstance(message, UserMessage) and isinstance(message.content, str):
            if message.source == "user":
                text = follow_up([text, message.content])
                answered = []
                next_searches = NextSearches(after_round=0, next_search_queries=[])
                pending.clear()
            elif (later_searches := extract(message.content, NextSearches)) is not None:
                next_searches = later_searches
        elif isinstance(message, AssistantMessage) and not isinstance(message.content, str):
            pending.update((call.id, call) for call in message.content)
        elif isinstance(message, FunctionExecutionResultMessage):
            answered += [(pending.pop(r.call_id), r.content) for r in message.content if r.call_id in pending]
    return text, next_searches, answered


def choose_calls(messages: Sequence[LLMMessage], tools: Sequence[Tool | ToolSchema]) -> list[FunctionCall]:
    """Choose arguments for each offered tool; the same messages give the same calls."""
    text, searches, answered = _find_latest(messages)
    queries = searches.next_search_queries
    question = parse_question(text)
    schemas = [tool if isinstance(tool, dict) else tool.schema for tool in tools]
    ways = {schema["name"]: find_input_kind(schema) for schema in schemas}
    for_conditions = select_by_condition(name.removeprefix("search_") for name in ways) if not queries else ()
    calls: list[FunctionCall] = []
    for schema in schemas:
        name = schema["name"]
        source = name.removeprefix("search_")
        fields = schema.get("parameters", {}).get("properties", {})
        every_call: list[dict[str, Any]] = []
        match ways[name]:
            case "drugs":
                names = question.drugs if not queries else [canonical_drug(query) for query in queries]
                looked_up = _list_looked_up(name, answered)
                drugs = [drug for drug in dict.fromkeys(names) if drug and drug not in looked_up]
                every_call += [{"drugs": drugs[:MAX_DRUGS]}] if drugs else []
            case "numbers":
                every_call += _choose_numbers(text, queries, fields)
            case "citations":
                numbers = chain.from_iterable(map(_CITATIONS.findall, queries or [text]))
                pmids = [number for number in dict.fromkeys(numbers) if checked_identifier("pmid", number)]
                every_call += [{"citations_of": pmid} for pmid in pmids]
            case "conditions":
                conditions = question.conditions or (question.words,)
                if source not in for_conditions:
                    conditions = tuple(condition for condition in conditions if condition in queries)
                for condition in conditions:
                    every_call += _choose_next_pages(name, {"query": condition}, answered, has_pages=False)
            case "queries":
                own_queries = _drop_others(queries, has_drug_tool="drugs" in ways.values())
                if not queries:
                    own_queries = list_first_queries(question, of_trials=gives(source) == "trial")
                for query in own_queries:
                    written = {"query": query if searches.as_written else preprocess_query(query)}
                    every_call += _choose_next_pages(name, written, answered, has_pages="page" in fields)
        for arguments in every_call:
            calls.append(FunctionCall(id=f"{name}-{len(calls) + 1}", name=name, arguments=json.dumps(arguments)))
    return calls


def _choose_numbers(text: str, queries: Sequence[str], fields: Collection[str]) -> list[dict[str, Any]]:
    """Choose the numbers for a tool that takes one: those of the question, and full texts that queries want."""
    field = next(number for number in _NUMBERS if number in fields)
    whole = _find_whole_texts(queries or [text]) if "full_text" in fields else []
    written = _NUMBERS[field].findall(text) if not queries else []
    numbers = dict.fromkeys(checked_identifier(field, number) for number in written)
    choices: list[dict[str, Any]] = [{field: number} for number in numbers if number and number not in whole]
    return choices + [{field: number, "full_text": True} for number in whole]


def _drop_others(queries: Sequence[str], *, has_drug_tool: bool) -> list[str]:
    """Return the queries in words; citations, full texts and single drugs are for other tools."""
    own: list[str] = []
    for query in queries:
        is_numbered = _CITATIONS.search(query) or _FULL_TEXTS.search(query)
        if not is_numbered and not (has_drug_tool and canonical_drug(query)):
            own.append(query)
    return own


def _find_whole_texts(queries: Sequence[str]) -> list[str]:
    """Return the PMIDs of which queries want the full text."""
    numbers = chain.from_iterable(map(_FULL_TEXTS.findall, queries))
    return [number for number in dict.fromkeys(numbers) if checked_identifier("pmid", number)]


def _list_looked_up(tool: str, answered: Sequence[tuple[FunctionCall, str]]) -> set[str]:
    """Return the drugs that a tool was asked about before."""
    drugs = set[str]()
    for call, _ in answered:
        with suppress(ValueError, AttributeError, TypeError):  # a model may have written invalid arguments
            if call.name == tool:
                drugs.update(map(str, json.loads(call.arguments).get("drugs", ())))
    return drugs


def _choose_next_pages(
    tool: str, arguments: dict[str, str], answered: Sequence[tuple[FunctionCall, str]], *, has_pages: bool
) -> Iterator[dict[str, Any]]:
    """Yield a search with its next unread page; nothing if there is none."""
    sizes = list[int]()
    hits = 0
    for call, result in answered:
        with suppress(ValueError, AttributeError):  # a model may have written invalid arguments
            if call.name == tool and json.loads(call.arguments).get("query") == arguments["query"]:
                sizes.append(0)
                head, records = next(blocks(result), RecordBlock("", ())).read()  # a failed call has no block
                sizes[-1] = head.get("read", len(records))
                hits = max(hits, head.get("total", 0))
    if not sizes or not (has_pages or sizes[-1]):
        yield dict(arguments)
    elif has_pages and sizes[-1] and sum(sizes) < hits:
        yield {**arguments, "page": len(sizes) + 1}
