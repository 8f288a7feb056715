"""What each sentence of a record is for: by its heading, or by its words and its place."""

from collections.abc import Sequence
from itertools import pairwise

from .heads import Head
from .text import SentenceRole, Text, has_headings

ZONES: dict[SentenceRole, str] = {
    "title": "T", "aim": "A", "background": "B", "method": "M", "result": "R", "conclusion": "C",
}  # fmt: skip


def zone_features(words: Sequence[str], order: int, count: int) -> set[str]:
    """The features of a sentence: its words and pairs of words, how it begins, where it stands among `count`."""
    found = set(words)
    found.update(f"{first} {second}" for first, second in pairwise(words))
    found.add("^" + " ".join(words[:2]))
    found.add(f"#at{6 * order // count}")
    if order == count - 1:
        found.add("#last")
    if order <= 1:
        found.add("#first")
    if len(words) < 8:
        found.add("#short")
    return found


def zones_of(text: Text, words: Sequence[str], head: Head) -> list[str]:
    """A letter for each sentence: T, A, B, M, R or C."""
    sentences = text.sentences
    headed = has_headings(sentences)
    found: list[str] = []
    for order, sentence in enumerate(sentences):
        if sentence.headed and (headed or sentence.headed == "title"):
            found.append(ZONES[sentence.headed])
        else:
            own = [word for word in words[sentence.first : sentence.last] if word]
            found.append(head.best(zone_features(own, order, len(sentences))))
    return found
