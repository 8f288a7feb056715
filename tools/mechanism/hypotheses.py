"""The mechanism hypotheses on a question: from the graph and the records, each with what could test it."""

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
    """`not reported` where no record names one."""
    pathway: str
    """Likewise: the pathway or process of the best chain."""
    effect: str
    confidence: float = Field(ge=0.0, le=1.0)
    """Of the chain from drug to condition, by the arithmetic of `steps` and `graph`; whether patients fare better is
    another matter, which the drug's certainty tells."""
    supporting_evidence: list[str] = []
    """Keys of records: those behind the chain's steps, then those that speak for the drug."""
    contradicting_evidence: list[str] = []
    """Likewise of drugs approved for the condition that act the other way, then those that deny a step, then those that
    speak against the drug."""
    search_suggestions: list[str] = []

    def to_search_queries(self) -> list[str]:
        """Queries that could test the hypothesis, without repeats.

        >>> MechanismHypothesis(drug="propranolol", target="ADRB1", pathway="not reported", effect="antagonist",
        ...                     confidence=0.5).to_search_queries()
        ['propranolol AND ADRB1']
        """
        paths = [part for part in (self.target, self.pathway) if part and part != NOT_REPORTED]
        return list(dict.fromkeys([*(f"{self.drug} AND {_quoted(part)}" for part in paths), *self.search_suggestions]))


class HypothesisAssessment(BaseModel, extra="forbid"):
    """The hypotheses on a question, best first."""

    hypotheses: list[MechanismHypothesis] = []
    primary_hypothesis: MechanismHypothesis | None = None
    """The surest; None where there is no hypothesis."""
    knowledge_gaps: list[str] = []
    recommended_searches: list[str] = []


def _quoted(name: str) -> str:
    """A name as a query has it; gene symbols that are one target are alternatives.

    >>> _quoted("ADRA1A, ADRA1B"), _quoted("Angiotensin-converting enzyme"), _quoted("release, of this")
    ('(ADRA1A OR ADRA1B)', '"Angiotensin-converting enzyme"', '"release of this"')
    """
    parts = [part.strip() for part in name.split(",")]
    if len(parts) > 1 and all(part[:1].isupper() and is_code(part, 2, 12, "-") for part in parts):
        return f"({' OR '.join(parts)})"
    plain = bare_name(name, "'-")
    return f'"{plain}"' if " " in plain else plain


class MechanismFindings(NamedTuple):
    """What is known of how some candidates might act."""

    hypotheses: HypothesisAssessment
    chains: Mapping[str, Chain]
    """By drug, from it to the condition."""
    graph: MechanismGraph


def assess(candidates: Sequence[Candidate], pool: Sequence[Evidence], asked: Question) -> MechanismFindings:
    """The hypotheses on some candidates, the chain behind each, and the graph that they stand in."""
    graph = MechanismGraph(pool, asked, [candidate.drug for candidate in candidates])
    chains = {candidate.drug: graph.chain(candidate.drug) for candidate in candidates}
    found = [_hypothesis(each, chains[each.drug]) for each in candidates if chains[each.drug].node("target")]
    ranked = sorted(found, key=lambda each: -each.confidence)
    queries = [query for each in ranked[:RECOMMENDED] for query in each.to_search_queries()]
    assessment = HypothesisAssessment(
        hypotheses=ranked,
        primary_hypothesis=ranked[0] if ranked else None,
        knowledge_gaps=list(dict.fromkeys(gap for chain in chains.values() for gap in chain.missing)),
        recommended_searches=list(dict.fromkeys(queries)),
    )
    return MechanismFindings(assessment, chains, graph)


def _hypothesis(candidate: Candidate, chain: Chain) -> MechanismHypothesis:
    target, process, disease = (chain.node(kind) for kind in ("target", "process", "disease"))
    found = candidate.appraisal
    tested = [_quoted(node.name) for node in (target, process) if node and chain.missing]
    return MechanismHypothesis(
        drug=candidate.drug,
        target=target.name if target else NOT_REPORTED,
        pathway=process.name if process else NOT_REPORTED,
        effect="; ".join(candidate.mechanisms[:MAX_EFFECT]) or chain.steps[0].relation,
        confidence=chain.confidence,
        supporting_evidence=list(dict.fromkeys([*chain.keys(), *found.supporting])),
        contradicting_evidence=list(dict.fromkeys([*chain.opposing, *chain.keys(denying=True), *found.contradicting])),
        search_suggestions=[f"{each} AND {_quoted(disease.name)}" for each in tested if disease],
    )
