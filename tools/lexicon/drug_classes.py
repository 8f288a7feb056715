"""Classes of drugs in text. A class ("beta-blockers") is not a candidate, its members can be."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from willowbark.tools.lexicon.matching import PhraseIndex, phrase_key, read_table, split_names


@dataclass(frozen=True, slots=True)
class ClassMention:
    """A drug class named in a text."""

    name: str
    """The class, lower case, plural."""
    text: str
    """The words of the text, as they stand."""
    start: int
    """Character offset of the first letter."""
    end: int
    """Character offset after the last letter."""
    members: tuple[str, ...]
    """Generic names that belong to the class beyond doubt; never all of them, and empty for the widest classes."""


def find_drug_classes(text: str) -> list[ClassMention]:
    """The drug classes that a text names, in its order.

    >>> [found.name for found in find_drug_classes("β-blockers or an ACE inhibitor")]
    ['beta-blockers', 'ace inhibitors']
    """
    known = _classes()
    return [
        ClassMention(found.value, text[found.start : found.end], found.start, found.end, known.members[found.value])
        for found in known.index.find(text)
    ]


def class_members(name: str) -> tuple[str, ...]:
    """The listed members of a class under any of its names; empty when the class is not known."""
    return _classes().members.get(canonical_class(name) or "", ())


def canonical_class(name: str) -> str | None:
    """The common name of a drug class under any of its names; None when it is not known."""
    return _classes().index.get(name)


def class_synonyms(name: str) -> tuple[str, ...]:
    """All known names of a class, the common one first; only the name as given when it is not known."""
    known = canonical_class(name)
    return _classes().synonyms[known] if known else (name,)


@dataclass(frozen=True)
class _Classes:
    """The table of classes, by name."""

    index: PhraseIndex[str]
    members: Mapping[str, tuple[str, ...]]
    synonyms: Mapping[str, tuple[str, ...]]


@cache
def _classes() -> _Classes:
    names: dict[str, str] = {}
    members: dict[str, tuple[str, ...]] = {}
    synonyms: dict[str, tuple[str, ...]] = {}
    for row in read_table("drug_classes.tsv"):
        members[row["name"]] = split_names(row["members"])
        synonyms[row["name"]] = (row["name"], *split_names(row["synonyms"]))
        for spelling in synonyms[row["name"]]:
            names[phrase_key(spelling)] = row["name"]
    return _Classes(PhraseIndex(names), members, synonyms)
