"""A candidate as the report shows it: what it is marketed for, how it acts, what its evidence amounts to."""

from collections.abc import Iterable, Sequence

from willowbark.tools.appraisal.candidates import APPROVED_PHASE, Candidate

from ..claims import Claim
from .material import Material
from .model import NOT_REPORTED, DrugCandidate
from .provenance import study_limits

MAX_TARGETS = 6  # gene symbols in a line; receptor families have dozens
_STANCES = {"supports": 0, "contradicts": 1, "neutral": 2}


def drug_candidate(candidate: Candidate, claims: list[Claim], proposed: str, material: Material) -> DrugCandidate:
    """Put a candidate into the report's form.

    Args:
        candidate: as it was appraised.
        claims: the verified ones on it.
        proposed: how it might act on the condition, in a model's words; empty for not reported.
        material: what the report is made of.
    """
    found = candidate.appraisal
    return DrugCandidate(
        name=candidate.drug,
        generic_name=candidate.drug,
        current_indications=[i.name for i in candidate.indications if (i.max_phase or 0) >= APPROVED_PHASE],
        mechanism=mechanism_of(candidate) or NOT_REPORTED,
        proposed_mechanism=proposed or NOT_REPORTED,
        in_asked_class=candidate.in_asked_class,
        evidence_quality=found.quality,
        certainty=found.certainty.level.value.replace("_", " "),
        certainty_reasons=list(found.certainty.steps),
        clinical_status=_status(candidate, material),
        supporting_citations=list(found.supporting),
        contradicting_citations=list(found.contradicting),
        undecided_citations=[*found.neutral, *found.unclear],
        claims=claims,
        study_limits=study_limits(candidate, material.records),
    )


def claims_on(candidate: Candidate, kept: Iterable[Claim]) -> list[Claim]:
    """The claims on a candidate: for, against, neither."""
    return sorted((c for c in kept if c.drug.casefold() == candidate.drug), key=lambda c: _STANCES[c.stance])


def mechanism_of(candidate: Candidate) -> str:
    """Mechanisms of action and targets in a line; empty where none is known."""
    how = "; ".join(candidate.mechanisms)
    return f"{how}{_targets(candidate.targets)}" if how else ""


def _targets(symbols: Sequence[str]) -> str:
    return f" (targets {', '.join(symbols[:MAX_TARGETS])})" if symbols else ""


def _status(candidate: Candidate, material: Material) -> str:
    """Where the drug stands for the condition, in ChEMBL's and Open Targets' phases and the registered trials."""
    phase = candidate.phase_for_condition
    if phase is not None and phase >= APPROVED_PHASE:
        # The databases name a disease, not whether a drug treats or prevents it: triptans are marketed for migraine.
        unsaid = " (for treatment or prevention)" if material.asked.intent == "prevention" else ""
        return f"Marketed for {material.topic}{unsaid}"
    highest = max([phase or 0, *_trial_phases(candidate, material)])
    is_marketed = any((i.max_phase or 0) >= APPROVED_PHASE for i in candidate.indications)
    if highest:
        return f"Phase {highest:g} for this condition{'; marketed for other conditions' if is_marketed else ''}"
    return "Marketed for other conditions" if is_marketed else NOT_REPORTED


def _trial_phases(candidate: Candidate, material: Material) -> list[float]:
    trials = [material.records[record.key] for record in candidate.records if record.item.trial_status is not None]
    named = [str(phase) for trial in trials for phase in trial.metadata.get("phases", ())]
    return [float(phase.removeprefix("PHASE")) for phase in named if phase.startswith("PHASE")]
