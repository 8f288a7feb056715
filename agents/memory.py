"""Context of a specialist's model: the question, its own searches with counts and titles, others' latest messages."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Self

from willowbark.agents.autogen import (
    AssistantMessage,
    ChatCompletionContext,
    Component,
    FunctionExecutionResultMessage,
    LLMMessage,
    UserMessage,
)
from willowbark.tools.enclosure import blocks, condense

from .autogen import NoSettings


class CondensedContext(ChatCompletionContext, Component[NoSettings]):
    """A model context that keeps what tools returned as counts and titles, and of other agents what is new."""

    component_config_schema = NoSettings
    component_provider_override = "willowbark.agents.memory.CondensedContext"

    async def add_message(self, message: LLMMessage) -> None:
        """Add a message; tool results are shortened by `condense`."""
        if isinstance(message, FunctionExecutionResultMessage):
            shown = {key for each in self._messages for key in _titled(each)}
            kept = [each.model_copy(update={"content": condense(each.content, shown)}) for each in message.content]
            message = message.model_copy(update={"content": kept})
        await super().add_message(message)

    async def get_messages(self) -> list[LLMMessage]:
        """Return the messages for the model; from other agents only those after its last turn."""
        heard = max((at for at, each in enumerate(self._messages) if _by_others(each)), default=0)
        spoke = (at for at, each in enumerate(self._messages[:heard]) if isinstance(each, AssistantMessage))
        last = max(spoke, default=-1)
        return [each for at, each in enumerate(self._messages) if at > last or not _by_others(each)]

    def _to_config(self) -> NoSettings:
        return NoSettings()

    @classmethod
    def _from_config(cls, config: NoSettings) -> Self:
        return cls()


def _titled(message: LLMMessage) -> Iterator[str]:
    """Yield the keys of the records whose titles a message shows."""
    for result in message.content if isinstance(message, FunctionExecutionResultMessage) else ():
        for block in blocks(result.content):
            with suppress(ValueError):
                yield from block.read()[0].get("titles", ())


def _by_others(message: LLMMessage) -> bool:
    return isinstance(message, UserMessage) and message.source != "user"
