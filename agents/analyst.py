"""What judge, approver and report agent share: a memory that can be saved; two of them also a model that proposes."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, Field

from willowbark.agents.autogen import (
    BaseChatAgent,
    BaseChatMessage,
    CancellationToken,
    ChatCompletionClient,
    ComponentModel,
    Response,
)
from willowbark.tools.ask_records import AskRecords
from willowbark.tools.collected import CollectedEvidence
from willowbark.tools.evidence import Evidence

from .asking import Aids, prompt
from .context import RunContext
from .findings import Dossier


class AnalystConfig(BaseModel):
    """What such an agent is made of."""

    name: str
    description: str = ""
    model_client: ComponentModel
    fallback: ComponentModel | None = None
    system_message: str | None = None
    include_rag: bool = False
    """Whether its model may ask the collected records before it answers."""


class Memory(BaseModel):
    """What such an agent remembers of one question; saved and loaded as it is."""

    dossier: Dossier = Field(default_factory=Dossier)


M = TypeVar("M", bound=Memory)


class Participant(Generic[M]):
    """Takes part in runs, and remembers a question and what was found on it."""

    _memory: M
    _run: RunContext

    def join(self, run: RunContext) -> None:
        """Take part in a run: its budgets count beside the agent's own limits, look-ups go through its transport."""
        self._run = run

    def _hear(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> None:
        """Take messages in; another question is begun with an empty memory.

        Raises:
            CancelledError: the run was stopped, and AutoGen hands out turns that were due.
        """
        if cancellation_token.is_cancelled():
            raise asyncio.CancelledError
        dossier = self._memory.dossier
        question = dossier.question
        dossier.add(messages)
        if dossier.question != question:
            self._memory = type(self._memory)(dossier=dossier)

    async def on_reset(self, cancellation_token: CancellationToken | None = None) -> None:
        """Forget everything."""
        self._memory = type(self._memory)()

    async def save_state(self) -> Mapping[str, Any]:
        """Everything the agent remembers, JSON-safe."""
        return self._memory.model_dump(mode="json")

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Remember what `save_state` gave."""
        self._memory = type(self._memory).model_validate(state)


class Analyst(Participant[M], BaseChatAgent):
    """An agent that asks a model for a typed proposal.

    Args:
        name: as the team and its messages show it.
        model_client: proposes.
        memory: an empty one.
        fallback: proposes in the model's place when that fails; None leaves nothing.
        description: one sentence for whoever chooses speakers; None takes the agent's own.
        system_message: another prompt than the agent's own.
        include_rag: whether a language model may ask the collected records before it answers.
    """

    DESCRIPTION: ClassVar[str]
    PROMPT: ClassVar[str]
    """The file of its prompt."""

    def __init__(
        self,
        name: str,
        model_client: ChatCompletionClient,
        memory: M,
        *,
        fallback: ChatCompletionClient | None = None,
        description: str | None = None,
        system_message: str | None = None,
        include_rag: bool = False,
    ) -> None:
        super().__init__(name, self.DESCRIPTION if description is None else description)
        self._include_rag = include_rag
        self._model_client = model_client
        self._fallback = fallback
        self._system_message = system_message or prompt(self.PROMPT)
        self._memory = memory
        self._run = RunContext()

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        """Answer the messages; the last item of `on_messages_stream`."""
        async for event in self.on_messages_stream(messages, cancellation_token):
            if isinstance(event, Response):
                return event
        raise AssertionError("the stream ends in a response")

    @property
    def _clients(self) -> list[ChatCompletionClient]:
        """Who is asked, in turn until one answers."""
        return [client for client in (self._model_client, self._fallback) if client is not None]

    def _aids(self, run: RunContext, pool: Sequence[Evidence]) -> Aids | None:
        """The tool that asks a pool; its records are taken in when it is first used. None where it is not wanted."""
        if not self._include_rag:
            return None
        collected = CollectedEvidence()

        async def before(_: str, __: BaseModel) -> None:
            if not len(collected):
                await asyncio.to_thread(collected.ingest, pool)

        return Aids([AskRecords(collected, marker=run.marker, before=before)], self.name)

    def _configured(self) -> dict[str, Any]:
        """The fields of an `AnalystConfig`."""
        return {
            "name": self.name,
            "description": self.description,
            "model_client": self._model_client.dump_component(),
            "fallback": self._fallback.dump_component() if self._fallback else None,
            "system_message": self._system_message,
            "include_rag": self._include_rag,
        }

    @classmethod
    def _made_of(cls, config: AnalystConfig) -> Self:
        """The agent that a configuration stands for."""
        arguments = dict(config)
        for name in ("model_client", "fallback"):
            arguments[name] = arguments[name] and ChatCompletionClient.load_component(arguments[name])
        return cls(**arguments)
