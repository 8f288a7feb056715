"""A year of PubMed's update files, week by week, for a watched question: the same verdicts as one run at the end?

    python -m benchmarks.watch [--records 600] [--weeks 52] [--depth standard] [--seed 1]

All articles are made up (`benchmarks.baseline`): trials of sixteen drugs of the lexicon in one condition, half of them
with a significant result. Each week's file brings new ones, revises others, so that their results are others, retracts
some and takes some out. Each week the library is updated and the watch run. In the end its report is held against a run
over the same library, and against one over a library built of all files at once. What moved between the first report
and the last has to have been told in some week. A change is false that names a drug of which the report says what
it said before, by the same records; counted apart are those that name a record of an earlier week, which only now is
among those read.
"""

import argparse
import asyncio
import json
import random
import re
import shutil
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from benchmarks.baseline import FIRST_PMID, Author, write_file

from willowbark.teams.faces.runs import MOVED, add_watch, run_watches
from willowbark.teams.run.research import research
from willowbark.tools.library.building import build_library

CONDITION = "migraine"
DRUGS = 16
QUESTION = f"Which existing drugs could treat {CONDITION}?"
NEW = 0.01
REVISED = 0.02
RETRACTED = 0.002
DELETED = 0.002  # of all articles, each week
Verdicts = Mapping[str, tuple[Any, ...]]


class TrialAuthor(Author):
    """Writes trials in words that a reader understands, on few drugs and one condition."""

    types = ("Randomized Controlled Trial",)
    weights = (1,)

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._drugs = self._draw.sample(self._drugs, DRUGS)
        self._conditions = [CONDITION]

    def make_abstract(self, drug: str, other: str, condition: str) -> tuple[str, ...]:
        """The four parts of an abstract."""
        size = self._draw.randint(20, 900)
        works = self._draw.random() < 0.5
        draw = self._draw
        p = f"p = {draw.uniform(0.001, 0.049):.3f}" if works else f"p = {draw.uniform(0.06, 0.99):.2f}"
        result = "significantly reduced" if works else "did not reduce"
        end = "is an effective treatment of" if works else "was not effective in"
        return (
            f"The aim of this trial was to find whether {drug} helps patients with {condition}.",
            f"In a double-blind trial {size} patients with {condition} were randomly assigned to {drug} or placebo.",
            f"Compared with placebo, {drug} {result} the number of attacks ({p}).",
            f"{drug.capitalize()} {end} {condition}.",
        )


def write_year(folder: Path, records: int, weeks: int, seed: int) -> dict[Path, set[str]]:
    """Write a baseline of one file, and a file for each week; return the keys of the records that each touches."""
    author = TrialAuthor(seed)
    draw = random.Random(seed)
    alive = list(range(FIRST_PMID, FIRST_PMID + records))
    following = FIRST_PMID + records
    files = [folder / f"pubmed26n{place:04}.xml.gz" for place in range(1, weeks + 2)]
    write_file(files[0], map(author.article, alive))
    touched = {files[0]: {f"pmid:{pmid}" for pmid in alive}}
    for file in files[1:]:
        draw.shuffle(alive)
        revised, retracted, deleted = (max(1, int(len(alive) * share)) for share in (REVISED, RETRACTED, DELETED))
        gone = alive[:deleted]
        alive = alive[deleted:]
        new = list(range(following, following + max(1, int(records * NEW))))
        texts = [author.article(pmid) for pmid in new]
        texts += [author.article(pmid, 1) for pmid in alive[:revised]]
        texts += [author.article(pmid, 1, retracted=True) for pmid in alive[revised : revised + retracted]]
        write_file(file, texts, gone)
        touched[file] = {f"pmid:{pmid}" for pmid in (*new, *alive[: revised + retracted], *gone)}
        alive = [*alive, *new]
        following = following + len(new)
    return touched


def list_verdicts(report: Mapping[str, Any]) -> Verdicts:
    """What a report says of each drug: certainty, and how many studies say what."""
    directions: dict[str, Counter[str]] = {}
    for row in report["evidence_table"]:
        directions.setdefault(row["drug"], Counter())[row["direction"]] += 1
    return {
        candidate["name"]: (
            candidate["certainty"],
            candidate["evidence_quality"],
            tuple(sorted(directions.get(candidate["name"], Counter()).items())),
        )
        for candidate in report["candidates"]
    }


def list_rows(report: Mapping[str, Any]) -> Verdicts:
    """What a report says of each drug: certainty, and what which record says."""
    rows: dict[str, set[tuple[str, str]]] = {}
    for row in report["evidence_table"]:
        rows.setdefault(row["drug"], set()).add((row["key"], row["direction"]))
    return {
        candidate["name"]: (candidate["certainty"], frozenset(rows.get(candidate["name"], ())))
        for candidate in report["candidates"]
    }


def count_false(changes: Sequence[str], moved: Collection[str]) -> int:
    """The lines that tell of a drug of which the report says what it said before."""
    return sum(line.partition(":")[0] not in moved for line in changes)


def count_late(changes: Sequence[str], touched: Collection[str]) -> int:
    """The lines that name a record of an earlier week, which a run of this depth reads for the first time."""
    return sum(not set(re.findall(r"pmid:\d+", line)) <= set(touched) for line in changes)


def list_differing(one: Verdicts, other: Verdicts) -> list[str]:
    """The drugs of which two reports say different things."""
    return sorted(drug for drug in one.keys() | other.keys() if one.get(drug) != other.get(drug))


def count_readings(verdicts: Verdicts) -> int:
    """Count the studies of all drugs."""
    counts = chain.from_iterable(counts for *_, counts in verdicts.values())
    return sum(count for _, count in counts)


def start_watch(watched: Path, root: Path, first: Path, depth: str) -> str:
    """Build the library of the first file, and add the watch over it; return the watch's name."""
    shutil.copy(first, root / "mirror")
    build_library(root / "library", root / "mirror")
    return add_watch(watched, QUESTION, {"library": root / "library", "depth": depth})


def main() -> None:
    """Live through a year, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--records", type=int, default=600)
    parser.add_argument("--weeks", type=int, default=52)
    parser.add_argument("--depth", default="standard")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        began = time.process_time()
        for name in ("all", "mirror"):
            (root / name).mkdir()
        files = write_year(root / "all", options.records, options.weeks, options.seed)
        reports = list[Verdicts]()
        rows = list[Verdicts]()
        moved = 0
        false = 0
        late = 0
        longest = 0
        seconds = list[float]()
        watched = root / "watch"
        name = start_watch(watched, root, next(iter(files)), options.depth)
        for file in files:
            shutil.copy(file, root / "mirror")
            build_library(root / "library", root / "mirror")
            worked = time.process_time()
            entries, code = run_watches(watched)
            seconds.append(time.process_time() - worked)
            moved += code == MOVED
            report = json.loads((watched / name / "report.json").read_text(encoding="utf-8"))
            reports.append(list_verdicts(report))
            rows.append(list_rows(report))
            for entry in entries:
                longest = max(longest, len("\n".join(entry["changes"]).encode()))
                false += count_false(entry["changes"], list_differing(*rows[-2:]))
                late += count_late(entry["changes"], files[file])
        first, *_, last = reports
        print(f"    {len(files) - 1} weeks, {moved} in which something moved; {time.process_time() - began:.0f} s")
        print(f"    a week: {statistics.median(seconds[1:]):.1f} processor s, the first {seconds[0]:.1f} (due 3)")
        print(f"    lines that name a record of an earlier week, read for the first time: {late}")
        print(f"    false changes: {false} (due 0); the longest week tells {longest:,} bytes (due 2,000)")
        manifest = build_library(root / "once", root / "all")
        moved_drugs = len(list_differing(first, last))
        print(
            f"    {manifest.records:,} records; {len(last)} drugs, {count_readings(last)} readings; "
            f"{moved_drugs} drugs moved over the year"
        )
        for title, library in (("one run at the end", "library"), ("one over all files at once", "once")):
            report = asyncio.run(research(QUESTION, library=root / library, depth=options.depth)).model_dump(
                mode="json"
            )
            others = list_differing(list_verdicts(report), last)
            print(f"    {title}: {len(others)} of {len(last)} verdicts differ (due 0) {', '.join(others)}")
        changes = json.loads((watched / name / "changes.json").read_text(encoding="utf-8"))
        all_lines = " ".join(chain.from_iterable(change["changes"] for change in changes)).casefold()
        both = first.keys() & last.keys()  # of another drug, or another count, the studies may only be read no more
        judged = sorted(drug for drug in both if first[drug][:2] != last[drug][:2])
        silent = [drug for drug in judged if drug not in all_lines]
        print(f"    verdicts that moved and of which no week told: {len(silent)} (due 0) {', '.join(silent)}")


if __name__ == "__main__":
    main()
