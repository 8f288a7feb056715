"""A report as a Word document: headings, tables, pictures with alternative texts, references.

https://python-docx.readthedocs.io
"""

from docx import Document
from docx.document import Document as DocumentType
from docx.shared import Pt

from willowbark.agents.pictures.diagrams import mechanism_path
from willowbark.agents.pictures.plots import forests, publications_by_year, trial_timeline
from willowbark.agents.pictures.trials import outcome_of, phase_words, status_words
from willowbark.agents.report.links import named, url_of
from willowbark.agents.report.markdown import is_database_entry
from willowbark.agents.report.model import NOT_REPORTED, ResearchReport, TrialRow
from willowbark.agents.report.posted_results import EVENTS_NOTE
from willowbark.tools.evidence import UNKNOWN_DATE

from .outlook import what_would_change
from .searches import by_query, filters_in_words, source_title
from .view import CandidateView, Record, candidate_views, summary_parts
from .word import bullets, line, pair, picture, same_bytes, table


def as_docx(report: ResearchReport) -> bytes:
    """The report as a document; the same report gives the same bytes."""
    document = Document()
    _properties(document, report)
    document.add_heading(line(report.title), 0)
    document.add_paragraph().add_run(line(report.research_question)).italic = True
    document.add_paragraph(line(report.disclaimer))
    document.add_heading("Summary", 1)
    for label, text in summary_parts(report.executive_summary):
        pair(document, label, text)
    document.add_paragraph(
        f"Confidence {report.confidence_score:.2f} of 1; {report.total_papers_reviewed} records read in "
        f"{report.search_iterations} rounds; claims kept {report.claims_kept}, repaired {report.claims_repaired}, "
        f"dropped {report.claims_dropped}; the search ended: {line(report.stop_reason).replace('_', ' ')}."
    )
    _candidates(document, report)
    _trials(document, report)
    document.add_heading("Publications", 1)
    if years := publications_by_year(report):
        picture(document, years)
    else:
        document.add_paragraph("No appraised publication has a date.")
    document.add_heading("Conclusion", 1)
    document.add_paragraph(line(report.conclusion))
    document.add_heading("What would change the conclusion", 2)
    bullets(document, what_would_change(report))
    document.add_heading("Limitations", 1)
    bullets(document, report.limitations)
    _methods(document, report)
    _decisions(document, report)
    _references(document, report)
    return same_bytes(document)


def _properties(document: DocumentType, report: ResearchReport) -> None:
    properties, when = document.core_properties, report.generated_at.replace(tzinfo=None)
    properties.title, properties.subject = line(report.title)[:255], line(report.research_question)[:255]
    properties.author = properties.last_modified_by = "Willowbark"
    properties.comments, properties.language = "", "en"
    properties.created = properties.modified = when
    document.styles["Normal"].font.size = Pt(10.5)


def _candidates(document: DocumentType, report: ResearchReport) -> None:
    document.add_heading("Candidates and certainty", 1)
    if not report.candidates:
        document.add_paragraph("None: no existing drug has evidence here that could be verified.")
        return
    table(
        document,
        ("drug", "certainty", "evidence", "for", "against", "undecided", "status"),
        (
            (
                c.name,
                c.certainty,
                c.evidence_quality,
                len(c.supporting_citations),
                len(c.contradicting_citations),
                len(c.undecided_citations),
                c.clinical_status,
            )
            for c in report.candidates
        ),
    )
    for view in candidate_views(report):
        _candidate(document, view)
        for forest in forests(report, view.candidate.name):
            picture(document, forest)


def _candidate(document: DocumentType, view: CandidateView) -> None:
    candidate = view.candidate
    document.add_heading(line(candidate.name), 2)
    marketed = ", ".join(candidate.current_indications[:8]) or NOT_REPORTED
    for name, value in (
        ("Status", candidate.clinical_status),
        ("Marketed for", marketed),
        ("Mechanism", candidate.mechanism),
        ("Certainty", " ".join([f"{candidate.certainty}.", *candidate.certainty_reasons])),
    ):
        pair(document, name, value)
    if view.proposed:
        pair(document, "Proposed here", view.proposed)
    if view.steps:
        picture(document, mechanism_path(f"path-{view.place}", view.steps))
    rows = [_record_cells(record) for records in view.records.values() for record in records]
    if rows:
        table(document, ("stance", "record", "design", "participants", "effect as reported", "passage"), rows)


def _record_cells(record: Record) -> tuple[object, ...]:
    number = f" [{record.number}]" if record.number else ""
    flags = f" — {', '.join(record.flags)}" if record.flags else ""
    effects = "; ".join(f"{size.measure} {size.value:g}" for size in record.row.effects[:4])
    return (
        record.stance,
        f"{record.row.title} ({record.byline}; {record.name}){number}{flags}",
        record.row.design,
        record.row.sample_size,
        effects or None,
        " … ".join(f"{quote} ({section})" if section else quote for quote, section in record.quotes) or "none",
    )


def _trials(document: DocumentType, report: ResearchReport) -> None:
    document.add_heading("Registered trials", 1)
    if not report.trials:
        document.add_paragraph("No registered trial on the condition names a drug.")
        return
    if timeline := trial_timeline(report):
        picture(document, timeline)
    rows = []
    for trial in report.trials:
        status = status_words(trial)
        if outcome_of(trial) == "stopped":
            status = f"{status} ({trial.why_stopped_kind or 'reason'}: {trial.why_stopped or NOT_REPORTED})"
        rows.append((f"{trial.nct_id}: {trial.title}", ", ".join(trial.drugs), phase_words(trial), status,
                     trial.enrollment, trial.start_date, trial.completion_date, _posted(trial)))  # fmt: skip
    table(document, ("trial", "drugs", "phase", "status", "enrolment", "start", "completion", "results"), rows)


def _posted(trial: TrialRow) -> str:
    """A trial's posted results, and its serious adverse events, in a cell."""
    if not trial.posted:
        return "posted" if trial.has_results else "none posted"
    told = [f"{result.drug}: {result.direction}, {result.reason}" for result in trial.posted]
    events = [
        f"{e.group} {e.affected} of {NOT_REPORTED if e.at_risk is None else e.at_risk}"
        for e in trial.posted[0].serious_events
    ]
    if events:
        told.append(f"Serious adverse events ({EVENTS_NOTE}): {', '.join(events)}")
    return "; ".join(told)


def _methods(document: DocumentType, report: ResearchReport) -> None:
    document.add_heading("Methods", 1)
    flow = report.flow
    document.add_heading("Flow of records (after PRISMA 2020)", 2)
    identified = [(f"identified in {source_title(source)}", count) for source, count in flow.identified.items()]
    excluded = [(f"excluded: {reason}", count) for reason, count in flow.excluded.items()]
    steps = [*identified, ("duplicates united", flow.duplicates), ("screened", flow.screened), *excluded]
    table(document, ("step", "records"), [*steps, ("included", flow.included)])
    document.add_heading("Search log", 2)
    if not report.search_log:
        document.add_paragraph("No source was asked.")
        return
    table(
        document,
        ("query", "source", "filters", "asked (UTC)", "answer", "hits", "taken"),
        (
            (
                asked.query if n == 0 else "as above",
                source_title(entry.source),
                filters_in_words(entry),
                f"{entry.asked_at:%Y-%m-%d %H:%M}" if entry.asked_at else None,
                "; ".join([entry.status.replace("_", " "), *entry.warnings]),
                entry.found,
                entry.taken,
            )
            for asked in by_query(report.search_log)
            for n, entry in enumerate(asked.answers)
        ),
    )


def _decisions(document: DocumentType, report: ResearchReport) -> None:
    """Who decided, what looks like one study, what the language model used up: each where there is any."""
    if report.approval and report.approval.decided_by != "nobody":
        document.add_heading("Who decided on the candidates", 2)
        document.add_paragraph(line(report.approval.sentence))
        aside = report.approval.set_aside
        bullets(document, (f"{one.name} was set aside: {one.reason or 'no reason given'}" for one in aside))
    if report.look_alikes:
        document.add_heading("Records that may be one study", 2)
        pairs = (zip(alike.keys, alike.titles, strict=True) for alike in report.look_alikes)
        bullets(document, (" and ".join(f"{title} ({named(key)})" for key, title in pair) for pair in pairs))
    if report.usage:
        document.add_heading("What the language model used up", 2)
        head = ("agent", "round", "prompt tokens", "completion tokens", "cost (US$)")
        turns = [
            (t.agent, t.iteration or "all", t.prompt_tokens, t.completion_tokens, t.cost_usd) for t in report.usage
        ]
        table(document, head, turns)


def _references(document: DocumentType, report: ResearchReport) -> None:
    document.add_heading("References", 1)
    if not report.references:
        document.add_paragraph("None.")
    for reference in report.references:
        authors = [str(author) for author in reference.get("authors") or []]
        listed = (", ".join(authors[:6]) or "No authors listed") + (" et al." if len(authors) > 6 else "")
        key, date = str(reference["key"]), str(reference.get("date") or UNKNOWN_DATE)
        when = "date not reported" if date == UNKNOWN_DATE else date
        url = url_of(key, str(reference.get("url") or ""))
        flags = ", ".join(map(str, reference.get("flags") or []))
        said_by, name = f"{listed} ({when}).", named(key)
        if is_database_entry(reference):
            said_by, name = f"{source_title(str(reference['source']))}, database entry:", ""
        parts = [said_by, str(reference["title"]), name, url or "", f"[{flags}]" if flags else ""]
        document.add_paragraph(f"{reference['number']}. {line(' '.join(filter(None, parts)))}")
