"""The report of a run that stopped: by the baseline analyst, of what was found until then."""

from collections.abc import Sequence

from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseChatMessage
from autogen_core import CancellationToken

from willowbark.agents.approval import ApprovalMessage
from willowbark.agents.approver import undecided
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.agents.reporter import ReportAgent
from willowbark.tools.errors import WillowbarkError

from ..config import Settings
from ..model_clients import BASELINE
from .budget import account_of, price_of


async def partial_report(
    messages: Sequence[BaseChatMessage], stop_reason: str, settings: Settings | None = None, model: str = BASELINE
) -> ResearchReport:
    """Have the baseline analyst report what a run found before it stopped.

    Args:
        messages: the run's chat messages so far, the question first.
        stop_reason: as the report should name it.
        settings: of the run; where a person was to be asked and was not, their default holds. None asks nobody.
        model: the run's, for the account of the turns that were taken.

    Raises:
        WillowbarkError: no report could be made.
    """
    asked = settings.research if settings is not None else None
    if asked is not None and asked.approve and not any(isinstance(one, ApprovalMessage) for one in messages):
        because = f"the run ended before anybody decided: {stop_reason.replace('_', ' ')}"
        messages = [*messages, await undecided(messages, asked.approval_default, because)]
    agent = ReportAgent("report", BaselineChatCompletionClient(estimates_tokens=model == BASELINE))
    if model != BASELINE:
        agent.account = account_of(price_of(model, settings.llm.prices if settings is not None else None))
    async for event in agent.on_messages_stream(messages, CancellationToken()):
        if isinstance(event, Response) and isinstance(event.chat_message, ReportMessage):
            return event.chat_message.content.model_copy(update={"stop_reason": stop_reason})
    raise WillowbarkError("no report could be made of what was found")
