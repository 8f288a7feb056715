"""How many abstracts a second the readers read on one core, and whether they tell two arms apart.

Run `python -m benchmarks.reading_speed path/to/abstracts.jsonl.gz`. The arms are those of records where readers
labelled one drug as tested and another as its comparator in the same condition.
"""

import gzip
import json
import sys
import time
from collections import defaultdict
from pathlib import Path

from benchmarks.labels import Label, labels

from willowbark.tools.reading.encoder import CarefulReader
from willowbark.tools.reading.learned import LearnedReader
from willowbark.tools.reading.reading import Asked

COUNT = 400  # abstracts timed, and of pairs of arms; the careful reader reads a tenth


def main(path: Path) -> None:
    """Print speed and arms."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        records = {record["pmid"]: record for record in map(json.loads, file)}

    def asked(label: Label) -> Asked:
        record = records[label.pmid]
        return Asked(
            key=label.pmid,
            title=record["title"],
            text=record["abstract"],
            drug=label.drug,
            condition=label.condition,
        )

    found = [each for each in labels() if each.pmid in records]
    once = list({each.pmid: each for each in found}.values())
    arms: dict[tuple[str, str], dict[str, Label]] = defaultdict(dict)
    for each in found:
        arms[each.pmid, each.condition][each.role] = each
    pairs = [(each["tested"], each["comparator"]) for each in arms.values() if {"tested", "comparator"} <= set(each)]
    for reader, count in ((LearnedReader(), COUNT), (CarefulReader(), COUNT // 10)):
        reader.read_one(asked(once[0]))  # the lexicon and the weights are read once
        began = time.process_time()
        for each in once[:count]:
            reader.read_one(asked(each))
        speed = min(count, len(once)) / (time.process_time() - began)
        print(f"{reader.name}: {speed:.0f} abstracts a second of processor time")
        told = [(reader.read_one(asked(first)), reader.read_one(asked(second))) for first, second in pairs[:count]]
        apart = sum(first.role != second.role for first, second in told)
        right = sum(first.role == "tested" and second.role == "comparator" for first, second in told)
        print(f"    {len(told)} pairs of arms: {apart} read apart, {right} of them the right way round")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
