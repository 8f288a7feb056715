"""What a learned head sees of a record: words and short phrases by the part of the record they stand in, and places.

The drug asked about, other drugs, placebo, the condition asked about and other conditions stand in phrases as signs
(`DRUG`, `OTHER`, `PLACEBO`, `COND`, `ELSE`), so that nothing is learnt of a name; numbers stand as `0`, p values as
`P<` or `P>`.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property

from ..lexicon import canonical_condition, canonical_drug, is_class_member
from .document import Document

_PLACEBO = frozenset({"placebo", "placebos", "sham", "vehicle", "untreated"})
_SALTS = frozenset(
    "hydrochloride hydrobromide maleate mesylate besylate tartrate fumarate succinate citrate sulfate sulphate "
    "phosphate sodium potassium calcium acetate hcl".split()
)
_LINKS = frozenset("DRUG COND OTHER versus vs induced in for on with and of".split())
_BINS = (0, 1, 2, 3, 5, 8)


def _bin(count: float) -> int:
    return max(edge for edge in _BINS if edge <= count) if count >= 0 else 0


class View:
    """A document as seen when one drug and one condition are asked about."""

    def __init__(self, document: Document, drug: str, condition: str) -> None:
        self.document = document
        self.drug = canonical_drug(drug) or drug.lower().strip()
        self.condition = canonical_condition(condition) or condition.lower().strip()
        self.words = [word for word, _, _ in document.pieces]
        self.drug_at: list[int] = []
        self.cond_at: list[int] = []
        self.other: Counter[str] = Counter()
        self._spelt: dict[int, int] = {}
        self._mask_drugs()
        self._mask_conditions(condition)
        for at, word in enumerate(self.words):
            if word in _PLACEBO:
                self.words[at] = "PLACEBO"
            elif word in _SALTS:
                self.words[at] = ""

    def _mask_drugs(self) -> None:
        document, drug = self.document, self.drug
        named = document.drugs
        if not any(name == drug for name, _, _ in named):
            named = [*named, *((drug, start, end) for start, end in _literal(document, drug))]
        for name, start, end in document.classes:
            if is_class_member(drug, name):
                self._put(start, end, "CLASS", None)
        for name, start, end in named:
            if name == drug:
                self._put(start, end, "DRUG", self.drug_at)
            else:
                self._put(start, end, "OTHER", None)
                self.other[name] += 1

    def _mask_conditions(self, condition: str) -> None:
        document = self.document
        spans = [(start, end) for name, start, end in document.conditions if name == self.condition]
        spans += [span for span in _literal(document, condition.lower()) if span not in spans]
        if not spans:
            spans = list(_loose(document, self.condition))
        taken: set[int] = set()
        for start, end in spans:
            if start not in taken:
                self._put(start, end, "COND", self.cond_at)
            taken.update(range(start, end))
        for _, start, end in document.conditions:
            if start not in taken and end - 1 not in taken:
                self._put(start, end, "ELSE", None)

    def _put(self, start: int, end: int, sign: str, places: list[int] | None) -> None:
        """Write a sign in place of the tokens between two characters."""
        document = self.document
        at = next((document.starts[place] for place in range(start, end) if place in document.starts), None)
        if at is None:
            return
        if self.words[at] in ("DRUG", "COND"):
            return
        self.words[at] = sign
        if places is not None:
            places.append(at)
        pieces = document.pieces
        after = at + 1
        while after < len(pieces) and pieces[after][1] < end:
            self.words[after] = ""
            after += 1
        self._spelt[at] = after

    @cached_property
    def sentences(self) -> list[tuple[str, ...]]:
        """The words of each sentence, signs in place, empty ones dropped."""
        return [tuple(filter(None, self.words[first:last])) for first, last in self.document.spans]

    @cached_property
    def spelt(self) -> list[tuple[str, ...]]:
        """The same with the names of conditions after their signs."""
        return [tuple(self._with_names(first, last)) for first, last in self.document.spans]

    def _with_names(self, first: int, last: int) -> Iterator[str]:
        for at in range(first, last):
            word = self.words[at]
            if word:
                yield word
            if word in ("COND", "ELSE"):
                yield from (each for each, _, _ in self.document.pieces[at : self._spelt[at]] if each)


def _literal(document: Document, name: str) -> Iterator[tuple[int, int]]:
    """Where a name stands word for word, plural or not."""
    words = name.replace("-", " ").split()
    if not words:
        return
    pattern = re.compile(r"(?<!\w)" + r"[\s-]+".join(map(re.escape, words)) + r"(?:e?s)?(?!\w)")
    for found in pattern.finditer(document.whole.lower()):
        yield found.start(), found.end()


def _loose(document: Document, condition: str) -> Iterator[tuple[int, int]]:
    """Where the words of a condition stand, if not together: those of five letters and more, by their first six."""
    heads = {word[:6] for word in re.findall(r"[a-z]{5,}", condition)}
    for word, start, end in document.pieces:
        if word[:6] in heads and len(word) >= 5:
            yield start, end


def features(view: View) -> list[str]:
    """The features of a view, each once."""
    return list(dict.fromkeys(_features(view)))


def grams(words: Sequence[str], prefix: str) -> Iterator[str]:
    """Words, pairs and triples of a sentence behind a prefix."""
    for at, word in enumerate(words):
        yield f"{prefix}{word}"
        if at + 1 < len(words):
            yield f"{prefix}{word} {words[at + 1]}"


def _features(view: View) -> Iterator[str]:
    for case in cases(view):
        yield from phrases(*case)
    yield from outline(view)


def cases(view: View) -> Iterator[tuple[tuple[str, ...], str, bool]]:
    """Of each sentence its words, its part of the record, and whether it closes: what `phrases` takes."""
    zones, last = view.document.zones, len(view.sentences) - 1
    for order, (words, zone) in enumerate(zip(view.sentences, zones, strict=True)):
        yield words, zone, zone == "C" or order == last


def outline(view: View) -> Iterator[str]:
    """Who and what is named in which parts, and how often."""
    zones, sentences = view.document.zones, view.sentences
    for name, needed in (("D", {"DRUG"}), ("X", {"COND"}), ("DX", {"DRUG", "COND"})):
        seen = Counter(zone for zone, words in zip(zones, sentences, strict=True) if needed <= set(words))
        for zone in "TABMRC":
            if seen[zone]:
                yield f"#{name}{zone}"
                if seen[zone] > 1:
                    yield f"#{name}{zone}2"
            elif zone in "TRC":
                yield f"#!{name}{zone}"
    yield from _counts(view)


def phrases(words: Sequence[str], zone: str, closing: bool) -> Iterator[str]:
    """Words and phrases of a sentence, behind a sign for its part of the record and for whom it names."""
    drug, coarse = "DRUG" in words, "M" if zone in "ABM" else zone
    if zone == "T":
        yield from grams(words, "t:")
    if drug:
        yield from grams(words, f"d{coarse}:")
    elif "CLASS" in words:
        yield from grams(words, f"k{coarse}:")
    for at, word in enumerate(words):
        if word == "DRUG":
            yield from _around(words, at, f"w{coarse}")
        elif word == "COND":
            yield from _around(words, at, "v")
    if closing:
        yield from grams(words, "c:")
        if drug:
            yield from grams(words, "cd:")
    elif zone == "R" and not drug:
        yield from (f"r:{word}" for word in words)
    elif zone in "AM":
        yield from (f"m:{word}" for word in words)


def _around(words: Sequence[str], at: int, prefix: str) -> Iterator[str]:
    """The words to each side of one: the nearest by place, the next ones in any order, with what links them."""
    left, right = words[max(0, at - 4) : at], words[at + 1 : at + 5]
    for distance, word in enumerate(reversed(left), 1):
        if distance <= 2:
            yield f"{prefix}-{distance}:{word}"
        yield f"{prefix}<:{word}"
    for distance, word in enumerate(right, 1):
        if distance <= 2:
            yield f"{prefix}+{distance}:{word}"
        yield f"{prefix}>:{word}"
    yield f"{prefix}<>:{left[-1] if left else '^'} {right[0] if right else '$'}"
    if len(left) > 1:
        yield f"{prefix}<<:{left[-2]} {left[-1]}"
    if len(right) > 1:
        yield f"{prefix}>>:{right[0]} {right[1]}"
    if len(right) > 2:
        yield f"{prefix}>>>:{right[0]} {right[1]} {right[2]}"
    if len(left) > 2:
        yield f"{prefix}<<<:{left[-3]} {left[-2]} {left[-1]}"


def _counts(view: View) -> Iterator[str]:
    mine, others = len(view.drug_at), view.other
    most = max(others.values(), default=0)
    yield f"#n{_bin(mine)}"
    yield f"#o{_bin(len(others))}"
    yield f"#rank{_bin(sum(count > mine for count in others.values()))}"
    yield f"#share{int(4 * mine / max(1, mine + sum(others.values())))}"
    yield f"#lead{mine >= most}"
    yield f"#x{_bin(len(view.cond_at))}"
    yield f"#pbo{'PLACEBO' in view.words}"
    yield f"#len{_bin(len(view.sentences) / 3)}"
    first = view.document.sentences
    title = view.sentences[0] if first and first[0].headed == "title" else ()
    signs = [w for w in title if w in ("DRUG", "OTHER")]
    yield "#title " + " ".join(signs[:3])
    if "DRUG" in title and "COND" in title:
        yield "#dx " + "-".join(word for word in title if word in _LINKS)[:60]
    if view.drug_at:
        yield f"#first{_bin(10 * view.drug_at[0] / max(1, len(view.words)))}"
