"""Small pictures that a page draws in its own colours: a level of certainty, and ratios on an axis that they share.

SVG with classes and attributes alone, so that no style within it needs an exception in a Content-Security-Policy.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from .panels import LEVELS, ComparedEffect

WIDTH = 180  # units of a strip; a page may draw it wider
_MARGIN = 6
_ROW = 16
_HALF = 4  # of a mark
_BAR = 5
_GAP = 2
_STEPS = (1.0, 2.0, 5.0)
_WIDEST = 20.0  # beyond this ratio, and below its inverse, an interval ends in an arrow
_MARKS = {"supports": "square", "contradicts": "diamond"}
_SIDES = {"supports": "favours the drug", "contradicts": "favours the other side"}


class StripAxis(NamedTuple):
    """A logarithmic axis of ratios that holds no effect, 1."""

    low: float
    high: float

    @classmethod
    def of(cls, effects: Iterable[ComparedEffect]) -> "StripAxis":
        """Return the axis on which all effects stand, at least from 0.5 to 2, at most from 1/20 to 20."""
        ends = [0.5, 1.0, 2.0]
        for effect in effects:
            ends += [effect.low, effect.high]
        return cls(max(min(ends) / 1.1, 1 / _WIDEST), min(max(ends) * 1.1, _WIDEST))

    def place(self, ratio: float) -> float:
        """Return where a ratio stands, in units from the left; one beyond the axis stands at its end."""
        drawn = min(max(ratio, self.low), self.high)
        share = math.log(drawn / self.low) / math.log(self.high / self.low)
        return _MARGIN + share * (WIDTH - 2 * _MARGIN)

    @property
    def ticks(self) -> list[float]:
        """Round ratios on the axis, 1 among them; the ends of a decade alone where there are many."""
        steps = _STEPS if self.high / self.low < 25 else _STEPS[:1]
        ratios = list[float]()
        for power in range(-2, 3):
            for step in steps:
                ratio = step * 10.0**power
                if self.low <= ratio <= self.high:
                    ratios.append(ratio)
        return ratios


def draw_level(level: str) -> str:
    """Draw a level of certainty as rising bars, of which as many are filled; empty for what is no level."""
    if level not in LEVELS:
        return ""
    filled = LEVELS.index(level) + 1
    bars = list[str]()
    for number in range(1, len(LEVELS) + 1):
        height = 3 * number + 2
        look = "full" if number <= filled else "hollow"
        left = (number - 1) * (_BAR + _GAP) + 0.5
        bars.append(f'<rect class="{look}" x="{left}" y="{14.5 - height}" width="{_BAR}" height="{height}"/>')
    return f'<svg class="bars" viewBox="0 0 28 15" width="28" height="15" aria-hidden="true">{"".join(bars)}</svg>'


def draw_strip(effects: Sequence[ComparedEffect], axis: StripAxis) -> str:
    """Draw ratios with their intervals below each other, around the line of no effect; a title tells each in words."""
    height = _ROW * len(effects)
    middle = axis.place(1)
    parts = [f'<line class="none" x1="{middle:.1f}" x2="{middle:.1f}" y1="0" y2="{height}"/>']
    for number, effect in enumerate(effects):
        parts.append(_draw_effect(effect, axis, number * _ROW + _ROW / 2))
    words = "; ".join(map(describe_effect, effects))
    return (
        f'<svg class="strip" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
        f'aria-label="{escape(words)}">{"".join(parts)}</svg>'
    )


def draw_sample(direction: str) -> str:
    """Draw the mark of a direction alone, for a legend."""
    mark = _draw_mark(direction, 7, 7)
    head = f'<svg class="sample {escape(direction)}" viewBox="0 0 14 14" width="14" height="14" aria-hidden="true">'
    return f"{head}{mark}</svg>"


def draw_axis(axis: StripAxis) -> str:
    """Draw the axis of strips, with its ratios in figures."""
    parts = [f'<line class="rule" x1="{_MARGIN}" x2="{WIDTH - _MARGIN}" y1="2" y2="2"/>']
    for ratio in axis.ticks:
        place = f"{axis.place(ratio):.1f}"
        parts.append(f'<line class="rule" x1="{place}" x2="{place}" y1="2" y2="6"/>')
        parts.append(f'<text x="{place}" y="17" text-anchor="middle">{ratio:g}</text>')
    return (
        f'<svg class="strip ruler" viewBox="0 0 {WIDTH} 20" width="{WIDTH}" height="20" aria-hidden="true">'
        f"{''.join(parts)}</svg>"
    )


def describe_effect(effect: ComparedEffect) -> str:
    """Tell an effect in words, with what it is of as far as the study says."""
    versus = f" against {effect.versus}" if effect.versus else ""
    side = _SIDES.get(effect.direction, "no clear difference")
    return f"{effect.drug}{versus}, {effect.study}: {write_figures(effect)}, {side}"


def write_figures(effect: ComparedEffect) -> str:
    """Write an effect's figures, and the outcome if the study names it."""
    figures = f"{effect.measure} {effect.value:g} ({effect.low:g} to {effect.high:g})"
    return f"{figures}, {effect.outcome}" if effect.outcome else figures


def _draw_effect(effect: ComparedEffect, axis: StripAxis, y: float) -> str:
    left = axis.place(effect.low)
    right = axis.place(effect.high)
    middle = axis.place(effect.value)
    parts = [f'<line class="reach" x1="{left:.1f}" x2="{right:.1f}" y1="{y}" y2="{y}"/>']
    if effect.low < axis.low:
        parts.append(_draw_arrow(left, y, 1))
    if effect.high > axis.high:
        parts.append(_draw_arrow(right, y, -1))
    parts.append(_draw_mark(effect.direction, middle, y))
    title = f"<title>{escape(describe_effect(effect))}</title>"
    return f'<g class="{escape(effect.direction)}">{title}{"".join(parts)}</g>'


def _draw_arrow(x: float, y: float, inward: int) -> str:
    """Draw the head of an interval that goes on beyond the axis."""
    back = x + 4 * inward
    return f'<path class="head" d="M{back:.1f} {y - 3} L{x:.1f} {y} L{back:.1f} {y + 3}"/>'


def _draw_mark(direction: str, x: float, y: float) -> str:
    """Draw a square for the drug, a diamond for the other side, a circle where nothing is decided."""
    mark = _MARKS.get(direction, "circle")
    if mark == "square":
        return f'<rect class="at" x="{x - _HALF:.1f}" y="{y - _HALF}" width="{2 * _HALF}" height="{2 * _HALF}"/>'
    if mark == "diamond":
        reach = _HALF + 1.5
        points = f"{x:.1f},{y - reach} {x + reach:.1f},{y} {x:.1f},{y + reach} {x - reach:.1f},{y}"
        return f'<polygon class="at" points="{points}"/>'
    return f'<circle class="at" cx="{x:.1f}" cy="{y}" r="{_HALF}"/>'
