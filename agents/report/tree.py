"""The report's tree: its sections in order, each built by one function from the report's content.

A new section is a function from a report to a `Section` (None if empty), listed in `SECTIONS` or `APPENDIX`: Markdown,
page, Word document, notebook and terminal then show it.
"""

from calendar import month_abbr
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from willowbark.tools.evidence import date_parts
from willowbark.tools.registry import gives, title_of
from willowbark.tools.sources.card import ENTRIES
from willowbark.tools.wording import counted

from .candidates import candidates, comparison, evidence, more_evidence
from .content import (
    EVENTS_NOTE,
    NOT_REPORTED,
    OTHER_CALLS,
    RUNNING,
    PostedResult,
    ReportContent,
    ReportSection,
    SearchLogEntry,
    TrialRow,
    TurnUsage,
)
from .forms import record_name, safe_url, url_of
from .forms.blocks import (
    Block,
    Cite,
    Details,
    Document,
    Flow,
    Group,
    Items,
    Link,
    Pairs,
    Quote,
    Row,
    Section,
    Table,
    Text,
    flow,
    paragraph,
    points,
    spans,
    table,
)
from .texts import write_blocks

_WAITING = 3  # trials that have yet to report; the trial table has all
_MAX_AUTHORS = 3  # of a reference; further ones are `et al.`
_NAMES = {OTHER_CALLS: "choice of speakers, lost answers"}


def first_screen(report: ReportContent) -> Section:
    """Build the first screen: answer, leading drugs, failures, harms, gaps."""
    parts: list[Block] = [
        paragraph(
            Text(f"{part.label}: ", "strong") if part.label else "",
            part.text,
            report.cite(part.citations),
            look="plain" if part.label else "lead",
        )
        for part in report.summary_parts
    ]
    if report.model_failed and report.analyst:
        parts.append(paragraph(f"Written by {report.analyst}.", look="small"))
    return Section("Answer", "summary", tuple(parts))


def stored_section(
    section_id: str, field: Callable[[ReportContent], ReportSection | None]
) -> Callable[..., Section | None]:
    """Return the builder of a section stored in the report as blocks."""

    def build(report: ReportContent) -> Section | None:
        section = field(report)
        return Section(section.title, section_id, tuple(section.blocks)) if section and section.blocks else None

    return build


def trials(report: ReportContent) -> Section:
    """Build the table of registered trials."""
    title = "Registered trials"
    if not report.trials:
        return Section(title, "trials", (paragraph("No registered trial on the condition names a drug."),))
    columns = ("trial", "drugs", "phase", "status", "enrolment", "start", "completion", "results")
    caption = "All registered trials on the condition that name a drug"
    every = Table(caption, columns, (Group(tuple(map(_trial, report.trials))),), "trials")
    each = Section("Each trial", "trials-each", (every,), str(len(report.trials)), "folded")
    return Section(title, "trials", (each,))


def _trial(trial: TrialRow) -> Row:
    status = flow(trial.status_words)
    if trial.outcome == "stopped":
        why = f" {trial.why_stopped_kind or 'reason'}: {trial.why_stopped or NOT_REPORTED}"
        status = flow(Text(trial.status_words, "flag"), Text(why, "small"))
    cells = (
        flow(Link(trial.nct_id, url_of(trial.key)), Text(f" {trial.title}", "small")),
        flow(", ".join(trial.drugs)),
        flow(trial.phase_words),
        status,
        flow(NOT_REPORTED if trial.enrollment is None else str(trial.enrollment)),
        flow(trial.start_date or NOT_REPORTED),
        flow(trial.completion_date or NOT_REPORTED),
        flow("posted" if trial.has_results else "none posted"),
    )
    below = flow(Details("Posted results and serious adverse events", tuple(posted_results(trial.posted))))
    return Row(cells, below if trial.posted else ())


def posted_results(results: Sequence[PostedResult]) -> Iterator[Block]:
    """Yield a trial's posted results on each of its drugs, and serious adverse events by group."""
    for result in results:
        yield paragraph(f"{result.drug} ", Text(result.direction, "mark"), f" {result.reason}")
        if result.sentence:
            yield Quote(result.sentence)
    if results and (events := results[0].serious_events):
        yield paragraph(f"Participants with serious adverse events ({EVENTS_NOTE}):")
        yield points(f"{e.group}: {e.affected} of {NOT_REPORTED if e.at_risk is None else e.at_risk}" for e in events)


def change(report: ReportContent) -> Section | None:
    """Build the section on what could change the answer: running trials and the judge's gaps."""
    names = set(report.drug_candidates)
    running = [
        {
            "nct_id": trial.nct_id,
            "drugs": ", ".join(drug for drug in trial.drugs if drug in names),
            "phase": trial.phase_words,
            "status": trial.status_words,
            "size": trial.enrollment,
        }
        for trial in report.trials
        if trial.status in RUNNING and not trial.has_results and names & set(trial.drugs)
    ]
    gaps = [gap.rstrip(".") for gap in report.gaps]
    if not running and not gaps:
        return None
    blocks = write_blocks("change", "change", waiting=running[:_WAITING], more=len(running[_WAITING:]), gaps=gaps)
    return Section("What would change the answer", "change", blocks)


def judged(report: ReportContent) -> Section | None:
    """Build the section on the judge's assessment."""
    said = [
        *(f"Found: {finding}" for finding in report.key_findings),
        *(f"At the end: {reason}" for reason in report.judged),
    ]
    note = paragraph(
        "The judge chose the readings that it quotes, the scores, and its reasons from a list of phrases.", look="small"
    )
    return Section("What the judge made of it", "judged", (note, points(said))) if said else None


def limitations(report: ReportContent) -> Section:
    """Build the limitations."""
    return Section("Limitations", "limitations", (points(report.limitations),))


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
    found = report.flow
    sources = {title_of(source): number for source, number in found.identified.items()}
    stages = (
        (_stage("Identified", sum(sources.values()), sources), _stage("Duplicates removed", found.duplicates)),
        (_stage("Screened", found.screened), _stage("Excluded", sum(found.excluded.values()), found.excluded)),
        (_stage("Included: appraised for a drug", found.included),),
    )
    groups = tuple(map(Group, stages))
    counts = Table("Flow of records (PRISMA 2020)", ("step", "records", "of these"), groups, "flow", ("records",))
    records = Section("Flow of records", "flow", (counts,))
    account = (_account(report),) if report.usage else ()
    how = (Pairs(facts, "facts"), *report.methodology.blocks)
    return Section("Methods", "methods", (*how, records, _search_log(report), *account))


def _stage(name: str, number: int, kinds: Mapping[str, int] | None = None) -> Row:
    of_these = "; ".join(f"{kind}: {count}" for kind, count in (kinds or {}).items())
    return Row((flow(name), flow(str(number)), flow(of_these)))


def _search_log(report: ReportContent) -> Section:
    if not report.search_log:
        return Section("Search log", "log", (paragraph("No source was searched."),))
    by_source, by_query = dict[str, list[SearchLogEntry]](), dict[str, list[Flow]]()
    for entry in report.search_log:
        by_source.setdefault(entry.source, []).append(entry)
        status = "" if entry.status in ("ok", "empty") else entry.status.replace("_", " ")
        when = NOT_REPORTED if entry.asked_at is None else f"{entry.asked_at:%Y-%m-%d %H:%M}"
        details = [when, f"round {entry.iteration}, {entry.specialist}", f"filters: {_filters(entry)}"]
        details += [f"understood as {entry.understood}"] if entry.understood not in ("", entry.query) else []
        reply = flow(
            f"{title_of(entry.source)}: ",
            Text(status, "flag") if status else "",
            f"{' ' if status else ''}{counted(entry.found, 'hit')}, {entry.taken} retrieved",
            Text(f" {' · '.join([*details, *entry.warnings])}", "small"),
        )
        by_query.setdefault(entry.query, []).append(reply)
    rows = []
    for source, entries in by_source.items():
        times = sorted({f"{entry.asked_at:%Y-%m-%d %H:%M}" for entry in entries if entry.asked_at is not None})
        failed = sum(entry.status in ("unavailable", "bad_query") for entry in entries)
        filters = "; ".join(dict.fromkeys(_filters(entry) for entry in entries))
        rows.append(
            (
                flow(title_of(source)),
                flow(str(len(entries)), Text(f" {failed} failed", "small") if failed else ""),
                flow(str(sum(entry.found for entry in entries))),
                flow(str(sum(entry.taken for entry in entries))),
                flow(filters if filters in ("none", NOT_REPORTED) else Text(filters, "code")),
                flow(" to ".join(dict.fromkeys((times[0], times[-1]))) if times else NOT_REPORTED),
            )
        )
    columns = ("source", "searches", "hits", "records retrieved", "filters", "searched (UTC)")
    caption = "Sources searched; one record can be a hit of several searches"
    queries = points((flow(Text(query, "code"), points(replies)) for query, replies in by_query.items()), "steps")
    blocks = (
        table(caption, columns, rows, columns[1:4], look="searches"),
        Details("Every query as sent, with each reply", (queries,)),
    )
    return Section("Search log", "log", blocks, counted(len(report.search_log), "search"))


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
            f"certainty){f': {one.reason}' if one.reason else ''}",
        )
        for one in approval.set_aside
    ]
    listed = (points(aside),) if aside else ()
    return Section("Who decided on the candidates", "decision", (paragraph(approval.sentence), *listed))


def _account(report: ReportContent) -> Section:
    """Build the section on tokens and cost by agent and round."""
    parts = list[tuple[Text, str, list[TurnUsage]]]()
    for agent in dict.fromkeys(turn.agent for turn in report.usage):
        own, name = [turn for turn in report.usage if turn.agent == agent], Text(_NAMES.get(agent, agent))
        parts += [(name, str(turn.iteration or "all"), [turn]) for turn in own]
        parts += [(name, "all", own)] if len(own) > 1 else []
    rows = []
    for name, which, spent in (*parts, (Text("total", "strong"), "all", report.usage)):
        costs = [turn.cost_usd for turn in spent if turn.cost_usd is not None]
        figures = (
            which,
            f"{sum(turn.prompt_tokens for turn in spent):,}",
            f"{sum(turn.completion_tokens for turn in spent):,}",
            f"{sum(costs):.4f}" if len(costs) == len(spent) else "price unknown",
        )
        rows.append((flow(name), *map(flow, figures)))
    columns = ("agent", "round", "tokens in", "tokens out", "cost (US$)")
    shown = table("Tokens and cost by agent and round", columns, rows, columns[1:])
    unknown = any(turn.cost_usd is None for turn in report.usage)
    note = (paragraph("The model's price is unknown: tokens only.", look="small"),) if unknown else ()
    return Section("Use of the language model", "usage", (shown, *note))


def references(report: ReportContent, after: int, last: int | None) -> Section:
    """Build the list of references from `after` to `last`."""
    listed = tuple(_reference(each, report) for each in report.references[after:last])
    block = Items(listed, "references", after + 1) if listed else paragraph("None.")
    return Section("References", "references", (block,))


def _reference(reference: Mapping[str, Any], report: ReportContent) -> Flow:
    """Format a reference in Vancouver style: https://www.ncbi.nlm.nih.gov/books/NBK7256/.

    As in `Doe J. A title. N Engl J Med. 2001 Sep 20;345(12):851-860. PubMed, PMID 1.`, as far as known, then flags, the
    record's other versions, and the parts of its full text that were read.
    """
    key, title, source = str(reference["key"]), str(reference["title"]).rstrip(), str(reference["source"])
    link = Link(title, url_of(key, str(reference.get("url") or "")))
    stop = "" if title.endswith((".", "?", "!", "…")) else "."
    after = [node for flag in reference.get("flags") or () for node in flow(" ", Text(str(flag), "flag"))]
    for each in reference.get("versions") or ():
        other = Link(str(each["title"]), safe_url(str(each["url"])))
        after += flow(f" {str(each['relation']).capitalize()}: ", other, f" ({each['date']}).")
    if reference.get("published_version"):
        after += flow(f" Since published as {reference['published_version']}, which was not read.")
    if read := reference.get("full_text"):
        after += flow(f" Full text read ({read['pmcid']}, {read['licence']}): {', '.join(read['sections'])}.")
    if gives(source) in ENTRIES:  # no authors, and it changes, so the date of access counts
        answered = [each.asked_at for each in report.search_log if each.source == source and each.asked_at is not None]
        accessed = f", accessed {max(answered):%Y-%m-%d}" if answered else ""
        return flow(link, f"{stop} {title_of(source)}, database entry{accessed}.", *after)
    authors = [str(author) for author in reference.get("authors") or ()]
    more = ", et al" if len(authors) > _MAX_AUTHORS else ""
    by = f"{', '.join(authors[:_MAX_AUTHORS])}{more}. " if authors else ""
    journal, volume, issue, pages = (str(reference.get(name) or "") for name in ("journal", "volume", "issue", "pages"))
    journal = str(reference.get("journal_abbreviation") or journal).rstrip(".")
    year, month, day = (*date_parts(str(reference.get("date"))), 0, 0, 0)[:3]
    date = " ".join(filter(None, (str(year), month_abbr[month], str(day or "")))) if year else "[date unknown]"
    place = f"{volume}{f'({issue})' if issue else ''}" + (f":{pages}" if pages else "")
    where = f"{f'{journal}. ' if journal else ''}{date}{f';{place}' if place else ''}"
    return flow(by, link, f"{stop} {where}. {title_of(source)}, {record_name(key)}.", *after)


SECTIONS: tuple[Callable[[ReportContent], Section | None], ...] = (
    first_screen,
    stored_section("answer", lambda report: report.answer),
    candidates,
    comparison,
    evidence,
    stored_section("clinical", lambda report: report.clinical_findings),
    decision,
    change,
    limitations,
)
"""Builders of the report's sections, in order; the references follow."""
APPENDIX: tuple[Callable[[ReportContent], Section | None], ...] = (
    more_evidence,
    stored_section("safety", lambda report: report.safety),
    stored_section("disease-mechanism", lambda report: report.disease_mechanism),
    stored_section("mechanistic", lambda r: r.mechanistic_findings if r.candidates or not r.answer else None),
    trials,
    judged,
    methods,
)
"""Builders of the appendix, in order; references cited only there follow."""


def document(report: ReportContent) -> Document:
    """Build the whole tree."""
    when = f"{report.generated_at:%Y-%m-%d %H:%M} UTC"
    tokens = "tokens used" if report.usage else "tokens, estimated"
    sources = report.library or ", ".join(map(title_of, report.sources_searched)) or "none answered"
    generated = f"Generated {when} by Willowbark · {tokens}: {report.tokens_used:,} · sources: {sources}"
    main = [section for build in SECTIONS if (section := build(report)) is not None]
    cited = max((max(node.numbers) for node in spans(tuple(main)) if isinstance(node, Cite)), default=0)
    appended = [section for build in APPENDIX if (section := build(report)) is not None]
    if len(report.references) > cited:
        appended.append(replace(references(report, cited, None), title="Further references", id="more-references"))
    return Document(
        report.title,
        report.research_question,
        (paragraph(f"{when} · {report.disclaimer}", look="small"),),
        (*main, references(report, 0, cited)),
        (paragraph(generated, look="small"),),
        Section("Appendix", "appendix", tuple(replace(each, look="folded") for each in appended)),
    )


def brief(report: ReportContent) -> Document:
    """Build only the first screen and the tables of candidates, for interfaces that show the rest separately."""
    return replace(document(report), sections=(first_screen(report), candidates(report)), closing=(), appendix=None)
