"""The report's tree: its sections in their order, each built by one function from what the report holds.

A new section is a function from a report to a `Section` (None where there is nothing to say) and its name in
`SECTIONS`: Markdown, page, Word document, notebook and terminal then show it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from willowbark.tools.registry import title_of
from willowbark.tools.wording import listed

from ...pictures.figures import (
    DESIGN_GROUPS,
    RUNNING,
    outcome_of,
    phase_words,
    publications_by_year,
    status_words,
    trial_timeline,
)
from ..content import EVENTS_NOTE, NOT_REPORTED, DrugCandidate, PostedResult, ReportContent, SummaryPart, TrialRow
from .blocks import (
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
from .candidates import candidate_card, figures
from .links import url_of
from .methods import methods, prose, references

_LOOKED_AT = 5  # candidates whose certainty is looked at; the conclusion names no more
_WAITING = 8  # trials that have yet to report; all of them stand in the trial table


def summary(report: ReportContent) -> Section:
    """The answer, why, and the figures of the run."""
    parts = [
        paragraph(Text(f"{part.label}:", "strong"), f" {part.text}")
        if part.label
        else paragraph(part.text, look="lead")
        for part in report.summary_parts or [SummaryPart(text=report.executive_summary)]
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


def answer(report: ReportContent) -> Section | None:
    """What the answer rests on, where it is not the candidates."""
    return Section(report.answer.title, "answer", prose(report.answer)) if report.answer else None


def candidates(report: ReportContent) -> Section:
    """The candidates in a table, then each by itself."""
    title = "Candidates and certainty"
    if not report.candidates:
        aside = report.approval is not None and report.approval.set_aside
        none = (
            "None: all were set aside before the report was written; see the methods."
            if aside
            else "None: the question does not ask what helps, or nothing on that could be verified."
            if report.answer
            else "None: no existing drug has evidence here that could be verified."
        )
        return Section(title, "candidates", (paragraph(none),))
    overview = Table(
        "Drugs with a verdict, sure or not: those asked about, then the best supported; certainty is of helping",
        ("drug", "certainty", "evidence", "for", "against", "undecided", "status"),
        (Group(tuple(_overview(c, place) for place, c in enumerate(report.candidates, 1))),),
        "overview",
        ("for", "against", "undecided"),
    )
    note = (
        "Of each record stand the ratios and differences that the text read gives (OR, RR, HR, IRR, RD, MD, SMD), "
        "else the figures of its passage."
    )
    cards = (candidate_card(report, c, place) for place, c in enumerate(report.candidates, 1))
    return Section(title, "candidates", (overview, paragraph(note, look="small"), *cards))


def _overview(candidate: DrugCandidate, place: int) -> Row:
    return Row(
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


def clinical(report: ReportContent) -> Section:
    """What the records say for and against each candidate, in sentences."""
    return Section(report.clinical_findings.title, "clinical", prose(report.clinical_findings))


def disease_mechanism(report: ReportContent) -> Section | None:
    """What is known of the condition's targets and processes."""
    told = report.disease_mechanism
    return Section(told.title, "disease-mechanism", prose(told)) if told else None


def mechanistic(report: ReportContent) -> Section:
    """How the candidates act, in sentences."""
    return Section(report.mechanistic_findings.title, "mechanistic", prose(report.mechanistic_findings))


def safety(report: ReportContent) -> Section | None:
    """Status and harms of the candidates."""
    return Section(report.safety.title, "safety", prose(report.safety)) if report.safety else None


def trials(report: ReportContent) -> Section:
    """The registered trials over time and in a table."""
    if not report.trials:
        nothing = paragraph("No registered trial on the condition names a drug.")
        return Section("Registered trials", "trials", (nothing,))
    columns = ("trial", "drugs", "phase", "status", "enrolment", "start", "completion", "results")
    every = Table(
        "All registered trials on the condition that name a drug",
        columns,
        (Group(tuple(map(_trial, report.trials))),),
        "trials",
        below="posted results",
    )
    told: tuple[Block, ...] = (*figures(trial_timeline(report)), every)
    listed_ = Section("Each trial by itself", "trials-each", told, str(len(report.trials)), "folded")
    return Section("Registered trials", "trials", (listed_,))


def _trial(trial: TrialRow) -> Row:
    status = flow(status_words(trial))
    if outcome_of(trial) == "stopped":
        why = f" {trial.why_stopped_kind or 'reason'}: {trial.why_stopped or NOT_REPORTED}"
        status = flow(Text(status_words(trial), "flag"), Text(why, "small"))
    cells = (
        flow(Link(trial.nct_id, url_of(trial.key)), Text(f" {trial.title}", "small")),
        flow(", ".join(trial.drugs)),
        flow(phase_words(trial)),
        status,
        flow(NOT_REPORTED if trial.enrollment is None else str(trial.enrollment)),
        flow(trial.start_date or NOT_REPORTED),
        flow(trial.completion_date or NOT_REPORTED),
        flow("posted" if trial.has_results else "none posted"),
    )
    if not trial.posted:
        return Row(cells)
    return Row(cells, (Details("Posted results and serious adverse events", tuple(posted(trial.posted))),))


def posted(results: Sequence[PostedResult]) -> Iterator[Block]:
    """What a trial posted on each of its drugs, and serious adverse events by group."""
    for result in results:
        yield paragraph(f"{result.drug} ", Text(result.direction, "mark"), f" {result.reason}")
        if result.sentence:
            yield Quote(result.sentence)
    if results and (events := results[0].serious_events):
        yield paragraph(f"Participants with serious adverse events ({EVENTS_NOTE}):")
        yield points(f"{e.group}: {e.affected} of {NOT_REPORTED if e.at_risk is None else e.at_risk}" for e in events)


def publications(report: ReportContent) -> Section:
    """The appraised publications by year and design."""
    years = publications_by_year(report)
    if years is None:
        return Section("Publications", "publications", (paragraph("No appraised publication has a date."),))
    rows = [
        (flow(str(year)), *(flow(str(found[group])) for group in DESIGN_GROUPS)) for year, found in years.counts.items()
    ]
    same = table("Appraised publications by year and design", ("year", *DESIGN_GROUPS), rows, DESIGN_GROUPS)
    drawn: tuple[Block, ...] = (*figures(years), Details("The same as a table", (same,)))
    folded = Section(
        "By year and design",
        "publications-years",
        drawn,
        str(sum(sum(found.values()) for found in years.counts.values())),
        "folded",
    )
    return Section("Publications", "publications", (folded,))


def conclusion(report: ReportContent) -> Section:
    """What follows from it all, and what would change that."""
    changes = [*_held_down(report), *_held_up(report), *_yet_to_report(report), *_missing(report)]
    lead: tuple[Block, ...] = (paragraph(report.conclusion, look="lead"),)
    if said := [*report.model_summary, *(f"The judge found: {finding}" for finding in report.key_findings)]:
        lead = (*lead, Section("In the model's own words", "own-words", (points(said),)))
    if report.answer and not changes:
        return Section("Conclusion", "conclusion", lead)
    none = paragraph("Any verifiable record on an existing drug: none was found.")
    change = Section("What would change the conclusion", "change", (points(changes) if changes else none,))
    return Section("Conclusion", "conclusion", (*lead, change))


def _held_down(report: ReportContent) -> Iterator[str]:
    held = [
        f"{c.name} is at {c.certainty} ({'; '.join(c.held_down_by)})"
        for c in report.candidates[:_LOOKED_AT]
        if c.held_down_by
    ]
    if held:
        yield f"Studies without the faults that hold certainty down could raise it, or turn it: {'; '.join(held)}."


def _can_fall(candidate: DrugCandidate) -> bool:
    lowest = candidate.certainty in ("very low", NOT_REPORTED)
    return bool(candidate.supporting_citations) and candidate.held_down_by == [] and not lowest


def _held_up(report: ReportContent) -> Iterator[str]:
    """What nothing holds down can only fall: the appraisal never rises by evidence against a drug."""
    firm = [c.name for c in report.candidates[:_LOOKED_AT] if _can_fall(c)]
    if firm:
        yield f"Well-made trials without an effect, or stopped for harm, would lower the certainty for {listed(firm)}."


def _yet_to_report(report: ReportContent) -> Iterator[str]:
    shown = set(report.drug_candidates)
    waiting = [t for t in report.trials if t.status in RUNNING and not t.has_results and shown & set(t.drugs)]
    for trial in waiting[:_WAITING]:
        drugs = ", ".join(drug for drug in trial.drugs if drug in shown)
        size = f", {trial.enrollment} participants planned" if trial.enrollment is not None else ""
        yield f"{trial.nct_id} on {drugs} ({phase_words(trial)}, {status_words(trial)}{size}) has yet to report."


def _missing(report: ReportContent) -> Iterator[str]:
    for reason in report.judged:
        yield f"The judge at the end: {reason}"
    for gap in report.gaps:
        yield f"Still missing: {gap.rstrip('.')}."


def limitations(report: ReportContent) -> Section:
    """What the report cannot say."""
    return Section("Limitations", "limitations", (points(report.limitations),))


SECTIONS: tuple[Callable[[ReportContent], Section | None], ...] = (
    summary,
    answer,
    candidates,
    clinical,
    disease_mechanism,
    mechanistic,
    safety,
    trials,
    publications,
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
    said = paragraph(report.summary_parts[0].text if report.summary_parts else report.executive_summary)
    if not report.candidates:
        return (said,)
    rows = [
        (c.name, c.certainty, str(len(c.supporting_citations)), str(len(c.contradicting_citations)))
        for c in report.candidates[:_LOOKED_AT]
    ]
    return (said, table("", ("drug", "certainty", "for", "against"), [tuple(map(flow, row)) for row in rows]))


def brief(report: ReportContent) -> Document:
    """What a report comes to: its summary and the table of candidates, for faces that show the rest apart."""
    whole, told = document(report), candidates(report)
    return replace(whole, sections=(summary(report), replace(told, blocks=told.blocks[:1])), closing=())
