"""Whom a question asks about, and what it asks to leave out.

Pregnant women, children, older people; "without triptans or opioids", "that are not beta blockers", "steroid-free".
"""

import re
from collections.abc import Callable, Sequence, Set
from functools import cache
from typing import NamedTuple

from ..lexicon.matching import Match, Token, cues, read_table, tokens

# They exclude whatever comes next, and the other ones the names of drugs alone.
_OF_ANYTHING = (("but", "not"), ("and", "not"), ("other", "than"), ("apart", "from"), ("except",), ("excluding",))
_OF_NAMES = (("without",), ("NOT",), ("besides",), ("excludes",), ("exclude",), ("barring",))
_OF_DRUGS = (
    *(("not",), ("no",), ("non",), ("nor",), ("cannot",), ("avoiding",), ("to", "avoid"), ("and", "avoid")),
    *(("that", "avoid"), ("which", "avoid"), ("intolerant",), ("allergic",), ("unable",), ("minus",), ("sans",)),
)
_UNLESS_COMPARED = (("instead", "of"), ("rather", "than"))  # with a drug before them they compare
_BETWEEN = frozenset(
    "a an and any be being belong belonging class contain containing drugs for from give given giving group in include "
    "including involve involving like me medicines of on or other prescribe prescribed prescribing receive receiving "
    "respond responding response resort resorting such as take taking that the these to tolerate tolerating toward "
    "treated use used using want with".split()
)
_JOINING = frozenset(("or", "and", "nor"))
_PARTING = frozenset(");:.?!")
_FREE = frozenset(("free", "sparing"))


class Excluded(NamedTuple):
    """A name that is to be left out, and the stretch of the question that says so; `end` exclusive."""

    match: Match[str]
    start: int
    end: int


def find_excluded(text: str, names: Sequence[Match[str]], is_drug: Callable[[Match[str]], bool]) -> list[Excluded]:
    """Those of the names that a question excludes, in its order.

    Args:
        text: the question.
        names: drugs, classes and conditions that it names, in its order, none across another.
        is_drug: whether a name is a drug's or a class's: a condition takes plainer words ("not", "no" are none).
    """
    words, guarded = tokens(text), _guarded(text)
    parted = {word.start for word in words if text[word.start : word.end] in ("AND", "OR")} - guarded
    found: dict[int, Excluded] = {}
    for name in names:
        at = next(place for place, word in enumerate(words) if word.end > name.start)
        start = _beginning(text, words, at, list(found.values()), _cues(name, names, is_drug), parted)
        end = name.end
        after = next((word for word in words if word.start > name.end), None)
        if is_drug(name) and after and after.key in _FREE and text[name.end : after.start] == "-":
            start, end = (name.start if start is None else start), after.end
        if start is not None:
            found[name.start] = Excluded(name, start, end)
    return list(found.values())


def without_them(text: str, excluded: Sequence[Excluded]) -> str:
    """The question with each excluded name behind the operator NOT; words that exclude what is not known do the same.

    >>> without_them("fever but not fatigue", [])
    'fever NOT fatigue'
    """
    syntax = _guarded(text)
    for each in sorted(excluded, key=lambda one: -one.start):
        if each.match.start in syntax or "NOT" in text[each.start : each.match.start]:
            continue
        text = f"{text[: each.start]} NOT {text[each.match.start : each.match.end]} {text[each.end :]}"
    words, guarded = tokens(text), _guarded(text)
    for at in reversed(range(len(words))):
        cue = _cue_at(text, words, at, _OF_ANYTHING)
        if cue and words[at].start not in guarded:
            end = words[at + 1].end if words[at + 1 : at + 2] and words[at + 1].key == "for" else words[at].end
            text = f"{text[: words[at - len(cue) + 1].start]} NOT {text[end:]}"
    return " ".join(text.split())


def _cues(
    name: Match[str], names: Sequence[Match[str]], is_drug: Callable[[Match[str]], bool]
) -> tuple[tuple[str, ...], ...]:
    if not is_drug(name):
        return (*_OF_ANYTHING, *_OF_NAMES)
    first = not any(is_drug(other) and other.start < name.start for other in names)
    return (*_OF_ANYTHING, *_OF_NAMES, *_OF_DRUGS, *(_UNLESS_COMPARED if first else ()))


def _beginning(
    text: str,
    words: Sequence[Token],
    at: int,
    before: Sequence[Excluded],
    cues: Sequence[tuple[str, ...]],
    parted: Set[int],
) -> int | None:
    """Where the words that exclude a name begin; None where none do, or an operator parts them from it."""
    for place in range(at - 1, -1, -1):
        between = text[words[place].end : words[place + 1].start]
        if _PARTING & set(between) or words[place].start in parted:
            return None
        if listed := next((one for one in before if one.match.start <= words[place].start < one.end), None):
            joined = "," in text[listed.end : words[at].start] or any(word.key in _JOINING for word in words[place:at])
            return listed.end if joined else None
        if cue := _cue_at(text, words, place, cues):
            return words[place - len(cue) + 1].start
        parts = words[place].key == "with" and place and words[place - 1].key in ("and", "or", "but")
        if words[place].key not in _BETWEEN or parts:
            return None
    return None


def _cue_at(text: str, words: Sequence[Token], at: int, cues: Sequence[tuple[str, ...]]) -> tuple[str, ...] | None:
    """The cue that ends at a word; NOT is query syntax in capitals, and in small letters a word."""
    for cue in cues:
        first = at - len(cue) + 1
        if first >= 0 and all(_said(text, words[first + place]) == key for place, key in enumerate(cue)):
            return cue
    return None


def _said(text: str, word: Token) -> str:
    return "NOT" if word.key == "not" and text[word.start : word.end] == "NOT" else word.key


def _guarded(text: str) -> set[int]:
    """The places of a question within quotes and brackets, where words are the user's own syntax."""
    inside, depth, quoted = set(), 0, False
    for place, letter in enumerate(text):
        depth += (letter in "([") - (letter in ")]" and depth > 0)
        quoted ^= letter == '"'
        if depth or quoted:
            inside.add(place)
    return inside


SEXES = ("men", "women")
_OF_WOMEN = ("pregnancy", "breastfeeding")


def find_sex(text: str) -> str | None:
    """Whether a text is on men or on women; None where it names both or neither, or pregnancy, which says as much.

    >>> find_sex("Which drugs treat osteoporosis in men?"), find_sex("Does it work in men and women?")
    ('men', None)
    """
    found = [name for name in SEXES if speaks_of(text, name)]
    return found[0] if len(found) == 1 and find_population(text) not in _OF_WOMEN else None


def find_population(text: str) -> str | None:
    """The first population of the table that a text names, beside men and women; None where it names none.

    >>> find_population("Can pregnant women take sumatriptan?"), find_population("Is it safe in asthma?")
    ('pregnancy', None)
    """
    return next((name for name in _words() if name not in SEXES and speaks_of(text, name)), None)


def speaks_of(text: str, population: str) -> bool:
    """Whether a text names a population of the table."""
    return _words()[population].search(text) is not None


@cache
def _words() -> dict[str, re.Pattern[str]]:
    return {row["name"]: cues(row["words"]) for row in read_table("populations.tsv", __package__)}
