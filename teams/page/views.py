"""The pages around runs: the question and what can be chosen with it, every run, two runs compared."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from string import Formatter
from typing import get_args
from urllib.parse import urlencode

from willowbark.tools.enclosure import one_line
from willowbark.tools.questions.kinds import PLACES, QUESTIONS
from willowbark.tools.reading.reading import ReaderName
from willowbark.tools.registry import searchable, title_of

from ..config import DEPTHS, Depth, ResearchSettings, Settings
from ..faces.export_command import RunRow
from .runs import LiveRun
from .tags import Html, button, field, joined, page, pick, posting, problem, tag

EXAMPLES = (
    "Which existing drugs could prevent migraine attacks?",
    "Can ibuprofen cause kidney injury?",
    "Is metformin better than lifestyle change for polycystic ovary syndrome?",
    "Which drugs should be avoided in myasthenia gravis?",
)
_READERS: Mapping[ReaderName, str] = {
    "learned": "fast: seconds",
    "careful": "careful: more often right, and a minute more or two",
}


def ask_page(
    settings: Settings, given: Mapping[str, Sequence[str]], live: Sequence[LiveRun], wrong: str | None = None
) -> str:
    """The form for a question.

    Args:
        settings: what holds where nothing is chosen.
        given: what was chosen, by the fields' names; `kind` chooses a pattern in the place of a free question.
        live: runs under way.
        wrong: why it could not be asked; None shows nothing.
    """
    return page(
        "Ask",
        tag("h1", "Which existing drugs might treat a condition, and how good is the evidence?"),
        problem(wrong),
        posting("/runs", _question(given), _choices(settings, given), button("Ask"), id="ask"),
        under_way(live),
        here="/",
    )


def _first(given: Mapping[str, Sequence[str]], name: str) -> str:
    return (given.get(name) or ("",))[0]


def _question(given: Mapping[str, Sequence[str]]) -> Html:
    chosen = _first(given, "kind")
    kinds = [("", "your own words"), *((kind, kind) for kind in QUESTIONS)]
    tabs = tag(
        "ul",
        *(
            tag(
                "li",
                tag("a", name, href=f"/?kind={kind}" if kind else "/", aria_current="true" if kind == chosen else None),
            )
            for kind, name in kinds
        ),
        class_="kinds",
        aria_label="Kind of question",
    )
    tabs = joined([tag("p", "Kind of question", class_="small kinds-of"), tabs])
    pattern = next((text for kind, text in QUESTIONS.items() if kind == chosen), None)
    if pattern is None:
        box = tag(
            "textarea",
            _first(given, "question"),
            id="question",
            name="question",
            rows=3,
            maxlength=2000,
            required=True,
            aria_describedby="examples",
        )
        examples = tag(
            "ul",
            *(tag("li", tag("a", text, href=f"/?{urlencode({'question': text})}")) for text in EXAMPLES),
            class_="examples",
        )
        below = tag("div", tag("p", "For example:"), examples, id="examples", class_="small")
        return joined([tabs, tag("label", "Question", for_="question"), box, below])
    places = [place for _, place, _, _ in Formatter().parse(pattern) if place]
    fields = [
        field(place.replace("_", " ").capitalize(), place, _first(given, place), note=PLACES[place], required=True)
        for place in places
    ]
    shown = pattern.format(**dict.fromkeys(places, "…"))
    return joined(
        [tabs, tag("p", shown, class_="lead"), tag("input", type="hidden", name="kind", value=chosen), *fields]
    )


def _choices(settings: Settings, given: Mapping[str, Sequence[str]]) -> Html:
    research = settings.research
    depth = _first(given, "depth") or research.depth
    depths = tag(
        "fieldset",
        tag("legend", "Depth"),
        *(
            pick("radio", "depth", name, f"{name}: about {DEPTHS[name]:,} records", name == depth)
            for name in get_args(Depth)
        ),
    )
    wanted = given.get("sources") or settings.tools.sources
    sources = tag(
        "fieldset",
        tag("legend", "Sources"),
        *(pick("checkbox", "sources", name, title_of(name), name in wanted) for name in searchable()),
        class_="columns",
    )
    model = field(
        "Model",
        "model",
        _first(given, "model"),
        note=f"{settings.llm.model} where this is empty",
        placeholder="openai/gpt-4.1-mini",
    )
    budget = _budget(settings.research, given)
    approve = pick(
        "checkbox",
        "approve",
        "yes",
        "Ask me which candidates the report should deal with",
        bool(given.get("approve")) or research.approve,
    )
    fresh = pick("checkbox", "fresh", "yes", "Ask the sources even what a run asked lately", bool(given.get("fresh")))
    reader = _first(given, "reader") or research.reader
    reading = tag(
        "fieldset",
        tag("legend", "Reading"),
        *(pick("radio", "reader", name, said, name == reader) for name, said in _READERS.items()),
    )
    more = tag("details", tag("summary", "Sources, model, budget"), sources, model, budget, fresh, class_="more")
    return joined([depths, reading, approve, more])


def _budget(research: ResearchSettings, given: Mapping[str, Sequence[str]]) -> Html:
    limits = research.limits
    fields = (
        field(
            label,
            name,
            _first(given, name),
            type="number",
            note="no limit where this is empty" if default is None else f"{default:g} where this is empty",
            min=least,
            step=step,
            max=most,
        )
        for label, name, default, least, step, most in (
            ("Rounds", "max_iterations", research.max_iterations, 1, 1, 20),
            ("Seconds", "max_seconds", limits.max_seconds, 1, "any", None),
            ("Tokens", "max_tokens", limits.max_tokens, 1, 1, None),
            ("US dollars", "max_cost_usd", limits.max_cost_usd, 0, "any", None),
        )
    )
    return tag("fieldset", tag("legend", "Budget"), *fields, class_="columns")


def under_way(live: Sequence[LiveRun]) -> Html | None:
    """Links to the runs that have not ended; None where there are none."""
    if not live:
        return None
    lines = [
        tag(
            "li",
            tag("a", one_line(run.question), href=f"/runs/{run.run_id}"),
            " ",
            tag("span", run.board.head, class_="small"),
        )
        for run in live
    ]
    return tag("section", tag("h2", "Under way"), tag("ul", *lines))


def history_page(rows: Sequence[RunRow], live: Sequence[LiveRun], wrong: str | None = None) -> str:
    """Every run, the newest first."""
    heads = ("question", "when", "candidates", "certainty", "cost", "time", "state")
    lines = [
        tag(
            "tr",
            tag("th", tag("a", row.question or row.run_id, href=f"/runs/{row.run_id}"), scope="row", role="rowheader"),
            *(
                tag("td", cell, role="cell", data_label=name)
                for name, cell in zip(
                    heads[1:],
                    (_when(row), row.candidates, row.certainty, row.cost, row.time, row.status or "folder only"),
                    strict=True,
                )
            ),
            role="row",
        )
        for row in rows
    ]
    columns = tag("tr", *(tag("th", name, scope="col", role="columnheader") for name in heads), role="row")
    table = tag(
        "table",
        tag("caption", "The newest first"),
        tag("thead", columns, role="rowgroup"),
        tag("tbody", *lines, role="rowgroup"),
        class_="cards",
        role="table",
    )
    none = tag("p", "No run yet. ", tag("a", "Ask a question", href="/"))
    return page("Runs", tag("h1", "Runs"), problem(wrong), under_way(live), table if rows else none, here="/runs")


def _when(row: RunRow) -> str:
    """When a run was begun, as its id tells it; the id where it tells nothing."""
    try:
        return f"{datetime.strptime(row.run_id[:15], '%Y%m%d-%H%M%S'):%Y-%m-%d %H:%M}"
    except ValueError:
        return row.name


def diff_page(rows: Sequence[RunRow], earlier: str, later: str, lines: Sequence[str], wrong: str | None) -> str:
    """Two runs to choose, and what changed from one to the other."""
    complete = [row for row in rows if row.status in ("complete", None)]

    def chooser(label: str, name: str, chosen: str, none: str | None) -> Html:
        options = [tag("option", none, value="")] if none else []
        options += [
            tag("option", f"{_when(row)}: {row.question}", value=row.run_id, selected=row.run_id == chosen)
            for row in complete
        ]
        return tag("p", tag("label", label, for_=name), tag("select", *options, id=name, name=name))

    form = tag(
        "form",
        chooser("From", "earlier", earlier, None),
        chooser("To", "later", later, "the latest other run of that question"),
        button("Compare"),
        action="/diff",
    )
    told = tag("ul", *(tag("li", line) for line in lines), class_="changes") if lines else None
    nothing = tag("p", "No run has a report yet.")
    return page(
        "Compare",
        tag("h1", "What changed from one run to another"),
        problem(wrong),
        form if complete else nothing,
        told,
        here="/diff",
    )
