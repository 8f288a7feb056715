"""Hypotheses of how candidates act, each with what their evidence says."""

from collections.abc import Sequence

from willowbark.tools.appraisal.candidates import Candidate

from ..mechanism import HypothesisAssessment, MechanismHypothesis
from .drug_candidates import MAX_TARGETS
from .model import NOT_REPORTED


def hypotheses_on(candidates: Sequence[Candidate]) -> HypothesisAssessment:
    """The mechanism hypotheses that the candidates give rise to, best first."""
    hypotheses = [_hypothesis(candidate) for candidate in candidates if candidate.mechanisms]
    return HypothesisAssessment(
        hypotheses=hypotheses,
        primary_hypothesis=hypotheses[0] if hypotheses else None,
        knowledge_gaps=[f"No mechanism found for {c.drug}." for c in candidates if not c.mechanisms],
        recommended_searches=[query for h in hypotheses[:3] for query in h.to_search_queries()],
    )


def hypotheses_tested(candidates: Sequence[Candidate]) -> list[dict[str, object]]:
    """The hypotheses as a report holds them, each with the quality of its drug's evidence as its verdict."""
    verdicts = {candidate.drug: candidate.appraisal.quality for candidate in candidates}
    return [{**h.model_dump(), "verdict": verdicts[h.drug]} for h in hypotheses_on(candidates).hypotheses]


def _hypothesis(candidate: Candidate) -> MechanismHypothesis:
    found = candidate.appraisal
    decided = len(found.supporting) + len(found.contradicting)
    return MechanismHypothesis(
        drug=candidate.drug,
        target=", ".join(candidate.targets[:MAX_TARGETS]) or NOT_REPORTED,
        pathway=candidate.pathways[0] if candidate.pathways else NOT_REPORTED,
        effect="; ".join(candidate.mechanisms),
        confidence=round(len(found.supporting) / decided, 2) if decided else 0.0,
        supporting_evidence=list(found.supporting),
        contradicting_evidence=list(found.contradicting),
    )
