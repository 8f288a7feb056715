"""The careful reader: a small pre-trained encoder beside the learned reader's heads. No network.

The encoder is a transformer of six layers (all-MiniLM-L6-v2, Apache-2.0,
https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2; Devlin et al. 2019, https://aclanthology.org/N19-1423),
tuned on labels made by reading; its weights stand in `encoder.npz` as whole numbers of a byte, made by
`make train-encoder`; see `weights.md`. It sees what the heads see, words with signs in place of drugs and conditions,
but all of a record at once.
"""

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from .document import Document
from .facts import WAYS, Candidate, Facts, facts_of, masked, numbers_of
from .features import View
from .heads import Floats, Settled, Weights, pooled, softmax
from .learned import Judged, LearnedReader

FIELDS: Mapping[str, tuple[str, ...]] = {
    "verdict": ("contradicts", "neutral", "none", "supports"),
    "role": ("background", "cause", "combined", "comparator", "mentioned", "not_a_drug_here", "other_use", "outcome",
             "tested"),
    "match": ("broader", "complication", "narrower", "other", "same"),
    "kind": ("efficacy", "harm", "none", "process", "surrogate"),
    "effect": ("better", "mixed", "no_difference", "not_reported", "worse"),
    "comparator": ("active", "before_after", "dose", "none", "not_reported", "placebo"),
}  # fmt: skip
"""What is told of a record, in the order of the weights."""
SENTENCES = ("+", "-", "0", "~")
"""What a sentence carries: supports, contradicts, no verdict, neutral."""
SIGNS = {"DRUG": 1, "COND": 2, "OTHER": 3, "CLASS": 4, "ELSE": 5, "P<": 6, "P>": 7}
"""Word pieces that stand for names and p values: such as the base was never trained on."""
LONGEST = 512
"""Pieces of a record that are looked at; of a longer one the sentences that tell least are left out."""
LONGEST_WHOLE = 320
"""The same where a record's design and participants are told."""
_NAME = 12  # pieces of the condition's name
_WORTH_CUTTING = 24
_SOON_COUNTED = {"T": 0, "M": 3, "A": 4, "R": 5, "C": 5, "B": 6}
_UNSEEN = -12.0
_ZONES = {zone: 10 + at for at, zone in enumerate("TABMRC")}
_SOON = {zone: at for at, zone in enumerate("TCRAMB")}
_HEADS = 12
_TINY = np.float32(1e-12)
_LONGEST_WORD = 100  # letters, as BERT's own tokeniser has it; cutting takes their square
_REMEMBERED = 50_000  # words whose pieces are kept: a file of any size is read in constant memory
BEYOND_DOUBT = 0.7
"""The probability of no verdict from which on a run believes the heads alone: on records left out verdicts were as
often right, and half as many again were read in the same time (`weights.md`)."""
WHOLLY = 0.95
"""The same where each reading counts as a whole, its role as much as its verdict; then each record's design and
participants are told by both."""
SURE_OF_DESIGN = 0.9
"""The probability of a design from which on a run believes the heads alone of it, and of the participants."""


class Pieces:
    """Cuts words into the pieces of a vocabulary, the longest first (WordPiece, https://arxiv.org/abs/1609.08144).

    Args:
        names: the pieces in their order; those that go on with a word begin with `##`.
    """

    UNKNOWN, START, END, MASK = 100, 101, 102, 103
    LAST_SPECIAL = 103

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self._place = {name: at for at, name in enumerate(names)}
        self._cut: dict[str, tuple[int, ...]] = {}

    def of(self, word: str) -> tuple[int, ...]:
        """The pieces of a word as `Document.words` shows it."""
        found = self._cut.get(word)
        if found is None:
            found = (SIGNS[word],) if word in SIGNS else tuple(self._pieces(word.lower()))
            if len(self._cut) < _REMEMBERED:
                self._cut[word] = found
        return found

    def _pieces(self, word: str) -> list[int]:
        if len(word) > _LONGEST_WORD:
            return [self.UNKNOWN]
        found: list[int] = []
        at = 0
        while at < len(word):
            for end in range(len(word), at, -1):
                place = self._place.get(("##" if at else "") + word[at:end])
                if place is not None:
                    found.append(place)
                    at = end
                    break
            else:
                return [self.UNKNOWN]
        return found


class Shown(NamedTuple):
    """A view as the encoder sees it."""

    pieces: list[int]
    orders: list[int]
    """The sentences that are looked at."""
    places: list[int]
    """Where each of them begins, at the piece that tells its part of the record."""


def shown(view: View, pieces: Pieces, longest: int = LONGEST) -> Shown:
    """Cut a view to what is looked at: title, end, what names the drug, conclusions and results before the rest.

    At most `longest` pieces are. The name of the condition stands before them all, and other conditions keep theirs:
    what is broader, narrower or another one is told by names. The drug has none, so that nothing is told from what is
    known of it.
    """
    zones, last = view.document.zones, len(view.sentences) - 1
    cut = [[_ZONES[zones[at]], *(each for word in words for each in pieces.of(word))]
           for at, words in enumerate(view.spelt)]  # fmt: skip
    asked = [SIGNS["COND"], *(each for word in view.condition.split() for each in pieces.of(word))][:_NAME]
    room, kept = longest - 2 - len(asked), list[int]()
    for at in sorted(range(len(cut)), key=lambda at: (_rank(at, last, zones[at], "DRUG" in view.sentences[at]), at)):
        if at in (0, last):
            cut[at] = cut[at][: room if kept else longest // 2]
        if len(cut[at]) <= room:
            kept.append(at)
            room -= len(cut[at])
    found, places = [Pieces.START, *asked], list[int]()
    for at in sorted(kept):
        places.append(len(found))
        found += cut[at]
    return Shown([*found, Pieces.END], sorted(kept), places)


def _rank(at: int, last: int, zone: str, drug: bool) -> int:
    if at in (0, last):
        return 0 if at == 0 else 1
    if drug:
        return 2 if zone in "RC" else 3
    return 3 + _SOON[zone]


class ShownWhole(NamedTuple):
    """A record as the encoder sees it to tell its design and participants."""

    pieces: list[int]
    places: dict[int, int]
    """Where each token that is looked at begins."""


def shown_whole(document: Document, pieces: Pieces) -> ShownWhole:
    """Cut a record to what is looked at: title, sentences that count people, the last, methods before the rest."""
    words, last = masked(document), len(document.sentences) - 1
    cut: list[list[tuple[int, int]]] = []
    ranks: list[int] = []
    for at, (sentence, zone) in enumerate(zip(document.sentences, document.zones, strict=True)):
        own = ((piece, token) for token in range(sentence.first, sentence.last) for piece in pieces.of(words[token]))
        cut.append([(_ZONES[zone], -1), *own])
        counts = any(number.people for number in numbers_of(document, sentence))
        ranks.append(0 if at == 0 else 2 if counts else 1 if at == last else _SOON_COUNTED[zone])
    room, kept = LONGEST_WHOLE - 2, list[int]()
    for at in sorted(range(len(cut)), key=lambda at: (ranks[at], at)):
        if len(cut[at]) > room and ranks[at] <= 2 and room > _WORTH_CUTTING:
            cut[at] = cut[at][:room]
        if len(cut[at]) <= room:
            kept.append(at)
            room -= len(cut[at])
    found, places = [Pieces.START], dict[int, int]()
    for at in sorted(kept):
        for piece, token in cut[at]:
            places.setdefault(token, len(found))
            found.append(piece)
    return ShownWhole([*found, Pieces.END], places)


class Making:
    """What the encoder says of how a record was made.

    Attributes:
        share: how much it counts beside the heads for `design` and `participants`.
        design: probabilities, in the order of the alphabet.
    """

    def __init__(
        self, design: Floats, alone: Floats, ways: Floats, places: Mapping[int, int], share: Mapping[str, float]
    ) -> None:
        self.design, self.share = design, share
        self._alone, self._ways, self._places = alone, ways, places

    def participants(self, offered: Mapping[int, Candidate]) -> Floats:
        """Probabilities of candidates, in their order: those that are not looked at have next to none."""
        return softmax(np.array([self._score(value, each) for value, each in offered.items()], np.float32))

    def _score(self, value: int, candidate: Candidate) -> float:
        found = [float(self._alone[value])] if value < len(self._alone) else []
        for kind, numbers in candidate.ways:
            if seen := [self._places[each] for each in numbers if each in self._places]:
                found.append(float(self._ways[seen, WAYS.index(kind)].mean()))
        return float(np.logaddexp.reduce(found)) if found else _UNSEEN


class Told(NamedTuple):
    """What the encoder says of a view."""

    fields: dict[str, Floats]
    """Probabilities of each field, in the order of `FIELDS`."""
    sentences: dict[int, Floats]
    """Of each sentence that was looked at, by its order, in the order of `SENTENCES`."""


class Encoder:
    """The tuned transformer, run on numpy.

    Args:
        stored: the arrays of `encoder.npz`.
        version: the first twelve digits of the file's SHA-256.
    """

    def __init__(self, stored: Mapping[str, np.ndarray], version: str) -> None:
        self.version = version
        joined = json.loads(str(stored["joined"]))
        self.joined = Joined(joined["share"], Settled(joined["sharpness"], joined["lean"], joined["sure"]))
        self.pieces = Pieces(str(stored["vocabulary"]).split("\n"))
        self._words, self._scale = stored["words"], stored["words.scale"]
        self._of = {name: _matrix(stored, name) for name in stored if f"{name}.scale" in stored and name != "words"}
        self._of |= {
            name: np.asarray(each, np.float32) for name, each in stored.items() if name.endswith((".weight", "bias"))
        }
        self._of["places"] = np.asarray(stored["places"], np.float32)
        layers = [name.removesuffix(".asked") for name in stored if name.endswith(".asked")]
        self._layers = [name for name in layers if name.isdecimal()]
        own = [name for name in layers if name not in self._layers]  # the last ones are others where a making is told
        self._making = [*self._layers[: len(self._layers) - len(own)], *own]

    @classmethod
    def load(cls, raw: bytes) -> "Encoder":
        """The encoder of a file as `train_encoder.py` writes it."""
        with np.load(io.BytesIO(raw)) as stored:
            return cls(dict(stored), hashlib.sha256(raw).hexdigest()[:12])

    def told(self, view: View) -> Told:
        """Read a view."""
        seen = shown(view, self.pieces)
        pieces = np.array(seen.pieces)
        states = self._states(pieces, self._layers)
        means = [states[pieces == SIGNS[name]] for name in ("DRUG", "COND")]
        whole = np.concatenate(
            [states[0], *(each.mean(axis=0) if len(each) else np.zeros_like(states[0]) for each in means)]
        )
        fields = {name: softmax(self._through(whole, f"field.{name}")) for name in FIELDS}
        carried = self._through(states[seen.places], "sentence")
        return Told(fields, dict(zip(seen.orders, map(softmax, carried), strict=True)))

    def making(self, document: Document) -> Making:
        """Tell how a record was made."""
        seen = shown_whole(document, self.pieces)
        states = self._states(np.array(seen.pieces), self._making)
        whole = np.concatenate([states[0], states.mean(axis=0)])
        design = softmax(self._through(whole, "making.design"))
        alone, ways = self._through(whole, "making.alone"), self._through(states, "making.ways")
        return Making(design, alone, ways, seen.places, self.joined.share)

    def _states(self, pieces: np.ndarray, layers: Sequence[str]) -> Floats:
        """The state of each piece after the last of some layers."""
        states = self._words[pieces] * self._scale[pieces] + self._of["places"][: len(pieces)]
        states = self._normed(states, "norm")
        for layer in layers:
            heard = self._through(self._heard(states, f"{layer}.asked"), f"{layer}.heard")
            states = self._normed(states + heard, f"{layer}.heard.norm")
            wide = _gelu(self._through(states, f"{layer}.wide"))
            states = self._normed(states + self._through(wide, f"{layer}.narrow"), f"{layer}.narrow.norm")
        return states

    def _heard(self, states: Floats, name: str) -> Floats:
        """What each piece hears of all others, head by head (Vaswani et al. 2017, https://arxiv.org/abs/1706.03762)."""
        count, width = states.shape
        asked = self._through(states, name).reshape(count, 3, _HEADS, width // _HEADS).transpose(1, 2, 0, 3)
        query, key, value = np.ascontiguousarray(asked)
        weights = query @ key.transpose(0, 2, 1) / np.sqrt(np.float32(width // _HEADS))
        weights -= weights.max(axis=-1, keepdims=True)
        np.exp(weights, out=weights)
        weights /= weights.sum(axis=-1, keepdims=True)
        return np.asarray((weights @ value).transpose(1, 0, 2).reshape(count, width))

    def _through(self, states: Floats, name: str) -> Floats:
        return np.asarray(states @ self._of[name] + self._of[f"{name}.bias"])

    def _normed(self, states: Floats, name: str) -> Floats:
        centred = states - states.mean(axis=-1, keepdims=True)
        spread = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + _TINY)
        return np.asarray(centred / spread * self._of[f"{name}.weight"] + self._of[f"{name}.bias"])


def _matrix(stored: Mapping[str, np.ndarray], name: str) -> Floats:
    """Weights as they are multiplied with: columns for rows."""
    return np.ascontiguousarray((stored[name] * stored[f"{name}.scale"]).T, np.float32)


def _gelu(states: Floats) -> Floats:
    """The bend between two layers, by its tangent form (https://arxiv.org/abs/1606.08415)."""
    bent = states * states
    bent *= np.float32(0.044715)
    bent += 1
    bent *= states
    bent *= np.float32(0.7978845608)
    np.tanh(bent, out=bent)
    bent += 1
    bent *= states
    bent *= np.float32(0.5)
    return bent


class Joined(NamedTuple):
    """How much the encoder's word counts beside the heads', chosen on records that neither had learnt from."""

    share: Mapping[str, float]
    """Of each field and of `sentence`, 0 to 1."""
    settled: Settled


class CarefulReader(LearnedReader):
    """Reads with the encoder too: more often right, and some hundred times slower.

    What both say is joined by `heads.pooled`. Where the heads find no verdict beyond doubt, they are believed.

    Args:
        heads: the learned reader's weights; None takes those that came with the package.
        tuned: the encoder; None takes the one that came with the package.
        beyond_doubt: the heads' probability of no verdict from which on the encoder is not asked, 0 to 1.
    """

    name = "careful"

    def __init__(
        self, heads: Weights | None = None, tuned: Encoder | None = None, beyond_doubt: float = BEYOND_DOUBT
    ) -> None:
        super().__init__(heads)
        self._encoder, self._beyond_doubt = tuned or encoder(), beyond_doubt
        self.version = f"{self.version}+{self._encoder.version}"
        self._none = self._heads.verdict.classes.index("none")

    @property
    def _settled(self) -> Settled:
        return self._encoder.joined.settled

    def facts_of(self, document: Document) -> Facts:
        """Tell a record's design and its participants."""
        return facts_of(document, self._encoder.making, 1.0 if self._beyond_doubt >= WHOLLY else SURE_OF_DESIGN)

    def _judged(self, view: View) -> Judged:
        heads = super()._judged(view)
        if heads.verdict[self._none] >= self._beyond_doubt:
            return heads
        told, share = self._encoder.told(view), self._encoder.joined.share
        fields = {name: pooled(each, told.fields[name], share[name]) for name, each in heads.fields.items()}
        sentences = {
            at: pooled(each, told.sentences[at], share["sentence"]) if at in told.sentences else each
            for at, each in heads.sentences.items()
        }
        verdict = pooled(heads.verdict, told.fields["verdict"], share["verdict"])
        return Judged(verdict, pooled(heads.role, told.fields["role"], share["role"]), fields, sentences)


@cache
def encoder() -> Encoder:
    """The encoder that came with the package, read once."""
    return Encoder.load(resources.files(__package__).joinpath("encoder.npz").read_bytes())
