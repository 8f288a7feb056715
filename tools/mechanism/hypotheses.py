"""Mechanism hypotheses on a question, from the graph and the records, each with searches that could test it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import BaseModel, Field

from ..appraisal.candidates import Candidate
from ..evidence import Evidence
from ..questions import Question
from ..questions.query import bare_name
from ..sources.publications import is_code
from .graph import MechanismGraph
from .steps import Chain

NOT_REPORTED = "not reported"
RECOMMENDED = 3  # hypotheses whose searches are recommended
MAX_EFFECT = 3  # mechanisms of action in a hypothesis


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
