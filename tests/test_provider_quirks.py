"""What providers and their models do instead of answering: a run ends in a report, says why, and counts every token."""

import json
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import pytest
from autogen_core.models import UserMessage
from builders import QUESTION, judge_draft
from faults.server import SourceServer
from openai_server import Answer, OpenAIServer, refusal, rote
from starlette.responses import JSONResponse, PlainTextResponse, Response
from test_drafts import by_rote
from writing_model import kind_of, written_by

from willowbark.agents.report.model import ResearchReport
from willowbark.teams.config import LLMSettings, ResearchSettings, Settings, ToolSettings
from willowbark.teams.model_clients import close, model_client
from willowbark.teams.run.research import research
from willowbark.tools.http.endpoints import Endpoints

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(find_spec("openai") is None, reason="willowbark[openai] is not installed"),
    pytest.mark.filterwarnings("ignore"),
]
Body = dict[str, Any]
Said = Answer | Response


def good(body: Body) -> Said:
    """What a model answers that does as it is told, and finds nothing."""
    kind = kind_of(body)
    if kind == "choice":
        names = [tool["function"]["name"] for tool in body["tools"]]
        return {name: {"query": "propranolol AND migraine"} for name in names if name == "search_pubmed"}
    if kind == "StudiesDraft":
        return '{"studies": []}'
    if kind == "JudgeDraft":
        return json.dumps(VERDICT)
    return written_by(body) or "ready"


VERDICT = judge_draft(mechanism_score=3, clinical_evidence_score=5, candidates_score=5, confidence=0.4)


def completion(message: Body, reason: str = "stop", **fields: Any) -> JSONResponse:
    """A completion of any shape."""
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", **message}}
    whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "usage": usage, "choices": [choice]}
    return JSONResponse({**whole, **fields})


def called(*calls: tuple[str, str]) -> JSONResponse:
    """A completion that calls tools, with arguments as they are written."""
    made = [
        {"id": f"c{at}", "type": "function", "function": {"name": name, "arguments": given}}
        for at, (name, given) in enumerate(calls)
    ]
    return completion({"content": None, "tool_calls": made}, "tool_calls")


def on(kind: str, quirk: Callable[[Body], Said]) -> Callable[[Body], Said]:
    """The quirk at one kind of request, good answers at all others."""
    return lambda body: quirk(body) if kind_of(body) == kind else good(body)


def judged(said: Any) -> Callable[[Body], Said]:
    return on("JudgeDraft", lambda _: said if isinstance(said, str) else json.dumps(said))


def written(tool: Body) -> str:
    """A search as text, as a model writes it whose server takes no calls out of what it says."""
    name = tool["function"]["name"]
    call = {"name": name, "arguments": {"query": "propranolol AND migraine"}}
    return f"<tool_call>{json.dumps(call)}</tool_call>\n" if name.startswith("search_") else ""


def late(_: Body) -> Said:
    time.sleep(3)
    return PlainTextResponse("too late")


LATE = on("JudgeDraft", late)
JUDGE_FAILS = "judge: the model gave no valid JudgeDraft in 2 attempts"
UNREAD = "not read by the model: the model did not answer"
NO_SOURCE = "the model asked no source; the baseline analyst asked instead"
HARMLESS = {
    "a byte order mark before it": judged(f"\ufeff\u200b{json.dumps(VERDICT)}\u200b"),
    "fields beside those asked for": judged({**VERDICT, "mood": "fine", "sufficient": True}),
    "a text far beyond its bounds": judged({**VERDICT, "reasoning": "x" * 200_000}),
    "no usage told": on("JudgeDraft", lambda _: completion({"content": json.dumps(VERDICT)}, usage=None)),
    "studies of records that were not shown": on(
        "StudiesDraft", lambda body: json.dumps(rote(body["response_format"]["json_schema"]["schema"]))
    ),
    "thirty calls at once": on(
        "choice", lambda _: called(*[("search_pubmed", f'{{"query": "migraine AND {at}"}}') for at in range(30)])
    ),
    "tool calls written as text": on("choice", lambda body: "".join(map(written, body["tools"]))),
    "a schema refused, taken in words": lambda body: (
        refusal(400, "response_format json_schema is not supported") if body.get("response_format") else good(body)
    ),
}
TOLD = {
    "confidence that is no number": (judged({**VERDICT, "confidence": float("nan")}), JUDGE_FAILS),
    "null": (on("JudgeDraft", lambda _: completion({"content": None})), "judge: the model "),
    "cut at the limit of its length": (
        on("JudgeDraft", lambda _: completion({"content": "{"}, "length")),
        "cut off at the limit of an answer's length",
    ),
    "filtered": (
        on("JudgeDraft", lambda _: completion({"content": ""}, "content_filter")),
        "judge: the provider's content filter held the answer back",
    ),
    "a refusal": (
        on("JudgeDraft", lambda _: completion({"content": None, "refusal": "No."})),
        "judge: The model refused: No",
    ),
    "a refusal to search": (
        on("choice", lambda _: completion({"content": None, "refusal": "Not on migraine."})),
        "the model asked no source (The model refused: Not on migraine); the baseline analyst asked instead",
    ),
    "no choices": (
        on("JudgeDraft", lambda _: completion({}, choices=[], usage=None)),
        "judge: the model did not answer",
    ),
    "a page of HTML": (on("JudgeDraft", lambda _: PlainTextResponse("<html>")), "judge: the model did not answer"),
    "a limit of requests": (on("JudgeDraft", lambda _: refusal(429, "Slow down.")), "429 Slow down"),
    "a prompt too long to read": (
        on("StudiesDraft", lambda _: refusal(400, "This model's maximum context length is 8 tokens.")),
        "maximum context length is 8 tokens",
    ),
    "no tools": (on("choice", lambda _: refusal(400, "does not support tools")), "400 does not support tools"),
    "a tool call that names no arguments": (on("choice", lambda _: '{"name": "search_pubmed"}'), NO_SOURCE),
    "a tool that does not exist": (on("choice", lambda _: called(("search_web", "{}"))), "unusable arguments"),
    "no answer in time": (LATE, "judge: the model did not answer (APITimeoutError)"),
}


async def ran(answer: Callable[[Body], Said], sources: SourceServer) -> tuple[ResearchReport, int]:
    """A run of one round on one source, and the tokens of all that the server answered, but for the first word."""
    counted: list[int] = []

    def keeping(body: Body) -> Said:
        said = answer(body)
        if isinstance(said, JSONResponse):
            usage = json.loads(bytes(said.body)).get("usage")
            counted.append(sum(usage[each] for each in ("prompt_tokens", "completion_tokens")) if usage else 0)
        elif not isinstance(said, Response):
            counted.append(len(json.dumps(body)) // 4 + 7)
        return said

    server = OpenAIServer(keeping, takes_bounds=True)
    with server.running() as url:
        settings = Settings(
            llm=LLMSettings(base_url=url, structured_output=True, timeout_s=1.0 if answer is LATE else 60.0),
            research=ResearchSettings(max_iterations=1, max_results_per_tool=5),
            tools=ToolSettings(sources=("pubmed",)),
        )
        client = model_client("openai/served", settings, {})
        client._client.max_retries = 0  # type: ignore[attr-defined]  what waits between attempts is the library's
        endpoints = Endpoints.at(sources.url)
        report = await research(QUESTION, settings=settings, model_client=client, endpoints=endpoints)
        await close(client)
    return report, sum(counted[1:])


@pytest.mark.parametrize("answer", HARMLESS.values(), ids=HARMLESS)
async def test_what_can_be_read_is_taken_as_an_answer(answer: Callable[[Body], Said], sources: SourceServer) -> None:
    report, tokens = await ran(answer, sources)
    assert report.total_papers_reviewed
    assert [line for line in report.limitations if "judge: " in line or NO_SOURCE in line] == []
    assert report.tokens_used == tokens


@pytest.mark.parametrize(("answer", "cause"), TOLD.values(), ids=TOLD)
async def test_what_cannot_is_named_and_counted_and_the_run_comes_to_its_report(
    answer: Callable[[Body], Said], cause: str, sources: SourceServer
) -> None:
    report, tokens = await ran(answer, sources)
    assert report.total_papers_reviewed
    assert cause in "\n".join([*report.limitations, report.analyst or ""])
    assert report.tokens_used == tokens


@pytest.mark.parametrize("kind", ["JudgeDraft", "WrittenDraft"])
async def test_what_is_too_long_for_a_model_is_answered_by_rules_by_name(kind: str, sources: SourceServer) -> None:
    said = "This model's maximum context length is 8 tokens."
    report, _ = await ran(on(kind, lambda _: refusal(400, said)), sources)
    assert f"{said[:-1]}); baseline analyst" in "\n".join(report.limitations)


async def test_counts_of_tokens_that_are_no_numbers_count_as_none_and_end_nothing() -> None:
    def answer(body: Body) -> Said:
        said = by_rote(body)
        if not isinstance(said, str):
            return said
        usage = {"prompt_tokens": "N", "completion_tokens": "N", "total_tokens": 1}
        whole = completion({"content": said}, usage=usage)
        return Response(bytes(whole.body).replace(b'"N"', b"NaN"), media_type="application/json")

    with OpenAIServer(answer, takes_bounds=True).running() as url:
        llm = LLMSettings(model="openai/served", base_url=url, structured_output=True)
        report = await research(QUESTION, settings=Settings(llm=llm), offline=True, max_iterations=1)

    assert [line for line in (report.analyst or "", *report.limitations) if "ValueError" in line] == []
    assert [turn for turn in report.usage if turn.prompt_tokens != int(turn.prompt_tokens)] == []


@pytest.mark.parametrize("provider", ["openai", "anthropic", "ollama"])
async def test_a_prompt_goes_to_the_configured_host_alone(provider: str) -> None:
    stolen = OpenAIServer(lambda _: "ready")
    with stolen.running() as elsewhere:
        sent = OpenAIServer(lambda _: Response(status_code=307, headers={"Location": f"{elsewhere}/chat/completions"}))
        with sent.running() as url:
            base = url if provider == "openai" else url.removesuffix("/v1")
            llm = LLMSettings(model=f"{provider}/served", base_url=base, timeout_s=5)
            client = model_client(llm.model, Settings(llm=llm), {"OPENAI_API_KEY": "x", "ANTHROPIC_API_KEY": "x"})
            with pytest.raises(Exception, match=r"307|[Rr]edirect"):
                await client.create([UserMessage(content="Say ready.", source="user")])
            await close(client)

    assert len(sent.bodies) >= 1
    assert stolen.bodies == []
