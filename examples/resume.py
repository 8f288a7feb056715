"""A run that is stopped after its first round, and brought to its report afterwards.

What the first part asked is in the ledger: the second asks none of it again.
"""

import asyncio
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from autogen_core import CancellationToken

from willowbark import WillowbarkError
from willowbark.teams import Ledger, Settings, research_stream, resume

QUESTION = "Which existing drugs could prevent migraine attacks?"
RUN_ID = "migraine"


async def main(ledger: Ledger) -> None:
    """Stop a run, resume it."""
    token = CancellationToken()
    settings = Settings.load().overridden({"research.max_iterations": 2})
    async for event in research_stream(
        QUESTION, settings=settings, ledger=ledger, run_id=RUN_ID, cancellation_token=token
    ):
        if event.type == "judge_complete":
            print(f"stopped after round {event.iteration}")
            token.cancel()
    report = await resume(RUN_ID, ledger)
    print(f"{report.search_iterations} rounds, {len(report.candidates)} candidates, {report.stop_reason}")


with (
    suppress(KeyboardInterrupt),  # Ctrl-C ends it without a traceback
    tempfile.TemporaryDirectory() as folder,
    Ledger(Path(folder) / "ledger.sqlite") as book,
):
    try:
        asyncio.run(main(book))
    except WillowbarkError as problem:  # no network, say: one line says what to do
        sys.exit(str(problem))
