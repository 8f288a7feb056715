"""What must not happen: free addresses, code from configs, keys in strange hands, boundless replies."""

import asyncio
import json
import logging
import os
import time
import traceback
from pathlib import Path
from typing import Any

import pytest
from autogen_agentchat.base import Team
from autogen_core import CancellationToken, ComponentModel
from autogen_core.models import ChatCompletionClient
from autogen_core.tools import BaseTool, FunctionTool
from builders import QUESTION
from pydantic import SecretStr, ValidationError

from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.teams.components import VARIABLE, allow_in_autogen, load_component
from willowbark.teams.config import OutputSettings, ResearchSettings, Settings
from willowbark.teams.research_team import ResearchTeam, default_participants
from willowbark.teams.run import research, research_stream
from willowbark.tools.endpoints import Endpoints
from willowbark.tools.errors import SearchError, SourceRefused, SourceUnavailable, UnreadableReply, UsageError
from willowbark.tools.pubmed_xml import cut
from willowbark.tools.sandbox.faults import Fault, FaultPlan
from willowbark.tools.sandbox.library import Library
from willowbark.tools.sandbox.server import SandboxServer
from willowbark.tools.toolbox import GetMechanisms, GetPaper, GetTrial, SourceTool
from willowbark.tools.transport import Exchange, Reply, RetryPolicy, Transport

QUICK = RetryPolicy().scaled(0.02)


# --- components from JSON ---


def team_config() -> dict[str, Any]:
    client = BaselineChatCompletionClient()
    return json.loads(ResearchTeam(default_participants(client), client).dump_component().model_dump_json())  # type: ignore[no-any-return]


def component(provider: Any, **config: Any) -> dict[str, Any]:
    return {"provider": provider, "config": config}


def openai(**config: Any) -> dict[str, Any]:
    return component("autogen_ext.models.openai.OpenAIChatCompletionClient", model="gpt-4o", **config)


def test_a_team_of_ours_is_loaded_from_its_json() -> None:
    config = team_config()
    for source in (config, json.dumps(config), json.dumps(config).encode(), ComponentModel.model_validate(config)):
        assert load_component(source, Team).dump_component().model_dump(mode="json") == config


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
    "a namesake of AutoGen": component("autogen_evil.Agent"),
    "no module": component("Agent"),
    "nothing": component(""),
    "a number": component(7),
    "source code": EVIL_TOOL,
    "source code by its inner name": {**EVIL_TOOL, "provider": "autogen_core.tools._function_tool.FunctionTool"},
    "source code through another module": {
        **EVIL_TOOL,
        "provider": "autogen_agentchat.agents._assistant_agent.FunctionTool",
    },
    "code execution": component("autogen_ext.tools.code_execution.PythonCodeExecutionTool"),
    "a local executor": component("autogen_ext.code_executors.local.LocalCommandLineCodeExecutor"),
    "a code agent": component("autogen_agentchat.agents.CodeExecutorAgent"),
    "a program over MCP": component("autogen_ext.tools.mcp.McpWorkbench", server_params={"command": "id"}),
    "any address": component("autogen_ext.tools.http.HttpTool", host="x", port=1),
    "pickles": component("autogen_ext.cache_store.diskcache.DiskCacheStore", directory="/tmp"),
    "something imported within ours": component("willowbark.teams.components.json"),
    "something imported within AutoGen's": component("autogen_core.tools._function_tool.BaseModel"),
    "a class that is not there": component("willowbark.agents.judge.Nobody"),
    "a server that gets the key": openai(base_url="https://evil.invalid/v1"),
    "a decimal address": openai(base_url="http://3232235777/v1"),
    "a name for loopback": openai(base_url="http://127.0.0.1.evil.invalid/v1"),
    "credentials before loopback": openai(base_url="http://localhost@evil.invalid/v1"),
}


@pytest.mark.parametrize("config", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("depth", ["outermost", "within a team"])
def test_a_component_that_could_do_harm_is_refused(config: dict[str, Any], depth: str) -> None:
    if depth == "within a team":
        whole = team_config()
        whole["config"]["participants"][0]["config"]["tools"] = [config]
        config = whole
    with pytest.raises(UsageError):
        load_component(config, Team if depth == "within a team" else BaseTool, environ={})  # type: ignore[type-abstract]


def test_refusing_imports_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evil_module.py").write_text("import os\nos.environ['EVIL_RAN'] = '1'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UsageError, match="refused"):
        load_component(component("evil_module.Agent"), BaseTool, environ={})  # type: ignore[type-abstract]
    assert "EVIL_RAN" not in os.environ


def test_what_the_user_names_is_loaded() -> None:
    name = "autogen_core.tools.FunctionTool"
    for by in ({"allowed": [name]}, {"environ": {VARIABLE: name}}):
        with pytest.warns(UserWarning, match="arbitrary|trusted|untrusted"):
            found = load_component(EVIL_TOOL, BaseTool, **by)  # type: ignore[type-abstract,arg-type]
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


def test_deep_nesting_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"a": deep}
    with pytest.raises(UsageError, match="nested deeper"):
        load_component(component("willowbark.x.Y", **deep), Team)


def test_newer_autogens_are_told_of_willowbark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOGEN_ALLOWED_PROVIDER_NAMESPACES", "mine")
    allow_in_autogen()
    allow_in_autogen()
    assert os.environ["AUTOGEN_ALLOWED_PROVIDER_NAMESPACES"] == "mine,willowbark"


# --- a settings file that lies in the folder ---


def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> Path:
    monkeypatch.chdir(folder)
    file = folder / "willowbark.toml"
    file.write_text(f'[llm]\nmodel = "openai/gpt-4.1-mini"\nbase_url = "{url}"\n')
    return file


def test_a_file_that_nobody_named_cannot_send_keys_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    in_folder(tmp_path, monkeypatch, "https://evil.invalid/v1")
    with pytest.raises(UsageError, match=r"your key; set WILLOWBARK_LLM__BASE_URL .* --config willowbark.toml"):
        Settings.load()


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/v1", "http://localhost:1234", "http://[::1]:9/v1"])
def test_a_server_on_this_machine_may_stand_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    in_folder(tmp_path, monkeypatch, url)
    assert Settings.load().llm.base_url == url


def test_a_named_file_and_the_environment_may_name_any_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = in_folder(tmp_path, monkeypatch, "https://models.example.org/v1")
    assert Settings.load(file).llm.base_url == "https://models.example.org/v1"
    monkeypatch.setenv("WILLOWBARK_LLM__BASE_URL", "https://mine.example.org/v1")
    assert Settings.load().llm.base_url == "https://mine.example.org/v1"


# --- arguments of tools ---

ARGUMENTS: list[tuple[Any, str, list[Any]]] = [
    (GetPaper, "pmid", ["", "0", "abc", "1;ls", "../1", "http://x/1", "1&db=protein", "1\n2", "1" * 10, "１２３"]),
    (GetTrial, "nct_id", ["", "NCT1", "nct00000001", "NCT00000001/../x", "NCT00000001\n", "NCT0000000１"]),
    (GetMechanisms, "drug", ["", "http://x", "a/b", "a?b", "a\nb", "$(id)", "a" * 101, "file:///etc/passwd", "`id`"]),
    (lambda: SourceTool("pubmed"), "query", ["", "x" * 2001, 7, None, ["x"]]),
]


@pytest.mark.parametrize(
    ("tool", "name", "value"), [(tool, name, value) for tool, name, values in ARGUMENTS for value in values]
)
async def test_an_argument_that_is_no_identifier_reaches_no_source(tool: Any, name: str, value: Any) -> None:
    with SandboxServer(Library()) as server:
        async with Transport(Endpoints.sandbox(server.url), policy=QUICK) as transport:
            made = tool()
            made.bind(transport, "0" * 16)
            with pytest.raises(ValidationError):
                await made.run_json({name: value}, CancellationToken())
            with pytest.raises(ValidationError):
                await made.run_json({name: "12345678", "url": "http://evil.invalid/"}, CancellationToken())
        assert server.requests == []


# --- redirects ---


@pytest.mark.parametrize(
    "to",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://2852039166/latest/meta-data/",
        "http://0xa9fea9fe/",
        "http://0251.0376.0251.0376/",
        "http://[::ffff:169.254.169.254]/",
        "http://[::1]:80/",
        "http://localhost/",
        "http://127.1/",
        "http://0/",
        "http://user@127.0.0.1:1/",
        "//evil.invalid/x",
        "https://evil.invalid/",
        "ftp://127.0.0.1/",
        "file:///etc/passwd",
        "gopher://127.0.0.1:70/",
        "http://[bad/",
        "http://pubmed.ncbi.nlm.nih.gov.evil.invalid/",
    ],
)
@pytest.mark.parametrize("source", ["europepmc", "clinicaltrials"])
async def test_a_redirect_leads_to_no_other_host(to: str, source: str) -> None:
    with SandboxServer(Library(), FaultPlan(faults=(Fault(kind="redirect", to=to),))) as server:
        async with Transport(Endpoints.sandbox(server.url), policy=QUICK) as transport:
            with pytest.raises(SearchError) as caught:
                await transport.get(source, "x", read=Reply.json)
        refused = isinstance(caught.value, SourceRefused) and "redirected" in caught.value.reason
        unreadable = isinstance(caught.value, SourceUnavailable)  # the clients themselves stumble over some addresses
        assert refused or (unreadable and to in ("http://0251.0376.0251.0376/", "http://[bad/"))
        assert {(request.source, request.path) for request in server.requests} == {(source, "x")}


# --- XML and other replies ---

_DEEP = b"<PubmedArticleSet>" + b"<a>" * 200_000
_AMPLIFIED = b"".join(b"<PubmedArticle><Keyword>%d</Keyword></PubmedArticle>" % number for number in range(90_000))
XML = {
    "laughs": b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><PubmedArticleSet>&b;</PubmedArticleSet>',
    "quadratic": b'<!DOCTYPE x [<!ENTITY a "%s">]><x>%s</x>' % (b"x" * 50_000, b"&a;" * 9_999),
    "external": b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><PubmedArticleSet>&a;</PubmedArticleSet>',
    "external DTD": b'<!DOCTYPE x [<!ENTITY % a SYSTEM "http://evil.invalid/x.dtd">%a;]><PubmedArticleSet/>',
    "deep": _DEEP,
    "deep text": b"<PubmedArticleSet><PubmedArticle><Keyword>" + b"<i>" * 200_000,
}


@pytest.mark.parametrize("xml", XML.values(), ids=XML)
def test_hostile_xml_is_refused_soon(xml: bytes) -> None:
    before = time.perf_counter()
    with pytest.raises(UnreadableReply):
        cut(xml)
    assert time.perf_counter() - before < 2


def test_much_xml_is_read_in_time_and_room() -> None:
    import tracemalloc

    xml = b"<PubmedArticleSet>" + _AMPLIFIED + b"</PubmedArticleSet>"
    assert len(xml) > 4_500_000
    before = time.perf_counter()
    found = cut(xml)
    assert len(found.articles) == 90_000
    assert time.perf_counter() - before < 10  # seconds; 2 on a machine that does nothing else
    tracemalloc.start()
    cut(xml)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 * 1024**2


@pytest.mark.parametrize("text", ["x" * 1_000_000, "", "  ", "\x00" * 50, "migraine " * 300])
async def test_a_question_beyond_its_bounds_asks_nobody(text: str) -> None:
    with SandboxServer(Library()) as server:
        with pytest.raises(UsageError):
            await research(text, endpoints=Endpoints.sandbox(server.url), settings=Settings())
        assert server.requests == []


async def test_a_reply_of_a_thousand_records_gives_as_many_as_were_asked_for() -> None:
    whole = Library.load()
    first = next(p for p in whole.publications if "migraine" in p.topic and p.abstract)
    many = [first.model_copy(update={"pmid": str(10_000_000 + number)}) for number in range(1000)]
    with SandboxServer(Library(publications=tuple(many))) as server:
        async with Transport(Endpoints.sandbox(server.url)) as transport:
            tool = SourceTool("pubmed", max_results=10)
            tool.bind(transport, "0" * 16)
            reply = await tool.run_json({"query": "migraine"}, CancellationToken())
    [answer] = reply.replies
    assert (len(answer.records), answer.total) == (10, 1000)


# --- keys ---

CANARIES = {
    name: f"canary-{name.lower().replace('_', '-')}-5f1c"
    for name in ("NCBI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY")
}


class Keeper:
    """A recorder that keeps all it gets."""

    def __init__(self) -> None:
        self.kept: list[Exchange] = []

    def exchanged(self, exchange: Exchange) -> None:
        self.kept.append(exchange)


def keyed(server: SandboxServer) -> Endpoints:
    """The sandbox, with a key for PubMed as the environment gives it."""
    sandbox = Endpoints.sandbox(server.url)
    pubmed = sandbox["pubmed"].model_copy(update={"key": SecretStr(CANARIES["NCBI_API_KEY"])})
    return sandbox.model_copy(update={"by_source": {**sandbox.by_source, "pubmed": pubmed}})


async def test_keys_are_found_nowhere_they_do_not_belong(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in CANARIES.items():
        monkeypatch.setenv(name, value)
    told: list[str] = []
    keeper = Keeper()
    settings = Settings(research=ResearchSettings(max_iterations=1, max_results_per_tool=3), output=OutputSettings())
    with caplog.at_level(logging.DEBUG), SandboxServer(faults=FaultPlan.rough(3).scaled(0.01)) as server:
        endpoints = keyed(server)
        async for event in research_stream(QUESTION, settings=settings, endpoints=endpoints, recorder=keeper):
            told.append(event.model_dump_json())
            if event.type == "complete":
                told += [event.data.to_json(), event.data.to_markdown()]
        told += [f"{request.path}?{request.query}" for request in server.requests]
        told += [repr(endpoints), endpoints.model_dump_json(), settings.model_dump_json()]
    told += [f"{exchange!r} {exchange.url} {exchange.body!r}" for exchange in keeper.kept]
    told += [record.getMessage() for record in caplog.records]
    told += [json.dumps(team_config())]

    assert any(exchange.source == "pubmed" for exchange in keeper.kept)
    assert [value for value in CANARIES.values() if any(value in text for text in told)] == []


@pytest.mark.parametrize("death", ["reset", "status", "hang", "html"])
async def test_keys_are_in_no_exceptions_text(death: Any) -> None:
    with SandboxServer(Library(), FaultPlan(dead={"pubmed": death})) as server:
        async with Transport(keyed(server), policy=RetryPolicy(attempts=2).scaled(0.02)) as transport:
            with pytest.raises(SearchError) as caught:
                await transport.get("pubmed", "esearch.fcgi", read=Reply.json, params={"term": "x"})
    said = "".join(traceback.format_exception(caught.value)) + repr(caught.value) + str(vars(caught.value))
    assert CANARIES["NCBI_API_KEY"] not in said


@pytest.mark.parametrize(
    ("name", "model"), [("OPENAI_API_KEY", "openai/gpt-4.1-mini"), ("ANTHROPIC_API_KEY", "anthropic/claude-x")]
)
async def test_a_dumped_team_on_a_real_model_holds_no_key(
    monkeypatch: pytest.MonkeyPatch, name: str, model: str
) -> None:
    pytest.importorskip(model.partition("/")[0])
    from willowbark.teams.model_clients import close, model_client

    monkeypatch.setenv(name, CANARIES[name])
    client = model_client(model, Settings())
    team = ResearchTeam(default_participants(client), client)
    dumped = team.dump_component().model_dump_json() + json.dumps(await team.save_state())
    await close(client)

    assert CANARIES[name] not in dumped


async def test_a_run_ends_within_its_wall_time() -> None:
    settings = Settings(research=ResearchSettings.model_validate({"limits": {"max_seconds": 1.0}}))
    with SandboxServer(faults=FaultPlan(faults=(Fault(kind="hang"),))) as server:
        before = time.perf_counter()
        report = await asyncio.wait_for(
            research(QUESTION, settings=settings, endpoints=Endpoints.sandbox(server.url)), 30
        )
    assert report.stop_reason == "timeout"
    assert time.perf_counter() - before < 15
