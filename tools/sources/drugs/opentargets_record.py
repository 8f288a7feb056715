"""Converts answers of Open Targets to evidence: diseases with drugs and targets, drugs with mechanisms and indications.

The fields are those of the schema at https://api.platform.opentargets.org/api/v4/graphql/schema.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from ...evidence import Evidence
from ...http.reply import at, count, dicts, text
from ...records import Disease, Drug, Record
from ...records.parts import AssociatedTarget, Development, Mechanism, Pathway, Signal
from .chembl_record import parse_warnings, warned

PHASE_OF_STAGE: Mapping[str, float] = {
    "APPROVAL": 4,
    "PREAPPROVAL": 3,
    "PHASE_4": 3,
    "PHASE_3": 3,
    "PHASE_2_3": 2,
    "PHASE_2": 2,
    "PHASE_1_2": 1,
    "PHASE_1": 1,
    "EARLY_PHASE_1": 0.5,
    "IND": 0,
    "PRECLINICAL": 0,
}
"""Clinical stages as ChEMBL's highest phase, where 4 means approved; `WITHDRAWAL` and `UNKNOWN` have no phase.

A phase 4 trial of a drug that is not approved for the condition counts as 3; combined phases count as the lower one.
"""

_SPOKEN = {"APPROVAL": "approved", "WITHDRAWAL": "withdrawn", "IND": "trials applied for"}
_MAX_DRUGS = 60  # per disease in a record
_MAX_INDICATIONS = 60  # per drug in a record; some have hundreds
_MAX_TARGETS = 10
_MAX_PATHWAYS = 12  # per drug in a record; well-studied targets belong to dozens
_SHOWN = 15  # drugs or indications in the text


def parse_disease(disease: Mapping[str, Any]) -> Evidence:
    """Convert a disease: its drugs by highest stage, its targets by score (0 to 1)."""
    disease_id, name = str(disease["id"]), str(disease.get("name") or disease["id"])
    rows = dicts(disease, "drugAndClinicalCandidates", "rows") or dicts(disease, "knownDrugs", "rows")
    drugs = _keep_furthest(
        {
            **_stage(row),
            "name": str(at(row, "drug", "name") or at(row, "drug", "id") or "").lower(),
            "chembl_id": at(row, "drug", "id"),
        }
        for row in rows
    )
    targets = list[AssociatedTarget]()
    for row in dicts(disease, "associatedTargets", "rows")[:_MAX_TARGETS]:
        if symbol := at(row, "target", "approvedSymbol"):
            target = AssociatedTarget(symbol=symbol, score=row.get("score"))
            by_kind = {str(each.get("id")): each.get("score") for each in dicts(row, "datatypeScores")}
            if isinstance(genetic := by_kind.get("genetic_association"), int | float):
                target["genetic"] = genetic
            if isinstance(pathway := by_kind.get("affected_pathway"), int | float):
                target["pathway"] = pathway
            targets.append(target)
    record = Disease(disease=name, disease_id=disease_id, drugs=drugs[:_MAX_DRUGS], targets=targets)
    said = [f"Known drugs for {name}: {_list_stages(drugs)}."] if drugs else [f"No known drugs are listed for {name}."]
    if targets:
        scores = ", ".join(
            f"{each['symbol']} {score:.2f}" if isinstance(score := each["score"], int | float) else str(each["symbol"])
            for each in targets
        )
        said.append(f"Targets associated with {name} (score 0 to 1): {scores}.")
    if genetic := [f"{each['symbol']} {each['genetic']:.2f}" for each in targets if "genetic" in each]:
        said.append(f"By genetic associations alone: {', '.join(genetic)}.")
    return _evidence(f"{name} ({disease_id})", said, record, disease_id)


def parse_drug(drug: Mapping[str, Any]) -> Evidence:
    """Convert a drug: its mechanisms with their targets, its indications by highest stage."""
    chembl_id, name = str(drug["id"]), str(drug.get("name") or drug["id"]).lower()
    indications = _keep_furthest(
        {
            **_stage(row),
            "name": at(row, "disease", "name") or "",
            **({"id": number} if (number := at(row, "disease", "id")) is not None else {}),
        }
        for row in dicts(drug, "indications", "rows")
    )
    mechanisms = [mechanism for row in dicts(drug, "mechanismsOfAction", "rows") if (mechanism := _mechanism(row))]
    record = Drug(
        drug=name,
        chembl_id=chembl_id,
        molecule_type=drug.get("drugType") or None,
        max_phase=_phase(drug.get("maximumClinicalStage"), drug.get("maximumClinicalTrialPhase")),
        mechanisms=[each for i, each in enumerate(mechanisms) if each not in mechanisms[:i]],
        indications=indications[:_MAX_INDICATIONS],
        pathways=_pathways(dicts(drug, "mechanismsOfAction", "rows"))[:_MAX_PATHWAYS],
        warnings=parse_warnings(  # in the format of ChEMBL, where they come from
            {
                "warning_type": row.get("warningType"),
                "warning_class": row.get("toxicityClass"),
                **{f"warning_{part}": row.get(part) for part in ("description", "country", "year")},
            }
            for row in dicts(drug, "drugWarnings")
        ),
        signals=_signals(drug),
    )
    shown = name.capitalize()
    said = [f"{shown}: {_describe_mechanism(mechanism)}." for mechanism in record.mechanisms]
    if record.pathways:
        said.append(f"Pathways of its targets (Reactome): {', '.join(each['name'] for each in record.pathways)}.")
    said += [f"{shown} was developed for: {_list_stages(indications)}."] if indications else []
    said += [f"{shown}: {warned(each)}." for each in record.warnings]
    if record.signals:
        listed = ", ".join(signalled(each) for each in record.signals)
        said.append(f"Reported after {name} more often than after other drugs, which shows no cause: {listed}.")
    said = said or [f"{shown}: neither mechanism nor indication is listed."]
    return _evidence(f"{shown} ({chembl_id})", said, record, chembl_id)


def _signals(drug: Mapping[str, Any]) -> list[Signal]:
    """Return events above the critical value, strongest first; empty if there is no such value."""
    critical = at(drug, "adverseEvents", "criticalValue")
    found: list[Signal] = []
    for row in dicts(drug, "adverseEvents", "rows"):
        term, reports, ratio = text(row.get("name")), count(row.get("count")), row.get("logLR")
        if term and reports is not None and _is_figure(ratio) and _is_figure(critical) and ratio > critical:
            found.append({"term": term.lower(), "count": reports, "log_likelihood": round(ratio, 1)})
    return sorted(found, key=lambda each: (-each["log_likelihood"], each["term"]))


def signalled(signal: Signal) -> str:
    """Describe an event in a few words.

    >>> signalled({"term": "bradycardia", "count": 1204, "log_likelihood": 310.5})
    'bradycardia (1,204 reports, log-likelihood ratio 310.5)'
    """
    return f"{signal['term']} ({signal['count']:,} reports, log-likelihood ratio {signal['log_likelihood']:g})"


def _is_figure(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12


def _evidence(title: str, said: Iterable[str], record: Record, identifier: str) -> Evidence:
    url = f"https://platform.opentargets.org/{record.kind}/{identifier}"
    return Evidence.entry("opentargets", title, said, record, url)


def _mechanism(row: Mapping[str, Any]) -> Mechanism:
    targets = dicts(row, "targets")
    found = {
        "mechanism_of_action": row.get("mechanismOfAction"),
        "action_type": row.get("actionType"),
        "target_name": row.get("targetName") or next((each.get("approvedName") for each in targets), None),
        "target_id": next((each.get("id") for each in targets), None),
        "gene_symbols": [each["approvedSymbol"] for each in targets if each.get("approvedSymbol")],
        "pathways": _pathways([row])[:_MAX_PATHWAYS],
    }
    told: Any = {key: value for key, value in found.items() if value}
    mechanism: Mechanism = told
    return mechanism


def _pathways(rows: Iterable[Mapping[str, Any]]) -> list[Pathway]:
    """Return the Reactome pathways of the targets, id and name, those with most targets first."""
    targets = {str(each.get("id")): each for row in rows for each in dicts(row, "targets")}
    listed = [path for each in targets.values() for path in dicts(each, "pathways")]
    named = [
        (str(path["pathwayId"]), str(path["pathway"]))
        for path in listed
        if path.get("pathway") and path.get("pathwayId")
    ]
    return [{"id": number, "name": name} for (number, name), _ in Counter(named).most_common()]


def _describe_mechanism(mechanism: Mechanism) -> str:
    action = mechanism.get("mechanism_of_action") or mechanism.get("action_type") or "mechanism not named"
    target = ", ".join(mechanism.get("gene_symbols", ())) or mechanism.get("target_name")
    return f"{action} (target {target})" if target else str(action)


def _stage(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row's stage in either schema, and the corresponding phase; unknown values are left out."""
    stage = row.get("maxClinicalStage")
    phase = _phase(stage, row.get("phase", row.get("maxPhaseForIndication")))
    known = {"max_phase": phase, "stage": stage if stage != "UNKNOWN" else None}
    return {key: value for key, value in known.items() if value is not None}


def _phase(stage: Any, number: Any) -> float | None:
    """Return the phase of a stage in the current schema, or of a number in the previous one.

    >>> _phase("PHASE_1_2", None), _phase(None, 4), _phase("UNKNOWN", None)
    (1, 4, None)
    """
    if isinstance(stage, str):
        return PHASE_OF_STAGE.get(stage.upper())
    return number if isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= 4 else None


def _keep_furthest(entries: Iterable[dict[str, Any]]) -> list[Development]:
    """Return each name once, with its highest stage; highest first, then by name."""
    best: dict[str, Any] = {}
    for entry in entries:
        name = entry["name"]
        if name and (name not in best or entry.get("max_phase", -1) > best[name].get("max_phase", -1)):
            best[name] = entry
    return sorted(best.values(), key=lambda each: (-each.get("max_phase", -1), each["name"]))


def _list_stages(entries: list[Development]) -> str:
    told = []
    for each in entries[:_SHOWN]:
        reached = f"phase {each['max_phase']}" if "max_phase" in each else "stage not known"
        if "stage" in each:
            reached = _SPOKEN.get(each["stage"], str(each["stage"]).replace("_", " ").lower())
        told.append(f"{each['name']} ({reached})")
    return ", ".join(told) + (f" and {len(entries) - _SHOWN} more" if len(entries) > _SHOWN else "")
