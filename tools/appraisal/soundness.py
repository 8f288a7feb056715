"""The soundest part of the evidence for a drug, and each step that it leaves.

Records differ in what is wrong with them. A body of evidence is all records that have no other faults than those of a
given set; it takes the steps of these faults, and those for too few participants and for a trial that none repeats. The
best rated body stands. One more record can only make bodies larger, so that more support never costs a step.
"""

from collections.abc import Mapping, Sequence
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
    "open", "unblinded", "concern", "people", "unnamed", "complication", "outcome", "rival", "untested", "preprint",
    "disputed",
]  # fmt: skip
_DOMAINS = ("risk of bias", "indirect", "not reviewed", "disputed")
_FAULTS: Mapping[FaultKind, tuple[str, int, str]] = {
    "open": ("risk of bias", 1, "open"),
    "unblinded": ("risk of bias", 1, "not reported to be blinded"),
    "concern": ("risk of bias", 1, "under an expression of concern"),
    "people": ("indirect", 1, "not in people with the condition"),
    "unnamed": ("indirect", 1, "not said to be on those asked about"),
    "complication": ("indirect", 1, "on a complication of the condition"),
    "outcome": ("indirect", 1, "measured by a marker"),
    "rival": ("indirect", 1, "without placebo or untreated group"),
    "untested": ("indirect", 2, "without placebo or untreated group"),
    "preprint": ("not reviewed", 2, "not peer-reviewed"),
    "disputed": ("disputed", 1, "read in two ways"),
}
"""Domain and steps of each fault, and the fault in short."""


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


def soundest_body(items: Sequence[AppraisedItem], start: int, *, randomised: bool) -> Body | None:
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


def describe_left_out(items: Sequence[AppraisedItem], body: Body, *, randomised: bool) -> str:
    """What is worst about each record that is not in a body, by number; empty where all are in it."""
    rest = [faults(item, randomised=randomised) for item in items if item not in body.items]
    shared = {kind for item in body.items for kind in faults(item, randomised=randomised)}
    kinds = [_FAULTS[max((k for k in found if k not in shared), key=lambda k: _FAULTS[k][1])][2] for found in rest]
    return ", ".join(f"{kinds.count(words)} {words}" for words in sorted(set(kinds)))


def faults(item: AppraisedItem, *, randomised: bool) -> dict[FaultKind, str]:
    """What is wrong with a record, in words that follow "the trial is".

    Two treatments alone tell as much as is known of the other one, or as that it was beaten. Where one is known to work
    and was beaten, nothing is wrong: what does better than that works.
    """
    other = f"compared with {item.rivals}, not with placebo or no treatment"
    without = randomised and bool(item.rivals) and not (item.rival_works and item.beats_rival)
    known = item.rival_works or item.beats_rival
    works = "that {} works is shown by other records here" if item.rival_works else "read as doing better than {}"
    cases: tuple[tuple[FaultKind, bool, str], ...] = (
        ("open", randomised and item.design is StudyDesign.rct_open, "open: patients and doctors knew the treatment"),
        ("unblinded", randomised and item.design is StudyDesign.rct, "not reported to be blinded"),
        ("concern", randomised and bool(item.concern), "under an expression of concern"),
        ("people", not item.direct, "not in people with the condition asked about"),
        ("unnamed", bool(item.unnamed), f"not said to be on {item.unnamed}, who are asked about"),
        ("complication", item.complication, "on a complication of the condition, not on the condition itself"),
        ("outcome", bool(item.other_outcome), f"measured by {item.other_outcome}"),
        ("rival", without and known, f"{other} ({works.format(item.rivals)})"),
        ("untested", without and not known, f"{other} (no record here shows that the comparator works)"),
        ("preprint", item.is_preprint, "a preprint, not peer-reviewed"),
        ("disputed", bool(item.disputed), "read in two ways by its readers"),
    )
    return {kind: text for kind, holds, text in cases if holds}


Marked = Sequence[tuple[AppraisedItem, dict[FaultKind, str]]]


def _body(marked: Marked, allowed: Sequence[FaultKind], start: int, *, randomised: bool) -> Body:
    items = tuple(item for item, _ in marked)
    down: list[tuple[int, str]] = []
    if not start:
        return Body(0, items, (), HIGHEST)
    # a review counts as several trials, unless it is taken for the report of one
    of_trials = randomised and all(i.design is not StudyDesign.systematic_review or i.trial for i in items)
    for domain in _DOMAINS:
        steps = [_FAULTS[kind][1] for kind in allowed if _FAULTS[kind][0] == domain]
        if steps:
            taken = min(MOST, sum(steps)) if domain == "indirect" else max(steps)
            down.append((taken, f"{domain}, {_in_words(marked, domain, 'trial' if of_trials else 'record')}"))
    if few := _imprecision(items):
        down.append(few)
    rank = start - sum(step for step, _ in down)
    sizes = [item.sample_size or 0 for item in items]
    alone = of_trials and sum(sizes) - max(sizes) < REPEATED  # hardly anybody took part in others than the largest
    return Body(max(0, rank), items, tuple(down), (ALONE_AND_SMALL if few else ALONE) if alone else HIGHEST)


def _in_words(marked: Marked, domain: str, noun: str) -> str:
    """The faults of a domain with how many of the records have each."""
    words = [text for _, found in marked for kind, text in found.items() if _FAULTS[kind][0] == domain]
    counts = {text: words.count(text) for text in sorted(words)}
    of = len(marked)
    if of == 1:
        return f"the {noun} is {'; '.join(counts)}"
    every = "both" if of == 2 else f"all {of}"
    return "; ".join(f"{f'{n} of {of}' if n < of else every} {noun}s {text}" for text, n in counts.items())


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
