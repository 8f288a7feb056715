"""The report's sections on drugs: summary of findings, comparison, studies of each drug with failures first."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from willowbark.tools.enclosure import one_line
from willowbark.tools.evidence import surname
from willowbark.tools.reading.reading import ValueKind
from willowbark.tools.wording import counted, short
from willowbark.tools.works.sections import is_full_text

from ..pictures import StudyEffect, TrialSpan, date_in_years, forest_plots, timeline
from .content import (
    EFFICACY,
    NONE_PROPOSED,
    NOT_REPORTED,
    DrugCandidate,
    EvidenceRow,
    ReportContent,
    Stance,
)
from .forms import record_name, url_of
from .forms.blocks import (
    Block,
    Figure,
    Flow,
    Group,
    Link,
    Pairs,
    Quote,
    Row,
    Section,
    Table,
    Text,
    flow,
    join_flows,
    paragraph,
    points,
    table,
)
from .texts import write_blocks

MOST_BLOCKS = 10  # drugs with a block, besides those that failed or were withdrawn; the tables have all
MOST_ROWS = 22  # studies in all blocks together; the appendix has the others
_LONGEST_QUOTE = 240  # characters in a block; the appendix has whole passages
_LONGEST_TITLE = 50  # characters of a title used as name of a study without authors
_MAX_INDICATIONS = 8  # of a drug; further ones are counted
_STANCES: dict[Stance, str] = {
    "contradicts": "contradicting",
    "supports": "supporting",
    "inconclusive": "inconclusive",
    "excluded": "excluded",
}
_REFUTED = (
    "two trials with two thirds of the participants, or the largest review, found no benefit or harm against placebo, "
    "no treatment or usual care."
)
_PRIMARY = {"met": "primary outcome met", "not_met": "primary outcome not met"}
_COMPARED: tuple[ValueKind, ...] = ("dose", "comparator", "participants", "tolerability")
"""Columns of the comparative table after the study and its effect."""


def candidates(report: ReportContent) -> Section:
    """Build the section on candidates: repurposing candidates, approved or standard drugs, trials over time."""
    if not report.candidates:
        return Section("Candidates", "candidates", write_blocks("candidates", "no_candidates", report=report))
    with_block = rows_of_blocks(report.candidates, report.evidence_table)
    new, established = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
    for place, candidate in enumerate(report.candidates, 1):
        rows = [row for row in report.evidence_table if row.drug == candidate.name]
        studies = [row for row in rows if candidate.stance_of(row) in ("supports", "contradicts")]
        best = candidate.best_estimate.key if candidate.best_estimate else None
        outcome = next((row.pico.outcome for row in rows if row.key == best and row.pico), None)
        group = established if candidate.group == "established" else new
        has_block, of_effect = candidate.name in with_block, "" if outcome == EFFICACY else outcome
        group.append((candidate, place, has_block, studies, of_effect))
    blocks = write_blocks("candidates", "candidates", report.cite, new=new, established=established)
    spans = []
    for trial in report.trials:
        start, end = date_in_years(trial.start_date), date_in_years(trial.completion_date)
        if start is not None:
            phase = max((int(each) for phase in trial.phases for each in phase if each.isdecimal()), default=-1)
            end = end if end is not None and end >= start else None
            spans.append(TrialSpan(trial.nct_id, trial.phase_words, phase, trial.outcome, start, end))
    plot = timeline(spans)
    return Section("Candidates", "candidates", (*blocks, Figure(plot)) if plot else blocks)


def _in_order(report: ReportContent) -> list[tuple[int, DrugCandidate]]:
    """Return the candidates in table order, each with its rank in the report, from 1."""
    return sorted(enumerate(report.candidates, 1), key=lambda each: each[1].group == "established")


def rows_of_blocks(candidates: Sequence[DrugCandidate], table: Sequence[EvidenceRow]) -> dict[str, list[EvidenceRow]]:
    """Select the studies for each drug's block, by drug name: those without benefit or with harm, then in support.

    The first drugs have a block, and those that failed or were withdrawn; the first of them have more studies, each has
    one for each side.
    """
    with_block = [
        c
        for at, c in enumerate(candidates)
        if at < MOST_BLOCKS
        or len(c.contradicting_citations) >= len(c.supporting_citations)
        or c.evidence_quality == "refuted"
        or "withdrawn" in c.marks
    ]
    found, (share, rest) = {}, divmod(MOST_ROWS, max(1, len(with_block)))
    for place, candidate in enumerate(with_block):
        sides = bool(candidate.supporting_citations) + bool(candidate.contradicting_citations)
        most, best = max(share + (place < rest), sides), candidate.best_estimate.key if candidate.best_estimate else ""
        own = [(row, candidate.stance_of(row)) for row in table if row.drug == candidate.name]
        supporting = sorted((row for row, stance in own if stance == "supports"), key=lambda row: row.key != best)
        failing = [row for row, stance in own if stance == "contradicts"][: most - bool(supporting)]
        found[candidate.name] = [*failing, *supporting[: most - len(failing)]]
    return found


def comparison(report: ReportContent) -> Section | None:
    """Build the table of the blocks' studies side by side: effect, dose, comparator, size, tolerability."""
    shown = rows_of_blocks(report.candidates, report.evidence_table)
    rows = []
    for place, candidate in _in_order(report):
        for row in shown.get(candidate.name, ()):
            result = row.pico.result if row.pico else None
            effect = join_flows(filter(None, (flow(result or ""), _value_cell(row, "estimate"))), ": ")
            study = flow(Link(candidate.name, f"#candidate-{place}"), " (", *_study_link(report, row), ")")
            rows.append(
                (study, *(x or flow(NOT_REPORTED) for x in (effect, *(_value_cell(row, w) for w in _COMPARED))))
            )
    note = (
        "Figures as the studies write them; the appendix has their sentences. Without a language model, doses are "
        "those written beside a drug's name, and tolerability is posted results alone."
    )
    compared = table("Studies compared", ("drug (study)", "effect", *_COMPARED), rows)
    return Section("Comparison", "comparison", (compared, paragraph(note, look="small"))) if shown else None


def _value_cell(row: EvidenceRow, what: ValueKind) -> Flow:
    """Build the cell of a study's values of one kind; empty without any."""
    lines = [each.line for each in row.compared(what)]
    return flow(points(lines, "lines") if len(lines) > 1 else lines[0]) if lines else ()


def evidence(report: ReportContent) -> Section | None:
    """Build a block for each drug: decisive studies, failures first, and steps of its certainty."""
    shown, blocks = rows_of_blocks(report.candidates, report.evidence_table), list[Block]()
    for place, candidate in ((place, each) for place, each in _in_order(report) if each.name in shown):
        own: list[Block] = [
            paragraph(Text(mark, "flag"), caution[caution.find(":") :])
            for mark, caution in zip(candidate.marks, candidate.cautions, strict=False)
        ]
        rows = [row for row in report.evidence_table if row.drug == candidate.name]
        own += [*_studies(report, candidate, shown[candidate.name], rows), *_forest_plots(report, place, rows)]
        if candidate.evidence_quality == "refuted":
            own.append(paragraph(Text("Refuted: ", "strong"), _REFUTED))
        elif candidate.supporting_citations:
            own.append(paragraph(Text("Certainty: ", "strong"), " ".join(candidate.certainty_reasons)))
        level = candidate.level
        note = f"{level} certainty" if level == candidate.certainty else level
        blocks.append(Section(candidate.name, f"candidate-{place}", tuple(own), note, "card"))
    return Section("Evidence by drug", "evidence", tuple(blocks)) if blocks else None


def more_evidence(report: ReportContent) -> Section | None:
    """Build the appendix's section for each drug: status, all studies with their passages, mechanism."""
    blocks = list[Block]()
    for place, candidate in _in_order(report):
        rows = [row for row in report.evidence_table if row.drug == candidate.name]
        own: list[Block] = [Pairs(tuple(_standing(candidate)))]
        own += _studies(report, candidate, rows, rows, is_whole=True)
        own += [points(candidate.remarks)] if candidate.remarks else []
        if candidate.study_limits:
            limits = (Quote(x.quote, f"{record_name(x.key)}, {_place(x.section)}") for x in candidate.study_limits)
            own.append(Section("Limitations stated by its studies", f"limits-{place}", tuple(limits)))
        if candidate.argument:
            own.append(Section(candidate.argument.title, f"mechanism-{place}", tuple(candidate.argument.blocks)))
        blocks.append(Section(f"More on {candidate.name}", f"more-{place}", tuple(own), "", "folded"))
    return Section("All evidence by drug", "more-evidence", tuple(blocks)) if blocks else None


def _standing(candidate: DrugCandidate) -> Iterator[tuple[str, Flow]]:
    marketed = candidate.current_indications
    more = f" and {len(marketed) - _MAX_INDICATIONS} more" if len(marketed) > _MAX_INDICATIONS else ""
    facts = {
        "Status": candidate.clinical_status,
        "Approved for": "; ".join(marketed[:_MAX_INDICATIONS]) + more or NOT_REPORTED,
        "Mechanism": candidate.mechanism,
    }
    yield from ((name, flow(fact)) for name, fact in facts.items() if fact != NOT_REPORTED)
    if missing := [name for name, fact in facts.items() if fact == NOT_REPORTED]:
        yield ", ".join([missing[0], *map(str.lower, missing[1:])]), flow(NOT_REPORTED)
    if candidate.proposed_mechanism not in (NOT_REPORTED, NONE_PROPOSED):
        yield "Proposed mechanism", flow(candidate.proposed_mechanism)


def _studies(
    report: ReportContent,
    candidate: DrugCandidate,
    shown: Sequence[EvidenceRow],
    rows: Sequence[EvidenceRow],
    *,
    is_whole: bool = False,
) -> list[Table]:
    """Build one table of those of a drug's studies that are shown, by stance; nothing without studies."""
    groups = []
    for stance, name in _STANCES.items():
        found = [_study(report, candidate, row, is_whole) for row in shown if candidate.stance_of(row) == stance]
        every = sum(candidate.stance_of(row) == stance for row in rows)
        of = f"{len(found)} of " if len(found) < every else ""
        if found:
            groups.append(Group(tuple(found), flow(Text(name, "mark"), f" {of}{counted(every, 'study')}")))
    columns = ("study", "design", "result", *(("estimate", *_COMPARED) if is_whole else ()))
    whose = f"{'All studies' if is_whole else 'Studies'} of {candidate.name}"
    return [Table(whose, columns, tuple(groups), "records")] if groups else []


def _study(report: ReportContent, candidate: DrugCandidate, row: EvidenceRow, is_whole: bool) -> Row:
    stance = candidate.stance_of(row)
    marks = {
        "retracted": row.retracted,
        "expression of concern": row.concern,
        "preprint, not peer-reviewed": row.is_preprint,
        "combination: the drug's own effect cannot be isolated": not row.alone,
        "not the drug under test": not row.tested and stance in ("supports", "contradicts"),
        f"second reader: {row.second_reader}": row.second_reader not in (None, row.direction),
        "counted with another report of its trial": row.direction in ("supports", "contradicts")
        and stance == "inconclusive",
    }
    flags = [node for name, is_set in marks.items() if is_set for node in flow(" ", Text(name, "flag"))]
    months = row.followup_months or 0.0
    weeks = f"{months * 52 / 12:.0f} weeks" if months >= 1 / 2 else "under 2 weeks"
    lasted = f"{months:g} months" if months >= 3 else weeks  # short ones are planned in weeks
    follow_up = "" if row.followup_months is None else Text(f" (follow-up {lasted})", "small")
    trial = next((each for each in report.trials if each.key == row.key), None)
    result = next((each.reason for each in trial.posted if each.drug == row.drug), "") if trial else ""
    result = result or (row.pico.result if row.pico else None) or ""
    if trial and trial.why_stopped_kind in ("safety", "futility"):
        result = f"stopped for {trial.why_stopped_kind}: {trial.why_stopped}"
    said = "; ".join(filter(None, (result, _PRIMARY.get(row.primary, ""), "harm reported" if row.harm else "")))
    figures = _value_cell(row, "estimate") or flow("; ".join(row.figures))
    values = (figures, *(_value_cell(row, what) for what in _COMPARED)) if is_whole else ()
    return Row(
        (
            flow(*_study_link(report, row, is_whole), *flags),
            flow(row.design, follow_up),
            flow(said or NOT_REPORTED),
            *(cell or flow(NOT_REPORTED) for cell in values),
        ),
        tuple(_passages(candidate, row, is_whole)),
    )


def _study_link(report: ReportContent, row: EvidenceRow, is_whole: bool = False) -> Flow:
    """Name a study with a link and its reference; in the appendix by its title, with its record."""
    reference = report.reference_of(row.key)
    name = _study_name(row, reference)
    link = Link(row.title if is_whole else name, url_of(row.key, str(reference.get("url") or "")))
    known_as = f"{name} · " if reference and name != record_name(row.key) else ""
    by = Text(f" {known_as}{record_name(row.key)}", "small") if is_whole else ""
    return flow(link, report.cite([row.key]), by)


def _study_name(row: EvidenceRow, reference: Mapping[str, Any]) -> str:
    """Name a study by first author and year, or by title without authors."""
    if row.key.startswith("nct:"):
        return record_name(row.key)
    authors, year = reference.get("authors") or [], row.date[:4] if row.date[:4].isdigit() else ""
    return f"{one_line(surname(str(authors[0])), 24)} {year}".strip() if authors else short(row.title, _LONGEST_TITLE)


def _passages(candidate: DrugCandidate, row: EvidenceRow, is_whole: bool) -> Iterator[Block]:
    """Yield the passages behind a row, each once."""
    passages = [(row.sentence, row.section), (row.in_figures, row.in_figures_section)]
    passages += [(value.quote, value.section) for value in row.values if is_whole]
    passages += [(claim.quote, claim.section) for claim in candidate.claims if claim.evidence_key == row.key]
    places = dict[str, str]()
    for quote, section in passages:
        line = " ".join(quote.split())
        places[line] = places.get(line) or section or ""
    quotes = [q for q in places if q and not any(q != longer and q in longer for longer in places)]
    for quote in quotes if is_whole else quotes[:1]:
        yield Quote(quote if is_whole else short(quote, _LONGEST_QUOTE), _place(places[quote]))


def _place(section: str) -> str:
    """Describe a passage's location."""
    return f"{section}, full text" if section and is_full_text(section) else section


def _forest_plots(report: ReportContent, place: int, rows: Sequence[EvidenceRow]) -> Iterator[Figure]:
    effects = [
        StudyEffect(one_line(_study_name(row, report.reference_of(row.key)), 23), row.title, row.direction, size)
        for row in rows
        if not row.retracted
        for size in dict.fromkeys(row.effects)
    ]
    return map(Figure, forest_plots(rows[0].drug, place, effects) if rows else ())
