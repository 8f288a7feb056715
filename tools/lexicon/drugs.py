"""Drugs in text: which are named, where, and under which generic name they are one and the same.

Which words name a drug is told by an open dictionary, put in order and pruned. It comes with the package
drug-named-entity-recognition (MIT), compiled by its authors from DrugBank's open vocabulary, MeSH, MedlinePlus and the
NHS: https://fastdatascience.com/drug-named-entity-recognition-python-library/. Its file is read without importing the
package, whose import builds tables that nothing here needs. Its `mesh_id` is that of a pharmacological action
(propranolol carries the one of "Vasodilator Agents"), so MeSH ids come from `drugs.tsv` alone.
"""

import bz2
import pickle
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ..whole_file import Table, cached_table
from .matching import Match, PhraseIndex, abbreviated, apart, cued, phrase_key, read_table, split_names

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
_said = partial(cued, package=__package__)
_IN_PARENTHESES = re.compile(r"\s*\([^)]*\)|,$")
_BIOLOGIC_SUFFIX = re.compile(r"-[a-z]{4}$")  # "ibalizumab-uiyk"
_NO_NAME = frozenset(
    ["alpha", "beta", "gamma", "delta", "epsilon", "kappa", "lambda", "omega", "type", "acid", "factor"]
)
_CUT_OUT = ("and ", "with ")  # pieces of the names of combinations
# MeSH trees of proteins, nucleic acids and of what a chemical does: what BC5CDR and chemists call no chemical.
_NO_CHEMICAL = ("D08", "D12.776", "D13.444", "D27", "D05.875")


@dataclass(frozen=True)
class DrugNames:
    """The names by which drugs are found, and what is known of each drug under its generic name."""

    phrases: Mapping[str, str]
    """Each name in the form of `phrase_key`, with the generic name it stands for."""
    synonyms: Mapping[str, str]
    """By generic name, which leads them: a name a line. As lists they would take twice the memory."""
    common: Mapping[str, Sequence[str]]
    """Of the synonyms, those of our own table: few and in wide use."""
    drugbank_ids: Mapping[str, str]
    mesh_ids: Mapping[str, str]

    @cached_property
    def index(self) -> PhraseIndex[str]:
        """Finds the names in text."""
        return PhraseIndex(self.phrases)


@cache
def drug_names() -> DrugNames:
    """The names of drugs alone, pruned of what is eaten, measured or made by the body.

    Pruning takes most of a second, so its outcome is kept in the user's cache until the dictionary or the rules change.
    """
    table = cached_table("drug-names", [_dictionary_file(), *_RULES], lambda: _by_generic(_drugs_alone()))
    phrases = {phrase: name for name, spelled in table["phrases"].items() for phrase in spelled.split("\n")}
    return DrugNames(**{**table, "phrases": phrases})


def _by_generic(names: DrugNames) -> Table:
    """The names as they are kept: each generic name once, with its phrases a line each."""
    phrases: dict[str, list[str]] = {}
    for phrase, name in names.phrases.items():
        phrases.setdefault(name, []).append(phrase)
    return {**asdict(names), "phrases": {name: "\n".join(spelled) for name, spelled in phrases.items()}}


def _drugs_alone() -> DrugNames:
    variants, records = _dictionary()
    classes = _names_of_classes()
    struck = {row["name"] for row in read_table("not_drugs.tsv")} | classes
    curated = {alias for row in read_table("drugs.tsv") for alias in (row["name"], *split_names(row["synonyms"]))}
    kept = {
        name
        for name, record in records.items()
        if name in curated
        or (not {name, strip_salt(name)} & classes and name not in struck and _is_drug(name, record, name in variants))
    }
    return _ordered(variants, records, kept, struck)


@cache
def chemical_names() -> DrugNames:
    """The names of chemicals, drugs or not; those of proteins and nucleic acids are left out."""
    variants, records = _dictionary()
    words = {row["name"] for row in read_table("not_drugs.tsv") if row["reason"] == "word or class, not one drug"}
    kept = {
        name
        for name, record in records.items()
        if name not in words and not any(tree.startswith(_NO_CHEMICAL) for tree in record.get("mesh_tree", ()))
    }
    return _ordered(variants, records, kept, words)


def strip_salt(name: str) -> str:
    """A drug's name without its salt, ester or route: "enalapril maleate" is enalapril."""
    bare = _BIOLOGIC_SUFFIX.sub("", _IN_PARENTHESES.sub("", name).strip())
    before, after = _salts()
    while (shorter := before.sub("", after.sub("", bare))) != bare:
        bare = shorter
    return bare


@cache
def _salts() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Salts, esters and routes, before a drug's name and after it."""
    return (
        re.compile(rf"^{_said('before the salt').pattern} ", re.IGNORECASE),
        re.compile(rf"[ -](?:{_said('salt').pattern}|{_said('form').pattern})(?: and)?$", re.IGNORECASE),
    )


@cache
def _biological() -> re.Pattern[str]:
    """Stems of international nonproprietary names for biologicals.

    https://www.who.int/teams/health-product-and-policy-standards/inn/stembook
    """
    return re.compile(
        rf"(?:{_said('biological').pattern}|insulin \w+|\w+ vaccine)"
        r"( (alfa|alpha|beta|gamma|delta|pegol|vedotin)\b.*)?$"
    )


@cache
def _dictionary() -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """The package's variants (each to one canonical name) and its records by canonical name.

    Raises:
        ModuleNotFoundError: the package is not installed.
    """
    with bz2.open(_dictionary_file()) as packed:
        loaded = pickle.load(packed)  # noqa: S301  # an installed dependency's own file, trusted as its code is
    variants = {variant: canonicals[0] for variant, canonicals in loaded["drug_variant_to_canonical"].items()}
    return variants, loaded["drug_canonical_to_data"]


def _dictionary_file() -> Path:
    """Where the package keeps it.

    Raises:
        ModuleNotFoundError: the package is not installed.
    """
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"No module named {PACKAGE!r}; install drug-named-entity-recognition", name=PACKAGE)
    return Path(spec.origin).with_name(DICTIONARY)


def _names_of_classes() -> set[str]:
    """Names of classes of drugs: the dictionary lists some ("estrogen") among the drugs."""
    rows = read_table("drug_classes.tsv")
    return {name for row in rows for name in (row["name"], *split_names(row["synonyms"]))}


def _is_drug(name: str, record: Mapping[str, Any], under_own_name: bool) -> bool:
    """Whether a record of the dictionary is a drug by where it was listed.

    The dictionary's authors removed common words ("water", "oat") from the names but left their records: a record that
    is not found under its own name is no drug unless patients are informed about it as one.
    """
    if "medline_plus_id" in record or "nhs_url" in record:
        return True
    trees: list[str] = record.get("mesh_tree", [])
    if "drugbank_id" not in record:
        return not trees and "/" in name and not name.startswith("template:")  # pages of the wiki it was read from
    if not under_own_name:
        return False
    return not any(tree.startswith(_OF_THE_BODY) for tree in trees) or _biological().search(name) is not None


def _ordered(
    variants: Mapping[str, str], records: Mapping[str, Mapping[str, Any]], kept: set[str], struck: Iterable[str]
) -> DrugNames:
    generic = {name: _generic(name, kept, variants) for name in sorted(kept)}
    found: dict[str, str] = {}
    spelled: dict[str, dict[str, None]] = {}
    numbered = {name: records[name]["drugbank_id"] for name in sorted(kept) if "drugbank_id" in records[name]}
    # A salt's own number stands for the drug only where the drug has none.
    drugbank_ids = {generic[name]: number for name, number in numbered.items()}
    drugbank_ids |= {name: number for name, number in numbered.items() if generic[name] == name}
    for name in generic.values():
        found.setdefault(phrase_key(name), name)
        spelled.setdefault(name, {})
    struck_keys = {phrase_key(name) for name in struck}
    for variant, canonical in [*((name, name) for name in sorted(kept)), *variants.items()]:
        if canonical in kept and (key := phrase_key(variant)) not in struck_keys and _is_long_enough(key):
            name = found.setdefault(key, generic[canonical])
            spelled.setdefault(name, {})[variant] = None
    mesh_ids: dict[str, str] = {}
    common: dict[str, tuple[str, ...]] = {}
    for row in read_table("drugs.tsv"):
        common[row["name"]] = split_names(row["synonyms"])
        _add_curated(row, found, spelled)
        for ids, column in ((drugbank_ids, "drugbank_id"), (mesh_ids, "mesh_id")):
            if row[column]:
                ids[row["name"]] = row[column]
    synonyms = {name: "\n".join(dict.fromkeys((name, *others))) for name, others in spelled.items()}
    return DrugNames(found, synonyms, common, drugbank_ids, mesh_ids)


def _add_curated(row: Mapping[str, str], found: dict[str, str], spelled: dict[str, dict[str, None]]) -> None:
    """Enter a drug of our own table; its names draw the dictionary's drugs of those names into one."""
    name = row["name"]
    ours = spelled.setdefault(name, {})
    for alias in (name, *split_names(row["synonyms"])):
        ours[alias] = None
        former = found.get(phrase_key(alias), name)
        found[phrase_key(alias)] = name
        if former != name and phrase_key(former) == phrase_key(alias):
            for other in spelled.pop(former, {}):
                ours[other] = None
                found[phrase_key(other)] = name
        elif former != name:
            spelled[former].pop(alias, None)


def _generic(name: str, kept: set[str], variants: Mapping[str, str]) -> str:
    """The name of the drug itself, when the dictionary also lists it, else the name as it is without brackets."""
    bare = strip_salt(name).lower()
    if bare in kept:
        return bare
    itself = variants.get(bare, name)
    if itself != name and itself in kept:  # "salbutamol inhalers", where the drug is listed as albuterol
        return _generic(itself, kept, {})
    return _IN_PARENTHESES.sub("", name).strip() or name


def _is_long_enough(key: str) -> bool:
    """Whether a name has a word of its own: "2 3", "he", "at 10" and "beta 2" have none."""
    return any(
        (len(word) if word.isalpha() else sum(map(str.isalpha, word))) >= SHORTEST_NAME and word not in _NO_NAME
        for word in key.split(" ")
    ) and not key.startswith(_CUT_OUT)


_SALT_AFTER = re.compile(
    r"[ -](?:mono|di|bi|hemi)?(?:hydrochloride|hydrobromide|maleate|malate|mesylate|mesilate|besylate|besilate|"
    r"tartrate|fumarate|succinate|citrate|sulph?ate|phosphate|nitrate|tosylate|carbonate|HCl|hcl)\b"
)
# Measured in the body as often as given as a drug.
_ALSO_OF_THE_BODY = frozenset(
    (
        "ascorbic acid|calcitriol|cholecalciferol|ergocalciferol|erythropoietin|estradiol|folic acid|glucagon|"
        "hydrocortisone|insulin|iron|levothyroxine|liothyronine|magnesium|melatonin|oxytocin|parathyroid hormone|"
        "potassium|progesterone|somatostatin|testosterone|vasopressin|vitamin a|vitamin b12|vitamin d|vitamin e|zinc"
    ).split("|")
)


@dataclass(frozen=True, slots=True)
class DrugMention:
    """A drug named in a text."""

    name: str
    """The generic name, lower case, the same for salts, brands and synonyms."""
    text: str
    """The words of the text, as they stand."""
    start: int
    """Character offset of the first letter."""
    end: int
    """Character offset after the last letter."""
    drugbank_id: str | None
    """None: not known to the lexicon."""
    mesh_id: str | None
    """The MeSH descriptor. None: not confirmed."""
    as_cause: bool = False
    """The text blames the drug ("lithium-induced tremor"), or makes a disease model with it."""


def find_drugs(text: str) -> list[DrugMention]:
    """The drugs that a text names, in its order; foods, elements and the body's own substances are left out.

    >>> [(drug.name, drug.text) for drug in find_drugs("Inderal or propranolol HCl, with water")]
    [('propranolol', 'Inderal'), ('propranolol', 'propranolol HCl')]
    """
    names = drug_names()
    named = [match for match in names.index.find(text) if _is_meant(match, text)]
    return [_mention(names, match, text) for match in apart(named, abbreviated(text, named))]


def find_chemicals(text: str) -> list[DrugMention]:
    """All chemicals that a text names, drugs or not: wider than `find_drugs`, and no source of candidates."""
    names = chemical_names()
    named = list(names.index.find(text))
    return [_mention(names, match, text) for match in apart(named, abbreviated(text, named))]


def canonical_drug(name: str) -> str | None:
    """The generic name of a drug under any of its names; None when it is no known drug.

    >>> canonical_drug("Chantix"), canonical_drug("water")
    ('varenicline', None)
    """
    names = drug_names()
    return names.index.get(name) or names.index.get(strip_salt(name))


def drug_synonyms(name: str) -> tuple[str, ...]:
    """All known names of a drug, the generic one first; only the name as given when it is not known."""
    generic = canonical_drug(name)
    return (name,) if generic is None else tuple(drug_names().synonyms[generic].split("\n"))


def common_drug_names(name: str) -> tuple[str, ...]:
    """The names of a drug worth searching for, the generic one first: brands, salts and spellings in wide use."""
    generic = canonical_drug(name)
    return (generic, *drug_names().common.get(generic, ())) if generic else (name,)


def same_drug(a: str, b: str) -> bool:
    """Whether two names stand for one drug; unknown names are compared letter by letter, blind to case."""
    one, other = canonical_drug(a), canonical_drug(b)
    return one == other if one and other else a.strip().casefold() == b.strip().casefold()


_UNCHECKED = "not yet checked, ask the regulator"


def withdrawn(name: str) -> str | None:
    """When, where and why a drug was taken off a market, and who says so; None where none was, as far as is listed.

    >>> withdrawn("rofecoxib"), withdrawn("aspirin")
    ('worldwide, 2004: heart attack and stroke; PMID 24435895', None)
    """
    return _withdrawn().get(canonical_drug(name) or name)


@cache
def _withdrawn() -> dict[str, str]:
    return {
        row["name"]: f"{row['where']}, {row['year']}: {row['reason']}; {row['source'] or _UNCHECKED}"
        for row in read_table("withdrawn.tsv")
    }


class _Beside(NamedTuple):
    """What words beside a name say of it."""

    another: re.Pattern[str]
    """After it: "insulin resistance", "aldosterone antagonist", "nicotine dependence" speak of a body's substance, of
    another drug or of a condition, not of the drug as given."""
    level: re.Pattern[str]
    measured: re.Pattern[str]
    """Before it."""
    cause: re.Pattern[str]


@cache
def _beside() -> _Beside:
    another, level, measured, cause = (
        _said(name).pattern for name in ("not the drug", "level", "measured in", "cause")
    )
    told = (rf"[\s-]+{another}", rf"\s+{level}", rf"{measured}\s+$", rf"[-\u2010\u2011 ]{cause}")
    return _Beside(*(re.compile(each, re.IGNORECASE) for each in told))


def _is_meant(match: Match[str], text: str) -> bool:
    written = text[match.start : match.end]
    # Short brand names are also common words; in lower case only a short form of the generic name counts.
    if len(written) < 6 and written.islower() and not match.value.startswith(written[:4]):
        return False
    beside = _beside()
    if beside.another.match(text, match.end):
        return False
    measured = beside.level.match(text, match.end) or beside.measured.search(text[: match.start][-14:])
    return not (measured and match.value in _ALSO_OF_THE_BODY)


def _mention(names: DrugNames, match: Match[str], text: str) -> DrugMention:
    salt = _SALT_AFTER.match(text, match.end)
    end = salt.end() if salt else match.end
    return DrugMention(
        name=match.value,
        text=text[match.start : end],
        start=match.start,
        end=end,
        drugbank_id=names.drugbank_ids.get(match.value),
        mesh_id=names.mesh_ids.get(match.value),
        as_cause=_beside().cause.match(text, end) is not None,
    )
