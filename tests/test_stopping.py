"""A team can be stopped in every way that AutoGen's teams can, and then runs again, whole.

What would hang is bounded by `soon`, far above what it takes.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest
from autogen_agentchat.agents import AssistantAgent, BaseChatAgent
from autogen_agentchat.base import Response, TaskResult, Team
from autogen_agentchat.conditions import SourceMatchTermination
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat, SelectorGroupChat
from autogen_core import CancellationToken
from autogen_core.tools import FunctionTool
from builders import calling, scripted

from willowbark.agents import autogen
from willowbark.agents.autogen import PolicyGroupChat

T = TypeVar("T")
TASK = "Which existing drugs could prevent migraine attacks?"
WHOLE = (["ann", "bob", "eve"], "'eve' answered")


async def soon(work: Awaitable[T]) -> T:
    """Wait for what takes a second or two."""
    return await asyncio.wait_for(work, 60)


class Speaker(BaseChatAgent):
    """Says its name after a moment; one that is stubborn does not look at its token."""

    def __init__(self, name: str, *, seconds: float = 0.02, is_stubborn: bool = False) -> None:
        super().__init__(name, "Says its name.")
        self.seconds = seconds
        self._is_stubborn = is_stubborn
        self.begun = asyncio.Event()

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        self.begun.set()
        pause = asyncio.ensure_future(asyncio.sleep(self.seconds))
        if not self._is_stubborn:
            cancellation_token.link_future(pause)
        await pause
        return Response(chat_message=TextMessage(content=self.name, source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        pass


class Rounds(PolicyGroupChat):
    """Ann and Bob side by side, then Eve."""

    def next_speakers(self, thread: Sequence[BaseAgentEvent | BaseChatMessage]) -> list[str]:
        questions = [place for place, message in enumerate(thread) if message.source == "user"]
        heard = {message.source for message in thread[questions[-1] :]}
        return [name for name in ("ann", "bob") if name not in heard] or ["eve"]


def rounds(*members: BaseChatAgent | Team, **options: Any) -> Rounds:
    spoken = members or [Speaker(name) for name in ("ann", "bob", "eve")]
    return Rounds(list(spoken), scripted(), termination_condition=SourceMatchTermination(["eve"]), **options)


async def run(team: Team, task: str = TASK) -> tuple[list[str], str | None]:
    """Who spoke, those who speak side by side in the order of their names, and why the run ended."""
    result = await soon(team.run(task=task))
    return sorted(message.source for message in result.messages if message.source != "user"), result.stop_reason


# --- five ways to stop ---


async def cancel_by_token(team: Team, after: int) -> None:
    token = CancellationToken()
    seen = 0
    with pytest.raises(asyncio.CancelledError):  # noqa: PT012  which message comes first depends on who is first
        async for _ in team.run_stream(task=TASK, cancellation_token=token):
            seen += 1
            if seen == after:
                token.cancel()


async def close_stream(team: Team, after: int) -> None:
    stream: Any = team.run_stream(task=TASK)
    for _ in range(after):
        await anext(stream)
    await stream.aclose()


async def leave_stream(team: Team, after: int) -> None:
    seen = 0
    async for _ in team.run_stream(task=TASK):
        seen += 1
        if seen == after:
            break


async def fail_in_consumer(team: Team, after: int) -> None:
    seen = 0
    try:
        async for _ in team.run_stream(task=TASK):
            seen += 1
            if seen == after:
                raise LookupError("the consumer failed")
    except LookupError:
        pass


async def cancel_task(team: Team, after: int) -> None:
    heard = asyncio.Queue[Any]()

    async def listen() -> None:
        async for message in team.run_stream(task=TASK):
            heard.put_nowait(message)

    listening = asyncio.create_task(listen())
    for _ in range(after):
        await heard.get()
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)


WAYS = [cancel_by_token, close_stream, leave_stream, fail_in_consumer, cancel_task]
Way = Callable[[Team, int], Awaitable[None]]


@pytest.mark.parametrize("way", WAYS)
async def test_a_run_that_a_busy_machine_has_not_closed_is_waited_for(
    way: Way, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(autogen, "GRACE_S", 0.0)
    team = rounds()
    await soon(way(team, 2))
    await soon(team.reset())
    assert await run(team) == WHOLE


@pytest.mark.parametrize("after", [1, 2, 3])
@pytest.mark.parametrize("way", WAYS)
async def test_a_stopped_team_runs_again_twice(way: Way, after: int) -> None:
    team = rounds()
    for _ in range(2):
        await soon(way(team, after))
        await soon(team.reset())
        assert await run(team) == WHOLE
    await soon(way(team, after))
    assert await run(team, "And now?") == WHOLE
    assert await run(team, "And again?") == WHOLE


@pytest.mark.parametrize("way", WAYS)
async def test_the_state_of_a_stopped_team_is_saved_and_goes_on_elsewhere(way: Way) -> None:
    team, other = rounds(), rounds()
    await soon(way(team, 2))
    state = json.loads(json.dumps(await soon(team.save_state())))
    await soon(other.load_state(state))
    result = await soon(other.run())
    assert result.stop_reason == "'eve' answered"
    await soon(team.load_state(state))
    assert await run(team) == WHOLE


async def test_a_run_cannot_be_reset_or_begun_again_while_it_goes_on_and_is_not_disturbed() -> None:
    team = rounds()
    stream: Any = team.run_stream(task=TASK)
    messages = [await anext(stream)]
    with pytest.raises(RuntimeError, match="must be stopped before it can be reset"):
        await soon(team.reset())
    with pytest.raises(ValueError, match="already running"):
        await soon(team.run(task="Me too!"))
    messages += [message async for message in stream]
    assert isinstance(messages[-1], TaskResult)
    assert messages[-1].stop_reason == "'eve' answered"
    await soon(team.reset())
    assert await run(team) == WHOLE


async def test_an_agent_that_ignores_its_token_is_stopped() -> None:
    slow = Speaker("ann", seconds=600, is_stubborn=True)
    team = rounds(slow, Speaker("bob"), Speaker("eve"))
    await soon(cancel_by_token(team, 2))
    slow.seconds = 0
    assert await run(team) == WHOLE


async def test_a_run_that_an_agent_broke_can_be_repeated() -> None:
    class Broken(Speaker):
        async def on_messages(self, messages: Sequence[BaseChatMessage], token: CancellationToken) -> Response:
            if not self.begun.is_set():
                self.begun.set()
                raise LookupError("broken")
            return await super().on_messages(messages, token)

    team = rounds(Broken("ann"), Speaker("bob", seconds=0.1), Speaker("eve"))
    with pytest.raises(RuntimeError, match="broken"):
        await soon(team.run(task=TASK))
    assert await run(team) == WHOLE


LEFT = """
import asyncio, sys
sys.path.insert(0, "tests")
from test_stopping import Speaker, rounds

async def main():
    slow = [Speaker("ann", seconds=60), Speaker("bob", seconds=60, is_stubborn=True)]
    running = asyncio.create_task(rounds(*slow, Speaker("eve")).run(task='Who is there?'))
    for each in slow:
        await each.begun.wait()
    print("left")

asyncio.run(main())
"""


def test_a_program_that_ends_during_a_run_ends_at_once_without_a_word() -> None:
    root = Path(__file__).parent.parent
    ended = subprocess.run(
        [sys.executable, "-c", LEFT], cwd=root, capture_output=True, text=True, timeout=50, check=True
    )
    assert (ended.stdout, ended.stderr) == ("left\n", "")


async def test_messages_are_not_serialised_for_a_log_that_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """AutoGen 0.7.5 does so up to eight times for each message, with all its records."""
    written = []
    registry = "autogen_core._serialization.SerializationRegistry.serialize"
    monkeypatch.setattr(registry, lambda _, message, **__: written.append(message))
    await run(rounds())
    assert written == []


def test_a_team_runs_in_one_event_loop_after_another() -> None:
    """A program may call `asyncio.run` for each question, whatever became of the run before."""
    ends = SourceMatchTermination(["eve"])
    for team in (
        rounds(),
        Nested([Speaker("ann"), talk("talk"), Speaker("eve")], scripted(), termination_condition=ends),
    ):
        for way in (cancel_by_token, leave_stream):
            asyncio.run(way(team, 2))
            asyncio.run(team.reset())
            for _ in range(2):
                assert asyncio.run(run(team))[1] == "'eve' answered"


# --- tool calls ---


def waiting_assistant(name: str, begun: asyncio.Event) -> AssistantAgent:
    """A stock assistant whose tool, called first, never returns; the second time it answers at once."""

    async def look_up(query: str) -> str:
        begun.set()
        await asyncio.sleep(600)
        return query

    tool = FunctionTool(look_up, "Looks up.")
    return AssistantAgent(name, scripted(calling("look_up", "x"), f"{name} speaks", f"{name} speaks"), tools=[tool])


async def test_a_stock_assistant_is_stopped_during_a_tool_call() -> None:
    """AutoGen 0.7.5's AssistantAgent waits forever for a cancelled tool call."""
    begun = asyncio.Event()
    team = rounds(waiting_assistant("ann", begun), Speaker("bob"), Speaker("eve"))
    token = CancellationToken()
    running = asyncio.create_task(team.run(task=TASK, cancellation_token=token))
    await soon(begun.wait())
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await soon(running)
    assert (await run(team))[1] == "'eve' answered"


# --- teams in teams ---


def talk(name: str) -> Team:
    """A stock team of two, each of whom speaks once."""
    return RoundRobinGroupChat([Speaker("fay"), Speaker("gus")], name=name, max_turns=2)


def selected_talk(name: str) -> Team:
    """The same with a selector."""
    in_turn = scripted(*["fay", "gus"] * 9)
    return SelectorGroupChat([Speaker("fay"), Speaker("gus")], in_turn, name=name, max_turns=2)


class Nested(Rounds):
    """Ann and a team side by side, then Eve."""

    def next_speakers(self, thread: Sequence[BaseAgentEvent | BaseChatMessage]) -> list[str]:
        return ["ann", "talk"] if thread[-1].source == "user" else ["eve"]


@pytest.mark.parametrize("make", [talk, selected_talk])
@pytest.mark.parametrize("way", WAYS)
async def test_a_stock_team_in_ours_is_stopped_and_runs_again(way: Way, make: Callable[[str], Team]) -> None:
    ends = SourceMatchTermination(["eve"])
    team = Nested([Speaker("ann"), make("talk"), Speaker("eve")], scripted(), termination_condition=ends)
    for after in (1, 3):
        await soon(way(team, after))
        assert {"ann", "eve", "gus"} <= set((await run(team))[0])  # the inner team goes on where it stopped
        assert await run(team) == (["ann", "eve", "fay", "gus"], "'eve' answered")


async def test_a_stock_team_in_ours_is_stopped_during_a_tool_call() -> None:
    begun = asyncio.Event()
    inner = RoundRobinGroupChat([waiting_assistant("fay", begun), Speaker("gus")], name="talk", max_turns=2)
    ends = SourceMatchTermination(["eve"])
    team = Nested([Speaker("ann"), inner, Speaker("eve")], scripted(), termination_condition=ends)
    running = asyncio.create_task(team.run(task=TASK))
    await soon(begun.wait())
    running.cancel()
    await soon(asyncio.wait({running}))
    assert (await run(team))[0] == ["ann", "eve", "fay", "gus"]


@pytest.mark.parametrize("way", WAYS)
async def test_ours_in_a_stock_team_is_stopped_with_it_and_runs_again(way: Way) -> None:
    """The stock team itself stalls after a stop during a turn, as AutoGen 0.7.5's do: it waits for who was speaking."""
    inner = rounds(name="inner")
    outer = RoundRobinGroupChat([inner, Speaker("dan")], max_turns=2)
    await soon(way(outer, 2))
    await asyncio.sleep(0.2)  # a stock team that its consumer left goes on by itself
    assert await run(inner) == WHOLE
    await soon(outer.reset())
    assert set((await run(outer))[0]) <= {"ann", "bob", "dan", "eve"}
    assert await run(inner) == WHOLE
