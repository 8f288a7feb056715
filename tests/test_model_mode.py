"""A run on a language model: what stops it before it begins, and what it says of a model that failed."""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from autogen_core import FunctionCall
from autogen_core.models import ChatCompletionClient, CreateResult, RequestUsage, UserMessage
from autogen_ext.models.cache import ChatCompletionCache
from autogen_ext.models.replay import ReplayChatCompletionClient
from benchmarks.prompt_tokens import measure_run
from builders import QUESTION
from openai_server import Answer, OpenAIServer, refusal
from starlette.responses import Response
from test_drafts import by_rote

from willowbark.agents.autogen import find_openai_server
from willowbark.teams.budget import Budget, estimate
from willowbark.teams.config import LLMSettings, Price, RoleSettings, Settings
from willowbark.teams.ledger import Ledger
from willowbark.teams.ledger.model_calls import MAX_CALLS, JournaledClient, request_key
from willowbark.teams.model_clients import close, model_client, preflight
from willowbark.teams.run.following import ExitCode, RunOutcome
from willowbark.teams.run.research import research
from willowbark.tools.errors import UsageError
from willowbark.tools.records.enclosure import GUIDANCE

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(find_spec("openai") is None, reason="willowbark[openai] is not installed"),
    pytest.mark.filterwarnings("ignore:Resolved model mismatch"),
]
KEY = "sk-live-abcdefgh12345678"


@contextmanager
def served(answer: Any, **llm: Any) -> Iterator[tuple[OpenAIServer, ChatCompletionClient]]:
    server = OpenAIServer(answer)
    with server.running() as url:
        settings = Settings(llm=LLMSettings(base_url=url, **llm))
        yield server, model_client("openai/gpt-99", settings, {"OPENAI_API_KEY": KEY})


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, f"Incorrect API key provided: {KEY}."),
        (404, "The model `gpt-99` does not exist."),
        (402, "Insufficient Balance"),
        (429, "You exceeded your current quota, please check your plan and billing details."),
    ],
)
async def test_what_no_further_attempt_will_change_stops_a_run_in_one_line(status: int, message: str) -> None:
    with served(lambda _: refusal(status, message)) as (_, client):
        with pytest.raises(UsageError, match=f"^model 'openai/gpt-99' cannot be asked: {status} ") as caught:
            await research(QUESTION, model_client=client, offline=True)
        await close(client)
    assert "\n" not in str(caught.value)
    assert KEY not in str(caught.value)


async def test_a_server_that_is_not_there_stops_it_too() -> None:
    client = model_client("openai/x", Settings(llm=LLMSettings(base_url="http://127.0.0.1:9/v1")), {})
    with pytest.raises(UsageError, match="no server answers there"):
        await preflight(client, "openai/x")
    await close(client)


async def test_what_may_pass_does_not() -> None:
    with served(lambda _: refusal(400, "Please reduce the length of the messages.")) as (_, client):
        await preflight(client, "openai/gpt-99")
        await close(client)


async def test_a_run_whose_model_failed_says_so_in_its_head_and_fails_unless_a_stand_in_will_do() -> None:
    asked = iter(range(1000))

    def answer(_: dict[str, Any]) -> Answer | Response:
        return "ready" if next(asked) == 0 else refusal(400, f"No {KEY} today.")

    with served(answer) as (_, client):
        report = await research(QUESTION, model_client=client, offline=True, max_iterations=1)
        await close(client)

    assert report.model_failed
    assert report.analyst is not None
    assert report.analyst.startswith("baseline analyst (rules, no language model), since gpt-99 failed ")
    assert report.analyst.endswith("calls: 400 No [key] today")
    assert "since gpt-99 failed" in report.to_markdown()[:3000]
    assert KEY not in report.to_json()
    assert RunOutcome(report=report).exit_code is ExitCode.FAILED
    assert RunOutcome(report=report, may_stand_in=True).exit_code is ExitCode.REPORT


async def test_a_server_that_hangs_after_its_first_answer_is_told_in_the_first_line_and_not_asked_again() -> None:
    """Three specialists ask side by side, each once: nothing is repeated, and judge and report ask no more."""
    is_over = threading.Event()
    asked = iter(range(1000))

    def answer(_: dict[str, Any]) -> Answer | Response:
        if next(asked) > 0:
            is_over.wait(60)
        return "ready"

    with served(answer, timeout_s=3) as (server, client):
        report = await research(QUESTION, model_client=client, offline=True, max_iterations=1, depth="quick")
        is_over.set()
        await close(client)

    assert len(server.bodies) == 1 + 3
    assert report.references != []
    _, _, answered = report.to_markdown().partition("## Answer\n\n")
    first = answered.splitlines()[0]
    assert first.startswith("gpt-99 did not do what it was asked for: 0 of 3 searches chosen, 0 of 1 verdicts given")
    assert first.endswith("Rules stand in for it.")
    assert "Timeout" in first
    assert RunOutcome(report=report).exit_code is ExitCode.FAILED


@pytest.mark.parametrize("holds", [True, False], ids=["a server that holds to schemas", "one that passes them over"])
async def test_whether_a_server_of_ones_own_holds_to_schemas_is_seen_by_the_call_that_is_made_anyway(
    holds: bool, tmp_path: Path
) -> None:
    def answer(body: dict[str, Any]) -> Answer | Response:
        form = (body.get("response_format") or {}).get("type")
        return by_rote(body) if holds or form != "json_schema" else "ready"

    server = OpenAIServer(answer, takes_bounds=True)
    with server.running() as url, Ledger(tmp_path / "ledger.db") as ledger:
        settings = Settings(llm=LLMSettings(model="openai/served", base_url=url))
        await research(QUESTION, settings=settings, offline=True, max_iterations=1, ledger=ledger, run_id="one")
        kept = ledger.run("one")
    first, *others = [body.get("response_format", {}).get("type") for body in server.bodies if not body.get("tools")]
    assert first == "json_schema"
    assert set(others) == ({"json_schema"} if holds else {"json_object"})
    assert kept.model_info["structured_output"] is holds
    assert kept.settings["llm"]["structured_output"] is (True if holds else None)


async def test_what_has_no_room_in_a_models_context_is_asked_in_parts() -> None:
    asked: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> Answer | Response:
        asked.append(body)
        return by_rote(body)

    with OpenAIServer(answer, takes_bounds=True).running() as url:
        llm = LLMSettings(model="openai/served", base_url=url, structured_output=True, context_tokens=3600)
        report = await research(QUESTION, settings=Settings(llm=llm), offline=True, max_iterations=1)
    assert max(len(json.dumps(body)) for body in asked) < 4 * 3600
    readings = [body for body in asked if "StudiesDraft" in json.dumps(body.get("response_format"))]
    assert len(readings) > 8
    assert [line for line in report.limitations if "not read by the model" in line] == []


async def test_each_role_is_asked_of_its_own_model_and_paid_for_at_its_own_price(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = OpenAIServer(by_rote, takes_bounds=True)
    with server.running() as url:
        roles = {"reader": "openai/cheap", "judge": "openai/strong", "checker": "openai/check"}
        prices = {"openai/main": (0, 0), "openai/cheap": (1_000_000, 0), "openai/strong": (0, 1_000_000)}
        prices["openai/check"] = (2_000_000, 0)
        llm = LLMSettings(
            model="openai/main",
            base_url=url,
            structured_output=True,
            roles=RoleSettings(**roles),
            prices={name: Price(input=asked, output=said) for name, (asked, said) in prices.items()},
        )
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        report = await research(QUESTION, settings=Settings(llm=llm), offline=True, max_iterations=1)
    asked = {(body["response_format"]["json_schema"]["name"], body["model"]) for body in forms(server.bodies)}
    assert {
        ("StudiesDraft", "cheap"),
        ("JudgeDraft", "strong"),
        ("WrittenDraft", "main"),
        ("CheckDraft", "check"),
    } == asked
    assert [body for body in forms(server.bodies) if GUIDANCE not in body["messages"][0]["content"]] == []
    spent = {turn.agent: turn for turn in report.usage}
    assert spent["reading"].cost_usd == spent["reading"].prompt_tokens
    assert spent["judge"].cost_usd == spent["judge"].completion_tokens
    assert spent["report"].cost_usd == 0
    assert spent["checker"].cost_usd == 2 * spent["checker"].prompt_tokens
    assert "Prompts: version 20" in report.to_appendix()


async def test_two_rounds_cost_no_more_than_is_said_and_no_prompt_holds_a_record_twice() -> None:
    client, report = await measure_run(2, QUESTION)
    assert report.total_papers_reviewed >= 50
    assert (
        client.tokens.total() <= 105_000
    )  # 69 records; the answer and its check take 13,000, what specialists say 9,000
    # a fifth: reflections see excerpts of records, which no other prompt shares, and few prompts read many records
    assert client.cacheable.total() >= 0.2 * client.tokens.total()
    read, beside = client.tokens["StudiesDraft"], client.cacheable.total() - client.cacheable["StudiesDraft"]
    assert read + beside >= 0.55 * client.tokens.total()  # at a batch's price with --batch, or cacheable
    # Of three specialists a choice and their own words: they choose again only where the judge's query found nothing.
    assert client.calls["choice of searches"] == 6
    assert len(client.steps) <= 10  # waves of readings, what is sent back and a further draft fall together or not
    told = estimate("openai/gpt-4.1-mini", 2, LLMSettings(), 300)
    (most,) = (int(each.replace(",", "")) for each in re.findall(r"(\d+,\d+)", told))
    assert most / 2 <= report.tokens_used <= most


async def test_a_run_that_its_time_ended_says_which_model_did_not_write_and_counts_what_it_answered() -> None:
    answered: list[str] = []

    def answer(body: dict[str, Any]) -> Answer | Response:
        if "mechanism_score" not in json.dumps(body):
            return "ready"
        time.sleep(4 if answered else 0)
        answered.append("no verdict")
        return answered[-1]

    with served(answer) as (_, client):
        report = await research(QUESTION, model_client=client, offline=True, max_seconds=2.5)
        await close(client)
    assert report.stop_reason == "timeout"
    assert str(report.analyst).endswith("since the run ended before openai/gpt-99 wrote")
    assert not answered or report.tokens_used > 0


async def test_a_client_in_caches_of_its_owner_is_handed_schemas_as_by_itself() -> None:
    with served(lambda _: "ready") as (_, client):
        assert (
            find_openai_server(ChatCompletionCache(ChatCompletionCache(client))) == find_openai_server(client) == "own"
        )
        await close(client)


async def test_of_hundreds_of_calls_of_tools_forty_are_made() -> None:
    calls = [FunctionCall(id=f"c{at}", name="search_pubmed", arguments="{}") for at in range(500)]
    usage = RequestUsage(prompt_tokens=-1, completion_tokens=1)  # a server may tell anything
    said = CreateResult(finish_reason="function_calls", content=calls, usage=usage, cached=False)
    client = JournaledClient(ReplayChatCompletionClient([said]), Budget(), None, "openai/x")
    answer = await client.create([UserMessage(content="Search.", source="user")])
    assert (len(answer.content), answer.usage.prompt_tokens) == (MAX_CALLS, 0)


def test_when_a_search_was_made_does_not_tell_two_requests_apart() -> None:
    at = [UserMessage(content=f'{{"asked_at": "2026-01-0{day}", "query": "x"}}', source="user") for day in (1, 2)]
    assert request_key(at[:1], (), None, {}) == request_key(at[1:], (), None, {})


def test_an_answer_of_backslashes_is_hashed_at_once() -> None:
    asked = [UserMessage(content="\\" * 200_000, source="user")]
    began = time.process_time()
    assert request_key(asked, (), None, {})
    assert time.process_time() - began < 5


def forms(bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The requests that ask for a schema."""
    return [body for body in bodies if "response_format" in body]
