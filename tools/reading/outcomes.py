"""Which way an outcome is good for the patient, by its name, its unit and what its scale is said to mean.

Registries and papers have no field for it. What the words leave open is None, and decides nothing.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from ..lexicon.matching import cue_form, phrase_key
from .text import says

_DURATIONS = frozenset("hour hours day days week weeks month months year years minute minutes min h d".split())
_OF_SCALE = r"(?:(?:\w|-|')+\W+){0,7}?"
_VALUE = r"(?:(?:\w+\W+){0,3}?{measure}\W+" + _OF_SCALE + ")?"
_PREPOSITIONS = frozenset("of from in to with without for on at after by during".split())
_SCALES = tuple(
    (rf"{{{much}}}\W+{_VALUE}(?:{{says}}|[=:])\W+(?:(?:a|an|the|in)\W+)?{_OF_SCALE}{{{good}}}", is_good)
    for much, good, is_good in (
        ("more", "worse", False),
        ("more", "better", True),
        ("less", "better", False),
        ("less", "worse", True),
    )
)
"""Wordings that describe a scale, and whether more of it is then good."""


def parse_posted_number(text: Any) -> float | None:
    """Parse a posted number; None for `NA`, a bound, or a missing value."""
    try:
        value = float(str(text).replace(",", "").replace("−", "-"))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def is_count_of_people(outcome: Mapping[str, Any]) -> bool:
    """Whether an outcome's values are numbers or shares of people."""
    return says("counted people", str(outcome.get("unit") or "")) is not None


def is_more_better(outcome: Mapping[str, Any]) -> bool | None:
    """Whether larger posted values are good for the patient; None if the record does not say.

    Its time or events decide first, then whether people are counted who reached it, then the description of the scale,
    then the name of the outcome.

    Args:
        outcome: `title`, `unit` and `description` from `clinicaltrials.parse_results`.

    >>> is_more_better({"title": "Change in monthly migraine days", "unit": "days"})
    False
    >>> is_more_better({"title": "Participants with at least a 50% reduction in attacks", "unit": "Participants"})
    True
    """
    title = str(outcome.get("title") or "")
    unit = str(outcome.get("unit") or "")
    if says("marker", title):
        return None
    time_to = says("time to", title)
    if time_to:
        good = is_higher_better(title[time_to.end() :])
        is_duration = unit.strip(" ()").lower() in _DURATIONS
        return not good if good is not None and is_duration else good
    if is_count_of_people(outcome) or says(
        "counted in title", title
    ):  # a scale's direction is not that of its responders
        if says("reached", title):
            return says("not reached", title) is None
        return is_higher_better(title)
    whole = f"{title}. {unit}. {outcome.get('description') or ''}"
    directions = {is_good for form, is_good in _SCALES if cue_form(form, __package__).search(whole)}
    if directions:
        return directions.pop() if len(directions) == 1 else None
    if says("shrinking", title):  # "reduction in pain" is posted as a positive or as a negative number
        return None
    if says("unit of a scale", unit):
        return bool(says("scale of health", title)) or (False if says("scale of illness", title) else None)
    return is_higher_better(cue_form("{change}", __package__).sub("", title) or title)


def is_higher_better(outcome: str) -> bool | None:
    """Whether more of an outcome is good; None if the name does not say.

    >>> [is_higher_better(o) for o in ("pain", "reduction in pain", "survival", "loss of function", "serum zinc")]
    [False, True, True, False, None]
    """
    bad = says("bad", outcome)
    good = says("good", outcome)
    reversing = says("reversing", outcome)
    loss = says("loss", outcome)
    if reversing and bad and (reversing.start() < bad.start() or reversing.group().lower() == "free"):
        return True
    if loss and good and loss.start() < good.end() + 12:
        return False
    if bad and good:  # the first is meant before a preposition ("death in remission"), else the last ("pain relief")
        before, after = sorted((good, bad), key=re.Match.start)
        is_first = not _PREPOSITIONS.isdisjoint(phrase_key(outcome[before.end() : after.start()]).split())
        return (good.start() < bad.start()) == is_first
    return bool(good) if good or bad else None
