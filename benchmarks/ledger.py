"""What keeping a ledger costs: runs on the sandbox with the ledger in a file, and with it in memory, turn by turn.

    python benchmarks/ledger.py [RUNS]

Prints the share of a run's wall time, the difference of the medians; at most 5 % is the aim.
"""

import asyncio
import logging
import statistics
import sys
import tempfile
import time
from pathlib import Path

from willowbark.teams.config import Settings
from willowbark.teams.ledger import Ledger
from willowbark.teams.run import research
from willowbark.tools.endpoints import Endpoints
from willowbark.tools.sandbox.server import SandboxServer

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
    print(f"{runs} runs of {ROUNDS} rounds each; medians")
    for latency_s in (0.0, 0.1):
        compare(runs, latency_s)


def compare(runs: int, latency_s: float) -> None:
    """Measure with a sandbox of a latency, and print; the public sources take 0.1 s and more."""
    times: dict[str, list[float]] = {"none": [], "memory": [], "file": []}
    with SandboxServer(latency_s=latency_s) as server, tempfile.TemporaryDirectory() as folder:
        endpoints = Endpoints.sandbox(server.url)
        with Ledger(None) as memory, Ledger(Path(folder) / "ledger.db") as file:
            asyncio.run(seconds(endpoints, None))  # what is built once in a process does not count
            for _ in range(runs):
                for name, ledger in (("none", None), ("memory", memory), ("file", file)):
                    times[name].append(asyncio.run(seconds(endpoints, ledger)))
        size = (Path(folder) / "ledger.db").stat().st_size / runs
    medians = {name: statistics.median(taken) for name, taken in times.items()}
    overhead = medians["file"] / medians["memory"] - 1
    print(f"sandbox with {latency_s:g} s of latency")
    for name, median in medians.items():
        print(f"  ledger: {name:7} {median:6.2f} s  (from {min(times[name]):.2f} to {max(times[name]):.2f})")
    print(f"  file over memory: {overhead:+.1%} (aim: at most {AIM:.0%})")
    print(f"  file over none:   {medians['file'] / medians['none'] - 1:+.1%}")
    print(f"  size: {size / 1e6:.2f} MB a run")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
