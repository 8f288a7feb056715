"""Finds drug classes in text. A class ("beta-blockers") is not a candidate, but its members can be."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from .conditions import canonical_condition, condition_synonyms, is_generic
from .matching import Mention, PhraseIndex, phrase_key, read_table, split_names, stems


@dataclass(frozen=True)
class _Classes:
    index: PhraseIndex
    members: Mapping[str, tuple[str, ...]]
    stems: Mapping[str, tuple[str, ...]]
    """Suffixes of generic names, including those of subclasses."""
    uses: Mapping[str, tuple[str, ...]]
    """The conditions that name a class ("blood pressure drugs")."""
    synonyms: Mapping[str, tuple[str, ...]]


@cache
def _classes() -> _Classes:
    rows = {row["name"]: row for row in read_table("drug_classes.tsv")}

    def within(name: str) -> Iterator[str]:
        """Yield a class and its subclasses, which are listed among the members with an @."""
        yield name
        for member in split_names(rows[name]["members"]):
            if member.startswith("@"):
                yield from within(member[1:])

    def united(name: str, column: str) -> tuple[str, ...]:
        listed = (entry for each in within(name) for entry in split_names(rows[each][column]))
        return tuple(dict.fromkeys(entry for entry in listed if not entry.startswith("@")))

    synonyms = {name: (name, *split_names(row["synonyms"])) for name, row in rows.items()}
    return _Classes(
        index=PhraseIndex({phrase_key(spelling): name for name, known in synonyms.items() for spelling in known}),
        members={name: united(name, "members") for name in rows},
        stems={name: united(name, "stems") for name in rows},
        uses={name: split_names(row["used_for"]) for name, row in rows.items()},
        synonyms=synonyms,
    )


def find_drug_classes(text: str) -> list[Mention]:
    return list(_classes().index.find(text))


def class_members(name: str) -> tuple[str, ...]:
    """Return the listed members of a class under any of its names; never complete, and empty if unknown."""
    return _classes().members.get(canonical_class(name) or "", ())


def is_class_member(drug: str, name: str) -> bool:
    """Whether a drug (generic name in lower case) is a listed member of a class, or has the class's suffix.

    >>> is_class_member("carteolol", "beta-blockers"), is_class_member("varenicline", "antidepressants")
    (True, False)
    """
    known, wanted = _classes(), canonical_class(name) or ""
    return drug in known.members.get(wanted, ()) or drug.endswith(known.stems.get(wanted, ()))


def is_within(name: str, whole: str) -> bool:
    """Whether a drug or class equals another or is entirely part of it."""
    members = class_members(name) or (name,)
    return name == whole or all(is_class_member(each, whole) for each in members)


def belongs_to_class(drug: str, marketed_for: Iterable[str], classes: Sequence[str]) -> bool:
    """Whether a drug belongs to any of the classes, as a listed member, by suffix or by indication.

    A drug marketed for hypertension is a blood pressure drug. Any "… drugs" missing from the table ("gout drugs") is a
    class defined by indication alone.

    >>> belongs_to_class("clonazepam", ["Epilepsy"], ["antiepileptic drugs"])
    True
    """
    indications = list(marketed_for)
    for name in classes:
        known = canonical_class(name)
        uses = _classes().uses[known] if known else (name.removesuffix(" drugs"),)
        if is_class_member(drug, name) or any(_is_use(each, use) for use in uses for each in indications):
            return True
    return False


def _is_use(indication: str, condition: str) -> bool:
    """Whether an indication is a condition or a form of it; a condition with its own name does not count as a form."""
    held = frozenset(stems(indication))
    if not any(frozenset(stems(name)) <= held for name in condition_synonyms(condition)):
        return False
    named = canonical_condition(" ".join(reversed(indication.split(", ")))) or canonical_condition(indication)
    return named in (None, canonical_condition(condition)) or is_generic(condition)


def canonical_class(name: str) -> str | None:
    """Return the common name of a drug class given any of its names; None if unknown."""
    return _classes().index.get(name)


def class_synonyms(name: str) -> tuple[str, ...]:
    """Return all known names of a class, the common one first; only the given name if unknown."""
    known = canonical_class(name)
    return _classes().synonyms[known] if known else (name,)


class Contraindication(NamedTuple):
    """A reason not to give a drug to people with a condition, from a curated table."""

    kind: str
    """`contraindicated`, `boxed warning` or `avoid`."""
    told: str
    """The condition as narrowed by the source, or the harm."""
    source: str
    """The guideline, or the section of the label. No entry has been compared with the source's text."""
    borne_out: str
    """A curated list that also contains the entry; may be empty."""

    def __str__(self) -> str:
        also = f"also in the list of {self.borne_out}, " if self.borne_out else ""
        return f"{self.told}; {self.source}, {also}not yet compared with its text"


@cache
def _list_against(drug: str) -> list[tuple[Contraindication, Sequence[str]]]:
    """Return all entries of the curated table for a drug, each with its conditions."""
    return [
        (Contraindication(row["kind"], row["told"], row["source"], row["borne_out"]), split_names(row["conditions"]))
        for row in _contraindications()
        if drug not in split_names(row["except"])
        and any(name == drug or is_class_member(drug, name) for name in split_names(row["names"]))
    ]


def contraindications_of(drug: str, conditions: Iterable[str] | None) -> list[Contraindication]:
    """Return the curated table's entries for a drug in the given conditions, the first match for each.

    Conditions come under any of their names, or as groups of people (pregnancy, children); None returns all entries.

    >>> contraindications_of("propranolol", ["asthma"])[0][:2]
    ('contraindicated', 'bronchial asthma')
    """
    rows = _list_against(drug)
    if conditions is None:
        return [each for each, _ in rows]
    named = [canonical_condition(each) or each for each in conditions]
    met = [next((each for each, held in rows if condition in held), None) for condition in named]
    return list(dict.fromkeys(each for each in met if each))


def contraindicated_in(conditions: Iterable[str]) -> list[tuple[str, Contraindication]]:
    """Return the drugs and classes that the curated table warns of in the given conditions, in table order."""
    named = {canonical_condition(each) or each for each in conditions}
    return [
        (name, Contraindication(row["kind"], row["told"], row["source"], row["borne_out"]))
        for row in _contraindications()
        if not named.isdisjoint(split_names(row["conditions"]))
        for name in split_names(row["names"])
    ]


@cache
def _contraindications() -> Sequence[Mapping[str, str]]:
    return list(read_table("contraindications.tsv"))
