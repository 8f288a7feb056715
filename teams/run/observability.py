"""Traces of a run, with OpenTelemetry; off by default.

AutoGen makes spans of its own: agents, tools, messages (`gen_ai.*`, https://opentelemetry.io/docs/specs/semconv/gen-ai/).
Here are those for the run, its rounds, the judge, the report, and every request to a source. They hold numbers and
names; questions, queries, records, answers and keys never enter them.

    willowbark ask --trace trace.jsonl "…"

writes a line of JSON a span, when the span ends; what libraries add of messages, arguments, results or exceptions is
left out of it. Needs the extra `trace`.

In Python, set up any tracer provider before the run, and hand the run's events and recorder through this module:

    async for event in traced(research_stream(question, recorder=span_recorder())): …
"""

import json
import os
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

from opentelemetry import context, trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer

from willowbark import __version__
from willowbark.agents.assessment import JudgeAssessment
from willowbark.agents.report.model import ResearchReport
from willowbark.tools.errors import UsageError
from willowbark.tools.http.transport import Exchange, Recorder
from willowbark.tools.search import SourceReply

from ..events import AgentEvent

Attributes = Mapping[str, str | int | float]
_SHOWN = ("gen_ai.", "http.", "server.", "url.path", "error.type", "willowbark.")
_NEVER = ("message", "prompt", "completion", "instructions", "arguments", "result", "content", "description")
_TOKENS = {"gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens"}
_LONGEST_VALUE = 200  # characters of an attribute in the file
_RUNTIME_SPANS_OFF = "AUTOGEN_DISABLE_RUNTIME_TRACING"


def _tracer() -> Tracer:
    return trace.get_tracer("willowbark", __version__)


class SpanRecorder:
    """A recorder that makes a span of every exchange with a source.

    Args:
        inner: gets every exchange too; None for nobody.
    """

    def __init__(self, inner: Recorder | None = None) -> None:
        self._inner = inner

    def exchanged(self, exchange: Exchange) -> None:
        """Make a span of one exchange."""
        _span_of(exchange)
        if self._inner is not None:
            self._inner.exchanged(exchange)


def span_recorder(inner: Recorder | None = None) -> Recorder:
    """A recorder that makes spans and hands everything on to `inner`; None for nobody."""
    return SpanRecorder(inner)


def _span_of(exchange: Exchange) -> None:
    end = time.time_ns()
    parts = urlsplit(exchange.url)  # the query stays out: it says what people asked
    attributes: dict[str, str | int] = {
        "willowbark.source": exchange.source,
        "http.request.method": exchange.method,
        "http.request.resend_count": exchange.attempt - 1,
        "http.response.body.size": exchange.received_bytes,
        "server.address": parts.hostname or "",
        "url.path": parts.path,
    }
    if exchange.status is not None:
        attributes["http.response.status_code"] = exchange.status
    span = _tracer().start_span(
        f"{exchange.method} {exchange.source}",
        kind=SpanKind.CLIENT,
        attributes=attributes,
        start_time=end - int(exchange.elapsed_s * 1e9),
    )
    if exchange.error is not None:
        span.set_attribute("error.type", str(exchange.status or "no_answer"))
        span.set_status(Status(StatusCode.ERROR))
    span.end(end)


async def traced(events: AsyncGenerator[AgentEvent, None]) -> AsyncGenerator[AgentEvent, None]:
    """Pass on a run's events, making spans of the run, its rounds, the judge's verdicts and the report."""
    with _tracer().start_as_current_span("research", record_exception=False, set_status_on_exception=False) as run:
        course = _Course(run)
        async with aclosing(events):
            try:
                async for event in events:
                    course.note(event)
                    yield event
            finally:
                course.end()


class _Course:
    """The spans of one run: what is open now, and since when the judge or the writer has been at work."""

    def __init__(self, run: Span) -> None:
        self._run = run
        self._inside = trace.set_span_in_context(run, context.get_current())
        self._round: Span | None = None
        self._searched = 0
        self._turn_began: datetime = datetime.now(UTC)

    def note(self, event: AgentEvent) -> None:
        if event.type == "started":
            self._open_round(1, event.timestamp)
        elif event.type == "search_complete" and isinstance(event.data, SourceReply):
            self._searched += len(event.data.records)
        elif event.type in ("progress", "synthesizing"):
            self._turn_began = event.timestamp
        elif event.type == "judge_complete" and isinstance(event.data, JudgeAssessment):
            self._judged(event, event.data)
        elif event.type == "looping":
            self._open_round(event.iteration, event.timestamp)
        elif event.type == "complete" and isinstance(event.data, ResearchReport):
            self._reported(event, event.data)
        elif event.type == "error":
            self._run.set_status(Status(StatusCode.ERROR))

    def end(self) -> None:
        if self._round is not None:
            self._round.end()

    def _open_round(self, number: int, moment: datetime) -> None:
        self._searched = 0
        self._round = _tracer().start_span(
            f"round {number}", self._inside, attributes={"willowbark.round": number}, start_time=_ns(moment)
        )

    def _judged(self, event: AgentEvent, verdict: JudgeAssessment) -> None:
        attributes: Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "judge",
            "willowbark.round": verdict.iteration,
            "willowbark.judge.recommendation": verdict.recommendation,
            "willowbark.judge.confidence": verdict.confidence,
            "willowbark.judge.mechanism_score": verdict.details.mechanism_score,
            "willowbark.judge.candidates_score": verdict.details.candidates_score,
            "willowbark.judge.gaps": len(verdict.gaps),
            "willowbark.judge.stop_reason": verdict.stop_reason or "none",
            "willowbark.tokens_used": verdict.tokens_used,
        }
        self._piece("judge", attributes, event)
        if self._round is not None:
            self._round.set_attribute("willowbark.records", self._searched)
            self._round.end(_ns(event.timestamp))
            self._round = None

    def _reported(self, event: AgentEvent, report: ResearchReport) -> None:
        attributes: Attributes = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": "report",
            "willowbark.report.candidates": len(report.candidates),
            "willowbark.report.references": len(report.references),
            "willowbark.report.claims_kept": report.claims_kept,
            "willowbark.report.claims_dropped": report.claims_dropped,
        }
        self._piece("report", attributes, event)
        self._run.set_attribute("willowbark.stop_reason", report.stop_reason)
        self._run.set_attribute("willowbark.rounds", report.search_iterations)
        self._run.set_attribute("willowbark.tokens_used", report.tokens_used)

    def _piece(self, name: str, attributes: Attributes, event: AgentEvent) -> None:
        parent = trace.set_span_in_context(self._round) if self._round is not None else self._inside
        span = _tracer().start_span(name, parent, attributes=dict(attributes), start_time=_ns(self._turn_began))
        span.end(_ns(event.timestamp))


def _ns(moment: datetime) -> int:
    return int(moment.timestamp() * 1e9)


@contextmanager
def trace_file(path: Path) -> Iterator[None]:
    """Have the spans of this process written to a file while this is open: a line of JSON each.

    Args:
        path: written anew.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        file = path.open("w", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); name another file with --trace") from None
    with file:
        provider = trace.get_tracer_provider()
        if not isinstance(provider, TracerProvider):
            provider = TracerProvider()
            trace.set_tracer_provider(provider)
        exporter = SpanLines(file)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        before = os.environ.get(_RUNTIME_SPANS_OFF)
        os.environ.setdefault(_RUNTIME_SPANS_OFF, "true")  # AutoGen's own switch: hundreds of spans of message passing
        try:
            yield
        finally:
            exporter.shutdown()
            if before is None:
                del os.environ[_RUNTIME_SPANS_OFF]


class SpanLines(SpanExporter):
    """Writes spans as lines of JSON: name, time, place in the tree, and the attributes that may be shown.

    What libraries add of messages, arguments, results or exceptions is left out.
    """

    def __init__(self, file: TextIO) -> None:
        self._file: TextIO | None = file

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Write some spans."""
        if self._file is not None:
            for span in spans:
                self._file.write(json.dumps(_line(span), ensure_ascii=False) + "\n")
            self._file.flush()
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Write nothing from now on."""
        self._file = None

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Every line is written at once."""
        return True


def _line(span: ReadableSpan) -> dict[str, Any]:
    began, ended = span.start_time or 0, span.end_time or 0
    return {
        "name": span.name,
        "start": datetime.fromtimestamp(began / 1e9, UTC).isoformat(timespec="milliseconds"),
        "duration_ms": round((ended - began) / 1e6, 1),
        "status": span.status.status_code.name.lower(),
        "trace_id": trace.format_trace_id(span.context.trace_id) if span.context else None,
        "span_id": trace.format_span_id(span.context.span_id) if span.context else None,
        "parent_id": trace.format_span_id(span.parent.span_id) if span.parent else None,
        "attributes": {name: _short(value) for name, value in (span.attributes or {}).items() if _may_be_shown(name)},
    }


def _may_be_shown(name: str) -> bool:
    """Whether an attribute is a number or a name, by what it is called.

    >>> _may_be_shown("gen_ai.tool.name"), _may_be_shown("gen_ai.tool.call.arguments")
    (True, False)
    """
    return name.startswith(_SHOWN) and (name in _TOKENS or not any(word in name for word in _NEVER))


def _short(value: Any) -> Any:
    return value[:_LONGEST_VALUE] if isinstance(value, str) else value
