"""Passages by number: a record is shown with its sentences and rows numbered, and a model names the numbers.

Code puts the words, so that no quote can be false. A model that copies a sentence all the same is held to its letters.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from willowbark.tools.reading.document import Sentence
from willowbark.tools.reading.sections import GAP, SectionPlace
from willowbark.tools.reading.text import split_spans

MOST_PASSAGES = 4  # that one quote names
LEFT_OUT = "…"
"""Between passages that do not follow each other."""
_NUMBERS = re.compile(r"(?:[\W_\d]|[rt](?=\d)|and|to)*\d[\W_]*")
_RANGE = re.compile(r"([rt]?)(\d+)(?:\s*(?:-|–|to)\s*[rt]?(\d+))?")


_MARK = re.compile(r"\[[rt]?\d+\] ")
"""Number of a passage as it is shown, which a model may copy with the words."""


class UnknownPassage(Exception):
    """A quote names numbers that stand for nothing; says which."""


def number_sentences(sentences: Sequence[Sentence]) -> dict[str, str]:
    """Number the sentences of a record's text by their place in it, from 1; the title has none."""
    return {
        str(sentence.order + (not sentence.document.title)): sentence.quote
        for sentence in sentences
        if sentence.headed != "title"
    }


def number_lines(places: Sequence[SectionPlace], letter: str, *, by_rows: bool) -> list[tuple[str, dict[str, str]]]:
    """Number what is shown of a full text's parts, rows or sentences, from 1 on through all of them.

    Returns:
        The parts' headings, each with its passages by number.
    """
    parts = list[tuple[str, dict[str, str]]]()
    count = 0
    for place in places:
        texts = list(_split(place.text, by_rows=by_rows))
        parts.append((place.title, {f"{letter}{at}": text for at, text in enumerate(texts, count + 1)}))
        count += len(texts)
    return parts


def show_passages(passages: Mapping[str, str]) -> str:
    """Return passages in a line, each behind its number; an ellipsis stands where others were left out.

    >>> show_passages({"1": "All had migraine.", "4": "Attacks fell."})
    '[1] All had migraine. … [4] Attacks fell.'
    """
    parts = list[str]()
    before = ""
    for label, text in passages.items():
        parts += [LEFT_OUT] if before and not _follows(label, before) else []
        parts.append(f"[{label}] {text}")
        before = label
    return " ".join(parts)


def words_at(quote: str, passages: Mapping[str, str]) -> str:
    """Return the words of the passages that a quote names by number; a quote in words as it is.

    Args:
        quote: as a model gives it: "4", "4-5", "r2, r3", or words.
        passages: those that it was shown, by number.

    Raises:
        UnknownPassage: it names a passage that there is not, or too many.
    """
    if not _NUMBERS.fullmatch(quote.casefold()):
        return _MARK.sub("", quote) if _MARK.match(quote) else quote
    labels = list(dict.fromkeys(_list_labels(quote.casefold())))
    unknown = [label for label in labels if label not in passages]
    if unknown:
        raise UnknownPassage(f"names a passage that its record does not have ({unknown[0][:20]})")
    if len(labels) > MOST_PASSAGES:
        raise UnknownPassage(f"names more than {MOST_PASSAGES} passages")
    words = ""
    for at, label in enumerate(labels):
        gap = f" {LEFT_OUT} " if at and not _follows(label, labels[at - 1]) else " "
        words = f"{words}{gap}{passages[label]}".strip()
    return words


def _list_labels(quote: str) -> Iterator[str]:
    for letter, first, last in _RANGE.findall(quote):
        numbers = range(int(first), int(last or first) + 1)[: MOST_PASSAGES + 1]
        yield from (f"{letter}{number}" for number in numbers)


def _follows(label: str, before: str) -> bool:
    letter = label[:1] if label[:1].isalpha() else ""
    return before.startswith(letter) and label == f"{letter}{int(before.removeprefix(letter)) + 1}"


def _split(text: str, *, by_rows: bool) -> Iterator[str]:
    for part in text.split(GAP):
        for line in part.splitlines():
            spans = [(0, len(line))] if by_rows else split_spans(line)
            yield from (line[start:end].strip() for start, end in spans if line[start:end].strip())
