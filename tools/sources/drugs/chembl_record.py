"""Converts rows of ChEMBL to evidence: a drug with its mechanisms and the conditions it was developed for.

The fields are defined at https://chembl.gitbook.io/chembl-interface-documentation/web-services.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ...evidence import Evidence
from ...http.reply import at, dicts, reported, text
from ...records import Drug
from ...records.parts import Development, DrugWarning, Mechanism

Row = Mapping[str, Any]
"""One row of one of ChEMBL's lists."""

_MAX_INDICATIONS = 60  # per drug in a record; some have hundreds
_SHOWN_INDICATIONS = 12  # per drug in the text


def parse_phase(value: Any) -> float | None:
    """Parse a highest phase: 0.5 (early phase 1) to 4 (marketed); None for null and -1, which both mean "not known".

    >>> parse_phase("4.0"), parse_phase("0.5"), parse_phase("-1.0"), parse_phase(None)
    (4, 0.5, None, None)
    """
    try:
        phase = float(value)
    except (TypeError, ValueError):
        return None
    if not 0 <= phase <= 4:
        return None
    return int(phase) if phase.is_integer() else phase


def parse_drug(
    molecule: Row,
    *,
    mechanisms: Iterable[Row] = (),
    indications: Iterable[Row] = (),
    targets: Iterable[Row] = (),
    warnings: Iterable[Row] = (),
    about: frozenset[str] = frozenset(),
) -> Evidence:
    """Convert one drug to evidence.

    Args:
        molecule: the parent molecule.
        mechanisms: its mechanisms, including its salts'.
        indications: its indications, including its salts'.
        targets: the targets of the mechanisms; others are ignored.
        warnings: its withdrawals and boxed warnings, including its salts'.
        about: indications to list first.
    """
    chembl_id = str(molecule["molecule_chembl_id"])
    name = next(iter(molecule_names(molecule)), chembl_id).lower()
    year, chebi = molecule.get("first_approval"), str(molecule.get("chebi_par_id") or "")
    record = Drug(
        drug=name,
        chembl_id=chembl_id,
        chebi_id=f"CHEBI:{chebi}" if chebi.isdecimal() else None,
        molecule_type=molecule.get("molecule_type") or None,
        max_phase=parse_phase(molecule.get("max_phase")),
        first_approval=int(year) if year and str(year).isdecimal() else None,
        mechanisms=parse_mechanisms(mechanisms, targets),
        indications=parse_indications(indications, about)[:_MAX_INDICATIONS],
        warnings=parse_warnings(warnings),
        routes=[each for each in ("oral", "parenteral", "topical") if molecule.get(each) in (True, 1)],
    )
    shown = name if name == chembl_id.lower() else f"{name.capitalize()} ({chembl_id})"
    url = f"https://www.ebi.ac.uk/chembl/explore/compound/{chembl_id}"
    return Evidence.entry("chembl", shown, _sentences(name.capitalize(), record), record, url)


def parse_mechanisms(rows: Iterable[Row], targets: Iterable[Row]) -> list[Mechanism]:
    """Parse mechanisms of action with their targets, without duplicates and unreported values."""
    known = {str(row.get("target_chembl_id")): row for row in targets}
    found: list[Mechanism] = []
    for row in rows:
        target_id = row.get("target_chembl_id")
        target = known.get(str(target_id), {})
        parts = dicts(target, "target_components")
        synonyms = [each for part in parts for each in dicts(part, "target_component_synonyms")]
        genes = [each.get("component_synonym") for each in synonyms if each.get("syn_type") == "GENE_SYMBOL"]
        mechanism: Any = reported(
            {
                "mechanism_of_action": row.get("mechanism_of_action"),
                "action_type": row.get("action_type"),
                "target_name": target.get("pref_name") or row.get("target_pref_name"),
                "target_id": target_id,
                "gene_symbols": list(dict.fromkeys(filter(None, genes))),
                "organism": organism if (organism := target.get("organism")) != "Homo sapiens" else None,
                "uniprot_ids": list(dict.fromkeys(part["accession"] for part in parts if part.get("accession"))),
            }
        )
        if mechanism and mechanism not in found:
            found.append(mechanism)
    return found


def parse_indications(rows: Iterable[Row], about: frozenset[str] = frozenset()) -> list[Development]:
    """Parse indications: each name once with its highest phase; those in `about` first, then by phase."""
    best: dict[str, Any] = {}
    for row in rows:
        name, phase = indication_name(row), parse_phase(row.get("max_phase_for_ind"))
        if name and (name not in best or (phase or 0) > best[name].get("max_phase", 0)):
            efo_id = str(row.get("efo_id") or "").replace(":", "_")  # Open Targets' spelling
            best[name] = reported({"name": name, "id": row.get("mesh_id") or efo_id, "max_phase": phase})
    return sorted(best.values(), key=lambda each: (each["name"] not in about, -each.get("max_phase", 0), each["name"]))


def parse_warnings(rows: Iterable[Row]) -> list[DrugWarning]:
    """Parse withdrawals and boxed warnings, without duplicates and unreported values.

    >>> parse_warnings([{"warning_type": "Black Box Warning", "warning_class": "hepatotoxicity", "warning_year": 2004}])
    [{'kind': 'boxed warning', 'about': 'hepatotoxicity', 'year': 2004}]
    """
    found: list[DrugWarning] = []
    for row in rows:
        year = str(row.get("warning_year") or "")
        said: Any = reported(
            {
                "kind": (text(row.get("warning_type")) or "").lower().replace("black box warning", "boxed warning"),
                "about": text(row.get("warning_class")),
                "country": text(row.get("warning_country")),
                "year": int(year) if year.isascii() and year.isdecimal() else None,
                "description": text(row.get("warning_description")),
            }
        )
        if "kind" in said and said not in found:
            found.append(said)
    return found


def warned(warning: DrugWarning) -> str:
    """Describe a warning in a few words.

    >>> warned({"kind": "withdrawn", "about": "cardiotoxicity", "country": "United States", "year": 2004})
    'withdrawn (cardiotoxicity; United States; 2004)'
    """
    parts = [str(part) for name in ("about", "country", "year") if (part := warning.get(name))]
    return f"{warning['kind']} ({'; '.join(parts)})" if parts else warning["kind"]


def _sentences(name: str, record: Drug) -> list[str]:
    kind = (record.molecule_type or "drug").lower()
    marketed = " (marketed)" if record.max_phase == 4 else ""
    phase = f", highest phase {record.max_phase}{marketed}" if record.max_phase is not None else ""
    year = f", first approved {record.first_approval}" if record.first_approval else ""
    said = [f"{name}: {kind}{phase}{year}."]
    for mechanism in record.mechanisms:
        target = ", ".join(mechanism.get("gene_symbols", ())) or mechanism.get("target_name")
        action = mechanism.get("mechanism_of_action") or mechanism.get("action_type") or "mechanism not named"
        said.append(f"{name}: {action}{f' (target {target})' if target else ''}.")
    said += [f"{name}: {warned(each)}." for each in record.warnings]
    for each in record.indications[:_SHOWN_INDICATIONS]:
        said.append(f"Highest phase for {each['name']}: {each.get('max_phase', 'not known')}.")
    if (more := len(record.indications) - _SHOWN_INDICATIONS) > 0:
        said.append(f"Developed for {more} other conditions.")
    return said


def parent_id(row: Row) -> str | None:
    """Return the parent molecule's id of a molecule, mechanism or indication; its own id if it is not a salt."""
    found = (
        at(row, "molecule_hierarchy", "parent_chembl_id")
        or row.get("parent_molecule_chembl_id")
        or row.get("molecule_chembl_id")
    )
    return str(found) if found else None


def indication_name(row: Row) -> str | None:
    """Return the name of an indication, MeSH's before EFO's; None if there is neither."""
    name = row.get("mesh_heading") or row.get("efo_term")
    return str(name) if name else None


def molecule_names(molecule: Row) -> list[str]:
    """Return all names of a molecule, the preferred one first."""
    names = [
        molecule.get("pref_name"),
        *(each.get("molecule_synonym") for each in dicts(molecule, "molecule_synonyms")),
    ]
    return [str(name) for name in names if name]
