"""The report's tree: its sections in order, each built by one function from the report's content.

A new section is a function from a report to a `Section` (None if empty), listed in `SECTIONS` or `APPENDIX`: Markdown,
page, Word document, notebook and terminal then show it.
"""

from calendar import month_abbr
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

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
from .forms import url_of
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
)
from .texts import write_blocks

_MAX_AUTHORS = 3  # of a reference; further ones are `et al.`
_NAMES = {OTHER_CALLS: "choice of speakers, lost answers"}


def first_screen(report: ReportContent) -> Section:
    """Build the first screen: answer, leading drugs, failures, harms, gaps."""
    parts = [
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
    waiting = [t for t in report.trials if t.status in RUNNING and not t.has_results and names & set(t.drugs)]
    blocks = write_blocks("change", "change", waiting=waiting, names=names, gaps=report.gaps)
    return Section("What would change the answer", "change", blocks) if blocks else None


def judged(report: ReportContent) -> Section | None:
    """Build the section on the judge's assessment."""
    if not report.key_findings and not report.judged:
        return None
    return Section("What the judge made of it", "judged", write_blocks("course", "judged", r=report))


def limitations(report: ReportContent) -> Section:
    """Build the limitations."""
    return Section("Limitations", "limitations", (points(report.limitations),))


def methods(report: ReportContent) -> Section:
    """Build the methods: flow of records, searches, decisions, cost."""
    found = report.flow
    sources = {title_of(source): number for source, number in found.identified.items()}
    steps = [
        ("Identified", sum(sources.values()), sources),
        ("Duplicates removed", found.duplicates, {}),
        ("Screened", found.screened, {}),
        ("Excluded", sum(found.excluded.values()), found.excluded),
        ("Included: appraised for a drug", found.included, {}),
    ]
    rows = [
        Row((flow(name), flow(str(number)), flow("; ".join(f"{kind}: {count}" for kind, count in kinds.items()))))
        for name, number, kinds in steps
    ]
    groups = Group(tuple(rows[:2])), Group(tuple(rows[2:4])), Group(tuple(rows[4:]))
    counts = Table("Flow of records (PRISMA 2020)", ("step", "records", "of these"), groups, "flow", ("records",))
    told = write_blocks("course", "facts", r=report)
    facts = tuple(pair for block in told if isinstance(block, Pairs) for pair in block.pairs)
    blocks: list[Block] = [Pairs(facts, "facts"), *report.methodology.blocks]
    blocks += [Section("Flow of records", "flow", (counts,)), _search_log(report)]
    return Section("Methods", "methods", (*blocks, _account(report)) if report.usage else tuple(blocks))


def _search_log(report: ReportContent) -> Section:
    if not report.search_log:
        return Section("Search log", "log", (paragraph("No source was searched."),))
    by_source, by_query = dict[str, list[SearchLogEntry]](), dict[str, list[Flow]]()
    for entry in report.search_log:
        by_source.setdefault(entry.source, []).append(entry)
        status = "" if entry.status in ("ok", "empty") else entry.status.replace("_", " ")
        details = [entry.time, f"round {entry.iteration}, {entry.specialist}", f"filters: {entry.limits}"]
        details += [f"understood as {entry.understood}"] if entry.understood not in ("", entry.query) else []
        reply = flow(
            f"{title_of(entry.source)}: ",
            Text(status, "flag") if status else "",
            f"{' ' if status else ''}{counted(entry.found, 'hit')}, {entry.taken} retrieved",
            Text(f" {' · '.join([*details, *entry.warnings])}", "small"),
        )
        by_query.setdefault(entry.query, []).append(reply)
    queries = points((flow(Text(query, "code"), points(replies)) for query, replies in by_query.items()), "steps")
    sources = write_blocks("course", "searches", sources=by_source)
    blocks = *sources, Details("Every query as sent, with each reply", (queries,))
    return Section("Search log", "log", blocks, counted(len(report.search_log), "search"))


def decision(report: ReportContent) -> Section | None:
    """Build the section on who decided on the candidates and what was set aside; None if nobody was asked."""
    approval = report.approval
    if approval is None or approval.decided_by == "nobody":
        return None
    return Section("Who decided on the candidates", "decision", write_blocks("course", "decision", approval=approval))


def _account(report: ReportContent) -> Section:
    """Build the section on tokens and cost by agent and round."""
    parts = list[tuple[str | Flow, str, list[TurnUsage]]]()
    for agent in dict.fromkeys(turn.agent for turn in report.usage):
        own, name = [turn for turn in report.usage if turn.agent == agent], _NAMES.get(agent, agent)
        parts += [(name, str(turn.iteration or "all"), [turn]) for turn in own]
        parts += [(name, "all", own)] if len(own) > 1 else []
    parts.append((flow(Text("total", "strong")), "all", report.usage))
    unknown = any(turn.cost_usd is None for turn in report.usage)
    return Section("Use of the language model", "usage", write_blocks("course", "usage", parts=parts, unknown=unknown))


def references(report: ReportContent, after: int, last: int | None) -> Section:
    """Build the list of references from `after` to `last`."""
    entries = [(each, _reference_date(str(each["date"]))) for each in report.references[after:last]]
    accessed = {source: "" for each, _ in entries if gives(source := str(each["source"])) in ENTRIES}
    for each in sorted(report.search_log, key=lambda each: each.time):
        if each.source in accessed and each.asked_at is not None:
            accessed[each.source] = f", accessed {each.asked_at:%Y-%m-%d}"
    written = write_blocks("course", "references", entries=entries, accessed=accessed, most=_MAX_AUTHORS)
    listed = tuple(item for block in written if isinstance(block, Items) for item in block.items)
    block = Items(listed, "references", after + 1) if listed else paragraph("None.")
    return Section("References", "references", (block,))


def _reference_date(date: str) -> str:
    year, month, day = (*date_parts(date), 0, 0, 0)[:3]
    return " ".join(filter(None, (str(year), month_abbr[month], str(day or "")))) if year else "[date unknown]"


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
