"""Draws what `figures` describes: effect sizes, trials over time, publications by year, mechanism paths."""

import textwrap
import unicodedata
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator

from willowbark.tools.enclosure import visible

from .canvas import NAMES, NARROW, WIDE, Picture, picture
from .figures import (
    DESIGN_GROUPS,
    Forest,
    Path,
    Step,
    Timeline,
    Years,
    cut,
    estimate,
    outcome_of,
    phase_words,
    span_of,
)

FINE_RATIO = 3  # of the axis' ends, below which 1, 2, 5 leave it nearly bare
_MARKERS = {"supports": "s", "contradicts": "D", "undecided": "o"}
_OUTCOMES = {"completed": "supports", "running": "review", "stopped": "contradicts", "not reported": "undecided"}
_LINE, _PAD, _GAP = 17, 12, 32  # units from line to line of text, between a box and its text, from box to box


def drawn(plot: object) -> Picture:
    """Draw a `Plot` for wide pages, for phones and for documents."""
    match plot:
        case Forest():
            rows = len(plot.family.effects)
            return picture(
                plot, partial(_draw_forest, plot), wide_height=0.85 + 0.3 * rows, narrow_height=0.85 + 0.5 * rows
            )
        case Timeline():
            rows = len(plot.trials)
            return picture(
                plot, partial(_draw_timeline, plot), wide_height=0.75 + 0.28 * rows, narrow_height=0.85 + 0.38 * rows
            )
        case Years():
            return picture(plot, partial(_draw_years, plot), wide_height=3.0, narrow_height=2.9)
        case Path():
            return picture(
                plot,
                lambda axes, width: _draw_path(axes, _boxes(plot.boxes, width), plot.gaps),
                wide_height=_inches(_boxes(plot.boxes, WIDE), WIDE),
                narrow_height=_inches(_boxes(plot.boxes, NARROW), NARROW),
            )
        case _:
            raise TypeError(f"no picture is drawn of {type(plot).__name__}")


def _draw_forest(plot: Forest, axes: Axes, width: float) -> None:
    family, labels = plot.family, plot.labels
    for y, (row, size) in enumerate(family.effects):
        stance = row.direction if row.direction in _MARKERS else "undecided"
        if size.ci_low is not None and size.ci_high is not None:
            axes.plot([size.ci_low, size.ci_high], [y, y], color=NAMES[stance], linewidth=1.6, solid_capstyle="butt")
        axes.plot([size.value], [y], marker=_MARKERS[stance], color=NAMES[stance], markersize=5.5, linestyle="none")
        said = estimate(size)
        if width == NARROW:
            axes.annotate(labels[row.key], (0, y - 0.42), xycoords=("axes fraction", "data"), va="center")
            axes.annotate(said, (1, y - 0.42), xycoords=("axes fraction", "data"), va="center", ha="right")
        else:
            axes.annotate(said, (1.02, y), xycoords=("axes fraction", "data"), va="center", annotation_clip=False)
    null, rows = (1 if family.is_ratio else 0), range(len(family.effects))
    above, below = (0.18, 0.32) if width == NARROW else (0.5, 0.5)  # on phones the names stand in the line's way
    starts, ends = [y - above for y in rows], [y + below for y in rows]
    axes.vlines([null for _ in rows], starts, ends, NAMES["muted"], linewidth=0.8)
    axes.set_ylim(len(family.effects) - 0.4, -0.85)
    axes.set_yticks([] if width == NARROW else range(len(family.effects)))
    axes.set_yticklabels([] if width == NARROW else [labels[row.key] for row, _ in family.effects])
    axes.tick_params(axis="y", length=0)
    if family.is_ratio:
        _log_axis(axes, plot)
    axes.set_xlabel("/".join(family.measures) + (" (log scale)" if family.is_ratio else ""))
    _stance_legend(axes, {row.direction for row, _ in family.effects})


def _log_axis(axes: Axes, plot: Forest) -> None:
    values = [v for _, s in plot.family.effects for v in (s.value, s.ci_low, s.ci_high) if v is not None]
    low, high = min([*values, 1.0]) / 1.25, max([*values, 1.0]) * 1.25
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    steps: tuple[float, ...] = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
    if high / low < FINE_RATIO:
        steps = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 3)
    ticks = [step for step in steps if low <= step <= high]
    axes.xaxis.set_major_locator(FixedLocator(ticks if len(ticks) <= 8 else ticks[::3]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_minor_formatter(NullFormatter())


def _stance_legend(axes: Axes, directions: set[str]) -> None:
    stances = {direction if direction in _MARKERS else "undecided" for direction in directions}
    shown = [stance for stance in _MARKERS if stance in stances]
    handles = [
        Line2D([], [], color=NAMES[s], marker=_MARKERS[s], linestyle="none", markersize=5, label=s) for s in shown
    ]
    axes.figure.legend(
        handles=handles, loc="outside upper left", ncols=len(shown), handletextpad=0.2, columnspacing=1.2
    )


def _draw_timeline(plot: Timeline, axes: Axes, width: float) -> None:
    trials = plot.trials
    spans = [span_of(trial) for trial in trials]
    last = max(end if end is not None else start for start, end in spans)
    for y, (trial, (start, end)) in enumerate(zip(trials, spans, strict=True)):
        outcome = outcome_of(trial)
        colour = NAMES[_OUTCOMES[outcome]]
        stop = end if end is not None else start
        fill = "none" if outcome == "stopped" else colour
        axes.barh(y, max(stop - start, 0.08), left=start, height=0.42, facecolor=fill, edgecolor=colour, zorder=2)
        if end is None:
            axes.plot([stop + 0.1], [y], marker=">", color=colour, markersize=4, linestyle="none")
        if outcome == "stopped":
            axes.plot(
                [max(stop, start + 0.08)], [y], marker="X", color=colour, markersize=9, linestyle="none", zorder=3
            )
    axes.set_ylim(len(trials) - 0.4, -0.6)
    axes.set_yticks(range(len(trials)))
    joint = "\n" if width == NARROW else " · "
    axes.set_yticklabels([f"{cut(trial.nct_id, 12)}{joint}{cut(phase_words(trial), 20)}" for trial in trials])
    axes.tick_params(axis="y", length=0)
    first = min(start for start, _ in spans)
    axes.set_xlim(first - 0.4, max(last, first + 1) + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(5 if width == NARROW else 9, integer=True))
    axes.grid(axis="x", color=NAMES["rule"], linewidth=0.6, zorder=0)
    _outcome_legend(axes, {outcome_of(trial) for trial in trials}, width)


def _outcome_legend(axes: Axes, outcomes: set[str], width: float) -> None:
    handles: list[Line2D | Patch] = [
        Line2D([], [], color=NAMES[colour], marker="X", linestyle="none", markersize=9, label=outcome)
        if outcome == "stopped"
        else Patch(color=NAMES[colour], label=outcome)
        for outcome, colour in _OUTCOMES.items()
        if outcome in outcomes
    ]
    axes.figure.legend(handles=handles, loc="outside upper left", ncols=2 if width == NARROW else 4)


def _draw_years(plot: Years, axes: Axes, width: float) -> None:
    counts = plot.counts
    floor = dict.fromkeys(counts, 0)
    groups = [group for group in DESIGN_GROUPS if any(found[group] for found in counts.values())]
    for group in groups:
        heights = [found[group] for found in counts.values()]
        axes.bar(
            list(counts),
            heights,
            bottom=list(floor.values()),
            width=0.8,
            color=NAMES[DESIGN_GROUPS[group]],
            label=group,
        )
        floor = {year: floor[year] + found[group] for year, found in counts.items()}
    axes.set_ylabel("publications")
    axes.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.xaxis.set_major_locator(MaxNLocator(5 if width == NARROW else 10, integer=True))
    axes.set_xlim(min(counts) - 0.7, max(counts) + 0.7)
    axes.grid(axis="y", color=NAMES["rule"], linewidth=0.6)
    axes.set_axisbelow(True)
    axes.figure.legend(loc="outside upper left", ncols=2 if width == NARROW else 3, columnspacing=0.9)


class _Box(NamedTuple):
    """One step of a path with its place, in units."""

    step: Step
    name: list[str]
    note: list[str]
    x: float
    y: float
    width: float
    height: float


def _boxes(steps: Sequence[Step], width: float) -> list[_Box]:
    """The steps side by side for wide pages, below each other for phones."""
    side_by_side = width != NARROW
    letters, box_width = ((16, 18), 156) if side_by_side else ((34, 41), 336)
    told = [(step, _lines(step.name, letters[0]), _lines(step.note, letters[1])) for step in steps]
    heights = [2 * _PAD + _LINE * (1 + len(name) + len(note) + bool(note)) for _, name, note in told]
    found, y = list[_Box](), 0.0
    for n, (step, name, note) in enumerate(told):
        x, height = (n * (box_width + _GAP), max(heights)) if side_by_side else (0, heights[n])
        found.append(_Box(step, name, note, x, y, box_width, height))
        y += 0 if side_by_side else height + _GAP
    return found


def _inches(boxes: Sequence[_Box], width: float) -> float:
    """The height at which the boxes keep their shape."""
    return width * (max(b.y + b.height for b in boxes) + 8) / (boxes[-1].x + boxes[-1].width + 8)


def _draw_path(axes: Axes, boxes: Sequence[_Box], gaps: frozenset[int]) -> None:
    axes.set(xlim=(-4, boxes[-1].x + boxes[-1].width + 4), ylim=(max(b.y + b.height for b in boxes) + 4, -4))
    axes.set_axis_off()
    before: _Box | None = None
    for place, box in enumerate(boxes):
        known = box.step.is_known
        edge, style = (NAMES["supports"], "-") if known else (NAMES["muted"], "--")
        shape = FancyBboxPatch(
            (box.x + 8, box.y + 8), box.width - 16, box.height - 16, boxstyle="round,pad=8", fill=False,
            edgecolor=edge, linestyle=style,
        )  # fmt: skip
        axes.add_patch(shape)
        x, y = box.x + _PAD, box.y + _PAD
        axes.text(x, y, box.step.kind, color=NAMES["muted"], va="top", fontsize=8)
        for n, line in enumerate(box.name, 1):
            ink, weight = (NAMES["ink"], "bold") if known else (NAMES["muted"], "normal")
            axes.text(x, y + _LINE * n, line, color=ink, va="top", weight=weight, fontsize=9.5)
        for n, line in enumerate(box.note, 2 + len(box.name)):
            axes.text(x, y + _LINE * n, line, color=NAMES["muted"], va="top", fontsize=9)
        if before is not None:
            axes.annotate(
                "",
                *_ends(before, box),
                arrowprops={
                    "arrowstyle": "-|>",
                    "color": NAMES["muted"],
                    "linestyle": "--" if place in gaps else "-",
                    "shrinkA": 0,
                    "shrinkB": 0,
                },
            )
        before = box


def _ends(one: _Box, other: _Box) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where the arrow between two boxes ends and starts."""
    if one.y == other.y:
        middle = other.y + other.height / 2
        return (other.x - 3, middle), (one.x + one.width + 3, middle)
    middle = other.x + other.width / 2
    return (middle, other.y - 3), (middle, one.y + one.height + 3)


def _lines(text: str, width: int) -> list[str]:
    """A text in at most six lines of so many Latin letters, or half as many of the wide ones."""
    wide = any(unicodedata.east_asian_width(character) in "WF" for character in text)
    return textwrap.wrap(visible(text), width // 2 if wide else width, max_lines=6, placeholder=" …")
