"""Which arms a record speaks of, and where each clause names them: the drug asked about, other drugs, placebo."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Literal, NamedTuple

from willowbark.tools.lexicon import find_drug_classes, find_drugs

from . import finding_words as say
from .roles import in_background, is_aside

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
    is_main: bool
    """Whether it is the only treatment that the title names, or that the record does."""
    is_added: bool
    """Whether it is given with a treatment that is also given alone."""
    has_inert: bool
    """Whether the record has a placebo or an untreated group."""
    others: frozenset[str]
    """The other drugs of the record, in lower case."""
    aliases: re.Pattern[str] | None
    """Words that stand for its arm without its name: the combination, the drugs, the treated group."""


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
_JOINED_AFTER = re.compile(
    r"\s*(?:\+|/|plus\b|combined with\b|in combination with\b|added to\b)|\s+and (?=the |[\w-]{5,} (?:together|"
    r"combined|in combination))",
    re.IGNORECASE,
)
_JOINED_BEFORE = re.compile(
    r"(?:\+|/|\b(?:plus|combined with|in combination with|added to|adding|addition of))\s*$", re.IGNORECASE
)
_AS_NEEDED = re.compile(r"^(?:-treated| or other drugs| as needed| if needed| as rescue|-induced)", re.IGNORECASE)


_COMBINATION = (
    r"\bthe (?:\w+ )?combination\b(?! of)|\bcombin(?:ation|ed)(?:[- ](?:drug|medical|pharmacologic(?:al)?))?[- ]"
    r"(?:therapy|treatment|group|arm|regimen)\b|\bthe (?:pair|pairing|association)\b"
)
_MEDICAL = (
    r"\b(?:the|on) (?:drugs|medication|pair)\b|\b(?:medical|drug|medication|pharmacologic(?:al)?)[- ]"
    r"(?:therapy|treatment|group|arm|patients)\b"
)
_TREATED = (
    r"(?<!un)(?<!not )(?<!placebo-)(?<!placebo )\btreated (?:group|arm|patients|subjects|animals|rats|mice)\b|"
    r"\b(?:active|treatment|drug|intervention|verum|study)[- ](?:treatment )?(?:group|arm|drug|medication)\b"
)


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
    in_title = {
        found.name
        for found in _named(title)
        if found.members is None and not in_background(title, found.start, found.end)
    }
    in_front = bool(drugs & known) or not any(found.name in known for found in _named(whole))
    is_only = in_front and not drugs - known
    is_subject = (
        is_only or (pattern.search(title) is not None) or (not in_title and in_front and _is_most_named(whole, known))
    )
    procedures = {m.group().lower() for m in say.PROCEDURE.finditer(title)}
    by_title = pattern.search(title) is not None or any(known & set(f.members) for f in _named(title) if f.members)
    is_main = by_title and (is_only or (not procedures and not in_title - known))
    has_inert = bool(say.INERT.search(_NO_INERT.sub(" ", whole)))
    given_alone = any(_ALONE.match(whole, m.end()) for m in pattern.finditer(whole))
    is_added = not given_alone and any(
        _ADDED.match(whole, m.end())
        or re.search(r"(?:\+|\bplus|\badding|\badded)\s+$", whole[max(0, m.start() - 8) : m.start()])
        for m in pattern.finditer(whole)
    )
    is_joined = any(
        _JOINED_AFTER.match(whole, m.end()) or _JOINED_BEFORE.search(whole[max(0, m.start() - 30) : m.start()])
        for m in pattern.finditer(whole)
    )
    others = in_title - known
    parts = [_COMBINATION] if is_joined else []
    parts += [_MEDICAL] if pattern.search(title) and (procedures or not others) else []
    parts += [_TREATED] if is_main else []
    aliases = re.compile("|".join(parts), re.IGNORECASE) if parts else None
    return Mine(pattern, known, is_subject, is_only, is_main, is_added, has_inert, frozenset(drugs - known), aliases)


def _is_most_named(text: str, known: frozenset[str]) -> bool:
    """Whether no other drug is named more often."""
    counts = Counter("" if found.name in known else found.name for found in _named(text) if found.members is None)
    return counts[""] >= max(counts.values(), default=0)


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
    ours = [(m.start(), m.end()) for m in mine.pattern.finditer(clause) if not is_aside(clause, m.start(), m.end())]
    if mine.aliases:
        ours += [(m.start(), m.end()) for m in mine.aliases.finditer(clause)]
    found: list[Arm] = [Arm(start, end, "ours") for start, end in ours]
    for named in _named(clause):
        if any(start < named.end and named.start < end for start, end in ours):
            continue
        if is_aside(clause, named.start, named.end):
            continue
        covers = named.name in mine.names or bool(mine.names & set(named.members or ()))
        found.append(Arm(named.start, named.end, "ours" if covers else _other(clause, named.end, mine)))
    found += [Arm(m.start(), m.end(), _other(clause, m.end(), mine)) for m in say.PROCEDURE.finditer(clause)]
    found += [Arm(m.start(), m.end(), "inert") for m in say.INERT.finditer(clause)]
    if mine.is_subject:
        found += [Arm(m.start(), m.end(), "all") for m in say.ALL.finditer(clause)]
    return sorted(found)
