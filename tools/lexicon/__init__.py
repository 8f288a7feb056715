"""Finds names of drugs, drug classes and conditions in text without a model."""

from .conditions import (
    asked_condition,
    canonical_condition,
    condition_synonyms,
    find_conditions,
    find_deeds,
    find_people,
    find_widened,
    is_generic,
)
from .drugs import (
    canonical_class,
    canonical_drug,
    class_members,
    class_synonyms,
    common_drug_names,
    contraindicated_in,
    contraindications_of,
    drug_synonyms,
    find_drug_classes,
    find_drugs,
    is_class_member,
    is_diagnostic,
    is_within,
    past_withdrawal_of,
    same_drug,
    withdrawal_of,
)

__all__ = [
    "asked_condition", "canonical_class", "canonical_condition", "canonical_drug", "class_members", "class_synonyms",
    "common_drug_names", "condition_synonyms", "contraindicated_in", "contraindications_of", "drug_synonyms",
    "find_conditions", "find_deeds", "find_drug_classes", "find_drugs", "find_people", "find_widened",
    "is_class_member", "is_diagnostic", "is_generic", "is_within", "past_withdrawal_of", "same_drug", "withdrawal_of",
]  # fmt: skip
