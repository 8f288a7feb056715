"""A file of a run's spans, for `willowbark ask --trace FILE`; needs the extra `trace`.

One line of JSON a span, written when the span ends. Only numbers and names get into the file: what libraries add of
messages, arguments, results or exceptions is left out.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

from willowbark.tools.errors import UsageError

_SHOWN = ("gen_ai.", "http.", "server.", "url.path", "error.type", "willowbark.")
_NEVER = ("message", "prompt", "completion", "instructions", "arguments", "result", "content", "description")
_TOKENS = {"gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens"}
_LONGEST_VALUE = 200  # characters of an attribute in the file
_RUNTIME_SPANS_OFF = "AUTOGEN_DISABLE_RUNTIME_TRACING"


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
