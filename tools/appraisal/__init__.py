"""Appraisal: what the records say of each drug, and how certain it is that the drug helps.

`candidates` finds the drugs in a run's records and appraises each: `appraised` gives one record for one drug its
direction, by the comparison that decides (`stance`) and how that fits the question (`fit`); `certainty` counts each
trial once and rates the body of evidence by GRADE's domains; `sorting` gives each drug its place. `posted` reads
registered results, `corrected` applies what people say, `judgement` what a judge says, `harms` and `suitability` tell
whom a drug harms or does not suit.
"""

from ..reading.reading import Direction
from .certainty import AppraisedItem, CandidateAppraisal, Certainty, CertaintyLevel, Level, Quality, appraise_candidate
from .posted import PostedFinding, SeriousEvents, find_posted_result

__all__ = [
    "AppraisedItem", "CandidateAppraisal", "Certainty", "CertaintyLevel", "Direction", "Level", "PostedFinding",
    "Quality", "SeriousEvents", "appraise_candidate", "find_posted_result",
]  # fmt: skip
