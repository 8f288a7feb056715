"""Whole runs on Anthropic's, Azure's and Ollama's protocols: AutoGen's own clients, servers on loopback."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from anthropic_server import AnthropicServer, failure, message
from builders import QUESTION, needs
from ollama_server import OllamaServer, named
from openai_server import Answer, OpenAIServer
from starlette.responses import JSONResponse, Response
from test_provider_quirks import VERDICT, good
from writing_model import kind_of, written_by

from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import LLMSettings, ResearchSettings, Settings, ToolSettings
from willowbark.teams.model_clients import close, model_client
from willowbark.teams.run.following import ExitCode, RunOutcome
from willowbark.teams.run.research import research

pytestmark = [pytest.mark.whole, pytest.mark.filterwarnings("ignore:Resolved model mismatch")]
Body = dict[str, Any]
ENVIRONMENT = {"ANTHROPIC_API_KEY": "good", "AZURE_OPENAI_API_KEY": "good"}


async def ran(model: str, url: str, question: str = QUESTION, rounds: int = 2, **llm: Any) -> ResearchReport:
    settings = Settings(
        llm=LLMSettings(model=model, base_url=url, **llm),
        research=ResearchSettings(max_iterations=rounds, max_results_per_tool=10),
        tools=ToolSettings(sources=("pubmed", "clinicaltrials", "chembl")),
    )
    client = model_client(model, settings, ENVIRONMENT)
    if (library := getattr(client, "_client", None)) is not None and hasattr(library, "max_retries"):
        library.max_retries = 0  # what waits between attempts is the library's
    try:
        return await research(question, settings=settings, model_client=client, offline=True)
    finally:
        await close(client)


def searching(body: Body) -> Answer | Response:
    """Searches with each tool that takes a query; the judge asks for more of it."""
    if kind_of(body) == "choice" and body["messages"][-1]["role"] == "user":
        names = [tool.get("name") or tool["function"]["name"] for tool in body["tools"]]
        called = {name: {"query": "migraine"} for name in names if name.startswith("search_")}
        return called or "Nothing was found by these titles."
    if kind_of(body) == "choice":
        return "Some trials were found."
    if kind_of(body) == "JudgeDraft":
        more = [{"closes": "x", "specialist": who, "query": "propranolol"} for who in ("literature", "mechanism")]
        return json.dumps({**VERDICT, "next_searches": more})
    return written_by(body) or good(body)


@needs("anthropic")
async def test_a_team_on_anthropic_is_never_refused_and_each_specialist_has_its_own_tools() -> None:
    server = AnthropicServer(searching)
    with server.running() as url:
        report = await ran("anthropic/claude-haiku-4-5", url)
    assert server.refused == []
    assert not report.model_failed
    offered = {frozenset(tool["name"] for tool in body["tools"]) for body in server.bodies if "tools" in body}
    assert len(offered) == 3
    names = [name for tools in offered for name in tools]
    assert sorted(names) == sorted(set(names))
    drafts = {kind_of(body) for body in server.bodies} - {"choice", "word"}
    assert drafts == {"StudiesDraft", "FitsDraft", "JudgeDraft", "WrittenDraft", "CheckDraft"}
    drafted = [body for body in server.bodies if kind_of(body) in drafts]
    assert [body for body in drafted if "cache_control" not in body["system"][-1]] == []


@needs("anthropic")
async def test_what_anthropic_keeps_is_read_again_and_billed_at_list_price_at_most() -> None:
    server = AnthropicServer(searching)
    with server.running() as url:
        report = await ran("anthropic/claude-haiku-4-5", url)
    assert kind_of(server.bodies[0]) == "word"
    word = len(json.dumps([{"tools": None}, *server.bodies[0]["messages"]])) // 4
    assert server.kept_tokens > 0.03 * server.tokens
    assert sum(turn.cost_usd or 0.0 for turn in report.usage) >= server.cost_usd
    assert report.tokens_used == pytest.approx(server.tokens - word, abs=30)


@needs("anthropic")
@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (lambda _: failure(529, "Overloaded", "overloaded_error"), "529 Overloaded"),
        (lambda body: JSONResponse(message(body, [], "refusal")), "The model refused: stop reason refusal"),
        (lambda _: failure(400, "prompt is too long: 9 tokens > 8 maximum", "invalid_request_error"), "too long"),
    ],
    ids=["a storm of 529", "a refusal", "a prompt too long"],
)
async def test_a_run_on_anthropic_that_gets_no_answer_says_why_and_fails(
    answer: Callable[[Body], Response], cause: str
) -> None:
    server = AnthropicServer(lambda body: "ready" if kind_of(body) == "word" else answer(body))
    with server.running() as url:
        report = await ran("anthropic/claude-haiku-4-5", url, rounds=1)
    said = [report.analyst or "", *report.limitations]
    assert cause in "\n".join(said)
    assert report.model_failed
    assert RunOutcome(report=report).exit_code is ExitCode.FAILED
    assert report.total_papers_reviewed


@needs("azure.identity")
@pytest.mark.parametrize("strict", [True, False], ids=["takes schemas", "takes none"])
async def test_a_team_on_azure_is_never_refused(strict: bool) -> None:
    server = OpenAIServer(searching)
    with server.running() as url:
        report = await ran("azure/mine", url.removesuffix("/v1"), structured_output=strict)
    assert server.refused == []
    assert not report.model_failed
    typed = {body["response_format"]["type"] for body in server.bodies if "response_format" in body}
    assert typed == ({"json_schema"} if strict else {"json_object"})


@needs("ollama")
async def test_a_team_on_ollama_asks_for_its_context_and_is_held_to_schemas() -> None:
    server = OllamaServer(searching)
    with server.running() as url:
        report = await ran("ollama/some-model", url, context_tokens=16_384, temperature=0.0, max_tokens=900)
    assert not report.model_failed
    options = {"num_ctx": 16_384, "temperature": 0.0, "num_predict": 900}
    assert [body for body in server.bodies if body["options"] != options] == []
    asked = {named(body["format"]) for body in server.bodies if isinstance(body.get("format"), dict)}
    assert asked == {"StudiesDraft", "FitsDraft", "JudgeDraft", "WrittenDraft", "CheckDraft"}
    assert report.tokens_used == 12 * (len(server.bodies) - 1)  # not that of the one word before
