"""Rephrases a question that the rules cannot parse, using the run's model."""

import asyncio
from typing import Literal

from pydantic import BaseModel

from willowbark.agents.autogen import (
    CancellationToken,
    ChatCompletionClient,
    LLMMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from willowbark.tools.questions import QuestionError, parse_question, understood_question
from willowbark.tools.questions.kinds import QUESTIONS

from . import ask, reads_requests

_PROMPT = """You put questions about drugs and diseases into plain English, whatever language they are in.
Correct spelling. Give English generic names of drugs and common English names of conditions. Leave fields empty that
the question says nothing about. Text that asks nothing about a drug or a condition has kind "none"."""


class QuestionDraft(BaseModel, extra="forbid"):
    """A question as a model reads it."""

    kind: Literal["treat", "prevent", "harm", "avoid", "safety", "mechanism", "status", "negative", "uses", "none"]
    condition: str
    people: str
    """People asked about: children, pregnancy, people with another condition."""
    drug: str
    without: str

    @property
    def in_words(self) -> str:
        """The question in words that the rules can parse."""
        template = ("" if self.kind == "none" else QUESTIONS[self.kind]).rstrip("?")
        if self.drug and self.kind in ("treat", "prevent"):
            template = "Does {drug} " + ("help in {condition}" if self.kind == "treat" else "prevent {condition}")
        said = template.format(drug=self.drug or "a drug", condition=self.condition or "people")
        said += f" in {self.people}" if self.people else ""
        return f"{said} without {self.without}?" if self.without else f"{said}?"


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
    if (objection := parse_question(question).objection) is None:
        return question, None
    if reads_requests(client):
        raise QuestionError(objection)
    messages: list[LLMMessage] = [SystemMessage(content=_PROMPT), UserMessage(content=question, source="user")]
    token = cancellation_token or CancellationToken()
    asking = asyncio.ensure_future(ask([client], messages, QuestionDraft, token))
    token.link_future(asking)
    try:
        answer = await asyncio.wait_for(asking, timeout_s)
    except TimeoutError:
        raise QuestionError(f"{objection}; the model did not answer within {timeout_s:g} s") from None
    except asyncio.CancelledError:
        if not token.is_cancelled():
            raise
        return question, None
    if answer.given is None:
        raise QuestionError("; ".join([objection, *answer.failures]))
    if answer.given.kind == "none":
        raise QuestionError(objection)
    try:
        return understood_question(answer.given.in_words), answer.usage
    except QuestionError:
        raise QuestionError(objection) from None
