"""Hooks: the caller's async functions that receive a run's events, by kind of event.

Hooks change nothing; a failing or hanging hook is reported as an event and does not stop the run.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from willowbark.tools.search import SourceReply, Status

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


@dataclass
class TokenCounter:
    """Counts tokens by agent and round, and their cost."""

    by_agent: Counter[str] = field(default_factory=Counter)
    by_round: Counter[int] = field(default_factory=Counter)
    cost_usd: float | None = 0.0
    """US dollars of all turns; None once a turn's price was unknown."""

    @property
    def hooks(self) -> Hooks:
        """Hooks to pass to a run."""
        return Hooks(on_turn=self._count)

    async def _count(self, turn: AgentEvent) -> None:
        self.by_agent[turn.agent or ""] += turn.tokens or 0
        self.by_round[turn.iteration] += turn.tokens or 0
        known = self.cost_usd is not None and turn.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (turn.cost_usd or 0.0) if known else None


@dataclass
class ErrorTracker:
    """Records the failures of sources."""

    errors: list[str] = field(default_factory=list)

    @property
    def hooks(self) -> Hooks:
        """Hooks to pass to a run."""
        return Hooks(after_tool=self._track)

    async def _track(self, event: AgentEvent) -> None:
        reply = event.data
        if isinstance(reply, SourceReply) and reply.status in (Status.UNAVAILABLE, Status.BAD_QUERY, Status.PARTIAL):
            self.errors += [f"{reply.source}: {warning}" for warning in reply.warnings or ["no reason given"]]
