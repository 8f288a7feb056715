"""The report's tree: its sections in order, each built by one function from the report's content.

A new section is a function from a report to a `Section` (None if empty), listed in `SECTIONS` or `APPENDIX`: Markdown,
page, Word document, notebook and terminal then show it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from willowbark.tools.registry import title_of

from .candidates import candidates, certainty_figure, comparison, evidence, more_evidence
from .content import EVENTS_NOTE, NOT_REPORTED, RUNNING, PostedResult, ReportContent, ReportSection, TrialRow
from .forms.blocks import (
    Block,
    Cite,
    Details,
    Document,
    Group,
    Link,
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
from .forms.links import url_of
from .methods import decision, methods, references
from .texts import write_blocks

_WAITING = 3  # trials that have yet to report; the trial table has all


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
    figure = certainty_figure(report)
    return Section("Answer", "summary", (*parts, figure) if figure else tuple(parts))


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
