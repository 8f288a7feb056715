"""One record as the appraisal sees it, what it weighs, and one trial once, however many records report it.

The unit of evidence is the study, not its reports (Cochrane Handbook, chapter 4,
https://www.cochrane.org/authors/handbooks-and-manuals/handbook/current/chapter-04). Records of one trial share its NCT
number or acronym, or its participants where it names neither; one of them stands for all. Where they disagree, the
results that the registry posts for the registered primary outcome decide, and with them a stop for harm or futility;
where papers alone disagree, the trial counts as neutral.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import NamedTuple

from pydantic.dataclasses import dataclass

from ..reading.design import RANDOMISED, StudyDesign
from ..reading.reading import Verdict
from ..reading.registry_entries import StoppingKind

BY_SIZE = " participants"
"""How the name of a trial ends that is told by its participants, with its first author or without."""
_DESIGN_WEIGHT = {1: 16, 2: 16, 3: 8, 4: 4, 5: 1, 6: 1}  # by tier: each Oxford level counts twice the next but one
_SAME_SIZE = 500
_OPEN_WEIGHT = 12  # a randomised trial that is open, or does not say: risk of bias (Cochrane Handbook 8)
_STOPPED_WEIGHT = 12  # a trial stopped for harm or futility: randomised as a rule, reported by its sponsor alone


class Direction(StrEnum):
    """Whether a record speaks for or against a drug in a condition."""

    supports = "supports"
    contradicts = "contradicts"
    neutral = "neutral"
    unclear = "unclear"
    """It says nothing of the drug's efficacy in the condition, or nothing that could be read."""


def direction_of(verdict: Verdict) -> Direction:
    """The direction that a verdict stands for; `none` is unclear."""
    return Direction.unclear if verdict == "none" else Direction(verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AppraisedItem:
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
    unnamed: str | None = None
    """Men, children, … who are asked about and of whom the record does not speak; None where there are none."""
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
    """NCT number or acronym of the trial that it reports, or first author and participants of one that has neither;
    None where it reports none, several, or does not say."""

    @property
    def effective_direction(self) -> Direction:
        """The direction that counts: a trial stopped for harm or futility is against, one stopped otherwise neutral."""
        if self.why_stopped_kind in ("safety", "futility"):
            return Direction.contradicts
        if self.why_stopped_kind == "administrative" and self.direction is Direction.unclear:
            return Direction.neutral
        return self.direction

    @property
    def is_named(self) -> bool:
        """Whether its trial is known by a name or a number of its own."""
        return self.trial is not None and not self.trial.endswith(BY_SIZE)


def weight(item: AppraisedItem) -> int:
    """Weight of an item in the balance: halved for each of preprint, concern, guarded words, indirectness."""
    is_open = item.design in (StudyDesign.rct, StudyDesign.rct_open)
    base = _OPEN_WEIGHT if is_open else _DESIGN_WEIGHT[item.design.tier]
    if item.why_stopped_kind in ("safety", "futility"):
        base = max(base, _STOPPED_WEIGHT)
    is_indirect = not item.direct or item.complication or bool(item.unnamed or item.other_outcome)
    return base * 8 >> sum((item.is_preprint, bool(item.concern), item.hedged, is_indirect))


_DECIDED = (Direction.supports, Direction.contradicts)
_GRAVEST: Sequence[StoppingKind] = ("safety", "futility", "administrative")
_SOUNDEST = {
    StudyDesign.rct_blinded: 0,
    StudyDesign.systematic_review: 1,
    StudyDesign.rct: 2,
    StudyDesign.rct_open: 3,
}


class OnePerTrial(NamedTuple):
    """Items of which no two report the same trial."""

    counted: list[AppraisedItem]
    folded: list[str]
    """Keys of the records for which another one stands."""
    notes: list[str]
    """What was folded into what, and where records of a trial disagree."""


def one_per_trial(items: Sequence[AppraisedItem]) -> OnePerTrial:
    """Let one item stand for each trial; the order of the items does not matter.

    Randomised trials of a drug that name no trial and have as many participants as another one, `_SAME_SIZE` or
    more, are taken for it: of 23 such sets of labelled records that test one drug, 22 are of one trial.

    Args:
        items: on one drug and condition, none of them retracted.
    """
    by_size: dict[int, list[AppraisedItem]] = {}
    for item in items:
        if item.design in RANDOMISED and (item.sample_size or 0) >= _SAME_SIZE:
            by_size.setdefault(item.sample_size or 0, []).append(item)
    alike: dict[int, str] = {}
    for size, group in by_size.items():
        names = {item.trial for item in group if item.trial and item.is_named}
        if len(names) < 2 and len(_decided(group)) < 2:
            alike[size] = next(iter(names), f"{size:,}{BY_SIZE}")
    by_trial: dict[str | None, list[AppraisedItem]] = {}
    for item in items:
        same = None if item.is_named or item.design not in RANDOMISED else alike.get(item.sample_size or 0)
        by_trial.setdefault(same or item.trial, []).append(item)
    counted, folded, notes = by_trial.pop(None, []), list[str](), list[str]()
    for trial, group in sorted(by_trial.items()):
        if len(group) == 1:
            counted += group
            continue
        stands = _stands_for(group, trial)
        others = sorted(each.key for each in group if each.key != stands.key)
        counted.append(stands)
        folded += others
        said = "; ".join(
            sorted(f"{i.key} {i.effective_direction.value}" for i in group if i.effective_direction in _DECIDED)
        )
        disagree = f", although they disagree ({said})" if len(_decided(group)) > 1 else ""
        notes.append(f"{', '.join([stands.key, *others])} report one trial ({trial}) and count once{disagree}.")
    return OnePerTrial(counted, sorted(folded), notes)


def _decided(group: Iterable[AppraisedItem]) -> set[Direction]:
    return {item.effective_direction for item in group} & set(_DECIDED)


def _stands_for(group: Sequence[AppraisedItem], trial: str | None) -> AppraisedItem:
    """The item for a trial: the best of its reports, with what all of them know together.

    A report that says the opposite of what counts adds nothing but a stop for cause.
    """
    stopped = _decided(i for i in group if i.why_stopped_kind in ("safety", "futility"))
    told = stopped or _decided(i for i in group if i.key.startswith("nct:")) or _decided(group)
    if len(told) == 1:
        direction = next(iter(told))
        sharing = [i for i in group if i.effective_direction is direction]
    else:
        sharing = list(group)
        neutral = told or any(i.effective_direction is Direction.neutral for i in group)
        direction = Direction.neutral if neutral else Direction.unclear
    sizes = [i.sample_size for i in (*sharing, *(i for i in group if i.effective_direction not in _DECIDED))]
    rivals = _if_all(i.rivals for i in sharing)
    beside = [i for i in sharing if i.rivals == rivals]
    best = min(sharing, key=lambda i: (-weight(i), i.key.startswith("nct:"), i.key))
    kinds = {i.why_stopped_kind for i in group}
    concerns, against_nothing = {i.concern for i in sharing}, {i.against_nothing for i in sharing}
    return replace(
        best,
        trial=trial,
        direction=direction,
        design=min((i.design for i in sharing), key=lambda design: (_SOUNDEST.get(design, design.tier + 2), design)),
        sample_size=max((size for size in sizes if size is not None), default=None),
        disputed=min((i.disputed for i in sharing if i.disputed), default=None),
        is_preprint=all(i.is_preprint for i in sharing),
        concern=False if False in concerns else None if None in concerns else True,
        hedged=all(i.hedged for i in sharing),
        direct=any(i.direct for i in sharing),
        complication=all(i.complication for i in sharing),
        unnamed=_if_all(i.unnamed for i in sharing),
        other_outcome=_if_all(i.other_outcome for i in sharing),
        rivals=rivals,
        rival_works=any(i.rival_works for i in beside),
        beats_rival=any(i.beats_rival for i in beside),
        against_nothing=True if True in against_nothing else None if None in against_nothing else False,
        trial_status=min((i.trial_status for i in group if i.trial_status), default=None),
        why_stopped_kind=next((kind for kind in _GRAVEST if kind in kinds), None),
    )


def _if_all(values: Iterable[str | None]) -> str | None:
    """A fault of all reports; None where one of them is free of it."""
    found = list(values)
    return None if None in found else min(value for value in found if value is not None)
