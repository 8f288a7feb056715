"""F8: killed at random moments while it fetches, asks a model, commits a turn or writes the report; then resumed."""

import os
import random
import signal
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from willowbark.teams.ledger import Ledger

from .lives import MODELS, RUN_ID, Life, Mark, Model, intact, without_clock
from .server import SourceServer
from .verdict import Row, exactly

_PHASES: tuple[Mark, ...] = ("fetch", "model", "checkpoint", "report")
_WITHIN_S: Mapping[Mark, float] = {"fetch": 0.01, "model": 0.03, "checkpoint": 0.03, "report": 0.4}
"""How long after the mark a kill may come: what is done then takes about so long."""
_ARRIVING_S = 0.1
_COMMITTING = 1  # answer that had come when the kill did, and was not committed yet
_TRIES = 20  # a life that was over before its kill came is lived anew


@dataclass(frozen=True, slots=True)
class _Outcome:
    phase: str
    problems: tuple[str, ...]
    model: Model = "baseline"


def killed(runs: int, seed: int, jobs: int) -> Row:
    """F8: nothing is lost, nothing is torn, nothing committed is asked again, the report is the unkilled one's."""
    before = time.perf_counter()
    with ThreadPoolExecutor(jobs) as workers:  # each of them waits for processes
        shares = [range(place, runs, jobs) for place in range(jobs)]
        waiting = [workers.submit(_killed, list(share), seed) for share in shares if share]
        outcomes = [outcome for share in waiting for outcome in share.result()]
    notes = [f"{outcome.phase}, {outcome.model}: {problem}" for outcome in outcomes for problem in outcome.problems]
    met = Counter(outcome.phase for outcome in outcomes)
    whole = sum(not outcome.problems for outcome in outcomes)
    figures = [
        exactly("killed", sum(met[phase] for phase in _PHASES), runs),
        exactly("models that read in them", len({outcome.model for outcome in outcomes}), min(len(MODELS), runs)),
        exactly("resumed to the report of a run that was not killed, asking nothing twice", whole, runs),
    ]
    what = ", ".join(f"{met[phase]} while it came to: {phase}" for phase in _PHASES)
    return Row("F8", runs, f"SIGKILL ({what})", seed, time.perf_counter() - before, figures, notes)


def _killed(numbers: list[int], seed: int) -> list[_Outcome]:
    with SourceServer() as server, tempfile.TemporaryDirectory() as folder:
        whole = {
            model: Life(Path(folder) / f"whole-{model}" / "ledger.db", server.url, model=model).lived()
            for model in MODELS
        }
        return [
            _one(number, random.Random(f"{seed}/{number}"), server, Path(folder), whole[_model_of(number)])
            for number in numbers
        ]


def _model_of(number: int) -> Model:
    """Who reads in a run: each in turn, with every phase."""
    return MODELS[(number + number // len(_PHASES)) % len(MODELS)]


def _one(number: int, chance: random.Random, server: SourceServer, folder: Path, whole: Life) -> _Outcome:
    phase = _PHASES[number % len(_PHASES)]
    for attempt in range(_TRIES):
        path = folder / f"{number}-{attempt}" / "ledger.db"
        place = chance.randint(1, max(1, whole.marks.count(phase)))
        life = Life(path, server.url, model=whole.model).lived(
            killer(phase, place, chance.uniform(0, _WITHIN_S[phase]))
        )
        if life.told is None:
            return _Outcome(phase, tuple(_after(path, server, whole, life.marks.count("answered"))), whole.model)
    return _Outcome("never", (f"{_TRIES} lives were over before their kill came",))


def killer(phase: str, place: int, delay_s: float) -> Callable[[str, int], None]:
    """What kills a process a while after it came to a phase for the n-th time."""
    left = place

    def watch(mark: str, pid: int) -> None:
        nonlocal left
        left -= mark == phase
        if mark == phase and left == 0:
            time.sleep(delay_s)
            with suppress(ProcessLookupError):  # it was over already
                os.kill(pid, signal.SIGKILL)

    return watch


def _arrived(server: SourceServer) -> int:
    """How many requests reached a server, once those have that a killed process left on their way."""
    before, now = -1, len(server.requests)
    while before != now:
        time.sleep(_ARRIVING_S)
        before, now = now, len(server.requests)
    return now


def _after(path: Path, server: SourceServer, whole: Life, answered_calls: int) -> list[str]:
    """What is wrong with a killed run and with its later life."""
    assert whole.told is not None
    if not intact(path):
        return ["the ledger is torn"]
    with Ledger(path) as ledger:
        run = ledger.run(RUN_ID)
        ledger.verify(RUN_ID)
        if run.status == "complete":  # killed after its last commit
            return find_differences(without_clock(ledger.report(RUN_ID) or {}), whole.told.report or {})
    if run.status != "interrupted":
        return [f"the run counts as {run.status}"]
    sent, (answered, newest) = _arrived(server), _kept(path)
    told = Life(path, server.url, again=True, model=whole.model).lived().told
    if told is None or told.crash or told.report is None:
        return [f"it could not be resumed: {told}"]
    problems = find_differences(told.report, whole.told.report)
    if run.model_calls < answered_calls - _COMMITTING:
        problems.append(f"of {answered_calls} answers of the model {run.model_calls} were kept")
    if told.model_calls != whole.told.model_calls - run.model_calls:
        problems.append(f"{told.model_calls} model calls after {run.model_calls} of {whole.told.model_calls}")
    again = _sent_since(path, newest)
    if twice := answered & again.keys():
        problems.append(f"{len(twice)} requests were sent again that the ledger holds replies to")
    if sum(again.values()) != len(server.requests) - sent:
        problems.append("the ledger does not tell of every request that reached the server")
    return problems


def find_differences(report: Mapping[str, Any], whole: Mapping[str, Any]) -> list[str]:
    """Name the parts of a report that differ from those of an undisturbed run's; none in the same report."""
    parts = sorted(name for name in {*report, *whole} if report.get(name) != whole.get(name))
    return [f"the report is another one, in {', '.join(parts)}"] if parts else []


def _kept(path: Path) -> tuple[set[str], int]:
    """The requests that a ledger holds replies to, and its newest exchange."""
    with closing(sqlite3.connect(path)) as database:
        newest = database.execute("SELECT coalesce(max(id), 0) FROM exchange").fetchone()[0]
        return {row[0] for row in database.execute("SELECT request FROM exchange WHERE error IS NULL")}, newest


def _sent_since(path: Path, newest: int) -> Counter[str]:
    """The requests of a run's later life, and how often each was sent."""
    with closing(sqlite3.connect(path)) as database:
        return Counter(row[0] for row in database.execute("SELECT request FROM exchange WHERE id > ?", (newest,)))
