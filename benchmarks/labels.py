"""Labels made by reading: facts and offsets of (record, drug, condition), one file a reader, no text.

`python -m benchmarks.labels` prints how far two readers agree on the triples that both labelled.
"""

import csv
import gzip
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "labels"
EARLIER = 29
"""The batches up to this one say which records the encoder did not learn from."""
APART = frozenset(
    {"pneumonia", "peripheral neuropathy", "chronic pain", "alzheimer's disease", "acute coronary syndrome", "gout",
     "confusion", "oesophageal varices"}
)  # fmt: skip
"""Conditions that are kept apart, for closing figures only."""


@dataclass(frozen=True)
class Label:
    """What one reader said of one drug in one condition in one record."""

    who: int
    pmid: str
    drug: str
    condition: str
    role: str
    verdict: str
    match: str
    kind: str
    effect: str
    comparator: str
    design: str
    n: int | None
    """Participants; None where not reported."""
    start: int | None
    """Where the sentence that carries the verdict starts in title + ". " + abstract; None where the verdict is none."""
    end: int | None
    sure: bool
    """False where a colleague could disagree."""

    @property
    def key(self) -> str:
        """Who labelled what, in one line."""
        return "|".join((str(self.who), *self.triple))

    @property
    def triple(self) -> tuple[str, str, str]:
        """What was labelled."""
        return self.pmid, self.drug, self.condition


def labels(last: int | None = None, folder: Path = FOLDER) -> Sequence[Label]:
    """The labels of all batches, or of those up to the last one named, batch by batch."""
    all_labels: list[Label] = []
    for path in sorted(folder.glob("reader_*.tsv")):
        who = int(path.stem.removeprefix("reader_"))
        if last is not None and who > last:
            continue
        with path.open(encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                number = {name: int(row[name]) if row[name] else None for name in ("n", "start", "end")}
                words = {name: value for name, value in row.items() if name not in ("n", "start", "end", "sure")}
                all_labels.append(Label(who=who, **words, **number, sure=row["sure"] == "1"))  # type: ignore[arg-type]
    return all_labels


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Give the objects of a file with one JSON object a line, packed or not."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def is_apart(label: Label) -> bool:
    """Whether a label is for closing figures only."""
    return draw_bucket("fold" + label.pmid, 20) >= 16 or label.condition in APART


def is_left_out(label: Label) -> bool:
    """Whether the encoder did not learn from a label that is not kept apart."""
    return draw_bucket("fold" + label.pmid, 4) == 0


def draw_bucket(text: str, count: int) -> int:
    """Return a number below `count` by SHA-256: the same on every machine."""
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % count


def kappa(pairs: list[tuple[str, str]]) -> float:
    """Agreement beyond chance: 1 is full, 0 is chance."""
    same = sum(first == second for first, second in pairs) / len(pairs)
    left = Counter(first for first, _ in pairs)
    right = Counter(second for _, second in pairs)
    chance = sum(left[name] * right[name] for name in left) / len(pairs) ** 2
    return (same - chance) / (1 - chance) if chance < 1 else 1.0


def _have_two_readers(readings: Sequence[Label]) -> bool:
    return len({label.who for label in readings}) > 1


def main() -> None:
    """Print how far two readers agree on the triples that both labelled, a line for each field."""
    by_triple: dict[tuple[str, str, str], list[Label]] = defaultdict(list)
    for label in labels():
        by_triple[label.triple].append(label)
    twice_read = [readings[:2] for readings in by_triple.values() if _have_two_readers(readings)]
    print(f"{len(by_triple)} triples, {len(twice_read)} of them read by two")
    for field in ("verdict", "role", "match", "kind", "effect", "comparator", "design", "n"):
        pairs = [(str(getattr(first, field)), str(getattr(second, field))) for first, second in twice_read]
        same = sum(first == second for first, second in pairs) / len(pairs)
        print(f"{field:<10} same {same:6.1%}  kappa {kappa(pairs):.2f}")


if __name__ == "__main__":
    main()
