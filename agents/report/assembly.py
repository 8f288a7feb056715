"""From verified claims and appraised candidates to the report: all of it code, nothing of it a model's word."""

from willowbark.tools.appraisal.candidates import Candidate

from ..grounding import names_unknown
from ..judge import sources_breakdown
from .drug_candidates import claims_on, drug_candidate
from .flow import flow
from .hypotheses import hypotheses_tested
from .limitations import gaps, limitations
from .material import Material
from .model import DrugCandidate, ResearchReport
from .provenance import look_alikes
from .references import References
from .sections import clinical_section, mechanistic_section, methodology_section
from .summary import conclusion, confidence, executive_summary, title
from .tables import evidence_table, search_log, trial_table

MAX_CANDIDATES = 12  # in the report; further ones are named without a section


def assemble(material: Material) -> ResearchReport:
    """Build the report; never fails for want of evidence, and says so instead."""
    references = References(material.records)
    shown = _shown(material)
    candidates = _candidates(material, shown)
    # The order of these two is the order of the references.
    clinical = clinical_section(material, shown, material.verdicts.kept, references)
    mechanistic = mechanistic_section(shown, references)
    return ResearchReport(
        title=title(material),
        executive_summary=executive_summary(material, shown, candidates),
        research_question=material.dossier.question,
        methodology=methodology_section(material),
        hypotheses_tested=hypotheses_tested(shown),
        mechanistic_findings=mechanistic,
        clinical_findings=clinical,
        drug_candidates=[candidate.name for candidate in candidates],
        candidates=candidates,
        limitations=limitations(material, shown),
        gaps=gaps(material),
        conclusion=conclusion(material, candidates),
        references=references.listed(),
        sources_searched=material.dossier.answered,
        total_papers_reviewed=len(material.pool) - sources_breakdown(material.pool)["other"],
        search_iterations=material.dossier.iteration,
        tokens_used=material.tokens_used,
        usage=list(material.usage),
        approval=material.approval,
        stop_reason=material.reason,
        confidence_score=confidence(material, shown),
        claims_kept=len(material.verdicts.kept),
        claims_repaired=material.repaired,
        claims_dropped=len(material.verdicts.dropped),
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


def _candidates(material: Material, shown: list[Candidate]) -> list[DrugCandidate]:
    proposed = {
        draft.name.casefold(): draft.proposed_mechanism
        for draft in material.draft.candidates
        if not names_unknown(draft.proposed_mechanism, material.pool)
    }
    kept = material.verdicts.kept
    return [drug_candidate(c, claims_on(c, kept), proposed.get(c.drug, ""), material) for c in shown]
