"""A report, and lists of evidence, as notebooks show them: short HTML, every text escaped, links to the sources alone.

The whole report as a page of its own is `willowbark export RUN --to html`.
"""

from collections.abc import Iterable, Sequence
from html import escape
from urllib.parse import urlsplit

from willowbark.tools.enclosure import visible
from willowbark.tools.evidence import Evidence

from .report import DrugCandidate, ResearchReport
from .report_markdown import LINKED_HOSTS

SHOWN_QUOTES = 3  # of one candidate; the others stand in the report itself


def report_html(report: ResearchReport) -> str:
    """Title, summary, candidates with certainty and quotes, limitations."""
    rows = [_row(candidate) for candidate in report.candidates]
    head = ("drug", "certainty", "evidence", "for", "against", "status")
    return "".join(
        [
            f"<section><h3>{_text(report.title)}</h3>",
            f"<p>{_text(report.executive_summary)}</p>",
            _table(head, rows) if rows else "<p>No existing drug has evidence here that could be verified.</p>",
            *(_quotes(candidate) for candidate in report.candidates if candidate.claims),
            f"<p><strong>Conclusion.</strong> {_text(report.conclusion)}</p>",
            "<details><summary>Limitations</summary><ul>",
            *(f"<li>{_text(line)}</li>" for line in report.limitations),
            f"</ul></details><p><small>{len(report.references)} references. {_text(report.disclaimer)}</small></p>",
            "</section>",
        ]
    )


def evidence_html(records: Iterable[Evidence]) -> str:
    """A table of records: title with link, authors, date, source, relevance, flags.

    In a notebook: `display(HTML(evidence_html(result.evidence)))`.
    """
    rows = [
        (
            _linked(record.citation.title, record.citation.url),
            _text(", ".join(record.citation.authors[:3]) + (" et al." if len(record.citation.authors) > 3 else "")),
            _text(record.citation.date),
            _text(record.citation.source),
            f"{record.relevance:.2f}",
            _text(", ".join(_flags(record))),
        )
        for record in records
    ]
    return _table(("record", "authors", "date", "source", "relevance", "flags"), rows) if rows else "<p>No records.</p>"


def _row(candidate: DrugCandidate) -> tuple[str, ...]:
    return (
        f"<strong>{_text(candidate.name)}</strong>",
        _text(candidate.certainty),
        _text(candidate.evidence_quality),
        str(len(candidate.supporting_citations)),
        str(len(candidate.contradicting_citations)),
        _text(candidate.clinical_status),
    )


def _quotes(candidate: DrugCandidate) -> str:
    quotes = "".join(
        f"<li>{_text(claim.stance)}: <q>{_text(claim.quote)}</q> <small>{_text(claim.evidence_key)}</small></li>"
        for claim in candidate.claims[:SHOWN_QUOTES]
    )
    return f"<details><summary>{_text(candidate.name)}: what its records say</summary><ul>{quotes}</ul></details>"


def _flags(record: Evidence) -> list[str]:
    data = record.metadata
    marks = {
        "preprint": record.is_preprint,
        "retracted": data.get("retracted"),
        "expression of concern": data.get("expression_of_concern"),
        "title only": not record.has_abstract,
    }
    return [name for name, is_set in marks.items() if is_set]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    names = "".join(f'<th scope="col" style="text-align:left">{name}</th>' for name in head)
    lines = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table>"


def _linked(text: str, url: str) -> str:
    """A link to one of the sources' pages; the bare text where the address is anything else."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return _text(text)
    if parts.scheme == "https" and parts.netloc in LINKED_HOSTS:
        return f'<a href="{_text(url)}" rel="noopener noreferrer">{_text(text)}</a>'
    return _text(text)


def _text(text: str) -> str:
    return escape(" ".join(visible(text).split()))
