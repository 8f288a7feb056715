"""A run in a notebook: one display follows it, and the report is the cell's value.

`willowbark.ask` is for this: it blocks the cell. `await research_in_cell(…)` lets other tasks of the kernel go on.

`approve=True` asks below the cell which candidates the report should cover.

Interrupting the cell ends the search and still reports what was found so far.
"""

import asyncio
import logging
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing
from contextvars import copy_context
from html import escape
from typing import Any, Unpack

from willowbark.agents.approval import NobodyToAsk
from willowbark.agents.autogen import CancellationToken
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.errors import MissingExtra
from willowbark.tools.records.enclosure import one_line
from willowbark.tools.records.registry import title_of
from willowbark.tools.wording import counted

from ..events import AgentEvent
from ..ledger import DEFAULT_PATH
from ..run.board import DOING, Board, SourceRow
from ..run.choices import RunChoices
from ..run.options import RunOptions, create_approver
from ..run.research import RunFailed, research_stream

GRACE_S = 10.0  # to wait for a partial report after an interruption
_LINE = "white-space:nowrap;overflow:hidden;text-overflow:ellipsis;line-height:1.6"
_TYPING_S = 0.05  # between checks for typed input
_PAUSE_S = 0.1  # minimum between updates
_log = logging.getLogger(__name__)


async def research_in_cell(question: str | RunOptions, **choices: Unpack[RunChoices]) -> ResearchReport:
    """Answer a question, with any of `RunOptions` as choices, showing the run's progress in one display.

    The run is stored in the workspace's ledger, unless `ledger` says otherwise, so that a dead kernel loses nothing
    (`willowbark resume`). `approve=True` asks in an input box below the cell.

    Raises:
        UsageError: an invalid question, option, setting or model name, or IPython is not installed.
        RunFailed: not even a partial report could be made, or not within 10 seconds after an interruption.
    """
    options = RunOptions.of(question, {"ledger": DEFAULT_PATH, **choices} if isinstance(question, str) else choices)
    settings = options.chosen()
    token = options.cancellation_token or CancellationToken()
    approve = options.approve
    view = LiveView(options.question or "", settings.searched_sources)
    if approve is None or isinstance(approve, bool):
        approve = create_approver(None, settings, "notebook", read_notebook_input)
    chosen = {"settings": settings, "cancellation_token": token, "approve": approve}

    async def follow() -> None:
        async with aclosing(research_stream(options.model_copy(update=chosen))) as events:
            async for event in events:
                view.show(event)

    run = asyncio.ensure_future(follow())
    try:
        await asyncio.shield(run)
    except asyncio.CancelledError:  # an interrupted cell; asks for a partial report
        token.cancel()
        try:
            await asyncio.wait([run], timeout=GRACE_S)
        finally:  # also when interrupted again
            is_late = run.cancel()
        task = asyncio.current_task()
        if not is_late and task is not None:
            task.uncancel()
    if view.report is None:
        raise RunFailed(view.problem or "the run ended without a report; `willowbark resume last` resumes it")
    return view.report


def is_in_cell() -> bool:
    """Whether a notebook's kernel runs this, whose event loop awaits the cell."""
    from IPython.core.getipython import get_ipython  # noqa: PLC0415  an extra

    return getattr(get_ipython(), "kernel", None) is not None


def ask_in_cell(question: str | RunOptions, choices: RunChoices) -> ResearchReport:
    """Answer as `research_in_cell` does, and block the cell until the report is ready.

    The kernel's own event loop waits, so the run has one in a thread. An interruption reaches it as there.
    """
    began = Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[ResearchReport]]]()

    async def run() -> ResearchReport:
        task = asyncio.ensure_future(research_in_cell(question, **choices))
        began.set_result((asyncio.get_running_loop(), task))
        return await task

    with ThreadPoolExecutor(1, thread_name_prefix="willowbark-cell") as threads:
        report = threads.submit(copy_context().run, asyncio.run, run())
        try:
            return report.result()
        except KeyboardInterrupt:
            loop, task = began.result()
            loop.call_soon_threadsafe(task.cancel)
            return report.result()


class LiveView:
    """A notebook display that follows a run; a failing front end never stops the run.

    Its number of lines never changes (one per source that may be searched), so that nothing below it moves.
    """

    def __init__(self, question: str, sources: Sequence[str] = ()) -> None:
        try:
            from IPython.display import display  # noqa: PLC0415  an extra
        except ImportError:
            raise MissingExtra("the notebook face", "notebook") from None
        self.report: ResearchReport | None = None
        self.problem: str | None = None
        self._question = question
        self._latest: AgentEvent | None = None
        self._board = Board()
        self._board.rows = {source: SourceRow() for source in sources}
        self._shown_at = time.monotonic()
        self._handle: Any = display(self, display_id=True)  # type: ignore[no-untyped-call]

    def show(self, event: AgentEvent) -> None:
        """Record one event, and update the display unless that happened a moment ago."""
        self._latest = event
        self._board.note(event)
        if event.type == "complete":
            self.report = event.report
        elif event.type == "error":
            self.problem = one_line(event.message)
        elif time.monotonic() - self._shown_at < _PAUSE_S:
            return
        self._shown_at = time.monotonic()
        try:
            if self._handle is not None:
                self._handle.update(self)
        except Exception as error:  # noqa: BLE001  top level: a closed page must not lose the run
            _log.warning("the display failed: %s", type(error).__name__)
            self._handle = None

    def _repr_html_(self) -> str:
        lines = [f"<strong>{escape(one_line(self._question))}</strong>", escape(self._describe_status())]
        for source, row in self._board.rows.items():
            problem = f" · {escape(row.problem)}" if row.problem else ""
            lines.append(f"{escape(title_of(source))} · {counted(row.kept, 'record')}{problem}")
        return "".join(f'<div style="{_LINE}">{line}</div>' for line in lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self._describe_status() if self.report is not None else f"researching: {one_line(self._question)}")

    def _describe_status(self) -> str:
        """Describe the current activity or the result in one line."""
        if self.report is not None:
            problem = f"{self.problem}. " if self.problem else ""
            records = sum(row.kept for row in self._board.rows.values())
            candidates = len(self.report.candidates)
            sizes = {"round": self.report.search_iterations, "record": records, "candidate": candidates}
            counts = ", ".join(counted(number, noun) for noun, number in sizes.items())
            return f"{problem}{counts}; stopped: {self.report.stop_reason.replace('_', ' ')}"
        event = self._latest
        if event is None:
            return "starting …"
        is_markdown = event.type in ("thinking", "analysis_complete")
        status = DOING[event.type] if is_markdown else one_line(event.message)
        return f"Round {event.iteration or 1} {event.icon} {status}"


async def read_notebook_input(prompt: str, cancellation_token: CancellationToken | None = None) -> str:
    """Show a prompt with an input box below the cell and wait for the entry, without blocking the kernel.

    IPython's own `input()` would block the event loop, in which the run continues. So the same request is sent on the
    kernel's stdin channel, which is polled for the reply.
    https://jupyter-client.readthedocs.io/en/stable/messaging.html#messages-on-the-stdin-router-dealer-channel

    Raises:
        NobodyToAsk: not in a notebook, or in one executed unattended (nbclient, papermill).
    """
    from IPython.core.getipython import get_ipython  # noqa: PLC0415  an extra

    kernel: Any = getattr(get_ipython(), "kernel", None)
    if kernel is None or not kernel._allow_stdin:
        raise NobodyToAsk("the notebook takes no input")

    async def read_reply() -> str:
        socket = kernel.stdin_socket
        while socket.poll(0):  # discard replies that came too late
            socket.recv_multipart()
        content = {"prompt": prompt, "password": False}
        sender = kernel._parent_ident["shell"]
        kernel.session.send(socket, "input_request", content, kernel.get_parent("shell"), ident=sender)
        while True:
            while not socket.poll(0):  # noqa: ASYNC110  the kernel's channel has no events
                await asyncio.sleep(_TYPING_S)
            _, reply = kernel.session.recv(socket)
            if reply is not None:
                return str(reply["content"].get("value", ""))

    waiting = asyncio.ensure_future(read_reply())
    if cancellation_token is not None:
        cancellation_token.link_future(waiting)
    return await waiting
