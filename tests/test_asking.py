"""Typed answers from models of every kind."""

import json
import time

import pytest
from autogen_core.models import ChatCompletionClient, UserMessage
from builders import scripted
from pydantic import BaseModel

from willowbark.agents.asking import ATTEMPTS, MAX_ANSWER, ask


class Answer(BaseModel):
    drug: str
    score: int


GOOD = '{"drug": "propranolol", "score": 7}'
QUESTION = [UserMessage(content="Which?", source="user")]


async def answered(client: ChatCompletionClient) -> Answer | None:
    return (await ask([client], QUESTION, Answer)).given


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"Of {{drug}} and {{score}} I say:\n{GOOD}\nwhere {{}} is nothing.",
        f'<think>perhaps {{"drug": "x"}}?</think>{GOOD}',
        f"so {{ it is }}\n</think>\n{GOOD}",
        f"<reasoning>{{</reasoning>{GOOD}",
        f"```json\n{GOOD}\n```",
        f"Here you are:\n{GOOD}\nHope it helps.",
        GOOD.replace(" ", "\n"),
    ],
    ids=["bare", "between braces", "after a thought", "after its end", "reasoned", "fenced", "in prose", "spread out"],
)
@pytest.mark.parametrize("structured", [True, False], ids=["takes a schema", "takes none"])
async def test_json_is_found_wherever_a_model_puts_it(text: str, structured: bool) -> None:
    assert await answered(scripted(text, structured=structured)) == Answer(drug="propranolol", score=7)


async def test_a_model_without_schemas_is_told_the_schema_and_one_with_schemas_is_not() -> None:
    told, handed = scripted(GOOD, structured=False), scripted(GOOD)
    await answered(told)
    await answered(handed)
    assert '"score"' in str(told.create_calls[0]["messages"][0].content)
    assert len(handed.create_calls[0]["messages"]) == 1


@pytest.mark.parametrize("junk", ["", "no", "{}", '{"drug": "x", "score": "many"}', "[1, 2]", "{" * 500], ids=repr)
async def test_a_bad_answer_may_be_mended_and_the_tokens_of_both_are_counted(junk: str) -> None:
    once, twice = [await ask([scripted(*said)], QUESTION, Answer) for said in ([GOOD], [junk, GOOD])]
    assert twice.given == once.given == Answer(drug="propranolol", score=7)
    assert twice.usage.prompt_tokens > once.usage.prompt_tokens
    assert twice.usage.completion_tokens >= once.usage.completion_tokens > 0


async def test_what_is_wrong_is_sent_back_once_and_then_the_next_one_is_asked() -> None:
    first, second = scripted(GOOD, GOOD, GOOD), scripted(GOOD.replace("7", "3"))
    answer = await ask([first, second], QUESTION, Answer, check=lambda a: "score: too high" if a.score > 5 else None)

    assert answer.given == Answer(drug="propranolol", score=3)
    assert answer.by is second
    assert len(first.create_calls) == ATTEMPTS
    assert "score: too high" in str(first.create_calls[1]["messages"][-1].content)
    assert answer.failures == ["the model gave no valid Answer in 2 attempts"]
    assert answer.notes == ["the model gave no valid Answer in 2 attempts; ReplayChatCompletionClient answered instead"]


async def test_a_client_that_raises_is_named_without_its_words_and_nobody_left_is_no_answer() -> None:
    answer = await ask([scripted()], QUESTION, Answer)  # no answer left: raises

    assert (answer.given, answer.by) == (None, None)
    assert answer.failures == answer.notes == ["the model did not answer (ValueError)"]


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
    assert await answered(client) == Answer(drug="propranolol", score=7)
    assert time.process_time() - began < 2  # seconds; what grows with the square of the length takes minutes
