"""Linear heads: class scores from binary features, by the weights in `heads.tsv` (see `weights.md`)."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


class Head:
    """Scores classes from binary features.

    Attributes:
        rows: a feature's row in the weights.
        weights: rows × classes; the scores of features that are present are added.
    """

    def __init__(self, classes: Sequence[str], rows: Mapping[str, int], weights: Floats, bias: Floats) -> None:
        self.classes = tuple(classes)
        self.rows = rows
        self.weights = weights
        self.bias = bias

    def score_classes(self, features: Iterable[str]) -> Floats:
        """Score each class from the features present; unknown features are ignored."""
        places = [row for row in map(self.rows.get, dict.fromkeys(features)) if row is not None]
        return np.asarray(self.weights.take(places, axis=0).sum(axis=0) + self.bias, np.float32)

    def choose_class(self, features: Iterable[str]) -> str:
        """Return the class with the highest score."""
        return self.classes[int(self.score_classes(features).argmax())]


def compute_softmax(scores: Floats) -> Floats:
    """Convert scores to probabilities that sum to 1 along the last axis."""
    grown = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(grown / grown.sum(axis=-1, keepdims=True), np.float32)


@cache
def load_heads() -> Mapping[str, Head]:
    """Load the bundled heads: `zone`, `design`, and `participants` (one score per candidate)."""
    return read_heads(files(__package__).joinpath("heads.tsv").read_text(encoding="utf-8"))


def read_heads(table: str) -> dict[str, Head]:
    """Parse heads: a line with name, scale and classes, then one per feature with int8 weights in base64."""
    head_by_name: dict[str, Head] = {}
    for part in table.split("\n\n"):
        name, scale, *classes = part.partition("\n")[0].split("\t")
        lines = [line.rpartition("\t") for line in part.strip("\n").split("\n")[1:]]
        raw = base64.b64decode("".join(line[2] for line in lines))
        scores = np.frombuffer(raw, dtype=np.int8).reshape(len(lines), -1)
        weights = scores[:, : len(classes)] * np.float32(scale)
        rows = {line[0]: at for at, line in enumerate(lines[1:], 1)}
        head_by_name[name] = Head(classes, rows, weights.astype(np.float32), weights[0].astype(np.float32))
    return head_by_name
