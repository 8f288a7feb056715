"""Finds drugs and drug classes in text, and maps their names; `drugs.tsv` says where the names are from.

A class ("beta-blockers") is not a candidate, but its members can be.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from itertools import chain, product
from typing import Literal, NamedTuple

from .conditions import canonical_condition, condition_synonyms, is_generic
from .matching import (
    Mention,
    PhraseIndex,
    cue_form,
    cue_list,
    find_abbreviations,
    merge_mentions,
    phrase_key,
    read_table,
    split_names,
    stems,
)

_IN_PARENTHESES = re.compile(r"\s*\([^)]*\)|,$")
_BIOLOGIC_SUFFIX = re.compile(r"-[a-z]{4}$")  # "ibalizumab-uiyk"
_JOINED = "/"
_LISTED = re.compile(r",? and |, ?")  # between the drugs of a combination: in its name, in a list
_SALT_AFTER = re.compile(
    r"[ -](?:mono|di|bi|hemi)?(?:hydrochloride|hydrobromide|maleate|malate|mesylate|mesilate|besylate|besilate|"
    r"tartrate|fumarate|succinate|citrate|sulph?ate|phosphate|nitrate|tosylate|carbonate|HCl|hcl)\b"
)
_UNCHECKED = "from a curated list, not verified with the regulator"


@dataclass(frozen=True)
class DrugNames:
    """The drugs and their names, without foods, analytes and substances made by the body."""

    index: PhraseIndex
    synonyms: Mapping[str, str]
    """By generic name all others, those in wide use first, with a bar after each: lists would take twice the memory."""
    common: Mapping[str, Sequence[str]]
    """By generic name those in wide use, where there are any."""


@cache
def load_drug_names() -> DrugNames:
    rows = read_table("drugs.tsv")
    synonyms = {row["name"]: f"{row['common']}|{row['others']}" for row in rows}
    spelled: dict[str, str] = {}
    for name, others in synonyms.items():
        spelled |= {phrase_key(spelling): name for spelling in (name, *split_names(others))}
    common = {row["name"]: split_names(row["common"]) for row in rows if row["common"]}
    return DrugNames(PhraseIndex(spelled), synonyms, common)


def strip_salt(name: str) -> str:
    """Return a drug's name without salt, ester or route: "enalapril" for "enalapril maleate"."""
    bare = _BIOLOGIC_SUFFIX.sub("", _IN_PARENTHESES.sub("", name).strip())
    before = cue_form("^{before the salt} ", __package__)
    after = cue_form("[ -](?:{salt}|{form})(?: and)?$", __package__)
    while (shorter := before.sub("", after.sub("", bare))) != bare:
        bare = shorter
    return bare


def find_drugs(text: str) -> list[Mention]:
    """Return the drugs named in a text, in order; foods, elements and the body's own substances are left out."""
    mentions = [mention for mention in load_drug_names().index.find(text) if _is_meant(mention, text)]
    with_salts = []
    for mention in merge_mentions(mentions, find_abbreviations(text, mentions)):
        salt = _SALT_AFTER.match(text, mention.end)
        if salt is None:
            with_salts.append(mention)
        else:
            with_salts.append(mention._replace(end=salt.end(), text=text[mention.start : salt.end()]))
    return with_salts


def _is_meant(drug: Mention, text: str) -> bool:
    """Whether a name means the drug as a treatment.

    Short brand names are also common words; in lower case only a short form of the generic name counts. "insulin
    resistance", "aldosterone antagonist" and "nicotine dependence" mean something else, "melatonin levels" the body's
    own substance.
    """
    if len(drug.text) < 6 and drug.text.islower() and not drug.name.startswith(drug.text[:4]):
        return False
    if cue_form(r"[\s-]+{not the drug}", __package__).match(text, drug.end):
        return False
    if drug.name not in cue_list("also of the body", __package__):
        return True
    is_level = cue_form(r"\s+{level}", __package__).match(text, drug.end)
    return not (is_level or cue_form(r"{measured in}\s+$", __package__).search(text[: drug.start][-14:]))


def canonical_drug(name: str) -> str | None:
    """Return the generic name of a drug given any of its names; None if it is not a known drug.

    >>> canonical_drug("Chantix"), canonical_drug("lopinavir and ritonavir"), canonical_drug("water")
    ('varenicline', 'lopinavir/ritonavir', None)
    """
    index = load_drug_names().index
    return index.get(name) or index.get(strip_salt(name)) or index.get(_LISTED.sub(_JOINED, name))


def drug_synonyms(name: str) -> tuple[str, ...]:
    """Return all known names of a drug, the generic one first; only the given name if unknown."""
    generic = canonical_drug(name)
    return (generic, *split_names(load_drug_names().synonyms[generic])) if generic else (name,)


def common_drug_names(name: str) -> tuple[str, ...]:
    """Return the names of a drug worth searching for, the generic one first: common brands, salts and spellings."""
    generic = canonical_drug(name)
    return (generic, *load_drug_names().common.get(generic, ())) if generic else (name,)


def is_same_drug(a: str, b: str) -> bool:
    one = canonical_drug(a)
    other = canonical_drug(b)
    return one == other if one and other else a.strip().casefold() == b.strip().casefold()


def find_withdrawal(name: str) -> str | None:
    """Return when, where and why a drug was withdrawn, with the source; None if no withdrawal is listed."""
    return _load_withdrawals().get(canonical_drug(name) or name)


def is_diagnostic(name: str) -> bool:
    """Whether a drug is given to see something, by its generic name: contrast media, tracers."""
    return any(fnmatch(name, pattern) for pattern in cue_list("for diagnosis", __package__))


def find_past_withdrawal(name: str) -> str | None:
    """Return when, where and why a drug was withdrawn that came back, and for what; None if none is listed."""
    return _load_returned().get(canonical_drug(name) or name)


@cache
def _load_returned() -> Mapping[str, str]:
    return {
        row["name"]: f"{row['where']}, {row['year']}: {row['reason']}; back since {row['back']}, {row['use']}; "
        f"{row['source'] or _UNCHECKED}"
        for row in read_table("returned.tsv")
    }


@cache
def _load_withdrawals() -> Mapping[str, str]:
    return {
        row["name"]: f"{row['where']}, {row['year']}: {row['reason']}; {row['source'] or _UNCHECKED}"
        for row in read_table("withdrawn.tsv")
    }


@cache
def _load_classes() -> Mapping[str, Mapping[str, str]]:
    return {row["name"]: row for row in read_table("drug_classes.tsv")}


@cache
def _index_classes() -> PhraseIndex:
    names: dict[str, str] = {}
    for name in _load_classes():
        names |= {phrase_key(synonym): name for synonym in list_class_synonyms(name)}
    return PhraseIndex(names)


@cache
def _list_column(name: str, column: Literal["members", "stems"]) -> tuple[str, ...]:
    """Return what a class and its subclasses list in a column; subclasses are listed as members with an @."""
    row = _load_classes()[name]
    entries = dict[str, None]()
    entries |= dict.fromkeys(entry for entry in split_names(row[column]) if not entry.startswith("@"))
    for member in split_names(row["members"]):
        entries |= dict.fromkeys(_list_column(member[1:], column)) if member.startswith("@") else {}
    return tuple(entries)


def find_drug_classes(text: str) -> list[Mention]:
    return list(_index_classes().find(text))


def list_class_members(name: str) -> tuple[str, ...]:
    """Return the listed members of a class under any of its names; never complete, and empty if unknown."""
    common = canonical_class(name)
    return _list_column(common, "members") if common else ()


def is_class_member(drug: str, name: str) -> bool:
    """Whether a drug (generic name in lower case) is a listed member of a class, or has the class's suffix.

    A combination is a member if one of its drugs is: who cannot take oestrogen cannot take it with a progestogen.

    >>> is_class_member("carteolol", "beta-blockers"), is_class_member("varenicline", "antidepressants")
    (True, False)
    >>> is_class_member("conjugated estrogens/medroxyprogesterone acetate", "estrogens")
    True
    """
    common = canonical_class(name)
    if common is None:
        return False
    members = _list_column(common, "members")
    endings = _list_column(common, "stems")
    return any(component in members or component.endswith(endings) for component in (drug, *drug.split(_JOINED)))


def is_within(name: str, whole: str) -> bool:
    """Whether a drug or class equals another or is entirely part of it."""
    members = list_class_members(name) or (name,)
    return name == whole or all(is_class_member(member, whole) for member in members)


def belongs_to_class(drug: str, marketed_for: Iterable[str], classes: Sequence[str]) -> bool:
    """Whether a drug belongs to any of the classes, as a listed member, by suffix or by indication.

    A drug marketed for hypertension is a blood pressure drug. Any "… drugs" missing from the table ("gout drugs") is a
    class defined by indication alone.

    >>> belongs_to_class("clonazepam", ["Epilepsy"], ["antiepileptic drugs"])
    True
    """
    indications = list(marketed_for)
    for name in classes:
        common = canonical_class(name)
        uses = split_names(_load_classes()[common]["used_for"]) if common else (name.removesuffix(" drugs"),)
        has_use = any(_is_use(indication, use) for use, indication in product(uses, indications))
        if has_use or is_class_member(drug, name):
            return True
    return False


def _is_use(indication: str, condition: str) -> bool:
    """Whether an indication is a condition or a form of it; a condition with its own name does not count as a form."""
    words = frozenset(stems(indication))
    if not any(frozenset(stems(name)) <= words for name in condition_synonyms(condition)):
        return False
    own_name = canonical_condition(" ".join(reversed(indication.split(", ")))) or canonical_condition(indication)
    return own_name in (None, canonical_condition(condition)) or is_generic(condition)


def canonical_class(name: str) -> str | None:
    """Return the common name of a drug class given any of its names; None if unknown."""
    return _index_classes().get(name)


def list_class_synonyms(name: str) -> tuple[str, ...]:
    """Return all known names of a class, the common one first; only the given name if unknown."""
    common = name if name in _load_classes() else canonical_class(name)
    return (common, *split_names(_load_classes()[common]["synonyms"])) if common else (name,)


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
def _load_contraindications() -> Sequence[tuple[Mapping[str, str], Contraindication, tuple[str, ...]]]:
    """Return the rows of the curated table, each as a contraindication and with its conditions."""
    return [
        (
            row,
            Contraindication(row["kind"], row["told"], row["source"], row["borne_out"]),
            split_names(row["conditions"]),
        )
        for row in read_table("contraindications.tsv")
    ]


@cache
def _list_against(drug: str) -> list[tuple[Contraindication, tuple[str, ...]]]:
    return [(entry, conditions) for row, entry, conditions in _load_contraindications() if _is_in_row(drug, row)]


def list_contraindications(drug: str, conditions: Iterable[str] | None) -> list[Contraindication]:
    """Return the curated table's entries for a drug in the given conditions, the first match for each.

    Conditions come under any of their names, or as groups of people (pregnancy, children); None returns all entries.

    >>> list_contraindications("propranolol", ["asthma"])[0][:2]
    ('contraindicated', 'bronchial asthma')
    """
    rows = _list_against(drug)
    if conditions is None:
        return [entry for entry, _ in rows]
    entries: dict[Contraindication, None] = {}  # in order, each once
    for name in conditions:
        condition = canonical_condition(name) or name
        first = next((entry for entry, of in rows if condition in of), None)
        if first is not None:
            entries[first] = None
    return list(entries)


@cache
def _load_unsuited() -> Sequence[tuple[Mapping[str, str], Contraindication]]:
    return [(row, Contraindication(row["kind"], row["told"], row["source"], "")) for row in read_table("not_for.tsv")]


def list_unsuited(drug: str, people: str) -> list[Contraindication]:
    """Return why a drug is not for a population, or for people who take a drug, by the table of groups of people.

    >>> [each.told for each in list_unsuited("ibuprofen", "warfarin")]
    ['bleeding']
    """
    entries = [(row, entry) for row, entry in _load_unsuited() if people in split_names(row["people"])]
    return [entry for row, entry in entries if _is_in_row(drug, row)]


def _is_in_row(drug: str, row: Mapping[str, str]) -> bool:
    names = split_names(row["names"])
    is_meant = any(name == drug or is_class_member(drug, name) for name in names)
    return is_meant and drug not in split_names(row["except"])


def list_tabled_conditions() -> frozenset[str]:
    """Return the conditions and groups of people that the curated table of contraindications knows."""
    return frozenset(chain.from_iterable(conditions for *_, conditions in _load_contraindications()))


def list_contraindicated(conditions: Iterable[str]) -> list[tuple[str, Contraindication]]:
    """Return the drugs and classes that the curated table warns of in the given conditions, in table order."""
    names = {canonical_condition(condition) or condition for condition in conditions}
    pairs = []
    for row, entry, of in _load_contraindications():
        if not names.isdisjoint(of):
            pairs += [(name, entry) for name in split_names(row["names"])]
    return pairs
