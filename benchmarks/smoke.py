"""Time, memory and requests of runs over recorded replies, and how uniting records grows: `make bench-smoke`.

`--library DIR --question …` measures a run over a local library (its records, memory and ledger), `--growth` prints
how the time to unite and rank 1,000 to 10,000 records grows. Machines are noisy: read the ratios, and the medians
rather than single figures; `cpu_s` is processor time, which other programs weigh on less, after all imports.
"""

import argparse
import asyncio
import gc
import importlib.util
import json
import math
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
from autogen_agentchat.messages import TextMessage
from autogen_core import CancellationToken
from faults.bundled import bundled_publications
from faults.replies import REPLIES
from faults.server import SourceServer

from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import RunContext
from willowbark.agents.findings import Dossier, Findings
from willowbark.agents.specialists import literature_agent, mechanism_agent, trials_agent
from willowbark.teams.config import Settings
from willowbark.teams.run.research import research_stream
from willowbark.tools.evidence import Citation, Evidence
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import ExchangeLog, Transport
from willowbark.tools.search import SourceReply, Status
from willowbark.tools.sources.studies.pubmed import PubMed
from willowbark.tools.sources.studies.pubmed_record import parse_articles

QUESTION = "Which existing drugs could prevent migraine attacks?"
RUN = """
import asyncio, json, pathlib, tempfile, time
def peak_mb():  # of this process alone, which getrusage is not: it goes on from the process that started it
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024
began, cpu_began = time.perf_counter(), time.process_time()
import autogen_agentchat.agents, autogen_agentchat.teams, autogen_core.models
autogen_s, autogen_mb = time.process_time() - cpu_began, peak_mb()
from willowbark.teams import research
beyond_s = time.process_time() - cpu_began - autogen_s
import willowbark.agents.baseline.client
import willowbark.tools.reading.learned, willowbark.tools.reading.facts
import willowbark.teams.run.course, willowbark.agents.approver
import httpx
team_s = time.process_time() - cpu_began - autogen_s - beyond_s
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import ExchangeLog
imported = time.perf_counter()
log = ExchangeLog()
with tempfile.TemporaryDirectory() as folder:
    started, cpu = time.perf_counter(), time.process_time()
    book = pathlib.Path(folder) / "ledger.db"
    report = asyncio.run(research(QUESTION, WHERE, recorder=log, ledger=book))
    ended, cpu = time.perf_counter(), time.process_time() - cpu
    size = sum(path.stat().st_size for path in pathlib.Path(folder).iterdir()) / 1e6
print(json.dumps({
    "import_s": imported - began, "autogen_s": autogen_s, "beyond_s": beyond_s, "team_s": team_s,
    "run_s": ended - started, "cpu_s": cpu,
    "requests": len(log.exchanges), "records": report.total_papers_reviewed,
    "candidates": len(report.candidates), "rounds": report.search_iterations,
    "peak_mb": peak_mb(), "autogen_mb": autogen_mb, "ledger_mb": size,
}))
"""
SIZES = (1_000, 2_000, 5_000, 10_000)  # records to unite


def whole_run(question: str, where: str) -> dict[str, float]:
    """One run in a fresh process; `where` says in code whom it asks."""
    code = RUN.replace("QUESTION", repr(question)).replace("WHERE", where)
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)  # noqa: S603
    found: dict[str, float] = json.loads(done.stdout)
    return found


def dossier(count: int) -> Dossier:
    """As many different records, found by two sources each, in rounds of 500."""
    publications = [each for each in bundled_publications() if each.pmid and each.abstract]
    replies = []
    for at in range(count):
        source = publications[at % len(publications)]
        for name in ("pubmed", "europepmc"):
            cited = Citation(source=name, title=source.title, url=f"https://{name}.example/{at}")
            said = {"pmid": str(at + 1), "doi": f"10.1000/{at}"}
            replies.append(Evidence(content=f"{source.title}. {source.abstract}", citation=cited, metadata=said))
    made = Dossier(question=QUESTION)
    for round_, first in enumerate(range(0, len(replies), 1000), 1):
        reply = SourceReply(source="pubmed", query="q", status=Status.OK, records=replies[first : first + 1000])
        made.findings.append(Findings(specialist="literature", iteration=round_, summary="", replies=[reply]))
    return made


def growth() -> None:
    """Print what uniting and ranking costs by size, and the exponent of its growth over all sizes."""
    took: list[float] = []
    dossier(10).pool()
    for size in SIZES:
        found = dossier(size)
        gc.collect()
        began = time.process_time()
        count = len(found.pool())
        took.append(time.process_time() - began)
        print(f"{2 * size:>6,} records united to {count:,} and ranked: {took[-1]:.2f} s of processor time")
    print(f"exponent: {math.log(took[-1] / took[0]) / math.log(SIZES[-1] / SIZES[0]):.2f}")


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


def first_display(question: str) -> tuple[float, float]:
    """Seconds from the start of a notebook's cell, imports done before, to its display and to the first event."""
    from jupyter_client.manager import start_new_kernel  # noqa: PLC0415  with the extra `notebook`

    cell = f"await ask({question!r}, offline=True, ledger=None)"
    manager, client = start_new_kernel()
    try:
        client.execute_interactive("from willowbark.teams.faces.notebook import ask", timeout=120)
        began, seen = time.perf_counter(), list[float]()

        def shown(message: dict[str, Any]) -> None:
            text = message["content"].get("data", {}).get("text/html", "")
            if not seen or (len(seen) == 1 and "Round" in text):
                seen.extend([time.perf_counter() - began] * ("data" in message["content"]))

        client.execute_interactive(cell, timeout=120, output_hook=shown)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return seen[0], seen[1]


async def one_search(repeats: int) -> tuple[list[float], float]:
    """Seconds of warm PubMed searches of ten records, and requests for each."""
    log = ExchangeLog()
    times = []
    with SourceServer() as server:
        async with Transport(Endpoints.at(server.url), recorder=log) as transport:
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
    with SourceServer() as server:
        async with httpx.AsyncClient(base_url=f"{server.url}/pubmed/") as client:
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
    with SourceServer(latency_s=latency_s) as server:
        endpoints = Endpoints.at(server.url)
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
    """Records and records/s of the PubMed parser, on recorded articles."""
    body = (REPLIES / "pubmed" / "efetch.xml").read_bytes()
    count = len(parse_articles(body).records)
    gc.collect()
    began = time.perf_counter()
    for _ in range(repeats):
        parse_articles(body)
    return count, count * repeats / (time.perf_counter() - began)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="whole runs in fresh processes")
    parser.add_argument("--repeats", type=int, default=50, help="warm searches")
    parser.add_argument("--latency-ms", type=float, default=300.0, help="of the server, for the parallel round")
    parser.add_argument("--question", default=QUESTION, help="of the whole runs")
    parser.add_argument("--library", type=Path, help="a local library to ask; given one, whole runs alone are measured")
    parser.add_argument("--growth", action="store_true", help="measure how uniting and ranking grows, and nothing else")
    options = parser.parse_args()

    if options.growth:
        growth()
        return
    with SourceServer() as replies:
        where = f"library={str(options.library)!r}" if options.library else f"endpoints=Endpoints.at({replies.url!r})"
        runs = [whole_run(options.question, where) for _ in range(options.runs)]
    for name in runs[0]:
        values = [run[name] for run in runs]
        print(
            f"whole run, {name:<10} median {statistics.median(values):8.2f}  ({min(values):.2f} to {max(values):.2f})"
        )
    if options.library is not None:
        return
    waits = [first_event(QUESTION) for _ in range(options.runs)]
    print(f"command line, first event: median {statistics.median(waits):.2f} s  ({min(waits):.2f} to {max(waits):.2f})")
    if importlib.util.find_spec("ipykernel"):
        cells = [first_display(QUESTION) for _ in range(options.runs)]
        shown, event = (statistics.median(times) for times in zip(*cells, strict=True))
        print(f"notebook, from cell to display: median {shown:.2f} s; to the first event in it {event:.2f} s")
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
    print(f"PubMed XML: {rate:,.0f} records/s ({records} recorded articles)")
    print(f"this process' peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
