"""A model may ask the collected records before it answers: bounded, told, and only where it is wanted."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from autogen_core import CancellationToken, FunctionCall
from autogen_core.models import (
    CreateResult,
    FunctionExecutionResultMessage,
    LLMMessage,
    RequestUsage,
    SystemMessage,
    UserMessage,
)
from benchmarks.prompt_tokens import StandIn
from builders import TRIAL, calling, record, scripted
from openai_server import strict_problem
from pydantic import BaseModel

from willowbark.agents.asking import MAX_CALLS, MAX_LOOKUPS, Aids, ask
from willowbark.agents.autogen import ShortResults, ToolCallRequestEvent
from willowbark.teams.ledger import Ledger
from willowbark.teams.run.history import strip_clock
from willowbark.teams.run.options import RunOptions
from willowbark.teams.run.research import replay, research_stream
from willowbark.tools.library.collected import CollectedEvidence
from willowbark.tools.records.enclosure import new_marker
from willowbark.tools.toolbox import SHOWN, SHOWN_CHARACTERS, AskRecords

pytestmark = pytest.mark.whole

MANY = [record(str(n), f"Timolol {n}", "Timolol lowered attacks in adults. " * 30) for n in range(1, 30)]


def tool(*records: Any) -> AskRecords:
    collected = CollectedEvidence()
    collected.ingest(records)
    return AskRecords(collected, new_marker())


async def said(asked_tool: AskRecords, query: str) -> str:
    return asked_tool.return_value_as_string(await asked_tool.run_json({"query": query}, CancellationToken()))


async def test_passages_come_as_a_bounded_block_with_their_keys_and_where_they_stand() -> None:
    text = await said(tool(TRIAL), "propranolol in migraine")
    lines = [json.loads(line) for line in (await said(tool(*MANY), "timolol")).split("\n") if line.startswith("{")]

    assert text.startswith("<records ")
    assert '"key": "pmid:1", "year": 2001, "section": "Abstract"' in text
    assert '{"matching": 1, "truncated": false}' in text
    assert lines[0] == {"matching": 29, "truncated": True}
    assert len(lines) == 1 + SHOWN
    assert [line for line in lines[1:] if len(line["passage"]) > SHOWN_CHARACTERS] == []


def test_its_schema_is_one_that_strict_providers_take() -> None:
    kept = tool()

    assert len(json.dumps(kept.schema)) < 420
    assert kept.schema["strict"] is True
    assert kept.schema["parameters"]["additionalProperties"] is False
    assert strict_problem(kept.schema["parameters"]) is None


class Verdict(BaseModel):
    drug: str


GOOD = '{"drug": "timolol"}'


async def asked_with(*answers: Any, structured: bool = True) -> tuple[Verdict, RequestUsage, Aids, Any]:
    client, aids = scripted(*answers, structured=structured), Aids([tool(*MANY)], "judge")
    answer = await ask([client], [UserMessage(content="Which?", source="user")], Verdict, aids=aids)
    assert answer.given is not None
    return answer.given, answer.usage, aids, client


@pytest.mark.parametrize("structured", [True, False], ids=["takes a schema", "takes none"])
@pytest.mark.parametrize("times", [1, MAX_LOOKUPS])
async def test_a_model_asks_and_answers_and_one_that_asks_for_ever_is_made_to(times: int, structured: bool) -> None:
    asking = (calling("ask_records", "timolol") for _ in range(times))
    found, usage, aids, client = await asked_with(*asking, GOOD, structured=structured)

    assert found.drug == "timolol"
    assert usage.prompt_tokens >= 10
    assert [type(event) for event in aids.events] == [ToolCallRequestEvent, ShortResults] * times
    assert len(client.create_calls) == times + 1
    last = next(m for m in client.create_calls[1]["messages"] if isinstance(m, FunctionExecutionResultMessage))
    assert "Timolol lowered attacks" in last.content[0].content


async def test_calls_that_cannot_be_made_are_told_to_the_model() -> None:
    crowd = calling("ask_records", *["timolol"] * (MAX_CALLS + 1))
    odd = calling("ask_records", "what is it?")
    odd.content = [
        FunctionCall(id="1", name="rm", arguments="{}"),
        FunctionCall(id="2", name="ask_records", arguments="{"),
        *odd.content,
    ]
    _, _, aids, _ = await asked_with(crowd, odd, GOOD)

    results = [each for event in aids.events if isinstance(event, ShortResults) for each in event.content]
    assert [each.is_error for each in results] == [False] * MAX_CALLS + [True] * 4
    assert results[MAX_CALLS].content == f"not made: at most {MAX_CALLS} calls at once"
    assert [each.content for each in results[-3:-1]] == ["there is no such tool", "unusable arguments"]
    assert "names nothing to look for" in results[-1].content


class Asking(StandIn):
    """A stand-in that asks the records whenever it may, before it judges or writes."""

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        """Ask once, then answer."""
        offered = [each["name"] if isinstance(each, dict) else each.name for each in options.get("tools", ())]
        if "ask_records" in offered and isinstance(messages[-1], UserMessage):
            return calling("ask_records", "propranolol attacks")
        if "ask_records" in offered:
            options = {name: value for name, value in options.items() if name != "tools"}
            messages = [each for each in messages if isinstance(each, SystemMessage | UserMessage)]
        return await super().create(messages, **options)


async def test_a_run_that_asks_its_records_is_told_and_replayed_to_the_same_report(tmp_path: Path) -> None:
    asked_for: list[str] = []
    with Ledger(tmp_path / "ledger.db") as ledger:
        options = RunOptions(
            question="Which existing drugs could prevent migraine attacks?",
            model_client=Asking(),
            include_rag=True,
            offline=True,
            depth="quick",
            max_iterations=1,
            ledger=ledger,
            run_id="one",
        )
        report = None
        async for event in research_stream(options):
            if event.type == "searching" and "ask_records" in event.message:
                asked_for.append(event.agent or "")
            report = event.report or report
        again = await replay("one", ledger)

    assert report is not None
    assert set(asked_for) == {"judge", "report"}
    lived, replayed = (strip_clock(json.loads(each.to_json())) | {"usage": None} for each in (report, again))
    assert replayed == lived
