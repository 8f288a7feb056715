"""Appraisal: combine readings of records and rate the certainty of evidence for each candidate."""

from ..reading.reading import Direction
from .certainty import AppraisedItem, CandidateAppraisal, Certainty, CertaintyLevel, Level, Quality, appraise_candidate
from .posted import PostedFinding, SeriousEvents, find_posted_result

__all__ = [
    "AppraisedItem", "CandidateAppraisal", "Certainty", "CertaintyLevel", "Direction", "Level", "PostedFinding",
    "Quality", "SeriousEvents", "appraise_candidate", "find_posted_result",
]  # fmt: skip
