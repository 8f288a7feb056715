"""The report's findings in sentences: what the records say, how drugs act, the argument from mechanism; the methods."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from willowbark.tools.appraisal import Direction
from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.evidence import Evidence
from willowbark.tools.mechanism.graph import MechanismGraph
from willowbark.tools.mechanism.hypotheses import MechanismFindings
from willowbark.tools.mechanism.steps import Backing, Chain
from willowbark.tools.questions import Question
from willowbark.tools.questions.kinds import ON_HARM, Kind
from willowbark.tools.records import Trial
from willowbark.tools.registry import title_of
from willowbark.tools.wording import counted, listed, short

from ..asking import PROMPTS_VERSION
from .content import CURATED, EVENTS_NOTE, NOT_REPORTED, PUBLISHED, PostedResult, ReportSection
from .forms.blocks import Flow, flow, points, table
from .material import Material, References, as_asked, designs_in_words
from .tables import posted_results
from .texts import write_blocks, write_flow, write_line

MAX_TRIALS = 5  # in sentences; the report's table has all
MAX_CITED = 4  # records behind one drug or step that are cited
MAX_OTHERS = 20  # names of drugs without a place among the candidates
MAX_PATHWAYS = 3
MAX_TARGETS = 6  # gene symbols in a line; receptor families have dozens
MAX_GROUPS = 8  # groups with serious adverse events in a sentence; the trial's row has all
MAX_INVOLVED = 10  # targets and processes of the condition
LONGEST_QUOTE = 320  # characters of a quoted sentence
_KINDS = {
    "peer_reviewed": "peer-reviewed publication",
    "preprints": "preprint",
    "clinical_trials": "registered trial",
    "other": "database entry",
}
_OUTCOMES: Mapping[Kind, str] = {
    "treat": "benefit in those who have it",
    "prevent": "its prevention",
    "harm": "harm caused",
    "avoid": "harm to those who have it",
    "safety": "safety",
    "compare": "benefit of one over the other",
    "mechanism": "how it acts",
    "status": "approvals and trials",
    "negative": "lack of benefit",
}


def clinical_section(material: Material, references: References) -> ReportSection:
    """What supports and contradicts each candidate, by design; the passages themselves stand with the candidates."""
    on_topic = {r.key for c in material.candidates for r in c.records if r.item.trial_status is not None}
    trials = [record for record in material.pool if record.key in on_topic]
    if not material.asked.asks_what_helps:
        lines = [_trial(trial, material, references) for trial in trials[:MAX_TRIALS]]
        blocks = write_blocks("findings", "not_asked", trials=lines, total_trials=len(trials))
        return ReportSection.of("Clinical findings", blocks, references.cited)
    verdicts = [_verdict(candidate, material, references) for candidate in material.shown]
    lines = [_trial(trial, material, references) for trial in trials[:MAX_TRIALS]]
    blocks = write_blocks(
        "findings",
        "clinical",
        verdicts=verdicts,
        trials=lines,
        total_trials=len(trials),
        topic=material.topic,
        sides=_further_drugs(material, references),
    )
    return ReportSection.of("Clinical findings", blocks, references.cited)


def _verdict(candidate: Candidate, material: Material, references: References) -> dict[str, Any]:
    found, parts = candidate.appraisal, list[dict[str, Any]]()
    for side, keys in (("supported", found.supporting), ("contradicted", found.contradicting)):
        items = [record.item for record in candidate.records if record.key in keys]
        sizes = [item.sample_size for item in items if item.sample_size is not None]
        if keys:
            designs, size = designs_in_words(item.design for item in items), max(sizes, default=0)
            cited = references.cite(keys)
            parts.append({"side": side, "designs": designs, "number": len(items), "size": size, "cited": cited})
    if leaning := list(found.leaning):
        parts.append({"side": "low confidence", "number": len(leaning), "cited": references.cite(leaning)})
    decided = {*found.supporting, *found.contradicting, *leaning}
    claims = (claim for claim in material.verdicts.kept if claim.drug.casefold() == candidate.drug)
    if quoted := [claim.evidence_key for claim in claims if claim.evidence_key not in decided]:
        parts.append({"side": "quoted", "cited": references.cite(quoted)})
    return {"drug": candidate.drug, "certainty": found.certainty.level.said, "parts": parts}


def _trial(trial: Evidence, material: Material, references: References) -> dict[str, Any]:
    data = trial.trial or Trial()
    phases = "/".join(phase.removeprefix("PHASE").replace("EARLY_", "early ") for phase in data.phases)
    enrolled = f"enrolment {NOT_REPORTED}" if data.enrollment is None else counted(data.enrollment, "participant")
    below = list(posted_lines(posted_results(material.candidates, trial.key)))
    return {
        "name": f"{trial.record.nct_id}: {trial.citation.title}",
        "facts": [
            (data.overall_status or f"status {NOT_REPORTED}").replace("_", " ").lower(),
            "phase not applicable" if phases == "NA" else f"phase {phases or NOT_REPORTED}",
            enrolled,
            "results posted" if data.has_results else "no results posted",
            *([f"stopped: {data.why_stopped}"] if data.why_stopped else []),
        ],
        "cited": references.cite([trial.key]),
        "posted": (points(below),) if below else (),
    }


def posted_lines(results: Sequence[PostedResult]) -> Iterator[str]:
    """Posted results of one trial, a sentence a drug, and serious adverse events."""
    for result in results:
        fields = result.model_dump(include={"drug", "direction", "reason", "sentence"})
        yield write_line("findings", "posted_result", **fields)
    if results and (events := results[0].serious_events):
        groups = [f"{e.group} {e.affected} of {'?' if e.at_risk is None else e.at_risk}" for e in events[:MAX_GROUPS]]
        more = len(events) > MAX_GROUPS
        yield write_line("findings", "serious_events", note=EVENTS_NOTE, groups=groups, more=more)


def _further_drugs(material: Material, references: References) -> dict[str, Any]:
    """Drugs that the report does not show as candidates, by what was read of them."""
    others = [c for c in material.candidates if c not in material.shown]
    decided = [c for c in others if c.appraisal.supporting or c.appraisal.contradicting]
    complications = [c for c in decided if c.helps_complications_alone]
    tallies = [
        f"{short(c.drug)} ({len(c.appraisal.supporting)} for, {len(c.appraisal.contradicting)} against)"
        for c in decided
        if c not in complications
    ]
    undecided = [c for c in others if c not in decided]
    leads = [c for c in undecided if Direction.supports in c.appraisal.leaning.values()]
    doubts = [c for c in undecided if c.appraisal.leaning and c not in leads]

    def cited_each(keys: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        drugs = [(drug, references.cite(cited)) for drug, cited in list(keys.items())[:MAX_OTHERS]]
        return {"drugs": drugs, "more": max(0, len(keys) - MAX_OTHERS)}

    def leaning(candidates: Sequence[Candidate], side: Direction) -> dict[str, list[str]]:
        return {
            c.drug: [k for k, leans in c.appraisal.leaning.items() if leans is side][:MAX_CITED] for c in candidates
        }

    return {
        "complications": cited_each({c.drug: c.appraisal.supporting for c in complications}),
        "decided": listed(tallies, most=MAX_OTHERS),
        "leads": cited_each(leaning(leads, Direction.supports)),
        "doubts": cited_each(leaning(doubts, Direction.contradicts)),
        "silent": listed([c.drug for c in undecided if not c.appraisal.leaning], most=MAX_OTHERS),
    }


def mechanistic_section(material: Material, references: References) -> ReportSection:
    """How each candidate acts, as the drug databases have it."""
    start, known = len(references.cited), []
    for candidate in material.shown:
        if how := mechanism_of(candidate):
            pathways = ", ".join(candidate.pathways[:MAX_PATHWAYS])
            known.append((candidate.drug, how, pathways, references.cite(candidate.drug_records)))
    missing = [candidate.drug for candidate in material.shown if not candidate.mechanisms]
    blocks = write_blocks("findings", "mechanistic", known=known, missing=listed(missing, most=len(missing)))
    return ReportSection.of("Mechanistic findings", blocks, references.cited[start:])


def mechanism_of(candidate: Candidate) -> str:
    """MechanismFindings of action and targets in a line; empty where none is known."""
    targets = ", ".join(candidate.targets[:MAX_TARGETS])
    how = "; ".join(candidate.mechanisms)
    return f"{how}{f' (targets {targets})' if targets else ''}" if how else ""


def disease_section(mechanisms: MechanismFindings, references: References) -> ReportSection:
    """What the records say of the condition's targets and processes, the surest first, with the drugs acting there."""
    start, graph = len(references.cited), mechanisms.graph
    found = graph.involved
    nodes = [
        {
            "name": step.start.name,
            "kind": "process or pathway" if step.start.kind == "process" else step.start.kind,
            "number": step.start.number,
            "drugs": ", ".join(graph.acting_on(step.start)),
            "sources": _sources(step.backings, references),
            "quote": step.quoted.quote if step.quoted else "",
        }
        for step in found[:MAX_INVOLVED]
    ]
    hidden = max(0, len(found) - MAX_INVOLVED)
    blocks = write_blocks("mechanism", "disease", name=graph.disease.name, involved=nodes, hidden=hidden)
    return ReportSection.of("Disease mechanism", blocks, references.cited[start:])


def argument_section(chain: Chain, graph: MechanismGraph, references: References) -> ReportSection | None:
    """A chain in three sentences: what the drug acts on, where that takes part, what it has to do with the condition.

    None where no record says what it acts on; the mechanistic findings name such drugs.
    """
    start, first = len(references.cited), chain.steps[0]
    if chain.node("target") is None:
        return None
    argument: dict[str, Any] = {"drug": chain.drug, "target": first.end.name, "number": first.end.number}
    argument |= {"relation": first.relation, "sources": _sources(first.backings, references)}
    argument |= dict.fromkeys(("process", "partner", "about", "function"), "")
    if (process := chain.node("process")) is not None:
        argument |= {"process": process.name, "process_number": process.number}
        argument["process_sources"] = _sources(chain.steps[1].backings, references)
        if (about := graph.about(process)) is not None:
            argument |= {"about": about[1], "about_cited": references.cite([about[0]])}
    elif first.end != chain.steps[-1].start:
        argument |= {"partner": chain.steps[1].end.name, "partner_relation": chain.steps[1].relation}
        argument["process_sources"] = _sources(chain.steps[1].backings, references)
    elif (function := graph.function_of(first.end)) is not None:
        argument |= {"function": function[1], "function_cited": references.cite([function[0]])}
    argument["link"] = link_to_condition(chain, references)
    blocks = list(write_blocks("mechanism", "argument", a=argument))
    backings = (backing for step in chain.steps for backing in step.backings)
    if any(each.basis == "sentence" and not each.denies for each in backings):  # else the words above say it all
        rows = []
        for step in chain.steps:
            ends = flow(f"{step.start.name} → {step.end.name}")
            if step.is_missing:
                rows.append((ends, flow(NOT_REPORTED), flow("no source: this link is missing"), flow("")))
                continue
            quote, words = step.quoted, flow("(table entry)")
            if quote is not None:
                words = flow(f"“{short(quote.quote, LONGEST_QUOTE)}”", references.cite([quote.key]))
            rows.append((ends, flow(step.relation), _sources(step.backings, references), words))
        caption = f"Each step from {chain.drug} to {graph.disease.name}, and its source"
        blocks.append(table(caption, ("step", "relation", "source", "in its words"), rows))
    blocks += write_blocks("mechanism", "confidence", chain=chain)
    return ReportSection.of("From drug to disease", blocks, references.cited[start:])


def link_to_condition(chain: Chain, references: References) -> Flow:
    """What the end of a chain has to do with the condition, in a sentence; or that nothing says it."""
    last = chain.steps[-1]
    denied = list(dict.fromkeys(each.key for step in chain.steps for each in step.backings if each.denies))
    return write_flow(
        "mechanism",
        "link",
        missing="; ".join(chain.missing) if last.is_missing else "",
        start=last.start.name,
        relation=last.relation,
        end=last.end.name,
        sources=() if last.is_missing else _sources(last.backings, references),
        quoted=last.quoted.quote if last.quoted else "",
        denied=len(denied),
        denied_cited=references.cite(denied),
    )


def _sources(backings: Sequence[Backing], references: References) -> Flow:
    """Who says a step, with identifiers, cited."""
    given = [each for each in backings if not each.denies]
    entries = []
    for each in given:
        if each.basis == "shared protein":
            entries.append(f"what is said of {each.number}")
        elif each.basis != "sentence":
            score = f", score {each.score:.2f}" if each.score is not None else ""
            entries.append(f"{title_of(each.source)}{f' {each.number}' if each.number else ''}{score}")
    sentences = {each.key: each for each in given if each.basis == "sentence"}
    return write_flow(
        "mechanism",
        "sources",
        entries=list(dict.fromkeys(entries)),
        sentences=len(sentences),
        hedged=sum(each.hedged for each in sentences.values()),
        citation=references.cite(list(dict.fromkeys(each.key for each in given))[:MAX_CITED]),
    )


def methodology_section(material: Material) -> ReportSection:
    """Who searched where, how it was read, who decided; the searches themselves stand in the report's log."""
    records = (record for candidate in material.candidates for record in candidate.records)
    readings = material.dossier.readings if material.usage else []
    blocks = write_blocks(
        "findings",
        "methodology",
        m=material,
        question=question_as_read(material.asked),
        found=sum(len(reply.records) for reply in material.dossier.replies),
        records=len(material.pool),
        kinds=listed([counted(material.counts[kind], noun) for kind, noun in _KINDS.items() if material.counts[kind]]),
        by_source=(CURATED, PUBLISHED) if material.asked.kind in (*ON_HARM, "mechanism", "compare") else None,
        readers=listed(sorted({each.version for each in readings})),
        disputed=sum(bool(record.item.disputed) for record in records),
        prompts=PROMPTS_VERSION if material.usage else "",
        set_aside=material.approval.set_aside,
    )
    return ReportSection.of("Methodology", blocks)


def question_as_read(asked: Question) -> dict[str, str]:
    """The question as it was understood: population, intervention, comparator and outcome."""
    named, drugs = (as_asked(name, asked.text) for name in asked.conditions), [*asked.drugs, *asked.drug_classes]
    is_comparison = asked.kind == "compare" and len(drugs) > 1
    left_out = [*asked.excluded_drugs, *asked.excluded_classes]
    wanted = listed(drugs[:1] if is_comparison else drugs) or "any existing drug"
    return {
        "population": listed([*named, *asked.people]) or "not named",
        "intervention": f"{wanted}, without {listed(left_out)}" if left_out else wanted,
        "comparator": listed(drugs[1:]) if is_comparison else "any",
        "outcome": _OUTCOMES.get(asked.kind, "not named"),
    }
