"""A report as a Word document: headings, tables, references (https://python-docx.readthedocs.io)."""

import io
import zipfile
from collections.abc import Iterable, Sequence

from docx import Document
from docx.document import Document as DocumentType
from docx.oxml import OxmlElement
from docx.shared import Pt

from willowbark.agents.report import NOT_REPORTED, ResearchReport
from willowbark.tools.enclosure import visible
from willowbark.tools.evidence import UNKNOWN_DATE

from .links import named, url_of
from .outlook import what_would_change
from .trials import outcome_of, phase_words, status_words
from .view import CandidateView, Record, candidate_views

_STYLE = "Light Grid Accent 1"  # of python-docx's own template
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest moment that a zip archive can tell


def as_docx(report: ResearchReport) -> bytes:
    """The report as a document; the same report gives the same bytes."""
    document = Document()
    _properties(document, report)
    document.add_heading(_line(report.title), 0)
    document.add_paragraph().add_run(_line(report.research_question)).italic = True
    document.add_paragraph(_line(report.disclaimer))
    document.add_heading("Summary", 1)
    document.add_paragraph(_line(report.executive_summary))
    document.add_paragraph(
        f"Confidence {report.confidence_score:.2f} of 1; {report.total_papers_reviewed} records read in "
        f"{report.search_iterations} rounds; claims kept {report.claims_kept}, repaired {report.claims_repaired}, "
        f"dropped {report.claims_dropped}; the search ended: {_line(report.stop_reason).replace('_', ' ')}."
    )
    _candidates(document, report)
    _trials(document, report)
    document.add_heading("Conclusion", 1)
    document.add_paragraph(_line(report.conclusion))
    document.add_heading("What would change the conclusion", 2)
    _bullets(document, what_would_change(report))
    document.add_heading("Limitations", 1)
    _bullets(document, report.limitations)
    _methods(document, report)
    _references(document, report)
    return _same_bytes(document)


def _properties(document: DocumentType, report: ResearchReport) -> None:
    properties, when = document.core_properties, report.generated_at.replace(tzinfo=None)
    properties.title, properties.subject = _line(report.title)[:255], _line(report.research_question)[:255]
    properties.author = properties.last_modified_by = "Willowbark"
    properties.comments, properties.language = "", "en"
    properties.created = properties.modified = when
    document.styles["Normal"].font.size = Pt(10.5)


def _candidates(document: DocumentType, report: ResearchReport) -> None:
    document.add_heading("Candidates and certainty", 1)
    if not report.candidates:
        document.add_paragraph("None: no existing drug has evidence here that could be verified.")
        return
    _table(
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


def _candidate(document: DocumentType, view: CandidateView) -> None:
    candidate = view.candidate
    document.add_heading(_line(candidate.name), 2)
    marketed = ", ".join(candidate.current_indications[:8]) or NOT_REPORTED
    for name, value in (
        ("Status", candidate.clinical_status),
        ("Marketed for", marketed),
        ("Mechanism", candidate.mechanism),
        ("Certainty", " ".join([f"{candidate.certainty}.", *candidate.certainty_reasons])),
    ):
        paragraph = document.add_paragraph()
        paragraph.add_run(f"{name}: ").bold = True
        paragraph.add_run(_line(value))
    if view.steps:
        document.add_paragraph("Mechanism path: " + " → ".join(f"{s.kind}: {_line(s.name)}" for s in view.steps))
    rows = [_record_cells(record) for records in view.records.values() for record in records]
    if rows:
        _table(document, ("stance", "record", "design", "participants", "effect as reported", "passage"), rows)


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
        " … ".join(record.quotes) or "none",
    )


def _trials(document: DocumentType, report: ResearchReport) -> None:
    document.add_heading("Registered trials", 1)
    if not report.trials:
        document.add_paragraph("No registered trial names a candidate.")
        return
    rows = []
    for trial in report.trials:
        status = status_words(trial)
        if outcome_of(trial) == "stopped":
            status = f"{status} ({trial.why_stopped_kind or 'reason'}: {trial.why_stopped or NOT_REPORTED})"
        rows.append((f"{trial.nct_id}: {trial.title}", ", ".join(trial.drugs), phase_words(trial), status,
                     trial.enrollment, trial.start_date, trial.completion_date))  # fmt: skip
    _table(document, ("trial", "drugs", "phase", "status", "enrolment", "start", "completion"), rows)


def _methods(document: DocumentType, report: ResearchReport) -> None:
    document.add_heading("Methods", 1)
    flow = report.flow
    document.add_heading("Flow of records (after PRISMA 2020)", 2)
    identified = [(f"identified in {source}", count) for source, count in flow.identified.items()]
    excluded = [(f"excluded: {reason}", count) for reason, count in flow.excluded.items()]
    steps = [*identified, ("duplicates united", flow.duplicates), ("screened", flow.screened), *excluded]
    _table(document, ("step", "records"), [*steps, ("included", flow.included)])
    document.add_heading("Search log", 2)
    if not report.search_log:
        document.add_paragraph("No source was asked.")
        return
    _table(
        document,
        ("source", "query", "asked (UTC)", "round", "answer", "hits", "taken"),
        (
            (
                e.source,
                e.query,
                f"{e.asked_at:%Y-%m-%d %H:%M}" if e.asked_at else None,
                e.iteration,
                "; ".join([e.status.replace("_", " "), *e.warnings]),
                e.found,
                e.taken,
            )
            for e in report.search_log
        ),
    )


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
        parts = [f"{listed} ({when}).", str(reference["title"]), named(key), url or "", f"[{flags}]" if flags else ""]
        document.add_paragraph(f"{reference['number']}. {_line(' '.join(filter(None, parts)))}")


def _bullets(document: DocumentType, lines: Iterable[str]) -> None:
    for line in lines:
        document.add_paragraph(_line(line), style="List Bullet")


def _table(document: DocumentType, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table whose first row is repeated on every page and told to screen readers as its head."""
    table = document.add_table(rows=1, cols=len(head), style=_STYLE)
    for cell, name in zip(table.rows[0].cells, head, strict=True):
        cell.text = name
    table.rows[0]._tr.get_or_add_trPr().append(OxmlElement("w:tblHeader"))
    for row in rows:
        for cell, value in zip(table.add_row().cells, row, strict=True):
            cell.text = NOT_REPORTED if value is None else _line(value)
    for each in table.rows:
        for cell in each.cells:
            for run in cell.paragraphs[0].runs:
                run.font.size = Pt(8.5)
    document.add_paragraph()


def _line(value: object) -> str:
    """A text in one line, of characters that XML can hold."""
    text = " ".join(visible(str(value)).split())
    return "".join(c for c in text if not 0xD800 <= ord(c) <= 0xDFFF and ord(c) & 0xFFFE != 0xFFFE)


def _same_bytes(document: DocumentType) -> bytes:
    """The document's archive without the time at which it was packed."""
    packed, again = io.BytesIO(), io.BytesIO()
    document.save(packed)
    with zipfile.ZipFile(packed) as source, zipfile.ZipFile(again, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            target.writestr(entry, source.read(name))
    return again.getvalue()
