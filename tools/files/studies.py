"""Trials in the registry's older and flatter forms, written as its API writes them."""

from collections.abc import Sequence
from typing import Any, get_args

from ..records.evidence import date_parts
from ..sources.studies.clinicaltrials import Phase
from .item import RecordFields

PHASES: tuple[str, ...] = get_args(Phase)


def study_of_facts(
    *,
    nct_id: str,
    title: str,
    official_title: str = "",
    acronym: str = "",
    status: str = "",
    why_stopped: str = "",
    summary: str = "",
    conditions: Sequence[str] = (),
    interventions: Sequence[str] = (),
    outcomes: Sequence[str] = (),
    secondary: Sequence[str] = (),
    sponsor: str = "",
    phases: Sequence[str] = (),
    enrollment: str = "",
    study_type: str = "",
    design: dict[str, str] | None = None,
    start: str = "",
    completion: str = "",
    updated: str = "",
    has_results: bool | None = None,
) -> RecordFields:
    """Return a study with what is given; what is not is left out.

    Args:
        interventions: `DRUG: Topiramate`, or names alone.
        enrollment: people, as digits.
        design: `allocation`, `masking` and `primary purpose`, in the registry's codes.
        has_results: None if that is not told.
        others: as the registry's API names them; dates that are none are left out.
    """
    aims = design or {}
    people = enrollment.strip()
    info = {
        "allocation": aims.get("allocation"),
        "primaryPurpose": aims.get("primary purpose"),
        "maskingInfo": _without_blanks({"masking": aims.get("masking")}),
    }
    protocol: dict[str, dict[str, Any]] = {
        "identificationModule": {
            "nctId": nct_id, "briefTitle": title, "officialTitle": official_title, "acronym": acronym,
        },
        "statusModule": {
            "overallStatus": status,
            "whyStopped": why_stopped,
            "startDateStruct": _date(start),
            "completionDateStruct": _date(completion),
            "lastUpdatePostDateStruct": _date(updated),
        },
        "descriptionModule": {"briefSummary": summary},
        "sponsorCollaboratorsModule": {"leadSponsor": _without_blanks({"name": sponsor})},
        "conditionsModule": {"conditions": list(conditions)},
        "designModule": {
            "studyType": study_type,
            "phases": list(phases),
            "designInfo": _without_blanks(info),
            "enrollmentInfo": {"count": int(people)} if people.isdecimal() else None,
        },
        "armsInterventionsModule": {"interventions": [_intervention(name) for name in interventions]},
        "outcomesModule": {
            "primaryOutcomes": [{"measure": measure} for measure in outcomes],
            "secondaryOutcomes": [{"measure": measure} for measure in secondary],
        },
    }  # fmt: skip
    modules = {name: _without_blanks(module) for name, module in protocol.items()}
    study: RecordFields = {"protocolSection": _without_blanks(modules)}
    if has_results is not None:
        study["hasResults"] = has_results
    return study


def _without_blanks(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value}


def _date(text: str) -> dict[str, str]:
    return {"date": text} if date_parts(text) else {}


def _intervention(text: str) -> dict[str, str]:
    kind, colon, name = text.partition(": ")
    is_coded = bool(colon) and kind.replace(" ", "").replace("_", "").isalpha() and len(kind) < 25
    if not is_coded:
        return {"name": text}
    return {"type": kind.strip().upper().replace(" ", "_"), "name": name.strip()}
