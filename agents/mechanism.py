"""The mechanism specialist, and the hypotheses that mechanisms give rise to: ChEMBL and Open Targets."""

from collections.abc import Sequence
from typing import Any

from autogen_core.models import ChatCompletionClient
from pydantic import BaseModel, ConfigDict, Field

from willowbark.tools.registry import offered
from willowbark.tools.toolbox import GetMechanisms, SourceTool

from .asking import prompt
from .specialist import SpecialistAgent


class MechanismHypothesis(BaseModel):
    """How a drug might act on the condition."""

    model_config = ConfigDict(extra="forbid")

    drug: str
    target: str
    pathway: str
    """`not reported` where no record names one."""
    effect: str
    confidence: float = Field(ge=0.0, le=1.0)
    """Share of the records with a verdict that support the drug; 0 where none has one."""
    supporting_evidence: list[str] = Field(default_factory=list)
    """Keys of records."""
    contradicting_evidence: list[str] = Field(default_factory=list)
    search_suggestions: list[str] = Field(default_factory=list)

    def to_search_queries(self) -> list[str]:
        """Queries that could test the hypothesis, without repeats.

        >>> MechanismHypothesis(drug="propranolol", target="ADRB1", pathway="not reported", effect="antagonist",
        ...                     confidence=0.5).to_search_queries()
        ['propranolol AND ADRB1']
        """
        paths = [part for part in (self.target, self.pathway) if part and part != "not reported"]
        return list(dict.fromkeys([*(f"{self.drug} AND {part}" for part in paths), *self.search_suggestions]))


class HypothesisAssessment(BaseModel):
    """The hypotheses on a question, best first."""

    model_config = ConfigDict(extra="forbid")

    hypotheses: list[MechanismHypothesis] = Field(default_factory=list)
    primary_hypothesis: MechanismHypothesis | None = None
    """The one with most support; None where there is no hypothesis."""
    knowledge_gaps: list[str] = Field(default_factory=list)
    recommended_searches: list[str] = Field(default_factory=list)


def mechanism_agent(
    model_client: ChatCompletionClient,
    *,
    max_results: int = 50,
    sources: Sequence[str] | None = None,
    **options: Any,
) -> SpecialistAgent:
    """Build the mechanism specialist; arguments as `literature_agent`."""
    own = offered("mechanism") if sources is None else sources
    return SpecialistAgent(
        "mechanism",
        model_client,
        tools=[*(SourceTool(name, max_results) for name in own), GetMechanisms()],
        description="Connects drugs to targets and targets to the condition, from ChEMBL and Open Targets.",
        system_message=prompt("mechanism.md"),
        **options,
    )
