"""The command line with a scripted run in the team's place; a program of its own, for tests with real processes.

The question chooses the script: it starts with `answer`, `fail`, `crash`, `wait` or `hang`.
"""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator

from willowbark.teams.events import AgentEvent
from willowbark.teams.faces import cli
from willowbark.teams.run.options import RunOptions


class ScriptedReport:
    """A report with text that a terminal must not obey."""

    model_failed, search_log, sources_searched = False, (), ()

    def __init__(self, stop_reason: str = "sufficient_evidence", lines: int = 1) -> None:
        self.stop_reason, self.lines = stop_reason, lines

    def to_appendix(self) -> str:
        return "# appendix"

    def to_markdown(self) -> str:
        return "# Migraine prévention\n\n" + "Topiramate reduces attacks.\n" * self.lines

    def to_json(self) -> str:
        return json.dumps({"title": "Migraine prévention", "stop_reason": self.stop_reason}, ensure_ascii=False)


async def scripted_run(options: RunOptions) -> AsyncGenerator[AgentEvent, None]:
    """Tell what the question's first word asks for."""
    question, token = options.question, options.cancellation_token
    assert question is not None
    assert token is not None
    word = question.replace(":", " ").partition(" ")[0]
    yield AgentEvent(type="started", message=question)
    yield AgentEvent(type="searching", message="PubMed: \x1b[31mred\x1b[0m\nsecond line", iteration=1)
    if word == "crash":
        raise RuntimeError("something\nunforeseen")
    if word == "fail":
        yield AgentEvent(type="error", message="the team failed", iteration=1)
        yield AgentEvent(type="complete", message="partial", data=ScriptedReport("error"), iteration=1)
        return
    if word == "hang":
        await asyncio.sleep(60)
    if word == "wait":
        stopped = asyncio.Event()
        token.add_callback(stopped.set)
        await stopped.wait()
        yield AgentEvent(type="error", message="The run was stopped", iteration=1)
        yield AgentEvent(type="complete", message="so far", data=ScriptedReport("cancelled"), iteration=1)
        return
    lines = 50_000 if "long" in question else 1
    yield AgentEvent(type="complete", message="done", data=ScriptedReport(lines=lines), iteration=1)


if __name__ == "__main__":
    cli.app(sys.argv[1:], obj=scripted_run, prog_name="willowbark")
