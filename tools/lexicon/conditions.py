"""Diseases and symptoms in text: known ones under one name, others by the form of their words.

Questions also name them without their names: "help smokers quit", "lose weight", "diabetics".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial

from ..ranking import stems
from .matching import (
    Match,
    PhraseIndex,
    abbreviated,
    apart,
    cued,
    long_forms,
    phrase_key,
    read_table,
    split_names,
    written,
)

# Known names that say little without the words before them: "adrenal cancer" is more than cancer.
_GENERIC = frozenset(
    "cancer|carcinoma|infection|toxicity|pain|hemorrhage|necrosis|fibrosis|inflammation|heart disease|edema|ischemia|"
    "thrombosis|neuropathy|myopathy|adenocarcinoma|paralysis|liver disease|nephropathy|cognitive impairment".split("|")
)
# Not the conditions whose names they hold.
_SUPPRESSED = (
    "tumor necrosis factor|tumour necrosis factor|tumor necrosis factor alpha|tumour necrosis factor alpha|"
    "death receptor|"
    "programmed death|cell death|programmed cell death|programmed death ligand|infection control|smoking status|"
    "st depression|st segment depression|stroke volume|stroke work|stroke index|heat stroke|myocardial depression|"
    "tumor suppressor|anti inflammatory|anti epileptic|anti hypertensive|pain relief"
)
_said = partial(cued, package=__package__)


@cache
def _forms() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """One to three modifiers before a head, as in "chronic kidney disease"; a word that ends like a disease's name."""
    no, modifier, head = (_said(name).pattern for name in ("no modifier", "modifier", "disease head"))
    phrase = re.compile(rf"\b(?:(?!{no}){modifier}[\s-]){{1,3}}{head}\b", re.IGNORECASE)
    return phrase, re.compile(_said("disease").pattern)


@cache
def _asking() -> re.Pattern[str]:
    """What a question asks to treat, up to five words; "AND" and the like stand in capitals there."""
    asked, whom, end = (_said(name).pattern for name in ("asked for", "asked of whom", "end of what is asked"))
    word = r"[\w'\u2019-]"
    return re.compile(rf"{asked}\s+(?:{whom}\s+)*(?P<phrase>[^\W\d_]{word}*(?:\s+(?!{end}){word}+){{0,4}})")


@dataclass(frozen=True, slots=True)
class ConditionMention:
    """A disease or symptom named in a text."""

    name: str
    """The common name, lower case, the same for synonyms; of unknown conditions the words themselves."""
    text: str
    """The words of the text, as they stand."""
    start: int
    """Character offset of the first letter."""
    end: int
    """Character offset after the last letter."""
    mesh_id: str | None
    """The MeSH descriptor. None: not confirmed, or a condition that the lexicon does not know."""


@dataclass(frozen=True)
class _Known:
    """The table of conditions, by name."""

    index: PhraseIndex[str]
    synonyms: Mapping[str, tuple[str, ...]]
    related: Mapping[str, tuple[str, ...]]
    mesh_ids: Mapping[str, str]
    capitals: frozenset[str]
    """Abbreviations that are also words: they count in capitals only."""


def find_conditions(text: str) -> list[ConditionMention]:
    """The conditions that a text names, in its order.

    Where nothing is known by name or form, what a question asks to treat is taken for one.

    >>> [found.name for found in find_conditions("Diabetic kidney disease after migraine attacks")]
    ['diabetic nephropathy', 'migraine']
    """
    known = _known()
    named = _named(text, known)
    formed = [
        Match(known.index.get(found.group()) or found.group().lower(), found.start(), found.end())
        for form in _forms()
        for found in form.finditer(text)
        if not _said("no disease").fullmatch(found.group())
    ]
    firm = [match for match in named if match.value not in _GENERIC and match.value]
    found = apart(apart(firm, _outermost(formed)), [match for match in named if match.value in _GENERIC])
    found = apart(found, abbreviated(text, found)) or _asked_for(text)
    blocked = [match for match in named if not match.value]
    return [
        ConditionMention(value, text[start:end], start, end, known.mesh_ids.get(value))
        for value, start, end in found
        if not any(start < block.end and block.start < end for block in blocked)
    ]


def find_known_conditions(text: str) -> list[tuple[str, int, int]]:
    """The conditions of the table alone that a text names: common name, first and last character offset."""
    named = [match for match in _named(text, _known()) if match.value]
    return [(found.value, found.start, found.end) for found in apart(named, abbreviated(text, named))]


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


def is_generic(name: str) -> bool:
    """Whether a condition's name covers many conditions with names of their own: cancer, pain, infection."""
    return canonical_condition(name) in _GENERIC


def name_essence(name: str) -> frozenset[str]:
    """The stems that tell one condition's name from another's.

    >>> name_essence("Migraine Disorders") == name_essence("migraine")
    True
    """
    return frozenset(stems(name)).difference(stems("disease diseases disorder disorders syndrome syndromes"))


def related_conditions(name: str) -> tuple[str, ...]:
    """Conditions close to one, but not the same: variceal bleeding for portal hypertension."""
    return _known().related.get(canonical_condition(name) or "", ())


@cache
def _known() -> _Known:
    names: dict[str, str] = {phrase_key(phrase): "" for phrase in _SUPPRESSED.split("|")}
    synonyms, related, mesh_ids = {}, {}, {}
    capitals = set()
    for row in read_table("conditions.tsv"):
        name = row["name"]
        synonyms[name] = (name, *split_names(row["synonyms"]))
        related[name] = split_names(row["related"])
        if row["mesh_id"]:
            mesh_ids[name] = row["mesh_id"]
        for spelling in synonyms[name]:
            names[phrase_key(spelling)] = name
            if spelling.isupper():
                capitals.add(spelling)
    return _Known(PhraseIndex(names), synonyms, related, mesh_ids, frozenset(capitals))


def _named(text: str, known: _Known) -> list[Match[str]]:
    """The names of the table in a text, without those that stand for something else there.

    An abbreviation that is also a word counts in capitals only, and one that the text writes out otherwise not at all:
    TTP is no purpura where it is the time to progression.
    """
    written_out = long_forms(text)

    def is_meant(match: Match[str]) -> bool:
        written = text[match.start : match.end]
        if written.upper() in known.capitals and not written.isupper():
            return False
        meaning = written_out.get(written)
        return meaning is None or any(found.value == match.value for found in known.index.find(meaning))

    return [match for match in known.index.find(text) if is_meant(match)]


def _outermost(matches: list[Match[str]]) -> list[Match[str]]:
    """The matches without those that lie in or across a longer one."""
    kept: list[Match[str]] = []
    for match in sorted(matches, key=lambda each: each.start - each.end):
        kept = apart(kept, [match])
    return kept


def _asked_for(text: str) -> list[Match[str]]:
    for found in _asking().finditer(text):
        if not _said("no condition").match(found["phrase"]):
            return [Match(found["phrase"].lower(), found.start("phrase"), found.end("phrase"))]
    return []


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
    return next((name for kind in _patterns() for name, known in kind if known.fullmatch(phrase)), None)


def _found(patterns: _Patterns, text: str) -> list[Match[str]]:
    kept: list[Match[str]] = []
    for name, known in patterns:
        kept = apart(kept, [Match(name, match.start(), match.end()) for match in known.finditer(text)])
    return kept


@cache
def _patterns() -> tuple[_Patterns, _Patterns]:
    """For each condition what is done about it, and who has it."""
    deeds, people = [], []
    for row in read_table("asked_as.tsv"):
        who, verbs, things = (written(row[column]) for column in ("people", "verbs", "things"))
        if row["verbs"]:
            orders = f"{verbs}{_WITHIN}{things}|{who}{_WITHIN}{verbs}(?:{_WITHIN}{things})?"
            deeds.append((row["name"], re.compile(orders, re.IGNORECASE)))
        people.append((row["name"], re.compile(who, re.IGNORECASE)))
    return tuple(deeds), tuple(people)
