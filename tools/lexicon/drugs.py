"""Drugs in text: which are named, where, and under which generic name they are one and the same."""

import re
from dataclasses import dataclass
from functools import cache

from .drug_names import DrugNames, chemical_names, drug_names, strip_salt
from .matching import Match, abbreviated, apart, read_table

_SALT_AFTER = re.compile(
    r"[ -](?:mono|di|bi|hemi)?(?:hydrochloride|hydrobromide|maleate|malate|mesylate|mesilate|besylate|besilate|"
    r"tartrate|fumarate|succinate|citrate|sulph?ate|phosphate|nitrate|tosylate|carbonate|HCl|hcl)\b"
)
# "insulin resistance", "aldosterone antagonist", "nicotine dependence" speak of a body's substance, of another drug or
# of a condition, not of the drug as given.
_NOT_THE_DRUG_AFTER = re.compile(
    r"[\s-]+(?:like|receptors?|transporters?|synthases?|antagonis\w*|agonis\w*|blockers?|inhibit(?:or|ors|ion)|analog(?:ue)?s?|"
    r"antibod\w+|kinases?|resistan\w+|sensitivity|sensiti[sz]\w+|secretion|signal\w*|deficien\w+|dependen\w+|addict\w*|abuse\w*|"
    r"misuse|use disorders?|withdrawal|craving|smok\w+|poisoning)\b",
    re.IGNORECASE,
)
_LEVEL_AFTER = re.compile(r"\s+(?:levels?|concentrations?|status|intake)\b", re.IGNORECASE)
_LEVEL_BEFORE = re.compile(
    r"\b(?:serum|plasma|urinary|urine|blood|fasting|endogenous|circulating|dietary)\s+$", re.IGNORECASE
)
_CAUSE_AFTER = re.compile(r"[-\u2010\u2011 ](?:induced|associated|related|evoked)\b", re.IGNORECASE)
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
    return (name,) if generic is None else tuple(drug_names().synonyms[generic])


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


def _is_meant(match: Match[str], text: str) -> bool:
    written = text[match.start : match.end]
    # Short brand names are also common words; in lower case only a short form of the generic name counts.
    if len(written) < 6 and written.islower() and not match.value.startswith(written[:4]):
        return False
    if _NOT_THE_DRUG_AFTER.match(text, match.end):
        return False
    measured = _LEVEL_AFTER.match(text, match.end) or _LEVEL_BEFORE.search(text[: match.start][-14:])
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
        as_cause=_CAUSE_AFTER.match(text, end) is not None,
    )
