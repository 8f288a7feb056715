"""A report's pictures as data and in words; `plots` draws them with matplotlib, an extra."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from willowbark.tools.evidence import date_parts
from willowbark.tools.lexicon import find_drugs
from willowbark.tools.reading.numbers import RATIOS, EffectSize

LEAST_EFFECTS = 2  # one effect estimate is a sentence, not a picture
MAX_EFFECTS = 20  # rows of a forest plot
MAX_TRIALS = 24  # on a timeline; the table beside it has all trials
Outcome = Literal["completed", "running", "stopped", "not reported"]


def estimate(size: EffectSize) -> str:
    """Format an effect estimate with its confidence interval: `OR 2.82 (CI 1.89 to 4.28)`."""
    is_given = size.ci_low is not None and size.ci_high is not None
    interval = f" (CI {size.ci_low:g} to {size.ci_high:g})" if is_given else ""
    return f"{size.measure} {size.value:g}{interval}"


class StudyEffect(NamedTuple):
    """An effect estimate and the study that reports it."""

    study: str
    """`Smith 2001`, or a registry number."""
    title: str
    direction: str
    """supports, contradicts, or anything else for inconclusive."""
    size: EffectSize


@dataclass(frozen=True, slots=True)
class ForestPlot:
    """Effect estimates of one drug that share an axis."""

    name: str
    drug: str
    effects: tuple[StudyEffect, ...]
    left_out: int
    """Number of estimates not clearly on this drug: several compared, or none named in sentence or title."""

    @property
    def measures(self) -> str:
        """Measures in alphabetical order; several only if all are ratios."""
        return "/".join(sorted({effect.size.measure for effect in self.effects}))

    @property
    def is_ratio(self) -> bool:
        """Whether no effect is 1 (and the axis logarithmic) rather than 0."""
        return self.effects[0].size.measure in RATIOS

    @property
    def caption(self) -> str:
        """Caption with the number of estimates left out."""
        left_out = f" {self.left_out} excluded: their sentences compare several drugs." if self.left_out else ""
        return (
            f"{self.drug}: effect estimates as reported ({self.measures}; line: confidence interval where reported). "
            f"Outcomes and comparators differ, so they are not pooled.{left_out}"
        )

    @property
    def description(self) -> str:
        """The picture in words."""
        estimates = "; ".join(f"{effect.study}: {estimate(effect.size)}" for effect in self.effects)
        return f"Effect estimates reported for {self.drug}, line of no effect at {int(self.is_ratio)}: {estimates}."


def forest_plots(drug: str, place: int, effects: Iterable[StudyEffect]) -> list[ForestPlot]:
    """Group a drug's effect estimates into one plot for each family of measures with at least two.

    Ratios share an axis, each row naming its measure; differences have units of their own and share one only with the
    same measure. `place` is the drug's rank among the candidates, from 1.
    """
    found: dict[str, list[StudyEffect]] = {}
    left_out: Counter[str] = Counter()
    for effect in effects:
        size = effect.size
        low, high = (size.value if end is None else end for end in (size.ci_low, size.ci_high))
        family = "ratio" if size.measure in RATIOS else size.measure
        if not low <= size.value <= high or (family == "ratio" and low <= 0):
            continue
        named = {m.name for m in find_drugs(size.sentence)} or {m.name for m in find_drugs(effect.title)}
        if named == {drug}:
            found.setdefault(family, []).append(effect)
        else:
            left_out[family] += 1
    families = [(family, each[:MAX_EFFECTS]) for family, each in found.items() if len(each) >= LEAST_EFFECTS]
    return [
        ForestPlot(f"forest-{place}-{number}", drug, tuple(each), left_out[family])
        for number, (family, each) in enumerate(families, 1)
    ]


class TrialSpan(NamedTuple):
    """A registered trial on a timeline."""

    nct_id: str
    phase: str
    """In words."""
    highest_phase: int
    """-1 if not applicable or not reported."""
    outcome: Outcome
    start: float
    """In years: 2016.5 is July 2016."""
    end: float | None
    """In years; None if no completion is reported."""


def date_in_years(date: str | None) -> float | None:
    """Convert a date to a number of years; None if it has no year.

    >>> date_in_years("2016-07"), date_in_years("Unknown")
    (2016.5, None)
    """
    parts = date_parts(date or "")
    if not parts:
        return None
    year, month, day = (*parts, 1, 1)[:3]
    return year + (month - 1) / 12 + (day - 1) / 365


@dataclass(frozen=True, slots=True)
class Timeline:
    """Registered trials by phase and time, stopped ones marked."""

    trials: tuple[TrialSpan, ...]
    name: str = "trials"

    @property
    def caption(self) -> str:
        """How it is named below."""
        latest = "; the latest" if len(self.trials) == MAX_TRIALS else ""
        return f"Registered trials by phase, from start to completion{latest}"

    @property
    def description(self) -> str:
        """The picture in words."""
        counts = ", ".join(f"{n} {outcome}" for outcome, n in Counter(t.outcome for t in self.trials).items())
        stopped = ", ".join(trial.nct_id for trial in self.trials if trial.outcome == "stopped")
        which = f" Stopped: {stopped}." if stopped else ""
        return f"Timeline of {len(self.trials)} registered trials by phase: {counts}.{which}"


def timeline(trials: Sequence[TrialSpan]) -> Timeline | None:
    """Select the latest trials, ordered by phase (highest first), then start; None without any."""
    latest = sorted(trials, key=lambda trial: (trial.start, trial.nct_id), reverse=True)[:MAX_TRIALS]
    ordered = sorted(latest, key=lambda trial: (-trial.highest_phase, trial.start, trial.nct_id))
    return Timeline(tuple(ordered)) if ordered else None


Plot = ForestPlot | Timeline
