"""Export a report as FHIR R5: a `Bundle` of studies, comparisons, citations and the certainty of each candidate.

The resources are those on which HL7's Evidence-Based Medicine guide builds (https://build.fhir.org/ig/HL7/ebm/):
`ResearchStudy` with its comparison groups, `Evidence` for each comparison and for each candidate, `Citation`. What R5
has no element for stands in extensions of ours. Codes are given only where HL7's own code systems are plain; else text.
The extra `fhir` reads and checks them (https://pypi.org/project/fhir.resources/).
"""

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from willowbark.tools.records.study import Arm, Comparison, Estimate, Study

from .citations import CslItem, list_items, make_citation_key

if TYPE_CHECKING:
    from ..report.content import DrugCandidate
    from ..report.model import ResearchReport

Resource = dict[str, Any]
"""A resource or an element, as JSON."""
_OURS = "urn:willowbark:"
_IDS = uuid.uuid5(uuid.NAMESPACE_URL, _OURS)
_CERTAINTY = "http://terminology.hl7.org/CodeSystem/certainty-rating"
_CODES = {"high": "high", "moderate": "moderate", "low": "low", "very low": "very-low"}
_SYSTEMS = {
    "PMID": "https://pubmed.ncbi.nlm.nih.gov",
    "DOI": "https://doi.org",
    "number": "https://clinicaltrials.gov",
}
"""Naming systems of identifiers, by their fields in CSL-JSON."""


def make_bundle(report: "ResearchReport") -> Resource:
    """Return the report as a `Bundle`; the same report gives the same ids."""
    items = {str(ref["key"]): item for ref, item in zip(report.references, list_items(report), strict=True)}
    resources = [_make_citation(key, item) for key, item in items.items()]
    resources += [_make_study(study, items) for study in report.studies]
    for study in report.studies:
        resources += _make_comparisons(study)
    resources += [_make_appraisal(report, candidate) for candidate in report.candidates]
    entries: list[Resource] = []
    for resource in resources:
        entries.append({"fullUrl": _make_url(resource["resourceType"], resource["id"]), "resource": resource})
    return {
        "resourceType": "Bundle",
        "type": "collection",
        "timestamp": report.generated_at.isoformat(timespec="seconds"),
        "entry": entries,
    }


def as_fhir(report: "ResearchReport") -> bytes:
    """Export as JSON of FHIR R5."""
    return f"{json.dumps(make_bundle(report), ensure_ascii=False, indent=2)}\n".encode(errors="replace")


def _make_id(kind: str, key: str) -> str:
    """Return an id of at most 64 letters, digits and dashes."""
    return f"{kind}-{make_citation_key(key)}"[:64]


def _make_url(kind: str, identity: str) -> str:
    return f"urn:uuid:{uuid.uuid5(_IDS, f'{kind}/{identity}')}"


def _make_text(text: str) -> Resource:
    return {"text": text}


def _make_extension(name: str, value: object) -> Resource:
    kind = "valueBoolean" if isinstance(value, bool) else "valueInteger" if isinstance(value, int) else "valueString"
    return {"url": f"{_OURS}{name}", kind: value if isinstance(value, bool | int) else str(value)}


def _make_extensions(values: Mapping[str, object]) -> list[Resource]:
    return [_make_extension(name, value) for name, value in values.items() if value not in (None, "", ())]


def _drop_empty(resource: Resource) -> Resource:
    """Leave out what is not reported: FHIR has no empty elements."""
    return {name: value for name, value in resource.items() if value not in (None, "", [], {}, ())}


def _make_citation(key: str, item: CslItem) -> Resource:
    form = _drop_empty(
        {
            "publishedIn": {"title": item["container-title"]} if "container-title" in item else None,
            "volume": item.get("volume"),
            "issue": item.get("issue"),
            "pageString": item.get("page"),
            "articleDate": _format_date(item),
        }
    )
    authors = [" ".join(person.values()) for person in item.get("author", [])]
    summary = {"value": "; ".join(authors)}
    artifact = _drop_empty(
        {
            "identifier": [
                {"system": system, "value": str(item[field])} for field, system in _SYSTEMS.items() if field in item
            ],
            "title": [{"text": item["title"]}] if item.get("title") else None,
            "publicationForm": [form] if form else None,
            "webLocation": [{"url": item["URL"]}] if "URL" in item else None,
            "contributorship": {"summary": [summary]} if authors else None,
        }
    )
    resource = {
        "resourceType": "Citation",
        "id": _make_id("citation", key),
        "status": "active",
        "title": item.get("title"),
    }
    return _drop_empty({**resource, "citedArtifact": artifact})


def _format_date(item: CslItem) -> str | None:
    parts = item.get("issued", {}).get("date-parts", [[]])[0]
    return "-".join(f"{part:02}" for part in parts) or None


def _make_study(study: Study, items: Mapping[str, CslItem]) -> Resource:
    item = items.get(study.key, {})
    identifiers = [{"system": system, "value": str(item[field])} for field, system in _SYSTEMS.items() if field in item]
    outcomes = dict.fromkeys(comparison.outcome for comparison in study.comparisons if comparison.outcome)
    recruitment = _drop_empty({"actualNumber": study.randomised if study.randomised is not None else study.analysed})
    about = {
        "reader": study.reader,
        "reader-version": study.version,
        "depth-read": study.depth,
        "aim": study.aim,
        "people": study.people,
        "background": "; ".join(study.background),
        "not-read": ", ".join(study.not_read),
    }
    return _drop_empty(
        {
            "resourceType": "ResearchStudy",
            "id": _make_id(f"study-{study.reader.replace('_', '-')}", study.key),
            "extension": _make_extensions(about),
            "identifier": identifiers,
            "title": item.get("title"),
            "status": "unknown",
            "condition": [_make_text(study.condition)] if study.condition else None,
            "studyDesign": [_make_text(study.design)] if study.design != "unknown" else None,
            "recruitment": recruitment,
            "comparisonGroup": [_make_group(place, arm) for place, arm in enumerate(study.arms, 1)],
            "outcomeMeasure": [{"name": name} for name in outcomes],
        }
    )


def _make_group(place: int, arm: Arm) -> Resource:
    words = ", ".join(filter(None, (*arm.drugs, arm.dose, arm.route, arm.schedule, arm.duration)))
    return _drop_empty(
        {
            "extension": _make_extensions({"participants": arm.n}),
            "linkId": str(place),
            "name": arm.name,
            "type": _make_text(arm.role.replace("_", " ")),
            "description": words,
        }
    )


def _make_comparisons(study: Study) -> Iterator[Resource]:
    kind = study.reader.replace("_", "-")
    for place, comparison in enumerate(study.comparisons, 1):
        about = {
            "favours": comparison.favours,
            "significant": comparison.significant,
            "hedged": comparison.hedged or None,
            "against": comparison.against,
            "basis": comparison.basis,
            "equivalence": comparison.equivalence,
            "unread": comparison.unread,
            "primary": comparison.primary,
        }
        yield _drop_empty(
            {
                "resourceType": "Evidence",
                "id": _make_id(f"comparison-{place}-{kind}", study.key),
                "extension": _make_extensions(about),
                "status": "active",
                "citeAsReference": {"reference": _make_url("Citation", _make_id("citation", study.key))},
                "description": comparison.passage.text if comparison.passage else None,
                "variableDefinition": _make_variables(study, comparison),
                "statistic": _make_statistics(study, comparison),
            }
        )


def _make_variables(study: Study, comparison: Comparison) -> list[Resource]:
    parts = {
        "population": comparison.condition or study.condition,
        "exposure": comparison.arm,
        "referenceExposure": comparison.versus or comparison.against.replace("_", " "),
        "measuredVariable": comparison.outcome or comparison.endpoint,
    }
    return [{"variableRole": _make_text(role), "description": words} for role, words in parts.items() if words]


def _make_statistics(study: Study, comparison: Comparison) -> list[Resource]:
    people = study.participants_of(comparison)
    size = {"numberOfParticipants": people} if people is not None else None
    if comparison.estimate is None:
        return [{"sampleSize": size}] if size else []
    return [_drop_empty({**_make_statistic(comparison.estimate), "sampleSize": size})]


def _make_statistic(estimate: Estimate) -> Resource:
    attributes = []
    if estimate.low is not None and estimate.high is not None:
        interval = {"low": {"value": estimate.low}, "high": {"value": estimate.high}}
        level = None if estimate.level is None else round(estimate.level / 100, 6)
        attributes.append(_drop_empty({"type": _make_text("Confidence interval"), "level": level, "range": interval}))
    if estimate.p is not None:
        sign = {"=": {}, "≤": {"comparator": "<="}, "≥": {"comparator": ">="}}.get(
            estimate.p_sign, {"comparator": estimate.p_sign}
        )
        attributes.append({"type": _make_text("P-value"), "quantity": {"value": estimate.p, **sign}})
    quantity = None if estimate.value is None else _drop_empty({"value": estimate.value, "unit": estimate.unit})
    return {
        "description": estimate.written,
        "statisticType": _make_text(estimate.measure) if estimate.measure else None,
        "quantity": quantity,
        "attributeEstimate": attributes,
    }


def _make_appraisal(report: "ResearchReport", candidate: "DrugCandidate") -> Resource:
    """Return the certainty that a candidate helps, with its steps and the records on each side."""
    coded = (
        {"coding": [{"system": _CERTAINTY, "code": _CODES[candidate.certainty]}]}
        if candidate.certainty in _CODES
        else {}
    )
    sides = {
        "supports": candidate.supporting_citations,
        "contradicts": candidate.contradicting_citations,
        "missed": candidate.missed_citations,
        "inconclusive": candidate.undecided_citations,
    }
    cited = {str(reference["key"]) for reference in report.references}
    related: list[Resource] = []
    for side, keys in sides.items():
        related += [_relate(side, key) for key in keys if key in cited]
    certainty = {
        "description": " ".join(candidate.certainty_reasons) or None,
        "type": _make_text("Overall certainty"),
        "rating": {**coded, "text": candidate.level},
    }
    return _drop_empty(
        {
            "resourceType": "Evidence",
            "id": _make_id("appraisal", f"drug:{candidate.name}"),
            "extension": _make_extensions({"group": candidate.group, "status": candidate.clinical_status}),
            "status": "draft",
            "title": f"{candidate.name}: {report.title}",
            "relatedArtifact": related,
            "variableDefinition": [
                {"variableRole": _make_text("population"), "description": report.research_question},
                {"variableRole": _make_text("exposure"), "description": candidate.name},
            ],
            "certainty": [_drop_empty(certainty)],
        }
    )


def _relate(side: str, key: str) -> Resource:
    """Return the link from an appraisal to a record on a side of it."""
    return {
        "extension": [_make_extension("stance", side)],
        "type": "derived-from",
        "resourceReference": {"reference": _make_url("Citation", _make_id("citation", key))},
    }
