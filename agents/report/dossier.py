"""A brief for repurposing dossiers: for each candidate what a new use of an old drug must show, and what is missing.

The parts follow what regulators ask of off-patent drugs: evidence of effect, form and route as labelled against those
studied, comparable safety, sponsors of trials. Each statement has its citation; a drug takes two pages at most.
"""

from collections.abc import Iterator, Sequence

from willowbark.tools.records.study import Arm, Study
from willowbark.tools.wording import counted, listed, short

from .content import NOT_REPORTED, DrugCandidate, EvidenceRow, ReportContent, TrialRow
from .forms.blocks import (
    Block,
    Cite,
    Group,
    Link,
    Quote,
    ReportTree,
    RichText,
    Row,
    Section,
    Table,
    Text,
    flow,
    paragraph,
    points,
)
from .forms.links import find_url, record_name
from .tree import name_study

MOST_STUDIES = 6  # of a drug, so that it takes two pages
MOST_TRIALS = 8  # likewise
MOST_CANDIDATES = 12  # drugs with a chapter of their own
_LONGEST_QUOTE = 200  # characters
_LONGEST_EFFECT = 110  # characters
_ORDER = ("contradicts", "missed", "supports")
_SAYS = {"contradicts": "contradicting", "missed": "missed its primary outcome", "supports": "supporting"}
_DISCLAIMER = "Drafted by Willowbark from published records, to be checked and completed by people. Not medical advice."
_CitationNumbers = dict[str, int]


def make_dossier(report: ReportContent) -> ReportTree:
    """Build the brief: a chapter a repurposing candidate, best first, then the records cited.

    Drugs that are approved or standard for the condition are left out, unless there are no others.
    """
    supported = [candidate for candidate in report.candidates if candidate.supporting_citations]
    drafted = [candidate for candidate in supported if candidate.group != "established"] or supported
    cited = _CitationNumbers()
    chapters = [_write_chapter(report, candidate, cited) for candidate in drafted[:MOST_CANDIDATES]]
    rest = drafted[MOST_CANDIDATES:]
    opening = [paragraph(f"{report.generated_at:%Y-%m-%d} · {_DISCLAIMER}", look="small")]
    if not chapters:
        opening.append(paragraph("No candidate has a study in support, so there is nothing to draft."))
    if rest:
        names = listed([candidate.name for candidate in rest], most=len(rest))
        opening.append(paragraph(f"Left out, with less evidence: {names}."))
    numbered = [_write_reference(report, key) for key in cited]
    references = Section("Records cited", "cited", (_number_lines(numbered),)) if numbered else None
    return ReportTree(
        f"Repurposing brief: {report.title.partition(':')[0]}",
        report.research_question,
        tuple(opening),
        (*chapters, *([references] if references else [])),
        (),
    )


def _write_chapter(report: ReportContent, candidate: DrugCandidate, cited: _CitationNumbers) -> Section:
    rows = [row for row in report.evidence_table if row.drug == candidate.name and not row.retracted]
    studies = {study.key: study for study in report.studies}
    trials = [trial for trial in report.trials if candidate.name in trial.drugs]
    parts = (
        Section("Evidence of effect", "effect", tuple(_describe_effect(report, candidate, rows, cited))),
        Section("Form, route and dose", "form", tuple(_describe_form(report, candidate, rows, studies, cited))),
        Section("Comparable safety", "harm", tuple(_describe_safety(report, candidate, rows, trials, cited))),
        Section("Sponsors of trials", "sponsors", tuple(_list_sponsors(report, trials, cited))),
        Section("What is missing", "missing", (points(_list_gaps(candidate, rows, studies, trials)),)),
    )
    level = f"{candidate.level} certainty" if candidate.level == candidate.certainty else candidate.level
    return Section(candidate.name, f"brief-{candidate.name.replace(' ', '-')}", parts, level)


def _cite(cited: _CitationNumbers, keys: Sequence[str]) -> Cite:
    return Cite(tuple(cited.setdefault(key, len(cited) + 1) for key in keys))


def _describe_effect(
    report: ReportContent, candidate: DrugCandidate, rows: Sequence[EvidenceRow], cited: _CitationNumbers
) -> Iterator[Block]:
    """Yield the counts, the reasons of the certainty, and the studies that decide, failures first."""
    numbers = (
        (len(candidate.supporting_citations), "supporting"),
        (len(candidate.contradicting_citations), "contradicting"),
        (len(candidate.missed_citations), "missed the primary outcome"),
        (len(candidate.undecided_citations), "inconclusive"),
    )
    counts = ", ".join(f"{number} {side}" for number, side in numbers if number)
    yield paragraph(Text("Studies: ", "strong"), f"{counts}. ", " ".join(candidate.certainty_reasons))
    decisive: list[EvidenceRow] = []
    for stance in _ORDER:
        decisive += [row for row in rows if candidate.stance_of(row) == stance]
    tabled = decisive[:MOST_STUDIES]
    lines = []
    for row in tabled:
        estimates = "; ".join(value.line for value in row.compared("estimate"))
        cells = (
            flow(Link(name_study(report, row.key), _find_url(report, row.key)), " ", _cite(cited, [row.key])),
            flow(row.design),
            flow(_count_people(row)),
            flow(_SAYS[candidate.stance_of(row)]),
            flow(short(estimates, _LONGEST_EFFECT)),
        )
        lines.append(Row(cells))
    columns = ("study", "design", "participants", "result", "effect as reported")
    if lines:
        yield Table("Studies that decide", columns, (Group(tuple(lines)),)).without_empty_columns()
    if len(decisive) > len(tabled):
        yield paragraph(f"{counted(len(decisive) - len(tabled), 'further study')} decide; evidence.csv has all.")
    quoted = next((row for row in tabled if row.sentence), None)
    if quoted is not None:
        yield Quote(short(quoted.sentence, _LONGEST_QUOTE), name_study(report, quoted.key))


def _describe_form(
    report: ReportContent,
    candidate: DrugCandidate,
    rows: Sequence[EvidenceRow],
    studies: dict[str, Study],
    cited: _CitationNumbers,
) -> Iterator[Block]:
    """Yield how the drug is given by its labels and databases, and how in the studies."""
    labelled = [
        flow(f"Labelled: {', '.join(routes).lower()} ", _cite(cited, [key]))
        for key, routes in candidate.labelled_routes.items()
    ]
    studied = [
        flow(f"Studied: {regimen} ", _cite(cited, [key])) for key, regimen in _list_regimens(candidate, rows, studies)
    ]
    uses = ", ".join(candidate.current_indications)
    marketed = [flow(f"Marketed for: {short(uses, _LONGEST_QUOTE)} ", _cite(cited, candidate.mechanism_sources))]
    lines = [*(marketed if uses else []), *labelled, *studied[:MOST_STUDIES]]
    yield points(lines) if lines else paragraph("Neither labelled nor studied forms were found in the records.")


def _list_regimens(
    candidate: DrugCandidate, rows: Sequence[EvidenceRow], studies: dict[str, Study]
) -> Iterator[tuple[str, str]]:
    """Yield for each study of the drug its dose, route and duration, as far as they were read."""
    for row in rows:
        study = studies.get(row.key)
        arms = [arm for arm in study.arms if candidate.name in arm.drugs] if study else []
        words = [_describe_regimen(arm) for arm in arms]
        regimen = "; ".join(dict.fromkeys(filter(None, words)))
        regimen = regimen or "; ".join(value.line for value in row.compared("dose"))
        if regimen:
            yield row.key, short(regimen, _LONGEST_EFFECT)


def _describe_regimen(arm: Arm) -> str:
    return ", ".join(filter(None, (arm.dose, arm.route, arm.schedule, arm.duration)))


def _describe_safety(
    report: ReportContent,
    candidate: DrugCandidate,
    rows: Sequence[EvidenceRow],
    trials: Sequence[TrialRow],
    cited: _CitationNumbers,
) -> Iterator[Block]:
    """Yield warnings of labels, tolerability in the studies, and posted serious events by group."""
    lines: list[str | RichText] = [*candidate.cautions]
    for row in rows:
        tolerability = "; ".join(value.line for value in row.compared("tolerability"))
        if tolerability:
            lines.append(flow(f"In the study: {short(tolerability, _LONGEST_QUOTE)} ", _cite(cited, [row.key])))
    for trial in trials:
        events = trial.posted[0].serious_events if trial.posted else []
        groups = "; ".join(f"{e.group} {e.affected}{'' if e.at_risk is None else f' of {e.at_risk}'}" for e in events)
        if groups:
            lines.append(flow(f"Participants with serious adverse events: {groups} ", _cite(cited, [trial.key])))
    yield points(lines[:MOST_TRIALS]) if lines else paragraph("No warning, tolerability or posted event was found.")


def _list_sponsors(report: ReportContent, trials: Sequence[TrialRow], cited: _CitationNumbers) -> Iterator[Block]:
    rows = [
        Row(
            (
                flow(Link(trial.nct_id, _find_url(report, trial.key)), " ", _cite(cited, [trial.key])),
                flow(trial.sponsor or ""),
                flow(trial.phase_words),
                flow(trial.status_words),
                flow("" if trial.enrollment is None else f"{trial.enrollment:,}"),
            )
        )
        for trial in trials[:MOST_TRIALS]
    ]
    columns = ("trial", "sponsor", "phase", "status", "participants")
    if rows:
        yield Table("Registered trials", columns, (Group(tuple(rows)),)).without_empty_columns()
    else:
        yield paragraph("No registered trial of it was found, so no sponsor is known.")


def _list_gaps(
    candidate: DrugCandidate, rows: Sequence[EvidenceRow], studies: dict[str, Study], trials: Sequence[TrialRow]
) -> list[str]:
    """List what a dossier needs that these records do not give."""
    gaps = [*candidate.held_down_by]
    tally = candidate.sorting.tally
    checks = {
        "a trial against placebo or no treatment": bool(tally.against_nothing),
        "the number of participants of any deciding study": any(row.sample_size or row.trial_size for row in rows),
        "the labelled route": bool(candidate.labelled_routes),
        "the dose or route in the studies": any(_list_regimens(candidate, rows, studies)),
        "tolerability in these studies": any(row.compared("tolerability") for row in rows),
        "a label's warning (there may be some)": bool(candidate.cautions),
        "a registered trial, and with it a sponsor": bool(trials),
        "approval status": candidate.clinical_status != NOT_REPORTED,
    }
    gaps += [f"Not found: {what}" for what, is_there in checks.items() if not is_there]
    return gaps or ["Nothing of the above; what regulators ask beyond it was not looked into."]


def _count_people(row: EvidenceRow) -> str:
    size = row.sample_size if row.sample_size is not None else row.trial_size
    return "" if size is None else f"{size:,}"


def _find_url(report: ReportContent, key: str) -> str | None:
    return find_url(key, str(report.reference_of(key).get("url") or ""))


def _write_reference(report: ReportContent, key: str) -> RichText:
    reference = report.reference_of(key)
    authors = ", ".join(map(str, (reference.get("authors") or [])[:3]))
    title = str(reference.get("title") or record_name(key))
    date = str(reference.get("date") or "")
    return flow(f"{authors}. " if authors else "", Link(title, _find_url(report, key)), f" {date}. {record_name(key)}.")


def _number_lines(lines: Sequence[RichText]) -> Block:
    return points(lines, "references")
