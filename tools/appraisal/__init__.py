"""Appraisal: what kind of study a record reports, what it found, and how sure one can be of a candidate."""

from ..reading.conclusion import conclusion_of
from ..reading.design import DesignFinding, StudyDesign, classify_design
from ..reading.direction import Direction, DirectionFinding, direction_of
from ..reading.effect import Effect, EffectFinding, effect_in, effect_of
from ..reading.numbers import EffectSize, Number, Phrase, PValue, effect_sizes, p_values
from ..reading.records import appraised_item, design_of, finding_of, prevents
from ..reading.reporting import arms, followup_months, phase, primary_outcome, sample_size
from ..reading.screening import addressed_to_machines, is_addressed_to_machines, readable, set_aside
from .certainty import (
    CandidateAppraisal,
    Certainty,
    CertaintyLevel,
    Quality,
    appraise,
    appraise_candidate,
    quality,
)
from .item import AppraisedItem
from .posted import PostedFinding, SeriousEvents, posted_finding
from .registered import RegisteredTrial, registered_trial
from .stopping import StoppingKind, why_stopped_kind

__all__ = [
    "AppraisedItem",
    "CandidateAppraisal",
    "Certainty",
    "CertaintyLevel",
    "DesignFinding",
    "Direction",
    "DirectionFinding",
    "Effect",
    "EffectFinding",
    "EffectSize",
    "Number",
    "PValue",
    "Phrase",
    "PostedFinding",
    "Quality",
    "RegisteredTrial",
    "SeriousEvents",
    "StoppingKind",
    "StudyDesign",
    "addressed_to_machines",
    "appraise",
    "appraise_candidate",
    "appraised_item",
    "arms",
    "classify_design",
    "conclusion_of",
    "design_of",
    "direction_of",
    "effect_in",
    "effect_of",
    "effect_sizes",
    "finding_of",
    "followup_months",
    "is_addressed_to_machines",
    "p_values",
    "phase",
    "posted_finding",
    "prevents",
    "primary_outcome",
    "quality",
    "readable",
    "registered_trial",
    "sample_size",
    "set_aside",
    "why_stopped_kind",
]
