"""What AutoGen Studio is given: files that load, hold no key, and run in Studio's own ways."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import ChatAgent, Team, TerminationCondition
from autogen_agentchat.messages import TextMessage, ToolCallExecutionEvent
from autogen_agentchat.teams import SelectorGroupChat
from autogen_core import ComponentLoader
from autogen_core.tools import BaseTool
from builders import QUESTION
from typer.testing import CliRunner

from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.report.model import ReportMessage
from willowbark.agents.reporter import ASKS, ReportWritten
from willowbark.teams.faces import studio
from willowbark.teams.faces.cli import app
from willowbark.teams.research_team import ResearchTeam
from willowbark.tools.toolbox import replies_in

pytestmark = pytest.mark.whole

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "NCBI_API_KEY")


@pytest.fixture
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WILLOWBARK_LIBRARY__PATH", "bundled")


def parts(value: Any) -> Iterator[dict[str, Any]]:
    """Every object in a JSON value."""
    if isinstance(value, dict):
        yield value
    for below in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from parts(below)


def gallery_agent(label: str) -> dict[str, Any]:
    return next(made for made in studio.gallery()["components"]["agents"] if made["label"] == label)


def test_equal_settings_give_equal_files(tmp_path: Path) -> None:
    first, second = studio.export(tmp_path / "one"), studio.export(tmp_path / "deep" / "two")
    assert [path.name for path in first] == ["willowbark-team.json", "willowbark-gallery.json"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    done = CliRunner().invoke(app, ["studio", "export", str(tmp_path / "out")])
    assert (done.exit_code, len(done.stdout.split())) == (0, 2)


def test_the_team_loads_as_the_one_that_python_builds() -> None:
    made = studio.team()
    configs = [part["config"] for part in parts(made) if part.get("component_type") == "agent"]
    assert ["tools" in config for config in configs] == [True, True, True, False, False]
    assert [config for config in configs if config.get("workbench")] == []
    tools = {part["config"]["name"] for part in parts(made) if part.get("component_type") == "tool"}
    models = {part["config"]["model"] for part in parts(made) if part.get("component_type") == "model"}
    assert {"search_pubmed", "search_clinicaltrials", "get_mechanisms"} <= tools, "Builder lists them by name"
    assert models == {"baseline"}

    loaded = Team.load_component(made)
    assert isinstance(loaded, ResearchTeam)
    assert loaded.dump_component() == ResearchTeam().dump_component()


def test_every_component_of_the_gallery_loads_and_each_provider_has_a_model() -> None:
    components = studio.gallery()["components"]
    kinds = {"teams": Team, "agents": object, "tools": BaseTool, "terminations": TerminationCondition}
    for kind, expected in kinds.items():
        assert components[kind]
        for component in components[kind]:
            assert isinstance(ComponentLoader.load_component(component, object), expected)
            assert component["label"]
            assert component["description"]
    assert ["ApproverAgent" in json.dumps(team) for team in components["teams"]] == [False, True]
    providers = [
        made["provider"].rpartition(".")[2].removesuffix("ChatCompletionClient") for made in components["models"]
    ]
    assert providers == ["Baseline", "OpenAI", "Anthropic", "Ollama", "AzureOpenAI"]


def test_no_file_holds_a_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, "sk-canary-0123456789")
    for model in studio.MODELS:
        for path in studio.export(tmp_path, model):
            text = path.read_text(encoding="utf-8")
            assert "canary" not in text
            for part in parts(json.loads(text)):
                assert not {"api_key", "azure_ad_token", "default_headers"} & set(part)


def test_another_model_stands_everywhere_and_the_baseline_behind_it() -> None:
    made = studio.team("anthropic/claude-x")
    clients = [part["model_client"] for part in parts(made) if "model_client" in part]
    assert len(clients) == 6
    assert {client["config"]["model"] for client in clients} == {"claude-x"}
    fallbacks = [part["fallback"]["provider"] for part in parts(made) if "fallback" in part]
    assert len(fallbacks) == 5
    assert [provider for provider in fallbacks if not provider.endswith("BaselineChatCompletionClient")] == []


ORDERS = {
    "the report first": ["report", "literature", "mechanism", "judge", "report"],
    "no judge": ["literature", "trials", "report", "report"],
}


@pytest.mark.usefixtures("_offline")
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
async def test_in_a_stock_team_of_any_order_a_report_comes_and_says_whether_it_was_judged(order: list[str]) -> None:
    named = iter(order)
    team = SelectorGroupChat(
        [ChatAgent.load_component(agent) for agent in studio.team()["config"]["participants"]],
        BaselineChatCompletionClient(),
        termination_condition=ReportWritten(),
        allow_repeated_speaker=True,
        selector_func=lambda _: next(named),
    )
    result = await team.run(task=QUESTION)
    spoken = [message for message in result.messages if message.source == "report"]
    report = result.messages[-1]

    assert isinstance(report, ReportMessage)
    assert [message.to_text() for message in spoken].count(ASKS) == 1
    unjudged = any("without a verdict" in line for line in report.content.limitations)
    assert unjudged is ("judge" not in order)


@pytest.mark.usefixtures("_offline")
async def test_a_stock_assistant_runs_our_tools() -> None:
    agent = AssistantAgent.load_component(gallery_agent("Willowbark assistant"))
    assert type(agent) is AssistantAgent
    result = await agent.run(task=QUESTION)
    executed = [message for message in result.messages if isinstance(message, ToolCallExecutionEvent)]
    replies = [reply for event in executed for part in event.content for reply in replies_in(part.content)]
    assert {reply.source for reply in replies} == {"pubmed", "clinicaltrials"}
    assert [reply for reply in replies if not reply.records] == []
    assert isinstance(result.messages[-1], TextMessage)


def test_what_cannot_be_is_said_in_one_line(tmp_path: Path) -> None:
    (file := tmp_path / "file").touch()
    folder = str(tmp_path / "f")
    for arguments in (["export", str(file)], ["export", folder, "--model", "gpt"]):
        done = CliRunner().invoke(app, ["studio", *arguments])
        assert (done.exit_code, len(done.stderr.splitlines())) == (2, 1)
