"""What each sentence of a record is for: by its heading, or by its words and its place."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from .text import SentenceRole, Text, has_headings

if TYPE_CHECKING:  # a run begins without the weights and their numpy
    from .heads import Head

ZONES: dict[SentenceRole, str] = {
    "title": "T", "aim": "A", "background": "B", "method": "M", "result": "R", "conclusion": "C",
}  # fmt: skip


def zone_features(words: Sequence[str], order: int, count: int) -> list[str]:
    """The features of a sentence: its words and pairs of words, how it begins, where it stands among `count`.

    Each once and always in the same order, in which a head sums their weights.
    """
    found = [*words, *(f"{first} {second}" for first, second in pairwise(words))]
    found += ["^" + " ".join(words[:2]), f"#at{6 * order // count}"]
    if order == count - 1:
        found.append("#last")
    if order <= 1:
        found.append("#first")
    if len(words) < 8:
        found.append("#short")
    return list(dict.fromkeys(found))


def zones_of(text: Text, words: Sequence[str], head: "Head") -> list[str]:
    """A letter for each sentence: T, A, B, M, R or C."""
    sentences = text.sentences
    headed = has_headings(sentences)
    found = [ZONES[each.headed] if each.headed and (headed or each.headed == "title") else "" for each in sentences]
    open_ones = [order for order, zone in enumerate(found) if not zone]
    cut = ([word for word in words[each.first : each.last] if word] for each in map(sentences.__getitem__, open_ones))
    cases = (zone_features(own, order, len(sentences)) for own, order in zip(cut, open_ones, strict=True))
    for order, zone in zip(open_ones, head.best_of(cases), strict=True):
        found[order] = zone
    return found
