"""Evidence inference, PubMedQA and the kinds of BioASQ's questions, without any training on the sets.

Evidence inference (DeYoung and others, BioNLP 2020; https://github.com/jayded/evidence-inference, MIT): did an
intervention increase, decrease or not change an outcome? Published, from the whole article: macro-F1 of the best
pipeline .52 without the gold sentence, .78 with it. Here the abstract alone is read, and a twelfth of the articles by
SHA-256.

PubMedQA (Jin and others, EMNLP 2019; https://github.com/pubmedqa/pubmedqa, MIT): does an abstract without its
conclusion answer its title's question with yes, no or maybe? Published: a person 78.0 % (macro-F1 72.2), tuned BioBERT
68.1 % (52.7). Questions that name a known drug and a condition are read, with the conclusion left out.

BioASQ's questions (http://participants-area.bioasq.org, 7b to 9b; CC BY 2.5): whether a question's kind, which decides
how it is answered, is told right. `labels/question_kinds.tsv` has the numbers of those that speak of drugs and the
kinds that fit, read before any was tried; nobody has published figures.
"""

import csv
import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.labels import read_lines
from benchmarks.public_reviews import Comparison, find_direction, read_effect

from willowbark.tools.appraisal.appraised import load_reader
from willowbark.tools.lexicon import find_conditions, find_drugs
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.document import Document

KINDS = Path(__file__).parent / "labels" / "question_kinds.tsv"
PART = 12  # of the articles of evidence inference, one in so many is read
_HEADING = re.compile(r"^\s*(?:ABSTRACT\.)?([A-Z][A-Z &/,]+):+\s*\n+", re.MULTILINE)
_DIRECTIONS = {
    "significantly increased": "higher", "significantly increase": "higher",
    "significantly decreased": "lower", "significantly decrease": "lower",
}  # fmt: skip
_ANSWERS = {"supports": "yes", "contradicts": "no"}


def compute_macro_f1(pairs: list[tuple[str, str]]) -> float:
    """The mean F1 of the true classes, in percent; pairs of truth and answer."""
    hits = Counter(truth for truth, answer in pairs if truth == answer)
    truths = Counter(truth for truth, _ in pairs)
    answers = Counter(answer for _, answer in pairs)
    scores = [2 * hits[name] / max(1, truths[name] + answers[name]) for name in sorted(truths)]
    return 100 * sum(scores) / len(scores)


def measure_abstracts(file: Path) -> Iterator[str]:
    """Accuracy and macro-F1 of evidence inference; an effect that is not told counts as no difference."""
    pairs = []
    silent = 0
    for row in read_lines(file):
        if int(hashlib.sha256(str(row["pmcid"]).encode()).hexdigest(), 16) % PART:
            continue
        title, _, body = row["text"].strip().removeprefix("TITLE:").strip().partition("\n")
        abstract = _HEADING.sub(lambda heading: f"\n{heading[1].title()}: ", body.replace("ABSTRACT.", "")).strip()
        comparison = Comparison(row["intervention"], row["comparator"], row["outcome"])
        reading = read_effect(title.strip(), abstract, comparison)
        direction = find_direction(reading.effect, comparison.outcome) if reading else None
        silent += direction is None
        pairs.append((_DIRECTIONS.get(row["label"], "no difference"), direction or "no difference"))
    right = sum(truth == answer for truth, answer in pairs)
    yield (
        f"    {len(pairs)} prompts, from the abstract: {right / len(pairs):.1%} right, "
        f"macro-F1 {compute_macro_f1(pairs):.1f}; no effect told in {silent}"
    )


def measure_yes_no_questions(file: Path) -> Iterator[str]:
    """Accuracy and macro-F1 of those PubMedQA questions that name a drug and a condition."""
    with gzip.open(file, "rt", encoding="utf-8") if file.suffix == ".gz" else file.open(encoding="utf-8") as opened:
        rows = json.load(opened)
    pairs = []
    for row in rows.values() if isinstance(rows, dict) else rows:
        question = row["QUESTION"]
        drugs = find_drugs(question)
        conditions = find_conditions(question)
        if drugs and conditions:
            document = Document(question, "\n".join(row["CONTEXTS"]))
            reading = load_reader().read_document(document, drugs[0].name, conditions[0].name)
            pairs.append((row["final_decision"], _ANSWERS.get(reading.verdict, "maybe")))
    right = sum(truth == answer for truth, answer in pairs)
    yield (
        f"    {len(pairs)} of {len(rows)} questions name a drug and a condition: {right / len(pairs):.1%} right, "
        f"macro-F1 {compute_macro_f1(pairs):.1f}; published, all questions: a person 78.0 % (72.2), "
        "tuned BioBERT 68.1 % (52.7)"
    )


def measure_question_kinds(file: Path) -> Iterator[str]:
    """How many kinds are told right, and a line for each that is not; its table calls `uses` `treat`."""
    lines = (line for line in KINDS.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))
    expected = {row["id"]: row["kinds"].split("|") for row in csv.DictReader(lines, delimiter="\t")}
    bodies = {row["id"]: row["body"] for row in read_lines(file) if row["id"] in expected}
    kinds = {number: parse_question(body).kind for number, body in bodies.items()}
    wrong = [number for number in bodies if kinds[number].replace("uses", "treat") not in expected[number]]
    yield f"    {len(bodies) - len(wrong)} of {len(bodies)} kinds right"
    yield from (f"        {kinds[number]}, not {' or '.join(expected[number])}: {bodies[number]}" for number in wrong)
