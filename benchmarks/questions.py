"""How many questions are read rightly or asked back: `python -m benchmarks.questions`, by `labels/questions.tsv`.

A question's reading is written as in that table, so that the two can be compared word by word; what was misread of the
half that rules were written on is printed, of the half kept apart it is only counted (`--show` prints it too).
The second halves were written later, in the same way.
"""

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

from willowbark.tools.questions import Question, parse_question, stand_alone

TABLE = Path(__file__).parent / "labels" / "questions.tsv"


def rows() -> Iterator[dict[str, str]]:
    """The rows of the table."""
    lines = (line for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    yield from csv.DictReader(lines, delimiter="\t")


def reading_of(question: str, after: str) -> str:
    """How a question is read, as the table writes it."""
    asked = parse_question(stand_alone(question, after) if after else question)
    return "asks back" if asked.objection else _written(asked)


def _written(asked: Question) -> str:
    parts = {
        "c": asked.conditions,
        "w": asked.background,
        "d": asked.drugs,
        "k": asked.drug_classes,
        "x": asked.left_out,
        "p": (asked.population,) if asked.population else (),
        "also": asked.also,
    }
    said = [asked.kind, *(f"{name} {', '.join(each)}" for name, each in parts.items() if each)]
    return "; ".join([*said, *(["acute"] if asked.is_acute else [])])


def main() -> None:
    """Print the shares, and what was misread."""
    for part in ("made on", "apart", "second made on", "second apart"):
        read = [(row, reading_of(row["question"], row["after"])) for row in rows() if row["part"] == part]
        wrong = [(row, said) for row, said in read if said != row["reading"]]
        back = sum(said == "asks back" for _, said in wrong)
        obeyed = [" x " in f" {said}" or said == "asks back" for row, said in read if "; x " in row["reading"]]
        print(f"{part}: {len(read) - len(wrong)} of {len(read)} as meant, {back} more asked back", end="; ")
        print(f"exclusions read: {sum(obeyed)} of {len(obeyed)}")
        for row, said in wrong if part.endswith("made on") or "--show" in sys.argv else ():
            print(f"  {row['question']}\n    meant {row['reading']}\n    read  {said}")


if __name__ == "__main__":
    main()
