"""Appraisal: combine readings of records and rate the certainty of evidence for each candidate."""

from ..reading.reading import Direction
from .certainty import AppraisedItem, CandidateAppraisal, Certainty, CertaintyLevel, Level, Quality, appraise_candidate
from .posted import PostedFinding, SeriousEvents, posted_finding

__all__ = [
    "AppraisedItem", "CandidateAppraisal", "Certainty", "CertaintyLevel", "Direction", "Level", "PostedFinding",
    "Quality", "SeriousEvents", "appraise_candidate", "posted_finding",
]  # fmt: skip
