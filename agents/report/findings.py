"""The report's findings in sentences: further drugs, mechanisms, the argument from mechanism, the methods."""

from collections.abc import Mapping, Sequence
from typing import Any

from willowbark.tools.appraisal.candidates import Candidate
from willowbark.tools.mechanism.graph import MechanismGraph
from willowbark.tools.mechanism.steps import Backing, Chain
from willowbark.tools.questions import Question
from willowbark.tools.questions.kinds import ON_HARM, Kind
from willowbark.tools.registry import title_of
from willowbark.tools.wording import as_spelt, counted, listed

from ..asking import PROMPTS_VERSION
from .content import CURATED, PUBLISHED
from .material import Material
from .texts import Draft, Said

MAX_CITED = 4  # records cited for one drug or step
MAX_OTHERS = 10  # names of drugs that are not candidates
MAX_PATHWAYS = 3
MAX_TARGETS = 6  # gene symbols in a line; receptor families have dozens
MAX_INVOLVED = 10  # targets and processes of the condition
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


def further_drugs(material: Material) -> Draft:
    """Tell of drugs that are not candidates, by their readings."""
    others = [c for c in material.candidates if c not in material.shown]
    decided = [c for c in others if c.appraisal.supporting or c.appraisal.contradicting]
    unclear = [c for c in others if c not in decided and c.appraisal.inconclusive]
    data = {
        "topic": material.topic,
        "asks_what_helps": material.asked.asks_what_helps,
        "complications": [c for c in decided if c.helps_complications_alone][:MAX_OTHERS],
        "decided": [c for c in decided if not c.helps_complications_alone],
        "unclear": unclear[:MAX_OTHERS],
        "silent": listed([c.drug for c in others if c not in [*decided, *unclear]], most=MAX_OTHERS),
        "most": MAX_OTHERS,
        "cited": MAX_CITED,
    }
    return Draft("Further drugs", [Said("findings", "further", data)])


def mechanisms_found(material: Material) -> Draft:
    """Tell of each candidate's mechanism by the drug databases."""
    told = [(c, mechanism_of(c), ", ".join(c.pathways[:MAX_PATHWAYS])) for c in material.shown]
    data = {
        "known": [(c.drug, how, pathways, c.drug_records) for c, how, pathways in told if how],
        "missing": listed([c.drug for c, how, _ in told if not how], most=len(told)),
    }
    return Draft("Mechanistic findings", [Said("findings", "mechanistic", data)])


def mechanism_of(candidate: Candidate) -> str:
    """Return mechanisms of action and targets in a line; empty if none is known."""
    targets = ", ".join(candidate.targets[:MAX_TARGETS])
    how = "; ".join(candidate.mechanisms)
    return f"{how}{f' (targets {targets})' if targets else ''}" if how else ""


def disease_mechanism(graph: MechanismGraph) -> Draft:
    """Tell of the condition's targets and processes, the most certain first, with drugs acting there."""
    involved = [
        {
            "end": step.start,
            "drugs": ", ".join(graph.acting_on(step.start)),
            "sources": sources_of(step.backings),
            "quote": step.quoted.quote if step.quoted else "",
        }
        for step in graph.involved[:MAX_INVOLVED]
    ]
    data = {"name": graph.disease.name, "involved": involved, "hidden": max(0, len(graph.involved) - MAX_INVOLVED)}
    return Draft("Disease mechanism", [Said("mechanism", "disease", data)])


def argument(chain: Chain, graph: MechanismGraph) -> Draft | None:
    """Tell a chain in three sentences: the drug's target, the target's process, its link to the condition.

    None if no record gives a target; the mechanistic findings name such drugs.
    """
    target, process = chain.node("target"), chain.node("process")
    if target is None:
        return None
    data = {
        "chain": chain,
        "disease": graph.disease.name,
        "target": target,
        "process": process,
        "sources": [sources_of(step.backings) for step in chain.steps],
        "about": graph.about(process) if process else None,
        "function": graph.function_of(target),
        "genetic": graph.genetic_support(target),
        "link": link_to_condition(chain),
        # without a sentence of a record, the text above the table is enough
        "by_sentences": any(x.basis == "sentence" and not x.denies for step in chain.steps for x in step.backings),
    }
    return Draft("From drug to disease", [Said("mechanism", "argument", data)])


def link_to_condition(chain: Chain) -> dict[str, Any]:
    """Return how a chain's end is linked to the condition, for the template's `link`."""
    last = chain.steps[-1]
    return {
        "missing": "; ".join(chain.missing) if last.is_missing else "",
        "step": last,
        "sources": sources_of(last.backings),
        "denied": chain.keys(denying=True),
    }


def sources_of(backings: Sequence[Backing]) -> dict[str, Any]:
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


def methodology(material: Material) -> Draft:
    """Tell the methods: sources, reading, decisions; the report's log lists the searches."""
    records = [record for candidate in material.candidates for record in candidate.records]
    readings = material.dossier.readings if material.usage else []
    data = {
        "m": material,
        "question": question_as_read(material.asked),
        "found": sum(len(reply.records) for reply in material.dossier.replies),
        "kinds": listed(
            [counted(material.counts[kind], noun) for kind, noun in _KINDS.items() if material.counts[kind]]
        ),
        "by_source": (CURATED, PUBLISHED) if material.asked.kind in (*ON_HARM, "mechanism", "compare") else None,
        "readers": listed(sorted({each.version for each in readings})),
        "differ": sum(record.item.second_reader not in (None, record.item.direction.value) for record in records),
        "prompts": PROMPTS_VERSION if material.usage else "",
    }
    return Draft("Methodology", [Said("findings", "methodology", data)])


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
