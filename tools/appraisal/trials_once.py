"""The appraised item of one study, and de-duplication so that each trial counts once (Cochrane Handbook, chapter 4).

Records of one trial share its NCT number or acronym, or its number of participants if it names neither; one of them
represents the trial. If they disagree, a stop for harm or futility decides, else the results posted for the registered
primary outcome; if only papers disagree, the trial is inconclusive.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Literal, NamedTuple

from pydantic.dataclasses import dataclass

from ..reading.design import RANDOMISED, StudyDesign
from ..reading.reading import Comparator, Indication, Primary, Verdict
from ..reading.registry_entries import StoppingKind

BY_SIZE = " participants"
"""Suffix of a trial label built from its size, with or without its first author."""
UNREPORTED_SIZE = 100  # participants assumed for a study of unreported size
_SAME_SIZE = 500


class Direction(StrEnum):
    """Direction of a study's main comparison for a drug in a condition."""

    supports = "supports"
    contradicts = "contradicts"
    inconclusive = "inconclusive"
    not_assessed = "not assessed"
    """Efficacy in the condition is not reported, or could not be read."""


def direction_of(verdict: Verdict) -> Direction:
    """Convert a reader's verdict to a direction."""
    return Direction({"neutral": "inconclusive", "none": "not assessed"}.get(verdict, verdict))


Tier = Literal["randomised", "observational", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppraisedItem:
    """Appraisal of one record for one drug: the fields that certainty is rated from and the report shows."""

    key: str
    design: StudyDesign
    direction: Direction
    sample_size: int | None = None
    """Participants in the drug's own comparison; None: not reported."""
    tested: bool = True
    """Whether the study tests the drug, rather than using it as comparator or mentioning it in passing."""
    alone: bool = True
    """Whether the drug's own effect is separable; False in a combination whose parts were not compared."""
    comparator: Comparator = "not_reported"
    against: str | None = None
    """The active comparator by name; None if there is none or it is not named."""
    comparator_works: bool = False
    """Whether other studies in the report show with moderate or high certainty that the comparator works."""
    primary: Primary = "not_reported"
    indication: Indication = "condition"
    in_title: bool = True
    """Whether the title names the condition asked about, and no other one before it."""
    surrogate: bool = False
    """Whether the outcome is only a marker of the condition."""
    unnamed: str | None = None
    """Population asked about (men, children, …) that the record does not mention; None if there is none."""
    is_preprint: bool = False
    retracted: bool | None = None
    """None: could not be checked."""
    concern: bool | None = None
    """Whether there is an expression of concern; None: could not be checked."""
    trial_status: str | None = None
    """`TERMINATED` and the like; None if the record is not a registered trial or does not say."""
    why_stopped_kind: StoppingKind | None = None
    """None if the trial was not stopped or no reason is reported."""
    second_reader: str | None = None
    """Direction by the learned reader if a model also read the record; for display only. None without a model."""
    trial: str | None = None
    """NCT number or acronym of the trial it reports, or first author and participants if there is neither;
    None if it reports none or several, or does not say."""
    pools: tuple[str, ...] = ()
    """NCT numbers or acronyms of the trials in a pooled analysis; empty for others."""

    @property
    def tier(self) -> Tier:
        """The body of evidence it is rated with; studies that do not test the drug are other evidence."""
        if self.tested and (self.design in RANDOMISED or self.is_review):
            return "randomised"
        return "observational" if self.tested and self.design.tier == 4 else "other"

    @property
    def is_review(self) -> bool:
        """Whether it is a systematic review or meta-analysis."""
        return self.design is StudyDesign.systematic_review

    @property
    def weight(self) -> int:
        """Number of participants; `UNREPORTED_SIZE` if not reported."""
        return UNREPORTED_SIZE if self.sample_size is None else self.sample_size

    @property
    def against_nothing(self) -> bool:
        """Whether it compares with placebo, no treatment or usual care."""
        return self.comparator in ("placebo", "none")

    @property
    def is_sound(self) -> bool:
        """Whether it is blinded or placebo-controlled, peer-reviewed, and without an expression of concern."""
        blinded = self.design is StudyDesign.rct_blinded or self.comparator == "placebo"
        return blinded and not self.is_preprint and not self.concern

    @property
    def is_on_condition(self) -> bool:
        """Whether it is on the condition itself, in the population asked about, with a clinical outcome."""
        others = self.unnamed or self.surrogate or self.design.is_preclinical
        return self.indication == "condition" and not others

    @property
    def is_direct(self) -> bool:
        """Whether it is on the condition asked about and names it in the title."""
        return self.is_on_condition and self.in_title

    @property
    def is_named(self) -> bool:
        """Whether its trial has its own name or number."""
        return self.trial is not None and not self.trial.endswith(BY_SIZE)


class OnePerTrial(NamedTuple):
    """Items without duplicates of a trial, the keys of those represented by another one, and notes on both."""

    counted: list[AppraisedItem]
    folded: list[str]
    notes: list[str]


def one_per_trial(items: Sequence[AppraisedItem]) -> OnePerTrial:
    """Keep one item per trial, of items on one drug that are not retracted; their order does not matter.

    A randomised trial without a name and with the same number of participants as another, at least `_SAME_SIZE`, is
    taken to be that trial: of 23 such sets of labelled records that test one drug, 22 are of one trial. A pooled
    analysis counts only if none of its trials counts, and of several that share a trial only the largest counts.
    """
    by_size: dict[int, list[AppraisedItem]] = {}
    for item in items:
        if item.design in RANDOMISED and not item.pools and (item.sample_size or 0) >= _SAME_SIZE:
            by_size.setdefault(item.sample_size or 0, []).append(item)
    alike: dict[int, str] = {}
    for size, group in by_size.items():
        names = {item.trial for item in group if item.trial and item.is_named}
        if len(names) < 2 and len(_find_directions(group)) < 2:
            alike[size] = next(iter(names), f"{size:,}{BY_SIZE}")
    by_trial: dict[str | None, list[AppraisedItem]] = {}
    for item in items:
        same = None if item.is_named or item.design not in RANDOMISED or item.pools else alike.get(item.weight)
        by_trial.setdefault(same or item.trial, []).append(item)

    counted, folded, notes = by_trial.pop(None, []), list[str](), list[str]()
    for trial, group in sorted(by_trial.items()):
        stands = _select_report(group) if len(group) > 1 else group[0]
        counted.append(stands)
        if others := sorted(each.key for each in group if each.key != stands.key):
            folded += others
            said = sorted(f"{i.key} {i.direction.value}" for i in group if i.direction in _DECIDED)
            disagree = f", although they disagree ({'; '.join(said)})" if len(_find_directions(group)) > 1 else ""
            notes.append(f"{', '.join([stands.key, *others])} report one trial ({trial}) and count once{disagree}.")

    held = {item.trial: item.key for item in counted if item.trial}
    pooled = sorted((item for item in counted if item.pools), key=lambda item: (-item.weight, item.key))
    for item in pooled:
        if shared := [name for name in item.pools if name in held]:
            counted.remove(item)
            folded.append(item.key)
            notes.append(f"{item.key} pools {', '.join(shared)}, counted with {held[shared[0]]}.")
        else:
            held |= dict.fromkeys(item.pools, item.key)
    return OnePerTrial(counted, sorted(folded), notes)


_DECIDED = (Direction.supports, Direction.contradicts)


def _find_directions(group: Iterable[AppraisedItem]) -> set[Direction]:
    return {item.direction for item in group} & set(_DECIDED)


def _select_report(group: Sequence[AppraisedItem]) -> AppraisedItem:
    """Select the report that counts for a trial: of those that agree with it, the soundest, then the largest."""
    stopped = _find_directions(i for i in group if i.why_stopped_kind in ("safety", "futility"))
    posted = _find_directions(i for i in group if i.key.startswith("nct:"))
    told = stopped or posted or _find_directions(group)
    sharing = [i for i in group if i.direction in told] if len(told) == 1 else list(group)

    def order(item: AppraisedItem) -> tuple[object, ...]:
        is_entry = item.key.startswith("nct:")
        return not item.is_sound, not item.against_nothing, -item.weight, item.design.tier, is_entry, item.key

    best = min(sharing, key=order)
    if len(told) == 1:
        return best
    undecided = bool(told) or any(i.direction is Direction.inconclusive for i in group)
    return replace(best, direction=Direction.inconclusive if undecided else Direction.not_assessed)
