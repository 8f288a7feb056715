"""The report's tree: its sections in order, each built by one function from the report's content.

A new section is a function from a report to a `Section` (None if empty), listed in `SECTIONS` or `APPENDIX`: Markdown,
page, Word document, notebook and terminal then show it.
"""

from calendar import month_abbr
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from willowbark.tools.appraisal.certainty import get_comparison_size
from willowbark.tools.lexicon import find_widened
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.reading import StudyDesign, ValueKind
from willowbark.tools.reading.sections import is_full_text
from willowbark.tools.records.card import ENTRIES
from willowbark.tools.records.enclosure import one_line
from willowbark.tools.records.evidence import date_parts, surname
from willowbark.tools.records.registry import gives, title_of
from willowbark.tools.wording import counted, listed, short

from ..checking.written import CheckedSentence
from ..pictures import ForestPlot, StudyEffect, make_forest_plots
from .content import (
    EFFICACY,
    EVENTS_NOTE,
    OTHER_CALLS,
    DrugCandidate,
    EvidenceRow,
    PostedResult,
    RecordStance,
    ReportContent,
    ReportSection,
    SearchLogEntry,
    StudyLimit,
    TrialRow,
    TurnUsage,
)
from .forms import find_url, record_name
from .forms.blocks import (
    Block,
    Cite,
    Details,
    Figure,
    Group,
    Items,
    Link,
    Pairs,
    Paragraph,
    Quote,
    ReportTree,
    RichText,
    Row,
    Section,
    Table,
    Text,
    TreeNode,
    flow,
    paragraph,
    points,
    spans,
)
from .once import leave_out_told
from .texts import write_blocks

MOST_BLOCKS = 8  # drugs with a block, besides those that failed or were withdrawn; the tables have all
MOST_FAILING = 5  # of those that failed or were withdrawn, with a block
MOST_ROWS = 12  # studies in all blocks together; the appendix has the others
MOST_IN_APPENDIX = 90  # studies of all drugs together; the table of all evidence has the others
_LONGEST_QUOTE = 240  # characters in a block; the appendix has whole passages
_LONGEST_TITLE = 50  # characters of a title used as name of a study without authors
_STANCES: dict[RecordStance, str] = {
    "contradicts": "contradicting",
    "supports": "supporting",
    "missed": "missed the primary outcome",
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
_MAX_AUTHORS = 3  # of a reference; further ones are `et al.`
Builder = Callable[[ReportContent], Section | None]
_NAMES = {OTHER_CALLS: "question read, lost answers"}


def first_screen(report: ReportContent) -> Section:
    """Build the first screen: the answer as a model wrote it, if one did; what code computed of it."""
    parts: list[Block] = [paragraph(report.work.line)] if report.work is not None and report.work.line else []
    parts += _write_answer(report)
    for part in leave_out_told(report.summary_parts, report.written):
        is_lead = not part.label and report.written is None
        label = Text(f"{part.label}: ", "strong") if part.label else ""
        parts.append(paragraph(label, part.text, report.cite(part.citations), look="lead" if is_lead else "plain"))
    if report.model_failed and report.analyst:
        parts.append(paragraph(f"Written by {report.analyst}.", look="small"))
    return Section("Answer", "summary", tuple(parts))


def _write_answer(report: ReportContent) -> Iterator[Paragraph | Items]:
    """Write a model's answer, marked as its words: the bottom line, then a list under each heading.

    What follows it is marked as computed.
    """
    written = report.written
    if written is None or not written.answer:
        return
    if written.warning:
        flag = "not checked" if written.unchecked else "stale"
        yield paragraph(Text(flag, "flag"), f" {written.warning}")
    first, *headed = written.parts()
    yield _written(report, first[1], first[0], look="lead")
    for heading, sentences in headed:
        yield paragraph(Text(heading, "strong"))
        yield Items(tuple(tuple(_write_sentence(report, sentence)) for sentence in sentences))
    yield paragraph(written.provenance, look="small")
    yield paragraph(Text("computed", "mark"), " from the studies that were read, by code:", look="small")


def _written(
    report: ReportContent,
    sentences: Sequence[CheckedSentence],
    heading: str = "",
    look: Literal["plain", "lead"] = "plain",
) -> Paragraph:
    """Write sentences of a model as a paragraph, marked as written, each with its citations."""
    nodes: list[TreeNode] = [Text("written", "mark")]
    nodes += flow(" ", Text(f"{heading}:", "strong")) if heading else ()
    for sentence in sentences:
        nodes += [Text(" "), *_write_sentence(report, sentence)]
    return Paragraph(tuple(nodes), look)


def _write_sentence(report: ReportContent, sentence: CheckedSentence) -> Iterator[TreeNode]:
    """Write a sentence with its citations, marked where people corrected what it rests on."""
    if report.written is not None and report.written.is_stale(sentence):
        yield from flow(Text("stale", "flag"), " ")
    yield Text(sentence.text)
    yield from flow(report.cite(sentence.citations))


def build_written_mechanism(report: ReportContent) -> Section | None:
    """Build the paragraph on mechanisms in a model's words; None if none wrote one."""
    if report.written is None or not report.written.mechanism:
        return None
    return Section("Mechanism", "mechanism", (_written(report, report.written.mechanism),))


def build_change(report: ReportContent) -> Section | None:
    """Build what would change the answer: in a model's words, then running trials and gaps."""
    sentences = report.written.would_change if report.written else []
    blocks: list[Block] = [_written(report, sentences)] if sentences else []
    blocks += write_blocks("course", "change", report.cite, r=report)
    return Section("What would change the answer", "change", tuple(blocks)) if blocks else None


def build_candidates(report: ReportContent) -> Section:
    """Build the section on candidates: repurposing candidates, approved or standard drugs."""
    if not report.candidates:
        return Section("Candidates", "candidates", write_blocks("candidates", "no_candidates", report=report))
    with_block = select_block_rows(report.candidates, report.evidence_table)
    new = list[tuple[Any, ...]]()
    established = list[tuple[Any, ...]]()
    detailed = [(place, candidate) for place, candidate in enumerate(report.candidates, 1) if candidate.in_detail]
    for place, candidate in detailed:
        rows = [row for row in report.evidence_table if row.drug == candidate.name]
        studies = [row for row in rows if candidate.stance_of(row) in ("supports", "contradicts", "missed")]
        best = candidate.best_estimate.key if candidate.best_estimate else None
        outcome = next((row.pico.outcome for row in rows if row.key == best and row.pico), None)
        group = established if candidate.group == "established" else new
        has_block = candidate.name in with_block
        of_effect = "" if outcome == EFFICACY else outcome
        group.append((candidate, place, has_block, studies, _count_people(studies), of_effect))
    by_small_reader = _is_sorted(report)
    blocks = write_blocks(
        "candidates", "candidates", report.cite, new=new, established=established, by_small_reader=by_small_reader
    )
    return Section("Candidates", "candidates", blocks)


def _is_sorted(report: ReportContent) -> bool:
    """Whether the report sorts and does not judge: no language model read a study that decides."""
    return not report.usage and not any(candidate.sorting.is_read_by_model for candidate in report.candidates)


def _count_people(studies: Sequence[EvidenceRow]) -> int:
    """Count the participants of trials together, or of the largest review if it has more: a review includes trials."""
    sizes = [(row.design, get_comparison_size(row.sample_size, row.trial_size) or 0) for row in studies]
    reviews = [size for design, size in sizes if design == StudyDesign.systematic_review.label]
    others = [size for design, size in sizes if design != StudyDesign.systematic_review.label]
    return max([sum(others), *reviews])


def _order_candidates(report: ReportContent) -> list[tuple[int, DrugCandidate]]:
    """Return the candidates in table order, each with its rank in the report, from 1."""
    return sorted(enumerate(report.candidates, 1), key=lambda item: item[1].group == "established")


def select_block_rows(
    candidates: Sequence[DrugCandidate], table: Sequence[EvidenceRow]
) -> dict[str, list[EvidenceRow]]:
    """Select the studies for each drug's block, by drug name: those without benefit or with harm, then in support.

    The first drugs have a block, and some of those that failed or were withdrawn; the first of them have more studies,
    each has one for each side.
    """
    with_block = [*candidates[:MOST_BLOCKS], *[c for c in candidates[MOST_BLOCKS:] if _is_failing(c)][:MOST_FAILING]]
    share, rest = divmod(MOST_ROWS, max(1, len(with_block)))
    rows_of = dict[str, list[EvidenceRow]]()
    for place, candidate in enumerate(with_block):
        against = {*candidate.contradicting_citations, *candidate.missed_citations}
        sides = bool(candidate.supporting_citations) + bool(against)
        most = max(share + (place < rest), sides)
        best = candidate.best_estimate.key if candidate.best_estimate else ""
        own = [(row, candidate.stance_of(row)) for row in table if row.drug == candidate.name]
        supporting = sorted((row for row, stance in own if stance == "supports"), key=lambda row: row.key != best)
        # One place is left to a study in support, where there is one.
        failing = [row for row, stance in own if stance in ("contradicts", "missed")][: most - bool(supporting)]
        rows_of[candidate.name] = [*failing, *supporting[: most - len(failing)]]
    return rows_of


def _is_failing(candidate: DrugCandidate) -> bool:
    """Whether a drug failed, missed its outcome, has as much against it as for it, or was withdrawn."""
    supporting = len(candidate.supporting_citations)
    is_doubtful = len(candidate.contradicting_citations) >= supporting > 0
    return is_doubtful or candidate.outcome in ("failed", "missed") or "withdrawn" in candidate.marks


def _find_limit(numbers: Sequence[int], most: int) -> int:
    """Find how many studies each drug may have, one at least, so that all drugs together have at most so many.

    >>> _find_limit([35, 28, 3, 1], 30)
    13
    """
    for limit in range(max(numbers, default=1), 1, -1):
        if sum(min(number, limit) for number in numbers) <= most:
            return limit
    return 1


def build_comparison(report: ReportContent) -> Section | None:
    """Build the table of the blocks' studies side by side: effect, dose, comparator, size, tolerability.

    None where the small reader alone read: it has neither doses nor tolerability, and the appendix has the rest.
    """
    if _is_sorted(report):
        return None
    selected = select_block_rows(report.candidates, report.evidence_table)
    rows = list[tuple[Any, ...]]()
    for place, candidate in _order_candidates(report):
        for row in selected.get(candidate.name, ()):
            values = [_make_value_cell(row, kind) for kind in ("estimate", *_COMPARED)]
            rows.append((candidate.name, place, _link_study(report, row), row, *values))
    blocks = write_blocks("candidates", "comparison", rows=rows)
    return Section("Comparison", "comparison", blocks) if selected else None


def _make_value_cell(row: EvidenceRow, what: ValueKind) -> RichText:
    """Build the cell of a study's values of one kind; empty without any."""
    lines = [value.line for value in row.compared(what)]
    return flow(points(lines, "lines") if len(lines) > 1 else lines[0]) if lines else ()


def build_evidence(report: ReportContent) -> Section | None:
    """Build a block for each drug: decisive studies, failures first, and steps of its certainty."""
    selected = select_block_rows(report.candidates, report.evidence_table)
    blocks = list[Block]()
    for place, candidate in _order_candidates(report):
        if candidate.name not in selected:
            continue
        own: list[Block] = [
            paragraph(Text(mark, "flag"), caution[caution.find(":") :])
            for mark, caution in zip(candidate.marks, candidate.cautions, strict=False)
        ]
        rows = [row for row in report.evidence_table if row.drug == candidate.name]
        sentences = report.written.on(candidate.name) if report.written else ()
        own += [_written(report, sentences)] if sentences else []
        own += _tabulate_studies(report, candidate, selected[candidate.name], rows)
        own += _draw_forest_plots(report, place, rows)
        own += _write_mechanism(report, candidate)
        if candidate.evidence_quality == "refuted":
            own.append(paragraph(Text("Refuted: ", "strong"), _REFUTED))
        elif candidate.supporting_citations:
            own.append(paragraph(Text("Certainty: ", "strong"), " ".join(candidate.certainty_reasons)))
        level = candidate.level
        note = f"{level} certainty" if level == candidate.certainty else level
        blocks.append(Section(candidate.name, f"candidate-{place}", tuple(own), note, "card"))
    return Section("Evidence by drug", "evidence", tuple(blocks)) if blocks else None


def _write_mechanism(report: ReportContent, candidate: DrugCandidate) -> tuple[Block, ...]:
    """Write a drug's mechanism with links to the databases that give it; nothing if none does."""
    entries = [report.reference_of(key) for key in candidate.mechanism_sources]
    sources = [(str(entry["source"]), str(entry["key"]), str(entry["url"])) for entry in entries if entry]
    return write_blocks("candidates", "mechanism", c=candidate, sources=sources)


def build_more_evidence(report: ReportContent) -> Section | None:
    """Build the appendix's section for each drug: status, studies that count with their passages, mechanism.

    Inconclusive ones are handed over in the table of all evidence, and of very many the weakest in support.
    """
    blocks = list[Block]()
    ordered = _order_candidates(report)
    deciding = {}
    for _, candidate in ordered:
        own_rows = [row for row in report.evidence_table if row.drug == candidate.name]
        deciding[candidate.name] = [row for row in own_rows if candidate.stance_of(row) != "inconclusive"]
    limit = _find_limit([len(rows) for rows in deciding.values()], MOST_IN_APPENDIX)
    for place, candidate in ordered:
        rows = [row for row in report.evidence_table if row.drug == candidate.name]
        own: list[Block] = [*write_blocks("candidates", "standing", c=candidate)]
        deciding_rows = deciding[candidate.name]
        own += _tabulate_studies(report, candidate, deciding_rows[:limit], deciding_rows, is_whole=True)
        beyond = len(deciding_rows[limit:])
        own += write_blocks("candidates", "rest", inconclusive=len(rows) - len(deciding_rows), beyond=beyond)
        own += [points(candidate.remarks)] if candidate.remarks else []
        if candidate.study_limits:
            limits = tuple(map(_quote_limit, candidate.study_limits))
            own.append(Section("Limitations stated by its studies", f"limits-{place}", limits))
        if candidate.argument:
            own.append(Section(candidate.argument.title, f"mechanism-{place}", tuple(candidate.argument.blocks)))
        blocks.append(Section(f"More on {candidate.name}", f"more-{place}", tuple(own), "", "folded"))
    return Section("All evidence by drug", "more-evidence", tuple(blocks)) if blocks else None


def _quote_limit(limit: StudyLimit) -> Quote:
    return Quote(limit.quote, f"{record_name(limit.key)}, {_describe_place(limit.section)}")


def _tabulate_studies(
    report: ReportContent,
    candidate: DrugCandidate,
    selected: Sequence[EvidenceRow],
    rows: Sequence[EvidenceRow],
    *,
    is_whole: bool = False,
) -> list[Table]:
    """Build one table of those of a drug's studies that are shown, by stance; nothing without studies."""
    groups = []
    for stance, name in _STANCES.items():
        of_stance = [row for row in selected if candidate.stance_of(row) == stance]
        lines = [_make_study_row(report, candidate, row, is_whole) for row in of_stance]
        every = sum(candidate.stance_of(row) == stance for row in rows)
        of = f"{len(lines)} of " if len(lines) < every else ""
        if lines:
            groups.append(Group(tuple(lines), flow(Text(name, "mark"), f" {of}{counted(every, 'study')}")))
    columns = ("study", "design", "result", *(("estimate", *_COMPARED) if is_whole else ()))
    whose = f"{'All studies that count' if is_whole else 'Studies'} of {candidate.name}"
    table = Table(whose, columns, tuple(groups), "records")
    return [table.without_empty_columns()] if groups else []


def _is_by_small_reader(report: ReportContent, row: EvidenceRow) -> bool:
    """Whether no model read a record of which the row tells."""
    readers = {study.reader for study in report.studies if study.key == row.key}
    return readers == {"small_reader"}


def _make_study_row(report: ReportContent, candidate: DrugCandidate, row: EvidenceRow, is_whole: bool) -> Row:
    stance = candidate.stance_of(row)
    names = list_flags(row, stance)
    if report.work is not None and _is_by_small_reader(report, row):
        names.append("read by the small reader")
    flags = list[TreeNode]()
    for name in names:
        flags += flow(" ", Text(name, "flag"))
    trial = next((row_of_trial for row_of_trial in report.trials if row_of_trial.key == row.key), None)
    result = next((posted.reason for posted in trial.posted if posted.drug == row.drug), "") if trial else ""
    result = result or (row.pico.result if row.pico else None) or ""
    if trial and trial.why_stopped_kind in ("safety", "futility"):
        result = f"stopped for {trial.why_stopped_kind}: {trial.why_stopped}"
    text = "; ".join(filter(None, (result, _PRIMARY.get(row.primary, ""), "harm reported" if row.harm else "")))
    figures = _make_value_cell(row, "estimate") or flow("; ".join(row.figures))
    values = (figures, *(_make_value_cell(row, what) for what in _COMPARED)) if is_whole else ()
    return Row(
        (
            flow(*_link_study(report, row, is_whole), *flags),
            flow("" if row.design == StudyDesign.unknown.label else row.design),
            flow(text),
            *values,
        ),
        tuple(_quote_passages(candidate, row, is_whole)),
    )


def list_flags(row: EvidenceRow, stance: RecordStance) -> list[str]:
    """List what warns about a row that counts so, and who corrected it."""
    marks = {
        "retracted": row.retracted,
        "expression of concern": row.concern,
        "preprint, not peer-reviewed": row.is_preprint,
        "combination: the drug's own effect cannot be isolated": not row.alone,
        "not the drug under test": not row.tested and stance in ("supports", "contradicts"),
        f"second reader: {row.second_reader}": row.second_reader not in (None, row.direction)
        and not (row.missed_primary and row.second_reader == "contradicts"),
        _tell_correction(row): row.word is not None,
        "counted with another report of its trial": row.direction in ("supports", "contradicts")
        and stance == "inconclusive",
    }
    return [name for name, is_set in marks.items() if is_set]


def _tell_correction(row: EvidenceRow) -> str:
    """Say on a row who corrected or saw it, and when; empty if nobody has."""
    word = row.word
    if word is None:
        return ""
    what = "in dispute between" if word.is_disputed else "corrected by" if word.is_changed else "seen by"
    return f"{what} {' and '.join(word.by)}, {word.on}"


def _link_study(report: ReportContent, row: EvidenceRow, is_whole: bool = False) -> RichText:
    """Name a study with a link and its reference; in the appendix by its title, with its record."""
    reference = report.reference_of(row.key)
    name = _write_study_name(row, reference)
    link = Link(row.title if is_whole else name, find_url(row.key, str(reference.get("url") or "")))
    short_name = f"{name} · " if reference and name != record_name(row.key) else ""
    by = Text(f" {short_name}{record_name(row.key)}", "small") if is_whole else ""
    return flow(link, report.cite([row.key]), by)


def _write_study_name(row: EvidenceRow, reference: Mapping[str, Any]) -> str:
    """Name a study by first author and year, or by title without authors."""
    if row.key.startswith("nct:"):
        return record_name(row.key)
    authors = reference.get("authors") or []
    year = row.date[:4] if row.date[:4].isdigit() else ""
    return f"{one_line(surname(str(authors[0])), 24)} {year}".strip() if authors else short(row.title, _LONGEST_TITLE)


def name_study(report: ReportContent, key: str) -> str:
    """Name a record by first author and year, or by its number without authors."""
    reference = report.reference_of(key)
    authors = reference.get("authors") or []
    year = str(reference.get("date") or "")[:4]
    if key.startswith("nct:") or not authors:
        return record_name(key)
    return f"{one_line(surname(str(authors[0])), 24)} {year if year.isdigit() else ''}".strip()


def _quote_passages(candidate: DrugCandidate, row: EvidenceRow, is_whole: bool) -> Iterator[Block]:
    """Yield the passages behind a row, each once."""
    passages = [(row.sentence, row.section), (row.in_figures, row.in_figures_section)]
    passages += [(value.quote, value.section) for value in row.values if is_whole]
    passages += [(claim.quote, claim.section) for claim in candidate.claims if claim.evidence_key == row.key]
    places = dict[str, str]()
    for quote, section in passages:
        line = " ".join(quote.split())
        places[line] = places.get(line) or section or ""
    quotes = [quote for quote in places if quote and not _is_within_another(quote, places)]
    for quote in quotes if is_whole else quotes[:1]:
        yield Quote(quote if is_whole else short(quote, _LONGEST_QUOTE), _describe_place(places[quote]))


def _is_within_another(quote: str, quotes: Iterable[str]) -> bool:
    """Whether another quote holds this one whole."""
    return any(quote != longer and quote in longer for longer in quotes)


def _describe_place(section: str) -> str:
    """Describe a passage's location."""
    return f"{section}, full text" if section and is_full_text(section) else section


def _draw_forest_plots(report: ReportContent, place: int, rows: Sequence[EvidenceRow]) -> Iterator[Figure]:
    return map(Figure, draw_plots_of_drug(report, place, rows))


def draw_plots_of_drug(report: ReportContent, place: int, rows: Sequence[EvidenceRow]) -> list[ForestPlot]:
    """Build the forest plots of one drug's rows; `place` is its rank among the candidates, from 1."""
    effects = []
    for row in rows:
        if not row.retracted:
            name = one_line(_write_study_name(row, report.reference_of(row.key)), 23)
            for size in dict.fromkeys(row.effects):
                effects.append(StudyEffect(name, row.title, row.direction, size))
    return make_forest_plots(rows[0].drug, place, effects) if rows else []


def show_stored(section_id: str, field: Callable[[ReportContent], ReportSection | None]) -> Builder:
    """Return the builder of a section stored in the report as blocks."""

    def build(report: ReportContent) -> Section | None:
        section = field(report)
        return Section(section.title, section_id, tuple(section.blocks)) if section and section.blocks else None

    return build


def show_written(section_id: str, title: str) -> Builder:
    """Return the builder of a section that the macro of its name in `course.md.j2` writes; none if that writes none."""

    def build(report: ReportContent) -> Section | None:
        blocks = write_blocks("course", section_id.replace("-", "_"), report.cite, r=report)
        return Section(title, section_id, blocks) if blocks else None

    return build


def build_trials(report: ReportContent) -> Section:
    """Build the table of registered trials."""
    title = "Registered trials"
    rows = list[tuple[TrialRow, RichText]]()
    for trial in report.trials:
        posted = Details("Posted results and serious adverse events", tuple(list_posted_results(trial.posted)))
        rows.append((trial, flow(posted) if trial.posted else ()))
    searched = {entry.source for entry in report.search_log}
    silent = sorted(searched.difference(report.sources_searched))
    registries = [title_of(name) for name in silent if gives(name) == "trial"]
    blocks = write_blocks("candidates", "trials", rows=rows, silent=listed(registries))
    details = Section("Each trial", "trials-each", blocks, str(len(rows)), "folded")
    return Section(title, "trials", (details,) if rows else blocks)


def list_posted_results(results: Sequence[PostedResult]) -> Iterator[Block]:
    """Yield a trial's posted results on each of its drugs, and serious adverse events by group."""
    for result in results:
        yield paragraph(f"{result.drug} ", Text(result.direction, "mark"), f" {result.reason}")
        if result.sentence:
            yield Quote(result.sentence)
    events = results[0].serious_events if results else []
    if events:
        yield paragraph(f"Participants with serious adverse events ({EVENTS_NOTE}):")
        yield points(f"{e.group}: {e.affected}{'' if e.at_risk is None else f' of {e.at_risk}'}" for e in events)


def build_methods(report: ReportContent) -> Section:
    """Build the methods: flow of records, searches, decisions, cost."""
    flow_counts = report.flow
    sources = {title_of(source): number for source, number in flow_counts.identified.items()}
    steps = [
        ("Identified", sum(sources.values()), sources),
        ("Duplicates removed", flow_counts.duplicates, {}),
        ("Screened", flow_counts.screened, {}),
        ("Excluded", sum(flow_counts.excluded.values()), flow_counts.excluded),
        ("Included: appraised for a drug", flow_counts.included, {}),
    ]
    rows = []
    for name, number, kinds in steps:
        of_these = "; ".join(f"{kind}: {count}" for kind, count in kinds.items())
        rows.append(Row((flow(name), flow(str(number)), flow(of_these))))
    groups = Group(tuple(rows[:2])), Group(tuple(rows[2:4])), Group(tuple(rows[4:]))
    counts = Table("Flow of records (PRISMA 2020)", ("step", "records", "of these"), groups, "flow", ("records",))
    facts_written = write_blocks("course", "facts", r=report)
    facts: list[tuple[str, RichText]] = []
    for block in facts_written:
        facts += block.pairs if isinstance(block, Pairs) else ()
    blocks: list[Block] = [Pairs(tuple(facts), "facts"), *report.methodology.blocks]
    blocks += [Section("Flow of records", "flow", (counts,)), _build_search_log(report)]
    return Section("Methods", "methods", (*blocks, _build_account(report)) if report.usage else tuple(blocks))


def _build_search_log(report: ReportContent) -> Section:
    if not report.search_log:
        return Section("Search log", "log", (paragraph("No source was searched."),))
    by_source = dict[str, list[SearchLogEntry]]()
    by_query = dict[str, list[RichText]]()
    for entry in report.search_log:
        by_source.setdefault(entry.source, []).append(entry)
        status = "" if entry.status in ("ok", "empty") else entry.status.replace("_", " ")
        details = [entry.time] if entry.asked_at else []
        details.append(f"round {entry.iteration}, {entry.specialist}")
        details += [] if entry.filters is None else [f"filters: {entry.limits}"]
        details += [f"understood as {entry.understood}"] if entry.understood not in ("", entry.query) else []
        reply = flow(
            f"{title_of(entry.source)}: ",
            Text(status, "flag") if status else "",
            f"{' ' if status else ''}{counted(entry.found, 'hit')}, {entry.taken} retrieved",
            Text(f" · {' · '.join([*details, *entry.warnings])}", "small"),
        )
        by_query.setdefault(entry.query, []).append(reply)
    queries = points((flow(Text(query, "code"), points(replies)) for query, replies in by_query.items()), "steps")
    sources = write_blocks("course", "searches", sources=by_source)
    blocks = *sources, Details("Every query as sent, with each reply", (queries,))
    return Section("Search log", "log", blocks, counted(len(report.search_log), "search"))


def _build_account(report: ReportContent) -> Section:
    """Build the section on tokens and cost by agent and round."""
    parts = list[tuple[str | RichText, str, list[TurnUsage]]]()
    for agent in dict.fromkeys(turn.agent for turn in report.usage):
        own = [turn for turn in report.usage if turn.agent == agent]
        name = _NAMES.get(agent, agent)
        parts += [(name, str(turn.iteration or "all"), [turn]) for turn in own]
        parts += [(name, "all", own)] if len(own) > 1 else []
    parts.append((flow(Text("total", "strong")), "all", report.usage))
    unknown = any(turn.cost_usd is None for turn in report.usage)
    return Section("Use of the language model", "usage", write_blocks("course", "usage", parts=parts, unknown=unknown))


def build_references(report: ReportContent, after: int, last: int | None) -> Section:
    """Build the list of references from `after` to `last`."""
    entries = [(reference, _format_date(str(reference["date"]))) for reference in report.references[after:last]]
    accessed: dict[str, str] = {}  # of databases, whose entries change
    for reference, _ in entries:
        source = str(reference["source"])
        if gives(source) in ENTRIES:
            accessed[source] = ""
    for search in sorted(report.search_log, key=lambda search: search.time):
        if search.source in accessed and search.asked_at is not None:
            accessed[search.source] = f", accessed {search.asked_at:%Y-%m-%d}"
    written = write_blocks("course", "references", entries=entries, accessed=accessed, most=_MAX_AUTHORS)
    items: list[RichText] = []
    for block in written:
        items += block.items if isinstance(block, Items) else ()
    listed_block = Items(tuple(items), "references", after + 1) if items else paragraph("None.")
    return Section("References", "references", (listed_block,))


def _format_date(date: str) -> str:
    year, month, day = (*date_parts(date), 0, 0, 0)[:3]
    return " ".join(filter(None, (str(year), month_abbr[month], str(day or "")))) if year else "[date unknown]"


SECTIONS: tuple[Builder, ...] = (
    first_screen,
    show_stored("answer", lambda report: report.answer),
    build_candidates,
    build_comparison,
    build_evidence,
    show_stored("clinical", lambda report: report.clinical_findings),
    build_written_mechanism,
    show_written("disease-in-brief", "Disease mechanism in brief"),
    show_written("corrections", "Corrected by people"),
    show_written("decision", "Who decided on the candidates"),
    build_change,
    show_written("methods-in-brief", "Methods in brief"),
    show_written("limitations", "Limitations"),
)
"""Builders of the report's sections, in order; the references follow."""
APPENDIX: tuple[Builder, ...] = (
    build_more_evidence,
    show_stored("safety", lambda report: report.safety),
    show_stored("disease-mechanism", lambda report: report.disease_mechanism),
    show_stored("mechanistic", lambda r: r.mechanistic_findings if r.candidates or not r.answer else None),
    build_trials,
    show_written("judged", "What the judge made of it"),
    show_written("writing", "What became of the written sentences"),
    build_methods,
)
"""Builders of the appendix, in order; references cited only there follow."""


def build_document(report: ReportContent) -> ReportTree:
    """Build the whole tree."""
    when = f"{report.generated_at:%Y-%m-%d %H:%M} UTC"
    tokens = "tokens used" if report.usage else "tokens, estimated"
    sources = report.library or ", ".join(map(title_of, report.sources_searched)) or "none answered"
    generated = f"Generated {when} by Willowbark · {tokens}: {report.tokens_used:,} · sources: {sources}"
    main = [section for build in SECTIONS if (section := build(report)) is not None]
    # What only the appendix cites is listed there, numbered on from the main part.
    cited = max((max(node.numbers) for node in spans(tuple(main)) if isinstance(node, Cite)), default=0)
    appended = [section for build in APPENDIX if (section := build(report)) is not None]
    if len(report.references) > cited:
        appended.append(
            replace(build_references(report, cited, None), title="Further references", id="more-references")
        )
    return ReportTree(
        report.title,
        _show_question(report),
        (paragraph(f"{when} · {report.disclaimer}", look="small"),),
        (*main, build_references(report, 0, cited)),
        (paragraph(generated, look="small"),),
        Section("Appendix", "appendix", tuple(replace(section, look="folded") for section in appended)),
    )


def _show_question(report: ReportContent) -> str:
    """Return the question as it was asked, with what was understood, if a model or rules put it into other words."""
    question = report.research_question
    understood = parse_question(question).understood or (question if report.asked_as else "")
    typed = report.asked_as or question
    notes = [f"understood as “{understood}”"] if understood else []
    notes += [f"answered for all forms of {whole}, not {form} alone" for form, whole in find_widened(question).items()]
    return f"{typed} ({'; '.join(notes)})" if notes else typed


def build_brief(report: ReportContent) -> ReportTree:
    """Build only the first screen and the tables of candidates, for interfaces that show the rest separately."""
    return replace(
        build_document(report), sections=(first_screen(report), build_candidates(report)), closing=(), appendix=None
    )
