"""Where drugs stand: marketed, approved, in trials."""

from collections import Counter

from willowbark.tools.appraisal.candidates import APPROVED_PHASE, is_asked_about, is_condition
from willowbark.tools.records import Approval, Label, Trial
from willowbark.tools.wording import listed, short

from ..content import NOT_REPORTED
from ..forms.blocks import flow, points
from ..material import Material, References
from .answer import LONGEST_QUOTE, Answer, entries_of, named_in


def on_status(material: Material, references: References) -> Answer:
    """The answer on approvals and trials."""
    asked, known = material.asked, entries_of(material)
    topic = short(material.topic)
    highest: dict[str, float] = {}
    for drug, entries in known.items():
        phases = [
            entry.get("max_phase")
            for _, said in entries
            for entry in said.indications
            if not asked.conditions or is_condition(entry.get("name", ""), asked)
        ]
        highest[drug] = max((float(phase) for phase in phases if phase is not None), default=0.0)
    marketed = [drug for drug, phase in highest.items() if phase >= APPROVED_PHASE]
    where = f" for {topic}" if asked.conditions else ""
    said = []
    if marketed:
        said.append(f"Marketed{where}, by the drug databases: {listed(marketed, most=8)}.")
    if rest := [drug for drug in (asked.drugs or highest) if drug not in marketed]:
        told = [f"{drug} (highest phase {highest[drug]:g})" if highest.get(drug) else drug for drug in rest]
        said.append(f"Not listed as marketed{where} there: {listed(told, most=6)}.")
    said += [
        f"The United States label of {record.record.drug} gives: “{short(uses, LONGEST_QUOTE)}”"
        for record in material.pool
        if isinstance(record.record, Label) and is_asked_about(record.record.drug or "", asked)
        for uses in [record.content.partition("Indications and usage: ")[2].partition("\n\n")[0]]
        if uses
    ]
    trials = _trials(material)
    states = Counter((t.overall_status or f"status {NOT_REPORTED}").replace("_", " ").lower() for _, t in trials)
    of_what = named_in(material) or topic
    tally = listed([f"{number} {state}" for state, number in states.items()], most=6)
    said.append(f"Registered trials read on {of_what}: {tally or 'none'}.")
    approved = [
        f"{each.drug} {each.first_approved} ({each.agency})"
        for record in material.pool
        if isinstance(each := record.record, Approval)
        and each.first_approved
        and is_asked_about(each.drug or "", asked)
    ]
    said.append(
        f"First approved in the United States, among the products listed: {listed(approved, most=6)}."
        if approved
        else "Which agency approved what, and when, is not in the records at hand."
    )
    items = [flow(f"{t.nct_id}: {material.records[key].citation.title}", references.cite([key])) for key, t in trials]
    return Answer(said, [points(items)] if items else [])


def _trials(material: Material) -> list[tuple[str, Trial]]:
    """Registered trials on the drugs asked about, or on any where none is named."""
    drugs = [c for c in material.candidates if not named_in(material) or is_asked_about(c.drug, material.asked)]
    keys = {record.key for candidate in drugs for record in candidate.records}
    found = [(record.key, record.record) for record in material.pool if record.key in keys]
    return [(key, said) for key, said in found if isinstance(said, Trial)]
