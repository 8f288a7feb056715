"""F11, `python -m faults.soak`: eight runs side by side for minutes; memory and descriptors watched."""

import argparse
import asyncio
import gc
import logging
import os
import statistics
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from willowbark.tools.http.endpoints import Endpoints

from .breakage import FaultyServer
from .networks import clean_runs
from .plan import FaultPlan
from .running import FACTOR, QUESTIONS, RunResult, run, silent_losses, unnamed_losses
from .verdict import Figure, Row, exactly

SIDE_BY_SIDE = 8
_WARM_UP = 0.25  # share of the time in which caches may still fill
_MOST_READ = 5  # lines kept
_GROWTH = 1.10  # of the median memory from the second quarter to the last


@dataclass(frozen=True, slots=True)
class Sample:
    """How the process stood at a moment between two rounds of runs."""

    seconds: float
    megabytes: float
    descriptors: int
    threads: int


@dataclass
class Soaked:
    """What was seen of all runs."""

    samples: list[Sample] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    unhandled: list[str] = field(default_factory=list)
    unnamed: list[str] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)
    reads: dict[str, None] = field(default_factory=dict)
    """What users read of lost sources, and the first answer."""
    runs: int = 0

    def take(self, result: RunResult, clean: RunResult) -> None:
        """Note what a run did, beside one on a day without faults."""
        self.runs += 1
        if result.failure:
            self.failures.append(result.failure)
        self.unnamed += [f"{source} was lost unnamed" for source in unnamed_losses(result, clean)]
        self.silent += silent_losses(result, clean)
        lost = [line for line in result.limitations if line.startswith("Not available:")]
        if len(self.reads) < _MOST_READ:
            self.reads.update(dict.fromkeys(lost or [result.summary]))


def soaked(minutes: float, seed: int) -> Row:
    """F11: rounds of eight runs until the time is over."""
    before = time.perf_counter()
    clean = clean_runs()
    seen = asyncio.run(_soak(minutes * 60, seed, clean))
    samples = seen.samples
    warm = [sample for sample in samples if sample.seconds >= _WARM_UP * samples[-1].seconds]
    third = max(1, len(warm) // 3)
    early, late = warm[:third], warm[-third:]
    figures = [
        exactly("runs without a report", len(seen.failures), 0),
        exactly("unhandled task exceptions", len(seen.unhandled), 0),
        exactly("lost sources not named", len(seen.unnamed), 0),
        exactly("silent empties", len(seen.silent), 0),
        Figure("memory, last third over first", _median(late) / _median(early), at_most=_GROWTH),
        Figure("descriptors gained", _usual(late, "descriptors") - _usual(early, "descriptors"), at_most=2),
        Figure("threads gained", _usual(late, "threads") - _usual(early, "threads"), at_most=1),
    ]
    memory = f"{samples[0].megabytes:.0f} MB at first, {samples[-1].megabytes:.0f} MB at last"
    notes = [memory, *seen.failures, *seen.unhandled, *seen.unnamed, *seen.silent]
    what = f"{SIDE_BY_SIDE} side by side for {minutes:g} minutes, faults at half of F1's rates"
    return Row("F11", seen.runs, what, seed, time.perf_counter() - before, figures, notes, list(seen.reads))


def _median(samples: list[Sample]) -> float:
    return statistics.median(sample.megabytes for sample in samples)


def _usual(samples: list[Sample], what: str) -> int:
    """The median: what leaks stays, while the server here has some connections open for a moment now and then."""
    return int(statistics.median_low(getattr(sample, what) for sample in samples))


async def _soak(seconds: float, seed: int, clean: Mapping[str, RunResult]) -> Soaked:
    seen = Soaked()

    def note(_: asyncio.AbstractEventLoop, told: dict[str, Any]) -> None:
        seen.unhandled.append(f"{told.get('message')}: {told.get('exception')!r}")

    asyncio.get_running_loop().set_exception_handler(note)
    plan = FaultPlan.rough(seed)
    halved = tuple(fault.model_copy(update={"rate": fault.rate / 2}) for fault in plan.faults)
    start = time.monotonic()
    with FaultyServer(faults=FaultPlan(seed=seed, faults=halved).scaled(FACTOR)) as server:
        endpoints = Endpoints.at(server.url)
        while time.monotonic() - start < seconds or len(seen.samples) < 4:
            asked = [QUESTIONS[(seen.runs + place) % len(QUESTIONS)] for place in range(SIDE_BY_SIDE)]
            results = await asyncio.gather(*(run(question, endpoints) for question in asked))
            for result in results:
                seen.take(result, clean[result.question])
            del results
            server.requests.clear()  # the server's own log is no growth of what is measured
            gc.collect()
            seen.samples.append(_sample(time.monotonic() - start))
    return seen


def _sample(seconds: float) -> Sample:
    """Resident memory and descriptors from /proc (Linux)."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    megabytes = pages * os.sysconf("SC_PAGE_SIZE") / 1024**2
    return Sample(seconds, megabytes, len(os.listdir("/proc/self/fd")), threading.active_count())


def main() -> int:
    """Soak, print the row; 1 where it falls short."""
    parser = argparse.ArgumentParser(prog="python -m faults.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    asked = parser.parse_args()
    logging.getLogger().addHandler(logging.NullHandler())
    row = soaked(asked.minutes, asked.seed)
    print(row)
    return int(not row.holds)


if __name__ == "__main__":
    sys.exit(main())
