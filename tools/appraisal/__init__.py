"""Appraisal: what readings of records amount to, by arithmetic alone, and how sure one can be of a candidate."""

from ..reading.design import StudyDesign
from ..reading.numbers import EffectSize, effect_sizes, followup_months
from ..reading.registry_entries import StoppingKind, why_stopped_kind
from ..reading.screening import addressed_to_machines, is_addressed_to_machines, readable, set_aside
from .certainty import (
    CandidateAppraisal,
    Certainty,
    CertaintyLevel,
    Level,
    Quality,
    appraise_candidate,
    is_refuted,
    rate_certainty,
)
from .posted import PostedFinding, SeriousEvents, posted_finding
from .trials_once import AppraisedItem, Direction

__all__ = [
    "AppraisedItem",
    "CandidateAppraisal",
    "Certainty",
    "CertaintyLevel",
    "Direction",
    "EffectSize",
    "Level",
    "PostedFinding",
    "Quality",
    "SeriousEvents",
    "StoppingKind",
    "StudyDesign",
    "addressed_to_machines",
    "appraise_candidate",
    "effect_sizes",
    "followup_months",
    "is_addressed_to_machines",
    "is_refuted",
    "posted_finding",
    "rate_certainty",
    "readable",
    "set_aside",
    "why_stopped_kind",
]
