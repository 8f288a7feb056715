"""Names of drugs, drug classes and conditions, found in text without a model."""

from willowbark.tools.lexicon.conditions import (
    ConditionMention,
    canonical_condition,
    condition_synonyms,
    find_conditions,
    related_conditions,
)
from willowbark.tools.lexicon.drug_classes import (
    ClassMention,
    canonical_class,
    class_members,
    class_synonyms,
    find_drug_classes,
)
from willowbark.tools.lexicon.drugs import (
    DrugMention,
    canonical_drug,
    common_drug_names,
    drug_synonyms,
    find_chemicals,
    find_drugs,
    same_drug,
)

__all__ = [
    "ClassMention",
    "ConditionMention",
    "DrugMention",
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
    "find_drug_classes",
    "find_drugs",
    "related_conditions",
    "same_drug",
]
