"""Which way a posted outcome is good for the patient, from its title, its unit and what its description says of it.

The words stand in `cues.tsv`. Scales whose direction is fixed by their authors are named there; others are read by what
the record says of them alone.
"""

import re
from collections.abc import Mapping
from functools import cache, partial
from typing import Any, Literal, get_args

from ..lexicon.matching import cued, phrase_key

Beside = Literal["safety", "pharmacokinetics", "feasibility"]

_said = partial(cued, package=__package__)
_DURATIONS = frozenset("hour hours day days week weeks month months year years minute minutes min h d".split())
_OF_SCALE = r"(?:(?:\w|-|')+\W+){0,7}?"
_BY_SO_MUCH = re.compile(
    r"(?:(?:≥|>=?|at least|or more|greater)\W*(?:a )?\d+ ?(?:%|percent)?|\b\d+ ?(?:%|percent))\W*"
    r"(?:or (?:more|greater) )?(?:reduction|decrease|improvement|decline|drop)\b",
    re.IGNORECASE,
)


@cache
def _scales() -> tuple[tuple[re.Pattern[str], bool], ...]:
    """What descriptions say of a scale, and whether more of it is good then."""
    more, less, worse, better = (_said(name).pattern for name in ("more", "less", "worse", "better"))
    value = rf"(?:(?:\w+\W+){{0,3}}?{_said('measure').pattern}\W+{_OF_SCALE})?"
    says = rf"(?:{_said('says').pattern}|[=:])"
    return tuple(
        (re.compile(rf"{much}\W+{value}{says}\W+(?:(?:a|an|the|in)\W+)?{_OF_SCALE}{said}", re.IGNORECASE), up)
        for much, said, up in ((more, worse, False), (more, better, True), (less, better, False), (less, worse, True))
    )


@cache
def _without_harm() -> re.Pattern[str]:
    return re.compile(rf"{_said('not').pattern}[^,;]{{0,40}}|\b\w+-free\b", re.IGNORECASE)


def beside_efficacy(outcome: Mapping[str, Any]) -> Beside | None:
    """What an outcome measures if it is not whether the drug works; None if it is, as far as its title says."""
    title = str(outcome.get("title") or "")
    kinds: tuple[Beside, ...] = get_args(Beside)
    return next((kind for kind in kinds if _said(f"of {kind}").search(title)), None)


def more_is_better(outcome: Mapping[str, Any]) -> bool | None:
    """Whether larger posted values are good for the patient; None where the record does not say.

    What the description says of the scale comes first, then what is counted, then the name of the outcome.

    Args:
        outcome: `title`, `unit`, `description` and `values` as `clinicaltrials_record.parse_results` gives them.

    >>> more_is_better({"title": "Change in monthly migraine days", "unit": "days"})
    False
    >>> more_is_better({"title": "Participants with at least a 50% reduction in attacks", "unit": "Participants"})
    True
    """
    title, unit = str(outcome.get("title") or ""), str(outcome.get("unit") or "")
    whole = f"{title}. {unit}. {outcome.get('description') or ''}"
    said = {up for pattern, up in _scales() if pattern.search(whole)}
    if time_to := _said("time to").search(title):
        good = _good_event(title[time_to.end() :])
        return not good if good is not None and unit.strip(" ()").lower() in _DURATIONS else good
    counts_people = "%" in unit or _said("people or events").search(unit)
    if counts_people and (good := _good_event(title)) is not None:
        return good
    if len(said) == 1:
        return said.pop()
    if said:
        return None
    if _said("shrinking").match(title) or _said("growing").match(title):
        return _by_sign(title, outcome)
    if _said("unit of a scale").search(unit):
        return bool(_said("scale of health").search(title)) or (
            False if _said("scale of illness").search(title) else None
        )
    return higher_is_better(_said("change").sub("", title) or title)


def events_are_good(outcome: Mapping[str, Any], ratio: str) -> bool | None:
    """Whether what a ratio of hazards, odds, risks or rates counts is good; None where the record does not say.

    A hazard ratio for survival counts deaths.
    """
    title = str(outcome.get("title") or "")
    if _said("hazard").search(ratio) and _said("lasting").search(title):
        return False
    time_to = _said("time to").search(title)
    good = _good_event(title[time_to.end() :] if time_to else title)
    return good if good is not None or time_to else more_is_better(outcome)


def _good_event(text: str) -> bool | None:
    plainly = _without_harm().sub(" free ", text)
    good = _said("good event").search(plainly) or _BY_SO_MUCH.search(plainly)
    bad = _said("bad event").search(plainly)
    if good and bad:
        survives = good.start() < bad.start() and "surviv" in good.group().lower()
        return True if " free " in plainly or survives else None
    if good or bad:
        return bool(good)
    return None


def _by_sign(title: str, outcome: Mapping[str, Any]) -> bool | None:
    """ "Reduction in pain": more is better where it is posted as a positive number, less where as a change below 0."""
    values = [number for each in outcome.get("values", ()) if (number := _number(each.get("value"))) is not None]
    if not values or (any(v < 0 for v in values) and any(v > 0 for v in values)):
        return None
    thing = re.sub(r"^.*?\b(?:in|of)\b", "", title, count=1)
    if _said("growing").match(title):
        return True if all(v >= 0 for v in values) else None
    better = higher_is_better(thing)
    if better is None:
        return None
    return better if values[0] < 0 or (all(v <= 0 for v in values) and any(values)) else not better


def _number(value: Any) -> float | None:
    try:
        return float(str(value).replace(",", ""))
    except ValueError:
        return None


def higher_is_better(outcome: str) -> bool | None:
    """Tell whether more of an outcome is good; None where the name does not say.

    >>> [higher_is_better(o) for o in ("pain", "reduction in pain", "survival", "loss of function", "serum zinc")]
    [False, True, True, False, None]
    """
    if _said("unwanted growth").search(outcome):
        return False
    bad, good = _said("bad").search(outcome), _said("good").search(outcome)
    reversing, loss = _said("reversing").search(outcome), _said("loss").search(outcome)
    if reversing and bad and (reversing.start() < bad.start() or reversing.group().lower() == "free"):
        return True
    if loss and good and loss.start() < good.end() + 12:
        return False
    if bad and good:
        first = not {"of", "from", "in", "to"}.isdisjoint(phrase_key(outcome).split())
        return good.start() < bad.start() if first else good.start() > bad.start()
    if good:
        return True
    return False if bad else None
