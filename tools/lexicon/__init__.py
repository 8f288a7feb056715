"""Finds names of drugs, drug classes and conditions in text, by tables and without a model.

`drugs` and `conditions` give each mention its common name; `tree` tells by MeSH whether a condition is a form, a
complication or a wider term of another; `matching` searches for many phrases at once and compiles the cues of tables.
"""

from .conditions import (
    canonical_condition,
    condition_synonyms,
    find_conditions,
    find_deeds,
    find_described_condition,
    find_people,
    find_widened,
    is_generic,
)
from .drugs import (
    canonical_class,
    canonical_drug,
    common_drug_names,
    drug_synonyms,
    find_drug_classes,
    find_drugs,
    find_past_withdrawal,
    find_withdrawal,
    is_class_member,
    is_diagnostic,
    is_same_drug,
    is_within,
    list_class_members,
    list_class_synonyms,
    list_contraindicated,
    list_contraindications,
)

__all__ = [
    "canonical_class",
    "canonical_condition",
    "canonical_drug",
    "common_drug_names",
    "condition_synonyms",
    "drug_synonyms",
    "find_conditions",
    "find_deeds",
    "find_described_condition",
    "find_drug_classes",
    "find_drugs",
    "find_past_withdrawal",
    "find_people",
    "find_widened",
    "find_withdrawal",
    "is_class_member",
    "is_diagnostic",
    "is_generic",
    "is_same_drug",
    "is_within",
    "list_class_members",
    "list_class_synonyms",
    "list_contraindicated",
    "list_contraindications",
]  # fmt: skip
