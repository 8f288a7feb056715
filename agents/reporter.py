"""The report agent: has claims proposed, verifies each against its record, and hands the rest to code.

A model proposes claims with record keys and quotes; code verifies them, has what fails mended once, drops the rest, and
assembles everything else (references, counts, grades, limitations) from the records.
"""

import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Self

from autogen_agentchat import EVENT_LOGGER_NAME
from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseAgentEvent, BaseChatMessage, TextMessage
from autogen_core import CancellationToken, Component, ComponentModel
from autogen_core.models import ChatCompletionClient, LLMMessage, RequestUsage, SystemMessage, UserMessage
from pydantic import BaseModel

from willowbark.tools.candidates import Candidate, appraise_candidates
from willowbark.tools.enclosure import GUIDANCE, enclose, new_marker
from willowbark.tools.evidence import Evidence
from willowbark.tools.identity import settle
from willowbark.tools.linking import link
from willowbark.tools.transport import Transport
from willowbark.tools.trust import check_trust

from .asking import ModelFailure, ask
from .assembly import Material, assemble
from .claims import Verdicts, verify
from .findings import Dossier
from .judge import SHOWN_CHARACTERS, SHOWN_RECORDS, AssessmentMessage, JudgeAssessment
from .prompts import prompt
from .report import ReportDraft, ReportMessage, ResearchReport

_log = logging.getLogger(EVENT_LOGGER_NAME)


class ReportAgentConfig(BaseModel):
    """What a report agent is made of."""

    name: str = "report"
    description: str = ""
    model_client: ComponentModel
    fallback: ComponentModel | None = None
    system_message: str | None = None


class ReportState(BaseModel):
    """What a report agent remembers."""

    dossier: Dossier
    assessments: list[JudgeAssessment]


class ReportAgent(BaseChatAgent, Component[ReportAgentConfig]):
    """Writes the report and answers with `ReportMessage`.

    Args:
        name: as the team and its messages show it.
        model_client: proposes claims.
        fallback: proposes them in the model's place when that fails.
        description: one sentence for whoever chooses speakers.
        system_message: another prompt than the one in `report.md`.
    """

    component_config_schema = ReportAgentConfig
    component_provider_override = "willowbark.agents.reporter.ReportAgent"

    def __init__(
        self,
        name: str,
        model_client: ChatCompletionClient,
        *,
        fallback: ChatCompletionClient | None = None,
        description: str = "Writes the cited report once the judge says synthesize.",
        system_message: str | None = None,
    ) -> None:
        super().__init__(name, description)
        self._model_client = model_client
        self._fallback = fallback
        self._system_message = system_message or prompt("report.md")
        self._dossier = Dossier()
        self._assessments: list[JudgeAssessment] = []
        self._transport: Transport | None = None

    def bind(self, transport: Transport) -> None:
        """Hand over the run's way to the sources, to look up whether cited papers were retracted or corrected.

        Without one nothing is looked up, and the report says that.
        """
        self._transport = transport

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """Reports; naming the type lets any AutoGen team take them."""
        return (ReportMessage, TextMessage)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        """Write the report; the last item of `on_messages_stream`."""
        async for event in self.on_messages_stream(messages, cancellation_token):
            if isinstance(event, Response):
                return event
        raise AssertionError("the stream ends in a response")

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[BaseAgentEvent | BaseChatMessage | Response, None]:
        """Write the report: yields it as text for people, then as a message."""
        question = self._dossier.question
        self._dossier.add(messages)
        if self._dossier.question != question:
            self._assessments = []
        self._assessments += [m.content for m in messages if isinstance(m, AssessmentMessage)]
        report, usage = await self._write(cancellation_token)
        yield TextMessage(content=report.to_markdown(), source=self.name)
        yield Response(chat_message=ReportMessage(content=report, source=self.name, models_usage=usage))

    async def _write(self, cancellation_token: CancellationToken) -> tuple[ResearchReport, RequestUsage]:
        pool, candidates = await self._checked_pool()
        writing = _Writing(self.name, self._system_message, self._dossier.question, pool, candidates)
        await writing.run([self._model_client, self._fallback], cancellation_token)
        report = assemble(
            Material(
                dossier=self._dossier,
                assessments=self._assessments,
                pool=pool,
                candidates=candidates,
                draft=writing.draft,
                verdicts=writing.verdicts,
                repaired=writing.repaired,
                notes=writing.notes,
                tokens_used=self._dossier.tokens_used + writing.usage.prompt_tokens + writing.usage.completion_tokens,
                analyst=analyst_name(self._model_client),
            )
        )
        return report, writing.usage

    async def _checked_pool(self) -> tuple[list[Evidence], list[Candidate]]:
        """The pool with papers and trials linked, and with the standing of what candidates rest on looked up."""
        question = self._dossier.question
        pool = link(settle(self._dossier.pool()))
        candidates = appraise_candidates(question, pool)
        if self._transport is None:
            return pool, candidates
        rests_on = {record.key for c in candidates if c.has_verdict for record in c.records}
        cited = sorted((record for record in pool if record.key in rests_on), key=lambda record: record.key)
        checked = await check_trust(cited, self._transport)
        by_key = {record.key: record for record in checked}
        pool = [by_key.get(record.key, record) for record in pool]
        return pool, appraise_candidates(question, pool)

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """Forget everything."""
        self._dossier, self._assessments = Dossier(), []

    async def save_state(self) -> Mapping[str, Any]:
        """Everything the agent remembers, JSON-safe."""
        return ReportState(dossier=self._dossier, assessments=self._assessments).model_dump(mode="json")

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Remember what `save_state` gave."""
        loaded = ReportState.model_validate(state)
        self._dossier, self._assessments = loaded.dossier, loaded.assessments

    def _to_config(self) -> ReportAgentConfig:
        return ReportAgentConfig(
            name=self.name,
            description=self.description,
            model_client=self._model_client.dump_component(),
            fallback=self._fallback.dump_component() if self._fallback else None,
            system_message=self._system_message,
        )

    @classmethod
    def _from_config(cls, config: ReportAgentConfig) -> Self:
        return cls(
            config.name,
            ChatCompletionClient.load_component(config.model_client),
            fallback=ChatCompletionClient.load_component(config.fallback) if config.fallback else None,
            description=config.description,
            system_message=config.system_message,
        )


class _Writing:
    """One draft: asked for, verified, mended once."""

    def __init__(
        self, name: str, system_message: str, question: str, pool: list[Evidence], candidates: list[Candidate]
    ) -> None:
        self._name = name
        self._pool = pool
        self._messages: list[LLMMessage] = [
            SystemMessage(content=f"{system_message}\n\n{GUIDANCE}"),
            UserMessage(content=_request(question, pool, candidates), source=name),
        ]
        self.draft = ReportDraft()
        self.verdicts = Verdicts()
        self.repaired = 0
        self.notes: list[str] = []
        self.usage = RequestUsage(prompt_tokens=0, completion_tokens=0)

    async def run(self, clients: Sequence[ChatCompletionClient | None], cancellation_token: CancellationToken) -> None:
        for client in filter(None, clients):
            try:
                self.draft = await self._ask(client, self._messages, cancellation_token)
            except ModelFailure as failure:
                _log.warning("%s: %s", self._name, failure)
                self.notes.append(f"{self._name}: {failure}")
                continue
            before = self.verdicts.dropped
            self.verdicts = verify(self.draft.claims, self._pool)
            if self.verdicts.dropped:
                await self._repair(client, cancellation_token)
            stood = bool(self.verdicts.kept) or not self.verdicts.dropped
            self.verdicts.dropped[:0] = before
            if stood:
                return
            self.notes.append(f"{self._name}: none of the claims that the model gave stood")

    async def _ask(
        self, client: ChatCompletionClient, messages: list[LLMMessage], cancellation_token: CancellationToken
    ) -> ReportDraft:
        draft, usage = await ask(client, messages, ReportDraft, cancellation_token)
        self.usage.prompt_tokens += usage.prompt_tokens
        self.usage.completion_tokens += usage.completion_tokens
        return draft

    async def _repair(self, client: ChatCompletionClient, cancellation_token: CancellationToken) -> None:
        """Have the dropped claims mended once, with the reasons; what still fails stays dropped."""
        lines = [f"- {dropped.reason}: {dropped.claim.model_dump_json()}" for dropped in self.verdicts.dropped]
        asked = "These claims don't stand. Mend them from their records or leave them out; give only these:"
        try:
            mended = await self._ask(
                client,
                [*self._messages, UserMessage(content="\n".join([asked, *lines]), source=self._name)],
                cancellation_token,
            )
        except ModelFailure as failure:
            self.notes.append(f"{self._name}: {failure}")
            return
        again = verify(mended.claims[: len(lines)], self._pool)
        new = [claim for claim in again.kept if claim not in self.verdicts.kept]
        self.repaired = len(new)
        self.verdicts = Verdicts(
            kept=[*self.verdicts.kept, *new], dropped=self.verdicts.dropped[: max(0, len(lines) - len(new))]
        )


def _request(question: str, pool: Sequence[Evidence], candidates: Sequence[Candidate]) -> str:
    appraised = [f"- {candidate.line}" for candidate in candidates[:20]]
    records = enclose(pool[:SHOWN_RECORDS], new_marker(), head={"pool": len(pool)}, text_limit=SHOWN_CHARACTERS)
    return "\n".join(
        [
            f"Question: {' '.join(question.split())}",
            "Appraisal by rule (drug: records for and against, certainty):",
            *(appraised or ["- no drug with evidence on the condition"]),
            records,
        ]
    )


def analyst_name(client: ChatCompletionClient) -> str:
    """What the report calls the model that it was written with."""
    name = getattr(client, "display_name", None) or getattr(client, "_raw_config", {}).get("model")
    return str(name) if name else type(client).__name__
