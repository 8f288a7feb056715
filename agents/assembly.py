"""From verified claims and appraised candidates to the report: all of it code, nothing of it a model's word."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from willowbark.tools.candidates import APPROVED_PHASE, Candidate
from willowbark.tools.evidence import SOURCE_TITLES, Evidence
from willowbark.tools.query import ParsedQuestion, parse_question
from willowbark.tools.trust import trust_summary

from .claims import Claim, Verdicts, names_unknown
from .findings import Dossier
from .judge import JudgeAssessment, sources_breakdown
from .mechanism import HypothesisAssessment, MechanismHypothesis
from .report import NOT_REPORTED, DrugCandidate, ReportDraft, ReportSection, ResearchReport
from .report_markdown import escaped
from .tables import evidence_table, flow, search_log, trial_table

MAX_CANDIDATES = 12  # in the report; further ones are named without a section
MAX_SHOWN_TRIALS = 12  # rows of the trial table
MAX_GAPS, MAX_GAP_CHARACTERS = 10, 400  # of a judge's words
SUMMARY_LIMIT = 1000  # characters, by contract

CONFIDENCE = {"high": 0.9, "moderate": 0.7, "low": 0.45, "very_low": 0.2}
"""Confidence in the answer by the best candidate's certainty; our convention, stated in the methodology."""
CONFIDENCE_LOST = 0.1  # for each source that did not answer at all
_REASONS = {
    "sufficient_evidence": "the evidence was judged sufficient",
    "token_budget_exceeded": "the token budget was nearly used",
    "max_iterations_reached": "the highest number of rounds was reached",
    "timeout": "the time budget was nearly used",
    "no_new_evidence": "nothing new was left to find",
    "cancelled": "the run was cancelled",
}


@dataclass(frozen=True)
class Material:
    """All that a report is made of."""

    dossier: Dossier
    assessments: Sequence[JudgeAssessment]
    pool: Sequence[Evidence]
    candidates: Sequence[Candidate]
    draft: ReportDraft
    verdicts: Verdicts
    repaired: int = 0
    notes: Sequence[str] = ()
    tokens_used: int = 0
    analyst: str = "unknown"
    stop_reason: str | None = None
    records: Mapping[str, Evidence] = field(init=False)
    asked: ParsedQuestion = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", {record.key: record for record in self.pool})
        object.__setattr__(self, "asked", parse_question(self.dossier.question))

    @property
    def reason(self) -> str:
        """Why the search ended."""
        given = [verdict.stop_reason for verdict in self.assessments if verdict.stop_reason]
        return self.stop_reason or (given[-1] if given else "cancelled")

    @property
    def topic(self) -> str:
        """The condition asked about, or the question's words."""
        return " and ".join(self.asked.conditions) or " ".join(self.asked.terms) or self.dossier.question

    @property
    def sandboxed(self) -> bool:
        """Whether a sandbox answered in the sources' place."""
        return any(reply.sandboxed for reply in self.dossier.replies)


class _References:
    """Numbers records in the order in which they are first cited."""

    def __init__(self, records: Mapping[str, Evidence]) -> None:
        self._records = records
        self._numbers: dict[str, int] = {}

    def cite(self, keys: Iterable[str]) -> str:
        """Give `[1]` or `[1, 4]` for records; those outside the pool can't be cited."""
        known = [key for key in dict.fromkeys(keys) if key in self._records]
        numbers = [self._numbers.setdefault(key, len(self._numbers) + 1) for key in known]
        return f"[{', '.join(map(str, sorted(numbers)))}]" if numbers else ""

    @property
    def cited(self) -> list[str]:
        return list(self._numbers)

    def listed(self) -> list[dict[str, object]]:
        return [_reference(number, self._records[key]) for key, number in self._numbers.items()]


def assemble(material: Material) -> ResearchReport:
    """Build the report; never fails for want of evidence, and says so instead."""
    references = _References(material.records)
    shown = _shown(material)
    claims = {candidate.drug: _claims_on(candidate, material.verdicts.kept) for candidate in shown}
    clinical = _clinical(material, shown, claims, references)
    mechanistic = _mechanistic(shown, references)
    proposed = {
        draft.name.casefold(): draft.proposed_mechanism
        for draft in material.draft.candidates
        if not names_unknown(draft.proposed_mechanism, material.pool)
    }
    candidates = [_drug_candidate(c, claims[c.drug], proposed.get(c.drug, ""), material) for c in shown]
    return ResearchReport(
        title=_title(material),
        executive_summary=_summary(material, candidates),
        research_question=material.dossier.question,
        methodology=_methodology(material),
        hypotheses_tested=[
            {**hypothesis.model_dump(), "verdict": verdict} for hypothesis, verdict in _hypotheses(shown)
        ],
        mechanistic_findings=mechanistic,
        clinical_findings=clinical,
        drug_candidates=[candidate.name for candidate in candidates],
        candidates=candidates,
        limitations=_limitations(material, shown),
        gaps=_gaps(material),
        conclusion=_conclusion(material, candidates),
        references=references.listed(),
        sources_searched=material.dossier.answered,
        total_papers_reviewed=len(material.pool) - sources_breakdown(material.pool)["other"],
        search_iterations=material.dossier.iteration,
        tokens_used=material.tokens_used,
        stop_reason=material.reason,
        confidence_score=_confidence(material, shown),
        claims_kept=len(material.verdicts.kept),
        claims_repaired=material.repaired,
        claims_dropped=len(material.verdicts.dropped),
        evidence_table=evidence_table(shown, material.records),
        trials=trial_table(material.candidates, material.records),
        search_log=search_log(material.dossier),
        flow=flow(material.dossier, material.pool, material.candidates),
    )


def hypotheses_on(candidates: Sequence[Candidate]) -> HypothesisAssessment:
    """The mechanism hypotheses that the candidates give rise to, best first."""
    hypotheses = [hypothesis for hypothesis, _ in _hypotheses(candidates)]
    return HypothesisAssessment(
        hypotheses=hypotheses,
        primary_hypothesis=hypotheses[0] if hypotheses else None,
        knowledge_gaps=[f"No mechanism found for {c.drug}." for c in candidates if not c.mechanisms],
        recommended_searches=[query for h in hypotheses[:3] for query in h.to_search_queries()],
    )


def _shown(material: Material) -> list[Candidate]:
    """The candidates of the report: those with a verified clinical claim, a verdict and a place in the list."""
    claimed = {claim.drug.casefold() for claim in material.verdicts.kept}
    with_claim = [c for c in material.candidates if c.has_verdict and c.drug in claimed]
    return with_claim[:MAX_CANDIDATES]


def _claims_on(candidate: Candidate, kept: Sequence[Claim]) -> list[Claim]:
    order = {"supports": 0, "contradicts": 1, "neutral": 2}
    return sorted((c for c in kept if c.drug.casefold() == candidate.drug), key=lambda c: order[c.stance])


def _drug_candidate(candidate: Candidate, claims: list[Claim], proposed: str, material: Material) -> DrugCandidate:
    found = candidate.appraisal
    marketed = [i.name for i in candidate.indications if i.max_phase is not None and i.max_phase >= APPROVED_PHASE]
    return DrugCandidate(
        name=candidate.drug,
        generic_name=candidate.drug,
        current_indications=marketed,
        mechanism=_mechanism(candidate) or NOT_REPORTED,
        proposed_mechanism=proposed or NOT_REPORTED,
        evidence_quality=found.quality,
        certainty=found.certainty.level.value.replace("_", " "),
        certainty_reasons=list(found.certainty.steps),
        clinical_status=_status(candidate, material),
        supporting_citations=list(found.supporting),
        contradicting_citations=list(found.contradicting),
        undecided_citations=[*found.neutral, *found.unclear],
        claims=claims,
    )


def _mechanism(candidate: Candidate) -> str:
    how = "; ".join(candidate.mechanisms)
    targets = f" (targets {', '.join(candidate.targets[:6])})" if candidate.targets else ""
    return f"{how}{targets}" if how else ""


def _status(candidate: Candidate, material: Material) -> str:
    """Where the drug stands for the condition, in ChEMBL's and Open Targets' phases and the registered trials."""
    phase = candidate.phase_for_condition
    if phase is not None and phase >= APPROVED_PHASE:
        return f"Marketed for {material.topic}"
    trial_phases = [
        str(phase)
        for record in candidate.records
        for phase in material.records[record.key].metadata.get("phases", ())
        if record.item.trial_status is not None and str(phase).startswith("PHASE")
    ]
    highest = max([phase or 0, *(float(p.removeprefix("PHASE")) for p in trial_phases)], default=0)
    marketed = any((i.max_phase or 0) >= APPROVED_PHASE for i in candidate.indications)
    if highest:
        other = "; marketed for other conditions" if marketed else ""
        return f"Phase {highest:g} for this condition{other}"
    return "Marketed for other conditions" if marketed else NOT_REPORTED


def _clinical(
    material: Material, shown: Sequence[Candidate], claims: Mapping[str, list[Claim]], references: _References
) -> ReportSection:
    lines = []
    for candidate in shown:
        found = candidate.appraisal
        lines.append(
            f"**{candidate.drug}** ({found.quality}, {found.certainty.level.value.replace('_', ' ')} certainty): "
            f"{_count(len(found.supporting), 'record')} for {references.cite(found.supporting)}, "
            f"{len(found.contradicting)} against {references.cite(found.contradicting)}".rstrip()
            + "."
        )
        lines += [
            f"- {escaped(claim.text)} {references.cite([claim.evidence_key])}" for claim in claims[candidate.drug]
        ]
        lines.append("")
    lines += _trial_lines(material, references)
    others = [c.drug for c in material.candidates if c not in shown]
    if others:
        lines += [
            "",
            f"Named in the records on {material.topic}, without a verified verdict: {', '.join(others[:30])}.",
        ]
    text = "\n".join(lines).strip() or f"No record on {material.topic} speaks for or against an existing drug."
    return ReportSection(title="Clinical findings", content=text, citations=references.cited)


def _trial_lines(material: Material, references: _References) -> list[str]:
    on_topic = {r.key for c in material.candidates for r in c.records if r.item.trial_status is not None}
    trials = [record for record in material.pool if record.key in on_topic][:MAX_SHOWN_TRIALS]
    if not trials:
        return []
    lines = ["Registered trials:"]
    for trial in trials:
        data = trial.metadata
        phases = "/".join(str(p).removeprefix("PHASE").replace("EARLY_", "early ") for p in data.get("phases", ()))
        enrollment = data.get("enrollment")
        parts = [
            str(data.get("overall_status", NOT_REPORTED)).replace("_", " ").lower(),
            f"phase {phases}"
            if phases and phases != "NA"
            else "phase not applicable"
            if phases
            else "phase not reported",
            f"{enrollment} participants" if enrollment is not None else "enrolment not reported",
            "results posted" if data.get("has_results") else "no results posted",
        ]
        if data.get("why_stopped"):
            parts.append(f"stopped: {escaped(str(data['why_stopped']))}")
        title = escaped(trial.citation.title)
        lines.append(f"- {data.get('nct_id')}: {title} ({'; '.join(parts)}) {references.cite([trial.key])}")
    return lines


def _mechanistic(shown: Sequence[Candidate], references: _References) -> ReportSection:
    start = len(references.cited)
    lines = []
    for candidate in shown:
        if how := _mechanism(candidate):
            path = f"; pathways: {', '.join(candidate.pathways[:3])}" if candidate.pathways else ""
            lines.append(f"- **{candidate.drug}**: {how}{path} {references.cite(candidate.drug_records)}")
    missing = [c.drug for c in shown if not c.mechanisms]
    if missing:
        lines.append(f"- No mechanism was found for {', '.join(missing)}.")
    text = "\n".join(lines) or "No mechanism of a candidate was found."
    return ReportSection(title="Mechanistic findings", content=text, citations=references.cited[start:])


def _hypotheses(candidates: Sequence[Candidate]) -> list[tuple[MechanismHypothesis, str]]:
    found: list[tuple[MechanismHypothesis, str]] = []
    for candidate in candidates:
        if not candidate.mechanisms:
            continue
        appraisal = candidate.appraisal
        decided = len(appraisal.supporting) + len(appraisal.contradicting)
        hypothesis = MechanismHypothesis(
            drug=candidate.drug,
            target=", ".join(candidate.targets[:6]) or NOT_REPORTED,
            pathway=candidate.pathways[0] if candidate.pathways else NOT_REPORTED,
            effect="; ".join(candidate.mechanisms),
            confidence=round(len(appraisal.supporting) / decided, 2) if decided else 0.0,
            supporting_evidence=list(appraisal.supporting),
            contradicting_evidence=list(appraisal.contradicting),
        )
        found.append((hypothesis, appraisal.quality))
    return found


def _methodology(material: Material) -> ReportSection:
    replies = material.dossier.replies
    rows = [
        f"| {reply.source} | `{_code(reply.query)}` | {reply.status.value.replace('_', ' ')} | "
        f"{len(reply.records)} | {reply.total} |"
        for reply in replies
    ]
    where = (
        "Willowbark's sandbox, a bundled library that speaks the sources' protocols on this machine"
        if material.sandboxed
        else "the public sources"
    )
    counts = sources_breakdown(material.pool)
    text = [
        f"Specialists for literature, clinical trials and mechanisms searched {where} in "
        f"{_count(material.dossier.iteration, 'round')}; a judge decided after each round whether to go on. "
        f"The search ended because {_REASONS.get(material.reason, material.reason)}. Analyst: {material.analyst}.",
        "",
        f"{sum(len(reply.records) for reply in replies)} records came in, {len(material.pool)} without duplicates: "
        + ", ".join(f"{n} {kind.replace('_', ' ')}" for kind, n in counts.items())
        + ".",
        "",
        "Study design, size and direction of effect are read by rules; certainty follows GRADE's steps as far as "
        "abstracts and registry entries allow. Confidence in the answer is set by the best candidate's certainty "
        "(high 0.9, moderate 0.7, low 0.45, very low 0.2), less 0.1 for each source that did not answer. "
        "Every claim was checked against the record that it quotes.",
    ]
    if rows:
        text += ["", "| source | query | answer | taken | found |", "|---|---|---|---|---|", *rows]
    return ReportSection(title="Methodology", content="\n".join(text))


def _limitations(material: Material, shown: Sequence[Candidate]) -> list[str]:
    pool = material.pool
    preprints = sum(record.is_preprint for record in pool)
    bare = sum(not record.has_abstract for record in pool)
    retracted = [record.key for record in pool if record.metadata.get("retracted")]
    lines = [f"Not available: {failure}." for failure in material.dossier.failures]
    lines += [f"{note}." for verdict in material.assessments for note in verdict.notes]
    lines += [f"{note}." for note in material.notes]
    if material.sandboxed:
        lines.append(_sandbox_line())
    if material.verdicts.dropped:
        lines.append(
            f"{_count(len(material.verdicts.dropped), 'claim')} dropped: not borne out by the record it cites."
        )
    if preprints:
        lines.append(f"{_count(preprints, 'record')} not peer-reviewed (preprint).")
    if bare:
        lines.append(f"{_count(bare, 'record')} without an abstract: only the title could be read.")
    lines.append(trust_summary([material.records[key] for key in _rested_on(material.candidates)]))
    if retracted:
        lines.append(f"Retracted, therefore left out of the appraisal: {', '.join(retracted)}.")
    unsized = sum(all(r.item.sample_size is None for r in c.records) for c in shown)
    if unsized:
        lines.append(f"For {_count(unsized, 'candidate')} no record reports a sample size.")
    lines.append(
        "Abstracts and registry entries were read, not full texts; absence of evidence here is not its absence."
    )
    return list(dict.fromkeys(line.replace("..", ".") for line in lines if line))


def _rested_on(candidates: Sequence[Candidate]) -> list[str]:
    """Keys of the records that candidates with a verdict rest on, each once."""
    return list(dict.fromkeys(record.key for c in candidates if c.has_verdict for record in c.records))


def _sandbox_line() -> str:
    from willowbark.tools.sandbox.library import Library  # noqa: PLC0415  only offline reports need it

    return (
        f"Answered offline: {Library.load().summary()} Its abstracts are summaries in Willowbark's own words. "
        "Ask again without --offline to search the public sources."
    )


def _title(material: Material) -> str:
    aim = {"prevention": "to prevent", "treatment": "for", "unknown": "and"}[material.asked.intent]
    return f"Existing drugs {aim} {material.topic}: what the evidence says"


def _summary(material: Material, candidates: Sequence[DrugCandidate]) -> str:
    sources = ", ".join(SOURCE_TITLES.get(name, name) for name in material.dossier.answered) or "no source"
    counts = sources_breakdown(material.pool)
    read = (
        f"{counts['peer_reviewed'] + counts['preprints']} publications and {counts['clinical_trials']} registered "
        f"trials from {sources} were read on the question: {material.dossier.question.strip()[:200]}"
    )
    good = [c for c in candidates if c.evidence_quality in ("strong", "moderate")]
    weak = [c for c in candidates if c.evidence_quality == "weak" and c.supporting_citations]
    doubted = [c for c in candidates if c.evidence_quality == "weak" and not c.supporting_citations]
    refuted = [c for c in candidates if c.evidence_quality == "refuted"]
    parts = [read if read.endswith((".", "?", "!")) else f"{read}."]
    if good:
        parts.append(f"Best supported: {_listed(good)}.")
    if weak:
        parts.append(f"Weak evidence: {_listed(weak)}.")
    if doubted:
        parts.append(f"Evidence against alone, too little to refute: {_listed(doubted)}.")
    if refuted:
        parts.append(f"The evidence speaks against {_listed(refuted)}.")
    if not candidates:
        parts.append("No existing drug was found with evidence that could be verified; the report names no candidate.")
    parts.append(f"The search ended because {_REASONS.get(material.reason, material.reason)}. No medical advice.")
    text = " ".join(parts)
    return text if len(text) <= SUMMARY_LIMIT else text[: SUMMARY_LIMIT - 1].rsplit(" ", 1)[0] + "…"


def _listed(candidates: Sequence[DrugCandidate]) -> str:
    shown = [
        f"{c.name} ({len(c.supporting_citations)} for, {len(c.contradicting_citations)} against)"
        for c in candidates[:5]
    ]
    more = f" and {len(candidates) - 5} more" if len(candidates) > 5 else ""
    return ", ".join(shown) + more


def _conclusion(material: Material, candidates: Sequence[DrugCandidate]) -> str:
    if not candidates:
        covered = f" {_sandbox_line()}" if material.sandboxed else ""
        return (
            f"The records found give no verifiable evidence for an existing drug in {material.topic}. "
            f"That is no evidence that none works.{covered}"
        )
    best = candidates[0]
    if not best.supporting_citations:
        return f"No drug found here is supported for {material.topic}; what was tested speaks against it."
    others = [c.name for c in candidates[1:4] if c.evidence_quality != "refuted"]
    then = f" Next come {', '.join(others)}." if others else ""
    return (
        f"Of the existing drugs with evidence in {material.topic}, {best.name} is best supported "
        f"({best.evidence_quality} evidence, {best.certainty} certainty; {best.clinical_status}).{then}"
    )


def _gaps(material: Material) -> list[str]:
    """What the judge missed, in its own words: shortened, and without those that name what no record does."""
    said = material.assessments[-1].gaps if material.assessments else []
    return [gap[:MAX_GAP_CHARACTERS] for gap in said[:MAX_GAPS] if not names_unknown(gap, material.pool)]


def _confidence(material: Material, shown: Sequence[Candidate]) -> float:
    if not shown:
        return 0.0
    best = max(CONFIDENCE[candidate.appraisal.certainty.level.value] for candidate in shown)
    silent = {reply.source for reply in material.dossier.replies} - set(material.dossier.answered)
    return round(max(0.0, best - CONFIDENCE_LOST * len(silent)), 2)


def _reference(number: int, record: Evidence) -> dict[str, object]:
    citation, data = record.citation, record.metadata
    flags = [
        name
        for name, is_set in (
            ("preprint", record.is_preprint),
            ("retracted", data.get("retracted")),
            ("expression of concern", data.get("expression_of_concern")),
            ("corrected", data.get("corrected")),
            ("title only", not record.has_abstract),
        )
        if is_set
    ]
    return {
        "number": number,
        "key": record.key,
        "title": citation.title,
        "authors": list(citation.authors),
        "source": citation.source,
        "date": citation.date,
        "url": citation.url,
        **{name: data[name] for name in ("journal", "doi", "pmid", "pmcid", "nct_id") if data.get(name)},
        "flags": flags,
    }


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _code(query: str) -> str:
    """A query as it stands between backticks in a table."""
    return " ".join(query.replace("|", " ").replace("`", "'").split())
