"""Learned heads: linear ones over names of features, trees over numbers. Inference is sums of rows and look-ups.

The weights stand in one text file, `weights.json`, made by `make train`; see `weights.md`.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
_TINY = np.float32(1e-12)


class Head:
    """Scores classes by features that are present or not.

    Attributes:
        classes: what can be told, in a fixed order.
        rows: a feature's row in the weights.
        weights: rows × classes; the scores of features that are present are added.
        bias: one number a class.
    """

    def __init__(self, classes: Sequence[str], rows: Mapping[str, int], weights: Floats, bias: Floats) -> None:
        self._padded = np.vstack((weights, np.zeros((1, weights.shape[1]), np.float32)))
        self.classes, self.rows, self.weights, self.bias = tuple(classes), rows, self._padded[:-1], bias

    @classmethod
    def load(cls, stored: Mapping[str, Any]) -> "Head":
        """Read what `train` writes: whole numbers of a byte, in base64, with their scale."""
        names = stored["features"].split("\t")
        whole = np.frombuffer(base64.b64decode(stored["weights"]), dtype=np.int8)
        shape = (len(names), len(stored["classes"]))
        weights = whole.reshape(shape).astype(np.float32) * np.float32(stored["scale"])
        return cls(
            stored["classes"],
            {name: row for row, name in enumerate(names)},
            weights,
            np.array(stored["bias"], np.float32),
        )

    def places(self, features: Iterable[str]) -> list[int]:
        """The rows of features, each once and in their order; unknown features are left out."""
        return [row for row in map(self.rows.get, dict.fromkeys(features)) if row is not None]

    def scores(self, cases: Iterable[Iterable[str]]) -> Floats:
        """The scores of cases by their features, cases × classes; unknown features count nothing."""
        return self.scores_at(map(self.places, cases))

    def scores_at(self, cases: Iterable[Iterable[int]]) -> Floats:
        """The scores of cases by the rows of their features, each of which stands there once; cases × classes."""
        found, starts = list[int](), list[int]()
        for places in cases:
            starts.append(len(found))
            found.append(len(self.weights))  # a row of zeros: no case is empty
            found += places
        if not starts:
            return np.zeros((0, len(self.classes)), np.float32)
        return np.asarray(np.add.reduceat(self._padded.take(found, axis=0), starts, axis=0) + self.bias, np.float32)

    def probabilities(self, features: Iterable[str]) -> Floats:
        """The scores of one case as probabilities that add up to 1, in the order of the classes."""
        return softmax(self.scores([features])[0])

    def best(self, features: Iterable[str]) -> str:
        """The class with the highest score."""
        return self.best_of([features])[0]

    def best_of(self, cases: Iterable[Iterable[str]]) -> list[str]:
        """The class with the highest score of each case."""
        return [self.classes[at] for at in self.scores(cases).argmax(axis=1).tolist()]


class Heads:
    """Linear heads over the same features, which are summed up for all of them at once.

    Attributes:
        classes: of each head, by its name.
        joined: all of them as one, of as many classes as all of them have.
    """

    def __init__(self, heads: Mapping[str, Head]) -> None:
        self.classes = {name: head.classes for name, head in heads.items()}
        names = list(dict.fromkeys(name for head in heads.values() for name in head.rows))
        place = {name: row for row, name in enumerate(names)}
        bias = np.concatenate([head.bias for head in heads.values()])
        joined, at = np.zeros((len(names), len(bias)), np.float32), 0
        for head in heads.values():
            columns = slice(at, at := at + len(head.classes))
            joined[[place[name] for name in head.rows], columns] = head.weights[list(head.rows.values())]
        self.joined = Head((), place, joined, bias)

    def probabilities(self, places: Iterable[int]) -> dict[str, Floats]:
        """What each head says of one case, by the rows of its features in all of them joined."""
        scores, at = self.joined.scores_at([places])[0], 0
        found: dict[str, Floats] = {}
        for name, classes in self.classes.items():
            found[name] = softmax(scores[at : (at := at + len(classes))])
        return found


class Trees:
    """Boosted decision trees over a row of numbers, all walked down at once.

    Attributes:
        columns: the names of the numbers, in order.
        depth: the most steps from a root to a leaf. A leaf leads to itself.
    """

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self.classes: tuple[str, ...] = tuple(stored["classes"])
        self.columns: tuple[str, ...] = tuple(stored["columns"])
        self.depth: int = stored["depth"]
        self._bias = np.array(stored["bias"], np.float32)
        self._roots = np.array(stored["roots"], np.intp)
        self._feature = np.array(stored["feature"], np.intp)
        self._threshold = np.array(stored["threshold"], np.float32)
        self._left = np.array(stored["left"], np.intp)
        self._value = np.array(stored["value"], np.float32) / np.float32(1e4)

    def row(self, numbers: Mapping[str, float]) -> Floats:
        """Numbers in the order of the columns; those that are absent are 0."""
        return np.array([numbers.get(name, 0.0) for name in self.columns], np.float32)

    def probabilities(self, numbers: Floats) -> Floats:
        """Probabilities of the classes, of a row."""
        at = self._roots
        for _ in range(self.depth):
            at = self._left.take(at) + (numbers.take(self._feature.take(at)) > self._threshold.take(at))
        return softmax(self._value[at].reshape(-1, len(self.classes)).sum(axis=0) + self._bias)


class Settled(NamedTuple):
    """How probabilities of verdicts and of roles become what is shown."""

    sharpness: float
    """The exponent that calibrates the probabilities of verdicts."""
    lean: Mapping[str, float]
    """What is added to the score of a verdict or a role before the best is taken; nothing to those not named."""
    sure: Mapping[str, float]
    """The probability from which on a verdict counts; chosen on records that were not learnt from."""


@dataclass(frozen=True)
class Weights:
    """All heads of the learned reader.

    Attributes:
        version: the first twelve digits of the file's SHA-256.
        zone: what a sentence is for.
        sentence: whether a sentence carries a verdict, and which.
        fields: a linear head for each field of a reading, and for the verdict.
        role, verdict: trees over the signs of a view and what the other heads say; they have the same columns.
        settled: how probabilities become a verdict.
    """

    version: str
    zone: Head
    sentence: Head
    fields: Heads
    role: Trees
    verdict: Trees
    settled: Settled


def softmax(scores: Floats) -> Floats:
    """Scores as probabilities that add up to 1."""
    grown = np.exp(scores - scores.max())
    return np.asarray(grown / grown.sum(), np.float32)


def pooled(one: Floats, other: Floats, share: float) -> Floats:
    """Two opinions as one, a weighted geometric mean (a logarithmic opinion pool; Genest and Zidek 1986,
    https://doi.org/10.1214/ss/1177013825).

    Args:
        one, other: probabilities.
        share: how much the other counts, 0 to 1.
    """
    return softmax((1 - share) * np.log(one + _TINY) + share * np.log(other + _TINY))


@cache
def weights() -> Weights:
    """The heads that came with the package, read once."""
    raw = resources.files(__package__).joinpath("weights.json").read_bytes()
    stored = json.loads(raw)
    return Weights(
        version=hashlib.sha256(raw).hexdigest()[:12],
        zone=Head.load(stored["zone"]),
        sentence=Head.load(stored["sentence"]),
        fields=Heads({name: Head.load(head) for name, head in stored["fields"].items()}),
        role=Trees(stored["role"]),
        verdict=Trees(stored["verdict"]),
        settled=Settled(stored["sharpness"], stored["lean"], stored["sure"]),
    )
