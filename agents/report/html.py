"""A report as notebooks show it: short HTML with pictures, every text escaped, links to the sources alone.

The whole report as a page of its own is `willowbark export RUN --to html`; lists of evidence are in `evidence_list`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from willowbark.tools.enclosure import visible

from .links import safe_url
from .model import DrugCandidate, ResearchReport

if TYPE_CHECKING:
    from ..pictures.svg import Picture

SHOWN_FORESTS = 5  # candidates whose effect sizes are drawn; the page of its own draws all
FIGURE_STYLE = "max-width:46rem;margin:1em 0;padding:8px;background:#fff;color:#16181d"
SHOWN_QUOTES = 3  # of one candidate; the others stand in the report itself


def report_html(report: ResearchReport) -> str:
    """Title, summary, candidates with certainty and quotes, limitations."""
    rows = [_row(candidate) for candidate in report.candidates]
    head = ("drug", "certainty", "evidence", "for", "against", "status")
    return "".join(
        [
            f"<section><h3>{text(report.title)}</h3>",
            f"<p>{text(report.executive_summary)}</p>",
            table(head, rows) if rows else "<p>No existing drug has evidence here that could be verified.</p>",
            *(_quotes(candidate) for candidate in report.candidates if candidate.claims),
            *figures(lambda: _pictures(report)),
            f"<p><strong>Conclusion.</strong> {text(report.conclusion)}</p>",
            "<details><summary>Limitations</summary><ul>",
            *(f"<li>{text(line)}</li>" for line in report.limitations),
            f"</ul></details><p><small>{len(report.references)} references. {text(report.disclaimer)}</small></p>",
            "</section>",
        ]
    )


def figures(draw: Callable[[], Iterable["Picture"]]) -> Iterator[str]:
    """Pictures with their captions on white, which reads on dark pages too; none where matplotlib is not installed."""
    try:
        drawn = list(draw())
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        return
    for picture in drawn:
        caption = f"<figcaption><small>{text(picture.caption)}</small></figcaption>"
        yield f'<figure style="{FIGURE_STYLE}">{picture.wide}{caption}</figure>'


def _pictures(report: ResearchReport) -> Iterator["Picture"]:
    from ..pictures.plots import forests, publications_by_year, trial_timeline  # noqa: PLC0415  an extra, and slow

    for candidate in report.candidates[:SHOWN_FORESTS]:
        yield from forests(report, candidate.name)
    yield from filter(None, (trial_timeline(report), publications_by_year(report)))


def _row(candidate: DrugCandidate) -> tuple[str, ...]:
    return (
        f"<strong>{text(candidate.name)}</strong>",
        text(candidate.certainty),
        text(candidate.evidence_quality),
        str(len(candidate.supporting_citations)),
        str(len(candidate.contradicting_citations)),
        text(candidate.clinical_status),
    )


def _quotes(candidate: DrugCandidate) -> str:
    quotes = "".join(
        f"<li>{text(claim.stance)}: <q>{text(claim.quote)}</q> <small>{text(claim.evidence_key)}</small></li>"
        for claim in candidate.claims[:SHOWN_QUOTES]
    )
    return f"<details><summary>{text(candidate.name)}: what its records say</summary><ul>{quotes}</ul></details>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    names = "".join(f'<th scope="col" style="text-align:left">{name}</th>' for name in head)
    lines = "".join(
        "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{names}</tr></thead><tbody>{lines}</tbody></table>"


def linked(title: str, url: str) -> str:
    """A link to one of the sources' pages; the bare text where the address is anything else."""
    address = safe_url(url)
    return f'<a href="{text(address)}" rel="noopener noreferrer">{text(title)}</a>' if address else text(title)


def text(value: str) -> str:
    """A text in one line, escaped."""
    return escape(" ".join(visible(value).split()))
