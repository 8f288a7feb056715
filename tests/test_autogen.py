"""What Willowbark uses of AutoGen beyond its public names still holds; a failure says what a newer AutoGen changed."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from autogen_agentchat.agents import AssistantAgent, UserProxyAgent
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, TextMessage
from autogen_core import CancellationToken, MessageContext, RoutedAgent, TopicId, TypeSubscription, message_handler
from autogen_core.tools import StaticWorkbench
from builders import QUESTION, asked, scripted

from willowbark.agents import autogen
from willowbark.agents.autogen import (
    AbandonableRuntime,
    PolicyGroupChat,
    get_model_name,
    list_tools_of,
    read_answer,
    speak_through,
)
from willowbark.tools.toolbox import GetPaper, SourceTool


def assistant(name: str, answer: str) -> AssistantAgent:
    return AssistantAgent(name, scripted(answer))


class InPairs(PolicyGroupChat):
    """The first two side by side, then the third."""

    def next_speakers(self, thread: Sequence[BaseAgentEvent | BaseChatMessage]) -> list[str]:
        return ["one", "two"] if len(thread) == 1 else ["three"]


async def test_the_team_asks_the_policy_and_several_may_speak_at_once() -> None:
    members = [assistant(name, f"{name} speaks") for name in ("one", "two", "three")]
    team = InPairs(list(members), scripted(), max_turns=2)
    spoke = [message.source for message in (await team.run(task=QUESTION)).messages if message.source != "user"]
    assert (sorted(spoke[:2]), spoke[2:]) == (["one", "two"], ["three"]), (
        "AutoGen's SelectorGroupChat no longer builds its manager in `_create_group_chat_manager_factory`, or the "
        "manager no longer asks its own `select_speaker`, or that may no longer name several"
    )


async def test_a_runtime_called_off_ends_what_is_under_way_without_a_word() -> None:
    begun = asyncio.Event()

    class Slow(RoutedAgent):
        @message_handler
        async def wait(self, message: TextMessage, ctx: MessageContext) -> None:
            begun.set()
            await asyncio.sleep(60)

    runtime = AbandonableRuntime(ignore_unhandled_exceptions=False)
    await Slow.register(runtime, "slow", lambda: Slow("slow"))
    await runtime.add_subscription(TypeSubscription("all", "slow"))
    runtime.start()
    await runtime.publish_message(asked(), TopicId("all", "here"))
    await begun.wait()
    under_way = set(runtime._background_tasks)
    stopping = asyncio.create_task(runtime.stop_when_idle())
    await asyncio.sleep(0)
    stopping.cancel()
    await asyncio.gather(stopping, return_exceptions=True)
    for task in under_way:
        task.cancel()

    ends = await asyncio.gather(*under_way, return_exceptions=True)

    assert ends == [None], "AutoGen's runtime no longer keeps its queue in `_message_queue`, or counts otherwise"


def test_an_assistants_tools_are_found() -> None:
    tools = [SourceTool("pubmed"), GetPaper()]
    by_tools = AssistantAgent("one", scripted("x"), tools=list(tools))
    by_workbench = AssistantAgent("two", scripted("x"), workbench=StaticWorkbench(list(tools)))
    for agent in (by_tools, by_workbench):
        assert list(list_tools_of(agent)) == tools, (
            "AutoGen's AssistantAgent no longer keeps its workbenches in `_workbench`, or StaticWorkbench its tools in "
            "`_tools`"
        )


async def test_an_assistants_turn_goes_through_another_model_and_back() -> None:
    agent, other = assistant("one", "its own"), scripted("the other's")
    with speak_through(agent, other, 1):
        first = await agent.on_messages([asked()], CancellationToken())
    second = await agent.on_messages([asked()], CancellationToken())
    assert [first.chat_message.to_text(), second.chat_message.to_text()] == ["the other's", "its own"], (
        "AutoGen's AssistantAgent no longer reads its model from `_model_client` when a turn begins"
    )


async def test_what_an_input_function_raises_comes_through_as_it_is() -> None:
    def closed(_: str) -> str:
        raise EOFError

    answered = await read_answer(
        UserProxyAgent("anna", input_func=lambda prompt: f"{prompt} yes"), "?", CancellationToken()
    )
    assert answered == "? yes", "AutoGen's UserProxyAgent no longer asks in `_get_input`"
    with pytest.raises(EOFError):
        await read_answer(UserProxyAgent("anna", input_func=closed), "?", CancellationToken())


def test_a_providers_client_tells_its_model() -> None:
    models = pytest.importorskip("autogen_ext.models.openai", reason="needs the extra `openai`")
    made = models.OpenAIChatCompletionClient(model="gpt-4.1-mini", api_key="none")
    assert get_model_name(made) == "gpt-4.1-mini", "AutoGen's clients no longer keep their arguments in `_raw_config`"
    assert get_model_name(scripted("x")) is None


def test_autogen_knows_openais_models() -> None:
    pytest.importorskip("openai", reason="needs the extra `openai`")
    known = autogen.find_model_info("gpt-4.1-mini")
    assert known is not None, "`autogen_ext.models.openai._model_info` no longer lists models in `_MODEL_INFO`"
    assert autogen.find_model_info("nobody-knows-it") is None


def test_what_autogen_keeps_to_itself_is_used_in_one_module_alone() -> None:
    root = Path(__file__).parent.parent
    private = re.compile(r"^\s*from autogen_[\w.]*\._|^\s*from autogen_[\w.]+ import _", re.MULTILINE)
    users = [
        path.relative_to(root).as_posix()
        for floor in ("agents", "tools", "teams")
        for path in (root / floor).rglob("*.py")
        if private.search(path.read_text(encoding="utf-8"))
    ]

    assert users == ["agents/autogen.py"]
