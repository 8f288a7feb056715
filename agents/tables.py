"""The report's tables: evidence for and against, trials, search log, and the flow of records."""

from collections import Counter
from collections.abc import Mapping, Sequence

from willowbark.tools.appraisal import effect_sizes, followup_months
from willowbark.tools.candidates import AppraisedRecord, Candidate
from willowbark.tools.evidence import Evidence

from .findings import Dossier
from .report import EvidenceRow, Flow, SearchLogEntry, TrialRow


def evidence_table(shown: Sequence[Candidate], records: Mapping[str, Evidence]) -> list[EvidenceRow]:
    """One row for each record appraised for a candidate of the report."""
    return [_evidence_row(c.drug, appraised, records[appraised.key]) for c in shown for appraised in c.records]


def _evidence_row(drug: str, appraised: AppraisedRecord, record: Evidence) -> EvidenceRow:
    item, body = appraised.item, record.content.partition("\n\n")[2]
    followup = followup_months(body)
    return EvidenceRow(
        key=item.key,
        drug=drug,
        direction=item.direction.value,
        design=item.design.label,
        date=record.citation.date,
        title=record.citation.title,
        sentence=appraised.sentence,
        sample_size=item.sample_size,
        followup_months=followup.value if followup else None,
        effects=effect_sizes(body),
        is_preprint=item.is_preprint,
        retracted=item.retracted,
        concern=item.concern,
    )


def trial_table(candidates: Sequence[Candidate], records: Mapping[str, Evidence]) -> list[TrialRow]:
    """One row for each registered trial that names a candidate, in the order of relevance."""
    drugs: dict[str, list[str]] = {}
    kinds = {}
    for candidate in candidates:
        for appraised in candidate.records:
            if records[appraised.key].citation.source == "clinicaltrials":
                drugs.setdefault(appraised.key, []).append(candidate.drug)
                kinds[appraised.key] = appraised.item.why_stopped_kind
    ordered = sorted(drugs, key=lambda key: (-records[key].relevance, key))
    return [_trial_row(records[key], drugs[key], kinds[key]) for key in ordered]


def _trial_row(record: Evidence, drugs: list[str], kind: str | None) -> TrialRow:
    data = record.metadata
    return TrialRow(
        key=record.key,
        nct_id=str(data.get("nct_id", "")),
        title=record.citation.title,
        drugs=drugs,
        status=data.get("overall_status"),
        phases=list(data.get("phases", ())),
        enrollment=data.get("enrollment"),
        start_date=data.get("start_date"),
        completion_date=data.get("completion_date"),
        why_stopped=data.get("why_stopped"),
        why_stopped_kind=kind,
        has_results=bool(data.get("has_results")),
    )


def search_log(dossier: Dossier) -> list[SearchLogEntry]:
    """Every query in the order it was asked."""
    return [
        SearchLogEntry(
            source=reply.source,
            query=reply.query,
            specialist=found.specialist,
            iteration=found.iteration,
            status=reply.status.value,
            taken=len(reply.records),
            found=reply.total,
            asked_at=reply.asked_at,
            warnings=reply.warnings,
        )
        for found in dossier.in_order
        for reply in found.replies
    ]


def flow(dossier: Dossier, pool: Sequence[Evidence], candidates: Sequence[Candidate]) -> Flow:
    """Count the records from identification to inclusion."""
    came = [record for found in dossier.findings for record in found.records]
    appraised = {record.key for candidate in candidates for record in candidate.records}
    excluded = Counter(_reason(record) for record in pool if record.key not in appraised)
    retracted = [record for record in pool if record.metadata.get("retracted") and record.key in appraised]
    if retracted:
        excluded["retracted"] += len(retracted)
    return Flow(
        identified=dict(sorted(Counter(record.citation.source for record in came).items())),
        duplicates=len(came) - len(pool),
        screened=len(pool),
        excluded=dict(sorted(excluded.items())),
        included=len(appraised) - len(retracted),
    )


def _reason(record: Evidence) -> str:
    kind = record.metadata.get("record_type")
    if kind in ("drug", "disease"):
        return "drug or disease database entry, used for mechanisms"
    return "not on the condition, or names no drug"
