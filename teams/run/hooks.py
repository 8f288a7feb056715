"""Hooks of a run: they receive its events, and before a tool call they may refuse it or change its arguments.

What a hook decided is kept in the ledger, so that a run is replayed to the same report without its hooks.
"""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from willowbark.tools.records.enclosure import one_line
from willowbark.tools.toolbox import Refusal, ToolCall

from ..events import AgentEvent, ToolRequest, Veto
from ..ledger import Journal
from .options import Hook

HOOK_TIMEOUT_S = 5.0  # a hook that takes longer is abandoned


class Decision(BaseModel, frozen=True, extra="forbid"):
    """What hooks made of a call: other arguments, or a reason against it."""

    arguments: dict[str, Any] | None = None
    refused: str | None = None


class Hooks:
    """Calls a run's hooks.

    Args:
        hooks: called in turn; a change by one is what the next one sees.
        journal: keeps and repeats their decisions.
        warnings: gets a line for each hook that failed, and for each call that was refused or changed.
    """

    def __init__(self, hooks: Sequence[Hook], journal: Journal, warnings: list[str]) -> None:
        self._hooks = hooks
        self._journal = journal
        self._warnings = warnings
        self._gated: set[tuple[str, str]] = set()
        self._calls: Counter[str] = Counter()
        self._elapsed: dict[tuple[str, str, str], float] = {}

    async def notify(self, event: AgentEvent) -> None:
        """Hand the hooks an event; calls of gated tools were handed to them before they were made."""
        if event.call is not None and (event.agent, event.tool) in self._gated:
            return
        for hook in self._hooks:
            await self._call(hook, event)

    def gate(self, agent: str, iteration: int, tools: Sequence[str]) -> "Gate":
        """Return the gate for the calls of an agent's tools in a round."""
        self._gated.update((agent, tool) for tool in tools)
        return Gate(self, agent, iteration)

    def elapsed_s(self, agent: str, call_id: str, tool: str) -> float | None:
        """Return the seconds that an agent's latest call took; None for a tool without a gate."""
        return self._elapsed.get((agent, call_id, tool))

    def note_elapsed(self, agent: str, call: ToolCall, seconds: float) -> None:
        """Keep the seconds that a call took."""
        self._elapsed[agent, call.call_id, call.tool] = seconds

    async def decide(self, agent: str, iteration: int, call: ToolCall) -> Decision:
        """Ask the hooks about a call; an earlier life's decision stands."""
        identity = json.dumps([agent, call.tool, call.call_id, call.arguments], sort_keys=True, default=str)
        self._calls[identity] += 1
        request = f"hook {self._calls[identity]} {identity}"
        earlier = self._journal.find_decision(request)
        if earlier is not None:
            return Decision.model_validate_json(earlier)
        decision = await self._ask(agent, iteration, call)
        if decision != Decision():
            self._journal.keep_decision(request, decision.model_dump_json())
        return decision

    async def _ask(self, agent: str, iteration: int, call: ToolCall) -> Decision:
        arguments = dict(call.arguments)
        for hook in self._hooks:
            answer = await self._call(hook, _make_event(agent, iteration, call, arguments))
            if isinstance(answer, Veto):
                self._warnings.append(f"a hook refused {call.tool}: {answer.reason}")
                return Decision(refused=answer.reason)
            if isinstance(answer, Mapping):
                arguments = {str(name): value for name, value in answer.items()}
            elif answer is not None:
                self._warnings.append(f"a hook answered with {type(answer).__name__}, not with arguments or a Veto")
        if arguments == call.arguments:
            return Decision()
        self._warnings.append(f"a hook changed the arguments of {call.tool}: {one_line(json.dumps(arguments))}")
        return Decision(arguments=arguments)

    async def _call(self, hook: Hook, event: AgentEvent) -> object:
        try:
            async with asyncio.timeout(HOOK_TIMEOUT_S):
                return await hook(event)
        except Exception as error:  # noqa: BLE001  hooks are the caller's code
            self._warnings.append(f"a hook failed on {event.type}: {type(error).__name__}")
            return None


class Gate:
    """Stands before the calls of one agent's tools in a round."""

    def __init__(self, hooks: Hooks, agent: str, iteration: int) -> None:
        self._hooks = hooks
        self._agent = agent
        self._iteration = iteration

    async def before(self, call: ToolCall) -> Mapping[str, Any] | Refusal:
        """Return the arguments to call with, or why the call is refused."""
        decision = await self._hooks.decide(self._agent, self._iteration, call)
        if decision.refused is not None:
            return Refusal(decision.refused)
        return call.arguments if decision.arguments is None else decision.arguments

    def after(self, call: ToolCall, seconds: float) -> None:
        """Note how long a call took."""
        self._hooks.note_elapsed(self._agent, call, seconds)


def _make_event(agent: str, iteration: int, call: ToolCall, arguments: Mapping[str, Any]) -> AgentEvent:
    text = json.dumps(arguments)
    return AgentEvent(
        type="searching",
        message=f"{agent}: {call.tool} {text}",
        data=ToolRequest(tool=call.tool, arguments=text, call_id=call.call_id),
        iteration=iteration,
        agent=agent,
        tool=call.tool,
        call_id=call.call_id,
    )
