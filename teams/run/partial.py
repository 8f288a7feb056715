"""What a run left that stopped: its messages, and a report by the baseline analyst of what was found until then."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseChatMessage
from autogen_core import CancellationToken

from willowbark.agents.approval import ApprovalMessage
from willowbark.agents.approver import undecided
from willowbark.agents.assessment import AssessmentMessage
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import RunContext
from willowbark.agents.findings import FindingsMessage
from willowbark.agents.report.content import TurnUsage
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.agents.reporter import ReportAgent
from willowbark.tools.errors import WillowbarkError

from ..config import Settings
from ..ledger.turns import Turn
from ..model_clients import BASELINE
from .budget import account_of, prices_of

Account = Callable[[Sequence[TurnUsage]], Sequence[TurnUsage]]
_TYPES: Mapping[str, type[BaseChatMessage]] = {
    kind.__name__: kind for kind in (FindingsMessage, AssessmentMessage, ApprovalMessage)
}


async def partial_report(
    messages: Sequence[BaseChatMessage],
    stop_reason: str,
    settings: Settings,
    model: str,
    account: Account | None = None,
) -> ResearchReport:
    """Have the baseline analyst report what a run found before it stopped.

    Args:
        messages: the run's chat messages so far, the question first.
        stop_reason: as the report should name it.
        settings: of the run; where a person was to be asked and was not, their default holds.
        model: the run's.
        account: of the run, which knows what was used beside the turns; None knows the turns alone.

    Raises:
        WillowbarkError: no report could be made.
    """
    asked = settings.research
    if asked.approve and not any(isinstance(one, ApprovalMessage) for one in messages):
        because = f"the run ended before anybody decided: {stop_reason.replace('_', ' ')}"
        messages = [*messages, await undecided(messages, asked.approval_default, because)]
    analyst = BaselineChatCompletionClient(estimates_tokens=model == BASELINE)
    if model != BASELINE:
        analyst.display_name += f", since the run ended before {model} wrote"
    agent = ReportAgent("report", analyst)
    account = account or account_of(prices_of(model, settings.llm))
    agent.join(RunContext(account=None if model == BASELINE else account, stopped=stop_reason))
    async for event in agent.on_messages_stream(messages, CancellationToken()):
        if isinstance(event, Response) and isinstance(event.chat_message, ReportMessage):
            return event.chat_message.content
    raise WillowbarkError("no report could be made of what was found")


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
