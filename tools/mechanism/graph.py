"""The mechanism graph of a run: drugs, their targets, the processes of the targets, and the condition.

Nodes and steps come from the collected records: drug targets from ChEMBL and Open Targets, processes of targets from
Open Targets, UniProt and Reactome, interactions from STRING, proteins involved in the condition from Open Targets and
UniProt, and any of these from sentences in publications. Proteins are human unless a database says otherwise.

Hubs are weak evidence: drugs with many targets, processes with many proteins, targets of many drugs, proteins with many
partners. Paths through one are damped by its degree to the power of -0.4, as degree-weighted path counts (Himmelstein
and Baranzini 2015, https://doi.org/10.1371/journal.pcbi.1004259); a target is damped from the sixth drug on, since a
class may have five. Proteins that transport or metabolise drugs in general count a quarter.
"""

import importlib
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from ..appraisal.approvals import APPROVED_PHASE, is_condition, list_developed
from ..evidence import Evidence
from ..lexicon import canonical_drug, drug_synonyms
from ..questions import Question
from ..reading.screening import readable
from ..reading.text import sentence_spans
from ..records import Disease, Drug, Process, Protein
from ..records.parts import Mechanism
from .steps import Backing, Basis, Chain, Names, Node, SentenceIndex, Step, sign_of, weight_of

DAMPING = 0.4
CLASS_SIZE = 5  # drugs on one target that do not make it a hub
CARRIER = 0.25
GAP = 0.1  # weight of a step without evidence
MOST = 0.9  # maximum confidence from databases and sentences
MOST_UNDIRECTED = 0.5  # maximum if no approved drug shows whether more or less of the target helps
COUNTED = 3  # paths that are combined
MOST_STEPS = 3  # nodes before the condition: drug, target, process or other target
MAX_SHOWN_GENES = 3
_TAKES_PART, _HAS_A_PART, _WORKS_WITH = "takes part in", "has a part in", "works together with"
_CARRIERS = re.compile(r"CYP\d|UGT\d|ABC[BCG]\d|SLCO\d|SLC22A\d|SULT\d|ALB$|ORM\d|KCNH2$")

Way = Sequence[Step]
"""A path from a drug to the condition, without cycles."""


class MechanismGraph:
    """Evidence in the collected records on how drugs might act on a condition.

    Args:
        pool: all records found.
        asked: the question.
        drugs: generic names of the drugs to look at.
    """

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
        self._proteins = {
            protein.gene_symbol: (record, protein)
            for record in self._pool
            if isinstance(protein := record.record, Protein)
            and protein.gene_symbol
            and protein.uniprot_id
            and not protein.organism
        }
        diseases = [(record, said) for record in self._pool if isinstance(said := record.record, Disease)]
        self._entries = [each for each in diseases if is_condition(each[1].disease or "", asked)]
        self._partners, self._causal = dict[Node, int](), dict[str, float]()
        approved = {drug for drug, phase in list_developed(asked, self._pool).items() if phase >= APPROVED_PHASE}
        self._signed = [
            (record.key, drug, drug in approved, frozenset(mechanism.get("gene_symbols") or ()), sign)
            for record in self._pool
            if isinstance(entry := record.record, Drug) and entry.drug
            for drug in [canonical_drug(entry.drug) or entry.drug]
            for mechanism in entry.mechanisms
            if (sign := sign_of(mechanism.get("action_type")))
        ]
        self._add_actions()
        self._add_involved()
        self._add_processes()
        self._add_sentences()
        self._add_shared()
        self._add_partners()

    @property
    def involved(self) -> list[Step]:
        """Steps of what is involved in the condition, surest first, without processes that only share a protein."""
        steps = [self._step(node, self.disease) for node in self._before[self.disease]]
        own = [step for step in steps if any(each.basis != "shared protein" for each in step.backings)]
        return sorted(own, key=lambda step: (-step.weight, step.start.name))

    def as_data(self) -> dict[str, list[dict[str, Any]]]:
        """Return all nodes and steps as JSON data for `networkx.node_link_graph(…, edges="links")`.

        Each link has the step's relation, weight and the keys of its records.
        """
        ids = {node: ":".join(filter(None, node)) for node in self._after}
        steps = [self._step(start, end) for start, ends in self._after.items() for end in ends]
        return {
            "nodes": [{"id": ids[node], **node._asdict()} for node in self._after],
            "links": [
                {
                    "source": ids[step.start],
                    "target": ids[step.end],
                    "relation": step.relation,
                    "weight": step.weight,
                    "records": list(dict.fromkeys(each.key for each in step.backings)),
                }
                for step in steps
            ],
        }

    def as_networkx(self) -> Any:
        """Return the graph as a `networkx.DiGraph` with the data of `as_data`.

        Raises:
            ImportError: networkx is not installed; no extra of this package installs it.
        """
        networkx = importlib.import_module("networkx")
        data = {"directed": True, "multigraph": False, "graph": {}, **self.as_data()}
        return networkx.node_link_graph(data, edges="links")

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

        Confidence is 0 if the drug acts on its target in the opposite direction to all approved drugs, and at most
        `MOST_UNDIRECTED` if no approved drug shows the direction.
        """
        found = self._best_chain(drug)
        genes = self._genes.get(found.node("target") or self.disease, frozenset())
        own = {sign for _, name, _, held, sign in self._signed if name == drug and held & genes}
        others = [each for each in self._signed if each[2] and each[3] & genes]
        if len(own) == 1 and len(helping := {sign for *_, sign in others}) == 1:
            names = list(dict.fromkeys(name for _, name, *_ in others))
            if own == helping:
                return found.model_copy(update={"direction": "same", "compared": names})
            keys = list(dict.fromkeys(key for key, *_ in others))
            stands = f"{found.arithmetic} × 0, since approved drugs act the other way"
            turned = {"direction": "opposite", "compared": names, "opposing": keys, "confidence": 0.0}
            return found.model_copy(update={**turned, "arithmetic": stands})
        if found.confidence > MOST_UNDIRECTED:
            stands = f"{found.arithmetic}, {MOST_UNDIRECTED:g} at most since the direction is unknown"
            return found.model_copy(update={"confidence": MOST_UNDIRECTED, "arithmetic": stands})
        return found

    def _best_chain(self, drug: str) -> Chain:
        """Find the best path, ignoring the direction of action."""
        start = self._drugs.get(drug, Node("drug", drug))
        targets = sorted(
            self._after.get(start, ()), key=lambda target: -self._step(start, target).weight * self._damping_of(target)
        )
        if not targets:
            acts = "; ".join(self._unplaced.get(drug, ()))
            missing = f"no record names a target of {drug}{f', only what it does: {acts}' if acts else ''}"
            steps = [self._step(start, self.disease)]
            return Chain(drug=drug, steps=steps, confidence=0.0, arithmetic="0", missing=[missing])
        ways = [[self._step(*ends) for ends in pairwise(nodes)] for nodes in self._ways([start])]
        whole = [way for way in ways if all(step.weight for step in way)]
        if not whole:
            return self._broken_chain(drug, start, targets[0])
        confidences = {id(way): math.prod(self._factors(way)) for way in whole}
        ranked = sorted(
            whole, key=lambda way: (-round(confidences[id(way)], 6), len(way), *(step.end.name for step in way))
        )
        counted = ranked[:COUNTED]
        confidence = min(MOST, 1 - math.prod(1 - confidences[id(way)] for way in counted))
        products = [self._product(way) for way in counted]
        sums = products[0] if len(products) == 1 else f"1 - {' × '.join(f'(1 - {each})' for each in products)}"
        return Chain(
            drug=drug,
            steps=list(ranked[0]),
            confidence=round(confidence, 2),
            arithmetic=f"{sums} = {confidence:.2f}",
            others=len(ranked) - 1,
        )

    def _broken_chain(self, drug: str, start: Node, target: Node) -> Chain:
        """Return the path to the target and what is missing, if none of its processes leads to the condition."""
        steps = [self._step(*ends) for ends in pairwise([start, target, self.disease])]
        known = [step for step in steps if not step.is_missing]
        missing = [f"no record connects {step.start.name} with {step.end.name}" for step in steps if step.is_missing]
        if not any(node.kind == "process" for node in self._after.get(target, ())):
            missing.append(f"no record names a process of {target.name}")
        confidence = math.prod(self._factors(known)) * GAP
        arithmetic = f"{self._product(known)} × {GAP:g} for the missing step = {confidence:.2f}"
        return Chain(drug=drug, steps=steps, confidence=round(confidence, 2), arithmetic=arithmetic, missing=missing)

    def _ways(self, way: list[Node]) -> Iterator[list[Node]]:
        """Yield the paths to the condition that extend a path, with at most three steps and no cycles."""
        for node in self._after[way[-1]]:
            if node == self.disease:
                yield [*way, node]
            elif len(way) < MOST_STEPS and node not in way:
                yield from self._ways([*way, node])

    def _step(self, start: Node, end: Node) -> Step:
        backings = self._after.get(start, {}).get(end, [])
        relation = self._relations.get((start, end), "is not known to bear on")
        return Step(start=start, end=end, relation=relation, backings=backings)

    def _factors(self, way: Way) -> list[float]:
        """List the weights of a path's steps and the damping factors of its hubs."""
        damped = [self._damping_of(step.start) for step in way if step.start.kind != "disease"]
        between = (step.start for step in way if step.start.kind == "target" == step.end.kind)
        damped += [self._partners[target] ** -DAMPING for target in between]
        return [step.weight for step in way] + [factor for factor in damped if factor < 1]

    def _product(self, way: Way) -> str:
        return " × ".join(f"{factor:.2f}" for factor in self._factors(way))

    def _damping_of(self, node: Node) -> float:
        """Return the damping factor of a path through a node."""
        if node not in self._after:
            return 1.0
        if node.kind == "drug":
            return float(max(1, len(self._after[node])) ** -DAMPING)
        if node.kind == "process":
            return float(max(1, len(self._before[node])) ** -DAMPING)
        carrier = CARRIER if any(_CARRIERS.match(gene) for gene in self._genes.get(node, ())) else 1.0
        drugs = sum(each.kind == "drug" for each in self._before[node])
        return carrier * float(max(1.0, drugs / CLASS_SIZE) ** -DAMPING)

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
        """Return the node of a target, the same for the same genes."""
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

    def _add_actions(self) -> None:
        """Add the targets that drug databases give."""
        for record in self._pool:
            entry = record.record
            if isinstance(entry, Drug) and entry.drug:
                drug = self._drugs.get(canonical_drug(entry.drug) or entry.drug)
                for mechanism in entry.mechanisms if drug else ():
                    self._add_action(drug or self.disease, record, entry.chembl_id or "", mechanism)

    def _add_action(self, drug: Node, record: Evidence, chembl_id: str, mechanism: Mechanism) -> None:
        genes, name = mechanism.get("gene_symbols") or [], mechanism.get("target_name") or ""
        action, kind = mechanism.get("mechanism_of_action") or "", mechanism.get("action_type") or ""
        if not (genes or name):
            if action:
                self._unplaced.setdefault(drug.name, {})[action] = None
            return
        accessions = mechanism.get("uniprot_ids") or []
        number = accessions[0] if len(accessions) == 1 else mechanism.get("target_id") or ""
        target = self._target(genes, name, number, mechanism.get("organism") or "")
        basis: Basis = "action" if kind or action else "action not named"
        quote = next((line for line in record.content.splitlines() if action and action in line), "")
        relation = action or (kind or "acts on").lower()
        self._back(drug, target, relation, _backing(record, basis, chembl_id, quote))
        for path in mechanism.get("pathways") or ():
            process = Node("process", path["name"], path["id"])
            self._back(target, process, _TAKES_PART, _backing(record, "membership", path["id"]))

    def _add_involved(self) -> None:
        """Add the proteins that databases link to the condition."""
        for record, entry in self._entries:
            has_kinds = any("genetic" in each or "pathway" in each for each in entry.targets)
            for each in entry.targets:
                if isinstance(score := each.get("score"), int | float) and (symbol := each.get("symbol")):
                    self._involve(
                        symbol, _backing(record, "association", entry.disease_id or "", score=min(1.0, score))
                    )
                    if has_kinds:  # drugs and papers on a protein do not link its processes to the condition
                        before = self._causal.get(symbol, 0.0)  # of another entry on the condition
                        self._causal[symbol] = max(before, each.get("genetic", 0.0), each.get("pathway", 0.0))
        for record, protein in self._proteins.values():
            for part in protein.diseases:
                sentence = f"{part['name']}: {part['note']}" if part.get("note") else part["name"]
                if is_condition(part["name"], self._asked):
                    quote = sentence if sentence in record.content else ""  # text addressed to machines was removed
                    backing = _backing(record, "involvement", part.get("id", ""), quote)
                    self._involve(protein.gene_symbol or "", backing)

    def _involve(self, symbol: str, backing: Backing) -> None:
        targets = self._targets_of(symbol)
        if not targets:
            _, protein = self._proteins.get(symbol, (None, Protein()))
            targets = [self._target([symbol], protein.protein_name or "", protein.uniprot_id or "")]
        for node in targets:
            self._back(node, self.disease, _HAS_A_PART, backing)

    def _add_processes(self) -> None:
        """Add the targets' other names, pathways and processes from UniProt."""
        for target, genes in self._genes.items():
            for record, protein in (self._proteins[gene] for gene in sorted(genes) if gene in self._proteins):
                self._names[target] += [protein.protein_name or "", *protein.other_names]
                for path in (*protein.pathways, *protein.processes):
                    process = Node("process", path["name"], path["id"])
                    self._back(target, process, _TAKES_PART, _backing(record, "membership", path["id"]))

    def _add_sentences(self) -> None:
        """Add steps found in sentences of publications."""
        targets = {target: Names(self._names[target]) for target in self._genes}
        processes = {process: Names([process.name]) for process in self._processes()}
        drugs = {drug: Names([drug.name, *drug_synonyms(drug.name)]) for drug in self._drugs.values()}
        found = SentenceIndex(self._pool, self._asked, [*targets.values(), *processes.values(), *drugs.values()])
        for target, names in targets.items():
            self._back(target, self.disease, _HAS_A_PART, *found.backings(names, on_condition=True))
            for drug in list(self._before.get(target, ())):
                self._back(drug, target, "acts on", *found.backings(names, drugs[drug]))
        for process, names in processes.items():
            self._back(process, self.disease, _HAS_A_PART, *found.backings(names, on_condition=True))

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

    def _add_partners(self) -> None:
        """Add interaction partners of targets that are involved in the condition."""
        involved = set(self._before[self.disease])
        for record in self._pool:
            entry = record.record
            if not isinstance(entry, Protein):
                continue
            for each in entry.partners:
                backing = _backing(record, "interaction", each["id"], score=each["score"])
                ends = [node for node in self._targets_of(each["symbol"]) if node in involved]
                starts = [node for node in self._targets_of(entry.gene_symbol or "") if node in self._after]
                for start, end in ((start, end) for start in starts for end in ends if start != end):
                    self._back(start, end, _WORKS_WITH, backing)
                    self._partners[start] = len(entry.partners)

    def _processes(self) -> list[Node]:
        """List pathways and processes by name."""
        found = (node for node in self._after if node.kind == "process")
        return sorted(found, key=lambda node: (node.name, node.number))


def _backing(
    record: Evidence, basis: Basis, number: str = "", quote: str = "", *, score: float | None = None
) -> Backing:
    source = record.citation.source
    return Backing(key=record.key, source=source, basis=basis, number=number, quote=quote, score=score)
