"""The forms that a report has by itself: Markdown, JSON, and the schema of that JSON."""

import json

from willowbark.agents.report.model import ResearchReport


def as_markdown(report: ResearchReport) -> bytes:
    """The report as Markdown."""
    return report.to_markdown().encode()


def as_json(report: ResearchReport) -> bytes:
    """The report as JSON, with a line break at its end."""
    return f"{report.to_json()}\n".encode()


def as_schema(report: ResearchReport) -> bytes:
    """The JSON Schema (draft 2020-12) that every report's JSON follows."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **type(report).model_json_schema(mode="serialization"),
    }
    return f"{json.dumps(schema, indent=2)}\n".encode()
