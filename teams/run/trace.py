"""OpenTelemetry traces of a run; off by default, needs the extra `trace`.

AutoGen creates spans itself: agents, tools, messages (`gen_ai.*`, https://opentelemetry.io/docs/specs/semconv/gen-ai/).
This module adds spans for the run, its rounds, and every request to a source. They contain numbers and names, never
questions, queries, records, answers or keys.

    async for event in traced(research_stream(question, recorder=SpanRecorder())): …
"""

import json
import os
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager, suppress
from io import RawIOBase
from pathlib import Path
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.trace import Span, SpanKind, StatusCode

from willowbark.tools.errors import UsageError
from willowbark.tools.http.transport import Exchange

from ..events import AgentEvent

_RUNTIME_SPANS_OFF = "AUTOGEN_DISABLE_RUNTIME_TRACING"
_ATTRIBUTES = tuple("willowbark. http. server.address url.path error.type".split())
_ATTRIBUTES += ("gen_ai.operation.name", "gen_ai.agent.name", "gen_ai.tool.name")
"""Beginnings of the attributes that the file holds: libraries may put prompts into others."""
_tracer = trace.get_tracer("willowbark")


class SpanRecorder:
    """A recorder that creates a span for every exchange with a source."""

    def exchanged(self, exchange: Exchange) -> None:
        """Create a span for one exchange."""
        end = time.time_ns()
        address = urlsplit(exchange.url)  # without the query, which reveals the question
        span = _tracer.start_span(
            f"{exchange.method} {exchange.source}",
            kind=SpanKind.CLIENT,
            attributes={
                "willowbark.source": exchange.source,
                "http.request.method": exchange.method,
                "http.request.resend_count": exchange.attempt - 1,
                "http.response.body.size": len(exchange.body),
                "http.response.status_code": exchange.status or 0,
                "server.address": address.hostname or "",
                "url.path": address.path,
            },
            start_time=end - int(exchange.elapsed_s * 1e9),
        )
        if exchange.error is not None:
            span.set_attribute("error.type", str(exchange.status or "no_answer"))
            span.set_status(StatusCode.ERROR)
        span.end(end)


async def traced(events: AsyncGenerator[AgentEvent, None]) -> AsyncGenerator[AgentEvent, None]:
    """Pass on a run's events, with a span for the run and for each round that holds figures of verdict and report."""
    with _tracer.start_as_current_span("research", record_exception=False, set_status_on_exception=False) as run:
        inside = trace.set_span_in_context(run)
        a_round: Span = trace.INVALID_SPAN
        async with aclosing(events):
            async for event in events:
                if event.type in ("started", "looping"):
                    a_round = _tracer.start_span(f"round {event.iteration or 1}", inside)
                elif (verdict := event.verdict) is not None:
                    a_round.set_attribute("willowbark.judge.recommendation", verdict.recommendation)
                    a_round.set_attribute("willowbark.judge.confidence", verdict.confidence)
                    a_round.set_attribute("willowbark.judge.gaps", len(verdict.gaps))
                    a_round.end()
                elif (report := event.report) is not None:
                    run.set_attribute("willowbark.stop_reason", report.stop_reason)
                    run.set_attribute("willowbark.tokens_used", report.tokens_used)
                    run.set_attribute("willowbark.report.candidates", len(report.candidates))
                elif event.type == "error":
                    run.set_status(StatusCode.ERROR)
                yield event
        a_round.end()  # no second time if it ended with its verdict


@contextmanager
def trace_file(path: Path) -> Iterator[None]:
    """Write this process's spans to a file, anew, while this is open: one line of JSON each.

    Raises:
        UsageError: the file cannot be written.
    """
    try:
        file = path.open("wb", buffering=0)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written ({error.strerror}); name another file with --trace") from None
    with file:
        provider = trace.get_tracer_provider()
        if not isinstance(provider, TracerProvider):
            provider = TracerProvider()
            trace.set_tracer_provider(provider)
        provider.add_span_processor(_SpanLines(file))
        os.environ.setdefault(_RUNTIME_SPANS_OFF, "true")  # AutoGen's own switch: hundreds of spans of message passing
        yield


class _SpanLines(SpanProcessor):
    """Writes spans as lines of JSON, without the exceptions that libraries add: their words may hold a query."""

    def __init__(self, file: RawIOBase) -> None:
        self._file = file

    def on_end(self, span: ReadableSpan) -> None:
        if self._file.closed:  # a processor cannot be taken away again
            return
        line = json.loads(span.to_json())
        del line["events"], line["links"], line["resource"]
        line["status"] = span.status.status_code.name
        line["attributes"] = {name: value for name, value in line["attributes"].items() if name.startswith(_ATTRIBUTES)}
        with suppress(OSError):  # a full disk costs the trace, not the run
            self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
