"""Finds drugs in text, and maps their names to generic names; `drugs.tsv` holds them, and says where it is from."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

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
)

_IN_PARENTHESES = re.compile(r"\s*\([^)]*\)|,$")
_BIOLOGIC_SUFFIX = re.compile(r"-[a-z]{4}$")  # "ibalizumab-uiyk"
_JOINED, _LISTED = "/", re.compile(r",? and |, ?")  # between the drugs of a combination: in its name, in a list
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
def drug_names() -> DrugNames:
    rows = read_table("drugs.tsv")
    synonyms = {row["name"]: f"{row['common']}|{row['others']}" for row in rows}
    spelled = {phrase_key(each): name for name, others in synonyms.items() for each in (name, *split_names(others))}
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
    named = [each for each in drug_names().index.find(text) if _is_meant(each, text)]
    found = []
    for each in merge_mentions(named, find_abbreviations(text, named)):
        salt = _SALT_AFTER.match(text, each.end)
        found.append(each._replace(end=salt.end(), text=text[each.start : salt.end()]) if salt else each)
    return found


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
    index = drug_names().index
    return index.get(name) or index.get(strip_salt(name)) or index.get(_LISTED.sub(_JOINED, name))


def drug_synonyms(name: str) -> tuple[str, ...]:
    """Return all known names of a drug, the generic one first; only the given name if unknown."""
    generic = canonical_drug(name)
    return (generic, *split_names(drug_names().synonyms[generic])) if generic else (name,)


def common_drug_names(name: str) -> tuple[str, ...]:
    """Return the names of a drug worth searching for, the generic one first: common brands, salts and spellings."""
    generic = canonical_drug(name)
    return (generic, *drug_names().common.get(generic, ())) if generic else (name,)


def same_drug(a: str, b: str) -> bool:
    one, other = canonical_drug(a), canonical_drug(b)
    return one == other if one and other else a.strip().casefold() == b.strip().casefold()


def withdrawal_of(name: str) -> str | None:
    """Return when, where and why a drug was withdrawn, with the source; None if no withdrawal is listed."""
    return _read_withdrawals().get(canonical_drug(name) or name)


@cache
def _read_withdrawals() -> Mapping[str, str]:
    return {
        row["name"]: f"{row['where']}, {row['year']}: {row['reason']}; {row['source'] or _UNCHECKED}"
        for row in read_table("withdrawn.tsv")
    }
