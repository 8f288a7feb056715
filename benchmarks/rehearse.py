"""How long runs take at the real sources' pace: three questions over recorded replies that come as slowly as theirs.

The server works in a process of its own, so that its searching is no work of the run's.

Each source is asked no more often than its public one may be asked without a key, and answers after the time that its
card calls typical (`--times 4` rehearses a slow day). Printed for each run: requests by source, seconds that they
waited for the limits, how long the sources were waited for, the critical path (who answered last in each round, then
judge and report), wall time, and a lower bound, which no order of the same requests could beat: the largest of all
sources' requests at their limits, with one reply time, and of the rounds, one after another, with the longest chain of
replies that each needs. `make rehearse ARGS="--depth quick"`.
"""

import argparse
import asyncio
import multiprocessing
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection

from faults.server import SourceServer, typical_s

from willowbark.agents.findings import Findings
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import Depth
from willowbark.teams.run.research import research_stream
from willowbark.tools.http.endpoints import LIMIT_SHARE, Endpoints
from willowbark.tools.http.transport import Exchange
from willowbark.tools.registry import cards, title_of

QUESTIONS = (
    "Which existing drugs could prevent migraine attacks?",
    "Which existing drugs slow diabetic nephropathy?",
    "What existing drugs help people quit smoking?",
)
CHAIN = ("pubmed", "pubmed")  # the longest chain of a round: ESearch, then EFetch


class Watch:
    """A recorder that remembers when each exchange was under way."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, Exchange]] = []

    def exchanged(self, exchange: Exchange) -> None:
        """Note an exchange, which has just ended."""
        self.seen.append((time.monotonic(), exchange))

    @property
    def requests(self) -> Counter[str]:
        """Exchanges by source."""
        return Counter(exchange.source for _, exchange in self.seen)

    @property
    def asked_twice(self) -> int:
        """Requests that were sent before; attempts to get an answer at last are none."""
        firsts = Counter(exchange.request for _, exchange in self.seen if exchange.attempt == 1)
        return sum(count - 1 for count in firsts.values())

    @property
    def busy_s(self) -> float:
        """Seconds in which at least one exchange was waited for, or under way."""
        total, until = 0.0, float("-inf")
        for begun, ended in sorted((at - each.elapsed_s - each.waited_s, at) for at, each in self.seen):
            total += max(0.0, ended - max(begun, until))
            until = max(until, ended)
        return total


def lower_bound_s(requests: Counter[str], rounds: int, times: float) -> float:
    """Seconds that these requests take in any order."""
    known = cards()
    by_limit = (
        (count - 1) / (known[name].per_second * LIMIT_SHARE) + known[name].typical_s * times
        for name, count in requests.items()
    )
    in_turns = rounds * sum(known[name].typical_s * times for name in CHAIN)
    return max(*by_limit, in_turns)


async def lived(question: str, depth: Depth, url: str, watch: Watch) -> tuple[ResearchReport, Mapping[str, float]]:
    """The report of one run, and whom it waited for how many seconds, one after another."""
    path = defaultdict[str, float](float)
    last, answered = time.monotonic(), ""
    stream = research_stream(
        question, endpoints=Endpoints.at(url, live_like=True), recorder=watch, depth=depth, ledger=None
    )
    async for event in stream:
        if isinstance(event.data, Findings):
            answered, at = event.data.specialist, time.monotonic()
        if event.type in ("judge_complete", "complete"):
            if answered:
                path[answered] += at - last
                last, answered = at, ""
            path["judge" if event.type == "judge_complete" else "report"] += time.monotonic() - last
            last = time.monotonic()
    assert isinstance(event.data, ResearchReport)
    return event.data, path


def rehearse(question: str, depth: Depth, url: str, times: float) -> float:
    """Live one run, print its account, and give its wall time."""
    watch, began, worked = Watch(), time.monotonic(), time.process_time()
    report, path = asyncio.run(lived(question, depth, url, watch))
    wall_s, own_s = time.monotonic() - began, time.process_time() - worked
    by_source = ", ".join(f"{title_of(name)} {count}" for name, count in watch.requests.most_common())
    waits = {name: sum(each.waited_s for _, each in watch.seen if each.source == name) for name in watch.requests}
    longest = ", ".join(f"{title_of(name)} {waits[name]:.1f}" for name in sorted(waits, key=waits.__getitem__)[:-4:-1])
    bound_s = lower_bound_s(watch.requests, report.search_iterations, times)
    print(
        f"{question}\n  {report.total_papers_reviewed} records, {report.search_iterations} rounds, {report.stop_reason}"
    )
    print(f"  requests: {watch.requests.total()} ({by_source}), {watch.asked_twice} of them asked before")
    print(f"  waited for limits, all requests added up: {longest} s")
    print(f"  sources waited for: {watch.busy_s:.1f} s; processor: {own_s:.1f} s")
    critical = ", ".join(f"{who} {seconds:.1f}" for who, seconds in sorted(path.items(), key=lambda each: -each[1]))
    print(f"  critical path: {critical} s")
    print(f"  wall: {wall_s:.1f} s; lower bound: {bound_s:.1f} s", flush=True)
    return wall_s


def serve(times: float, told: Connection) -> None:
    """Serve at the sources' pace, and tell where, until told to stop."""
    with SourceServer(latency_s=lambda source: times * typical_s(source)) as server:
        told.send(server.url)
        threading.Event().wait()


@contextmanager
def served(times: float) -> Iterator[str]:
    """The address of a server in a process of its own."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(times, there), daemon=True)
    process.start()
    there.close()
    try:
        yield here.recv()
    finally:
        process.kill()
        process.join()


def main() -> None:
    """Rehearse the questions one after another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--depth", default="standard", choices=("quick", "standard", "exhaustive"))
    parser.add_argument("--times", type=float, default=1.0, help="how much slower than on an ordinary day")
    parser.add_argument("--question", action="append", help="instead of the three; may be repeated")
    asked = parser.parse_args()
    with served(asked.times) as url:
        walls = [rehearse(each, asked.depth, url, asked.times) for each in asked.question or QUESTIONS]
    print(f"longest wall: {max(walls):.1f} s")


if __name__ == "__main__":
    main()
