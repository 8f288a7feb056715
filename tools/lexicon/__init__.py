"""Names of drugs, drug classes and conditions, found in text without a model."""

from .conditions import (
    ConditionMention,
    asked_condition,
    canonical_condition,
    condition_synonyms,
    find_conditions,
    find_deeds,
    find_people,
    is_generic,
    related_conditions,
)
from .drug_classes import (
    ClassMention,
    canonical_class,
    class_members,
    class_synonyms,
    find_drug_classes,
    is_class_member,
)
from .drugs import (
    DrugMention,
    canonical_drug,
    common_drug_names,
    drug_synonyms,
    find_chemicals,
    find_drugs,
    same_drug,
    withdrawn,
)

__all__ = [
    "ClassMention",
    "ConditionMention",
    "DrugMention",
    "asked_condition",
    "canonical_class",
    "canonical_condition",
    "canonical_drug",
    "class_members",
    "class_synonyms",
    "common_drug_names",
    "condition_synonyms",
    "drug_synonyms",
    "find_chemicals",
    "find_conditions",
    "find_deeds",
    "find_drug_classes",
    "find_drugs",
    "find_people",
    "is_class_member",
    "is_generic",
    "related_conditions",
    "same_drug",
    "withdrawn",
]
