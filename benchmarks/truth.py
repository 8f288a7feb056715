"""The demo beside its own records: five questions to the bundled library, judged by what two readers found in it.

    python -m benchmarks.truth [--missing] [--agreement]

`labels/bundled_pairs.tsv` says what each bundled record says of each drug it names, `labels/bundled_leaders.tsv` which
drugs should lead each answer, with which certainty at least and at most, and `labels/bundled_trials.tsv` which records
report one trial. No program's answer was looked at. A drug leads that is told to help and stands among the first five
of its group. `--missing` also lists the results that no report shows, `--agreement` prints how far the readers agree.
"""

import argparse
import asyncio
import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

from benchmarks.labels import kappa

from willowbark.agents.report.content import DrugCandidate
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.run.research import research
from willowbark.tools.lexicon import canonical_drug

LABELS = Path(__file__).parent / "labels"
QUESTIONS = {
    "migraine_prevention": "Which existing drugs prevent migraine?",
    "portal_hypertension": "Which existing drugs treat portal hypertension?",
    "smoking_cessation": "Which existing drugs help smoking cessation?",
    "diabetic_nephropathy": "Which existing drugs treat diabetic nephropathy?",
    "alzheimer_disease": "Which existing drugs treat Alzheimer's disease?",
}
LEADING = 5
"""Drugs of a group that lead it."""
LEVELS = ("very low", "low", "moderate", "high")
FAILED = frozenset({"does not help", "harms"})
"""Directions of drugs that must not lead."""
SETTLED = frozenset({"both", "resolved", "single"})
"""Readers whose rows are the truth: what both said, what was decided between them, what one said of later records."""
PAIR_FIELDS = ("role", "verdict", "primary", "indication", "alone", "design", "n", "sure")
LEADER_FIELDS = ("group", "should_lead", "certainty_min", "certainty_max", "direction")
Row = Mapping[str, str]


class Miss(NamedTuple):
    """Something that a report should say, or should not."""

    topic: str
    kind: str
    """"should lead", "should not lead", "failed but leads", "certainty above", "certainty below", "group", "supports",
    "contradicts"; "missing supports" and "missing contradicts" for what no report shows; "counted twice"."""
    name: str
    """The drug, and for a pair the record behind it."""
    why: str


@dataclass(frozen=True)
class Judged:
    """One report beside the truth."""

    counts: Counter[str]
    misses: Sequence[Miss]


def read(name: str) -> list[dict[str, str]]:
    """The rows of a file of labels, its quotes as they stand."""
    with (LABELS / name).open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def name_drug(drug: str) -> str:
    """A drug's generic name; its own in lower case where the lexicon has none."""
    return canonical_drug(drug) or drug.lower()


@cache
def read_pairs(topic: str) -> dict[tuple[str, str], Row]:
    """What each record says of each drug, by record and drug."""
    rows = [row for row in read("bundled_pairs.tsv") if row["topic"] == topic and row["reader"] in SETTLED]
    return {(row["record"], name_drug(row["drug"])): row for row in rows}


@cache
def read_leaders(topic: str) -> dict[str, Row]:
    """What should be made of each drug."""
    rows = [row for row in read("bundled_leaders.tsv") if row["topic"] == topic and row["reader"] in SETTLED]
    return {name_drug(row["drug"]): row for row in rows}


def list_leading(report: ResearchReport) -> list[DrugCandidate]:
    """The candidates that lead their group, in the report's order."""
    chosen: list[DrugCandidate] = []
    for candidate in report.candidates:
        helps = candidate.supporting_citations and candidate.evidence_quality != "refuted"
        if helps and sum(other.group == candidate.group for other in chosen) < LEADING:
            chosen.append(candidate)
    return chosen


def judge(topic: str, report: ResearchReport) -> Judged:
    """What the report gets right, counted, and each miss."""
    counts: Counter[str] = Counter()
    misses = [
        *_judge_rows(topic, report, counts),
        *_judge_leaders(topic, report, counts),
        *_find_double_counts(topic, report),
    ]
    return Judged(counts, misses)


def _judge_rows(topic: str, report: ResearchReport, counts: Counter[str]) -> Iterator[Miss]:
    """Rows that say otherwise than the record, and results that no row shows."""
    truth = read_pairs(topic)
    shown_rows = set()
    for row in report.evidence_table:
        direction = "contradicts" if row.missed_primary else row.direction  # the labels do not tell them apart
        if direction not in ("supports", "contradicts"):
            continue
        record = row.key.partition(":")[2]
        drug = name_drug(row.drug)
        verdict = truth[record, drug]["verdict"] if (record, drug) in truth else "not read by anybody"
        shown_rows.add((record, drug, direction))
        counts[f"{direction} shown"] += 1
        counts[f"{direction} right"] += verdict == direction
        if verdict != direction:
            yield Miss(topic, direction, f"{drug} {record}", f"the record says {verdict}: “{row.sentence}”")
    for (record, drug), label in truth.items():
        if label["verdict"] in ("supports", "contradicts"):
            counts[f"{label['verdict']} in the library"] += 1
            if (record, drug, label["verdict"]) not in shown_rows:
                yield Miss(
                    topic, f"missing {label['verdict']}", f"{drug} {record}", f"{label['role']}, {label['design']}"
                )


def _judge_leaders(topic: str, report: ResearchReport, counts: Counter[str]) -> Iterator[Miss]:
    """Who leads and should not, who should and does not, certainty and groups."""
    led = {name_drug(candidate.name): candidate for candidate in list_leading(report)}
    listed = {name_drug(candidate.name): candidate for candidate in report.candidates}
    for drug, leader in led.items():
        row = read_leaders(topic).get(drug)
        counts["leaders"] += 1
        if row is None:
            yield Miss(topic, "should not lead", drug, "no record on the condition says anything of it")
            continue
        counts["leaders that should or may lead"] += row["should_lead"] != "no"
        if row["direction"] in FAILED:
            yield Miss(topic, "failed but leads", drug, row["direction"])
        elif row["should_lead"] == "no" and row["direction"] == "unclear":
            yield Miss(topic, "should not lead", drug, row["direction"])
        at = LEVELS.index(leader.certainty)
        low = LEVELS.index(row["certainty_min"])
        high = LEVELS.index(row["certainty_max"])
        counts["certainty within"] += low <= at <= high
        if not low <= at <= high:
            bounds = " to ".join(dict.fromkeys((row["certainty_min"], row["certainty_max"])))
            yield Miss(
                topic, f"certainty {'above' if at > high else 'below'}", drug, f"{leader.certainty}, not {bounds}"
            )
        counts["groups right"] += row["group"] in (leader.group, "either")
        if row["group"] not in (leader.group, "either"):
            yield Miss(topic, "group", drug, f"{leader.group}, not {row['group']}")
    for drug, row in read_leaders(topic).items():
        if row["should_lead"] == "yes":
            counts["should lead"] += 1
            counts["should lead and do"] += drug in led
            if drug not in led:
                other = listed.get(drug)
                why = "no candidate" if other is None else f"{len(other.supporting_citations)} records supporting"
                yield Miss(topic, "should lead", drug, why)


def _find_double_counts(topic: str, report: ResearchReport) -> Iterator[Miss]:
    """Trials that a candidate counts twice."""
    for row in read("bundled_trials.tsv"):
        records = row["records"].split() if row["topic"] == topic else []
        for candidate in report.candidates:
            for counted in (candidate.supporting_citations, candidate.contradicting_citations):
                same = [key for key in counted if key.partition(":")[2] in records]
                if len(same) > 1:
                    yield Miss(topic, "counted twice", name_drug(candidate.name), f"{', '.join(same)}: {row['what']}")


def describe_agreement() -> Iterator[str]:
    """How far the two readers agree, a line a field; of pairs and of leaders that both have."""
    for name, fields, key in (
        ("bundled_pairs.tsv", PAIR_FIELDS, ("topic", "record", "drug")),
        ("bundled_leaders.tsv", LEADER_FIELDS, ("topic", "drug")),
    ):
        rows_by_reader: dict[str, dict[tuple[str, ...], Row]] = {"one": {}, "two": {}}
        for row in read(name):
            for reader in ("one", "two") if row["reader"] == "both" else (row["reader"],):
                rows_by_reader.get(reader, {})[tuple(row[column] for column in key)] = row
        one = rows_by_reader["one"]
        two = rows_by_reader["two"]
        both = one.keys() & two.keys()
        yield f"{name}: {len(one)} and {len(two)} rows, {len(both)} read by both"
        for field in fields:
            values = [(one[key][field], two[key][field]) for key in both]
            same = sum(first == second for first, second in values) / len(values)
            yield f"  {field:<14}same {same:6.1%}  kappa {kappa(values):.2f}"


def make_reports() -> Iterator[tuple[str, ResearchReport]]:
    """The five questions, asked offline."""
    for topic, question in QUESTIONS.items():
        yield topic, asyncio.run(research(question, offline=True))


def describe_figures(judged: Mapping[str, Judged], missing: bool) -> Iterator[str]:
    """The figures over all questions, and each miss."""
    total = sum((judgement.counts for judgement in judged.values()), Counter[str]())
    for kind in ("supports", "contradicts"):
        right = total[f"{kind} right"]
        shown_rows = total[f"{kind} shown"]
        yield f"{kind}: {right} of {shown_rows} shown are right; {total[f'{kind} in the library']} in the library"
    yield f"should lead: {total['should lead and do']} of {total['should lead']} do"
    yield f"leaders: {total['leaders that should or may lead']} of {total['leaders']} should or may lead"
    yield f"certainty of leaders within the readers' bounds: {total['certainty within']} of {total['leaders']}"
    yield f"groups of leaders right: {total['groups right']} of {total['leaders']}"
    for judgement in judged.values():
        for miss in judgement.misses:
            if missing or not miss.kind.startswith("missing"):
                yield f"  {miss.topic}: {miss.kind}: {miss.name} ({miss.why})"


def main() -> None:
    """Print the figures and the misses."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--missing", action="store_true", help="also list results that no report shows")
    options.add_argument("--agreement", action="store_true", help="only print how far the two readers agree")
    arguments = options.parse_args()
    if arguments.agreement:
        print(*describe_agreement(), sep="\n")
    else:
        print(
            *describe_figures({topic: judge(topic, report) for topic, report in make_reports()}, arguments.missing),
            sep="\n",
        )


if __name__ == "__main__":
    main()
