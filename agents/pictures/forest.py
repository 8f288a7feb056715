"""Forest-style plots: the effect sizes that a candidate's records report, with their intervals."""

import re
from collections.abc import Iterable, Mapping

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from willowbark.tools.appraisal import EffectSize

from ..report.links import named
from ..report.model import EvidenceRow, ResearchReport
from .canvas import NARROW, cut, picture
from .effects import EffectFamily, effect_families
from .svg import NAMES, Picture

FINE_RATIO = 3  # of the axis' ends, below which 1, 2, 5 leave it nearly bare
_MARKERS = {"supports": "s", "contradicts": "D", "undecided": "o"}


def forests(report: ResearchReport, drug: str) -> list[Picture]:
    """The effect sizes of one candidate, one picture a family of measures; none where fewer than two are reported."""
    rows = [row for row in report.evidence_table if row.drug == drug and not row.retracted]
    labels = _short_names(report, rows)
    place = report.drug_candidates.index(drug) if drug in report.drug_candidates else len(report.drug_candidates)
    families = effect_families(drug, rows)
    return [_forest(family, labels, f"forest-{place + 1}-{n + 1}") for n, family in enumerate(families)]


def _short_names(report: ResearchReport, rows: Iterable[EvidenceRow]) -> Mapping[str, str]:
    """`Smith 2001` for each record, as forest plots name them; the identifier where the authors are not known."""
    authors = {str(r["key"]): r.get("authors") or [] for r in report.references}
    names = {}
    for row in rows:
        year = row.date[:4] if row.date[:4].isdigit() else "no date"
        first = next(iter(authors.get(row.key, ())), None)
        surname = re.sub(r" [A-Z]{1,3}$", "", str(first)) if first else None
        is_paper = surname and not row.key.startswith("nct:")
        names[row.key] = f"{cut(str(surname), 18)} {year}" if is_paper else named(row.key)
    return names


def _forest(family: EffectFamily, labels: Mapping[str, str], name: str) -> Picture:
    measures = "/".join(family.measures)
    told = "; ".join(f"{labels[row.key]}: {estimate(size)}" for row, size in family.effects)
    left_out = f" {family.left_out} left out: their sentences compare several drugs." if family.left_out else ""
    return picture(
        name,
        f"{family.drug}: effect sizes as reported ({measures}; line: confidence interval where reported). Outcomes and "
        f"comparators differ, so they are not pooled.{left_out}",
        f"Effect sizes reported for {family.drug}, line of no effect at {1 if family.is_ratio else 0}: {told}.",
        lambda axes, width: _draw_forest(axes, family, labels, width),
        wide_height=0.85 + 0.3 * len(family.effects),
        narrow_height=0.85 + 0.5 * len(family.effects),
    )


def _draw_forest(axes: Axes, family: EffectFamily, labels: Mapping[str, str], width: float) -> None:
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
        _log_axis(axes, family)
    axes.set_xlabel("/".join(family.measures) + (" (log scale)" if family.is_ratio else ""))
    _stance_legend(axes, {row.direction for row, _ in family.effects})


def _log_axis(axes: Axes, family: EffectFamily) -> None:
    values = [v for _, s in family.effects for v in (s.value, s.ci_low, s.ci_high) if v is not None]
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


def estimate(size: EffectSize) -> str:
    """An effect size with its interval: `OR 2.82 [1.89, 4.28]`."""
    interval = f" [{size.ci_low:g}, {size.ci_high:g}]" if size.ci_low is not None and size.ci_high is not None else ""
    return f"{size.measure} {size.value:g}{interval}"


def _stance_legend(axes: Axes, directions: set[str]) -> None:
    stances = {direction if direction in _MARKERS else "undecided" for direction in directions}
    shown = [stance for stance in _MARKERS if stance in stances]
    handles = [
        Line2D([], [], color=NAMES[s], marker=_MARKERS[s], linestyle="none", markersize=5, label=s) for s in shown
    ]
    axes.figure.legend(
        handles=handles, loc="outside upper left", ncols=len(shown), handletextpad=0.2, columnspacing=1.2
    )
