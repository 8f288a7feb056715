"""Whole runs over recorded replies, with time compressed, and what each of them did."""

import multiprocessing
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace

from autogen_core.models import ChatCompletionClient

from willowbark.agents.autogen import list_tools_of
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.agents.specialist import SpecialistAgent
from willowbark.teams.config import LLMSettings, OrchestratorConfig, ResearchSettings, Settings
from willowbark.teams.research_team import ResearchTeam, default_participants
from willowbark.tools.contracts.run_contract import explainer
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Exchange, ExchangeLog, Transport
from willowbark.tools.toolbox import SEARCH_TIMEOUT_S, EvidenceTool

QUESTIONS = (
    "Which existing drugs could prevent migraine attacks?",
    "Which drugs help people stop smoking?",
    "Which existing drugs slow diabetic nephropathy?",
)
FACTOR = 0.1
"""Compressed time: a second of waits and deadlines takes 100 ms; computing takes what it takes, so not less."""


def policy(factor: float = FACTOR) -> RetryPolicy:
    """The policy that runs have by default, compressed."""
    return compressed(RetryPolicy.within(OrchestratorConfig().search_timeout), factor)


def compressed(policy: RetryPolicy, factor: float) -> RetryPolicy:
    """A policy with all its times multiplied: no wait is skipped."""
    return replace(policy, **{name: value * factor for name, value in asdict(policy).items() if name.endswith("_s")})


@dataclass(frozen=True, slots=True)
class Told:
    """What a run says of one search."""

    source: str
    query: str
    status: str
    taken: int
    warnings: int


@dataclass(frozen=True, slots=True)
class RunResult:
    """What one run did; small enough to travel between processes."""

    question: str
    seconds: float
    exchanges: int
    calls: int
    """Requests that were needed: first attempts."""
    asked: Mapping[str, int]
    """Requests to each source, redirects and retries included."""
    answered: frozenset[str]
    searches: tuple[Told, ...] = ()
    limitations: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    summary: str = ""
    """What a user reads first."""
    work: str = ""
    """The line above it on what the model that was asked did not do; empty for runs without one."""
    failure: str | None = None
    """Why there is no report; None where there is one."""

    def named(self, source: str) -> bool:
        """Whether the limitations tell that a source was lost, and why."""
        beginning = f"Not available: {source}:"
        reasons = [line.removeprefix(beginning) for line in self.limitations if line.startswith(beginning)]
        return bool([reason for reason in reasons if reason.strip(" .")])


async def run(
    question: str,
    endpoints: Endpoints,
    *,
    factor: float = FACTOR,
    rounds: int = 1,
    max_results: int = 3,
    client: ChatCompletionClient | None = None,
) -> RunResult:
    """Answer a question with the whole team, as `willowbark ask` does, and tell what happened."""
    log = ExchangeLog()
    before = time.perf_counter()
    report: ResearchReport | None = None
    failure = "no report came"
    explain = explainer(endpoints)
    async with Transport(endpoints, policy=policy(factor), recorder=log, explain=explain) as transport:
        try:
            result = await _team(transport, factor, rounds, max_results, client).run(task=question)
            last = result.messages[-1]
            report = last.content if isinstance(last, ReportMessage) else None
        except Exception as error:  # noqa: BLE001  whatever ends a run without a report is what is being counted
            failure = f"{type(error).__name__}: {error}"
    return _result(question, time.perf_counter() - before, log.exchanges, report, failure)


def _team(
    transport: Transport, factor: float, rounds: int, max_results: int, client: ChatCompletionClient | None
) -> ResearchTeam:
    analyst = client or BaselineChatCompletionClient()
    turn_s = LLMSettings().turn_timeout_s * max(factor, 0.2)  # reflecting computes, and computing is not compressed
    settings = Settings(
        research=ResearchSettings(max_iterations=rounds, max_results_per_tool=max_results),
        llm=LLMSettings(turn_timeout_s=turn_s),
    )
    members = default_participants(analyst, settings)
    for member in members:
        if isinstance(member, SpecialistAgent):
            for tool in list_tools_of(member):
                assert isinstance(tool, EvidenceTool)
                tool._timeout_s = SEARCH_TIMEOUT_S * factor
    return ResearchTeam(members, analyst, transport=transport)


def _result(
    question: str, seconds: float, exchanges: Sequence[Exchange], report: ResearchReport | None, failure: str
) -> RunResult:
    asked: dict[str, int] = {}
    for exchange in exchanges:
        asked[exchange.source] = asked.get(exchange.source, 0) + 1
    calls = sum(exchange.attempt == 1 for exchange in exchanges)
    if report is None:
        return RunResult(question, seconds, len(exchanges), calls, asked, frozenset(), failure=failure)
    return RunResult(
        question=question,
        seconds=seconds,
        exchanges=len(exchanges),
        calls=calls,
        asked=asked,
        answered=frozenset(report.sources_searched),
        searches=tuple(
            Told(entry.source, entry.query, entry.status, entry.taken, len(entry.warnings))
            for entry in report.search_log
        ),
        limitations=tuple(report.limitations),
        candidates=tuple(report.drug_candidates),
        references=tuple(str(reference["key"]) for reference in report.references),
        summary=report.executive_summary,
        work=report.work.line if report.work is not None and report.model_failed else "",
    )


def silent_losses(result: RunResult, clean: RunResult) -> list[str]:
    """Searches that gave less than in a clean run of the same question without a word."""
    due = {(told.source, told.query): told.taken for told in clean.searches}
    return [
        f"{told.source} {told.query}: {told.taken} of {due[told.source, told.query]} records, {told.status}"
        for told in result.searches
        if told.taken < due.get((told.source, told.query), 0)
        and not told.warnings
        and told.status not in ("unavailable", "bad_query")
    ]


def unnamed_losses(result: RunResult, clean: RunResult) -> list[str]:
    """Sources that answered in a clean run, not in this one, and stand in no limitation."""
    return [source for source in sorted(clean.answered - result.answered) if not result.named(source)]


def side_by_side(work: Callable[[int, int], list[RunResult]], runs: int, seed: int, jobs: int) -> list[RunResult]:
    """Do runs in processes of their own: `work(runs, seed)` of each, its own server included."""
    shares = [runs // jobs + (place < runs % jobs) for place in range(jobs)]
    shares = [share for share in shares if share]
    if len(shares) <= 1:
        return work(runs, seed)
    with ProcessPoolExecutor(len(shares), mp_context=multiprocessing.get_context("spawn")) as pool:
        waiting = [pool.submit(work, share, seed + place) for place, share in enumerate(shares)]
        return [result for done in waiting for result in done.result()]
