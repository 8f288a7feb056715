"""One study as the appraisal sees it, and one trial once, however many records report it.

The unit of evidence is the study, not its reports (Cochrane Handbook, chapter 4,
https://www.cochrane.org/authors/handbooks-and-manuals/handbook/current/chapter-04). Records of one trial share its NCT
number or acronym, or its participants where it names neither; one of them stands for all, with its own row. Where they
disagree, the results that the registry posts for the registered primary outcome decide, and with them a stop for harm
or futility; where papers alone disagree, the trial is inconclusive.
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
"""How the name of a trial ends that is told by its participants, with its first author or without."""
UNREPORTED_SIZE = 100  # participants that a study of unreported size weighs as
_SAME_SIZE = 500
_PRECLINICAL = frozenset({StudyDesign.in_vivo, StudyDesign.in_vitro, StudyDesign.in_silico})


class Direction(StrEnum):
    """What a study's main comparison says of a drug in a condition."""

    supports = "supports"
    contradicts = "contradicts"
    inconclusive = "inconclusive"
    not_assessed = "not assessed"
    """It says nothing of the drug's efficacy in the condition, or nothing that could be read."""


def direction_of(verdict: Verdict) -> Direction:
    """The direction that a reader's verdict stands for."""
    return {
        "supports": Direction.supports,
        "contradicts": Direction.contradicts,
        "neutral": Direction.inconclusive,
        "none": Direction.not_assessed,
    }[verdict]


Tier = Literal["randomised", "observational", "other"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AppraisedItem:
    """What one record says of one drug: all that its certainty is rated from, and a row of the report shows."""

    key: str
    design: StudyDesign
    direction: Direction
    sample_size: int | None = None
    """Participants of the drug's own comparison; None means that they are not reported."""
    tested: bool = True
    """Whether the study tests the drug: it is not the comparator of another one, and not named in passing."""
    alone: bool = True
    """Whether the drug's own part can be told; False in a combination whose parts were not compared."""
    comparator: Comparator = "not_reported"
    against: str | None = None
    """The active comparator by name; None where there is none or it is not named."""
    comparator_works: bool = False
    """Whether other studies of the same report show with moderate or high certainty that this comparator works."""
    primary: Primary = "not_reported"
    indication: Indication = "condition"
    in_title: bool = True
    """Whether the title names the condition asked about, and not just as that of people treated for another one."""
    surrogate: bool = False
    """Whether the outcome is a mere marker of the condition."""
    unnamed: str | None = None
    """Men, children, … who are asked about and of whom the record does not speak; None where there are none."""
    is_preprint: bool = False
    retracted: bool | None = None
    """None means that it could not be checked."""
    concern: bool | None = None
    """Whether an expression of concern stands; None means that it could not be checked."""
    trial_status: str | None = None
    """`TERMINATED` and the like; None means that the record is no registered trial or does not say."""
    why_stopped_kind: StoppingKind | None = None
    """None means that the trial was not stopped or no reason is reported."""
    second_reader: str | None = None
    """The direction that the rules' reader takes where a model read the record; it counts nowhere. None without one."""
    trial: str | None = None
    """NCT number or acronym of the trial that it reports, or first author and participants of one that has neither;
    None where it reports none, several, or does not say."""
    pools: tuple[str, ...] = ()
    """NCT numbers or acronyms of the trials that a pooled analysis names; empty for others."""

    @property
    def tier(self) -> Tier:
        """The body of evidence that it is rated with: whatever does not test the drug is other evidence."""
        if self.tested and (self.design in RANDOMISED or self.is_review):
            return "randomised"
        return "observational" if self.tested and self.design.tier in (3, 4) else "other"

    @property
    def is_review(self) -> bool:
        """Whether it is a systematic review or meta-analysis."""
        return self.design is StudyDesign.systematic_review

    @property
    def weight(self) -> int:
        """Participants; one of unreported size weighs `UNREPORTED_SIZE`."""
        return UNREPORTED_SIZE if self.sample_size is None else self.sample_size

    @property
    def against_nothing(self) -> bool:
        """Whether it compares with placebo, no treatment or usual care."""
        return self.comparator in ("placebo", "none")

    @property
    def is_sound(self) -> bool:
        """Whether it is blinded or placebo-controlled, reviewed by peers, and under no expression of concern."""
        blinded = self.design is StudyDesign.rct_blinded or self.comparator == "placebo"
        return blinded and not self.is_preprint and not self.concern

    @property
    def is_on_condition(self) -> bool:
        """Whether it is on the condition asked about itself, in those asked about, by an outcome that matters."""
        others = self.unnamed or self.surrogate or self.design in _PRECLINICAL
        return self.indication == "condition" and not others

    @property
    def is_direct(self) -> bool:
        """Whether it is on the condition asked about, as its title says too."""
        return self.is_on_condition and self.in_title

    @property
    def is_named(self) -> bool:
        """Whether its trial is known by a name or a number of its own."""
        return self.trial is not None and not self.trial.endswith(BY_SIZE)


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
    more, are taken for it: of 23 such sets of labelled records that test one drug, 22 are of one trial. A pooled
    analysis counts only where no trial that it names counts, and of several that share a trial only the largest does.

    Args:
        items: on one drug and condition, none of them retracted.
    """
    by_size: dict[int, list[AppraisedItem]] = {}
    for item in items:
        if item.design in RANDOMISED and not item.pools and (item.sample_size or 0) >= _SAME_SIZE:
            by_size.setdefault(item.sample_size or 0, []).append(item)
    alike: dict[int, str] = {}
    for size, group in by_size.items():
        names = {item.trial for item in group if item.trial and item.is_named}
        if len(names) < 2 and len(_decided(group)) < 2:
            alike[size] = next(iter(names), f"{size:,}{BY_SIZE}")
    by_trial: dict[str | None, list[AppraisedItem]] = {}
    for item in items:
        same = None if item.is_named or item.design not in RANDOMISED or item.pools else alike.get(item.weight)
        by_trial.setdefault(same or item.trial, []).append(item)

    counted, folded, notes = by_trial.pop(None, []), list[str](), list[str]()
    for trial, group in sorted(by_trial.items()):
        stands = _stands_for(group) if len(group) > 1 else group[0]
        counted.append(stands)
        if others := sorted(each.key for each in group if each.key != stands.key):
            folded += others
            said = sorted(f"{i.key} {i.direction.value}" for i in group if i.direction in _DECIDED)
            disagree = f", although they disagree ({'; '.join(said)})" if len(_decided(group)) > 1 else ""
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


def _decided(group: Iterable[AppraisedItem]) -> set[Direction]:
    return {item.direction for item in group} & set(_DECIDED)


def _stands_for(group: Sequence[AppraisedItem]) -> AppraisedItem:
    """The report that counts for a trial: of those that say what the trial says the soundest, then the largest."""
    stopped = _decided(i for i in group if i.why_stopped_kind in ("safety", "futility"))
    told = stopped or _decided(i for i in group if i.key.startswith("nct:")) or _decided(group)
    sharing = [i for i in group if i.direction in told] if len(told) == 1 else list(group)

    def order(item: AppraisedItem) -> tuple[object, ...]:
        is_entry = item.key.startswith("nct:")
        return not item.is_sound, not item.against_nothing, -item.weight, item.design.tier, is_entry, item.key

    best = min(sharing, key=order)
    if len(told) == 1:
        return best
    undecided = bool(told) or any(i.direction is Direction.inconclusive for i in group)
    return replace(best, direction=Direction.inconclusive if undecided else Direction.not_assessed)
