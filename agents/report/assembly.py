"""From verified claims and appraised candidates to the report: all of it code, nothing of it a model's word.

What a report cannot say stands here too: sources that were silent, records that could not be trusted or read.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from willowbark.tools.appraisal import is_addressed_to_machines
from willowbark.tools.appraisal.candidates import APPROVED_PHASE, Candidate
from willowbark.tools.lexicon import withdrawn
from willowbark.tools.mechanism.graph import MechanismGraph
from willowbark.tools.mechanism.hypotheses import HypothesisAssessment, assess
from willowbark.tools.mechanism.steps import Chain
from willowbark.tools.registry import title_of
from willowbark.tools.wording import counted, listed
from willowbark.tools.works.sections import conflicts_of, licence_of
from willowbark.tools.works.trust import retraction_note, trust_summary

from ..asking.claims import Claim
from ..assessment import sources_breakdown
from .answers import answer_of, only_asked, section_of
from .argument import argument_section, disease_section
from .content import NONE_PROPOSED, NOT_REPORTED, DrugCandidate
from .material import Material, References
from .model import ResearchReport
from .own_words import MAX_GAPS, OwnWords, own_words
from .safety import safety_section
from .sections import (
    clinical_section,
    mechanism_of,
    mechanistic_section,
    methodology_section,
)
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
    disease = disease_section(graph, references) if material.asked.conditions else None
    own = own_words(material)
    candidates = _candidates(material, shown, chains, graph, references, own)
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
        limitations=limitations(material, shown, own),
        gaps=own.gaps,
        judged=own.judged,
        key_findings=own.findings,
        model_summary=own.summary,
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
        claims_kept=len(material.verdicts.kept) - len(_unshown(material, shown)),
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
    """The candidates of the report: those with a verified claim, a verdict and a place in the list.

    What helps complications alone is none beside others, unless it was asked about.
    """
    claimed = {claim.drug.casefold() for claim in material.verdicts.kept}
    found = [c for c in material.candidates if c.has_verdict and c.drug in claimed]
    asked = material.asked.drugs
    itself = [c for c in found if c.drug in asked or c.in_asked_class or not c.helps_complications_alone]
    return (itself or found)[:MAX_CANDIDATES]


def _unshown(material: Material, shown: Sequence[Candidate]) -> list[Claim]:
    """Claims that stand, on drugs that the report does not show."""
    names = {candidate.drug for candidate in shown}
    return [claim for claim in material.verdicts.kept if claim.drug.casefold() not in names]


def _candidates(
    material: Material,
    shown: list[Candidate],
    chains: Mapping[str, Chain],
    graph: MechanismGraph,
    references: References,
    own: OwnWords,
) -> list[DrugCandidate]:
    kept = material.verdicts.kept
    told = [_drug_candidate(c, _claims_on(c, kept), own, material) for c in shown]
    return [
        each.model_copy(update={"chain": chain, "argument": argument_section(chain, graph, references)})
        for each in told
        for chain in [chains[each.name]]
    ]


def _drug_candidate(candidate: Candidate, claims: list[Claim], own: OwnWords, material: Material) -> DrugCandidate:
    """A candidate as the report shows it, with what a model says of it in its own words."""
    found, mechanism = candidate.appraisal, mechanism_of(candidate)
    marketed = [i.name for i in candidate.indications if (i.max_phase or 0) >= APPROVED_PHASE]
    return DrugCandidate(
        name=candidate.drug,
        generic_name=candidate.drug,
        current_indications=marketed or ([material.topic] if _is_marketed_for_it(candidate) else []),
        mechanism=mechanism or NOT_REPORTED,
        proposed_mechanism=own.proposed.get(candidate.drug) or (NONE_PROPOSED if mechanism else NOT_REPORTED),
        paragraph=own.paragraphs.get(candidate.drug, ""),
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


_NOT_ABSENCE = (
    "Absence of evidence here is not its absence. Harms and interactions are listed, not weighed; doses were not read."
)


def limitations(material: Material, shown: Sequence[Candidate], own: OwnWords) -> list[str]:
    """One line each, what failed first.

    Args:
        material: what the report is made of.
        shown: the candidates of the report.
        own: a model's words in it.
    """
    lines = [
        *_failed(material),
        *_held_back(material, own),
        *_without_verdict(material, shown),
        *_set_aside(material),
        *_read_in_part(material),
        *_of_records(material),
        *_of_candidates(shown),
        *_of_classes(material),
        *_reading_note(material),
    ]
    return list(dict.fromkeys(line.replace("..", ".") for line in lines if line))


def _failed(material: Material) -> Iterator[str]:
    yield from (f"Not available: {failure}." for failure in material.dossier.failures)
    yield from (f"{note}." for found in material.dossier.in_order for note in found.reading_notes)
    yield from (f"{note}." for verdict in material.assessments for note in verdict.notes)
    yield from (f"{note}." for note in material.notes)
    if material.library:
        yield _library_line(material)
    if dropped := len(material.verdicts.dropped):
        yield f"{counted(dropped, 'claim')} dropped: not borne out by the record it cites."
    if unworded := len(material.verdicts.unworded):
        yield f"{counted(unworded, 'claim')} shown as the record's own sentence alone: the wording went beyond it."
    if turned := [f"{each.claim.drug} ({each.claim.evidence_key})" for each in material.verdicts.turned]:
        told = listed(list(dict.fromkeys(turned)), most=MAX_GAPS)
        yield f"Taken for another verdict by the model than by the reader, and shown without one: {told}."


def _held_back(material: Material, own: OwnWords) -> Iterator[str]:
    if material.by_model and own.held_back:
        yield (
            f"{counted(own.held_back, 'sentence')} in the model's own words not shown: with a figure or reference, or "
            "saying what works or fails beyond the claims that stand."
        )


def _without_verdict(material: Material, shown: Sequence[Candidate]) -> Iterator[str]:
    judged = {candidate.drug for candidate in material.candidates if candidate.has_verdict}
    unborne = [claim for claim in _unshown(material, shown) if claim.drug.casefold() not in judged]
    if found := [f"{claim.drug} ({claim.evidence_key})" for claim in unborne]:
        told = listed(list(dict.fromkeys(found)), most=MAX_GAPS)
        yield f"Claimed by the model, borne out by their records, and not shown for want of a verdict: {told}."


def _read_in_part(material: Material) -> Iterator[str]:
    """How much of the widest search each source's records are, where that is not all."""
    read, hits = defaultdict[tuple[str, str], set[str]](set), defaultdict[tuple[str, str], int](int)
    for reply in material.dossier.replies:  # a page each
        search = (reply.source, reply.query)
        read[search] |= {record.key for record in reply.records}
        hits[search] = max(hits[search], reply.total)
    unread = sorted((count - len(read[search]), *search) for search, count in hits.items())
    widest = {source: (source, query) for few, source, query in unread if few > 0}
    parts = [f"{title_of(source)} {len(read[search])} of {hits[search]}" for source, search in widest.items()]
    if parts:
        yield f"Of the widest search the most relevant hits alone were read: {'; '.join(sorted(parts))}."


def _of_records(material: Material) -> Iterator[str]:
    pool = material.pool
    if preprints := sum(record.is_preprint for record in pool):
        yield f"{counted(preprints, 'record')} not peer-reviewed (preprint)."
    if bare := sum(not record.has_abstract for record in pool):
        yield f"{counted(bare, 'record')} without an abstract: only the title could be read."
    rested_on = dict.fromkeys(
        r.key for c in material.candidates for r in c.records if c.has_verdict or r.item.retracted
    )
    yield trust_summary([material.records[key] for key in rested_on])
    if retracted := [retraction_note(record) for record in pool if record.paper and record.paper.retracted]:
        yield f"Retracted, therefore left out of the appraisal: {'; '.join(retracted)}."
    for record in pool:
        for each in conflicts_of(record):
            yield (
                f"Abstract and full text of {record.key} disagree on {each.get('what')}: “{each.get('abstract')}” "
                f"against “{each.get('full_text')}” ({each.get('section')})."
            )
    if addressed := [record.key for record in pool if is_addressed_to_machines(record)]:
        yield f"Text addressed to machines, set aside in {counted(len(addressed), 'record')}: {', '.join(addressed)}."


def _set_aside(material: Material) -> Iterator[str]:
    if material.aside:
        names = ", ".join(candidate.drug for candidate in material.aside)
        yield f"Set aside before the report was written, by {material.approval.who}: {names}."


def _of_candidates(shown: Sequence[Candidate]) -> Iterator[str]:
    if uncertain := sum(len(c.appraisal.leaning) for c in shown):
        yield (
            f"{counted(uncertain, 'time')} a record was read as speaking for or against a drug, but too uncertainly: "
            "shown as uncertain, and in no number of records for or against. Certainty weighs them, and says how."
        )
    unsized = [c.drug for c in shown if all(record.item.sample_size is None for record in c.records)]
    if unsized:
        yield f"No record reports a number of participants for {', '.join(unsized)}."


def _of_classes(material: Material) -> Iterator[str]:
    if material.asked.drug_classes:
        yield (
            f"Which drugs are {listed(material.asked.drug_classes)} was told from a list, endings of names and "
            "marketed uses: others may be as well."
        )


def _library_line(material: Material) -> str:
    return (
        f"Answered offline, from {material.library} and not from the public sources. What it does not hold was not "
        "checked. Ask again without --offline or --library to search the public sources."
    )


def _reading_note(material: Material) -> list[str]:
    """What was read of the records, and why not more, for the limitations."""
    read = [record for record in material.pool if licence_of(record)]
    lines = ["Abstracts and registry entries were read, not full texts."]
    if read:
        licences = listed(sorted({str(licence_of(record)) for record in read}))
        lines = [
            f"Of {counted(len(read), 'publication')} results and limitations were read in the open full text "
            f"({licences}); of all others the abstract or the registry entry alone."
        ]
    unread = Counter(r.paper.full_text_unread for r in material.pool if r.paper and r.paper.full_text_unread)
    if unread:
        reasons = "; ".join(f"{reason}: {number}" for reason, number in sorted(unread.items()))
        lines.append(f"Full texts asked for and not read: {unread.total()} ({reasons}).")
    return [*lines, *_versions_note(material), _NOT_ABSENCE]


def _versions_note(material: Material) -> list[str]:
    unknown = sum(bool(r.paper and r.paper.published_version_unknown) for r in material.pool)
    if not unknown:
        return []
    return [f"For {counted(unknown, 'preprint')} it could not be looked up whether it was published since."]
