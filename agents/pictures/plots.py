"""Draws a report's pictures as SVG and PNG. The same plot gives the same bytes: no clock, no random numbers."""

import io
import warnings
from functools import lru_cache
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator

from .figures import CertaintyChart, ForestPlot, Plot, Timeline, estimate, label

WIDE, NARROW = 7.4, 3.3  # inches; shown at 740 px and 330 px, letters are at least 12 px high
DPI = 200  # of PNGs: sharp in print at page width
FINE_RATIO = 3  # between the axis' ends; below it ticks at 1, 2, 5 are too few
INK, MUTED, RULE = "#16181d", "#59616e", "#d5d9e0"
SUPPORTS, CONTRADICTS, INCONCLUSIVE, RUNNING = "#1d6fb8", "#c2410c", "#6d7480", "#0f766e"
"""Readable on white."""
_STANCES = {"supports": ("s", SUPPORTS), "contradicts": ("D", CONTRADICTS), "inconclusive": ("o", INCONCLUSIVE)}
_OUTCOMES = {"completed": SUPPORTS, "running": RUNNING, "stopped": CONTRADICTS, "not reported": INCONCLUSIVE}
_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "willowbark",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],
    "font.size": 8.5,
    "text.parse_math": False,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "legend.frameon": False,
}


@lru_cache(maxsize=128)
def draw(plot: Plot, form: Literal["svg", "png"] = "svg", width: float = WIDE) -> bytes:
    """Draw a plot on white; width `WIDE` for pages and documents, `NARROW` for phones."""
    is_narrow = width == NARROW
    file = io.BytesIO()
    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # characters missing in the measuring font are drawn in the reader's
        figure = Figure(layout="constrained")
        axes = figure.add_subplot()
        match plot:
            case ForestPlot():
                _draw_forest(plot, axes, is_narrow)
                height = (0.5 if is_narrow else 0.3) * len(plot.effects)
            case CertaintyChart():
                _draw_certainty(plot, axes, is_narrow)
                height = (0.4 if is_narrow else 0.27) * len(plot.drugs)
            case Timeline():
                _draw_timeline(plot, axes, is_narrow)
                height = (0.38 if is_narrow else 0.28) * len(plot.trials)
        figure.set_size_inches(width, 0.85 + height)
        names = ("Date", "Creator", "Format", "Type") if form == "svg" else ("Software",)
        figure.savefig(file, format=form, dpi=DPI, metadata=dict.fromkeys(names))
    return file.getvalue()


def _draw_forest(plot: ForestPlot, axes: Axes, is_narrow: bool) -> None:
    rows, names = range(len(plot.effects)), [label(effect.study, 24) for effect in plot.effects]
    stances = [e.direction if e.direction in _STANCES else "inconclusive" for e in plot.effects]
    for y, (effect, stance) in enumerate(zip(plot.effects, stances, strict=True)):
        size, (marker, colour) = effect.size, _STANCES[stance]
        if size.ci_low is not None and size.ci_high is not None:
            axes.plot([size.ci_low, size.ci_high], [y, y], color=colour, linewidth=1.6, solid_capstyle="butt")
        axes.plot([size.value], [y], marker=marker, color=colour, markersize=5.5, linestyle="none")
        on_axes = ("axes fraction", "data")
        if is_narrow:
            axes.annotate(names[y], (0, y - 0.42), xycoords=on_axes, va="center")
            axes.annotate(estimate(size), (1, y - 0.42), xycoords=on_axes, va="center", ha="right")
        else:
            axes.annotate(estimate(size), (1.02, y), xycoords=on_axes, va="center", annotation_clip=False)
    above, below = (0.18, 0.32) if is_narrow else (0.5, 0.5)  # on phones the names would overlap the line
    null = 1 if plot.is_ratio else 0
    axes.vlines([null for _ in rows], [y - above for y in rows], [y + below for y in rows], MUTED, linewidth=0.8)
    axes.set_ylim(len(plot.effects) - 0.4, -0.85)
    axes.set_yticks([] if is_narrow else rows, [] if is_narrow else names)
    axes.tick_params(axis="y", length=0)
    if plot.is_ratio:
        values = [v for e in plot.effects for v in (e.size.value, e.size.ci_low, e.size.ci_high) if v is not None]
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
    axes.set_xlabel("/".join(plot.measures) + (" (log scale)" if plot.is_ratio else ""))
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=5, label=stance)
        for stance, (marker, colour) in _STANCES.items()
        if stance in stances
    ]
    axes.figure.legend(
        handles=handles, loc="outside upper left", ncols=len(handles), handletextpad=0.2, columnspacing=1.2
    )


def _draw_certainty(plot: CertaintyChart, axes: Axes, is_narrow: bool) -> None:
    rows = range(len(plot.drugs))
    counts = {
        "supporting": ([bar.supporting for bar in plot.drugs], SUPPORTS),
        "inconclusive": ([bar.inconclusive for bar in plot.drugs], RULE),
        "contradicting": ([bar.contradicting for bar in plot.drugs], CONTRADICTS),
    }
    ends = [0 for _ in rows]
    for name, (numbers, colour) in counts.items():
        axes.barh(rows, numbers, left=ends, height=0.6, color=colour, label=name, edgecolor="white", linewidth=0.8)
        ends = [end + number for end, number in zip(ends, numbers, strict=True)]
    joint = "\n" if is_narrow else " · "
    axes.set_yticks(rows, [f"{bar.drug}{joint}{bar.level}" for bar in plot.drugs])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(plot.drugs) - 0.4, -0.6)
    axes.xaxis.set_major_locator(MaxNLocator(5 if is_narrow else 9, integer=True))
    axes.set_xlabel("studies")
    axes.figure.legend(loc="outside upper left", ncols=len(counts), handlelength=1, columnspacing=1)


def _draw_timeline(plot: Timeline, axes: Axes, is_narrow: bool) -> None:
    for y, trial in enumerate(plot.trials):
        colour, is_stopped = _OUTCOMES[trial.outcome], trial.outcome == "stopped"
        end = trial.start if trial.end is None else trial.end
        fill = "none" if is_stopped else colour
        length = max(end - trial.start, 0.08)
        axes.barh(y, length, left=trial.start, height=0.42, facecolor=fill, edgecolor=colour, zorder=2)
        if trial.end is None:
            axes.plot([end + 0.1], [y], marker=">", color=colour, markersize=4, linestyle="none")
        if is_stopped:
            axes.plot([trial.start + length], [y], marker="X", color=colour, markersize=9, linestyle="none", zorder=3)
    joint = "\n" if is_narrow else " · "
    names = [f"{label(trial.nct_id, 12)}{joint}{label(trial.phase, 20)}" for trial in plot.trials]
    axes.set_ylim(len(plot.trials) - 0.4, -0.6)
    axes.set_yticks(range(len(plot.trials)), names)
    axes.tick_params(axis="y", length=0)
    first = min(trial.start for trial in plot.trials)
    last = max(trial.start if trial.end is None else trial.end for trial in plot.trials)
    axes.set_xlim(first - 0.4, max(last, first + 1) + 0.6)
    axes.xaxis.set_major_locator(MaxNLocator(5 if is_narrow else 9, integer=True))
    axes.grid(axis="x", color=RULE, linewidth=0.6, zorder=0)
    shown = {trial.outcome for trial in plot.trials}
    handles: list[Line2D | Patch] = [
        Line2D([], [], color=colour, marker="X", linestyle="none", markersize=9, label=outcome)
        if outcome == "stopped"
        else Patch(color=colour, label=outcome)
        for outcome, colour in _OUTCOMES.items()
        if outcome in shown
    ]
    axes.figure.legend(handles=handles, loc="outside upper left", ncols=2 if is_narrow else 4)
