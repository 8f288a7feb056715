"""The methods: flow of records, searches, decisions, use of the language model; and the references."""

from calendar import month_abbr
from collections.abc import Mapping, Sequence
from typing import Any

from willowbark.tools.registry import gives, title_of
from willowbark.tools.sources.card import ENTRIES
from willowbark.tools.wording import counted

from .content import NOT_REPORTED, OTHER_CALLS, ReportContent, SearchLogEntry, TurnUsage
from .forms.blocks import (
    Details,
    Flow,
    Group,
    Items,
    Link,
    Pairs,
    Row,
    Section,
    Stage,
    Stages,
    Table,
    Text,
    flow,
    join_flows,
    paragraph,
    points,
    table,
)
from .forms.links import record_name, safe_url, url_of

_MAX_AUTHORS = 3  # of a reference; further ones are `et al.`


def methods(report: ReportContent) -> Section:
    """Build the methods: flow of records, searches, decisions, cost."""
    claims = f" kept, {report.claims_repaired} of them repaired; {report.claims_dropped} dropped"
    facts = (
        ("Confidence in the answer", flow(f"{report.confidence_score:.2f}", Text(" of 1", "small"))),
        ("Records read", flow(str(report.total_papers_reviewed))),
        ("Rounds", flow(str(report.search_iterations))),
        ("Claims", flow(str(report.claims_kept), Text(claims, "small"))),
        ("Search ended", flow(Text(report.stop_reason.replace("_", " "), "emphasis"))),
    )
    parts = (_flow(report), _search_log(report), _account(report))
    how = (Pairs(facts, "facts"), *report.methodology.blocks)
    return Section("Methods", "methods", (*how, *(part for part in parts if part is not None)))


def _flow(report: ReportContent) -> Section:
    flow_ = report.flow
    sources = tuple(f"{title_of(source)}: {count}" for source, count in flow_.identified.items())
    stages = (
        Stage(
            "Identified",
            sum(flow_.identified.values()),
            sources or ("no source returned a record",),
            "Duplicates removed",
            flow_.duplicates,
        ),
        Stage(
            "Screened",
            flow_.screened,
            (),
            "Excluded",
            sum(flow_.excluded.values()),
            tuple(f"{reason}: {count}" for reason, count in flow_.excluded.items()),
        ),
        Stage("Included", flow_.included, ("appraised for a drug",)),
    )
    return Section("Flow of records", "flow", (Stages("Flow of records (PRISMA 2020)", stages),))


def _search_log(report: ReportContent) -> Section:
    if not report.search_log:
        return Section("Search log", "log", (paragraph("No source was searched."),))
    by_source: dict[str, list[SearchLogEntry]] = {}
    by_query: dict[str, list[SearchLogEntry]] = {}
    for entry in report.search_log:
        by_source.setdefault(entry.source, []).append(entry)
        by_query.setdefault(entry.query, []).append(entry)
    rows = []
    for source, entries in by_source.items():
        times = sorted({f"{entry.asked_at:%Y-%m-%d %H:%M}" for entry in entries if entry.asked_at is not None})
        failed = sum(entry.status in ("unavailable", "bad_query") for entry in entries)
        filters = "; ".join(dict.fromkeys(_filters(entry) for entry in entries))
        cells = (
            flow(title_of(source)),
            flow(str(len(entries)), Text(f" {failed} failed", "small") if failed else ""),
            flow(str(sum(entry.found for entry in entries))),
            flow(str(sum(entry.taken for entry in entries))),
            flow(filters if filters in ("none", NOT_REPORTED) else Text(filters, "code")),
            flow(" to ".join(dict.fromkeys((times[0], times[-1]))) if times else NOT_REPORTED),
        )
        rows.append(Row(cells))
    sources = Table(
        "Sources searched; one record can be a hit of several searches",
        ("source", "searches", "hits", "records retrieved", "filters", "searched (UTC)"),
        (Group(tuple(rows)),),
        "searches",
        ("searches", "hits", "records retrieved"),
    )
    asked = []
    for query, entries in by_query.items():
        replies = []
        for entry in entries:
            failed = entry.status not in ("ok", "empty")
            when = NOT_REPORTED if entry.asked_at is None else f"{entry.asked_at:%Y-%m-%d %H:%M}"
            details = [when, f"round {entry.iteration}, {entry.specialist}", f"filters: {_filters(entry)}"]
            details += [f"understood as {entry.understood}"] if entry.understood not in ("", entry.query) else []
            reply = flow(
                f"{title_of(entry.source)}: ",
                Text(entry.status.replace("_", " "), "flag") if failed else "",
                f"{' ' if failed else ''}{counted(entry.found, 'hit')}, {entry.taken} retrieved",
                Text(f" {' · '.join([*details, *entry.warnings])}", "small"),
            )
            replies.append(reply)
        asked.append(flow(Text(query, "code"), points(replies)))
    queries = Details("Every query as sent, with each reply", (points(asked, "steps"),))
    return Section("Search log", "log", (sources, queries), counted(len(report.search_log), "search"))


def _filters(entry: SearchLogEntry) -> str:
    """Format the limits of one search: `sort=relevance, retmax=10`; `none` without any."""
    if entry.filters is None:
        return NOT_REPORTED
    return ", ".join(f"{name}={value}" for name, value in entry.filters.items()) or "none"


def decision(report: ReportContent) -> Section | None:
    """Build the section on who decided on the candidates and what was set aside; None if nobody was asked."""
    approval = report.approval
    if approval is None or approval.decided_by == "nobody":
        return None
    aside = [
        flow(
            Text(one.name, "strong"),
            f" was set aside ({one.supporting} supporting, {one.contradicting} contradicting, {one.certainty} "
            f"certainty): {one.reason or 'no reason given'}",
        )
        for one in approval.set_aside
    ]
    listed = (points(aside),) if aside else ()
    return Section("Who decided on the candidates", "decision", (paragraph(approval.sentence), *listed))


def _account(report: ReportContent) -> Section | None:
    """Build the section on tokens and cost by agent and round; None without a language model."""
    if not report.usage:
        return None
    rows = []
    for agent in dict.fromkeys(turn.agent for turn in report.usage):
        own = [turn for turn in report.usage if turn.agent == agent]
        name = "choice of speakers, lost answers" if agent == OTHER_CALLS else agent
        rows += [_usage_row(Text(name), str(turn.iteration or "all"), [turn]) for turn in own]
        rows += [_usage_row(Text(name), "all", own)] if len(own) > 1 else []
    rows.append(_usage_row(Text("total", "strong"), "all", report.usage))
    columns = ("agent", "round", "tokens in", "tokens out", "cost (US$)")
    spent = table("Tokens and cost by agent and round", columns, rows, columns[1:])
    unknown = any(turn.cost_usd is None for turn in report.usage)
    note = (paragraph("The model's price is unknown: tokens only.", look="small"),) if unknown else ()
    return Section("Use of the language model", "usage", (spent, *note))


def _usage_row(name: Text, which: str, turns: Sequence[TurnUsage]) -> tuple[Flow, ...]:
    costs = [turn.cost_usd for turn in turns if turn.cost_usd is not None]
    return (
        flow(name),
        flow(which),
        flow(f"{sum(turn.prompt_tokens for turn in turns):,}"),
        flow(f"{sum(turn.completion_tokens for turn in turns):,}"),
        flow(f"{sum(costs):.4f}" if len(costs) == len(turns) else "price unknown"),
    )


def references(report: ReportContent, after: int, last: int | None) -> Section:
    """Build the list of references from `after` to `last`."""
    listed = tuple(_reference(each, report) for each in report.references[after:last])
    return Section(
        "References", "references", (Items(listed, "references", after + 1) if listed else paragraph("None."),)
    )


def _reference(reference: Mapping[str, Any], report: ReportContent) -> Flow:
    """Format a reference in Vancouver style: https://www.ncbi.nlm.nih.gov/books/NBK7256/."""
    key, title = str(reference["key"]), str(reference["title"]).rstrip()
    link = Link(title, url_of(key, str(reference.get("url") or "")))
    stop = "" if title.endswith((".", "?", "!", "…")) else "."
    marks = [node for flag in reference.get("flags") or () for node in flow(" ", Text(str(flag), "flag"))]
    source = str(reference["source"])
    if gives(source) in ENTRIES:  # no authors, and it changes, so the date of access counts
        answered = [each.asked_at for each in report.search_log if each.source == source and each.asked_at is not None]
        accessed = f", accessed {max(answered):%Y-%m-%d}" if answered else ""
        return flow(link, f"{stop} {title_of(source)}, database entry{accessed}.", *marks, *_origin(reference))
    authors = [str(author) for author in reference.get("authors") or ()]
    more = ", et al" if len(authors) > _MAX_AUTHORS else ""
    by = f"{', '.join(authors[:_MAX_AUTHORS])}{more}. " if authors else ""
    where = f"{_where_published(reference)}. {title_of(source)}, {record_name(key)}"
    return flow(by, link, f"{stop} {where}.", *marks, *_origin(reference))


def _where_published(reference: Mapping[str, Any]) -> str:
    """Format journal and date as far as known: `N Engl J Med. 2001 Sep 20;345(12):851-860`."""
    journal, volume, issue, pages = (str(reference.get(name) or "") for name in ("journal", "volume", "issue", "pages"))
    journal = str(reference.get("journal_abbreviation") or journal).rstrip(".")
    place = f"{volume}{f'({issue})' if issue else ''}" + (f":{pages}" if pages else "")
    return f"{f'{journal}. ' if journal else ''}{_day(str(reference.get('date')))}{f';{place}' if place else ''}"


def _day(date: str) -> str:
    """Format a date for the references.

    >>> _day("2001-09-20"), _day("2001"), _day("Unknown")
    ('2001 Sep 20', '2001', '[date unknown]')
    """
    year, month, day = (*date.split("-"), "", "")[:3]
    if not year.isdigit():
        return "[date unknown]"
    name = month_abbr[int(month)] if month.isdigit() and int(month) <= 12 else ""
    return " ".join(filter(None, (year, name, day.lstrip("0") if name else "")))


def _origin(reference: Mapping[str, Any]) -> Flow:
    """List a record's other versions and the parts of its full text that were read."""
    said: list[Flow] = [
        flow(
            f" {str(each['relation']).capitalize()}: ",
            Link(str(each["title"]), safe_url(str(each["url"]))),
            f" ({each['date']}).",
        )
        for each in reference.get("versions") or ()
    ]
    if reference.get("published_version"):
        said.append(flow(f" Since published as {reference['published_version']}, which was not read."))
    if read := reference.get("full_text"):
        said.append(flow(f" Full text read ({read['pmcid']}, {read['licence']}): {', '.join(read['sections'])}."))
    return join_flows(said, "")
