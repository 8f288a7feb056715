"""Lets a report do in Python what its run can: be corrected, asked, and written again."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from willowbark.agents.autogen import ChatCompletionClient
from willowbark.agents.report.follow_up import AnswerWithin
from willowbark.agents.report.model import ResearchReport

from ..ledger import Ledger
from .changes import ChangeRequest
from .correcting import ask_changes
from .rewriting import rewrite_run
from .within import ask_within

T = TypeVar("T")


def bind_report(report: ResearchReport, run_id: str, ledger: Path, root: Path | None = None) -> ResearchReport:
    """Let a report of a ledger's run be corrected, asked and written again by its methods; return it."""

    def correct(change: Mapping[str, Any], by: str | None) -> ResearchReport:
        request = ChangeRequest.of(change)
        report = _open_and_work(ledger, lambda book: ask_changes(run_id, book, [request], by=by, root=root))
        return bind_report(report, run_id, ledger, root)

    def ask(question: str) -> AnswerWithin:
        return _open_and_work(ledger, lambda book: ask_within(question, run_id, book))

    def rewrite(client: ChatCompletionClient | None) -> ResearchReport:
        rewritten = _open_and_work(ledger, lambda book: rewrite_run(run_id, book, client, root=root))
        return bind_report(rewritten, run_id, ledger, root)

    report.bind_run(correct, ask, rewrite)
    return report


def _open_and_work(path: Path, work: Callable[[Ledger], Coroutine[Any, Any, T]]) -> T:
    """Work with a ledger in an event loop of its own, in a thread, since a notebook's is busy."""

    async def run() -> T:
        with Ledger.existing(path) as ledger:
            return await work(ledger)

    with ThreadPoolExecutor(1, thread_name_prefix="willowbark-report") as threads:
        return threads.submit(asyncio.run, run()).result()
