"""The pictures of a report that have axes: effect sizes, trials over time, publications by year."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from ..report.model import ResearchReport, TrialRow
from .canvas import NARROW, cut, picture
from .forest import forests
from .svg import NAMES, Picture
from .trials import MAX_DRAWN, drawn_trials, outcome_of, phase_words

__all__ = ["forests", "publications_by_year", "trial_timeline", "year_counts"]

_OUTCOMES = {"completed": "supports", "running": "review", "stopped": "contradicts", "not reported": "undecided"}
DESIGN_GROUPS = {
    "systematic review": "review",
    "RCT": "supports",
    "observational": "observed",
    "review or opinion": "undecided",
    "laboratory": "experiment",
    "other": "other",
}
"""Groups of designs with the names of their colours, strongest first."""
_GROUP_OF = {
    "systematic review": "systematic review",
    "RCT": "RCT",
    "RCT blinded": "RCT",
    "RCT open": "RCT",
    "controlled cohort": "observational",
    "cohort": "observational",
    "case control": "observational",
    "case series": "observational",
    "case report": "observational",
    "narrative review": "review or opinion",
    "guideline": "review or opinion",
    "editorial": "review or opinion",
    "in vivo": "laboratory",
    "in vitro": "laboratory",
    "in silico": "laboratory",
}


def trial_timeline(report: ResearchReport) -> Picture | None:
    """The registered trials by phase and time, stopped ones marked; None where no trial has a start."""
    trials = drawn_trials(report.trials)
    if not trials:
        return None
    stopped = [trial for trial in trials if outcome_of(trial) == "stopped"]
    told = ", ".join(f"{n} {outcome}" for outcome, n in Counter(map(outcome_of, trials)).items())
    description = f"Timeline of {len(trials)} registered trials by phase: {told}."
    if stopped:
        description += f" Stopped: {', '.join(trial.nct_id for trial in stopped)}."
    return picture(
        "trials",
        f"Registered trials by phase, from start to completion{'; the latest' if len(trials) == MAX_DRAWN else ''}",
        description,
        lambda axes, width: _draw_timeline(axes, trials, width),
        wide_height=0.75 + 0.28 * len(trials),
        narrow_height=0.85 + 0.38 * len(trials),
    )


def publications_by_year(report: ResearchReport) -> Picture | None:
    """The appraised publications by year and design; None where none has a year."""
    return by_year(year_counts(report), "Appraised publications by year and study design")


def by_year(counts: Mapping[int, Counter[str]], caption: str) -> Picture | None:
    """Publications by year and group of designs; None where there are none."""
    if not counts:
        return None
    totals = {year: sum(groups.values()) for year, groups in counts.items()}
    description = (
        f"Bar chart of {sum(totals.values())} publications from {min(totals)} to {max(totals)} by design; "
        f"the most, {max(totals.values())}, in {max(totals, key=lambda year: (totals[year], -year))}."
    )
    return picture(
        "years",
        caption,
        description,
        lambda axes, width: _draw_years(axes, counts, width),
        wide_height=3.0,
        narrow_height=2.9,
    )


def year_counts(report: ResearchReport) -> dict[int, Counter[str]]:
    """Publications by year and group of designs, each once; registry entries and undated records are left out."""
    rows = {row.key: row for row in report.evidence_table if not row.key.startswith("nct:")}
    return count_by_year((row.date, row.design) for row in rows.values())


def count_by_year(dated: Iterable[tuple[str, str]]) -> dict[int, Counter[str]]:
    """Count by year and group of designs.

    Args:
        dated: dates as sources give them, and designs in words; those without a year are left out.
    """
    found: dict[int, Counter[str]] = {}
    for date, design in dated:
        if re.match(r"\d{4}", date):
            found.setdefault(int(date[:4]), Counter())[_GROUP_OF.get(design, "other")] += 1
    return dict(sorted(found.items()))


def _draw_timeline(axes: Axes, trials: Sequence[TrialRow], width: float) -> None:
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


def _draw_years(axes: Axes, counts: Mapping[int, Counter[str]], width: float) -> None:
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


def span_of(trial: TrialRow) -> tuple[float, float | None]:
    """Start and completion in years (2016.5 is July 2016); None for a completion that is not reported."""
    start, end = _year(trial.start_date), _year(trial.completion_date)
    assert start is not None
    return start, end if end is not None and end >= start else None


def _year(date: str | None) -> float | None:
    found = re.match(r"(\d{4})(?:-(\d{2}))?(?:-(\d{2}))?", date or "")
    if found is None:
        return None
    return int(found[1]) + (int(found[2] or 1) - 1) / 12 + (int(found[3] or 1) - 1) / 365
