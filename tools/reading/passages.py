"""Holds a model's result to the sentences that it quotes for it, by these sentences alone.

Measured on 443 comparisons that a strong model read (`python -m benchmarks.wrong_use`): of 264 results told as better
and so meant none is disputed, of 131 without a difference 96 are once they are told as better, of 48 in which the drug
did worse 5: its sentence may be true of the other arm.
"""

import re

from .document import Document
from .learned import rate_effect
from .text import says

LEAST_CHANCE = 0.05
"""Chance of a better result by the trained reader below which a passage does not bear one out."""
CHANCE_LEVEL = 0.05
"""Of a p value: what lies above it is called no difference, what lies below it significant."""
_P_VALUE = re.compile(
    r"\bp\s*(?:-?values?\s*)?(?P<sign><|≤|</=|=|>|≥|>/=|less than)\s*(?P<value>0?[.,]\d+)", re.IGNORECASE
)
_BELOW = frozenset({"<", "≤", "</=", "less than"})


def find_wrong_use(passage: str, drug: str, condition: str) -> str:
    """Return why a passage does not say that a drug did better; empty if it may.

    Args:
        passage: the sentences quoted.
        drug: generic name in lower case.
        condition: what it was given for.
    """
    values = [_parse_p(match) for match in _P_VALUE.finditer(passage)]
    is_significant = any(value <= CHANCE_LEVEL for value in values)
    is_by_chance = bool(values) and not is_significant
    is_gain = is_significant or says("tells a gain", passage) is not None
    denial = says("denies a gain", passage)
    if denial is not None and not is_gain:
        return f"its sentence says “{denial.group()}”"
    if is_by_chance and not is_gain:
        return "the p value of its sentence is one of chance"
    if is_significant:
        return ""
    chances = rate_effect(Document.cut("", passage), drug, condition)
    if chances["better"] < LEAST_CHANCE:
        return "its sentence says nothing of the kind"
    return ""


def denies_effect(passage: str) -> str:
    """Return the words by which a statement denies that a drug works; empty if there are none, or if it also says so.

    >>> denies_effect("Ondansetron was not effective in this setting.")
    'was not effective'
    """
    denial = says("denies an effect", passage)
    if denial is None:
        return ""
    rest = passage[: denial.start()] + passage[denial.end() :]
    return "" if says("states an effect", rest) else denial.group()


def _parse_p(match: re.Match[str]) -> float:
    """Return a p value as written; one told as "> 0.02" is not below it."""
    value = float(match["value"].replace(",", "."))
    is_above = match["sign"] not in _BELOW and match["sign"] != "="
    return max(value, 2 * CHANCE_LEVEL) if is_above else value
