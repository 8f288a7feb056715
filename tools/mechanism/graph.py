"""The graph of a run: drugs, their targets, the processes that these take part in, and the condition.

Nodes and steps come from the records at hand: ChEMBL and Open Targets say what drugs act on, Open Targets, UniProt and
Reactome where targets take part, STRING with what they work together, Open Targets and UniProt which proteins have to
do with the condition; sentences of publications say any of it. Proteins are human where a database does not say
otherwise.

Hubs say little: a drug of many targets, a process of many proteins, a target of many drugs, a protein of many partners.
A way through one is damped
by its degree to the power of -0.4, as degree-weighted path counts are (Himmelstein and Baranzini 2015,
https://doi.org/10.1371/journal.pcbi.1004259); a target is damped from the sixth drug on, since a class may well hold
five. Proteins that carry or break down drugs of every kind count a quarter.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from ..appraisal.candidates import is_condition
from ..evidence import Evidence
from ..lexicon import canonical_drug, drug_synonyms
from ..questions import Question
from ..reading.screening import readable
from ..reading.text import sentence_spans
from ..records import Disease, Drug, Process, Protein
from ..records.parts import Mechanism
from .steps import Backing, Chain, Names, Node, Sentences, Step

DAMPING = 0.4
CLASS_SIZE = 5  # drugs on one target that are no sign of a hub
CARRIER = 0.25
GAP = 0.1  # weight of a step that nothing says
MOST = 0.9  # confidence that look-ups and sentences can give
COUNTED = 3  # ways that are added up
MOST_STEPS = 3  # of a way: drug, target, process or another target, condition
MAX_SHOWN_GENES = 3
_TAKES_PART, _HAS_A_PART, _WORKS_WITH = "takes part in", "has a part in", "works together with"
_CARRIERS = re.compile(r"CYP\d|UGT\d|ABC[BCG]\d|SLCO\d|SLC22A\d|SULT\d|ALB$|ORM\d|KCNH2$")


class MechanismGraph:
    """What the records at hand say of how drugs might act on a condition.

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
            said.gene_symbol: (record, said)
            for record in self._pool
            if isinstance(said := record.record, Protein) and said.gene_symbol and said.uniprot_id and not said.organism
        }
        self._partners: dict[Node, int] = {}
        self._add_actions()
        self._add_involved()
        self._add_processes()
        self._add_sentences()
        self._add_shared()
        self._add_partners()

    def _back(self, start: Node, end: Node, relation: str, *given: Backing) -> None:
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
        """The node of a target; one by its genes, whoever names it."""
        wanted = frozenset(genes)
        if wanted and (known := next((node for node, held in self._genes.items() if held == wanted), None)):
            self._names[known] += [name]
            return known
        shown = ", ".join(genes) if 0 < len(genes) <= MAX_SHOWN_GENES else name or ", ".join(genes[:MAX_SHOWN_GENES])
        node = Node("target", f"{shown} of {organism}" if organism else shown, number)
        self._genes[node] = wanted
        self._names.setdefault(node, []).extend([*genes, name])
        return node

    def _add_actions(self) -> None:
        for record in self._pool:
            said = record.record
            if isinstance(said, Drug) and said.drug:
                drug = self._drugs.get(canonical_drug(said.drug) or said.drug)
                for entry in said.mechanisms if drug else ():
                    self._add_action(drug or self.disease, record, said, entry)

    def _add_action(self, drug: Node, record: Evidence, said: Drug, entry: Mechanism) -> None:
        genes, name = entry.get("gene_symbols") or [], entry.get("target_name") or ""
        if not (genes or name):
            if action := entry.get("mechanism_of_action"):
                self._unplaced.setdefault(drug.name, {})[action] = None
            return
        accessions = entry.get("uniprot_ids") or []
        number = accessions[0] if len(accessions) == 1 else entry.get("target_id") or ""
        target = self._target(genes, name, number, entry.get("organism") or "")
        action = entry.get("mechanism_of_action") or ""
        backing = Backing(
            key=record.key,
            source=record.citation.source,
            basis="action" if entry.get("action_type") or action else "action not named",
            number=said.chembl_id or "",
            quote=next((line for line in record.content.splitlines() if action and action in line), ""),
        )
        self._back(drug, target, action or (entry.get("action_type") or "acts on").lower(), backing)
        for path in entry.get("pathways") or ():
            process = Node("process", path["name"], path["id"])
            self._back(target, process, _TAKES_PART, _member(record, path["id"]))

    def _add_involved(self) -> None:
        """Proteins that databases connect with the condition."""
        for record in self._pool:
            said = record.record
            if isinstance(said, Disease) and is_condition(said.disease or "", self._asked):
                for each in said.targets:
                    score = each.get("score")
                    if (symbol := each.get("symbol")) and isinstance(score, int | float):
                        given = {"basis": "association", "number": said.disease_id or "", "score": min(1.0, score)}
                        self._involve(symbol, _backing(record, **given))
            elif isinstance(said, Protein) and said.gene_symbol and said.organism is None:
                for part in said.diseases:
                    told = f"{part['name']}: {part['note']}" if part.get("note") else part["name"]
                    if is_condition(told, self._asked):
                        quote = told if told in record.content else ""  # what speaks to machines was taken out
                        backing = _backing(record, basis="involvement", number=part.get("id", ""), quote=quote)
                        self._involve(said.gene_symbol, backing)

    def _involve(self, symbol: str, backing: Backing) -> None:
        for node in self._holding(symbol) or [self._target([symbol], *self._described(symbol))]:
            self._back(node, self.disease, _HAS_A_PART, backing)

    def _holding(self, symbol: str) -> list[Node]:
        """The targets that a gene is of."""
        return [node for node, genes in self._genes.items() if symbol in genes]

    def _described(self, symbol: str) -> tuple[str, str]:
        _, said = self._proteins.get(symbol, (None, Protein()))
        return said.protein_name or "", said.uniprot_id or ""

    def _add_processes(self) -> None:
        """What UniProt says of the targets: their further names, their pathways and processes."""
        for target, genes in self._genes.items():
            for record, said in (self._proteins[gene] for gene in sorted(genes) if gene in self._proteins):
                self._names[target] += [said.protein_name or "", *said.other_names]
                for path in (*said.pathways, *said.processes):
                    self._back(
                        target, Node("process", path["name"], path["id"]), _TAKES_PART, _member(record, path["id"])
                    )

    def _add_sentences(self) -> None:
        targets = {target: Names(self._names[target]) for target in self._genes}
        processes = {process: Names([process.name]) for process in self.processes}
        drugs = {drug: Names([drug.name, *drug_synonyms(drug.name)]) for drug in self._drugs.values()}
        found = Sentences(self._pool, self._asked, [*targets.values(), *processes.values(), *drugs.values()])
        for target, names in targets.items():
            self._back(target, self.disease, _HAS_A_PART, *found.backings(names, on_condition=True))
            for drug in list(self._before.get(target, ())):
                self._back(drug, target, "acts on", *found.backings(names, drugs[drug]))
        for process, names in processes.items():
            self._back(process, self.disease, _HAS_A_PART, *found.backings(names, on_condition=True))

    def _add_shared(self) -> None:
        """Processes in which proteins of the condition take part, beside the targets of drugs."""
        for process in self.processes:
            for target in list(self._before[process]):
                if self.disease in self._after[target] and (step := self._step(target, self.disease)).weight:
                    first = step.quoted or step.backings[0]
                    backing = Backing(
                        key=first.key,
                        source=first.source,
                        basis="shared protein",
                        number=target.name,
                        quote=first.quote,
                        score=step.weight,
                    )
                    self._back(process, self.disease, f"holds {target.name}, which {_HAS_A_PART}", backing)

    def _add_partners(self) -> None:
        """What targets work together with, where records connect it with the condition."""
        involved = set(self._before[self.disease])
        for record in self._pool:
            if not isinstance(said := record.record, Protein):
                continue
            for each in said.partners:
                backing = _backing(record, basis="interaction", number=each["id"], score=each["score"])
                ends = [node for node in self._holding(each["symbol"]) if node in involved]
                for start in self._holding(said.gene_symbol or ""):
                    for end in ends if start in self._after else ():
                        if end != start:
                            self._back(start, end, _WORKS_WITH, backing)
                            self._partners[start] = len(said.partners)

    @property
    def processes(self) -> list[Node]:
        """Pathways and processes, by name."""
        return sorted(
            (node for node in self._after if node.kind == "process"), key=lambda node: (node.name, node.number)
        )

    @property
    def involved(self) -> list[Step]:
        """What has a part in the condition, the surest first; what is only shared stands with its protein."""
        steps = [self._step(node, self.disease) for node in self._before[self.disease]]
        own = [step for step in steps if any(each.basis != "shared protein" for each in step.backings)]
        return sorted(own, key=lambda step: (-step.weight, step.start.name))

    def about(self, process: Node) -> tuple[str, str] | None:
        """The key of Reactome's record of a process, and its summary's first sentence; None where there is none."""
        for record in self._pool:
            if isinstance(said := record.record, Process) and said.process_id == process.number and said.summary:
                start, end = (sentence_spans(said.summary) or [(0, len(said.summary))])[0]
                told = said.summary[start:end]
                return (record.key, told) if told in record.content else None
        return None

    def function_of(self, target: Node) -> tuple[str, str] | None:
        """The key of UniProt's record of a target, and what it says that it does; None where it says nothing."""
        told = (self._proteins[gene] for gene in sorted(self._genes.get(target, ())) if gene in self._proteins)
        named = ((record, said.function) for record, said in told if said.function)
        return next(((record.key, function) for record, function in named if function in record.content), None)

    def acting_on(self, node: Node) -> list[str]:
        """The drugs looked at that act on a target, or on a target that takes part in a process; by name."""
        before = set(self._before[node])
        if node.kind == "process":
            before |= {drug for target in before for drug in self._before[target]}
        return sorted(each.name for each in before if each.kind == "drug")

    def _step(self, start: Node, end: Node) -> Step:
        held = self._after.get(start, {}).get(end, [])
        return Step(
            start=start, end=end, relation=self._relations.get((start, end), "is not known to bear on"), backings=held
        )

    def chain(self, drug: str) -> Chain:
        """The best way from a drug to the condition; steps that nothing says stand in it as missing."""
        start = self._drugs.get(drug, Node("drug", drug))
        targets = self.targets(drug)
        if not targets:
            acts = "; ".join(self._unplaced.get(drug, ()))
            said = f"no record names a target of {drug}{f', only what it does: {acts}' if acts else ''}"
            return Chain(
                drug=drug, steps=[self._step(start, self.disease)], confidence=0.0, arithmetic="0", missing=[said]
            )
        ways = [[self._step(*ends) for ends in pairwise(way)] for way in self._ways([start])]
        ranked = sorted((way for way in ways if all(step.weight for step in way)), key=self._order)
        if ranked:
            return self._whole(drug, ranked)
        return self._broken(drug, start, targets)

    def _ways(self, way: list[Node]) -> Iterator[list[Node]]:
        """The ways to the condition that go on from one, of three steps at most, without a circle."""
        for node in self._after[way[-1]]:
            if node == self.disease:
                yield [*way, node]
            elif len(way) < MOST_STEPS and node not in way:
                yield from self._ways([*way, node])

    def targets(self, drug: str) -> list[Node]:
        """The targets of a drug, the surest first."""
        start = self._drugs.get(drug)
        if start is None:
            return []
        return sorted(
            self._after.get(start, ()), key=lambda target: -self._step(start, target).weight * self._damped(target)
        )

    def _whole(self, drug: str, ranked: Sequence[Sequence[Step]]) -> Chain:
        left, told = 1.0, []
        for way in ranked[:COUNTED]:
            left *= 1 - self._confidence(way)
            told.append(self._product(way))
        confidence = min(MOST, 1 - left)
        sums = told[0] if len(told) == 1 else f"1 - {' × '.join(f'(1 - {each})' for each in told)}"
        return Chain(
            drug=drug,
            steps=list(ranked[0]),
            confidence=round(confidence, 2),
            arithmetic=f"{sums} = {confidence:.2f}",
            others=len(ranked) - 1,
        )

    def _broken(self, drug: str, start: Node, targets: Sequence[Node]) -> Chain:
        """The way as far as it is known, and what is missing."""
        target = targets[0]
        processes = [node for node in self._after.get(target, ()) if node.kind == "process"]
        order = sorted(processes, key=lambda node: (node.number.startswith("GO:"), -self._damped(node), node.name))
        way = [start, target, *order[:1], self.disease]
        steps = [self._step(*ends) for ends in pairwise(way)]
        known = [step for step in steps if not step.is_missing]
        missing = [f"no record connects {step.start.name} with {step.end.name}" for step in steps if step.is_missing]
        if not order:
            missing.append(f"no record names a process of {target.name}")
        confidence = self._confidence(known) * GAP
        arithmetic = f"{self._product(known)} × {GAP:g} for the missing step = {confidence:.2f}"
        return Chain(drug=drug, steps=steps, confidence=round(confidence, 2), arithmetic=arithmetic, missing=missing)

    def _order(self, way: Sequence[Step]) -> tuple[Any, ...]:
        return (-round(self._confidence(way), 6), len(way), *(step.end.name for step in way))

    def _factors(self, way: Sequence[Step]) -> list[float]:
        damped = [self._damped(step.start) for step in way if step.start.kind != "disease"]
        damped += [
            self._partners[step.start] ** -DAMPING for step in way if step.end.kind == "target" == step.start.kind
        ]
        return [step.weight for step in way] + [factor for factor in damped if factor < 1]

    def _confidence(self, way: Sequence[Step]) -> float:
        product = 1.0
        for factor in self._factors(way):
            product *= factor
        return product

    def _product(self, way: Sequence[Step]) -> str:
        return " × ".join(f"{factor:.2f}" for factor in self._factors(way))

    def _damped(self, node: Node) -> float:
        """By how much a way through a node counts less."""
        if node not in self._after:
            return 1.0
        if node.kind == "drug":
            return float(max(1, len(self._after[node])) ** -DAMPING)
        if node.kind == "process":
            return float(max(1, len(self._before[node])) ** -DAMPING)
        carrier = CARRIER if any(_CARRIERS.match(gene) for gene in self._genes.get(node, ())) else 1.0
        drugs = sum(each.kind == "drug" for each in self._before[node])
        return carrier * float(max(1.0, drugs / CLASS_SIZE) ** -DAMPING)


def _backing(record: Evidence, **given: Any) -> Backing:
    return Backing(key=record.key, source=record.citation.source, **given)


def _member(record: Evidence, number: str) -> Backing:
    return _backing(record, basis="membership", number=number)
