"""Traces and logs: off by default, readable, and without keys, questions or records."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from autogen_core.logging import LLMCallEvent
from builders import QUESTION
from faults.breakage import FaultyServer
from faults.plan import Fault, FaultPlan
from faults.server import SourceServer
from recorded import recorded_papers
from typer.testing import CliRunner, Result

from willowbark.teams.config import Settings
from willowbark.teams.faces.cli import app
from willowbark.teams.run.logs import logged
from willowbark.teams.run.research import research_stream
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.http.transport import Exchange

pytest.importorskip("opentelemetry.sdk", reason="traces need the extra `trace`")

from willowbark.teams.run.trace import SpanRecorder, trace_file, traced

pytestmark = pytest.mark.whole

KEY = "canary-key-5e1f"
QUICK = {"research.max_iterations": 1, "research.max_results_per_tool": 5}


@pytest.fixture
def answered(sources: SourceServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Result, str]:
    """`willowbark ask` with a trace, a log, and a key in the environment; the result, and the trace's text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WILLOWBARK_LIBRARY__PATH", "bundled")
    monkeypatch.setenv("NCBI_API_KEY", KEY)
    options = ["--trace", "trace.jsonl", "-vv", "--log-json", "--max-iterations", "1", "--max-results", "30"]
    result = CliRunner().invoke(app, ["ask", QUESTION, *options])
    assert result.exit_code == 0, result.stderr
    return result, Path("trace.jsonl").read_text(encoding="utf-8")


def spans_of(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_trace_tells_rounds_requests_judge_and_agents_in_one_tree(answered: tuple[Result, str]) -> None:
    spans = spans_of(answered[1])
    names = {span["name"] for span in spans}

    assert {"research", "round 1", "invoke_agent literature"} <= names
    assert {"execute_tool search_pubmed", "invoke_agent judge"} <= names
    assert len({span["context"]["trace_id"] for span in spans}) == 1
    known = {span["context"]["span_id"] for span in spans}
    assert [span["name"] for span in spans if span["parent_id"] not in known] == ["research"]
    (first,) = [span for span in spans if span["name"] == "round 1"]
    assert first["attributes"]["willowbark.judge.recommendation"] == "synthesize"
    assert 0 <= first["attributes"]["willowbark.judge.confidence"] <= 1


def test_neither_trace_nor_log_holds_a_key_and_the_trace_no_text(answered: tuple[Result, str]) -> None:
    result, trace = answered
    papers = recorded_papers()
    texts = [text for each in papers for text in (each["title"], each["abstract"][:40])]

    assert KEY not in trace + result.stderr
    assert [each for each in papers if each["title"] in result.stdout], "no record was read: the test says nothing"
    assert not [text for text in (QUESTION, "migraine", *texts) if text in trace]
    assert not [text for text in texts if text in result.stderr]


def test_the_log_is_one_json_object_a_line_and_takes_the_progress_lines_place(answered: tuple[Result, str]) -> None:
    lines = [
        line for line in answered[0].stderr.splitlines() if not line.startswith(("Run folder", "Next: ", "willowbark:"))
    ]
    events = [json.loads(line) for line in lines]

    assert {"started", "judge_complete", "complete"} <= {event["event"] for event in events}
    assert [event for event in events if not (event["level"] and event["timestamp"])] == []


async def test_a_failed_request_is_a_span_with_an_error(tmp_path: Path) -> None:
    faults = FaultPlan(faults=[Fault(kind="status", status=500, source="chembl")])
    with FaultyServer(faults=faults) as server, trace_file(tmp_path / "t.jsonl"):
        settings = Settings.load().overridden({**QUICK, "research.max_iterations": 2})
        endpoints = Endpoints.at(server.url)
        stream = research_stream(QUESTION, settings=settings, endpoints=endpoints, recorder=SpanRecorder())
        events = [event async for event in traced(stream)]
    assert (events[0].type, events[-1].type) == ("started", "complete")

    failed = [s for s in spans_of((tmp_path / "t.jsonl").read_text(encoding="utf-8")) if s["status"] == "ERROR"]
    answered = [span for span in failed if span["attributes"].get("error.type") != "no_answer"]  # slow ones may be cut
    assert {span["name"] for span in answered} == {"GET chembl"}
    assert {span["attributes"]["error.type"] for span in answered} == {"500"}


def test_what_went_wrong_in_a_library_stays_out_of_the_file(tmp_path: Path) -> None:
    from opentelemetry import trace

    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search_pubmed"}  # the first is required
    hidden = {"gen_ai.prompt.0.content": "canary", "gen_ai.system_instructions": "canary"}
    chat = trace.get_tracer("a library").start_as_current_span("chat", attributes=told | hidden)
    with trace_file(tmp_path / "t.jsonl"), pytest.raises(ValueError, match="canary"), chat:
        raise ValueError("canary")
    (line,) = spans_of((tmp_path / "t.jsonl").read_text(encoding="utf-8"))

    assert (line["name"], line["status"]) == ("chat", "ERROR")
    assert line["attributes"] == told
    assert "canary" not in json.dumps(line)


def test_spans_hold_no_query_of_an_address(tmp_path: Path) -> None:
    with trace_file(tmp_path / "t.jsonl"):
        url = "https://pubmed.example.invalid/search?term=canary&api_key=canary"
        SpanRecorder().exchanged(Exchange("pubmed", "GET", url, 1, None, 0.1, "ended by canary"))

    assert "canary" not in (tmp_path / "t.jsonl").read_text(encoding="utf-8")


def test_logs_keep_numbers_of_model_calls_and_mask_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    call = LLMCallEvent(
        messages=[{"content": "canary-prompt"}],
        response={"content": "canary-answer"},
        prompt_tokens=12,
        completion_tokens=3,
    )
    with logged(2, as_json=True, environ={"OPENAI_API_KEY": KEY}):
        logging.getLogger("autogen_core.events").info(call)
        logging.getLogger("willowbark.tools").info("sent %s", KEY)

    first, second = map(json.loads, capsys.readouterr().err.splitlines())
    assert (first["event"], first["prompt_tokens"]) == ("LLMCall", 12)
    assert "canary" not in json.dumps(first)
    assert second["event"] == "sent [key]"


def test_nothing_is_logged_unless_asked_and_nothing_stays_set(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.getLogger("willowbark.tools")
    with logged(0):
        log.info("canary")
    with logged(1):
        log.info("told")
    log.info("canary")

    err = capsys.readouterr().err
    assert "told" in err
    assert "canary" not in err
    assert logging.getLogger("willowbark").handlers == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_costs_the_trace_and_not_the_run() -> None:
    with trace_file(Path("/dev/full")):
        for _ in range(2):
            SpanRecorder().exchanged(Exchange("pubmed", "GET", "https://pubmed.example.invalid/", 1, 200, 0.1))
