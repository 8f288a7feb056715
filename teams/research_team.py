"""The research team: an AutoGen `SelectorGroupChat` whose rounds follow a policy; specialists work in parallel.

In a round the specialists work in parallel, then the judge. The approver, if any, comes before the report.
A state saved in mid-round does not record who was speaking, so the policy reads from the thread which round this is,
who was called in it, and who has answered.
"""

import warnings
from collections.abc import Mapping, Sequence, Set
from contextlib import AsyncExitStack
from itertools import chain
from typing import Any, Literal, Self, TypedDict, Unpack, get_args

from willowbark.agents.approval import ApprovalMessage
from willowbark.agents.approver import ApproverAgent
from willowbark.agents.assessment import AssessmentMessage
from willowbark.agents.autogen import (
    AgentRuntime,
    BaseAgentEvent,
    BaseChatMessage,
    CandidateFuncType,
    ChatAgent,
    ChatCompletionClient,
    ChatCompletionContext,
    Component,
    ComponentModel,
    PolicyGroupChat,
    SelectorFuncType,
    SelectorGroupChat,
    SelectorGroupChatConfig,
    SourceMatchTermination,
    Team,
    TerminationCondition,
    TextMessage,
    Thread,
    find_assistants,
    list_defaults,
    list_names,
)
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import Joins, RunContext
from willowbark.agents.findings import FindingsMessage
from willowbark.agents.judge import JudgeAgent, JudgeLimits
from willowbark.agents.outside import Listener, collect_turns, find_round
from willowbark.agents.report.model import ReportMessage
from willowbark.agents.reporter import ReportAgent
from willowbark.agents.specialist import SpecialistAgent
from willowbark.agents.specialists import ROLES, specialist_agent
from willowbark.tools.contracts.run_contract import explainer
from willowbark.tools.errors import UsageError
from willowbark.tools.http.transport import Transport
from willowbark.tools.library import read_environment
from willowbark.tools.questions import follow_up, parse_question
from willowbark.tools.records.registry import searchable

from .config import DEPTHS, Settings

Selection = Literal["rounds", "model"]
MESSAGE_TYPES: list[type[BaseAgentEvent | BaseChatMessage]] = [
    FindingsMessage,
    AssessmentMessage,
    ApprovalMessage,
    ReportMessage,
]
"""Types of the team's messages that AutoGen does not know: a team that holds this one takes them as
`custom_message_types`."""
FOR_MODELS = ("selector_prompt", "max_selector_attempts", "model_client_streaming", "model_context")
"""Options of AutoGen's selector that only its model reads."""
_USUAL = {name: list_defaults(SelectorGroupChat)[name] for name in FOR_MODELS}


class GroupChatOptions(TypedDict, total=False):
    """Options of AutoGen's `SelectorGroupChat` that the team hands on as they are."""

    name: str | None
    description: str | None
    max_turns: int | None
    runtime: AgentRuntime | None
    selector_prompt: str
    max_selector_attempts: int
    custom_message_types: list[type[BaseAgentEvent | BaseChatMessage]] | None
    emit_team_events: bool
    model_client_streaming: bool
    model_context: ChatCompletionContext | None


class ResearchTeamConfig(SelectorGroupChatConfig):
    """A selector group chat's configuration with the team's own field."""

    selection: Selection = "rounds"


class ResearchTeam(PolicyGroupChat, Component[ResearchTeamConfig]):
    """Specialists, a judge and a report agent, in rounds.

    What an agent's tools returned counts as evidence even if the agent is no specialist, such as AutoGen's assistant:
    after its turn the team looks up what they name and adds findings in the agent's name.

    Args:
        participants: agents that search, one judge, one report agent, at most one approver; None uses Willowbark's
            five on `model_client`. Who searches may be any agent of AutoGen's, or a team.
        model_client: of Willowbark's five, and what selects speakers; None is the baseline analyst.
        selection: `rounds`: the specialists of a round speak side by side, then the judge. `model`: the model selects
            one speaker after another by `selector_prompt`, of those whom the rounds allow: the specialists of the
            round that have not spoken, and the judge once one has. None: `model` for a `selector_prompt` without
            a `candidate_func`.
        termination_condition: None ends the run with the report. Another one replaces this; the run ends anyway once
            the report is written, unless `selector_func` names who speaks then.
        transport: connection to the sources, left open; None opens one per run and closes it again.
        run: context shared by the agents, with its transport; None makes one from `transport` for each run.
        allow_repeated_speaker: whether the model may select the same speaker twice running; rounds never do.
        selector_func: names the next speaker, whatever the rounds say; None of it leaves them to say.
        candidate_func: names those who may speak next: of a round those among them, else whom the model selects.
        options: passed to `SelectorGroupChat`.

    Raises:
        UsageError: no judge, no report agent or no specialist among the participants, two approvers, two agents of
            one name in nested teams, or an option for a model that selects nobody.
    """

    component_config_schema = ResearchTeamConfig
    component_version = 2  # 1 took options for a model that selects speakers, which it never asked
    component_provider_override = "willowbark.teams.research_team.ResearchTeam"

    DEFAULT_NAME = "ResearchTeam"
    DEFAULT_DESCRIPTION = "Finds existing drugs that might treat a condition, and appraises the evidence."

    def __init__(
        self,
        participants: list[ChatAgent | Team] | None = None,
        model_client: ChatCompletionClient | None = None,
        *,
        selection: Selection | None = None,
        termination_condition: TerminationCondition | None = None,
        transport: Transport | None = None,
        run: RunContext | None = None,
        allow_repeated_speaker: bool = True,
        selector_func: SelectorFuncType | None = None,
        candidate_func: CandidateFuncType | None = None,
        **options: Unpack[GroupChatOptions],
    ) -> None:
        client = model_client or BaselineChatCompletionClient()
        members = participants or default_participants(client)
        if selection is None:
            has_prompt = options.get("selector_prompt") is not None
            selection = "model" if has_prompt and candidate_func is None else "rounds"
        if selection not in get_args(Selection):
            raise UsageError(f"selection is {selection!r}; there are {', '.join(get_args(Selection))}")
        if selection == "rounds" and candidate_func is None:
            _refuse_unread(options)
        self._judge = _find_only(members, AssessmentMessage, "judge")
        self._reporter = _find_only(members, ReportMessage, "report agent")
        self._approver = (
            _find_only(members, ApprovalMessage, "approver") if _list_producers(members, ApprovalMessage) else None
        )
        others = (self._judge, self._reporter, self._approver)
        self._sources = {member.name: list_names(member) for member in members}
        _refuse_shared_names(self._sources)
        self._specialists = [m.name for m in members if m.name not in others]
        if not self._specialists:
            raise UsageError("the team has no specialist: give it at least one agent that searches")
        super().__init__(
            members,
            client,
            termination_condition=termination_condition or SourceMatchTermination([self._reporter]),
            allow_repeated_speaker=allow_repeated_speaker,
            selector_func=selector_func,
            candidate_func=candidate_func,
            **options,
        )
        if not self._message_factory.is_registered(FindingsMessage):
            self._message_factory.register(FindingsMessage)
        self.selects_by_model = selection == "model"
        self._members = members
        assistants = chain.from_iterable(map(find_assistants, members))
        others_by_name = {agent.name: agent for agent in assistants if not isinstance(agent, SpecialistAgent)}
        self._listener = Listener(others_by_name, client)
        self._run = run or RunContext()
        self._transport = transport
        self._joined = run

    async def hear(self, thread: Thread) -> Sequence[BaseChatMessage]:
        """Return findings of what agents did in this round that give none themselves, each after a text for people."""
        speakers = frozenset[str]().union(*(self._sources[name] for name in self._specialists))
        deciders = frozenset(filter(None, (self._judge, self._reporter, self._approver)))
        iteration = find_round(thread[_find_question_end(thread) :])
        self._listener.join(self._run, iteration)
        contributions = collect_turns(find_round_messages(thread, self._judge), speakers, deciders)
        if not contributions:
            return ()
        questions = [
            message.content for message in thread if isinstance(message, TextMessage) and message.source == "user"
        ]
        earlier = [message.content for message in thread if isinstance(message, FindingsMessage)]
        earlier_keys = frozenset(record.key for record in chain.from_iterable(findings.records for findings in earlier))
        return await self._listener.hear(
            contributions, parse_question(follow_up(questions)), iteration, earlier_keys, self._run
        )

    def next_speakers(self, thread: Thread) -> list[str]:
        """Name who speaks next, by the policy of the rounds; nobody after the report."""
        return next_speakers(
            thread, self._specialists, self._judge, self._reporter, self._approver, sources=self._sources
        )

    def open_speakers(self, thread: Thread) -> list[str]:
        """Name those whom the rounds allow to speak next: the judge too, once one of the round has spoken."""
        speakers = self.next_speakers(thread)
        if speakers[0] in self._specialists and self._has_spoken_in_round(thread):
            return [*speakers, self._judge]
        return speakers

    def _has_spoken_in_round(self, thread: Thread) -> bool:
        since = find_round_messages(thread, self._judge)
        sources = frozenset[str]().union(*(self._sources[name] for name in self._specialists))
        return any(message.source in sources for message in since)

    def _to_config(self) -> ResearchTeamConfig:
        for name in ("selector_func", "candidate_func"):
            if getattr(self, f"_{name}") is not None:
                warnings.warn(f"{name} is code: it is not in the team's JSON, pass it again", stacklevel=2)
        config = super()._to_config().model_dump()
        if not self.selects_by_model:
            config |= _USUAL
        return ResearchTeamConfig(**config, selection="model" if self.selects_by_model else "rounds")

    @classmethod
    def _from_config(cls, config: SelectorGroupChatConfig) -> Self:
        assert isinstance(config, ResearchTeamConfig)
        ends = config.termination_condition
        context = config.model_context
        return cls(
            [_load_member(member) for member in config.participants],
            ChatCompletionClient.load_component(config.model_client),
            name=config.name,
            description=config.description,
            selection=config.selection,
            termination_condition=TerminationCondition.load_component(ends) if ends else None,
            max_turns=config.max_turns,
            selector_prompt=config.selector_prompt,
            allow_repeated_speaker=config.allow_repeated_speaker,
            max_selector_attempts=config.max_selector_attempts,
            emit_team_events=config.emit_team_events,
            model_client_streaming=config.model_client_streaming,
            model_context=ChatCompletionContext.load_component(context) if context else None,
        )

    @classmethod
    def _from_config_past_version(cls, config: dict[str, Any], version: int) -> Self:
        # Version 1 wrote a prompt of its own for a model that was asked for nothing: no user's word is lost.
        return cls._from_config(ResearchTeamConfig.model_validate({**config, **_USUAL}))

    async def connect(self, held: AsyncExitStack) -> None:
        """Open a connection to the sources for as long as the team runs, and let its agents join the run."""
        own = None
        if self._joined is None and self._transport is None:
            endpoints = read_environment()
            own = Transport(endpoints, explain=explainer(endpoints))
            held.push_async_callback(own.close)
        run = self._joined or RunContext(own or self._transport)
        held.push_async_callback(run.leave)
        self._run = run
        for member in self._members:
            if isinstance(member, Joins):
                member.join(run)


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
    settings = settings or Settings()
    roles = roles or {}
    research = settings.research
    is_baseline = all(isinstance(role, BaselineChatCompletionClient) for role in (model_client, *roles.values()))
    fallback = None if is_baseline else BaselineChatCompletionClient(estimates_tokens=False)
    specialists = list[ChatAgent | Team]()
    for name in ROLES:
        sources = [source for source in searchable(name) if source in settings.searched_sources]
        if sources:
            specialist = specialist_agent(
                name,
                roles.get("specialist", model_client),
                reader=roles.get("reader", model_client if "specialist" in roles else None),
                max_results=research.page_size,
                page_sizes=settings.tools.page_sizes,
                sources=sources,
                fallback=fallback,
                turn_timeout_s=settings.llm.turn_timeout_s,
            )
            specialists.append(specialist)
    limits = JudgeLimits(
        max_iterations=research.max_iterations,
        judge_threshold=research.judge_threshold,
        max_tokens=research.token_limit(is_baseline=is_baseline),
        max_records=DEPTHS[research.depth],
    )
    judge, reporter = (roles.get(role, model_client) for role in ("judge", "report"))
    return [
        *specialists,
        JudgeAgent("judge", judge, fallback=fallback, limits=limits, include_rag=research.include_rag),
        *([approver] if approver is not None else []),
        ReportAgent(
            "report",
            reporter,
            words=settings.report.words,
            checker=roles.get("checker"),
            fallback=fallback,
            include_rag=research.include_rag,
        ),
    ]


def _find_only(members: Sequence[ChatAgent | Team], produced: type[BaseChatMessage], role: str) -> str:
    names = _list_producers(members, produced)
    if len(names) != 1:
        raise UsageError(f"the team needs exactly one {role}; it has {len(names)}")
    return names[0]


def _list_producers(members: Sequence[ChatAgent | Team], produced: type[BaseChatMessage]) -> list[str]:
    return [m.name for m in members if isinstance(m, ChatAgent) and produced in m.produced_message_types]


def _refuse_unread(options: Mapping[str, Any]) -> None:
    """Raise UsageError for options that only a model reads, where it selects nobody."""
    for name, usual in _USUAL.items():
        if options.get(name, usual) != usual:
            raise UsageError(
                f"{name} is for a model that selects speakers, and the rounds of the team do that: "
                'pass selection="model" too, or a candidate_func'
            )


def _load_member(member: ComponentModel) -> ChatAgent | Team:
    if member.component_type == Team.component_type:
        return Team.load_component(member)
    return ChatAgent.load_component(member)


def _refuse_shared_names(sources: Mapping[str, Set[str]]) -> None:
    """Raise UsageError if two members' messages come from one name: nobody could tell who has spoken."""
    owners = dict[str, str]()
    for member, names in sources.items():
        for name in sorted(names):
            if name in owners:
                raise UsageError(f"{owners[name]} and {member} both hold an agent named {name}: rename one")
            owners[name] = member


def _find_question_end(thread: Thread) -> int:
    """Return the place behind the latest question: a team may be asked several in turn."""
    places = [at for at, message in enumerate(thread) if isinstance(message, TextMessage) and message.source == "user"]
    return places[-1] + 1 if places else 0


def find_round_messages(thread: Thread, judge: str) -> Thread:
    """Return the messages since the judge's latest verdict on the latest question."""
    messages = thread[_find_question_end(thread) :]
    for place in reversed(range(len(messages))):
        if isinstance(messages[place], AssessmentMessage) and messages[place].source == judge:
            return messages[place + 1 :]
    return messages


def next_speakers(
    thread: Thread,
    specialists: Sequence[str],
    judge: str,
    reporter: str,
    approver: str | None = None,
    *,
    sources: Mapping[str, Set[str]] | None = None,
) -> list[str]:
    """Name who speaks next, given the names of the agents; several speak in parallel, nobody after the report.

    Where the judge wants another round and names nobody, all specialists search.

    Args:
        thread: all messages so far.
        specialists: in the order in which they are called.
        judge: ends each round.
        reporter: speaks last.
        approver: speaks before it; None if there is none.
        sources: the sources of each specialist's messages, several if it is a team; None takes its name.
    """
    since = find_round_messages(thread, judge)
    before = thread[_find_question_end(thread) : len(thread) - len(since)]
    called = list(specialists)
    if before:
        verdict = before[-1]
        assert isinstance(verdict, AssessmentMessage)
        if verdict.content.recommendation == "synthesize":
            return _list_last_speakers(since, reporter, approver)
        called = [name for name in specialists if name in verdict.content.next_specialists] or called
    sources_heard = {message.source for message in since if isinstance(message, BaseChatMessage)}
    missing = [name for name in called if sources_heard.isdisjoint(sources[name] if sources else [name])]
    return missing or [judge]


def _list_last_speakers(since: Thread, reporter: str, approver: str | None) -> list[str]:
    if any(isinstance(message, ReportMessage) and message.source == reporter for message in since):
        return []
    if approver is None or any(isinstance(message, ApprovalMessage) for message in since):
        return [reporter]
    return [approver]
