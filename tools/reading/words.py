"""Heads over words: the verdict on a drug in a condition from the words of a record's sentences, with names as signs.

They know what the encoder has no room for (exact phrases of the whole record) and err elsewhere than it does.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..lexicon.heads import Floats, compute_softmax
from .view import View

BUCKETS = 2**20
"""Features are told apart by a hash below it."""
_WHO = frozenset({"DRUG", "CLASS", "OTHER", "PLACEBO", "COND", "ELSE", "P<", "P>"})
_TELLING = "TRC"
_MOST_SIGNS = 6


def find_features(view: View) -> NDArray[np.int64]:
    """Return the features of a view as sorted hashes, with repetitions."""
    zones = view.document.zones
    last = len(view.sentences) - 1
    features: list[int] = []
    for at, words in enumerate(view.sentences):
        for feature in _describe(words, zones[at], is_last=at == last):
            features.append(zlib.crc32(feature.encode()) % BUCKETS)
    return np.sort(np.array(features, np.int64))


def _describe(words: Sequence[str], zone: str, *, is_last: bool) -> Iterator[str]:
    """Yield the features of a sentence: words and pairs of them by zone, and beside the drug; the order of names."""
    words = ["W0" if word[0].isdigit() and len(word) > 1 else word for word in words]
    is_on_drug = "DRUG" in words or "CLASS" in words
    place = zone + ("L" if is_last else "")
    for at, word in enumerate(words):
        yield f"{place}|{word}"
        if is_on_drug:
            yield f"D|{word}"
        if at:
            pair = f"{words[at - 1]}_{word}"
            yield pair
            if zone in _TELLING:
                yield f"{zone}|{pair}"
            if is_on_drug:
                yield f"D|{pair}"
        if at > 1 and (zone in "TC" or is_last):
            yield f"3|{words[at - 2]}_{words[at - 1]}_{word}"
    yield f"K|{zone}{'d' if is_on_drug else ''}{'c' if 'COND' in words else ''}"
    yield f"S|{zone}|{'_'.join([word for word in words if word in _WHO][:_MOST_SIGNS])}"


class WordHead:
    """Scores verdicts from the features of a view.

    Args:
        buckets: the features that are known, sorted.
        rarity: of each its inverse document frequency.
        weights: known features × verdicts.
        bias: of each verdict.
    """

    def __init__(self, buckets: NDArray[np.int64], rarity: Floats, weights: Floats, bias: Floats) -> None:
        self._buckets = buckets
        self._rarity = rarity
        self._weights = weights
        self._bias = bias

    @classmethod
    def load(cls, stored: Mapping[str, NDArray[np.generic]]) -> "WordHead":
        """Load a head from the arrays that `store` returned."""
        rarity, weights = stored["words.scales"].astype(np.float32)
        return cls(
            np.cumsum(stored["words.gaps"].astype(np.int64)),
            stored["words.rarity"].astype(np.float32) * rarity,
            stored["words.weights"].astype(np.float32) * weights,
            stored["words.bias"].astype(np.float32),
        )

    def store(self) -> dict[str, NDArray[np.generic]]:
        """Return arrays of bytes with their scales."""
        rarity = float(self._rarity.max()) / 255
        weights = float(np.abs(self._weights).max()) / 127
        return {
            "words.gaps": np.diff(self._buckets, prepend=0).astype(np.uint32),
            "words.rarity": np.round(self._rarity / rarity).astype(np.uint8),
            "words.weights": np.round(self._weights / weights).astype(np.int8),
            "words.bias": self._bias.astype(np.float32),
            "words.scales": np.array([rarity, weights], np.float32),
        }

    def tell(self, features: NDArray[np.int64]) -> Floats:
        """Return the probability of each verdict."""
        buckets, counts = np.unique(features, return_counts=True)
        rows = np.searchsorted(self._buckets, buckets)
        rows[rows == len(self._buckets)] = 0
        is_in_head = self._buckets[rows] == buckets
        rows = rows[is_in_head]
        values = weigh(counts[is_in_head], self._rarity[rows])
        return compute_softmax(values @ self._weights[rows] + self._bias)


def weigh(counts: NDArray[np.int64], rarity: Floats) -> Floats:
    """Return the values of a record's features: the logarithm of their counts by rarity, scaled to length 1."""
    values = (1 + np.log(counts)) * rarity
    return np.asarray(values / (np.linalg.norm(values) or 1.0), np.float32)


def join_verdicts(by_network: Floats, by_words: Floats, powers: Floats) -> Floats:
    """Multiply two probabilities of the same verdicts, each with its power, and scale the sums to 1."""
    return compute_softmax(powers[0] * np.log(by_network + 1e-6) + powers[1] * np.log(by_words + 1e-6))
