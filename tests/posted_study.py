"""Studies with posted results, as the registry's API writes them, from the few facts that a case is about."""

from typing import Any

from willowbark.tools.records.evidence import Evidence
from willowbark.tools.sources.studies.clinicaltrials import parse_study

Facts = dict[str, Any]
DRUG = ("Topiramate", "EXPERIMENTAL", ["Drug: topiramate"])
PLACEBO = ("Placebo", "PLACEBO_COMPARATOR", ["Drug: Placebo"])


def outcome(title: str, values: dict[str, Any], *analyses: Facts, **more: Any) -> Facts:
    """A primary outcome: values by group title, `(value, n)` or a value alone, and analyses that name groups."""
    ids = {name: f"OG{number:03d}" for number, name in enumerate(values)}
    pairs = {name: value if isinstance(value, tuple) else (value, 100) for name, value in values.items()}
    measurements = [
        {"groupId": ids[n], "value": str(v), "spread": more.get("spread", "")} for n, (v, _) in pairs.items()
    ]
    return {
        "type": "PRIMARY",
        "title": title,
        "description": more.get("description", ""),
        "unitOfMeasure": more.get("unit", "days"),
        "paramType": "MEAN",
        "dispersionType": more.get("dispersion", ""),
        "groups": [{"id": ids[n], "title": n, "description": more.get("described", {}).get(n, "")} for n in values],
        "denoms": [{"counts": [{"groupId": ids[n], "value": str(size)} for n, (_, size) in pairs.items()]}],
        "classes": [{"categories": [{"measurements": measurements}]}],
        "analyses": [
            {
                "groupIds": [ids[name] for name in a.get("groups", list(values))],
                **{k: v for k, v in a.items() if k != "groups"},
            }
            for a in analyses
        ],
    }


def analysis(p: str | None = None, effect: str = "Mean Difference (Net)", value: str = "-1.0", **more: Any) -> Facts:
    """A test of superiority; `ci` is (lower, upper) of 95 %."""
    low, high = more.pop("ci", (None, None))
    found = {"pValue": p, "paramType": effect, "paramValue": value, "ciLowerLimit": low, "ciUpperLimit": high}
    level = "95" if low else None
    found |= {"ciPctValue": level, "nonInferiorityType": "SUPERIORITY", "statisticalMethod": "ANCOVA"} | more
    return {name: part for name, part in found.items() if part is not None}


def study(*outcomes: Facts, arms: Any = (DRUG, PLACEBO), **more: Any) -> Facts:
    """A randomised, blinded trial with posted results."""
    info = {
        "allocation": more.get("allocation", "RANDOMIZED"),
        "interventionModel": "PARALLEL",
        "primaryPurpose": more.get("purpose", "PREVENTION"),
        "maskingInfo": {"masking": more.get("masking", "QUADRUPLE")},
    }
    events = [
        {"id": "EG0", "title": "Topiramate", "seriousNumAffected": 4, "seriousNumAtRisk": 120},
        {"title": "Placebo", "seriousNumAffected": 3, "seriousNumAtRisk": 118},
    ]
    return {
        "protocolSection": {
            "identificationModule": {"nctId": "NCT99999901", "briefTitle": "A trial to prevent migraine"},
            "statusModule": {"overallStatus": "COMPLETED", **more.get("status", {})},
            "conditionsModule": {"conditions": more.get("conditions", ["Migraine"])},
            "designModule": {"designInfo": info, "enrollmentInfo": {"count": 240}},
            "armsInterventionsModule": {
                "armGroups": [{"label": a[0], "type": a[1], "interventionNames": a[2]} for a in arms],
                "interventions": [{"type": "DRUG", "name": "topiramate"}],
            },
        },
        "resultsSection": {
            "outcomeMeasuresModule": {"outcomeMeasures": list(outcomes)},
            "adverseEventsModule": {"eventGroups": events},
        },
        "hasResults": True,
    }


def trial(*outcomes: Facts, **more: Any) -> Evidence:
    """The study as a record."""
    record = parse_study(study(*outcomes, **more))
    assert record
    return record
