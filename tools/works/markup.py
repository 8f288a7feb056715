"""Running text out of an article's markup."""

import re
from xml.etree.ElementTree import Element

from ..sources.publications import raised

_DROPPED = frozenset(
    "table-wrap table fig fig-group disp-formula tex-math supplementary-material graphic media ref-list fn fn-group"
    " label".split()
)
_EMPTY_BRACKETS = re.compile(r"[\[(][\s,;–-]*[\])]")
_BEFORE_POINT = re.compile(r"\s+([,.;:)\]])")
_NOTHING = re.compile(r"[\s,;–-]*")


def flat(element: Element) -> str:
    """Running text without markup, references' numbers and marks of footnotes, formulas and tables.

    Superscripts stay readable.

    >>> from xml.etree.ElementTree import XML
    >>> flat(XML('<td>10<sup>3</sup> cells<sup><xref ref-type="table-fn">*</xref></sup><break/>a day</td>'))
    '10^3 cells a day'
    """
    pieces: list[str] = []
    _gather(element, pieces)
    text = _EMPTY_BRACKETS.sub("", "".join(pieces))
    return _BEFORE_POINT.sub(r"\1", " ".join(text.split()))


def _gather(element: Element, pieces: list[str]) -> None:
    pieces.append(element.text or "")
    for each in element:
        tag = each.tag.rpartition("}")[2]
        reference = tag == "xref" and each.get("ref-type") in ("bibr", "table-fn")
        if tag == "sup":
            inside: list[str] = []
            _gather(each, inside)
            above = "".join(inside)
            if not _NOTHING.fullmatch(above):  # what is left of references: their commas
                pieces.append(raised(next((piece for piece in reversed(pieces) if piece), ""), above))
        elif tag not in _DROPPED and not reference:
            _gather(each, pieces)
            if tag in ("p", "list-item", "title", "break"):
                pieces.append(" ")
        pieces.append(each.tail or "")
