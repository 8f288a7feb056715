"""Time, memory and requests of runs over the sandbox; rerun with `make bench-smoke`.

Machines are noisy: read the ratios, and the medians rather than single figures.
"""

import argparse
import asyncio
import gc
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import httpx
from autogen_agentchat.messages import TextMessage
from autogen_core import CancellationToken

from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import RunContext
from willowbark.agents.literature import literature_agent
from willowbark.agents.mechanism import mechanism_agent
from willowbark.agents.trials import trials_agent
from willowbark.teams.config import Settings
from willowbark.teams.run.research import research_stream
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import ExchangeLog, Transport
from willowbark.tools.sandbox.library import Library
from willowbark.tools.sandbox.server import SandboxServer
from willowbark.tools.sources.pubmed import PubMed
from willowbark.tools.sources.pubmed_record import parse_articles

QUESTION = "Which existing drugs could prevent migraine attacks?"
RUN = """
import asyncio, json, resource, time
began = time.perf_counter()
from willowbark.teams import research
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.sandbox.server import SandboxServer
from willowbark.tools.http.transport import ExchangeLog
imported = time.perf_counter()
log = ExchangeLog()
with SandboxServer() as sandbox:
    started = time.perf_counter()
    report = asyncio.run(research(QUESTION, endpoints=Endpoints.sandbox(sandbox.url), recorder=log))
    ended = time.perf_counter()
print(json.dumps({
    "import_s": imported - began, "run_s": ended - started, "requests": len(log.exchanges),
    "candidates": len(report.candidates), "rounds": report.search_iterations,
    "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
}))
"""


def whole_run(question: str) -> dict[str, float]:
    """One run in a fresh process."""
    code = RUN.replace("QUESTION", repr(question))
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout)
    return found


def first_event(question: str) -> float:
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


async def one_search(repeats: int) -> tuple[list[float], float]:
    """Seconds of warm PubMed searches of ten records, and requests for each."""
    log = ExchangeLog()
    times = []
    with SandboxServer() as sandbox:
        async with Transport(Endpoints.sandbox(sandbox.url), recorder=log) as transport:
            source = PubMed(transport)
            await source.find("migraine", 10)
            warm = len(log.exchanges)
            for _ in range(repeats):
                began = time.perf_counter()
                await source.find("migraine", 10)
                times.append(time.perf_counter() - began)
    return times, (len(log.exchanges) - warm) / repeats


async def server_alone(repeats: int) -> list[float]:
    """Seconds of the same two requests with bare httpx: what the server and the loopback take."""
    times = []
    with SandboxServer() as sandbox:
        async with httpx.AsyncClient(base_url=f"{sandbox.url}/pubmed/") as client:
            search = {"db": "pubmed", "term": "migraine", "retmode": "json", "retmax": "10", "sort": "relevance"}
            ids = (await client.get("esearch.fcgi", params=search)).json()["esearchresult"]["idlist"]
            for _ in range(repeats):
                began = time.perf_counter()
                await client.get("esearch.fcgi", params=search)
                await client.get("efetch.fcgi", params={"db": "pubmed", "id": ",".join(ids), "retmode": "xml"})
                times.append(time.perf_counter() - began)
    return times


async def side_by_side(latency_s: float) -> tuple[float, dict[str, float]]:
    """Seconds of a round of three specialists at a latency, and of each specialist alone."""
    alone = {}
    with SandboxServer(latency_s=latency_s) as sandbox:
        endpoints = Endpoints.sandbox(sandbox.url)
        for build in (literature_agent, trials_agent, mechanism_agent):
            async with Transport(endpoints) as transport:
                agent = build(BaselineChatCompletionClient())
                agent.join(RunContext(transport))
                began = time.perf_counter()
                await agent.on_messages([TextMessage(content=QUESTION, source="user")], CancellationToken())
                alone[agent.name] = time.perf_counter() - began
        began = time.perf_counter()
        settings = Settings().overridden({"research.max_iterations": 1})
        together = 0.0
        async for event in research_stream(QUESTION, settings=settings, endpoints=endpoints):
            if event.type == "judging":
                together = time.perf_counter() - began
    return together, alone


def parse_rate(repeats: int) -> tuple[int, float]:
    """Records and records/s of the PubMed parser, on the sandbox's own replies."""
    pmids = [record.pmid for record in Library.load().publications if record.pmid]
    with SandboxServer() as sandbox:
        form = {"db": "pubmed", "id": ",".join(pmids), "retmode": "xml"}
        body = httpx.post(f"{sandbox.url}/pubmed/efetch.fcgi", data=form).content
    gc.collect()
    began = time.perf_counter()
    for _ in range(repeats):
        parse_articles(body)
    return len(pmids), len(pmids) * repeats / (time.perf_counter() - began)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="whole runs in fresh processes")
    parser.add_argument("--repeats", type=int, default=50, help="warm searches")
    parser.add_argument("--latency-ms", type=float, default=300.0, help="of the sandbox, for the parallel round")
    options = parser.parse_args()

    runs = [whole_run(QUESTION) for _ in range(options.runs)]
    for name in ("import_s", "run_s", "peak_mb", "requests", "rounds", "candidates"):
        values = [run[name] for run in runs]
        print(
            f"whole run, {name:<10} median {statistics.median(values):8.2f}  ({min(values):.2f} to {max(values):.2f})"
        )
    waits = [first_event(QUESTION) for _ in range(options.runs)]
    print(f"command line, first event: median {statistics.median(waits):.2f} s  ({min(waits):.2f} to {max(waits):.2f})")
    searches, requests = asyncio.run(one_search(options.repeats))
    bare = asyncio.run(server_alone(options.repeats))
    ours, server = statistics.median(searches) * 1000, statistics.median(bare) * 1000
    print(f"search of 10 records, warm: {ours:.1f} ms, {requests:.1f} requests")
    print(f"the same with bare httpx: {server:.1f} ms; added {ours - server:.1f} ms")
    together, alone = asyncio.run(side_by_side(options.latency_ms / 1000))
    slowest, series = max(alone.values()), sum(alone.values())
    print(
        f"three specialists at {options.latency_ms:.0f} ms: together {together:.2f} s, in series {series:.2f} s, "
        f"slowest {slowest:.2f} s; {together / slowest:.2f} times the slowest"
    )
    records, rate = parse_rate(20)
    print(f"PubMed XML: {rate:,.0f} records/s ({records} records of the library)")
    print(f"this process' peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
