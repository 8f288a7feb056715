"""The mechanism specialist, and the hypotheses that mechanisms give rise to (`tools/mechanism/` makes them)."""

from collections.abc import Sequence
from typing import Any

from autogen_core.models import ChatCompletionClient

from willowbark.tools.mechanism.hypotheses import HypothesisAssessment, MechanismHypothesis
from willowbark.tools.registry import offered
from willowbark.tools.toolbox import GetMechanisms, SourceTool

from .asking import prompt
from .specialist import SpecialistAgent

__all__ = ["HypothesisAssessment", "MechanismHypothesis", "mechanism_agent"]


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
        description="Connects drugs to targets, targets to pathways, these to the condition, from databases of each.",
        system_message=prompt("mechanism.md"),
        **options,
    )
