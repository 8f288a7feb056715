"""What people see: progress on stderr while a run goes on, the report on stdout at its end."""

import io
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from textwrap import TextWrapper
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TextIO

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from willowbark.tools.enclosure import one_line, visible
from willowbark.tools.errors import UsageError

from ..events import AgentEvent

if TYPE_CHECKING:
    from ..run.workspace import Report

_STYLES = {"complete": "bold green", "error": "bold red", "looping": "cyan", "judge_complete": "cyan"}
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
    """What became of the searches of one source."""

    waiting: int = 0
    """Searches that are under way."""
    since: float = 0.0
    """When the first of them was asked."""
    took_s: float = 0.0
    """Seconds of waiting before that."""
    found: int = 0
    kept: int = 0
    problem: str = ""


class Board:
    """A run as one block: a line per source with what was found, kept and how long it took; the round; what is due.

    Args:
        clock: seconds; of the process by default.

    Attributes:
        rows: by the source's name, in the order in which they were asked.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._began = clock()
        self.rows: dict[str, SourceRow] = {}
        self._round = 0
        self._doing = "starting"

    def note(self, event: AgentEvent) -> None:
        """Take in one event."""
        self._round = event.iteration or self._round
        if event.type == "searching" and isinstance(event.data, Mapping):
            if source := source_of(str(event.data.get("tool"))):
                row = self.rows.setdefault(source, SourceRow())
                row.since = row.since if row.waiting else self._clock()
                row.waiting += 1
        elif event.type == "search_complete" and hasattr(event.data, "source"):
            self._answered(event.data)
        elif event.type in DOING:
            self._doing = DOING[event.type]

    def _answered(self, reply: Any) -> None:
        row = self.rows.setdefault(str(reply.source), SourceRow())
        if row.waiting == 1:
            row.took_s += self._clock() - row.since
        row.waiting = max(0, row.waiting - 1)
        row.found, row.kept = row.found + reply.total, row.kept + len(reply.records)
        failed = reply.status in ("unavailable", "bad_query")
        row.problem = one_line("; ".join(reply.warnings)) if failed else ""

    @property
    def elapsed_s(self) -> float:
        """Seconds since the board was made."""
        return self._clock() - self._began

    @property
    def head(self) -> str:
        """The round, the seconds, and what is due, in one line."""
        round_ = f"round {self._round} · " if self._round else ""
        return f"{round_}{self.elapsed_s:.0f} s · {self.due}"

    @property
    def due(self) -> str:
        """Which sources are waited for, else what the team does."""
        from willowbark.tools.registry import title_of  # noqa: PLC0415  reading the cards imports every source

        waiting = [title_of(name) for name, row in self.rows.items() if row.waiting]
        return f"waiting for {', '.join(waiting)}" if waiting else self._doing

    def took_s(self, row: SourceRow) -> float:
        """Seconds that a source was waited for, until now where it still is."""
        return row.took_s + (self._clock() - row.since if row.waiting else 0.0)

    def __rich__(self) -> Table:
        """The block as it stands now."""
        from willowbark.tools.registry import title_of  # noqa: PLC0415  reading the cards imports every source

        block = Table.grid(padding=(0, 2), expand=True)
        block.add_column(no_wrap=True)
        for _ in ("found", "kept", "seconds"):
            block.add_column(justify="right", no_wrap=True)
        block.add_column(ratio=1, no_wrap=True, overflow="ellipsis", style="yellow")
        for name, row in self.rows.items():
            counts = (f"{row.found:,} found", f"{row.kept:,} kept")
            title = Text(title_of(name), style="" if row.waiting else "dim")
            block.add_row(title, *counts, f"{self.took_s(row):.0f} s", Text("waiting" if row.waiting else row.problem))
        head = Table.grid(expand=True)
        head.add_column(no_wrap=True, overflow="ellipsis")
        head.add_row(Text(self.head, style="cyan"))
        head.add_row(block)
        return head


def source_of(tool: str) -> str | None:
    """The source that a tool searches; None for one that looks up single records."""
    from willowbark.tools.registry import cards  # noqa: PLC0415  reading the cards imports every source

    return next((name for name, card in cards().items() if tool == (card.tool or f"search_{name}")), None)


class Progress:
    """Shows the events of a run: one live block on a terminal, plain lines in a file or pipe, nothing when quiet."""

    def __init__(self, *, quiet: bool = False, file: TextIO | None = None) -> None:
        self._console = Console(file=file, stderr=True, quiet=quiet, highlight=False, markup=False, emoji=False)
        self._board = Board()
        self._live: Live | None = None
        if self._console.is_terminal and not quiet:
            self._live = Live(self._board, console=self._console, transient=True, refresh_per_second=4)
        self._began = time.monotonic()
        self._held: list[AgentEvent] | None = None
        self._begun = False

    def __enter__(self) -> Self:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._live is not None:
            with suppress(OSError):  # a terminal that was closed
                self._live.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hold back what happens while this is open: somebody is typing."""
        self._held = []
        if self._live is not None:
            self._live.stop()
        try:
            yield
        finally:
            if self._live is not None:
                self._live.start()
            held, self._held = self._held, None
            for event in held:
                self.show(event)

    def begin(self, question: str) -> None:
        """Show that a run has begun, before what it needs is loaded; that the run tells it, too, is passed over."""
        self.show(AgentEvent(type="started", message=question))
        self._begun = True

    def show(self, event: AgentEvent) -> None:
        """Show one event: in the block, where only an error leaves a line of its own, or as a line."""
        if event.type == "started" and self._begun:
            return
        if self._held is not None:
            self._held.append(event)
            return
        self._board.note(event)
        if event.type != "streaming" and (self._live is None or event.type == "error"):
            self.say(line_of(event, time.monotonic() - self._began), style=_STYLES.get(event.type, ""))

    def say(self, line: str, *, style: str = "") -> None:
        """Print a line of its own."""
        self._console.print(Text(line, style=style), soft_wrap=True)


def line_of(event: AgentEvent, after_s: float) -> str:
    """An event as one line of a log."""
    round_ = f"round {event.iteration}" if event.iteration else ""
    return f"{after_s:6.1f} s  {round_:8}  {event.type.replace('_', ' ')}: {one_line(event.message)}"


def complain(message: object) -> None:
    """Print one line on stderr."""
    with suppress(OSError):  # a terminal that was closed
        print(f"willowbark: {' '.join(visible(str(message)).split())}", file=sys.stderr, flush=True)


def show_report(report: "Report", *, as_json: bool = False, whole: bool = True) -> None:
    """Print a report on stdout: JSON, or Markdown; on a terminal laid out, the whole of it page by page.

    A reader that goes away early (`| head`) is no failure.

    Args:
        report: as a run gives it.
        as_json: whether it is printed as JSON.
        whole: on a terminal, whether all of it is shown, or its summary and the table of candidates.

    Raises:
        UsageError: stdout takes nothing: a full disk, or a terminal that was closed.
    """
    try:
        if as_json:
            write_out(report.to_json())
        elif sys.stdout.isatty():
            from .terminal_report import print_report  # noqa: PLC0415  pipes need not wait for it

            console = Console(highlight=False, markup=False, emoji=False)
            os.environ.setdefault("LESS", "-RFX")  # colours and links pass, what fits on a page just stands there
            with console.pager(styles=True, links=True) if whole else nullcontext():
                print_report(report.to_tree() if whole else report.to_brief(), console)
        else:
            write_out(report.to_markdown())
        sys.stdout.flush()
    except BrokenPipeError:
        leave_quietly()
    except OSError as error:
        leave_quietly()
        raise UsageError(f"the report cannot be printed ({error.strerror or error})") from None


def write_out(text: str) -> None:
    """Write text to stdout, as UTF-8 whatever the locale says."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def write_lines(lines: Iterable[str], indent: int = 0) -> None:
    """Write lines for people: a terminal breaks them between words, and sets in what goes on by so many columns."""
    if sys.stdout.isatty():
        columns = shutil.get_terminal_size().columns
        fold = TextWrapper(columns, subsequent_indent=" " * indent, break_on_hyphens=False)
        lines = (piece for line in lines for piece in fold.wrap(line) or [""])
    write_out("\n".join(lines))


def leave_quietly() -> None:
    """Point stdout at nothing, so that the interpreter's last flush cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
