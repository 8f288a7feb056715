"""The command line with a scripted run in the team's place; a program of its own, for tests with real processes.

The question chooses the script: it starts with `answer`, `fail`, `crash`, `wait` or `hang`.
"""

import asyncio
import sys
from collections.abc import AsyncGenerator

from exports_sample import sample

from willowbark.agents.report.model import ResearchReport
from willowbark.teams.events import AgentEvent
from willowbark.teams.faces import cli
from willowbark.teams.run.options import RunOptions


def report(stop_reason: str = "sufficient_evidence", lines: int = 1) -> ResearchReport:
    return sample(title="Migraine prévention", stop_reason=stop_reason, conclusion="Topiramate works.\n" * lines)


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
        yield AgentEvent(type="complete", message="partial", data=report("error"), iteration=1)
        return
    if word == "hang":
        await asyncio.sleep(60)
    if word == "wait":
        stopped = asyncio.Event()
        token.add_callback(stopped.set)
        await stopped.wait()
        yield AgentEvent(type="error", message="The run was stopped", iteration=1)
        yield AgentEvent(type="complete", message="so far", data=report("cancelled"), iteration=1)
        return
    lines = 50_000 if "long" in question else 1
    yield AgentEvent(type="complete", message="done", data=report(lines=lines), iteration=1)


if __name__ == "__main__":
    cli.app(sys.argv[1:], obj=scripted_run, prog_name="willowbark")
