"""A clause with what is known when it is read, and what it says of the drug: its finding."""

import re
from typing import NamedTuple

from .arms import Arm, Mine
from .direction import Direction
from .effect import Effect


class Finding(NamedTuple):
    """What a clause says of the drug."""

    direction: Direction
    weight: float
    """1 for a plain result; less for a side issue, more for a comparison with placebo or a primary outcome."""
    reason: str
    effect: Effect | None = None
    hedged: bool = False
    named: bool = False
    """Whether the clause names the drug or its class, or the record speaks of no other drug."""


class Carried(NamedTuple):
    """What a clause hands on to the next."""

    better: bool | None = None
    """Whether more of the outcome last named is good; None: none was named."""
    ours: bool | None = None
    """Whether the subject last named was the drug asked about; None: none was named."""
    verb: int = 0
    """The change last read: 1 good, -1 bad, 0 none."""
    reserve: bool = False
    """Whether the outcome last named is one that a treatment is content to keep stable."""
    stable: bool = False
    """Whether the outcome stayed level on the drug: good if it gets worse on the other."""


class Clause(NamedTuple):
    """A clause, p values written as marks, with its arms and what the clauses before it handed on."""

    text: str
    arms: list[Arm]
    mine: Mine
    carried: Carried
    weight: float
    """Of any finding in it."""

    @property
    def sides(self) -> set[str]:
        """The sides that its arms are on."""
        return {arm.side for arm in self.arms}

    @property
    def failed(self) -> bool:
        """Whether its p values are all 0.05 or more."""
        return "§-" in self.text and "§+" not in self.text

    def has(self, pattern: re.Pattern[str]) -> bool:
        """Whether a pattern occurs in it."""
        return pattern.search(self.text) is not None

    def speaks_of_ours(self, arms: list[Arm] | None = None) -> bool:
        """Whether it speaks of the drug: by name, as one of all, or because nothing else is meant.

        Args:
            arms: those that count; None means all of the clause.
        """
        sides = self.sides if arms is None else {arm.side for arm in arms}
        if sides & {"ours", "all"}:
            return True
        if "other" in sides:
            return False
        return self.carried.ours if self.carried.ours is not None and not sides else self.mine.is_subject

    def supports(self, reason: str, share: float = 1.0, *, named: bool = False) -> Finding:
        """A finding for the drug."""
        return Finding(Direction.supports, self.weight * share, reason, named=named)

    def contradicts(self, reason: str, share: float = 1.0, *, named: bool = False) -> Finding:
        """A finding against the drug: no difference where there should be one."""
        return Finding(Direction.contradicts, self.weight * share, reason, Effect.no_difference, named=named)

    def leaves_open(self, reason: str, effect: Effect | None = None) -> Finding:
        """A finding that speaks neither way."""
        return Finding(Direction.neutral, self.weight, reason, effect)

    def stands(self, reason: str, *, helps: bool) -> Finding:
        """A change that is good for the patient or bad."""
        return Finding(Direction.supports if helps else Direction.contradicts, self.weight, reason)
