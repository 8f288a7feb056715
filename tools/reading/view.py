"""A document seen for one drug and one condition: names become signs, and words become pieces of a vocabulary.

The drug asked about, its class, other drugs, the condition asked about and other conditions are replaced by signs
(`DRUG`, `CLASS`, `OTHER`, `COND`, `ELSE`), conditions followed by their names; numbers by `0`, p values by `P<`, `P>`.
The drug's name is hidden so that prior knowledge of the drug cannot be used.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import chain

from ..lexicon import canonical_condition, canonical_drug, is_class_member
from .document import Document

_PLACEBO = frozenset({"placebo", "placebos", "sham", "vehicle", "untreated"})
_SALTS = frozenset(
    "hydrochloride hydrobromide maleate mesylate besylate tartrate fumarate succinate citrate sulfate sulphate "
    "phosphate sodium potassium calcium acetate hcl".split()
)
SIGNS = {"DRUG": 1, "COND": 2, "OTHER": 3, "CLASS": 4, "ELSE": 5, "P<": 6, "P>": 7}
"""Word pieces for names and p values; the base model was never trained on these."""
_LONGEST_WORD = 100  # letters, as in BERT's tokeniser; splitting takes quadratic time
_REMEMBERED = 50_000  # size of the word cache, so that memory stays constant for files of any size


class View:
    """A document masked for one drug and one condition."""

    def __init__(self, document: Document, drug: str, condition: str) -> None:
        self.document = document
        self.drug = canonical_drug(drug) or drug.lower().strip()
        self.condition = canonical_condition(condition) or condition.lower().strip()
        self.words = [word for word, _, _ in document.pieces]
        self._spelt: dict[int, int] = {}
        self._mask_drugs()
        self._mask_conditions(condition)
        for at, word in enumerate(self.words):
            if word in _PLACEBO:
                self.words[at] = "PLACEBO"
            elif word in _SALTS:
                self.words[at] = ""

    def _mask_drugs(self) -> None:
        mentions = self.document.drugs
        if not any(name == self.drug for name, _, _ in mentions):
            mentions = [*mentions, *((self.drug, start, end) for start, end in find_literal(self.document, self.drug))]
        for name, start, end in self.document.classes:
            if is_class_member(self.drug, name):
                self._put(start, end, "CLASS")
        for name, start, end in mentions:
            self._put(start, end, "DRUG" if name == self.drug else "OTHER")

    def _mask_conditions(self, condition: str) -> None:
        document = self.document
        spans = [(start, end) for name, start, end in document.conditions if name == self.condition]
        spans = list(dict.fromkeys([*spans, *find_literal(document, condition.lower())]))
        covered: set[int] = set()
        for start, end in spans or _find_loosely(document, self.condition):
            if start not in covered:
                self._put(start, end, "COND")
            covered.update(range(start, end))
        for _, start, end in document.conditions:
            if start not in covered and end - 1 not in covered:
                self._put(start, end, "ELSE")

    def _put(self, start: int, end: int, sign: str) -> None:
        """Replace the pieces between two offsets by a sign."""
        at = bisect_left(self.document.begins, start)
        after = bisect_left(self.document.begins, end)
        if at < after and self.words[at] not in ("DRUG", "COND"):
            self.words[at:after] = [sign, *[""] * (after - at - 1)]
            self._spelt[at] = after

    def find_pieces(self, sign: str) -> list[int]:
        """Return the indices of the document's pieces that stand under a sign."""
        starts = (at for at, word in enumerate(self.words) if word == sign and at in self._spelt)
        pieces: list[int] = []
        for at in starts:
            pieces += range(at, self._spelt[at])
        return pieces

    @cached_property
    def sentences(self) -> list[tuple[str, ...]]:
        """The words of each sentence with signs, without empty ones."""
        return [tuple(filter(None, self.words[first:last])) for first, last in self.document.spans]

    def spell(self, order: int) -> Iterator[str]:
        """Yield the words of a sentence with conditions' names after their signs."""
        for at in range(*self.document.spans[order]):
            if word := self.words[at]:
                yield word
            if word in ("COND", "ELSE"):
                yield from (word for word, _, _ in self.document.pieces[at : self._spelt[at]] if word)


def find_literal(document: Document, name: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets of exact matches of a name, singular or plural."""
    if words := name.replace("-", " ").split():
        pattern = r"(?<!\w)" + r"[\s-]+".join(map(re.escape, words)) + r"(?:e?s)?(?!\w)"
        yield from (match.span() for match in re.finditer(pattern, document.whole.lower()))


def _find_loosely(document: Document, condition: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets of single words of a condition: five letters or more, compared by their first six."""
    heads = {word[:6] for word in re.findall(r"[a-z]{5,}", condition)}
    return ((start, end) for word, start, end in document.pieces if word[:6] in heads and len(word) >= 5)


class Pieces:
    """Splits words into the pieces of a vocabulary, longest first (WordPiece, https://arxiv.org/abs/1609.08144).

    Args:
        names: the pieces in order; those that continue a word begin with `##`.
    """

    UNKNOWN = 100
    START = 101
    END = 102
    LAST_SPECIAL = 103

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self._place = {name: at for at, name in enumerate(names)}
        self.of = lru_cache(_REMEMBERED)(self._cut)

    def cut_all(self, words: Iterable[str]) -> list[int]:
        """Return the pieces of several words, concatenated."""
        return list(chain.from_iterable(map(self.of, words)))

    def _cut(self, word: str) -> tuple[int, ...]:
        """Cut a word in the form of `Document.words` into pieces."""
        if word in SIGNS:
            return (SIGNS[word],)
        if len(word) > _LONGEST_WORD:
            return (self.UNKNOWN,)
        word = word.lower()
        parts = list[int]()
        at = 0
        while at < len(word):
            for end in range(len(word), at, -1):
                place = self._place.get(("##" if at else "") + word[at:end])
                if place is not None:
                    parts.append(place)
                    at = end
                    break
            else:
                return (self.UNKNOWN,)
        return tuple(parts)
