"""ClinicalTrials.gov, API version 2 (https://clinicaltrials.gov/data-api/api).

A study's fields: https://clinicaltrials.gov/data-api/about-api/study-data-structure; any part of it may be missing.
"""

import asyncio
import html
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field

from ...arguments import as_code, read_codes, read_phases
from ...errors import SourceRefused, UnreadableReply
from ...http.reply import Reply, at, count, dicts, read_each, reported, text
from ...questions import parse_question
from ...questions.trials import remove_kinds
from ...records import PostedResults, Trial
from ...records.card import SourceCard
from ...records.evidence import UNKNOWN_DATE, Citation, Evidence, checked_identifier, date_parts
from ...search import Filters, Page, Source, SourceReply, choose_request_size, local_library
from ..publications import DatedFilters, extract_words, redact

CARD = SourceCard(
    name="clinicaltrials",
    place=10,
    title="ClinicalTrials.gov",
    purpose="Interventional trials of ClinicalTrials.gov: design, phase, size, status, why stopped, posted results.",
    address="https://clinicaltrials.gov/api/v2",
    documentation="https://clinicaltrials.gov/data-api/api",
    per_second=50 / 60,  # none published; beyond some 50 a minute from one address its firewall is reported to refuse
    burst=4,
    wires=("requests", "httpx", "the standard library"),
    way_out="a download from clinicaltrials.gov (JSON or CSV) can be given as a file",
    hosts=("clinicaltrials.gov",),
    gives="trial",
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
]
"""https://clinicaltrials.gov/data-api/about-api/study-data-structure#enum-Status, without those of expanded access."""
Phase = Literal["NA", "EARLY_PHASE1", "PHASE1", "PHASE2", "PHASE3", "PHASE4"]
FIELDS = (
    "protocolSection.identificationModule protocolSection.statusModule protocolSection.descriptionModule.briefSummary"
    " protocolSection.sponsorCollaboratorsModule.leadSponsor protocolSection.conditionsModule.conditions"
    " protocolSection.designModule protocolSection.armsInterventionsModule protocolSection.outcomesModule"
    " protocolSection.referencesModule.references derivedSection.conditionBrowseModule.meshes"
    " derivedSection.interventionBrowseModule.meshes resultsSection.outcomeMeasuresModule"
    " resultsSection.adverseEventsModule.eventGroups hasResults"
).split()
"""Fields requested of a study; sites, contacts, eligibility and single adverse events make up most of the rest."""
UNKNOWN_ENROLLMENT = 99999999  # participants; the registry's code for "not known"
_PAGE_SIZE = 100  # studies; the API allows 1,000, of up to 1 MB each
_MAX_VALUES = 40  # per outcome in a record
_SHOWN_VALUES = 12  # per outcome in the text
_MAX_ANALYSES = 200  # of an outcome; the most seen is 100
_COUNTED = frozenset({"participants", "patients", "subjects"})  # units in which the registry counts people
_SHARES = frozenset({"percent", "percentage", "%"} | {f"percentage of {people}" for people in _COUNTED})
_MAX_WORDS = 1000  # characters of a description in a record
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")  # CommonMark: a backslash may escape any ASCII punctuation
_TAG = re.compile(r"\b[A-Za-z]+\[[^\]]*\]|\[[^\]]*\]")  # AREA[Phase], [tiab]: tags of this API and of PubMed
_RESERVED = str.maketrans("[],*", "    ")
_BARE_NOT = re.compile(r'("[^"]*")|(?<=[^\s(])(?<!\bAND)(?<!\bOR)\s+NOT\b')


def _parse_statuses(value: object) -> object:
    return read_codes(value, get_args(OverallStatus), {"UNKNOWN_STATUS": "UNKNOWN"})


def _parse_phases(value: object) -> object:
    return read_phases(value, get_args(Phase))


def _parse_study_type(value: object) -> object:
    return as_code(value).removesuffix("_STUDY")


class TrialFilters(DatedFilters, frozen=True):
    """Filters for a search of trials; without any, interventional trials of every status are returned."""

    status: Annotated[list[OverallStatus], BeforeValidator(_parse_statuses)] = Field(
        default_factory=list, description="Any of these overall statuses; trials that stopped early are evidence too"
    )
    phase: Annotated[list[Phase], BeforeValidator(_parse_phases)] = Field(
        default_factory=list, description="Any of these phases"
    )
    study_type: Annotated[
        Literal["INTERVENTIONAL", "OBSERVATIONAL", "EXPANDED_ACCESS"], BeforeValidator(_parse_study_type)
    ] = "INTERVENTIONAL"
    has_results: bool | None = Field(default=None, description="With posted results only, or without them only")

    def params(self) -> dict[str, object]:
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
        filter_values = TrialFilters.of(self.name, filters)
        term = clean_term(query)
        size = choose_request_size(max(1, max_results), _PAGE_SIZE)
        params = {"query.term": term, **filter_values.params(), "countTotal": "true", "pageSize": size}

        async def ask(token: str | None) -> Page:
            data, url = await self._ask("studies", {**params, "pageToken": token})
            return Page(data["studies"], count(data.get("totalCount")) or 0, text(data.get("nextPageToken")), url)

        page, problems = await self.page(filter_values.page, max_results, str(params), ask)
        records, unread = read_each(page.hits, parse_study)
        words = parse_question(query).words
        return self.reply(term, records, words=words, total=page.total, problems=[*unread, *problems], url=page.url)

    async def trial(self, nct_id: str) -> SourceReply:
        """Look up one trial by its number; `empty` if the registry has none.

        Raises:
            SourceRefused: not an NCT number.
            SearchError: no reply, or an unreadable one.
        """
        number = checked_identifier("nct_id", nct_id)
        if number is None:
            raise SourceRefused(self.name, f"{nct_id[:40]!r} is not an NCT number (NCT and 8 digits)")
        if (library := local_library(self.transport)) is not None:
            return await asyncio.to_thread(library.trial, self, number)
        study, url = await self._ask(f"studies/{number}", {})
        records, unread = read_each([study] if study else [], parse_study)
        notes = [] if study else [f"there is no trial {number}"]
        if records and records[0].record.nct_id != number:
            notes = [f"{number} is an older number of {records[0].record.nct_id}"]
        return self.reply(number, records, notes=notes, problems=unread, url=url)

    async def study(self, nct_id: str) -> dict[str, Any]:
        """Return a study as the registry writes it; empty if it has none. Raises `SearchError`: no readable reply."""
        study, _ = await self._ask(f"studies/{nct_id}", {})
        return study

    async def _ask(self, path: str, params: dict[str, object]) -> tuple[dict[str, Any], str]:
        params = {**params, "fields": "|".join(FIELDS)}
        return await self.transport.get(self.name, path, params=params, also=(400, 404), read=partial(_read, path))


def clean_term(query: str) -> str:
    """Make a query safe for the API: no reserved characters or tags; plain words where quotes or brackets don't pair.

    Raises:
        SourceRefused: nothing is left to search for.

    >>> clean_term('(migraine[tiab] OR "sick headache") AND propranolol, oral')
    '(migraine OR "sick headache") AND propranolol oral'
    >>> clean_term('migraine AND (timolol'), clean_term("migraine NOT (mice OR rats)")
    ('migraine timolol', 'migraine AND NOT (mice OR rats)')
    """

    def word_of_tag(tag: re.Match[str]) -> str:
        word = tag.group().partition("[")[0]
        return "" if word in ("AREA", "SEARCH", "RANGE", "EXPANSION", "COVERAGE", "DISTANCE") else word

    term = " ".join(_TAG.sub(word_of_tag, remove_kinds(query)).translate(_RESERVED).split())
    if term.count('"') % 2 or term.count("(") != term.count(")"):
        term = extract_words(term)
    if not any(map(str.isalnum, term)):
        raise SourceRefused(ClinicalTrials.name, "the query holds no words to search for")
    return _BARE_NOT.sub(lambda match: match[1] or " AND NOT", term)


def _read(path: str, reply: Reply) -> tuple[dict[str, Any], str]:
    if reply.status == 404 and path != "studies":
        return {}, reply.url
    if reply.status != 200:  # an invalid request gets one line of plain text
        reason = redact(reply.body[:2000].decode("utf-8", "replace"))
        reason = "no reason given" if not reason or reason.startswith("<") else reason
        raise SourceRefused(reply.source, f"refused the query: {reason}")
    data = reply.json()
    key, kind = ("studies", list) if path == "studies" else ("protocolSection", dict)
    if not isinstance(at(data, key), kind):
        raise UnreadableReply(reply.source, f"answered without {key}")
    return data, reply.url


def parse_study(study: Any) -> Evidence | None:
    """Convert one study of any type; None if it has no registry number."""
    protocol = at(study, "protocolSection")
    if (nct_id := checked_identifier("nct_id", at(protocol, "identificationModule", "nctId"))) is None:
        return None
    names = _get_texts(protocol, short="identificationModule.briefTitle", long="identificationModule.officialTitle")
    title = names.get("short") or names.get("long") or nct_id
    arms = at(protocol, "armsInterventionsModule")
    outcomes = at(protocol, "outcomesModule")
    enrolled = at(protocol, "designModule", "enrollmentInfo", "count")
    results = parse_results(at(study, "resultsSection"))
    has_results = at(study, "hasResults")
    references = dicts(protocol, "referencesModule", "references")
    own_papers = [reference for reference in references if reference.get("type") in ("RESULT", "DERIVED")]
    pmids = [checked_identifier("pmid", paper.get("pmid")) for paper in own_papers]  # not of background reading
    headings = [
        *dicts(study, "derivedSection", "conditionBrowseModule", "meshes"),
        *dicts(study, "derivedSection", "interventionBrowseModule", "meshes"),
    ]
    trial = Trial(
        nct_id=nct_id,
        **_get_texts(
            protocol,
            acronym="identificationModule.acronym",
            overall_status="statusModule.overallStatus",
            why_stopped="statusModule.whyStopped",
            study_type="designModule.studyType",
            start_date="statusModule.startDateStruct.date",
            completion_date="statusModule.completionDateStruct.date",
            sponsor="sponsorCollaboratorsModule.leadSponsor.name",
            allocation="designModule.designInfo.allocation",
            masking="designModule.designInfo.maskingInfo.masking",
            primary_purpose="designModule.designInfo.primaryPurpose",
        ),
        phases=_clean_texts(at(protocol, "designModule", "phases")),
        enrollment=enrolled if isinstance(enrolled, int) and enrolled != UNKNOWN_ENROLLMENT else None,
        conditions=_clean_texts(at(protocol, "conditionsModule", "conditions")),
        interventions=[_parse_intervention(entry) for entry in dicts(arms, "interventions")],
        arms=[_parse_arm(arm) for arm in dicts(arms, "armGroups")],
        primary_outcomes=_get_rows(outcomes, "primaryOutcomes", measure="measure", time_frame="timeFrame"),
        secondary_outcomes=_get_rows(outcomes, "secondaryOutcomes", measure="measure", time_frame="timeFrame"),
        results=results or None,
        result_pmids=list(dict.fromkeys(filter(None, pmids))),
        mesh_terms=_clean_texts(heading.get("term") for heading in headings),
        has_results=has_results if isinstance(has_results, bool) else True if results else None,
        has_abstract=True,
    )
    # date of the last update, else of first posting, else of the trial's start
    structs = ("lastUpdatePostDateStruct", "studyFirstPostDateStruct", "startDateStruct")
    dates = (text(at(protocol, "statusModule", struct, "date")) or "" for struct in structs)
    return Evidence(
        content="\n".join([title, "", *_write_sentences(protocol, trial)]),
        citation=Citation(
            source="clinicaltrials",
            title=title,
            url=f"https://clinicaltrials.gov/study/{nct_id}",
            date=next((date for date in dates if date_parts(date)), UNKNOWN_DATE),
            authors=[trial.sponsor] if trial.sponsor else [],
        ),
        record=trial,
    )


def _parse_intervention(entry: Mapping[str, Any]) -> Any:
    texts = _get_texts(entry, type="type", name="name")
    return reported({**texts, "other_names": _clean_texts(entry.get("otherNames"))})


def _parse_arm(arm: Mapping[str, Any]) -> Any:
    """Read an arm, its interventions without their types (`Drug: X`)."""
    names = [name.partition(": ")[2] or name for name in _clean_texts(arm.get("interventionNames"))]
    return reported({**_get_texts(arm, label="label", type="type"), "interventions": names})


def parse_results(section: Any) -> PostedResults:
    """Convert posted results: outcomes, serious adverse events and deaths; empty if none are posted.

    Numbers remain the text posted by the registry (`<0.001`, `12.4`, `NA`).
    """
    measures = dicts(section, "outcomeMeasuresModule", "outcomeMeasures")
    groups = dicts(section, "adverseEventsModule", "eventGroups")
    posted: PostedResults = reported(
        {
            "primary_outcomes": [_parse_outcome(measure) for measure in measures if measure.get("type") == "PRIMARY"],
            "secondary_outcomes": [
                _parse_outcome(measure) for measure in measures if measure.get("type") == "SECONDARY"
            ],
            "serious_adverse_events": _count_affected(groups, "serious"),
            "deaths": _count_affected(groups, "deaths"),
        }
    )
    return posted


def _count_affected(groups: Iterable[Mapping[str, Any]], field: str) -> list[dict[str, Any]]:
    counts: list[dict[str, Any]] = []
    for group in groups:
        affected = group.get(f"{field}NumAffected")
        at_risk = group.get(f"{field}NumAtRisk")
        if affected is not None and at_risk != 0:
            counts.append({"group": _clean_text(group.get("title")), "affected": affected, "at_risk": at_risk})
    return counts


def _parse_outcome(measure: Mapping[str, Any]) -> Any:
    groups = {str(group.get("id")): group for group in dicts(measure, "groups")}
    titles = {key: _clean_text(group.get("title")) for key, group in groups.items()}
    sizes: dict[str, str | None] = {}
    for denominator in dicts(measure, "denoms")[:1]:
        counts = dicts(denominator, "counts")
        sizes |= {str(entry.get("groupId")): _clean_text(entry.get("value")) for entry in counts}
    texts = _get_texts(measure, title="title", time_frame="timeFrame", unit="unitOfMeasure")
    analyses = [_parse_analysis(analysis, titles, texts.get("title")) for analysis in dicts(measure, "analyses")]
    described: list[Any] = []
    for key, group in groups.items():
        description = _shorten_words(group.get("description"))
        described.append(reported({"name": titles[key], "n": sizes.get(key), "description": description}))
    further = {
        "description": _shorten_words(measure.get("description")),
        "groups": described,
        "values": _parse_values(measure, titles)[:_MAX_VALUES],
        "analyses": analyses[:_MAX_ANALYSES],
    }
    return {**texts, **reported(further)}


def _parse_values(measure: Mapping[str, Any], titles: Mapping[str, str | None]) -> list[Any]:
    """List what was measured in each group, by the class and category of the measure."""
    values: list[Any] = []
    for row in dicts(measure, "classes"):
        for category in dicts(row, "categories"):
            headings = map(_clean_text, (row.get("title"), category.get("title")))
            heading = ", ".join(filter(None, headings))
            for value in dicts(category, "measurements"):
                group = titles.get(str(value.get("groupId")))
                texts = _get_texts(value, value="value")
                values.append(reported({"group": group, "category": heading, **texts}))
    return values


def _parse_analysis(
    analysis: Mapping[str, Any], groups: Mapping[str, str | None], outcome: str | None
) -> dict[str, Any]:
    """Return an analysis with the `sentence` that describes it in the record's text."""
    compared = [groups.get(str(key)) or str(key) for key in analysis.get("groupIds") or ()]
    fields = _get_texts(
        analysis,
        p_value="pValue",
        method="statisticalMethod",
        effect="paramType",
        effect_value="paramValue",
        ci_percent="ciPctValue",
        ci_lower="ciLowerLimit",
        ci_upper="ciUpperLimit",
        non_inferiority="nonInferiorityType",
    )
    p_value = fields["p_value"] = fields.get("p_value", "").removeprefix("=").strip()
    fields |= {
        "groups": compared,
        "one_sided": True if analysis.get("ciNumSides") == "ONE_SIDED" else None,
        "p_comment": _shorten_words(analysis.get("pValueComment")),
        "about": _shorten_words(analysis.get("groupDescription")),
    }
    parts = [" versus ".join(compared)]
    if "effect_value" in fields:
        parts.append(f"{fields.get('effect', 'effect')} {fields['effect_value']}")
    if "ci_lower" in fields or "ci_upper" in fields:
        level = f"{fields['ci_percent']}% " if "ci_percent" in fields else ""
        parts.append(f"{level}CI {fields.get('ci_lower', 'not given')} to {fields.get('ci_upper', 'not given')}")
    if p_value:
        parts.append(f"p {p_value}" if p_value[0] in "<>≤≥" else f"p = {p_value}")
    parts.append(fields.get("method", ""))
    return {**reported(fields), "sentence": f"{outcome or 'Primary outcome'}: {', '.join(filter(None, parts))}."}


def _write_sentences(protocol: Any, trial: Trial) -> Iterator[str]:
    """Yield the record's text, one fact per line; unreported facts are left out."""
    design = [trial.study_type, trial.allocation]
    kind = at(protocol, "designModule", "enrollmentInfo", "type")
    if trial.masking:
        design.append("no masking" if trial.masking == "NONE" else f"{_spell_code(trial.masking)} masking")
    design += [f"purpose {_spell_code(trial.primary_purpose)}"] if trial.primary_purpose else []
    design += trial.phases
    if trial.enrollment is not None:
        design.append(f"{trial.enrollment} participants" + (f" ({_spell_code(kind)})" if kind else ""))
    parts: Mapping[str, Sequence[str | None]] = {
        "SUMMARY": [_clean_text(at(protocol, "descriptionModule", "briefSummary"))],
        "CONDITIONS": trial.conditions,
        "DESIGN": [", ".join(_spell_code(part) for part in design if part and part != "NA")],
        "ARMS": [_join_fields(arm, "type", "label") for arm in trial.arms],
        "INTERVENTIONS": [_join_fields(intervention, "type", "name") for intervention in trial.interventions],
        "PRIMARY OUTCOMES": [
            _join_fields(outcome_row, "measure", "time_frame", " – ") for outcome_row in trial.primary_outcomes
        ],
        "SECONDARY OUTCOMES": [outcome_row.get("measure", "") for outcome_row in trial.secondary_outcomes],
        "STATUS": [_spell_code(trial.overall_status or "")],
        "WHY STOPPED": [trial.why_stopped],
    }
    for label, listed in parts.items():
        if line := "; ".join(filter(None, listed)):
            yield f"{label}: {line}" + ("" if line.endswith((".", "!", "?")) else ".")
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
    sizes = {group.get("name"): group.get("n") for group in outcome.get("groups", ())}
    values = [_describe_value(value, sizes.get(value.get("group")), unit) for value in outcome.get("values", ())]
    listed = "; ".join(values[:_SHOWN_VALUES]) + ("; …" if len(values) > _SHOWN_VALUES else "") + unit
    return f"{outcome.get('title', 'outcome')}: {listed if values else 'no values posted'}"


def _describe_value(value: Mapping[str, Any], size: str | None, unit: str) -> str:
    """Write a group's value; where people are counted, out of how many."""
    posted = value.get("value")
    measure = unit.strip().casefold()
    if posted and size and measure in _COUNTED and posted.isdigit():
        posted = f"{posted} of {size}"
    elif posted and size and measure in _SHARES:
        posted = f"{posted} (of {size} analysed)"
    return " ".join(filter(None, (value.get("group"), value.get("category"), posted)))


def _describe_events(groups: Iterable[Mapping[str, Any]]) -> str:
    counts = ((group["group"] or "group not named", group["affected"], group["at_risk"]) for group in groups)
    return "; ".join(
        f"{group} {affected}" + ("" if at_risk is None else f" of {at_risk}") for group, affected, at_risk in counts
    )


def _clean_text(value: Any) -> str | None:
    """Return a text on one line, without HTML entities and Markdown escapes; None if there is none."""
    return text(_ESCAPED.sub(r"\1", html.unescape(value))) if isinstance(value, str) else text(value)


def _get_texts(data: Any, **paths: str) -> dict[str, Any]:
    """Return the texts at paths of keys joined by dots, without missing ones."""
    texts: dict[str, Any] = reported({name: _clean_text(at(data, *path.split("."))) for name, path in paths.items()})
    return texts


def _get_rows(data: Any, key: str, **paths: str) -> list[Any]:
    """Return the texts of each entry of a list, without entries that have none."""
    rows = [_get_texts(entry, **paths) for entry in dicts(data, key)]
    return [row for row in rows if row]


def _shorten_words(value: Any) -> str | None:
    return (_clean_text(value) or "")[:_MAX_WORDS] or None


def _clean_texts(values: Iterable[Any] | None) -> list[str]:
    return list(dict.fromkeys(filter(None, map(_clean_text, values or ()))))


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
