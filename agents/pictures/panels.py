"""What the panels of an overview show: effect estimates, certainty by drug, studies by year."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

PanelName = Literal["estimates", "certainty", "years"]
PANELS: tuple[PanelName, ...] = ("estimates", "certainty", "years")
LEVELS = ("very low", "low", "moderate", "high")
"""GRADE's levels of certainty, the lowest first."""


class ComparedEffect(NamedTuple):
    """One ratio of one comparison, with its interval."""

    drug: str
    study: str
    measure: str
    """As the record writes it: `HR`, `odds ratio`."""
    value: float
    low: float
    high: float
    direction: str
    """supports, contradicts or inconclusive, by the side that the comparison favours."""
    key: str = ""
    """Of the record."""
    outcome: str = ""
    """By its name in the record; empty if it has none."""
    versus: str = ""
    """Name of the other arm; empty without one."""


class DrugCertainty(NamedTuple):
    """The level of certainty that a drug helps."""

    drug: str
    level: str


class YearCounts(NamedTuple):
    """Numbers of studies of a year."""

    year: int
    supporting: int
    inconclusive: int
    contradicting: int


@dataclass(frozen=True, slots=True)
class Panels:
    """What there is to plot of a report."""

    title: str
    effects: tuple[ComparedEffect, ...] = ()
    certainties: tuple[DrugCertainty, ...] = ()
    years: tuple[YearCounts, ...] = ()

    @property
    def panels(self) -> tuple[PanelName, ...]:
        """Names of the panels that have something to show."""
        filled = dict(zip(PANELS, (self.effects, self.certainties, self.years), strict=True))
        return tuple(name for name in PANELS if filled[name])
