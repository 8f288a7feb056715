"""ClinicalTrials.gov, API version 2 (https://clinicaltrials.gov/data-api/api).

Queried with GET; replies are JSON:

* `studies` with `query.term` (boolean form; exclusions follow `AND NOT`), `filter.advanced`
  (`AREA[StudyType]INTERVENTIONAL`, joined by ` AND ` with `AREA[Phase](PHASE2 OR PHASE3)`, `AREA[HasResults]true` and
  `AREA[StartDate]RANGE[2015-01-01,MAX]`), `filter.overallStatus` (joined by `|`), `fields` (joined by `|`),
  `countTotal=true`, `pageSize`, `pageToken`; returns `studies[]`, `totalCount` (first page only) and `nextPageToken`;
* `studies/{nct_id}` with `fields`; returns one study, 404 for an unknown number.

An invalid request is 400 with one line of plain text. Any part of a study may be missing; its texts are Markdown, whose
escapes (`\\<50%`) are undone. Fields: https://clinicaltrials.gov/data-api/about-api/study-data-structure.
"""

import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from ...errors import SourceRefused, UnreadableReply
from ...evidence import UNKNOWN_DATE, Citation, Evidence, checked_identifier, date_parts
from ...http.reply import Reply, at, count, dicts, read_each, reported, text
from ...questions import parse_question
from ...records import Trial
from ...records.parts import PostedResults
from ...search import Filters, Page, Source, SourceReply, local_library, request_size
from ..card import SourceCard
from ..publications import DatedFilters, redacted

CARD = SourceCard(
    name="clinicaltrials",
    place=10,
    title="ClinicalTrials.gov",
    purpose="Interventional trials of ClinicalTrials.gov: design, phase, size, status, why stopped, posted results.",
    address="https://clinicaltrials.gov/api/v2",
    documentation="https://clinicaltrials.gov/data-api/api",
    per_second=1.25,  # none published; robots.txt asks for one per second
    typical_s=0.9,
    wire="requests",  # its firewall is reported to refuse httpx's TLS fingerprint
    fresh_days=1,  # updated on weekdays
    hosts=("clinicaltrials.gov",),
    gives="trial",
    entries="Registry entry",
    dialect="boolean",
    use="searched",
    specialist="trials",
)

OverallStatus = Literal[
    "ACTIVE_NOT_RECRUITING",
    "COMPLETED",
    "ENROLLING_BY_INVITATION",
    "NOT_YET_RECRUITING",
    "RECRUITING",
    "SUSPENDED",
    "TERMINATED",
    "WITHDRAWN",
    "UNKNOWN",
    "AVAILABLE",
    "NO_LONGER_AVAILABLE",
    "TEMPORARILY_NOT_AVAILABLE",
    "APPROVED_FOR_MARKETING",
    "WITHHELD",
]
"""https://clinicaltrials.gov/data-api/about-api/study-data-structure#enum-Status."""
Phase = Literal["NA", "EARLY_PHASE1", "PHASE1", "PHASE2", "PHASE3", "PHASE4"]
StudyType = Literal["INTERVENTIONAL", "OBSERVATIONAL", "EXPANDED_ACCESS"]

FIELDS = (
    *(
        f"protocolSection.{name}"
        for name in (
            "identificationModule",
            "statusModule",
            "sponsorCollaboratorsModule.leadSponsor",
            "descriptionModule.briefSummary",
            "conditionsModule.conditions",
            "designModule",
            "armsInterventionsModule",
            "outcomesModule",
            "referencesModule.references",
        )
    ),
    "derivedSection.conditionBrowseModule.meshes",
    "derivedSection.interventionBrowseModule.meshes",
    "resultsSection.outcomeMeasuresModule",
    "resultsSection.adverseEventsModule.eventGroups",
    "hasResults",
)
"""Fields requested of a study; sites, contacts, eligibility and single adverse events make up most of the rest."""
UNKNOWN_ENROLLMENT = 99999999  # participants; the registry's code for "not known"
_PAGE_SIZE = 100  # studies; the API allows 1,000, of up to 1 MB each
_MAX_VALUES = 40  # per outcome in a record
_SHOWN_VALUES = 12  # per outcome in the text
_MAX_ANALYSES = 30  # per outcome in a record
_MAX_EVENTS = 60  # terms of serious adverse events in a record; some trials post hundreds
_MAX_WORDS = 1000  # characters of a description in a record
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")  # CommonMark: a backslash may escape any ASCII punctuation
_TAG = re.compile(r"\b[A-Za-z]+\[[^\]]*\]|\[[^\]]*\]")  # AREA[Phase], [tiab]: tags of this API and of PubMed
_RESERVED = str.maketrans("[],*", "    ")
_BRACKETS = str.maketrans("()", "  ")
_LOOSE_ENDS = re.compile(r"(?:^|(?<=\())(?:\s*\b(?:AND|OR)\b)+|(?:\b(?:AND|OR|NOT)\b\s*)+(?:$|(?=\)))")
_BARE_NOT = re.compile(r'("[^"]*")|(?<=[^\s(])(?<!\bAND)(?<!\bOR)\s+NOT\b')


def _list_codes(value: object) -> object:
    """Return codes as the API writes them, from one or several values."""
    asked = value if isinstance(value, list | tuple | set | frozenset) else [value]
    return [str(each).strip().upper().replace(" ", "_") for each in asked]


class TrialFilters(DatedFilters, frozen=True):
    """Filters for a search of trials; without any, interventional trials of every status are returned."""

    status: Annotated[list[OverallStatus], BeforeValidator(_list_codes)] = Field(
        default_factory=list, description="Any of these overall statuses; trials that stopped early are evidence too"
    )
    phase: Annotated[list[Phase], BeforeValidator(_list_codes)] = Field(
        default_factory=list, description="Any of these phases"
    )
    study_type: StudyType = "INTERVENTIONAL"
    has_results: bool | None = Field(default=None, description="With posted results only, or without them only")

    def params(self) -> dict[str, object]:
        """Return the request's parameters.

        >>> TrialFilters(phase=["PHASE2", "PHASE3"]).params()["filter.advanced"]
        'AREA[StudyType]INTERVENTIONAL AND AREA[Phase](PHASE2 OR PHASE3)'
        """
        advanced = [f"AREA[StudyType]{self.study_type}"]
        if self.phase:
            advanced.append(f"AREA[Phase]({' OR '.join(self.phase)})")
        if self.has_results is not None:
            advanced.append(f"AREA[HasResults]{str(self.has_results).lower()}")
        if self.mindate or self.maxdate:
            advanced.append(f"AREA[StartDate]RANGE[{self.mindate or 'MIN'},{self.maxdate or 'MAX'}]")
        return {"filter.advanced": " AND ".join(advanced), "filter.overallStatus": "|".join(self.status) or None}


class ClinicalTrials(Source):
    """Registered trials, with reasons for early termination and posted results."""

    card = CARD
    filters = TrialFilters

    async def find_online(self, query: str, max_results: int, filters: Filters | None) -> SourceReply:
        """Search interventional trials of every status: terminated ones are evidence too."""
        asked, term = TrialFilters.of(self.name, filters), clean_term(query)
        size = request_size(max(1, max_results), _PAGE_SIZE)
        params = {"query.term": term, **asked.params(), "countTotal": "true", "pageSize": size}

        async def ask(token: str | None) -> Page:
            found, url = await self._ask("studies", {**params, "pageToken": token})
            total, following = found.get("totalCount"), found.get("nextPageToken")
            return Page(found["studies"], count(total) or 0, following if isinstance(following, str) else None, url)

        page, problems = await self.page(asked.page, max_results, str(params), ask)
        records, unread = read_each(page.hits, parse_study)
        words = parse_question(query).words
        return self.reply(term, records, words=words, total=page.total, problems=[*unread, *problems], url=page.url)

    async def trial(self, nct_id: str) -> SourceReply:
        """Look up one trial by its number; `empty` if the registry has none.

        Raises:
            SourceRefused: not an NCT number.
            SearchError: no reply, or an unreadable one.
        """
        known = checked_identifier("nct_id", nct_id)
        if known is None:
            raise SourceRefused(self.name, f"{nct_id[:40]!r} is not an NCT number (NCT and 8 digits)")
        if (library := local_library(self.transport)) is not None:
            return library.trial(self, known)
        found, url = await self._ask(f"studies/{known}", {})
        records, unread = read_each([found] if found else [], parse_study)
        notes = [] if found else [f"there is no trial {known}"]
        if records and records[0].record.nct_id != known:
            notes = [f"{known} is an older number of {records[0].record.nct_id}"]
        return self.reply(known, records, notes=notes, problems=unread, url=url)

    async def _ask(self, path: str, params: dict[str, object]) -> tuple[dict[str, Any], str]:
        """Return a reply's object (empty for 404) and its URL; requests whole studies if a field is unknown."""
        also = (400, 404) if "/" in path else (400,)
        ask = partial(self.transport.get, self.name, path, also=also, read=partial(_read, path))
        try:
            return await ask(params={**params, "fields": "|".join(FIELDS)})
        except UnknownField:
            return await ask(params=params)


class UnknownField(SourceRefused):
    """The API does not know a requested field: its data structure has changed."""


def clean_term(query: str) -> str:
    """Make a query safe for the API: no reserved characters, tags or dangling operators; brackets and quotes in pairs.

    Raises:
        SourceRefused: nothing is left to search for.

    >>> clean_term('(migraine[tiab] OR "sick headache") AND propranolol, oral')
    '(migraine OR "sick headache") AND propranolol oral'
    >>> clean_term('migraine AND (timolol'), clean_term("migraine NOT (mice OR rats)")
    ('migraine AND timolol', 'migraine AND NOT (mice OR rats)')
    """

    def word_of_tag(tag: re.Match[str]) -> str:
        """Keep the word before a PubMed tag (`migraine[tiab]`); drop this API's own tags (`AREA[Phase]`)."""
        word = tag.group().partition("[")[0]
        return "" if word in ("AREA", "SEARCH", "RANGE", "EXPANSION", "COVERAGE", "DISTANCE") else word

    term = _TAG.sub(word_of_tag, query).translate(_RESERVED)
    if term.count('"') % 2:
        term = term.replace('"', " ")
    parts = term.split('"')
    for place in range(1, len(parts), 2):
        phrase = " ".join(parts[place].translate(_BRACKETS).split())
        parts[place] = f'"{phrase}"' if phrase else " "
    term = "".join(parts)
    depths = list(accumulate({"(": 1, ")": -1}.get(character, 0) for character in term))
    if depths and (min(depths) < 0 or depths[-1]):
        term = term.translate(_BRACKETS)
    former = ""
    while term != former:  # each round can expose another empty pair or dangling operator
        former = term
        term = " ".join(term.split()).replace("( ", "(").replace(" )", ")")
        term = " ".join(term.replace("()", " ").split())
        term = _LOOSE_ENDS.sub("", term).strip()
    if not any(map(str.isalnum, term)):
        raise SourceRefused(ClinicalTrials.name, "the query holds no words to search for")
    return _BARE_NOT.sub(lambda found: found[1] or " AND NOT", term)


def _read(path: str, reply: Reply) -> tuple[dict[str, Any], str]:
    if reply.status == 404:
        return {}, reply.url
    if reply.status == 400:
        said = redacted(reply.body[:2000].decode("utf-8", "replace"))
        said = "no reason given" if not said or said.startswith("<") else said
        raise (UnknownField if "invalid field name" in said else SourceRefused)(
            reply.source, f"refused the query: {said}"
        )
    found = reply.json()
    wanted, kind = ("studies", list) if path == "studies" else ("protocolSection", dict)
    if not isinstance(at(found, wanted), kind):
        raise UnreadableReply(reply.source, f"answered without {wanted}")
    return found, reply.url


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
