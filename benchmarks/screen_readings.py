"""First screens of 22 conditions that no rule was made on, each read beside the abstracts that it cites.

    python -m benchmarks.screen_readings

The screens are those of the baseline analyst, without a language model, over a half of a collection of abstracts that
the project does not hold (`willowbark ask --library DIR "Which existing drugs might treat …?"`). The conditions were
written down before anything was run; half served to mend what was wrong, half were read once, when that was done.
`screen_conditions.tsv` has a reader's word for each screen: sign, remark (would sign with a remark) or refuse, as a
sceptical pharmacologist would; `screen_readings.tsv` whether each study shown is rightly shown as what it is, with
the cause where not: facts alone, no text. One reader, a language model, read all of it. The closing half was made and
read again, once, after later changes, by the model that had made these: builder and reader are one there. Some of the
causes that it found were mended after, and not read again.
"""

import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).parent
PARTS = ("development", "closing")
VERDICTS = ("sign", "remark", "refuse")
AGAINST = ("contradicts", "missed")


def read_table(name: str) -> list[dict[str, str]]:
    """Read a table of this folder."""
    with (FOLDER / name).open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def list_figures() -> Iterator[str]:
    """List the figures, part by part, and what was wrong."""
    conditions = read_table("screen_conditions.tsv")
    part_of = {row["condition"]: row["part"] for row in conditions}
    rows = read_table("screen_readings.tsv")
    for part in PARTS:
        verdicts = Counter(row["verdict"] for row in conditions if row["part"] == part)
        verdict_counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS)
        own = [row for row in rows if part_of[row["condition"]] == part]
        supports = _share(own, ("supports",))
        yield f"{part}: {verdict_counts}; {supports} supports right, {_share(own, AGAINST)} against right"
    causes = Counter(row["cause"] for row in rows if row["right"] == "0")
    yield "wrong by cause: " + ", ".join(f"{cause} {count}" for cause, count in causes.most_common())
    for row in conditions:
        if row["verdict"] == "refuse":
            yield f"  refused, {row['part']}: {row['condition']}: {row['why']}"


def _share(rows: list[dict[str, str]], kinds: tuple[str, ...]) -> str:
    of_kind = [row for row in rows if row["shown"] in kinds]
    return f"{sum(row['right'] == '1' for row in of_kind)} of {len(of_kind)}"


if __name__ == "__main__":
    print(*list_figures(), sep="\n")
