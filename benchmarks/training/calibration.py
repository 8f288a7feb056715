"""Settles on development records how network and words are joined, and when a verdict is sure enough to be shown."""

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from benchmarks.training.fitting import Prediction
from benchmarks.training.thresholds import find_thresholds
from numpy.typing import NDArray

from willowbark.tools.lexicon.heads import Floats
from willowbark.tools.reading.fields import FIELDS
from willowbark.tools.reading.words import WordHead, join_verdicts

POWERS = np.arange(0.1, 1.51, 0.1)


class Verdicts(NamedTuple):
    """Labelled verdicts with what the network and the words say of them."""

    truth: NDArray[np.int64]
    is_sure: NDArray[np.bool_]
    by_network: Floats
    by_words: Floats


class Settled(NamedTuple):
    """What was settled."""

    powers: Floats
    shown: dict[str, float]


def list_verdicts(predictions: Sequence[Prediction], head: WordHead) -> Verdicts:
    """List what is told of labelled pairs."""
    rows = [row for row in predictions if "verdict" in row.case.values]
    return Verdicts(
        np.array([row.case.values["verdict"] for row in rows], np.int64),
        np.array([row.case.ask.is_sure for row in rows], bool),
        np.array([row.fields["verdict"] for row in rows], np.float32),
        np.array([head.tell(row.case.words) for row in rows], np.float32),
    )


def settle(verdicts: Verdicts, unsure: float) -> Settled:
    """Choose the powers with the least loss, then what is shown by the rule of `thresholds.py`."""
    heed = np.where(verdicts.is_sure, 1.0, unsure)
    rows = np.arange(len(verdicts.truth))

    def count_loss(powers: Any) -> float:
        joined = join_verdicts(verdicts.by_network, verdicts.by_words, np.asarray(powers, np.float32))
        return float(-(heed * np.log(joined[rows, verdicts.truth] + 1e-9)).sum() / heed.sum())

    powers = np.array(min(itertools.product(POWERS, [0.0, *POWERS]), key=count_loss), np.float32)
    joined = join_verdicts(verdicts.by_network, verdicts.by_words, powers)
    return Settled(powers, find_thresholds(joined, verdicts.truth, verdicts.is_sure))


def describe(verdicts: Verdicts, settled: Settled) -> dict[str, Any]:
    """Return what the joined verdicts are worth on labelled pairs, in percent."""
    joined = join_verdicts(verdicts.by_network, verdicts.by_words, settled.powers)
    chosen = joined.argmax(1)
    chances = joined.max(1)
    figures: dict[str, Any] = {
        "pairs": len(chosen),
        "right": _percent(chosen == verdicts.truth),
        "right, sure labels": _percent((chosen == verdicts.truth)[verdicts.is_sure]),
        "right, network alone": _percent(verdicts.by_network.argmax(1) == verdicts.truth),
        "right, words alone": _percent(verdicts.by_words.argmax(1) == verdicts.truth),
        "calibration error": round(_measure_calibration(chances, chosen == verdicts.truth), 4),
    }
    for name, least in settled.shown.items():
        at = FIELDS["verdict"].index(name)
        is_shown = (chosen == at) & (joined[:, at] >= least)
        figures[f"{name} told"] = _describe_share(chosen == at, verdicts.truth == at)
        figures[f"{name} shown"] = _describe_share(is_shown, verdicts.truth == at)
    return figures


def _describe_share(chosen: Any, true: Any) -> str:
    return f"{_percent(true[chosen])} right of {int(chosen.sum())}, {_percent(chosen[true])} of {int(true.sum())} found"


def _percent(hits: Any) -> float:
    return round(100 * float(np.mean(hits)), 1) if len(hits) else 0.0


def _measure_calibration(chances: Any, hits: Any) -> float:
    """Return the mean distance of probabilities from shares, over ten bins of probability."""
    bins = np.minimum((chances * 10).astype(int), 9)
    parts = [(chances[bins == at].mean() - hits[bins == at].mean()) * (bins == at).mean() for at in set(bins.tolist())]
    return float(np.abs(parts).sum())
