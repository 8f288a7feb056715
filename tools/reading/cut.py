"""Cuts a record once for the encoder, whatever is asked of it, and finds what is asked about in what was cut.

Each drug that the record names becomes a sign of its own, so that nothing is told from what is known of the drug.
Conditions keep their names behind a sign, and classes of drugs become one. A sentence opens with the sign of its part
of the record. What does not fit is left out: background first, sentences that name a drug in results last.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from ..lexicon.heads import Floats
from .document import Document
from .view import Pieces, View, find_literal

LONGEST = 256
"""Maximum pieces per record, with start and end."""
DRUGS = 32
"""Signs that there are for drugs; further drugs of a record share one."""
_NAME = 14  # maximum pieces of a condition's name
ZONE_NAMES = "TABMRC"
"""Parts of a record, as `Sentence.zone` has them."""
_SOON = {zone: at for at, zone in enumerate("TCRAMB")}
PAIR_FLAGS = 8
SENTENCE_FLAGS = 14
CONDITION_FLAGS = 12


class Sign:
    """Pieces of the vocabulary that the base model was never trained on."""

    ZONE = 10
    """The first of those for the parts of a record, in the order of `ZONE_NAMES`."""
    DRUG = 20
    """The first of `DRUGS`."""
    MORE_DRUGS = 52
    CLASS = 53
    CONDITION = 55
    COUNT = 100
    """All signs are below it."""


class Place(NamedTuple):
    """A piece of a cut record: the sentence by its order among those kept, the piece by its order in the sentence."""

    sentence: int
    piece: int


class CutSentence(NamedTuple):
    """A sentence as the encoder is given it."""

    order: int
    """In the document."""
    zone: str
    pieces: tuple[int, ...]
    """Its first is the sign of its zone; a drug is told by `-1 -` its order among the record's drugs."""
    owners: tuple[int, ...]
    """Of each piece the index of the document's piece that it is a part of; -1 for the sign of the zone."""


@dataclass(frozen=True)
class CutRecord:
    """A record as the encoder is given it."""

    sentences: tuple[CutSentence, ...]
    drugs: tuple[str, ...]
    """All drugs that the record names, by their generic names; the first `DRUGS` have a sign of their own."""

    @cached_property
    def starts(self) -> list[int]:
        """Of each sentence the index of its first piece."""
        ends = accumulate((len(sentence.pieces) for sentence in self.sentences), initial=1)
        return list(ends)[: len(self.sentences)]

    @property
    def length(self) -> int:
        """Number of pieces, with start and end."""
        return 2 + sum(len(sentence.pieces) for sentence in self.sentences)

    def list_pieces(self, signs: Sequence[int] = range(DRUGS)) -> list[int]:
        """List the pieces; `signs` tells which sign each drug gets."""
        pieces = [Pieces.START]
        for sentence in self.sentences:
            pieces += [piece if piece >= 0 else _find_sign(-1 - piece, signs) for piece in sentence.pieces]
        return [*pieces, Pieces.END]

    def find_indices(self, places: Iterable[Place]) -> list[int]:
        """Return the indices of places among all pieces."""
        return [self.starts[place.sentence] + place.piece for place in places]

    @cached_property
    def places(self) -> dict[int, list[Place]]:
        """Where each piece of the document is in what was cut."""
        places: dict[int, list[Place]] = {}
        for at, sentence in enumerate(self.sentences):
            for piece, owner in enumerate(sentence.owners):
                if owner >= 0:
                    places.setdefault(owner, []).append(Place(at, piece))
        return places


def _find_sign(drug: int, signs: Sequence[int]) -> int:
    return Sign.DRUG + signs[drug] if drug < DRUGS else Sign.MORE_DRUGS


@dataclass(frozen=True)
class CutCondition:
    """A condition asked about."""

    name: tuple[int, ...]
    places: tuple[Place, ...]
    is_in_lexicon: bool
    """Whether the lexicon finds it in the record."""


@dataclass(frozen=True)
class CutPair:
    """A drug and a condition asked about in a cut record."""

    condition: CutCondition
    drug: tuple[Place, ...]
    classes: tuple[Place, ...]
    """Where classes of the drug stand."""
    is_titled: bool
    """Whether the title names both."""


def find_names(document: Document, drug: str = "") -> str:
    """Return a drug if the record has it in words that the lexicon does not find; else an empty text."""
    is_found = not drug or any(name == drug for name, _, _ in document.drugs)
    return "" if is_found or not any(find_literal(document, drug)) else drug


def cut_record(document: Document, pieces: Pieces, unknown: str = "") -> CutRecord:
    """Cut a record; `unknown` is a drug that it names and the lexicon does not find."""
    drugs = _locate_spans(document, _find_drugs(document, unknown))
    names = tuple(dict.fromkeys(name for _, name in drugs.values()))
    places = {name: at for at, name in enumerate(names)}
    conditions = _locate_spans(document, document.conditions)
    classes = _locate_spans(document, document.classes)
    sentences = []
    for order, (first, last) in enumerate(document.spans):
        cut = [Sign.ZONE + ZONE_NAMES.index(document.zones[order])]
        owners = [-1]
        at = first
        while at < last:
            if at in drugs:
                end, name = drugs[at]
                cut.append(-1 - places[name])
                owners.append(at)
                at = max(end, at + 1)
                continue
            if at in conditions:
                cut.append(Sign.CONDITION)
                owners.append(at)
            elif at in classes:
                cut.append(Sign.CLASS)
                owners.append(at)
                at = max(classes[at][0], at + 1)
                continue
            word = document.pieces[at][0]
            own = pieces.of(word) if word else ()
            cut += own
            owners += [at] * len(own)
            at += 1
        sentences.append(CutSentence(order, document.zones[order], tuple(cut), tuple(owners)))
    return CutRecord(tuple(_fit_sentences(sentences)), names)


def _find_drugs(document: Document, unknown: str) -> Iterator[tuple[str, int, int]]:
    yield from document.drugs
    if unknown:
        yield from ((unknown, start, end) for start, end in find_literal(document, unknown))


def _locate_spans(document: Document, spans: Iterable[tuple[str, int, int]]) -> dict[int, tuple[int, str]]:
    """Return the index after the last piece and the name of each mention, by the index of its first piece."""
    indices: dict[int, tuple[int, str]] = {}
    for name, start, end in spans:
        first = bisect_left(document.begins, start)
        last = bisect_left(document.begins, end)
        if first < last:
            indices.setdefault(first, (last, name))
    return indices


def _fit_sentences(sentences: Sequence[CutSentence]) -> list[CutSentence]:
    """Keep the sentences that tell most, in order: title, last one, results that name a drug, others that do."""
    last = len(sentences) - 1

    def rank(sentence: CutSentence) -> int:
        if sentence.order in (0, last):
            return 0 if sentence.order == 0 else 1
        has_drug = min(sentence.pieces) < 0
        if has_drug:
            return 2 if sentence.zone in "RC" else 3
        return 3 + _SOON[sentence.zone]

    room = LONGEST - 2
    fitted: list[CutSentence] = []
    for sentence in sorted(sentences, key=rank):
        fitting = sentence
        if sentence.order in (0, last):
            most = room if fitted else LONGEST // 2
            fitting = sentence._replace(pieces=sentence.pieces[:most], owners=sentence.owners[:most])
        if fitting.pieces and len(fitting.pieces) <= room:
            fitted.append(fitting)
            room -= len(fitting.pieces)
    return sorted(fitted)


def cut_condition(record: CutRecord, view: View, pieces: Pieces) -> CutCondition:
    """Find a view's condition in a cut record."""
    document = view.document
    owners = view.find_pieces("COND")
    name = (Sign.CONDITION, *pieces.cut_all(view.condition.split()))[:_NAME]
    is_in_lexicon = any(name == view.condition for name, _, _ in document.conditions)
    return CutCondition(name, _locate(record, owners), is_in_lexicon)


def cut_pair(record: CutRecord, view: View, pieces: Pieces) -> CutPair:
    """Find a view's drug and condition in a cut record."""
    is_titled = bool(view.document.title) and {"DRUG", "COND"} <= set(view.sentences[0])
    classes = _locate(record, view.find_pieces("CLASS"))
    return CutPair(cut_condition(record, view, pieces), locate_drug(record, view.drug), classes, is_titled)


def locate_drug(record: CutRecord, drug: str) -> tuple[Place, ...]:
    """Find a drug by its generic name in a cut record."""
    if drug not in record.drugs:
        return ()
    return find_sign(record, -1 - record.drugs.index(drug))


def find_sign(record: CutRecord, sign: int) -> tuple[Place, ...]:
    """Find a piece in a cut record."""
    places = []
    for at, sentence in enumerate(record.sentences):
        for piece, value in enumerate(sentence.pieces):
            if value == sign:
                places.append(Place(at, piece))
    return tuple(places)


def _locate(record: CutRecord, owners: Iterable[int]) -> tuple[Place, ...]:
    places: set[Place] = set()
    for owner in owners:
        places.update(record.places.get(owner, ()))
    return tuple(sorted(places))


def list_pair_flags(record: CutRecord, pair: CutPair) -> list[float]:
    """Return what is told of a pair by counting."""
    condition = pair.condition
    return [
        bool(pair.drug),
        bool(pair.classes),
        bool(condition.places),
        condition.is_in_lexicon,
        math.log1p(len(pair.drug)),
        math.log1p(len(condition.places)) / 2,
        pair.is_titled,
        math.log1p(len(record.drugs)),
    ]


def list_sentence_flags(record: CutRecord, pair: CutPair) -> Floats:
    """Return what is told of each sentence for a pair by counting."""
    flags = np.zeros((len(record.sentences), SENTENCE_FLAGS), np.float32)
    own = set(pair.drug)
    last = len(record.sentences) - 1
    with_drug = {place.sentence for place in pair.drug}
    with_condition = {place.sentence for place in pair.condition.places}
    with_class = {place.sentence for place in pair.classes}
    for at, sentence in enumerate(record.sentences):
        others = (piece < 0 and (at, place) not in own for place, piece in enumerate(sentence.pieces))
        flags[at, ZONE_NAMES.index(sentence.zone)] = 1
        flags[at, 6:] = [
            at in with_drug,
            at in with_condition,
            any(others),
            at in with_class,
            at == 0,
            at == last,
            at / (last + 1),
            at in with_drug and at in with_condition,
        ]
    return flags


def list_condition_flags(record: CutRecord, condition: CutCondition) -> list[float]:
    """Return what is told of a condition by counting."""
    sentences = {place.sentence for place in condition.places}
    zones = [record.sentences[at].zone for at in sentences]
    is_near_drug = any(min(record.sentences[at].pieces) < 0 for at in sentences)
    return [
        *(zones.count(zone) / 4 for zone in ZONE_NAMES),
        bool(sentences),
        0 in sentences,
        len(record.sentences) - 1 in sentences,
        math.log1p(len(sentences)),
        condition.is_in_lexicon,
        is_near_drug,
    ]
