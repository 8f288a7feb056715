"""OpenTelemetry traces of a run; off by default, needs the extra `trace`.

AutoGen creates spans itself: agents, tools, messages (`gen_ai.*`, https://opentelemetry.io/docs/specs/semconv/gen-ai/).
This module adds spans for the run, its rounds, and every request to a source. They contain numbers and names, never
questions, queries, records, answers or keys.

    async for event in traced(research_stream(question, recorder=SpanRecorder())): …
"""

import json
import logging
import os
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.trace import Span, SpanKind, StatusCode

from willowbark.tools.errors import UsageError
from willowbark.tools.http.transport import Exchange

from ..events import AgentEvent

_SHOWN = ("gen_ai.", "http.", "server.", "url.path", "error.type", "willowbark.")
_NEVER = ("message", "prompt", "completion", "instructions", "arguments", "result", "content", "description")
_TOKENS = {"gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens"}
_LONGEST_VALUE = 200  # characters of an attribute in the file
_RUNTIME_SPANS_OFF = "AUTOGEN_DISABLE_RUNTIME_TRACING"
_tracer = trace.get_tracer("willowbark")
_log = logging.getLogger("willowbark.run")


class SpanRecorder:
    """A recorder that creates a span for every exchange with a source."""

    def exchanged(self, exchange: Exchange) -> None:
        """Create a span for one exchange."""
        end, address = time.time_ns(), urlsplit(exchange.url)  # without the query, which reveals the question
        span = _tracer.start_span(
            f"{exchange.method} {exchange.source}",
            kind=SpanKind.CLIENT,
            attributes={
                "willowbark.source": exchange.source,
                "http.request.method": exchange.method,
                "http.request.resend_count": exchange.attempt - 1,
                "http.response.body.size": exchange.received_bytes,
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
                    figures: dict[str, str | float] = {"judge.recommendation": verdict.recommendation}
                    figures |= {"judge.confidence": verdict.confidence, "judge.gaps": len(verdict.gaps)}
                    figures |= {"tokens_used": verdict.tokens_used}
                    a_round.set_attributes({f"willowbark.{name}": value for name, value in figures.items()})
                    a_round.end()
                elif (report := event.report) is not None:
                    figures = {"stop_reason": report.stop_reason, "rounds": report.search_iterations}
                    figures |= {"tokens_used": report.tokens_used, "report.candidates": len(report.candidates)}
                    figures |= {"report.references": len(report.references)}
                    run.set_attributes({f"willowbark.{name}": value for name, value in figures.items()})
                elif event.type == "error":
                    run.set_status(StatusCode.ERROR)
                yield event
        if a_round.is_recording():  # stopped before its verdict
            a_round.end()


@contextmanager
def trace_file(path: Path) -> Iterator[None]:
    """Write this process's spans to a file, anew, while this is open: one line of JSON each.

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
        provider.add_span_processor(_SpanLines(file))
        os.environ.setdefault(_RUNTIME_SPANS_OFF, "true")  # AutoGen's own switch: hundreds of spans of message passing
        yield


class _SpanLines(SpanProcessor):
    """Writes spans as lines of JSON, without the messages, arguments, results or exceptions that libraries add."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def on_end(self, span: ReadableSpan) -> None:
        if self._file.closed:  # a processor cannot be taken away again
            return
        began, ended = span.start_time or 0, span.end_time or 0
        line = {
            "name": span.name,
            "start": datetime.fromtimestamp(began / 1e9, UTC).isoformat(timespec="milliseconds"),
            "duration_ms": round((ended - began) / 1e6, 1),
            "status": span.status.status_code.name.lower(),
            "trace_id": trace.format_trace_id(span.context.trace_id) if span.context else None,
            "span_id": trace.format_span_id(span.context.span_id) if span.context else None,
            "parent_id": trace.format_span_id(span.parent.span_id) if span.parent else None,
            "attributes": {
                name: value[:_LONGEST_VALUE] if isinstance(value, str) else value
                for name, value in (span.attributes or {}).items()
                if name.startswith(_SHOWN) and (name in _TOKENS or not any(word in name for word in _NEVER))
            },
        }
        try:
            self._file.write(json.dumps(line, ensure_ascii=False) + "\n")
            self._file.flush()
        except OSError as error:  # a full disk costs the trace, not the run
            _log.warning("the trace ends here: %s", error.strerror)
            with suppress(OSError):  # it tries to write once more
                self._file.close()
