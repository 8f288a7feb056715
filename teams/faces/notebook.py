"""Asking in a notebook: one display that follows the run, and the report as the cell's value.

    from willowbark.teams.faces.notebook import ask
    await ask("Which existing drugs could prevent migraine attacks?", offline=True)

`approve=True` asks below the cell which candidates the report should deal with.

Interrupting the cell ends the search; the report of what was found until then still comes. Code that follows a run or a
team by itself stands in `with interruptible():`, and ends with a line, not with a traceback.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing, contextmanager
from html import escape
from typing import Any, Unpack

from autogen_agentchat.agents import UserProxyAgent
from autogen_core import CancellationToken

from willowbark.agents.approval import NobodyToAsk
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.enclosure import one_line
from willowbark.tools.errors import UsageError
from willowbark.tools.registry import title_of
from willowbark.tools.search import SourceReply, Status
from willowbark.tools.wording import counted

from ..config import Settings
from ..events import AgentEvent
from ..ledger import DEFAULT_PATH
from ..run.options import Choices, RunOptions
from ..run.research import Asked, RunFailed, approver_for, research_stream
from .terminal import DOING

GRACE_S = 10.0  # for a report of what was found, after an interruption
_LINE = "white-space:nowrap;overflow:hidden;text-overflow:ellipsis;line-height:1.6"
_TYPING_S = 0.05  # between looks for what somebody types
_PAUSE_S = 0.1  # between updates: a browser gains nothing from more
_log = logging.getLogger(__name__)


async def ask(question: str | RunOptions, **choices: Unpack[Choices]) -> ResearchReport:
    """Answer a question, showing how the run goes on in one display.

    Args:
        question: 1 to 2,000 characters, or a run's options with the question in them.
        choices: any of `RunOptions`, over those. The run is kept in the workspace's ledger, so that a kernel that dies
            loses nothing (`willowbark resume`), unless `ledger` says otherwise; `approve=True` asks in an input box
            below the cell.

    Raises:
        UsageError: a question, option, setting or model name that does not hold, or IPython is not installed.
        RunFailed: not even a partial report could be made.
        Interrupted: twice, or no report came within 10 seconds.
    """
    options = RunOptions.of(question, {"ledger": DEFAULT_PATH, **choices} if isinstance(question, str) else choices)
    settings, token = options.chosen(), options.cancellation_token or CancellationToken()
    view = LiveView(options.question or "", settings.tools.sources)
    handed = {"settings": settings, "cancellation_token": token, "approve": _asked_here(settings, options.approve)}
    events = research_stream(options.model_copy(update=handed))
    with interruptible():
        await _unless_interrupted(asyncio.ensure_future(_follow(events, view)), token)
    if view.report is None:
        raise RunFailed(view.problem or "the run ended without a report")
    return view.report


class Interrupted(asyncio.CancelledError):
    """A cell was interrupted; IPython shows it as a line."""

    def _render_traceback_(self) -> list[str]:
        return ["Interrupted. Runs of `ask` are kept: `willowbark resume last` goes on with this one."]


@contextmanager
def interruptible() -> Iterator[None]:
    """Have an interruption of what stands within end the cell with a line instead of a traceback.

    Raises:
        Interrupted: the cell was interrupted.
    """
    try:
        yield
    except asyncio.CancelledError:
        raise Interrupted from None


def _asked_here(settings: Settings, approve: Asked | bool | None) -> Asked | None:
    """Who is asked: the person at the notebook, unless somebody else was named."""
    if approve is not None and not isinstance(approve, bool):
        return approve
    return approver_for(UserProxyAgent("approver", input_func=notebook_input), settings, via="notebook")


async def _follow(events: AsyncGenerator[AgentEvent, None], view: "LiveView") -> None:
    async with aclosing(events):
        async for event in events:
            view.show(event)


async def _unless_interrupted(run: "asyncio.Future[None]", token: CancellationToken) -> None:
    """Wait for a run; an interruption, which a notebook delivers as a cancelled cell, asks it for a partial report."""
    try:
        await asyncio.shield(run)
    except asyncio.CancelledError:
        token.cancel()
        try:
            done, _ = await asyncio.wait([run], timeout=GRACE_S)
        finally:
            if not run.done():
                run.cancel()
        if not done:
            raise
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        run.result()


class LiveView:
    """One display of a notebook that follows a run; a front end that fails never stops the run.

    From the first event to the last it takes the same lines, a line per source, so that nothing below it moves.

    Args:
        question: as asked.
        sources: names of those that may be searched.

    Raises:
        UsageError: IPython is not installed.
    """

    def __init__(self, question: str, sources: Sequence[str] = ()) -> None:
        try:
            from IPython.display import display  # noqa: PLC0415  an extra
        except ImportError:
            raise UsageError("the notebook face needs IPython: pip install 'willowbark[notebook]'") from None
        self.report: ResearchReport | None = None
        self.problem: str | None = None
        self._question = question
        self._latest: AgentEvent | None = None
        self._records = Counter(dict.fromkeys(sources, 0))
        self._failed: dict[str, str] = {}
        self._shown_at = time.monotonic()
        self._handle: Any = display(self, display_id=True)  # type: ignore[no-untyped-call]

    def show(self, event: AgentEvent) -> None:
        """Take in one event, and show it unless another was shown a moment ago."""
        self._note(event)
        ended = event.type in ("complete", "error")
        if self._handle is None or (not ended and time.monotonic() - self._shown_at < _PAUSE_S):
            return
        self._shown_at = time.monotonic()
        try:
            self._handle.update(self)
        except Exception as error:  # noqa: BLE001  the outer edge: a page that was closed must not lose the run
            _log.warning("the display failed: %s", type(error).__name__)
            self._handle = None

    def _note(self, event: AgentEvent) -> None:
        self._latest = event
        if event.type == "search_complete" and isinstance(reply := event.data, SourceReply):
            self._records[reply.source] += len(reply.records)
            failed = reply.status in (Status.UNAVAILABLE, Status.BAD_QUERY)
            self._failed[reply.source] = one_line("; ".join(reply.warnings)) if failed else ""
        elif event.type == "complete":
            self.report = event.report
        elif event.type == "error":
            self.problem = one_line(event.message)

    def _repr_html_(self) -> str:
        rows = [
            f"{escape(title_of(source))} · {counted(number, 'record')}{self._why(source)}"
            for source, number in self._records.items()
        ]
        lines = [f"<strong>{escape(one_line(self._question))}</strong>", escape(self._now()), *rows]
        return "".join(f'<div style="{_LINE}">{line}</div>' for line in lines)

    def _why(self, source: str) -> str:
        return f" · {escape(self._failed[source])}" if self._failed.get(source) else ""

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self._ending() if self.report is not None else f"researching: {one_line(self._question)}")

    def _now(self) -> str:
        """What happens, in a line; texts that an agent wrote as Markdown are told by what it does."""
        event = self._latest
        if self.report is not None:
            return self._ending()
        if event is None:
            return "starting …"
        said = DOING[event.type] if event.type in ("thinking", "judging") else one_line(event.message)
        return f"Round {event.iteration or 1} {event.icon} {said}"

    def _ending(self) -> str:
        assert self.report is not None
        records = self._records.total()
        head = f"{self.problem}. " if self.problem else ""
        sizes = {"round": self.report.search_iterations, "record": records, "candidate": len(self.report.candidates)}
        counts = ", ".join(counted(number, noun) for noun, number in sizes.items())
        return f"{head}{counts}; stopped: {self.report.stop_reason.replace('_', ' ')}"


async def notebook_input(prompt: str, cancellation_token: CancellationToken | None = None) -> str:
    """Show a prompt with an input box below the cell and wait for what is entered, without blocking the kernel.

    IPython's own `input()` waits inside the event loop, in which the run goes on too. So the same request is sent on
    the kernel's stdin channel, and the reply is looked for between other things.
    https://jupyter-client.readthedocs.io/en/stable/messaging.html#messages-on-the-stdin-router-dealer-channel

    Args:
        prompt: shown as it is.
        cancellation_token: ends the wait.

    Raises:
        NobodyToAsk: no notebook, or one that is run without anybody watching (nbclient, papermill).
    """
    kernel = _kernel()
    if kernel is None or not kernel._allow_stdin:
        raise NobodyToAsk("the notebook takes no input")
    waiting = asyncio.ensure_future(_reply(kernel, prompt))
    if cancellation_token is not None:
        cancellation_token.link_future(waiting)
    return await waiting


def _kernel() -> Any:
    from IPython.core.getipython import get_ipython  # noqa: PLC0415  an extra

    return getattr(get_ipython(), "kernel", None)


async def _reply(kernel: Any, prompt: str) -> str:
    socket = kernel.stdin_socket
    while socket.poll(0):  # replies that came when nobody waited any more
        socket.recv_multipart()
    content = {"prompt": prompt, "password": False}
    sender = kernel._parent_ident["shell"]
    kernel.session.send(socket, "input_request", content, kernel.get_parent("shell"), ident=sender)
    while True:
        while not socket.poll(0):  # noqa: ASYNC110  a channel of the kernel's, which no event belongs to
            await asyncio.sleep(_TYPING_S)
        _, reply = kernel.session.recv(socket)
        if reply is not None:
            return str(reply["content"].get("value", ""))
