"""F6: replies made to exhaust whoever reads them. Measured in a process of its own, the server in another."""

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from willowbark.tools.errors import SearchError
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.reply import Reply
from willowbark.tools.http.transport import Transport

from .breakage import FaultyServer
from .plan import Fault, FaultPlan, Kind
from .running import compressed
from .verdict import Figure, Row, exactly

KINDS: tuple[Kind, ...] = (
    "drip",
    "hang",
    "many_headers",
    "huge_body",
    "stall",
    "gzip_bomb",
    "stacked_encoding",
    "br",
    "zstd",
)
_SOURCES = ("europepmc", "clinicaltrials")  # one that pages by cursor, one by token
_FACTOR = 0.05
_GROWTH_MB = 64.0
_ATTEMPTS = 2  # each ends the same way; more say nothing new
_ASKED: Mapping[str, tuple[str, dict[str, object]]] = {
    "europepmc": ("search", {"query": "migraine", "format": "json", "resultType": "core"}),
    "clinicaltrials": ("studies", {}),
}
_NONE = "none"  # stands for a kind of fault where nothing is to fail
_LONGEST_LINE = 200  # characters
_GRACE_S = 1.0  # for a busy machine


def bombed(runs: int, seed: int) -> Row:
    """F6: each reply ends in a typed error within the deadline, in little room."""
    before = time.perf_counter()
    each = max(1, round(runs / (len(KINDS) * len(_SOURCES))))
    outcomes = _in_processes(each, seed)
    deadline = policy().deadline_s
    figures = [
        exactly("typed errors", sum(bool(outcome["reason"]) for outcome in outcomes), len(outcomes)),
        Figure(
            "slowest, s past the deadline", max(o["seconds"] for o in outcomes) - deadline, at_most=_GRACE_S, timed=True
        ),
        Figure("memory growth, MB", max(o["growth_mb"] for o in outcomes), at_most=_GROWTH_MB),
    ]
    notes = [f"{o['kind']} at {o['source']}: {o['error']}" for o in outcomes if not o["reason"]]
    reads = dict.fromkeys(outcome["reason"] for outcome in outcomes if outcome["reason"])
    unclear = [line for line in reads if len(line) > _LONGEST_LINE or "\n" in line or "://" in line]
    figures.append(exactly("reasons that are no clear line, or tell an address", len(unclear), 0))
    what = "drip, hang, 20,000 headers, 1 GB body, 31 MB and silence, gzip/stacked/br/zstd bombs"
    return Row("F6", len(outcomes), what, seed, time.perf_counter() - before, figures, notes, list(reads))


def policy() -> RetryPolicy:
    """Two attempts, time compressed."""
    usual = RetryPolicy(attempts=_ATTEMPTS, breaker_failures=1_000_000, breaker_pause_s=0.0)
    return compressed(usual, _FACTOR)


def _in_processes(each: int, seed: int) -> list[dict[str, Any]]:
    """Meet every kind in one process, with the servers of all kinds in another."""
    root = Path(__file__).parent.parent
    command = [sys.executable, "-m", "faults.bombs"]
    servers = subprocess.Popen([*command, "serve", str(seed)], cwd=root, stdout=subprocess.PIPE, text=True)
    assert servers.stdout is not None
    with servers.stdout:
        try:
            urls = servers.stdout.readline().strip()
            done = subprocess.run(
                [*command, "meet", urls, str(each)], cwd=root, stdout=subprocess.PIPE, text=True, check=True
            )
        finally:
            servers.terminate()
            servers.wait()
    return [json.loads(line) for line in done.stdout.splitlines()]


def _serve(seed: int) -> None:
    """One server a kind; tells their addresses and serves until the process is ended."""
    with contextlib.ExitStack() as stack:
        plans = {_NONE: FaultPlan()}
        plans |= {kind: FaultPlan(seed=seed, faults=(Fault(kind=kind),)) for kind in KINDS}
        servers = {kind: stack.enter_context(FaultyServer(plan)) for kind, plan in plans.items()}
        print(json.dumps({kind: server.url for kind, server in servers.items()}), flush=True)
        threading.Event().wait()


async def _meet(urls: Mapping[str, str], each: int) -> None:
    base = await _before(urls[_NONE])
    for kind in KINDS:
        async with Transport(Endpoints.at(urls[kind]), policy=policy()) as transport:
            for source in _SOURCES * each:
                before = time.monotonic()
                error, reason = await _ask(transport, source)
                found: dict[str, Any] = {"kind": kind, "source": source, "error": error, "reason": reason}
                found["seconds"] = time.monotonic() - before
                print(json.dumps({**found, "growth_mb": _peak_mb() - base}))


async def _before(url: str) -> float:
    """The peak of a process that has had a good reply over each client: modules, arenas and threads are no growth."""
    async with Transport(Endpoints.at(url), policy=policy()) as transport:
        for source in _SOURCES * 2:
            await _ask(transport, source)
    return _peak_mb()


async def _ask(transport: Transport, source: str) -> tuple[str, str]:
    """Return the kind of error that came, and what a user reads of it: nothing of one that is no `SearchError`."""
    try:
        path, params = _ASKED[source]
        await transport.get(source, path, params=params, read=Reply.json)
    except SearchError as error:
        return "SearchError", error.reason
    except Exception as error:  # noqa: BLE001  any other exception is what must not happen
        return f"{type(error).__name__}: {error}", ""
    return "taken for good", ""


def _peak_mb() -> float:
    """The process's largest resident size so far (Linux; elsewhere not a number, and the row falls short)."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return float("nan")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        _serve(int(sys.argv[2]))
    else:
        asyncio.run(_meet(json.loads(sys.argv[2]), int(sys.argv[3])))
