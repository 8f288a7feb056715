"""The mechanism graph of a run: drugs, their targets, the processes of the targets, and the condition.

Nodes and steps come from the collected records: drug targets from ChEMBL and Open Targets, processes of targets from
Open Targets, UniProt and Reactome, proteins involved in the condition from Open Targets and UniProt, and any of these
from sentences in publications. Proteins are human unless a database says otherwise.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from pydantic import BaseModel, Field

from ..appraisal.approvals import APPROVED_PHASE, is_condition, list_developed
from ..appraisal.candidates import Candidate
from ..evidence import Evidence
from ..lexicon import canonical_drug, drug_synonyms
from ..questions import Question
from ..questions.query import bare_name
from ..reading.screening import readable
from ..reading.text import sentence_spans
from ..records import Disease, Drug, Process, Protein
from ..sources.publications import is_code
from .steps import Backing, Basis, Chain, Names, Node, SentenceIndex, Step, sign_of, weight_of

GAP = 0.1  # weight of a step without evidence
MOST_UNDIRECTED = 0.5  # maximum if no approved drug shows whether more or less of the target helps
MOST_STEPS = 3  # nodes before the condition: drug, target, process
MAX_SHOWN_GENES = 3
NOT_REPORTED = "not reported"
RECOMMENDED = 3  # hypotheses whose searches are recommended
MAX_EFFECT = 3  # mechanisms of action in a hypothesis
_TAKES_PART, _HAS_A_PART = "takes part in", "has a part in"


class MechanismGraph:
    """How drugs might act on the condition asked about, by all records found."""

    def __init__(self, pool: Sequence[Evidence], asked: Question, drugs: Iterable[str]) -> None:
        self._asked, self._pool = asked, [readable(record) for record in pool]
        self.disease = Node("disease", " and ".join(asked.conditions) or " ".join(asked.terms) or asked.text)
        self._after: dict[Node, dict[Node, list[Backing]]] = {self.disease: {}}
        self._before: dict[Node, dict[Node, None]] = {self.disease: {}}
        self._relations: dict[tuple[Node, Node], str] = {}
        self._drugs = {drug: Node("drug", drug) for drug in dict.fromkeys(drugs)}
        self._names: dict[Node, list[str]] = {}
        self._genes: dict[Node, frozenset[str]] = {}
        self._unplaced: dict[str, dict[str, None]] = {}
        self._causal: dict[str, float] = {}
        entries = [(record, record.record) for record in self._pool]
        self._entries = [
            (record, said)
            for record, said in entries
            if isinstance(said, Disease) and is_condition(said.disease or "", asked)
        ]
        self._proteins = {
            said.gene_symbol: (record, said)
            for record, said in entries
            if isinstance(said, Protein) and said.gene_symbol and not said.organism
        }
        approved = {drug for drug, phase in list_developed(asked, self._pool).items() if phase >= APPROVED_PHASE}
        self._signed = list[tuple[str, str, bool, frozenset[str], int]]()
        for record, said in entries:
            if isinstance(said, Drug) and said.drug:
                self._add_actions(record, said, canonical_drug(said.drug) or said.drug, approved)
        self._add_involved()
        for target, genes in self._genes.items():
            for record, protein in (self._proteins[gene] for gene in sorted(genes) if gene in self._proteins):
                self._names[target] += [protein.protein_name or "", *protein.other_names]
                self._add_processes(target, record, (*protein.pathways, *protein.processes))
        self._add_sentences()
        self._add_shared()

    @property
    def involved(self) -> list[Step]:
        """Steps of what is involved in the condition, surest first, without processes that only share a protein."""
        steps = [self._step(node, self.disease) for node in self._before[self.disease]]
        own = [step for step in steps if any(each.basis != "shared protein" for each in step.backings)]
        return sorted(own, key=lambda step: (-step.weight, step.start.name))

    def about(self, process: Node) -> tuple[str, str] | None:
        """Return the key of a process's Reactome record and its summary's first sentence; None if there is none."""
        for record in self._pool:
            entry = record.record
            if isinstance(entry, Process) and entry.process_id == process.number and entry.summary:
                start, end = (sentence_spans(entry.summary) or [(0, len(entry.summary))])[0]
                first = entry.summary[start:end]
                return (record.key, first) if first in record.content else None
        return None

    def genetic_support(self, target: Node) -> tuple[str, float] | None:
        """Return the key of the condition's Open Targets entry and a target's genetic score; None if there is none."""
        for record, entry in self._entries:
            for each in entry.targets:
                if each.get("symbol") in self._genes.get(target, ()) and "genetic" in each:
                    return record.key, float(each["genetic"])
        return None

    def function_of(self, target: Node) -> tuple[str, str] | None:
        """Return the key of a target's UniProt record and its function; None if not given."""
        for gene in sorted(self._genes.get(target, ())):
            record, protein = self._proteins.get(gene, (None, None))
            if record and protein and protein.function and protein.function in record.content:
                return record.key, protein.function
        return None

    def acting_on(self, node: Node) -> list[str]:
        """List the graph's drugs that act on a target, or on any target in a process, by name."""
        before = set(self._before[node])
        if node.kind == "process":
            before |= {drug for target in before for drug in self._before[target]}
        return sorted(each.name for each in before if each.kind == "drug")

    def chain(self, drug: str) -> Chain:
        """Find the best path from a drug to the condition; steps without evidence are marked as missing.

        Confidence is the product of the steps' weights. It is 0 if the drug acts on its target in the opposite
        direction to all approved drugs, and at most `MOST_UNDIRECTED` if no approved drug shows the direction.
        """
        start = self._drugs.get(drug, Node("drug", drug))
        if not (targets := self._after.get(start)):
            acts = "; ".join(self._unplaced.get(drug, ()))
            unknown = f"no record names a target of {drug}{f', only what it does: {acts}' if acts else ''}"
            open_end = [self._step(start, self.disease)]
            return Chain(drug=drug, steps=open_end, confidence=0.0, arithmetic="0", missing=[unknown])
        ways = [[self._step(*ends) for ends in pairwise(nodes)] for nodes in self._ways([start])]
        whole = [way for way in ways if all(step.weight for step in way)]
        missing = list[str]()
        if whole:
            steps = min(whole, key=lambda way: (-_product(way), len(way), *(step.end.name for step in way)))
        else:
            target = max(targets, key=lambda target: self._step(start, target).weight)
            steps = [self._step(*ends) for ends in pairwise([start, target, self.disease])]
            missing = [
                f"no record connects {step.start.name} with {step.end.name}" for step in steps if step.is_missing
            ]
            if not any(node.kind == "process" for node in self._after[target]):
                missing.append(f"no record names a process of {target.name}")
        factors = [f"{step.weight:.2f}" if step.weight else f"{GAP:g} for the missing step" for step in steps]
        confidence = round(_product(steps), 2)
        arithmetic = f"{' × '.join(factors)} = {confidence:.2f}"

        genes = self._genes.get(steps[0].end, frozenset())
        own = {sign for _, name, _, held, sign in self._signed if name == drug and held & genes}
        others = [each for each in self._signed if each[2] and each[3] & genes]
        helping = {sign for *_, sign in others}
        is_known = len(own) == len(helping) == 1
        is_opposite = is_known and own != helping
        if is_opposite:
            confidence, arithmetic = 0.0, f"{arithmetic} × 0, since approved drugs act the other way"
        elif not is_known and confidence > MOST_UNDIRECTED:
            confidence = MOST_UNDIRECTED
            arithmetic = f"{arithmetic}, {MOST_UNDIRECTED:g} at most since the direction is unknown"
        return Chain(
            drug=drug,
            steps=steps,
            confidence=confidence,
            arithmetic=arithmetic,
            direction="opposite" if is_opposite else "same" if is_known else "unknown",
            compared=list(dict.fromkeys(name for _, name, *_ in others)) if is_known else [],
            opposing=list(dict.fromkeys(key for key, *_ in others)) if is_opposite else [],
            others=max(0, len(whole) - 1),
            missing=missing,
        )

    def _ways(self, way: list[Node]) -> Iterator[list[Node]]:
        """Yield the paths to the condition that extend a path, with at most three steps."""
        for node in self._after[way[-1]]:
            if node == self.disease:
                yield [*way, node]
            elif len(way) < MOST_STEPS:
                yield from self._ways([*way, node])

    def _step(self, start: Node, end: Node) -> Step:
        backings = self._after.get(start, {}).get(end, [])
        relation = self._relations.get((start, end), "is not known to bear on")
        return Step(start=start, end=end, relation=relation, backings=backings)

    def _back(self, start: Node, end: Node, relation: str, *given: Backing) -> None:
        """Add evidence for a step; the first one added names the relation."""
        if not given:
            return
        for node in (start, end):
            self._after.setdefault(node, {})
            self._before.setdefault(node, {})
        held = self._after[start].get(end, [])
        self._after[start][end] = held + [each for each in given if each not in held]
        self._before[end][start] = None
        self._relations.setdefault((start, end), relation)

    def _target(self, genes: Sequence[str], name: str, number: str, organism: str = "") -> Node:
        wanted = frozenset(genes)
        if wanted and (known := next((node for node, held in self._genes.items() if held == wanted), None)):
            self._names[known] += [name]
            return known
        shown = ", ".join(genes) if 0 < len(genes) <= MAX_SHOWN_GENES else name or ", ".join(genes[:MAX_SHOWN_GENES])
        node = Node("target", f"{shown} of {organism}" if organism else shown, number)
        self._genes[node] = wanted
        self._names.setdefault(node, []).extend([*genes, name])
        return node

    def _targets_of(self, gene: str) -> list[Node]:
        return [node for node, genes in self._genes.items() if gene in genes]

    def _add_actions(self, record: Evidence, entry: Drug, name: str, approved: set[str]) -> None:
        """Add the targets that a drug database gives, and in which direction the drug acts on them."""
        for mechanism in entry.mechanisms:
            genes, target_name = mechanism.get("gene_symbols") or [], mechanism.get("target_name") or ""
            action, kind = mechanism.get("mechanism_of_action") or "", mechanism.get("action_type") or ""
            if sign := sign_of(kind):
                self._signed.append((record.key, name, name in approved, frozenset(genes), sign))
            if (drug := self._drugs.get(name)) is None:
                continue
            if not (genes or target_name):
                self._unplaced.setdefault(name, {}).update({action: None} if action else {})
                continue
            accessions = mechanism.get("uniprot_ids") or []
            number = accessions[0] if len(accessions) == 1 else mechanism.get("target_id") or ""
            target = self._target(genes, target_name, number, mechanism.get("organism") or "")
            basis: Basis = "action" if kind or action else "action not named"
            quote = next((line for line in record.content.splitlines() if action and action in line), "")
            relation = action or (kind or "acts on").lower()
            self._back(drug, target, relation, _backing(record, basis, entry.chembl_id or "", quote))
            self._add_processes(target, record, mechanism.get("pathways") or ())

    def _add_processes(self, target: Node, record: Evidence, paths: Iterable[Any]) -> None:
        for path in paths:
            process = Node("process", path["name"], path["id"])
            self._back(target, process, _TAKES_PART, _backing(record, "membership", path["id"]))

    def _add_involved(self) -> None:
        """Add the proteins that databases link to the condition."""
        for record, entry in self._entries:
            has_kinds = any("genetic" in each or "pathway" in each for each in entry.targets)
            for each in entry.targets:
                if isinstance(score := each.get("score"), int | float) and (symbol := each.get("symbol")):
                    number = entry.disease_id or ""
                    self._involve(symbol, _backing(record, "association", number, score=min(1.0, score)))
                    if has_kinds:  # drugs and papers on a protein do not link its processes to the condition
                        before = self._causal.get(symbol, 0.0)  # of another entry on the condition
                        self._causal[symbol] = max(before, each.get("genetic", 0.0), each.get("pathway", 0.0))
        for gene, (record, protein) in self._proteins.items():
            for part in protein.diseases:
                sentence = f"{part['name']}: {part['note']}" if part.get("note") else part["name"]
                if is_condition(part["name"], self._asked):
                    quote = sentence if sentence in record.content else ""  # text addressed to machines was removed
                    self._involve(gene, _backing(record, "involvement", part.get("id", ""), quote))

    def _involve(self, symbol: str, backing: Backing) -> None:
        targets = self._targets_of(symbol)
        if not targets:
            _, protein = self._proteins.get(symbol, (None, Protein()))
            targets = [self._target([symbol], protein.protein_name or "", protein.uniprot_id or "")]
        for node in targets:
            self._back(node, self.disease, _HAS_A_PART, backing)

    def _add_sentences(self) -> None:
        """Add steps found in sentences of publications."""
        targets = {target: Names(self._names[target]) for target in self._genes}
        processes = {process: Names([process.name]) for process in self._processes()}
        drugs = {drug: Names([drug.name, *drug_synonyms(drug.name)]) for drug in self._drugs.values()}
        found = SentenceIndex(self._pool, self._asked, [*targets.values(), *processes.values(), *drugs.values()])
        for node, names in {**targets, **processes}.items():
            self._back(node, self.disease, _HAS_A_PART, *found.backings(names, on_condition=True))
        for target, names in targets.items():
            for drug in [node for node in self._before.get(target, ()) if node in drugs]:
                self._back(drug, target, "acts on", *found.backings(names, drugs[drug]))

    def _add_shared(self) -> None:
        """Link processes to the condition through proteins involved in both.

        If Open Targets gives its evidence by kind, only genetic and pathway evidence counts for a protein.
        """
        for process in self._processes():
            for target in list(self._before[process]):
                step = self._step(target, self.disease)
                causal = [self._causal[gene] for gene in self._genes[target] if gene in self._causal]
                alone = {"score": max(causal)} if causal else {}
                told = [b.model_copy(update=alone) if b.basis == "association" else b for b in step.backings]
                if weight := weight_of(told) if told else 0.0:
                    first = step.quoted or step.backings[0]
                    shared = {"basis": "shared protein", "number": target.name, "score": weight}
                    backing = first.model_copy(update={**shared, "denies": False, "hedged": False})
                    self._back(process, self.disease, f"holds {target.name}, which {_HAS_A_PART}", backing)

    def _processes(self) -> list[Node]:
        """List pathways and processes by name."""
        found = (node for node in self._after if node.kind == "process")
        return sorted(found, key=lambda node: (node.name, node.number))


def _product(way: Sequence[Step]) -> float:
    return math.prod(step.weight or GAP for step in way)


def _backing(
    record: Evidence, basis: Basis, number: str = "", quote: str = "", *, score: float | None = None
) -> Backing:
    source = record.citation.source
    return Backing(key=record.key, source=source, basis=basis, number=number, quote=quote, score=score)


class MechanismHypothesis(BaseModel, extra="forbid"):
    """How a drug might act on the condition."""

    drug: str
    target: str
    """`not reported` if no record names one."""
    pathway: str
    """Pathway or process of the best chain, or `not reported`."""
    effect: str
    confidence: float = Field(ge=0.0, le=1.0)
    """Confidence in the chain from drug to condition, as computed in `steps` and `graph`; whether patients benefit is
    rated by the drug's certainty instead."""
    supporting_evidence: list[str] = []
    """Keys of records: for the chain's steps, then studies that support the drug."""
    contradicting_evidence: list[str] = []
    """Keys of records: on approved drugs that act in the opposite direction, then denying a step, then studies that
    contradict the drug."""
    search_suggestions: list[str] = []

    def to_search_queries(self) -> list[str]:
        """List queries that could test the hypothesis, without duplicates."""
        ends = [end for end in (self.target, self.pathway) if end and end != NOT_REPORTED]
        return list(dict.fromkeys([*(f"{self.drug} AND {_quote_name(end)}" for end in ends), *self.search_suggestions]))


class HypothesisAssessment(BaseModel, extra="forbid"):
    hypotheses: list[MechanismHypothesis] = []
    primary_hypothesis: MechanismHypothesis | None = None
    """The most confident one; None if there is no hypothesis."""
    knowledge_gaps: list[str] = []
    recommended_searches: list[str] = []


def _quote_name(name: str) -> str:
    """Write a name for a query; gene symbols of one target become alternatives."""
    parts = [part.strip() for part in name.split(",")]
    if len(parts) > 1 and all(part[:1].isupper() and is_code(part, 2, 12, "-") for part in parts):
        return f"({' OR '.join(parts)})"
    plain = bare_name(name, "'-")
    return f'"{plain}"' if " " in plain else plain


class MechanismFindings(NamedTuple):
    hypotheses: HypothesisAssessment
    chains: Mapping[str, Chain]
    """Chain from each drug to the condition."""
    graph: MechanismGraph


def assess(candidates: Sequence[Candidate], pool: Sequence[Evidence], asked: Question) -> MechanismFindings:
    graph = MechanismGraph(pool, asked, [candidate.drug for candidate in candidates])
    chains = {candidate.drug: graph.chain(candidate.drug) for candidate in candidates}
    found = list[MechanismHypothesis]()
    for candidate in candidates:
        chain, appraisal = chains[candidate.drug], candidate.appraisal
        target, process = chain.node("target"), chain.node("process")
        if target is None:
            continue
        tested = [_quote_name(node.name) for node in (target, process) if node and chain.missing]
        found.append(
            MechanismHypothesis(
                drug=candidate.drug,
                target=target.name,
                pathway=process.name if process else NOT_REPORTED,
                effect="; ".join(candidate.mechanisms[:MAX_EFFECT]) or chain.steps[0].relation,
                confidence=chain.confidence,
                supporting_evidence=list(dict.fromkeys([*chain.keys(), *appraisal.supporting])),
                contradicting_evidence=list(
                    dict.fromkeys([*chain.opposing, *chain.keys(denying=True), *appraisal.contradicting])
                ),
                search_suggestions=[f"{each} AND {_quote_name(graph.disease.name)}" for each in tested],
            )
        )
    ranked = sorted(found, key=lambda each: -each.confidence)
    queries = [query for each in ranked[:RECOMMENDED] for query in each.to_search_queries()]
    assessment = HypothesisAssessment(
        hypotheses=ranked,
        primary_hypothesis=ranked[0] if ranked else None,
        knowledge_gaps=list(dict.fromkeys(gap for chain in chains.values() for gap in chain.missing)),
        recommended_searches=list(dict.fromkeys(queries)),
    )
    return MechanismFindings(assessment, chains, graph)
