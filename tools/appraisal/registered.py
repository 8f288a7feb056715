"""What a registered trial says of a drug: a stop for harm or futility decides, then its posted results.

A registration states aims, and aims decide nothing. A trial that was stopped for other reasons is neutral unless its
posted results say more.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from willowbark.tools.evidence import Evidence

from ..reading.direction import Direction
from .item import AppraisedItem
from .posted import PostedFinding, posted_finding


class RegisteredTrial(NamedTuple):
    """A trial's item, and what it rests on."""

    item: AppraisedItem
    sentence: str
    """The posted analysis or the reason of the stop, to the letter; empty where there is neither."""
    posted: PostedFinding | None
    """None where no results are posted."""


def registered_trial(
    record: Evidence, item: AppraisedItem, drug: str, synonyms: Sequence[str] = (), *, on_purpose: bool = True
) -> RegisteredTrial:
    """Read the item of a registered trial.

    Args:
        record: of ClinicalTrials.gov.
        item: as `appraised_item` gives it; the direction that it read from the trial's prose is put right here.
        drug: the drug asked about.
        synonyms: its other names.
        on_purpose: whether the trial used the drug for what was asked (to prevent, to treat); else its results are
            neutral.
    """
    stopped, stop = (record.trial and record.trial.why_stopped) or "", item.why_stopped_kind
    posted = posted_finding(record, drug, synonyms)
    known: dict[str, Any] = {"direction": Direction.unclear, "hedged": False, "against_nothing": None}
    sentence = stopped
    if stop in ("safety", "futility"):
        known["direction"] = Direction.contradicts
    elif posted and posted.direction is not Direction.unclear:
        known |= {
            "direction": posted.direction if on_purpose else Direction.neutral,
            "design": posted.design,
            "against_nothing": posted.against_nothing,
        }
        sentence = posted.sentence
    elif stop == "administrative":
        known["direction"] = Direction.neutral
    return RegisteredTrial(item.model_copy(update=known), sentence, posted)
