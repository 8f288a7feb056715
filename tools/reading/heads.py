"""Learned heads: a linear score for each class from the features of what is read. Inference is a sum of rows."""

import base64
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Head:
    """Scores classes by features.

    Attributes:
        classes: what can be told, in a fixed order.
        rows: a feature's row in the weights.
        weights: rows × classes; the scores of features that are present are added.
        bias: one number a class.
    """

    def __init__(
        self, classes: Sequence[str], rows: Mapping[str, int], weights: NDArray[np.float32], bias: NDArray[np.float32]
    ) -> None:
        self.classes, self.rows, self.weights, self.bias = tuple(classes), rows, weights, bias

    def scores(self, features: Iterable[str]) -> NDArray[np.float32]:
        """The score of each class; unknown features count nothing."""
        rows = self.rows
        found = [rows[name] for name in features if name in rows]
        return self.weights[found].sum(axis=0) + self.bias if found else self.bias

    def probabilities(self, features: Iterable[str]) -> dict[str, float]:
        """The scores as probabilities that add up to 1."""
        scores = self.scores(features)
        grown = np.exp(scores - scores.max())
        return dict(zip(self.classes, (grown / grown.sum()).tolist(), strict=True))

    def best(self, features: Iterable[str]) -> str:
        """The class with the highest score."""
        return self.classes[int(self.scores(features).argmax())]
