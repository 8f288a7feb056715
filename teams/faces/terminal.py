"""What people see: progress on stderr while a run goes on, the report on stdout at its end."""

import io
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from rich.console import Console
from rich.status import Status
from rich.text import Text

from willowbark.tools.enclosure import visible
from willowbark.tools.errors import UsageError

from ..events import AgentEvent

if TYPE_CHECKING:
    from ..run.workspace import Report

_LONGEST_MESSAGE = 400  # characters of an event on a terminal
_STYLES = {"complete": "bold green", "error": "bold red", "looping": "cyan", "judge_complete": "cyan"}


class Progress:
    """Shows the events of a run: live on a terminal, as plain lines in a file or pipe, not at all when quiet."""

    def __init__(self, *, quiet: bool = False, file: TextIO | None = None) -> None:
        self._console = Console(file=file, stderr=True, quiet=quiet, highlight=False, markup=False, emoji=False)
        self._live = self._console.is_terminal and not quiet
        self._status: Status | None = None
        self._began = time.monotonic()
        self._held: list[AgentEvent] | None = None

    def __enter__(self) -> Self:
        if self._live:
            self._status = self._console.status(Text("starting …"))
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._status is not None:
            with suppress(OSError):  # a terminal that was closed
                self._status.stop()
            self._status = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hold back what happens while this is open: somebody is typing."""
        self._held = []
        if self._status is not None:
            self._status.stop()
        try:
            yield
        finally:
            if self._status is not None:
                self._status.start()
            held, self._held = self._held, None
            for event in held:
                self.show(event)

    def show(self, event: AgentEvent) -> None:
        """Show one event; pieces of an answer (`streaming`) only move the status line."""
        if self._held is not None:
            self._held.append(event)
            return
        message = one_line(event.message)
        if self._status is not None:
            self._status.update(Text(f"{event.type.replace('_', ' ')}: {message}", overflow="ellipsis", no_wrap=True))
        if event.type != "streaming":
            self.say(self._line(event, message), style=_STYLES.get(event.type, ""))

    def say(self, line: str, *, style: str = "") -> None:
        """Print a line of its own."""
        self._console.print(Text(line, style=style), soft_wrap=True)

    def _line(self, event: AgentEvent, message: str) -> str:
        icon = f"{event.icon} " if self._live else ""
        round_ = f"round {event.iteration}" if event.iteration else ""
        what = event.type.replace("_", " ")
        return f"{time.monotonic() - self._began:6.1f} s  {round_:8}  {icon}{what}: {message}"


def one_line(text: str) -> str:
    """Text of anyone as one line that can do nothing to a terminal."""
    line = " ".join(visible(text.replace("\n", " ")).split())
    return line if len(line) <= _LONGEST_MESSAGE else line[: _LONGEST_MESSAGE - 1] + "…"


def complain(message: object) -> None:
    """Print one line on stderr."""
    with suppress(OSError):  # a terminal that was closed
        print(f"willowbark: {' '.join(visible(str(message)).split())}", file=sys.stderr, flush=True)


def show_report(report: "Report", *, as_json: bool = False) -> None:
    """Print a report on stdout: JSON, or Markdown; on a terminal laid out.

    A reader that goes away early (`| head`) is no failure.

    Raises:
        UsageError: stdout takes nothing: a full disk, or a terminal that was closed.
    """
    try:
        if as_json:
            write_out(report.to_json())
        elif sys.stdout.isatty():
            from .terminal_report import print_report  # noqa: PLC0415  pipes need not wait for it

            print_report(report.to_tree(), Console(highlight=False, markup=False, emoji=False))
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


def leave_quietly() -> None:
    """Point stdout at nothing, so that the interpreter's last flush cannot fail."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
