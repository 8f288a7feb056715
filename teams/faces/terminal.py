"""Terminal output: progress on stderr during a run, the report on stdout at its end."""

import io
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from willowbark.tools.errors import UsageError
from willowbark.tools.records.enclosure import one_line, visible
from willowbark.tools.records.registry import cards, title_of

from ..events import AgentEvent

if TYPE_CHECKING:
    from willowbark.agents.report.forms.blocks import Document
    from willowbark.agents.report.model import ResearchReport

COUNT_EVERY_S = 5.0  # between progress lines on reading, in a file or pipe
LINES_AFTER = 6  # of the last screen, left for the report's path and the prompt
DOING = {
    "search_complete": "reading",
    "thinking": "reading",
    "judging": "judging",
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
        self._clock, self._began = clock, clock()
        self.rows: dict[str, SourceRow] = {}
        """By source, in order of their first search."""
        self._round, self._doing = 0, "starting"

    def note(self, event: AgentEvent) -> None:
        """Record one event."""
        self._round = event.iteration or self._round
        if event.type == "searching" and isinstance(event.data, Mapping):
            if source := source_of(str(event.data.get("tool"))):
                row = self.rows.setdefault(source, SourceRow())
                row.since = row.since if row.waiting else self._clock()
                row.waiting += 1
        elif event.type == "search_complete" and hasattr(event.data, "source"):
            reply: Any = event.data  # a SourceReply, whose module is loaded with the run
            row = self.rows.setdefault(str(reply.source), SourceRow())
            if row.waiting == 1:
                row.waited_s += self._clock() - row.since
            row.waiting = max(0, row.waiting - 1)
            row.found, row.kept = row.found + reply.total, row.kept + len(reply.records)
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


def source_of(tool: str) -> str | None:
    """The source that a tool searches; None for a tool that looks up single records."""
    return next((name for name, card in cards().items() if tool == (card.tool or f"search_{name}")), None)


class Progress:
    """Shows a run's events: one live block on a terminal, plain lines in a file or pipe, nothing when quiet."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True, quiet=quiet, highlight=False, markup=False, emoji=False)
        self._board = Board()
        self._live: Live | None = None
        if self._console.is_terminal and not quiet:
            self._live = Live(self._board, console=self._console, transient=True, refresh_per_second=4)
        self._counted_at = 0.0  # seconds from the start
        self._held: list[Text] | None = None
        """Lines to print once the user has typed; None while nobody types."""

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            with suppress(OSError):  # the terminal was closed
                self._live.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Show nothing while the user is typing, and what was held back after that."""
        self.__exit__()
        held = self._held = []
        try:
            yield
        finally:
            self._held = None
            for line in held:
                self._console.print(line, soft_wrap=True)
            self.__enter__()

    def show(self, event: AgentEvent) -> None:
        """Show one event: in the live block (an error also as a separate line), or as a plain line."""
        self._board.note(event)
        now = self._board.elapsed_s
        if self._live is not None and event.type != "error":
            return
        if event.type == "streaming":
            if now - self._counted_at < COUNT_EVERY_S:
                return
            self._counted_at = now
        style = "bold red" if event.type == "error" else ""
        line = Text(format_event(event, now), style=style)
        if self._held is None:
            self._console.print(line, soft_wrap=True)
        else:
            self._held.append(line)


def format_event(event: AgentEvent, after_s: float) -> str:
    """Format an event as one line of a log."""
    round_ = f"round {event.iteration}" if event.iteration else ""
    kind = "" if event.type == "streaming" else f"{event.type.replace('_', ' ')}: "
    return f"{after_s:6.1f} s  {round_:8}  {kind}{one_line(event.message)}"


def complain(message: object) -> None:
    """Print one line on stderr."""
    with suppress(OSError):  # the terminal was closed
        print(f"willowbark: {' '.join(visible(str(message)).split())}", file=sys.stderr, flush=True)


def show_report(report: "ResearchReport", *, as_json: bool = False, full: bool = True) -> None:
    """Print a report on stdout as JSON or Markdown; on a terminal it is formatted, and paged if long.

    If not `full`, a terminal shows its summary and the table of candidates. A reader that leaves early (`| head`) is no
    failure; a full disk is UsageError.
    """
    try:
        if as_json:
            write_out(report.to_json())
        elif sys.stdout.isatty():
            console = Console(highlight=False, markup=False, emoji=False)
            os.environ.setdefault("LESS", "-RFX")  # pass colours and links; print what fits on one page directly
            with console.pager(styles=True, links=True) if full else nullcontext():
                (print_report if full else print_brief)(report.to_tree() if full else report.to_brief(), console)
        else:
            write_out(report.to_markdown())
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # otherwise the interpreter's last flush fails
        if not isinstance(error, BrokenPipeError):
            raise UsageError(f"the report cannot be printed ({error.strerror or error})") from None


def print_report(document: "Document", console: Console) -> None:
    """Print a report as wide as the window; no character from a record can control the terminal."""
    from rich.markdown import Markdown  # noqa: PLC0415  not needed in a pipe

    from willowbark.agents.report.forms.markdown import as_markdown  # noqa: PLC0415

    console.print(Markdown(as_markdown(document)))


def print_brief(document: "Document", console: Console) -> None:
    """Print the tables of candidates, then the answer, so that the whole answer is on the last screen.

    Notes after the answer that do not fit are left out, first those on drugs that the tables list; the full report
    has them.
    """
    from rich.markdown import Markdown  # noqa: PLC0415  not needed in a pipe

    from willowbark.agents.report.forms.blocks import Items, Paragraph  # noqa: PLC0415
    from willowbark.agents.report.forms.markdown import blocks_in_markdown  # noqa: PLC0415

    answer, *others = document.sections
    first, *notes = (block for block in answer.blocks if isinstance(block, Paragraph))

    def laid_out() -> Markdown:
        listed = [Items(tuple(note.content for note in notes))] if notes else []
        return Markdown(blocks_in_markdown([replace(answer, blocks=(first, *listed))]))

    while notes and len(console.render_lines(laid_out())) > console.height - LINES_AFTER:
        del notes[0]
    print_report(replace(document, sections=tuple(others)), console)
    console.print()
    console.print(laid_out())


def write_out(text: str) -> None:
    """Write text to stdout, as UTF-8 in any locale."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def write_lines(lines: Iterable[str]) -> None:
    """Write lines to stdout."""
    write_out("\n".join(lines))
