"""One trial counts once, however many records report it.

The unit of evidence is the study, not its reports (Cochrane Handbook, chapter 4,
https://www.cochrane.org/authors/handbooks-and-manuals/handbook/current/chapter-04). Records of one trial share its NCT
number; one of them stands for all. Where they disagree, the results that the registry posts for the registered primary
outcome decide, and with them a stop for harm or futility; where papers alone disagree, the trial counts as neutral.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from .direction import Direction

if TYPE_CHECKING:
    from .certainty import AppraisedItem

_DECIDED = (Direction.supports, Direction.contradicts)


class OnePerTrial(NamedTuple):
    """Items of which no two report the same trial."""

    counted: "list[AppraisedItem]"
    folded: list[str]
    """Keys of the records for which another one stands."""
    notes: list[str]
    """What was folded into what, and where records of a trial disagree."""


def one_per_trial(
    items: "Sequence[AppraisedItem]",
    standing: "Callable[[AppraisedItem], Direction]",
    weight: "Callable[[AppraisedItem], int]",
) -> OnePerTrial:
    """Let one item stand for each trial; the order of the items does not matter.

    Args:
        items: none of them retracted.
        standing: where an item stands.
        weight: what it weighs.
    """
    by_trial: dict[str, list[AppraisedItem]] = {}
    for item in items:
        if item.trial:
            by_trial.setdefault(item.trial, []).append(item)
    counted, folded, notes = [item for item in items if not item.trial], [], []
    for trial, group in sorted(by_trial.items()):
        if len(group) == 1:
            counted += group
            continue
        stands, agree = _stands_for(group, standing, weight)
        others = sorted(each.key for each in group if each.key != stands.key)
        counted.append(stands)
        folded += others
        told = "" if agree else f", although they disagree ({_told(group, standing)})"
        notes.append(f"{', '.join([stands.key, *others])} report one trial ({trial}) and count once{told}.")
    return OnePerTrial(counted, sorted(folded), notes)


def _stands_for(
    group: "Sequence[AppraisedItem]",
    standing: "Callable[[AppraisedItem], Direction]",
    weight: "Callable[[AppraisedItem], int]",
) -> "tuple[AppraisedItem, bool]":
    """The item for a trial, with all that its records know together, and whether they agree."""
    registry = {standing(i) for i in group if i.key.startswith("nct:")} & set(_DECIDED)
    told = registry or {standing(i) for i in group} & set(_DECIDED)
    agree = len({standing(i) for i in group} & set(_DECIDED)) < 2
    if len(told) == 1:
        direction = next(iter(told))
        sharing = [i for i in group if standing(i) is direction]
    else:
        sharing = list(group)
        neutral = told or any(standing(i) is Direction.neutral for i in group)
        direction = Direction.neutral if neutral else Direction.unclear
    best = min(sharing, key=lambda i: (-weight(i), i.key.startswith("nct:"), i.key))
    stops = [i for i in group if i.why_stopped_kind]
    known = {
        "direction": direction,
        "sample_size": max((i.sample_size for i in group if i.sample_size is not None), default=None),
        "trial_status": _first(i.trial_status for i in group),
        "why_stopped_kind": _first(i.why_stopped_kind for i in stops),
    }
    return best.model_copy(update=known), agree


def _first(values: Iterable[str | None]) -> str | None:
    return min((value for value in values if value), default=None)


def _told(group: "Sequence[AppraisedItem]", standing: "Callable[[AppraisedItem], Direction]") -> str:
    return "; ".join(sorted(f"{i.key} {standing(i).value}" for i in group if standing(i) in _DECIDED))
