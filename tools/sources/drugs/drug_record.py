"""What the records of drug databases share: phases, conditions of development, warnings, and the sentences on them."""

from collections.abc import Iterable, Mapping
from typing import Any

from ...http.reply import count, reported, text, without_repeats
from ...records import Development, Drug, DrugWarning, Mechanism, Signal
from ...records.evidence import Evidence, SourceName

_SHOWN = 15  # conditions or drugs in a text
_SPOKEN = {"APPROVAL": "approved", "WITHDRAWAL": "withdrawn", "IND": "trials applied for"}
"""Open Targets' clinical stages in words, where they are no phase."""


def drug_entry(source: SourceName, record: Drug, url: str, *, called: str, uses: str = "was developed for") -> Evidence:
    """Convert a drug's record to evidence, whose text says what the record does.

    `called` is its identifier or database, added to the title unless the drug has no other name; `uses` introduces the
    conditions.
    """
    name = (record.drug or called).capitalize()
    phase = f", highest phase {record.max_phase}" if record.max_phase is not None else ""
    phase += " (marketed)" if record.max_phase == 4 else ""
    phase += f", first approved {record.first_approval}" if record.first_approval else ""
    lines = [f"{name}: {(record.molecule_type or 'drug').lower()}{phase}."] if record.molecule_type or phase else []
    lines += [f"{name}: {_describe_mechanism(mechanism)}." for mechanism in record.mechanisms]
    if record.pathways:
        lines.append(
            f"Pathways of its targets (Reactome): {', '.join(pathway['name'] for pathway in record.pathways)}."
        )
    lines += [f"{name}: {warned(warning)}." for warning in record.warnings]
    lines += [f"{name} {uses}: {list_stages(record.indications)}."] if record.indications else []
    if record.contraindications:
        lines.append(f"{name} is contraindicated, by DrugCentral, in: {', '.join(record.contraindications)}.")
    if record.signals:
        listed = ", ".join(signalled(signal) for signal in record.signals)
        lines.append(
            f"Reported after {name.lower()} more often than after other drugs, which shows no cause: {listed}."
        )
    title = name if name.lower() == called.lower() else f"{name} ({called})"
    return Evidence.entry(source, title, lines or [f"{name}: neither mechanism nor use is listed."], record, url)


def _describe_mechanism(mechanism: Mechanism) -> str:
    kind = (mechanism.get("action_type") or "mechanism not named").lower()
    action = mechanism.get("mechanism_of_action") or kind
    target = ", ".join(mechanism.get("gene_symbols", ())) or mechanism.get("target_name")
    return f"{action} (target {target})" if target else action


def list_stages(entries: list[Development]) -> str:
    """Name at most fifteen conditions or drugs, each with its highest stage: `gout (approved), rash (phase 2)`."""
    stages = []
    for entry in entries[:_SHOWN]:
        reached = f"phase {entry['max_phase']}" if "max_phase" in entry else ""
        if "stage" in entry:
            reached = _SPOKEN.get(entry["stage"], entry["stage"].replace("_", " ").lower())
        stages.append(f"{entry['name']} ({reached})" if reached else entry["name"])
    return ", ".join(stages) + (f" and {len(entries) - _SHOWN} more" if len(entries) > _SHOWN else "")


def parse_phase(value: Any) -> float | None:
    """Parse a highest phase: 0.5 (early phase 1) to 4 (marketed); None for null and -1, which mean "not known"."""
    try:
        phase = float(value)
    except (TypeError, ValueError):
        return None
    if not 0 <= phase <= 4:
        return None
    return int(phase) if phase.is_integer() else phase


def keep_furthest(rows: Iterable[Mapping[str, Any]]) -> list[Development]:
    """Return each name once, with its highest phase, by phase, then by name."""
    best: dict[str, Any] = {}
    for row in map(reported, rows):
        name = row.get("name")
        if name and (name not in best or row.get("max_phase", -1) > best[name].get("max_phase", -1)):
            best[name] = row
    return sorted(best.values(), key=lambda row: (-row.get("max_phase", -1), row["name"]))


def parse_warnings(rows: Iterable[Mapping[str, Any]]) -> list[DrugWarning]:
    """Parse withdrawals and boxed warnings in ChEMBL's form, without duplicates and unreported values."""
    warnings = []
    for row in rows:
        fields = {
            "kind": (text(row.get("warning_type")) or "").lower().replace("black box warning", "boxed warning"),
            "about": text(row.get("warning_class")),
            "country": text(row.get("warning_country")),
            "year": count(row.get("warning_year")) or None,
            "description": text(row.get("warning_description")),
        }
        warnings += [reported(fields)] if fields["kind"] else []
    return without_repeats(warnings)


def warned(warning: DrugWarning) -> str:
    """Describe a warning: `withdrawn (cardiotoxicity; United States; 2004)`."""
    parts = [str(part) for name in ("about", "country", "year") if (part := warning.get(name))]
    return f"{warning['kind']} ({'; '.join(parts)})" if parts else warning["kind"]


def signalled(signal: Signal) -> str:
    """Describe an event: `bradycardia (1,204 reports, log-likelihood ratio 310.5)`."""
    return f"{signal['term']} ({signal['count']:,} reports, log-likelihood ratio {signal['log_likelihood']:g})"
