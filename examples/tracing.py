"""OpenTelemetry: AutoGen's spans and Willowbark's, a line each on stderr (`pip install '.[trace]'`).

Put an OTLP exporter in the place of the console's to send them to a collector. The command line writes them to a file:
`willowbark ask --trace trace.jsonl "…"`.
"""

import asyncio
import os
import sys
from contextlib import suppress

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

from willowbark import WillowbarkError
from willowbark.teams import research_stream
from willowbark.teams.run.trace import SpanRecorder, traced

QUESTION = "Which existing drugs could prevent migraine attacks?"


def line(span: ReadableSpan) -> str:
    """A span in one line."""
    milliseconds = ((span.end_time or 0) - (span.start_time or 0)) / 1e6
    return f"{milliseconds:8.1f} ms  {span.name}\n"


async def main() -> None:
    """Run with spans, and print the summary."""
    async for event in traced(research_stream(QUESTION, recorder=SpanRecorder())):
        if event.report is not None:
            print(event.report.executive_summary)


os.environ["AUTOGEN_DISABLE_RUNTIME_TRACING"] = "true"  # leaves out AutoGen's hundreds of message spans
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=sys.stderr, formatter=line)))
trace.set_tracer_provider(provider)
with suppress(KeyboardInterrupt):  # Ctrl-C ends it without a traceback
    try:
        asyncio.run(main())
    except WillowbarkError as problem:  # no network, say: one line says what to do
        sys.exit(str(problem))
