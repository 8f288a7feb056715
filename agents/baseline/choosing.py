"""Choosing queries: the question in boolean form for each source, and what the judge asked for next."""

import json
import re
from collections.abc import Iterator, Sequence

from autogen_core import FunctionCall
from autogen_core.models import LLMMessage
from autogen_core.tools import Tool, ToolSchema

from willowbark.tools.evidence import checked_identifier
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.questions.query import parse_question, plain_query, preprocess_query

from .reading import next_queries, question_in

MAX_CALLS = 12  # of one tool in one turn
_DATABASES = ("search_opentargets", "search_chembl")  # search by the name of a condition, not by words
_NUMBERS = {
    "get_paper": ("pmid", re.compile(r"\bPMID:?\s*(\d+)")),
    "get_trial": ("nct_id", re.compile(r"\bNCT\d{8}\b")),
}


def tool_calls(messages: Sequence[LLMMessage], tools: Sequence[Tool | ToolSchema]) -> list[FunctionCall]:
    """Choose what to ask each tool that is offered; the same messages give the same calls."""
    question, wanted = question_in(messages), next_queries(messages)
    calls: list[FunctionCall] = []
    for name in (tool["name"] if isinstance(tool, dict) else tool.name for tool in tools):
        for arguments in list(_arguments(name, question, wanted))[:MAX_CALLS]:
            calls.append(FunctionCall(id=f"{name}-{len(calls) + 1}", name=name, arguments=json.dumps(arguments)))
    return calls


def _arguments(tool: str, question: str, wanted: Sequence[str]) -> Iterator[dict[str, str]]:
    if tool == "get_mechanisms":
        named = parse_question(question).drugs if not wanted else [canonical_drug(query) for query in wanted]
        yield from ({"drug": drug} for drug in dict.fromkeys(named) if drug)
    elif tool in _NUMBERS and not wanted:
        field, pattern = _NUMBERS[tool]
        found = (checked_identifier(field, number) for number in pattern.findall(question))
        yield from ({field: number} for number in dict.fromkeys(found) if number)
    elif tool in _DATABASES and not wanted:
        conditions = parse_question(question).conditions or (plain_query(question),)
        yield from ({"query": condition} for condition in conditions)
    elif tool.startswith("search_") and tool not in _DATABASES:
        queries = [query for query in wanted if canonical_drug(query) is None] if wanted else [question]
        yield from ({"query": preprocess_query(query)} for query in queries)
