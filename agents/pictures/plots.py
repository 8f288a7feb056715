"""Draws a report's pictures as SVG and PNG. The same plot gives the same bytes: no clock, no random numbers."""

import io
import math
import warnings
from functools import lru_cache
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from willowbark.tools.enclosure import one_line

from . import ForestPlot, Plot, Timeline, estimate

WIDE, NARROW = 7.4, 3.3  # inches; shown at 740 px and 330 px, letters are at least 12 px high
DPI = 200  # of PNGs: sharp in print at page width
TICKS: dict[float, tuple[float, ...]] = {3: (1, 1.2, 1.5, *range(2, 10)), 1_000: (1, 2, 5), math.inf: (1,)}
"""Marks in each decade of a logarithmic axis, by the ratio below which its ends stay."""
MUTED, RULE = "#59616e", "#d5d9e0"
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
    "axes.edgecolor": MUTED,
    "xtick.color": MUTED,
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
            case Timeline():
                _draw_timeline(plot, axes, is_narrow)
                height = (0.38 if is_narrow else 0.28) * len(plot.trials)
        figure.set_size_inches(width, 0.85 + height)
        names = ("Date", "Creator", "Format", "Type") if form == "svg" else ("Software",)
        figure.savefig(file, format=form, dpi=DPI, metadata=dict.fromkeys(names))
    return file.getvalue()


def _draw_forest(plot: ForestPlot, axes: Axes, is_narrow: bool) -> None:
    rows, names = range(len(plot.effects)), [one_line(effect.study, 24) for effect in plot.effects]
    stances = [e.direction if e.direction in _STANCES else "inconclusive" for e in plot.effects]
    for y, (effect, stance) in enumerate(zip(plot.effects, stances, strict=True)):
        size, (marker, colour) = effect.size, _STANCES[stance]
        if size.ci_low is not None and size.ci_high is not None:
            axes.plot([size.ci_low, size.ci_high], [y, y], color=colour, linewidth=1.6, solid_capstyle="butt")
        axes.plot([size.value], [y], marker=marker, color=colour, markersize=5.5, linestyle="none")
        look: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "va": "center", "annotation_clip": False}
        if is_narrow:  # both stand above, over the line of no effect
            axes.annotate(names[y], (0, y - 0.42), backgroundcolor="white", **look)
            axes.annotate(estimate(size), (1, y - 0.42), ha="right", backgroundcolor="white", **look)
        else:
            axes.annotate(estimate(size), (1.02, y), **look)
    axes.axvline(1 if plot.is_ratio else 0, color=MUTED, linewidth=0.8, zorder=0)
    axes.set_ylim(len(plot.effects) - 0.4, -0.85)
    axes.set_yticks([] if is_narrow else rows, [] if is_narrow else names)
    axes.tick_params(axis="y", length=0)
    if plot.is_ratio:
        values = [v for e in plot.effects for v in (e.size.value, e.size.ci_low, e.size.ci_high) if v is not None]
        low, high = min([*values, 1.0]) / 1.25, max([*values, 1.0]) * 1.25
        axes.set_xscale("log")
        axes.set_xlim(low, high)
        steps = next(steps for most, steps in TICKS.items() if high / low < most)
        axes.xaxis.set_major_locator(LogLocator(subs=steps))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(plot.measures + (" (log scale)" if plot.is_ratio else ""))
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=5, label=stance)
        for stance, (marker, colour) in _STANCES.items()
        if stance in stances
    ]
    axes.figure.legend(
        handles=handles, loc="outside upper left", ncols=len(handles), handletextpad=0.2, columnspacing=1.2
    )


def _draw_timeline(plot: Timeline, axes: Axes, is_narrow: bool) -> None:
    for y, trial in enumerate(plot.trials):
        colour, is_stopped = _OUTCOMES[trial.outcome], trial.outcome == "stopped"
        end = max(trial.end or 0, trial.start + 0.08)
        fill = "none" if is_stopped else colour
        axes.barh(y, end - trial.start, left=trial.start, height=0.42, facecolor=fill, edgecolor=colour, zorder=2)
        if is_stopped or trial.end is None:
            marker, size = ("X", 9) if is_stopped else (">", 5)
            axes.plot([end], [y], marker=marker, color=colour, markersize=size, linestyle="none", zorder=3)
    joint = "\n" if is_narrow else " · "
    names = [f"{one_line(trial.nct_id, 12)}{joint}{one_line(trial.phase, 20)}" for trial in plot.trials]
    axes.set_ylim(len(plot.trials) - 0.4, -0.6)
    axes.set_yticks(range(len(plot.trials)), names)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(5 if is_narrow else 9, integer=True))
    axes.grid(axis="x", color=RULE, linewidth=0.6, zorder=0)
    shown = {trial.outcome for trial in plot.trials}
    handles = [
        Patch(facecolor="none" if outcome == "stopped" else colour, edgecolor=colour, label=outcome)
        for outcome, colour in _OUTCOMES.items()
        if outcome in shown
    ]
    axes.figure.legend(handles=handles, loc="outside upper left", ncols=2 if is_narrow else 4)
