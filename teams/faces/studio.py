"""Export the team to AutoGen Studio, as JSON: the team, and a gallery of its parts.

No file contains a key: model clients read keys from the environment of the Studio that loads them.
https://microsoft.github.io/autogen/stable/user-guide/autogenstudio-user-guide/usage.html
"""

import json
from itertools import chain
from pathlib import Path
from typing import Any

from willowbark import __version__
from willowbark.agents.approver import ApproverAgent
from willowbark.agents.autogen import (
    AssistantAgent,
    BaseTool,
    ChatAgent,
    MaxMessageTermination,
    Team,
    TimeoutTermination,
)
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.reporter import ReportWritten
from willowbark.agents.specialist import TOOL_ROUNDS
from willowbark.tools.errors import UsageError
from willowbark.tools.records.enclosure import GUIDANCE
from willowbark.tools.records.registry import list_offered
from willowbark.tools.toolbox import GetCitations, GetMechanisms, GetPaper, GetTrial, SourceTool
from willowbark.tools.whole_file import write_file

from ..config import LLMSettings, Settings
from ..model_clients import BASELINE, FORMS, PROVIDERS
from ..research_team import ResearchTeam, default_participants

Json = dict[str, Any]
TEAM_FILE = "willowbark-team.json"
GALLERY_FILE = "willowbark-gallery.json"
MODELS = (BASELINE, "openai/gpt-4.1-mini", "anthropic/claude-haiku-4-5", "ollama/llama3.1", "azure/my-deployment")
"""The gallery's models; each can be edited in Studio."""
_STAND_INS = {  # required to create clients; keys are removed again, the address is for editing
    "OPENAI_API_KEY": "none",
    "ANTHROPIC_API_KEY": "none",
    "AZURE_OPENAI_API_KEY": "none",
    "AZURE_OPENAI_ENDPOINT": "https://NAME.openai.azure.com",
}


def export(folder: Path, model: str = BASELINE) -> list[Path]:
    """Write the team and the gallery into a folder, created if missing; the same model gives the same files."""
    contents = {TEAM_FILE: team(model), GALLERY_FILE: gallery(model)}
    texts = {
        folder / name: f"{json.dumps(content, indent=2, ensure_ascii=False)}\n" for name, content in contents.items()
    }
    return [write_file(path, text.encode()) for path, text in texts.items()]


def team(model: str = BASELINE, *, asking: bool = False) -> Json:
    """Dump the research team; if `asking`, Studio's input box asks which candidates the report should cover."""
    research_team = ResearchTeam(_list_members(ApproverAgent() if asking else None), BaselineChatCompletionClient())
    return _make_component(
        research_team, f"Willowbark research team{' that asks you about the candidates' if asking else ''}", model
    )


def gallery(model: str = BASELINE) -> Json:
    """Build the gallery: teams, agents, tools, models and terminations for the user's own teams."""
    sources = [SourceTool(name) for name in list_offered()]
    single = (GetPaper(), GetCitations(), GetTrial())
    assistant = AssistantAgent(
        "assistant",
        BaselineChatCompletionClient(),
        tools=[SourceTool("pubmed"), SourceTool("clinicaltrials"), GetPaper(), GetTrial()],
        description="A stock assistant agent with Willowbark's tools.",
        system_message=f"Answer from the records that your tools give, and name their identifiers.\n\n{GUIDANCE}",
        reflect_on_tool_use=True,
    )
    members = [member for member in _list_members() if isinstance(member, ChatAgent)]
    return {
        "id": "willowbark",
        "name": "Willowbark",
        "url": None,
        "metadata": {
            "author": "Willowbark",
            "version": __version__,
            "description": "Which existing drugs might treat a condition, and how good is the evidence?",
            "tags": ["drug repurposing", "evidence synthesis"],
            "license": "MIT",
            "homepage": None,
            "category": "research",
            "last_synced": None,
        },
        "components": {
            "teams": [team(model), team(model, asking=True)],
            "agents": [_make_component(member, "", model) for member in (*members, ApproverAgent(), assistant)],
            "tools": [_make_component(tool) for tool in (*sources, *single, GetMechanisms())],
            "models": [make_model_component(name) for name in MODELS],
            "terminations": [
                _make_component(ReportWritten(), "The report is written"),
                _make_component(MaxMessageTermination(60), "60 messages"),
                _make_component(TimeoutTermination(600), "Ten minutes"),
            ],
        },
    }


def make_model_component(name: str) -> Json:
    """Dump a model client as a component without a key, without its library; UsageError for an unknown name."""
    if name == BASELINE:
        return _make_component(BaselineChatCompletionClient(), BaselineChatCompletionClient.display_name)
    prefix, _, model = name.partition("/")
    if prefix not in PROVIDERS or not model:
        raise UsageError(f"there is no model {name!r}; known forms: {FORMS}")
    provider = PROVIDERS[prefix]
    # AutoGen knows the abilities of OpenAI's models, but only with the library installed
    config: Json = {"model": model} if prefix == "openai" else provider.config(model, LLMSettings(), _STAND_INS)
    config.pop("api_key", None)
    key = f"its key is read from {provider.key}" if provider.key else "it needs no key"
    address = "; put your own address in place of NAME" if "azure_endpoint" in config else ""
    return {
        "provider": provider.client,
        "component_type": "model",
        "version": 1,
        "component_version": 1,
        "description": f"{name}: {key}{address}.",
        "label": name,
        "config": config,
    }


def _list_members(approver: ApproverAgent | None = None) -> list[ChatAgent | Team]:
    """Create the team's agents, with the default settings: those of this machine do not travel."""
    return default_participants(BaselineChatCompletionClient(), Settings.restored({}), approver=approver)


def _make_component(instance: Any, label: str = "", model: str = BASELINE) -> Json:
    """Dump a component with another model in the baseline's place; agents and tools label themselves."""

    def adapt(value: Any) -> Any:
        if isinstance(value, list):
            return [adapt(item) for item in value]
        if not isinstance(value, dict):
            return value
        adapted = {name: adapt(item) for name, item in value.items()}
        kind = adapted.get("component_type")
        provider = adapted.get("provider", "")
        if kind == "agent":  # AutoGen dumps the class's name and description
            own = adapted["config"]
            adapted |= {"label": f"Willowbark {own['name']}", "description": own["description"]}
        elif kind == "tool":
            tool: BaseTool[Any, Any] = BaseTool.load_component(adapted)
            config = {"name": tool.name, **adapted["config"]}  # Builder lists tools by it; the tools ignore it
            adapted |= {"label": tool.name, "description": tool.description, "config": config}
        elif provider.endswith(".BaselineChatCompletionClient"):
            adapted["config"] = {"model": BASELINE, **adapted["config"]}  # shown by Builder
        benches = adapted.get("workbench")
        if isinstance(benches, list) and benches:  # Studio's Builder lists `tools`
            del adapted["workbench"]
            adapted["tools"] = list(chain.from_iterable(bench["config"]["tools"] for bench in benches))
        if model != BASELINE:
            if "model_client" in adapted:
                adapted["model_client"] = make_model_component(model)
            if kind == "agent" and provider.startswith("willowbark."):
                adapted["config"]["fallback"] = make_model_component(BASELINE)
                if "reflect_on_tool_use" in adapted["config"]:  # the baseline does not, a language model does
                    adapted["config"] |= {"reflect_on_tool_use": True, "max_tool_iterations": TOOL_ROUNDS}
        return adapted

    content: Json = adapt(instance.dump_component().model_dump(mode="json"))
    content |= {"description": instance.description} if isinstance(instance, Team) else {}
    return content | {"label": label or content["label"]}
