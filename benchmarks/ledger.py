"""What keeping a ledger costs: runs on recorded replies with the ledger in a file, and with it in memory, turn by turn.

    python -m benchmarks.ledger [RUNS]

Prints the share of a run's wall time: of each pair of neighbouring runs the ratio, and of the ratios the median, so
that other programs weigh on both sides alike; at most 5 % is the aim. Processor time stands beside it.
"""

import asyncio
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from faults.server import SourceServer

from willowbark.teams.config import Settings
from willowbark.teams.ledger import Ledger
from willowbark.teams.run.research import research
from willowbark.tools.http.endpoints import Endpoints

QUESTION = "Which existing drugs could prevent migraine attacks?"
AIM = 0.05
ROUNDS = 3


async def seconds(endpoints: Endpoints, ledger: Ledger | None) -> float:
    """Wall time of one run."""
    settings = Settings().overridden({"research.max_iterations": ROUNDS, "research.judge_threshold": 1.0})
    started = time.perf_counter()
    await research(QUESTION, settings=settings, endpoints=endpoints, ledger=ledger)
    return time.perf_counter() - started


def main(runs: int) -> None:
    """Measure and print."""
    logging.disable(logging.WARNING)
    print(f"{runs} runs of {ROUNDS} rounds for each kind of ledger")
    for latency_s in (0.0, 0.1):
        compare(runs, latency_s)


def compare(runs: int, latency_s: float) -> None:
    """Measure with a server of a latency, and print; the public sources take 0.1 s and more."""
    kinds = ["none", "memory", "file"]
    taken: dict[str, list[Taken]] = {kind: [] for kind in kinds}
    with SourceServer(latency_s=latency_s) as server, tempfile.TemporaryDirectory() as folder:
        endpoints = Endpoints.at(server.url)
        with Ledger(None) as memory, Ledger(Path(folder) / "ledger.db") as file:
            ledgers = {"none": None, "memory": memory, "file": file}
            measured(endpoints, None)  # what is built once in a process does not count
            for number in range(runs):
                for kind in kinds if number % 2 else reversed(kinds):
                    taken[kind].append(measured(endpoints, ledgers[kind]))
        size = (Path(folder) / "ledger.db").stat().st_size / runs
    print(f"server with {latency_s:g} s of latency")
    for kind, times in taken.items():
        walls = [one.wall_s for one in times]
        middle = statistics.median(walls)
        print(f"  ledger: {kind:7} {middle:6.2f} s  (from {min(walls):.2f} to {max(walls):.2f})")
    print(f"  file over memory: {over(taken, 'file', 'memory')} (aim: at most {AIM:.0%})")
    print(f"  file over none:   {over(taken, 'file', 'none')}")
    print(f"  size: {size / 1e6:.2f} MB a run")


class Taken(NamedTuple):
    """Time of one run."""

    wall_s: float
    processor_s: float
    """Of the whole process, the server's part too."""


def measured(endpoints: Endpoints, ledger: Ledger | None) -> Taken:
    """Time a run."""
    before = time.process_time()
    wall_s = asyncio.run(seconds(endpoints, ledger))
    return Taken(wall_s, time.process_time() - before)


def over(taken: Mapping[str, list[Taken]], one: str, other: str) -> str:
    """By how much a kind takes longer than another: medians of the ratios, of wall and processor time."""
    pairs = list(zip(taken[one], taken[other], strict=True))
    wall = statistics.median(a.wall_s / b.wall_s for a, b in pairs) - 1
    processor = statistics.median(a.processor_s / b.processor_s for a, b in pairs) - 1
    fastest = min(a.wall_s for a, _ in pairs) / min(b.wall_s for _, b in pairs) - 1
    return f"{wall:+.1%} wall time; fastest over fastest {fastest:+.1%}; {processor:+.1%} processor time"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 15)
