"""Mechanistic chains from drug to target to process to disease, with the evidence for each step.

Nodes and steps come from the collected records: drug targets from ChEMBL and Open Targets, processes of targets from
Open Targets, UniProt and Reactome, proteins involved in the condition from Open Targets and UniProt, and any of these
from sentences in publications. Proteins are human unless a database says otherwise.

The weight of a step follows from its evidence by these figures, which are conventions, not measurements.

| evidence | weight |
|---|---|
| a database of mechanisms, with the kind of action | 0.9; 0.6 without it |
| a database that lists a protein among those of a pathway or process | 0.8 |
| a curated entry that a protein is involved in the disease | 0.8 |
| an association score of Open Targets | the score, 0.8 at most |
| sentences of n records that name both ends | 1 - 0.6^n, 0.7 at most; a hedged one counts half |
| proteins of the disease in the same process | 1 - Π(1 - w/2), w the weights of their steps; 0.7 at most |

Of several kinds the highest weight counts, since databases copy each other; each record that denies the step halves it.

A sentence counts only if it names both ends itself. One that mentions a treatment (a drug, an inhibitor, a blocker, an
antagonist) shows that acting on the target was tried, not that the target is involved in the condition, and does not
count for that. A few cue words decide whether a sentence denies a relation or only supposes it; all others count as
assertions.
"""

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, Field

from ..appraisal.appraised import list_condition_names
from ..appraisal.candidates import APPROVED_PHASE, Candidate, is_condition, list_developed
from ..lexicon import canonical_drug, drug_synonyms
from ..lexicon.matching import content_words, select_stems, stem, stems
from ..questions import Question
from ..questions.query import remove_syntax
from ..reading.document import Document, Sentence
from ..reading.screening import readable
from ..reading.text import says, split_spans
from ..records import Disease, Drug, Process, Protein
from ..records.evidence import Evidence
from ..records.registry import kind_of
from ..sources.publications import is_code

GAP = 0.1  # weight of a step without evidence
MOST_UNDIRECTED = 0.5  # maximum if no approved drug shows whether more or less of the target helps
MAX_TITLE_GENES = 3
NOT_REPORTED = "not reported"
RECOMMENDED = 3  # hypotheses whose searches are recommended
MAX_EFFECT = 3  # mechanisms of action in a hypothesis
_TAKES_PART = "takes part in"
_HAS_A_PART = "has a part in"

NodeKind = Literal["drug", "target", "process", "disease"]
Basis = Literal["action", "action not named", "membership", "involvement", "association", "sentence", "shared protein"]
WEIGHTS: dict[Basis, float] = {"action": 0.9, "action not named": 0.6, "membership": 0.8, "involvement": 0.8}
MOST_BY_SCORE = 0.8
MOST_BY_SENTENCES = 0.7
_MISSED_BY_ONE = 0.6  # probability that a step named by one sentence is wrong
_SHARED = 0.5
_DENIED = 0.5


ActionDirection = Literal["same", "opposite", "unknown"]
"""Direction of a drug's action on its target compared with drugs approved for the condition."""
_MORE = (
    "ACTIVATOR|AGONIST|OPENER|PARTIAL AGONIST|POSITIVE ALLOSTERIC MODULATOR|POSITIVE MODULATOR|RELEASING AGENT"
).split("|")
_LESS = (
    "ALLOSTERIC ANTAGONIST|ANTAGONIST|ANTISENSE INHIBITOR|BLOCKER|DEGRADER|INHIBITOR|INVERSE AGONIST|"
    "NEGATIVE ALLOSTERIC MODULATOR|NEGATIVE MODULATOR|RNAI INHIBITOR|SEQUESTERING AGENT"
).split("|")
"""ChEMBL action types that increase or decrease a target's activity; the others have no sign."""


def parse_sign(action_type: str | None) -> int:
    """Return 1 if an action increases a target's activity, -1 if it decreases it, 0 if unknown."""
    kind = (action_type or "").upper()
    return (kind in _MORE) - (kind in _LESS)


class Node(NamedTuple):
    kind: NodeKind
    name: str
    number: str = ""
    """Its identifier: CHEMBL27, P08588, R-HSA-390696, GO:0042310; empty if unknown."""


class Backing(BaseModel, frozen=True, extra="forbid"):
    key: str
    source: str
    basis: Basis
    number: str = ""
    """Identifier in the source; empty for sentences."""
    quote: str = ""
    """Whole sentence of the record; empty if the source is a table."""
    denies: bool = False
    hedged: bool = False
    score: float | None = Field(default=None, ge=0, le=1)
    """Score of an association or shared protein; None for others."""


class Step(BaseModel, frozen=True, extra="forbid"):
    """A step from one node to the next."""

    start: Node
    end: Node
    relation: str
    backings: list[Backing] = []
    """Empty if there is no evidence: the step is missing."""

    @property
    def is_missing(self) -> bool:
        return not any(not backing.denies for backing in self.backings)

    @property
    def weight(self) -> float:
        return weigh(self.backings)

    @property
    def quoted(self) -> Backing | None:
        """The evidence to quote, from databases before publications; None without a quote."""
        backings = [backing for backing in self.backings if backing.quote and not backing.denies]
        return min(backings, key=lambda backing: (backing.basis == "sentence", backing.hedged), default=None)


def weigh(backings: Iterable[Backing]) -> float:
    evidence = list(backings)
    affirming = [backing for backing in evidence if not backing.denies]
    associated = [backing for backing in evidence if backing.basis == "association"]
    sharing = [backing for backing in evidence if backing.basis == "shared protein"]
    sentences = {backing.key: 0.5 if backing.hedged else 1.0 for backing in affirming if backing.basis == "sentence"}
    shared = {backing.number: 1 - _SHARED * (backing.score or 0.0) for backing in sharing}
    weights = [WEIGHTS[backing.basis] for backing in affirming if backing.basis in WEIGHTS]
    weights += [min(MOST_BY_SCORE, backing.score or 0.0) for backing in associated]
    weights.append(min(MOST_BY_SENTENCES, 1 - math.prod(shared.values())))
    weights.append(min(MOST_BY_SENTENCES, 1 - _MISSED_BY_ONE ** sum(sentences.values())))
    denying = len({backing.key for backing in evidence if backing.denies})
    return round(max(weights) * _DENIED**denying, 4)


class Chain(BaseModel, frozen=True, extra="forbid"):
    """The best path from a drug to the condition, with evidence and missing steps."""

    drug: str
    steps: list[Step]
    confidence: float = Field(ge=0, le=1)
    """Confidence that the drug acts on the condition by this or another known path, by `arithmetic`."""
    arithmetic: str
    direction: ActionDirection = "unknown"
    compared: list[str] = []
    """Approved drugs acting on the same target, used to find the direction."""
    opposing: list[str] = []
    """Keys of the records on these if they act in the opposite direction."""
    others: int = 0
    """Number of other complete paths."""
    missing: list[str] = []
    unlinked: Step | None = None
    """The process in which its target takes part, if no path leads to the condition; None if no database gives one."""

    @property
    def nodes(self) -> list[Node]:
        return [self.steps[0].start, *(step.end for step in self.steps)] if self.steps else []

    def node(self, kind: NodeKind) -> Node | None:
        """Return the node of a kind; None if the chain has none."""
        return next((node for node in self.nodes if node.kind == kind), None)

    @property
    def process(self) -> Node | None:
        """The process on its path, else the one in which its target takes part without a link to the condition."""
        on_path = self.node("process")
        if on_path is not None or self.unlinked is None:
            return on_path
        return self.unlinked.end

    def keys(self, *, denying: bool = False) -> list[str]:
        """List the keys of the records that support its steps, or deny them."""
        keys: dict[str, None] = {}
        for step in self.steps:
            keys |= {backing.key: None for backing in step.backings if backing.denies is denying}
        return list(keys)


_SYMBOL = re.compile(r"[A-Z][A-Z0-9]{2,9}")
_ENGLISH = frozenset("ACE AIDS CAT IMPACT MAX MET REST SET TANK".split())
"""Gene symbols with other meanings in texts; ACE, for one, is found by the enzyme's name."""
_SHORTEST = 5  # letters of a stem that identifies a one-word name


class Names:
    """The gene symbols and names in words of one node, for finding it in sentences."""

    def __init__(self, names: Iterable[str]) -> None:
        self.symbols = set[str]()
        self.words = set[frozenset[str]]()
        for name in filter(None, names):
            if _SYMBOL.fullmatch(name):
                self.symbols |= {name} - _ENGLISH
                continue
            words = frozenset(stems(name))  # a phrase, in any order: "insulin release", "release of insulin"
            long = [word for word in words if len(word) >= _SHORTEST and not word.isdigit()]
            if long and (len(words) > 1 or len(words) == len(long)):  # else too unspecific
                self.words.add(words)


class SentenceIndex:
    """Index of the sentences of non-retracted publications, screened by `readable`, by the names in them."""

    def __init__(self, pool: Iterable[Evidence], question: Question, names: Iterable[Names]) -> None:
        condition = [frozenset(stems(name)) for name in list_condition_names(question)]
        stems_to_find = set().union(*condition)
        for name in names:
            stems_to_find.update(*name.words)
        self._sentences: list[tuple[Evidence, Sentence]] = []
        for record in pool:
            if kind_of(record) == "publication" and not (record.paper and record.paper.retracted):
                self._sentences += [(record, sentence) for sentence in Document.of(record).sentences]
        self._holding = defaultdict[str, set[int]](set)
        for at, (_, sentence) in enumerate(self._sentences):
            symbols = _SYMBOL.findall(sentence.quote)
            for word in (*symbols, *select_stems(content_words(sentence.quote), frozenset(stems_to_find))):
                self._holding[word].add(at)
        self._on_condition = self._find_places(condition)

    def find_backings(self, *names: Names, on_condition: bool = False) -> list[Backing]:
        """Find sentences with all of the names, one per record, as evidence for a step.

        With `on_condition` a sentence must also name the condition, and mention no treatment.
        """
        places = [self._find_places(name.words, name.symbols) for name in names]
        places += [self._on_condition] if on_condition else []
        by_record: dict[str, Backing] = {}
        for at in sorted(set.intersection(*places)):
            record, sentence = self._sentences[at]
            if record.key in by_record or (on_condition and (says("treats", sentence.text) or sentence.drugs)):
                continue
            features: dict[str, Any] = {
                "denies": bool(says("denies", sentence.text)),
                "hedged": bool(says("supposes", sentence.text)),
            }
            by_record[record.key] = _make_backing(
                record, "sentence", quote=" ".join(sentence.quote.split()), **features
            )
        return list(by_record.values())

    def _find_places(self, names: Iterable[frozenset[str]], symbols: Iterable[str] = ()) -> set[int]:
        """Find sentences with any of the names as a phrase, or any of the symbols."""
        places = set[int]().union(*(self._holding.get(symbol, set()) for symbol in symbols))
        for words in filter(None, names):
            together = set.intersection(*(self._holding.get(word, set()) for word in words))
            places |= {at for at in together - places if len(words) == 1 or self._is_phrase(words, at)}
        return places

    def _is_phrase(self, words: frozenset[str], at: int) -> bool:
        """Whether words are together in a sentence, in any order, with at most one other word between."""
        sentence = [stem(word) for word in content_words(self._sentences[at][1].quote)]
        size = len(words) + 1
        return any(words <= set(sentence[place : place + size]) for place in range(max(1, len(sentence) - size + 1)))


class SignedAction(NamedTuple):
    """What a drug does to genes, by a drug database."""

    key: str
    """Of the record."""
    drug: str
    is_approved: bool
    """For the condition asked about."""
    genes: frozenset[str]
    sign: int
    """1 for drugs that strengthen what the genes do, -1 for those that weaken it, as `parse_sign` reads it."""


class MechanismGraph:
    """How drugs might act on the condition asked about, by all records found."""

    def __init__(self, pool: Sequence[Evidence], question: Question, drugs: Iterable[str]) -> None:
        self._asked = question
        self._pool = [readable(record) for record in pool]
        self.disease = Node("disease", " and ".join(question.conditions) or " ".join(question.terms) or question.text)
        self._after: dict[Node, dict[Node, Step]] = {self.disease: {}}
        self._drugs = {drug: Node("drug", drug) for drug in dict.fromkeys(drugs)}
        self._names: dict[Node, list[str]] = {}
        self._genes: dict[Node, frozenset[str]] = {}
        self._unplaced: dict[str, dict[str, None]] = {}
        self._causal: dict[str, float] = {}
        entries = [(record, record.record) for record in self._pool]
        self._entries: list[tuple[Evidence, Disease]] = []
        self._proteins: dict[str, tuple[Evidence, Protein]] = {}
        for record, entry in entries:
            if isinstance(entry, Disease) and is_condition(entry.disease or "", question):
                self._entries.append((record, entry))
            elif isinstance(entry, Protein) and entry.gene_symbol and not entry.organism:
                self._proteins[entry.gene_symbol] = (record, entry)
        approved = {drug for drug, phase in list_developed(question, self._pool).items() if phase >= APPROVED_PHASE}
        self._actions: list[SignedAction] = []
        for record, entry in entries:
            if isinstance(entry, Drug) and entry.drug:
                self._add_actions(record, entry, canonical_drug(entry.drug) or entry.drug, approved)
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
        steps = [ends[self.disease] for ends in self._after.values() if self.disease in ends]
        own = filter(_rests_on_more_than_shared_proteins, steps)
        return sorted(own, key=lambda step: (-step.weight, step.start.name))

    def about(self, process: Node) -> tuple[str, str] | None:
        """Return the key of a process's Reactome record and its summary's first sentence; None if there is none."""
        for record in self._pool:
            entry = record.record
            if isinstance(entry, Process) and entry.process_id == process.number and entry.summary:
                start, end = (split_spans(entry.summary) or [(0, len(entry.summary))])[0]
                first = entry.summary[start:end]
                return (record.key, first) if first in record.content else None
        return None

    def genetic_support(self, target: Node) -> tuple[str, float] | None:
        """Return the key of the condition's Open Targets entry and a target's genetic score; None if there is none."""
        for record, entry in self._entries:
            for target_row in entry.targets:
                if target_row.get("symbol") in self._genes.get(target, ()) and "genetic" in target_row:
                    return record.key, float(target_row["genetic"])
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
        earlier = self._list_before(node)
        if node.kind == "process":
            for target in list(earlier):
                earlier += self._list_before(target)
        return sorted({start.name for start in earlier if start.kind == "drug"})

    def chain(self, drug: str) -> Chain:
        """Find the best path from a drug to the condition; steps without evidence are marked as missing.

        Confidence is the product of the steps' weights. It is 0 if the drug acts on its target in the opposite
        direction to all approved drugs, and at most `MOST_UNDIRECTED` if no approved drug shows the direction.
        """
        start = self._drugs.get(drug, Node("drug", drug))
        targets = self._after.get(start)
        if not targets:
            acts = "; ".join(self._unplaced.get(drug, ()))
            unknown = f"no record names a target of {drug}{f', only what it does: {acts}' if acts else ''}"
            open_end = [self._get_step(start, self.disease)]
            return Chain(drug=drug, steps=open_end, confidence=0.0, arithmetic="0", missing=[unknown])
        whole = list(filter(_is_whole, self._walk_ways(start)))
        missing = list[str]()
        unlinked: Step | None = None
        if whole:
            steps = min(whole, key=_rank_way)
        else:
            first = max(targets.values(), key=lambda step: step.weight)
            target = first.end
            steps = [first, self._get_step(target, self.disease)]
            gaps = [step for step in steps if step.is_missing]
            missing = [f"no record connects {step.start.name} with {step.end.name}" for step in gaps]
            unlinked = self._choose_process(target)
            if unlinked is None:
                missing.append(f"no record names a process of {target.name}")
        factors = [f"{step.weight:.2f}" if step.weight else f"{GAP:g} for the missing step" for step in steps]
        confidence = round(_multiply_weights(steps), 2)
        arithmetic = f"{' × '.join(factors)} = {confidence:.2f}"

        genes = self._genes.get(steps[0].end, frozenset())
        on_target = [action for action in self._actions if action.genes & genes]
        approved = [action for action in on_target if action.is_approved]
        own_signs = {action.sign for action in on_target if action.drug == drug}
        helping_signs = {action.sign for action in approved}
        has_direction = len(own_signs) == len(helping_signs) == 1
        is_opposite = has_direction and own_signs != helping_signs
        if is_opposite:
            confidence = 0.0
            arithmetic = f"{arithmetic} × 0, since approved drugs act the other way"
        elif not has_direction and confidence > MOST_UNDIRECTED:
            confidence = MOST_UNDIRECTED
            arithmetic = f"{arithmetic}, {MOST_UNDIRECTED:g} at most since the direction is unknown"
        return Chain(
            drug=drug,
            steps=steps,
            confidence=confidence,
            arithmetic=arithmetic,
            direction="opposite" if is_opposite else "same" if has_direction else "unknown",
            compared=list(dict.fromkeys(action.drug for action in approved)) if has_direction else [],
            opposing=list(dict.fromkeys(action.key for action in approved)) if is_opposite else [],
            others=max(0, len(whole) - 1),
            missing=missing,
            unlinked=unlinked,
        )

    def _choose_process(self, target: Node) -> Step | None:
        """Return the step to the process of a target that most records give; None if none gives any.

        Of several, Reactome's pathways come before the Gene Ontology's processes, since both Open Targets and UniProt
        list them; then the order of the records counts.
        """
        steps = [step for end, step in self._after[target].items() if end.kind == "process"]
        if not steps:
            return None

        def rank(step: Step) -> tuple[int, bool]:
            records = {backing.key for backing in step.backings}
            return -len(records), step.end.number.startswith("GO:")

        return min(steps, key=rank)

    def _walk_ways(self, start: Node) -> Iterator[list[Step]]:
        """Yield the paths from a node to the condition; a target or a process leads to no earlier kind of node."""
        for end, step in self._after[start].items():
            if end == self.disease:
                yield [step]
            else:
                yield from ([step, *further] for further in self._walk_ways(end))

    def _list_before(self, node: Node) -> list[Node]:
        return [start for start, ends in self._after.items() if node in ends]

    def _get_step(self, start: Node, end: Node) -> Step:
        missing = Step(start=start, end=end, relation="is not known to bear on")
        return self._after.get(start, {}).get(end, missing)

    def _back(self, start: Node, end: Node, relation: str, *evidence: Backing) -> None:
        """Add evidence for a step; the first one added names the relation."""
        if evidence:
            step = self._after.setdefault(start, {}).get(end) or Step(start=start, end=end, relation=relation)
            backings = [*step.backings, *(backing for backing in evidence if backing not in step.backings)]
            self._after[start][end] = step.model_copy(update={"backings": backings})
            self._after.setdefault(end, {})

    def _find_target(self, genes: Sequence[str], name: str, number: str, organism: str = "") -> Node:
        own_genes = frozenset(genes)
        same = [node for node, node_genes in self._genes.items() if node_genes == own_genes]
        if own_genes and same:
            self._names[same[0]] += [name]
            return same[0]
        are_few = 0 < len(genes) <= MAX_TITLE_GENES
        title = ", ".join(genes) if are_few else name or ", ".join(genes[:MAX_TITLE_GENES])
        node = Node("target", f"{title} of {organism}" if organism else title, number)
        self._genes[node] = own_genes
        self._names.setdefault(node, []).extend([*genes, name])
        return node

    def _add_actions(self, record: Evidence, entry: Drug, name: str, approved: set[str]) -> None:
        """Add the targets that a drug database gives, and in which direction the drug acts on them."""
        for mechanism in entry.mechanisms:
            genes = mechanism.get("gene_symbols") or []
            target_name = mechanism.get("target_name") or ""
            action = mechanism.get("mechanism_of_action") or ""
            kind = mechanism.get("action_type") or ""
            sign = parse_sign(kind)
            if sign:
                self._actions.append(SignedAction(record.key, name, name in approved, frozenset(genes), sign))
            if (drug := self._drugs.get(name)) is None:
                continue
            if not (genes or target_name):
                self._unplaced.setdefault(name, {}).update({action: None} if action else {})
                continue
            accessions = mechanism.get("uniprot_ids") or []
            number = accessions[0] if len(accessions) == 1 else mechanism.get("target_id") or ""
            target = self._find_target(genes, target_name, number, mechanism.get("organism") or "")
            basis: Basis = "action" if kind or action else "action not named"
            quote = next((line for line in record.content.splitlines() if action and action in line), "")
            relation = action or (kind or "acts on").lower()
            self._back(drug, target, relation, _make_backing(record, basis, entry.chembl_id or "", quote))
            self._add_processes(target, record, mechanism.get("pathways") or ())

    def _add_processes(self, target: Node, record: Evidence, paths: Iterable[Any]) -> None:
        for path in paths:
            process = Node("process", path["name"], path["id"])
            self._back(target, process, _TAKES_PART, _make_backing(record, "membership", path["id"]))

    def _add_involved(self) -> None:
        """Add the proteins that databases link to the condition."""
        for record, entry in self._entries:
            has_kinds = any("genetic" in target or "pathway" in target for target in entry.targets)
            number = entry.disease_id or ""
            for target in entry.targets:
                score = target.get("score")
                symbol = target.get("symbol")
                if isinstance(score, int | float) and symbol:
                    self._involve(symbol, _make_backing(record, "association", number, score=min(1.0, score)))
                    if has_kinds:  # drugs and papers on a protein do not link its processes to the condition
                        before = self._causal.get(symbol, 0.0)  # of another entry on the condition
                        self._causal[symbol] = max(before, target.get("genetic", 0.0), target.get("pathway", 0.0))
        for gene, (record, protein) in self._proteins.items():
            for part in protein.diseases:
                sentence = f"{part['name']}: {part['note']}" if part.get("note") else part["name"]
                if is_condition(part["name"], self._asked):
                    quote = sentence if sentence in record.content else ""  # text addressed to machines was removed
                    self._involve(gene, _make_backing(record, "involvement", part.get("id", ""), quote))

    def _involve(self, symbol: str, backing: Backing) -> None:
        targets = [node for node, genes in self._genes.items() if symbol in genes]
        if not targets:
            _, protein = self._proteins.get(symbol, (None, Protein()))
            targets = [self._find_target([symbol], protein.protein_name or "", protein.uniprot_id or "")]
        for node in targets:
            self._back(node, self.disease, _HAS_A_PART, backing)

    def _add_sentences(self) -> None:
        """Add steps found in sentences of publications."""
        targets = {target: Names(self._names[target]) for target in self._genes}
        processes = {process: Names([process.name]) for process in self._list_processes()}
        drugs = {drug: Names([drug.name, *drug_synonyms(drug.name)]) for drug in self._drugs.values()}
        index = SentenceIndex(self._pool, self._asked, [*targets.values(), *processes.values(), *drugs.values()])
        for node, names in {**targets, **processes}.items():
            self._back(node, self.disease, _HAS_A_PART, *index.find_backings(names, on_condition=True))
        for target, names in targets.items():
            for drug in [node for node in self._list_before(target) if node in drugs]:
                self._back(drug, target, "acts on", *index.find_backings(names, drugs[drug]))

    def _add_shared(self) -> None:
        """Link processes to the condition through proteins involved in both.

        If Open Targets gives its evidence by kind, only genetic and pathway evidence counts for a protein.
        """
        for process in self._list_processes():
            for target in self._list_before(process):
                step = self._get_step(target, self.disease)
                causal = [self._causal[gene] for gene in self._genes[target] if gene in self._causal]
                alone = {"score": max(causal)} if causal else {}
                backings = [b.model_copy(update=alone) if b.basis == "association" else b for b in step.backings]
                if weight := weigh(backings) if backings else 0.0:
                    first = step.quoted or step.backings[0]
                    shared = {"basis": "shared protein", "number": target.name, "score": weight}
                    backing = first.model_copy(update={**shared, "denies": False, "hedged": False})
                    self._back(process, self.disease, f"holds {target.name}, which {_HAS_A_PART}", backing)

    def _list_processes(self) -> list[Node]:
        """List pathways and processes by name."""
        processes = (node for node in self._after if node.kind == "process")
        return sorted(processes, key=lambda node: (node.name, node.number))


def _multiply_weights(way: Iterable[Step]) -> float:
    return math.prod(step.weight or GAP for step in way)


def _rests_on_more_than_shared_proteins(step: Step) -> bool:
    return any(backing.basis != "shared protein" for backing in step.backings)


def _is_whole(way: Iterable[Step]) -> bool:
    """Whether each step of a path has evidence that counts."""
    return all(step.weight for step in way)


def _rank_way(way: Sequence[Step]) -> tuple[Any, ...]:
    """Best evidence first, then the shortest path; names settle the rest, so that runs agree."""
    return (-_multiply_weights(way), len(way), *(step.end.name for step in way))


def _make_backing(record: Evidence, basis: Basis, number: str = "", quote: str = "", **features: Any) -> Backing:
    return Backing(key=record.key, source=record.citation.source, basis=basis, number=number, quote=quote, **features)


class MechanismHypothesis(BaseModel, extra="forbid"):
    """How a drug might act on the condition."""

    drug: str
    target: str
    """`not reported` if no record names one."""
    pathway: str
    """Pathway or process of the best chain, else one in which its target takes part; `not reported` without any."""
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
    plain = remove_syntax(name, "'-")
    return f'"{plain}"' if " " in plain else plain


class MechanismFindings(NamedTuple):
    hypotheses: HypothesisAssessment
    chains: Mapping[str, Chain]
    """Chain from each drug to the condition."""
    graph: MechanismGraph


def assess(candidates: Sequence[Candidate], pool: Sequence[Evidence], question: Question) -> MechanismFindings:
    """Follow each candidate from its target to the condition, and write the hypotheses that come of it."""
    graph = MechanismGraph(pool, question, [candidate.drug for candidate in candidates])
    chains = {candidate.drug: graph.chain(candidate.drug) for candidate in candidates}
    hypotheses: list[MechanismHypothesis] = []
    gaps: list[str] = []
    for candidate in candidates:
        chain = chains[candidate.drug]
        if chain.node("target"):
            hypotheses.append(_write_hypothesis(candidate, chain, graph.disease))
    for chain in chains.values():
        gaps += chain.missing
    ranked = sorted(hypotheses, key=lambda hypothesis: -hypothesis.confidence)
    queries: list[str] = []
    for hypothesis in ranked[:RECOMMENDED]:
        queries += hypothesis.to_search_queries()
    assessment = HypothesisAssessment(
        hypotheses=ranked,
        primary_hypothesis=ranked[0] if ranked else None,
        knowledge_gaps=list(dict.fromkeys(gaps)),
        recommended_searches=list(dict.fromkeys(queries)),
    )
    return MechanismFindings(assessment, chains, graph)


def _write_hypothesis(candidate: Candidate, chain: Chain, disease: Node) -> MechanismHypothesis:
    """Write how a candidate may act; links that no record supports become searches."""
    target = chain.node("target")
    process = chain.process
    unproven = [_quote_name(node.name) for node in (target, process) if node and chain.missing]
    appraisal = candidate.appraisal
    contradicting = [*chain.opposing, *chain.keys(denying=True), *appraisal.contradicting]
    return MechanismHypothesis(
        drug=candidate.drug,
        target=target.name if target else NOT_REPORTED,
        pathway=process.name if process else NOT_REPORTED,
        effect="; ".join(candidate.mechanisms[:MAX_EFFECT]) or chain.steps[0].relation,
        confidence=chain.confidence,
        supporting_evidence=list(dict.fromkeys([*chain.keys(), *appraisal.supporting])),
        contradicting_evidence=list(dict.fromkeys(contradicting)),
        search_suggestions=[f"{name} AND {_quote_name(disease.name)}" for name in unproven],
    )
