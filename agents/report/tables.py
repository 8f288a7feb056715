"""The report's tables: evidence for and against, trials, searches, and the flow of records.

The flow follows PRISMA 2020 (https://doi.org/10.1136/bmj.n71). Its numbers add up by construction: every record
identified is a duplicate or screened, every record screened is excluded or included.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from willowbark.tools.appraisal.appraised import AppraisedRecord, list_conditions, list_record_names
from willowbark.tools.appraisal.candidates import Candidate, is_on_condition
from willowbark.tools.appraisal.certainty import FAR_TOO_FEW, UNREPORTED_SIZE
from willowbark.tools.reading.numbers import (
    RATIOS,
    EffectSize,
)
from willowbark.tools.reading.reading import RANDOMISED, Match, Role, StudyDesign, Value
from willowbark.tools.reading.sections import find_section
from willowbark.tools.records import EvidenceType, Trial
from willowbark.tools.records.card import ENTRIES
from willowbark.tools.records.evidence import Evidence
from willowbark.tools.records.registry import kind_of, takes_names
from willowbark.tools.records.study import Study
from willowbark.tools.wording import short

from ..asking.claims import plain
from ..findings import Dossier
from ..pictures import write_estimate
from .content import EFFICACY, BestEstimate, EvidenceRow, Flow, Pico, PostedResult, SearchLogEntry, TrialRow
from .material import Material

MAX_EFFECTS = 4  # of a full text's many results: the first are on the primary outcome
LONGEST_FIGURES = 100  # characters of a best estimate; the study's own row has all
MAX_GROUPS = 3  # groups with posted adverse events, of a study
_FILTERS = frozenset(
    "filter.advanced filter.overallStatus datetype mindate maxdate synonym sort retmax pageSize".split()
)
"""Request parameters that limit the results, besides the query itself."""
_ROLES: Mapping[Role, str] = {
    "comparator": "the active control",
    "combined": "with other drugs",
    "background": "given to all groups",
    "cause": "as a cause of the condition",
    "outcome": "as the outcome measured",
    "mentioned": "mentioned in passing",
    "other_use": "for another condition",
    "not_a_drug_here": "not as a drug",
}
_MATCHES: Mapping[Match, str] = {
    "same": "{}",
    "narrower": "a subgroup with {}",
    "complication": "{} with a complication",
    "broader": "a wider population than {}",
    "other": "not {}",
}
_NO_STUDIES = {"label": "drug label (no study)", "notice": "notice of a retraction, concern or correction"}
_OF_REPLY = ("source", "query", "asked_at", "warnings", "understood")
_OF_TRIAL = ("sponsor", "phases", "enrollment", "start_date", "completion_date", "why_stopped")
_TRIALS = frozenset(design.label for design in (*RANDOMISED, StudyDesign.systematic_review))
_PRECLINICAL = frozenset(design.label for design in StudyDesign if design.is_preclinical)
_NOTHING = frozenset({"placebo", "none"})
_OUTCOMES: Mapping[str, str] = {
    "efficacy": EFFICACY,
    "surrogate": "a marker of the condition",
    "harm": "harm",
    "process": "pharmacokinetics, cost or use",
}


def tabulate_evidence(candidates: Sequence[Candidate], records: Mapping[str, Evidence]) -> list[EvidenceRow]:
    """Return one row for each record appraised for a candidate of the report."""
    rows = list[EvidenceRow]()
    for candidate in candidates:
        rows += [_make_row(candidate.drug, record, records[record.key]) for record in candidate.records]
    return rows


def list_corrected_rows(others: Sequence[Candidate], records: Mapping[str, Evidence]) -> list[EvidenceRow]:
    """Return the rows of which people said something, of drugs that have no verdict, or none any more."""
    rows = list[EvidenceRow]()
    for candidate in others:
        rows += [_make_row(candidate.drug, record, records[record.key]) for record in candidate.records if record.word]
    return rows


def _make_row(drug: str, appraised: AppraisedRecord, record: Evidence) -> EvidenceRow:
    item = appraised.item
    result = appraised.told
    effects = list(result.effects) if appraised.sentence else []
    section = find_section(record, appraised.sentence, plain)
    own = dict(item) | {
        "drug": drug,
        "direction": item.direction.value,
        "design": item.design.label,
        "date": record.citation.date,
        "title": record.citation.title,
        "sentence": appraised.sentence,
        "evidence_type": find_evidence_type(appraised),
        "section": section,
        "effects": effects,
        "effects_section": section if effects else None,
        "figures": list(result.figures)[:MAX_EFFECTS] if appraised.sentence else [],
        "harm": appraised.reading.does_harm,
        "pico": make_pico(appraised, record),
        "setting": [passage.text for passage in result.setting],
        "quoted_participants": result.quoted_participants,
        "values": list_values(appraised),
        "word": appraised.word,
    }
    return EvidenceRow.model_validate(own)


def list_studies(candidates: Sequence[Candidate]) -> list[Study]:
    """List the studies behind the report's candidates, one a record and reader.

    A reader of single drugs gives a study for each drug; they are joined, the first one's deciding comparison first.
    """
    studies = dict[tuple[str, str, str], Study]()
    for candidate in candidates:
        for appraised in candidate.records:
            study = appraised.study.model_copy(update={"key": appraised.key})
            identity = (study.key, study.reader, study.version)
            former = studies.get(identity)
            studies[identity] = former.joined(study) if former else study
    return list(studies.values())


def find_evidence_type(appraised: AppraisedRecord) -> EvidenceType:
    """Return what a study is evidence on: in animals or cells the mechanism, with a result on harm safety."""
    if appraised.item.design.is_preclinical:
        return "mechanism"
    is_on_harm = appraised.reading.kind == "harm" or appraised.reading.does_harm
    return "safety" if is_on_harm else "clinical"


def list_values(appraised: AppraisedRecord) -> list[Value]:
    """Return the values of a study's comparison that a model took from the record, estimates from its passage alone.

    Without a model's, tolerability is that of posted results.
    """
    every = next((reading.values for reading in appraised.readings if reading.values), ())
    passage = appraised.told.passage.text if appraised.told.passage else ""
    by_model = [value for value in every if value.what != "estimate" or value.quote in passage]
    posted = list[Value]()
    for events in (appraised.posted.serious_events if appraised.posted else [])[:MAX_GROUPS]:
        of = "" if events.at_risk is None else f" of {events.at_risk}"
        posted.append(Value(what="tolerability", written=f"{events.affected}{of}", outcome=f"serious, {events.group}"))
    kinds = {value.what for value in by_model}
    return [*by_model, *(value for value in posted if value.what not in kinds)]


def shorten_figures(text: str) -> str:
    """Shorten what a study gives in figures to the clauses that fit, at least to the first with a figure.

    >>> shorten_figures("17.5% and 7.5% in those given it, compared with 55%, 30% and 27.5% in the groups without it, "
    ...     "respectively (P < 0.05)")
    '17.5% and 7.5% in those given it, compared with 55%, 30% and 27.5% in the groups without it…'
    """
    ends = []
    for mark in re.finditer(r"[,;] ", text):
        clause = text[: mark.start()]
        is_whole = clause.count("(") == clause.count(")")
        if is_whole and re.search(r"\d", clause):
            ends.append(mark.start())
    if len(text) <= LONGEST_FIGURES or not ends:
        return short(text, LONGEST_FIGURES)
    fitting = [end for end in ends if end <= LONGEST_FIGURES]
    return f"{text[: max(fitting, default=ends[0])]}…"


def find_best_estimate(rows: Sequence[EvidenceRow]) -> BestEstimate | None:
    """Return the result of a drug's most informative study; None without any.

    Preferred are randomised trials or reviews, of the drug alone, on more than a marker, of 100 participants or more,
    against placebo or no treatment, with an effect estimate that excludes no effect, and then the largest, with sizes
    weighted as for certainty. Without an effect estimate it has a model's first, else the passage's figures up to the
    """
    ranked = []
    for row in rows:
        pico = row.pico or Pico()
        size = next(filter(_excludes_no_effect, row.effects), None)
        best = BestEstimate(
            key=row.key,
            result=pico.result,
            figures=write_estimate(size) if size else _write_figures(row),
            comparator=pico.comparator,
            participants=row.quoted_participants if row.sample_size is not None else None,
            preclinical=row.design if row.design in _PRECLINICAL else "",
            outcome=_OUTCOMES["surrogate"] if row.surrogate else "",
        )
        is_doubted = row.is_preprint or bool(row.concern)
        doubts = bool(best.preclinical), row.design not in _TRIALS, not row.alone, is_doubted, row.surrogate
        weak = row.comparator not in _NOTHING
        people = row.sample_size or UNREPORTED_SIZE
        # The key comes last, so that of equal studies the same one leads in every run.
        rank = (*doubts, people < FAR_TOO_FEW, weak, size is None, -people, row.key)
        ranked.append((rank, best))
    return min(ranked, key=lambda item: item[0])[1] if ranked else None


def _excludes_no_effect(size: EffectSize) -> bool:
    """Whether an interval leaves out no effect: 1 of a ratio, 0 of a difference; so without an interval."""
    none = 1 if size.measure in RATIOS else 0
    return size.ci_low is None or size.ci_high is None or not size.ci_low <= none <= size.ci_high


def _write_figures(row: EvidenceRow) -> str:
    """Write what a study found in figures: a model's first estimate, else the passage's figures."""
    for value in row.values:
        if value.what == "estimate":
            return value.model_copy(update={"written": shorten_figures(value.written)}).line
    return shorten_figures("; ".join(row.tested_figures))


def make_pico(appraised: AppraisedRecord, record: Evidence) -> Pico:
    """Build a record's PICO: comparator, outcome and result are those of the comparison that decides."""
    reading = appraised.reading
    trial = record.trial
    shown_result = appraised.told
    role = _ROLES.get(reading.role)
    row = appraised.stance.comparison
    posted = appraised.posted.outcome if appraised.posted else None
    planned = (outcome.get("measure") for outcome in trial.primary_outcomes) if trial else iter(())
    population_asked = _MATCHES[reading.match].format(reading.condition) if reading.condition else ""
    population = ", ".join(trial.conditions) if trial else population_asked
    return Pico(
        population=population or None,
        intervention=f"{reading.drug}, {role}" if role else reading.drug,
        comparator=shown_result.comparator,
        outcome=(posted or next(filter(None, planned), None)) if trial else _OUTCOMES.get(row.endpoint if row else ""),
        result=shown_result.result,
    )


def tabulate_trials(candidates: Sequence[Candidate], records: Mapping[str, Evidence]) -> list[TrialRow]:
    """Return one row for each registered trial that names a candidate, by relevance."""
    results = dict[str, list[tuple[str, AppraisedRecord]]]()  # by record, of each drug
    for candidate in candidates:
        for record in candidate.records:
            if kind_of(records[record.key]) == "trial":
                results.setdefault(record.key, []).append((candidate.drug, record))
    rows = []
    for key, own in sorted(results.items(), key=lambda item: (-records[item[0]].relevance, item[0])):
        data = records[key].trial or Trial()
        posted = []
        for drug, appraised in own:
            if appraised.posted:
                fields = {**dict(appraised.posted), "direction": appraised.item.direction}
                posted.append(PostedResult(**fields, drug=drug))
        rows.append(
            TrialRow(
                key=key,
                nct_id=data.nct_id or "",
                title=records[key].citation.title,
                drugs=[drug for drug, _ in own],
                status=data.overall_status,
                why_stopped_kind=own[-1][1].item.why_stopped_kind,
                has_results=bool(data.has_results),
                posted=posted,
                **{name: getattr(data, name) for name in _OF_TRIAL},
            )
        )
    return rows


def list_searches(dossier: Dossier) -> list[SearchLogEntry]:
    """Return every query in the order asked, with its limits as far as the request was recorded."""
    entries = []
    for findings in dossier.in_order:
        for reply in findings.replies:
            sent = parse_qsl(urlsplit(reply.url).query)
            filters = {name: value for name, value in sent if name in _FILTERS}
            fields: dict[str, Any] = {name: getattr(reply, name) for name in _OF_REPLY}
            entry = SearchLogEntry(
                **fields,
                specialist=findings.specialist,
                iteration=findings.iteration,
                status=reply.status.value,
                taken=len(reply.records),
                found=reply.total,
                # Some sources are asked for names in the body of a request, which no address tells.
                filters=filters if sent or takes_names(reply.source) else None,
            )
            entries.append(entry)
    return entries


def count_flow(material: Material) -> Flow:
    """Count the records from identification to inclusion."""
    identified = Counter[str]()
    excluded = Counter[str]()
    question = material.asked
    for reply in material.dossier.replies:
        identified[reply.source] += len(reply.records)
    appraised: set[str] = set()
    for candidate in material.candidates:
        appraised |= {record.key for record in candidate.records}
    excluded_by_decision: set[str] = set()
    for candidate in material.aside:
        excluded_by_decision |= {record.key for record in candidate.records}
    excluded_by_decision -= appraised
    off_topic = {reading.key for reading in material.dossier.readings if reading.match == "other"}
    corrections = material.readings.corrections
    identified["people"] = len(corrections.list_added(list_conditions(question)))
    versions = 0
    for record in material.pool:
        identified[record.citation.source] += record.record.fetched_as is not None
        kind = kind_of(record)
        paper = record.paper
        versions += len(paper.preprint_versions) + len(paper.earlier_versions) if paper else 0
        word = corrections.find_exclusion(list_record_names(record), list_conditions(question))
        if word is not None:
            reason = f"left out by a person: {word.reason}"
        elif record.key in excluded_by_decision:
            reason = "on drugs that were set aside before the report"
        elif record.key in appraised:
            reason = "retracted" if paper and paper.retracted else ""
        elif kind in ENTRIES or kind == "notice":
            reason = _NO_STUDIES.get(kind, "drug or disease database entry (used for mechanisms)")
        elif record.key in off_topic or not is_on_condition(record, question):
            reason = "not on the condition asked about"
        else:
            reason = "names no drug asked about" if question.names_all or question.left_out else "names no drug"
        excluded[reason] += 1
    included = excluded.pop("", 0)
    screened = len(material.pool) + versions
    # Versions were merged into the record that counts: screened with it, and not duplicates of it.
    excluded["preprint or earlier version of an included record"] = versions
    return Flow(
        identified={source: number for source, number in sorted(identified.items()) if number},
        duplicates=identified.total() - screened,
        screened=screened,
        excluded={reason: number for reason, number in sorted(excluded.items()) if number},
        included=included,
    )
