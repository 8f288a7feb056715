"""Terminal output: progress on stderr during a run, the report on stdout at its end."""

import io
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from willowbark.tools.errors import UsageError
from willowbark.tools.records.enclosure import visible

from ..events import AgentEvent
from ..run.board import Board, format_event
from ..run.workspace import APPENDIX_FILE

if TYPE_CHECKING:
    from willowbark.agents.report.forms.blocks import Paragraph, ReportTree, Section
    from willowbark.agents.report.model import ResearchReport

COUNT_EVERY_S = 5.0  # between progress lines on reading, in a file or pipe
_SAFETY = 2
_OF_SAFETY = frozenset({"Cautions", "Failed or harmful", "Failed", "No benefit shown", "Mixed", "Corrected"})
_OF_COURSE = frozenset({"Missing", "Read", "Not judged"})
"""Labels of the first screen's notes that go last on a small screen, and of those that go before them."""
LINES_AFTER = 6  # of the last screen, left for the report's path and the prompt


class TerminalProgress:
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
        lines = self._held = []
        try:
            yield
        finally:
            self._held = None
            for line in lines:
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
            write_out(report.to_markdown(APPENDIX_FILE))
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # otherwise the interpreter's last flush fails
        if not isinstance(error, BrokenPipeError):
            raise UsageError(f"the report cannot be printed ({error.strerror or error})") from None


def print_report(document: "ReportTree", console: Console) -> None:
    """Print a report as wide as the window; no character from a record can control the terminal."""
    from rich.markdown import Markdown  # noqa: PLC0415  not needed in a pipe

    from willowbark.agents.report.forms.markdown import render_markdown  # noqa: PLC0415

    console.print(Markdown(render_markdown(document, APPENDIX_FILE)))


def print_brief(document: "ReportTree", console: Console) -> None:
    """Print the answer, the tables of candidates, then the answer again, so that it is on the first and last screen.

    Of the last answer, notes that do not fit are left out, safety last: first those on drugs that the tables list, then
    what was read and is missing; cautions, failures and "not medical advice" stay even where they do not fit.
    """
    from rich.markdown import Markdown  # noqa: PLC0415  not needed in a pipe

    from willowbark.agents.report.forms.blocks import Items, Paragraph  # noqa: PLC0415
    from willowbark.agents.report.forms.markdown import render_blocks  # noqa: PLC0415

    answer, *others = document.sections
    written = _count_written(answer)
    opening = answer.blocks[: max(written, 1)]
    notes = [block for block in answer.blocks[len(opening) :] if isinstance(block, Paragraph)]

    def lay_out() -> Markdown:
        listed = [Items(tuple(note.content for note in notes))] if notes else []
        return Markdown(render_blocks([replace(answer, blocks=(*opening, *listed))]))

    whole = lay_out()
    while len(console.render_lines(lay_out())) > console.height - LINES_AFTER:
        spare = min(notes, key=_rank_note, default=None)
        if spare is None or _rank_note(spare) == _SAFETY:
            break
        notes.remove(spare)
    last = lay_out()
    console.print(whole)
    print_report(replace(document, sections=tuple(others)), console)
    console.print()
    console.print(last)


def _count_written(answer: "Section") -> int:
    """Count the blocks of a model's answer: up to its last list, and who wrote it; 0 where it has no list."""
    from willowbark.agents.report.forms.blocks import Items, Paragraph  # noqa: PLC0415

    lists = [at for at, block in enumerate(answer.blocks) if isinstance(block, Items)]
    end = lists[-1] + 1 if lists else 0
    while 0 < end < len(answer.blocks):
        block = answer.blocks[end]
        if not (isinstance(block, Paragraph) and block.look == "small"):
            break
        end += 1
    return end


def _rank_note(note: "Paragraph") -> int:
    """Rank a note of the answer by how long it stays on a small screen: drugs first to go, safety last."""
    words = [str(getattr(node, "text", "")) for node in note.content]
    label = words[0].rstrip(": ") if words else ""
    is_flag = bool(note.content) and getattr(note.content[0], "style", "") == "flag"
    if note.look == "lead" or is_flag or label in _OF_SAFETY or "medical advice" in " ".join(words):
        return _SAFETY
    return 1 if label in _OF_COURSE or note.look == "small" else 0


def write_out(text: str) -> None:
    """Write text to stdout, as UTF-8 in any locale."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def write_lines(lines: Iterable[str]) -> None:
    """Write lines to stdout."""
    write_out("\n".join(lines))
