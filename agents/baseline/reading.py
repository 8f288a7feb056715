"""Reading prompts: what is asked, on which question, over which records."""

import re
from collections.abc import Iterable, Sequence

from autogen_core.models import FunctionExecutionResultMessage, LLMMessage, UserMessage

from willowbark.tools.enclosure import disclose
from willowbark.tools.evidence import Evidence, merge
from willowbark.tools.ranking import rank

_QUESTION = re.compile(r"\AQuestion: (.*)$", re.MULTILINE)
_ASSESSMENT = re.compile(r"\ARound \d+: continue\b")
_SEARCHED = re.compile(r"^- (\w+): (.+): [a-z_]+, \d+ of (\d+)$", re.MULTILINE)
_NEXT_QUERY = re.compile(r"^Next query: (.+)$", re.MULTILINE)


def question_in(messages: Sequence[LLMMessage]) -> str:
    """The question: named in the latest request, or the user's own latest message."""
    for message in reversed(messages):
        if isinstance(message, UserMessage) and isinstance(message.content, str):
            if found := _QUESTION.search(message.content):
                return found.group(1)
            if message.source == "user":
                return message.content
    return ""


def next_queries(messages: Sequence[LLMMessage]) -> list[str]:
    """The queries of the judge's latest assessment, if that is newer than the user's question."""
    for message in reversed(messages):
        if isinstance(message, UserMessage) and isinstance(message.content, str):
            if _ASSESSMENT.search(message.content):
                return _NEXT_QUERY.findall(message.content)
            if message.source == "user":
                return []
    return []


class Searches(dict[str, dict[str, int]]):
    """The queries asked before, each with the hits that its sources reported, by source."""

    def hits(self, query: str, sources: Iterable[str]) -> int:
        """The most hits that one of the sources reported; 0 where none was asked."""
        return max((self.get(query, {}).get(source, 0) for source in sources), default=0)


def searched_in(messages: Sequence[LLMMessage]) -> Searches:
    """The searches that a request lists."""
    last = messages[-1].content if messages else ""
    head = last.partition("\n<records ")[0] if isinstance(last, str) else ""
    found = Searches()
    for source, query, hits in _SEARCHED.findall(head):
        found.setdefault(query, {})[source] = int(hits)
    return found


def studies_read(messages: Sequence[LLMMessage]) -> int:
    """How many publications and trials there are in all, of which a request shows the best; 0 where it does not say."""
    last = messages[-1].content if messages else ""
    sizes = [block.head.get("studies") for block in disclose(last)] if isinstance(last, str) else []
    return max((size for size in sizes if isinstance(size, int)), default=0)


def records_in(messages: Sequence[LLMMessage], question: str) -> list[Evidence]:
    """The records of the latest message that holds some, united and ranked."""
    for message in reversed(messages):
        texts = (
            [result.content for result in message.content]
            if isinstance(message, FunctionExecutionResultMessage)
            else [message.content]
            if isinstance(message, UserMessage) and isinstance(message.content, str)
            else []
        )
        blocks = [block for text in texts for block in disclose(text)]
        if blocks:
            return rank(question, merge(record for block in blocks for record in block.records))
    return []
