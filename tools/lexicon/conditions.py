"""Finds diseases and symptoms in text: known ones by name, others by the form of their words.

Questions also describe conditions without naming them: "help smokers quit", "lose weight", "diabetics".
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import chain

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
    spelt: dict[str, str] = {}
    for name, spellings in synonyms.items():
        spelt |= {phrase_key(spelling): name for spelling in spellings}
    eponyms = ((key.partition(" s ")[0], name) for key, name in spelt.items() if re.fullmatch(r"\w+ s \w+", key))
    # Reversed, so that of two diseases with one eponym the first in the table has it.
    names |= {f"{eponym} s": name for eponym, name in reversed([*eponyms])} | spelt  # Crohn's, without "disease"
    return _ConditionTable(
        index=PhraseIndex(names),
        synonyms=synonyms,
        in_mesh=frozenset(row["name"] for row in rows if row["mesh_id"]),
        generic=frozenset(cue_list("generic", __package__)),
        capitals=frozenset(filter(str.isupper, chain.from_iterable(synonyms.values()))),
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
    table = _load_conditions()
    in_table = _find_in_table(text)
    outermost: list[Mention] = []
    for mention in sorted(_find_by_form(text), key=lambda mention: mention.start - mention.end):
        outermost = merge_mentions(outermost, [mention])
    firm = [mention for mention in in_table if mention.name and mention.name not in table.generic]
    generic = [mention for mention in in_table if mention.name in table.generic]
    # A generic name counts only where nothing more specific holds it: "adrenal cancer" is no mention of cancer.
    mentions = merge_mentions(merge_mentions(firm, outermost), generic)
    mentions = merge_mentions(mentions, find_abbreviations(text, mentions))
    if not mentions:
        mentions = _find_object(text)
    blocked = [mention for mention in in_table if not mention.name]
    return [mention for mention in mentions if not _overlaps_any(mention, blocked)]


def _find_by_form(text: str) -> Iterator[Mention]:
    """Yield what is named like a condition: "… syndrome", "-itis"; by its known name where it has one."""
    table = _load_conditions()
    no_condition = cue_regex("no disease", __package__)
    for form in (cue_form(_PHRASE, __package__), cue_form("{disease}", __package__, 0)):
        for match in form.finditer(text):
            words = match.group()
            if not no_condition.fullmatch(words):
                yield Mention(table.index.get(words) or words.lower(), *match.span(), words)


def _find_object(text: str) -> list[Mention]:
    """Find the object of a question's verb of treatment; the first one that can be a condition."""
    no_condition = cue_regex("no condition", __package__)
    for match in cue_form(_ASKED, __package__, 0).finditer(text):
        phrase = match["phrase"]
        if not no_condition.match(phrase):
            return [Mention(phrase.lower(), *match.span("phrase"), phrase)]
    return []


def _overlaps_any(mention: Mention, others: Iterable[Mention]) -> bool:
    return any(mention.start < other.end and other.start < mention.end for other in others)


def find_known_conditions(text: str) -> list[Mention]:
    mentions = [mention for mention in _find_in_table(text) if mention.name]
    return merge_mentions(mentions, find_abbreviations(text, mentions))


def _find_in_table(text: str) -> list[Mention]:
    """Return the table's names found in a text; an abbreviation that is also a word matches in capitals only."""
    table = _load_conditions()
    mentions = table.index.find(text)
    return [mention for mention in mentions if mention.text.upper() not in table.capitals or mention.text.isupper()]


def canonical_condition(name: str) -> str | None:
    """Return the common name of a condition given any of its names; None if unknown.

    Abbreviations that are also words match in capitals only: AIDS, not aids.
    """
    table = _load_conditions()
    is_other_word = name.upper() in table.capitals and not name.isupper()
    return None if is_other_word else table.index.get(name) or None


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


def stem_name(name: str) -> frozenset[str]:
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


def find_described_condition(phrase: str) -> str | None:
    """Return the condition that a whole phrase describes by action or patients; None if there is none."""
    for patterns in _compile_patterns():
        for name, pattern in patterns:
            if pattern.fullmatch(phrase):
                return name
    return None


def _find_patterns(patterns: _Patterns, text: str) -> list[Mention]:
    mentions: list[Mention] = []
    for name, pattern in patterns:
        matches = [Mention(name, *match.span(), match.group()) for match in pattern.finditer(text)]
        mentions = merge_mentions(mentions, matches)
    return mentions
