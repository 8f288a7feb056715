"""The team's messages, told as events."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    UserInputRequestedEvent,
)

from willowbark.agents.approval import ApprovalMessage
from willowbark.agents.assessment import AssessmentMessage
from willowbark.agents.findings import FindingsMessage
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.tools.questions.query import parse_question
from willowbark.tools.toolbox import replies_in

from ..events import AgentEvent, EventData, EventType, ToolRequest
from ..faces.terminal import one_line

_log = logging.getLogger("willowbark.run")
_SPECIALISTS = ("literature", "trials", "mechanism")


@dataclass
class Narrator:
    """Turns the team's messages into events, keeping count of the rounds."""

    iteration: int = 1
    messages: list[BaseChatMessage] = field(default_factory=list)
    """The chat messages so far, the question first."""
    report: ResearchReport | None = None
    stop_reason: str = "error"
    """How a report of a run that stopped now should name it."""
    asks: bool = False
    """Whether the candidates are put before a person before the report."""

    def event(self, kind: EventType, message: str, data: EventData = None, agent: str | None = None) -> AgentEvent:
        """An event of the present round."""
        return AgentEvent(type=kind, message=message, data=data, iteration=self.iteration, agent=agent)

    def tell(self, message: BaseAgentEvent | BaseChatMessage) -> Iterator[AgentEvent]:
        """The events that a message of the team stands for."""
        if isinstance(message, ToolCallRequestEvent):
            self._log_choice(message)
            for call in message.content:
                data = ToolRequest(tool=call.name, arguments=call.arguments)
                yield self.event("searching", f"{message.source}: {call.name} {call.arguments}", data, message.source)
        elif isinstance(message, ToolCallExecutionEvent):
            yield from self._results(message)
        elif isinstance(message, FindingsMessage):
            self.messages.append(message)
            yield self.event("progress", message.to_text(), message.content, message.source)
        elif isinstance(message, AssessmentMessage):
            self.messages.append(message)
            yield from self._verdict(message)
        elif isinstance(message, UserInputRequestedEvent):
            yield self.event("progress", "Waiting for a person's word on the candidates", agent=message.source)
        elif isinstance(message, ApprovalMessage):
            self.messages.append(message)
            yield self.event("progress", message.to_text(), message.content, message.source)
            yield self.event("synthesizing", "Writing the report")
        elif isinstance(message, ReportMessage):
            self.report = message.content
        elif isinstance(message, TextMessage):
            yield from self._text(message)

    def _log_choice(self, message: ToolCallRequestEvent) -> None:
        """Log whom this round asks, which tools it takes, and why."""
        calls = Counter(call.name for call in message.content)
        tools = ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in calls.items())
        extra = {"round": self.iteration, "agent": message.source, "tool": tools, "told": self._why(message.source)}
        _log.info("chosen", extra=extra)

    def _why(self, agent: str) -> str:
        """Why a specialist searches in this round: by the kind of question, and by what the judge asks of it."""
        question = next((each.content for each in self.messages if isinstance(each, TextMessage)), "")
        kind = f"a question of kind {parse_question(question).kind}"
        verdicts = [each.content for each in self.messages if isinstance(each, AssessmentMessage)]
        if not verdicts:
            return f"{kind}: in the first round every specialist searches"
        own = [each.closes for each in verdicts[-1].next_searches if each.specialist == agent]
        gaps = "; ".join(dict.fromkeys(own or verdicts[-1].gaps)) or "the judge names no gap"
        return f"{kind}: {one_line(gaps)}"

    def _results(self, message: ToolCallExecutionEvent) -> Iterator[AgentEvent]:
        for result in message.content:
            for reply in replies_in(result.content):
                warned = f" ({'; '.join(reply.warnings)})" if reply.warnings else ""
                yield self.event("search_complete", reply.line + warned, reply, message.source)

    def _verdict(self, message: AssessmentMessage) -> Iterator[AgentEvent]:
        verdict = message.content
        yield self.event("judge_complete", message.to_text(), verdict, message.source)
        if verdict.recommendation == "synthesize":
            why = (verdict.stop_reason or "").replace("_", " ")
            if self.asks:
                yield self.event("progress", f"The search is over: {why}")
            else:
                yield self.event("synthesizing", f"Writing the report: {why}")
        else:
            self.iteration = verdict.iteration + 1
            yield self.event("looping", "; ".join(verdict.gaps) or "another round")

    def _text(self, message: TextMessage) -> Iterator[AgentEvent]:
        if message.source == "user":
            self.messages.append(message)
        elif message.source in _SPECIALISTS:
            yield self.event("thinking", message.content, agent=message.source)
        elif message.source == "judge":
            yield self.event("judging", message.content, agent=message.source)

    def stopped(self, error: BaseException) -> AgentEvent:
        """The event of a team that was stopped, or failed."""
        if isinstance(error, asyncio.CancelledError):
            self.stop_reason = "cancelled"
            return self.event("error", "The run was stopped")
        return self.event("error", f"The team failed ({type(error).__name__}); reporting what was found until then")
