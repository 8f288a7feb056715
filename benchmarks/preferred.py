"""Blind comparison of a report's written answer with 250 words that the same model wrote freely from the same records.

    python -m benchmarks.preferred                              print the table
    python -m benchmarks.preferred --pairs DIR [NAME …]         make blinded pairs from recorded runs (`recorded.py`)
    python -m benchmarks.preferred --take DIR --reader WHO      take a reader's verdicts into the table

`--pairs` writes a folder a run. Its `free_request.txt` asks for the free answer, which belongs into `free.txt`; once it
is there, a further call writes `pair.txt` with both answers as A and B, and `verdict.tsv` for a third reader, who sees
these and the records, and neither which answer is whose nor citations or marks. Who is A stands in `key.json` beside
the folders, out of the reader's sight, and is drawn for each pair.

In `verdict.tsv` the reader writes the facts that change a clinician's decision, by the records, before looking at the
answers; then of each whether an answer tells it, leaves it out or tells it falsely; last which answer is preferred.
`preferred.tsv` keeps what came of it, a line a run and reader.
"""

import argparse
import asyncio
import csv
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.recorded import FOLDER, RecordedClient, find_replayable, replay_recorded

from willowbark.agents.report.model import ResearchReport

TABLE = Path(__file__).with_name("preferred.tsv")
COLUMNS = (
    "run", "reader", "facts", "report_told", "report_false", "free_told", "free_false", "preferred",
)  # fmt: skip
MOST_WORDS = 250
LEAST_WINS = 7  # of ten questions in which the report is preferred or equal
IS_TOLD, MISSING, FALSE = "told", "missing", "false"
PREFERRED = "preferred"
EQUAL = "equal"
SIDES = ("A", "B")
_MARK = re.compile(r"(?:^|(?<= ))\[[rt]?\d+\] ")
"""Number of a passage in a prompt."""


class Comparison(NamedTuple):
    """What one reader found in one run's pair."""

    run: str
    reader: str
    facts: int
    """That change a decision, by the records."""
    report_told: int
    report_false: int
    free_told: int
    free_false: int
    preferred: str
    """report, free or equal."""

    @classmethod
    def of(cls, row: Mapping[str, str]) -> "Comparison":
        """Return a line of the table."""
        counts = {name: int(row[name]) for name in COLUMNS[2:-1]}
        return cls(run=row["run"], reader=row["reader"], preferred=row["preferred"], **counts)


def read_table(path: Path = TABLE) -> list[Comparison]:
    """Read what readers found so far; nothing without a table."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [Comparison.of(row) for row in csv.DictReader(file, delimiter="\t")]


def write_table(rows: Sequence[Comparison], path: Path = TABLE) -> None:
    """Write the table, by run and reader."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(sorted(rows))


def describe(rows: Sequence[Comparison]) -> list[str]:
    """Describe the table, a line a comparison, and the sums."""
    if not rows:
        return [
            "no pair was compared yet: `--pairs DIR` makes them, `--take DIR --reader WHO` takes a reader's verdicts"
        ]
    lines = [
        f"{row.run} ({row.reader}): of {row.facts} facts the report tells {row.report_told}, "
        f"{row.report_false} falsely; the free answer {row.free_told}, {row.free_false} falsely; "
        f"preferred: {row.preferred}"
        for row in rows
    ]
    facts = sum(row.facts for row in rows)
    wins = sum(row.preferred != "free" for row in rows)
    right = [sum(row.report_told for row in rows), sum(row.free_told for row in rows)]
    wrong = [sum(row.report_false for row in rows), sum(row.free_false for row in rows)]
    return [
        *lines,
        f"of {facts} facts the reports tell {right[0]}, {wrong[0]} falsely; "
        f"the free answers {right[1]}, {wrong[1]} falsely",
        f"the report preferred or equal: {wins} of {len(rows)} (due: {LEAST_WINS} of 10)",
    ]


def list_records(client: RecordedClient) -> list[dict[str, Any]]:
    """Return the records that a run's model read, each once, as it was shown them without numbers."""
    records = dict[str, dict[str, Any]]()
    for answered in client.used:
        text = client.texts.get(answered.prompt, "") if answered.kind == "StudiesDraft" else ""
        for line in text.split("\n"):
            if line.startswith('{"key"'):
                record = json.loads(line)
                parts = [record["text"], *record.get("results", ()), *record.get("tables", ())]
                words = " ".join(_MARK.sub("", part) for part in parts)
                records.setdefault(record["key"], {"key": record["key"], "title": record["title"], "text": words})
    return list(records.values())


def answer_of(report: ResearchReport) -> str:
    """Return a report's written answer by its parts, without citations; SystemExit if none was written."""
    if report.written is None or not report.written.answer:
        raise SystemExit(f"{report.research_question}: no answer was written in this run; record it anew first")
    lines = list[str]()
    for heading, sentences in report.written.parts():
        texts = [sentence.text for sentence in sentences]
        lines += [heading, *(f"- {text}" for text in texts)] if heading else [" ".join(texts)]
    return "\n".join(lines)


def make_pair(folder: Path, run: str, question: str, answer: str, records: Sequence[Mapping[str, Any]]) -> str:
    """Write a run's folder as far as it goes, and return what is to be done next in a line."""
    own = folder / run
    own.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    (own / "records.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    free = own / "free.txt"
    if not free.exists():
        task = f"Answer in at most {MOST_WORDS} words, for a clinician who must decide, from these records alone."
        (own / "free_request.txt").write_text("\n".join([question, task, "", *lines, ""]), encoding="utf-8")
        return f"{run}: have the run's model answer {own / 'free_request.txt'} into {free}"
    words = " ".join(free.read_text(encoding="utf-8").split())
    number = len(words.split())
    if not 0 < number <= MOST_WORDS:
        raise SystemExit(f"{free}: has {number} words; it may have 1 to {MOST_WORDS}")
    key = _read_key(folder)
    is_report_first = key.setdefault(run, secrets.choice(SIDES)) == SIDES[0]
    first, second = (answer, words) if is_report_first else (words, answer)
    (folder / "key.json").write_text(json.dumps(key, indent=1), encoding="utf-8")
    (own / "pair.txt").write_text(f"{question}\n\nA\n{first}\n\nB\n{second}\n", encoding="utf-8")
    verdict = own / "verdict.tsv"
    if not verdict.exists():
        verdict.write_text(f"fact\tA\tB\n{PREFERRED}\t\t\n", encoding="utf-8")
    return (
        f"{run}: give {own / 'pair.txt'} and {own / 'records.jsonl'} to a third reader, for {verdict}: a line a fact "
        f"with {IS_TOLD}, {MISSING} or {FALSE} under A and B; last `{PREFERRED}` with A, B or {EQUAL} under A"
    )


def take_verdict(folder: Path, run: str, reader: str) -> Comparison:
    """Return what a reader wrote into a run's folder, told by who wrote what.

    Raises:
        SystemExit: the verdict is missing, or a line of it cannot be understood; names the line.
    """
    path = folder / run / "verdict.tsv"
    key = _read_key(folder)
    if run not in key or not path.exists():
        raise SystemExit(f"{path}: there is no pair yet; make it with `--pairs {folder}`")
    report, free = SIDES if key[run] == SIDES[0] else SIDES[::-1]
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    facts = [row for row in rows if row["fact"] != PREFERRED]
    for number, row in enumerate(facts, 2):
        if not {row["A"], row["B"]} <= {IS_TOLD, MISSING, FALSE}:
            raise SystemExit(f"{path}, line {number}: under A and B stand {IS_TOLD}, {MISSING} or {FALSE}")
    [choice] = [row["A"] for row in rows if row["fact"] == PREFERRED] or [""]
    if not facts or choice not in (*SIDES, EQUAL):
        raise SystemExit(f"{path}: needs a line a fact, and one `{PREFERRED}` with A, B or {EQUAL} under A")

    def count(side: str, word: str) -> int:
        return sum(row[side] == word for row in facts)

    return Comparison(
        run=run,
        reader=reader,
        facts=len(facts),
        report_told=count(report, IS_TOLD),
        report_false=count(report, FALSE),
        free_told=count(free, IS_TOLD),
        free_false=count(free, FALSE),
        preferred={report: "report", free: "free", EQUAL: EQUAL}[choice],
    )


def _read_key(folder: Path) -> dict[str, str]:
    path = folder / "key.json"
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def make_pairs(folder: Path, names: Sequence[str]) -> None:
    """Write the pairs of recorded runs, those of collections that are not at hand left out."""
    for name, where in find_replayable(names):
        client, report = asyncio.run(replay_recorded(name, where))
        print(make_pair(folder, name, report.research_question, answer_of(report), list_records(client)))


def take_verdicts(folder: Path, reader: str, names: Sequence[str]) -> None:
    """Take a reader's verdicts into the table, in place of earlier ones of that reader on the same runs."""
    new = [take_verdict(folder, name, reader) for name in names]
    replaced = {(row.run, row.reader) for row in new}
    write_table([*(row for row in read_table() if (row.run, row.reader) not in replaced), *new])


def main() -> None:
    """Print the table, make pairs, or take verdicts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="recorded runs; all by default")
    parser.add_argument("--pairs", type=Path, metavar="DIR")
    parser.add_argument("--take", type=Path, metavar="DIR")
    parser.add_argument("--reader", help="who compared")
    arguments = parser.parse_args()
    every = sorted(path.stem for path in FOLDER.glob("*.jsonl"))
    if arguments.pairs is not None:
        make_pairs(arguments.pairs, arguments.names or every)
        return
    if arguments.take is not None:
        if not arguments.reader:
            raise SystemExit("--take: say who compared, with --reader")
        ready = [name for name in every if (arguments.take / name / "verdict.tsv").exists()]
        take_verdicts(arguments.take, arguments.reader, arguments.names or ready)
    print(*describe(read_table()), sep="\n")


if __name__ == "__main__":
    main()
