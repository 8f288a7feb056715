"""Content of the pages, from jinja2 templates (`*.html` beside this file) that escape every text."""

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from importlib import resources
from string import Formatter
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import QueryParams

from willowbark.tools.enclosure import one_line, visible
from willowbark.tools.questions.kinds import PLACES, QUESTIONS
from willowbark.tools.registry import searchable, title_of

from ..config import DEPTHS, Settings
from ..exports import FORMATS
from ..faces.runs import UNFINISHED, RunRow
from ..faces.terminal import source_of
from .live_runs import LiveRun

if TYPE_CHECKING:
    from willowbark.agents.report.model import ResearchReport
    from willowbark.tools.evidence import Evidence

    from ..events import AgentEvent

STATIC = {"page.css": __package__, "page.js": __package__, "report.css": "willowbark.teams.exports"}
"""Files that pages load, and the packages that contain them."""
EXAMPLES = (  # which the bundled library can answer too
    "Which existing drugs could prevent migraine attacks?",
    "Which existing drugs could help people quit smoking?",
    "Is propranolol better than flunarizine for migraine?",
    "Which drugs should be avoided in migraine?",
)


@cache
def static_file(name: str) -> bytes:
    """Read a style sheet or the script."""
    return resources.files(STATIC[name]).joinpath(name).read_bytes()


def static_address(name: str) -> str:
    """Return a static file's address, which changes with the content so that browsers may cache the file."""
    return f"/static/{name}?{hashlib.sha256(static_file(name)).hexdigest()[:12]}"


_TEMPLATES = Environment(
    loader=FileSystemLoader(str(resources.files(__package__))),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    finalize=lambda value: value if hasattr(value, "__html__") else visible(str(value)),
)
"""The templates, whose output is stripped of invisible characters, and escaped unless it is markup."""


def page(template: str, **content: Any) -> str:
    """Render a whole page."""
    common = {"title": "", "here": "", "main": None, "wrong": None, "line": None, "token": False, "offline": False}
    return _TEMPLATES.get_template(template).render({**common, **content})


def part(name: str, *content: Any) -> str:
    """Render a part of a page that is updated in place: `board`, `approval` or `log_line`."""
    return str(getattr(_TEMPLATES.get_template("parts.html").module, name)(*content))


def ask_page(settings: Settings, given: QueryParams, live: Sequence[LiveRun], wrong: str | None = None) -> str:
    """Render the form for a question, with the entries given and an error; `kind` selects a pattern of a question."""
    pattern = next((text for name, text in QUESTIONS.items() if name == given.get("kind")), None)
    places = [place for _, place, _, _ in Formatter().parse(pattern or "") if place]
    return page(
        "ask.html",
        title="Ask",
        here="/",
        wrong=wrong,
        live=live,
        offline=settings.library.path is not None,
        given=defaultdict(str, given),
        kinds=list(QUESTIONS),
        pattern=pattern.format(**dict.fromkeys(places, "…")) if pattern else None,
        places=places,
        place_notes=PLACES,
        examples=EXAMPLES,
        depths=DEPTHS,
        settings=settings,
        sources=searchable(),
        chosen_sources=given.getlist("sources") or settings.tools.sources,
    )


def _format_start(row: RunRow) -> str:
    """Format a run's start from its id, or return the id if it contains no time."""
    try:
        return f"{datetime.strptime(row.run_id[:15], '%Y%m%d-%H%M%S'):%Y-%m-%d %H:%M}"
    except ValueError:
        return row.name


def log_line(event: "AgentEvent") -> str:
    """Render an event as a line of the log; a search by the names of its source and its arguments."""
    text = event.message.replace("**", "").replace("`", "")
    if event.call is not None and event.agent is not None:
        source, arguments = source_of(event.call["tool"]), event.call["arguments"]
        try:
            values = json.loads(arguments).values()
            arguments = ", ".join(", ".join(map(str, each)) if isinstance(each, list) else str(each) for each in values)
        except (ValueError, AttributeError):
            pass  # shown as the model wrote them
        text = f"{event.agent}: {title_of(source) if source else event.call['tool']}: {arguments}"
    return part("log_line", event, text)


def ended_page(
    run_id: str,
    question: str,
    status: str | None,
    assessments: Sequence[Mapping[str, Any]],
    report: "ResearchReport | None" = None,
) -> str:
    """Render a run that is not in progress: its report with all actions, or how far it got."""
    shown: dict[str, Any] = {"run_id": run_id, "question": question, "status": status, "assessments": assessments}
    shown["can_resume"] = status in UNFINISHED
    if report is None:
        return page("stopped.html", **shown)
    markup, first = _render_report(run_id, report.to_json())
    shown |= {"title": report.title, "question": report.research_question, "main": first}
    shown["report"] = Markup(markup)  # noqa: S704  the report's own page, with every text escaped
    return page("report.html", **shown, formats=[known.name for known in FORMATS])


_TEMPLATES.filters |= {"one_line": one_line, "address": static_address, "source_title": title_of, "when": _format_start}
_TEMPLATES.filters["log_line"] = lambda event: Markup(log_line(event))  # noqa: S704  rendered by a template, which escapes


@lru_cache(maxsize=8)  # readers switch between a few reports, whose pictures take seconds to draw
def _render_report(run_id: str, content: str) -> tuple[str, str]:
    """Render a report's JSON as markup with citations linked to records; also return the id of its first section."""
    from willowbark.agents.report.forms.html import page_html  # noqa: PLC0415  agents take most of a second
    from willowbark.agents.report.model import ResearchReport  # noqa: PLC0415

    document = ResearchReport.model_validate_json(content).to_tree()
    return page_html(document, f"/runs/{run_id}/records/"), document.sections[0].id


def record_page(run_id: str, report: "ResearchReport", number: int, record: "Evidence | None") -> str | None:
    """Render the text of a reference's record with the cited passages marked; None if no reference has that number."""
    from willowbark.agents.report.forms import record_name, url_of  # noqa: PLC0415  agents take most of a second
    from willowbark.tools.works.sections import own_part, places  # noqa: PLC0415

    reference = next((each for each in report.references if each["number"] == number), None)
    if reference is None:
        return None
    key, claims = str(reference["key"]), list[tuple[str, str, list[str]]]()
    for row in (row for row in report.evidence_table if row.key == key):
        own = [candidate for candidate in report.candidates if candidate.name == row.drug]
        claimed = [claim.quote for candidate in own for claim in candidate.claims if claim.evidence_key == key]
        quotes = dict.fromkeys(filter(None, (row.sentence, row.in_figures, *claimed)))
        claims.append((row.drug, own[0].stance_of(row) if own else row.direction, list(quotes)))
    quotes = dict.fromkeys(quote for *_, quoted in claims for quote in quoted)
    texts = list[tuple[str, list[tuple[str, bool]]]]()
    if record is not None:
        body = record.content.removeprefix(record.citation.title).strip() or record.content
        texts = [(own_part(record), mark_passages(body, quotes))]
        full = ((place.title, mark_passages(place.text, quotes)) for place in places(record))
        texts += [(title, pieces) for title, pieces in full if any(is_marked for _, is_marked in pieces)]
    name, url = record_name(key), url_of(key, str(reference.get("url") or ""))
    shown = {"reference": reference, "name": name, "url": url, "claims": claims, "texts": texts, "run_id": run_id}
    return page("record.html", title=str(reference["title"]), **shown)


def mark_passages(text: str, passages: Iterable[str]) -> list[tuple[str, bool]]:
    """Split a text into pieces, each with whether it belongs to a passage; white space may differ.

    >>> mark_passages("Pain fell. It  rose.", ["It rose."])
    [('Pain fell. ', False), ('It  rose.', True)]
    """
    found = [r"\s+".join(map(re.escape, passage.split())) for passage in sorted(passages, key=len, reverse=True)]
    if not found:
        return [(text, False)]
    pieces = re.split(f"({'|'.join(found)})", text)
    return [(piece, place % 2 == 1) for place, piece in enumerate(pieces) if piece]
