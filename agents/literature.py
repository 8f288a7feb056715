"""The literature specialist: PubMed and Europe PMC."""

from collections.abc import Sequence
from typing import Any

from autogen_core.models import ChatCompletionClient

from willowbark.tools.registry import offered
from willowbark.tools.toolbox import GetCitations, GetPaper, SourceTool

from .asking import prompt
from .specialist import SpecialistAgent


def literature_agent(
    model_client: ChatCompletionClient,
    *,
    max_results: int = 50,
    sources: Sequence[str] | None = None,
    **options: Any,
) -> SpecialistAgent:
    """Build the literature specialist.

    Args:
        model_client: chooses queries and reflects.
        max_results: records of a page of each search, 1 to 200.
        sources: which of its sources to ask; None asks those that need no key.
        options: as `SpecialistAgent` takes them.
    """
    own = offered("literature") if sources is None else sources
    citations = [GetCitations(own)] if set(own).intersection(GetCitations.SOURCES) else []
    return SpecialistAgent(
        "literature",
        model_client,
        tools=[*(SourceTool(name, max_results) for name in own), GetPaper(), *citations],
        description="Searches PubMed and Europe PMC for publications on drugs for the condition.",
        system_message=prompt("literature.md"),
        **options,
    )
