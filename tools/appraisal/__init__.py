"""Appraisal: combine readings of records and rate the certainty of evidence for each candidate."""

from .certainty import CandidateAppraisal, Certainty, CertaintyLevel, Level, Quality, appraise_candidate
from .posted import PostedFinding, SeriousEvents, posted_finding
from .trials_once import AppraisedItem, Direction

__all__ = [
    "AppraisedItem", "CandidateAppraisal", "Certainty", "CertaintyLevel", "Direction", "Level", "PostedFinding",
    "Quality", "SeriousEvents", "appraise_candidate", "posted_finding",
]  # fmt: skip
