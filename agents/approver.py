"""Asks a person about the candidates before the report is written: AutoGen's `UserProxyAgent` with a typed answer.

It asks through Studio's input box, an input function in a terminal or notebook, or a program's function.
"""

import asyncio
import logging
import os
import sys
import threading
import uuid
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from typing import Self

from pydantic import Field

from willowbark.agents.autogen import (
    EVENT_LOGGER_NAME,
    BaseChatMessage,
    CancellationToken,
    Component,
    InputFuncType,
    Response,
    Streamed,
    TextMessage,
    UserInputRequestedEvent,
    UserProxyAgent,
    UserProxyAgentConfig,
    read_answer,
)
from willowbark.tools.appraisal.appraised import list_conditions
from willowbark.tools.appraisal.judgement import judge_candidates

from .analyst import Memory, Participant
from .approval import (
    Approval,
    ApprovalAnswer,
    ApprovalMessage,
    ApprovalRequest,
    Approve,
    DecidedBy,
    Default,
    NobodyToAsk,
    list_proposals,
)
from .context import RunContext

TIMEOUT_S = 300.0  # five minutes to read a dozen lines; a run must end even if nobody is there
MAX_ATTEMPTS = 3  # invalid answers before the default applies
_log = logging.getLogger(EVENT_LOGGER_NAME)


class ApproverAgentConfig(UserProxyAgentConfig):
    """A user proxy's configuration with an approver's own fields; functions are not saved."""

    default: Default = "all"
    timeout_s: float = Field(default=TIMEOUT_S, gt=0)


class ApproverAgent(Participant[Memory], UserProxyAgent, Component[ApproverAgentConfig]):
    """Asks about the candidates and answers with `ApprovalMessage`.

    Args:
        name: shown by the team and in its messages.
        description: one sentence for the selector of speakers.
        input_func: as `UserProxyAgent` takes it; None asks in the terminal.
        approve: gets the typed request and decides; None asks through `input_func`.
        via: name of the interface at which a person is asked; None for a terminal, a user proxy, or a program.
        nobody: why nobody can be asked, so that the default applies; empty if somebody can.
        default: applies if nobody answers.
        timeout_s: seconds for an answer.
    """

    component_config_schema = ApproverAgentConfig
    component_provider_override = "willowbark.agents.approver.ApproverAgent"
    ANSWER = ApprovalMessage

    def __init__(
        self,
        name: str = "approver",
        *,
        description: str = "Asks a person which candidates the report should deal with.",
        input_func: InputFuncType | None = None,
        approve: Approve | None = None,
        via: str | None = None,
        nobody: str = "",
        default: Default = "all",
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        super().__init__(name, description=description, input_func=input_func or ask_at_terminal)
        self._approve = approve
        self._decided_by: DecidedBy = "program" if approve and via is None else "person"
        self._via = "" if nobody else via
        self._nobody = nobody
        self.default: Default = default
        self.timeout_s = timeout_s
        self._memory = Memory()
        self._run = RunContext()

    async def on_messages_stream(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[Streamed, None]:
        """Ask: yields the candidates as text for people, then the decision."""
        self._hear(messages, cancellation_token)
        run = self._run
        approval = self._run.decided
        dossier = self._memory.dossier
        if approval is None:
            run.readings.replace_given(dossier.readings, dossier.studies, dossier.absent)
            _, candidates = await run.check(dossier.asked, dossier.pool())
            conditions = list_conditions(dossier.asked)
            judged = judge_candidates(candidates, self._memory.view, run.readings.corrections, conditions)
            earlier = Approval(decided_by="nobody").add_set_aside(judged, dossier.asked, run.readings.corrections)
            proposals = list_proposals([candidate for candidate in judged if not earlier.holds_back(candidate.drug)])
            request = ApprovalRequest(
                question=dossier.question, candidates=proposals, timeout_s=self.timeout_s, default=self.default
            )
            answer = None
            who = self._decided_by
            because = self._nobody if proposals else "there was no candidate to ask about"
            if not because:
                lines = ["**Approval: which of these should the report deal with?**", "", *request.lines]
                yield TextMessage(content="\n".join(lines), source=self.name)
                event = UserInputRequestedEvent(request_id=str(uuid.uuid4()), source=self.name)
                yield event
                answer, because = await self._ask(request, event.request_id, cancellation_token)
            if answer is None:
                answer = request.all() if self.default == "all" else request.none("nobody approved it")
                who = "default"
            via = self._via
            if via is None:
                own = "terminal" if self.input_func is ask_at_terminal else "AutoGen user proxy"
                via = "Python" if self._approve is not None else own
            approval = Approval.by(who, via, proposals, answer, because)
        message = ApprovalMessage(content=approval, source=self.name)
        yield TextMessage(content=message.to_text(), source=self.name)
        yield Response(chat_message=message)

    async def _ask(
        self, request: ApprovalRequest, request_id: str, token: CancellationToken
    ) -> tuple[ApprovalAnswer | None, str]:
        """Return the answer, or why there is none."""

        async def ask_person(request: ApprovalRequest) -> ApprovalAnswer:
            prompt = "\n".join([*request.lines, request.prompt])
            for _ in range(MAX_ATTEMPTS):
                typed = await read_answer(self, prompt, token)
                try:
                    return request.read(typed)
                except ValueError as error:
                    prompt = f"{error}. {request.prompt}"
            raise NobodyToAsk(f"no answer of {MAX_ATTEMPTS} could be understood")

        try:
            with self._run.waiting(), UserProxyAgent.InputRequestContext.populate_context(request_id):
                asking = asyncio.ensure_future((self._approve or ask_person)(request))
                token.link_future(asking)
                return await asyncio.wait_for(asking, self.timeout_s), ""
        except TimeoutError:
            return None, f"nobody answered within {self.timeout_s:g} s"
        except NobodyToAsk as error:
            return None, str(error)
        except EOFError:
            return None, "the input was closed"
        except Exception as error:  # noqa: BLE001  an input function is anyone's code, and must not break the team
            _log.warning("%s: asking failed: %s", self.name, type(error).__name__)
            return None, f"asking failed ({type(error).__name__})"

    def _to_config(self) -> ApproverAgentConfig:
        return ApproverAgentConfig(
            name=self.name, description=self.description, default=self.default, timeout_s=self.timeout_s
        )

    @classmethod
    def _from_config(cls, config: UserProxyAgentConfig) -> Self:
        assert isinstance(config, ApproverAgentConfig)
        return cls(config.name, description=config.description, default=config.default, timeout_s=config.timeout_s)


async def ask_at_terminal(prompt: str, cancellation_token: CancellationToken | None = None) -> str:
    """Prompt on stderr and read a line from stdin; unlike `input()` it can time out and be cancelled.

    Raises:
        NobodyToAsk: stdin or stderr is no terminal, or stdin was closed (Ctrl-D).
    """
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        raise NobodyToAsk("no terminal to ask in")
    print(prompt, end="", file=sys.stderr, flush=True)
    loop = asyncio.get_running_loop()
    line: asyncio.Future[str] = loop.create_future()
    if cancellation_token is not None:
        cancellation_token.link_future(line)

    def read() -> None:
        typed = os.read(sys.stdin.fileno(), 4096).decode(errors="replace")  # a terminal returns a line at a time
        with suppress(RuntimeError):  # the loop was closed: nobody is waiting
            loop.call_soon_threadsafe(lambda: None if line.done() else line.set_result(typed))

    threading.Thread(target=read, daemon=True).start()
    try:
        typed = await line
    except asyncio.CancelledError:
        print(file=sys.stderr)  # the next output starts on a new line
        raise
    if not typed:
        raise NobodyToAsk("the input was closed")
    return typed.rstrip("\r\n")
