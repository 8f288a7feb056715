"""Conditions that a question names without their names: "help smokers quit", "lose weight", "diabetics"."""

import re
from collections.abc import Iterable
from functools import cache

from .matching import Match, apart, phrase_key, read_table, split_names

_WITHIN = r"(?:[\s-]+[\w'\u2019]+){0,3}?[\s-]+"  # at most three words of the same phrase between the two
_Patterns = tuple[tuple[str, re.Pattern[str]], ...]


def find_deeds(text: str) -> list[Match[str]]:
    """Conditions named by what is to be done, in the order of the text.

    >>> [found.value for found in find_deeds("Does it help smokers to quit, or to lose some weight?")]
    ['smoking cessation', 'obesity']
    """
    return _found(_patterns()[0], text)


def find_people(text: str) -> list[Match[str]]:
    """Conditions named by who has them, in the order of the text.

    They count where nothing else is asked about: "smokers with asthma" is about asthma.
    """
    return _found(_patterns()[1], text)


def asked_condition(phrase: str) -> str | None:
    """The condition that a whole phrase names in one of these ways; None where it names none."""
    return next((name for kind in _patterns() for name, pattern in kind if pattern.fullmatch(phrase)), None)


def _found(patterns: _Patterns, text: str) -> list[Match[str]]:
    kept: list[Match[str]] = []
    for name, pattern in patterns:
        kept = apart(kept, [Match(name, match.start(), match.end()) for match in pattern.finditer(text)])
    return kept


@cache
def _patterns() -> tuple[_Patterns, _Patterns]:
    """For each condition what is done about it, and who has it."""
    deeds, people = [], []
    for row in read_table("asked_as.tsv"):
        who, verbs, things = (_any(split_names(row[column])) for column in ("people", "verbs", "things"))
        if verbs:
            orders = [f"{verbs}{_WITHIN}{things}", f"{who}{_WITHIN}{verbs}(?:{_WITHIN}{things})?"]
            deeds.append((row["name"], _words("|".join(orders))))
        people.append((row["name"], _words(who)))
    return tuple(deeds), tuple(people)


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)


def _any(names: Iterable[str]) -> str:
    """A pattern for any of the names, the longest first; empty for none."""
    spelled = sorted(names, key=len, reverse=True)
    return f"(?:{'|'.join(_spelled(name) for name in spelled)})" if spelled else ""


def _spelled(name: str) -> str:
    return r"[\s-]+".join(map(re.escape, phrase_key(name).split(" ")))
