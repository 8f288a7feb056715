"""Searching: which queries to ask the tools."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from autogen_core import FunctionCall
from autogen_core.models import AssistantMessage, FunctionExecutionResultMessage, LLMMessage, UserMessage
from autogen_core.tools import Tool, ToolSchema

from willowbark.agents.judge import NextSearches
from willowbark.tools.enclosure import disclose, restated
from willowbark.tools.evidence import checked_identifier
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.questions.query import parse_question, plain_query, preprocess_query
from willowbark.tools.registry import asked_for_conditions, takes_names

_NUMBERS = {"pmid": re.compile(r"\bPMID:?\s*(\d+)"), "nct_id": re.compile(r"\bNCT\d{8}\b")}
_CITATIONS = re.compile(r"\bcitations of PMID:?\s*(\d+)", re.IGNORECASE)
"""As `citations_query` writes it, and as people may."""


def tool_calls(messages: Sequence[LLMMessage], tools: Sequence[Tool | ToolSchema]) -> list[FunctionCall]:
    """Choose what to ask each tool that is offered; the same messages give the same calls."""
    question, wanted = _question(messages), _wanted(messages)
    calls: list[FunctionCall] = []
    schemas = [tool if isinstance(tool, dict) else tool.schema for tool in tools]
    takes_drugs = any("drugs" in schema.get("parameters", {}).get("properties", {}) for schema in schemas)
    by_name = asked_for_conditions(schema["name"].removeprefix("search_") for schema in schemas) if not wanted else ()
    for schema in schemas:
        name, fields = schema["name"], schema.get("parameters", {}).get("properties", {})
        for arguments in _arguments(name, fields, question, wanted, by_name, takes_drugs):
            further = _next_page(name, arguments, messages) if "page" in fields else arguments
            if further is not None:
                calls.append(FunctionCall(id=f"{name}-{len(calls) + 1}", name=name, arguments=json.dumps(further)))
    return calls


def _arguments(
    tool: str,
    fields: Mapping[str, Any],
    question: str,
    wanted: Sequence[str],
    for_conditions: Collection[str],
    takes_drugs: bool,
) -> Iterator[dict[str, Any]]:
    """What to fill a tool's fields with: drugs, a number, or a query in the form that its source takes."""
    source = tool.removeprefix("search_")
    if "drugs" in fields:
        named = parse_question(question).drugs if not wanted else [canonical_drug(query) for query in wanted]
        if drugs := [drug for drug in dict.fromkeys(named) if drug]:
            yield {"drugs": drugs[: fields["drugs"].get("maxItems")]}
    elif (field := next((each for each in _NUMBERS if each in fields), None)) is not None:
        found = (checked_identifier(field, number) for number in _NUMBERS[field].findall(question) if not wanted)
        yield from ({field: number} for number in dict.fromkeys(found) if number)
    elif "citations_of" in fields:
        asked = (number for said in wanted or [question] for number in _CITATIONS.findall(said))
        yield from ({"citations_of": each} for each in dict.fromkeys(asked) if checked_identifier("pmid", each))
    elif "query" in fields and takes_names(source):
        conditions = parse_question(question).conditions or (plain_query(question),)
        yield from ({"query": each} for each in conditions if source in for_conditions or each in wanted)
    elif "query" in fields and source != tool:
        queries = (
            [each for each in wanted if not _CITATIONS.search(each) and not (takes_drugs and canonical_drug(each))]
            if wanted
            else [question]
        )
        yield from ({"query": preprocess_query(query)} for query in queries)


def _next_page(tool: str, arguments: dict[str, Any], messages: Sequence[LLMMessage]) -> dict[str, Any] | None:
    """A search with the page to ask for: the one after those that were read; None where there is none."""
    pages = [
        next(disclose(said), None)
        for call, said in _answered(messages)
        if call.name == tool and _query(call) == arguments["query"]
    ]
    if not pages:
        return arguments
    read = [0 if page is None else page.head.get("read", len(page.records)) for page in pages]
    hits = max(page.head.get("total", 0) if page is not None else 0 for page in pages)
    is_over = not read[-1] or sum(read) >= hits
    return None if is_over or takes_names(tool.removeprefix("search_")) else {**arguments, "page": len(pages) + 1}


def _query(call: FunctionCall) -> object:
    """What a call asked for; None where a model wrote arguments that are none."""
    try:
        return json.loads(call.arguments).get("query")
    except (ValueError, AttributeError):
        return None


def _answered(messages: Sequence[LLMMessage]) -> Iterator[tuple[FunctionCall, str]]:
    """The calls since the user's latest message, each with what it gave."""
    asked = [isinstance(message, UserMessage) and message.source == "user" for message in messages]
    calls: dict[str, FunctionCall] = {}
    for message in messages[max((place for place, is_users in enumerate(asked) if is_users), default=0) :]:
        if isinstance(message, AssistantMessage) and not isinstance(message.content, str):
            calls.update((call.id, call) for call in message.content)
        elif isinstance(message, FunctionExecutionResultMessage):
            yield from ((calls.pop(each.call_id), each.content) for each in message.content if each.call_id in calls)


def _question(messages: Sequence[LLMMessage]) -> str:
    """The user's own latest message."""
    return next((said for source, said in _said(messages) if source == "user"), "")


def _wanted(messages: Sequence[LLMMessage]) -> list[str]:
    """The queries that the judge named last; none where the user has asked something since."""
    for source, said in _said(messages):
        if source == "user":
            break
        if (wanted := restated(said, NextSearches)) is not None:
            return wanted.next_search_queries
    return []


def _said(messages: Sequence[LLMMessage]) -> Iterator[tuple[str, str]]:
    """Who said what, the latest first; what tools returned and models answered is not among it."""
    for message in reversed(messages):
        if isinstance(message, UserMessage) and isinstance(message.content, str):
            yield message.source, message.content
