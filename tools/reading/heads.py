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
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


class Head:
    """Scores classes by features that are present or not.

    Attributes:
        classes: what can be told, in a fixed order.
        rows: a feature's row in the weights.
        weights: rows × classes; the scores of features that are present are added.
        bias: one number a class.
    """

    def __init__(self, classes: Sequence[str], rows: Mapping[str, int], weights: Floats, bias: Floats) -> None:
        self.classes, self.rows, self.weights, self.bias = tuple(classes), rows, weights, bias

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

    def scores(self, features: Iterable[str]) -> Floats:
        """The score of each class; unknown features count nothing."""
        rows = self.rows
        found = [rows[name] for name in features if name in rows]
        return self.weights[found].sum(axis=0) + self.bias if found else self.bias

    def probabilities(self, features: Iterable[str]) -> Floats:
        """The scores as probabilities that add up to 1, in the order of the classes."""
        return softmax(self.scores(features))

    def best(self, features: Iterable[str]) -> str:
        """The class with the highest score."""
        return self.classes[int(self.scores(features).argmax())]


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
        self._roots = np.array(stored["roots"], np.int32)
        self._feature = np.array(stored["feature"], np.int32)
        self._threshold = np.array(stored["threshold"], np.float32)
        self._left = np.array(stored["left"], np.int32)
        self._value = np.array(stored["value"], np.float32) / np.float32(1e4)

    def probabilities(self, row: Mapping[str, float]) -> Floats:
        """Probabilities of the classes; numbers that are absent are 0."""
        numbers = np.array([row.get(name, 0.0) for name in self.columns], np.float32)
        at = self._roots
        for _ in range(self.depth):
            at = self._left[at] + (numbers[self._feature[at]] > self._threshold[at])
        return softmax(self._value[at].reshape(-1, len(self.classes)).sum(axis=0) + self._bias)


@dataclass(frozen=True)
class Weights:
    """All heads of the learned reader.

    Attributes:
        version: the first twelve digits of the file's SHA-256.
        zone: what a sentence is for.
        sentence: whether a sentence carries a verdict, and which.
        fields: a linear head for each field of a reading, and for the verdict.
        role, verdict: trees over the signs of a view and what the other heads say.
        sharpness: the exponent that calibrates the verdict's probability.
        lean: what is added to the score of each verdict before the best is taken.
    """

    version: str
    zone: Head
    sentence: Head
    fields: Mapping[str, Head]
    role: Trees
    verdict: Trees
    sharpness: float
    lean: Mapping[str, float]


def softmax(scores: Floats) -> Floats:
    """Scores as probabilities that add up to 1."""
    grown = np.exp(scores - scores.max())
    return np.asarray(grown / grown.sum(), np.float32)


@cache
def weights() -> Weights:
    """The heads that came with the package, read once."""
    raw = resources.files(__package__).joinpath("weights.json").read_bytes()
    stored = json.loads(raw)
    return Weights(
        version=hashlib.sha256(raw).hexdigest()[:12],
        zone=Head.load(stored["zone"]),
        sentence=Head.load(stored["sentence"]),
        fields={name: Head.load(head) for name, head in stored["fields"].items()},
        role=Trees(stored["role"]),
        verdict=Trees(stored["verdict"]),
        sharpness=stored["sharpness"],
        lean=stored["lean"],
    )
