"""Draws forest plots and overviews as SVG and PNG, and counts of studies as PNG.

The same plot gives the same bytes: no clock, no random numbers.
"""

import io
import math
import warnings
from functools import lru_cache
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from willowbark.tools.records.enclosure import one_line

from .counts import StudyCounts
from .forest import ForestPlot, write_estimate
from .panels import LEVELS, Panels

WIDE, NARROW = 7.4, 3.3  # inches; shown at 740 px and 330 px, letters are at least 12 px high
DPI = 200  # of PNGs: sharp in print at page width
TICKS: dict[float, tuple[float, ...]] = {3: (1, 1.2, 1.5, *range(2, 10)), 1_000: (1, 2, 5), math.inf: (1,)}
"""Marks in each decade of a logarithmic axis, by the ratio below which its ends stay."""
MUTED = "#59616e"
_STANCES = {"supports": ("s", "#1d6fb8"), "contradicts": ("D", "#c2410c"), "inconclusive": ("o", "#6d7480")}
"""Mark and colour, readable on white."""
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
def draw(plot: ForestPlot | Panels, form: Literal["svg", "png"] = "svg", width: float = WIDE) -> bytes:
    """Draw a plot on white; width `WIDE` for pages and documents, `NARROW` for phones, but for overviews."""
    if isinstance(plot, Panels):
        return draw_overview(plot, form)
    is_narrow = width == NARROW
    file = io.BytesIO()
    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # characters missing in the measuring font are drawn in the reader's
        figure = Figure(layout="constrained")
        axes = figure.add_subplot()
        _draw_forest(plot, axes, is_narrow)
        figure.set_size_inches(width, 0.85 + (0.5 if is_narrow else 0.3) * len(plot.effects))
        names = ("Date", "Creator", "Format", "Type") if form == "svg" else ("Software",)
        figure.savefig(file, format=form, dpi=DPI, metadata=dict.fromkeys(names))
    return file.getvalue()


@lru_cache(maxsize=16)
def draw_counts(counts: StudyCounts) -> bytes:
    """Draw the studies for and against each drug as bars on white, as PNG."""
    file = io.BytesIO()
    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as for forest plots
        figure = Figure(layout="constrained")
        axes = figure.add_subplot()
        rows = range(len(counts.drugs))
        before = [0 for _ in rows]
        for side, stance in enumerate(("supports", "inconclusive", "contradicts"), 1):
            numbers = [int(row[side]) for row in counts.drugs]
            axes.barh(rows, numbers, left=before, color=_STANCES[stance][1], label=stance, height=0.7)
            before = [start + number for start, number in zip(before, numbers, strict=True)]
        axes.set_yticks(rows, [one_line(row.drug, 30) for row in counts.drugs])
        axes.invert_yaxis()
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("studies")
        figure.legend(loc="outside upper left", ncols=3, handletextpad=0.2, columnspacing=1.2)
        figure.set_size_inches(WIDE, 0.85 + 0.3 * len(counts.drugs))
        figure.savefig(file, format="png", dpi=DPI, metadata={"Software": None})
    return file.getvalue()


def draw_overview(overview: Panels, form: Literal["svg", "png"] = "svg") -> bytes:
    """Draw the panels of an overview below each other, on white."""
    painters = {"estimates": _draw_effects, "certainty": _draw_certainties, "years": _draw_years}
    rows = {"estimates": len(overview.effects), "certainty": len(overview.certainties), "years": 6}
    heights = [0.9 + 0.24 * rows[name] for name in overview.panels]
    file = io.BytesIO()
    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as for forest plots
        figure = Figure(figsize=(WIDE, sum(heights)), layout="constrained")
        grid = figure.subplots(len(heights), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
        for name, axes in zip(overview.panels, grid[:, 0], strict=True):
            painters[name](overview, axes)
        names = ("Date", "Creator", "Format", "Type") if form == "svg" else ("Software",)
        figure.savefig(file, format=form, dpi=DPI, metadata=dict.fromkeys(names))
    return file.getvalue()


def _draw_effects(overview: Panels, axes: Axes) -> None:
    effects = overview.effects
    for y, effect in enumerate(effects):
        marker, colour = _STANCES[effect.direction]
        axes.plot([effect.low, effect.high], [y, y], color=colour, linewidth=1.6, solid_capstyle="butt")
        axes.plot([effect.value], [y], marker=marker, color=colour, markersize=5, linestyle="none")
        written = f"{effect.value:g} ({effect.low:g} to {effect.high:g}) {effect.measure}"
        axes.annotate(one_line(written, 44), (1.02, y), xycoords=("axes fraction", "data"), va="center")
    axes.axvline(1, color=MUTED, linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(effects)), [one_line(f"{e.drug}, {e.study}", 40) for e in effects])
    axes.set_ylim(len(effects) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    _set_log_axis(axes, [figure for effect in effects for figure in (effect.value, effect.low, effect.high)])
    axes.set_xlabel("ratio (log scale); outcomes and comparators differ, so nothing is pooled")
    axes.set_title("Effect estimates as reported", loc="left", fontsize=10)


def _draw_certainties(overview: Panels, axes: Axes) -> None:
    rows = range(len(overview.certainties))
    places = [LEVELS.index(certainty.level) + 1 for certainty in overview.certainties]
    axes.barh(rows, places, color=_STANCES["supports"][1], height=0.6)
    axes.set_yticks(rows, [one_line(certainty.drug, 40) for certainty in overview.certainties])
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, len(LEVELS))
    axes.set_xticks(range(1, len(LEVELS) + 1), LEVELS)
    axes.set_title("Certainty that it helps", loc="left", fontsize=10)


def _draw_years(overview: Panels, axes: Axes) -> None:
    years = [year.year for year in overview.years]
    before = [0 for _ in years]
    for side, stance in enumerate(("supports", "inconclusive", "contradicts"), 1):
        numbers = [int(year[side]) for year in overview.years]
        axes.bar(years, numbers, bottom=before, color=_STANCES[stance][1], label=stance, width=0.8)
        before = [start + number for start, number in zip(before, numbers, strict=True)]
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title("Results by year of publication", loc="left", fontsize=10)
    axes.legend(loc="upper left", ncols=3, handletextpad=0.4, columnspacing=1.2)
    axes.margins(y=0.3)


def _set_log_axis(axes: Axes, values: list[float]) -> None:
    low = min([*values, 1.0]) / 1.25
    high = max([*values, 1.0]) * 1.25
    axes.set_xscale("log")
    axes.set_xlim(low, high)
    steps = next(steps for most, steps in TICKS.items() if high / low < most)
    axes.xaxis.set_major_locator(LogLocator(subs=steps))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())


def _draw_forest(plot: ForestPlot, axes: Axes, is_narrow: bool) -> None:
    rows = range(len(plot.effects))
    names = [one_line(effect.study, 24) for effect in plot.effects]
    stances = [e.direction if e.direction in _STANCES else "inconclusive" for e in plot.effects]
    for y, (effect, stance) in enumerate(zip(plot.effects, stances, strict=True)):
        size, (marker, colour) = effect.size, _STANCES[stance]
        if size.ci_low is not None and size.ci_high is not None:
            axes.plot([size.ci_low, size.ci_high], [y, y], color=colour, linewidth=1.6, solid_capstyle="butt")
        axes.plot([size.value], [y], marker=marker, color=colour, markersize=5.5, linestyle="none")
        look: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "va": "center", "annotation_clip": False}
        if is_narrow:  # both stand above, over the line of no effect
            axes.annotate(names[y], (0, y - 0.42), backgroundcolor="white", **look)
            axes.annotate(write_estimate(size), (1, y - 0.42), ha="right", backgroundcolor="white", **look)
        else:
            axes.annotate(write_estimate(size), (1.02, y), **look)
    axes.axvline(1 if plot.is_ratio else 0, color=MUTED, linewidth=0.8, zorder=0)
    axes.set_ylim(len(plot.effects) - 0.4, -0.85)
    axes.set_yticks([] if is_narrow else rows, [] if is_narrow else names)
    axes.tick_params(axis="y", length=0)
    if plot.is_ratio:
        values = [v for e in plot.effects for v in (e.size.value, e.size.ci_low, e.size.ci_high) if v is not None]
        _set_log_axis(axes, values)
    axes.set_xlabel(plot.measures + (" (log scale)" if plot.is_ratio else ""))
    handles = [
        Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=5, label=stance)
        for stance, (marker, colour) in _STANCES.items()
        if stance in stances
    ]
    axes.figure.legend(
        handles=handles, loc="outside upper left", ncols=len(handles), handletextpad=0.2, columnspacing=1.2
    )
