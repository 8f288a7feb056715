"""The encoder: a small transformer that turns a record, masked for one drug and one condition, into feature vectors.

The drug asked about, its class, other drugs, the condition asked about and other conditions are replaced by signs
(`DRUG`, `CLASS`, `OTHER`, `COND`, `ELSE`), conditions followed by their names; numbers by `0`, p values by `P<`, `P>`.
The drug's name is hidden so that the model cannot use prior knowledge of the drug.

all-MiniLM-L6-v2 (Apache-2.0, https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2), fine-tuned on labels made
by reading and stored as 8-bit integers; see `weights.md`. onnxruntime is imported with this module, at the first
reading.
"""

import json
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache
from importlib import resources
from typing import NamedTuple

import numpy as np
import onnxruntime

from ..lexicon import canonical_condition, canonical_drug, is_class_member
from ..lexicon.heads import Floats
from .document import Document

_PLACEBO = frozenset({"placebo", "placebos", "sham", "vehicle", "untreated"})
_SALTS = frozenset(
    "hydrochloride hydrobromide maleate mesylate besylate tartrate fumarate succinate citrate sulfate sulphate "
    "phosphate sodium potassium calcium acetate hcl".split()
)
SIGNS = {"DRUG": 1, "COND": 2, "OTHER": 3, "CLASS": 4, "ELSE": 5, "P<": 6, "P>": 7}
"""Word pieces for names and p values; the base model was never trained on these."""
LONGEST = 240
"""Maximum pieces per record; a longer one loses its least informative sentences."""
LONGEST_IN_PASSING = 144
"""The same if at most one sentence names the drug, and it is not the title, the last one or a conclusion."""
_NAME = 12  # maximum pieces of the condition's name
_ZONES = {zone: 10 + at for at, zone in enumerate("TABMRC")}
_SOON = {zone: at for at, zone in enumerate("TCRAMB")}
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
        named = self.document.drugs
        if not any(name == self.drug for name, _, _ in named):
            named = [*named, *((self.drug, start, end) for start, end in _literal(self.document, self.drug))]
        for name, start, end in self.document.classes:
            if is_class_member(self.drug, name):
                self._put(start, end, "CLASS")
        for name, start, end in named:
            self._put(start, end, "DRUG" if name == self.drug else "OTHER")

    def _mask_conditions(self, condition: str) -> None:
        document = self.document
        spans = [(start, end) for name, start, end in document.conditions if name == self.condition]
        spans += [span for span in _literal(document, condition.lower()) if span not in spans]
        taken: set[int] = set()
        for start, end in spans or _loose(document, self.condition):
            if start not in taken:
                self._put(start, end, "COND")
            taken.update(range(start, end))
        for _, start, end in document.conditions:
            if start not in taken and end - 1 not in taken:
                self._put(start, end, "ELSE")

    def _put(self, start: int, end: int, sign: str) -> None:
        """Replace the pieces between two offsets by a sign."""
        at, after = (bisect_left(self.document.begins, place) for place in (start, end))
        if at < after and self.words[at] not in ("DRUG", "COND"):
            self.words[at:after] = [sign, *[""] * (after - at - 1)]
            self._spelt[at] = after

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
                yield from (each for each, _, _ in self.document.pieces[at : self._spelt[at]] if each)


def _literal(document: Document, name: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets of exact matches of a name, singular or plural."""
    if words := name.replace("-", " ").split():
        pattern = r"(?<!\w)" + r"[\s-]+".join(map(re.escape, words)) + r"(?:e?s)?(?!\w)"
        yield from (found.span() for found in re.finditer(pattern, document.whole.lower()))


def _loose(document: Document, condition: str) -> Iterator[tuple[int, int]]:
    """Yield the offsets of single words of a condition: five letters or more, compared by their first six."""
    heads = {word[:6] for word in re.findall(r"[a-z]{5,}", condition)}
    return ((start, end) for word, start, end in document.pieces if word[:6] in heads and len(word) >= 5)


class Pieces:
    """Splits words into the pieces of a vocabulary, longest first (WordPiece, https://arxiv.org/abs/1609.08144).

    Args:
        names: the pieces in order; those that continue a word begin with `##`.
    """

    UNKNOWN, START, END = 100, 101, 102
    LAST_SPECIAL = 103

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self._place = {name: at for at, name in enumerate(names)}
        self.of = lru_cache(_REMEMBERED)(self._cut)

    def of_all(self, words: Iterable[str]) -> list[int]:
        """Return the pieces of several words, concatenated."""
        return [piece for word in words for piece in self.of(word)]

    def _cut(self, word: str) -> tuple[int, ...]:
        """Cut a word in the form of `Document.words` into pieces."""
        if word in SIGNS:
            return (SIGNS[word],)
        if len(word) > _LONGEST_WORD:
            return (self.UNKNOWN,)
        word, found, at = word.lower(), list[int](), 0
        while at < len(word):
            for end in range(len(word), at, -1):
                place = self._place.get(("##" if at else "") + word[at:end])
                if place is not None:
                    found.append(place)
                    at = end
                    break
            else:
                return (self.UNKNOWN,)
        return tuple(found)


class EncoderInput(NamedTuple):
    """Input of the encoder: pieces; of each sentence in it the order, the index of its zone piece, its zone."""

    pieces: list[int]
    orders: list[int]
    places: list[int]
    zones: list[str]


def shown(view: View, pieces: Pieces) -> EncoderInput:
    """Cut a view to the encoder's input: title, end, sentences naming the drug, conclusions and results first.

    The condition's name comes first and other conditions keep their names, since names tell whether a condition is
    broader, narrower or another one.
    """
    zones, last = view.document.zones, len(view.sentences) - 1
    named = [at for at, words in enumerate(view.sentences) if "DRUG" in words]
    in_passing = len(named) <= 1 and all(at not in (0, last) and zones[at] != "C" for at in named)

    def rank(at: int) -> int:
        if at in (0, last):
            return 0 if at == 0 else 1
        return 3 + _SOON[zones[at]] if at not in named else 2 if zones[at] in "RC" else 3

    longest = LONGEST_IN_PASSING if in_passing else LONGEST
    whole = [Pieces.START, *[SIGNS["COND"], *pieces.of_all(view.condition.split())][:_NAME]]
    room, kept = longest - 1 - len(whole), dict[int, list[int]]()
    for at in sorted(range(len(zones)), key=rank):
        found = [_ZONES[zones[at]], *pieces.of_all(view.spell(at))]
        if at in (0, last):
            found = found[: room if kept else longest // 2]
        if len(found) <= room:
            kept[at] = found
            room -= len(found)
    orders, places = sorted(kept), list[int]()
    for at in orders:
        places.append(len(whole))
        whole += kept[at]
    return EncoderInput([*whole, Pieces.END], orders, places, [zones[at] for at in orders])


SENTENCES = ("+", "-", "0", "~")
"""Verdict carried by a sentence: supports, contradicts, none, neutral."""


class States(NamedTuple):
    """The encoder's output for a record."""

    whole: Floats
    """Concatenated: the start, then means over the drug, the condition, all sentences weighted by how much of a verdict
    they carry, and results with conclusions."""
    sentences: dict[int, Floats]
    """Probabilities in the order of `SENTENCES`, by sentence order."""


class Encoder:
    """The transformer. Thread-safe; its output for a record does not depend on other records.

    Args:
        raw: an ONNX model with its vocabulary in its metadata.
        threads: number used for one record, which changes no output; records side by side use the cores better.
    """

    def __init__(self, raw: bytes, threads: int = 1) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads free the processor
        self._session = onnxruntime.InferenceSession(raw, options, providers=["CPUExecutionProvider"])
        self.pieces = Pieces(json.loads(self._session.get_modelmeta().custom_metadata_map["vocabulary"]))

    def of_view(self, view: View) -> States:
        """Encode a record for one drug and one condition."""
        seen = shown(view, self.pieces)
        pieces = np.array(seen.pieces)
        named = [np.flatnonzero(pieces == SIGNS[name]) for name in ("DRUG", "COND")]
        parts = [np.zeros(1, np.int64), *named, np.array(seen.places, np.int64)]
        picked = np.concatenate(parts)
        ends = np.cumsum([len(part) for part in parts])
        pooling = np.zeros((5, len(picked)), np.float32)  # each row computes a mean
        for row, (part, end) in enumerate(zip(parts, ends, strict=True)):
            pooling[row, end - len(part) : end] = 1 / max(1, len(part))
        telling = np.array([zone in "RC" for zone in seen.zones], bool)
        pooling[4, ends[2] :] = telling / max(1, telling.sum())
        whole, carried = self._session.run(None, {"pieces": pieces, "picked": picked, "pooling": pooling})
        return States(whole.ravel(), dict(zip(seen.orders, carried[ends[2] :], strict=True)))


@cache
def encoder() -> Encoder:
    """Load the bundled encoder once."""
    return Encoder(resources.files(__package__).joinpath("encoder.onnx").read_bytes())
