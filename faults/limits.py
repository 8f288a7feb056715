"""F7: rate limits as a server sees them, with four processes of eight tasks each at work."""

import argparse
import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from willowbark.tools.http.endpoints import Endpoint, Endpoints, RateLimiter
from willowbark.tools.http.transport import Transport

from .breakage import FaultyServer
from .plan import FaultPlan
from .verdict import Figure, Row, exactly

PROCESSES, TASKS = 4, 8
LIMITS = {"pubmed": 3.0, "europepmc": 10.0}
"""Requests a second that the server enforces."""
_PATHS = {"pubmed": "esearch.fcgi", "europepmc": "search"}
_QUERY = {"term": "x", "retmode": "json", "query": "x", "format": "json", "resultType": "core"}  # in both languages
_SECONDS = 30.0
_SHORTEST_S = 4.0
_USED = 0.75


def limited(scale: float, seed: int) -> Row:
    """F7: no window of a second holds more than the limit, and most of the limit is used. In real time."""
    before, seconds = time.perf_counter(), max(_SHORTEST_S, _SECONDS * scale)
    plan = FaultPlan(seed=seed, limits=LIMITS)
    with (  # limits are kept by host and port, so each source gets a server of its own
        FaultyServer(plan) as first,
        FaultyServer(plan) as second,
        tempfile.TemporaryDirectory() as folder,
    ):
        servers = dict(zip(LIMITS, (first, second), strict=True))
        start = time.time() + 6.0  # all processes have started by then
        told = [first.url, second.url, f"{folder}/limits.sqlite", str(start), str(seconds)]
        workers = [
            subprocess.Popen(
                [sys.executable, "-m", "faults.limits", *told],
                cwd=Path(__file__).parent.parent,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(PROCESSES)
        ]
        errors = [worker.communicate()[1] for worker in workers]
        failed = [worker.returncode for worker in workers]
        moments = {source: [seen.moment for seen in server.requests] for source, server in servers.items()}
        refused = sum(sum(server.refused.values()) for server in servers.values())
    figures = [
        exactly("processes that failed", sum(map(bool, failed)), 0),
        exactly("processes that complain", sum(map(bool, errors)), 0),
        exactly(
            "refused by the server", refused, 0, timed=True
        ),  # on a busy machine requests arrive late, and together
    ]
    for source, limit in LIMITS.items():
        figures += [
            Figure(f"most in a second of {limit:g}", most_in_a_second(moments[source]), at_most=limit, timed=True),
            Figure(f"share of {limit:g}/s used", used(moments[source], limit), at_least=_USED, timed=True),
        ]
    what = f"{PROCESSES} processes × {TASKS} tasks for {seconds:.0f} s; the server enforces 3/s and 10/s"
    reads = [line.strip() for line in errors if line] or ["nothing: every request is answered, each in its turn"]
    return Row("F7", 1, what, seed, time.perf_counter() - before, figures, reads=reads)


def most_in_a_second(moments: Sequence[float]) -> int:
    """The most requests in any window of one second.

    >>> most_in_a_second([0.0, 0.5, 0.9, 1.0, 1.2])
    4
    """
    ordered, first, most = sorted(moments), 0, 0
    for last, moment in enumerate(ordered):
        while moment - ordered[first] >= 1.0:
            first += 1
        most = max(most, last - first + 1)
    return most


def used(moments: Sequence[float], limit: float) -> float:
    """Share of a limit that was used between the first request and the last."""
    if len(moments) < 2:
        return 0.0
    return (len(moments) - 1) / (max(moments) - min(moments)) / limit


async def work(urls: Sequence[str], limiter: RateLimiter, start: float, seconds: float) -> None:
    """Ask the servers of `LIMITS` as often as a limiter lets, from a moment on, for so many seconds."""
    endpoints = Endpoints(
        by_source={
            source: Endpoint(base_url=f"{url}/{source}", per_second=LIMITS[source])
            for source, url in zip(LIMITS, urls, strict=True)
        }
    )
    async with Transport(endpoints, limiter=limiter) as transport:
        await asyncio.sleep(start - time.time())

        async def ask(source: str) -> None:
            while time.time() < start + seconds:
                await transport.get(source, _PATHS[source], read=lambda reply: reply.status, params=_QUERY)

        tasks = [ask(source) for source in LIMITS for _ in range(TASKS // len(LIMITS))]
        await asyncio.gather(*tasks)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("urls", nargs=2)
    parser.add_argument("file")
    parser.add_argument("start", type=float)
    parser.add_argument("seconds", type=float)
    asked = parser.parse_args()
    asyncio.run(work(asked.urls, RateLimiter(Path(asked.file)), asked.start, asked.seconds))
