"""What model servers of tests answer that write what they read, and check it."""

import json
import re
from typing import Any

from autogen_core.models import UserMessage
from benchmarks.prompt_tokens import agree_with_all, quote_passages, repeat_passages
from builders import study_draft

Body = dict[str, Any]


def kind_of(body: Body) -> str:
    """What a request asks: `choice`, a draft by name, or `word` for one word."""
    form = body.get("response_format") or {}
    if form.get("type") == "json_schema":
        return str(form["json_schema"]["name"])
    said = json.dumps([body.get("system"), body["messages"]])
    for name, field in (
        ("StudiesDraft", "equivalence"),
        ("JudgeDraft", "mechanism_score"),
        ("FitsDraft", "fits"),
        ("ReportDraft", "claims"),
        ("WrittenDraft", "would_change"),
        ("CheckDraft", "borne_out"),
    ):
        if f'\\"{field}\\"' in said and "of this schema" in said:
            return name
    return "choice" if body.get("tools") else "word"


def written_by(body: Body) -> str:
    """What a model answers that writes what it reads, and a checker that bears all out; empty for other requests."""
    if kind_of(body) == "FitsDraft":
        return json.dumps(fits_all(body))
    answers = {"WrittenDraft": repeat_passages, "CheckDraft": agree_with_all, "ReportDraft": quote_passages}
    answer = answers.get(kind_of(body))
    return json.dumps(answer([UserMessage(content=said_in(body), source="user")])) if answer else ""


def fits_all(body: Body) -> dict[str, Any]:
    """The word that every topic is on what is asked."""
    numbers = re.findall(r'^\{"(\d+)": ', said_in(body), re.MULTILINE)
    return {"fits": [{"number": int(number), "condition": "yes", "people": "yes"} for number in numbers]}


def reads_all(body: Body) -> dict[str, Any]:
    """Studies that compare nothing, one for each record that a request shows."""
    lines = [json.loads(line) for line in said_in(body).splitlines() if line.startswith('{"key"')]
    return {"studies": [study_draft(evidence_key=line["key"], arms=[]) for line in lines]}


def said_in(body: Body) -> str:
    """All that a user said."""
    contents = [each["content"] for each in body["messages"] if each["role"] == "user"]
    blocks = [block for each in contents for block in (each if isinstance(each, list) else [{"text": each}])]
    return "\n".join(block.get("text", "") for block in blocks)
