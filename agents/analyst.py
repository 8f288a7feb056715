"""Base classes of judge, approver and report agent: a memory that can be saved and, for two of them, a model."""

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
    TextMessage,
)
from willowbark.tools.appraisal.judgement import JudgeView
from willowbark.tools.library.collected import CollectedEvidence
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.toolbox import AskRecords

from .asking import Aids, read_prompt
from .assessment import AssessmentMessage
from .context import RunContext
from .findings import Dossier


class AnalystConfig(BaseModel):
    """Configuration of a judge or report agent."""

    name: str
    description: str = ""
    model_client: ComponentModel
    fallback: ComponentModel | None = None
    system_message: str | None = None
    include_rag: bool = False


class Memory(BaseModel, extra="forbid"):
    """State of an agent for one question, saved and loaded as JSON."""

    dossier: Dossier = Field(default_factory=Dossier)
    heard: list[str] = Field(default_factory=list)
    """Identifiers of the messages that it got."""
    view: JudgeView = JudgeView()
    """What the judge last made of the evidence."""


M = TypeVar("M", bound=Memory)


class Participant(Generic[M]):
    """Takes part in runs and remembers the current question with its findings."""

    ANSWER: ClassVar[type[BaseChatMessage]]
    """Type of the message that it answers with."""
    _memory: M
    _run: RunContext

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """The typed message; AutoGen teams need the type to accept it."""
        return (self.ANSWER, TextMessage)

    def join(self, run: RunContext) -> None:
        """Join a run: its budgets apply besides the agent's own limits, and look-ups use its transport."""
        self._run = run

    def _hear(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> list[BaseChatMessage]:
        """Add messages to the memory, which a new question empties first.

        Returns:
            Those that are new: AutoGen delivers the messages of a turn that was stopped again with the next turn.

        Raises:
            CancelledError: the run was stopped, but AutoGen still delivers pending turns.
        """
        if cancellation_token.is_cancelled():
            raise asyncio.CancelledError
        dossier = self._memory.dossier
        question = dossier.question
        heard = self._memory.heard
        new = [message for message in messages if message.id not in heard]
        heard += [message.id for message in new]
        dossier.add(new)
        if dossier.question != question:
            self._memory = type(self._memory)(dossier=dossier, heard=heard)
        for message in new:
            if isinstance(message, AssessmentMessage):
                dossier.fits |= message.content.fits
                dossier.read_again += message.content.read_again
                self._memory.view = message.content.view
        return new

    async def on_reset(self, cancellation_token: CancellationToken | None = None) -> None:
        """Forget everything."""
        self._memory = type(self._memory)()

    async def save_state(self) -> Mapping[str, Any]:
        """Return the memory as JSON-safe data."""
        return self._memory.model_dump(mode="json")

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore the memory from `save_state`."""
        self._memory = type(self._memory).model_validate(state)


class Analyst(Participant[M], BaseChatAgent):
    """An agent that asks a model for a typed proposal.

    Args:
        name: shown by the team and in its messages.
        model_client: makes the proposal.
        memory: an empty one.
        fallback: used when the model fails; without one the judge goes by rule, and no claim is made.
        description: one sentence for the selector of speakers; None for the agent's own.
        system_message: replaces the agent's own prompt.
        include_rag: whether a language model may search the collected records before it answers.
    """

    DESCRIPTION: ClassVar[str]
    PROMPT: ClassVar[str]

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
        self._system_message = system_message or read_prompt(self.PROMPT)
        self._memory = memory
        self._run = RunContext()

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        """Return the response that ends `on_messages_stream`."""
        async for event in self.on_messages_stream(messages, cancellation_token):
            if isinstance(event, Response):
                return event
        raise AssertionError("the stream ends in a response")

    @property
    def _clients(self) -> list[ChatCompletionClient]:
        """The clients to try in order until one answers."""
        return [client for client in (self._model_client, self._fallback) if client is not None]

    async def _aids(self, pool: Sequence[Evidence]) -> Aids | None:
        """Build the tool that searches a pool; None if the agent has none."""
        if not self._include_rag:
            return None
        collected = CollectedEvidence()
        await asyncio.to_thread(collected.ingest, pool)
        return Aids([AskRecords(collected, self._run.marker)], self.name)

    def _to_config(self) -> Any:
        return AnalystConfig(
            name=self.name,
            description=self.description,
            model_client=self._model_client.dump_component(),
            fallback=self._fallback.dump_component() if self._fallback else None,
            system_message=self._system_message,
            include_rag=self._include_rag,
        )

    @classmethod
    def _from_config(cls, config: Any) -> Self:
        arguments = dict(config)
        for name in ("model_client", "fallback"):
            arguments[name] = arguments[name] and ChatCompletionClient.load_component(arguments[name])
        return cls(**arguments)
