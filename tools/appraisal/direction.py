"""Where a record stands on a drug, in the words of the report."""

from enum import StrEnum

from ..reading.reading import Verdict


class Direction(StrEnum):
    """Whether a record speaks for or against a drug in a condition."""

    supports = "supports"
    contradicts = "contradicts"
    neutral = "neutral"
    unclear = "unclear"
    """It says nothing of the drug's efficacy in the condition, or nothing that could be read."""


def direction_of(verdict: Verdict) -> Direction:
    """The direction that a verdict stands for; `none` is unclear."""
    return Direction.unclear if verdict == "none" else Direction(verdict)
