"""Asking in a notebook: one display that follows the run, and the report as the cell's value.

    from willowbark.teams.faces.notebook import ask
    await ask("Which existing drugs could prevent migraine attacks?", offline=True)

`approve=True` asks below the cell which candidates the report should deal with.

Interrupting the cell ends the search; the report of what was found until then still comes.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing
from html import escape
from typing import Any, Unpack

from autogen_agentchat.agents import UserProxyAgent
from autogen_core import CancellationToken

from willowbark.agents.approval import NobodyToAsk
from willowbark.agents.report.model import ResearchReport
from willowbark.agents.report.wording import counted
from willowbark.tools.errors import UsageError
from willowbark.tools.search import SourceReply

from ..config import Settings
from ..events import AgentEvent
from ..ledger import DEFAULT_PATH
from ..run.options import Choices, RunOptions
from ..run.research import Asked, RunFailed, approver_for, research_stream
from .terminal import one_line

GRACE_S = 10.0  # for a report of what was found, after an interruption
_SHOWN_EVENTS = 6  # the latest of a run under way
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
        asyncio.CancelledError: interrupted, and no report came within 10 seconds.
    """
    options = RunOptions.of(question, {"ledger": DEFAULT_PATH, **choices} if isinstance(question, str) else choices)
    view = LiveView(options.question or "")
    settings, token = options.chosen(), options.cancellation_token or CancellationToken()
    handed = {"settings": settings, "cancellation_token": token, "approve": _asked_here(settings, options.approve)}
    events = research_stream(options.model_copy(update=handed))
    await _unless_interrupted(asyncio.ensure_future(_follow(events, view)), token)
    if view.report is None:
        raise RunFailed(view.problem or "the run ended without a report")
    return view.report


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
        done, _ = await asyncio.wait([run], timeout=GRACE_S)
        if not done:
            run.cancel()
            raise
        if (task := asyncio.current_task()) is not None:
            task.uncancel()
        run.result()


class LiveView:
    """One display of a notebook that follows a run; a front end that fails never stops the run.

    Args:
        question: as asked.

    Raises:
        UsageError: IPython is not installed.
    """

    def __init__(self, question: str) -> None:
        try:
            from IPython.display import display  # noqa: PLC0415  an extra
        except ImportError:
            raise UsageError("the notebook face needs IPython: pip install 'willowbark[notebook]'") from None
        self.report: ResearchReport | None = None
        self.problem: str | None = None
        self._question = question
        self._events: list[AgentEvent] = []
        self._records: Counter[str] = Counter()
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
        self._events.append(event)
        if event.type == "search_complete" and isinstance(event.data, SourceReply):
            self._records[event.data.source] += len(event.data.records)
        elif event.type == "complete":
            self.report = event.data
        elif event.type == "error":
            self.problem = one_line(event.message)

    def _repr_html_(self) -> str:
        if self.report is not None:
            return f"<p>{escape(self._ending())}</p>"
        lines = [f"{event.icon} {escape(one_line(event.message))}" for event in self._events[-_SHOWN_EVENTS:]]
        records = ", ".join(f"{source} {number}" for source, number in self._records.items()) or "none yet"
        round_ = self._events[-1].iteration if self._events else 0
        return (
            f"<p><strong>{escape(one_line(self._question))}</strong><br>Round {round_ or 1}. Records: {records}</p>"
            f'<p style="font-size: smaller">{"<br>".join(lines) or "starting …"}</p>'
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self._ending() if self.report is not None else f"researching: {one_line(self._question)}")

    def _ending(self) -> str:
        assert self.report is not None
        records = sum(self._records.values())
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
