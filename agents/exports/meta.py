"""Export comparisons for meta-analysis: columns of R's package meta, and of RevMan's tables.

A row is one comparison of two arms. Ratios stand as logarithms, with the standard error that their interval implies; it
stays empty where the interval's level is not reported, as nothing is assumed.
https://cran.r-project.org/package=meta, https://documentation.cochrane.org/revman-kb
"""

import math
import re
from collections.abc import Iterator
from operator import itemgetter
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from willowbark.tools.records.study import ArmCount, Comparison, Estimate, Study

from .cells import write_csv

if TYPE_CHECKING:
    from ..report.model import ResearchReport

META_COLUMNS = (
    "studlab", "key", "drug", "versus", "outcome", "sm", "TE", "seTE", "lower", "upper", "level",
    "event.e", "n.e", "mean.e", "sd.e", "event.c", "n.c", "mean.c", "sd.c",
)  # fmt: skip
"""As `metagen`, `metabin` and `metacont` name them, after what tells the comparison."""
REVMAN_COLUMNS = {
    "studlab": "Study or Subgroup", "drug": "Experimental", "versus": "Control", "outcome": "Outcome",
    "event.e": "Experimental Events", "n.e": "Experimental Total", "event.c": "Control Events",
    "n.c": "Control Total", "mean.e": "Experimental Mean", "sd.e": "Experimental SD", "mean.c": "Control Mean",
    "sd.c": "Control SD", "sm": "Effect Measure", "TE": "Effect (ratios: log)", "seTE": "SE",
}  # fmt: skip
"""RevMan's headings by those columns."""
_SHORT = {
    "odds ratio": "OR", "risk ratio": "RR", "relative risk": "RR", "rate ratio": "IRR", "hazard ratio": "HR",
    "incidence rate ratio": "IRR", "mean difference": "MD", "standardised mean difference": "SMD",
    "standardized mean difference": "SMD", "risk difference": "RD",
}  # fmt: skip
_RATIOS = frozenset({"OR", "RR", "HR", "IRR"})
_ABBREVIATED = re.compile(r"\(([A-Z]{2,4})\)")
_SD = re.compile(r"\bSD\s*=?\s*(\d+(?:\.\d+)?)")


def list_rows(report: "ResearchReport") -> Iterator[dict[str, Any]]:
    """Yield the cells of each comparison that has an estimate or counts, by column of `META_COLUMNS`; None: unknown."""
    for study in report.studies:
        reference = report.reference_of(study.key)
        authors = reference.get("authors") or [study.key]
        year = str(reference.get("date") or "")[:4]
        label = f"{authors[0]} {year}".strip()
        for comparison in study.comparisons:
            if comparison.versus is not None and comparison.estimate is not None:
                cells = _make_cells(study, comparison, comparison.versus, comparison.estimate)
                if {"TE", "event.e", "mean.e"} & cells.keys():
                    yield {**dict.fromkeys(META_COLUMNS), "studlab": label, "key": study.key, **cells}


def _make_cells(study: Study, comparison: Comparison, versus: str, estimate: Estimate) -> dict[str, Any]:
    contrast = "; ".join(sorted(study.contrast_of(comparison)))
    cells: dict[str, Any] = {
        "drug": contrast or comparison.arm,
        "versus": versus,
        "outcome": comparison.outcome or None,
        "n.e": study.arm(comparison.arm).n,
        "n.c": study.arm(versus).n,
        **_make_effect(estimate),
    }
    for side, name in (("e", comparison.arm), ("c", versus)):
        for count in estimate.counts:
            if count.arm == name:
                cells |= _make_counts(count, side)
    return cells


def _make_effect(estimate: Estimate) -> dict[str, Any]:
    """Return the effect on the scale that is pooled; empty without a value, or for a ratio of zero or less."""
    measure = shorten_measure(estimate.measure)
    figures = [estimate.value, estimate.low, estimate.high]
    if estimate.value is None:
        return {}
    if measure in _RATIOS or "ratio" in measure.lower():
        if min(figure for figure in figures if figure is not None) <= 0:
            return {}
        figures = [None if figure is None else math.log(figure) for figure in figures]
    value, low, high = figures
    cells = {"sm": measure or None, "TE": value, "lower": low, "upper": high, "level": estimate.level}
    if low is not None and high is not None and estimate.level is not None and estimate.sides != 1:
        width = 2 * NormalDist().inv_cdf(0.5 + estimate.level / 200)
        cells["seTE"] = (high - low) / width
    return cells


def _make_counts(count: ArmCount, side: str) -> dict[str, Any]:
    spread = _SD.search(count.dispersion)
    values = {
        "event": count.events,
        "n": count.n,
        "mean": count.mean,
        "sd": float(spread[1]) if spread else None,
    }
    return {f"{name}.{side}": value for name, value in values.items() if value is not None}


def shorten_measure(measure: str) -> str:
    """Abbreviate a measure as meta-analyses do; others stay as the record writes them.

    >>> shorten_measure("Hazard Ratio (HR)"), shorten_measure("odds ratio"), shorten_measure("slope")
    ('HR', 'OR', 'slope')
    """
    bracketed = _ABBREVIATED.search(measure)
    if bracketed:
        return bracketed[1]
    return _SHORT.get(measure.strip().lower(), measure.strip())


def as_meta(report: "ResearchReport") -> bytes:
    """Export as CSV for R's package meta."""
    cells = itemgetter(*META_COLUMNS)
    rows = map(cells, list_rows(report))
    return write_csv([META_COLUMNS, *rows]).encode(errors="replace")


def as_revman(report: "ResearchReport") -> bytes:
    """Export as CSV with RevMan's headings."""
    cells = itemgetter(*REVMAN_COLUMNS)
    rows = map(cells, list_rows(report))
    return write_csv([list(REVMAN_COLUMNS.values()), *rows]).encode("utf-8-sig", errors="replace")
