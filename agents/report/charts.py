"""What can be drawn of a report: effect estimates of one drug, the studies for and against each, an overview."""

from collections import Counter
from collections.abc import Iterator

from willowbark.tools.lexicon import canonical_drug
from willowbark.tools.reading.numbers import RATIOS
from willowbark.tools.records.study import Comparison, Study

from ..pictures import ForestPlot
from ..pictures.counts import MAX_DRUGS, DrugCounts, StudyCounts
from ..pictures.overview import MOST_DRUGS, MOST_ESTIMATES, Overview
from ..pictures.panels import LEVELS, ComparedEffect, DrugCertainty, YearCounts
from .content import ReportContent
from .tree import draw_plots_of_drug, name_study

_SIDES = {"arm": "supports", "versus": "contradicts"}


def draw_forest_plots(report: ReportContent, drug: str) -> list[ForestPlot]:
    """Return a drug's plots, by any of its names; empty without two effect estimates of one kind."""
    name = canonical_drug(drug) or drug.strip().lower()
    for place, candidate in enumerate(report.candidates, 1):
        if candidate.name.lower() == name:
            rows = [row for row in report.evidence_table if row.drug == candidate.name]
            return draw_plots_of_drug(report, place, rows)
    return []


def count_studies(report: ReportContent) -> StudyCounts | None:
    """Count the studies for and against each candidate; None without candidates."""
    rows = [
        DrugCounts(
            candidate.name,
            len(candidate.supporting_citations),
            len(candidate.undecided_citations),
            len(candidate.contradicting_citations),
        )
        for candidate in report.candidates
    ]
    return StudyCounts(tuple(rows[:MAX_DRUGS]), max(0, len(rows) - MAX_DRUGS)) if rows else None


def make_overview(report: ReportContent) -> Overview:
    """Return what there is to plot of a report, at most 25 estimates and 20 drugs, in the report's order."""
    effects: list[ComparedEffect] = []
    for study in report.studies:
        effects += list_ratios(report, study)
    places = {candidate.name: place for place, candidate in enumerate(report.candidates)}
    effects.sort(key=lambda effect: places[effect.drug])
    rated = [candidate for candidate in report.candidates if candidate.level in (*LEVELS, "standard")]
    levels = [DrugCertainty(drug.name, drug.certainty) for drug in rated if drug.certainty in LEVELS]
    return Overview(
        report.title, tuple(effects[:MOST_ESTIMATES]), tuple(levels[:MOST_DRUGS]), tuple(_count_by_year(report))
    )


def list_ratios(report: ReportContent, study: Study) -> Iterator[ComparedEffect]:
    """Yield a study's ratios with intervals, of comparisons that come down to one candidate."""
    candidates = {candidate.name for candidate in report.candidates}
    for comparison in study.comparisons:
        contrast = study.contrast_of(comparison)
        effect = comparison.estimate
        if len(contrast) != 1 or not contrast <= candidates:
            continue
        if effect is None or not _is_ratio(effect.measure):
            continue
        if effect.value is None or effect.low is None or effect.high is None:
            continue
        if 0 < effect.low <= effect.value <= effect.high:
            name = name_study(report, study.key)
            yield ComparedEffect(
                drug=min(contrast),
                study=name,
                measure=effect.measure,
                value=effect.value,
                low=effect.low,
                high=effect.high,
                direction=_name_side(comparison),
                key=study.key,
                outcome=comparison.outcome,
                versus=comparison.versus or "",
            )


def _name_side(comparison: Comparison) -> str:
    """Name the side of a comparison; one that is not significant decides nothing."""
    if comparison.significant is False or comparison.favours is None:
        return "inconclusive"
    return _SIDES.get(comparison.favours, "inconclusive")


def _is_ratio(measure: str) -> bool:
    """Tell ratios by their names: no effect is 1, the axis logarithmic."""
    return measure.upper() in RATIOS or "ratio" in measure.lower() or "relative risk" in measure.lower()


def _count_by_year(report: ReportContent) -> Iterator[YearCounts]:
    """Yield the numbers of results by year; a record on several drugs counts once for each stance."""
    by_year = dict[int, Counter[str]]()
    candidates = {candidate.name: candidate for candidate in report.candidates}
    records = set[tuple[str, str, str]]()
    for row in report.evidence_table:
        stance = candidates[row.drug].stance_of(row) if row.drug in candidates else row.direction
        records.add((row.date[:4], row.key, {"missed": "inconclusive"}.get(stance, stance)))
    for year, _, stance in sorted(records):
        if year.isdigit():
            by_year.setdefault(int(year), Counter())[stance] += 1
    for when, counts in by_year.items():
        numbers = YearCounts(when, counts["supports"], counts["inconclusive"], counts["contradicts"])
        if sum(numbers[1:]):
            yield numbers
