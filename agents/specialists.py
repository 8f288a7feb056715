"""Willowbark's own specialists with their sources and tools; their prompts are next to this file."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from willowbark.agents.autogen import BaseTool, ChatCompletionClient
from willowbark.tools.records.registry import list_offered
from willowbark.tools.toolbox import GetCitations, GetMechanisms, GetPaper, GetTrial, SourceTool

from .asking import read_prompt
from .specialist import SpecialistAgent

ROLES = {
    "literature": "Searches PubMed and Europe PMC for publications on drugs for the condition.",
    "trials": "Searches ClinicalTrials.gov for trials of drugs in the condition, stopped ones included.",
    "mechanism": "Connects drugs to targets, targets to pathways, these to the condition, from databases of each.",
}
"""Descriptions by name."""


def specialist_agent(
    name: str,
    model_client: ChatCompletionClient,
    *,
    max_results: int = 50,
    page_sizes: Mapping[str, int] | None = None,
    sources: Sequence[str] | None = None,
    **options: Any,
) -> SpecialistAgent:
    """Build one of Willowbark's specialists.

    Args:
        name: `literature`, `trials` or `mechanism`.
        model_client: chooses queries and reads the records.
        max_results: records per page of a search, 1 to 200.
        page_sizes: other numbers of records per page, by source; None sets none.
        sources: which of its sources to search; None for those that need no key.
        options: passed to `SpecialistAgent`.
    """
    own = list_offered(name) if sources is None else sources
    sizes = page_sizes or {}
    lookups: dict[str, list[BaseTool[Any, Any]]] = {
        "literature": [GetPaper(), *([GetCitations(own)] if set(own).intersection(GetCitations.SOURCES) else [])],
        "trials": [GetTrial()],
        "mechanism": [GetMechanisms()],
    }
    return SpecialistAgent(
        name,
        model_client,
        tools=[*(SourceTool(source, sizes.get(source, max_results)) for source in own), *lookups[name]],
        description=ROLES[name],
        system_message=read_prompt(f"{name}.md"),
        **options,
    )


literature_agent = partial(specialist_agent, "literature")
trials_agent = partial(specialist_agent, "trials")
mechanism_agent = partial(specialist_agent, "mechanism")
