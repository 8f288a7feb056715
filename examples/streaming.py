"""Follow a run while it goes on: every search, every verdict of the judge, and the report at the end."""

import asyncio
import sys
from contextlib import suppress

from willowbark import WillowbarkError
from willowbark.teams import research_stream

QUESTION = "Which existing drugs could prevent migraine attacks?"


async def main() -> None:
    """Print the events that matter, then the candidates."""
    async for event in research_stream(QUESTION):
        if event.type in ("searching", "search_complete", "judge_complete", "looping", "error"):
            print(f"round {event.iteration} {event.icon} {event.message[:100]}")
        elif event.report is not None:
            for candidate in event.report.candidates:
                print(f"{candidate.name}: {candidate.certainty} certainty, {candidate.evidence_quality} evidence")


with suppress(KeyboardInterrupt):  # Ctrl-C ends it without a traceback
    try:
        asyncio.run(main())
    except WillowbarkError as problem:  # no network, say: one line says what to do
        sys.exit(str(problem))
