"""A list of records that notebooks show as a table, with what was published when."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from willowbark.tools.evidence import Evidence, SearchResult
from willowbark.tools.reading.records import design_of

from .html import figures, linked, table, text
from .markdown import escaped
from .markdown import linked as linked_in_markdown

if TYPE_CHECKING:
    from ..pictures.svg import Picture

_HEAD = ("record", "authors", "date", "source", "relevance", "flags")


class EvidenceList(list[Evidence]):
    """A list of records; the last value of a notebook's cell shows itself.

    Args:
        records: any records, a pool or a search's result among them.
    """

    def __init__(self, records: Iterable[Evidence] | SearchResult = ()) -> None:
        super().__init__(records.evidence if isinstance(records, SearchResult) else records)

    def _repr_html_(self) -> str:
        return evidence_html(self) + "".join(figures(lambda: _pictures(self)))

    def _repr_markdown_(self) -> str:
        if not self:
            return "No records."
        rows = [
            f"| {linked_in_markdown(escaped(record.citation.title), record.citation.url)} | "
            f"{' | '.join(map(escaped, _cells(record)))} |"
            for record in self
        ]
        return "\n".join([f"| {' | '.join(_HEAD)} |", "|---" * len(_HEAD) + "|", *rows])


def evidence_html(records: Iterable[Evidence]) -> str:
    """A table of records: title with link, authors, date, source, relevance, flags."""
    rows = [(linked(record.citation.title, record.citation.url), *map(text, _cells(record))) for record in records]
    return table(_HEAD, rows) if rows else "<p>No records.</p>"


def _cells(record: Evidence) -> tuple[str, ...]:
    citation, data = record.citation, record.metadata
    marks = {
        "preprint": record.is_preprint,
        "retracted": data.get("retracted"),
        "expression of concern": data.get("expression_of_concern"),
        "title only": not record.has_abstract,
    }
    more = " et al." if len(citation.authors) > citation.MAX_AUTHORS_IN_CITATION else ""
    return (
        ", ".join(citation.authors[: citation.MAX_AUTHORS_IN_CITATION]) + more,
        citation.date,
        citation.source,
        f"{record.relevance:.2f}",
        ", ".join(name for name, is_set in marks.items() if is_set),
    )


def _pictures(records: Iterable[Evidence]) -> Iterator["Picture"]:
    from ..pictures.plots import by_year, count_by_year  # noqa: PLC0415  an extra, and slow

    papers = [r for r in records if not r.metadata.get("record_type") and r.citation.source != "clinicaltrials"]
    dated = ((r.citation.date, design_of(r).design.label) for r in papers)
    if picture := by_year(count_by_year(dated), "Publications by year and study design"):
        yield picture
