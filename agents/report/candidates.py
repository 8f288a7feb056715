"""The report's sections on drugs: two tables, one block for each drug with failures first, and the appendix."""

from collections.abc import Iterator, Sequence

from willowbark.tools.evidence import surname
from willowbark.tools.reading.reading import ValueKind
from willowbark.tools.wording import counted, listed, short
from willowbark.tools.works.sections import is_full_text

from ..pictures.figures import (
    MAX_DRUGS,
    CertaintyChart,
    DrugBar,
    PathDiagram,
    Plot,
    StudyEffect,
    forest_plots,
    label,
)
from .content import (
    EFFICACY,
    NONE_PROPOSED,
    NOT_REPORTED,
    REPURPOSING,
    DrugCandidate,
    EvidenceRow,
    ReportContent,
    Stance,
)
from .forms.blocks import (
    Block,
    Cite,
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
from .forms.links import record_name, url_of

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
_APPROVAL = {
    "repurposing": REPURPOSING,
    "established": "Approved for the condition (label)",
    "not_checked": "approval not checked",
}
_REFUTED = (
    "two trials with two thirds of the participants, or the largest review, found no benefit or harm against placebo, "
    "no treatment or usual care."
)
_PRIMARY = {"met": "primary outcome met", "not_met": "primary outcome not met"}


def candidate_tables(report: ReportContent) -> Iterator[Block]:
    """Yield tables of repurposing candidates and of drugs approved or standard for the condition; refuted ones last."""
    new = [c for c in report.candidates if c.group != "established"]
    known = [c for c in report.candidates if c.group == "established"]
    unchecked = sum(c.group == "not_checked" for c in new)
    columns = ("drug", "participants (studies)", "effect", "certainty", "comments")
    for caption, group in (
        ("Repurposing candidates" if unchecked < len(new) else "Candidates", new),
        ("Approved or standard of care for this condition", known),
    ):
        if group:
            rows = tuple(_overview_row(report, candidate, unchecked < len(report.candidates)) for candidate in group)
            yield Table(caption, columns, (Group(rows),), "overview")
    note = (
        "Summary of findings. Participants and studies are those that support or contradict; the effect is that of the "
        "most telling one. Certainty is that the drug helps, by GRADE; see the steps below each drug."
    )
    if unchecked == len(report.candidates):
        note = f"{note} Approval not checked: no approval data were found."
    yield paragraph(note, look="small")


def in_order(report: ReportContent) -> list[tuple[int, DrugCandidate]]:
    """Return the candidates in table order, each with its rank in the report, from 1."""
    return sorted(enumerate(report.candidates, 1), key=lambda each: each[1].group == "established")


def _overview_row(report: ReportContent, candidate: DrugCandidate, has_groups: bool) -> Row:
    """Build a summary-of-findings row: https://book.gradepro.org/guideline/summary-of-findings-tables.

    Args:
        report: the report.
        candidate: the drug.
        has_groups: whether approval data tell some candidates from others.
    """
    best, numbers = candidate.best_estimate, {str(each["key"]): int(each["number"]) for each in report.references}
    rows = [row for row in report.evidence_table if row.drug == candidate.name]
    counted_rows = [row for row in rows if candidate.stance_of(row) in ("supports", "contradicts")]
    sizes = [row.sample_size for row in counted_rows if row.sample_size is not None]
    unsized = f", {len(counted_rows) - len(sizes)} of unreported size" if len(sizes) < len(counted_rows) else ""
    studies = counted(len(counted_rows), "study")
    outcome = next((row.pico.outcome for row in rows if best and row.key == best.key and row.pico), None)
    status = "" if candidate.clinical_status in (NOT_REPORTED, REPURPOSING) else candidate.clinical_status
    elsewhere = f"approved for {listed(candidate.current_indications, most=2)}" if candidate.current_indications else ""
    directions = {
        "supporting": candidate.supporting_citations,
        "contradicting": candidate.contradicting_citations,
        "inconclusive": candidate.undecided_citations,
    }
    lowered = listed(list(dict.fromkeys(reason.partition(":")[0].lower() for reason in candidate.held_down_by)))
    comments = (
        ", ".join(f"{len(keys)} {name}" for name, keys in directions.items() if keys),
        f"certainty lowered for {lowered}" if lowered else "",
        status or elsewhere or (_APPROVAL[candidate.group] if has_groups else ""),
        f"outcome of the effect: {outcome}" if outcome not in (None, EFFICACY) else "",
        "studied for prevention" if candidate.for_prevention else "",
        "not in the class asked about" if candidate.in_asked_class is False else "",
        f"also studied with {listed(candidate.combination, most=2)}" if candidate.combination else "",
    )
    flags = [node for mark in candidate.marks for node in flow(" ", Text(mark, "flag"))]
    return Row(
        (
            flow(Link(candidate.name, f"#candidate-{report.candidates.index(candidate) + 1}")),
            flow(f"{sum(sizes):,} ({studies}{unsized})" if sizes else f"{NOT_REPORTED} ({studies})"),
            flow(best.line, Cite((numbers[best.key],)) if best.key in numbers else "") if best else flow("none"),
            flow(Text(_level(candidate), "level")),
            flow("; ".join(filter(None, comments)), *flags),
        )
    )


def _level(candidate: DrugCandidate) -> str:
    """Return the certainty that the drug helps, if any study supports it."""
    if candidate.evidence_quality == "refuted":
        return "refuted"
    return candidate.certainty if candidate.supporting_citations else "unsupported"


def shown_rows(candidate: DrugCandidate, rows: Sequence[EvidenceRow], most: int) -> list[EvidenceRow]:
    """Select the studies for a drug's block: those without benefit or with harm, then at least one in support.

    Args:
        candidate: the drug.
        rows: all its studies, strongest first.
        most: maximum of studies.
    """
    by_stance = {stance: [r for r in rows if candidate.stance_of(r) == stance] for stance in _STANCES}
    best = candidate.best_estimate.key if candidate.best_estimate else ""
    supporting = sorted(by_stance["supports"], key=lambda row: row.key != best)
    failing = by_stance["contradicts"][: most - bool(supporting)]
    return [*failing, *supporting[: most - len(failing)]]


def rows_of_blocks(candidates: Sequence[DrugCandidate], table: Sequence[EvidenceRow]) -> dict[str, list[EvidenceRow]]:
    """Select the studies for each drug's block, by drug name: the first drugs have more, each has one for each side."""
    found, (share, rest) = {}, divmod(MOST_ROWS, max(1, len(candidates)))
    for place, candidate in enumerate(candidates):
        sides = bool(candidate.supporting_citations) + bool(candidate.contradicting_citations)
        own = [row for row in table if row.drug == candidate.name]
        found[candidate.name] = shown_rows(candidate, own, max(share + (place < rest), sides))
    return found


_COMPARED: tuple[ValueKind, ...] = ("dose", "comparator", "participants", "tolerability")
"""Columns of the comparative table after the study and its effect."""


def comparison_table(report: ReportContent) -> Iterator[Block]:
    """Yield the values of all studies in the drugs' blocks side by side: one row for each study, failures first."""
    shown = rows_of_blocks(report.candidates, report.evidence_table)
    rows = []
    for place, candidate in in_order(report):
        for row in shown[candidate.name]:
            drug = Link(candidate.name, f"#candidate-{place}")
            result = row.pico.result if row.pico else None
            effect = join_flows(filter(None, (flow(result or ""), _value_cell(row, "estimate"))), ": ")
            cells = (effect, *(_value_cell(row, what) for what in _COMPARED))
            study = flow(drug, " (", *_study_link(report, row, is_whole=False), ")")
            rows.append((study, *(cell or flow(NOT_REPORTED) for cell in cells)))
    yield table("Studies compared", ("drug (study)", "effect", *_COMPARED), rows)
    yield paragraph(
        "Figures as the studies write them; the appendix has their sentences. Without a language model, doses are "
        "those written beside a drug's name, and tolerability is posted results alone.",
        look="small",
    )


def _value_cell(row: EvidenceRow, what: ValueKind) -> Flow:
    """Build the cell of a study's values of one kind; empty without any."""
    lines = [each.line for each in row.compared(what)]
    return flow(points(lines, "lines") if len(lines) > 1 else lines[0]) if lines else ()


def candidate_block(
    report: ReportContent, candidate: DrugCandidate, place: int, shown: Sequence[EvidenceRow]
) -> Section:
    """Build a drug's block: decisive studies, failures first, and steps of its certainty; `place` starts at 1."""
    rows = [row for row in report.evidence_table if row.drug == candidate.name]
    cautions = zip(candidate.marks, candidate.cautions, strict=False)
    blocks: list[Block] = [paragraph(Text(mark, "flag"), caution[caution.find(":") :]) for mark, caution in cautions]
    blocks += _studies(report, candidate, shown, rows)
    blocks += _forest_plots(report, candidate.name, place, rows)
    if candidate.evidence_quality == "refuted":
        blocks.append(paragraph(Text("Refuted: ", "strong"), _REFUTED))
    elif candidate.supporting_citations:
        blocks.append(paragraph(Text("Certainty: ", "strong"), " ".join(candidate.certainty_reasons)))
    note = f"{candidate.certainty} certainty" if _level(candidate) == candidate.certainty else _level(candidate)
    return Section(candidate.name, f"candidate-{place}", tuple(blocks), note, "card")


def candidate_details(report: ReportContent, candidate: DrugCandidate, place: int) -> Section:
    """Build a drug's section of the appendix: status, all studies with their passages, mechanism."""
    rows = [row for row in report.evidence_table if row.drug == candidate.name]
    blocks: list[Block] = [Pairs(tuple(_standing(candidate)))]
    blocks += _studies(report, candidate, rows, rows, is_whole=True)
    if candidate.remarks:
        blocks.append(points(candidate.remarks))
    if candidate.study_limits:
        limits = (Quote(x.quote, f"{record_name(x.key)}, {_place(x.section)}") for x in candidate.study_limits)
        blocks.append(Section("Limitations stated by its studies", f"limits-{place}", tuple(limits)))
    if candidate.argument:
        argument = tuple(candidate.argument.blocks)
        if candidate.chain and not candidate.chain.missing:
            steps = tuple((step.start.name, step.relation, step.end.name) for step in candidate.chain.steps)
            argument += (figure_of(PathDiagram(f"path-{place}", steps)),)
        blocks.append(Section(candidate.argument.title, f"mechanism-{place}", argument))
    return Section(f"More on {candidate.name}", f"more-{place}", tuple(blocks), "", "folded")


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
) -> Iterator[Table]:
    """Yield one table of those of a drug's studies that are shown, by stance; nothing without studies."""
    groups = []
    for stance, name in _STANCES.items():
        own = [row for row in shown if candidate.stance_of(row) == stance]
        if found := [_study(report, candidate, row, is_whole=is_whole) for row in own]:
            every = sum(candidate.stance_of(row) == stance for row in rows)
            of = f"{len(found)} of " if len(found) < every else ""
            groups.append(Group(tuple(found), flow(Text(name, "mark"), f" {of}{counted(every, 'study')}")))
    if groups:
        columns = ("study", "design", "result", *(("estimate", *_COMPARED) if is_whole else ()))
        whose = f"{'All studies' if is_whole else 'Studies'} of {candidate.name}"
        yield Table(whose, columns, tuple(groups), "records")


def _study(report: ReportContent, candidate: DrugCandidate, row: EvidenceRow, *, is_whole: bool) -> Row:
    marks = {
        "retracted": row.retracted,
        "expression of concern": row.concern,
        "preprint, not peer-reviewed": row.is_preprint,
        "combination: the drug's own effect cannot be isolated": not row.alone,
        "not the drug under test": not row.tested and candidate.stance_of(row) in ("supports", "contradicts"),
        f"second reader: {row.second_reader}": row.second_reader not in (None, row.direction),
    }
    marks["counted with another report of its trial"] = (
        row.direction in ("supports", "contradicts") and candidate.stance_of(row) == "inconclusive"
    )
    flags = [node for name, is_set in marks.items() if is_set for node in flow(" ", Text(name, "flag"))]
    months = row.followup_months or 0.0
    weeks = f"{months * 52 / 12:.0f} weeks" if months >= 1 / 2 else "under 2 weeks"
    lasted = f"{months:g} months" if months >= 3 else weeks  # short ones are planned in weeks
    follow_up = "" if row.followup_months is None else Text(f" (follow-up {lasted})", "small")
    trial = next((each for each in report.trials if each.key == row.key), None)
    posted = next((each.reason for each in trial.posted if each.drug == row.drug), "") if trial else ""
    said = [posted or (row.pico.result if row.pico else None) or "", _PRIMARY.get(row.primary, "")]
    said.append("harm reported" if row.harm else "")
    if trial and trial.why_stopped_kind in ("safety", "futility"):
        said[0] = f"stopped for {trial.why_stopped_kind}: {trial.why_stopped}"
    figures = _value_cell(row, "estimate") or flow("; ".join(row.figures))
    values = (figures, *(_value_cell(row, what) for what in _COMPARED)) if is_whole else ()
    return Row(
        (
            flow(*_study_link(report, row, is_whole=is_whole), *flags),
            flow(row.design, follow_up),
            flow("; ".join(filter(None, said)) or NOT_REPORTED),
            *(cell or flow(NOT_REPORTED) for cell in values),
        ),
        tuple(_passages(candidate, row, is_whole=is_whole)),
    )


def _study_link(report: ReportContent, row: EvidenceRow, *, is_whole: bool) -> Flow:
    """Name a study with a link and its reference; in the appendix by its title, with its record."""
    reference = next((r for r in report.references if r["key"] == row.key), {})
    short_name = _study_name(row, reference)
    link = Link(row.title if is_whole else short_name, url_of(row.key, str(reference.get("url") or "")))
    known_as = f"{short_name} · " if reference and short_name != record_name(row.key) else ""
    by = Text(f" {known_as}{record_name(row.key)}", "small") if is_whole else ""
    return flow(link, Cite((int(str(reference["number"])),)) if reference else "", by)


def _study_name(row: EvidenceRow, reference: dict[str, object]) -> str:
    """Name a study by first author and year, or by title without authors."""
    authors, year = reference.get("authors") or [], row.date[:4] if row.date[:4].isdigit() else ""
    first = next(iter(authors), "") if isinstance(authors, list) else ""
    if row.key.startswith("nct:"):
        return record_name(row.key)
    return f"{label(surname(str(first)), 24)} {year}".strip() if first else short(row.title, _LONGEST_TITLE)


def _passages(candidate: DrugCandidate, row: EvidenceRow, *, is_whole: bool) -> Iterator[Block]:
    """Yield the passages behind a row, each once."""
    claims = [claim for claim in candidate.claims if claim.evidence_key == row.key]
    places: dict[str, str] = {}
    passages = [(row.sentence, row.section), (row.in_figures, row.in_figures_section)]
    passages += [(value.quote, value.section) for value in row.values if is_whole]
    for quote, section in [*passages, *((claim.quote, claim.section) for claim in claims)]:
        line = " ".join(quote.split())
        places[line] = places.get(line) or section or ""
    quotes = [q for q in places if q and not any(q != longer and q in longer for longer in places)]
    for quote in quotes if is_whole else quotes[:1]:
        yield Quote(quote if is_whole else short(quote, _LONGEST_QUOTE), _place(places[quote]))


def _place(section: str) -> str:
    """Describe a passage's location."""
    return f"{section}, full text" if section and is_full_text(section) else section


def _forest_plots(report: ReportContent, drug: str, place: int, rows: Sequence[EvidenceRow]) -> Iterator[Figure]:
    found = {str(reference["key"]): reference for reference in report.references}
    effects = [
        StudyEffect(label(_study_name(row, found.get(row.key, {})), 23), row.title, row.direction, size)
        for row in rows
        if not row.retracted
        for size in dict.fromkeys(row.effects)
    ]
    return map(figure_of, forest_plots(drug, place, effects))


def certainty_figure(report: ReportContent) -> Figure | None:
    """Draw each drug's certainty and number of studies by direction; None for fewer than two drugs."""
    bars = [
        DrugBar(
            label(c.name, 24),
            _level(c),
            len(c.supporting_citations),
            len(c.undecided_citations),
            len(c.contradicting_citations),
        )
        for _, c in in_order(report)
    ]
    return figure_of(CertaintyChart(tuple(bars[:MAX_DRUGS]))) if len(bars) > 1 else None


def figure_of(plot: Plot) -> Figure:
    """Wrap a plot for the tree."""
    return Figure(plot.name, plot.caption, plot.description, plot)
