"""What is shown of a reader follows from one rule."""

import numpy as np
from benchmarks.training.thresholds import find_least, find_thresholds

from willowbark.tools.reading.fields import FIELDS


def test_shown_is_what_is_right_often_enough_there_and_above() -> None:
    chances = np.array([0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6])
    hits = np.array([True, True, True, True, True, True, False, False])
    assert 0.65 < find_least(chances, hits, 0.9) <= 0.7


def test_nothing_is_shown_that_is_wrong_where_it_is_surest() -> None:
    chances = np.linspace(0.9, 0.5, 10)
    hits = np.array([False] * 5 + [True] * 5)
    assert find_least(chances, hits, 0.8) == 1.0


def test_a_verdict_is_shown_by_its_own_probability_where_it_is_the_likeliest() -> None:
    names = FIELDS["verdict"]
    supports, none = names.index("supports"), names.index("none")
    chances = np.full((10, len(names)), 0.05, np.float32)
    chances[:, supports] = 0.8
    truth = np.full(10, supports)
    is_sure = np.full(10, True)
    thresholds = find_thresholds(chances, truth, is_sure)
    assert thresholds["supports"] < 0.8
    assert thresholds["contradicts"] == 1.0
    assert find_thresholds(chances, np.full(10, none), is_sure)["supports"] == 1.0
    assert find_thresholds(chances, truth, ~is_sure)["supports"] == 1.0
