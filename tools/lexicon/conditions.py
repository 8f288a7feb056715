"""Diseases and symptoms in text: known ones under one name, others by the form of their words.

Questions also name them without their names: "help smokers quit", "lose weight", "diabetics".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from .matching import (
    Mention,
    PhraseIndex,
    cue_form,
    cue_list,
    cue_pattern,
    cue_regex,
    find_abbreviations,
    long_forms,
    merge_mentions,
    phrase_key,
    read_table,
    split_names,
)
from .stemming import stems

_PHRASE = r"\b(?:(?!{no modifier}){modifier}[\s-]){1,3}{disease head}\b"
"""One to three modifiers before a head, as in "chronic kidney disease"."""
_ASKED = (
    r"{asked for}\s+(?:{asked of whom}\s+)*"
    r"(?P<phrase>[^\W\d_][\w'\u2019-]*(?:\s+(?!{end of what is asked})[\w'\u2019-]+){0,4})"
)
"""What a question asks to treat, up to five words; "AND" and the like stand in capitals there."""
_WITHIN = r"(?:[\s-]+[\w'\u2019]+){0,3}?[\s-]+"  # at most three words of the same phrase between the two


@dataclass(frozen=True)
class _Known:
    """The table of conditions, by name."""

    index: PhraseIndex
    """What is suppressed has an empty name."""
    synonyms: Mapping[str, tuple[str, ...]]
    in_mesh: frozenset[str]
    generic: frozenset[str]
    """Names that say little without the words before them: "adrenal cancer" is more than cancer."""
    capitals: frozenset[str]
    """Abbreviations that are also words: they count in capitals only."""


@cache
def _known() -> _Known:
    rows = read_table("conditions.tsv")
    synonyms = {row["name"]: (row["name"], *split_names(row["synonyms"])) for row in rows}
    names = dict.fromkeys(map(phrase_key, cue_list("suppressed", __package__)), "")
    names |= {phrase_key(spelling): name for name, spelled in synonyms.items() for spelling in spelled}
    return _Known(
        index=PhraseIndex(names),
        synonyms=synonyms,
        in_mesh=frozenset(row["name"] for row in rows if row["mesh_id"]),
        generic=frozenset(cue_list("generic", __package__)),
        capitals=frozenset(spelling for spelled in synonyms.values() for spelling in spelled if spelling.isupper()),
    )


def find_conditions(text: str) -> list[Mention]:
    """The conditions that a text names, in its order; of unknown ones the name is the words themselves.

    Where nothing is known by name or form, what a question asks to treat is taken for one.

    >>> [found.name for found in find_conditions("Diabetic kidney disease after migraine attacks")]
    ['diabetic nephropathy', 'migraine']
    """
    known, table = _known(), _find_in_table(text)
    formed = [
        Mention(known.index.get(found.group()) or found.group().lower(), *found.span(), found.group())
        for form in (cue_form(_PHRASE, __package__), cue_form("{disease}", __package__, 0))
        for found in form.finditer(text)
        if not cue_regex("no disease", __package__).fullmatch(found.group())
    ]
    outermost: list[Mention] = []
    for each in sorted(formed, key=lambda each: each.start - each.end):
        outermost = merge_mentions(outermost, [each])
    firm = [each for each in table if each.name and each.name not in known.generic]
    found = merge_mentions(merge_mentions(firm, outermost), [each for each in table if each.name in known.generic])
    found = merge_mentions(found, find_abbreviations(text, found))
    if not found:
        phrases = (asked for asked in cue_form(_ASKED, __package__, 0).finditer(text))
        meant = (asked for asked in phrases if not cue_regex("no condition", __package__).match(asked["phrase"]))
        found = [Mention(asked["phrase"].lower(), *asked.span("phrase"), asked["phrase"]) for asked in meant][:1]
    blocked = [each for each in table if not each.name]
    return [each for each in found if not any(each.start < block.end and block.start < each.end for block in blocked)]


def find_known_conditions(text: str) -> list[Mention]:
    """The conditions of the table alone that a text names, in its order."""
    named = [each for each in _find_in_table(text) if each.name]
    return merge_mentions(named, find_abbreviations(text, named))


def _find_in_table(text: str) -> list[Mention]:
    """The names of the table in a text, without those that stand for something else there.

    An abbreviation that is also a word counts in capitals only, and one that the text writes out otherwise not at all:
    TTP is no purpura where it is the time to progression.
    """
    known, written_out, found = _known(), long_forms(text), []
    for each in known.index.find(text):
        if each.text.upper() in known.capitals and not each.text.isupper():
            continue
        meaning = written_out.get(each.text)
        if meaning is None or any(other.name == each.name for other in known.index.find(meaning)):
            found.append(each)
    return found


def canonical_condition(name: str) -> str | None:
    """The common name of a condition under any of its names; None when it is not known.

    Abbreviations that are also words count in capitals only: AIDS, not aids.
    """
    known = _known()
    return None if name.upper() in known.capitals and not name.isupper() else known.index.get(name) or None


def condition_synonyms(name: str) -> tuple[str, ...]:
    """All known names of a condition, the common one first; only the name as given when it is not known.

    >>> "nicotine dependence" in condition_synonyms("smoking cessation")
    True
    """
    common = canonical_condition(name)
    return _known().synonyms[common] if common else (name,)


def known_names() -> list[str]:
    """Every name of every condition of the table."""
    return [name for known in _known().synonyms.values() for name in known]


def is_generic(name: str) -> bool:
    """Whether a condition's name covers many conditions with names of their own: cancer, pain, infection."""
    return canonical_condition(name) in _known().generic


def is_in_mesh(name: str) -> bool:
    """Whether MeSH is known to have a heading for a condition."""
    return canonical_condition(name) in _known().in_mesh


def name_essence(name: str) -> frozenset[str]:
    """The stems that tell one condition's name from another's.

    >>> name_essence("Migraine Disorders") == name_essence("migraine")
    True
    """
    return frozenset(stems(name)).difference(stems("disease diseases disorder disorders syndrome syndromes"))


_Patterns = tuple[tuple[str, re.Pattern[str]], ...]


@cache
def _asked_as() -> tuple[_Patterns, _Patterns]:
    """For each condition what is done about it, and who has it."""
    deeds, people = [], []
    for row in read_table("asked_as.tsv"):
        who, verbs, things = (cue_pattern(row[column]) for column in ("people", "verbs", "things"))
        orders = [f"{verbs}{_WITHIN}{things}"] if row["verbs"] else []
        if row["people"]:
            orders += [f"{who}{_WITHIN}{verbs}(?:{_WITHIN}{things})?"] if orders else []
            people.append((row["name"], re.compile(who, re.IGNORECASE)))
        if orders:
            deeds.append((row["name"], re.compile("|".join(orders), re.IGNORECASE)))
    return tuple(deeds), tuple(people)


def find_deeds(text: str) -> list[Mention]:
    """Conditions named by what is to be done, in the order of the text.

    >>> [found.name for found in find_deeds("Does it help smokers to quit, or to lose some weight?")]
    ['smoking cessation', 'obesity']
    """
    return _find_patterns(_asked_as()[0], text)


def find_people(text: str) -> list[Mention]:
    """Conditions named by who has them, in the order of the text.

    They count where nothing else is asked about: "smokers with asthma" is about asthma.
    """
    return _find_patterns(_asked_as()[1], text)


def asked_condition(phrase: str) -> str | None:
    """The condition that a whole phrase names in one of these ways; None where it names none."""
    return next((name for kind in _asked_as() for name, known in kind if known.fullmatch(phrase)), None)


def _find_patterns(patterns: _Patterns, text: str) -> list[Mention]:
    kept: list[Mention] = []
    for name, known in patterns:
        kept = merge_mentions(kept, [Mention(name, *found.span(), found.group()) for found in known.finditer(text)])
    return kept
