"""Finds drugs in text, and maps their names to generic names.

Drug names come from an open dictionary, cleaned and pruned. It is part of the package drug-named-entity-recognition
(MIT), compiled by its authors from DrugBank's open vocabulary, MeSH, MedlinePlus and the NHS:
https://fastdatascience.com/drug-named-entity-recognition-python-library/. Its file is read without importing the
package, whose import builds tables that are not needed here.
"""

import bz2
import pickle
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..whole_file import Table, cached_table
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

PACKAGE = "drug_named_entity_recognition"
DICTIONARY = "drug_ner_dictionary.pkl.bz2"
_HERE = Path(__file__).parent
_RULES = [
    _HERE / name for name in ("drugs.py", "matching.py", "cues.tsv", "drugs.tsv", "not_drugs.tsv", "drug_classes.tsv")
]
SHORTEST_NAME = 4  # letters; shorter ones ("he", "2, 3", "at 10") are mostly not drugs

# MeSH trees (https://meshb.nlm.nih.gov/treeView): amino acids, hormones, enzymes, nucleotides, lipids, inorganic
# chemicals, proteins and biological factors are kept as drugs only under a drug's name.
_OF_THE_BODY = ("D01", "D06", "D08", "D10", "D12.125", "D12.776", "D13", "D23")
_IN_PARENTHESES = re.compile(r"\s*\([^)]*\)|,$")
_BIOLOGIC_SUFFIX = re.compile(r"-[a-z]{4}$")  # "ibalizumab-uiyk"
_NO_NAME = frozenset("alpha beta gamma delta epsilon kappa lambda omega type acid factor".split())
_JOINED, _LISTED = "/", re.compile(r",? and |, ?")  # between the drugs of a combination: in its name, in a list
_CUT_OUT = ("and ", "with ")  # parts of combination names
_SALT_AFTER = re.compile(
    r"[ -](?:mono|di|bi|hemi)?(?:hydrochloride|hydrobromide|maleate|malate|mesylate|mesilate|besylate|besilate|"
    r"tartrate|fumarate|succinate|citrate|sulph?ate|phosphate|nitrate|tosylate|carbonate|HCl|hcl)\b"
)
_BIOLOGICAL = r"(?:{biological}|insulin \w+|\w+ vaccine)( (alfa|alpha|beta|gamma|delta|pegol|vedotin)\b.*)?$"
"""Stems of international nonproprietary names for biologicals.

https://www.who.int/teams/health-product-and-policy-standards/inn/stembook
"""
_UNCHECKED = "not yet checked, ask the regulator"


@dataclass(frozen=True)
class DrugNames:
    """Searchable drug names, and the names of each drug by generic name."""

    phrases: Mapping[str, str]
    """Generic name by each name in the form of `phrase_key`."""
    synonyms: Mapping[str, str]
    """By generic name, all names, that one first, one per line: lists would take twice the memory."""
    common: Mapping[str, Sequence[str]]
    """The synonyms from our own table: few and in wide use."""

    @cached_property
    def index(self) -> PhraseIndex:
        """Return the index that finds the names in text."""
        return PhraseIndex(self.phrases)


@cache
def drug_names() -> DrugNames:
    """Return the names of drugs, without foods, analytes and substances made by the body.

    Pruning takes most of a second, so the result is cached for the user until the dictionary or the rules change.

    Raises:
        ModuleNotFoundError: the package with the dictionary is not installed.
    """
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {PACKAGE!r}; install drug-named-entity-recognition", name=PACKAGE)
    dictionary = Path(spec.origin).with_name(DICTIONARY)
    table = cached_table("drug-names", [dictionary, *_RULES], lambda: prune_dictionary(dictionary))
    phrases = {phrase: name for name, spelled in table["phrases"].items() for phrase in spelled.split("\n")}
    return DrugNames(phrases, table["synonyms"], table["common"])


def prune_dictionary(dictionary: Path) -> Table:
    """Build the fields of `DrugNames`, as stored in JSON, from the package's dictionary and our own tables.

    Each drug is filed under its name without the salt if that is listed too; names in our tables take precedence over
    the dictionary's.
    """
    with bz2.open(dictionary) as packed:
        loaded = pickle.load(packed)  # noqa: S301  # an installed dependency's own file, trusted like its code
    records: dict[str, dict[str, Any]] = loaded["drug_canonical_to_data"]
    variants = {variant: canonicals[0] for variant, canonicals in loaded["drug_variant_to_canonical"].items()}
    classes = {name for row in read_table("drug_classes.tsv") for name in (row["name"], *split_names(row["synonyms"]))}
    struck = {row["name"] for row in read_table("not_drugs.tsv")} | classes
    ours = {row["name"]: split_names(row["synonyms"]) for row in read_table("drugs.tsv")}
    curated = {alias for name, aliases in ours.items() for alias in (name, *aliases)}
    kept = {
        name
        for name, record in records.items()
        if name in curated
        or (name not in struck and strip_salt(name) not in classes and _is_drug(name, record, name in variants))
    }

    generic = {name: _generic(name, kept, variants) for name in sorted(kept)}
    for name in sorted(kept - curated):  # in a text "enalapril and timolol" are two drugs, "enalapril-timolol" is one
        parts = [generic.get(part, "") for part in _LISTED.split(name)]
        if len(parts) > 1 and all(parts):
            generic[name] = _JOINED.join(parts)
    found: dict[str, str] = {}
    spelled: dict[str, dict[str, None]] = {}
    for name in generic.values():
        found.setdefault(phrase_key(name), name)
        spelled.setdefault(name, {})
    struck_keys = {phrase_key(name) for name in struck}
    named = [*((name, name) for name in sorted(kept)), *((name, of) for of, name in generic.items() if _JOINED in name)]
    for variant, canonical in [*named, *variants.items()]:
        is_name = canonical in kept and not (_JOINED in generic[canonical] and _LISTED.search(variant))
        if is_name and (key := phrase_key(variant)) not in struck_keys and _is_long_enough(key):
            name = found.setdefault(key, generic[canonical])
            spelled.setdefault(name, {})[variant] = None
    for name, aliases in ours.items():
        own = spelled.setdefault(name, {})
        for alias in (name, *aliases):
            own[alias] = None
            former = found.get(phrase_key(alias), name)
            found[phrase_key(alias)] = name
            if former != name and phrase_key(former) == phrase_key(alias):  # the dictionary's drug is the same as ours
                for other in spelled.pop(former, {}):
                    own[other] = None
                    found[phrase_key(other)] = name
            elif former != name:
                spelled[former].pop(alias, None)
    phrases: dict[str, list[str]] = {}
    for phrase, name in found.items():
        phrases.setdefault(name, []).append(phrase)
    return {
        "phrases": {name: "\n".join(keys) for name, keys in phrases.items()},
        "synonyms": {name: "\n".join(dict.fromkeys((name, *others))) for name, others in spelled.items()},
        "common": ours,
    }


def _is_drug(name: str, record: Mapping[str, Any], under_own_name: bool) -> bool:
    """Whether a dictionary record is a drug, judged by where it was listed.

    The dictionary's authors removed common words ("water", "oat") from the names but left their records: a record not
    found under its own name counts as a drug only if there is patient information on it. So does one whose name begins
    with a digit: a chemical's, as drugs have names of their own.
    """
    if "medline_plus_id" in record or "nhs_url" in record:
        return True
    trees: list[str] = record.get("mesh_tree", [])
    if "drugbank_id" not in record:
        return not trees and "/" in name and not name.startswith("template:")  # template pages of the source wiki
    if not under_own_name or name[0].isdigit():
        return False
    is_biological = cue_form(_BIOLOGICAL, __package__, 0).search(name) is not None
    return is_biological or not any(tree.startswith(_OF_THE_BODY) for tree in trees)


def _generic(name: str, kept: set[str], variants: Mapping[str, str]) -> str:
    """Return the drug's name without the salt if the dictionary lists it too, else the name without brackets."""
    bare = strip_salt(name).lower()
    if bare in kept:
        return bare
    itself = variants.get(bare, name)
    if itself != name and itself in kept:  # "salbutamol inhalers", where the drug is listed as albuterol
        return _generic(itself, kept, {})
    return _IN_PARENTHESES.sub("", name).strip() or name


def _is_long_enough(key: str) -> bool:
    """Whether a name contains a word long enough: "2 3", "he", "at 10" and "beta 2" do not."""
    return any(
        (len(word) if word.isalpha() else sum(map(str.isalpha, word))) >= SHORTEST_NAME and word not in _NO_NAME
        for word in key.split(" ")
    ) and not key.startswith(_CUT_OUT)


def strip_salt(name: str) -> str:
    """Return a drug's name without salt, ester or route: "enalapril" for "enalapril maleate"."""
    bare = _BIOLOGIC_SUFFIX.sub("", _IN_PARENTHESES.sub("", name).strip())
    before = cue_form("^{before the salt} ", __package__)
    after = cue_form("[ -](?:{salt}|{form})(?: and)?$", __package__)
    while (shorter := before.sub("", after.sub("", bare))) != bare:
        bare = shorter
    return bare


def find_drugs(text: str) -> list[Mention]:
    """Return the drugs named in a text, in order; foods, elements and the body's own substances are left out.

    >>> [(drug.name, drug.text) for drug in find_drugs("Inderal or propranolol HCl, with water")]
    [('propranolol', 'Inderal'), ('propranolol', 'propranolol HCl')]
    """
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
    return (name,) if generic is None else tuple(drug_names().synonyms[generic].split("\n"))


def common_drug_names(name: str) -> tuple[str, ...]:
    """Return the names of a drug worth searching for, the generic one first: common brands, salts and spellings."""
    generic = canonical_drug(name)
    return (generic, *drug_names().common.get(generic, ())) if generic else (name,)


def same_drug(a: str, b: str) -> bool:
    """Whether two names mean the same drug; unknown names are compared ignoring case."""
    one, other = canonical_drug(a), canonical_drug(b)
    return one == other if one and other else a.strip().casefold() == b.strip().casefold()


def withdrawal_of(name: str) -> str | None:
    """Return when, where and why a drug was withdrawn, with the source; None if no withdrawal is listed.

    >>> withdrawal_of("rofecoxib"), withdrawal_of("aspirin")
    ('worldwide, 2004: heart attack and stroke; PMID 24435895', None)
    """
    return _read_withdrawals().get(canonical_drug(name) or name)


@cache
def _read_withdrawals() -> Mapping[str, str]:
    return {
        row["name"]: f"{row['where']}, {row['year']}: {row['reason']}; {row['source'] or _UNCHECKED}"
        for row in read_table("withdrawn.tsv")
    }
