"""The only interface to AutoGen: agents and teams import its names from here alone (checked by `make check`).

AutoGen 0.7.5 is pinned. Uses of its private names are here too, each with a test in `tests/test_autogen.py` that shows
what a newer version changed. `docs/explanation/autogen.md` lists what a move to another framework would affect.
"""

import asyncio
import logging
from abc import abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
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
    StructuredMessage,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    ToolCallSummaryMessage,
    UserInputRequestedEvent,
)
from autogen_agentchat.teams import SelectorGroupChat
from autogen_agentchat.teams._group_chat._base_group_chat_manager import BaseGroupChatManager
from autogen_core import EVENT_LOGGER_NAME as CORE_EVENT_LOGGER_NAME
from autogen_core import (
    ROOT_LOGGER_NAME,
    CancellationToken,
    Component,
    ComponentLoader,
    ComponentModel,
    FunctionCall,
    InMemoryStore,
    SingleThreadedAgentRuntime,
)
from autogen_core._component_config import WELL_KNOWN_PROVIDERS
from autogen_core._queue import QueueShutDown
from autogen_core.model_context import ChatCompletionContext
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
from autogen_core.tools import BaseTool, StaticWorkbench, Tool, ToolSchema, Workbench
from autogen_ext.models.cache import ChatCompletionCache
from pydantic import BaseModel

from willowbark.tools.records.enclosure import one_line

Content = TypeVar("Content", bound=BaseModel)
SHORT_CALL = 100  # characters of a result on a console
REFUSED = "The model refused: "
Thread = Sequence[BaseAgentEvent | BaseChatMessage]
Streamed = BaseAgentEvent | BaseChatMessage | Response
_events = logging.getLogger(CORE_EVENT_LOGGER_NAME)


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
    """AutoGen's runtime without errors when its event loop ends early, for example at Ctrl-C.

    AutoGen's replaces the queue that counts its pending messages, and each then ends in "task_done() called too many
    times"; it also serialises each message up to eight times, with all its records, even if its log is off.
    """

    def _try_serialize(self, message: Any) -> str:
        return super()._try_serialize(message) if _events.isEnabledFor(logging.INFO) else type(message).__name__

    async def stop_when_idle(self) -> None:
        """Stop once idle; after cancellation keep counting pending messages."""
        queue = self._message_queue
        try:
            await super().stop_when_idle()
        except asyncio.CancelledError:
            self._message_queue = queue
            raise


class PolicyGroupChat(SelectorGroupChat):
    """A selector group chat in which a policy names the next speakers, not a model."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        if self._embedded_runtime:
            self._runtime = AbandonableRuntime(ignore_unhandled_exceptions=False)

    async def run_stream(
        self,
        *,
        task: str | BaseChatMessage | Sequence[BaseChatMessage] | None = None,
        cancellation_token: CancellationToken | None = None,
        output_task_messages: bool = True,
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | TaskResult, None]:
        """Run the team and stop it at once if the stream is closed or its task cancelled.

        AutoGen's stream would first wait for every agent to finish.
        """
        token = CancellationToken()
        if cancellation_token is not None:
            cancellation_token.add_callback(token.cancel)
        stream = super().run_stream(task=task, cancellation_token=token, output_task_messages=output_task_messages)
        told: asyncio.Queue[BaseAgentEvent | BaseChatMessage | TaskResult | None] = asyncio.Queue()

        async def tell() -> None:
            try:
                async for message in stream:
                    told.put_nowait(message)
            finally:
                told.put_nowait(None)

        telling = asyncio.create_task(tell())
        try:
            while (message := await told.get()) is not None:
                yield message
            await telling
        finally:
            token.cancel()
            await asyncio.gather(telling, return_exceptions=True)

    @abstractmethod
    def next_speakers(self, thread: Thread) -> list[str]:
        """Return the next speakers, several if concurrent."""

    def _create_group_chat_manager_factory(self, *arguments: Any, **named: Any) -> Callable[[], BaseGroupChatManager]:
        make = super()._create_group_chat_manager_factory(*arguments, **named)

        def made() -> BaseGroupChatManager:
            manager = make()

            async def select_speaker(thread: Thread) -> list[str]:
                return self.next_speakers(thread)

            manager.select_speaker = select_speaker  # type: ignore[method-assign]
            return manager

        return made


def tools_of(agent: AssistantAgent) -> Iterator[BaseTool[Any, Any]]:
    """Yield the tools in an assistant's static workbenches."""
    for workbench in agent._workbench:
        if isinstance(workbench, StaticWorkbench):
            yield from workbench._tools


@contextmanager
def speaking_through(agent: AssistantAgent, client: ChatCompletionClient, tool_rounds: int) -> Iterator[None]:
    """Use another model, with so many rounds of tool calls, for an assistant's turns while this context is open."""
    own = agent._model_client, agent._max_tool_iterations
    agent._model_client, agent._max_tool_iterations = client, tool_rounds
    try:
        yield
    finally:
        agent._model_client, agent._max_tool_iterations = own


@contextmanager
def offering(agent: AssistantAgent, is_offered: Callable[[str], bool]) -> Iterator[None]:
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


async def typed_by(person: UserProxyAgent, prompt: str, token: CancellationToken) -> str:
    """Return a person's answer to a prompt; raises whatever the input function raised, which AutoGen wraps."""
    try:
        return await person._get_input(prompt, token)
    except RuntimeError as error:
        raise error.__cause__ or error from None


def model_name(client: ChatCompletionClient) -> str | None:
    """Return the model name of a provider's client; None for clients without one."""
    name = getattr(client, "_raw_config", {}).get("model")
    return str(name) if name else None


def openai_model_info(model: str) -> ModelInfo | None:
    """Return AutoGen's information on an OpenAI model; None if it has none, ImportError without the extra."""
    from autogen_ext.models.openai import _model_info as known  # noqa: PLC0415  only with the extra

    return known.get_info(model) if known.resolve_model(model) in known._MODEL_INFO else None


def openai_server(client: ChatCompletionClient) -> Literal["strict", "own"] | None:
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
    async def call(**asked: Any) -> Any:
        said = await create(**asked)
        for choice in getattr(said, "choices", None) or ():
            if words := getattr(getattr(choice, "message", None), "refusal", None):
                choice.message.content = REFUSED + words
        return said

    return call


def _patch_anthropic(create: Call) -> Call:
    async def call(**asked: Any) -> Any:
        if isinstance(system := asked.get("system"), str):
            asked["system"] = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
        said = await create(**asked)
        if asked.get("stream"):
            return said
        said.usage.input_tokens += said.usage.cache_read_input_tokens or 0
        said.usage.input_tokens += said.usage.cache_creation_input_tokens or 0
        if said.stop_reason == "refusal":
            from anthropic.types import TextBlock  # noqa: PLC0415  only with the extra

            said.content = [TextBlock(type="text", text=f"{REFUSED}stop reason refusal")]
        return said

    return call


def http_client(client: ChatCompletionClient) -> Any:
    """Return the httpx client of a provider's client."""
    return client._client._client  # type: ignore[attr-defined]


async def close_connections(client: ChatCompletionClient) -> None:
    """Close the connections that AutoGen's client for Ollama leaves open."""
    if type(client).__module__.startswith("autogen_ext.models.ollama"):
        await http_client(client).aclose()
