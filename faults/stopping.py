"""F10: stopped by Ctrl-C or by a budget. What concerns resuming stands with the ledger."""

import asyncio
import random
import time
from dataclasses import dataclass

from autogen_core import CancellationToken

from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import LimitSettings, OutputSettings, ResearchSettings, Settings
from willowbark.teams.run.research import research_stream
from willowbark.tools.http.endpoints import Endpoints

from .answering import AnsweringClient, Asked
from .running import QUESTIONS
from .server import SourceServer
from .verdict import Figure, Row, exactly, percentile

_STOP_S = 1.0
_LATENCY_S = 0.05
_TOKENS = 2_000  # less than a first round takes
_STOPPED = "stopped"  # what a summary says of a run that was cancelled
_SPENT = "token budget"


@dataclass(frozen=True, slots=True)
class _Stop:
    seconds: float
    """From the cancellation to the last event."""
    calls_after: int
    """Model calls begun after the cancellation."""
    reason: str | None
    """The report's; None without a report."""
    cancelled: bool
    """Whether the run was still going when it was to be stopped."""
    summary: str
    """What a user reads first; empty without a report."""


def stopped(runs: int, seed: int) -> Row:
    """F10: the run stops within a second, no model is called any more, the report says why."""
    before, chance = time.perf_counter(), random.Random(seed)
    with SourceServer(latency_s=_LATENCY_S) as server:
        endpoints = Endpoints.at(server.url)
        usual = asyncio.run(_cancelled_after(1e6, endpoints)).seconds
        half = max(1, runs // 2)
        stops = [asyncio.run(_cancelled_after(chance.uniform(0, usual), endpoints)) for _ in range(half)]
        spent = [asyncio.run(_spent(endpoints)) for _ in range(half)]
    met = [stop for stop in stops if stop.cancelled]
    unsaid = [stop.summary for stop in met if stop.reason == "cancelled" and _STOPPED not in stop.summary]
    unsaid += [report.executive_summary for report in spent if report and _SPENT not in report.executive_summary]
    reasons = [report.stop_reason for report in spent if report]
    figures = [
        Figure("slowest stop, s", max((stop.seconds for stop in met), default=0.0), at_most=_STOP_S, timed=True),
        Figure("stop p90, s", percentile([stop.seconds for stop in met] or [0.0], 0.9), at_most=_STOP_S, timed=True),
        exactly("model calls after the stop", sum(stop.calls_after for stop in met), 0),
        exactly("stopped runs without a report", sum(stop.reason is None for stop in met), 0),
        exactly("budget runs that say so", reasons.count("token_budget_exceeded"), half),
        exactly("summaries that leave unsaid what ended the run", len(unsaid), 0),
    ]
    what = "Ctrl-C at random moments, token budget reached (resuming: ledger)"
    reads = [stop.summary for stop in met if stop.summary][:1]
    reads += [report.executive_summary for report in spent if report][:1]
    return Row("F10", 2 * half, what, seed, time.perf_counter() - before, figures, unsaid, reads)


def _settings(max_tokens: int | None = None) -> Settings:
    limits = LimitSettings(max_tokens=max_tokens)
    return Settings(research=ResearchSettings(max_iterations=3, limits=limits), output=OutputSettings())


async def _cancelled_after(delay_s: float, endpoints: Endpoints) -> _Stop:
    token, moments = CancellationToken(), list[float]()

    def answer(asked: Asked) -> str:
        moments.append(time.monotonic())
        raise ConnectionError("asked")  # the baseline analyst answers in its place

    client = AnsweringClient(answer)
    at: list[float] = []

    def stop() -> None:
        at.append(time.monotonic())
        token.cancel()

    timer = asyncio.get_running_loop().call_later(delay_s, stop)
    before, report = time.monotonic(), None
    async for event in research_stream(
        QUESTIONS[0], settings=_settings(), model_client=client, endpoints=endpoints, cancellation_token=token
    ):
        if event.type == "complete":
            report = event.data
    end = time.monotonic()
    timer.cancel()
    after = sum(moment > at[0] for moment in moments) if at else 0
    reason = report.stop_reason if isinstance(report, ResearchReport) else None
    summary = report.executive_summary if isinstance(report, ResearchReport) else ""
    return _Stop(end - (at[0] if at else before), after, reason, bool(at), summary)


async def _spent(endpoints: Endpoints) -> ResearchReport | None:
    async for event in research_stream(QUESTIONS[0], settings=_settings(_TOKENS), endpoints=endpoints):
        if event.type == "complete" and isinstance(event.data, ResearchReport):
            return event.data
    return None
