"""Builds the report from verified claims and appraised candidates, by code alone.

Also lists its limitations: sources that did not answer, records that could not be checked or read.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from willowbark.tools.appraisal.candidates import APPROVED_PHASE, STANDARD, Candidate, is_condition
from willowbark.tools.appraisal.harms import boxed
from willowbark.tools.appraisal.judgement import JudgeView
from willowbark.tools.mechanism import Chain, MechanismFindings, Node, Step
from willowbark.tools.reading.screening import is_addressed_to_machines
from willowbark.tools.reading.sections import licence_of, stated_limits
from willowbark.tools.reading.text import says
from willowbark.tools.records import Disease, Drug, DrugApproval
from willowbark.tools.records.card import STUDIES
from willowbark.tools.records.registry import cards, kind_of, title_of
from willowbark.tools.wording import counted, listed, short
from willowbark.tools.works.trust import retraction_note, trust_summary

from .answers import answer_of
from .content import NONE_PROPOSED, NOT_REPORTED, DrugCandidate, EvidenceRow, StudyLimit
from .corrected import list_corrections, tell_corrections
from .findings import LONGEST, further_drugs, mechanism_of, mechanisms_found, methodology, safety
from .material import Material
from .model import ResearchReport
from .summary import first_screen, in_short, rate_confidence
from .tables import best_estimate, evidence_table, flow, list_studies, rows_with_word, search_log, trial_table
from .texts import References, Said, write_line, write_lines
from .tree import rows_of_blocks
from .whole import take_sentences

MAX_GAPS = 10  # of a judge; also the maximum of its findings
MAX_TARGETS = 2  # in a proposed mechanism
MAX_INVOLVED = 6  # targets and processes of the condition in brief; the appendix has more
MAX_LIMITS = 4  # quotes for one candidate: two studies with two each
_STANCES = {"supports": 0, "contradicts": 1, "neutral": 2}


def assemble(material: Material, mechanisms: MechanismFindings) -> ResearchReport:
    """Build the report; without evidence it says so instead of failing.

    Sections are written in the order that numbers the references.
    """
    others = [candidate for candidate in material.candidates if candidate not in material.shown]
    evidence = evidence_table(material.shown, material.records)
    evidence += rows_with_word(others, material.records)
    candidates = [_drug_candidate(candidate, material, mechanisms, evidence) for candidate in material.shown]
    answered = answer_of(material, mechanisms)
    blocks = rows_of_blocks(candidates, evidence)
    lines = list_corrections(material)
    corrected = tell_corrections(lines, evidence)
    parts = first_screen(material, candidates, answered)
    if corrected is not None:
        parts.insert(len(parts) - 1, corrected)  # before the advice, which ends the first screen

    references = References(material.records)
    written = material.written
    if written is not None:
        references.cite(key for sentence in written.sentences() for key in sentence.citations)
    answer = references.write("What was asked", answered.below(parts[0].text)) if answered else None
    references.cite(key for part in parts for key in part.citations)
    references.cite(c.best_estimate.key for c in candidates if c.best_estimate and c.name in blocks)
    references.cite(row.key for rows in blocks.values() for row in rows)
    clinical = references.write("Further drugs", further_drugs(material))
    references.cite(key for c in candidates for key in (*c.contradicting_citations, *c.supporting_citations))
    for candidate in candidates:  # from here on cited in the appendix alone
        if candidate.chain and candidate.chain.node("target"):  # the mechanistic findings name the others
            told = Said("mechanism", "argument", {"chain": candidate.chain, "graph": mechanisms.graph})
            candidate.argument = references.write("From drug to disease", [told])
    disease = Said("mechanism", "disease", {"graph": mechanisms.graph})
    judged = material.assessments[-1] if material.assessments else None
    verdicts = {candidate.name: candidate.evidence_quality for candidate in candidates}
    rated = rate_confidence(material, answered)
    return ResearchReport(
        title=write_line("summary", "title", m=material),
        executive_summary=in_short(parts, written),
        written=written,
        summary_parts=parts,
        research_question=material.dossier.question,
        asked_as=material.dossier.asked_as,
        answer=answer,
        methodology=references.write("Methodology", methodology(material)),
        hypotheses_tested=[{**h.model_dump(), "verdict": verdicts[h.drug]} for h in mechanisms.hypotheses.hypotheses],
        safety=references.write("Safety and regulation", safety(material)) if candidates else None,
        disease_mechanism=references.write("Disease mechanism", [disease]) if material.asked.conditions else None,
        disease_involved=[describe_involved(step) for step in mechanisms.graph.involved[:MAX_INVOLVED]],
        mechanistic_findings=references.write("Mechanistic findings", mechanisms_found(material)),
        clinical_findings=clinical,
        drug_candidates=[candidate.name for candidate in candidates],
        candidates=candidates,
        limitations=limitations(material),
        gaps=material.gaps[:MAX_GAPS],
        judged=judged.details.reasons if judged else [],
        key_findings=judged.details.key_findings[:MAX_GAPS] if judged else [],
        conclusion=parts[0].text,
        references=references.entries(),
        sources_searched=material.dossier.answered,
        library=material.library,
        total_papers_reviewed=len(material.pool) - material.counts["other"] - material.unread,
        search_iterations=material.dossier.iteration,
        tokens_used=material.tokens_used,
        usage=list(material.usage),
        analyst=material.analyst,
        work=material.work,
        judge_view=judged.view if judged else JudgeView(),
        unread_records=material.dossier.unread,
        model_failed=material.model_failed,
        approval=material.approval,
        stop_reason=material.reason,
        unread=material.unread,
        confidence_score=rated.score,
        confidence_reason=rated.reason,
        not_looked_at=list_unread(material),
        claims_kept=sum(claim.drug.casefold() in verdicts for claim in material.verdicts.kept),
        claims_repaired=material.repaired,
        claims_dropped=len(material.verdicts.dropped),
        evidence_table=evidence,
        studies=list_studies(material.shown),
        trials=trial_table(material.candidates, material.records),
        search_log=search_log(material.dossier),
        flow=flow(material),
        corrections=lines,
        notes=list(material.notes),
        not_understood=list(material.changes),
    )


def _drug_candidate(
    candidate: Candidate,
    material: Material,
    mechanisms: MechanismFindings,
    evidence: Sequence[EvidenceRow],
) -> DrugCandidate:
    """Build a candidate for the report."""
    found = candidate.appraisal
    mechanism = mechanism_of(candidate)
    marketed = [i.name for i in candidate.indications if (i.max_phase or 0) >= APPROVED_PHASE]
    claims = (claim for claim in material.verdicts.kept if claim.drug.casefold() == candidate.drug)
    has_boxed = any(caution.startswith("Boxed warning") for caution in candidate.cautions)
    boxes = [] if has_boxed else boxed(material.pool, [candidate.drug])[:1]
    telling = found.contradicting if found.quality == "refuted" else found.supporting or found.telling
    limits = [
        StudyLimit(key=study.key, section=passage.section, quote=passage.quote)
        for study in candidate.records
        if not study.item.retracted
        for passage in stated_limits(material.records[study.key])
    ]
    return DrugCandidate(
        name=candidate.drug,
        generic_name=candidate.drug,
        current_indications=marketed
        or ([material.topic] if (candidate.phase_for_condition or 0) >= APPROVED_PHASE else []),
        mechanism=mechanism or NOT_REPORTED,
        mechanism_sources=list(candidate.drug_records) if mechanism else [],
        proposed_mechanism=_proposal(candidate, material, mechanisms.chains[candidate.drug])
        or (NONE_PROPOSED if mechanism else NOT_REPORTED),
        chain=mechanisms.chains[candidate.drug],
        in_asked_class=candidate.in_asked_class,
        evidence_quality=found.quality,
        certainty=found.certainty.level.said,
        certainty_reasons=list(found.certainty.steps),
        held_down_by=list(found.certainty.lowered),
        remarks=list(found.notes),
        clinical_status=_status(candidate, material),
        group=candidate.group,
        cautions=[
            *candidate.cautions,
            *(f"Boxed warning: “{take_sentences(box.sentence, LONGEST)}” ({box.key})" for box in boxes),
        ],
        labelled_routes=_routes_of(candidate, material),
        combination=list(candidate.combination),
        for_prevention=bool(found.supporting)
        and not material.asked.is_preventive
        and all(says("preventing", material.records[key].citation.title) for key in found.supporting),
        best_estimate=best_estimate([r for r in evidence if r.drug == candidate.drug and r.key in telling]),
        sorting=material.places[candidate.drug],
        supporting_citations=list(found.supporting),
        contradicting_citations=list(found.contradicting),
        undecided_citations=found.inconclusive,
        missed_citations=found.missed,
        claims=sorted(claims, key=lambda claim: _STANCES[claim.stance]),
        study_limits=limits[:MAX_LIMITS],
        in_detail=candidate in material.detailed,
    )


def _routes_of(candidate: Candidate, material: Material) -> dict[str, list[str]]:
    """Return how the drug is given, by the records of agencies and databases that say so."""
    found = dict[str, list[str]]()
    for record in material.pool:
        entry = record.record
        if isinstance(entry, Drug | DrugApproval) and entry.drug == candidate.drug and entry.routes:
            found[record.key] = list(entry.routes)
    return found


def _status(candidate: Candidate, material: Material) -> str:
    """Describe the drug's status for the condition: phases from ChEMBL and Open Targets, registered trials."""
    trials = [material.records[r.key].trial for r in candidate.records if r.item.trial_status is not None]
    named = [phase for trial in trials if trial for phase in trial.phases]
    phases = [float(phase.removeprefix("PHASE")) for phase in named if phase.startswith("PHASE")]
    compared = sum(record.compares_with_it for record in candidate.records)
    return write_line(
        "candidates",
        "status",
        c=candidate,
        m=material,
        approved=APPROVED_PHASE,
        is_approved=any((i.max_phase or 0) >= APPROVED_PHASE for i in candidate.indications),
        compared=compared if candidate.group == "established" and compared >= STANDARD else 0,
        highest=max([candidate.phase_for_condition or 0, *phases]),
        never_approved=candidate.max_phase is not None and candidate.max_phase < APPROVED_PHASE,
    )


def _proposal(candidate: Candidate, material: Material, chain: Chain) -> str:
    """Describe how the drug might act on the condition; empty if no record gives more than its mechanism.

    Associations of its targets by Open Targets come first; then the path that records give, as far as it goes.
    """
    associated = (
        f"{target['symbol']}, which is associated with {disease.disease} (Open Targets)"
        for disease in (each.record for each in material.pool)
        if isinstance(disease, Disease) and is_condition(disease.disease or "", material.asked)
        for target in disease.targets
        if target.get("symbol") in candidate.targets
    )
    found = "; ".join(list(dict.fromkeys(associated))[:MAX_TARGETS])
    if found:
        return f"acts on {found}"
    known = [step for step in chain.steps[1:] if not step.is_missing]
    if not known and chain.unlinked:
        known = [chain.unlinked]
    links = [f"{step.relation} {step.end.name} ({_number_of(step.end)}{listed(_tellers(step))})" for step in known]
    if not links:
        return ""
    is_linked = not chain.steps[-1].is_missing
    end = "" if is_linked else f"; no record links this with {short(material.topic)}"
    return f"acts on {chain.steps[0].end.name}, which {', which '.join(links)}{end}"


def _number_of(node: Node) -> str:
    """Return a process's identifier before the names of those who say so; empty if it has none."""
    return f"{node.number}, by " if node.kind == "process" and node.number else "by "


def _tellers(step: Step) -> list[str]:
    """Name who says a step: the databases, then the number of publications."""
    told = [backing for backing in step.backings if not backing.denies]
    databases = dict.fromkeys(title_of(each.source) for each in told if each.basis != "sentence")
    papers = {each.key for each in told if each.basis == "sentence"}
    return [*databases, *([counted(len(papers), "publication")] if papers else [])]


def describe_involved(step: Step) -> str:
    """Name a target or process of the condition with who says so: `SCN1A (UniProt)`."""
    return f"{step.start.name} ({listed(_tellers(step))})"


def list_unread(material: Material) -> list[str]:
    """List what the run could have read and did not: sources, hits, full texts."""
    searched = {reply.source for reply in material.dossier.replies}
    offered = [card for card in cards().values() if card.specialist and card.gives in STUDIES]
    others = [card.title for card in offered if card.name not in searched]
    papers = [record for record in material.pool if record.paper and kind_of(record) == "publication"]
    without_text = sum(licence_of(record) is None for record in papers)
    found = list[str]()
    if material.silent_sources:
        found.append(f"{listed(list(map(title_of, material.silent_sources)))}, which did not answer")
    if others:
        found.append(f"{listed(others, most=len(others))}, which were not searched")
    if material.unread:
        found.append(f"{counted(material.unread, 'record')} found and not read")
    if without_text:
        found.append(f"the full texts of {without_text:,} of {counted(len(papers), 'publication')}")
    return found


def limitations(material: Material) -> list[str]:
    """List the report's limitations, one line each, failures first."""
    pool = material.pool
    shown = material.shown
    decided = {c.drug for c in (*shown, *(c for c in material.candidates if c.has_verdict))}
    undecided = [f"{x.drug} ({x.evidence_key})" for x in material.verdicts.kept if x.drug.casefold() not in decided]
    rested_on = dict.fromkeys(
        r.key for c in material.candidates for r in c.records if c.has_verdict or r.item.retracted
    )
    unread = Counter(r.paper.full_text_unread for r in pool if r.paper and r.paper.full_text_unread)
    licences = [str(licence) for record in pool if (licence := licence_of(record))]
    replies = material.dossier.replies  # one per page of a search
    fetched = {(reply.source, reply.query, record.key) for reply in replies for record in reply.records}
    taken = Counter(each[:2] for each in fetched)
    data: dict[str, Any] = {
        "without_verdict": listed(list(dict.fromkeys(undecided)), most=MAX_GAPS),
        "read_in_part": any(reply.total > taken[reply.source, reply.query] for reply in replies),
        "trust": trust_summary([material.records[key] for key in rested_on], in_library=bool(material.library)),
        "retracted": "; ".join(retraction_note(r) for r in pool if r.paper and r.paper.retracted),
        "addressed": [record.key for record in pool if is_addressed_to_machines(record)],
        "unsized": ", ".join(candidate.drug for candidate in shown if not _tells_size(candidate)),
        "full_texts": len(licences),
        "licences": listed(sorted(set(licences))),
        "cut": sum(bool(r.paper and (r.paper.full_text or {}).get("is_cut")) for r in pool),
        "unread": dict(sorted(unread.items())),
    }
    lines = write_lines("limitations", "limitations", m=material, l=data)
    return list(dict.fromkeys(line.replace("..", ".") for line in lines))


def _tells_size(candidate: Candidate) -> bool:
    """Whether a record tells how many people it compared, or how many were in all of its arms."""
    records = candidate.records
    return any(record.item.sample_size or record.item.trial_size or record.study.randomised for record in records)
