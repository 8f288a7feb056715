"""The page of a run: under way, stopped, or with its report."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from willowbark.tools.enclosure import one_line
from willowbark.tools.registry import title_of

from ..exports import FORMATS
from ..faces.export_command import UNFINISHED, WORKSPACE
from ..faces.terminal import source_of
from .runs import Lane, LiveRun
from .tags import Html, button, field, joined, page, pick, posting, tag

if TYPE_CHECKING:
    from willowbark.agents.approval import ApprovalRequest
    from willowbark.agents.report.forms.blocks import Document
    from willowbark.agents.report.model import ResearchReport

    from ..events import AgentEvent

_WIDE = 1000  # of a lane's picture, whatever its width on the screen
_SHORTEST = 4  # of a span in it
_MOST_SHOWN = 8  # reports whose markup is kept: a reader goes back and forth between a few
_WORDS = {"search_complete": "found", "judge_complete": "judged", "looping": "next round"}


def live_page(run: LiveRun) -> str:
    """A run under way."""
    stop = posting(f"/runs/{run.run_id}/cancel", button("Stop, and report what was found", class_="quiet"))
    head = tag("header", tag("p", "Research under way", class_="kicker"), tag("h1", one_line(run.question)), stop)
    log = tag("ol", *(log_line(event) for event in run.told), id="log", class_="log")
    return page(
        run.question,
        head,
        tag("p", "The server does not answer; trying again …", id="gone", class_="problem", role="alert", hidden=True),
        tag("noscript", tag("p", "Without scripts this page tells what is new when it is loaded again.")),
        tag("p", id="said", role="status", class_="hidden"),
        tag("div", approval(run.run_id, run.request), id="approval"),
        tag("div", board(run), id="board"),
        tag("details", tag("summary", "Everything that happened"), log, class_="more"),
        tag("div", id="live", data_run=f"/runs/{run.run_id}", data_after=f"{run.life}-{len(run.told)}"),
    )


def board(run: LiveRun) -> Html:
    """What is due, what each agent does, what each source gave, and the judge's rounds."""
    asks = run.request is not None
    due = "waiting for your word on the candidates" if asks else run.board.due
    head = f"{run.board.elapsed_s:.0f} s · {due}" if asks else run.board.head
    agents = tag(
        "section",
        tag("h2", "Agents"),
        tag("ul", *(_lane(name, lane, run.board.elapsed_s) for name, lane in run.lanes.items()), class_="lanes"),
    )
    return joined(
        [
            tag("p", head, class_="due", id="due", data_say=due),
            agents,
            _sources(run),
            rounds(run.rounds),
        ]
    )


def _lane(name: str, lane: Lane, now: float) -> Html:
    scale = _WIDE / max(now, 1.0)
    bars = []
    for begin, *end in lane.spans:
        width = max(((end[0] if end else now) - begin) * scale, _SHORTEST)
        bars.append(
            tag(
                "rect",
                x=f"{min(begin * scale, _WIDE - _SHORTEST):.1f}",
                y=0,
                width=f"{width:.1f}",
                height=10,
                class_="past" if end else "now",
            )
        )
    picture = tag("svg", *bars, viewBox=f"0 0 {_WIDE} 10", preserveAspectRatio="none", aria_hidden="true")
    said = lane.said or "waits for its turn"
    return tag("li", tag("strong", name), picture, tag("span", one_line(said), class_="small"))


def _sources(run: LiveRun) -> Html:
    rows = []
    for name, row in run.board.rows.items():
        state = "waiting" if row.waiting else row.problem
        counts = (f"{row.found:,}", f"{row.kept:,}", f"{run.board.took_s(row):.0f} s")
        source = tag("th", title_of(name), tag("span", state, class_="small") if state else None, scope="row")
        rows.append(tag("tr", source, *(tag("td", count, class_="number") for count in counts)))
    heads = (tag("th", name, scope="col", class_="number") for name in ("found", "kept", "time"))
    columns = tag("tr", tag("th", "source", scope="col"), *heads)
    filled = tag("table", tag("thead", columns), tag("tbody", *rows)) if rows else tag("p", "No source was asked yet.")
    return tag("section", tag("h2", "Sources"), filled)


def rounds(assessments: Sequence[Mapping[str, Any]]) -> Html:
    """The judge's rounds.

    Args:
        assessments: `JudgeAssessment` as JSON content.
    """
    if not assessments:
        return tag("section", tag("h2", "The judge's rounds"), tag("p", "Nothing was judged yet."))
    items = []
    for one in assessments:
        why = f" ({one['stop_reason'].replace('_', ' ')})" if one["stop_reason"] else ""
        scores = one["details"]
        told = (
            f"confidence {one['confidence']:.2f}, mechanism {scores['mechanism_score']} of 10, "
            f"clinical evidence {scores['clinical_evidence_score']} of 10"
        )
        gaps = tag("ul", *(tag("li", one_line(gap)) for gap in one["gaps"])) if one["gaps"] else None
        head = tag("strong", f"Round {one['iteration']}: {one['recommendation']}{why}")
        items.append(tag("li", head, " ", tag("span", told, class_="small"), gaps))
    return tag("section", tag("h2", "The judge's rounds"), tag("ol", *items, class_="rounds"))


def log_line(event: "AgentEvent") -> Html:
    """An event as a line of the log."""
    word = _WORDS.get(event.type, event.type.replace("_", " "))
    said = one_line(event.message.replace("**", "").replace("`", ""))
    if event.call is not None and event.agent is not None:
        source = source_of(event.call["tool"])
        tool = title_of(source) if source else event.call["tool"]
        said = one_line(f"{event.agent}: {tool}: {_plainly(event.call['arguments'])}")
    clock = tag("time", f"{event.timestamp.astimezone():%H:%M:%S}", datetime=event.timestamp.isoformat("T", "seconds"))
    return tag("li", clock, " ", tag("strong", word), " ", tag("span", said), class_=event.type)


def _plainly(arguments: str) -> str:
    """A tool's arguments without their names; as they are where a model made them up."""
    try:
        values = json.loads(arguments).values()
    except (ValueError, AttributeError):
        return arguments
    return ", ".join(", ".join(map(str, value)) if isinstance(value, list) else str(value) for value in values)


def approval(run_id: str, request: "ApprovalRequest | None") -> Html | None:
    """The candidates with a box each; None where nobody is asked."""
    if request is None:
        return None
    boxes = []
    for one in request.candidates:
        said = f"{one.name}: {one.supporting} for, {one.contradicting} against, {one.certainty} certainty"
        boxes.append(pick("checkbox", "accepted", one.name, said, chosen=True))
    return tag(
        "section",
        tag("h2", "Which candidates should the report deal with?", id="asked", tabindex="-1"),
        tag("p", f"Without an answer within {request.timeout_s:g} seconds: {request.default}.", class_="small"),
        posting(
            f"/runs/{run_id}/approval",
            tag("fieldset", tag("legend", "Candidates"), *boxes, class_="columns"),
            tag("button", "All or none", type="button", class_="quiet", data_all="accepted"),
            field("Why the others are set aside", "reason", note="goes into the report; may be empty", maxlength=300),
            button("Write the report"),
        ),
        class_="asked",
    )


def stopped_page(run_id: str, question: str, status: str, assessments: Sequence[Mapping[str, Any]]) -> str:
    """A run without a report."""
    can = status in UNFINISHED
    return page(
        question,
        tag("header", tag("p", f"Run {run_id}: {status}", class_="kicker"), tag("h1", one_line(question))),
        tag("p", "There is no report yet." if can else "Another process works on this run; come back later."),
        _go_on(run_id) if can else None,
        rounds(assessments),
    )


def report_page(
    run_id: str, report: "ResearchReport", status: str | None, assessments: Sequence[Mapping[str, Any]]
) -> str:
    """A run's report, with a table of contents that stays, and all that can be done with it."""
    names = [known.name for known in FORMATS] + ([WORKSPACE] if status is not None else [])
    files = [tag("li", tag("a", name, href=f"/runs/{run_id}/export/{name}", download=True)) for name in names]
    again = f"/?{urlencode({'question': report.research_question})}"
    actions = tag(
        "section",
        tag("h2", "Files", class_="hidden"),
        tag("p", f"This run was {status}; the report is of what was found until then.")
        if status in UNFINISHED
        else None,
        _go_on(run_id) if status in UNFINISHED else None,
        tag("ul", tag("li", "Download:"), *files, class_="files"),
        tag(
            "ul",
            tag("li", tag("a", "Ask again", href=again)),
            tag("li", tag("a", "What changed since the run before", href=f"/diff?{urlencode({'earlier': run_id})}")),
            class_="files",
        ),
        tag("details", tag("summary", "How the run went"), rounds(assessments), class_="more") if assessments else None,
        class_="actions",
        aria_label="This run",
    )
    shown, first = _shown(report.to_json())
    return page(report.title, actions, tag("div", Html(shown), class_="report"), main=first)


@lru_cache(maxsize=_MOST_SHOWN)
def _shown(content: str) -> tuple[str, str]:
    """A report's JSON as markup, and the id of its first section; its pictures take a second or two to draw."""
    from willowbark.agents.report.forms.html import page_html  # noqa: PLC0415  agents take most of a second
    from willowbark.agents.report.model import ResearchReport  # noqa: PLC0415

    document = ResearchReport.model_validate_json(content).to_tree()
    try:
        shown = page_html(document)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        shown = page_html(_unpictured(document))
    return shown, document.sections[0].id


def _unpictured(document: "Document") -> "Document":
    """A report without pictures, for where matplotlib is not installed."""
    return replace(document, sections=tuple(_plain(section) for section in document.sections))


def _plain(block: Any) -> Any:
    """A section or block, and what is in it, without pictures."""
    inner = getattr(block, "blocks", None)
    return block if inner is None else replace(block, blocks=tuple(_plain(b) for b in inner if b.kind != "figure"))


def _go_on(run_id: str) -> Html:
    return posting(f"/runs/{run_id}/resume", button("Go on with this run"), id="go-on")
