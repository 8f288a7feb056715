"""Effect sizes that can stand in one picture: of one candidate, of one family of measures."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from willowbark.tools.appraisal import EffectSize
from willowbark.tools.lexicon import find_drugs
from willowbark.tools.reading.numbers import RATIOS

from ..report.model import EvidenceRow

LEAST_EFFECTS = 2  # one effect size is a sentence, not a picture
MAX_EFFECTS = 20  # rows of a picture


class Effect(NamedTuple):
    """An effect size with the record it stands in."""

    row: EvidenceRow
    size: EffectSize


class EffectFamily(NamedTuple):
    """Effect sizes of one candidate that share an axis."""

    drug: str
    measures: tuple[str, ...]
    """In alphabetical order; several only where all are ratios."""
    effects: tuple[Effect, ...]
    """At least two, the records' order kept."""
    left_out: int
    """Effect sizes whose sentence compares several drugs, or names none that its record's title settles."""

    @property
    def is_ratio(self) -> bool:
        """Whether no effect is 1 (and the axis logarithmic) rather than 0."""
        return self.measures[0] in RATIOS


def effect_families(drug: str, rows: Iterable[EvidenceRow]) -> list[EffectFamily]:
    """Sort a candidate's effect sizes by family; families of fewer than two are left out.

    Ratios (odds ratio, risk ratio, hazard ratio, rate ratio) share an axis, each row naming its measure; differences
    have units of their own and share one only with the same measure.
    """
    found: dict[str, list[Effect]] = {}
    left_out: dict[str, int] = {}
    for row in rows:
        for size in dict.fromkeys(row.effects):
            family = "ratio" if size.measure in RATIOS else size.measure
            if not _plottable(size):
                continue
            if _is_on(drug, row, size):
                found.setdefault(family, []).append(Effect(row, size))
            else:
                left_out[family] = left_out.get(family, 0) + 1
    return [
        EffectFamily(drug, _measures(effects), tuple(effects[:MAX_EFFECTS]), left_out.get(family, 0))
        for family, effects in found.items()
        if len(effects) >= LEAST_EFFECTS
    ]


def _measures(effects: Sequence[Effect]) -> tuple[str, ...]:
    return tuple(sorted({effect.size.measure for effect in effects}))


def _plottable(size: EffectSize) -> bool:
    """Whether a value can stand on its axis, inside its interval: ratios are above 0."""
    values = [value for value in (size.value, size.ci_low, size.ci_high) if value is not None]
    inside = size.ci_low is None or size.ci_high is None or size.ci_low <= size.value <= size.ci_high
    return inside and (size.measure not in RATIOS or min(values) > 0)


def _is_on(drug: str, row: EvidenceRow, size: EffectSize) -> bool:
    """Whether an effect size is this drug's: its sentence names no other, or names none and the title only this."""
    named = {mention.name for mention in find_drugs(size.sentence)}
    return (named or {mention.name for mention in find_drugs(row.title)}) == {drug}
