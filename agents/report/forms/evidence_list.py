"""A list of records that notebooks show as a table, with what was published when."""

from collections.abc import Iterable

from willowbark.tools.appraisal.appraised import design_of
from willowbark.tools.evidence import Evidence, SearchResult
from willowbark.tools.registry import kind_of
from willowbark.tools.sources.card import PAPERS
from willowbark.tools.works.trust_lookup import flags_of

from ...pictures.figures import Years, count_by_year
from .blocks import Flow, Link, Table, flow, table
from .html import figure_html, table_html
from .markdown import table as table_in_markdown

_HEAD = ("record", "authors", "date", "source", "relevance", "flags")


class EvidenceList(list[Evidence]):
    """A list of records; the last value of a notebook's cell shows itself.

    Args:
        records: any records, a pool or a search's result among them.
    """

    def __init__(self, records: Iterable[Evidence] | SearchResult = ()) -> None:
        super().__init__(records.evidence if isinstance(records, SearchResult) else records)

    def _repr_html_(self) -> str:
        papers = [r for r in self if kind_of(r) in PAPERS]
        counts = count_by_year((r.citation.date, design_of(r).label) for r in papers)
        years = figure_html(Years(counts, "Publications by year and study design")) if counts else ""
        return evidence_html(self) + years

    def _repr_markdown_(self) -> str:
        return table_in_markdown(_table(self)) if self else "No records."


def evidence_html(records: Iterable[Evidence]) -> str:
    """A table of records: title with link, authors, date, source, relevance, flags."""
    found = _table(records)
    return table_html(found) if found.lines else "<p>No records.</p>"


def _table(records: Iterable[Evidence]) -> Table:
    return table("", _HEAD, map(_cells, records))


def _cells(record: Evidence) -> tuple[Flow, ...]:
    citation, raised = record.citation, flags_of(record)
    marks = {
        "preprint": record.is_preprint,
        "retracted": "retracted" in raised,
        "expression of concern": "expression_of_concern" in raised,
        "title only": not record.has_abstract,
    }
    more = " et al." if len(citation.authors) > citation.MAX_AUTHORS_IN_CITATION else ""
    return (
        flow(Link(citation.title, citation.url)),
        flow(", ".join(citation.authors[: citation.MAX_AUTHORS_IN_CITATION]) + more),
        flow(citation.date),
        flow(citation.source),
        flow(f"{record.relevance:.2f}"),
        flow(", ".join(name for name, is_set in marks.items() if is_set)),
    )
