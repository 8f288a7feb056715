"""Reading through the providers' batch interfaces: whole runs against servers on loopback."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from autogen_core import CancellationToken
from batch_servers import AnthropicBatchServer, BatchServer, Body, Fate, OpenAIBatchServer
from builders import QUESTION, needs
from openai_server import Answer, refusal
from starlette.responses import JSONResponse, Response
from test_provider_quirks import VERDICT
from writing_model import kind_of, reads_all, said_in, written_by

from willowbark.agents.asking import batches, reader
from willowbark.agents.report.content import BATCHED, READING
from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import LLMSettings, ResearchSettings, Settings, ToolSettings
from willowbark.teams.ledger import Ledger
from willowbark.teams.run.research import replay, research, resume
from willowbark.tools.errors import UsageError

pytestmark = [pytest.mark.whole, pytest.mark.filterwarnings("ignore:Resolved model mismatch")]
SERVERS = [
    pytest.param(OpenAIBatchServer, "openai/gpt-4.1-mini", marks=needs("openai"), id="OpenAI"),
    pytest.param(AnthropicBatchServer, "anthropic/claude-haiku-4-5", marks=needs("anthropic"), id="Anthropic"),
]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "FIRST_WAIT_S", 0.02)
    monkeypatch.setattr(reader, "BATCH", 3)
    monkeypatch.setenv("OPENAI_API_KEY", "good")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "good")


async def ran(model: str, url: str, **options: Any) -> ResearchReport:
    settings = Settings(
        llm=LLMSettings(model=model, base_url=url, batch=True),
        research=ResearchSettings(max_iterations=1, max_results_per_tool=8),
        tools=ToolSettings(sources=("pubmed",)),
    )
    return await research(QUESTION, settings=settings, offline=True, **options)


def good(body: Body) -> Answer | Response:
    """Searches, reads one drug in each record without a verdict, judges, writes nothing."""
    kind = kind_of(body)
    if kind == "choice":
        names = [tool.get("name") or tool["function"]["name"] for tool in body["tools"]]
        return {name: {"query": "migraine"} for name in names if name.startswith("search_")}
    answers = {"StudiesDraft": reads_all(body), "JudgeDraft": VERDICT}
    return written_by(body) or (json.dumps(answers[kind]) if kind in answers else "ready")


def readings_alone(server: Any) -> int:
    return sum(kind_of(body) == "StudiesDraft" for body in server.single.bodies)


@pytest.mark.parametrize(("kind", "model"), SERVERS)
async def test_what_a_round_found_is_read_in_one_batch_at_half_the_price(kind: type[BatchServer], model: str) -> None:
    server: Any = kind(good, looks=3)
    with server.running() as url:
        report = await ran(model, url)
    assert (len(server.batches), len(server.batches[0]) > 1) == (1, True)
    assert [body for body in server.batches[0].values() if kind_of(body) != "StudiesDraft"] == []
    assert readings_alone(server) == 0
    assert server.looked == 4
    assert not report.model_failed
    (read,) = [turn for turn in report.usage if turn.agent == BATCHED]
    number = len(server.batches[0])
    assert (read.prompt_tokens, read.completion_tokens) == (1000 * number, 100 * number)
    price = {"openai": (0.4, 1.6), "anthropic": (1.0, 5.0)}[model.partition("/")[0]]
    full = (read.prompt_tokens * price[0] + read.completion_tokens * price[1]) / 1e6
    assert read.cost_usd == pytest.approx(full / 2)
    assert [turn for turn in report.usage if turn.agent == READING] == []
    assert [line for line in report.limitations if "batch" in line] == []


@pytest.mark.parametrize(("kind", "model"), SERVERS)
@pytest.mark.parametrize(
    ("fate", "why"),
    [("errored", "The server failed"), ("expired", "expired|in time"), ("missing", "no answer|ended without")],
)
async def test_what_a_batch_does_not_answer_is_asked_alone_and_told(
    kind: type[BatchServer], model: str, fate: Fate, why: str
) -> None:
    server: Any = kind(good, lambda place: fate if place == 0 else "answered")
    with server.running() as url, Ledger(None) as ledger:
        report = await ran(model, url, ledger=ledger, run_id="the-run")
        assert (await replay("the-run", ledger)).limitations == report.limitations
    number = len(server.batches[0])
    assert readings_alone(server) == 1
    assert {turn.agent for turn in report.usage} >= {BATCHED, READING}
    said = [line for line in report.limitations if f"Of {number} prompts in a batch 1 had no answer there (" in line]
    assert len(said) == 1
    assert re.search(why, said[0]), said
    assert not report.model_failed


@pytest.mark.parametrize(("kind", "model"), SERVERS)
async def test_a_run_that_is_stopped_while_it_waits_goes_on_with_the_same_batch(
    kind: type[BatchServer], model: str, tmp_path: Path
) -> None:
    server: Any = kind(good, looks=10**6)
    token = CancellationToken()

    async def stop() -> None:
        await asyncio.to_thread(server.is_waited_for.wait, 60)
        token.cancel()

    with server.running() as url, Ledger(tmp_path / "ledger") as ledger:
        stopping = asyncio.create_task(stop())
        stopped = await ran(model, url, ledger=ledger, run_id="the-run", cancellation_token=token)
        await stopping
        assert stopped.stop_reason == "cancelled"
        asked_before = len(server.single.bodies)
        server.looks = 0
        report = await resume("the-run", ledger)
        assert len(server.batches) == 1
        assert readings_alone(server) == 0
        asked = [body for body in server.single.bodies[asked_before:] if "in your own words" not in said_in(body)]
        assert "choice" not in {kind_of(body) for body in asked}
        (read,) = [turn for turn in report.usage if turn.agent == BATCHED]
        assert read.prompt_tokens == 1000 * len(server.batches[0])
        again = await replay("the-run", ledger)
        assert again.usage == report.usage


@pytest.mark.parametrize(("kind", "model"), SERVERS)
async def test_results_without_end_are_cut_off_and_everything_is_asked_alone(
    kind: type[BatchServer], model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "RESULTS_BYTES", 100_000)
    server: Any = kind(good)
    server.endless = True
    with server.running() as url:
        report = await ran(model, url)
    assert readings_alone(server) == len(server.batches[0])
    assert "a batch's results have more than" in "\n".join(report.limitations)
    assert not report.model_failed


HOSTILE = {
    "no JSON": Response("<html>"),
    "a list": JSONResponse([]),
    "no name": JSONResponse({"status": "validating"}),
    "a name that is a path": JSONResponse({"id": "../../v1/models", "status": "validating"}),
    "a name that is a number": JSONResponse({"id": 7}),
    "nested too deeply": Response("[" * 200_000),
    "no such interface": refusal(404, "Not Found"),
    "too many waiting": refusal(400, "Enqueued token limit reached."),
}


@needs("openai")
@pytest.mark.parametrize("reply", HOSTILE.values(), ids=HOSTILE.keys())
async def test_a_server_that_begins_no_batch_is_asked_alone_and_named(reply: Response) -> None:
    server = OpenAIBatchServer(good, begins=reply)
    with server.running() as url:
        report = await ran("openai/gpt-4.1-mini", url)
    assert readings_alone(server) > 1
    assert "had no answer there" in "\n".join(report.limitations)
    assert not report.model_failed


async def test_a_model_without_batches_is_refused_in_a_line() -> None:
    with pytest.raises(UsageError, match=r"^--batch: baseline has no batch interface"):
        await research(QUESTION, offline=True, batch=True)


async def test_a_prompt_that_needs_no_asking_holds_up_no_batch() -> None:
    sent: list[Any] = []

    class Echo(batches.OpenAIBatches):
        async def send(self, prompts: Any) -> str:
            sent.append(prompts)
            return "one"

        async def look(self, batch: str, prompts: int) -> Any:
            return sent[0]

    gathered = batches.Gathered(3)

    async def one(number: int) -> Any:
        with gathered.place() as place:
            place.asked = {"said": str(number)}
            return await gathered.answer(place, Echo(None)) if number else None

    assert await asyncio.gather(one(1), one(0), one(2)) == [{"said": "1"}, None, {"said": "2"}]
    assert len(sent) == 1
