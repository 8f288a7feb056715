"""Components from JSON: what may be loaded, and that nothing else is even imported."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from autogen_agentchat.base import Team
from autogen_core import ComponentModel
from autogen_core.models import ChatCompletionClient
from autogen_core.tools import BaseTool, FunctionTool
from builders import QUESTION
from faults.server import SourceServer

from willowbark.agents.approver import ApproverAgent
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.components import VARIABLE, load_component
from willowbark.teams.config import Settings
from willowbark.teams.research_team import ResearchTeam, default_participants
from willowbark.tools.errors import UsageError
from willowbark.tools.records.enclosure import GUIDANCE

CHOSEN = {
    "llm.turn_timeout_s": 33,
    "research.max_results_per_tool": 7,
    "research.max_iterations": 3,
    "research.limits.max_tokens": 900,
    "research.include_rag": True,
}


@cache
def team_json() -> str:
    """A team of Willowbark's with an approver, in which hardly anything is as by default."""
    client = BaselineChatCompletionClient(estimates_tokens=False)
    approver = ApproverAgent("gate", default="none", timeout_s=8)
    members = default_participants(client, Settings().overridden(CHOSEN), approver=approver)
    return ResearchTeam(members, client).dump_component().model_dump_json()


def team_config() -> dict[str, Any]:
    return json.loads(team_json())  # type: ignore[no-any-return]


def component(provider: Any, **config: Any) -> dict[str, Any]:
    return {"provider": provider, "config": config}


def openai(**config: Any) -> dict[str, Any]:
    return component("autogen_ext.models.openai.OpenAIChatCompletionClient", model="gpt-4o", **config)


def test_a_team_of_ours_is_loaded_from_its_json() -> None:
    config = team_config()
    for source in (config, json.dumps(config), json.dumps(config).encode(), ComponentModel.model_validate(config)):
        assert load_component(source, Team).dump_component().model_dump(mode="json") == config
    *specialists, judge, gate, reporter = [each["config"] for each in config["config"]["participants"]]
    assert [each["turn_timeout_s"] for each in specialists] == [33] * 3
    assert (judge["limits"]["max_iterations"], judge["limits"]["max_tokens"]) == (3, 900)
    assert (gate["name"], gate["default"], gate["timeout_s"]) == ("gate", "none", 8)
    assert [each["include_rag"] for each in (judge, reporter)] == [True, True]
    assert [each["model_client"]["config"]["estimates_tokens"] for each in (judge, reporter)] == [False, False]
    assert '"max_results": 7' in json.dumps(specialists[0])
    assert specialists[0]["system_message"].count(GUIDANCE) == 1


EXPORTED = json.loads((Path(__file__).parent / "cases" / "exported_teams.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("form", EXPORTED)
async def test_a_team_that_was_exported_earlier_still_loads_and_runs(
    form: str, sources: SourceServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files as version 0.1.0 wrote them: tools in agents, in workbenches, in a stock team."""
    monkeypatch.setenv("WILLOWBARK_LIBRARY__PATH", "bundled")
    team = load_component(EXPORTED[form], Team)  # type: ignore[type-abstract]
    result = await team.run(task=QUESTION)
    report = result.messages[-1].content  # type: ignore[union-attr]
    assert isinstance(report, ResearchReport)
    assert report.drug_candidates
    assert {entry.source for entry in report.search_log} >= {"pubmed", "clinicaltrials", "opentargets"}


EVIL_TOOL = {
    "provider": "autogen_core.tools.FunctionTool",
    "component_type": "tool",
    "config": {
        "source_code": "def f() -> str:\n    return 'x'\n",
        "name": "f",
        "description": "f",
        "global_imports": ["os"],
        "has_cancellation_support": False,
    },
}
REFUSED = {
    "a module of the library": component("os.path.join"),
    "a program": component("subprocess.Popen", args=["id"]),
    "somebody's package": component("evil_package.Agent"),
    "a namesake": component("willowbark_evil.Agent"),
    "nothing": component(""),
    "source code": EVIL_TOOL,
    "source code through another module": {
        **EVIL_TOOL,
        "provider": "autogen_agentchat.agents._assistant_agent.FunctionTool",
    },
    "a code agent": component("autogen_agentchat.agents.CodeExecutorAgent"),
    "a program over MCP": component("autogen_ext.tools.mcp.McpWorkbench", server_params={"command": "id"}),
    "any address": component("autogen_ext.tools.http.HttpTool", host="x", port=1),
    "pickles": component("autogen_ext.cache_store.diskcache.DiskCacheStore", directory="/tmp"),
    "something imported within ours": component("willowbark.teams.components.json"),
    "something imported within AutoGen's": component("autogen_core.tools._function_tool.BaseModel"),
    "a class that is not there": component("willowbark.agents.judge.Nobody"),
    "a namesake in other letters": component("\u0430utogen_core.tools.StaticWorkbench"),
    "a line break": component("willowbark.agents.judge.JudgeAgent\n"),
    "a path": component("willowbark./../evil.Agent"),
    "a function": component("willowbark.teams.components.load_component"),
    "weights from anywhere": component("autogen_ext.models.llama_cpp.LlamaCppChatCompletionClient", repo_id="x/y"),
    "a server that gets the key": openai(base_url="https://evil.invalid/v1"),
    "a name for loopback": openai(base_url="http://127.0.0.1.evil.invalid/v1"),
    "credentials before loopback": openai(base_url="http://localhost@evil.invalid/v1"),
}


@pytest.mark.parametrize("config", REFUSED.values(), ids=REFUSED)
def test_a_component_that_could_do_harm_is_refused_at_any_depth_and_whatever_else_is_allowed(
    config: dict[str, Any],
) -> None:
    mine = {VARIABLE: "my_package., my_other_package.agents.MyAgent"}
    for environ in ({}, mine):
        with pytest.raises(UsageError):
            load_component(config, BaseTool, environ=environ)  # type: ignore[type-abstract]
    within = {
        "among the tools": {"config": {"tools": [config]}},
        "in a corner": {
            "config": {"workbench": [component("autogen_core.tools.StaticWorkbench", tools=[{"a": [{"b": config}]}])]}
        },
        "beside what nobody reads": {"metadata": {"more": config}},
    }
    for change in within.values():
        whole = team_config()
        specialist = whole["config"]["participants"][0]
        specialist["config"] |= change.get("config", {})
        specialist |= {name: value for name, value in change.items() if name != "config"}
        with pytest.raises(UsageError):
            load_component(whole, Team, environ={})  # type: ignore[type-abstract]


@pytest.mark.parametrize(
    "provider", ["willowbark.agents.specialist._Gone", "willowbark.agents.page.Gone", "willowbark.nothing.Gone"]
)
def test_a_component_under_a_name_that_is_gone_is_refused_in_a_line_that_says_what_to_do(provider: str) -> None:
    gone = component(provider)

    with pytest.raises(UsageError, match="is not part of this version") as refused:
        load_component(gone, Team)  # type: ignore[type-abstract]

    assert "willowbark studio export" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_refusing_imports_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evil_module.py").write_text("import os\nos.environ['EVIL_RAN'] = '1'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UsageError, match="refused"):
        load_component(component("evil_module.Agent"), BaseTool, environ={})  # type: ignore[type-abstract]
    assert "EVIL_RAN" not in os.environ


def test_what_the_user_names_is_loaded() -> None:
    name = "autogen_core.tools.FunctionTool"
    with pytest.warns(UserWarning, match="arbitrary|trusted|untrusted"):
        found = load_component(EVIL_TOOL, BaseTool, environ={VARIABLE: name})  # type: ignore[type-abstract]
    assert isinstance(found, FunctionTool)


def test_a_server_that_the_user_named_is_taken() -> None:
    pytest.importorskip("openai")
    url = "https://models.example.org/v1"
    config = openai(base_url=url, api_key="x")
    found = load_component(config, ChatCompletionClient, environ={"WILLOWBARK_LLM__BASE_URL": f"{url}/"})  # type: ignore[type-abstract]
    assert type(found).__name__ == "OpenAIChatCompletionClient"


@pytest.mark.parametrize(
    "text",
    ["", "[]", "7", '{"config": {}}', "[" * 100_000, '{"provider": "x", "config": ' * 99, "x" * 3_000_000],
    ids=lambda text: f"{text[:20]}, {len(text)}",
)
def test_what_is_no_component_is_one_line(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        load_component(text, Team)
    assert "\n" not in str(caught.value)
    assert len(text) < 1_000_000 or "larger than 1,000,000 characters" in str(caught.value)
