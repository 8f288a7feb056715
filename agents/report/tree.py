"""The report's tree: its sections in their order, each built by one function from what the report holds.

A new section is a function from a report to a `Section` (None where there is nothing to say) and its name in
`SECTIONS`: Markdown, page, Word document, notebook and terminal then show it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from willowbark.tools.registry import title_of
from willowbark.tools.wording import listed

from ..pictures.figures import TrialSpan, date_in_years, timeline
from .candidates import candidate_card, figure_of
from .content import EVENTS_NOTE, NOT_REPORTED, RUNNING, PostedResult, ReportContent, ReportSection, TrialRow
from .forms.blocks import (
    Block,
    Details,
    Document,
    Group,
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
    table,
)
from .forms.links import url_of
from .methods import methods, references
from .texts import write_blocks

_LEADING = 5  # candidates whose certainty is looked at; the conclusion names no more
_WAITING = 8  # trials that have yet to report; all of them stand in the trial table


def summary(report: ReportContent) -> Section:
    """The answer, why, and the figures of the run."""
    parts = [
        paragraph(Text(f"{part.label}:", "strong"), f" {part.text}")
        if part.label
        else paragraph(part.text, look="lead")
        for part in report.summary_parts
    ]
    claims = f" kept, {report.claims_repaired} of them repaired; {report.claims_dropped} dropped"
    facts = (
        ("Confidence", flow(f"{report.confidence_score:.2f}", Text(" of 1", "small"))),
        ("Records read", flow(str(report.total_papers_reviewed))),
        ("Rounds", flow(str(report.search_iterations))),
        ("Claims", flow(str(report.claims_kept), Text(claims, "small"))),
        ("Search ended", flow(Text(report.stop_reason.replace("_", " "), "emphasis"))),
        *((("Analyst", flow(Text(report.analyst, "strong"))),) if report.model_failed and report.analyst else ()),
    )
    return Section("Summary", "summary", (*parts, Pairs(facts, "facts")))


def candidates(report: ReportContent) -> Section:
    """The candidates in a table, then each by itself."""
    title = "Candidates and certainty"
    if not report.candidates:
        none = "None: no existing drug has verifiable evidence here."
        if report.answer:
            none = "None: the question does not ask what helps, or nothing on that could be verified."
        if report.approval is not None and report.approval.set_aside:
            none = "None: all were set aside before the report was written; see the methods."
        return Section(title, "candidates", (paragraph(none),))
    rows = [
        Row(
            (
                flow(Link(candidate.name, f"#candidate-{place}")),
                flow(Text(candidate.certainty, "level")),
                flow(candidate.evidence_quality),
                flow(str(len(candidate.supporting_citations))),
                flow(str(len(candidate.contradicting_citations))),
                flow(str(len(candidate.undecided_citations))),
                flow(candidate.clinical_status),
            )
        )
        for place, candidate in enumerate(report.candidates, 1)
    ]
    overview = Table(
        "Candidates, with drugs you asked about first, then by strength of evidence. Certainty = certainty that the "
        "drug helps",
        ("drug", "certainty", "evidence", "for", "against", "inconclusive", "status"),
        (Group(tuple(rows)),),
        "overview",
        ("for", "against", "inconclusive"),
    )
    note = (
        "For each study we show the effect estimates reported in the text (OR, RR, HR, IRR, RD, MD, SMD), otherwise "
        "the figures in the quoted passage."
    )
    cards = (candidate_card(report, candidate, place) for place, candidate in enumerate(report.candidates, 1))
    return Section(title, "candidates", (overview, paragraph(note, look="small"), *cards))


def stored_section(
    section_id: str, field: Callable[[ReportContent], ReportSection | None]
) -> Callable[..., Section | None]:
    """The builder of a section that the report holds as blocks."""

    def build(report: ReportContent) -> Section | None:
        section = field(report)
        return Section(section.title, section_id, tuple(section.blocks)) if section else None

    return build


def trials(report: ReportContent) -> Section:
    """The registered trials over time and in a table."""
    title = "Registered trials"
    if not report.trials:
        return Section(title, "trials", (paragraph("No registered trial on the condition names a drug."),))
    columns = ("trial", "drugs", "phase", "status", "enrolment", "start", "completion", "results")
    caption = "All registered trials on the condition that name a drug"
    every = Table(caption, columns, (Group(tuple(map(_trial, report.trials))),), "trials")
    spans = []
    for trial in report.trials:
        start, end = date_in_years(trial.start_date), date_in_years(trial.completion_date)
        if start is not None:
            phases = [int(each) for phase in trial.phases for each in phase if each.isdecimal()]
            ended = end if end is not None and end >= start else None
            highest = max(phases, default=-1)
            spans.append(TrialSpan(trial.nct_id, trial.phase_words, highest, trial.outcome, start, ended))
    plot = timeline(spans)
    drawn: tuple[Block, ...] = (figure_of(plot),) if plot else ()
    each = Section("Each trial", "trials-each", (*drawn, every), str(len(report.trials)), "folded")
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
    """What a trial posted on each of its drugs, and serious adverse events by group."""
    for result in results:
        yield paragraph(f"{result.drug} ", Text(result.direction, "mark"), f" {result.reason}")
        if result.sentence:
            yield Quote(result.sentence)
    if results and (events := results[0].serious_events):
        yield paragraph(f"Participants with serious adverse events ({EVENTS_NOTE}):")
        yield points(f"{e.group}: {e.affected} of {NOT_REPORTED if e.at_risk is None else e.at_risk}" for e in events)


def conclusion(report: ReportContent) -> Section:
    """What follows from it all, and what would change that."""
    blocks: list[Block] = [paragraph(report.conclusion, look="lead")]
    if own := [*report.model_summary, *(f"The judge found: {finding}" for finding in report.key_findings)]:
        blocks.append(Section("In the model's own words", "own-words", (points(own),)))
    leading = report.candidates[:_LEADING]
    held = [f"{c.name}, {c.certainty} ({'; '.join(c.held_down_by)})" for c in leading if c.held_down_by]
    # What nothing holds down can only fall: the appraisal never rises by evidence against a drug.
    firm = [
        c.name
        for c in leading
        if c.supporting_citations and not c.held_down_by and c.certainty not in ("very low", NOT_REPORTED)
    ]
    names = set(report.drug_candidates)
    waiting = [
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
    none = not (held or firm or waiting or report.judged or report.gaps)
    if report.answer and none:
        return Section("Conclusion", "conclusion", tuple(blocks))
    change = write_blocks(
        "change",
        "change",
        held="; ".join(held),
        firm=listed(firm),
        waiting=waiting[:_WAITING],
        judged=report.judged,
        gaps=[gap.rstrip(".") for gap in report.gaps],
        nothing=none,
    )
    blocks.append(Section("What would change the conclusion", "change", change))
    return Section("Conclusion", "conclusion", tuple(blocks))


def limitations(report: ReportContent) -> Section:
    """What the report cannot say."""
    return Section("Limitations", "limitations", (points(report.limitations),))


SECTIONS: tuple[Callable[[ReportContent], Section | None], ...] = (
    summary,
    stored_section("answer", lambda report: report.answer),
    candidates,
    stored_section("clinical", lambda report: report.clinical_findings),
    stored_section("disease-mechanism", lambda report: report.disease_mechanism),
    stored_section("mechanistic", lambda r: r.mechanistic_findings if r.candidates or not r.answer else None),
    stored_section("safety", lambda report: report.safety),
    trials,
    conclusion,
    limitations,
    methods,
    references,
)
"""Builders of the report's sections, in their order."""


def document(report: ReportContent) -> Document:
    """Build the whole tree."""
    when = f"{report.generated_at:%Y-%m-%d %H:%M} UTC"
    tokens = "tokens used" if report.usage else "tokens, estimated"
    sources = ", ".join(map(title_of, report.sources_searched)) or "none answered"
    generated = f"Generated {when} by Willowbark · {tokens}: {report.tokens_used:,} · sources: {sources}"
    return Document(
        report.title,
        report.research_question,
        (paragraph(f"{when} · {report.disclaimer}", look="small"),),
        tuple(section for build in SECTIONS if (section := build(report)) is not None),
        (paragraph(report.disclaimer), paragraph(generated, look="small")),
    )


def short(report: ReportContent) -> tuple[Block, ...]:
    """The answer in a sentence or two, and the leading candidates in a narrow table: what a message begins with."""
    answer = paragraph(report.summary_parts[0].text if report.summary_parts else report.executive_summary)
    if not report.candidates:
        return (answer,)
    rows = [
        (c.name, c.certainty, str(len(c.supporting_citations)), str(len(c.contradicting_citations)))
        for c in report.candidates[:_LEADING]
    ]
    columns = ("drug", "certainty", "for", "against")
    return (answer, table("", columns, [tuple(map(flow, row)) for row in rows]))


def brief(report: ReportContent) -> Document:
    """The summary and the table of candidates alone, for faces that show the rest apart."""
    whole, section = document(report), candidates(report)
    return replace(whole, sections=(summary(report), replace(section, blocks=section.blocks[:1])), closing=())
