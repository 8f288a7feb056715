"""What a reader says of rows kept apart, kept in a file, so that two readers can be compared in pairs.

    python -m benchmarks.compare_readers FOLDER --weights build/reader/reader.npz [--join 0.4 --shown 0.6]
    python -m benchmarks.compare_readers FOLDER --keep FILE     (keeps what the bundled reader says)
    python -m benchmarks.compare_readers FOLDER --with FILE     (compares with what was kept, of another checkout)

The first compares weights that `make train-reader` wrote with the bundled reader; with `--join`, both together, where
the bundled one has that share, and support is shown from `--shown` on.

FOLDER holds the abstracts (`world_half.jsonl.gz`, `corpus_half.jsonl.gz`), trials with a registered p value
(`clinifact_half.jsonl.gz`) and whole readings (`study_readings.jsonl.gz`). Nothing was learnt or chosen on the rows:
labels kept apart, half of the trials, and half of the readings (`training.cases`). Shown are verdicts that a report
would count: `sure` ones. A difference is tested by the sign test of rows that one reader tells rightly and the other
does not.
"""

import argparse
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.labels import EARLIER, is_apart, is_left_out, labels, read_lines
from benchmarks.public_trials import ANOTHER, OUTCOME_MET, read_trials
from benchmarks.study_verdicts import is_open
from benchmarks.training.cases import is_closing_trial
from benchmarks.training.joining import JoinedReader

from willowbark.tools.appraisal.stance import derive_stance
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.lexicon.conditions import find_known_conditions
from willowbark.tools.reading.assembler import assemble_study, is_on_condition
from willowbark.tools.reading.document import Document
from willowbark.tools.reading.learned import LearnedReader
from willowbark.tools.reading.onepass import OnePassReader
from willowbark.tools.reading.reading import Reading

VERDICTS = ("supports", "contradicts", "neutral", "none")
_OF_STANCE = {"missed": "contradicts", "combined": "neutral", "comparator": "neutral"}


class Row(NamedTuple):
    """A drug in a condition in a record, and what is right of it."""

    group: str
    """`labels`, `readings`, or `trials`."""
    key: str
    title: str
    text: str
    types: tuple[str, ...]
    drug: str
    condition: str
    truth: Mapping[str, Any]


def read_rows(folder: Path) -> Iterator[Row]:
    """Yield all rows that are kept apart."""
    records: dict[str, dict[str, Any]] = {}
    for name in ("world_half", "corpus_half"):
        for record in read_lines(folder / f"{name}.jsonl.gz"):
            if record.get("abstract"):
                records.setdefault(str(record["pmid"]), record)

    def make_row(group: str, pmid: str, drug: str, condition: str, truth: Mapping[str, Any]) -> Row:
        record = records[pmid]
        types = tuple(record.get("publication_types") or ())
        return Row(group, pmid, record["title"], record["abstract"], types, drug, condition, truth)

    for label in labels():
        if is_apart(label) and label.pmid in records:
            fields = ("verdict", "role", "match", "kind", "effect", "comparator", "n", "start", "sure")
            truth = {name: getattr(label, name) for name in fields}
            yield make_row("labels", label.pmid, label.drug, label.condition, truth)
    for reading in read_lines(folder / "study_readings.jsonl.gz"):
        pmid = str(reading["pmid"])
        if pmid in records and not is_open(pmid):
            for view in reading["says"]:
                names = find_known_conditions(view["condition"])
                drug = canonical_drug(view["drug"])
                if names and drug:
                    truth = {"verdict": view["verdict"], "role": view["role"], "sure": bool(reading["sure"])}
                    yield make_row("readings", pmid, drug, names[0].name, truth)
    path = folder / "clinifact_half.jsonl.gz"
    for paper, trial in zip(read_lines(path), read_trials(path), strict=True):
        is_complete = trial.label != ANOTHER and trial.drug and trial.condition
        if is_complete and is_closing_trial(str(paper["pmid"])):
            truth = {"met": trial.label == OUTCOME_MET, "placebo": trial.against_nothing, "oncology": trial.oncology}
            pmid = str(paper["pmid"])
            yield Row("trials", pmid, trial.title, trial.text, (), str(trial.drug), str(trial.condition), truth)


def tell_row(reader: LearnedReader, row: Row) -> dict[str, Any]:
    """Return what a reader says of a row."""
    document = Document.cut(row.title, row.text, row.types)
    reading = reader.read_document(document, row.drug, row.condition)
    return {"verdict": reading.verdict, **describe(reading), "stance": tell_stance(reading, document)}


def describe(reading: Reading) -> dict[str, Any]:
    """Return the fields of a reading that are compared."""
    fields = ("role", "match", "kind", "effect", "comparator", "primary", "sure", "probability", "participants")
    quote = reading.passages[0].start if reading.passages else None
    return {**{name: getattr(reading, name) for name in fields}, "quote": quote}


def tell_stance(reading: Reading, document: Document) -> str:
    """Return the verdict that follows from the study assembled from one reading."""
    stance = derive_stance(assemble_study([reading], document), reading.drug, is_on_condition)
    return _OF_STANCE.get(stance.says, stance.says)


def find_learnt() -> frozenset[str]:
    """Return the records that the bundled encoder learnt from, by PMID."""
    all_labels = labels()
    apart = {label.pmid for label in all_labels if is_apart(label)}
    early = {label.pmid for label in labels(EARLIER) if is_left_out(label)}
    return frozenset({label.pmid for label in all_labels} - apart - early)


def read_all(folder: Path, reader: LearnedReader) -> list[tuple[Row, dict[str, Any]]]:
    """Read all rows."""
    return [(row, tell_row(reader, row)) for row in read_rows(folder)]


def is_shown(answer: Mapping[str, Any], verdict: str) -> bool:
    """Whether a verdict is told, and surely."""
    return bool(answer["verdict"] == verdict and answer["sure"])


def print_figures(name: str, rows: Sequence[tuple[Row, dict[str, Any]]]) -> None:
    """Print what a reader's answers are worth."""
    print(f"== {name}")
    for group in ("labels", "readings"):
        own = [(row.truth, answer) for row, answer in rows if row.group == group]
        for what in ("verdict", "stance"):
            right = [truth["verdict"] == answer[what] for truth, answer in own]
            sure = [hit for hit, (truth, _) in zip(right, own, strict=True) if truth["sure"]]
            print(f"{group}: {what} right {_format_share(right)}, of sure labels {_format_share(sure)}")
        for verdict in ("supports", "contradicts"):
            for how, test in (("told", lambda answer, v: answer["verdict"] == v), ("shown", is_shown)):
                hits = [truth["verdict"] == verdict for truth, answer in own if test(answer, verdict)]
                reached = [test(answer, verdict) for truth, answer in own if truth["verdict"] == verdict]
                print(f"    {verdict} {how}: precision {_format_share(hits)}, recall {_format_share(reached)}")
        fields = ("role", "match", "kind", "effect", "comparator") if group == "labels" else ("role",)
        shares = []
        for field in fields:
            share = _format_share([truth[field] == answer[field] for truth, answer in own])
            shares.append(f"{field} {share}")
        print("    " + ", ".join(shares))
    quotes = [
        (row.truth["start"], answer["quote"]) for row, answer in rows if row.group == "labels" and row.truth["start"]
    ]
    print(
        "    quote right where one is given: " + _format_share([one == two for one, two in quotes if two is not None])
    )
    trials = [(row.truth, answer) for row, answer in rows if row.group == "trials"]
    for title, of_field in (("against placebo", False), ("oncology", True)):
        own = [row for row in trials if row[0]["oncology"] == of_field and (of_field or row[0]["placebo"])]
        failed = [answer for truth, answer in own if not truth["met"]]
        successful = [answer for truth, answer in own if truth["met"]]
        print(
            f"trials, {title}: of {len(failed)} failed {sum(map(tells_failure, failed))} told, "
            f"{sum(is_shown(answer, 'supports') for answer in failed)} as supporting; "
            f"of {len(successful)} met {sum(map(tells_failure, successful))} told as failed, "
            f"{sum(is_shown(answer, 'supports') for answer in successful)} as supporting"
        )


def tells_failure(answer: Mapping[str, Any]) -> bool:
    """Whether a reading tells a trial as failed or as having missed its primary outcome."""
    return is_shown(answer, "contradicts") or answer["primary"] == "not_met"


def _format_share(hits: Sequence[bool]) -> str:
    return f"{100 * sum(hits) / max(1, len(hits)):.1f} % of {len(hits)}"


def compare(
    ours: Sequence[tuple[Row, dict[str, Any]]], others: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[str, int, int, float]]:
    """Yield for each group how many rows one reader alone tells rightly, and the other, and how likely that is."""
    for group in ("labels", "readings"):
        for what in ("verdict", "stance"):
            own = other = 0
            for row, answer in ours:
                if row.group == group:
                    ours_right = answer[what] == row.truth["verdict"]
                    other_right = others[_make_key(row)][what] == row.truth["verdict"]
                    own += ours_right and not other_right
                    other += other_right and not ours_right
            yield f"{group}, {what}", own, other, compute_sign_test(own, other)


def compute_sign_test(first: int, second: int) -> float:
    """Return the two-sided probability of so uneven a split by chance."""
    count = first + second
    least = min(first, second)
    tail = sum(math.comb(count, at) for at in range(least + 1)) / 2**count
    return float(min(1.0, 2 * tail))


def _make_key(row: Row) -> str:
    return "|".join((row.group, row.key, row.drug, row.condition, json.dumps(row.truth, sort_keys=True)))


def main() -> None:
    """Read, print, keep or compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--join", type=float, help="share of the bundled reader, 0 to 1")
    parser.add_argument("--shown", type=float, default=0.6, help="least probability of support that is shown")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--with", type=Path, dest="other")
    options = parser.parse_args()
    bundled = LearnedReader()
    reader: LearnedReader = bundled
    if options.weights:
        reader = OnePassReader(options.weights.read_bytes())
        if options.join is not None:
            reader = JoinedReader(reader, options.join, {"supports": options.shown})
    rows = read_all(options.folder, reader)
    print_figures("this reader", rows)
    if options.keep:
        options.keep.write_text(json.dumps({_make_key(row): answer for row, answer in rows}), encoding="utf-8")
    others = json.loads(options.other.read_text(encoding="utf-8")) if options.other else {}
    if options.weights:
        others = {_make_key(row): tell_row(bundled, row) for row, _ in rows}
    if others:
        learnt = find_learnt()
        print_figures("the other", [(row, others[_make_key(row)]) for row, _ in rows if _make_key(row) in others])
        for title, own in (
            ("all", rows),
            ("of records that neither learnt from", [row for row in rows if row[0].key not in learnt]),
        ):
            shared = [(row, answer) for row, answer in own if _make_key(row) in others]
            for name, first, second, chance in compare(shared, others):
                print(f"{title}, {name}: this reader alone right {first}, the other alone {second}, p = {chance:.3f}")


if __name__ == "__main__":
    main()
