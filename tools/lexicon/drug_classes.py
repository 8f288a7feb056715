"""Classes of drugs in text. A class ("beta-blockers") is not a candidate, its members can be."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ..ranking import stems
from .conditions import canonical_condition, condition_synonyms, is_generic
from .matching import PhraseIndex, phrase_key, read_table, split_names


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


def is_class_member(drug: str, name: str) -> bool:
    """Whether a drug is a listed member of a class, or bears the ending of the class's names.

    Args:
        drug: its generic name, in lower case.
        name: any name of the class; nothing is a member of an unknown one.

    >>> is_class_member("carteolol", "beta-blockers"), is_class_member("varenicline", "antidepressants")
    (True, False)
    """
    known, wanted = _classes(), canonical_class(name) or ""
    return drug in known.members.get(wanted, ()) or drug.endswith(known.stems.get(wanted, ()))


def belongs_to_class(drug: str, marketed_for: Iterable[str], classes: Sequence[str]) -> bool:
    """Whether a drug belongs to any of the classes: as a listed member, by its ending, or by its use.

    A drug marketed for hypertension is a blood pressure drug. Any "… drugs" that the table lacks ("gout drugs") is a
    class by its use alone.

    Args:
        drug: its generic name.
        marketed_for: conditions that it is marketed for, as the drug databases name them.
        classes: as `Question.drug_classes` names them.

    >>> belongs_to_class("propranolol", (), ["beta-blockers"]), belongs_to_class("x", ["Epilepsy"], ["antiepileptics"])
    (True, True)
    """
    indications = list(marketed_for)
    for name in classes:
        known = canonical_class(name)
        uses = _classes().uses[known] if known else (name.removesuffix(" drugs"),)
        if is_class_member(drug, name) or any(_is_use(each, use) for use in uses for each in indications):
            return True
    return False


def _is_use(indication: str, condition: str) -> bool:
    """Whether an indication is a condition or a form of it; one with another name of its own is none."""
    held = frozenset(stems(indication))
    if not any(frozenset(stems(name)) <= held for name in condition_synonyms(condition)):
        return False
    named = canonical_condition(" ".join(reversed(indication.split(", ")))) or canonical_condition(indication)
    return named in (None, canonical_condition(condition)) or is_generic(condition)


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
    stems: Mapping[str, tuple[str, ...]]
    """Endings of generic names; those of the classes within a class too."""
    uses: Mapping[str, tuple[str, ...]]
    synonyms: Mapping[str, tuple[str, ...]]


@cache
def _classes() -> _Classes:
    rows = {row["name"]: row for row in read_table("drug_classes.tsv")}
    synonyms = {name: (name, *split_names(row["synonyms"])) for name, row in rows.items()}
    within = {name: tuple(_within(name, rows)) for name in rows}
    return _Classes(
        PhraseIndex({phrase_key(spelling): name for name, known in synonyms.items() for spelling in known}),
        {name: _united(rows, within[name], "members") for name in rows},
        {name: _united(rows, within[name], "stems") for name in rows},
        {name: split_names(row["used_for"]) for name, row in rows.items()},
        synonyms,
    )


def _within(name: str, rows: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """A class and the classes that belong to it whole."""
    yield name
    for member in split_names(rows[name]["members"]):
        if member.startswith("@"):
            yield from _within(member[1:], rows)


def _united(rows: Mapping[str, Mapping[str, str]], names: tuple[str, ...], column: str) -> tuple[str, ...]:
    """What the cells of several classes list, each once."""
    listed = (entry for name in names for entry in split_names(rows[name][column]) if not entry.startswith("@"))
    return tuple(dict.fromkeys(listed))
