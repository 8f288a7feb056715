"""The part of the tree on one candidate: its standing, why it is certain or not, and each study for and against."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from willowbark.tools.evidence import surname
from willowbark.tools.wording import counted
from willowbark.tools.works.sections import is_full_text

from ..pictures.figures import Plot, StudyEffect, estimate, forest_plots, label
from .content import NONE_PROPOSED, NOT_REPORTED, DrugCandidate, EvidenceRow, ReportContent, Stance
from .forms.blocks import (
    Block,
    Cite,
    Details,
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
    paragraph,
    points,
)
from .forms.links import record_name, url_of

_STANCES: Mapping[Stance, tuple[str, str]] = {
    "supports": ("supporting", "for"),
    "contradicts": ("contradicting", "against"),
    "undecided": ("inconclusive", "inconclusive"),
    "excluded": ("excluded", "excluded"),
}
"""How tables and counts call a stance."""
_MAX_INDICATIONS = 8  # of a drug; further ones are counted
_MAX_EFFECTS = 4  # of a study


def candidate_card(report: ReportContent, candidate: DrugCandidate, place: int) -> Section:
    """Everything on one candidate; `place` is 1 for the best supported."""
    name, level = candidate.name, candidate.certainty
    rows = [row for row in report.evidence_table if row.drug == name]
    blocks: list[Block] = []
    if candidate.in_asked_class is False:
        blocks.append(paragraph("Also found: not known to belong to the class of drugs asked about."))
    blocks.append(Pairs(tuple(_standing(candidate))))
    if candidate.paragraph:
        blocks.append(paragraph(f"In the model's own words: {candidate.paragraph}"))
    if candidate.certainty_reasons:
        steps = points(candidate.certainty_reasons, "steps")
        blocks.append(Section(f"Why {level} certainty", f"certainty-{place}", (steps,), "", "folded"))
    evidence = (*_evidence(report, candidate, rows), *_forest_plots(report, name, place, rows))
    stances = Counter(candidate.stance_of(row) for row in rows)
    counts = ", ".join(f"{stances[stance]} {side}" for stance, (_, side) in _STANCES.items() if stances[stance])
    blocks.append(Section("Evidence for and against", f"evidence-{place}", evidence, counts, "folded"))
    if candidate.study_limits:
        limits = (Quote(x.quote, f"{record_name(x.key)}, {_place(x.section)}") for x in candidate.study_limits)
        blocks.append(Section("Limitations stated by its studies", f"limits-{place}", tuple(limits), "", "folded"))
    if candidate.argument:
        argument = tuple(candidate.argument.blocks)
        blocks.append(Section(candidate.argument.title, f"mechanism-{place}", argument, "", "folded"))
    standing = f"{candidate.evidence_quality} evidence, {level} certainty"
    note = "refuted" if candidate.evidence_quality == "refuted" else standing
    return Section(name, f"candidate-{place}", tuple(blocks), note, "card")


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


def _evidence(report: ReportContent, candidate: DrugCandidate, rows: Sequence[EvidenceRow]) -> Iterator[Block]:
    """The studies that decide, then those that don't, then how many could not be checked."""
    name, support = candidate.name, len(candidate.supporting_citations)
    if support and (against := len(candidate.contradicting_citations)):
        yield paragraph(f"Conflicting results ({support} for, {against} against); see inconsistency under Certainty.")
    decisive = list(_studies(report, candidate, rows, f"Studies for and against {name}", ("supports", "contradicts")))
    yield from decisive or (paragraph(f"No study supports or contradicts a benefit of {name}."),)
    others = f"Inconclusive or excluded studies of {name}"
    yield from _studies(report, candidate, rows, others, ("undecided", "excluded"))
    papers = [row for row in rows if not row.key.startswith("nct:")]  # trials can't be retracted
    if unchecked := sum(row.retracted is None for row in papers):
        of = f"{unchecked} of {len(papers)} publications"
        yield paragraph(f"Retraction could not be checked for {of}.", look="small")


def _studies(
    report: ReportContent,
    candidate: DrugCandidate,
    rows: Sequence[EvidenceRow],
    caption: str,
    stances: Sequence[Stance],
) -> Iterator[Table]:
    """A candidate's studies by stance in one table; stances without any are left out, and so is an empty table."""
    groups = []
    for stance in stances:
        if found := [_study(report, candidate, row) for row in rows if candidate.stance_of(row) == stance]:
            title = flow(Text(_STANCES[stance][0], "mark"), f" {counted(len(found), 'study')}")
            groups.append(Group(tuple(found), title))
    if groups:
        yield Table(caption, ("study", "design", "participants", "effect estimate"), tuple(groups), "records")


def _study(report: ReportContent, candidate: DrugCandidate, row: EvidenceRow) -> Row:
    reference = next((r for r in report.references if r["key"] == row.key), {})
    authors = [str(author) for author in reference.get("authors") or ()]
    date = row.date if row.date[:1].isdigit() else "date not reported"
    by = f"{authors[0]}{' et al.' if len(authors) > 1 else ''}, {date}" if authors else date
    number = Cite((int(reference["number"]),)) if reference else ""
    marks = {
        "retracted": row.retracted,
        "expression of concern": row.concern,
        "preprint, not peer-reviewed": row.is_preprint,
        f"readers disagree ({row.disputed})": row.disputed,
    }
    flags = [node for name, is_set in marks.items() if is_set for node in flow(" ", Text(name, "flag"))]
    follow_up = "" if row.followup_months is None else Text(f" (follow-up {row.followup_months:g} months)", "small")
    given = [estimate(size) for size in row.effects[:_MAX_EFFECTS]] or row.figures
    missing = "not reported in the passage" if row.sentence else "none found"
    elsewhere = row.effects and row.effects_section not in (None, "Abstract")
    link = Link(row.title, url_of(row.key, str(reference.get("url") or "")))
    return Row(
        (
            flow(link, number, Text(f" {by} · {record_name(row.key)}", "small"), *flags),
            flow(row.design, follow_up),
            flow(NOT_REPORTED if row.sample_size is None else str(row.sample_size)),
            flow(
                points(given, "lines") if given else missing,
                Text(f" {row.effects_section}", "small") if elsewhere else "",
            ),
        ),
        _passages(candidate, row),
    )


def _passages(candidate: DrugCandidate, row: EvidenceRow) -> Flow:
    """The passages behind a row, each once: what a longer one holds is not repeated."""
    claims = [claim for claim in candidate.claims if claim.evidence_key == row.key]
    places: dict[str, str] = {}
    passages = [(row.sentence, row.section), (row.in_figures, row.in_figures_section)]
    for quote, section in [*passages, *((claim.quote, claim.section) for claim in claims)]:
        line = " ".join(quote.split())
        places[line] = places.get(line) or section or ""
    quotes = [
        Quote(quote, _place(place))
        for quote, place in places.items()
        if quote and not any(quote != longer and quote in longer for longer in places)
    ]
    own = [claim.text for claim in claims if claim.text.strip() != claim.quote.strip()]
    claimed = tuple(paragraph(f"Claimed from it: {text}", look="small") for text in own)
    return flow(Details("Quote", (*quotes, *claimed))) if quotes else ()


def _place(section: str) -> str:
    """Where a passage stands, in words."""
    return f"{section}, full text" if section and is_full_text(section) else section


def _forest_plots(report: ReportContent, drug: str, place: int, rows: Sequence[EvidenceRow]) -> Iterator[Figure]:
    authors = {str(r["key"]): r.get("authors") or [] for r in report.references}
    effects = []
    for row in rows:
        year = row.date[:4] if row.date[:4].isdigit() else "no date"
        first = next(iter(authors.get(row.key, ())), None)
        author = surname(str(first)) if first and not row.key.startswith("nct:") else ""
        study = f"{label(author, 18)} {year}" if author else record_name(row.key)
        sizes = dict.fromkeys(row.effects) if not row.retracted else ()
        effects += [StudyEffect(study, row.title, row.direction, size) for size in sizes]
    return map(figure_of, forest_plots(drug, place, effects))


def figure_of(plot: Plot) -> Figure:
    """A plot as the tree holds it."""
    return Figure(plot.name, plot.caption, plot.description, plot)
