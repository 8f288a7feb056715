"""F0 to F3: whole runs over sources that fail, loudly, silently, or for good."""

import asyncio
import time
from collections import Counter
from functools import cache, partial

from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.records.registry import cards, list_offered

from .breakage import FaultyServer
from .plan import DeadBy, FaultPlan
from .running import FACTOR, QUESTIONS, RunResult, run, side_by_side, silent_losses, unnamed_losses
from .server import SourceServer
from .verdict import Figure, Row, exactly

SOURCES = tuple(name for name in list_offered() if cards()[name].use == "searched")
DEATHS: tuple[DeadBy | None, ...] = ("reset", "status", "hang", None)
"""How a source is dead; None has no host of its name."""
CAUSES = ("the connection broke", "(503)", "no whole answer within", "no connection")
"""How a user reads what a dead source died of."""
_OF_ALL = "Does propranolol prevent migraine attacks?"
"""Names a drug, so that the databases of drugs are asked too, in the first round."""
_PLANS = {"F1": FaultPlan.rough, "F2": FaultPlan.treacherous}
_ADDED_S = 60.0  # real seconds that a dead source may add to a run
_ASKED = 20  # requests that a dead source may get in a run


@cache
def clean_runs() -> dict[str, RunResult]:
    """A run of every question on a day without faults."""
    with SourceServer() as server:
        return {asked: asyncio.run(run(asked, Endpoints.at(server.url), factor=1.0)) for asked in QUESTIONS}


def faulty(runs: int, seed: int, *, row: str) -> list[RunResult]:
    """Runs under a row's faults, against a server of their own."""
    with FaultyServer(faults=_PLANS[row](seed).scaled(FACTOR)) as server:
        endpoints = Endpoints.at(server.url)
        return [asyncio.run(run(QUESTIONS[number % len(QUESTIONS)], endpoints)) for number in range(runs)]


def bad_days(row: str, runs: int, seed: int, jobs: int) -> Row:
    """F1 and F2: every run ends in a report, nearly all sources are kept, every loss is named."""
    before, clean = time.perf_counter(), clean_runs()
    results = side_by_side(partial(faulty, row=row), runs, seed, jobs)
    silent = [loss for result in results for loss in silent_losses(result, clean[result.question])]
    unnamed = [loss for result in results for loss in unnamed_losses(result, clean[result.question])]
    kept = sum(result.answered >= clean[result.question].answered for result in results)
    needed = sum(result.calls for result in results)
    share, what = (0.99, "42 % of requests fail") if row == "F1" else (0.97, "50 % fail, 8 of them silently")
    figures = [
        exactly("reports", sum(result.failure is None for result in results), runs),
        Figure("share with all sources", kept / runs, at_least=share, timed=True),
        exactly("lost sources not named", len(unnamed), 0),
        exactly("silent empties", len(silent), 0),
    ]
    if row == "F1":
        asked = sum(result.exchanges for result in results) / needed
        figures.append(Figure("requests for each needed one", asked, at_most=1.9, timed=True))
    lost = Counter(name for r in results for name in clean[r.question].answered - r.answered)
    notes = [*(r.failure for r in results if r.failure), *silent, *(f"{name} was lost unnamed" for name in unnamed)]
    notes += [f"{name} was lost in {times} runs, and named" for name, times in lost.most_common()]
    reads = [line for result in results for line in result.limitations if line.startswith("Not available:")]
    reads = reads or [results[0].summary]
    return Row(row, runs, what, seed, time.perf_counter() - before, figures, notes, list(dict.fromkeys(reads)))


def deadly(runs: int, seed: int, *, source: str) -> list[RunResult]:
    """Runs with one source dead in each of the ways, in turn; two rounds each, so that it is met again."""
    results = []
    for place, death in enumerate(DEATHS):
        share = runs // len(DEATHS) + (place < runs % len(DEATHS))
        plan = FaultPlan(seed=seed, dead={source: death} if death else {}).scaled(FACTOR)
        with FaultyServer(faults=plan) as server:
            endpoints = Endpoints.at(server.url)
            if death is None:
                nowhere = endpoints[source].model_copy(update={"base_url": "http://nowhere.invalid/api"})
                endpoints = endpoints.model_copy(update={"by_source": {**endpoints.by_source, source: nowhere}})
            results += [asyncio.run(run(_OF_ALL, endpoints, rounds=2)) for _ in range(share)]
    return results


def undisturbed(runs: int, seed: int) -> list[RunResult]:
    """Runs of two rounds without faults, to compare with."""
    with FaultyServer(faults=FaultPlan(seed=seed)) as server:
        return [asyncio.run(run(_OF_ALL, Endpoints.at(server.url), rounds=2)) for _ in range(runs)]


def one_dead(runs: int, seed: int, jobs: int) -> Row:
    """F3: each source dead all run; `runs` for each source."""
    before = time.perf_counter()
    usual = min(result.seconds for result in side_by_side(undisturbed, 2 * jobs, seed, jobs))
    reports = named = others = 0
    most_asked, most_added, notes = 0, 0.0, list[str]()
    reads, without_cause = dict[str, None](), 0
    for source in SOURCES:
        for result in side_by_side(partial(deadly, source=source), runs, seed, jobs):
            reports += result.failure is None
            named += result.named(source)
            others += result.answered >= set(SOURCES) - {source}
            most_asked = max(most_asked, result.asked.get(source, 0))
            most_added = max(most_added, (result.seconds - usual) / FACTOR)
            told = [line for line in result.limitations if line.startswith(f"Not available: {source}:")]
            reads.update(dict.fromkeys(told[:1]))
            if not [cause for cause in CAUSES for line in told if cause in line]:
                without_cause += 1
                notes.append(f"{source}: {told} tells no cause")
            if result.failure or not result.named(source):
                notes.append(f"{source}: {result.failure or 'was lost unnamed'}")
    total = runs * len(SOURCES)
    figures = [
        exactly("reports", reports, total),
        exactly("with the dead source named", named, total),
        exactly("in which no cause is told", without_cause, 0),
        exactly("with all others", others, total, timed=True),
        Figure("most requests to it", most_asked, at_most=_ASKED),
        Figure("most seconds added, in real time", most_added, at_most=_ADDED_S, timed=True),
    ]
    what = "each source dead: reset, 503, hang, no such host"
    return Row("F3", total, what, seed, time.perf_counter() - before, figures, notes, list(reads))
