"""A screening beside curated indications: does it rank drugs in use above others that the same records name?

    python -m benchmarks.screen FOLDER --library DIR [--conditions 200] [--records 300] [--out DIR] [--engine local]

FOLDER holds `indications*.tsv` (columns `disease` and `drug`; Every Cure's list, see `benchmarks.conditions`). Of its
diseases those are drawn by seed whose names the library's titles hold often enough. For each, all drugs that its
records name are ranked: as the screening does, by its verdicts alone, by how many of the records name them, and by NPMI
of drug and condition over all records of the screening, the co-mention floor. AUROC and P@10 are means over conditions;
no list is complete, so P@10 is a lower bound.
"""

import argparse
import csv
import math
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.conditions import KNOWN_DRUGS, TITLES, Titles, draw_conditions, read_tables

from willowbark.teams.screening import screen
from willowbark.teams.screening.engines import engine_of
from willowbark.teams.screening.results import NO_VERDICT
from willowbark.tools.library import open_library
from willowbark.tools.reading.document import Document


def auroc(scores: Mapping[str, float], used: set[str]) -> float | None:
    """The chance that a drug in use stands above another one; None where either kind is missing."""
    own, others = (
        [scores[each] for each in scores if each in used],
        [scores[each] for each in scores if each not in used],
    )
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
    parser.add_argument("--drugs", type=int, default=KNOWN_DRUGS, help="in use for a condition at least")
    parser.add_argument("--engine", default="local")
    parser.add_argument("--out", type=Path, help="keeps the screening; a second call goes on with it")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    tables, _ = read_tables(asked.folder)
    titles = Titles.of(asked.library)
    conditions = draw_conditions(titles, tables.curated, asked.conditions, asked.seed, asked.titles, asked.drugs)
    library = open_library(asked.library)
    with tempfile.TemporaryDirectory() as temporary:
        out = asked.out or Path(temporary)
        began = time.monotonic()
        done = screen(conditions, library, engine_of(asked.engine), out, most=asked.records)
        wall = time.monotonic() - began
        said = f"{done.records:,} records, {done.readings:,} readings, {done.cells:,} drugs with a verdict"
        print(f"    {done.conditions} conditions, {said}")
        if done.read_now:
            print(f"    {wall:.0f} s, {done.read_s:.0f} s of them reading: {wall / done.read_s:.2f} times (due 1.2)")
        places: dict[str, dict[str, float]] = {each: {} for each in conditions}
        judged: dict[str, set[str]] = {each: set() for each in conditions}
        for row in csv.DictReader((out / "matrix.csv").read_text(encoding="utf-8-sig").splitlines()):
            places[row["condition"]][row["drug"]] = 1 / int(row["place"])
            if row["certainty"] != NO_VERDICT:
                judged[row["condition"]].add(row["drug"])
    named: dict[str, Counter[str]] = {}
    for condition in conditions:
        named[condition] = Counter(
            drug
            for record in library.by_numbers(done.keys.get(condition, ()), "pubmed")
            for drug in {name for name, *_ in Document.of(record).drugs}
        )
    total = sum((Counter(each) for each in named.values()), Counter[str]())
    rows = sum(total.values())
    ranked: dict[str, list[tuple[float | None, float]]] = {}
    for condition in conditions:
        used, held = tables.curated[condition], named[condition]
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
        for name, scores in orders.items():
            ranked.setdefault(name, []).append((auroc(scores, used), precision(scores, used)))
    print(f"    {len(ranked.get('NPMI', []))} conditions with a drug in use among those that their records name")
    for name, told in ranked.items():
        print(
            f"    {name}: AUROC {mean([area for area, _ in told]):.3f}, P@10 {mean([share for _, share in told]):.3f}"
        )


if __name__ == "__main__":
    main()
