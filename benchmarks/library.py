"""A library of made-up articles: how fast it is built, what it takes, how fast it answers.

    python -m benchmarks.library [--records 200000] [--folder DIR] [--queries 300] [--seed 1]

The articles are those of `benchmarks.baseline`. Speed is counted in processor time of one thread at a time, so that it
means the same on a busy machine; figures for all of PubMed (40 million) are extrapolated, and marked so.
"""

import argparse
import asyncio
import random
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from benchmarks.baseline import write_baseline

from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Transport
from willowbark.tools.lexicon.conditions import known_names
from willowbark.tools.lexicon.drugs import load_drug_names
from willowbark.tools.library import open_library
from willowbark.tools.library.building import BuildProgress, Manifest, build_library, verify_library
from willowbark.tools.questions import preprocess_query
from willowbark.tools.sources.studies.pubmed import PubMed

PUBMED = 40_000_000


def make_queries(number: int, seed: int) -> Iterator[str]:
    """What runs ask: a condition with its synonyms, a drug in it, and the forms that PubMed knows."""
    draw = random.Random(seed)
    conditions = sorted(set(known_names()))
    drugs = sorted(set(load_drug_names().common))
    for at in range(number):
        condition = draw.choice(conditions)
        drug = draw.choice(drugs)
        yield (
            preprocess_query(f"Which existing drugs treat {condition}?"),
            f'"{drug}" AND ({preprocess_query(condition)})',
            f'"{condition}"[tiab] AND ("randomized controlled trial"[pt] OR review[pt]) AND 2010:2024[dp]',
            f'("{condition}"[mh] OR "{condition}"[ti]) NOT "{drug}"[nm]',
        )[at % 4]


async def ask(folder: Path, number: int, seed: int) -> list[float]:
    """Milliseconds of processor time that each query takes, 50 records with their abstracts among them."""
    took = list[float]()
    async with Transport(Endpoints(library=open_library(folder))) as transport:
        pubmed = PubMed(transport)
        await pubmed.find("warm up", 50)
        for query in make_queries(number, seed):
            began = time.process_time()
            await pubmed.find(query, 50)
            took.append(1000 * (time.process_time() - began))
    return took


class Built(NamedTuple):
    """What it took to build a library."""

    manifest: Manifest
    took_s: float
    """Of processor time."""
    wall_s: float
    own_mb: float
    """Peak memory but for mapped files, which the system drops where it needs room; seen after each file."""
    peak_mb: float


def build(root: Path) -> Built:
    """Build the library, in a process of its own."""
    own = [0]

    def look(_: BuildProgress) -> None:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        own.append(int(status.partition("RssAnon:")[2].split()[0]))

    began = time.process_time()
    wall = time.monotonic()
    manifest = build_library(root / "library", root / "baseline", look)
    took = time.process_time() - began
    wall = time.monotonic() - wall
    return Built(manifest, took, wall, max(own) / 1024, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    """Build, ask, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--folder", type=Path, help="keeps baseline and library; a second call goes on with them")
    parser.add_argument("--queries", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = options.folder or Path(temporary)
        if not (root / "baseline").exists():
            write_baseline(root / "baseline", options.records, seed=options.seed)
        with ProcessPoolExecutor(1, get_context("spawn")) as alone:  # so that its memory is its own
            built = alone.submit(build, root).result()
        manifest = built.manifest
        took = built.took_s
        wall = built.wall_s
        articles = sum(file["articles"] for file in manifest.files.values())
        size = sum(path.stat().st_size for path in (root / "library").rglob("*") if path.is_file())
        state = "; ".join(verify_library(root / "library")) or "sound"
        print(f"    built: {manifest.records:,} records of {len(manifest.files)} files; {state}")
        if took > 1:
            rate = f"{articles / took:,.0f} records per processor second (due 2,500)"
            print(f"    {rate}, {articles / wall:,.0f} per second on this machine")
            memory = f"{built.own_mb:,.0f} MB of its own (due 500), {built.peak_mb:,.0f} MB with files that it maps"
            print(f"    peak memory {memory}")
            print(f"    extrapolated to PubMed: {PUBMED / articles * took / 3600:.1f} h of one core")
        bytes_each = size / manifest.records
        print(f"    {bytes_each:,.0f} bytes a record; extrapolated to PubMed {bytes_each * PUBMED / 1e9:.0f} GB")
        times = asyncio.run(ask(root / "library", options.queries, options.seed))
        p50 = statistics.median(times)
        p95 = statistics.quantiles(times, n=20)[-1]
        print(f"    a query with 50 records: median {p50:.1f} ms, p95 {p95:.1f} ms of processor time (due 30)")


if __name__ == "__main__":
    main()
