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
from pathlib import Path

from benchmarks.conditions import FAMILIAR_DRUGS, TITLES, DrugsOf, Titles, draw_conditions, read_tables

from willowbark.teams.screening import Screening, screen
from willowbark.teams.screening.engines import Engine, ReaderRow, Results, Worker, WorkUnit, engine_of
from willowbark.teams.screening.results import NO_VERDICT
from willowbark.tools.library import Library, open_library
from willowbark.tools.reading.document import Document

Scores = Mapping[str, tuple[float | None, float]]
"""AUROC and P@10 by order."""


def auroc(scores: Mapping[str, float], used: set[str]) -> float | None:
    """The chance that a drug in use stands above another one; None where either kind is missing."""
    own = [scores[score] for score in scores if score in used]
    others = [scores[score] for score in scores if score not in used]
    if not own or not others:
        return None
    return sum((a > b) + (a == b) / 2 for a in own for b in others) / len(own) / len(others)


def precision(scores: Mapping[str, float], used: set[str], most: int = 10) -> float:
    """Of the first drugs, the share in use."""
    first = sorted(scores, key=lambda each: (-scores[each], each))[:most]
    return sum(each in used for each in first) / most


def mean(values: Sequence[float | None]) -> float:
    """Of those that are there."""
    there = [each for each in values if each is not None]
    return sum(there) / max(1, len(there))


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
    asked = parser.parse_args()
    tables, _ = read_tables(asked.folder)
    titles = Titles.of(asked.library)
    curated = tables.curated
    conditions = draw_conditions(titles, curated, asked.conditions, asked.seed, asked.titles, asked.drugs)
    looked_at = set(draw_conditions(titles, curated, len(curated), asked.seed))
    rest = {name: set[str]() for name in titles.conditions if not curated.get(name)}
    further = draw_conditions(titles, rest, asked.conditions - len(conditions), asked.seed, asked.titles, 0)
    print(f"    {len(conditions)} conditions with curated drugs, {len(further)} others")
    conditions += further
    library = open_library(asked.library)
    with tempfile.TemporaryDirectory() as temporary:
        out = asked.out or Path(temporary)
        engine = engine_of(asked.engine)
        reading = list[float]()
        if asked.engine == "local":
            engine = with_clock(engine, reading)
        began = time.monotonic()
        worked = time.process_time()
        done = screen(conditions, library, engine, out, most=asked.records)
        wall = time.monotonic() - began
        processor_s = time.process_time() - worked
        said = f"{done.records:,} records, {done.read.due:,} readings, {done.cells:,} drugs with a verdict"
        print(f"    {len(done.keys)} conditions, {said}")
        if done.read.made:
            read_s = done.read.seconds
            print(f"    {wall:.0f} s, {read_s:.0f} s of them reading: {wall / read_s:.2f} times (due 1.2)")
        driver_s = processor_s - sum(reading)  # what no worker of a cluster takes over
        each_s = driver_s / max(1, len(done.keys))
        print(f"    serial: {each_s:.2f} s of processor time a condition outside reading (due 0.1)")
        if reading:
            print(f"    a cluster gains at most {processor_s / driver_s:.1f} times")
        orders = rank_drugs(library, done, curated)
    parts = {order: "best known" if order in looked_at else "others" for order in orders}
    for part in ("best known", "others"):
        own = [orders[order] for order in orders if parts[order] == part]
        for name in own[0] if own else ():
            area = mean([scores[name][0] for scores in own])
            share = mean([scores[name][1] for scores in own])
            print(f"    {len(own)} {part}, {name}: AUROC {area:.3f}, P@10 {share:.3f}")


def with_clock(engine: Engine, spent: list[float]) -> Engine:
    """An engine of this process that notes the processor seconds that its reader takes."""

    def run(units: Iterable[WorkUnit], worker: Worker) -> Iterator[tuple[str, Results]]:
        work = worker.work

        async def timed(rows: Sequence[ReaderRow]) -> Results:
            began = time.process_time()
            results = await work(rows)
            spent.append(time.process_time() - began)
            return results

        setattr(worker, "work", timed)  # noqa: B010  a method is not to be assigned
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
    named: dict[str, Counter[str]] = {}
    for condition, keys in done.keys.items():
        named[condition] = Counter()
        for record in library.by_numbers(keys, "pubmed"):
            named[condition].update({name for name, *_ in Document.of(record).drugs})
    total = sum(named.values(), Counter[str]())
    rows = sum(total.values())
    ranked = dict[str, Scores]()
    for condition in done.keys:
        used = curated.get(condition, set())
        held = named[condition]
        if not used.intersection(held):
            continue
        mine = {drug: places[condition].get(drug, 0.0) for drug in held}
        size = sum(held.values())
        npmi = {
            drug: math.log(count * rows / (size * total[drug])) / -math.log(count / rows) if count < rows else 1.0
            for drug, count in held.items()
        }
        orders = {
            "screening": mine,
            "its verdicts alone": {drug: mine[drug] * (drug in judged[condition]) for drug in held},
            "how many records name a drug": {drug: float(count) for drug, count in held.items()},
            "NPMI": npmi,
        }
        ranked[condition] = {name: (auroc(each, used), precision(each, used)) for name, each in orders.items()}
    return ranked


if __name__ == "__main__":
    main()
