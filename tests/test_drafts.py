"""What models are asked for: schemas that every provider takes, bounds that hold whoever keeps to them."""

import json
from importlib.util import find_spec
from typing import Any

import pytest
from autogen_core.models import UserMessage
from builders import QUESTION
from openai_server import Answer, OpenAIServer, rote, strict_problem
from pydantic import ValidationError
from starlette.responses import Response
from writing_model import written_by

from willowbark.agents.asking import ask
from willowbark.agents.asking.drafts import (
    CheckDraft,
    Draft,
    DrugDraft,
    JudgeDraft,
    MendedDraft,
    ReportDraft,
    StudiesDraft,
    WrittenDraft,
    make_strict,
)
from willowbark.agents.asking.fits import FitsDraft
from willowbark.teams.config import LLMSettings, Settings
from willowbark.teams.model_clients import close, model_client
from willowbark.teams.run.research import research

REPETITIONS = 2000  # of anything in a grammar, from which llama.cpp refuses it
DRAFTS = (StudiesDraft, FitsDraft, JudgeDraft, ReportDraft, WrittenDraft, MendedDraft, CheckDraft)
each_draft = pytest.mark.parametrize("draft", DRAFTS)
needs_openai = pytest.mark.skipif(find_spec("openai") is None, reason="willowbark[openai] is not installed")


@each_draft
def test_openais_strict_mode_has_no_objection(draft: type[Draft]) -> None:
    assert strict_problem(make_strict(draft.model_json_schema())) is None


def test_the_rules_of_strict_mode_bite() -> None:
    assert "'maxItems' is not permitted" in str(strict_problem(JudgeDraft.model_json_schema()))
    counts = {"type": "object", "additionalProperties": {"type": "integer"}}
    whole = {"type": "object", "properties": {"counts": counts}, "required": ["counts"], "additionalProperties": False}
    assert "additionalProperties" in str(strict_problem(whole))


@each_draft
def test_llama_cpp_can_make_a_grammar_of_it(draft: type[Draft]) -> None:
    assert _unbounded(draft.model_json_schema()) == []


def _unbounded(schema: Any, place: str = "") -> list[str]:
    """Where a schema lets a model write for ever, or asks for more repetitions than llama.cpp makes."""
    if isinstance(schema, list):
        return [problem for item in schema for problem in _unbounded(item, place)]
    if not isinstance(schema, dict):
        return []
    most = {"string": "maxLength", "array": "maxItems"}.get(str(schema.get("type")))
    unbounded = most is not None and "enum" not in schema and not 0 < schema.get(most, 0) < REPETITIONS
    below = [problem for name, inner in schema.items() for problem in _unbounded(inner, f"{place}/{name}")]
    return [*([place] if unbounded else []), *below]


def test_reasons_come_before_scores_and_quotes_before_what_they_are_taken_for() -> None:
    judged, claimed = list(JudgeDraft.model_fields), ReportDraft.model_json_schema()["$defs"]["ClaimDraft"]["required"]
    assert judged.index("mechanism_reasoning") < judged.index("mechanism_score")
    assert judged.index("clinical_reasoning") < judged.index("clinical_evidence_score")
    assert judged.index("reasoning") < judged.index("confidence") < judged.index("is_enough")
    assert list(DrugDraft.model_fields).index("domains") < list(DrugDraft.model_fields).index("level")
    assert claimed.index("quote") < claimed.index("stance")


def test_what_is_beyond_its_bounds_is_cut_not_refused() -> None:
    long = rote(make_strict(JudgeDraft.model_json_schema()))
    endless = [{"closes": "x", "specialist": "literature", "query": "migraine OR " * 150}] * 40
    gaps = ["x" * 5000] * 200
    long |= {"gaps": gaps, "reasoning": "y" * 1_000_000, "next_searches": endless}
    draft = JudgeDraft.model_validate(long)
    assert (len(draft.gaps), len(draft.gaps[0]), len(draft.reasoning)) == (12, 400, 1200)
    assert len(draft.next_searches) == 40
    with pytest.raises(ValidationError):
        JudgeDraft.model_validate({})


def by_rote(body: dict[str, Any]) -> Answer | Response:
    """Calls each search tool once; fills in every schema."""
    form = body.get("response_format", {})
    if form.get("type") == "json_schema":
        return written_by(body) or json.dumps(rote(form["json_schema"]["schema"]))
    tools = [tool["function"]["name"] for tool in body.get("tools") or []]
    if tools and body.get("tool_choice") != "none" and body["messages"][-1]["role"] != "tool":
        return {name: {"query": "migraine"} for name in tools if name.startswith("search_")}
    return "Records came in."


@pytest.mark.whole
@needs_openai
@pytest.mark.filterwarnings("ignore:Resolved model mismatch")
@pytest.mark.parametrize("own", [False, True], ids=["at OpenAI's", "at an address of one's own"])
async def test_no_call_of_the_whole_team_is_refused(own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    server = OpenAIServer(by_rote, takes_bounds=own)
    with server.running() as url:
        llm = LLMSettings(model="openai/gpt-4.1-mini", base_url=url if own else None, structured_output=own or None)
        settings = Settings(llm=llm)
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        client = model_client(llm.model, settings, {"OPENAI_API_KEY": "good"})
        report = await research(QUESTION, settings=settings, model_client=client, offline=True, max_iterations=2)
        await close(client)
    asked = [body["response_format"]["json_schema"]["name"] for body in server.bodies if "response_format" in body]
    assert {"StudiesDraft", "JudgeDraft", "WrittenDraft"} <= set(asked)
    assert server.refused == []
    schemas = json.dumps([body.get("response_format", {}) for body in server.bodies])
    assert ("maxLength" in schemas) == own
    assert [
        line
        for line in report.limitations
        if line.startswith(("judge: the model", "literature:", "trials:", "mechanism:"))
    ] == []


@needs_openai
@pytest.mark.filterwarnings("ignore:Resolved model mismatch")
async def test_a_schema_that_is_refused_is_put_in_words() -> None:
    server = OpenAIServer(lambda body: json.dumps({"claims": []}))  # refuses bounds, at an address of its own
    with server.running() as url:
        settings = Settings(llm=LLMSettings(base_url=url, structured_output=True))
        client = model_client("openai/served", settings, {})
        answer = await ask([client], [UserMessage(content="Which?", source="user")], ReportDraft)
        await close(client)
    assert (answer.given, len(server.refused), answer.usage.completion_tokens) == (ReportDraft(claims=[]), 1, 7)
    assert "claims" in json.dumps(server.bodies[1]["messages"])
