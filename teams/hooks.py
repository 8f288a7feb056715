"""What may be called while a run goes on: before and after a tool, at each turn, at the report.

Hooks are told what happens and change nothing; one that fails or hangs is noted and does not stop the run.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from autogen_agentchat import EVENT_LOGGER_NAME

from willowbark.agents.report import ResearchReport
from willowbark.tools.search import SourceReply, Status

HOOK_TIMEOUT_S = 5.0  # a hook that takes longer is left behind

_log = logging.getLogger(EVENT_LOGGER_NAME)


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that is about to be used."""

    agent: str
    tool: str
    arguments: str
    """JSON, as the model wrote it."""
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


@dataclass(frozen=True, slots=True)
class Hooks:
    """A set of hooks; None calls nothing."""

    before_tool: Callable[[ToolCall], Awaitable[None]] | None = None
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
        logger: None takes `willowbark.run`.
    """
    log = logger or logging.getLogger("willowbark.run")

    async def before_tool(call: ToolCall) -> None:
        log.info("round %d: %s uses %s", call.iteration, call.agent, call.tool)

    async def after_tool(result: ToolResult) -> None:
        for reply in result.replies:
            log.info("%s: %s, %d records", reply.source, reply.status.value, len(reply.records))

    async def on_turn(turn: TurnTaken) -> None:
        log.info("%s (%d tokens)", turn.line, turn.prompt_tokens + turn.completion_tokens)

    async def on_report(report: ResearchReport) -> None:
        log.info("report: %d candidates, %s", len(report.candidates), report.stop_reason)

    return Hooks(before_tool, after_tool, on_turn, on_report)


@dataclass
class TokenCounter:
    """Counts tokens by agent and round."""

    by_agent: Counter[str] = field(default_factory=Counter)
    by_round: Counter[int] = field(default_factory=Counter)

    @property
    def hooks(self) -> Hooks:
        """To be handed to a run."""
        return Hooks(on_turn=self._count)

    async def _count(self, turn: TurnTaken) -> None:
        tokens = turn.prompt_tokens + turn.completion_tokens
        self.by_agent[turn.agent] += tokens
        self.by_round[turn.iteration] += tokens


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
