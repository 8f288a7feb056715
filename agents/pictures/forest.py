"""Forest plots as data and in words; `plots` draws them with matplotlib, an extra."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from willowbark.tools.lexicon import find_drugs
from willowbark.tools.reading.numbers import RATIOS, EffectSize

LEAST_EFFECTS = 2  # one effect estimate is a sentence, not a picture
MAX_EFFECTS = 20  # rows of a forest plot


def write_estimate(size: EffectSize) -> str:
    """Format an effect estimate with its confidence interval: `OR 2.82 (CI 1.89 to 4.28)`."""
    has_interval = size.ci_low is not None and size.ci_high is not None
    interval = f" (CI {size.ci_low:g} to {size.ci_high:g})" if has_interval else ""
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
        estimates = "; ".join(f"{effect.study}: {write_estimate(effect.size)}" for effect in self.effects)
        return f"Effect estimates reported for {self.drug}, line of no effect at {int(self.is_ratio)}: {estimates}."


def make_forest_plots(drug: str, place: int, effects: Iterable[StudyEffect]) -> list[ForestPlot]:
    """Group a drug's effect estimates into one plot for each family of measures with at least two.

    Ratios share an axis, each row naming its measure; differences have units of their own and share one only with the
    same measure. `place` is the drug's rank among the candidates, from 1.
    """
    by_family: dict[str, list[StudyEffect]] = {}
    left_out: Counter[str] = Counter()
    for effect in effects:
        size = effect.size
        low = size.value if size.ci_low is None else size.ci_low
        high = size.value if size.ci_high is None else size.ci_high
        family = "ratio" if size.measure in RATIOS else size.measure
        if not low <= size.value <= high or (family == "ratio" and low <= 0):
            continue
        drugs = {m.name for m in find_drugs(size.sentence)} or {m.name for m in find_drugs(effect.title)}
        if drugs == {drug}:
            by_family.setdefault(family, []).append(effect)
        else:
            left_out[family] += 1
    plots = list[ForestPlot]()
    for kind, members in by_family.items():
        if len(members) >= LEAST_EFFECTS:
            name = f"forest-{place}-{len(plots) + 1}"
            plots.append(ForestPlot(name, drug, tuple(members[:MAX_EFFECTS]), left_out[kind]))
    return plots
