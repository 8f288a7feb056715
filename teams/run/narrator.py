"""Turn the team's messages into a run's events, and write the report of a run that stopped."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from willowbark.agents.approval import ApprovalMessage
from willowbark.agents.approver import undecided
from willowbark.agents.assessment import AssessmentMessage, JudgeAssessment
from willowbark.agents.autogen import (
    BaseAgentEvent,
    BaseChatMessage,
    CancellationToken,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    UserInputRequestedEvent,
)
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import RunContext
from willowbark.agents.findings import FindingsMessage
from willowbark.agents.report.content import TurnUsage
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.agents.reporter import ReportAgent
from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.enclosure import one_line
from willowbark.tools.errors import WillowbarkError
from willowbark.tools.toolbox import replies_in

from ..config import Settings
from ..events import AgentEvent, EventType, ToolRequest
from ..ledger import Turn
from ..model_clients import BASELINE

_log = logging.getLogger("willowbark.run")


@dataclass
class Narrator:
    """Turns the team's messages into events, and counts rounds."""

    kind: str
    """Of the question."""
    asks: bool = False
    """Whether a person is asked about the candidates before the report."""
    iteration: int = 1
    verdict: JudgeAssessment | None = None
    """The latest."""
    report: ResearchReport | None = None

    def event(self, kind: EventType, message: str, data: Any = None, agent: str | None = None) -> AgentEvent:
        """Create an event of the current round."""
        return AgentEvent(type=kind, message=message, data=data, iteration=self.iteration, agent=agent)

    def narrate(self, message: BaseAgentEvent | BaseChatMessage) -> Iterator[AgentEvent]:  # noqa: PLR0912
        """Yield the events for a message of the team."""
        agent = message.source
        if isinstance(message, ToolCallRequestEvent):
            self._log_choice(message)
            for call in message.content:
                data = ToolRequest(tool=call.name, arguments=call.arguments)
                yield self.event("searching", f"{agent}: {call.name} {call.arguments}", data, agent)
        elif isinstance(message, ToolCallExecutionEvent):
            for reply in (reply for result in message.content for reply in replies_in(result.content)):
                warnings = f" ({'; '.join(reply.warnings)})" if reply.warnings else ""
                yield self.event("search_complete", reply.line + warnings, reply, agent)
        elif isinstance(message, FindingsMessage):
            yield self.event("progress", message.to_text(), message.content, agent)
        elif isinstance(message, AssessmentMessage):
            verdict = self.verdict = message.content
            yield self.event("judge_complete", message.to_text(), verdict, agent)
            why = (verdict.stop_reason or "").replace("_", " ")
            if verdict.recommendation != "synthesize":
                self.iteration = verdict.iteration + 1
                yield self.event("looping", "; ".join(verdict.gaps) or "another round")
            elif self.asks:
                yield self.event("progress", f"The search is over: {why}")
            else:
                yield self.event("synthesizing", f"Writing the report: {why}")
        elif isinstance(message, UserInputRequestedEvent):
            yield self.event("progress", "Waiting for a person's word on the candidates", agent=agent)
        elif isinstance(message, ApprovalMessage):
            yield self.event("progress", message.to_text(), message.content, agent)
            yield self.event("synthesizing", "Writing the report")
        elif isinstance(message, ReportMessage):
            self.report = message.content
        elif isinstance(message, TextMessage):
            kinds: Mapping[str | None, EventType] = {"specialist": "thinking", "judge": "judging"}
            if (kind := kinds.get(message.metadata.get("role"))) is not None:
                yield self.event(kind, message.content, agent=agent)

    def _log_choice(self, message: ToolCallRequestEvent) -> None:
        """Log who searches in this round, with which tools, and why: the kind of question, and the gap to close."""
        calls = Counter(call.name for call in message.content)
        tools = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in calls.items())
        why = "in the first round every specialist searches"
        if self.verdict is not None:
            own = [each.closes for each in self.verdict.next_searches if each.specialist == message.source]
            why = one_line("; ".join(dict.fromkeys(own or self.verdict.gaps)) or "the judge names no gap")
        told = f"a question of kind {self.kind}: {why}"
        extra = {"round": self.iteration, "agent": message.source, "tool": tools, "told": told}
        _log.info("chosen", extra=extra)


_TYPES: Mapping[str, type[BaseChatMessage]] = {
    kind.__name__: kind for kind in (FindingsMessage, AssessmentMessage, ApprovalMessage)
}


async def partial_report(
    messages: Sequence[BaseChatMessage],
    stop_reason: str,
    settings: Settings,
    model: str,
    account: Callable[[Sequence[TurnUsage]], Sequence[TurnUsage]] | None = None,
    readings: Readings | None = None,
) -> ResearchReport:
    """Let the baseline analyst report what a run found before it stopped.

    Args:
        messages: the run's chat messages so far, the question first.
        stop_reason: as the report states it.
        settings: of the run; if a person was still to be asked, their default applies.
        model: the run's.
        account: of the run's tokens and cost; None for no account.
        readings: of the run, so that nothing is read twice; None reads again.

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
    is_counted = account if model != BASELINE else None
    agent.join(RunContext(account=is_counted, readings=readings or Readings(), stopped=stop_reason))
    written = (await agent.on_messages(messages, CancellationToken())).chat_message
    if not isinstance(written, ReportMessage):
        raise WillowbarkError("no report could be made of what was found")
    return written.content


def messages_of(turns: Sequence[Turn]) -> list[BaseChatMessage]:
    """Convert the turns before the report to messages."""
    return [_TYPES[turn.type].load(turn.message) for turn in turns if turn.type in _TYPES]


def stored_report(turns: Sequence[Turn]) -> ResearchReport | None:
    """Return the report among a run's turns; None if there is none yet."""
    written = [turn.message for turn in turns if turn.type == ReportMessage.__name__]
    return ReportMessage.load(written[-1]).content if written else None
