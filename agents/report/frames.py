"""A report as pandas data frames, and lists of records as tables, for notebooks.

Integer columns are pandas' `Int64`, so that "not reported" stays missing and is never 0.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from willowbark.tools.errors import MissingExtra
from willowbark.tools.evidence import Evidence, SearchResult

from .content import ReportContent
from .forms.blocks import Link, Table, flow, table
from .forms.html import table_html
from .forms.markdown import table as table_in_markdown
from .texts import flags_said

if TYPE_CHECKING:
    import pandas as pd

_TYPES = dict.fromkeys(
    ("year", "sample_size", "enrollment", "supporting", "contradicting", "inconclusive", "effects"), "Int64"
) | dict.fromkeys(("followup_months", "value", "ci_low", "ci_high", "p"), "float64")
_EVIDENCE = (
    "drug direction design date year title sample_size followup_months measure value ci_low ci_high p effects "
    "is_preprint retracted concern sentence key"
).split()
_CANDIDATES = (
    "drug certainty evidence_quality clinical_status supporting contradicting inconclusive mechanism "
    "proposed_mechanism current_indications"
).split()
_TRIALS = (
    "nct_id title drugs status phases enrollment start_date completion_date why_stopped why_stopped_kind has_results"
).split()


def evidence_frame(report: ReportContent) -> "pd.DataFrame":
    """Return one row for each record appraised for a drug.

    `measure`, `value`, `ci_low`, `ci_high` and `p` are the record's first effect size; `effects` counts all of them,
    and `report.evidence_table` has them.

    Raises:
        UsageError: pandas is not installed, here and below.
    """
    rows = []
    for row in report.evidence_table:
        first = row.effects[0].model_dump(exclude={"sentence"}) if row.effects else {}
        year = int(row.date[:4]) if row.date[:4].isdigit() else None
        rows.append({**row.model_dump(exclude={"effects"}), **first, "year": year, "effects": len(row.effects)})
    return _frame(rows, _EVIDENCE)


def candidates_frame(report: ReportContent) -> "pd.DataFrame":
    """Return one row for each candidate, best supported first, with counts of records by direction."""
    rows = [
        {
            **candidate.model_dump(include=set(_CANDIDATES)),
            "drug": candidate.name,
            "supporting": len(candidate.supporting_citations),
            "contradicting": len(candidate.contradicting_citations),
            "inconclusive": len(candidate.undecided_citations),
        }
        for candidate in report.candidates
    ]
    return _frame(rows, _CANDIDATES)


def trials_frame(report: ReportContent) -> "pd.DataFrame":
    """Return one row for each registered trial that names a candidate."""
    return _frame([trial.model_dump(include=set(_TRIALS)) for trial in report.trials], _TRIALS)


def _frame(rows: list[dict[str, Any]], columns: list[str]) -> "pd.DataFrame":
    try:
        import pandas as pd  # noqa: PLC0415  an extra that takes half a second to import
    except ImportError:
        raise MissingExtra("a data frame", "notebook") from None
    frame = pd.DataFrame(rows, columns=columns)
    return frame.astype({name: kind for name, kind in _TYPES.items() if name in columns})


class EvidenceList(list[Evidence]):
    """Records that a notebook shows as a table: title with link, authors, date, source, relevance, flags."""

    def __init__(self, records: Iterable[Evidence] | SearchResult = ()) -> None:
        super().__init__(records.evidence if isinstance(records, SearchResult) else records)

    def _repr_html_(self) -> str:
        return table_html(_table(self)) if self else "<p>No records.</p>"

    def _repr_markdown_(self) -> str:
        return table_in_markdown(_table(self)) if self else "No records."


def _table(records: Iterable[Evidence]) -> Table:
    rows = []
    for record in records:
        citation = record.citation
        more = " et al." if len(citation.authors) > citation.MAX_AUTHORS_IN_CITATION else ""
        cells = (
            ", ".join(citation.authors[: citation.MAX_AUTHORS_IN_CITATION]) + more,
            citation.date,
            citation.source,
            f"{record.relevance:.2f}",
            ", ".join(flags_said(record)),
        )
        rows.append((flow(Link(citation.title, citation.url)), *map(flow, cells)))
    return table("", ("record", "authors", "date", "source", "relevance", "flags"), rows)
