"""The research team: an AutoGen `SelectorGroupChat` whose rounds follow a policy; specialists work in parallel.

In a round the specialists work in parallel, then the judge. The approver, if any, comes before the report.
A state saved in mid-round does not record who was speaking, so the policy reads from the thread which round this is,
who was called in it, and who has answered.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from willowbark.agents.approval import ApprovalMessage
from willowbark.agents.approver import ApproverAgent
from willowbark.agents.assessment import AssessmentMessage
from willowbark.agents.autogen import (
    BaseAgentEvent,
    BaseChatMessage,
    CancellationToken,
    ChatAgent,
    ChatCompletionClient,
    PolicyGroupChat,
    SourceMatchTermination,
    TaskResult,
    Team,
    TerminationCondition,
    TextMessage,
    Thread,
)
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import Joins, RunContext
from willowbark.agents.judge import JudgeAgent, JudgeLimits
from willowbark.agents.report.model import ReportMessage
from willowbark.agents.reporter import ReportAgent
from willowbark.agents.specialists import ROLES, specialist_agent
from willowbark.tools.errors import UsageError
from willowbark.tools.http.transport import Transport
from willowbark.tools.library import endpoints_of_environment
from willowbark.tools.records.registry import searchable

from .config import DEPTHS, Settings


class ResearchTeam(PolicyGroupChat):
    """Specialists, a judge and a report agent, in rounds.

    Args:
        participants: specialists, one judge, one report agent, at most one approver; None uses Willowbark's five on
            `model_client`.
        model_client: of Willowbark's five; None is the baseline analyst.
        termination_condition: None ends the run with the report.
        transport: connection to the sources, left open; None opens one per run and closes it again.
        run: context shared by the agents, with its transport; None makes one from `transport` for each run.
        options: passed to `SelectorGroupChat`.

    Raises:
        UsageError: no judge, no report agent or no specialist among the participants, or two approvers.
    """

    component_provider_override = "willowbark.teams.research_team.ResearchTeam"

    DEFAULT_NAME = "ResearchTeam"
    DEFAULT_DESCRIPTION = "Finds existing drugs that might treat a condition, and appraises the evidence."

    def __init__(
        self,
        participants: list[ChatAgent | Team] | None = None,
        model_client: ChatCompletionClient | None = None,
        *,
        termination_condition: TerminationCondition | None = None,
        transport: Transport | None = None,
        run: RunContext | None = None,
        allow_repeated_speaker: bool = True,
        **options: Any,
    ) -> None:
        client = model_client or BaselineChatCompletionClient()
        members = participants or default_participants(client)
        self._judge = _only(members, AssessmentMessage, "judge")
        self._reporter = _only(members, ReportMessage, "report agent")
        self._approver = _only(members, ApprovalMessage, "approver") if _producers(members, ApprovalMessage) else None
        others = (self._judge, self._reporter, self._approver)
        self._specialists = [m.name for m in members if m.name not in others]
        if not self._specialists:
            raise UsageError("the team has no specialist: give it at least one agent that searches")
        super().__init__(
            members,
            client,
            termination_condition=termination_condition or SourceMatchTermination([self._reporter]),
            allow_repeated_speaker=allow_repeated_speaker,
            **options,
        )
        self._members = members
        self._transport = transport
        self._joined = run

    def next_speakers(self, thread: Thread) -> list[str]:
        """Name who speaks next, by the policy of the rounds."""
        return next_speakers(thread, self._specialists, self._judge, self._reporter, self._approver)

    async def run_stream(
        self,
        *,
        task: str | BaseChatMessage | Sequence[BaseChatMessage] | None = None,
        cancellation_token: CancellationToken | None = None,
        output_task_messages: bool = True,
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | TaskResult, None]:
        """Run the team as a stream of messages, with a connection to the sources open meanwhile."""
        own = Transport(endpoints_of_environment()) if self._joined is None and self._transport is None else None
        run = self._joined or RunContext(own or self._transport)
        for member in self._members:
            if isinstance(member, Joins):
                member.join(run)
        try:
            async for message in super().run_stream(
                task=task, cancellation_token=cancellation_token, output_task_messages=output_task_messages
            ):
                yield message
        finally:
            await run.leave()
            if own is not None:
                await own.close()


def default_participants(
    model_client: ChatCompletionClient,
    settings: Settings | None = None,
    *,
    approver: ApproverAgent | None = None,
    roles: Mapping[str, ChatCompletionClient] | None = None,
) -> list[ChatAgent | Team]:
    """Create Willowbark's five agents on one model; a specialist without a source is left out.

    Args:
        model_client: the model of all of them.
        settings: what is searched, how much, and when the judge ends it; time limits are left to the caller. None
            takes the defaults.
        approver: asks a person before the report; None skips this.
        roles: other models for `reader`, `specialist`, `judge`, `report`; None sets none.
    """
    settings, roles = settings or Settings(), roles or {}
    asked = settings.research
    is_baseline = all(isinstance(each, BaselineChatCompletionClient) for each in (model_client, *roles.values()))
    fallback = None if is_baseline else BaselineChatCompletionClient(estimates_tokens=False)
    specialists: list[ChatAgent | Team] = [
        specialist_agent(
            name,
            roles.get("specialist", model_client),
            reader=roles.get("reader", model_client if "specialist" in roles else None),
            max_results=asked.page_size,
            page_sizes=settings.tools.page_sizes,
            sources=own,
            fallback=fallback,
            turn_timeout_s=settings.llm.turn_timeout_s,
        )
        for name in ROLES
        if (own := [source for source in searchable(name) if source in settings.searched_sources])
    ]
    limits = JudgeLimits(
        max_iterations=asked.max_iterations,
        judge_threshold=asked.judge_threshold,
        max_tokens=asked.token_limit(is_baseline=is_baseline),
        max_records=DEPTHS[asked.depth],
    )
    judge, reporter = (roles.get(role, model_client) for role in ("judge", "report"))
    return [
        *specialists,
        JudgeAgent("judge", judge, fallback=fallback, limits=limits, include_rag=asked.include_rag),
        *([approver] if approver is not None else []),
        ReportAgent("report", reporter, fallback=fallback, include_rag=asked.include_rag),
    ]


def _only(members: Sequence[ChatAgent | Team], produced: type[BaseChatMessage], role: str) -> str:
    names = _producers(members, produced)
    if len(names) != 1:
        raise UsageError(f"the team needs exactly one {role}; it has {len(names)}")
    return names[0]


def _producers(members: Sequence[ChatAgent | Team], produced: type[BaseChatMessage]) -> list[str]:
    return [m.name for m in members if isinstance(m, ChatAgent) and produced in m.produced_message_types]


def next_speakers(
    thread: Thread, specialists: Sequence[str], judge: str, reporter: str, approver: str | None = None
) -> list[str]:
    """Name who speaks next, given the names of the agents; several speak in parallel.

    Where the judge wants another round and names nobody, all specialists search.
    """
    questions = [at for at, said in enumerate(thread) if isinstance(said, TextMessage) and said.source == "user"]
    messages = thread[questions[-1] + 1 :] if questions else thread  # a team may be asked several questions in turn
    verdicts = [place for place, message in enumerate(messages) if isinstance(message, AssessmentMessage)]
    latest = messages[verdicts[-1]] if verdicts else None
    since = messages[verdicts[-1] + 1 :] if verdicts else messages
    called = list(specialists)
    if isinstance(latest, AssessmentMessage):
        if latest.content.recommendation == "synthesize":
            asked = approver is None or any(isinstance(message, ApprovalMessage) for message in since)
            return [reporter if asked or approver is None else approver]
        called = [name for name in specialists if name in latest.content.next_specialists] or called
    answered = {m.source for m in since if isinstance(m, BaseChatMessage) and m.source in specialists}
    return [name for name in called if name not in answered] or [judge]
