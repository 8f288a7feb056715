"""Finds diseases and symptoms in text: known ones by name, others by the form of their words.

Questions also describe conditions without naming them: "help smokers quit", "lose weight", "diabetics".
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
    merge_mentions,
    phrase_key,
    read_table,
    split_names,
    stems,
)

_PHRASE = r"\b(?:(?!{no modifier}){modifier}[\s-]){1,3}{disease head}\b"
"""One to three modifiers before a head, as in "chronic kidney disease"."""
_ASKED = (
    r"{asked for}\s+(?:{asked of whom}\s+)*"
    r"(?P<phrase>[^\W\d_][\w'\u2019-]*(?:\s+(?!{end of what is asked})[\w'\u2019-]+){0,4})"
)
"""The object of a question's verb of treatment, up to five words; words such as "AND" are in capitals here."""
_WITHIN = r"(?:[\s-]+[\w'\u2019]+){0,3}?[\s-]+"  # at most three words of the same phrase in between


@dataclass(frozen=True)
class _ConditionTable:
    index: PhraseIndex
    """Common name by each known name; suppressed phrases map to an empty name."""
    synonyms: Mapping[str, tuple[str, ...]]
    in_mesh: frozenset[str]
    generic: frozenset[str]
    """Names too general when other words precede them: "adrenal cancer" is more specific than cancer."""
    capitals: frozenset[str]
    """Abbreviations that are also words: they match in capitals only."""


@cache
def _load_conditions() -> _ConditionTable:
    rows = read_table("conditions.tsv")
    synonyms = {row["name"]: (row["name"], *split_names(row["synonyms"])) for row in rows}
    names = dict.fromkeys(map(phrase_key, cue_list("suppressed", __package__)), "")
    spelt = {phrase_key(spelling): name for name, spelled in synonyms.items() for spelling in spelled}
    eponyms = ((key.partition(" s ")[0], name) for key, name in spelt.items() if re.fullmatch(r"\w+ s \w+", key))
    names |= {f"{eponym} s": name for eponym, name in reversed([*eponyms])} | spelt  # Crohn's, without "disease"
    return _ConditionTable(
        index=PhraseIndex(names),
        synonyms=synonyms,
        in_mesh=frozenset(row["name"] for row in rows if row["mesh_id"]),
        generic=frozenset(cue_list("generic", __package__)),
        capitals=frozenset(spelling for spelled in synonyms.values() for spelling in spelled if spelling.isupper()),
    )


_FORMS = frozenset("acute chronic subacute episodic recurrent postoperative essential stable unstable primary".split())
"""Words that name one form of a condition; the lexicon has some forms under the condition's own name."""


def find_widened(text: str) -> dict[str, str]:
    """Return forms of conditions that a text asks about, each with the whole condition that stands for it here.

    >>> find_widened("Which drugs treat acute pancreatitis?"), find_widened("Which drugs treat pancreatitis?")
    ({'acute pancreatitis': 'pancreatitis'}, {})
    """
    widened = {}
    for mention in find_conditions(text):
        more = set(mention.text.casefold().split()) - set(mention.name.split())
        if more & _FORMS:
            widened[mention.text.casefold()] = mention.name
    return widened


def find_conditions(text: str) -> list[Mention]:
    """Return the conditions named in a text, in order; unknown ones are named by the words themselves.

    If none is found by name or form, the object of a question's verb of treatment is taken as the condition.

    >>> [found.name for found in find_conditions("Diabetic kidney disease after migraine attacks")]
    ['diabetic nephropathy', 'migraine']
    """
    known = _load_conditions()
    table = _find_in_table(text)
    formed = [
        Mention(known.index.get(match.group()) or match.group().lower(), *match.span(), match.group())
        for form in (cue_form(_PHRASE, __package__), cue_form("{disease}", __package__, 0))
        for match in form.finditer(text)
        if not cue_regex("no disease", __package__).fullmatch(match.group())
    ]
    outermost: list[Mention] = []
    for each in sorted(formed, key=lambda each: each.start - each.end):
        outermost = merge_mentions(outermost, [each])
    firm = [each for each in table if each.name and each.name not in known.generic]
    found = merge_mentions(merge_mentions(firm, outermost), [each for each in table if each.name in known.generic])
    found = merge_mentions(found, find_abbreviations(text, found))
    if not found:
        phrases = (match for match in cue_form(_ASKED, __package__, 0).finditer(text))
        meant = (phrase for phrase in phrases if not cue_regex("no condition", __package__).match(phrase["phrase"]))
        found = [Mention(asked["phrase"].lower(), *asked.span("phrase"), asked["phrase"]) for asked in meant][:1]
    blocked = [each for each in table if not each.name]
    return [each for each in found if not any(each.start < block.end and block.start < each.end for block in blocked)]


def find_known_conditions(text: str) -> list[Mention]:
    named = [each for each in _find_in_table(text) if each.name]
    return merge_mentions(named, find_abbreviations(text, named))


def _find_in_table(text: str) -> list[Mention]:
    """Return the table's names found in a text; an abbreviation that is also a word matches in capitals only."""
    known = _load_conditions()
    return [each for each in known.index.find(text) if each.text.upper() not in known.capitals or each.text.isupper()]


def canonical_condition(name: str) -> str | None:
    """Return the common name of a condition given any of its names; None if unknown.

    Abbreviations that are also words match in capitals only: AIDS, not aids.
    """
    known = _load_conditions()
    return None if name.upper() in known.capitals and not name.isupper() else known.index.get(name) or None


def condition_synonyms(name: str) -> tuple[str, ...]:
    """Return all known names of a condition, the common one first; only the given name if unknown."""
    common = canonical_condition(name)
    return _load_conditions().synonyms[common] if common else (name,)


@cache
def _load_title_words() -> Mapping[str, tuple[str, ...]]:
    return {phrase_key(row["name"]): tuple(split_names(row["titles"])) for row in read_table("title_words.tsv")}


def list_title_words(name: str) -> tuple[str, ...]:
    """Return the words by which titles tell a condition without its name; empty where none are listed.

    >>> list_title_words("glaucoma")
    ('ocular hypertension', 'intraocular pressure')
    """
    return _load_title_words().get(phrase_key(name), ())


def known_names() -> list[str]:
    return [name for synonym in _load_conditions().synonyms.values() for name in synonym]


def is_generic(name: str) -> bool:
    """Whether a condition's name covers many specific conditions: cancer, pain, infection."""
    return canonical_condition(name) in _load_conditions().generic


def is_in_mesh(name: str) -> bool:
    return canonical_condition(name) in _load_conditions().in_mesh


def name_essence(name: str) -> frozenset[str]:
    """Return the stems that distinguish a condition's name from others: those of migraine for Migraine Disorders."""
    return frozenset(stems(name)).difference(stems("disease diseases disorder disorders syndrome syndromes"))


_Patterns = tuple[tuple[str, re.Pattern[str]], ...]


@cache
def _compile_patterns() -> tuple[_Patterns, _Patterns]:
    """Return the patterns of each condition's actions, and those of its patients."""
    deeds = []
    people = []
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
    """Find conditions described by an action ("quit smoking"), in the order of the text."""
    return _find_patterns(_compile_patterns()[0], text)


def find_people(text: str) -> list[Mention]:
    """Find conditions described by their patients, which count only if nothing else is asked about."""
    return _find_patterns(_compile_patterns()[1], text)


def asked_condition(phrase: str) -> str | None:
    """Return the condition that a whole phrase describes by action or patients; None if there is none."""
    return next((name for kind in _compile_patterns() for name, known in kind if known.fullmatch(phrase)), None)


def _find_patterns(patterns: _Patterns, text: str) -> list[Mention]:
    kept: list[Mention] = []
    for name, known in patterns:
        kept = merge_mentions(kept, [Mention(name, *match.span(), match.group()) for match in known.finditer(text)])
    return kept
