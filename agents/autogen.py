"""All that Willowbark uses of AutoGen beyond its public names, in one place.

AutoGen 0.7.5 is pinned; `tests/test_autogen.py` holds a test for each of these, which says what a newer one changed.
"""

import asyncio
import logging
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Literal

from autogen_agentchat import TRACE_LOGGER_NAME
from autogen_agentchat.agents import AssistantAgent, UserProxyAgent
from autogen_agentchat.agents._assistant_agent import AssistantAgentConfig
from autogen_agentchat.agents._user_proxy_agent import InputFuncType, UserProxyAgentConfig, cancellable_input
from autogen_agentchat.base import TaskResult
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage
from autogen_agentchat.teams import SelectorGroupChat
from autogen_agentchat.teams._group_chat._base_group_chat_manager import BaseGroupChatManager
from autogen_agentchat.teams._group_chat._selector_group_chat import SelectorGroupChatConfig
from autogen_core import EVENT_LOGGER_NAME, ROOT_LOGGER_NAME, CancellationToken, SingleThreadedAgentRuntime
from autogen_core.models import ChatCompletionClient, ModelInfo
from autogen_core.tools import BaseTool, StaticWorkbench
from autogen_ext.models.cache import ChatCompletionCache

__all__ = [
    "AssistantAgentConfig",
    "InputFuncType",
    "PolicyGroupChat",
    "SelectorGroupChatConfig",
    "UserProxyAgentConfig",
    "close_connections",
    "input_of",
    "made_whole",
    "model_name",
    "openai_model_info",
    "openai_server",
    "speaking_through",
    "tools_of",
    "typed_by",
]


@dataclass
class Kept:
    """Tokens of a prompt that its provider charges at prices of their own."""

    read: int = 0
    """Which it had kept from an earlier prompt."""
    written: int = 0
    """Which it keeps from now on, where that has a price."""


KEPT: ContextVar[Kept | None] = ContextVar("KEPT", default=None)
"""Filled in by the call of a client made whole; AutoGen's count of tokens has no room for it."""
RECORDS = "\n<records "
"""Before it stands what prompts of one kind have in common."""
_CLOSING = "\n</records "
_PIECE = 10  # lines; what a prompt adds must be fewer than 20 pieces, so far back Anthropic looks for what it kept
REFUSED = "The model refused: "
"""Begins what a model says that answers nothing."""
Thread = Sequence[BaseAgentEvent | BaseChatMessage]
_trace = logging.getLogger(TRACE_LOGGER_NAME)
_events = logging.getLogger(EVENT_LOGGER_NAME)


def _is_no_cancellation(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError))


logging.getLogger(ROOT_LOGGER_NAME).addFilter(_is_no_cancellation)  # a run that was stopped is no error


class AbandonableRuntime(SingleThreadedAgentRuntime):
    """AutoGen's runtime, silent where a loop ends under it, as it does at Ctrl-C with nobody left to read the team.

    AutoGen's puts a new queue in place of the one that its messages under way are counted in, and each of them then
    ends in "task_done() called too many times".

    It writes messages out for AutoGen's log where somebody reads that: AutoGen's writes each out up to eight times,
    with all its records, whoever listens.
    """

    def _try_serialize(self, message: Any) -> str:
        return super()._try_serialize(message) if _events.isEnabledFor(logging.INFO) else type(message).__name__

    async def stop_when_idle(self) -> None:
        """Stop when nothing is under way; called off, keep counting what is."""
        queue = self._message_queue
        try:
            await super().stop_when_idle()
        except asyncio.CancelledError:
            self._message_queue = queue
            raise


class PolicyGroupChat(SelectorGroupChat):
    """A selector group chat that asks a policy who speaks next, and the model where the policy leaves a choice."""

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
        """Run the team, and stop it at once when nobody reads on: a cancelled task, a stream closed early.

        AutoGen's stream, cancelled itself, waits first until every agent has ended of its own: here it is read in a
        task beside the reader's, which its token ends.
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
        """Name who speaks next, side by side where several do; empty leaves the choice to the model."""

    @property
    @abstractmethod
    def choosable(self) -> list[str]:
        """Whom the model may name; all of them speak where it names nobody."""

    def _create_group_chat_manager_factory(self, *arguments: Any, **named: Any) -> Callable[[], BaseGroupChatManager]:
        make = super()._create_group_chat_manager_factory(*arguments, **named)

        def made() -> BaseGroupChatManager:
            manager = make()
            by_model = manager.select_speaker

            async def select_speaker(thread: Thread) -> list[str]:
                if speakers := self.next_speakers(thread):
                    return speakers
                try:
                    chosen = await by_model(thread)
                except Exception as error:  # noqa: BLE001  a model that fails here must not break the team
                    _trace.warning("no speaker chosen by the model: %s", type(error).__name__)
                    return self.choosable
                return [name for name in chosen if name in self.choosable] or self.choosable

            manager.select_speaker = select_speaker  # type: ignore[method-assign]
            return manager

        return made


def tools_of(agent: AssistantAgent) -> Iterator[BaseTool[Any, Any]]:
    """The tools in an assistant's static workbenches."""
    for workbench in agent._workbench:
        if isinstance(workbench, StaticWorkbench):
            yield from workbench._tools


@contextmanager
def speaking_through(agent: AssistantAgent, client: ChatCompletionClient) -> Iterator[None]:
    """Have an assistant's turns go through another model while this is open."""
    own = agent._model_client
    agent._model_client = client
    try:
        yield
    finally:
        agent._model_client = own


def input_of(person: UserProxyAgent) -> InputFuncType | None:
    """How a person is asked; None for AutoGen's own prompt, which waits in a thread that nothing can end."""
    return None if person.input_func is cancellable_input else person.input_func


async def typed_by(person: UserProxyAgent, prompt: str, token: CancellationToken) -> str:
    """What a person answers to a prompt.

    Raises:
        Exception: whatever the input function raised; AutoGen wraps it.
    """
    try:
        return await person._get_input(prompt, token)
    except RuntimeError as error:
        raise error.__cause__ or error from None


def model_name(client: ChatCompletionClient) -> str | None:
    """The name of the model that a provider's client asks; None for clients that ask none by name."""
    name = getattr(client, "_raw_config", {}).get("model")
    return str(name) if name else None


def openai_model_info(model: str) -> ModelInfo | None:
    """What AutoGen knows of a model of OpenAI's; None where it knows nothing.

    Raises:
        ImportError: the extra is not installed.
    """
    from autogen_ext.models.openai import _model_info as known  # noqa: PLC0415  only with the extra

    return known.get_info(model) if known.resolve_model(model) in known._MODEL_INFO else None


def openai_server(client: ChatCompletionClient) -> Literal["strict", "own"] | None:
    """Who answers a client that speaks OpenAI's protocol: its makers' servers, or others at an address of their own.

    None for clients that speak another one.
    """
    inner = client
    while isinstance(inner, ChatCompletionCache):  # the run's journal, and a cache of the caller's own
        inner = inner.client
    if not type(inner).__module__.startswith("autogen_ext.models.openai"):
        return None
    return "own" if getattr(inner, "_raw_config", {}).get("base_url") else "strict"


def made_whole(client: ChatCompletionClient) -> ChatCompletionClient:
    """A provider's client with what AutoGen's leaves out.

    Anthropic keeps of a prompt's beginning only what is marked, and counts what it kept apart from the rest: AutoGen
    marks nothing and counts the rest alone. What was kept is noted in `KEPT`, for its price; from OpenAI not where
    answers are streamed. Both it and OpenAI tell of refusals beside an answer's text, which is all that AutoGen takes:
    here they become the text, after `REFUSED`. Other clients are left as they are.
    https://docs.anthropic.com/en/docs/build-with-claude/prompt-caching
    """
    if type(client).__module__.startswith("autogen_ext.models.anthropic"):
        messages = client._client.messages  # type: ignore[attr-defined]
        messages.create = _marking(messages.create)
    elif type(client).__module__.startswith("autogen_ext.models.openai"):
        completions = client._client.chat.completions  # type: ignore[attr-defined]
        completions.create = _telling(completions.create)
    return client


def _telling(create: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def told(**asked: Any) -> Any:
        said = await create(**asked)
        details = getattr(getattr(said, "usage", None), "prompt_tokens_details", None)
        _note_kept(getattr(details, "cached_tokens", None), 0)
        for choice in getattr(said, "choices", None) or ():
            if words := getattr(getattr(choice, "message", None), "refusal", None):
                choice.message.content = REFUSED + words
        return said

    return told


def _marking(create: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    async def marked(**asked: Any) -> Any:
        if isinstance(system := asked.get("system"), str):
            asked["system"] = [_kept(system)]
        first, *rest = asked["messages"]
        before, opening, records = str(first["content"]).partition(RECORDS)
        if isinstance(first["content"], str) and opening:
            first = {**first, "content": [_kept(before), *_growing(opening + records)]}
        said = await create(**{**asked, "messages": [first, *rest]})
        if asked.get("stream"):
            return _counted_through(said)
        _count_kept(said)
        if said.stop_reason == "refusal":
            from anthropic.types import TextBlock  # noqa: PLC0415  only with the extra

            said.content = [TextBlock(type="text", text=f"{REFUSED}stop reason refusal")]
        return said

    return marked


def _growing(text: str) -> list[dict[str, Any]]:
    """Records in a prompt, and what follows them, in parts.

    A block that something follows is one that later prompts begin with and add lines to, as the judge's do in each
    round: it goes in pieces of as many lines each, and what stands before the end of the last whole one is kept.
    """
    block, _, after = text.partition(_CLOSING)
    lines = block.split("\n") if "\n" in after else []
    pieces = ["\n".join(lines[at : at + _PIECE]) + "\n" for at in range(0, len(lines) - _PIECE, _PIECE)]
    *earlier, rest = [{"type": "text", "text": part} for part in (*pieces, text[len("".join(pieces)) :])]
    return [*earlier[:-1], *map(_kept, pieces[-1:]), rest]


async def _counted_through(pieces: AsyncIterator[Any]) -> AsyncGenerator[Any, None]:
    async for piece in pieces:
        if piece.type == "message_start":
            _count_kept(piece.message)
        yield piece


def _count_kept(message: Any) -> None:
    """Count what was kept, or is from now on, among a message's tokens."""
    usage = message.usage
    _note_kept(usage.cache_read_input_tokens, usage.cache_creation_input_tokens)
    usage.input_tokens += (usage.cache_creation_input_tokens or 0) + (usage.cache_read_input_tokens or 0)


def _note_kept(read: int | None, written: int | None) -> None:
    if (kept := KEPT.get()) is not None:
        kept.read, kept.written = kept.read + (read or 0), kept.written + (written or 0)


def _kept(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}


async def close_connections(client: ChatCompletionClient) -> None:
    """Close what AutoGen's client for Ollama leaves open."""
    if type(client).__module__.startswith("autogen_ext.models.ollama"):
        await client._client._client.aclose()  # type: ignore[attr-defined]
