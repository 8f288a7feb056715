"""Arms, comparator and direction of a comparison, read jointly: a model's studies beside labels made by reading.

    python -m benchmarks.joint [--library world_half.jsonl.gz] [--small PART]

A labelled comparison is read right if the study has one of the same drugs, against the same, and its first such
comparison, the primary outcome before others, favours the same side; a comparison that is not significant favours
neither. Of `labels/studies_*.jsonl` the deciding comparison of each study counts, of `labels/joint_*.tsv` each row: the
main comparison of each drug in records of the bundled library, by a reader who had not seen the answers.

The model's studies are those of the recorded runs (`recorded.py`), as they stand after the checks; two of these runs
need the collection that they were asked of. `--small` reads the records of one part of the labels (`development`,
`apart`) by the small reader instead. Nobody publishes such figures: extraction is published by the cell.
"""

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.forgery import make_evidence, read_publications
from benchmarks.labels import FOLDER, read_lines
from benchmarks.recorded import find_collection, read_recorded

from willowbark.agents.asking.drafts import StudyDraft
from willowbark.agents.asking.reader import ToRead
from willowbark.agents.asking.studies import Refused, check_study
from willowbark.tools.appraisal.appraised import Readings, get_condition
from willowbark.tools.appraisal.candidates import list_readings
from willowbark.tools.appraisal.stance import is_against_nothing
from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.library.rows import PublicationRow
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.assembler import assemble_study
from willowbark.tools.reading.document import Document
from willowbark.tools.records.study import Comparison, Favours, Study

RUNS = ("kidney", "migraine", "nausea", "attention")
ON_EFFICACY = frozenset({"efficacy", "surrogate"})
_KINDS = {"background_alone": "none", "usual_care": "none", "other_treatment": "other"}
"""Kinds of the other arm in the studies' labels, as they are called here."""
_PRIMARY_ORDER = (True, None, False)


class JointLabel(NamedTuple):
    """A comparison as a reader had it."""

    record: str
    drugs: frozenset[str]
    """Those that the first arm had and the other had not."""
    versus: str
    """`placebo`, `none`, `baseline`, `other`, or the other arm's drugs, joined by +."""
    favours: Favours
    """What is not significant favours neither."""


def read_labels(folder: Path = FOLDER, part: str | None = None) -> Iterator[JointLabel]:
    """Read the labels of both kinds; of a part of the studies alone if it is named."""
    for path in sorted(folder.glob("studies_*.jsonl")):
        for study in read_lines(path):
            if part in (None, study["part"]):
                label = find_label(study)
                if label is not None:
                    yield label
    if part is None:
        for path in sorted(folder.glob("joint_*.tsv")):
            yield from _read_table(path)


def _read_table(path: Path) -> Iterator[JointLabel]:
    with path.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            drugs = _canonicalise(row["arm"].split("+"))
            yield JointLabel(row["record"], drugs, row["versus"], row["favours"])  # type: ignore[arg-type]


def find_label(study: Mapping[str, Any]) -> JointLabel | None:
    """Return the deciding comparison of a labelled study; None if it has none on efficacy that favours a side or
    neither."""
    arms = {arm["name"]: arm for arm in study["arms"]}
    for row in study["comparisons"]:
        if row["endpoint"] not in ON_EFFICACY or row["favours"] is None or row["subgroup"] or not row["contrast"]:
            continue
        kind = row["versus_kind"]
        versus = _KINDS.get(kind, kind)
        if row["versus"] and kind == "active":
            versus = _join(arms[row["versus"]]["drugs"]) or "other"
        if row["against"] != "arm":
            versus = row["against"]
        favours: Favours = "neither" if row["significant"] is False else row["favours"]
        return JointLabel(study["record"], _canonicalise(row["contrast"]), versus, favours)
    return None


class JointScore(NamedTuple):
    """What of a labelled comparison a study has right, each part only if those before it are."""

    arm: bool
    comparator: bool
    direction: bool


def score_study(study: Study, label: JointLabel) -> JointScore:
    """Compare a study with a label; a comparison told from the other side is the same one."""
    rows = sorted(study.comparisons, key=lambda row: _PRIMARY_ORDER.index(row.primary))
    on_efficacy = [row for row in rows if row.endpoint in ON_EFFICACY and not row.subgroup]
    sides = chain.from_iterable(_list_sides(study, row) for row in on_efficacy)
    of_arm = [side for side in sides if side.drugs == label.drugs]
    of_both = [side for side in of_arm if side.versus == label.versus]
    return JointScore(bool(of_arm), bool(of_both), bool(of_both) and of_both[0].favours == label.favours)


def _rank(row: Comparison) -> tuple[bool, bool, int]:
    """Order comparisons by how much they decide, the first most: a run on nausea may call pain a side of it."""
    return row.subgroup is not None, row.endpoint not in ON_EFFICACY, _PRIMARY_ORDER.index(row.primary)


def _list_sides(study: Study, row: Comparison) -> Iterator[JointLabel]:
    """Yield a comparison as labels have it, from either arm."""
    favours: Favours | None = "neither" if row.significant is False else row.favours
    if favours is None:
        return
    yield JointLabel(study.key, _canonicalise(study.contrast_of(row)), _name_versus(study, row), favours)
    if row.versus is not None and study.drugs_of(row.versus):
        turned: Mapping[Favours, Favours] = {"arm": "versus", "versus": "arm", "neither": "neither"}
        drugs = _canonicalise(study.drugs_of(row.versus) - study.drugs_of(row.arm))
        yield JointLabel(study.key, drugs, _name_arm(study, row.arm), turned[favours])


def _name_versus(study: Study, row: Comparison) -> str:
    if row.versus is None:
        return row.against
    is_nothing = study.arm(row.versus).role != "placebo" and is_against_nothing(study, row)
    return "none" if is_nothing else _name_arm(study, row.versus)


def _name_arm(study: Study, name: str) -> str:
    arm = study.arm(name)
    if arm.role in ("placebo", "none", "usual_care"):
        return "placebo" if arm.role == "placebo" else "none"
    return _join(arm.drugs) or "other"


def _canonicalise(drugs: Iterable[str]) -> frozenset[str]:
    return frozenset(canonical_drug(drug) or drug.lower() for drug in drugs)


def _join(drugs: Iterable[str]) -> str:
    return "+".join(sorted(_canonicalise(drugs)))


def list_recorded(library: Path | None) -> Iterator[Study]:
    """Yield the studies of the recorded runs as they stand after the checks; of a collection only if it is at hand."""
    for name in RUNS:
        try:
            where = find_collection(name, library)
        except FileNotFoundError as error:
            print(error, file=sys.stderr)
            continue
        head, answers = read_recorded(name, where)
        records = {f"pmid:{record['pmid']}": record for record in read_publications(where)}
        condition = get_condition(parse_question(head["question"]))
        for answer in answers:
            if answer.kind != "StudiesDraft":
                continue
            for draft in map(StudyDraft.model_validate, answer.answer["studies"]):
                study = _check(draft, records, condition)
                if study is not None:
                    yield study


def _check(draft: StudyDraft, records: Mapping[str, Any], condition: str) -> Study | None:
    """Return a study as the product makes it; None if it does not stand, or is of a registered trial."""
    record = records.get(draft.evidence_key)
    if record is None:
        return None
    try:
        return check_study(draft, ToRead(make_evidence(record), (), condition), "").study
    except Refused:
        return None


def list_small(library: Path, labels: Sequence[JointLabel], folder: Path = FOLDER) -> Iterator[Study]:
    """Yield what the small reader makes of the labelled records, each for the first condition labelled."""
    studies = chain.from_iterable(map(read_lines, sorted(folder.glob("studies_*.jsonl"))))
    conditions = {study["record"]: study["conditions"][0]["name"] for study in studies if study["conditions"]}
    keys = {label.record for label in labels} & set(conditions)
    readings = Readings()
    for line in read_lines(library):
        key = f"pmid:{line['pmid']}"
        if key not in keys:
            continue
        record = PublicationRow.model_validate(line).evidence("pubmed")
        question = parse_question(f"Which existing drugs treat {conditions[key]}?")
        study_readings = [
            readings.of(document, drug, conditions[key])[0] for document, drug in list_readings(record, question)
        ]
        if study_readings:
            yield assemble_study(study_readings, Document.of(record))


def print_scores(title: str, studies: Iterable[Study], labels: Sequence[JointLabel]) -> None:
    """Print how many labelled comparisons of the studies read are right."""
    by_record = {study.key: study for study in studies}
    scores = [score_study(by_record[label.record], label) for label in labels if label.record in by_record]
    counts: Counter[str] = Counter()
    for score in scores:
        counts.update(name for name, is_right in score._asdict().items() if is_right)
    records = len({label.record for label in labels if label.record in by_record})
    print(f"{title}: {len(scores)} comparisons of {records} records")
    for name, text in (
        ("arm", "arms"),
        ("comparator", "arms and comparator"),
        ("direction", "arms, comparator and direction"),
    ):
        share = counts[name] / len(scores) if scores else 0
        print(f"  {text}: {counts[name]} of {len(scores)}, {share:.1%}")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, help="gzipped publications, where they are not beside this clone")
    parser.add_argument("--small", metavar="PART", help="read a part of the labels by the small reader")
    options = parser.parse_args()
    if options.small:
        labels = list(read_labels(part=options.small))
        print_scores(f"small reader, {options.small}", list_small(options.library, labels), labels)
    else:
        print_scores("a strong model, recorded", list_recorded(options.library), list(read_labels()))


if __name__ == "__main__":
    main()
