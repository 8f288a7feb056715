"""Hooks: the caller's async functions that receive a run's events, by kind of event.

Hooks change nothing; a failing or hanging hook is reported as an event and does not stop the run.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from ..events import AgentEvent

HOOK_TIMEOUT_S = 5.0  # a hook that takes longer is abandoned
Hook = Callable[[AgentEvent], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Hooks:
    """A set of hooks; None calls none."""

    before_tool: Hook | None = None
    """Gets `searching`: an agent calls a tool."""
    after_tool: Hook | None = None
    """Gets `search_complete`: a source replied to it."""
    on_turn: Hook | None = None
    """Gets every event that ends an agent's turn; it holds the turn's tokens and cost."""
    on_report: Hook | None = None
    """Gets `complete`, with the report."""


async def call_hooks(hooks: Sequence[Hooks], event: AgentEvent) -> list[str]:
    """Call the hooks for an event; return one line for each that failed."""
    problems = []
    for one in hooks:
        due = [{"searching": one.before_tool, "search_complete": one.after_tool}.get(event.type)]
        due += [one.on_turn if event.tokens is not None else None, one.on_report if event.type == "complete" else None]
        for hook in filter(None, due):
            try:
                async with asyncio.timeout(HOOK_TIMEOUT_S):
                    await hook(event)
            except Exception as error:  # noqa: BLE001  hooks are the caller's code
                problems.append(f"a hook failed on {event.type}: {type(error).__name__}")
    return problems
