"""How well drugs and diseases are found in text, measured on BC5CDR.

    python -m benchmarks.mentions --data path/to/folder

The rules were tuned on CDR_TrainingSet; CDR_DevelopmentSet is what counts. The corpus marks every chemical, while
Willowbark looks for drugs, and is bound to miss the chemicals that are none. "Spans" counts mentions whose first and
last letters both agree. "Concepts" counts each concept once an abstract: a found name is the concept that the
abstract's own annotation gives to that spelling, or else to that canonical name, and a wrong one when there is none.

Corpus: Li et al. 2016, https://doi.org/10.1093/database/baw068.
"""

import argparse
import gzip
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from willowbark.tools.lexicon import find_conditions, find_drugs
from willowbark.tools.lexicon.matching import Mention

SETS = ("CDR_TrainingSet", "CDR_DevelopmentSet")
FINDERS: dict[str, tuple[str, Callable[[str], list[Mention]]]] = {
    "drugs": ("Chemical", find_drugs),
    "conditions": ("Disease", find_conditions),
}


class Gold(NamedTuple):
    """One annotated mention; `concept` is its MeSH id, or -1 when the annotators found none."""

    start: int
    end: int
    text: str
    kind: str
    concept: str


class Score(NamedTuple):
    """Hits, and how many mentions were found and labelled."""

    hits: int
    claimed: int
    expected: int

    def __str__(self) -> str:
        precision = self.hits / max(self.claimed, 1)
        recall = self.hits / max(self.expected, 1)
        f1 = 2 * self.hits / max(self.claimed + self.expected, 1)
        return f"P {precision:6.1%}  R {recall:6.1%}  F1 {f1:6.1%}"


def read_documents(path: Path) -> Iterator[tuple[str, list[Gold]]]:
    """The texts of a PubTator file (title, a space, abstract) with their mentions."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for block in file.read().strip().split("\n\n"):
            lines = block.split("\n")
            text = " ".join(line.split("|", 2)[2] for line in lines[:2])
            fields = (line.split("\t") for line in lines[2:])
            yield text, [Gold(int(row[1]), int(row[2]), *row[3:6]) for row in fields if len(row) >= 6]


def score_spans(pairs: Iterable[tuple[list[Gold], list[Mention]]]) -> Score:
    """Mentions whose first and last letters both agree."""
    total = Counter[str]()
    for gold, mentions in pairs:
        expected = {(mention.start, mention.end) for mention in gold}
        claimed = {(mention.start, mention.end) for mention in mentions}
        total.update(hits=len(expected & claimed), found=len(claimed), due=len(expected))
    return Score(total["hits"], total["found"], total["due"])


def score_concepts(pairs: Iterable[tuple[list[Gold], list[Mention]]]) -> Score:
    """Concepts, each once an abstract."""
    total = Counter[str]()
    for gold, mentions in pairs:
        spelled = {mention.text.casefold(): mention.concept for mention in gold}
        concepts = [(mention.name, spelled.get(mention.text.casefold())) for mention in mentions]
        by_name = {name: concept for name, concept in concepts if concept}
        claimed = {concept or by_name.get(name, name) for name, concept in concepts}
        expected = {mention.concept for mention in gold}
        total.update(hits=len(expected & claimed), found=len(claimed), due=len(expected))
    return Score(total["hits"], total["found"], total["due"])


def main() -> None:
    """Print the scores of each finder on each set; a line says which set is not there."""
    parser = argparse.ArgumentParser(description="Mentions of drugs and diseases on BC5CDR.")
    parser.add_argument("--data", type=Path, default=Path(__file__).parent / "data", help="folder of the CDR_* files")
    data: Path = parser.parse_args().data
    for name in SETS:
        file = data / f"{name}.PubTator.txt.gz"
        if not file.exists():
            print(f"{name}: not measured, no {file}")
            continue
        texts = list(read_documents(file))
        print(f"{name}: {len(texts)} abstracts")
        for label, (kind, find) in FINDERS.items():
            pairs = [([mention for mention in gold if mention.kind == kind], find(text)) for text, gold in texts]
            print(f"  {label:<10}  spans     {score_spans(pairs)}")
            print(f"  {'':<10}  concepts  {score_concepts(pairs)}")


if __name__ == "__main__":
    main()
