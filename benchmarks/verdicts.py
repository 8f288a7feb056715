"""What the learned reader says against a reading by hand: of the library's summaries, of abstracts as published.

    python -m benchmarks.verdicts [--data FOLDER]

`tests/cases/verdicts.jsonl` judges each record of the bundled library and each drug it names. It is measured on the
library's summaries and, where the abstracts themselves are at hand, on these too: the verdicts are the same.
`tests/cases/verdicts_abstracts.jsonl` judges published abstracts on other questions, named by their numbers alone; the
texts are read from the folder of data.

`unclear` counts as `neutral`. What counts most is precision: a wrong `contradicts` tells a reader the opposite.
"""

import argparse
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from willowbark.tools.appraisal.appraised import load_reader
from willowbark.tools.lexicon import drug_synonyms
from willowbark.tools.reading.design import purpose_of
from willowbark.tools.reading.document import Document

ROOT = Path(__file__).resolve().parent.parent
CASES = ROOT / "tests" / "cases"
LIBRARY = ROOT / "tools" / "library" / "bundled"
CONDITIONS = {
    "migraine_prevention": "migraine",
    "diabetic_nephropathy": "diabetic nephropathy",
    "smoking_cessation": "smoking cessation",
    "portal_hypertension": "portal hypertension",
}
INTENTS = {"migraine_prevention": "prevention"}
LABELS = ("supports", "contradicts", "neutral")
Pair = tuple[str, str]
Row = dict[str, Any]
_HEADING = re.compile(r"^\s*([A-Z][A-Z &/,]+):+\s*\n+", re.MULTILINE)


class Text(NamedTuple):
    """What a record says."""

    title: str
    abstract: str


def read_lines(path: Path) -> Iterator[Row]:
    """Give the objects of a file with one JSON object a line, packed or not."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        yield from map(json.loads, file)


def shares(pairs: Sequence[Pair]) -> str:
    """Number of pairs, accuracy, and each label's precision and recall, in percent."""
    right = 100 * sum(gold == given for gold, given in pairs) / len(pairs)
    told = "".join(f"{precision(pairs, label):8.1f}{recall(pairs, label):7.1f}" for label in LABELS)
    return f"{len(pairs):>5}{right:8.1f}{told}"


def precision(pairs: Sequence[Pair], label: str) -> float:
    """Of what is given this label, the share that is right, in percent."""
    return 100 * _both(pairs, label) / max(1, sum(given == label for _, given in pairs))


def recall(pairs: Sequence[Pair], label: str) -> float:
    """Of what should be given this label, the share that is, in percent."""
    return 100 * _both(pairs, label) / max(1, sum(gold == label for gold, _ in pairs))


def _both(pairs: Sequence[Pair], label: str) -> int:
    return sum(gold == given == label for gold, given in pairs)


def library_pairs(topic: str, texts: dict[str, Text]) -> list[Pair]:
    """Gold and given verdicts for each record and drug of a topic whose text is at hand."""
    cases = [case for case in read_lines(CASES / "verdicts.jsonl") if case["topic"] == topic and case["pmid"] in texts]
    return [_judged(case, texts[case["pmid"]], CONDITIONS[topic], INTENTS.get(topic, "unknown")) for case in cases]


def abstract_pairs(half: str, texts: dict[str, Text]) -> list[Pair]:
    """Gold and given verdicts for a half of the published abstracts."""
    cases = [case for case in read_lines(CASES / "verdicts_abstracts.jsonl") if case["half"] == half]
    return [_judged(case, texts[case["id"]], case["condition"], "unknown") for case in cases if case["id"] in texts]


def _judged(case: Row, text: Text, condition: str, intent: str) -> Pair:
    drug = case["drug"]
    verdict = load_reader().read_document(Document(text.title, text.abstract), drug, condition).verdict
    names = (drug, *drug_synonyms(drug))
    if intent == "prevention" and purpose_of(Document.cut(text.title, text.abstract), (*names,)) != "prevention":
        verdict = "neutral"
    return _merged(case["verdict"]), _merged(verdict)


def _merged(verdict: str) -> str:
    return "neutral" if verdict in ("unclear", "none") else verdict


@cache
def summaries() -> dict[str, Text]:
    """The records of the bundled library."""
    rows = (row for topic in CONDITIONS for row in read_lines(LIBRARY / f"publications_{topic}.jsonl"))
    return {row["pmid"]: Text(row["title"], row["abstract"] or "") for row in rows}


def originals(path: Path) -> dict[str, Text]:
    """The abstracts of the library's records as published."""
    return {row["pmid"]: Text(row["title"], row["abstract"] or "") for row in read_lines(path)}


def published(path: Path) -> dict[str, Text]:
    """Published abstracts of a corpus: title and text, which the corpus joins in more than one way."""
    return {row["pmid"]: _parted(row) for row in read_lines(path)}


def _parted(row: Row) -> Text:
    text = row["text"]
    if row["src"] == "evidence-inference":
        title, _, body = text.removeprefix("TITLE:").strip().partition("\n")
        return Text(title.strip(), _HEADING.sub(lambda m: f"\n{m[1].title()}: ", body.replace("ABSTRACT.", "")).strip())
    if not row["title"]:
        title, _, body = text.partition(" . ")
        return Text(title, re.sub(r" ([.,;:)%])", r"\1", body).replace("( ", "("))
    return Text(row["title"], text)


def table(data: Path) -> Iterable[str]:
    """A line for each topic on summaries, on the abstracts themselves, and for the other questions' halves.

    Args:
        data: the folder that holds the corpus; what is not there is named.
    """
    heads = ", ".join(f"{label} precision and recall" for label in LABELS)
    yield f"Verdicts: what is read, pairs, accuracy, {heads}"
    yield from _topics("summaries", summaries())
    source, corpus = data.parent / "library_source" / "abstracts.jsonl.gz", data / "corpus_half.jsonl.gz"
    if source.exists():
        yield from _topics("abstracts", originals(source))
    else:
        yield f"  abstracts of the library: not measured, no {source}"
    if corpus.exists():
        texts = published(corpus)
        for half in ("dev", "held"):
            yield f"  {'other questions, ' + half:<34}{shares(abstract_pairs(half, texts))}"
    else:
        yield f"  other questions: not measured, no {corpus}"


def _topics(what: str, texts: dict[str, Text]) -> Iterable[str]:
    read = {topic: library_pairs(topic, texts) for topic in CONDITIONS}
    for topic, pairs in read.items():
        yield f"  {what + ', ' + topic:<34}{shares(pairs)}"
    yield f"  {what + ', all four':<34}{shares([pair for pairs in read.values() for pair in pairs])}"


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument(
        "--data", type=Path, default=ROOT / "benchmarks" / "data", help="folder of published abstracts"
    )
    for line in table(options.parse_args().data):
        print(line)


if __name__ == "__main__":
    main()
