"""From verified claims and appraised candidates to the report: all of it code, nothing of it a model's word."""

from collections.abc import Iterable, Mapping, Sequence

from willowbark.tools.appraisal.candidates import APPROVED_PHASE, Candidate
from willowbark.tools.lexicon import withdrawn
from willowbark.tools.mechanism.graph import MechanismGraph
from willowbark.tools.mechanism.hypotheses import HypothesisAssessment, assess
from willowbark.tools.mechanism.steps import Chain

from ..judge import sources_breakdown
from .answers import answer_of, only_asked, section_of
from .claims import Claim
from .content import NONE_PROPOSED, NOT_REPORTED, DrugCandidate
from .grounding import shown_prose
from .limitations import gaps, limitations
from .material import Material
from .mechanisms import argument_section, disease_section
from .model import ResearchReport
from .references import References
from .safety import safety_section
from .sections import clinical_section, mechanism_of, mechanistic_section, methodology_section
from .summary import conclusion, confidence, executive_summary, title
from .tables import evidence_table, flow, look_alikes, search_log, study_limits, trial_table

MAX_CANDIDATES = 12  # in the report; further ones are named without a section
_STANCES = {"supports": 0, "contradicts": 1, "neutral": 2}


def assemble(material: Material) -> ResearchReport:
    """Build the report; never fails for want of evidence, and says so instead."""
    references = References(material.records)
    shown = only_asked(material, _shown(material))
    answered = answer_of(material, references)
    hypotheses, chains, graph = assess(shown, material.pool, material.asked)
    # The order of these is the order of the references.
    clinical = clinical_section(material, shown, material.verdicts.kept, references)
    mechanistic = mechanistic_section(shown, references)
    disease = disease_section(graph, references)
    candidates = _candidates(material, shown, chains, graph, references)
    parts = executive_summary(material, shown, candidates, answered)
    return ResearchReport(
        title=title(material),
        executive_summary=" ".join(part.line for part in parts),
        summary_parts=parts,
        research_question=material.dossier.question,
        answer=section_of(answered),
        methodology=methodology_section(material),
        hypotheses_tested=_tested(hypotheses, shown),
        disease_mechanism=disease,
        mechanistic_findings=mechanistic,
        safety=safety_section(material, shown, references),
        clinical_findings=clinical,
        drug_candidates=[candidate.name for candidate in candidates],
        candidates=candidates,
        limitations=limitations(material, shown),
        gaps=gaps(material),
        conclusion=conclusion(material, candidates, answered),
        references=references.listed(),
        sources_searched=material.dossier.answered,
        total_papers_reviewed=len(material.pool) - sources_breakdown(material.pool)["other"],
        search_iterations=material.dossier.iteration,
        tokens_used=material.tokens_used,
        usage=list(material.usage),
        analyst=material.analyst,
        model_failed=material.model_failed,
        approval=material.approval,
        stop_reason=material.reason,
        confidence_score=confidence(material, shown, answered),
        claims_kept=len(material.verdicts.kept),
        claims_repaired=material.repaired,
        claims_dropped=len(material.verdicts.dropped),
        claims_unworded=len(material.verdicts.unworded),
        claims_turned=len(material.verdicts.turned),
        evidence_table=evidence_table(shown, material.records),
        look_alikes=look_alikes(shown, material.records),
        trials=trial_table(material.candidates, material.records),
        search_log=search_log(material.dossier),
        flow=flow(material),
    )


def _shown(material: Material) -> list[Candidate]:
    """The candidates of the report: those with a verified claim, a verdict and a place in the list."""
    claimed = {claim.drug.casefold() for claim in material.verdicts.kept}
    return [c for c in material.candidates if c.has_verdict and c.drug in claimed][:MAX_CANDIDATES]


def _candidates(
    material: Material,
    shown: list[Candidate],
    chains: Mapping[str, Chain],
    graph: MechanismGraph,
    references: References,
) -> list[DrugCandidate]:
    proposed = {
        draft.name.casefold(): shown_prose(draft.proposed_mechanism, material.pool, draft.name.casefold())
        for draft in material.draft.candidates
    }
    kept = material.verdicts.kept
    told = [_drug_candidate(c, _claims_on(c, kept), proposed.get(c.drug, ""), material) for c in shown]
    return [
        each.model_copy(update={"chain": chain, "argument": argument_section(chain, graph, references)})
        for each in told
        for chain in [chains[each.name]]
    ]


def _drug_candidate(candidate: Candidate, claims: list[Claim], proposed: str, material: Material) -> DrugCandidate:
    """A candidate as the report shows it; `proposed` is a model's word of how it might act, empty for not reported."""
    found, mechanism = candidate.appraisal, mechanism_of(candidate)
    marketed = [i.name for i in candidate.indications if (i.max_phase or 0) >= APPROVED_PHASE]
    return DrugCandidate(
        name=candidate.drug,
        generic_name=candidate.drug,
        current_indications=marketed or ([material.topic] if _is_marketed_for_it(candidate) else []),
        mechanism=mechanism or NOT_REPORTED,
        proposed_mechanism=proposed or (NONE_PROPOSED if mechanism else NOT_REPORTED),
        in_asked_class=candidate.in_asked_class,
        evidence_quality=found.quality,
        certainty=found.certainty.level.said,
        certainty_reasons=list(found.certainty.steps),
        held_down_by=list(found.certainty.lowered),
        clinical_status=_status(candidate, material),
        supporting_citations=list(found.supporting),
        contradicting_citations=list(found.contradicting),
        undecided_citations=[*found.neutral, *found.unclear],
        claims=claims,
        study_limits=study_limits(candidate, material.records),
    )


def _claims_on(candidate: Candidate, kept: Iterable[Claim]) -> list[Claim]:
    """The claims on a candidate: for, against, neither."""
    return sorted((c for c in kept if c.drug.casefold() == candidate.drug), key=lambda c: _STANCES[c.stance])


def _status(candidate: Candidate, material: Material) -> str:
    """Where the drug stands for the condition, in ChEMBL's and Open Targets' phases and the registered trials."""
    if gone := withdrawn(candidate.drug):
        return f"Withdrawn from the market ({gone})"
    if _is_marketed_for_it(candidate):
        # The databases name a disease, not whether a drug treats or prevents it: triptans are marketed for migraine.
        unsaid = " (for treatment or prevention)" if material.asked.intent == "prevention" else ""
        return f"Marketed for {material.topic}{unsaid}"
    highest = max([candidate.phase_for_condition or 0, *_trial_phases(candidate, material)])
    is_marketed = any((i.max_phase or 0) >= APPROVED_PHASE for i in candidate.indications)
    if highest:
        never = "; never marketed" if candidate.max_phase is not None and candidate.max_phase < APPROVED_PHASE else ""
        return f"Phase {highest:g} for this condition{'; marketed for other conditions' if is_marketed else never}"
    if candidate.max_phase is not None and candidate.max_phase < APPROVED_PHASE:
        return f"Never marketed (phase {candidate.max_phase:g} at most)"
    return "Marketed for other conditions" if is_marketed else NOT_REPORTED


def _is_marketed_for_it(candidate: Candidate) -> bool:
    return (candidate.phase_for_condition or 0) >= APPROVED_PHASE


def _trial_phases(candidate: Candidate, material: Material) -> list[float]:
    trials = [material.records[record.key] for record in candidate.records if record.item.trial_status is not None]
    named = [phase for each in trials if each.trial for phase in each.trial.phases]
    return [float(phase.removeprefix("PHASE")) for phase in named if phase.startswith("PHASE")]


def _tested(found: HypothesisAssessment, shown: Sequence[Candidate]) -> list[dict[str, object]]:
    """The hypotheses as a report holds them, each with the quality of its drug's evidence as its verdict."""
    verdicts = {candidate.drug: candidate.appraisal.quality for candidate in shown}
    return [{**each.model_dump(), "verdict": verdicts[each.drug]} for each in found.hypotheses]
