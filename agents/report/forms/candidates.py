"""The part of the tree on one candidate: its standing, why it is certain or not, and each record for and against."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from willowbark.tools.works.sections import is_full_text

from ...pictures.figures import Plot, estimate, forests, mechanism_path
from ..content import NONE_PROPOSED, NOT_REPORTED, DrugCandidate, EvidenceRow, ReportContent, Stance
from .blocks import (
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
from .links import named, url_of
from .methods import prose

_SIDES: Mapping[Stance, str] = {
    "supports": "for",
    "contradicts": "against",
    "undecided": "undecided",
    "excluded": "excluded",
}
_LEANS = {"supports": "speaking for", "contradicts": "speaking against"}
_MAX_INDICATIONS = 8  # of a drug; further ones are counted
_MAX_EFFECTS = 4  # of a record
_COLUMNS = ("record", "design", "participants", "effect as reported")


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
    evidence = (*_evidence(report, candidate, rows), *figures(*forests(report, name)))
    counted = _counted(candidate.stance_of(row) for row in rows)
    blocks.append(Section("Evidence for and against", f"evidence-{place}", evidence, counted, "folded"))
    if candidate.study_limits:
        limits = (Quote(x.quote, f"{named(x.key)}, {_place(x.section)}") for x in candidate.study_limits)
        blocks.append(Section("What its studies say limits them", f"limits-{place}", tuple(limits), "", "folded"))
    argued = prose(candidate.argument) if candidate.argument else ()
    drawn = figures(mechanism_path(report, candidate, f"path-{place}")) if argued or candidate.chain is None else ()
    if path := (*argued, *drawn):
        blocks.append(Section("From drug to disease", f"mechanism-{place}", path, "", "folded"))
    standing = f"{candidate.evidence_quality} evidence, {level} certainty"
    note = "refuted" if candidate.evidence_quality == "refuted" else standing
    return Section(name, f"candidate-{place}", tuple(blocks), note, "card")


def _standing(candidate: DrugCandidate) -> Iterator[tuple[str, Flow]]:
    marketed = candidate.current_indications
    more = f" and {len(marketed) - _MAX_INDICATIONS} more" if len(marketed) > _MAX_INDICATIONS else ""
    told = {
        "Status": candidate.clinical_status,
        "Marketed for": "; ".join(marketed[:_MAX_INDICATIONS]) + more or NOT_REPORTED,
        "Mechanism": candidate.mechanism,
    }
    yield from ((name, flow(said)) for name, said in told.items() if said != NOT_REPORTED)
    if silent := [name for name, said in told.items() if said == NOT_REPORTED]:
        yield ", ".join([silent[0], *map(str.lower, silent[1:])]), flow(NOT_REPORTED)
    if candidate.proposed_mechanism not in (NOT_REPORTED, NONE_PROPOSED):
        yield "Proposed here", flow(candidate.proposed_mechanism)


def _evidence(report: ReportContent, candidate: DrugCandidate, rows: Sequence[EvidenceRow]) -> Iterator[Block]:
    """The records that decide, then those that don't, then how many could not be checked."""
    main: tuple[Stance, ...] = ("supports", "contradicts")
    others: tuple[Stance, ...] = ("undecided", "excluded")
    decided = _records(report, candidate, rows, main)
    name = candidate.name
    if conflict := _conflict(candidate):
        yield paragraph(conflict)
    if decided:
        caption = f"Records that speak for or against {name}"
        yield Table(caption, _COLUMNS, decided, "records", below="passage")
    else:
        yield paragraph(f"No record speaks for or against {name}.")
    if left := _records(report, candidate, rows, others):
        caption = f"Records on {name} that decide nothing or were left out"
        yield Table(caption, _COLUMNS, left, "records", below="passage")
    papers = [row for row in rows if not row.key.startswith("nct:")]  # trials can't be retracted
    if unchecked := sum(row.retracted is None for row in papers):
        of = f"{unchecked} of {len(papers)} publications"
        yield paragraph(f"Retraction could not be checked for {of}.", look="small")


def _counted(stances: Iterable[Stance]) -> str:
    """How many records stand where: `7 for, 1 undecided`; empty for none."""
    found = Counter(stances)
    return ", ".join(f"{found[stance]} {_SIDES[stance]}" for stance in _SIDES if found[stance])


def _conflict(candidate: DrugCandidate) -> str:
    """That records disagree; empty where they don't."""
    support, against = len(candidate.supporting_citations), len(candidate.contradicting_citations)
    if not support or not against:
        return ""
    return f"Conflict: {support} for, {against} against; what that costs stands with the steps of certainty."


def _records(
    report: ReportContent, candidate: DrugCandidate, rows: Sequence[EvidenceRow], stances: Sequence[Stance]
) -> tuple[Group, ...]:
    """A candidate's records by stance; stances without any are left out."""
    found = {stance: [row for row in rows if candidate.stance_of(row) == stance] for stance in stances}
    return tuple(
        Group(
            tuple(_record(report, candidate, row) for row in of),
            flow(Text(stance, "mark"), f" {len(of)} {'record' if len(of) == 1 else 'records'}"),
        )
        for stance, of in found.items()
        if of
    )


def _record(report: ReportContent, candidate: DrugCandidate, row: EvidenceRow) -> Row:
    reference = next((r for r in report.references if r["key"] == row.key), {})
    said = f" {byline(reference.get('authors') or [], row.date)} · {named(row.key)}"
    number = Cite((int(reference["number"]),)) if reference else ""
    marks = {
        "retracted": row.retracted,
        "expression of concern": row.concern,
        "preprint, not peer-reviewed": row.is_preprint,
        f"readers disagree ({row.disputed})": row.disputed,
        f"uncertain: read as {_LEANS.get(row.leans or '')} it, not surely enough to count": row.leans,
    }
    flags = [node for name, is_set in marks.items() if is_set for node in flow(" ", Text(name, "flag"))]
    follow_up = "" if row.followup_months is None else Text(f" follow-up {row.followup_months:g} months", "small")
    given = [estimate(size) for size in row.effects[:_MAX_EFFECTS]] or row.figures
    missing = "not reported in the passage" if row.sentence else "none found"
    effects = points(given, "lines") if given else missing
    elsewhere = row.effects and row.effects_section not in (None, "Abstract")
    link = Link(row.title, url_of(row.key, str(reference.get("url") or "")))
    return Row(
        (
            flow(link, number, Text(said, "small"), *flags),
            flow(row.design, follow_up),
            flow(NOT_REPORTED if row.sample_size is None else str(row.sample_size)),
            flow(effects, Text(f" {row.effects_section}", "small") if elsewhere else ""),
        ),
        _passage(candidate, row),
    )


def byline(authors: list[str], date: str) -> str:
    """Authors and date in short.

    >>> byline(["Smith J", "Jones A"], "2001-03"), byline([], "Unknown")
    ('Smith J et al., 2001-03', 'date not reported')
    """
    when = date if date[:1].isdigit() else "date not reported"
    return f"{authors[0]}{' et al.' if len(authors) > 1 else ''}, {when}" if authors else when


def _passage(candidate: DrugCandidate, row: EvidenceRow) -> Flow:
    """The passages behind a row, each once: what a longer one holds is not repeated."""
    claims = [claim for claim in candidate.claims if claim.evidence_key == row.key]
    places: dict[str, str] = {}
    told = [(row.sentence, row.section), (row.in_figures, row.in_figures_section)]
    for quote, section in [*told, *((claim.quote, claim.section) for claim in claims)]:
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


def figures(*plots: Plot | None) -> Iterator[Figure]:
    """Plots as the tree holds them."""
    return (Figure(plot.name, plot.caption, plot.description, plot) for plot in plots if plot is not None)
