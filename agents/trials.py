"""The clinical trials specialist: ClinicalTrials.gov."""

from collections.abc import Sequence
from typing import Any

from autogen_core.models import ChatCompletionClient

from willowbark.tools.registry import offered
from willowbark.tools.toolbox import GetTrial, SourceTool

from .asking import prompt
from .specialist import SpecialistAgent


def trials_agent(
    model_client: ChatCompletionClient,
    *,
    max_results: int = 50,
    sources: Sequence[str] | None = None,
    **options: Any,
) -> SpecialistAgent:
    """Build the clinical trials specialist; arguments as `literature_agent`."""
    own = offered("trials") if sources is None else sources
    return SpecialistAgent(
        "trials",
        model_client,
        tools=[*(SourceTool(name, max_results) for name in own), GetTrial()],
        description="Searches ClinicalTrials.gov for trials of drugs in the condition, stopped ones included.",
        system_message=prompt("trials.md"),
        **options,
    )
