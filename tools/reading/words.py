"""Heads over words: the verdict on a drug in a condition from the words of a record's sentences, with names as signs.

They know what the encoder has no room for (exact phrases of the whole record) and err elsewhere than it does.
"""

import zlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ..lexicon.heads import Floats, softmax
from .view import View

BUCKETS = 2**18
"""Features are told apart by a hash below it."""
_WHO = frozenset({"DRUG", "CLASS", "OTHER", "PLACEBO", "COND", "ELSE", "P<", "P>"})
_TELLING = "TRC"
_MOST_SIGNS = 6


def find_features(view: View) -> NDArray[np.int64]:
    """Return the features of a view as sorted hashes, with repetitions."""
    zones = view.document.zones
    last = len(view.sentences) - 1
    features = [
        zlib.crc32(feature.encode()) % BUCKETS
        for at, words in enumerate(view.sentences)
        for feature in _describe(words, zones[at], is_last=at == last)
    ]
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
        rarity: of each bucket its inverse document frequency; 0 for one that is not used.
        weights: buckets × verdicts.
        bias: of each verdict.
    """

    def __init__(self, rarity: Floats, weights: Floats, bias: Floats) -> None:
        self._rarity, self._weights, self._bias = rarity, weights, bias

    def tell(self, features: NDArray[np.int64]) -> Floats:
        """Return the probability of each verdict."""
        buckets, counts = np.unique(features, return_counts=True)
        values = weigh(counts, self._rarity[buckets])
        return softmax(values @ self._weights[buckets] + self._bias)


def weigh(counts: NDArray[np.int64], rarity: Floats) -> Floats:
    """Return the values of a record's features: the logarithm of their counts by rarity, scaled to length 1."""
    values = (1 + np.log(counts)) * rarity
    return np.asarray(values / (np.linalg.norm(values) or 1.0), np.float32)
