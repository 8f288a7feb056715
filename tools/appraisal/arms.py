"""Which arms a record speaks of, and where each clause names them: the drug asked about, other drugs, placebo."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from willowbark.tools.lexicon import find_drug_classes, find_drugs

from . import finding_words as say

Side = Literal["ours", "other", "inert", "all"]


class Arm(NamedTuple):
    """A place where a text names an arm."""

    start: int
    end: int
    side: Side


class Mine(NamedTuple):
    """The drug asked about: its names, its short forms in the record, and whether the record is mainly about it."""

    pattern: re.Pattern[str]
    names: frozenset[str]
    """Lower case."""
    is_subject: bool
    """Whether what the record says without naming a drug is said of this one."""
    is_only_drug: bool
    is_added: bool
    """Whether it is given with a treatment that is also given alone."""
    has_inert: bool
    """Whether the record has a placebo or an untreated group."""


class _Named(NamedTuple):
    start: int
    end: int
    name: str
    members: tuple[str, ...] | None
    """Drugs of a class; None for a drug."""


_NO_INERT = re.compile(
    r"\b(?:no|without(?: an?)?|not|nor) (?:\w+ ){0,2}?(?:placebo|control)\w*|\b(?:placebo|controls?) (?:was|"
    r"were) not\b|"
    r"\b(?:un|non-?)controlled\b|\bplacebo (?:run-in|washout|period|rates)\b|"
    r"\bdouble[- ]dummy\b|\b(?:controlled|control of)\b|"
    r"\bunder control\b",
    re.IGNORECASE,
)
_BACKGROUND = re.compile(
    r"\b(?:on top of|added to|adding to|in addition to|background|uncontrolled (?:on|by)|already (?:on|taking)|"
    r"despite|taking|receiving|"
    r"history of|all (?:given|received|took|on)|previously on|resistant to|refractory to|"
    r"unresponsive to)\s+(?:[\w-]+\s+){0,2}$|-$",
    re.IGNORECASE,
)
_ALONE = re.compile(r"\s+(?:\w+ )?alone\b|\s+monotherapy\b", re.IGNORECASE)
_ADDED = re.compile(r"\s+(?:\w+ )?(?:was |were )?(?:added|plus|combined|in combination)\b|\s*\+", re.IGNORECASE)
_AS_NEEDED = re.compile(r"^(?:-treated| or other drugs| as needed| if needed| as rescue|-induced)", re.IGNORECASE)


@lru_cache(maxsize=4096)
def _named(text: str) -> tuple[_Named, ...]:
    drugs = [_Named(found.start, found.end, found.name.lower(), None) for found in find_drugs(text)]
    classes = [_Named(found.start, found.end, found.name, found.members) for found in find_drug_classes(text)]
    return tuple(drugs + classes)


@lru_cache(maxsize=1024)
def _short_forms(text: str) -> tuple[tuple[str, str], ...]:
    """Drug names with the short form that a text gives in brackets after them."""
    return tuple(
        (found.name, match[1])
        for found in _named(text)
        if (match := re.match(r"(?: sodium)?\s*[(\[]([A-Z][A-Za-z-]{1,7})[)\];,]", text[found.end :]))
    )


@lru_cache(maxsize=1024)
def name_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """A pattern for any of the names: whole words, longer names also as the beginning of a word."""
    parts = [
        re.escape(name) + (r"\w*" if len(name) > 5 else r"(?!\w)") for name in sorted(names, key=len, reverse=True)
    ]
    return re.compile(rf"(?<!\w)(?:{'|'.join(parts)})", re.IGNORECASE)


def mine_in(title: str, text: str, names: Sequence[str]) -> Mine:
    """Say what the record calls the drug, and whether it is what the record is about."""
    known = frozenset(name.lower() for name in names)
    whole = f"{title}\n{text}"
    forms = [form for name, form in _short_forms(whole) if name in known]
    pattern = name_pattern(tuple(dict.fromkeys([*names, *forms])))
    drugs = _foreground(whole)
    in_title = {found.name for found in _named(title) if found.members is None}
    in_front = bool(drugs & known) or not any(found.name in known for found in _named(whole))
    is_only = in_front and not drugs - known
    is_subject = is_only or (pattern.search(title) is not None) or (not in_title and in_front)
    has_inert = bool(say.INERT.search(_NO_INERT.sub(" ", whole)))
    given_alone = any(_ALONE.match(whole, m.end()) for m in pattern.finditer(whole))
    is_added = not given_alone and any(
        _ADDED.match(whole, m.end())
        or re.search(r"(?:\+|\bplus|\badding|\badded)\s+$", whole[max(0, m.start() - 8) : m.start()])
        for m in pattern.finditer(whole)
    )
    return Mine(pattern, known, is_subject, is_only, is_added, has_inert)


@lru_cache(maxsize=1024)
def _foreground(text: str) -> frozenset[str]:
    """Drugs that a text does not name as mere background treatment alone."""
    procedures = {m.group().lower() for m in say.PROCEDURE.finditer(text)}
    return frozenset(procedures) | frozenset(
        found.name
        for found in _named(text)
        if found.members is None
        and not _AS_NEEDED.match(text[found.end : found.end + 20])
        and not _BACKGROUND.search(text[max(0, found.start - 40) : found.start])
    )


def _other(clause: str, end: int, mine: Mine) -> Side:
    """ "B alone" beside "A added to B" is no treatment, as far as A is concerned."""
    return "inert" if mine.is_added and _ALONE.match(clause, end) else "other"


def arms_in(clause: str, mine: Mine) -> list[Arm]:
    """Find where a clause names the drug, other drugs and inert treatments, in order."""
    ours = [(m.start(), m.end()) for m in mine.pattern.finditer(clause)]
    found: list[Arm] = [Arm(start, end, "ours") for start, end in ours]
    for named in _named(clause):
        if any(start < named.end and named.start < end for start, end in ours):
            continue
        covers = named.name in mine.names or bool(mine.names & set(named.members or ()))
        found.append(Arm(named.start, named.end, "ours" if covers else _other(clause, named.end, mine)))
    found += [Arm(m.start(), m.end(), _other(clause, m.end(), mine)) for m in say.PROCEDURE.finditer(clause)]
    found += [Arm(m.start(), m.end(), "inert") for m in say.INERT.finditer(clause)]
    if mine.is_subject:
        found += [Arm(m.start(), m.end(), "all") for m in say.ALL.finditer(clause)]
    return sorted(found)
