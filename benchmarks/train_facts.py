"""Make the weights by which a record's design and participants are told, and print how well they do.

    python -m benchmarks.train_facts ABSTRACTS.jsonl.gz

Needs scikit-learn. ABSTRACTS holds `pmid`, `title`, `abstract` and `publication_types` a line; the labels are tables
with the columns `pmid`, `design` and `n`: those of readings, and those of designs alone. A fifth of the PMIDs is kept
apart by hash and only measured, with weights that have not seen it; the others are cross-validated. The weights written
at the end are fitted to all of them. The same input gives the same bytes.
"""

import argparse
import base64
import csv
import gzip
import hashlib
import json
import math
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from willowbark.tools.reading.document import Document
from willowbark.tools.reading.facts import NOT_REPORTED, candidates, design_features, participants_of
from willowbark.tools.reading.heads import Head
from willowbark.tools.reading.reading import Design

DESIGNS = get_args(Design)
KEEP_DESIGN, KEEP_PARTICIPANTS = 5000, 6000
"""Features that stay, the heaviest: their weights fill the file."""
FOLDS = 5
REACH = 2.0
"""How much easier a sign of a design gains weight than a word."""
HINTED = 0.25
"""Weight of a record without label whose design its type or title hints at; a labelled one has 1."""
TITLES = ("protocol", "case-control", "guideline", "cross-sectional", "cohort study", "retrospective")
HINTS = {
    "systematic review": "systematic_review", "meta-analysis": "meta_analysis", "case reports": "case_report",
    "review": "review", "protocol": "protocol", "case-control": "case_control", "guideline": "guideline",
    "cross-sectional": "cross_sectional", "cohort study": "cohort", "retrospective": "cohort",
}  # fmt: skip
"""Designs by publication type, or by words of the title; of several the first."""


@dataclass
class Record:
    """A labelled record."""

    pmid: str
    untyped: Document
    """Without publication types."""
    types: tuple[str, ...]
    design: str
    participants: int | None
    told: str = ""
    """Its design as weights tell it that have not seen it."""


def share(kind: str, pmid: str, parts: int) -> int:
    """Which part a PMID falls into."""
    return int(hashlib.sha256(f"{kind}{pmid}".encode()).hexdigest(), 16) % parts


def load(abstracts: Path, labels: Path) -> tuple[list[Record], list[Record]]:
    """The labelled records, the most frequent label of each; and those that a type or the title hints at."""
    designs: dict[str, Counter[str]] = {}
    sizes: dict[str, Counter[str]] = {}
    for path in sorted(labels.glob("*_[0-9][0-9].tsv")):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t"):
                designs.setdefault(row["pmid"], Counter())[row["design"]] += 1
                sizes.setdefault(row["pmid"], Counter())[row["n"]] += 1
    found: dict[str, Record] = {}
    hinted: dict[str, Record] = {}
    with gzip.open(abstracts, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            pmid, title, untyped = row["pmid"], row["title"], Document(row["title"], row["abstract"])
            types = [kind.lower() for kind in row["publication_types"]]
            if pmid in designs:
                size = _most(sizes[pmid])
                participants = int(size) if size.isdigit() else None
                kinds = Document("", "", types).types
                found[pmid] = Record(pmid, untyped, kinds, _most(designs[pmid]), participants)
            elif hint := next(
                (HINTS[kind] for kind in HINTS if kind in types or (kind in TITLES and kind in title.lower())), None
            ):
                hinted[pmid] = Record(pmid, untyped, (), hint, None)
    return [found[pmid] for pmid in sorted(found)], [hinted[pmid] for pmid in sorted(hinted)]


def _most(counts: Counter[str]) -> str:
    return max(sorted(counts), key=lambda value: counts[value])


def vocabulary(sets: Sequence[Sequence[str]], least: int) -> dict[str, int]:
    """The features that stand in at least so many sets, in the order of the alphabet."""
    counts = Counter(name for names in sets for name in names)
    return {name: at for at, name in enumerate(sorted(name for name in counts if counts[name] >= least))}


def matrix(sets: Sequence[Sequence[str]], rows: Mapping[str, int]) -> csr_matrix:
    """Sets of features as rows of zeros and ones."""
    columns, starts = [], [0]
    for names in sets:
        columns.extend(sorted(rows[name] for name in names if name in rows))
        starts.append(len(columns))
    return csr_matrix((np.ones(len(columns)), columns, starts), shape=(len(sets), len(rows)))


def fit_design(records: Sequence[Record], hinted: Sequence[Record], keep: int = KEEP_DESIGN) -> Head:
    """Multinomial regression; each record is seen with and without its publication types."""
    sets = [names for record in records for names in (seen(record.untyped), typed(record))]
    sets += [seen(record.untyped) for record in hinted]
    targets = np.array([r.design for r in records for _ in range(2)] + [r.design for r in hinted])
    trust = np.array([0.5] * (2 * len(records)) + [HINTED] * len(hinted))
    rows = vocabulary(sets, 6)
    reach = np.array([REACH if name[0] == "#" else 1.0 for name in rows])
    table = matrix(sets, rows).multiply(reach).tocsr()
    model = LogisticRegression(C=0.05, max_iter=60, tol=1e-3).fit(table, targets, sample_weight=trust)
    weights = model.coef_ * reach
    weights -= weights.mean(axis=0)
    heavy = np.abs(weights).max(axis=0) * np.sqrt(np.asarray(matrix(sets, rows).sum(axis=0))[0])
    kept = np.sort(np.argsort(-heavy, kind="stable")[:keep])
    names = list(rows)
    return Head(
        [str(name) for name in model.classes_],
        {names[old]: at for at, old in enumerate(kept)},
        weights[:, kept].T.astype(np.float32),
        (model.intercept_ - model.intercept_.mean()).astype(np.float32),
    )


def typed(record: Record) -> list[str]:
    """The features of a record with its publication types."""
    return [*seen(record.untyped), *(f"#type {kind}" for kind in record.types)]


_SEEN: dict[int, list[str]] = {}


def seen(page: Document) -> list[str]:
    """The features of a page, read once."""
    if id(page) not in _SEEN:
        _SEEN[id(page)] = [name for name in design_features(page) if "\t" not in name]
    return _SEEN[id(page)]


@dataclass
class Choice:
    """The candidates of a record, and which is right."""

    sets: list[list[str]]
    right: int


def choices(records: Sequence[Record]) -> list[Choice]:
    """What the ranker learns from; a record whose number is no candidate teaches nothing."""
    found = []
    for record in records:
        offered = candidates(record.untyped, record.told)
        wanted = NOT_REPORTED if record.participants is None else record.participants
        if wanted in offered:
            found.append(Choice([each.features for each in offered.values()], list(offered).index(wanted)))
    return found


def fit_participants(records: Sequence[Record], keep: int = KEEP_PARTICIPANTS, decay: float = 1.0) -> Head:
    """A ranker: of a record's candidates the right one gets the highest score (softmax over candidates)."""
    learnt = choices(records)
    sets = [names for choice in learnt for names in choice.sets]
    rows = vocabulary(sets, 4)
    groups = np.repeat(np.arange(len(learnt)), [len(choice.sets) for choice in learnt])
    starts = np.concatenate([[0], np.cumsum([len(choice.sets) for choice in learnt])[:-1]])
    right = starts + np.array([choice.right for choice in learnt])
    table = matrix(sets, rows)
    turned = table.T.tocsr()

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = table @ weights
        scores = scores - np.maximum.reduceat(scores, starts)[groups]
        grown = np.exp(scores)
        parts = grown / np.add.reduceat(grown, starts)[groups]
        value = -np.log(parts[right] + 1e-300).sum() + decay / 2 * weights @ weights
        parts[right] -= 1
        return float(value), turned @ parts + decay * weights

    weights = minimize(loss, np.zeros(len(rows)), jac=True, method="L-BFGS-B", options={"maxiter": 150}).x
    heavy = np.abs(weights) * np.sqrt(np.asarray(table.sum(axis=0))[0])
    kept = np.sort(np.argsort(-heavy, kind="stable")[:keep])
    names = list(rows)
    rows, weights = {names[old]: at for at, old in enumerate(kept)}, weights[kept]
    return Head(["score"], rows, weights[:, None].astype(np.float32), np.zeros(1, np.float32))


def tell(head: Head, records: Sequence[Record]) -> None:
    """Note the design of each record, as told from title and text alone."""
    for record in records:
        record.told = head.best(seen(record.untyped))


def folds(records: Sequence[Record]) -> Iterator[tuple[list[Record], list[Record]]]:
    """Learn from these, tell those."""
    for fold in range(FOLDS):
        yield (
            [r for r in records if share("cv", r.pmid, FOLDS) != fold],
            [r for r in records if share("cv", r.pmid, FOLDS) == fold],
        )


def measure(title: str, designs: Head, participants: Head, records: Sequence[Record]) -> tuple[float, ...]:
    """Print and give design accuracy without and with types, participants exact where reported, None where not."""
    tell(designs, records)
    untyped = [record.told == record.design for record in records]
    with_types = [designs.best(typed(record)) == record.design for record in records]
    sizes = [(r.participants, participants_of(r.untyped, r.told, participants)) for r in records]
    reported = [wanted == given for wanted, given in sizes if wanted is not None]
    silent = [given is None for wanted, given in sizes if wanted is None]
    figures = tuple(100 * sum(right) / max(1, len(right)) for right in (untyped, with_types, reported, silent))
    print(
        f"{title:12} {len(records):5} records: design {figures[0]:.1f} % (with types {figures[1]:.1f} %), "
        f"participants exact {figures[2]:.1f} % of {len(reported)}, not reported {figures[3]:.1f} % of {len(silent)}",
        flush=True,
    )
    return figures


def write_head(name: str, head: Head) -> str:
    """A head as lines: feature, tab, one signed byte a class in base64; the bias is the first."""
    weights = np.vstack([head.bias, head.weights])
    scale = f"{np.abs(weights).max() / 127:.6g}"
    whole = np.clip(np.round(weights / float(scale)), -127, 127).astype(np.int8)
    padded = np.pad(whole, ((0, 0), (0, -len(head.classes) % 3)))
    lines = ["\t".join([name, scale, *head.classes])]
    names = ["", *sorted(head.rows, key=lambda feature: head.rows[feature])]
    lines += [
        f"{feature}\t{base64.b64encode(row.tobytes()).decode()}" for feature, row in zip(names, padded, strict=True)
    ]
    return "\n".join(lines)


def main() -> None:
    """Train, measure, write."""
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("abstracts", type=Path)
    parser.add_argument("--labels", type=Path, default=here / "labels")
    parser.add_argument("--out", type=Path, default=here.parent / "tools/reading/facts_weights.tsv")
    chosen = parser.parse_args()
    began = time.monotonic()
    records, hinted = load(chosen.abstracts, chosen.labels)
    apart = [record for record in records if share("fold", record.pmid, 5) == 0]
    known = [record for record in records if share("fold", record.pmid, 5) != 0]
    print(f"{len(records)} records, {len(apart)} kept apart, {len(hinted)} by their types alone", flush=True)
    designs = [fit_design(train, hinted) for train, _ in folds(known)]
    for head, (_, test) in zip(designs, folds(known), strict=True):
        tell(head, test)  # the ranker learns from designs told by weights that have not seen the record
    table = np.array([
        measure(f"fold {at}", head, fit_participants(train), test)
        for at, (head, (train, test)) in enumerate(zip(designs, folds(known), strict=True), 1)
    ])  # fmt: skip
    for name, mean, deviation in zip(
        ("design", "design with types", "participants exact", "not reported"),
        table.mean(axis=0), table.std(axis=0, ddof=1), strict=True,
    ):  # fmt: skip
        print(f"{name}: {mean:.1f} % ± {deviation / math.sqrt(FOLDS):.1f}")
    measure("kept apart", fit_design(known, hinted), fit_participants(known), apart)
    head, ranker = fit_design(records, hinted), fit_participants(records)
    chosen.out.write_text(f"{write_head('design', head)}\n\n{write_head('participants', ranker)}\n", encoding="utf-8")
    print(f"{chosen.out}: {chosen.out.stat().st_size / 1000:.0f} kB; {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
