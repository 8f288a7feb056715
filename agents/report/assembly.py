"""Builds the report from verified claims and appraised candidates, by code alone.

Also lists its limitations: sources that did not answer, records that could not be checked or read.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from willowbark.tools.appraisal.candidates import APPROVED_PHASE, STANDARD, Candidate, is_condition
from willowbark.tools.appraisal.harms import list_boxed_warnings
from willowbark.tools.appraisal.judgement import JudgeView
from willowbark.tools.mechanism import Chain, MechanismFindings, Node, Step
from willowbark.tools.reading.screening import is_addressed_to_machines
from willowbark.tools.reading.sections import find_stated_limits, get_licence
from willowbark.tools.reading.text import says
from willowbark.tools.records import Disease, Drug, DrugApproval
from willowbark.tools.records.card import STUDIES
from willowbark.tools.records.registry import cards, kind_of, title_of
from willowbark.tools.wording import counted, listed, short
from willowbark.tools.works.trust import retraction_note, trust_summary

from .answers import answer_question
from .content import NONE_PROPOSED, NOT_REPORTED, DrugCandidate, EvidenceRow, StudyLimit
from .corrected import list_corrections, tell_corrections
from .findings import (
    LONGEST,
    describe_mechanism,
    describe_mechanisms,
    describe_methods,
    describe_safety,
    list_further_drugs,
)
from .material import Material
from .model import ResearchReport
from .summary import rate_confidence, shorten_first_screen, write_first_screen
from .tables import (
    count_flow,
    find_best_estimate,
    list_corrected_rows,
    list_searches,
    list_studies,
    tabulate_evidence,
    tabulate_trials,
)
from .texts import References, ReportStatement, write_line, write_lines
from .tree import select_block_rows
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
    evidence = tabulate_evidence(material.shown, material.records)
    evidence += list_corrected_rows(others, material.records)
    candidates = [_build_candidate(candidate, material, mechanisms, evidence) for candidate in material.shown]
    answered = answer_question(material, mechanisms)
    blocks = select_block_rows(candidates, evidence)
    lines = list_corrections(material)
    corrected = tell_corrections(lines, evidence)
    parts = write_first_screen(material, candidates, answered)
    if corrected is not None:
        parts.insert(len(parts) - 1, corrected)  # before the advice, which ends the first screen

    references = References(material.records)
    written = material.written
    written = material.written
    if written is not None:
        for sentence in written.sentences():
            references.cite(sentence.citations)
    answer = None
    if answered:
        answer = references.write("What was asked", answered.list_below(parts[0].text))
    for part in parts:
        references.cite(part.citations)
    references.cite(c.best_estimate.key for c in candidates if c.best_estimate and c.name in blocks)
    for rows in blocks.values():
        references.cite(row.key for row in rows)
    clinical = references.write("Further drugs", list_further_drugs(material))
    for candidate in candidates:
        references.cite([*candidate.contradicting_citations, *candidate.supporting_citations])
    for candidate in candidates:  # from here on cited in the appendix alone
        if candidate.chain and candidate.chain.node("target"):  # the mechanistic findings name the others
            argument = ReportStatement("mechanism", "argument", {"chain": candidate.chain, "graph": mechanisms.graph})
            candidate.argument = references.write("From drug to disease", [argument])
    disease = ReportStatement("mechanism", "disease", {"graph": mechanisms.graph})
    judged = material.assessments[-1] if material.assessments else None
    verdicts = {candidate.name: candidate.evidence_quality for candidate in candidates}
    rated = rate_confidence(material, answered)
    return ResearchReport(
        title=write_line("summary", "title", m=material),
        executive_summary=shorten_first_screen(parts, written),
        written=written,
        summary_parts=parts,
        research_question=material.dossier.question,
        asked_as=material.dossier.asked_as,
        answer=answer,
        methodology=references.write("Methodology", describe_methods(material)),
        hypotheses_tested=[{**h.model_dump(), "verdict": verdicts[h.drug]} for h in mechanisms.hypotheses.hypotheses],
        safety=references.write("Safety and regulation", describe_safety(material)) if candidates else None,
        disease_mechanism=references.write("Disease mechanism", [disease]) if material.asked.conditions else None,
        disease_involved=[describe_involved(step) for step in mechanisms.graph.involved[:MAX_INVOLVED]],
        mechanistic_findings=references.write("Mechanistic findings", describe_mechanisms(material)),
        clinical_findings=clinical,
        drug_candidates=[candidate.name for candidate in candidates],
        candidates=candidates,
        limitations=list_limitations(material),
        gaps=material.gaps[:MAX_GAPS],
        judged=judged.details.reasons if judged else [],
        key_findings=judged.details.key_findings[:MAX_GAPS] if judged else [],
        conclusion=parts[0].text,
        references=references.list_entries(),
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
        trials=tabulate_trials(material.candidates, material.records),
        search_log=list_searches(material.dossier),
        flow=count_flow(material),
        corrections=lines,
        notes=list(material.notes),
        not_understood=list(material.changes),
    )


def _build_candidate(
    candidate: Candidate,
    material: Material,
    mechanisms: MechanismFindings,
    evidence: Sequence[EvidenceRow],
) -> DrugCandidate:
    """Build a candidate for the report."""
    appraisal = candidate.appraisal
    mechanism = describe_mechanism(candidate)
    marketed = [i.name for i in candidate.indications if (i.max_phase or 0) >= APPROVED_PHASE]
    claims = (claim for claim in material.verdicts.kept if claim.drug.casefold() == candidate.drug)
    has_boxed = any(caution.startswith("Boxed warning") for caution in candidate.cautions)
    boxes = [] if has_boxed else list_boxed_warnings(material.pool, [candidate.drug])[:1]
    telling = appraisal.contradicting if appraisal.quality == "refuted" else appraisal.supporting or appraisal.telling
    limits: list[StudyLimit] = []
    for study in candidate.records:
        if not study.item.retracted:
            for passage in find_stated_limits(material.records[study.key]):
                limits.append(StudyLimit(key=study.key, section=passage.section, quote=passage.quote))
    return DrugCandidate(
        name=candidate.drug,
        generic_name=candidate.drug,
        current_indications=marketed
        or ([material.topic] if (candidate.phase_for_condition or 0) >= APPROVED_PHASE else []),
        mechanism=mechanism or NOT_REPORTED,
        mechanism_sources=list(candidate.drug_records) if mechanism else [],
        proposed_mechanism=_propose_mechanism(candidate, material, mechanisms.chains[candidate.drug])
        or (NONE_PROPOSED if mechanism else NOT_REPORTED),
        chain=mechanisms.chains[candidate.drug],
        in_asked_class=candidate.in_asked_class,
        evidence_quality=appraisal.quality,
        certainty=appraisal.certainty.level.said,
        certainty_reasons=list(appraisal.certainty.steps),
        held_down_by=list(appraisal.certainty.lowered),
        remarks=list(appraisal.notes),
        clinical_status=_describe_status(candidate, material),
        group=candidate.group,
        cautions=[
            *candidate.cautions,
            *(f"Boxed warning: “{take_sentences(box.sentence, LONGEST)}” ({box.key})" for box in boxes),
        ],
        labelled_routes=_find_routes(candidate, material),
        combination=list(candidate.combination),
        for_prevention=bool(appraisal.supporting)
        and not material.asked.is_preventive
        and all(says("preventing", material.records[key].citation.title) for key in appraisal.supporting),
        best_estimate=find_best_estimate([r for r in evidence if r.drug == candidate.drug and r.key in telling]),
        sorting=material.places[candidate.drug],
        supporting_citations=list(appraisal.supporting),
        contradicting_citations=list(appraisal.contradicting),
        undecided_citations=appraisal.inconclusive,
        missed_citations=appraisal.missed,
        claims=sorted(claims, key=lambda claim: _STANCES[claim.stance]),
        study_limits=limits[:MAX_LIMITS],
        in_detail=candidate in material.detailed,
    )


def _find_routes(candidate: Candidate, material: Material) -> dict[str, list[str]]:
    """Return how the drug is given, by the records of agencies and databases that say so."""
    routes = dict[str, list[str]]()
    for record in material.pool:
        entry = record.record
        if isinstance(entry, Drug | DrugApproval) and entry.drug == candidate.drug and entry.routes:
            routes[record.key] = list(entry.routes)
    return routes


def _describe_status(candidate: Candidate, material: Material) -> str:
    """Describe the drug's status for the condition: phases from ChEMBL and Open Targets, registered trials."""
    trials = [material.records[r.key].trial for r in candidate.records if r.item.trial_status is not None]
    names: list[str] = []
    for trial in trials:
        names += trial.phases if trial else []
    phases = [float(name.removeprefix("PHASE")) for name in names if name.startswith("PHASE")]
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


def _propose_mechanism(candidate: Candidate, material: Material, chain: Chain) -> str:
    """Describe how the drug might act on the condition; empty if no record gives more than its mechanism.

    Associations of its targets by Open Targets come first; then the path that records give, as far as it goes.
    """
    associated = dict.fromkeys(_list_associated_targets(candidate, material))
    if associated:
        return f"acts on {'; '.join(list(associated)[:MAX_TARGETS])}"
    steps = [step for step in chain.steps[1:] if not step.is_missing]
    if not steps and chain.unlinked:
        steps = [chain.unlinked]
    links = []
    for step in steps:
        links.append(f"{step.relation} {step.end.name} ({_write_number(step.end)}{listed(_list_sources(step))})")
    if not links:
        return ""
    is_linked = not chain.steps[-1].is_missing
    end = "" if is_linked else f"; no record links this with {short(material.topic)}"
    return f"acts on {chain.steps[0].end.name}, which {', which '.join(links)}{end}"


def _list_associated_targets(candidate: Candidate, material: Material) -> Iterator[str]:
    """Yield the candidate's targets that Open Targets associates with the condition, each with the disease."""
    for record in material.pool:
        disease = record.record
        if isinstance(disease, Disease) and is_condition(disease.disease or "", material.asked):
            for target in disease.targets:
                if target.get("symbol") in candidate.targets:
                    yield f"{target['symbol']}, which is associated with {disease.disease} (Open Targets)"


def _write_number(node: Node) -> str:
    """Return a process's identifier before the names of those who say so; empty if it has none."""
    return f"{node.number}, by " if node.kind == "process" and node.number else "by "


def _list_sources(step: Step) -> list[str]:
    """Name who says a step: the databases, then the number of publications."""
    backings = [backing for backing in step.backings if not backing.denies]
    databases = dict.fromkeys(title_of(source.source) for source in backings if source.basis != "sentence")
    papers = {source.key for source in backings if source.basis == "sentence"}
    return [*databases, *([counted(len(papers), "publication")] if papers else [])]


def describe_involved(step: Step) -> str:
    """Name a target or process of the condition with who says so: `SCN1A (UniProt)`."""
    return f"{step.start.name} ({listed(_list_sources(step))})"


def list_unread(material: Material) -> list[str]:
    """List what the run could have read and did not: sources, hits, full texts."""
    searched = {reply.source for reply in material.dossier.replies}
    offered = [card for card in cards().values() if card.specialist and card.gives in STUDIES]
    others = [card.title for card in offered if card.name not in searched]
    papers = [record for record in material.pool if record.paper and kind_of(record) == "publication"]
    without_text = sum(get_licence(record) is None for record in papers)
    gaps = list[str]()
    if material.silent_sources:
        gaps.append(f"{listed(list(map(title_of, material.silent_sources)))}, which did not answer")
    if others:
        gaps.append(f"{listed(others, most=len(others))}, which were not searched")
    if material.unread:
        gaps.append(f"{counted(material.unread, 'record')} found and not read")
    if without_text:
        gaps.append(f"the full texts of {without_text:,} of {counted(len(papers), 'publication')}")
    return gaps


def list_limitations(material: Material) -> list[str]:
    """List the report's limitations, one line each, failures first."""
    pool = material.pool
    leading = material.shown
    decided = {candidate.drug for candidate in leading}
    rested_on: dict[str, None] = {}  # in order, each once
    for candidate in material.candidates:
        if candidate.has_verdict:
            decided.add(candidate.drug)
        for appraised in candidate.records:
            if candidate.has_verdict or appraised.item.retracted:
                rested_on[appraised.key] = None
    undecided = [f"{x.drug} ({x.evidence_key})" for x in material.verdicts.kept if x.drug.casefold() not in decided]
    unread = Counter(r.paper.full_text_unread for r in pool if r.paper and r.paper.full_text_unread)
    licences = [str(licence) for licence in map(get_licence, pool) if licence]
    replies = material.dossier.replies  # one per page of a search
    fetched: set[tuple[str, str, str]] = set()
    for reply in replies:
        fetched |= {(reply.source, reply.query, record.key) for record in reply.records}
    counts = Counter((source, query) for source, query, _ in fetched)
    data: dict[str, Any] = {
        "without_verdict": listed(list(dict.fromkeys(undecided)), most=MAX_GAPS),
        "read_in_part": any(reply.total > counts[reply.source, reply.query] for reply in replies),
        "trust": trust_summary([material.records[key] for key in rested_on], in_library=bool(material.library)),
        "retracted": "; ".join(retraction_note(r) for r in pool if r.paper and r.paper.retracted),
        "addressed": [record.key for record in pool if is_addressed_to_machines(record)],
        "unsized": ", ".join(candidate.drug for candidate in leading if not _tells_size(candidate)),
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
