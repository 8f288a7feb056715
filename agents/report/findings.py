"""The report's findings in sentences: clinical findings, mechanisms, the argument from mechanism; the methods."""

from collections.abc import Mapping, Sequence
from typing import Any

from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.mechanism.graph import MechanismGraph
from willowbark.tools.mechanism.hypotheses import MechanismFindings
from willowbark.tools.mechanism.steps import Backing, Chain
from willowbark.tools.questions import Question
from willowbark.tools.questions.kinds import ON_HARM, Kind
from willowbark.tools.registry import title_of
from willowbark.tools.wording import as_spelt, counted, listed, short

from ..asking import PROMPTS_VERSION
from .content import CURATED, NOT_REPORTED, PUBLISHED, ReportSection
from .forms.blocks import Link, flow, table
from .forms.links import url_of
from .material import Material, References
from .texts import write_blocks, write_flow

MAX_CITED = 4  # records cited for one drug or step
MAX_OTHERS = 10  # names of drugs that are not candidates
MAX_PATHWAYS = 3
MAX_TARGETS = 6  # gene symbols in a line; receptor families have dozens
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
    """Write the section on drugs that are not candidates, by their readings."""
    start, others = len(references.keys), [c for c in material.candidates if c not in material.shown]
    decided = [c for c in others if c.appraisal.supporting or c.appraisal.contradicting]
    unclear = [c for c in others if c not in decided and c.appraisal.inconclusive]
    complications = [c for c in decided if c.helps_complications_alone]
    tallies = [
        (short(c.drug), len(c.appraisal.supporting), len(c.appraisal.contradicting), c.appraisal.contradicting[:1])
        for c in decided
        if c not in complications
    ]
    blocks = write_blocks(
        "findings",
        "clinical",
        references.cite,
        topic=material.topic,
        asks_what_helps=material.asked.asks_what_helps,
        complications=[(c.drug, c.appraisal.supporting[:MAX_CITED]) for c in complications[:MAX_OTHERS]],
        decided=tallies[:MAX_OTHERS],
        more=max(0, len(tallies) - MAX_OTHERS),
        unclear=[flow(Link(short(c.drug), url_of(c.appraisal.inconclusive[0]))) for c in unclear[:MAX_OTHERS]],
        silent=listed([c.drug for c in others if c not in [*decided, *unclear]], most=MAX_OTHERS),
    )
    return ReportSection.of("Further drugs", blocks, references.keys[start:])


def mechanistic_section(material: Material, references: References) -> ReportSection:
    """Write the section on each candidate's mechanism from the drug databases."""
    start, known = len(references.keys), []
    for candidate in material.shown:
        if how := mechanism_of(candidate):
            pathways = ", ".join(candidate.pathways[:MAX_PATHWAYS])
            known.append((candidate.drug, how, pathways, candidate.drug_records))
    missing = [candidate.drug for candidate in material.shown if not candidate.mechanisms]
    blocks = write_blocks(
        "findings", "mechanistic", references.cite, known=known, missing=listed(missing, most=len(missing))
    )
    return ReportSection.of("Mechanistic findings", blocks, references.keys[start:])


def mechanism_of(candidate: Candidate) -> str:
    """Return mechanisms of action and targets in a line; empty if none is known."""
    targets = ", ".join(candidate.targets[:MAX_TARGETS])
    how = "; ".join(candidate.mechanisms)
    return f"{how}{f' (targets {targets})' if targets else ''}" if how else ""


def disease_section(mechanisms: MechanismFindings, references: References) -> ReportSection:
    """Write the section on the condition's targets and processes, the most certain first, with drugs acting there."""
    start, graph = len(references.keys), mechanisms.graph
    found = graph.involved
    nodes = [
        {
            "name": step.start.name,
            "kind": "process or pathway" if step.start.kind == "process" else step.start.kind,
            "number": step.start.number,
            "drugs": ", ".join(graph.acting_on(step.start)),
            "sources": _sources(step.backings),
            "quote": step.quoted.quote if step.quoted else "",
        }
        for step in found[:MAX_INVOLVED]
    ]
    hidden = max(0, len(found) - MAX_INVOLVED)
    name = graph.disease.name
    blocks = write_blocks("mechanism", "disease", references.cite, name=name, involved=nodes, hidden=hidden)
    return ReportSection.of("Disease mechanism", blocks, references.keys[start:])


def argument_section(chain: Chain, graph: MechanismGraph, references: References) -> ReportSection | None:
    """Describe a chain in three sentences: the drug's target, the target's process, its link to the condition.

    None if no record gives a target; the mechanistic findings name such drugs.
    """
    start, first = len(references.keys), chain.steps[0]
    if chain.node("target") is None:
        return None
    process, partner = chain.node("process"), first.end != chain.steps[-1].start
    argument: dict[str, Any] = {
        "drug": chain.drug,
        "target": first.end.name,
        "number": first.end.number,
        "relation": first.relation,
        "sources": _sources(first.backings),
        "process": process.name if process else "",
        "process_number": process.number if process else "",
        "about": graph.about(process) if process else None,
        "partner": chain.steps[1].end.name if partner else "",
        "partner_relation": chain.steps[1].relation if partner else "",
        "next_sources": _sources(chain.steps[1].backings) if partner else {},
        "function": graph.function_of(first.end),
        "link": link_to_condition(chain),
    }
    blocks = list(write_blocks("mechanism", "argument", references.cite, a=argument))
    backings = (backing for step in chain.steps for backing in step.backings)
    if any(each.basis == "sentence" and not each.denies for each in backings):  # else the text above is enough
        rows = []
        for step in chain.steps:
            ends = flow(f"{step.start.name} → {step.end.name}")
            if step.is_missing:
                rows.append((ends, flow(NOT_REPORTED), flow("no source: this link is missing"), flow("")))
                continue
            quote, words = step.quoted, flow("(table entry)")
            if quote is not None:
                words = flow(f"“{short(quote.quote, LONGEST_QUOTE)}”", references.cite([quote.key]))
            sources = write_flow("mechanism", "sources", references.cite, s=_sources(step.backings))
            rows.append((ends, flow(step.relation), sources, words))
        caption = f"Each step from {chain.drug} to {graph.disease.name}, and its source"
        blocks.append(table(caption, ("step", "relation", "source", "in its words"), rows))
    target = chain.node("target")
    genetic = graph.genetic_support(target) if target else None
    blocks += write_blocks("mechanism", "confidence", references.cite, chain=chain, genetic=genetic, target=target)
    return ReportSection.of("From drug to disease", blocks, references.keys[start:])


def link_to_condition(chain: Chain) -> dict[str, Any]:
    """Return how a chain's end is linked to the condition, for the template's `link`."""
    last = chain.steps[-1]
    return {
        "missing": "; ".join(chain.missing) if last.is_missing else "",
        "start": last.start.name,
        "relation": last.relation,
        "end": last.end.name,
        "sources": _sources(last.backings),
        "quote": last.quoted.quote if last.quoted else "",
        "denied": list(dict.fromkeys(each.key for step in chain.steps for each in step.backings if each.denies)),
    }


def _sources(backings: Sequence[Backing]) -> dict[str, Any]:
    """Return the sources of a step, with identifiers and the records to cite."""
    given = [each for each in backings if not each.denies]
    entries = []
    for each in given:
        if each.basis == "shared protein":
            entries.append(f"what is said of {each.number}")
        elif each.basis != "sentence":
            score = f", score {each.score:.2f}" if each.score is not None else ""
            entries.append(f"{title_of(each.source)}{f' {each.number}' if each.number else ''}{score}")
    sentences = {each.key: each for each in given if each.basis == "sentence"}
    return {
        "entries": list(dict.fromkeys(entries)),
        "sentences": len(sentences),
        "hedged": sum(each.hedged for each in sentences.values()),
        "records": list(dict.fromkeys(each.key for each in given))[:MAX_CITED],
    }


def methodology_section(material: Material) -> ReportSection:
    """Write the methods: sources, reading, decisions; the report's log lists the searches."""
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
        differ=sum(record.item.second_reader not in (None, record.item.direction.value) for record in records),
        prompts=PROMPTS_VERSION if material.usage else "",
        set_aside=material.approval.set_aside,
    )
    return ReportSection.of("Methodology", blocks)


def question_as_read(asked: Question) -> dict[str, str]:
    """Return the question as parsed: population, intervention, comparator and outcome."""
    named, drugs = (as_spelt(name, asked.text) for name in asked.conditions), [*asked.drugs, *asked.drug_classes]
    is_comparison = asked.kind == "compare" and len(drugs) > 1
    wanted = listed(drugs[:1] if is_comparison else drugs) or "any existing drug"
    return {
        "population": listed([*named, *asked.people]) or "not named",
        "intervention": f"{wanted}, without {listed(asked.left_out)}" if asked.left_out else wanted,
        "comparator": listed(drugs[1:]) if is_comparison else "any",
        "outcome": _OUTCOMES.get(asked.kind, "not named"),
    }
