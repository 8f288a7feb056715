"""The state of a run as its events tell it: the round, what the team does, a row for each source."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from willowbark.tools.records.enclosure import one_line
from willowbark.tools.records.registry import cards, title_of

from ..events import AgentEvent

if TYPE_CHECKING:
    pass


DOING = {
    "search_complete": "reading",
    "thinking": "reading",
    "analyzing": "reading",
    "analysis_complete": "reading",
    "judging": "judging",
    "hypothesizing": "judging",
    "judge_complete": "judging",
    "looping": "another round",
    "synthesizing": "writing the report",
}


@dataclass(slots=True)
class SourceRow:
    """The searches of one source so far."""

    waiting: int = 0
    """Searches in progress."""
    since: float = 0.0
    """When the first of them started."""
    waited_s: float = 0.0
    """Seconds waited before that."""
    found: int = 0
    kept: int = 0
    problem: str = ""


class Board:
    """State of a run: the round, what the team is doing, and a row per source; the clock gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self.rows: dict[str, SourceRow] = {}
        """By source, in order of their first search."""
        self._round = 0
        self._doing = "starting"

    def note(self, event: AgentEvent) -> None:
        """Record one event."""
        self._round = event.iteration or self._round
        if event.type == "searching" and isinstance(event.data, Mapping):
            if source := find_source(str(event.data.get("tool"))):
                row = self.rows.setdefault(source, SourceRow())
                row.since = row.since if row.waiting else self._clock()
                row.waiting += 1
        elif event.type == "search_complete" and hasattr(event.data, "source"):
            reply: Any = event.data  # a SourceReply, whose module is loaded with the run
            row = self.rows.setdefault(str(reply.source), SourceRow())
            if row.waiting == 1:
                row.waited_s += self._clock() - row.since
            row.waiting = max(0, row.waiting - 1)
            row.found = row.found + reply.total
            row.kept = row.kept + len(reply.records)
            failed = reply.status in ("unavailable", "bad_query")
            row.problem = one_line("; ".join(reply.warnings)) if failed else ""
        elif event.type == "streaming":
            self._doing = event.message
        elif event.type in DOING:
            self._doing = DOING[event.type]

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._began

    @property
    def activity(self) -> str:
        """The sources being waited for, otherwise the team's activity."""
        waiting = [title_of(name) for name, row in self.rows.items() if row.waiting]
        return f"waiting for {', '.join(waiting)}" if waiting else self._doing

    def waited_s(self, row: SourceRow) -> float:
        """Seconds spent waiting for a source, including a pending search."""
        return row.waited_s + (self._clock() - row.since if row.waiting else 0.0)

    def __rich__(self) -> Table:
        """Render the board as a block of lines."""
        block = Table.grid(padding=(0, 2), expand=True)
        block.add_column(no_wrap=True)
        for _ in ("found", "kept", "seconds"):
            block.add_column(justify="right", no_wrap=True)
        block.add_column(ratio=1, no_wrap=True, overflow="ellipsis", style="yellow")
        for name, row in self.rows.items():
            title = Text(title_of(name), style="" if row.waiting else "dim")
            counts = (f"{row.found:,} found", f"{row.kept:,} kept", f"{self.waited_s(row):.0f} s")
            block.add_row(title, *counts, Text("waiting" if row.waiting else row.problem))
        round_ = f"round {self._round} · " if self._round else ""
        whole = Table.grid(expand=True)
        whole.add_column(no_wrap=True, overflow="ellipsis")
        whole.add_row(Text(f"{round_}{self.elapsed_s:.0f} s · {self.activity}", style="cyan"))
        whole.add_row(block)
        return whole


def find_source(tool: str) -> str | None:
    """The source that a tool searches; None for a tool that looks up single records."""
    return next((name for name, card in cards().items() if tool == (card.tool or f"search_{name}")), None)


def format_event(event: AgentEvent, after_s: float) -> str:
    """Format an event as one line of a log."""
    round_ = f"round {event.iteration}" if event.iteration else ""
    kind = "" if event.type == "streaming" else f"{event.type.replace('_', ' ')}: "
    return f"{after_s:6.1f} s  {round_:8}  {kind}{one_line(event.message)}"
