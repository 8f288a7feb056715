"""Follow-up, with the sentence that reports it, and numbers in words."""

import re
from collections.abc import Iterator

from ..lexicon.matching import cued
from .numbers import Number
from .text import sentences

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = dict(zip("twenty thirty forty fifty sixty seventy eighty ninety".split(), range(20, 100, 10), strict=True))
_SMALL = {word: i for i, word in enumerate(_UNITS)}
_NUMBER_WORD = rf"(?:{'|'.join([*_SMALL, *_TENS, 'hundred', 'thousand'])})"
_SPELLED = rf"{_NUMBER_WORD}(?:[\s-]+(?:and[\s-]+)?{_NUMBER_WORD})*"
_MONTHS = {
    "day": 1 / 30.4375,
    "week": 7 / 30.4375,
    "month": 1.0,
    "year": 12.0,
    "yr": 12.0,
    "wk": 7 / 30.4375,
    "mo": 1.0,
}
"""Months in each unit; a month is a twelfth of 365.25 days."""
_EVERY = 6  # letters: the word, and a space
_BESIDE = 18  # letters after a span in which it is named: "4-week placebo run-in"
_UNIT = r"(?P<unit>day|week|month|year|yr|wk)s?"
_SPAN = rf"(?P<count>\d+(?:\.\d+)?|{_SPELLED})[\s-]*(?:full\s+)?{_UNIT}\b"
_FOLLOW_UPS = (
    re.compile(
        r"\bfollow(?:ed)?(?:[- ]?up)?(?: (?:period|time|duration|was|of|for|over|lasted|"
        rf"up))*[^.;\d]{{0,40}}?\b{_SPAN}",
        re.IGNORECASE,
    ),
    re.compile(rf"\b{_SPAN}(?:\s+of)?[\s-]+(?:mean |median |post-?treatment )?follow[- ]?up", re.IGNORECASE),
    re.compile(
        r"\b(?:for|over|during|lasting|after|within|at) (?:a |an |the |up to |at least |a period of |"
        r"a total of |mean of |median of |average of )*(?:(?:double-blind|treatment|maintenance|study|"
        rf"trial) )*{_SPAN}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b{_SPAN}[\s,-]+(?:[\w-]+,? ){{0,6}}?(?:trial|study|treatment|period|phase|intervention|course)\b",
        re.IGNORECASE,
    ),
)


def spelled_number(text: str) -> int | None:
    """Read a whole number in digits or words; None where it is neither.

    >>> [spelled_number(t) for t in ("1,099", "Forty-two", "one hundred and twenty", "many")]
    [1099, 42, 120, None]
    """
    digits = text.replace(",", "").replace(" ", "").strip()
    if digits.isdigit():
        return int(digits)
    total = current = 0
    for word in re.findall(r"[a-z]+", text.lower()):
        if word in _SMALL:
            current += _SMALL[word]
        elif word in _TENS:
            current += _TENS[word]
        elif word == "hundred":
            current = max(1, current) * 100
        elif word == "thousand":
            total, current = total + max(1, current) * 1000, 0
        elif word != "and":
            return None
    return total + current or None


def followup_months(text: str) -> Number | None:
    """Find how long people were followed, in months: a follow-up named as such, else the longest treatment period.

    Ages, histories, run-in and washout are none.

    >>> followup_months("Median follow-up was 2.6 years.").value
    31.2
    """
    said = [sentence for sentence in sentences(text) if any(unit in sentence.lower() for unit in _MONTHS)]
    for i, pattern in enumerate(_FOLLOW_UPS):
        spans = [
            Number(value=months, sentence=sentence)
            for sentence in said
            for match in _spans(pattern, sentence)
            if (months := _months(match))
        ]
        if spans:
            return spans[0] if i < 2 else max(spans, key=lambda span: span.value)
    return None


def _spans(pattern: re.Pattern[str], sentence: str) -> Iterator[re.Match[str]]:
    """Where a pattern finds a span of time that is no age, no history, no time between visits, no run-in or washout."""
    at, said = 0, {name: cued(name, __package__) for name in ("age", "repeated", "no follow-up")}
    while match := pattern.search(sentence, at):
        start, end = match.start("count"), match.end("unit")
        aged = said["age"].search(sentence[max(0, match.start() - 12) : match.end() + 8])
        repeated = said["repeated"].search(sentence[max(0, start - _EVERY) : start])
        beside = said["no follow-up"].search(sentence[end : end + _BESIDE])
        at = end if beside else match.end()
        if not (aged or repeated or beside):
            yield match


def _months(match: re.Match[str]) -> float | None:
    text = match["count"]
    count = float(text) if text[0].isdecimal() else float(spelled_number(text) or 0)
    return round(count * _MONTHS[match["unit"].lower()], 1) or None
