"""Time, memory and requests of runs over recorded replies: `make bench-smoke`, `make rehearse`.

    python -m benchmarks.smoke [--library DIR] [--question …]   whole runs in fresh processes, and how fast is read
    python -m benchmarks.smoke --ledger                         what keeping a ledger costs; at most 5 % is the aim
    python -m benchmarks.smoke --pace [--depth quick] [--times 4]

The last rehearses the real sources: each answers after the time that its card calls typical (`--times 4`: a slow day),
and is asked no more often than its public one may be asked without a key. Printed are requests by source, the seconds
that they waited, the critical path (who answered last in each round, then judge and report), wall time, and a lower
bound, which no order of the same requests could beat: the largest of all sources' requests at their limits, with one
reply time, and of the rounds, one after another, with the longest chain of replies that each needs; the ratio of
wall time to it; and the processor time for which the event loop stood still at most. The replies are made of the
bundled library's facts: 340 records, as many as an ordinary question finds. The web is not searched: its engines are
asked so seldom that nothing else would be measured.

Machines are noisy: read the ratios, and the medians rather than single figures; `cpu_s` is processor time, which other
programs weigh on less, after all imports.
"""

import argparse
import asyncio
import json
import multiprocessing
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from asyncio.events import Handle
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from faults.bundled import bundled_publications
from faults.rehearsal import write_replies
from faults.server import SourceServer, typical_s

from willowbark.agents.findings import Findings
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import Settings
from willowbark.teams.ledger import Ledger
from willowbark.teams.run.research import research, research_stream
from willowbark.tools.appraisal.appraised import load_reader
from willowbark.tools.http.endpoints import LIMIT_SHARE, Endpoints
from willowbark.tools.http.transport import Exchange
from willowbark.tools.lexicon import find_conditions, find_drugs
from willowbark.tools.reading.document import Document
from willowbark.tools.records.registry import cards, title_of

QUESTIONS = (
    "Which existing drugs could prevent migraine attacks?",
    "Which existing drugs slow diabetic nephropathy?",
    "What existing drugs help people quit smoking?",
)
RUN = """
import asyncio, json, pathlib, tempfile, time
def peak_mb():  # of this process alone, which getrusage is not: it goes on from the process that started it
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
began = time.perf_counter()
from willowbark.teams import research
import willowbark.agents.baseline.client, willowbark.teams.run.course
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import ExchangeLog
imported = time.perf_counter()
log = ExchangeLog()
with tempfile.TemporaryDirectory() as folder:
    started, cpu = time.perf_counter(), time.process_time()
    report = asyncio.run(research(QUESTION, WHERE, recorder=log, ledger=pathlib.Path(folder) / "ledger.db"))
    ended, cpu = time.perf_counter(), time.process_time() - cpu
    size = sum(path.stat().st_size for path in pathlib.Path(folder).iterdir()) / 1e6
print(json.dumps({
    "import_s": imported - began, "run_s": ended - started, "cpu_s": cpu, "requests": len(log.exchanges),
    "records": report.total_papers_reviewed, "candidates": len(report.candidates), "rounds": report.search_iterations,
    "peak_mb": peak_mb(), "ledger_mb": size,
}))
"""
ABSTRACTS = 200  # abstracts of which the speed of reading is taken
CHAIN = ("pubmed", "pubmed")  # the longest chain of a round: ESearch, then EFetch


def measure_whole_run(question: str, where: str) -> dict[str, float]:
    """One run in a fresh process; `where` says in code whom it asks."""
    code = RUN.replace("QUESTION", repr(question)).replace("WHERE", where)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def time_first_event(question: str) -> float:
    """Seconds from starting the command line to its first line of progress."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        command = [sys.executable, "-m", "willowbark", "ask", "--offline", "--no-ledger", "--out", folder, question]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as running:  # noqa: S603
            assert running.stderr is not None
            running.stderr.readline()
            waited = time.perf_counter() - began
            running.stderr.read()
    return waited


def time_reading() -> float:
    """Abstracts that the default reader reads in a second of processor time, each for one drug and condition."""
    cases = []
    for paper in bundled_publications():
        document = Document(paper.title, paper.abstract or "")
        drugs = find_drugs(document.whole)
        conditions = find_conditions(document.whole)
        if drugs and conditions:
            cases.append((document, drugs[0].name, conditions[0].name))
    reader = load_reader()
    reader.read_document(*cases[0])  # the weights are loaded once
    began = time.process_time()
    for case in cases[1 : ABSTRACTS + 1]:
        reader.read_document(*case)
    return len(cases[1 : ABSTRACTS + 1]) / (time.process_time() - began)


def measure_runs(library: Path | None, questions: list[str], count: int) -> None:
    """Print what whole runs of the first question take, medians first."""
    with SourceServer() as replies:
        where = f"library={str(library)!r}" if library else f"endpoints=Endpoints.at({replies.url!r})"
        runs = [measure_whole_run(questions[0], where) for _ in range(count)]
    for name in runs[0]:
        values = [run[name] for run in runs]
        print(
            f"whole run, {name:<10} median {statistics.median(values):8.2f}  ({min(values):.2f} to {max(values):.2f})"
        )
    if library is None:
        waits = [time_first_event(questions[0]) for _ in range(count)]
        print(f"command line, first event: median {statistics.median(waits):.2f} s")
        print(f"reading: {time_reading():.0f} abstracts a second of processor time")


def measure_ledger(count: int) -> None:
    """Print the share that a ledger in a file adds to neighbouring runs with one in memory: medians of the ratios."""

    def take(ledger: Ledger) -> tuple[float, float]:
        wall = time.perf_counter()
        processor = time.process_time()
        asyncio.run(research(QUESTIONS[0], endpoints=Endpoints.at(server.url), ledger=ledger))
        return time.perf_counter() - wall, time.process_time() - processor

    with SourceServer(latency_s=0.1) as server, tempfile.TemporaryDirectory() as folder:
        with Ledger(None) as memory, Ledger(Path(folder) / "ledger.db") as file:
            take(memory)  # what is built once in a process does not count
            pairs = [(take(file), take(memory)) for _ in range(count)]
        size = (Path(folder) / "ledger.db").stat().st_size / count
    wall = statistics.median(in_file[0] / in_memory[0] for in_file, in_memory in pairs) - 1
    processor = statistics.median(in_file[1] / in_memory[1] for in_file, in_memory in pairs) - 1
    print(f"ledger in a file over one in memory: {wall:+.1%} wall time, {processor:+.1%} processor time")
    print(f"size: {size / 1e6:.2f} MB a run")


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
    def waits(self) -> Counter[str]:
        """Seconds waited for limits, by source, all its requests added up."""
        seconds: Counter[str] = Counter()
        for _, exchange in self.seen:
            seconds[exchange.source] += exchange.waited_s  # type: ignore[assignment]  # a Counter may hold floats
        return seconds

    @property
    def busy_s(self) -> float:
        """Seconds in which at least one exchange was waited for, or under way."""
        total = 0.0
        until = float("-inf")
        for begun, ended in sorted((at - exchange.elapsed_s - exchange.waited_s, at) for at, exchange in self.seen):
            total += max(0.0, ended - max(begun, until))
            until = max(until, ended)
        return total


def compute_lower_bound_s(requests: Counter[str], rounds: int, times: float) -> float:
    """Seconds that these requests take in any order."""
    source_cards = cards()
    by_limit = (
        max(0, count - 1 - source_cards[name].burst) / (source_cards[name].per_second * LIMIT_SHARE)
        + source_cards[name].typical_s * times
        for name, count in requests.items()
    )
    return max(*by_limit, rounds * sum(source_cards[name].typical_s * times for name in CHAIN))


async def live_through(question: str, watch: Watch, **choices: Any) -> tuple[ResearchReport, Mapping[str, float]]:
    """The report of one run, and whom it waited for how many seconds, one after another."""
    path = defaultdict[str, float](float)
    last = time.monotonic()
    answered = ""
    async for event in research_stream(question, recorder=watch, ledger=None, **choices):
        if isinstance(event.data, Findings):
            answered = event.data.specialist
            at = time.monotonic()
        if event.type in ("judge_complete", "complete"):
            if answered:
                path[answered] += at - last
                last = at
                answered = ""
            path["judge" if event.type == "judge_complete" else "report"] += time.monotonic() - last
            last = time.monotonic()
    assert isinstance(event.data, ResearchReport)
    return event.data, path


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """The account of one run at the sources' pace."""

    question: str
    records: int
    rounds: int
    requests: Counter[str]
    asked_twice: int
    waits: Counter[str]
    """Seconds that requests waited for limits, by source."""
    busy_s: float
    """Seconds in which a source was waited for."""
    own_s: float
    """Processor time."""
    longest_step_s: float
    """Processor time for which the event loop stood still at most."""
    path: Mapping[str, float]
    """Seconds by whom the run waited for, one after another."""
    wall_s: float
    bound_s: float

    def __str__(self) -> str:
        by_source = ", ".join(f"{title_of(name)} {count}" for name, count in self.requests.most_common())
        longest = ", ".join(f"{title_of(name)} {waited:.1f}" for name, waited in self.waits.most_common(3))
        ordered = sorted(self.path.items(), key=lambda item: -item[1])
        critical = ", ".join(f"{who} {seconds:.1f}" for who, seconds in ordered)
        step_ms = self.longest_step_s * 1000
        ratio = self.wall_s / self.bound_s
        lines = [
            self.question,
            f"{self.records} records, {self.rounds} rounds",
            f"requests: {self.requests.total()} ({by_source}), {self.asked_twice} of them asked before",
            f"waited for limits, all requests added up: {longest} s",
            f"sources waited for: {self.busy_s:.1f} s; processor: {self.own_s:.1f} s",
            f"the event loop's longest step: {step_ms:.0f} ms of processor time",
            f"critical path: {critical} s",
            f"wall: {self.wall_s:.1f} s; lower bound: {self.bound_s:.1f} s; ratio {ratio:.2f}",
        ]
        return "\n  ".join(lines)


@contextmanager
def time_longest_step() -> Iterator[list[float]]:
    """Time the steps of event loops meanwhile, in processor time, which other programs do not stretch.

    The list that it gives holds the longest step so far, in seconds.
    """
    run_handle = Handle._run
    longest = [0.0]

    def run_timed(handle: Handle) -> None:
        began = time.thread_time()
        run_handle(handle)
        longest[0] = max(longest[0], time.thread_time() - began)

    setattr(Handle, "_run", run_timed)  # noqa: B010  asyncio has no hook around its callbacks
    try:
        yield longest
    finally:
        setattr(Handle, "_run", run_handle)  # noqa: B010


def rehearse(question: str, depth: str, url: str, times: float) -> Rehearsal:
    """Live one run, and return its account."""
    watch = Watch()
    began = time.monotonic()
    worked = time.process_time()
    own = Endpoints.at(url)
    paced = {
        name: own[name].model_copy(update={"per_second": card.per_second, "burst": card.burst})
        for name, card in cards().items()
    }
    sources = [name for name in Settings().tools.sources if cards()[name].use != "web"]
    choices = {"endpoints": own.model_copy(update={"by_source": paced}), "depth": depth, "sources": sources}
    with time_longest_step() as step:
        report, path = asyncio.run(live_through(question, watch, **choices))
    return Rehearsal(
        question=question,
        records=report.total_papers_reviewed,
        rounds=report.search_iterations,
        requests=watch.requests,
        asked_twice=watch.asked_twice,
        waits=watch.waits,
        busy_s=watch.busy_s,
        own_s=time.process_time() - worked,
        longest_step_s=step[0],
        path=path,
        wall_s=time.monotonic() - began,
        bound_s=compute_lower_bound_s(watch.requests, report.search_iterations, times),
    )


def serve(times: float, pipe: Connection) -> None:
    """Serve at the sources' pace, and tell where, until told to stop."""
    with tempfile.TemporaryDirectory() as folder:
        replies = write_replies(Path(folder) / "replies")
        with SourceServer(latency_s=lambda source: times * typical_s(source), replies=replies) as server:
            pipe.send(server.url)
            threading.Event().wait()


@contextmanager
def serve_paced(times: float) -> Iterator[str]:
    """The address of a server in a process of its own, so that its searching is no work of the run's."""
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
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5, help="runs that a median is taken of")
    parser.add_argument("--question", action="append", help="instead of our own; may be repeated with --pace")
    parser.add_argument("--library", type=Path, help="a local library to ask")
    parser.add_argument("--ledger", action="store_true")
    parser.add_argument("--pace", action="store_true")
    parser.add_argument("--depth", default="standard", choices=("quick", "standard", "exhaustive"))
    parser.add_argument("--times", type=float, default=1.0, help="how much slower than on an ordinary day")
    options = parser.parse_args()
    questions = options.question or list(QUESTIONS)
    if options.ledger:
        measure_ledger(options.runs)
    elif options.pace:
        with serve_paced(options.times) as url:
            for question in questions:
                print(rehearse(question, options.depth, url, options.times), flush=True)
    else:
        measure_runs(options.library, questions, options.runs)


if __name__ == "__main__":
    main()
