"""A screening beside curated indications: does it rank drugs in use above others that the same records name?

    python -m benchmarks.screen FOLDER --library DIR [--conditions 200] [--records 300] [--out DIR] [--engine local]

FOLDER holds `indications*.tsv` (columns `disease` and `drug`; Every Cure's list, see `benchmarks.conditions`). Of its
diseases those are drawn by seed whose names the library's titles hold often enough; where these are too few, others
that titles name as often take part for the time alone. For each, all drugs that its records name are ranked: as the
screening does, by its verdicts alone, by how many of the records name them, and by NPMI of drug and condition over
all records of the screening, the co-mention floor. AUROC and P@10 are means over conditions, apart for the best known
ones, by which the order was chosen, and the others; no list is complete, so P@10 is a lower bound.
"""

import argparse
import csv
import math
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

from benchmarks.conditions import FAMILIAR_DRUGS, TITLES, DrugsOf, Titles, draw_conditions, read_tables

from willowbark.teams.screening import Screening, screen
from willowbark.teams.screening.engines import Engine, ReaderRow, Results, Worker, WorkUnit, engine_of
from willowbark.teams.screening.results import NO_VERDICT
from willowbark.tools.library import Library, open_library
from willowbark.tools.reading.document import Document

Scores = Mapping[str, tuple[float | None, float]]
"""AUROC and P@10 by order."""


def compute_auroc(scores: Mapping[str, float], used: set[str]) -> float | None:
    """The chance that a drug in use stands above another one; None where either kind is missing."""
    own = [scores[score] for score in scores if score in used]
    others = [scores[score] for score in scores if score not in used]
    if not own or not others:
        return None
    wins = 0.0
    for score, other in product(own, others):
        wins += (score > other) + (score == other) / 2
    return wins / len(own) / len(others)


def compute_precision(scores: Mapping[str, float], used: set[str], most: int = 10) -> float:
    """Of the first drugs, the share in use."""
    first = sorted(scores, key=lambda drug: (-scores[drug], drug))[:most]
    return sum(drug in used for drug in first) / most


def compute_mean(values: Sequence[float | None]) -> float:
    """Of those that are there."""
    present = [value for value in values if value is not None]
    return sum(present) / max(1, len(present))


def main() -> None:
    """Screen, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--conditions", type=int, default=200)
    parser.add_argument("--records", type=int, default=300)
    parser.add_argument("--titles", type=int, default=TITLES, help="of the library, that name a condition at least")
    parser.add_argument("--drugs", type=int, default=FAMILIAR_DRUGS, help="in use for a condition at least")
    parser.add_argument("--engine", default="local")
    parser.add_argument("--out", type=Path, help="keeps the screening; a second call goes on with it")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    tables, _ = read_tables(options.folder)
    titles = Titles.of(options.library)
    curated = tables.curated
    conditions = draw_conditions(titles, curated, options.conditions, options.seed, options.titles, options.drugs)
    looked_at = set(draw_conditions(titles, curated, len(curated), options.seed))
    rest = {name: set[str]() for name in titles.conditions if not curated.get(name)}
    further = draw_conditions(titles, rest, options.conditions - len(conditions), options.seed, options.titles, 0)
    print(f"    {len(conditions)} conditions with curated drugs, {len(further)} others")
    conditions += further
    library = open_library(options.library)
    with tempfile.TemporaryDirectory() as temporary:
        out = options.out or Path(temporary)
        engine = engine_of(options.engine)
        reading = list[float]()
        if options.engine == "local":
            engine = time_reader(engine, reading)
        began = time.monotonic()
        worked = time.process_time()
        done = screen(conditions, library, engine, out, most=options.records)
        wall = time.monotonic() - began
        processor_s = time.process_time() - worked
        sizes = f"{done.records:,} records, {done.read.due:,} readings, {done.cells:,} drugs with a verdict"
        print(f"    {len(done.keys)} conditions, {sizes}")
        if done.read.made:
            read_s = done.read.seconds
            print(f"    {wall:.0f} s, {read_s:.0f} s of them reading: {wall / read_s:.2f} times (due 1.2)")
        driver_s = processor_s - sum(reading)  # what no worker of a cluster takes over
        serial_s = driver_s / max(1, len(done.keys))
        print(f"    serial: {serial_s:.2f} s of processor time a condition outside reading (due 0.1)")
        if reading:
            print(f"    a cluster gains at most {processor_s / driver_s:.1f} times")
        orders = rank_drugs(library, done, curated)
    parts = {order: "best known" if order in looked_at else "others" for order in orders}
    for part in ("best known", "others"):
        own = [orders[order] for order in orders if parts[order] == part]
        for name in own[0] if own else ():
            area = compute_mean([scores[name][0] for scores in own])
            share = compute_mean([scores[name][1] for scores in own])
            print(f"    {len(own)} {part}, {name}: AUROC {area:.3f}, P@10 {share:.3f}")


def time_reader(engine: Engine, spent: list[float]) -> Engine:
    """An engine of this process that notes the processor seconds that its reader takes."""

    def run(units: Iterable[WorkUnit], worker: Worker) -> Iterator[tuple[str, Results]]:
        work = worker.work

        async def time_work(rows: Sequence[ReaderRow]) -> Results:
            began = time.process_time()
            results = await work(rows)
            spent.append(time.process_time() - began)
            return results

        setattr(worker, "work", time_work)  # noqa: B010  a method is not to be assigned
        yield from engine(units, worker)

    return run


def rank_drugs(library: Library, done: Screening, curated: DrugsOf) -> dict[str, Scores]:
    """By condition that has drugs in use among those that its records name, how well each order ranks them."""
    places: dict[str, dict[str, float]] = {key: {} for key in done.keys}
    judged: dict[str, set[str]] = {key: set() for key in done.keys}
    for row in csv.DictReader((done.out / "matrix.csv").read_text(encoding="utf-8-sig").splitlines()):
        places[row["condition"]][row["drug"]] = 1 / int(row["place"])
        if row["certainty"] != NO_VERDICT:
            judged[row["condition"]].add(row["drug"])
    counts_of: dict[str, Counter[str]] = {}
    for condition, keys in done.keys.items():
        counts_of[condition] = Counter()
        for record in library.by_numbers(keys, "pubmed"):
            counts_of[condition].update({name for name, *_ in Document.of(record).drugs})
    total = sum(counts_of.values(), Counter[str]())
    rows = sum(total.values())
    ranked = dict[str, Scores]()
    for condition in done.keys:
        used = curated.get(condition, set())
        counts = counts_of[condition]
        if not used.intersection(counts):
            continue
        mine = {drug: places[condition].get(drug, 0.0) for drug in counts}
        size = sum(counts.values())
        npmi = {
            drug: math.log(count * rows / (size * total[drug])) / -math.log(count / rows) if count < rows else 1.0
            for drug, count in counts.items()
        }
        orders = {
            "screening": mine,
            "its verdicts alone": {drug: mine[drug] * (drug in judged[condition]) for drug in counts},
            "how many records name a drug": {drug: float(count) for drug, count in counts.items()},
            "NPMI": npmi,
        }
        ranked[condition] = {
            name: (compute_auroc(scores, used), compute_precision(scores, used)) for name, scores in orders.items()
        }
    return ranked


if __name__ == "__main__":
    main()
