"""From which probability on something is shown: one rule for all of it, on records that it was not learnt from."""

import math
from typing import Any

import numpy as np

from willowbark.tools.lexicon.heads import Floats
from willowbark.tools.reading.fields import FIELDS

RIGHT = {"supports": 0.94, "contradicts": 0.80}
"""How many of the verdicts shown as such have to be right, where no colleague would disagree with the label."""
ROLE_RIGHT = 0.90
"""How many of the parts told of conditions have to be right."""
CANDIDATES = np.arange(0.25, 0.96, 0.01)  # the likeliest of four verdicts has a quarter at least
FEWEST = 5
"""What has to be shown for a share of it to be looked at."""


def find_thresholds(chances: Floats, truth: Any, is_sure: Any) -> dict[str, float]:
    """Return for each verdict of `RIGHT` the least probability from which on it is shown; 1 if it never is.

    Labels with which a colleague could disagree count for nothing.
    """
    thresholds = {}
    for name, share in RIGHT.items():
        at = FIELDS["verdict"].index(name)
        able = is_sure & (chances.argmax(1) == at)
        least = find_least(chances[able, at], truth[able] == at, share)
        thresholds[name] = math.ceil(round(20 * least, 6)) / 20  # finer steps would be settled by single labels
    return thresholds


def find_least(chances: Any, hits: Any, share: float) -> float:
    """Return the least probability from which on a share of what is told is right, there and above; 1 if there is none.

    One that holds at a point alone would be chosen by chance.
    """
    settled = 1.0
    for least in CANDIDATES[::-1]:
        is_shown = chances >= least
        if is_shown.sum() < FEWEST:
            continue
        if hits[is_shown].mean() < share:
            break
        settled = float(least)
    return settled
