"""Studies of ClinicalTrials.gov as evidence: what was planned, what became of it, what was posted.

Read are `protocolSection` (identification, status, sponsor, description, conditions, design, arms and interventions,
outcomes, references), `derivedSection` (mesh terms of conditions and interventions), `resultsSection` (outcomes,
serious adverse events, deaths) and `hasResults`; every one of them may be absent. Texts are Markdown, whose escapes
(`\\<50%`) are undone. https://clinicaltrials.gov/data-api/about-api/study-data-structure defines the fields.
"""

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...evidence import UNKNOWN_DATE, Citation, Evidence, checked_identifier, date_parts
from ...http.reply import at, dicts, text
from ...records import Trial
from ...records.parts import Arm, PostedResults

UNKNOWN_ENROLLMENT = 99999999  # participants; the registry's word for "not known"

_MAX_OUTCOMES = {"PRIMARY": 20, "SECONDARY": 10}  # with results that a record keeps
_MAX_PLANNED = 20  # secondary outcomes of the plan that a record keeps
_MAX_VALUES = 40  # values of one outcome that a record keeps
_SHOWN_VALUES = 12  # values of one outcome that the text names
_MAX_ANALYSES = 30  # of one outcome that a record keeps
_MAX_WORDS = 1000  # characters of a description that a record keeps
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")  # CommonMark: any ASCII punctuation may stand behind a backslash


def parse_study(study: Any) -> Evidence | None:
    """Read one study of any type; None where it has no registry number."""
    nct_id = checked_identifier("nct_id", at(study, "protocolSection", "identificationModule", "nctId"))
    if nct_id is None:
        return None
    protocol = at(study, "protocolSection")
    names = at(protocol, "identificationModule")
    title = _text(at(names, "briefTitle")) or _text(at(names, "officialTitle")) or nct_id
    trial = _trial(nct_id, study, protocol)
    return Evidence(
        content="\n".join([title, "", *_sentences(protocol, trial)]),
        citation=Citation(
            source="clinicaltrials",
            title=title,
            url=f"https://clinicaltrials.gov/study/{nct_id}",
            date=_record_date(at(protocol, "statusModule")),
            authors=[trial.sponsor] if trial.sponsor else [],
        ),
        record=trial,
    )


def _trial(nct_id: str, study: Any, protocol: Any) -> Trial:
    status, design = at(protocol, "statusModule"), at(protocol, "designModule")
    arms, info = at(protocol, "armsInterventionsModule"), at(design, "designInfo")
    count = at(design, "enrollmentInfo", "count")
    references = dicts(protocol, "referencesModule", "references")
    results = parse_results(at(study, "resultsSection"))
    has_results = at(study, "hasResults")
    return Trial(
        nct_id=nct_id,
        acronym=_text(at(protocol, "identificationModule", "acronym")),
        overall_status=_text(at(status, "overallStatus")),
        why_stopped=_text(at(status, "whyStopped")),
        phases=_texts(at(design, "phases")),
        study_type=_text(at(design, "studyType")),
        enrollment=count if isinstance(count, int) and count != UNKNOWN_ENROLLMENT else None,
        start_date=_text(at(status, "startDateStruct", "date")),
        completion_date=_text(at(status, "completionDateStruct", "date")),
        sponsor=_text(at(protocol, "sponsorCollaboratorsModule", "leadSponsor", "name")),
        conditions=_texts(at(protocol, "conditionsModule", "conditions")),
        interventions=_pairs(dicts(arms, "interventions"), type="type", name="name"),
        arms=[_arm(arm) for arm in dicts(arms, "armGroups")],
        primary_outcomes=_pairs(
            dicts(protocol, "outcomesModule", "primaryOutcomes"), measure="measure", time_frame="timeFrame"
        ),
        secondary_outcomes=_pairs(
            dicts(protocol, "outcomesModule", "secondaryOutcomes")[:_MAX_PLANNED],
            measure="measure",
            time_frame="timeFrame",
        ),
        allocation=_text(at(info, "allocation")),
        intervention_model=_text(at(info, "interventionModel")),
        masking=_text(at(info, "maskingInfo", "masking")),
        primary_purpose=_text(at(info, "primaryPurpose")),
        results=results or None,
        result_pmids=_result_pmids(references),
        mesh_terms=_texts(
            mesh.get("term")
            for module in ("conditionBrowseModule", "interventionBrowseModule")
            for mesh in dicts(study, "derivedSection", module, "meshes")
        ),
        has_results=has_results if isinstance(has_results, bool) else True if results else None,
        has_abstract=True,
    )


def _arm(arm: Mapping[str, Any]) -> Arm:
    """An arm with the names of what it is given, without their types (`Drug: X`)."""
    given = [name.partition(": ")[2] or name for name in _texts(arm.get("interventionNames"))]
    told: Arm = _reported({"label": _text(arm.get("label")), "type": _text(arm.get("type")), "interventions": given})
    return told


def _result_pmids(references: Iterable[Mapping[str, Any]]) -> list[str]:
    """PMIDs of papers on the trial's own results; background reading is none of them."""
    pmids = (
        checked_identifier("pmid", entry.get("pmid"))
        for entry in references
        if entry.get("type") in ("RESULT", "DERIVED")
    )
    return list(dict.fromkeys(pmid for pmid in pmids if pmid))


def _record_date(status: Any) -> str:
    """When the record last changed; else when it was first posted, else when the trial began."""
    for name in ("lastUpdatePostDateStruct", "studyFirstPostDateStruct", "startDateStruct"):
        date = _text(at(status, name, "date"))
        if date and date_parts(date):
            return date
    return UNKNOWN_DATE


def parse_results(section: Any) -> PostedResults:
    """Read posted results: outcomes, serious adverse events and deaths; empty where none are posted.

    Numbers stay the text that the registry posts (`<0.001`, `12.4`, `NA`).
    """
    measures = dicts(section, "outcomeMeasuresModule", "outcomeMeasures")
    found: dict[str, Any] = {
        f"{kind.lower()}_outcomes": [_outcome(each) for each in measures if each.get("type") == kind][:most]
        for kind, most in _MAX_OUTCOMES.items()
    }
    groups = dicts(section, "adverseEventsModule", "eventGroups")
    for name, field in (("serious_adverse_events", "serious"), ("deaths", "deaths")):
        found[name] = [
            {"group": _text(group.get("title")), "affected": affected, "at_risk": group.get(f"{field}NumAtRisk")}
            for group in groups
            if (affected := group.get(f"{field}NumAffected")) is not None and group.get(f"{field}NumAtRisk") != 0
        ]
    posted: PostedResults = _reported(found)
    return posted


def _outcome(measure: Mapping[str, Any]) -> Any:
    described = {str(group.get("id")): group for group in dicts(measure, "groups")}
    groups = {key: _text(group.get("title")) for key, group in described.items()}
    title = _text(measure.get("title"))
    sizes = {
        str(count.get("groupId")): _text(count.get("value"))
        for denominator in dicts(measure, "denoms")[:1]
        for count in dicts(denominator, "counts")
    }
    return _reported(
        {
            "title": title,
            "description": _words(measure.get("description")),
            "time_frame": _text(measure.get("timeFrame")),
            "unit": _text(measure.get("unitOfMeasure")),
            "statistic": _text(measure.get("paramType")),
            "dispersion": _text(measure.get("dispersionType")),
            "groups": [
                _reported({"name": name, "n": sizes.get(key), "description": _words(described[key].get("description"))})
                for key, name in groups.items()
            ],
            "values": list(_values(measure, groups))[:_MAX_VALUES],
            "analyses": [_analysis(analysis, groups, title) for analysis in dicts(measure, "analyses")][:_MAX_ANALYSES],
        }
    )


def _values(measure: Mapping[str, Any], groups: Mapping[str, str | None]) -> Iterator[dict[str, Any]]:
    for row in dicts(measure, "classes"):
        for category in dicts(row, "categories"):
            label = ", ".join(filter(None, (_text(row.get("title")), _text(category.get("title")))))
            for value in dicts(category, "measurements"):
                yield _reported(
                    {
                        "group": groups.get(str(value.get("groupId"))),
                        "category": label,
                        "value": _text(value.get("value")),
                        "spread": _text(value.get("spread")),
                        "lower": _text(value.get("lowerLimit")),
                        "upper": _text(value.get("upperLimit")),
                    }
                )


def _analysis(analysis: Mapping[str, Any], groups: Mapping[str, str | None], outcome: str | None) -> dict[str, Any]:
    """An analysis with the `sentence` that stands for it in the record's text."""
    found = _reported(
        {
            "groups": [groups.get(str(key)) or str(key) for key in analysis.get("groupIds") or ()],
            "p_value": (_text(analysis.get("pValue")) or "").removeprefix("=").strip(),
            "method": _text(analysis.get("statisticalMethod")),
            "effect": _text(analysis.get("paramType")),
            "effect_value": _text(analysis.get("paramValue")),
            "ci_percent": _text(analysis.get("ciPctValue")),
            "ci_lower": _text(analysis.get("ciLowerLimit")),
            "ci_upper": _text(analysis.get("ciUpperLimit")),
            "non_inferiority": _text(analysis.get("nonInferiorityType")),
            "one_sided": True if analysis.get("ciNumSides") == "ONE_SIDED" else None,
            "p_comment": _words(analysis.get("pValueComment")),
            "about": _words(analysis.get("groupDescription")),
        }
    )
    return {**found, "sentence": f"{outcome or 'Primary outcome'}: {_analysed(found)}."}


def _sentences(protocol: Any, trial: Trial) -> Iterator[str]:
    """What a record says, one thing a line; what is not reported is left out."""
    parts = {
        "SUMMARY": _text(at(protocol, "descriptionModule", "briefSummary")),
        "CONDITIONS": "; ".join(trial.conditions),
        "DESIGN": _design(trial, at(protocol, "designModule", "enrollmentInfo", "type")),
        "ARMS": _listed((_joined(arm, "type", "label") for arm in trial.arms), "; "),
        "INTERVENTIONS": _listed((_joined(each, "type", "name") for each in trial.interventions), "; "),
        "PRIMARY OUTCOMES": _listed(
            (_joined(each, "measure", "time_frame", " – ") for each in trial.primary_outcomes), "; "
        ),
        "SECONDARY OUTCOMES": _listed((each.get("measure", "") for each in trial.secondary_outcomes), "; "),
        "STATUS": _spoken(trial.overall_status or ""),
        "WHY STOPPED": trial.why_stopped,
    }
    for label, said in parts.items():
        if said:
            yield f"{label}: {said}" + ("" if said.endswith((".", "!", "?")) else ".")
    yield from _result_sentences(trial.results or {})


def _design(trial: Trial, kind: Any) -> str:
    masking = trial.masking
    parts = [
        trial.study_type,
        trial.allocation,
        "no masking" if masking == "NONE" else f"{_spoken(masking)} masking" if masking else None,
        f"purpose {_spoken(purpose)}" if (purpose := trial.primary_purpose) else None,
        *trial.phases,
    ]
    if trial.enrollment is not None:
        parts.append(f"{trial.enrollment} participants" + (f" ({_spoken(kind)})" if _text(kind) else ""))
    return ", ".join(_spoken(part) for part in parts if part and part != "NA")


def _result_sentences(results: PostedResults) -> Iterator[str]:
    for outcome in results.get("primary_outcomes", ()):
        yield f"RESULT: {_valued(outcome)}."
        yield from (f"ANALYSIS: {analysis['sentence']}" for analysis in outcome.get("analyses", ()))
    for outcome in results.get("secondary_outcomes", ()):
        if outcome.get("values"):
            yield f"SECONDARY RESULT: {_valued(outcome)}."
    if events := results.get("serious_adverse_events", ()):
        yield f"SERIOUS ADVERSE EVENTS: {_counted(events)}."
    if deaths := results.get("deaths", ()):
        yield f"DEATHS FROM ANY CAUSE: {_counted(deaths)}."


def _valued(outcome: Mapping[str, Any]) -> str:
    unit = f" {outcome['unit']}" if "unit" in outcome else ""
    values = [
        " ".join(filter(None, (each.get("group"), each.get("category"), each.get("value"))))
        for each in outcome.get("values", ())
    ]
    shown = "; ".join(values[:_SHOWN_VALUES]) + ("; …" if len(values) > _SHOWN_VALUES else "") + unit
    return f"{outcome.get('title', 'outcome')}: {shown if values else 'no values posted'}"


def _counted(groups: Iterable[Mapping[str, Any]]) -> str:
    told = ((each["group"] or "group not named", each["affected"], each["at_risk"]) for each in groups)
    return "; ".join(
        f"{group} {affected}" + ("" if at_risk is None else f" of {at_risk}") for group, affected, at_risk in told
    )


def _analysed(analysis: Mapping[str, Any]) -> str:
    parts = [" versus ".join(analysis.get("groups", ()))]
    if "effect_value" in analysis:
        parts.append(f"{analysis.get('effect', 'effect')} {analysis['effect_value']}")
    if "ci_lower" in analysis or "ci_upper" in analysis:
        level = f"{analysis['ci_percent']}% " if "ci_percent" in analysis else ""
        parts.append(f"{level}CI {analysis.get('ci_lower', 'not given')} to {analysis.get('ci_upper', 'not given')}")
    if p_value := analysis.get("p_value"):
        parts.append(f"p {p_value}" if p_value[0] in "<>≤≥" else f"p = {p_value}")
    if method := analysis.get("method"):
        parts.append(method)
    return ", ".join(filter(None, parts))


def _text(value: Any) -> str | None:
    """A text on one line, without HTML entities and Markdown escapes; None where there is none."""
    return text(_ESCAPED.sub(r"\1", html.unescape(value))) if isinstance(value, str) else text(value)


def _words(value: Any) -> str | None:
    """The beginning of a longer text."""
    text = _text(value)
    return text[:_MAX_WORDS] if text else None


def _texts(values: Any) -> list[str]:
    if values is None or isinstance(values, str | dict):
        return []
    return list(dict.fromkeys(text for value in values if (text := _text(value))))


def _pairs(entries: Iterable[Mapping[str, Any]], **names: str) -> list[Any]:
    found = (_reported({ours: _text(entry.get(theirs)) for ours, theirs in names.items()}) for entry in entries)
    return [entry for entry in found if entry]


def _reported(entry: Mapping[str, Any]) -> Any:
    """An entry without what is not reported; of the type that the caller knows it has."""
    return {name: value for name, value in entry.items() if value not in (None, "", [])}


def _spoken(code: str) -> str:
    """A code of the API as words.

    >>> _spoken("ACTIVE_NOT_RECRUITING"), _spoken("PHASE3")
    ('active not recruiting', 'phase 3')
    """
    words = code.replace("_", " ").lower() if code == code.upper() else code
    for number in "1234":
        words = words.replace(f"phase{number}", f"phase {number}")
    return words


def _joined(entry: Mapping[str, Any], first: str, second: str, between: str = ": ") -> str:
    return between.join(
        _spoken(entry[name]) if name == "type" else entry[name] for name in (first, second) if name in entry
    )


def _listed(parts: Iterable[str], between: str) -> str:
    return between.join(filter(None, parts))
