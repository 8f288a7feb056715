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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from willowbark.tools.http.endpoints import Endpoints

from .breakage import FaultyServer
from .plan import FaultPlan
from .running import FACTOR, QUESTIONS, run
from .verdict import Figure, Row, exactly

SIDE_BY_SIDE = 8
_WARM_UP = 0.25  # share of the time in which caches may still fill
_GROWTH = 1.10  # of the median memory from the second quarter to the last


@dataclass(frozen=True, slots=True)
class Sample:
    """How the process stood at a moment between two rounds of runs."""

    seconds: float
    megabytes: float
    descriptors: int
    threads: int


def soaked(minutes: float, seed: int) -> Row:
    """F11: rounds of eight runs until the time is over."""
    before = time.perf_counter()
    samples, failures, unhandled, runs = asyncio.run(_soak(minutes * 60, seed))
    warm = [sample for sample in samples if sample.seconds >= _WARM_UP * samples[-1].seconds]
    third = max(1, len(warm) // 3)
    early, late = warm[:third], warm[-third:]
    figures = [
        exactly("runs without a report", len(failures), 0),
        exactly("unhandled task exceptions", len(unhandled), 0),
        Figure("memory, last third over first", _median(late) / _median(early), at_most=_GROWTH),
        Figure("descriptors gained", _usual(late, "descriptors") - _usual(early, "descriptors"), at_most=2),
        Figure("threads gained", _usual(late, "threads") - _usual(early, "threads"), at_most=1),
    ]
    notes = [f"{samples[0].megabytes:.0f} MB at first, {samples[-1].megabytes:.0f} MB at last", *failures, *unhandled]
    what = f"{SIDE_BY_SIDE} side by side for {minutes:g} minutes, faults at half of F1's rates"
    reads = ["a report of each run"]
    return Row("F11", runs, what, seed, time.perf_counter() - before, figures, notes, reads)


def _median(samples: list[Sample]) -> float:
    return statistics.median(sample.megabytes for sample in samples)


def _usual(samples: list[Sample], what: str) -> int:
    """The median: what leaks stays, while the server here has some connections open for a moment now and then."""
    return int(statistics.median_low(getattr(sample, what) for sample in samples))


async def _soak(seconds: float, seed: int) -> tuple[list[Sample], list[str], list[str], int]:
    unhandled: list[str] = []

    def note(_: asyncio.AbstractEventLoop, told: dict[str, Any]) -> None:
        unhandled.append(f"{told.get('message')}: {told.get('exception')!r}")

    asyncio.get_running_loop().set_exception_handler(note)
    plan = FaultPlan.rough(seed)
    halved = tuple(fault.model_copy(update={"rate": fault.rate / 2}) for fault in plan.faults)
    failures: list[str] = []
    samples: list[Sample] = []
    start, runs = time.monotonic(), 0
    with FaultyServer(faults=FaultPlan(seed=seed, faults=halved).scaled(FACTOR)) as server:
        endpoints = Endpoints.at(server.url)
        while time.monotonic() - start < seconds or len(samples) < 4:
            asked = [QUESTIONS[(runs + place) % len(QUESTIONS)] for place in range(SIDE_BY_SIDE)]
            results = await asyncio.gather(*(run(question, endpoints) for question in asked))
            failures += [result.failure for result in results if result.failure]
            runs += len(results)
            del results
            server.requests.clear()  # the server's own log is no growth of what is measured
            gc.collect()
            samples.append(_sample(time.monotonic() - start))
    return samples, failures, unhandled, runs


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
