"""The team as files for AutoGen Studio: the team in the two forms that Studio's versions read, and a gallery.

No file holds a key: the model clients take theirs from the environment of the Studio that loads them. Tools read the
sources' addresses from the environment too, so one file serves the public sources and a local library.
https://microsoft.github.io/autogen/stable/user-guide/autogenstudio-user-guide/usage.html
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import ChatAgent, Team, TerminationCondition
from autogen_agentchat.conditions import MaxMessageTermination, TimeoutTermination
from autogen_agentchat.teams import SelectorGroupChat
from autogen_core.tools import BaseTool

from willowbark import __version__
from willowbark.agents.approver import ApproverAgent
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.reporter import ReportWritten
from willowbark.tools.enclosure import GUIDANCE
from willowbark.tools.errors import UsageError
from willowbark.tools.registry import offered
from willowbark.tools.toolbox import GetCitations, GetMechanisms, GetPaper, GetTrial, SourceTool

from ..config import LLMSettings, Settings
from ..model_clients import BASELINE, FORMS, PROVIDERS
from ..research_team import ResearchTeam, participants_of
from ..run.options import RunOptions

Form = Literal["tools", "workbench"]
"""Where an agent's tools stand: Studio 0.4's Builder lists `tools`, AutoGen 0.7 itself writes `workbench`."""
Json = dict[str, Any]
_AS_THEY_ARE = RunOptions()  # the baseline, and whatever else a run does where nothing is set

TEAM_FILES: tuple[tuple[str, Form], ...] = (
    ("willowbark-team.json", "tools"),
    ("willowbark-team-workbench.json", "workbench"),
)
GALLERY_FILE = "willowbark-gallery.json"
GALLERY_ID = "willowbark"
TEAM_LABEL = "Willowbark research team"
ASKING_LABEL = "Willowbark research team that asks you about the candidates"
STOCK_LABEL = "Willowbark agents in a stock SelectorGroupChat"
MODELS = (
    BASELINE,
    "openai/gpt-4.1-mini",
    "anthropic/claude-haiku-4-5",
    "ollama/llama3.1",
    "azure/my-deployment",
)
"""The gallery's models; each can be edited in Studio."""
MAX_MESSAGES = 60  # of a stock team, which has no rounds to end it: six rounds of five agents and their texts

STOCK_PROMPT = """You lead a research team. The roles are:
{roles}

The conversation so far:
{history}

Each specialist (literature, trials, mechanism) speaks once, then the judge. Where the judge says `continue`, the
specialists that it names speak again, then the judge. Where it says `synthesize`, the report is next. Where the report
asks for a verdict, the judge is next.
Name the next role from {participants}. Answer with the name only.
"""
_STAND_INS = {  # for what a client insists on when it is made; keys are taken out again, the address is for editing
    "OPENAI_API_KEY": "none",
    "ANTHROPIC_API_KEY": "none",
    "AZURE_OPENAI_API_KEY": "none",
    "AZURE_OPENAI_ENDPOINT": "https://NAME.openai.azure.com",
}


def export(folder: Path, options: RunOptions = _AS_THEY_ARE) -> list[Path]:
    """Write the team's two files and the gallery; equal settings give equal files.

    Args:
        folder: made where it is missing; files of these names are written anew.
        options: what of them a team carries: model, rounds, records a search, sources.

    Raises:
        UsageError: no such model, or a folder that can't be written to.
    """
    contents: dict[str, Json] = {name: team(options, form) for name, form in TEAM_FILES}
    contents[GALLERY_FILE] = gallery(options)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            (folder / name).write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{folder} can't be written to ({error.strerror})") from error
    return [folder / name for name in contents]


def team(options: RunOptions = _AS_THEY_ARE, form: Form = "tools") -> Json:
    """The research team as a component.

    Raises:
        UsageError: no such model.
    """
    made = ResearchTeam(_participants(options), BaselineChatCompletionClient())
    return _component(made, TEAM_LABEL, model=_model(options), form=form)


def asking_team(options: RunOptions = _AS_THEY_ARE, form: Form = "tools") -> Json:
    """The research team with an approver: Studio's input box asks which candidates the report should deal with.

    Raises:
        UsageError: no such model.
    """
    made = ResearchTeam(_participants(options, ApproverAgent()), BaselineChatCompletionClient())
    return _component(made, ASKING_LABEL, model=_model(options), form=form)


def stock_team(options: RunOptions = _AS_THEY_ARE) -> Json:
    """Willowbark's agents in AutoGen's own `SelectorGroupChat`: one speaker at a time, chosen by the model.

    Raises:
        UsageError: no such model.
    """
    made = SelectorGroupChat(
        _participants(options),
        BaselineChatCompletionClient(),
        name="WillowbarkStock",
        description="Specialists, a judge and a report agent, one after another.",
        termination_condition=ReportWritten() | MaxMessageTermination(MAX_MESSAGES),
        selector_prompt=STOCK_PROMPT,
    )
    return _component(made, STOCK_LABEL, model=_model(options))


def gallery(options: RunOptions = _AS_THEY_ARE) -> Json:
    """The gallery: teams, agents, tools, models and terminations, each to be used in a team of one's own.

    Raises:
        UsageError: no such model.
    """
    return {
        "id": GALLERY_ID,
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
            "teams": [team(options), asking_team(options), stock_team(options)],
            "agents": [
                _component(agent, f"Willowbark {agent.name}", model=_model(options)) for agent in _agents(options)
            ],
            "tools": [_component(tool, tool.name) for tool in _tools()],
            "models": [model_component(name) for name in MODELS],
            "terminations": [_component(condition, label) for condition, label in _terminations()],
        },
    }


def model_component(name: str) -> Json:
    """A model client as a component without a key; the provider's library need not be installed.

    Raises:
        UsageError: a name of no known form.
    """
    if name == BASELINE:
        return _component(BaselineChatCompletionClient(), BaselineChatCompletionClient.display_name)
    prefix, _, model = name.partition("/")
    if prefix not in PROVIDERS or not model:
        raise UsageError(f"there is no model {name!r}; known forms: {FORMS}")
    provider = PROVIDERS[prefix]
    if prefix == "openai":  # AutoGen knows what its models can do, but only where the library is
        config: Json = {"model": model}
    else:
        config = provider.arguments(model, LLMSettings(), _STAND_INS)
    config.pop("api_key", None)
    return {
        "provider": f"{provider.module}.{provider.class_name}",
        "component_type": "model",
        "version": 1,
        "component_version": 1,
        "description": _said_of_model(name, provider.variables, "azure_endpoint" in config),
        "label": name,
        "config": config,
    }


def _said_of_model(name: str, variables: Sequence[str], has_address: bool) -> str:
    keys = [variable for variable in variables if variable.endswith("_KEY")]
    key = f"its key is read from {keys[0]}" if keys else "it needs no key"
    return f"{name}: {key}" + ("; put your own address in place of NAME." if has_address else ".")


def _model(options: RunOptions) -> str:
    return BASELINE if options.model is None else options.model


def _participants(options: RunOptions, approver: ApproverAgent | None = None) -> list[ChatAgent | Team]:
    """The team's agents; settings of this machine count where they were handed over."""
    known = {
        "settings": options.settings or Settings.restored({}),
        "model": None,
    }  # every model is exchanged at the end
    return participants_of(options.model_copy(update=known).chosen(), BaselineChatCompletionClient(), approver)


def _agents(options: RunOptions) -> Sequence[ChatAgent]:
    own = [agent for agent in _participants(options) if isinstance(agent, ChatAgent)]
    stock = AssistantAgent(
        "assistant",
        BaselineChatCompletionClient(),
        tools=[SourceTool("pubmed"), SourceTool("clinicaltrials"), GetPaper(), GetTrial()],
        description="A stock assistant agent with Willowbark's tools.",
        system_message=f"Answer from the records that your tools give, and name their identifiers.\n\n{GUIDANCE}",
        reflect_on_tool_use=True,
    )
    return [*own, ApproverAgent(), stock]


def _tools() -> Sequence[BaseTool[Any, Any]]:
    return [*(SourceTool(name) for name in offered()), GetPaper(), GetCitations(), GetTrial(), GetMechanisms()]


def _terminations() -> Sequence[tuple[TerminationCondition, str]]:
    return [
        (ReportWritten(), "The report is written"),
        (MaxMessageTermination(MAX_MESSAGES), f"{MAX_MESSAGES} messages"),
        (TimeoutTermination(600), "Ten minutes"),
    ]


def _component(made: Any, label: str, *, model: str = BASELINE, form: Form = "tools") -> Json:
    """Dump a component under a label, its tools in one form, its models exchanged for another."""
    content: Json = _everywhere(made.dump_component().model_dump(mode="json"), _labelled)
    content["label"] = label
    if isinstance(made, Team):
        content["description"] = made.description
    if form == "tools":
        content = _everywhere(content, _tools_form)
    if model != BASELINE:
        content = _everywhere(content, partial(_exchanged, model=model_component(model)))
    return content


def _everywhere(value: Any, change: Callable[[Json], Json]) -> Any:
    """A component with every object in it changed, the innermost first."""
    if isinstance(value, list):
        return [_everywhere(item, change) for item in value]
    if not isinstance(value, dict):
        return value
    return change({name: _everywhere(item, change) for name, item in value.items()})


def _labelled(found: Json) -> Json:
    """Give agents and tools their own names and descriptions: AutoGen writes their classes' into a dump."""
    if found.get("component_type") == "agent":
        own = found["config"]
        return found | {"label": f"Willowbark {own['name']}", "description": own["description"]}
    if found.get("component_type") == "tool":
        tool: BaseTool[Any, Any] = BaseTool.load_component(found)
        shown = {"name": tool.name, **found["config"]}  # Builder lists tools by it; the tools themselves pass it over
        return found | {"label": tool.name, "description": tool.description, "config": shown}
    if found.get("provider", "").endswith(".BaselineChatCompletionClient"):
        return found | {"config": {"model": BASELINE, **found["config"]}}  # what Builder shows of a model, likewise
    return found


def _tools_form(found: Json) -> Json:
    """Move the tools of static workbenches to where Studio's Builder lists them."""
    benches = found.get("workbench")
    if not isinstance(benches, list) or not benches:
        return found
    kept = {name: value for name, value in found.items() if name != "workbench"}
    return kept | {"tools": [tool for bench in benches for tool in bench["config"]["tools"]]}


def _exchanged(found: Json, model: Json) -> Json:
    """Put a model in place of an agent's; the baseline becomes the one that answers when the model fails."""
    if "model_client" in found:
        found["model_client"] = model
    if found.get("component_type") == "agent" and found["provider"].startswith("willowbark."):
        found["config"]["fallback"] = model_component(BASELINE)
    return found
