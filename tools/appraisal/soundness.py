"""The soundest part of the evidence for a drug, and each step that it leaves.

Records differ in what is wrong with them. A body of evidence is all records that have no other faults than those of a
given set; it takes the steps of these faults, and those for too few participants and for a trial that none repeats. The
best rated body stands. One more record can only make bodies larger, so that more support never costs a step.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Literal, NamedTuple

from ..reading.design import StudyDesign
from .trials_once import AppraisedItem

OPTIMAL_SIZE = 400  # participants; GRADE handbook 5.2.4.2, rule of thumb for continuous outcomes
HARDLY_ANY = 50  # participants; from so few a step more is taken (GRADE guidance 35, J Clin Epidemiol 2022)
FAR_LESS = 200  # participants; half of it, far less than the optimal size (GRADE guidance 34, J Clin Epidemiol 2022)
REPEATED = 100  # participants of the other trials from which the largest one is repeated; a quarter of the optimal size
MOST = 2  # steps that one domain can take (GRADE handbook 5.2), but for imprecision
HIGHEST = 3  # high
ALONE = 2  # moderate: the rank that a single trial can reach
ALONE_AND_SMALL = 1  # low: one small trial is what publication bias leaves (GRADE guidelines 5, J Clin Epidemiol 2011)
DOWN = ("", "Down one", "Down two", "Down three")

FaultKind = Literal[
    "open",
    "unblinded",
    "concern",
    "people",
    "unnamed",
    "complication",
    "outcome",
    "rival",
    "untested",
    "preprint",
    "disputed",
]
_DOMAINS = ("risk of bias", "indirect", "not reviewed", "disputed")
_FAULTS: Mapping[FaultKind, tuple[str, int]] = {
    "open": ("risk of bias", 1),
    "unblinded": ("risk of bias", 1),
    "concern": ("risk of bias", 1),
    "people": ("indirect", 1),
    "unnamed": ("indirect", 1),
    "complication": ("indirect", 1),
    "outcome": ("indirect", 1),
    "rival": ("indirect", 1),
    "untested": ("indirect", 2),
    "preprint": ("not reviewed", 2),
    "disputed": ("disputed", 1),
}
"""Domain and steps of each fault."""
_IN_SHORT: Mapping[FaultKind, str] = {
    "open": "open",
    "unblinded": "not reported to be blinded",
    "concern": "under an expression of concern",
    "people": "not in people with the condition",
    "unnamed": "not said to be on those asked about",
    "complication": "on a complication of the condition",
    "outcome": "measured by a marker",
    "rival": "without placebo or untreated group",
    "untested": "without placebo or untreated group",
    "preprint": "not peer-reviewed",
    "disputed": "read in two ways",
}


class Body(NamedTuple):
    """Records in support that are rated together."""

    rank: int
    """0 (very low) to 3 (high), before a single trial is held at moderate or low."""
    items: tuple[AppraisedItem, ...]
    steps: tuple[tuple[int, str], ...]
    """Number of steps down with the reason of each, none of them 0."""
    ceiling: int
    """The rank that it can reach: no more than moderate for a single trial, which nothing shows to be consistent, and
    no more than low for a small one."""

    def level(self, down: int = 0) -> int:
        """The rank after further steps down."""
        return min(self.ceiling, max(0, self.rank - down))


def soundest(items: Sequence[AppraisedItem], start: int, *, randomised: bool) -> Body | None:
    """Rate the soundest part of the records in support; None where there are none.

    Args:
        items: the records, in any order.
        start: rank from which they start.
        randomised: whether they are randomised: then blinding, comparison and repetition count.
    """
    marked = [(item, faults(item, randomised=randomised)) for item in sorted(items, key=repr)]
    present = sorted({kind for _, found in marked for kind in found})
    subsets = chain.from_iterable(combinations(present, n) for n in range(len(present) + 1))
    bodies = [
        _body(part, allowed, start, randomised=randomised)
        for allowed in subsets
        if (part := [pair for pair in marked if pair[1].keys() <= set(allowed)])
    ]
    return max(bodies, key=lambda b: (b.level(), b.rank, len(b.items)), default=None)


def left_out(items: Sequence[AppraisedItem], body: Body, *, randomised: bool) -> str:
    """What is worst about each record that is not in a body, by number; empty where all are in it."""
    rest = [faults(item, randomised=randomised) for item in items if item not in body.items]
    shared = {kind for item in body.items for kind in faults(item, randomised=randomised)}
    kinds = [_IN_SHORT[max((k for k in found if k not in shared), key=lambda k: _FAULTS[k][1])] for found in rest]
    return ", ".join(f"{kinds.count(words)} {words}" for words in sorted(set(kinds)))


def faults(item: AppraisedItem, *, randomised: bool) -> dict[FaultKind, str]:
    """What is wrong with a record, in words that follow "the trial is"."""
    return dict(_faults(item, randomised))


def _faults(item: AppraisedItem, randomised: bool) -> Iterator[tuple[FaultKind, str]]:
    if randomised and item.design is StudyDesign.rct_open:
        yield "open", "open: patients and doctors knew the treatment"
    if randomised and item.design is StudyDesign.rct:
        yield "unblinded", "not reported to be blinded"
    if randomised and item.concern:
        yield "concern", "under an expression of concern"
    if not item.direct:
        yield "people", "not in people with the condition asked about"
    if item.unnamed:
        yield "unnamed", f"not said to be on {item.unnamed}, who are asked about"
    if item.complication:
        yield "complication", "on a complication of the condition, not on the condition itself"
    if item.other_outcome:
        yield "outcome", f"measured by {item.other_outcome}"
    if randomised and item.rivals and not (item.rival_works and item.beats_rival):
        yield _without_placebo(item)
    if item.is_preprint:
        yield "preprint", "a preprint, not peer-reviewed"
    if item.disputed:
        yield "disputed", "read in two ways by its readers"


def _without_placebo(item: AppraisedItem) -> tuple[FaultKind, str]:
    """Two treatments alone tell as much as is known of the other one, or as that it was beaten.

    Where one is known to work and was beaten, nothing is wrong: what does better than that works.
    """
    other = f"compared with {item.rivals}, not with placebo or no treatment"
    if item.rival_works:
        return "rival", f"{other} (that {item.rivals} works is shown by other records here)"
    if item.beats_rival:
        return "rival", f"{other} (read as doing better than {item.rivals})"
    return "untested", f"{other} (no record here shows that the comparator works)"


Marked = Sequence[tuple[AppraisedItem, dict[FaultKind, str]]]


def _body(marked: Marked, allowed: Sequence[FaultKind], start: int, *, randomised: bool) -> Body:
    items = tuple(item for item, _ in marked)
    down: list[tuple[int, str]] = []
    if not start:
        return Body(0, items, (), HIGHEST)
    for domain in _DOMAINS:
        steps = [_FAULTS[kind][1] for kind in allowed if _FAULTS[kind][0] == domain]
        if steps:
            taken = min(MOST, sum(steps)) if domain == "indirect" else max(steps)
            down.append((taken, f"{domain}, {_told(marked, domain, randomised=randomised)}"))
    if few := _imprecision(items):
        down.append(few)
    rank = start - sum(step for step, _ in down)
    alone = randomised and _is_unrepeated(items)
    return Body(max(0, rank), items, tuple(down), (ALONE_AND_SMALL if few else ALONE) if alone else HIGHEST)


def _is_unrepeated(items: Sequence[AppraisedItem]) -> bool:
    """Whether hardly anybody took part in other trials than the largest; a review of trials repeats by itself."""
    if not all(map(_is_one_trial, items)):
        return False
    sizes = [item.sample_size or 0 for item in items]
    return sum(sizes) - max(sizes) < REPEATED


def _is_one_trial(item: AppraisedItem) -> bool:
    """A review counts as several trials, unless it is taken for the report of one."""
    return item.design is not StudyDesign.systematic_review or item.trial is not None


def _told(marked: Marked, domain: str, *, randomised: bool) -> str:
    """The faults of a domain with how many of the records have each."""
    noun = "trial" if randomised and all(_is_one_trial(item) for item, _ in marked) else "record"
    words = [text for _, found in marked for kind, text in found.items() if _FAULTS[kind][0] == domain]
    counts = {text: words.count(text) for text in sorted(words)}
    if len(marked) == 1:
        return f"the {noun} is {'; '.join(counts)}"
    of = len(marked)
    every = "both" if of == 2 else f"all {of}"
    many = {text: f"{n} of {of}" if n < of else every for text, n in counts.items()}
    return "; ".join(f"{share} {noun}s {text}" for text, share in many.items())


def _imprecision(items: Sequence[AppraisedItem]) -> tuple[int, str] | None:
    """Steps for the participants compared.

    A number that is not reported is not guessed: it adds nothing, and where one is missing one step is taken at most,
    since nobody knows that they were so few.
    """
    sizes = [item.sample_size for item in items]
    total, silent = sum(size or 0 for size in sizes), sum(size is None for size in sizes)
    if total >= OPTIMAL_SIZE:
        return None
    if silent == len(items):
        return 1, "imprecise, the number of participants is not reported"
    unsaid = f" ({silent} of {len(items)} do not report how many)" if silent else ""
    told = f"{total} participants were compared{unsaid}, a firm answer takes {OPTIMAL_SIZE}"
    if silent or total >= FAR_LESS:
        return 1, f"imprecise, {told}"
    return (MOST, f"very imprecise, only {told}") if total >= HARDLY_ANY else (MOST + 1, f"far too few, only {told}")
