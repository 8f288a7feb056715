"""What a run handed over in an earlier life, as messages: one that stops again may not have come to all of it."""

from collections import Counter
from collections.abc import Mapping, Sequence

from autogen_agentchat.messages import BaseChatMessage

from willowbark.agents.approval import ApprovalMessage
from willowbark.agents.findings import FindingsMessage
from willowbark.agents.judge import AssessmentMessage
from willowbark.agents.report.model import ReportMessage, ResearchReport

from ..ledger.turns import Turn

_TYPES: Mapping[str, type[BaseChatMessage]] = {
    kind.__name__: kind for kind in (FindingsMessage, AssessmentMessage, ApprovalMessage)
}


def messages_of(turns: Sequence[Turn]) -> list[BaseChatMessage]:
    """The turns before the report, as messages."""
    return [_TYPES[turn.type].load(turn.message) for turn in turns if turn.type in _TYPES]


def report_of(turns: Sequence[Turn]) -> ResearchReport | None:
    """The report that a run has come to already; None where it has not."""
    written = [turn.message for turn in turns if turn.type == ReportMessage.__name__]
    return ReportMessage.load(written[-1]).content if written else None


def together(turns: Sequence[Turn], now: Sequence[BaseChatMessage]) -> list[BaseChatMessage]:
    """The messages of an earlier life and of this one, each once.

    Args:
        turns: of the earlier life.
        now: what was said in this one, the question first.
    """
    known = Counter(_identity(message) for message in messages_of(turns))
    new = []
    for message in now[1:]:
        if known[_identity(message)] > 0:
            known[_identity(message)] -= 1
        else:
            new.append(message)
    return [*now[:1], *messages_of(turns), *new]


def _identity(message: BaseChatMessage) -> tuple[object, ...]:
    iteration = message.content.iteration if isinstance(message, FindingsMessage | AssessmentMessage) else None
    return type(message).__name__, message.source, iteration
