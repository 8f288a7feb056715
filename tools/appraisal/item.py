"""One record as the appraisal sees it: what is rated together, which trials are folded, and what it weighs."""

from pydantic import BaseModel

from ..reading.design import StudyDesign
from .direction import Direction
from .stopping import StoppingKind

_DESIGN_WEIGHT = {1: 16, 2: 16, 3: 8, 4: 4, 5: 1, 6: 1}  # by tier: each Oxford level counts twice the next but one
_OPEN_WEIGHT = 12  # a randomised trial that is open, or does not say: risk of bias (Cochrane Handbook 8)
_STOPPED_WEIGHT = 12  # a trial stopped for harm or futility: randomised as a rule, reported by its sponsor alone


class AppraisedItem(BaseModel, frozen=True, extra="forbid"):
    """One record as the appraisal sees it."""

    key: str
    design: StudyDesign
    direction: Direction
    leans: Direction | None = None
    """Where it would stand if its reading were surer; None where it is sure, or says nothing."""
    chance: float = 0.0
    """Of standing where it leans, from 0 to 1 as its reader has it; 0 where it leans nowhere."""
    sample_size: int | None = None
    """Participants of the comparison; None means that it is not reported."""
    is_preprint: bool = False
    retracted: bool | None = None
    """None means that it could not be checked."""
    concern: bool | None = None
    """Whether an expression of concern stands; None means that it could not be checked."""
    trial_status: str | None = None
    """`TERMINATED` and the like; None means that the record is no registered trial or does not say."""
    why_stopped_kind: StoppingKind | None = None
    """None means that the trial was not stopped or no reason is reported."""
    against_nothing: bool | None = None
    """Whether it compares with placebo or no treatment; None means that it does not say."""
    hedged: bool = False
    """Whether it supports in guarded words alone: may, promising, a trend."""
    direct: bool = True
    """Whether drug and condition are those asked about, in people."""
    complication: bool = False
    """Whether it is a complication of the condition that was treated, and not the condition itself."""
    other_outcome: str | None = None
    """By what its outcome was measured, where that is a mere marker of the condition; None means that it is none."""
    rivals: str | None = None
    """What a trial without placebo or untreated group compares the drug with; None means that it has one."""
    rival_works: bool = False
    """Whether other records of the pool show that this works."""
    beats_rival: bool = False
    """Whether the drug did better than this, not as well."""
    disputed: str | None = None
    """What each reader says of it, where they disagree; None means that they agree or that one alone read it."""
    trial: str | None = None
    """NCT number of the trial that it reports; None where it reports none, several, or does not say."""


def standing(item: AppraisedItem) -> Direction:
    """Where an item stands: a trial stopped for harm or futility is against, one stopped otherwise says nothing."""
    if item.why_stopped_kind in ("safety", "futility"):
        return Direction.contradicts
    if item.why_stopped_kind == "administrative" and item.direction is Direction.unclear:
        return Direction.neutral
    return item.direction


def weight(item: AppraisedItem) -> int:
    """Weight of an item in the balance: halved for each of preprint, concern, guarded words, indirectness, doubt."""
    is_open = item.design in (StudyDesign.rct, StudyDesign.rct_open)
    base = _OPEN_WEIGHT if is_open else _DESIGN_WEIGHT[item.design.tier]
    if item.why_stopped_kind in ("safety", "futility"):
        base = max(base, _STOPPED_WEIGHT)
    is_indirect = not item.direct or item.complication or bool(item.other_outcome)
    return base * 8 >> sum((item.is_preprint, bool(item.concern), item.hedged, is_indirect, bool(item.leans)))
