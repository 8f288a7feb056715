"""`ask`, which blocks until the report is ready, wherever it is called."""

import asyncio
import sys
from typing import TYPE_CHECKING, Unpack

from willowbark.tools.errors import UsageError

from ..run.choices import RunChoices
from ..run.options import RunOptions
from ..run.research import research

if TYPE_CHECKING:
    from willowbark.agents.report.model import ResearchReport


def ask(question: str | RunOptions, **choices: Unpack[RunChoices]) -> "ResearchReport":
    """Answer a question with a report, and block until it is ready: in a script, or in a notebook's cell.

    A notebook shows the progress of the run and keeps it in the workspace's ledger.

    Raises:
        UsageError: also where another event loop runs, which would stand still: await `research` there.
        SourcesUnreachable, RunFailed: as of `research`.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(research(question, **choices))
    if "ipykernel" in sys.modules:
        from .notebook import ask_in_cell, is_in_cell  # noqa: PLC0415

        if is_in_cell():
            return ask_in_cell(question, choices)
    raise UsageError("ask would stop the event loop that runs here: use `await research(…)`")
