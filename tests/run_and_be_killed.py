"""A run with a ledger, in a process of its own that kills itself: `run_and_be_killed.py LEDGER WHEN [resume]`.

WHEN counts what is committed: the process dies by SIGKILL before the one of that number is (`0` lives to the end).
Prints the report as JSON when it lives.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from builders import QUESTION

from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.teams.config import Settings
from willowbark.teams.ledger import Journal, Ledger
from willowbark.teams.resume import resume
from willowbark.teams.run import research

SETTINGS = {"research.max_iterations": 2, "research.max_results_per_tool": 5, "research.judge_threshold": 1.0}


class Counting(BaselineChatCompletionClient):
    """The baseline analyst, counting how often it is asked."""

    calls = 0
    commits = 0

    async def create(self, *arguments: Any, **options: Any) -> Any:
        Counting.calls += 1
        return await super().create(*arguments, **options)


def die_before(number: int) -> None:
    """Have the process killed before its commit of a number."""
    whole = Journal._write

    def write(self: Journal, *statements: Any) -> None:
        Counting.commits += 1
        if Counting.commits == number:
            os.kill(os.getpid(), signal.SIGKILL)
        whole(self, *statements)

    Journal._write = write  # type: ignore[method-assign]


async def main(path: Path, number: int, again: bool) -> None:
    die_before(number)
    client = Counting()
    with Ledger(path) as ledger:
        if again:
            report = await resume("the-run", ledger, model_client=client)
        else:
            settings = Settings().overridden(SETTINGS)
            report = await research(QUESTION, settings=settings, model_client=client, ledger=ledger, run_id="the-run")
    counts = {"model_calls": Counting.calls, "commits": Counting.commits}
    print(json.dumps({"report": json.loads(report.to_json()), **counts}))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), "resume" in sys.argv))
