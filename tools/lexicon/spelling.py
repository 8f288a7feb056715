"""Suggests known names for misspelt words."""

from difflib import get_close_matches
from functools import cache

from .conditions import known_names
from .drugs import drug_names
from .stemming import stem

_ALIKE = 0.84  # difflib ratio; "schizofrenia" and "schizophrenia" have 0.88
_SHORTEST = 6


def nearest_name(word: str, *, is_drug: bool = False) -> str | None:
    """Return the known word closest in spelling; None for short words, and if none is close.

    Args:
        word: as the user wrote it.
        is_drug: whether to search drug names only.

    >>> nearest_name("schizofrenia")
    'schizophrenia'
    """
    word = word.lower()
    near = [each for each in _words(is_drug).get(word[:1], ()) if abs(len(each) - len(word)) <= 2]
    if len(word) < _SHORTEST or any(stem(each) == stem(word) for each in near):
        return None
    return next(iter(get_close_matches(word, near, 1, _ALIKE)), None)


@cache
def _words(is_drug: bool) -> dict[str, list[str]]:
    """Return known words by first letter: each word of a condition's names, or the single-word drug names."""
    words = {name for name in drug_names().synonyms if name.isalpha()}
    if not is_drug:
        words |= {word.lower() for name in known_names() for word in name.split() if word.isalpha()}
    found: dict[str, list[str]] = {}
    for each in sorted(word for word in words if len(word) >= _SHORTEST - 1):
        found.setdefault(each[0], []).append(each)
    return found
