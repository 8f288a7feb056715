"""Mechanistic chains from drug to target to process to disease, with the evidence for each step."""

from .graph import (
    GAP,
    MOST_UNDIRECTED,
    WEIGHTS,
    Backing,
    Chain,
    HypothesisAssessment,
    MechanismFindings,
    MechanismGraph,
    MechanismHypothesis,
    Node,
    Step,
    assess,
    weigh,
)

__all__ = [
    "GAP",
    "MOST_UNDIRECTED",
    "WEIGHTS",
    "Backing",
    "Chain",
    "HypothesisAssessment",
    "MechanismFindings",
    "MechanismGraph",
    "MechanismHypothesis",
    "Node",
    "Step",
    "assess",
    "weigh",
]
