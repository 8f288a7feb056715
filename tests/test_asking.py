"""Typed answers from models of every kind."""

import json
import time

import pytest
from autogen_core.models import ChatCompletionClient, UserMessage
from builders import scripted
from pydantic import BaseModel

from willowbark.agents.asking import MAX_ANSWER, MAX_REPAIRS, ModelFailure, ask


class Answer(BaseModel):
    drug: str
    score: int


GOOD = '{"drug": "propranolol", "score": 7}'
QUESTION = [UserMessage(content="Which?", source="user")]


async def answered(client: ChatCompletionClient) -> Answer:
    return (await ask(client, QUESTION, Answer))[0]


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"Of {{drug}} and {{score}} I say:\n{GOOD}\nwhere {{}} is nothing.",
        f'<think>perhaps {{"drug": "x"}}?</think>{GOOD}',
        f"```json\n{GOOD}\n```",
        f"Here you are:\n{GOOD}\nHope it helps.",
        GOOD.replace(" ", "\n"),
    ],
    ids=["bare", "between braces", "after a thought", "fenced", "in prose", "spread out"],
)
@pytest.mark.parametrize("structured", [True, False], ids=["takes a schema", "takes none"])
async def test_json_is_found_wherever_a_model_puts_it(text: str, structured: bool) -> None:
    assert await answered(scripted(text, structured=structured)) == Answer(drug="propranolol", score=7)


async def test_a_model_without_schemas_is_told_the_schema() -> None:
    client = scripted(GOOD, structured=False)
    await answered(client)
    assert '"score"' in str(client.create_calls[0]["messages"][-1].content)


async def test_a_model_with_schemas_is_not() -> None:
    client = scripted(GOOD)
    await answered(client)
    assert len(client.create_calls[0]["messages"]) == 1


@pytest.mark.parametrize("junk", ["", "no", "{}", '{"drug": "x", "score": "many"}', "[1, 2]", "{" * 500], ids=repr)
async def test_a_bad_answer_may_be_mended(junk: str) -> None:
    assert (await answered(scripted(junk, GOOD))).score == 7


async def test_repairs_end() -> None:
    client = scripted(*["junk"] * 9)
    with pytest.raises(ModelFailure, match="no valid Answer"):
        await answered(client)
    assert len(client.create_calls) == 1 + MAX_REPAIRS


async def test_a_client_that_raises_is_a_model_failure_without_its_words() -> None:
    client = scripted()  # no answer left: raises
    with pytest.raises(ModelFailure, match=r"did not answer \(ValueError\)"):
        await answered(client)


async def test_tokens_of_all_attempts_are_counted() -> None:
    once = (await ask(scripted(GOOD), QUESTION, Answer))[1]
    twice = (await ask(scripted("junk", GOOD), QUESTION, Answer))[1]
    assert twice.completion_tokens > once.completion_tokens
    assert twice.prompt_tokens > once.prompt_tokens


MEGABYTE = 1_000_000
RUNAWAYS = {
    "braces": "{" * MEGABYTE,
    "nested": '{"a":' * (MEGABYTE // 5),
    "open strings": '{"a": "' * (MEGABYTE // 7),
    "thoughts": "<think>" * (MEGABYTE // 7),
    "ended thoughts": "<think></think>" * (MEGABYTE // 15),
    "one string": '{"drug": "' + "x" * MEGABYTE,
    "many gaps": json.dumps({"drug": ["a gap in trials of 12345678, see www." * 130] * 200, "score": "x"}),
    "just short enough": ('{"a": "' * MEGABYTE)[:MAX_ANSWER],
}


@pytest.mark.parametrize("text", RUNAWAYS.values(), ids=RUNAWAYS.keys())
async def test_an_answer_of_a_megabyte_stalls_nobody(text: str) -> None:
    client = scripted(text, GOOD)
    began = time.process_time()
    assert (await answered(client)).score == 7
    assert time.process_time() - began < 2  # seconds; what grows with the square of the length takes minutes
