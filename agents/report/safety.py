"""Safety and regulation of the candidates: approvals, withdrawals, labels, serious events, harms in publications.

Everything is quoted or counted, nothing is weighed against help, and nothing is a recommendation.
"""

from collections.abc import Iterator, Sequence, Set
from typing import NamedTuple

from willowbark.tools.appraisal.appraised import AppraisedRecord, condition_names
from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.appraisal.harms import NOT_PATIENTS, told_of_harm
from willowbark.tools.enclosure import visible
from willowbark.tools.evidence import Evidence
from willowbark.tools.lexicon import canonical_drug, withdrawn
from willowbark.tools.lexicon.stemming import stems
from willowbark.tools.questions.question import speaks_of
from willowbark.tools.reading.screening import readable, set_aside
from willowbark.tools.reading.text import sentences
from willowbark.tools.records import Approval, Drug, Label
from willowbark.tools.registry import kind_of, title_of
from willowbark.tools.sources.drugs.chembl_record import warned
from willowbark.tools.sources.drugs.opentargets_record import signalled
from willowbark.tools.wording import counted, listed, short

from .content import EVENTS_NOTE, NOT_REPORTED, ReportSection
from .forms.blocks import Block, Flow, Pairs, Section, flow, joined, paragraph
from .material import Material, References

MOST_QUOTED = 2  # sentences of one kind
MOST_GROUPS = 6  # groups of a trial with serious adverse events
MOST_TRIALS = 3
LONGEST_QUOTE = 320  # characters of a quoted sentence
NOT_CAUSE = (
    "Counts of reports are no measure of how often an event happens, and do not show that the drug caused it: "
    "anyone may report, much is reported twice or not at all, and how many people took the drug is not known."
)
_NOTE = (
    "What approvals, labels, trials and publications say of the candidates' status and harms, quoted or counted. "
    "Nothing here is a recommendation, and what no source says is no evidence of safety."
)
_WARNING = ("Contraindications", "Boxed warning", "Warnings", "Pregnancy")
_USES = ("Indications and usage",)


class _OnHarm(NamedTuple):
    """What the records of a candidate say of harm."""

    reporting: list[str]
    """The keys of those of patients that surely report it."""
    quotes: list[tuple[str, str]]
    """Sentences, each with its record's key: of these first, then of others by their number of participants."""


class _Labelled(NamedTuple):
    """A drug's label, as it is at hand."""

    key: str
    label: Label
    sections: dict[str, str]


def safety_section(material: Material, shown: Sequence[Candidate], references: References) -> ReportSection | None:
    """What is said of each candidate's status and harms; None where there is no candidate."""
    if not shown:
        return None
    start, names = len(references.cited), [candidate.drug for candidate in shown]
    about = _by_drug(material.pool)
    harms = dict[str, _OnHarm]()
    for candidate in shown:
        quoted = {sentence for told in harms.values() for sentence, _ in told.quotes}
        harms[candidate.drug] = _on_harm(candidate, material, quoted)
    known = [each for each in shown if any(harms[each.drug]) or _is_known(each, about.get(each.drug, []))]
    blocks: list[Block] = [paragraph(_NOTE)]
    if silent := [candidate.drug for candidate in shown if candidate not in known]:
        said = f"No approval and no label is at hand of {listed(silent, most=len(silent))}"
        found = "no result or conclusion was found that names them beside a word for harm"
        blocks.append(paragraph(f"{said}, and {found}; that is no evidence of safety."))
    for place, candidate in enumerate(known, 1):
        told = Pairs(tuple(_told(candidate, names, about, harms[candidate.drug], material, references)))
        warning = _warned(candidate.drug, about.get(candidate.drug, []))
        blocks.append(Section(candidate.drug, f"safety-{place}", (told,), warning, "folded"))
    return ReportSection.of("Safety and regulation", blocks, references.cited[start:])


def _warned(drug: str, records: Sequence[Evidence]) -> str:
    """What nobody should miss, in a few words: a withdrawal, a boxed warning; empty where neither is known."""
    boxed = any(held.sections.get("Boxed warning") for each in records if (held := _labelled(readable(each))))
    kinds = {each["kind"] for record in records if isinstance(record.record, Drug) for each in record.record.warnings}
    gone = bool(withdrawn(drug)) or "withdrawn" in kinds
    return ", ".join(["withdrawn"] * gone + ["boxed warning"] * (boxed or "boxed warning" in kinds))


def _is_known(candidate: Candidate, records: Sequence[Evidence]) -> bool:
    """Whether any source other than publications says anything of its status or harms."""
    held = any(isinstance(each.record, Label | Approval) for each in records)
    entries = [each.record for each in records if isinstance(each.record, Drug)]
    dated = any(each.first_approval or each.warnings or each.signals for each in entries)
    posted = any(each.posted and each.posted.serious_events for each in candidate.records)
    return bool(held or dated or posted or withdrawn(candidate.drug))


def _by_drug(pool: Sequence[Evidence]) -> dict[str, list[Evidence]]:
    """Labels, approvals and entries by the drug that they are on."""
    found: dict[str, list[Evidence]] = {}
    for record in pool:
        said = record.record
        if isinstance(said, Drug | Label | Approval) and said.drug:
            found.setdefault(canonical_drug(said.drug) or said.drug.lower(), []).append(record)
    return found


def _told(
    candidate: Candidate,
    others: Sequence[str],
    about: dict[str, list[Evidence]],
    harms: _OnHarm,
    material: Material,
    references: References,
) -> Iterator[tuple[str, Flow]]:
    """Names and what belongs to each, for one candidate."""
    records = about.get(candidate.drug, [])
    label = next((_labelled(readable(each)) for each in records if isinstance(each.record, Label)), None)
    yield "Approval", _approval(records, references)
    if gone := withdrawn(candidate.drug):
        yield "Withdrawn", flow(gone)
    yield from _of_databases(records, references)
    yield from _of_label(label, candidate.drug, others, material, references)
    if events := list(_posted(candidate.records, references)):
        yield "Serious adverse events posted", (*joined(events), *flow(f" ({EVENTS_NOTE})"))
    yield "Harm and tolerability in the records read", _harms(harms, references)


def _of_databases(records: Sequence[Evidence], references: References) -> Iterator[tuple[str, Flow]]:
    """Withdrawals and warnings by ChEMBL, events reported more often than expected by Open Targets; each from one."""
    entries = [(record.key, record.record) for record in records if isinstance(record.record, Drug)]
    for key, warnings in [(key, said.warnings) for key, said in entries if said.warnings][:1]:
        yield "Warnings by ChEMBL", flow("; ".join(map(warned, warnings)), references.cite([key]))
    for key, signals in [(key, said.signals) for key, said in entries if said.signals][:1]:
        told = ", ".join(map(signalled, signals))
        yield "Reported more than expected (FAERS)", flow(told, references.cite([key]), f". {NOT_CAUSE}")


def _approval(records: Sequence[Evidence], references: References) -> Flow:
    for record in records:
        if isinstance(said := record.record, Approval):
            first = next((a for a in said.applications if a.get("approved") == said.first_approved), None)
            named = ", ".join(first[name] for name in ("number", "brand") if name in first) if first else ""
            when = said.first_approved or "on a day that is not given"
            sold = "; all of them discontinued, copies may be sold" if said.is_sold is False else ""
            told = f"first {when} by the {said.agency or 'agency that is not named'}{f' ({named})' if named else ''}"
            told += f", among the products listed{sold}"
            return flow(told, references.cite([record.key]))
    years = [
        (r.record.first_approval, r.key, title_of(r.citation.source))
        for r in records
        if isinstance(r.record, Drug) and r.record.first_approval
    ]
    if years:
        year, key, source = min(years)
        return flow(f"first in {year}, by {source}, which names no agency", references.cite([key]))
    return flow(f"{NOT_REPORTED}: no record at hand names a day or an agency")


def _labelled(record: Evidence) -> _Labelled | None:
    if not isinstance(record.record, Label):
        return None
    parts = (part.partition(": ")[::2] for part in record.content.split("\n\n")[1:] if ": " in part)
    return _Labelled(record.key, record.record, dict(parts))


def _of_label(
    held: _Labelled | None, drug: str, others: Sequence[str], material: Material, references: References
) -> Iterator[tuple[str, Flow]]:
    if held is None:
        yield "United States label", flow("none at hand: neither warnings nor contraindications are known here")
        return
    cited = references.cite([held.key])
    warned = sentences(held.sections.get("Boxed warning", ""))[:MOST_QUOTED]
    yield "Boxed warning", flow(_quotes(warned) if warned else "none on the label at hand", cited)
    who = " or ".join(filter(None, (material.asked.population, short(material.topic))))
    used = list(_meeting(held, _USES, material))
    yield "Labelled for", flow("; ".join(used[:MOST_QUOTED]) or f"the label's uses name no {who}", cited)
    met = list(_meeting(held, _WARNING, material))
    yield f"Warnings on {who}", flow("; ".join(met[:MOST_QUOTED]) or "none on the label at hand", cited)
    if all_of_them := held.sections.get("Contraindications"):
        yield "Contraindications", flow(_quotes([all_of_them]), cited)
    rivals = [each for each in held.label.named_drugs if each["drug"] in others and each["drug"] != drug]
    clean = ((each, set_aside(visible(each["sentence"])).strip()) for each in rivals)
    told = [f"{each['drug']}: {_quotes([sentence])} ({each['heading']})" for each, sentence in clean if sentence]
    yield "With other candidates", flow("; ".join(told[: 2 * MOST_QUOTED]) or "its label names none of them", cited)


def _meeting(held: _Labelled, headings: Sequence[str], material: Material) -> Iterator[str]:
    """The sentences below these headings that speak of the people asked about, quoted with their heading."""
    for heading in headings:
        for sentence in sentences(held.sections.get(heading, "")):
            if _meets(sentence, heading, material):
                yield f"{_quotes([sentence])} ({heading})"


def _quotes(said: Sequence[str]) -> str:
    return " ".join(f"“{short(each, LONGEST_QUOTE)}”" for each in said)


def _meets(sentence: str, heading: str, material: Material) -> bool:
    """Whether a sentence of a label speaks of the people asked about."""
    population = material.asked.population
    if population and (speaks_of(sentence, population) or (population == "pregnancy" and heading == "Pregnancy")):
        return True
    words = frozenset(stems(sentence))
    return heading != "Pregnancy" and any(frozenset(stems(n)) <= words for n in condition_names(material.asked))


def _posted(records: Sequence[AppraisedRecord], references: References) -> Iterator[Flow]:
    with_events = [
        (each.key, each.posted.serious_events) for each in records if each.posted and each.posted.serious_events
    ]
    for key, events in with_events[:MOST_TRIALS]:
        groups = [f"{e.group} {e.affected} of {NOT_REPORTED if e.at_risk is None else e.at_risk}" for e in events]
        said = f"{key.removeprefix('nct:')}: {listed(groups, most=MOST_GROUPS)}"
        yield flow(said, references.cite([key]))


def _on_harm(candidate: Candidate, material: Material, quoted: Set[str]) -> _OnHarm:
    """What the records of a candidate say of harm; empty in place of a sentence that is quoted of another one."""
    papers = (each for each in candidate.records if kind_of(material.records[each.key]) == "publication")
    read = [(each, each.readings[0]) for each in papers if each.readings]
    read = [(each, reading) for each, reading in read if reading.design not in NOT_PATIENTS]
    reporting = [each.key for each, reading in read if reading.does_harm]
    size = {each.key: each.item.sample_size or 0 for each, _ in read}
    quotes = list[tuple[str, str]]()
    for key in sorted(size, key=lambda key: (key not in reporting, -size[key])):
        if len(quotes) == MOST_QUOTED:
            break
        every = told_of_harm(material.records[key], candidate.drug)
        if every:
            quotes.append((next((sentence for sentence in every if sentence not in quoted), ""), key))
    return _OnHarm(reporting, quotes)


def _harms(told: _OnHarm, references: References) -> Flow:
    """How many publications report harm, and what is told of it, quoted without a verdict."""
    if not any(told):
        return flow(
            "no result or conclusion was found that names it beside a word for harm; that is no evidence of safety"
        )
    counts = f"{counted(len(told.reporting), 'record')} read as reporting harm" if told.reporting else ""
    parts = [flow(counts, references.cite(told.reporting))] if told.reporting else []
    parts += [
        flow(_quotes([sentence]) if sentence else "as quoted of another drug", references.cite([key]))
        for sentence, key in told.quotes
    ]
    return joined(parts)
