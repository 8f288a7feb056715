"""The baseline analyst as an AutoGen model client: no language model, no network, no key.

It recognises requests by their data (to assess or to report on, tool results, tools, a speaker to name), never by the
agent or the words. Deterministic: equal requests get equal answers.
"""

import ast
import json
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import suppress
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
from willowbark.agents.findings import digest_replies
from willowbark.agents.report.writing import DraftRequest
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.questions import follow_up, parse_question, preprocess_query
from willowbark.tools.questions.trials import first_queries
from willowbark.tools.records.enclosure import RecordBlock, blocks, extract
from willowbark.tools.records.evidence import checked_identifier
from willowbark.tools.records.registry import asked_for_conditions, gives
from willowbark.tools.toolbox import MAX_DRUGS, asked_by, replies_in

from .assessing import assessment, draft

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
        content = answer_of(request, messages, tools if tool_choice != "none" else ())
        text = content if isinstance(content, str) else json.dumps([call.arguments for call in content])
        usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
        if self._estimates_tokens:
            usage = RequestUsage(prompt_tokens=self.count_tokens(messages), completion_tokens=_tokens(text))
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
        return sum(_tokens(_text_of(message)) for message in messages)

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


def answer_of(
    request: object, messages: Sequence[LLMMessage], tools: Sequence[Tool | ToolSchema]
) -> str | list[FunctionCall]:
    """Answer a request given as data, else tool results, offered tools, or a selector's prompt."""
    if isinstance(request, AssessmentRequest):
        return assessment(request).model_dump_json()
    if isinstance(request, DraftRequest):
        return draft(request).model_dump_json()
    if messages and isinstance(last := messages[-1], FunctionExecutionResultMessage):
        results = [result.content for result in last.content]
        if not tools or any(next(blocks(result), None) for result in results):  # else all calls failed
            replies = [reply for result in results for reply in replies_in(result)]
            return digest_replies(parse_question(_latest(messages)[0]), replies, Readings()).as_markdown()
    if tools:
        return tool_calls(messages, tools) or "There is nothing to search for with these tools."
    prompt = _text_of(messages[-1]) if messages else ""
    found = _PARTICIPANTS.findall(prompt)
    if not found:
        return "The baseline analyst can only answer research requests."
    offered: list[str] = ast.literal_eval(found[-1])  # the first whose latest turn is longest ago speaks
    return min(offered, key=lambda name: prompt.rfind(f"\n{name}: "))


def _text_of(message: LLMMessage) -> str:
    if isinstance(message, FunctionExecutionResultMessage):
        return "".join(result.content for result in message.content)
    return message.content if isinstance(message.content, str) else str(message.content)


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


_NUMBERS = {"pmid": re.compile(r"\bPMID:?\s*(\d+)"), "nct_id": re.compile(r"\bNCT\d{8}\b")}
_CITATIONS = re.compile(r"\bcitations of PMID:?\s*(\d+)", re.IGNORECASE)
"""Matches `citations_query` and variants that people type."""
_FULL_TEXTS = re.compile(r"\bfull texts? of PMID:?\s*(\d+)", re.IGNORECASE)
"""Matches `full_text_query` and variants that people type."""


def _latest(messages: Sequence[LLMMessage]) -> tuple[str, NextSearches, list[tuple[FunctionCall, str]]]:
    """Return the user's latest message and, since then, the judge's last queries and the calls with results."""
    text = ""
    wanted = NextSearches(after_round=0, next_search_queries=[])
    pending = dict[str, FunctionCall]()
    answered = list[tuple[FunctionCall, str]]()
    for message in messages:
        if isinstance(message, UserMessage) and isinstance(message.content, str):
            if message.source == "user":
                text = follow_up([text, message.content])
                answered = []
                wanted = NextSearches(after_round=0, next_search_queries=[])
                pending.clear()
            elif (said := extract(message.content, NextSearches)) is not None:
                wanted = said
        elif isinstance(message, AssistantMessage) and not isinstance(message.content, str):
            pending.update((call.id, call) for call in message.content)
        elif isinstance(message, FunctionExecutionResultMessage):
            answered += [(pending.pop(r.call_id), r.content) for r in message.content if r.call_id in pending]
    return text, wanted, answered


def tool_calls(messages: Sequence[LLMMessage], tools: Sequence[Tool | ToolSchema]) -> list[FunctionCall]:
    """Choose arguments for each offered tool; the same messages give the same calls."""
    text, searches, answered = _latest(messages)
    wanted = searches.next_search_queries
    question = parse_question(text)
    schemas = [tool if isinstance(tool, dict) else tool.schema for tool in tools]
    ways = {schema["name"]: asked_by(schema) for schema in schemas}
    for_conditions = asked_for_conditions(name.removeprefix("search_") for name in ways) if not wanted else ()
    calls: list[FunctionCall] = []
    for schema in schemas:
        name = schema["name"]
        fields = schema.get("parameters", {}).get("properties", {})
        given = list[dict[str, Any]]()
        match ways[name]:
            case "drugs":
                named = question.drugs if not wanted else [canonical_drug(query) for query in wanted]
                looked_up = _looked_up(name, answered)
                if drugs := [drug for drug in dict.fromkeys(named) if drug and drug not in looked_up]:
                    given = [{"drugs": drugs[:MAX_DRUGS]}]
            case "numbers":
                field = next(number for number in _NUMBERS if number in fields)
                found = [checked_identifier(field, each) for each in _NUMBERS[field].findall(text) if not wanted]
                whole = _find_whole_texts(wanted or [text]) if "full_text" in fields else []
                given = [{field: number} for number in dict.fromkeys(found) if number and number not in whole]
                given += [{field: number, "full_text": True} for number in whole]
            case "citations":
                cited = dict.fromkeys(number for each in wanted or [text] for number in _CITATIONS.findall(each))
                given = [{"citations_of": each} for each in cited if checked_identifier("pmid", each)]
            case "conditions":
                source = name.removeprefix("search_")
                conditions = question.conditions or (question.words,)
                chosen = [
                    {"query": condition} for condition in conditions if source in for_conditions or condition in wanted
                ]
                given = [page for query in chosen for page in _next_pages(name, query, answered, has_pages=False)]
            case "queries":
                of_others = [each for each in wanted if _CITATIONS.search(each) or _FULL_TEXTS.search(each)]
                of_others += [each for each in wanted if "drugs" in ways.values() and canonical_drug(each)]
                first = first_queries(question, of_trials=gives(name.removeprefix("search_")) == "trial")
                queries = [each for each in wanted if each not in of_others] if wanted else first
                asked = [{"query": query if searches.as_written else preprocess_query(query)} for query in queries]
                given = [
                    page for query in asked for page in _next_pages(name, query, answered, has_pages="page" in fields)
                ]
        for arguments in given:
            calls.append(FunctionCall(id=f"{name}-{len(calls) + 1}", name=name, arguments=json.dumps(arguments)))
    return calls


def _find_whole_texts(queries: Sequence[str]) -> list[str]:
    """Return the PMIDs of which queries want the full text."""
    named = (number for query in queries for number in _FULL_TEXTS.findall(query))
    return [number for number in dict.fromkeys(named) if checked_identifier("pmid", number)]


def _looked_up(tool: str, answered: Sequence[tuple[FunctionCall, str]]) -> set[str]:
    """Return the drugs that a tool was asked about before."""
    drugs = set[str]()
    for call, _ in answered:
        with suppress(ValueError, AttributeError, TypeError):  # a model may have written invalid arguments
            if call.name == tool:
                drugs.update(map(str, json.loads(call.arguments).get("drugs", ())))
    return drugs


def _next_pages(
    tool: str, arguments: dict[str, str], answered: Sequence[tuple[FunctionCall, str]], *, has_pages: bool
) -> Iterator[dict[str, Any]]:
    """Yield a search with its next unread page; nothing if there is none."""
    read = list[int]()
    hits = 0
    for call, result in answered:
        with suppress(ValueError, AttributeError):  # a model may have written invalid arguments
            if call.name == tool and json.loads(call.arguments).get("query") == arguments["query"]:
                read.append(0)
                head, records = next(blocks(result), RecordBlock("", ())).read()  # a failed call has no block
                read[-1] = head.get("read", len(records))
                hits = max(hits, head.get("total", 0))
    if not read or not (has_pages or read[-1]):
        yield dict(arguments)
    elif has_pages and read[-1] and sum(read) < hits:
        yield {**arguments, "page": len(read) + 1}
