"""Converts studies of ClinicalTrials.gov to evidence: plan, status and posted results.

It reads `protocolSection` (identification, status, sponsor, description, conditions, design, arms and interventions,
outcomes, references), `derivedSection` (mesh terms of conditions and interventions), `resultsSection` (outcomes,
serious adverse events, deaths) and `hasResults`; any of them may be missing. Texts are Markdown, whose escapes
(`\\<50%`) are undone. https://clinicaltrials.gov/data-api/about-api/study-data-structure defines the fields.
"""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...evidence import UNKNOWN_DATE, Citation, Evidence, checked_identifier, date_parts
from ...http.reply import at, dicts, reported, text
from ...records import Trial
from ...records.parts import PostedResults

UNKNOWN_ENROLLMENT = 99999999  # participants; the registry's code for "not known"

_MAX_VALUES = 40  # per outcome in a record
_SHOWN_VALUES = 12  # per outcome in the text
_MAX_ANALYSES = 30  # per outcome in a record
_MAX_EVENTS = 60  # terms of serious adverse events in a record; some trials post hundreds
_MAX_WORDS = 1000  # characters of a description in a record
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")  # CommonMark: a backslash may escape any ASCII punctuation


def parse_study(study: Any) -> Evidence | None:
    """Convert one study of any type; None if it has no registry number."""
    protocol = at(study, "protocolSection")
    names, status, design = (at(protocol, f"{part}Module") for part in ("identification", "status", "design"))
    nct_id = checked_identifier("nct_id", at(names, "nctId"))
    if nct_id is None:
        return None
    title = _at(names, "briefTitle") or _at(names, "officialTitle") or nct_id
    arms, outcomes = at(protocol, "armsInterventionsModule"), at(protocol, "outcomesModule")
    info, count = at(design, "designInfo"), at(design, "enrollmentInfo", "count")
    results, has_results = parse_results(at(study, "resultsSection")), at(study, "hasResults")
    papers = dicts(protocol, "referencesModule", "references")
    pmids = [  # background reading is left out
        checked_identifier("pmid", each.get("pmid")) for each in papers if each.get("type") in ("RESULT", "DERIVED")
    ]
    planned = {"measure": "measure", "time_frame": "timeFrame"}
    trial = Trial(
        nct_id=nct_id,
        acronym=_at(names, "acronym"),
        overall_status=_at(status, "overallStatus"),
        why_stopped=_at(status, "whyStopped"),
        phases=_texts(at(design, "phases")),
        study_type=_at(design, "studyType"),
        enrollment=count if isinstance(count, int) and count != UNKNOWN_ENROLLMENT else None,
        start_date=_at(status, "startDateStruct", "date"),
        completion_date=_at(status, "completionDateStruct", "date"),
        sponsor=_at(protocol, "sponsorCollaboratorsModule", "leadSponsor", "name"),
        conditions=_texts(at(protocol, "conditionsModule", "conditions")),
        interventions=_pairs(dicts(arms, "interventions"), type="type", name="name"),
        arms=[
            reported(
                {
                    "label": _at(arm, "label"),
                    "type": _at(arm, "type"),
                    "interventions": [  # without their types (`Drug: X`)
                        name.partition(": ")[2] or name for name in _texts(arm.get("interventionNames"))
                    ],
                }
            )
            for arm in dicts(arms, "armGroups")
        ],
        primary_outcomes=_pairs(dicts(outcomes, "primaryOutcomes"), **planned),
        secondary_outcomes=_pairs(dicts(outcomes, "secondaryOutcomes"), **planned),
        allocation=_at(info, "allocation"),
        intervention_model=_at(info, "interventionModel"),
        masking=_at(info, "maskingInfo", "masking"),
        primary_purpose=_at(info, "primaryPurpose"),
        results=results or None,
        result_pmids=list(dict.fromkeys(filter(None, pmids))),
        mesh_terms=_texts(
            mesh.get("term")
            for module in ("conditionBrowseModule", "interventionBrowseModule")
            for mesh in dicts(study, "derivedSection", module, "meshes")
        ),
        has_results=has_results if isinstance(has_results, bool) else True if results else None,
        has_abstract=True,
    )
    # date of the last update, else of first posting, else of the trial's start
    structs = ("lastUpdatePostDateStruct", "studyFirstPostDateStruct", "startDateStruct")
    dates = (date for struct in structs if (date := _at(status, struct, "date")) and date_parts(date))
    return Evidence(
        content="\n".join([title, "", *_sentences(protocol, trial)]),
        citation=Citation(
            source="clinicaltrials",
            title=title,
            url=f"https://clinicaltrials.gov/study/{nct_id}",
            date=next(dates, UNKNOWN_DATE),
            authors=[trial.sponsor] if trial.sponsor else [],
        ),
        record=trial,
    )


def parse_results(section: Any) -> PostedResults:
    """Convert posted results: outcomes, serious adverse events and deaths; empty if none are posted.

    Numbers remain the text posted by the registry (`<0.001`, `12.4`, `NA`).
    """
    measures = dicts(section, "outcomeMeasuresModule", "outcomeMeasures")
    found: dict[str, Any] = {
        f"{kind.lower()}_outcomes": [_outcome(each) for each in measures if each.get("type") == kind]
        for kind in ("PRIMARY", "SECONDARY")
    }
    groups = dicts(section, "adverseEventsModule", "eventGroups")
    for name, field in (("serious_adverse_events", "serious"), ("deaths", "deaths")):
        found[name] = [
            {"group": _at(group, "title"), "affected": affected, "at_risk": group.get(f"{field}NumAtRisk")}
            for group in groups
            if (affected := group.get(f"{field}NumAffected")) is not None and group.get(f"{field}NumAtRisk") != 0
        ]
    titles = {str(group.get("id")): _at(group, "title") for group in groups}
    events: list[dict[str, Any]] = [
        {
            "term": term,
            "groups": [
                {
                    "group": titles.get(str(each.get("groupId"))),
                    "affected": affected,
                    "at_risk": each.get("numAtRisk"),
                }
                for each in dicts(event, "stats")
                if (affected := each.get("numAffected")) is not None
            ],
        }
        for event in dicts(section, "adverseEventsModule", "seriousEvents")
        if (term := _at(event, "term"))
    ]
    events.sort(
        key=lambda event: -sum(each["affected"] for each in event["groups"] if each["affected"] in range(10**6))
    )
    found["serious_event_terms"] = events[:_MAX_EVENTS]
    posted: PostedResults = reported(found)
    return posted


def _outcome(measure: Mapping[str, Any]) -> Any:
    described = {str(group.get("id")): group for group in dicts(measure, "groups")}
    groups, title = {key: _at(group, "title") for key, group in described.items()}, _at(measure, "title")
    sizes = {
        str(count.get("groupId")): _at(count, "value")
        for denominator in dicts(measure, "denoms")[:1]
        for count in dicts(denominator, "counts")
    }
    values = [
        reported(
            {
                "group": groups.get(str(value.get("groupId"))),
                "category": ", ".join(filter(None, (_at(row, "title"), _at(category, "title")))),
                "value": _at(value, "value"),
                "spread": _at(value, "spread"),
                "lower": _at(value, "lowerLimit"),
                "upper": _at(value, "upperLimit"),
            }
        )
        for row in dicts(measure, "classes")
        for category in dicts(row, "categories")
        for value in dicts(category, "measurements")
    ]
    return reported(
        {
            "title": title,
            "description": _words(measure.get("description")),
            "time_frame": _at(measure, "timeFrame"),
            "unit": _at(measure, "unitOfMeasure"),
            "statistic": _at(measure, "paramType"),
            "dispersion": _at(measure, "dispersionType"),
            "groups": [
                reported({"name": name, "n": sizes.get(key), "description": _words(described[key].get("description"))})
                for key, name in groups.items()
            ],
            "values": values[:_MAX_VALUES],
            "analyses": [_analysis(analysis, groups, title) for analysis in dicts(measure, "analyses")][:_MAX_ANALYSES],
        }
    )


def _analysis(analysis: Mapping[str, Any], groups: Mapping[str, str | None], outcome: str | None) -> dict[str, Any]:
    """Return an analysis with the `sentence` that describes it in the record's text."""
    compared = [groups.get(str(key)) or str(key) for key in analysis.get("groupIds") or ()]
    found: dict[str, Any] = reported(
        {
            "groups": compared,
            "p_value": (_at(analysis, "pValue") or "").removeprefix("=").strip(),
            "method": _at(analysis, "statisticalMethod"),
            "effect": _at(analysis, "paramType"),
            "effect_value": _at(analysis, "paramValue"),
            "ci_percent": _at(analysis, "ciPctValue"),
            "ci_lower": _at(analysis, "ciLowerLimit"),
            "ci_upper": _at(analysis, "ciUpperLimit"),
            "non_inferiority": _at(analysis, "nonInferiorityType"),
            "one_sided": True if analysis.get("ciNumSides") == "ONE_SIDED" else None,
            "p_comment": _words(analysis.get("pValueComment")),
            "about": _words(analysis.get("groupDescription")),
        }
    )
    parts = [" versus ".join(compared)]
    if "effect_value" in found:
        parts.append(f"{found.get('effect', 'effect')} {found['effect_value']}")
    if "ci_lower" in found or "ci_upper" in found:
        level = f"{found['ci_percent']}% " if "ci_percent" in found else ""
        parts.append(f"{level}CI {found.get('ci_lower', 'not given')} to {found.get('ci_upper', 'not given')}")
    if p_value := found.get("p_value"):
        parts.append(f"p {p_value}" if p_value[0] in "<>≤≥" else f"p = {p_value}")
    parts.append(found.get("method", ""))
    return {**found, "sentence": f"{outcome or 'Primary outcome'}: {', '.join(filter(None, parts))}."}


def _sentences(protocol: Any, trial: Trial) -> Iterator[str]:
    """Yield the record's text, one fact per line; unreported facts are left out."""
    design, kind = [trial.study_type, trial.allocation], at(protocol, "designModule", "enrollmentInfo", "type")
    if trial.masking:
        design.append("no masking" if trial.masking == "NONE" else f"{_spell_code(trial.masking)} masking")
    design += [f"purpose {_spell_code(trial.primary_purpose)}"] if trial.primary_purpose else []
    design += trial.phases
    if trial.enrollment is not None:
        design.append(f"{trial.enrollment} participants" + (f" ({_spell_code(kind)})" if _text(kind) else ""))
    parts: Mapping[str, Sequence[str | None]] = {
        "SUMMARY": [_at(protocol, "descriptionModule", "briefSummary")],
        "CONDITIONS": trial.conditions,
        "DESIGN": [", ".join(_spell_code(part) for part in design if part and part != "NA")],
        "ARMS": [_join_fields(arm, "type", "label") for arm in trial.arms],
        "INTERVENTIONS": [_join_fields(each, "type", "name") for each in trial.interventions],
        "PRIMARY OUTCOMES": [_join_fields(each, "measure", "time_frame", " – ") for each in trial.primary_outcomes],
        "SECONDARY OUTCOMES": [each.get("measure", "") for each in trial.secondary_outcomes],
        "STATUS": [_spell_code(trial.overall_status or "")],
        "WHY STOPPED": [trial.why_stopped],
    }
    for label, listed in parts.items():
        if said := "; ".join(filter(None, listed)):
            yield f"{label}: {said}" + ("" if said.endswith((".", "!", "?")) else ".")
    results = trial.results or {}
    for outcome in results.get("primary_outcomes", ()):
        yield f"RESULT: {_describe_values(outcome)}."
        yield from (f"ANALYSIS: {analysis['sentence']}" for analysis in outcome.get("analyses", ()))
    for outcome in results.get("secondary_outcomes", ()):
        if outcome.get("values"):
            yield f"SECONDARY RESULT: {_describe_values(outcome)}."
    if events := results.get("serious_adverse_events", ()):
        yield f"SERIOUS ADVERSE EVENTS: {_describe_events(events)}."
    if deaths := results.get("deaths", ()):
        yield f"DEATHS FROM ANY CAUSE: {_describe_events(deaths)}."


def _describe_values(outcome: Mapping[str, Any]) -> str:
    unit = f" {outcome['unit']}" if "unit" in outcome else ""
    values = [
        " ".join(filter(None, (each.get("group"), each.get("category"), each.get("value"))))
        for each in outcome.get("values", ())
    ]
    shown = "; ".join(values[:_SHOWN_VALUES]) + ("; …" if len(values) > _SHOWN_VALUES else "") + unit
    return f"{outcome.get('title', 'outcome')}: {shown if values else 'no values posted'}"


def _describe_events(groups: Iterable[Mapping[str, Any]]) -> str:
    told = ((each["group"] or "group not named", each["affected"], each["at_risk"]) for each in groups)
    return "; ".join(
        f"{group} {affected}" + ("" if at_risk is None else f" of {at_risk}") for group, affected, at_risk in told
    )


def _text(value: Any) -> str | None:
    """Return a text on one line, without HTML entities and Markdown escapes; None if there is none."""
    return text(_ESCAPED.sub(r"\1", html.unescape(value))) if isinstance(value, str) else text(value)


def _at(data: Any, *path: str) -> str | None:
    """Return the text at a path."""
    return _text(at(data, *path))


def _words(value: Any) -> str | None:
    """Return the beginning of a longer text."""
    return (_text(value) or "")[:_MAX_WORDS] or None


def _texts(values: Any) -> list[str]:
    if values is None or isinstance(values, str | dict):
        return []
    return list(dict.fromkeys(text for value in values if (text := _text(value))))


def _pairs(entries: Iterable[Mapping[str, Any]], **names: str) -> list[Any]:
    found = (reported({ours: _at(entry, theirs) for ours, theirs in names.items()}) for entry in entries)
    return [entry for entry in found if entry]


def _spell_code(code: str) -> str:
    """Convert an API code to words.

    >>> _spell_code("ACTIVE_NOT_RECRUITING"), _spell_code("PHASE3")
    ('active not recruiting', 'phase 3')
    """
    words = code.replace("_", " ").lower() if code == code.upper() else code
    for number in "1234":
        words = words.replace(f"phase{number}", f"phase {number}")
    return words


def _join_fields(entry: Mapping[str, Any], first: str, second: str, between: str = ": ") -> str:
    return between.join(
        _spell_code(entry[name]) if name == "type" else entry[name] for name in (first, second) if name in entry
    )
