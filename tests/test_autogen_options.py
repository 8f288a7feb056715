"""Every keyword of AutoGen's classes that Willowbark's derive from is honoured, or refused by name."""

import inspect
import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent, BaseChatAgent, UserProxyAgent
from autogen_agentchat.base import ChatAgent, Response, Team
from autogen_agentchat.conditions import ExternalTermination, MaxMessageTermination
from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    ModelClientStreamingChunkEvent,
    SelectSpeakerEvent,
    StructuredMessage,
)
from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat
from autogen_core import CancellationToken, SingleThreadedAgentRuntime
from autogen_core.memory import ListMemory, MemoryContent
from autogen_core.model_context import (
    BufferedChatCompletionContext,
    ChatCompletionContext,
    UnboundedChatCompletionContext,
)
from autogen_core.models import (
    ChatCompletionClient,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    UserMessage,
)
from autogen_core.tools import StaticWorkbench
from builders import QUESTION, asked, calling, findings, record, reply, scripted
from pydantic import BaseModel
from test_specialist import NOTHING_READ, SEEN, transport
from test_stopping import cancel_by_token, soon

from willowbark.agents.approver import ApproverAgent
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import RunContext
from willowbark.agents.findings import FindingsMessage
from willowbark.agents.judge import JudgeAgent, JudgeLimits
from willowbark.agents.report.model import ReportMessage
from willowbark.agents.reporter import ReportAgent
from willowbark.agents.specialist import CondensedContext, SpecialistAgent
from willowbark.agents.tool_results import EXCERPTS
from willowbark.teams import MESSAGE_TYPES, ResearchTeam
from willowbark.teams.faces import studio
from willowbark.tools.errors import UsageError
from willowbark.tools.records.enclosure import new_marker
from willowbark.tools.toolbox import GetPaper, SourceTool, ToolReply

Thread = Sequence[BaseAgentEvent | BaseChatMessage]
PROMPT = "Roles: {roles}\nChoose of {participants} after this:\n{history}"


class Finder(BaseChatAgent):
    """A specialist that has found one record."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"Finds what {name} finds.")

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (FindingsMessage,)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        found = record("1", "Propranolol in migraine", "Propranolol reduced migraine attacks.")
        return Response(chat_message=findings(self.name, reply(found)))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        pass


def members() -> list[ChatAgent | Team]:
    client = BaselineChatCompletionClient()
    judge = JudgeAgent("judge", client, limits=JudgeLimits(max_iterations=1))
    return [Finder("one"), Finder("two"), judge, ReportAgent("report", client)]


def team(model: ChatCompletionClient | None = None, **options: Any) -> ResearchTeam:
    return ResearchTeam(members(), model, run=RunContext(), **options)


async def speakers(researchers: Team) -> list[str]:
    messages = (await soon(researchers.run(task=QUESTION))).messages
    typed = FindingsMessage, *MESSAGE_TYPES
    return [message.source for message in messages if isinstance(message, typed)]


# --- which keywords there are ---

TEAM = {
    "participants": "honoured",
    "model_client": "honoured",
    "name": "honoured",
    "description": "honoured",
    "termination_condition": "honoured",
    "max_turns": "honoured",
    "runtime": "honoured",
    "selector_prompt": "honoured where a model selects, refused where rounds do",
    "allow_repeated_speaker": "honoured",
    "max_selector_attempts": "honoured where a model selects, refused where rounds do",
    "selector_func": "honoured",
    "candidate_func": "honoured",
    "custom_message_types": "honoured",
    "emit_team_events": "honoured",
    "model_client_streaming": "honoured where a model selects, refused where rounds do",
    "model_context": "honoured where a model selects, refused where rounds do",
}
ASSISTANT = {
    "name": "honoured",
    "model_client": "honoured",
    "tools": "honoured",
    "workbench": "honoured",
    "handoffs": "refused",
    "model_context": "honoured",
    "description": "honoured",
    "system_message": "honoured",
    "model_client_stream": "honoured",
    "reflect_on_tool_use": "honoured",
    "max_tool_iterations": "honoured",
    "tool_call_summary_format": "refused",
    "tool_call_summary_formatter": "refused",
    "output_content_type": "refused",
    "output_content_type_format": "refused",
    "memory": "honoured",
    "metadata": "honoured",
}
DECIDED: dict[Callable[..., Any], set[str]] = {
    SelectorGroupChat: set(TEAM),
    AssistantAgent: set(ASSISTANT),
    BaseChatAgent: {"name", "description"},  # judge and report agent
    UserProxyAgent: {"name", "description", "input_func"},  # the approver
    ChatCompletionContext: {"initial_messages"},
    ChatCompletionClient.create: {*inspect.signature(BaselineChatCompletionClient.create).parameters},
}


@pytest.mark.parametrize("base", DECIDED, ids=lambda base: base.__qualname__)
def test_every_keyword_of_autogens_is_decided(base: Callable[..., Any]) -> None:
    """Where this fails, a newer AutoGen has another keyword: honour it or refuse it, test that, and name it here."""
    assert set(inspect.signature(base).parameters) == DECIDED[base]


# --- the team ---


async def test_the_rounds_select_by_default_and_need_no_model() -> None:
    model = scripted()
    order = await speakers(team(model))
    assert (sorted(order[:2]), order[2:]) == (["one", "two"], ["judge", "report"])
    assert model.create_calls == []


async def test_a_selector_func_is_honoured_and_leaves_to_the_rounds_what_it_does_not_name() -> None:
    def select(thread: Thread) -> str | None:
        return "two" if len(thread) == 1 else None

    async def select_later(thread: Thread) -> str | None:
        return select(thread)

    for function in (select, select_later):
        assert await speakers(team(selector_func=function)) == ["two", "one", "judge", "report"]
    with pytest.raises(ValueError, match="selector_func named 'chef'; the team has one, two, judge, report"):
        await soon(team(selector_func=lambda _: "chef").run(task=QUESTION))


async def test_a_candidate_func_narrows_the_rounds_down_and_a_model_selects_where_they_call_nobody_of_it() -> None:
    def candidates(thread: Thread) -> list[str]:
        return ["one", "judge"] if len(thread) < 3 else ["judge", "report"]

    async def candidates_later(thread: Thread) -> list[str]:
        return candidates(thread)

    for function in (candidates, candidates_later):
        model = scripted("judge")
        order = await speakers(team(model, candidate_func=function, selector_prompt=PROMPT))
        assert order == ["one", "judge", "report"]
        (call,) = model.create_calls
        assert "Choose of ['one', 'judge'] after this:" in str(call["messages"][0].content)
        assert "two: Finds what two finds." in str(call["messages"][0].content)
    for nobody in ([], ["chef"]):
        with pytest.raises(ValueError, match="candidate_func named"):
            await soon(team(candidate_func=lambda _, names=nobody: names).run(task=QUESTION))


async def test_a_model_selects_within_what_the_rounds_allow_and_the_run_ends() -> None:
    model = scripted("two", "judge")
    order = await speakers(team(model, selection="model", selector_prompt=PROMPT))
    assert order == ["two", "judge", "report"]
    first, second = [str(call["messages"][0].content) for call in model.create_calls]
    assert "Choose of ['one', 'two'] after this:" in first
    assert "Choose of ['one', 'judge'] after this:" in second


@pytest.mark.parametrize("answers", [[], ["report"] * 9, ["nobody at all"] * 9])
async def test_a_model_that_fails_or_names_whom_the_rounds_do_not_allow_breaks_nothing(answers: list[str]) -> None:
    order = await speakers(team(scripted(*answers), selection="model"))
    assert order == ["one", "two", "judge", "report"]


async def test_the_baseline_analyst_selects_whose_turn_is_longest_ago() -> None:
    assert (await speakers(team(selection="model")))[-1] == "report"


async def test_a_model_has_as_many_attempts_as_are_given() -> None:
    model = scripted(*["nobody"] * 9)
    await speakers(team(model, selection="model", max_selector_attempts=2))
    assert len(model.create_calls) == 4  # two for each of the first two; then the judge alone is due, then the report


@pytest.mark.parametrize(("allowed", "order"), [(True, ["one", "one"]), (False, ["one", "two"])])
async def test_a_speaker_is_repeated_only_where_that_is_allowed(allowed: bool, order: list[str]) -> None:
    researchers = team(
        scripted("one", "one", "two"),
        candidate_func=lambda _: ["one", "two"],
        allow_repeated_speaker=allowed,
        max_turns=3,
    )
    assert (await speakers(researchers))[2:] == order


async def test_the_model_that_selects_streams_and_its_words_and_choices_are_events() -> None:
    model = scripted("two", "judge")
    researchers = team(model, selection="model", model_client_streaming=True, emit_team_events=True)
    events = [event async for event in researchers.run_stream(task=QUESTION)]
    assert [event.content for event in events if isinstance(event, SelectSpeakerEvent)] == [
        [name] for name in ("two", "judge", "report")
    ]
    assert {event.content.strip() for event in events if isinstance(event, ModelClientStreamingChunkEvent)} == {
        "two",
        "judge",
    }


async def test_a_rounds_speakers_are_an_event_too() -> None:
    events = [event async for event in team(emit_team_events=True).run_stream(task=QUESTION)]
    selected = [event.content for event in events if isinstance(event, SelectSpeakerEvent)]
    assert selected == [["one", "two"], ["judge"], ["report"]]


async def test_the_model_that_selects_sees_what_its_context_holds() -> None:
    model = scripted("two", "judge")
    await speakers(team(model, selection="model", model_context=BufferedChatCompletionContext(1)))
    assert QUESTION in str(model.create_calls[0]["messages"])
    assert QUESTION not in str(model.create_calls[1]["messages"])


async def test_a_run_ends_by_a_condition_by_turns_or_once_nobody_is_due() -> None:
    result = await soon(team(termination_condition=MaxMessageTermination(2)).run(task=QUESTION))
    assert result.stop_reason == "Maximum number of messages 2 reached, current message count: 2"
    result = await soon(team(max_turns=1).run(task=QUESTION))
    assert result.stop_reason == "Maximum number of turns 1 reached."
    endless = team(termination_condition=ExternalTermination())
    for _ in range(2):
        result = await soon(endless.run(task=QUESTION))
        assert isinstance(result.messages[-1], ReportMessage)
        assert result.stop_reason == "Nobody is due to speak."


async def test_a_team_on_a_runtime_of_the_callers_is_stopped_and_runs_again() -> None:
    runtime = SingleThreadedAgentRuntime()
    runtime.start()
    researchers = team(runtime=runtime)
    await soon(cancel_by_token(researchers, 1))
    for _ in range(2):
        assert (await speakers(researchers))[-1] == "report"
    await runtime.stop_when_idle()


class Remark(BaseModel):
    words: str


async def test_a_message_of_the_callers_own_type_begins_a_run() -> None:
    message = StructuredMessage[Remark](content=Remark(words="Which drugs prevent migraine?"), source="user")
    researchers = team(custom_message_types=[StructuredMessage[Remark]], max_turns=1)
    assert (await soon(researchers.run(task=message))).stop_reason == "Maximum number of turns 1 reached."
    with pytest.raises(ValueError, match="custom_message_types"):
        await soon(team().run(task=message))


def test_name_and_description_are_the_callers() -> None:
    named = team(name="drugs", description="Finds drugs.")
    assert (named.name, named.description) == ("drugs", "Finds drugs.")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("selector_prompt", PROMPT),
        ("max_selector_attempts", 5),
        ("model_client_streaming", True),
        ("model_context", UnboundedChatCompletionContext()),
    ],
)
def test_what_only_a_model_that_selects_would_read_is_refused_where_the_rounds_select(option: str, value: Any) -> None:
    with pytest.raises(UsageError, match=f"^{option} is for a model that selects speakers"):
        team(selection="rounds", **{option: value})


async def test_who_passes_a_prompt_for_selecting_speakers_has_the_model_select() -> None:
    model = scripted("two", "one", "judge", "report")
    assert await speakers(team(model, selector_prompt=PROMPT)) == ["two", "one", "judge", "report"]
    assert len(model.create_calls) > 0


def test_another_way_to_select_is_refused() -> None:
    with pytest.raises(UsageError, match="selection is 'chance'; there are rounds, model"):
        team(selection="chance")


def test_a_team_whose_model_selects_is_saved_and_loaded() -> None:
    researchers = ResearchTeam(None, scripted(), selection="model", selector_prompt=PROMPT, max_selector_attempts=5)
    saved = json.loads(researchers.dump_component().model_dump_json())
    assert saved["config"]["selection"] == "model"
    loaded = ResearchTeam.load_component(saved)
    assert loaded.dump_component().model_dump(mode="json") == saved
    first = {**saved, "component_version": 1, "config": {**saved["config"]}}
    del first["config"]["selection"]
    assert ResearchTeam.load_component(first).selects_by_model is False


@pytest.mark.parametrize("option", ["selector_func", "candidate_func"])
def test_a_team_with_a_function_says_that_its_json_lacks_it(option: str) -> None:
    researchers = ResearchTeam(**{option: lambda _: None})
    with pytest.warns(UserWarning, match=f"{option} is code"):
        saved = researchers.dump_component()
    ResearchTeam.load_component(saved)


# --- teams in teams ---


@pytest.mark.parametrize("make", [RoundRobinGroupChat, partial(SelectorGroupChat, model_client=scripted("research"))])
async def test_a_stock_team_takes_ours_with_its_message_types(make: Callable[..., Team]) -> None:
    inner = team(name="research")
    outer = make([inner, Finder("other")], max_turns=1, custom_message_types=MESSAGE_TYPES)
    messages = (await soon(outer.run(task=QUESTION))).messages
    assert [type(message) for message in messages if type(message) in MESSAGE_TYPES][-1] is ReportMessage
    state = json.loads(json.dumps(await outer.save_state()))
    other = make([team(name="research"), Finder("other")], max_turns=1, custom_message_types=MESSAGE_TYPES)
    await other.load_state(state)


async def test_a_stock_team_may_be_a_specialist_of_ours() -> None:
    pair = RoundRobinGroupChat([Finder("three"), Finder("four")], name="pair", max_turns=2)
    researchers = ResearchTeam([pair, *members()], run=RunContext())
    order = await speakers(researchers)
    assert (sorted(order[:4]), order[4:]) == (["four", "one", "three", "two"], ["judge", "report"])
    twin = RoundRobinGroupChat([Finder("one")], name="pair", max_turns=1)
    with pytest.raises(UsageError, match="pair and one both hold an agent named one: rename one"):
        ResearchTeam([twin, *members()])


async def test_a_specialist_that_says_nothing_does_not_keep_a_team_for_ever() -> None:
    over = MaxMessageTermination(1)
    silent = RoundRobinGroupChat([Finder("three")], name="silent", termination_condition=over, max_turns=1)
    await over([asked(), asked()])  # AutoGen: a team whose condition is met answers without a message
    with pytest.raises(RuntimeError, match="silent said nothing: the team cannot go on"):
        await soon(ResearchTeam([silent, *members()], run=RunContext()).run(task=QUESTION))


# --- specialists ---

calls = partial(calling, "search_pubmed")


def specialist(client: ChatCompletionClient, **options: Any) -> SpecialistAgent:
    tools = {} if "workbench" in options else {"tools": [SourceTool("pubmed")]}
    agent = SpecialistAgent("literature", client, **{**tools, **options})
    agent.join(RunContext(transport()))
    return agent


async def turn(agent: SpecialistAgent) -> list[Any]:
    return [event async for event in agent.on_messages_stream([asked()], CancellationToken())]


@pytest.mark.parametrize(("reflects", "reflection"), [(None, SEEN), (True, SEEN), (False, "")])
async def test_a_specialist_reflects_as_it_is_told(reflects: bool | None, reflection: str) -> None:
    client = scripted(calls("migraine"), NOTHING_READ, *([SEEN] if reflection else []))
    agent = specialist(client, reflect_on_tool_use=reflects, max_tool_iterations=1)
    *_, response = await turn(agent)
    assert response.chat_message.content.reflection == reflection
    assert len(client.create_calls) == 2 + bool(reflection)
    assert agent.dump_component().config["reflect_on_tool_use"] is bool(reflection)


@pytest.mark.parametrize(("rounds", "searches"), [(None, 3), (1, 1), (4, 4)])
async def test_a_specialist_calls_its_tools_as_often_as_it_is_told(rounds: int | None, searches: int) -> None:
    client = scripted(*(calls(f"migraine {at}") for at in range(searches)), NOTHING_READ, SEEN)
    agent = specialist(client, max_tool_iterations=rounds)
    *_, response = await turn(agent)
    assert len(response.chat_message.content.replies) == searches
    assert response.chat_message.content.reflection == SEEN
    assert agent.dump_component().config["max_tool_iterations"] == searches


async def test_a_specialist_streams_its_calls_and_its_reflection() -> None:
    agent = specialist(scripted(calls("migraine"), NOTHING_READ, SEEN), model_client_stream=True, max_tool_iterations=1)
    events = await turn(agent)
    streamed = "".join(event.content for event in events if isinstance(event, ModelClientStreamingChunkEvent))
    assert " ".join(streamed.split()) == SEEN
    assert events[-1].chat_message.content.reflection == SEEN


async def test_a_specialist_has_memory_system_message_context_and_metadata_of_the_callers() -> None:
    memory = ListMemory("remembered")
    await memory.add(MemoryContent(content="The patient has asthma.", mime_type="text/plain"))
    context = UnboundedChatCompletionContext()
    client = scripted(calls("migraine"), SEEN, NOTHING_READ)
    agent = specialist(
        client,
        memory=[memory],
        system_message="Be brief.",
        description="Reads.",
        model_context=context,
        metadata={"kept": "yes"},
    )
    await turn(agent)
    sent = client.create_calls[0]["messages"]
    assert str(sent[0].content).startswith("Be brief.")
    assert "The patient has asthma." in str(sent)
    assert SEEN in str(await context.get_messages())
    config = agent.dump_component().config
    assert (config["description"], config["metadata"]) == ("Reads.", {"kept": "yes"})
    assert config["memory"][0]["provider"].endswith("ListMemory")


async def test_a_specialist_takes_a_workbench() -> None:
    bench = StaticWorkbench([SourceTool("pubmed"), GetPaper()])
    *_, response = await turn(specialist(scripted(calls("migraine"), SEEN, NOTHING_READ), workbench=bench))
    assert [found.key for found in response.chat_message.content.records] == ["pmid:11111111"]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("handoffs", ["judge"]),
        ("tool_call_summary_format", "{arguments}"),
        ("tool_call_summary_formatter", lambda call, result: "x"),
        ("output_content_type", Remark),
        ("output_content_type_format", "{words}"),
    ],
)
def test_what_means_nothing_for_a_specialist_is_refused_by_name(option: str, value: Any) -> None:
    assert ASSISTANT[option] == "refused"
    with pytest.raises(UsageError, match=rf"^literature: {option} is refused: \w+"):
        specialist(scripted(), **{option: value})


def test_an_option_that_autogen_lacks_is_refused() -> None:
    with pytest.raises(TypeError, match="temperature"):
        specialist(scripted(), temperature=0)


@pytest.mark.parametrize("option", [{"reflect_on_tool_use": True}, {"max_tool_iterations": 2}])
def test_the_baseline_analyst_neither_reflects_nor_asks_twice_and_says_so(option: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=f"literature: {next(iter(option))} is for language models"):
        specialist(BaselineChatCompletionClient(), **option)
    config = specialist(BaselineChatCompletionClient()).dump_component().config
    assert (config["reflect_on_tool_use"], config["max_tool_iterations"]) == (False, 1)


def test_studio_shows_that_specialists_on_a_language_model_reflect() -> None:
    for model, shown in (("baseline", (False, 1)), ("openai/gpt-4.1-mini", (True, 3))):
        configs = [agent["config"] for agent in studio.team(model)["config"]["participants"]]
        flags = [(c["reflect_on_tool_use"], c["max_tool_iterations"]) for c in configs if "reflect_on_tool_use" in c]
        assert flags == [shown] * 3


def test_a_specialist_saved_by_an_earlier_version_reflects_as_it_did() -> None:
    saved = json.loads(specialist(scripted()).dump_component().model_dump_json())
    assert (saved["config"]["reflect_on_tool_use"], saved["config"]["max_tool_iterations"]) == (True, 3)
    old = {**saved, "component_version": 2, "config": {**saved["config"]}}
    old["config"] |= {"reflect_on_tool_use": False, "max_tool_iterations": 1}
    assert SpecialistAgent.load_component(old).dump_component().model_dump(mode="json") == saved
    saved["config"] |= {"reflect_on_tool_use": False, "max_tool_iterations": 2}
    assert SpecialistAgent.load_component(saved).dump_component().model_dump(mode="json") == saved


# --- what a reflection sees ---


def results(number: int) -> FunctionExecutionResultMessage:
    """So many trials as a tool gives them; each abstract ends in a sentence of its own."""
    text = "Background is given. Methods are told. " * 20
    found = [
        record(str(at), f"Drug {at} in migraine", f"{text}Drug {at} worked in trial {at}.")
        for at in range(1, number + 1)
    ]
    block = ToolReply(replies=[reply(*found)]).as_text(new_marker())
    result = FunctionExecutionResult(content=block, name="search_pubmed", call_id="1", is_error=False)
    return FunctionExecutionResultMessage(content=[result])


@pytest.mark.parametrize(("number", "with_ends"), [(1, True), (18, True), (40, True), (200, False)])
async def test_a_reflection_sees_every_record_of_its_turn_and_no_more_than_it_can_take(
    number: int, with_ends: bool
) -> None:
    context = CondensedContext()
    await context.add_message(UserMessage(content=QUESTION, source="user"))
    await context.add_message(results(number))
    shown = str(await context.get_messages())
    assert [at for at in range(1, number + 1) if f'"pmid:{at}"' not in shown] == []
    assert [at for at in range(1, number + 1) if f"Drug {at} in migraine" not in shown] == []
    assert [at for at in range(1, number + 1) if with_ends and f"worked in trial {at}." not in shown] == []
    overhead = 60 * number + 300  # keys, names of fields, the head
    assert len(shown) < 1.2 * EXCERPTS + overhead + 60 * number


async def test_a_later_turn_sees_counts_and_a_few_titles_of_it() -> None:
    context = CondensedContext()
    await context.add_message(results(18))
    await context.add_message(UserMessage(content="And now?", source="user"))
    shown = str(await context.get_messages())
    assert "worked in trial" not in shown
    assert (shown.count("in migraine"), '"read": 18' in shown) == (8, True)


async def test_a_context_keeps_the_messages_that_it_began_with_in_its_json() -> None:
    begun = CondensedContext([UserMessage(content="Before.", source="user")])
    loaded = ChatCompletionContext.load_component(json.loads(begun.dump_component().model_dump_json()))
    assert "Before." in str(await loaded.get_messages())


def test_the_approver_is_a_user_proxy_with_its_options() -> None:
    approver = ApproverAgent("anna", description="Asks Anna.", input_func=lambda _: "all")
    assert (approver.name, approver.description, approver.input_func("?")) == ("anna", "Asks Anna.", "all")
