"""Whether a drug belongs to a class that a question asks about.

A class of the table has members, endings of names, or a use: a drug marketed for hypertension is a blood pressure drug.
Any other "… drugs" ("gout drugs") is a class by its use alone. Uses are those that the drug databases report.
"""

from collections.abc import Iterable, Sequence

from ..lexicon import canonical_class, canonical_condition, class_uses, condition_synonyms, is_class_member, is_generic
from ..ranking import stems

USE_ENDING = " drugs"  # of classes that a question names by a condition


def belongs(drug: str, marketed_for: Iterable[str], classes: Sequence[str]) -> bool:
    """Whether a drug belongs to any of the classes.

    Args:
        drug: its generic name.
        marketed_for: conditions that it is marketed for, as the drug databases name them.
        classes: as `ParsedQuestion.drug_classes` names them.

    >>> belongs("propranolol", (), ["beta-blockers"]), belongs("clonazepam", ["Epilepsy"], ["antiepileptic drugs"])
    (True, True)
    """
    indications = list(marketed_for)
    return any(
        is_class_member(drug, name) or any(is_use(each, use) for use in uses_of(name) for each in indications)
        for name in classes
    )


def uses_of(name: str) -> tuple[str, ...]:
    """The conditions by which a class is named; empty for a class named by what its drugs do."""
    return class_uses(name) if canonical_class(name) else (name.removesuffix(USE_ENDING),)


def is_use(indication: str, condition: str) -> bool:
    """Whether an indication is a condition or a form of it; one with another name of its own is none.

    >>> is_use("Hypertension", "hypertension"), is_use("Hypertension, Portal", "hypertension")
    (True, False)
    """
    held = frozenset(stems(indication))
    if not any(frozenset(stems(name)) <= held for name in condition_synonyms(condition)):
        return False
    named = canonical_condition(" ".join(reversed(indication.split(", ")))) or canonical_condition(indication)
    return named in (None, canonical_condition(condition)) or is_generic(condition)
