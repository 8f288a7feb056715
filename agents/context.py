"""What a run hands to each of its agents before the first turn: the way to the sources, its hooks, its budgets."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, Protocol, runtime_checkable

from pydantic import BaseModel

from willowbark.tools.appraisal.appraised import Readings
from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.enclosure import new_marker
from willowbark.tools.evidence import Evidence
from willowbark.tools.http.transport import Transport

from .approval import Approval
from .checking import checked
from .report.content import ModelCalls, TurnUsage

Exhausted = Literal["token_budget_exceeded", "timeout"]
"""The budget of which less than the reserve is left."""
BeforeTool = Callable[[str, int, str, BaseModel], Awaitable[None]]
Checked = tuple[list[Evidence], list[Candidate]]


class RunContext:
    """One run, as its agents know it; an agent that works alone has an empty one.

    Args:
        transport: the way to the sources; None leaves each tool its own, and nothing is looked up.
        before_tool: awaited before each call of a tool, with the agent's name, the round, the tool's name and its
            checked arguments; must not raise. None is not called.
        exhausted: tells the judge of a round which of the run's budgets is used up but for the reserve; None is none.
        account: makes the report's account of tokens and money from what each turn used; None keeps no account.
        calls: tells how the calls of the model went so far; nobody counts by default.
        decided: what the approver answers without asking anybody: a decision from the run's earlier life. None asks.
        waiting: opened while a person is waited for, so that the time is not counted.
        readings: what readers said of the records so far; None begins anew.
        stopped: why the run ended before its report, as that should name it; None where the judge says it.
    """

    def __init__(
        self,
        transport: Transport | None = None,
        *,
        before_tool: BeforeTool | None = None,
        exhausted: Callable[[int], Exhausted | None] = lambda _: None,
        account: Callable[[Sequence[TurnUsage]], Sequence[TurnUsage]] | None = None,
        calls: Callable[[], ModelCalls] = ModelCalls,
        decided: Approval | None = None,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
        readings: Readings | None = None,
        stopped: str | None = None,
    ) -> None:
        self.transport = transport
        self.marker = new_marker()
        self.readings = readings or Readings()
        self.before_tool = before_tool
        self.exhausted = exhausted
        self.account = account
        self.calls = calls
        self.decided = decided
        self.waiting = waiting
        self.stopped = stopped
        self.looks_up: dict[str, Callable[[Sequence[str]], Awaitable[object]]] = {}
        """By agent: has what its tools know of drugs looked up; must not raise."""
        self._ahead: list[asyncio.Future[object]] = []
        self._checked: tuple[tuple[str, ...], Checked] | None = None

    def look_ahead(self, drugs: Sequence[str]) -> None:
        """Have drugs looked up while others read: who asks for them in a later round finds most of it done.

        Nothing else depends on when that ends, so that a run lived again asks the same.
        """
        self._ahead += [asyncio.ensure_future(look_up(drugs)) for look_up in self.looks_up.values() if drugs]

    async def leave(self) -> None:
        """End what is still looked up: the run is over, or was stopped."""
        for task in self._ahead:
            task.cancel()
        await asyncio.gather(*self._ahead, return_exceptions=True)
        self._ahead.clear()

    async def checked(self, question: str, pool: Sequence[Evidence]) -> Checked:
        """The checked pool and its candidates, looked up once: approver and report agent look at the same pool."""
        key = (question, *(record.key for record in pool))
        if self._checked is None or self._checked[0] != key:
            self._checked = key, await checked(question, pool, self.transport, self.readings)
        return self._checked[1]


@runtime_checkable
class Joins(Protocol):
    """An agent that takes part in runs."""

    def join(self, run: RunContext) -> None:
        """Take part in a run from now on."""
