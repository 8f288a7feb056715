"""How well the rules of the appraisal read: on two tables of the tests and on two public gold sets.

    python benchmarks/quality.py [--data FOLDER]

Evidence Inference (https://evidence-inference.ebm-nlp.com): did the intervention increase, decrease or not change the
outcome, read from the gold sentence and from the whole abstract. PubMedQA (https://pubmedqa.github.io): does an
abstract answer its question with yes, no or maybe, with and without its conclusion. The rules were set on half `tune`
of each set (by a hash of the article's number); half `held` was measured, but about seventy records of both halves
were seen before rules were written, so it is not wholly unseen. The floors are simple rules measured on other parts of
the same sets. The rules were mended on the case table; its cases marked `kept_apart` were written afterwards and two of
them led to one repair.

What records say of drugs against a reading by hand is measured in `verdicts.py`, whose table is printed here too.
"""

import argparse
import gzip
import hashlib
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import verdicts
from answer import answer_of

from willowbark.tools.appraisal import (
    EffectSize,
    classify_design,
    conclusion_of,
    direction_of,
    effect_in,
    effect_of,
    effect_sizes,
    followup_months,
    phase,
    primary_outcome,
    sample_size,
    why_stopped_kind,
)
from willowbark.tools.reading.reporting import arms

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "cases" / "appraisal.jsonl"
Row = dict[str, Any]
Pair = tuple[str, str]

EFFECTS = {
    "no significant difference": "no_difference",
    "significantly decreased": "decrease",
    "significantly increased": "increase",
    "significantly increase": "increase",
}
FLOORS = {"sentence": "71.1", "abstract": "55.2", "with conclusion": "72.6 / 53.7", "without conclusion": "61.0 / 43.2"}


def accuracy(pairs: Sequence[Pair]) -> float:
    """Share of (gold, given) pairs that agree, in percent."""
    return 100 * sum(gold == given for gold, given in pairs) / len(pairs)


def macro_f1(pairs: Sequence[Pair]) -> float:
    """Mean of the classes' F1, in percent."""
    labels = sorted({gold for gold, _ in pairs})
    return 100 * sum(_f1(pairs, label) for label in labels) / len(labels)


def _f1(pairs: Sequence[Pair], label: str) -> float:
    hits = sum(gold == given == label for gold, given in pairs)
    named = sum((gold == label) + (given == label) for gold, given in pairs)
    return 2 * hits / named


def half(name: str) -> str:
    """The half a record belongs to, by a hash of its name."""
    return "held" if hashlib.sha256(name.encode()).digest()[-1] % 2 else "tune"


def case_fields(case: Row) -> Row:
    """What the rules read of a case, for the fields that the case asks for."""
    wanted = case["expect"]
    return {field: READERS[field](case) for field in wanted}


def _direction(case: Row) -> str:
    if "sentence" in case:
        return direction_of(case["sentence"], case["drug"], case["outcome"]).direction.value
    return conclusion_of(case["title"], case["text"], case["drug"], case["condition"]).direction.value


def _listed(size: EffectSize) -> list[Any]:
    return [size.measure, size.value, size.ci_low, size.ci_high, size.p]


def _value(reader: Callable[[str], Any]) -> Callable[[Row], Any]:
    def read(case: Row) -> Any:
        found = reader(case["text"])
        return None if found is None else found.value

    return read


READERS: dict[str, Callable[[Row], Any]] = {
    "design": lambda c: classify_design(c["title"], c["text"], c["publication_types"], c["mesh_terms"]).design.value,
    "direction": _direction,
    "sample_size": _value(sample_size),
    "followup_months": _value(followup_months),
    "arms": _value(arms),
    "phase": lambda c: found.value if (found := phase(f"{c['title']}. {c['text']}")) else None,
    "primary_outcome": _value(primary_outcome),
    "effect_sizes": lambda c: [_listed(size) for size in effect_sizes(c["text"])],
    "why_stopped_kind": lambda c: why_stopped_kind(c["why_stopped"]),
}


def agrees(field: str, expected: Any, given: Any) -> bool:
    """Whether a reading is the one expected; a primary outcome agrees when it holds the expected words."""
    if field == "primary_outcome" and expected and given:
        return expected.lower() in given.lower()
    return bool(expected == given)


def read_cases() -> list[Row]:
    """Give the case table."""
    return [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]


def case_table(cases: Sequence[Row]) -> Iterable[str]:
    """Precision and recall per field: of what is given, of what is reported."""
    yield f"{len(cases)} cases: field, precision, recall"
    for field in READERS:
        if not any(field in case["expect"] for case in cases):
            continue
        read = [(case["expect"][field], case_fields(case)[field]) for case in cases if field in case["expect"]]
        right = sum(agrees(field, expected, given) for expected, given in read if expected not in (None, []))
        given = sum(g not in (None, []) for _, g in read)
        reported = sum(e not in (None, []) for e, _ in read)
        shares = f"{100 * right / max(1, given):6.1f}{100 * right / max(1, reported):8.1f}"
        yield f"  {field:<18}{shares}   ({right} right of {given} given, {reported} reported)"


def effect_pairs(rows: Sequence[Row], whole: str) -> list[Pair]:
    """Gold and given effects; no effect read counts as no difference, the commonest."""
    read = effect_of if whole == "sentence" else effect_in
    source = "evidence" if whole == "sentence" else "text"
    pairs = []
    for row in rows:
        found = read(row[source], row["intervention"], row["outcome"], row["comparator"])
        pairs.append((EFFECTS[row["label"]], found.effect.value if found.effect else "no_difference"))
    return pairs


def answer_pairs(rows: Sequence[Row], whole: str) -> list[Pair]:
    """Gold and given answers."""
    pairs: list[Pair] = []
    for row in rows:
        text = "\n".join(f"{label}: {part}" for label, part in zip(row["LABELS"], row["CONTEXTS"], strict=True))
        if whole == "with conclusion":
            text += f"\nCONCLUSION: {row['LONG_ANSWER']}"
        pairs.append((row["final_decision"], answer_of(row["QUESTION"], text).verdict))
    return pairs


def benchmark(
    name: str, rows: Sequence[Row], read: Callable[[Sequence[Row], str], list[Pair]], wholes: Sequence[str]
) -> Iterable[str]:
    """A table with a line for each half and the whole."""
    yield f"{name}: what is read, half, records, accuracy, macro-F1"
    for whole in wholes:
        for part in ("tune", "held", "all"):
            chosen = [row for row in rows if part in ("all", half(row["name"]))]
            pairs = read(chosen, whole)
            floor = f"   floor {FLOORS[whole]}" if part == "all" else ""
            yield f"  {whole:<20}{part:<6}{len(pairs):>5}{accuracy(pairs):8.1f}{macro_f1(pairs):8.1f}{floor}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; what is not there is named."""
    parser = argparse.ArgumentParser(description="Measure how well the appraisal reads.")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data" / "benchmarks")
    data = parser.parse_args(arguments).data
    cases = read_cases()
    lines = ["Case table, mended on:", *case_table([case for case in cases if not case["kept_apart"]])]
    lines += ["Case table, kept apart:", *case_table([case for case in cases if case["kept_apart"]])]
    lines += verdicts.table(data)
    effects, answers = data / "evidence_inference_train.jsonl.gz", data / "pubmedqa_dev.json.gz"
    if effects.exists():
        with gzip.open(effects, "rt", encoding="utf-8") as file:
            rows = [{**row, "name": row["pmcid"]} for row in map(json.loads, file)]
        lines += benchmark("Evidence Inference", rows, effect_pairs, ("sentence", "abstract"))
    else:
        lines.append(f"Evidence Inference: not measured, no {effects}")
    if answers.exists():
        with gzip.open(answers, "rt", encoding="utf-8") as file:
            rows = [{**row, "name": name} for name, row in json.load(file).items()]
        lines += benchmark("PubMedQA", rows, answer_pairs, ("with conclusion", "without conclusion"))
    else:
        lines.append(f"PubMedQA: not measured, no {answers}")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
