"""A run with a ledger, in a process of its own that kills itself: `run_and_be_killed.py LEDGER WHEN [resume]`.

WHEN says at what the process dies by SIGKILL: `begun:7` before the journal's seventh commit, `kept:7` right after it;
`never` lives to the end. Prints the report as JSON when it lives.
"""

import asyncio
import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from builders import QUESTION

from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.teams.config import Settings
from willowbark.teams.ledger import Journal, Ledger
from willowbark.teams.run.research import research
from willowbark.teams.run.resume import resume

SETTINGS = {"research.max_iterations": 2, "research.max_results_per_tool": 5, "research.judge_threshold": 1.0}
times: Counter[str] = Counter()


class Counting(BaselineChatCompletionClient):
    """The baseline analyst, counting how often it is asked."""

    calls = 0

    async def create(self, *arguments: Any, **options: Any) -> Any:
        Counting.calls += 1
        return await super().create(*arguments, **options)


def die_at(when: str) -> None:
    """Have the process killed at a moment."""
    commit = Journal._write

    def reached(what: str) -> None:
        times[what] += 1
        if when == f"{what}:{times[what]}":
            os.kill(os.getpid(), signal.SIGKILL)

    def committed(self: Journal, *statements: Any) -> None:
        reached("begun")
        commit(self, *statements)
        reached("kept")

    Journal._write = committed  # type: ignore[method-assign]


async def main(path: Path, when: str, again: bool) -> None:
    die_at(when)
    client = Counting()
    with Ledger(path) as ledger:
        if again:
            report = await resume("the-run", ledger, model_client=client)
        else:
            settings = Settings().overridden(SETTINGS)
            report = await research(QUESTION, settings=settings, model_client=client, ledger=ledger, run_id="the-run")
    print(json.dumps({"report": json.loads(report.to_json()), "model_calls": Counting.calls, "times": times}))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], "resume" in sys.argv))
