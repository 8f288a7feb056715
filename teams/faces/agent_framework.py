"""Willowbark as an agent of Microsoft's Agent Framework, AutoGen's successor (extra `agent-framework`).

https://learn.microsoft.com/agent-framework/
"""

from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import ExitStack, aclosing
from pathlib import Path
from typing import Any, Unpack

from agent_framework import (
    AgentResponse,
    AgentResponseUpdate,
    AgentSession,
    BaseAgent,
    Content,
    Message,
    ResponseStream,
    normalize_messages,
)

from willowbark.agents.report.follow_up import AnswerWithin
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.errors import UsageError

from ..ledger import DEFAULT_PATH, Ledger
from ..ledger.run_ids import make_run_id
from ..run.choices import RunChoices
from ..run.options import RunOptions
from ..run.research import RunFailed, research_stream
from ..run.within import ask_within

DESCRIPTION = "Finds existing drugs that might treat a condition, and rates the evidence for and against each."
RUN_KEY = "willowbark_run"
"""Where a session keeps the id of the run that its further messages ask."""


class WillowbarkAgent(BaseAgent):
    """Answers the first message of a session by a whole run, and further ones from what that run collected.

    A run's steps come as reasoning, its report as text and, typed, as the response's `value`: a `ResearchReport`, or an
    `AnswerWithin` for a further message. Without a session each message is a run of its own.

    Args:
        name: its name in a workflow.
        choices: any of `RunOptions`, for all its runs; they are kept in the workspace's ledger if none is named.

    Raises:
        UsageError: an invalid option.
    """

    def __init__(self, name: str = "willowbark", **choices: Unpack[RunChoices]) -> None:
        super().__init__(name=name, description=DESCRIPTION)
        self._options = RunOptions.of(RunOptions(ledger=DEFAULT_PATH), choices)

    def run(
        self, messages: Any = None, *, stream: bool = False, session: AgentSession | None = None, **_: Any
    ) -> Awaitable[AgentResponse[Any]] | ResponseStream[AgentResponseUpdate, AgentResponse[Any]]:
        """Answer the last message.

        Raises:
            UsageError: it has no text, or not 1 to 2,000 characters.
            RunFailed: not even a partial report could be made.
        """
        texts = [message.text for message in normalize_messages(messages) if message.role == "user"]
        updates = self._answer(texts[-1] if texts else "", session)
        answer = ResponseStream(updates, finalizer=self._finish)
        return answer if stream else answer.get_final_response()

    async def _answer(self, question: str, session: AgentSession | None) -> AsyncIterator[AgentResponseUpdate]:
        """Yield a run's steps and its report, or the answer of the session's run."""
        run_id = None if session is None else session.state.get(RUN_KEY)
        if run_id is not None:
            yield self._update_of(await self._ask_run(question, run_id))
            return
        run_id = self._options.run_id or make_run_id(question)
        options = self._options.model_copy(update={"question": question, "run_id": run_id})
        problem = "the run ended without a report"
        async with aclosing(research_stream(options)) as events:
            async for event in events:
                if event.report is not None:
                    if session is not None:
                        session.state[RUN_KEY] = run_id
                    yield self._update_of(event.report)
                    return
                problem = event.message if event.type == "error" else problem
                step = Content.from_text_reasoning(text=f"{event.message}\n")
                yield AgentResponseUpdate(contents=[step], role="assistant", author_name=event.agent or self.name)
        raise RunFailed(problem)

    async def _ask_run(self, question: str, run_id: str) -> AnswerWithin:
        ledger = self._options.ledger
        if ledger is None:
            raise UsageError("the run was not kept: leave out `ledger=None` to ask it further")
        with ExitStack() as stack:
            kept = stack.enter_context(Ledger.existing(ledger)) if isinstance(ledger, Path) else ledger
            return await ask_within(question, run_id, kept)

    def _update_of(self, answer: ResearchReport | AnswerWithin) -> AgentResponseUpdate:
        text = Content.from_text(answer.to_markdown())
        return AgentResponseUpdate(
            contents=[text], role="assistant", author_name=self.name, agent_id=self.id, raw_representation=answer
        )

    def _finish(self, updates: Sequence[AgentResponseUpdate]) -> AgentResponse[Any]:
        """Make a response of a run's last update, the answer; its value is the report."""
        last = updates[-1]
        message = Message("assistant", [last.text], author_name=self.name)
        return AgentResponse(messages=[message], agent_id=self.id, value=last.raw_representation)
