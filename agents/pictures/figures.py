"""Data and descriptions of a report's pictures: effect estimates, certainty by drug, trials over time."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from willowbark.tools.enclosure import visible
from willowbark.tools.evidence import date_parts
from willowbark.tools.lexicon import find_drugs
from willowbark.tools.reading.numbers import RATIOS, EffectSize

LEAST_EFFECTS = 2  # one effect estimate is a sentence, not a picture
MAX_EFFECTS = 20  # rows of a forest plot
MAX_DRUGS = 16  # bars of a chart of certainty; the table below it has all drugs
MAX_TRIALS = 24  # on a timeline; the table beside it has all trials
Outcome = Literal["completed", "running", "stopped", "not reported"]


def label(text: str, length: int) -> str:
    """Shorten a text to one line of at most `length` characters that are valid in XML."""
    line = "".join(c for c in " ".join(visible(text).split()) if not 0xD800 <= ord(c) < 0xE000 and ord(c) < 0xFFFE)
    return line if len(line) <= length else f"{line[: length - 1]}…"


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
    def measures(self) -> tuple[str, ...]:
        """Measures in alphabetical order; several only if all are ratios."""
        return tuple(sorted({effect.size.measure for effect in self.effects}))

    @property
    def is_ratio(self) -> bool:
        """Whether no effect is 1 (and the axis logarithmic) rather than 0."""
        return self.measures[0] in RATIOS

    @property
    def caption(self) -> str:
        """Caption with the number of estimates left out."""
        left_out = f" {self.left_out} excluded: their sentences compare several drugs." if self.left_out else ""
        return (
            f"{self.drug}: effect estimates as reported ({'/'.join(self.measures)}; line: confidence interval where "
            f"reported). Outcomes and comparators differ, so they are not pooled.{left_out}"
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
        values = [value for value in (size.value, size.ci_low, size.ci_high) if value is not None]
        in_interval = size.ci_low is None or size.ci_high is None or size.ci_low <= size.value <= size.ci_high
        if not in_interval or (size.measure in RATIOS and min(values) <= 0):
            continue
        family = "ratio" if size.measure in RATIOS else size.measure
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


class DrugBar(NamedTuple):
    """A drug in a chart of certainty."""

    drug: str
    level: str
    """The certainty that it helps, or `refuted`, or `unsupported`."""
    supporting: int
    """Studies, as below."""
    inconclusive: int
    contradicting: int


@dataclass(frozen=True, slots=True)
class CertaintyChart:
    """Studies by direction for each drug, with the certainty that it helps."""

    drugs: tuple[DrugBar, ...]
    """At least two, in the order of the tables."""
    name: str = "certainty"
    caption: str = "Certainty that each drug helps, and its studies by what they say"

    @property
    def description(self) -> str:
        """The picture in words."""
        said = "; ".join(
            f"{drug} ({level}): {supporting} supporting, {inconclusive} inconclusive, {contradicting} contradicting"
            for drug, level, supporting, inconclusive, contradicting in self.drugs
        )
        return f"Certainty and studies by drug: {said}."


Plot = ForestPlot | Timeline | CertaintyChart
