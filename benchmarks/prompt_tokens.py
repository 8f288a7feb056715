"""Tokens that a run's prompts hold, by what is asked: `python benchmarks/prompt_tokens.py [QUESTION]`.

A run of two rounds over the bundled library, its answers those of the baseline analyst; prompts are counted as a
language model would get them, at four characters a token. What an earlier prompt began with counts as cacheable.
"""

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from autogen_core.models import CreateResult, FunctionExecutionResultMessage, LLMMessage

from willowbark.agents.baseline.client import CHARACTERS_PER_TOKEN, BaselineChatCompletionClient
from willowbark.teams.run.research import research

QUESTION = "Which existing drugs could prevent migraine attacks?"
ROUNDS = 2


class Counting(BaselineChatCompletionClient):
    """Answers as the baseline analyst does, and counts what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: Counter[str] = Counter()
        self.cacheable = 0
        self._earlier: list[str] = []

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        """Count the prompt, then answer."""
        text = "".join(_said(message) for message in messages)
        common = max((_common(text, earlier) for earlier in self._earlier), default=0)
        self._earlier.append(text)
        self.cacheable += common // CHARACTERS_PER_TOKEN
        self.tokens[_kind(messages, options)] += len(text) // CHARACTERS_PER_TOKEN
        return await super().create(messages, **options)


def _common(one: str, other: str) -> int:
    """Characters that two texts begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _said(message: LLMMessage) -> str:
    if isinstance(message, FunctionExecutionResultMessage):
        return "".join(result.content for result in message.content)
    return message.content if isinstance(message.content, str) else str(message.content)


def _kind(messages: Sequence[LLMMessage], options: dict[str, Any]) -> str:
    asked = options.get("json_output")
    if isinstance(asked, type):
        return asked.__name__
    return "reflection" if isinstance(messages[-1], FunctionExecutionResultMessage) else "choice of searches"


async def main(question: str) -> None:
    """Run, and print the counts."""
    client = Counting()
    report = await research(question, model_client=client, offline=True, max_iterations=ROUNDS)
    for kind, tokens in client.tokens.most_common():
        print(f"{kind:20} {tokens:8,}")
    total = client.tokens.total()
    print(f"{'all':20} {total:8,}, {client.cacheable / total:.0%} cacheable")
    print(f"{report.search_iterations} rounds, {report.total_papers_reviewed} records read")


if __name__ == "__main__":
    asyncio.run(main(" ".join(sys.argv[1:]) or QUESTION))
