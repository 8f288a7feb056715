"""The only interface to AutoGen: agents and teams import its names from here alone (checked by `make check`).

AutoGen 0.7.5 is pinned. Uses of its private names are here too, each with a test in `tests/test_autogen.py` that shows
what a newer version changed. `docs/explanation/autogen.md` lists what a move to another framework would affect.
"""

import asyncio
import logging
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from inspect import Parameter, isawaitable, signature
from typing import Any, Generic, Literal, Self, TypeVar

from autogen_agentchat import EVENT_LOGGER_NAME
from autogen_agentchat.agents import AssistantAgent, BaseChatAgent, UserProxyAgent
from autogen_agentchat.agents._assistant_agent import AssistantAgentConfig
from autogen_agentchat.agents._user_proxy_agent import InputFuncType, UserProxyAgentConfig
from autogen_agentchat.base import ChatAgent, Response, TaskResult, Team, TerminationCondition
from autogen_agentchat.conditions import (
    FunctionalTermination,
    MaxMessageTermination,
    SourceMatchTermination,
    TimeoutTermination,
)
from autogen_agentchat.messages import (
    BaseAgentEvent,
    BaseChatMessage,
    ModelClientStreamingChunkEvent,
    StopMessage,
    StructuredMessage,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    ToolCallSummaryMessage,
    UserInputRequestedEvent,
)
from autogen_agentchat.teams import BaseGroupChat, SelectorGroupChat
from autogen_agentchat.teams._group_chat._base_group_chat_manager import BaseGroupChatManager
from autogen_agentchat.teams._group_chat._events import GroupChatMessage, GroupChatStart
from autogen_agentchat.teams._group_chat._selector_group_chat import (
    CandidateFuncType,
    SelectorFuncType,
    SelectorGroupChatConfig,
    SelectorGroupChatManager,
)
from autogen_agentchat.teams._group_chat._sequential_routed_agent import FIFOLock, SequentialRoutedAgent
from autogen_core import EVENT_LOGGER_NAME as CORE_EVENT_LOGGER_NAME
from autogen_core import (
    ROOT_LOGGER_NAME,
    AgentRuntime,
    CancellationToken,
    Component,
    ComponentLoader,
    ComponentModel,
    DefaultTopicId,
    FunctionCall,
    InMemoryStore,
    SingleThreadedAgentRuntime,
)
from autogen_core._component_config import WELL_KNOWN_PROVIDERS
from autogen_core._queue import QueueShutDown
from autogen_core.model_context import ChatCompletionContext
from autogen_core.model_context._chat_completion_context import ChatCompletionContextState
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    FunctionExecutionResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelCapabilities,
    ModelFamily,
    ModelInfo,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from autogen_core.tools import BaseTool, FunctionTool, StaticWorkbench, Tool, ToolSchema, Workbench
from autogen_ext.models.cache import ChatCompletionCache
from autogen_ext.models.replay import ReplayChatCompletionClient
from pydantic import BaseModel

from willowbark.tools.records.enclosure import one_line

Content = TypeVar("Content", bound=BaseModel)
SHORT_CALL = 100  # characters of a result on a console
GRACE_S = 1.0  # for the agents of a stopped run to end by its token
CLOSING_STEPS = 5  # of the event loop, within which it closes a stream that was left
CLOSING_S = 30.0  # for the next run to wait for the end of one that was stopped on a busy machine
REFUSED = "The model refused: "
Thread = Sequence[BaseAgentEvent | BaseChatMessage]
Streamed = BaseAgentEvent | BaseChatMessage | Response
_events = logging.getLogger(CORE_EVENT_LOGGER_NAME)
_log = logging.getLogger(EVENT_LOGGER_NAME)


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError | QueueShutDown))


logging.getLogger(ROOT_LOGGER_NAME).addFilter(_is_no_cancellation)  # stopping a run is no error


class NoSettings(BaseModel):
    """Configuration of a component without settings."""


class WithoutSettings:
    """The configuration of a component without settings; named first among its bases."""

    component_config_schema = NoSettings

    def _to_config(self) -> NoSettings:
        return NoSettings()

    @classmethod
    def _from_config(cls, config: NoSettings) -> Self:
        return cls()


class ShortResults(ToolCallExecutionEvent):
    """Tool results, shown as one line each on consoles, as the content holds all records."""

    def to_text(self) -> str:
        """Return the first line of each result, cut; sources give their status there."""
        told = (f"{result.name}: {result.content.partition(chr(10))[0]}" for result in self.content)
        return "\n".join(one_line(line, SHORT_CALL) for line in told)


ShortResults.__name__ = ToolCallExecutionEvent.__name__  # AutoGen's teams identify messages by class name


class ModelTextMessage(StructuredMessage[Content], Generic[Content]):
    """A typed message that other agents' models get as a text, not as its whole content as in AutoGen."""

    def to_model_text(self) -> str:
        """Return the text for other agents' models; by default the line for consoles."""
        return self.to_text()

    def to_model_message(self) -> UserMessage:
        """Return that text as a prompt message."""
        return UserMessage(content=self.to_model_text(), source=self.source)


class AbandonableRuntime(SingleThreadedAgentRuntime):
    """AutoGen's runtime, quiet when its event loop ends early, and without the cost of a log that is off."""

    def _try_serialize(self, message: Any) -> str:
        # AutoGen 0.7.5 serialises each message up to eight times, with all its records, even if its log is off.
        return super()._try_serialize(message) if _events.isEnabledFor(logging.INFO) else type(message).__name__

    async def stop_when_idle(self) -> None:
        """Stop once idle; if cancelled, cancel the turns at work and wait for them."""
        queue = self._message_queue
        try:
            await super().stop_when_idle()
        except asyncio.CancelledError:
            # AutoGen 0.7.5 takes a new queue at once; turns that end after it count on that one, and each raises
            # "task_done() called too many times" when `asyncio.run` cancels all tasks.
            new_queue = self._message_queue
            self._message_queue = queue
            try:
                turns = list(self._background_tasks)
                for turn in turns:
                    turn.cancel()
                await asyncio.gather(*turns, return_exceptions=True)
            finally:
                self._message_queue = new_queue
            raise


class RunToken(CancellationToken):
    """A token that is cancelled with another one, and whose `cancel` does not fail.

    AutoGen 0.7.5's McpWorkbench links a coroutine, which has no `cancel`: cancelling the token, even after a good run,
    then raises an AttributeError and leaves the callbacks after it out.
    """

    def __init__(self, outer: CancellationToken | None = None) -> None:
        super().__init__()
        if outer is not None:
            outer.add_callback(self.cancel)

    def link_future(self, future: asyncio.Future[Any]) -> asyncio.Future[Any]:
        """Cancel a future with the token; leave alone what is no future."""
        if isinstance(future, asyncio.Future):
            return super().link_future(future)
        return future


async def cancel_turns(team: BaseGroupChat) -> None:
    """Cancel the turns of a team that its token did not end, and those of the teams inside it.

    AutoGen 0.7.5's AssistantAgent waits forever for a tool call that was cancelled.
    """
    if isinstance(team._runtime, SingleThreadedAgentRuntime) and team._embedded_runtime:
        turns = set(team._runtime._background_tasks)
        for turn in turns:
            turn.cancel()
        if turns:
            await asyncio.wait(turns, timeout=GRACE_S)
    for member in team._participants:
        if isinstance(member, BaseGroupChat):
            await cancel_turns(member)


def forget_error(task: asyncio.Task[Any]) -> None:
    """Take a task's error, which asyncio would print as one that nobody retrieved."""
    if not task.cancelled():
        task.exception()


def forget_turns(team: BaseGroupChat) -> None:
    """Bring a team whose run was stopped, and the teams inside it, to where they can run again.

    AutoGen 0.7.5 remembers who was speaking, and waits for them in the next run, which then ends early; the error of a
    second agent that was stopped, which the next run raises; and a lock for which a cancelled turn waited.
    """
    runtime = team._runtime
    if isinstance(runtime, SingleThreadedAgentRuntime):
        if team._embedded_runtime:
            runtime._background_exception = None
        for name, agent in runtime._instantiated_agents.items():
            if name.key == team._team_id and isinstance(agent, SequentialRoutedAgent):
                agent._fifo_lock = FIFOLock()
                if isinstance(agent, BaseGroupChatManager):
                    agent._active_speakers.clear()
    for member in team._participants:
        if isinstance(member, BaseGroupChat):
            forget_turns(member)


def unbind_queues(team: BaseGroupChat) -> None:
    """Let a team and the teams inside it run in another event loop than before.

    AutoGen 0.7.5 keeps one queue for all runs, and asyncio binds a queue to the loop in which it is first waited for:
    a second `asyncio.run` with the same team fails.
    """
    queue: Any = team._output_message_queue
    queue._loop = None
    for member in team._participants:
        if isinstance(member, BaseGroupChat):
            unbind_queues(member)


class PolicyGroupChat(SelectorGroupChat):
    """A selector group chat in which a policy names the next speakers, or whom a model may select.

    A run ends at once, and the team can run again, when its token is cancelled, its stream is closed or left, its
    consumer fails, or its task is cancelled.
    """

    selects_by_model = False
    """Whether a model selects each speaker, of those whom the policy allows."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if self._embedded_runtime:
            self._runtime = AbandonableRuntime(ignore_unhandled_exceptions=False)
        self._ended = asyncio.Event()  # replaced by each run: an event belongs to one event loop
        self._closing: asyncio.Task[None] | None = None  # of the last run that was stopped
        self._is_open = False
        self._is_ending = False

    async def connect(self, held: AsyncExitStack) -> None:
        """Open what a run needs, and have `held` close it at the run's end; by default nothing.

        No context manager made of a generator: an ending event loop closes all generators at once, also one that this
        stream still holds open.
        """

    async def run_stream(
        self,
        *,
        task: str | BaseChatMessage | Sequence[BaseChatMessage] | None = None,
        cancellation_token: CancellationToken | None = None,
        output_task_messages: bool = True,
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | TaskResult, None]:
        """Run the team as a stream of messages; the result is the last one.

        Raises:
            CancelledError: the token was cancelled.
            RuntimeError: an agent failed.
            ValueError: the task is no message, or the team is running.
        """
        await self._let_end()
        if self._is_open or self._is_running:
            raise ValueError("The team is already running, it cannot run again until it is stopped.")  # AutoGen's words
        self._is_open = True
        self._ended = asyncio.Event()
        unbind_queues(self)
        token = RunToken(cancellation_token)
        stopped = token.link_future(asyncio.get_running_loop().create_future())
        stream = super().run_stream(task=task, cancellation_token=token, output_task_messages=output_task_messages)
        step: asyncio.Future[BaseAgentEvent | BaseChatMessage | TaskResult | None] | None = None
        is_whole = False
        try:
            async with AsyncExitStack() as held:
                await self.connect(held)
                try:
                    while not is_whole:
                        # A task of its own for each message: AutoGen 0.7.5's stream, when closed or cancelled itself,
                        # first waits until every agent has finished, which takes as long as the run.
                        step = asyncio.ensure_future(anext(stream, None))
                        await asyncio.wait({step, stopped}, return_when=asyncio.FIRST_COMPLETED)
                        message = step.result() if step.done() else await stopped
                        is_whole = message is None
                        if message is not None:
                            yield message
                finally:
                    self._is_ending = True
                    if not is_whole:
                        token.cancel()
                        await self._end_run(stream, step)
        finally:
            self._is_open = False
            self._is_ending = False
            self._ended.set()

    async def _end_run(self, stream: AsyncGenerator[Any, None], step: asyncio.Future[Any] | None) -> None:
        """End a run whose token was cancelled: close its stream once its agents have ended."""

        async def close() -> None:
            if step is not None:
                await asyncio.wait({step})
            await stream.aclose()

        closing = asyncio.create_task(close())
        closing.add_done_callback(forget_error)  # the agents' errors are those of a stopped run
        self._closing = closing
        try:
            await asyncio.wait({closing}, timeout=GRACE_S)
            await cancel_turns(self)
            await asyncio.wait({closing}, timeout=GRACE_S)
        finally:
            forget_turns(self)

    async def _let_end(self) -> None:
        """Wait for the end of a run whose consumer left: asyncio closes its stream within a few steps."""
        for _ in range(CLOSING_STEPS):
            if self._is_ending:
                await self._ended.wait()
            elif self._is_open:
                await asyncio.sleep(0)
        await self._let_close()

    async def _let_close(self) -> None:
        """Wait for what a busy machine did not close within a stopped run's own time."""
        closing = self._closing
        if closing is None or closing.done() or closing.get_loop() is not asyncio.get_running_loop():
            return
        await asyncio.wait({closing}, timeout=CLOSING_S)
        forget_turns(self)

    async def reset(self) -> None:
        """Reset the team and its agents; RuntimeError while it runs."""
        await self._let_end()
        await super().reset()

    async def save_state(self) -> Mapping[str, Any]:
        """Return the state of the team and its agents as JSON-safe data."""
        await self._let_end()
        return await super().save_state()

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore the state from `save_state`; RuntimeError while the team runs."""
        await self._let_end()
        await super().load_state(state)

    async def hear(self, thread: Thread) -> Sequence[BaseChatMessage]:
        """Return what the team makes of the latest turns, for its stream and, but for texts, for its thread."""
        return ()

    @abstractmethod
    def next_speakers(self, thread: Thread) -> list[str]:
        """Return the next speakers, several if concurrent; empty ends the run."""

    def open_speakers(self, thread: Thread) -> list[str]:
        """Return those of whom a model may select the next speaker; by default the next speakers."""
        return self.next_speakers(thread)

    def _create_group_chat_manager_factory(self, *arguments: Any, **named: Any) -> Callable[[], BaseGroupChatManager]:
        def make() -> PolicyManager:
            options: dict[str, Any] = {
                **named,
                "model_client": self._model_client,
                "selector_prompt": self._selector_prompt,
                "allow_repeated_speaker": self._allow_repeated_speaker,
                "selector_func": self._selector_func,
                "max_selector_attempts": self._max_selector_attempts,
                "candidate_func": self._candidate_func,
                "emit_team_events": self._emit_team_events,
                "model_context": self._model_context,
                "model_client_streaming": self._model_client_streaming,
            }
            manager = PolicyManager(*arguments, **options)
            manager.team = self
            return manager

        return make


class PolicyManager(SelectorGroupChatManager):
    """Selects speakers as AutoGen's selector does, within what the team's policy allows.

    `selector_func` is asked first, as in AutoGen; where it names nobody, or is not given, the policy names the
    speakers. A `candidate_func` narrows them down; if it names none of them, a model selects one of its candidates.
    """

    team: PolicyGroupChat
    _silent: tuple[int, list[str]] | None = None
    """Length of the thread when its last speakers were selected, and who they were."""

    async def validate_group_state(self, messages: list[BaseChatMessage] | None) -> None:
        """Begin a run."""
        self._silent = None
        await super().validate_group_state(messages)

    async def select_speaker(self, thread: Thread) -> list[str]:
        """Select the next speakers, several if concurrent; none ends the run.

        Raises:
            ValueError: a function of the user's names nobody of the team.
            RuntimeError: the policy calls those again who have just said nothing.
        """
        for message in await self.team.hear(thread):
            await self._tell(message)
        choice = await self._ask_selector(thread)
        if choice is not None:
            return [choice]
        speakers = self.team.next_speakers(thread)
        if not speakers:
            await self._end()
            return []
        candidates = await self._ask_candidates(thread)
        by_model = self.team.selects_by_model
        within = self.team.open_speakers(thread) if by_model else speakers
        if candidates is not None:
            within = [name for name in within if name in candidates]
        if by_model or not within:
            within = [await self._select_one(within or candidates or speakers)]
        if self._silent == (len(thread), within):
            raise RuntimeError(f"{', '.join(within)} said nothing: the team cannot go on")
        self._silent = len(thread), within
        return within

    async def _tell(self, message: BaseChatMessage) -> None:
        """Put a message into the team's stream and, but for a text, into its thread and before all agents."""
        await self.publish_message(GroupChatMessage(message=message), DefaultTopicId(type=self._output_topic_type))
        await self._output_message_queue.put(message)
        if not isinstance(message, TextMessage):
            await self.update_message_thread([message])
            # AutoGen relays a task to all agents in this way, without a turn of anybody's.
            await self.publish_message(GroupChatStart(messages=[message]), DefaultTopicId(type=self._group_topic_type))

    async def _ask_selector(self, thread: Thread) -> str | None:
        if self._selector_func is None:
            return None
        answer = self._selector_func(thread)
        name = await answer if isawaitable(answer) else answer
        if name is not None and name not in self._participant_names:
            raise ValueError(f"selector_func named {name!r}; the team has {', '.join(self._participant_names)}")
        return name

    async def _ask_candidates(self, thread: Thread) -> list[str] | None:
        if self._candidate_func is None:
            return None
        answer = self._candidate_func(thread)
        names = await answer if isawaitable(answer) else answer
        if not names or not set(names) <= set(self._participant_names):
            raise ValueError(f"candidate_func named {names!r}; the team has {', '.join(self._participant_names)}")
        return names

    async def _select_one(self, names: list[str]) -> str:
        """Have the model select one of these; the first if it fails or names another."""
        if len(names) == 1:
            return names[0]
        described = zip(self._participant_names, self._participant_descriptions, strict=True)
        roles = "\n".join(" ".join(f"{name}: {description}".split()) for name, description in described)
        try:
            name = await self._select_speaker(roles, names, self._max_selector_attempts)
        except Exception as error:  # noqa: BLE001  clients raise whatever their libraries raise
            name = names[0]
            _log.warning("%s: the model selected no speaker (%s): %s speaks", self._name, type(error).__name__, name)
        if name not in names:  # AutoGen 0.7.5 takes whoever of the team is named, and after failures the last speaker
            name = names[0]
        self._previous_speaker = name
        return name

    async def _end(self) -> None:
        """End the run as a termination condition does."""
        if self._termination_condition is not None:
            await self._termination_condition.reset()
        self._current_turn = 0
        await self._signal_termination(StopMessage(content="Nobody is due to speak.", source=self._name))


def list_defaults(of: type) -> dict[str, Any]:
    """Return the keywords of a class with their defaults, without those that have none."""
    parameters = signature(of).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters if parameter.default is not Parameter.empty}


def list_names(member: ChatAgent | Team) -> frozenset[str]:
    """Return the sources of a member's messages: its own name, or the names inside a team."""
    if not isinstance(member, BaseGroupChat):
        return frozenset([member.name])
    return frozenset(name for inner in member._participants for name in list_names(inner))


def find_assistants(member: ChatAgent | Team) -> Iterator[AssistantAgent]:
    """Yield the assistants that a member is or, if it is a team, holds."""
    if isinstance(member, AssistantAgent):
        yield member
    elif isinstance(member, BaseGroupChat):
        for inner in member._participants:
            yield from find_assistants(inner)


async def list_schemas(agent: AssistantAgent) -> list[ToolSchema]:
    """Return the schemas of an assistant's tools, without those of a server that cannot be reached."""
    schemas = list[ToolSchema]()
    for bench in agent._workbench:
        with suppress(Exception):  # calls of its tools fail with its name
            schemas += await bench.list_tools()
    return schemas


def list_tools_of(agent: AssistantAgent) -> Iterator[BaseTool[Any, Any]]:
    """Yield the tools in an assistant's static workbenches."""
    for workbench in agent._workbench:
        if isinstance(workbench, StaticWorkbench):
            yield from workbench._tools


@contextmanager
def speak_through(agent: AssistantAgent, client: ChatCompletionClient, tool_rounds: int) -> Iterator[None]:
    """Use another model, with so many rounds of tool calls and no reflection, while this context is open."""
    own_client = agent._model_client
    own_rounds = agent._max_tool_iterations
    own_reflection = agent._reflect_on_tool_use
    agent._model_client = client
    agent._max_tool_iterations = tool_rounds
    agent._reflect_on_tool_use = False
    try:
        yield
    finally:
        agent._model_client = own_client
        agent._max_tool_iterations = own_rounds
        agent._reflect_on_tool_use = own_reflection


@contextmanager
def offer(agent: AssistantAgent, is_offered: Callable[[str], bool]) -> Iterator[None]:
    """Offer a model only some of an assistant's own tools while this context is open; those of servers stay."""
    own = agent._workbench
    agent._workbench = [
        StaticWorkbench([tool for tool in bench._tools if is_offered(tool.name)])
        if isinstance(bench, StaticWorkbench)
        else bench
        for bench in own
    ]
    try:
        yield
    finally:
        agent._workbench = own


async def read_answer(person: UserProxyAgent, prompt: str, token: CancellationToken) -> str:
    """Return a person's answer to a prompt; raises whatever the input function raised, which AutoGen wraps."""
    try:
        return await person._get_input(prompt, token)
    except RuntimeError as error:
        raise error.__cause__ or error from None


def get_model_name(client: ChatCompletionClient) -> str | None:
    """Return the model name of a provider's client; None for clients without one."""
    name = getattr(client, "_raw_config", {}).get("model")
    return str(name) if name else None


def find_model_info(model: str) -> ModelInfo | None:
    """Return AutoGen's information on an OpenAI model; None if it has none, ImportError without the extra."""
    from autogen_ext.models.openai import _model_info as known  # noqa: PLC0415  only with the extra

    return known.get_info(model) if known.resolve_model(model) in known._MODEL_INFO else None


def find_openai_server(client: ChatCompletionClient) -> Literal["strict", "own"] | None:
    """Whether a client uses OpenAI's servers (strict) or its protocol elsewhere (own); None for other clients."""
    inner = client
    while isinstance(inner, ChatCompletionCache):  # the run's journal, and a cache of the caller's own
        inner = inner.client
    if not type(inner).__module__.startswith("autogen_ext.models.openai"):
        return None
    return "own" if getattr(inner, "_raw_config", {}).get("base_url") else "strict"


Call = Callable[..., Awaitable[Any]]


def patch_provider_client(
    client: ChatCompletionClient, around: Callable[[str, Any, Call], Call] = lambda _provider, _library, call: call
) -> ChatCompletionClient:
    """Patch a provider's client in place with features that AutoGen's lacks; other clients stay unchanged.

    Anthropic caches only marked parts of a prompt and counts cached tokens separately: here system prompts are marked
    and all tokens counted. Refusals, which AutoGen does not read, become the text of the answer, after `REFUSED`.
    https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching

    Args:
        client: changed and returned.
        around: wraps a call: gets the provider's name, its library's client and the call.
    """
    library: Any = getattr(client, "_client", None)
    if type(client).__module__.startswith("autogen_ext.models.anthropic"):
        library.messages.create = _patch_anthropic(around("anthropic", library, library.messages.create))
    elif type(client).__module__.startswith("autogen_ext.models.openai"):
        completions = library.chat.completions
        completions.create = _patch_openai(around("openai", library, completions.create))
    return client


def _patch_openai(create: Call) -> Call:
    async def call(**request: Any) -> Any:
        reply = await create(**request)
        for choice in getattr(reply, "choices", None) or ():
            if words := getattr(getattr(choice, "message", None), "refusal", None):
                choice.message.content = REFUSED + words
        return reply

    return call


def _patch_anthropic(create: Call) -> Call:
    async def call(**request: Any) -> Any:
        if isinstance(system := request.get("system"), str):
            request["system"] = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
        reply = await create(**request)
        if request.get("stream"):
            return reply
        reply.usage.input_tokens += reply.usage.cache_read_input_tokens or 0
        reply.usage.input_tokens += reply.usage.cache_creation_input_tokens or 0
        if reply.stop_reason == "refusal":
            from anthropic.types import TextBlock  # noqa: PLC0415  only with the extra

            reply.content = [TextBlock(type="text", text=f"{REFUSED}stop reason refusal")]
        return reply

    return call


def get_http_client(client: ChatCompletionClient) -> Any:
    """Return the httpx client of a provider's client."""
    return client._client._client  # type: ignore[attr-defined]


async def close_connections(client: ChatCompletionClient) -> None:
    """Close the connections that AutoGen's client for Ollama leaves open."""
    if type(client).__module__.startswith("autogen_ext.models.ollama"):
        await get_http_client(client).aclose()
