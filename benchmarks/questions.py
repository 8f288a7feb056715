"""How often the kind of a question is told right: on our own questions, and on BioASQ's by their numbers.

    python -m benchmarks.questions [BIOASQ.jsonl.gz]

Our own stand in `tests/cases/questions.tsv`. Those of BioASQ (http://participants-area.bioasq.org, 7b to 9b) are not
kept here: `labels/question_kinds.tsv` has their numbers and the kinds that fit, read by a person before any was tried.

Of BioASQ's it is counted, too, how many of the articles quoted in answer hold every word that would be searched for: of
the questions that were in view when words of asking were chosen (those with numbers), and of the others.
"""

import argparse
import csv
import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from willowbark.tools.lexicon.stemming import stems
from willowbark.tools.questions import parse_question

HERE = Path(__file__).parent
OWN = HERE.parent / "tests" / "cases" / "questions.tsv"
NUMBERS = HERE / "labels" / "question_kinds.tsv"


def rows(path: Path) -> list[dict[str, str]]:
    """The rows of a table; lines that begin with # are its notes."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return list(csv.DictReader((line for line in lines if not line.startswith("#")), delimiter="\t"))


def own(part: str) -> Iterator[tuple[str, str]]:
    """Our questions of a part, `made on` or `apart`, each with its kind."""
    return ((row["question"], row["kind"]) for row in rows(OWN) if row["part"] == part)


def missed(questions: Iterable[tuple[str, str]]) -> tuple[int, list[str]]:
    """How many questions there are, and a line for each that is told otherwise than by one of its kinds (`a|b`)."""
    told = [(question, kinds, parse_question(question).kind) for question, kinds in questions]
    return len(told), [f"{kind}, not {kinds}: {asked}" for asked, kinds, kind in told if kind not in kinds.split("|")]


def bioasq(path: Path) -> Iterator[tuple[str, str]]:
    """BioASQ's questions that have been read, with the kinds that fit."""
    kinds = {row["id"]: row["kinds"] for row in rows(NUMBERS)}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        asked = {each["id"]: each["body"] for each in map(json.loads, lines)}
    return ((asked[number], kind) for number, kind in kinds.items() if number in asked)


def searched(path: Path) -> Iterator[str]:
    """A line for each kind: how many of the articles that BioASQ quotes hold all words that are searched for."""
    seen = {row["id"] for row in rows(NUMBERS)}
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for each in map(json.loads, lines):
            asked, texts = parse_question(each["body"]), defaultdict[str, str](str)
            for snippet in each["snippets"]:
                texts[snippet["document"]] += f" {snippet['text']}"
            wanted = {stem for term in asked.terms for stem in stems(term)}
            held = sum(wanted <= set(stems(text)) for text in texts.values())
            part = "in view" if each["id"] in seen else "others"
            counts[asked.kind, part] += Counter(questions=1, articles=len(texts), held=held)
    for (kind, part), told in sorted(counts.items()):
        yield f"{kind}, {part}: {told['held']} of {told['articles']} articles of {told['questions']} questions"


def main() -> None:
    """Print the figures, and what is told wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bioasq", nargs="?", type=Path)
    given = parser.parse_args()
    sets = {part: own(part) for part in ("made on", "apart")}
    if given.bioasq:
        sets["BioASQ"] = bioasq(given.bioasq)
    for name, questions in sets.items():
        number, wrong = missed(questions)
        print(f"{name}: {number - len(wrong)} of {number}", *wrong, sep="\n  ")
    if given.bioasq:
        print("articles that hold every word searched for:", *searched(given.bioasq), sep="\n  ")


if __name__ == "__main__":
    main()
