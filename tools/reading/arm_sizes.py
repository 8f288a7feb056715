"""Sizes of a trial's arms where a record writes them beside their names: "fenofibrate (n = 120)"."""

import re

from .document import Document
from .text import says

_SIZE = re.compile(r"\((?:n|N)\s*=\s*(?P<size>\d[\d,]*)\)")
_LONGEST_NAME = 60  # characters of an arm's name before its size


def size_of_comparison(document: Document, drug: str) -> int | None:
    """Return the people on a drug and those on placebo or nothing, in a trial of three arms or more.

    None if the record does not write each arm's size beside its name, has fewer arms, or has the drug in several arms
    or beside another drug: then the whole trial's number stands.
    """
    text = document.whole
    arms = list[tuple[str, int]]()
    end = 0
    for size in _SIZE.finditer(text):
        name = text[max(end, size.start() - _LONGEST_NAME) : size.start()]
        arms.append((re.split(r",|;|\.\s|\bor\b|\band\b|\bto\b", name)[-1].strip(), int(size["size"].replace(",", ""))))
        end = size.end()
    drugs = [frozenset(mention for mention, *_ in Document.cut("", name).drugs) for name, _ in arms]
    own = [size for (_, size), mentions in zip(arms, drugs, strict=True) if mentions == {drug}]
    inert = [size for (name, size), mentions in zip(arms, drugs, strict=True) if not mentions and says("nothing", name)]
    return own[0] + inert[0] if len(arms) > 2 and len(own) == len(inert) == 1 else None
