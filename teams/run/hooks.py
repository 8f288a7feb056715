"""What may be called while a run goes on: before and after a tool, at each turn, at the report.

Hooks are told what happens and change nothing; one that fails or hangs is noted and does not stop the run. A tool's
call waits for `before_tool`; everything else is told when it has happened, in the order in which it did.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from autogen_agentchat import EVENT_LOGGER_NAME

from willowbark.agents.report.model import ResearchReport
from willowbark.tools.search import SourceReply, Status

HOOK_TIMEOUT_S = 5.0  # a hook that takes longer is left behind

_log = logging.getLogger(EVENT_LOGGER_NAME)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that is about to be used; calls whose arguments don't hold are not made, and come as a result alone."""

    agent: str
    tool: str
    arguments: str
    """JSON, checked: what the tool is called with."""
    iteration: int


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave."""

    agent: str
    tool: str
    replies: tuple[SourceReply, ...]
    """Empty where the arguments could not be used."""
    iteration: int


@dataclass(frozen=True, slots=True)
class TurnTaken:
    """What a speaker handed to the team, and what it cost."""

    agent: str
    iteration: int
    line: str
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None = None
    """US dollars; None where the price of the model is not known."""

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens."""
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class Hooks:
    """A set of hooks; None calls nothing."""

    before_tool: Callable[[ToolCall], Awaitable[None]] | None = None
    """Awaited before the call is made, for up to `HOOK_TIMEOUT_S`."""
    after_tool: Callable[[ToolResult], Awaitable[None]] | None = None
    on_turn: Callable[[TurnTaken], Awaitable[None]] | None = None
    on_report: Callable[[ResearchReport], Awaitable[None]] | None = None


Told = ToolCall | ToolResult | TurnTaken | ResearchReport


async def tell(hooks: Sequence[Hooks], what: Told) -> list[str]:
    """Call the hooks that belong to something.

    Returns:
        One line for each hook that failed.
    """
    problems = []
    for one in hooks:
        try:
            async with asyncio.timeout(HOOK_TIMEOUT_S):
                await _call(one, what)
        except Exception as error:  # noqa: BLE001  hooks are anyone's code
            _log.warning("a hook failed: %s", type(error).__name__)
            problems.append(f"a hook failed on {type(what).__name__}: {type(error).__name__}")
    return problems


async def _call(hooks: Hooks, what: Told) -> None:
    if isinstance(what, ToolCall):
        if hooks.before_tool:
            await hooks.before_tool(what)
    elif isinstance(what, ToolResult):
        if hooks.after_tool:
            await hooks.after_tool(what)
    elif isinstance(what, TurnTaken):
        if hooks.on_turn:
            await hooks.on_turn(what)
    elif hooks.on_report:
        await hooks.on_report(what)


def logging_hooks(logger: logging.Logger | None = None) -> Hooks:
    """Hooks that log one line for each thing that happens, without arguments or texts.

    Args:
        logger: None takes `willowbark.run`, which `willowbark.teams.run.logs` has structlog lay out.
    """
    log = logger or logging.getLogger("willowbark.run")

    async def before_tool(call: ToolCall) -> None:
        log.info("tool called", extra={"round": call.iteration, "agent": call.agent, "tool": call.tool})

    async def after_tool(result: ToolResult) -> None:
        for reply in result.replies:
            counted = {"source": reply.source, "status": reply.status.value, "records": len(reply.records)}
            log.info("tool answered", extra={"round": result.iteration, "tool": result.tool, **counted})

    async def on_turn(turn: TurnTaken) -> None:
        spent = {"tokens": turn.tokens, "cost_usd": turn.cost_usd}
        log.info("turn taken", extra={"round": turn.iteration, "agent": turn.agent, **spent})

    async def on_report(report: ResearchReport) -> None:
        ended = {"candidates": len(report.candidates), "stop_reason": report.stop_reason}
        log.info("report written", extra={"round": report.search_iterations, **ended})

    return Hooks(before_tool, after_tool, on_turn, on_report)


@dataclass
class TokenCounter:
    """Counts tokens by agent and round, and what they cost."""

    by_agent: Counter[str] = field(default_factory=Counter)
    by_round: Counter[int] = field(default_factory=Counter)
    cost_usd: float | None = 0.0
    """US dollars of all turns; None once there was one whose price is not known."""

    @property
    def hooks(self) -> Hooks:
        """To be handed to a run."""
        return Hooks(on_turn=self._count)

    async def _count(self, turn: TurnTaken) -> None:
        self.by_agent[turn.agent] += turn.tokens
        self.by_round[turn.iteration] += turn.tokens
        known = self.cost_usd is not None and turn.cost_usd is not None
        self.cost_usd = (self.cost_usd or 0.0) + (turn.cost_usd or 0.0) if known else None


@dataclass
class ErrorTracker:
    """Keeps what sources failed to give."""

    errors: list[str] = field(default_factory=list)

    @property
    def hooks(self) -> Hooks:
        """To be handed to a run."""
        return Hooks(after_tool=self._track)

    async def _track(self, result: ToolResult) -> None:
        if not result.replies:
            self.errors.append(f"{result.tool}: unusable arguments")
        for reply in result.replies:
            if reply.status in (Status.UNAVAILABLE, Status.BAD_QUERY, Status.PARTIAL):
                self.errors += [f"{reply.source}: {warning}" for warning in reply.warnings or ["no reason given"]]
