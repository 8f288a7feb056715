"""Sizes of a trial's arms where a record writes them beside their names: "fenofibrate (n = 120)"."""

import re
from collections import Counter

from .document import Document
from .text import says

_SIZE = re.compile(r"\((?:n|N)\s*=\s*(?P<size>\d[\d,]*)\)")
_LONGEST_NAME = 60  # characters of an arm's name before its size
INERT: frozenset[str] = frozenset()
"""In place of the drugs of an arm on placebo or nothing."""


def find_arm_sizes(document: Document) -> dict[frozenset[str], int]:
    """Find the people of each arm by its drugs, in a trial of three arms or more; `INERT` for placebo or nothing.

    Empty if the record does not write each arm's size beside its name, or has fewer arms; without the drugs that have
    several arms.
    """
    text = document.whole
    arms = list[tuple[frozenset[str], int]]()
    end = 0
    others = 0
    for size in _SIZE.finditer(text):
        before = text[max(end, size.start() - _LONGEST_NAME) : size.start()]
        name = re.split(r",|;|\.\s|\bor\b|\band\b|\bto\b", before)[-1].strip()
        drugs = frozenset(mention for mention, *_ in Document.cut("", name).drugs)
        if drugs or says("nothing", name):
            arms.append((drugs, int(size["size"].replace(",", ""))))
        else:
            others += 1
        end = size.end()
    if len(arms) + others < LEAST_ARMS:
        return {}
    times = Counter(drugs for drugs, _ in arms)
    return {drugs: size for drugs, size in arms if times[drugs] == 1}


LEAST_ARMS = 3
"""With two arms the whole trial's number is that of the comparison."""
