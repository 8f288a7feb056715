"""What can be drawn of a report: effect estimates of one drug, and the studies for and against each."""

from willowbark.tools.lexicon import canonical_drug

from ..pictures import ForestPlot
from ..pictures.counts import MAX_DRUGS, DrugCounts, StudyCounts
from .content import ReportContent
from .tree import plots_of_drug


def forest_plots_of(report: ReportContent, drug: str) -> list[ForestPlot]:
    """Return a drug's plots, by any of its names; empty without two effect estimates of one kind."""
    wanted = canonical_drug(drug) or drug.strip().lower()
    for place, candidate in enumerate(report.candidates, 1):
        if candidate.name.lower() == wanted:
            rows = [row for row in report.evidence_table if row.drug == candidate.name]
            return plots_of_drug(report, place, rows)
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
