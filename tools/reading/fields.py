"""What the small reader tells: the fields of a drug in a condition, the roles of conditions, what sentences are for."""

from collections.abc import Mapping
from typing import Literal, get_args

from ..records.study import ConditionRole
from .reading import Comparator, Effect, IndicationKind, Match, OutcomeKind, Primary, Role, Verdict

FIELDS: Mapping[str, tuple[str, ...]] = {
    name: tuple(sorted(get_args(kind)))
    for name, kind in (
        ("verdict", Verdict),
        ("role", Role),
        ("match", Match),
        ("kind", OutcomeKind),
        ("effect", Effect),
        ("comparator", Comparator),
        ("primary", Primary),
        ("indication", IndicationKind),
        ("alone", Literal["alone", "not_alone"]),
    )
}
"""Fields predicted for a record with their values, in the order of the weights."""
CONDITION_ROLES: tuple[ConditionRole, ...] = get_args(ConditionRole)
"""In the order of the weights."""
PURPOSES = ("primary", "secondary", "harm", "conclusion", "other")
"""What a sentence is for: the result on the primary outcome, on another, of harm, the conclusion, anything else."""
