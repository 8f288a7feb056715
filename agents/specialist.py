"""A specialist: searches its sources, has a model read the records, and returns typed findings.

A model sees of each record its title and the end of its text, and may search again; then it says what was found, what
is missing and what is doubtful.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Self

from pydantic import BaseModel, Field

from willowbark.agents.autogen import (
    EVENT_LOGGER_NAME,
    REFUSED,
    AssistantAgent,
    AssistantAgentConfig,
    AssistantMessage,
    BaseAgentEvent,
    BaseChatMessage,
    CancellationToken,
    ChatCompletionClient,
    ChatCompletionContext,
    ChatCompletionContextState,
    Component,
    ComponentModel,
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    ModelClientStreamingChunkEvent,
    RequestUsage,
    Response,
    RunToken,
    ShortResults,
    Streamed,
    TextMessage,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    ToolCallSummaryMessage,
    UserMessage,
    list_schemas,
    list_tools_of,
    offer,
    speak_through,
)
from willowbark.tools.appraisal.stance import DECIDED, derive_stance
from willowbark.tools.appraisal.views import MatchedStudy
from willowbark.tools.errors import UsageError
from willowbark.tools.questions import Question, follow_up, parse_question
from willowbark.tools.records.card import ENTRIES
from willowbark.tools.records.enclosure import GUIDANCE, condense, enclose_lines, one_line
from willowbark.tools.records.evidence import merge
from willowbark.tools.records.registry import kind_of
from willowbark.tools.search import SourceReply
from willowbark.tools.toolbox import EvidenceTool, InputKind, find_input_kind
from willowbark.tools.wording import counted, listed

from .asking import ModelUnavailable, add_usage, describe_provider_error, reads_requests, remove_thoughts, write_line
from .asking.reader import list_unreadable, prepare_reading, read
from .assessment import LONGEST_QUERY, AssessmentMessage
from .context import RunContext
from .findings import Findings, FindingsMessage, Specialist
from .outside import ToolNames, describe_call, take_results
from .routing import is_first, route_of
from .tool_results import drop_excerpts, find_turn, list_keys, list_lines, share_space, write_excerpts

MAX_SUMMARY = 4000  # characters of a model's text
TOOL_ROUNDS = 3  # rounds of tool calls in a turn; the model sees titles between them
MAX_REFLECTION = 120  # words of a model's reflection on what was found
TURN_TIMEOUT_S = 180.0  # for all of a specialist's searches and reading
LOOK_UP_S = 30.0  # for what a turn of calls to tools that are not Willowbark's own names

_NO_SUMMARY = "{tool_name}"  # AutoGen's own would repeat all records in a message that nobody gets
_REFUSED = {
    "handoffs": "the team's rounds say who speaks next",
    "tool_call_summary_format": "a specialist answers with findings, not with a summary of calls",
    "tool_call_summary_formatter": "a specialist answers with findings, not with a summary of calls",
    "output_content_type": "a specialist answers with FindingsMessage",
    "output_content_type_format": "a specialist answers with FindingsMessage",
}
"""Options of AutoGen's assistant that mean nothing for a specialist, and why."""
_LONGEST_DETAIL = 40  # characters of a condition, or of people
MOST_READINGS = 60  # records of which a specialist is told what was read; the judge sees what decides
MOST_ENTRIES = 20  # of databases, of which it is shown what they hold
_DONE = "Done."
_READINGS = "What was read of it, by record: the drugs that it supports or contradicts, or that missed its outcome."
_SAY = "Now say in your own words, in at most 120: what was found, what is missing, what you doubt."
_ASK_AGAIN = "Nothing was searched: call your tools. What you find in them is all that the others get from you."
_OWN = ("user", "team", "reader")  # whose words to a specialist are no other agent's
_MEANT = ("{tool_name}", "{result}")  # formats that ask for nothing: a specialist's own, and AutoGen's
_log = logging.getLogger(EVENT_LOGGER_NAME)


class CondensedContextConfig(BaseModel):
    """Configuration of a specialist's model context."""

    initial_messages: list[LLMMessage] | None = None


class CondensedContext(ChatCompletionContext, Component[CondensedContextConfig]):
    """A model context that shortens what tools returned, more so after the turn, and keeps of others what is new."""

    component_config_schema = CondensedContextConfig
    component_provider_override = "willowbark.agents.specialist.CondensedContext"

    async def add_message(self, message: LLMMessage) -> None:
        """Add a message; of tool results what `write_excerpts` leaves, and of those of earlier turns titles."""
        if isinstance(message, UserMessage):
            self._messages = [drop_excerpts(earlier) for earlier in self._messages]
        if isinstance(message, FunctionExecutionResultMessage):
            message = await asyncio.to_thread(_shorten_results, message, list_keys(self._messages))
        await super().add_message(message)

    async def get_messages(self) -> list[LLMMessage]:
        """Return the messages for the model; from other agents only those after its last turn."""
        last_heard = max((at for at, message in enumerate(self._messages) if _is_by_others(message)), default=0)
        spoke = (at for at, message in enumerate(self._messages[:last_heard]) if isinstance(message, AssistantMessage))
        last = max(spoke, default=-1)
        present = find_turn(self._messages)
        messages = [*self._messages[:present], *share_space(self._messages[present:])]
        return [message for at, message in enumerate(messages) if at > last or not _is_by_others(message)]

    async def save_state(self) -> Mapping[str, Any]:
        """Return the messages as JSON-safe data, without excerpts: the records are in the team's messages."""
        messages = [drop_excerpts(message) for message in self._messages]
        return ChatCompletionContextState(messages=messages).model_dump()

    def _to_config(self) -> CondensedContextConfig:
        return CondensedContextConfig(initial_messages=self._initial_messages)

    @classmethod
    def _from_config(cls, config: CondensedContextConfig) -> Self:
        return cls(initial_messages=config.initial_messages)


def _shorten_results(message: FunctionExecutionResultMessage, keys: set[str]) -> FunctionExecutionResultMessage:
    results = [
        result.model_copy(update={"content": write_excerpts(result.content, keys)})
        if not result.is_error
        else result.model_copy(update={"content": condense(result.content, keys)})
        for result in message.content
    ]
    return message.model_copy(update={"content": results})


def _is_by_others(message: LLMMessage) -> bool:
    return isinstance(message, UserMessage) and message.source not in _OWN


class SpecialistAgentConfig(AssistantAgentConfig):
    """An assistant's configuration with a specialist's own fields."""

    fallback: ComponentModel | None = None
    reader: ComponentModel | None = None
    turn_timeout_s: float = Field(default=TURN_TIMEOUT_S, gt=0)


class SpecialistAgent(AssistantAgent, Component[SpecialistAgentConfig]):
    """An assistant agent that has its tools' results read and answers with `FindingsMessage`.

    The model chooses the queries of the first round; a fallback, if any, then asks the judge's queries unchanged, and
    the model goes on where one of them found nothing, or where it has tools of others. Failures of sources and models
    are named in its findings, never raised.

    Args:
        name: shown by the team and in its messages.
        model_client: chooses the queries.
        description: one sentence for the selector of speakers.
        system_message: its prompt, to which instructions for reading records are added.
        fallback: chooses queries if the model fails, and asks the judge's; None leaves all to the model.
        reader: reads the publications found; None for `model_client`. Rules read for one that takes data.
        turn_timeout_s: seconds for a turn; the results so far are then returned.
        reflect_on_tool_use: whether the model, if its last call was of tools, is asked what they found, missed and
            leave in doubt. None for yes, unless the baseline analyst chooses the queries.
        max_tool_iterations: rounds of calls in a turn; None for 3, or for the baseline analyst's one.
        options: passed to `AssistantAgent`: `tools` or `workbench`, `memory`, `model_context`, `model_client_stream`,
            `metadata`.

    Raises:
        UsageError: an option that means nothing here: `handoffs`, `output_content_type`, formats of a summary; or for
            the baseline analyst, which asks once and does not reflect, one that says otherwise.
    """

    component_config_schema = SpecialistAgentConfig
    component_provider_override = "willowbark.agents.specialist.SpecialistAgent"
    component_version = 3  # AutoGen's 2 said that a specialist did not reflect, and called its tools once

    def __init__(
        self,
        name: str,
        model_client: ChatCompletionClient,
        *,
        description: str = "Searches its sources and reports what they say.",
        system_message: str | None = None,
        fallback: ChatCompletionClient | None = None,
        reader: ChatCompletionClient | None = None,
        turn_timeout_s: float = TURN_TIMEOUT_S,
        reflect_on_tool_use: bool | None = None,
        max_tool_iterations: int | None = None,
        **options: Any,
    ) -> None:
        _refuse_meaningless(name, options)
        by_rule = reads_requests(model_client)
        if by_rule and (reflect_on_tool_use or (max_tool_iterations or 1) > 1):
            option = "reflect_on_tool_use" if reflect_on_tool_use else "max_tool_iterations"
            raise UsageError(
                f"{name}: {option} is for language models; the baseline analyst asks once and says no more"
            )
        instructions = system_message or description
        context = options.pop("model_context", None) or CondensedContext()
        options["tool_call_summary_format"] = _NO_SUMMARY
        super().__init__(
            name,
            model_client,
            description=description,
            system_message=instructions if GUIDANCE in instructions else f"{instructions.rstrip()}\n\n{GUIDANCE}",
            reflect_on_tool_use=not by_rule if reflect_on_tool_use is None else reflect_on_tool_use,
            max_tool_iterations=max_tool_iterations or (1 if by_rule else TOOL_ROUNDS),
            model_context=context,
            **options,
        )
        self._fallback = fallback
        self._reader = reader
        self._was_read: set[str] = set()
        self._turn_timeout_s = turn_timeout_s
        self._run = RunContext()

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """`FindingsMessage`; AutoGen teams need the type to accept the findings."""
        return (FindingsMessage, TextMessage)

    def join(self, run: RunContext) -> None:
        """Join a run: the tools use its transport, after its hooks."""
        self._run = run
        run.reader = self._reader or self._model_client
        run.tools.update(tool.name for tool in list_tools_of(self))

    async def on_messages_stream(  # noqa: PLR0915
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> AsyncGenerator[Streamed, None]:
        """Search and read: yields events, then text for people, then the findings."""
        token = RunToken(cancellation_token)
        run = self._run
        rounds = [message.content.iteration for message in messages if isinstance(message, AssessmentMessage)]
        findings = Findings(specialist=self.name, iteration=max(rounds, default=0) + 1, summary="")
        gaps = [message.content.gaps for message in messages if isinstance(message, AssessmentMessage)]
        turn = _SearchTurn(findings, gaps=tuple(gaps[-1]) if gaps else ())
        user_messages = [
            message for message in await self._model_context.get_messages() if isinstance(message, UserMessage)
        ]
        questions = [str(message.content) for message in user_messages if message.source == "user"]
        questions += [
            message.content for message in messages if isinstance(message, TextMessage) and message.source == "user"
        ]
        run.asked = question = parse_question(follow_up(questions))
        self._bind_tools(findings.iteration)
        context_before = await self._model_context.save_state()
        read_before = frozenset(self._was_read)
        deadline = time.monotonic() + self._turn_timeout_s
        try:
            findings.later = self._choose_later(question, findings.iteration)
            async for event in self._search_first(messages, token, turn):
                await self._take(event, turn)
                if isinstance(event, ToolCallExecutionEvent):
                    yield ShortResults(**dict(event))
                elif not isinstance(event, Response):
                    yield event
            findings.declared = await self._declare()
            if not reads_requests(self._model_client):
                findings.is_by_model = not turn.model_failed and not turn.stood_in
            why = "; ".join(findings.notes) or ("left for later rounds" if findings.later else "the model said nothing")
            findings.summary = turn.said or f"Nothing searched: {why}"
            run.in_hand[self.name] = findings
            if findings.replies:
                merged = await asyncio.to_thread(merge, findings.records)
                yield self._tell("analyzing", f"Reading {counted(len(merged), 'record')}")
            if findings.replies and not turn.model_failed:
                if run.reads_in_batches:
                    waits = "What was found is read in a batch, within minutes or a day; a stopped run can be resumed"
                    yield TextMessage(content=waits, source=self.name, metadata={"role": "specialist"})
                await self._read(turn, question, deadline, token)
                async for event in self._reflect_on_reading(turn, token):
                    yield event
            if findings.replies and not turn.said.startswith(REFUSED):
                findings.reflection = " ".join(turn.said.split()[:MAX_REFLECTION])
            if findings.replies:
                findings.digest = await run.digest_turn(question, findings)
                findings.summary = findings.digest.summary
                yield self._tell("analysis_complete", f"{self.name}, round {findings.iteration}: {findings.summary}")
        except BaseException:  # interrupted: nobody got the results, so they must not count as read
            await self._model_context.load_state(context_before)
            self._was_read = set(read_before)
            raise
        searches = [f"- {' · '.join([reply.line, f'`{reply.query}`', *reply.warnings])}" for reply in findings.replies]
        notes = [f"- {note}" for note in (*findings.notes, *findings.reading_notes)]
        body = findings.digest.as_markdown() if findings.digest else findings.summary
        text = [
            f"**{self.name}, round {findings.iteration}**",
            "",
            *searches,
            *notes,
            "",
            body,
            "",
            findings.reflection,
        ]
        yield TextMessage(content="\n".join(text).strip(), source=self.name, metadata={"role": "specialist"})
        del run.in_hand[self.name]
        message = FindingsMessage(content=findings, source=self.name, models_usage=turn.used)
        yield Response(chat_message=message, inner_messages=turn.events)

    def _bind_tools(self, iteration: int) -> None:
        """Connect the tools to the run, with what stands before their calls in this round."""
        run = self._run
        tools = [tool for tool in list_tools_of(self) if isinstance(tool, EvidenceTool)]
        gate = run.gate(self.name, iteration, [tool.name for tool in tools]) if run.gate else None
        if run.transport is not None:
            for tool in tools:
                tool.bind(run.transport, run.marker, run.read_ahead, gate)

    def _choose_later(self, question: Question, iteration: int) -> dict[str, InputKind]:
        """Return the tools that the question's kind leaves for later; none if that would leave the team without any."""
        route = route_of(question)
        if iteration > 1 or not self._run.tools.intersection(route.tools or ()):
            return {}
        later = [tool for tool in list_tools_of(self) if not is_first(route, tool.name)]
        takes = {tool.name: find_input_kind(tool.schema) for tool in later}
        return {name: kind for name, kind in takes.items() if kind is not None}

    async def _search_first(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken, turn: "_SearchTurn"
    ) -> AsyncGenerator[Streamed, None]:
        """Search with the tools that come first; without any, only listen."""
        later = turn.found.later
        narrowed = [_narrow(message, self.name) for message in messages]
        by_number = {
            tool.name for tool in list_tools_of(self) if find_input_kind(tool.schema) in ("numbers", "citations")
        }
        if later and all(tool.name in {*later, *by_number} for tool in list_tools_of(self)):
            for message in narrowed:
                await self._model_context.add_message(message.to_model_message())
            return
        with offer(self, lambda name: name not in later):
            async for event in self._attempt(narrowed, cancellation_token, turn):
                yield event

    def _tell(self, role: str, text: str) -> TextMessage:
        """Say what begins or has ended, to people alone: the message does not enter the thread."""
        return TextMessage(content=text, source=self.name, metadata={"role": role})

    async def _attempt(  # noqa: PLR0912, PLR0915
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken, turn: "_SearchTurn"
    ) -> AsyncGenerator[Streamed, None]:
        """Try with the model, once more if it asked nobody, then with the fallback if it failed or searched nothing.

        The judge's queries need no choice: the fallback asks them unchanged. Where each of them found something, the
        model is not asked for more: it would read all that came before to say that it is done.
        """
        name = self.name
        fallback = self._fallback
        notes = turn.found.notes
        verdicts = [message.content for message in messages if isinstance(message, AssessmentMessage)]
        clients = [self._model_client] if fallback is None else [self._model_client, fallback]
        is_chosen = any(verdict.next_search_queries for verdict in verdicts) and not reads_requests(self._model_client)
        if is_chosen:
            clients.reverse()
        elif not reads_requests(self._model_client):
            clients.insert(0, self._model_client)
        reflects = self._reflect_on_tool_use
        most_rounds = max(1, self._max_tool_iterations - (is_chosen and fallback is not None))
        for attempt, client in enumerate(clients, 1):
            tool_rounds = 1 if reads_requests(client) else most_rounds
            deadline = time.monotonic() + self._turn_timeout_s
            stream = self._search(messages, client, turn, cancellation_token, reflects=reflects)
            messages = ()  # now in the context
            try:
                with speak_through(self, client, tool_rounds):
                    async for event in _yield_until(deadline, stream, cancellation_token):
                        yield event
            except TimeoutError:
                turn.found.notes.append(
                    f"{name}: stopped after {self._turn_timeout_s:g} s; what came until then is used"
                )
                if not turn.asked_nobody:
                    return
                continue
            except Exception as error:  # noqa: BLE001  an exception here would break the whole team: it becomes a note
                why = describe_provider_error(error)
                _log.warning("%s: the model failed: %s", name, why)
                if turn.found.replies:
                    notes.append(f"{name}: the model failed ({why}) after its searches; what came is used")
                    turn.is_cut = True
                    return
                turn.model_failed = True
                if attempt < len(clients) and clients[attempt] is client:
                    clients.pop(attempt)  # its library has tried again already
                instead = "there was no fallback" if fallback is None else "the baseline analyst answered instead"
                notes.append(f"{name}: the model failed ({why}); {instead}")
                continue
            finally:
                await stream.aclose()
            if is_chosen and client is fallback and turn.found.replies:
                if turn.found_each and all(isinstance(tool, EvidenceTool) for tool in list_tools_of(self)):
                    return
                continue
            if attempt == len(clients) or is_chosen or not turn.asked_nobody:
                return
            is_refusal = turn.said.startswith(REFUSED)
            if clients[attempt] is client and is_refusal:
                clients.pop(attempt)
            elif clients[attempt] is client:
                await self._model_context.add_message(UserMessage(content=_ASK_AGAIN, source="team"))
                continue
            why = f" ({write_line(turn.said)})" if is_refusal else ""
            instead = "the baseline analyst asked instead" if attempt < len(clients) else "there was no fallback"
            turn.stood_in = True
            notes.append(f"{name}: the model asked no source{why}; {instead}")

    async def _search(
        self,
        messages: Sequence[BaseChatMessage],
        client: ChatCompletionClient,
        turn: "_SearchTurn",
        cancellation_token: CancellationToken,
        *,
        reflects: bool,
    ) -> AsyncGenerator[Streamed, None]:
        """Have a model search, and reflect if its last words are calls."""
        async with aclosing(super().on_messages_stream(messages, cancellation_token)) as stream:
            async for event in stream:
                yield event
        reads_later = not reads_requests(self._reader or self._model_client)
        if reflects and turn.found.replies and not turn.said and not reads_requests(client) and not reads_later:
            async for event in self._reflect(client, turn, cancellation_token):
                yield event

    async def _reflect_on_reading(
        self, turn: "_SearchTurn", cancellation_token: CancellationToken
    ) -> AsyncGenerator[Streamed, None]:
        """Show the model what was read of what it found, and ask what it makes of that; a failure is noted."""
        client = self._model_client
        findings = turn.found
        if (
            turn.is_cut
            or not self._reflect_on_tool_use
            or reads_requests(client)
            or reads_requests(self._reader or client)
        ):
            return
        if len(turn.said) <= len(_DONE):
            turn.said = ""
        if not findings.records or (not findings.studies and turn.said):
            return
        try:
            async for event in self._reflect(client, turn, cancellation_token, self._describe_turn(turn)):
                yield event
        except Exception as error:  # noqa: BLE001  an exception here would break the whole team: it becomes a note
            findings.notes.append(
                f"{self.name}: the model failed ({describe_provider_error(error)}) to say what it found"
            )

    def _describe_turn(self, turn: "_SearchTurn") -> str:
        """Describe a turn for the model's reflection: the question, its searches, and what was read of what came."""
        findings = turn.found
        question = self._run.asked.text if self._run.asked else ""
        lines = [line for line in map(_tell_reading, findings.studies) if line["says"]]
        others = len(findings.studies) - len(lines)
        keys = {matched.study.key for matched in findings.studies}
        unread = [record for record in merge(findings.records) if record.key not in keys and kind_of(record) in ENTRIES]
        readings = [*lines[:MOST_READINGS], *list_lines(unread[:MOST_ENTRIES])]
        return "\n".join(
            [
                f"Question: {question}",
                "You searched:",
                *_count_hits(findings.replies),
                *([f"Named as missing before: {'; '.join(turn.gaps)}"] if turn.gaps else []),
                *([_READINGS, enclose_lines(readings, self._run.marker)] if readings else []),
                *([f"{counted(others, 'further study')} decided nothing on a drug."] if others else []),
                _SAY,
            ]
        )

    async def _reflect(
        self,
        client: ChatCompletionClient,
        turn: "_SearchTurn",
        cancellation_token: CancellationToken,
        description: str = "",
    ) -> AsyncGenerator[Streamed, None]:
        """Ask a model for its reflection on the results, those in `description`, or else those of its calls.

        Then its tools are sent too, which providers require after calls of them; AutoGen 0.7.5's own reflection leaves
        that to a client's memory of its last call, which may have been another agent's.
        """
        sent: dict[str, Any] = {"cancellation_token": cancellation_token}
        if description:
            messages: list[LLMMessage] = [*self._system_messages, UserMessage(content=description, source="reader")]
            await self._model_context.add_message(UserMessage(content=_SAY, source="reader"))
        else:
            messages = [*self._system_messages, *await self._model_context.get_messages()]
            tools: list[Any] = []
            for bench in self._workbench:
                tools += await bench.list_tools()
            sent["tools"] = tools
            sent["tool_choice"] = "none"
        answer: CreateResult | str = ""
        if self._model_client_stream:
            async for part in client.create_stream(messages, **sent):
                answer = part
                if isinstance(part, str):
                    yield ModelClientStreamingChunkEvent(content=part, source=self.name)
        else:
            answer = await client.create(messages, **sent)
        if isinstance(answer, str):
            raise ModelUnavailable("its stream ended without a result")
        add_usage(turn.used, answer.usage)
        turn.said = remove_thoughts(answer.content if isinstance(answer.content, str) else "")[:MAX_SUMMARY]
        await self._model_context.add_message(AssistantMessage(content=turn.said or "-", source=self.name))

    async def _read(
        self, turn: "_SearchTurn", question: Question, deadline: float, cancellation_token: CancellationToken
    ) -> None:
        """Have the model read this turn's publications that it has not read before."""
        client = self._reader or self._model_client
        run = self._run
        findings = turn.found
        if reads_requests(client):
            return
        findings.replies = await run.add_full_texts(question, findings.replies)
        records = await asyncio.to_thread(merge, findings.records)
        publications = prepare_reading(records, question, in_short=run.reads_in_short)
        new = [publication for publication in publications if publication.fingerprint not in self._was_read]
        left_s = max(0.0, deadline - time.monotonic())
        results = await read(
            client, question.text, new, run.marker, cancellation_token, left_s, in_batch=run.reads_in_batches
        )
        self._was_read |= results.done
        add_usage(turn.used, results.usage)
        findings.take_readings(results, list_unreadable(records, question))

    async def _take(self, event: Streamed, turn: "_SearchTurn") -> None:
        """Note an event; look up what tools that are not Willowbark's own named."""
        turn.note(event)
        if not isinstance(event, ToolCallExecutionEvent):
            return
        results = [(result, turn.asked.get(result.call_id, "")) for result in event.content]
        intake = await take_results(self.name, results, ToolNames.of(self), self._run, LOOK_UP_S)
        turn.found.replies += intake.replies
        turn.found.notes += intake.notes

    async def _declare(self) -> Specialist:
        """Declare this specialist: name, description, and the kinds of input its tools take."""
        takes = dict.fromkeys(kind for kind in map(find_input_kind, await list_schemas(self)) if kind is not None)
        return Specialist(name=self.name, description=self.description, takes=tuple(takes))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """Forget everything."""
        self._was_read = set()
        await super().on_reset(cancellation_token)

    async def save_state(self) -> Mapping[str, Any]:
        """Return the agent's context and readings as JSON-safe data."""
        return {**await super().save_state(), "was_read": sorted(self._was_read)}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """Restore the state from `save_state`."""
        self._was_read = set(state["was_read"])
        await super().load_state({name: value for name, value in state.items() if name != "was_read"})

    def _to_config(self) -> SpecialistAgentConfig:
        return SpecialistAgentConfig(
            **super()._to_config().model_dump(),
            fallback=self._fallback.dump_component() if self._fallback else None,
            reader=self._reader.dump_component() if self._reader else None,
            turn_timeout_s=self._turn_timeout_s,
        )

    @classmethod
    def _from_config(cls, config: AssistantAgentConfig) -> Self:
        assert isinstance(config, SpecialistAgentConfig)
        loaded = super()._from_config(config)
        loaded._fallback = ChatCompletionClient.load_component(config.fallback) if config.fallback else None
        loaded._reader = ChatCompletionClient.load_component(config.reader) if config.reader else None
        loaded._turn_timeout_s = config.turn_timeout_s
        return loaded

    @classmethod
    def _from_config_past_version(cls, config: dict[str, Any], version: int) -> Self:
        # Whatever these said, a specialist reflected and called its tools up to three times.
        past = {
            **config,
            "reflect_on_tool_use": False,
            "max_tool_iterations": 1,
            "tool_call_summary_format": _NO_SUMMARY,
        }
        loaded = cls._from_config(SpecialistAgentConfig.model_validate(past))
        if not reads_requests(loaded._model_client):
            loaded._reflect_on_tool_use = True
            loaded._max_tool_iterations = TOOL_ROUNDS
        return loaded


def _tell_reading(matched: MatchedStudy) -> dict[str, Any]:
    """Return what was read of a record in a line for who found it: what each drug was found to do, and in whom."""
    study = matched.study
    says = {drug: derive_stance(study, drug).says for drug in sorted(study.drugs())}
    line = {
        "key": study.key,
        "condition": one_line(study.condition, _LONGEST_DETAIL),
        "people": one_line(study.people, _LONGEST_DETAIL),
    }
    return {**line, "says": {drug: verdict for drug, verdict in says.items() if verdict in DECIDED}}


def _count_hits(replies: Sequence[SourceReply]) -> list[str]:
    """List the searches of a turn, each with the numbers of records and hits at each source."""
    searches = dict[str, list[str]]()
    for reply in replies:
        hits = f"{reply.source} {len(reply.records)} of {reply.total}"
        searches.setdefault(one_line(reply.asked or reply.query, LONGEST_QUERY), []).append(hits)
    return [f"- {query}: {', '.join(hits)}" for query, hits in searches.items()]


def _refuse_meaningless(name: str, options: Mapping[str, Any]) -> None:
    """Raise UsageError for an option that means nothing for a specialist."""
    for option, why in _REFUSED.items():
        value = options.get(option)
        if value and value not in _MEANT:
            raise UsageError(f"{name}: {option} is refused: {why}")


async def _yield_until(
    deadline: float, stream: AsyncGenerator[Streamed, None], cancellation_token: CancellationToken
) -> AsyncGenerator[Streamed, None]:
    """Yield events until a deadline of the monotonic clock; TimeoutError after it."""
    while True:
        # linked to the token, since AutoGen 0.7.5 waits forever for cancelled tool calls
        event = asyncio.ensure_future(anext(stream, None))
        cancellation_token.link_future(event)
        streamed = await asyncio.wait_for(event, max(0.0, deadline - time.monotonic()))
        if streamed is None:
            return
        yield streamed


@dataclass
class _SearchTurn:
    """A turn's findings, and what its model said and used."""

    found: Findings
    said: str = ""
    model_failed: bool = False
    """Whether the model failed to choose queries: it then does not read either."""
    is_cut: bool = False
    """Whether the model failed after its searches."""
    stood_in: bool = False
    """Whether the model asked no source and another one searched in its place."""
    events: list[BaseAgentEvent | BaseChatMessage] = field(default_factory=list)
    used: RequestUsage = field(default_factory=lambda: RequestUsage(prompt_tokens=0, completion_tokens=0))
    asked: dict[str, str] = field(default_factory=dict)
    """What each call of a tool asked."""
    gaps: tuple[str, ...] = ()
    """What the judge named as missing before it."""

    def note(self, event: Streamed) -> None:
        message = event.chat_message if isinstance(event, Response) else event
        if message.models_usage is not None:
            add_usage(self.used, message.models_usage)
        if isinstance(event, Response):
            if not isinstance(message, ToolCallSummaryMessage):
                self.said = remove_thoughts(event.chat_message.to_text())[:MAX_SUMMARY]
            return
        self.events.append(event)
        if isinstance(event, ToolCallRequestEvent):
            self.asked |= {call.id: describe_call(call.arguments) for call in event.content}

    @property
    def found_each(self) -> bool:
        """Whether each search found a record at some source."""
        searches = {reply.asked or reply.query for reply in self.found.replies}
        return searches == {reply.asked or reply.query for reply in self.found.replies if reply.records}

    @property
    def asked_nobody(self) -> bool:
        """Whether the turn lacks a due search; in later rounds a model may have nothing left to ask."""
        return not self.found.replies and (self.found.iteration == 1 or bool(self.found.notes))


def _narrow(message: BaseChatMessage, name: str) -> BaseChatMessage:
    """Reduce a judge's message to the queries for one specialist, and what another's tools returned to their names.

    Strangers' texts reach a model in the digest of the findings that were made of them, or not at all.
    """
    if isinstance(message, ToolCallSummaryMessage):
        names = listed(list(dict.fromkeys(result.name for result in message.results))) or "no tool"
        return TextMessage(content=f"{message.source} called {names}.", source=message.source, id=message.id)
    if not isinstance(message, AssessmentMessage) or not message.content.next_searches:
        return message
    own = [search for search in message.content.next_searches if search.specialist == name]
    queries = list(dict.fromkeys(search.query for search in own))
    changed = message.content.model_copy(update={"next_searches": own, "next_search_queries": queries})
    return message.model_copy(update={"content": changed})
