"""Whether results of the full text should be read, and when: beside the abstract, before it, or where it is undecided.

    python benchmarks/fulltext.py [--data FOLDER]

Evidence Inference (https://evidence-inference.ebm-nlp.com) says of an article what an intervention did to an outcome,
with the passage that shows it. The passages of an article that its abstract does not hold, on whatever outcome, stand
for its results here; they are fewer and better chosen than whole sections, so read the order of the lines, not their
height. The first table reads the effect on a given outcome. The second reads the verdict on an intervention, as reports
do, of articles whose outcomes all point one way; the outcome stands for the condition.
"""

import argparse
import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from quality import EFFECTS, accuracy, macro_f1

from willowbark.tools.appraisal import conclusion_of, effect_in
from willowbark.tools.reading.polarity import higher_is_better

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "benchmarks"
UNDECIDED = "undecided"
NO_VERDICT = (UNDECIDED, "unclear", "neutral")
Pair = tuple[str, str]
Row = dict[str, Any]


def passages_by_article(rows: Sequence[Row]) -> dict[str, str]:
    """The passages that stand outside of each article's abstract, each once."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    for row in rows:
        passage = " ".join(row["evidence"].split())
        if passage and passage not in " ".join(row["text"].split()):
            found[row["pmcid"]][passage] = None
    return {article: "\n".join(passages) for article, passages in found.items()}


def readings(rows: Sequence[Row]) -> dict[str, list[Pair]]:
    """(gold, given) pairs for each way of reading."""
    results = passages_by_article(rows)
    found: dict[str, list[Pair]] = defaultdict(list)
    for row in _distinct(rows):
        if row["pmcid"] not in results:
            continue
        gold, text = EFFECTS[row["label"]], results[row["pmcid"]]
        abstract, alone = _read(row["text"], row), _read(text, row)
        found["abstract alone"].append((gold, abstract))
        found["abstract, results where it is undecided"].append((gold, alone if abstract == UNDECIDED else abstract))
        found["abstract and results together"].append((gold, _read(f"{row['text']}\n{text}", row)))
        found["results, abstract where they are undecided"].append((gold, abstract if alone == UNDECIDED else alone))
        if abstract == UNDECIDED:
            found["results, of those that the abstract leaves undecided"].append((gold, alone))
    return found


def verdicts(rows: Sequence[Row]) -> dict[str, list[Pair]]:
    """(gold, given) verdicts on interventions, for the abstract alone and for the results where it is undecided."""
    results = passages_by_article(rows)
    said: dict[tuple[str, str], set[str]] = defaultdict(set)
    first: dict[tuple[str, str], Row] = {}
    for row in _distinct(rows):
        good = higher_is_better(row["outcome"])
        if good is not None and row["pmcid"] in results:
            key = (row["pmcid"], row["intervention"])
            helps = EFFECTS[row["label"]] == ("increase" if good else "decrease")
            said[key].add("supports" if helps else "contradicts")
            first.setdefault(key, row)
    found: dict[str, list[Pair]] = defaultdict(list)
    for key, golds in said.items():
        if len(golds) > 1:
            continue
        gold, row = next(iter(golds)), first[key]
        head, _, body = row["text"].removeprefix("TITLE:").strip().partition("\n\n")
        title = " ".join(head.split())
        abstract, alone = (
            conclusion_of(title, text, key[1], row["outcome"]).direction.value for text in (body, results[key[0]])
        )
        found["abstract alone"].append((gold, abstract))
        found["abstract, results where it is undecided"].append((gold, alone if abstract == "unclear" else abstract))
    return found


def _distinct(rows: Sequence[Row]) -> Iterator[Row]:
    seen: set[tuple[str, ...]] = set()
    for row in rows:
        asked = (row["pmcid"], row["intervention"], row["outcome"], row["comparator"])
        if row["label"] in EFFECTS and asked not in seen:
            seen.add(asked)
            yield row


def _read(text: str, row: Row) -> str:
    effect = effect_in(text, row["intervention"], row["outcome"], row["comparator"]).effect
    return effect.value if effect else UNDECIDED


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="When to read the results of a full text.")
    parser.add_argument("--data", type=Path, default=DATA)
    file = parser.parse_args(arguments).data / "evidence_inference_train.jsonl.gz"
    if not file.exists():
        sys.stdout.write(f"{file} is not there: nothing to measure\n")
        return 0
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    for title, table in (("effect on an outcome", readings(rows)), ("verdict on an intervention", verdicts(rows))):
        sys.stdout.write(f"{title}\n")
        sys.stdout.writelines(f"  {name:<54} {_line(pairs)}\n" for name, pairs in table.items())
    return 0


def _line(pairs: Sequence[Pair]) -> str:
    decided = [pair for pair in pairs if pair[1] not in NO_VERDICT]
    figures = f"accuracy {accuracy(pairs):.1f}, of the decided {accuracy(decided):.1f}"
    return f"n {len(pairs):>4}, decided {len(decided):>4}, {figures}, macro-F1 {macro_f1(pairs):.1f}"


if __name__ == "__main__":
    raise SystemExit(main())
