"""Willowbark's own specialists with their sources and tools; their prompts are next to this file."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from willowbark.agents.autogen import BaseTool, ChatCompletionClient
from willowbark.tools.registry import offered
from willowbark.tools.toolbox import GetCitations, GetMechanisms, GetPaper, GetTrial, SourceTool

from .asking import prompt
from .specialist import SpecialistAgent


class _Role(NamedTuple):
    description: str
    lookups: Callable[[Sequence[str]], list[BaseTool[Any, Any]]]
    """Builds the tools besides those of its sources, from the sources' names."""


def _of_papers(sources: Sequence[str]) -> list[BaseTool[Any, Any]]:
    citations = [GetCitations(sources)] if set(sources).intersection(GetCitations.SOURCES) else []
    return [GetPaper(), *citations]


ROLES = {
    "literature": _Role("Searches PubMed and Europe PMC for publications on drugs for the condition.", _of_papers),
    "trials": _Role(
        "Searches ClinicalTrials.gov for trials of drugs in the condition, stopped ones included.",
        lambda _: [GetTrial()],
    ),
    "mechanism": _Role(
        "Connects drugs to targets, targets to pathways, these to the condition, from databases of each.",
        lambda _: [GetMechanisms()],
    ),
}


def specialist_agent(
    name: str,
    model_client: ChatCompletionClient,
    *,
    max_results: int = 50,
    sources: Sequence[str] | None = None,
    **options: Any,
) -> SpecialistAgent:
    """Build one of Willowbark's specialists.

    Args:
        name: `literature`, `trials` or `mechanism`.
        model_client: chooses queries and reads the records.
        max_results: records per page of a search, 1 to 200.
        sources: which of its sources to search; None for those that need no key.
        options: passed to `SpecialistAgent`.
    """
    own, role = offered(name) if sources is None else sources, ROLES[name]
    return SpecialistAgent(
        name,
        model_client,
        tools=[*(SourceTool(source, max_results) for source in own), *role.lookups(own)],
        description=role.description,
        system_message=prompt(f"{name}.md"),
        **options,
    )


literature_agent = partial(specialist_agent, "literature")
trials_agent = partial(specialist_agent, "trials")
mechanism_agent = partial(specialist_agent, "mechanism")
