"""Learns the head over words: a regression on rare features of a view, by record of the training part."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from willowbark.tools.lexicon.heads import Floats
from willowbark.tools.reading.fields import FIELDS
from willowbark.tools.reading.words import BUCKETS, WordHead, weigh

SEEN = 5
"""Pairs that a feature is in, at least, to be learnt from."""
STRENGTH = 3.0
STEPS = 60


def learn_words(rows: Sequence[NDArray[np.int64]], truth: NDArray[np.int64], heed: Floats) -> WordHead:
    """Learn verdicts from the words of labelled pairs (`words.find_features`), each with its weight."""
    counted = [np.unique(features, return_counts=True) for features in rows]
    frequency = np.bincount(np.concatenate([buckets for buckets, _ in counted]), minlength=BUCKETS)
    used = np.flatnonzero(frequency >= SEEN)
    rarity = np.zeros(BUCKETS, np.float32)
    rarity[used] = np.log((1 + len(rows)) / (1 + frequency[used])) + 1
    matrix = _make_matrix(counted, rarity)[:, used]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # stopping early is meant: it is as right as the end
        model = LogisticRegression(C=STRENGTH, max_iter=STEPS).fit(matrix, truth, sample_weight=heed)
    weights = np.zeros((len(used), len(FIELDS["verdict"])), np.float32)
    weights[:, model.classes_] = model.coef_.T
    bias = np.full(len(FIELDS["verdict"]), -20, np.float32)
    bias[model.classes_] = model.intercept_
    return WordHead(used, rarity[used], weights, bias)


def _make_matrix(rows: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]], rarity: Floats) -> Any:
    """Return the pairs' values as a sparse matrix."""
    values = [weigh(counts, rarity[buckets]) for buckets, counts in rows]
    ends = np.cumsum([0, *(len(buckets) for buckets, _ in rows)])
    places = np.concatenate([buckets for buckets, _ in rows])
    return csr_matrix((np.concatenate(values), places, ends), shape=(len(rows), BUCKETS))
