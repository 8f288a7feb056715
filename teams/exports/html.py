"""A report as one self-contained page: nothing is loaded from anywhere, nothing of a record's text is live.

Every text is escaped by the template engine; Markdown goes through `markup`; links lead to the sources' pages alone.
The Content-Security-Policy allows the page's own style sheet, by its hash, and nothing else:
https://www.w3.org/TR/CSP3/#framework-directive-source-list.
"""

import base64
import hashlib
from datetime import datetime
from functools import cache
from importlib import resources

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from willowbark.agents.pictures.diagrams import mechanism_path
from willowbark.agents.pictures.forest import estimate
from willowbark.agents.pictures.plots import DESIGN_GROUPS, forests, publications_by_year, trial_timeline, year_counts
from willowbark.agents.pictures.svg import Picture
from willowbark.agents.pictures.trials import outcome_of, phase_words, status_words
from willowbark.agents.report.links import named, url_of
from willowbark.agents.report.markdown import is_database_entry
from willowbark.agents.report.model import NOT_REPORTED, ResearchReport
from willowbark.agents.report.posted_results import EVENTS_NOTE
from willowbark.agents.report.sections import QUERIES
from willowbark.tools.enclosure import visible
from willowbark.tools.evidence import UNKNOWN_DATE

from .markup import as_safe_html
from .outlook import what_would_change
from .searches import by_query, by_source, filters_in_words, source_title
from .view import CandidateView, Record, byline, candidate_views, summary_parts


def as_html(report: ResearchReport) -> bytes:
    """The report as a page in UTF-8."""
    views = candidate_views(report)
    numbers = {int(reference["number"]) for reference in report.references}
    style = _resource("report.css")
    page = _template().render(
        report=report,
        style=Markup(style),  # noqa: S704  a file of the package
        policy=_policy(style),
        views=views,
        mechanisms={view.place: mechanism_path(f"path-{view.place}", view.steps) for view in views if view.steps},
        forests={view.place: forests(report, view.candidate.name) for view in views},
        timeline=trial_timeline(report),
        years=publications_by_year(report),
        year_counts=year_counts(report),
        design_groups=list(DESIGN_GROUPS),
        conclusion=report.conclusion,
        changes=what_would_change(report),
        prose={
            name: Markup(as_safe_html(content, numbers))  # noqa: S704  passed the allow-list
            for name, content in (
                ("clinical", report.clinical_findings.content),
                ("mechanistic", report.mechanistic_findings.content),
                ("methodology", _without_searches(report.methodology.content)),
            )
        },
    )
    return "".join(line.rstrip() + "\n" for line in page.splitlines() if line.strip()).encode(errors="replace")


def _policy(style: str) -> str:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_shown, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "drawn": _drawn,
        "estimate": estimate,
        "named": named,
        "outcome": outcome_of,
        "phase": phase_words,
        "status": status_words,
        "filters": filters_in_words,
        "moment": _moment,
        "source_title": source_title,
        "zip": zip,
        "byline": byline,
    }
    environment.tests["database_entry"] = is_database_entry
    environment.globals |= {
        "url_of": url_of,
        "NOT_REPORTED": NOT_REPORTED,
        "EVENTS_NOTE": EVENTS_NOTE,
        "UNKNOWN_DATE": UNKNOWN_DATE,
        "by_source": by_source,
        "by_query": by_query,
        "summary_parts": summary_parts,
        "main_records": _main_records,
        "other_records": _other_records,
    }
    return environment.from_string(_resource("report.html.j2"))


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _shown(value: object) -> object:
    """What the template writes: no character that can't be seen, no None."""
    if value is None:
        return NOT_REPORTED
    return visible(value) if type(value) is str else value


def _without_searches(markdown: str) -> str:
    """The methodology without its list of searches, which the page has as a search log."""
    return "\n".join(line for line in markdown.partition(QUERIES)[0].splitlines() if not line.startswith("|"))


def _moment(when: datetime | None) -> str:
    return f"{when:%Y-%m-%d %H:%M}" if when else NOT_REPORTED


def _drawn(picture: Picture) -> Markup:
    """A picture's two forms; the style sheet shows the one that fits."""
    return Markup(f'<div class="wide">{picture.wide}</div><div class="narrow">{picture.narrow}</div>')  # noqa: S704


def _main_records(view: CandidateView) -> list[tuple[str, list[Record]]]:
    """What speaks for and against, by stance."""
    return [(stance, view.records[stance]) for stance in ("supports", "contradicts") if view.records[stance]]


def _other_records(view: CandidateView) -> list[tuple[str, list[Record]]]:
    """What decides nothing or is left out, by stance."""
    return [(stance, view.records[stance]) for stance in ("undecided", "excluded") if view.records[stance]]
