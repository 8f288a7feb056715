"""Check whether a drug is already approved for the condition, and which warnings apply to it there."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from ..evidence import Evidence
from ..lexicon import canonical_condition, canonical_drug, contraindications_of, withdrawal_of
from ..lexicon.matching import stems
from ..questions import Question, routes_in
from ..reading.design import purpose_at
from ..reading.document import Document, Sentence
from ..records import Approval, Disease, Drug, Label
from .appraised import condition_names

Group = Literal["repurposing", "established", "not_checked"]
"""`established`: approved for the condition asked about, or what trials there compare with; `not_checked`: no approval
data were retrieved."""
APPROVED_PHASE = 4  # ChEMBL's max_phase of a marketed drug, https://chembl.gitbook.io/chembl-interface-documentation


def drug_of(record: Evidence) -> str | None:
    """Return the generic name of the drug of a drug entry, approval or label; None for other records."""
    said = record.record
    name = said.drug if isinstance(said, Drug | Label | Approval) else None
    return (canonical_drug(name) or name.lower()) if name else None


def list_developed(asked: Question, pool: Iterable[Evidence]) -> dict[str, float]:
    """List the drugs that databases give for the condition asked about, with each one's highest phase for it."""
    phases: dict[str, float] = {}
    for record in pool:
        said, listed = record.record, list[tuple[str | None, float | None]]()
        if isinstance(said, Drug):
            own = [entry for entry in said.indications if is_condition(entry.get("name", ""), asked)]
            listed = [(drug_of(record), entry.get("max_phase")) for entry in own]
        elif isinstance(said, Disease) and is_condition(said.disease or "", asked):
            listed = [(canonical_drug(str(entry.get("name"))), entry.get("max_phase")) for entry in said.drugs]
        for drug, phase in listed:
            if drug:
                phases[drug] = max(phases.get(drug, 0.0), phase or 0.0)
    return phases


def group_of(asked: Question, phase: float | None, records: Iterable[Evidence]) -> Group:
    """Classify a drug as repurposing candidate or approved for the condition asked about, from entries and labels.

    Databases only name a disease, with a phase. Labels also say whether a drug ends or prevents attacks; in questions
    on prevention, a drug labelled only for acute treatment does not count as approved.
    """
    is_checked, is_for_relief, names_it = False, False, find_namer(asked.conditions)
    for record in records:
        uses = label_sections(record).get("Indications and usage", "") if isinstance(record.record, Label) else ""
        document = Document.cut("", uses)
        for use in filter(names_it, document.sentences):
            if asked.is_preventive and purpose_at(document, use.quote) == "relief":
                is_for_relief = True
            elif "not" not in use.signs:
                return "established"
        is_checked = is_checked or bool(uses) or (isinstance(record.record, Drug) and bool(record.record.indications))
    if (phase or 0) >= APPROVED_PHASE and not is_for_relief:
        return "established"
    return "repurposing" if is_checked else "not_checked"


def cautions_of(drug: str, conditions: Sequence[str], records: Iterable[Evidence]) -> tuple[str, ...]:
    """List a drug's withdrawal and its warnings for conditions or a population, by the curated table and its records.

    Of labels these are the sentences that name one of the conditions.
    """
    found = [f"Withdrawn: {withdrawal}" for withdrawal in [withdrawal_of(drug)] if withdrawal]
    is_gone, names_it = bool(found), find_namer(conditions)
    for each in contraindications_of(drug, conditions):
        found.append(f"{each.kind.capitalize()}: {each}")
    for record in records:
        said = record.record
        if isinstance(said, Drug):
            listed = [name for name in said.contraindications for s in Document.cut("", name).sentences if names_it(s)]
            found += [f"Contraindicated: {name}, by DrugCentral ({record.key})" for name in listed[:1]]
        if isinstance(said, Drug) and not is_gone:
            gone = [warning for warning in said.warnings if warning.get("kind") == "withdrawn"]
            where = [", ".join(str(w[key]) for key in ("country", "year", "about") if key in w) for w in gone]
            found += [f"Withdrawn: {each or 'no details'} ({record.key})" for each in where[:1]]
        elif isinstance(said, Label):
            sections = label_sections(record)
            for heading, text in (("Contraindications", "Contraindicated"), ("Boxed warning", "Boxed warning")):
                warned = [s for s in Document.cut("", sections.get(heading, "")).sentences if names_it(s)]
                found += [f"{text}: “{each.text}” ({record.key})" for each in warned[:1]]
    return tuple(dict.fromkeys(found))


def routes_of(records: Iterable[Evidence]) -> frozenset[str]:
    """Collect a drug's routes of administration from databases; a label covers only one product."""
    told = (said.routes for each in records if isinstance(said := each.record, Drug | Approval))
    return frozenset(name for routes in told for route in routes for name in routes_in(route))


def label_sections(record: Evidence) -> dict[str, str]:
    """Map each heading of a label to its section's text."""
    return dict(part.split(": ", 1) for part in record.content.split("\n\n")[1:] if ": " in part)


def is_condition(name: str, asked: Question) -> bool:
    """Whether an indication matches a condition asked about: it contains all words of one of its names.

    A broader indication does not count: a drug for hypertension is not one for portal hypertension.
    """
    words = frozenset(stems(name))
    return any(wanted and wanted <= words for wanted in (frozenset(stems(n)) for n in condition_names(asked)))


def find_namer(conditions: Sequence[str]) -> Callable[[Sentence], bool]:
    """Return a test for whether a sentence names one of the conditions, under any name."""
    known = {each for each in conditions if canonical_condition(each)}
    others = [frozenset(stems(each)) for each in conditions if each not in known]

    def names_it(sentence: Sentence) -> bool:
        found = any(name in known for name, _, _ in sentence.conditions)
        return found or any(words <= frozenset(stems(sentence.text)) for words in others)

    return names_it
