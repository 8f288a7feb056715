"""F13: a screening on Ray whose worker, node or command is killed, and limits there; with `willowbark[scale]` alone.

python -m faults.scale OUT        (as the row starts it: screens on the cluster that RAY_ADDRESS names)
"""

import asyncio
import importlib.util
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from willowbark.teams.screening import screen
from willowbark.teams.screening.engines import ClusterLimiter, TrainedReader, engine_of
from willowbark.teams.screening.tables import TableFolder
from willowbark.tools.library import open_library

from . import limits
from .breakage import FaultyServer
from .plan import FaultPlan
from .verdict import Figure, Row, exactly

Killed = Literal["worker", "node", "command"]
KILLED: tuple[Killed, ...] = ("worker", "node", "command")
_CONDITIONS = ("smoking cessation", "nicotine dependence", "migraine")
_UNIT = 5  # readings: enough parts to be killed between
_PATIENCE_S = 120.0
_SECONDS = 6.0
_FILES = ("matrix.csv", "evidence.csv", "screen.html")


def has_ray() -> bool:
    """Whether Ray is installed."""
    return importlib.util.find_spec("ray") is not None


def scaled(runs: int, seed: int) -> Row:
    """F13: nothing is lost or read twice, results are those of an undisturbed run byte for byte, and limits hold."""
    before, notes = time.perf_counter(), list[str]()
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder) / "whole"
        _screen(whole, "local")
        for number in range(runs):
            what = KILLED[number % len(KILLED)]
            notes += [f"{what}: {problem}" for problem in _one(what, Path(folder) / str(number), whole)]
    moments, refused = _asked_from_two_workers()
    figures = [
        exactly("problems of screenings that were killed", len(notes), 0),
        exactly("refused by a server that two workers ask", refused, 0, timed=True),
        *(
            Figure(f"most in a second of {limits.LIMITS[name]:g}", most, at_most=limits.LIMITS[name], timed=True)
            for name, most in moments.items()
        ),
    ]
    took = time.perf_counter() - before
    return Row(
        "F13",
        runs,
        "SIGKILL of a Ray worker, a node or the command",
        seed,
        took,
        figures,
        notes,
        [f"nothing but {', '.join(_FILES)}, the same as undisturbed"],
    )


def _one(what: Killed, out: Path, whole: Path) -> Iterator[str]:
    """What is wrong with a screening that was killed, and called again where the command was."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415  an extra

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        node = cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        command = _start(cluster.address, out)
        if not _waited(lambda: command.poll() is not None or len(_parts(out)) >= 2) or command.poll() is not None:
            yield "it was over before it could be killed"
            return
        early = _parts(out)
        if what == "worker":
            os.kill(_waited(lambda: next(_workers(os.getpid()), None)), signal.SIGKILL)
        elif what == "node":
            cluster.remove_node(node, allow_graceful=False)
        else:
            command.kill()
            command.wait()
            command = _start(cluster.address, out)
        if command.wait(_PATIENCE_S) != 0:
            yield "the command failed"
            return
    finally:
        cluster.shutdown()
    if [(out / name).read_bytes() for name in _FILES] != [(whole / name).read_bytes() for name in _FILES]:
        yield "the results are others"
    read = Counter(row["hash"] for row in TableFolder(out / "readings").rows())
    if twice := sum(number > 1 for number in read.values()):
        yield f"{twice} readings were made twice"
    if read.keys() != {row["hash"] for row in TableFolder(whole / "readings").rows()}:
        yield "the readings are others"
    if not early <= _parts(out):
        yield "what was read before is gone"


def _asked_from_two_workers() -> tuple[dict[str, int], int]:
    """The most requests in a second that reach each server while two workers ask, and how many were too many."""
    import ray  # noqa: PLC0415  an extra

    plan = FaultPlan(limits=limits.LIMITS)
    ray.init(address="local", num_cpus=2, log_to_driver=False, include_dashboard=False)
    try:
        with FaultyServer(plan) as first, FaultyServer(plan) as second:
            for seconds in (0.0, _SECONDS):  # the first time they start
                given = [first.url, second.url], time.time() + 1, seconds
                ray.get([ray.remote(_ask).remote(*given) for _ in range(2)])
            seen = [[each.moment for each in server.requests] for server in (first, second)]
            refused = sum(sum(server.refused.values()) for server in (first, second))
    finally:
        ray.shutdown()
    return {name: limits.most_in_a_second(each) for name, each in zip(limits.LIMITS, seen, strict=True)}, refused


def _ask(urls: list[str], start: float, seconds: float) -> None:
    asyncio.run(limits.work(urls, ClusterLimiter(), start, seconds))


def _start(address: str, out: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "RAY_ADDRESS": address}
    said = subprocess.DEVNULL
    return subprocess.Popen([sys.executable, "-m", __name__, str(out)], env=environment, stdout=said, stderr=said)


def _screen(out: Path, engine: str) -> None:
    TrainedReader.unit = _UNIT  # in a process of its own, or alike in all
    screen(_CONDITIONS, open_library("bundled"), engine_of(engine), out, most=60)


def _parts(out: Path) -> set[str]:
    return {path.name for path in (out / "readings").glob("[!.]*")}


def _waited(met: Callable[[], Any]) -> Any:
    """What a condition gives, once it holds; its last answer where that takes too long."""
    end = time.monotonic() + _PATIENCE_S
    while not (found := met()) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def _workers(parent: int) -> Iterator[int]:
    """Ray's workers that read, among the descendants of a process."""
    for child in Path(f"/proc/{parent}/task").glob("*/children"):
        with suppress(OSError):
            for pid in map(int, child.read_text().split()):
                if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::read_unit"):
                    yield pid
                yield from _workers(pid)


if __name__ == "__main__":
    _screen(Path(sys.argv[1]), "ray")
