"""Compare the drug's value with that of placebo or no treatment, where a clause gives both."""

import re

from . import finding_words as say
from .arms import Arm

_HIDDEN = re.compile(
    r"(?<=\d) of \d+\b(?!\s*%)|"
    r"\b(?:at least |more than |over |by |a |of |the )+\d+(?:\.\d+)?\s*%(?= (?:or more |or greater )?(?:reduction|"
    r"drop|fall|decrease|lower|"
    r"improvement|response|in\b|gain|headache|more|of\b))|\b(?:reductions?|drop|decrease|lower|fall) (?:of|"
    r"by) (?:at least|>=?|≥|more than)\s*\d+\s*%|"
    r"\b(?:lower|reduced|higher) by (?:at least )?\d+\s*%(?= in)|\b\d+\s*% or (?:more|greater)|\bat least \d+\s*%|"
    r"\b(?:above|below|over) \d+\s*%|\bn\s*=\s*\d+|\b(?:9[059]\s*%\s*)?(?:CI|confidence interval)\b[^;)\]]*|"
    r"\b\d+(?:\.\d+)?[-\s]?(?:(?:to|-|or|and)\s?\d+(?:\.\d+)?\s?)?(?:mg|mcg|microg|g|units?|IU|weeks?|months?|"
    r"days?|years?|yr|h|hours?)\b"
    r"(?:/(?:day|d|kg))?|\b(?:weeks?|months?|days?|years?|phase|type|type|grade|group|visit) \d+(?:-\d+| to \d+)?|"
    r"[A-Za-z]+-?\d+\b",
    re.IGNORECASE,
)
_FROM_TO = re.compile(r"\bfrom\s+(-?\d+(?:\.\d+)?)[^\d;]{0,25}?\s+to\s+(-?\d+(?:\.\d+)?)", re.IGNORECASE)
_VALUE = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?")
_DOWN = re.compile(
    r"\b(?:fell|falls?|reduc\w+|decreas\w+|declin\w+|drop\w*|down|lower(?:ed|ing)|(?:lower|less|shorter) by|cut|"
    r"lost)\b",
    re.IGNORECASE,
)
_UP = re.compile(r"\b(?:rose|rise|rais\w+|increas\w+|gain\w*|up)\b", re.IGNORECASE)
_LINK = re.compile(
    r"^\s*(?:[%a-zA-Z/.²]{0,14}\s+){0,3}?(?:on|with|in|for|under|from|by|of|after|among|taking|given|"
    r"receiving)\s+(?:the |those |an? )?(?:\w+ )?$|^\s*$"
)
_AGAINST = re.compile(
    r"\d\s*(?:%|percent)?\s*(?:against|vs\.?|versus|compared with)\s*(?:an? \w+ from )?\d", re.IGNORECASE
)
_TWO_ARMS = 2
_CLEAR = 1.5  # ratio of two values from which a difference without a p value is taken as one


def better_than_inert(
    clause: str, arms: list[Arm], more_is_good: bool | None, *, alone: bool
) -> tuple[bool | None, str] | None:
    """Compare the first value of the drug with the one of the inert arm.

    Args:
        clause: with p values written `§+` and `§-`.
        arms: where the clause names its arms.
        more_is_good: of the clause's outcome; None means that it is not known.
        alone: whether the drug is the only one of the record, beside an inert arm; then values without arms are its own
            and that arm's, in this order.

    Returns:
        Whether the drug did better, with the words that say so; None for whether where the values lie close and no p
        value is given, and None for all where the clause gives no such pair.
    """
    inert = [arm for arm in arms if arm.side == "inert"]
    if (
        not inert
        and clause.count("§") == 1
        and "§+" in clause
        and not (say.FALL.search(clause) or say.RISE.search(clause))
    ):
        inert = [arm for arm in arms if arm.side == "other"]
    if more_is_good is None or (not inert and not (alone and _AGAINST.search(clause))):
        return None
    if not say.RESULT.search(clause) and re.search(r"\b(?:trial|study|comparison)\b", clause, re.IGNORECASE):
        return None
    if _FROM_TO.search(clause):
        return _changes(clause, arms, more_is_good)
    hidden = _HIDDEN.sub(lambda m: " " * len(m.group()), clause)
    values = [(m.start(), m.end(), float(m.group().replace(",", ""))) for m in _VALUE.finditer(hidden)]
    mine = [arm for arm in arms if arm.side == "ours"]
    if not mine and any(arm.side == "other" for arm in arms):
        return None
    pair = _paired(hidden, values, mine, inert)
    if pair is None:
        return None
    (place, _, first), (_, _, second) = pair
    if first == second:
        return None
    before = clause[:place]
    down = bool(_DOWN.search(before)) and not _UP.search(before)
    if down:
        first, second = -abs(first), -abs(second)
    small, large = sorted((abs(first), abs(second)))
    marked = "§" in (clause if len(arms) <= _TWO_ARMS else _until_next(clause, pair[0], values))
    if not marked and small and large / small < _CLEAR:
        return None, f"{abs(first):g} against {abs(second):g} without a p value"
    is_better = (first > second) == more_is_good
    return is_better, f"{abs(first):g} against {abs(second):g}"


def _until_next(clause: str, value: "Value", values: list["Value"]) -> str:
    """The words between a value and the next: where several arms are listed, each has its own p value."""
    return clause[value[1] : min((v[0] for v in values if v[0] > value[0]), default=len(clause))]


def change_in(clause: str) -> float | None:
    """The change of the only "from X to Y" of a clause; None where there is none or more than one."""
    found = list(_FROM_TO.finditer(clause))
    return float(found[0][2]) - float(found[0][1]) if len(found) == 1 else None


def _changes(clause: str, arms: list[Arm], more_is_good: bool) -> tuple[bool | None, str] | None:
    """Two changes "from X to Y", each with its arm."""
    found = [
        (m.start(), m.end(), 100 * (float(m[2]) - float(m[1])) / (abs(float(m[1])) or 1))
        for m in _FROM_TO.finditer(clause)
    ]
    pair = _paired(clause, found, [a for a in arms if a.side == "ours"], [a for a in arms if a.side == "inert"])
    if not pair or pair[0][2] == pair[1][2]:
        return None
    first, second = pair[0][2], pair[1][2]
    return (first > second) == more_is_good, f"change of {first:.0f} % against {second:.0f} %"


Value = tuple[int, int, float]


def _paired(clause: str, values: list[Value], mine: list[Arm], inert: list[Arm]) -> tuple[Value, Value] | None:
    """The value of the drug and that of the inert arm, by the words between, else by order."""
    if len(values) < 2:
        return None
    ours = _owned(clause, values, mine)
    theirs = _owned(clause, values, inert)
    if not mine and not inert and (match := _AGAINST.search(clause)):
        ours = next((v for v in values if match.start() < v[1] <= match.end()), None)
    if theirs and not ours:
        ours = next((v for v in values if v != theirs and v[0] < theirs[0]), None)
    if ours and not theirs:
        theirs = next((v for v in values if v[0] > ours[0]), None)
    if ours and theirs and ours != theirs:
        return ours, theirs
    return None


def _owned(clause: str, values: list[Value], arms: list[Arm]) -> Value | None:
    for arm in arms:
        for value in reversed(values):
            if value[1] <= arm.start and _LINK.match(re.sub(r"§[+-]", "", clause[value[1] : arm.start])):
                return value
    for arm in arms:
        after = next((v for v in values if v[0] >= arm.end), None)
        if (
            after
            and after[0] - arm.end < 40
            and not re.search(r"\b(?:than|and|against|vs)\b", clause[arm.end : after[0]])
        ):
            return after
    return None
