"""Hear what agents and tools found that are not Willowbark's own: a stock assistant's, a function's, a server's.

What their tools returned becomes findings with records, like a specialist's. An agent that answers with findings of its
own is left alone.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from willowbark.agents.autogen import (
    AssistantAgent,
    BaseChatMessage,
    CancellationToken,
    ChatCompletionClient,
    FunctionCall,
    FunctionExecutionResult,
    RequestUsage,
    StructuredMessage,
    TextMessage,
    Thread,
    ToolCallExecutionEvent,
    ToolCallRequestEvent,
    ToolCallSummaryMessage,
    list_schemas,
    list_tools_of,
)
from willowbark.tools.outside import GivenOrigin, take_in
from willowbark.tools.outside.given import declares_evidence
from willowbark.tools.questions import Question
from willowbark.tools.records.enclosure import one_line
from willowbark.tools.records.evidence import merge
from willowbark.tools.records.registry import cards
from willowbark.tools.search import SourceReply
from willowbark.tools.toolbox import (
    EvidenceTool,
    GetCitations,
    GetMechanisms,
    GetPaper,
    GetTrial,
    find_input_kind,
    replies_in,
)
from willowbark.tools.wording import counted

from .asking import add_usage, reads_requests
from .asking.reader import list_unreadable, prepare_reading, read
from .assessment import AssessmentMessage
from .context import RunContext
from .findings import Findings, FindingsMessage, Specialist

MOST_RESULTS = 20  # of an agent's turn
MOST_NOTES = 10  # of an agent's turn
TURN_TIMEOUT_S = 120.0  # for all look-ups and reading of an agent's turn
MAX_WORDS = 120  # of what an agent said of its results
_TOOL_NAME = 40  # characters


@dataclass(frozen=True)
class ToolNames:
    """What is known of an agent's tools by name."""

    own: Set[str] = frozenset()
    """Willowbark's: their replies are taken as they are."""
    typed: Set[str] = frozenset()
    """Functions of the user's that declare to return records."""

    @classmethod
    def of(cls, agent: AssistantAgent) -> "ToolNames":
        """Tell an assistant's tools apart; a server's tools are none of these, unless they are named as ours."""
        tools = list(list_tools_of(agent))
        own = {tool.name for tool in tools if isinstance(tool, EvidenceTool)}
        others = [tool for tool in tools if tool.name not in own]
        return cls(frozenset(own), frozenset(tool.name for tool in others if declares_evidence(tool.return_type())))


def of_our_server() -> frozenset[str]:
    """Return the names under which Willowbark's own MCP server offers its tools."""
    searches = (card.tool or f"search_{name}" for name, card in cards().items())
    return frozenset([*searches, GetPaper.NAME, GetTrial.NAME, GetCitations.NAME, GetMechanisms.NAME])


def read_own_replies(result: FunctionExecutionResult, names: ToolNames) -> tuple[SourceReply, ...]:
    """Return the replies of one of our tools; none of any other's, whatever its text looks like."""
    if result.is_error or result.name not in names.own | of_our_server():
        return ()
    return replies_in(result.content)


@dataclass
class Intake:
    """What came of the results of an agent's tools."""

    replies: list[SourceReply] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


async def take_results(
    agent: str,
    results: Iterable[tuple[FunctionExecutionResult, str]],
    names: ToolNames,
    run: RunContext,
    seconds: float,
) -> Intake:
    """Make replies of tools' results, and a note of each tool whose result cannot be used.

    Args:
        agent: whose tools they are.
        results: each with what was asked.
        names: what is known of its tools.
        run: provides the connection to the sources.
        seconds: for all look-ups.
    """
    intake = Intake()
    unused = dict[str, None]()
    ends = time.monotonic() + seconds
    for result, request in results:
        replies = read_own_replies(result, names)
        if replies:
            intake.replies += replies
            continue
        tool = one_line(result.name, _TOOL_NAME) if result.name.isidentifier() else "something that is no tool"
        if result.is_error:
            failed = "" if result.name in names.own else "failed, or "
            unused[f"{agent}: {tool} {failed}was called with unusable arguments"] = None
            continue
        origin = GivenOrigin(agent, tool, result.name in names.typed)
        left_s = max(0.0, ends - time.monotonic())
        outcome = await take_in(result.content, origin, request, run.transport, deadline_s=left_s)
        if outcome.reply is not None:
            intake.replies.append(outcome.reply)
            run.read_ahead(outcome.reply.records)
        else:
            why = f" ({'; '.join(outcome.problems)})" if outcome.problems else ""
            unused[f"{agent}: {tool} gave no records{why}"] = None
    notes = list(unused)
    more = len(notes) - MOST_NOTES
    intake.notes = [*notes[:MOST_NOTES], *([f"{agent}: {more} further tools gave no records"] if more > 0 else [])]
    return intake


def describe_call(arguments: str) -> str:
    """Return what a call asks in a line: its query, its only argument, or all of them.

    >>> describe_call('{"query": "migraine", "limit": 5}'), describe_call('{"a": 1, "b": 2}')
    ('migraine', '{"a": 1, "b": 2}')
    """
    try:
        data = json.loads(arguments)
    except (ValueError, RecursionError):
        data = None
    if isinstance(data, Mapping):
        only = data.get("query") or (next(iter(data.values())) if len(data) == 1 else None)
        if isinstance(only, str):
            return one_line(only)
    return one_line(arguments)


@dataclass
class _OutsideTurn:
    """What an agent that is no specialist did in its turn."""

    asked: dict[str, str] = field(default_factory=dict)
    """By call."""
    results: dict[str, FunctionExecutionResult] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)

    def call(self, calls: Iterable[FunctionCall]) -> None:
        self.asked |= {call.id: describe_call(call.arguments) for call in calls}


def collect_turns(thread: Thread, speakers: Set[str], deciders: Set[str]) -> dict[str, _OutsideTurn]:
    """Return what agents did since they last answered with findings.

    Args:
        thread: since the judge's last verdict.
        speakers: agents whose words count; tools' results do from any, such as one inside another agent.
        deciders: the judge, the report agent and the approver, who find nothing.
    """
    turns = dict[str, _OutsideTurn]()
    for message in thread:
        source = message.source
        if source in deciders:
            continue
        if isinstance(message, FindingsMessage):
            turns.pop(source, None)
            continue
        agent = turns.setdefault(source, _OutsideTurn())
        if isinstance(message, ToolCallRequestEvent):
            agent.call(message.content)
        elif isinstance(message, ToolCallExecutionEvent):
            agent.results |= {result.call_id: result for result in message.content}
        elif isinstance(message, ToolCallSummaryMessage):
            agent.call(message.tool_calls)
            agent.results |= {result.call_id: result for result in message.results}
        elif isinstance(message, StructuredMessage) and source in speakers:
            agent.words.append(message.content.model_dump_json())
        elif isinstance(message, BaseChatMessage) and source in speakers:
            agent.words.append(message.to_text())
    return {source: agent for source, agent in turns.items() if agent.results or agent.words}


class Listener:
    """Makes findings of what a team's members did that give none themselves.

    Args:
        assistants: the team's, those inside its teams included, by name.
        reader: reads the publications found; the baseline analyst leaves that to the rules.
    """

    def __init__(self, assistants: Mapping[str, AssistantAgent], reader: ChatCompletionClient) -> None:
        self._assistants = assistants
        self._reader = reader

    def join(self, run: RunContext, iteration: int = 1) -> None:
        """Connect the assistants' tools that are Willowbark's own to the run, as a specialist's are."""
        for name, agent in self._assistants.items():
            tools = [tool for tool in list_tools_of(agent) if isinstance(tool, EvidenceTool)]
            gate = run.gate(name, iteration, [tool.name for tool in tools]) if run.gate and tools else None
            if run.transport is not None:
                for tool in tools:
                    tool.bind(run.transport, run.marker, run.read_ahead, gate)

    async def hear(
        self,
        turns: Mapping[str, _OutsideTurn],
        question: Question,
        iteration: int,
        earlier_keys: Set[str],
        run: RunContext,
    ) -> list[BaseChatMessage]:
        """Return for each agent a text for people, and its findings.

        Args:
            turns: what they did.
            question: the one that is researched.
            iteration: the present round.
            earlier_keys: keys of records of earlier findings, which are not read by the model again.
            run: provides the connection to the sources.
        """
        run.asked = question
        messages = list[BaseChatMessage]()
        for name, agent in turns.items():
            findings = Findings(specialist=name, iteration=iteration, summary="")
            usage = RequestUsage(prompt_tokens=0, completion_tokens=0)
            run.in_hand[name] = findings
            try:
                await self._fill(findings, agent, question, earlier_keys, run, usage)
            finally:
                del run.in_hand[name]
            counts = f"{counted(len(merge(findings.records)), 'record')} of its tools' results"
            body = findings.digest.as_markdown() if findings.digest else findings.summary
            lines = [
                f"**{name}, round {iteration}**: {counts}",
                "",
                *(f"- {note}" for note in findings.notes),
                "",
                body,
            ]
            text = "\n".join(lines).strip()
            messages.append(TextMessage(content=text, source=name, metadata={"role": "specialist"}))
            messages.append(FindingsMessage(content=findings, source=name, models_usage=usage))
        return messages

    async def _fill(
        self,
        findings: Findings,
        turn: _OutsideTurn,
        question: Question,
        earlier_keys: Set[str],
        run: RunContext,
        usage: RequestUsage,
    ) -> None:
        name = findings.specialist
        agent = self._assistants.get(name)
        deadline = time.monotonic() + TURN_TIMEOUT_S
        findings.declared = await _declare(name, agent)
        names = ToolNames.of(agent) if agent is not None else ToolNames()
        results = [(result, turn.asked.get(call, "")) for call, result in turn.results.items()]
        intake = await take_results(name, results[:MOST_RESULTS], names, run, TURN_TIMEOUT_S / 2)
        findings.replies = intake.replies
        findings.notes = intake.notes
        if len(results) > MOST_RESULTS:
            findings.notes.append(f"{name}: {len(results) - MOST_RESULTS} of {len(results)} tool results were left out")
        words = "\n".join(turn.words)
        if not findings.records and words.strip():
            await self._take_words(findings, words, run, deadline - time.monotonic())
        findings.reflection = " ".join(words.split()[:MAX_WORDS]) if findings.replies else ""
        if findings.replies:
            await self._read(findings, question, earlier_keys, run, deadline, usage)
            findings.digest = await run.digest_turn(question, findings)
        findings.summary = (
            findings.digest.summary if findings.digest else "; ".join(findings.notes) or "Nothing searched"
        )

    async def _take_words(self, findings: Findings, words: str, run: RunContext, seconds: float) -> None:
        """Follow the numbers that an agent names in its own words, where its tools gave no record."""
        origin = GivenOrigin(findings.specialist, "")
        outcome = await take_in(words, origin, "", run.transport, deadline_s=max(0.0, seconds))
        if outcome.reply is not None:
            findings.replies = [*findings.replies, outcome.reply]
        elif not findings.replies and not findings.notes:
            findings.notes.append(f"{findings.specialist}: its words name no publication or trial")

    async def _read(
        self,
        findings: Findings,
        question: Question,
        earlier_keys: Set[str],
        run: RunContext,
        deadline: float,
        usage: RequestUsage,
    ) -> None:
        """Have the model read the publications that are new."""
        if reads_requests(self._reader):
            return
        findings.replies = await run.add_full_texts(question, findings.replies)
        new = [record for record in merge(findings.records) if record.key not in earlier_keys]
        results = await read(
            self._reader,
            question.text,
            prepare_reading(new, question, in_short=run.reads_in_short),
            run.marker,
            CancellationToken(),
            max(0.0, deadline - time.monotonic()),
            in_batch=run.reads_in_batches,
        )
        add_usage(usage, results.usage)
        findings.take_readings(results, list_unreadable(new, question))


async def _declare(name: str, agent: AssistantAgent | None) -> Specialist:
    """Declare an agent by its tools; one whose tools nobody knows takes nothing that code could ask."""
    if agent is None:
        return Specialist(name=name, takes=())
    takes = dict.fromkeys(kind for schema in await list_schemas(agent) if (kind := find_input_kind(schema)) is not None)
    return Specialist(name=name, description=agent.description, takes=tuple(takes))


def find_round(messages: Sequence[Any]) -> int:
    """Return the round that messages are of, or that follows their last verdict."""
    rounds = [message.content.iteration for message in messages if isinstance(message, AssessmentMessage)]
    return max(rounds, default=0) + 1
