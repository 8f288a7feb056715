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
from contextlib import ExitStack, aclosing
from html import escape
from pathlib import Path
from typing import Any

from autogen_agentchat.agents import UserProxyAgent
from autogen_core import CancellationToken
from autogen_core.models import ChatCompletionClient

from willowbark.agents.report.model import ResearchReport
from willowbark.tools.errors import UsageError
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.search import SourceReply

from ..config import Settings
from ..events import AgentEvent
from ..ledger import DEFAULT_PATH, Ledger
from ..run.research import Asked, RunFailed, approver_for, research_stream
from .notebook_prompt import notebook_input
from .terminal import one_line

GRACE_S = 10.0  # for a report of what was found, after an interruption
_SHOWN_EVENTS = 6  # the latest of a run under way
_PAUSE_S = 0.1  # between updates: a browser gains nothing from more
_log = logging.getLogger(__name__)


async def ask(
    question: str,
    *,
    offline: bool = False,
    settings: Settings | None = None,
    model_client: ChatCompletionClient | None = None,
    endpoints: Endpoints | None = None,
    ledger: Ledger | Path | None = DEFAULT_PATH,
    run_id: str | None = None,
    approve: bool | Asked = False,
) -> ResearchReport:
    """Answer a question, showing how the run goes on in one display.

    Args:
        question: 1 to 2,000 characters.
        offline: search the bundled library, without network.
        settings: None reads `willowbark.toml` and the environment.
        model_client: None takes the one that the settings name.
        endpoints: where the sources are; None takes the public ones, or a sandbox that the environment names.
        ledger: keeps the run, so that a kernel that dies loses nothing (`willowbark resume`); None keeps none.
        run_id: the run's name in the ledger; None makes one.
        approve: ask, in an input box below the cell, which candidates the report should deal with; or who is asked.

    Raises:
        UsageError: a question, setting or model name that does not hold, or IPython is not installed.
        RunFailed: not even a partial report could be made.
        asyncio.CancelledError: interrupted, and no report came within 10 seconds.
    """
    view = LiveView(question)
    with ExitStack() as stack:
        if offline:
            from willowbark.tools.sandbox.server import SandboxServer  # noqa: PLC0415  online runs need no server

            endpoints = Endpoints.sandbox(stack.enter_context(SandboxServer()).url)
        chosen = settings or Settings.load()
        token = CancellationToken()
        events = research_stream(
            question,
            settings=chosen,
            model_client=model_client,
            endpoints=endpoints,
            cancellation_token=token,
            ledger=ledger,
            run_id=run_id,
            approve=_asked_here(chosen, approve),
            fresh=offline,  # the bundled library is asked anew: it may have been updated
        )
        await _unless_interrupted(asyncio.ensure_future(_follow(events, view)), token)
    if view.report is None:
        raise RunFailed(view.problem or "the run ended without a report")
    return view.report


def _asked_here(settings: Settings, approve: bool | Asked) -> Asked | None:
    """Who is asked: the person at the notebook, unless somebody else was named."""
    if not isinstance(approve, bool):
        return approve
    wanted = settings.overridden({"research.approve": True}) if approve else settings
    return approver_for(UserProxyAgent("approver", input_func=notebook_input), wanted, via="notebook")


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
        counts = f"{self.report.search_iterations} rounds, {records} records, {len(self.report.candidates)} candidates"
        return f"{head}{counts}; stopped: {self.report.stop_reason.replace('_', ' ')}"
