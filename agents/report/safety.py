"""Safety and regulatory status of candidates: approvals, withdrawals, labels, serious events, harms in publications.

Everything is quoted or counted; nothing is weighed against benefit or recommended.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from willowbark.tools.appraisal.appraised import condition_names
from willowbark.tools.appraisal.approvals import label_sections
from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.appraisal.harms import NOT_PATIENTS, harm_sentences
from willowbark.tools.appraisal.posted import SeriousEvents
from willowbark.tools.enclosure import visible
from willowbark.tools.evidence import Evidence
from willowbark.tools.lexicon import canonical_drug, withdrawal_of
from willowbark.tools.lexicon.stemming import stems
from willowbark.tools.questions.question import speaks_of
from willowbark.tools.reading.screening import readable, set_aside
from willowbark.tools.reading.text import sentences
from willowbark.tools.records import Approval, Drug, Label
from willowbark.tools.registry import kind_of, title_of
from willowbark.tools.sources.drugs.drug_record import signalled, warned
from willowbark.tools.wording import listed, short

from .content import EVENTS_NOTE, NOT_REPORTED, ReportSection
from .forms.blocks import Block, Section
from .material import Material, References
from .texts import write_blocks

MOST_QUOTED = 2  # sentences of each kind
MOST_GROUPS = 6  # trial groups with serious adverse events
MOST_TRIALS = 3
LONGEST = 200  # characters of a drug's warning
_USES = ("Indications and usage",)
_WARNINGS = ("Contraindications", "Boxed warning", "Warnings", "Pregnancy")


class _Harms(NamedTuple):
    """Harms of a candidate reported in publications."""

    reporting: list[str]
    """Keys of publications on patients that clearly report harm."""
    quotes: list[tuple[str, str]]
    """Sentences with their records' keys: from these first, then from others by number of participants."""


def safety_section(material: Material, references: References) -> ReportSection | None:
    """Write the section on each candidate's status and harms; None without candidates."""
    if not material.shown:
        return None
    start, entries = len(references.keys), dict[str, list[Evidence]]()
    for record in material.pool:
        entry = record.record
        if isinstance(entry, Drug | Label | Approval) and entry.drug:
            entries.setdefault(canonical_drug(entry.drug) or entry.drug.lower(), []).append(record)
    harms, quoted = dict[str, _Harms](), dict[str, str]()
    for candidate in material.shown:
        harms[candidate.drug] = _harms_of(candidate, material, quoted)
        quoted = {sentence: candidate.drug for sentence, _ in harms[candidate.drug].quotes} | quoted
    known = [c for c in material.shown if any(harms[c.drug]) or _is_known(c, entries.get(c.drug, []))]
    silent = [candidate.drug for candidate in material.shown if candidate not in known]
    blocks: list[Block] = [*write_blocks("safety", "intro", silent=listed(silent, most=len(silent)))]
    for place, candidate in enumerate(known, 1):
        drug, records, found = candidate.drug, entries.get(candidate.drug, []), harms[candidate.drug]
        data: dict[str, Any] = {"approvals": _approvals(records), "withdrawn": withdrawal_of(drug)}
        data |= _warnings_and_signals(records)
        data["label"] = label = _label(records, drug, material)
        events = list[tuple[str, str]]()
        posted = [(r.key, r.posted.serious_events) for r in candidate.records if r.posted and r.posted.serious_events]
        for key, groups in posted[:MOST_TRIALS]:
            counts = listed([count_events(each) for each in groups], most=MOST_GROUPS)
            events.append((f"{key.removeprefix('nct:')}: {counts}", key))
        data |= {"events": events, "events_note": EVENTS_NOTE}
        data["harms"] = {
            "reporting": found.reporting,
            "quotes": [
                (sentence if quoted[sentence] == drug else "", quoted[sentence], key) for sentence, key in found.quotes
            ],
        }
        kinds = {each["kind"] for r in records if isinstance(r.record, Drug) for each in r.record.warnings}
        is_gone = bool(data["withdrawn"]) or "withdrawn" in kinds
        is_boxed = bool(label and label["boxed"]) or "boxed warning" in kinds
        note = ", ".join(["withdrawn"] * is_gone + ["boxed warning"] * is_boxed)
        blocks.append(
            Section(drug, f"safety-{place}", write_blocks("safety", "drug", references.cite, d=data), note, "folded")
        )
    return ReportSection.of("Safety and regulation", blocks, references.keys[start:])


def count_events(group: SeriousEvents) -> str:
    """Format a group with its participants with a serious adverse event out of all."""
    return f"{group.group} {group.affected} of {NOT_REPORTED if group.at_risk is None else group.at_risk}"


def _is_known(candidate: Candidate, records: Sequence[Evidence]) -> bool:
    """Whether a source other than publications reports its status or harms."""
    entries = [each.record for each in records if isinstance(each.record, Drug)]
    return bool(
        any(isinstance(each.record, Label | Approval) for each in records)
        or any(each.first_approval or each.warnings or each.signals for each in entries)
        or any(each.posted and each.posted.serious_events for each in candidate.records)
        or withdrawal_of(candidate.drug)
    )


def _approvals(records: Sequence[Evidence]) -> list[Mapping[str, Any]]:
    """Return each agency's first approval, else the earliest year in a database, without an agency."""
    found = list[Mapping[str, Any]]()
    for record in records:
        if isinstance(approval := record.record, Approval):
            dated = (each for each in approval.applications if each.get("approved") == approval.first_approved)
            first = next(dated, None) or {}
            found.append(
                {
                    "agency": f"the {approval.agency}" if approval.agency else "an unnamed agency",
                    "first": approval.first_approved,
                    "product": ", ".join(str(first[name]) for name in ("number", "brand") if name in first),
                    "is_discontinued": approval.is_sold is False,
                    "key": record.key,
                }
            )
    years = [
        (r.record.first_approval, r.key, title_of(r.citation.source))
        for r in records
        if isinstance(r.record, Drug) and r.record.first_approval
    ]
    year, key, source = min(years, default=(None, "", ""))
    return found or [{"agency": "", "year": year, "source": source, "key": key}]


def _warnings_and_signals(records: Sequence[Evidence]) -> dict[str, Any]:
    """Return withdrawals and warnings from ChEMBL, disproportionately reported events from Open Targets."""
    entries = [(record.key, record.record) for record in records if isinstance(record.record, Drug)]
    data: dict[str, Any] = {"warnings": "", "signals": ""}
    for key, entry in [(key, entry) for key, entry in entries if entry.warnings][:1]:
        data |= {"warnings": "; ".join(map(warned, entry.warnings)), "warnings_key": key}
    for key, entry in [(key, entry) for key, entry in entries if entry.signals][:1]:
        data |= {"signals": ", ".join(map(signalled, entry.signals)), "signals_key": key}
    return data


def _label(records: Sequence[Evidence], drug: str, material: Material) -> Mapping[str, Any] | None:
    record = next((readable(each) for each in records if isinstance(each.record, Label)), None)
    if record is None or not isinstance(label := record.record, Label):
        return None
    sections, others = label_sections(record), [candidate.drug for candidate in material.shown]
    rivals = [each for each in label.named_drugs if each["drug"] in others and each["drug"] != drug]
    clean = [(each["drug"], visible(set_aside(each["sentence"])).strip(), each["heading"]) for each in rivals]
    return {
        "key": record.key,
        "people": " or ".join(filter(None, (material.asked.population, short(material.topic)))),
        "boxed": sentences(sections.get("Boxed warning", ""))[:MOST_QUOTED],
        "uses": list(_on_the_asked(sections, _USES, material))[:MOST_QUOTED],
        "warnings": list(_on_the_asked(sections, _WARNINGS, material))[:MOST_QUOTED],
        "contraindications": sections.get("Contraindications", ""),
        "interactions": [each for each in clean if each[1]][: 2 * MOST_QUOTED],
    }


def _on_the_asked(
    sections: Mapping[str, str], headings: Sequence[str], material: Material
) -> Iterator[tuple[str, str]]:
    """Yield sentences under these headings on the people or the condition asked about, each with its heading."""
    population = material.asked.population
    conditions = [frozenset(stems(name)) for name in condition_names(material.asked)]
    for heading in headings:
        for sentence in sentences(sections.get(heading, "")):
            words = frozenset(stems(sentence))
            on_people = population and (
                speaks_of(sentence, population) or (population == "pregnancy" and heading == "Pregnancy")
            )
            if on_people or (heading != "Pregnancy" and any(name <= words for name in conditions)):
                yield sentence, heading


def _harms_of(candidate: Candidate, material: Material, quoted: Mapping[str, str]) -> _Harms:
    """Collect harms from a candidate's publications; sentences not `quoted` for another drug first."""
    papers = (each for each in candidate.records if kind_of(material.records[each.key]) == "publication")
    read = [(each, each.readings[0]) for each in papers if each.readings]
    read = [(each, reading) for each, reading in read if reading.design not in NOT_PATIENTS]
    reporting = [each.key for each, reading in read if reading.does_harm]
    size = {each.key: each.item.sample_size or 0 for each, _ in read}
    quotes = list[tuple[str, str]]()
    for key in sorted(size, key=lambda key: (key not in reporting, -size[key])):
        every = harm_sentences(material.records[key], candidate.drug)
        if every and len(quotes) < MOST_QUOTED:
            quotes.append((next((sentence for sentence in every if sentence not in quoted), every[0]), key))
    return _Harms(reporting, quotes)
