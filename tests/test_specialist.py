"""Specialists ask, reflect, and answer with findings, whatever fails."""

import asyncio
import json
from functools import partial
from typing import Any, cast

import httpx
import pytest
from autogen_agentchat.base import Response
from autogen_agentchat.messages import TextMessage
from autogen_core import CancellationToken
from autogen_core.models import ChatCompletionClient
from builders import arm_draft, asked, calling, comparison_draft, scripted, spoken, study_draft, verdict

from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import RunContext
from willowbark.agents.findings import Findings, FindingsMessage
from willowbark.agents.specialist import MAX_REFLECTION, SpecialistAgent
from willowbark.tools.http.attempts import RetryPolicy
from willowbark.tools.http.endpoints import Endpoints, RateLimiter
from willowbark.tools.http.transport import Transport
from willowbark.tools.toolbox import SourceTool

calls = partial(calling, "search_pubmed")
SEARCH = {
    "esearchresult": {"count": "1", "retmax": "1", "retstart": "0", "idlist": ["11111111"], "querytranslation": "x"}
}
SEEN = "One trial was found. Others of its drug are missing."
NOTHING_READ = '{"studies": []}'
REDUCED = comparison_draft("Propranolol reduced migraine attacks.", primary="yes", versus="unstated")
READ = json.dumps({"studies": [study_draft(REDUCED, arms=[arm_draft("propranolol")])]})
ARTICLE = """<?xml version="1.0"?><PubmedArticleSet><PubmedArticle><MedlineCitation><PMID>11111111</PMID><Article>
<Journal><JournalIssue><PubDate><Year>2001</Year></PubDate></JournalIssue></Journal>
<ArticleTitle>Propranolol in migraine prevention</ArticleTitle>
<Abstract><AbstractText>Propranolol reduced migraine attacks.</AbstractText></Abstract>
</Article></MedlineCitation></PubmedArticle></PubmedArticleSet>"""


def pubmed(request: httpx.Request) -> httpx.Response:
    if request.url.path.endswith("esearch.fcgi"):
        return httpx.Response(200, json=SEARCH)
    return httpx.Response(200, text=ARTICLE)


def transport(handler: Any = pubmed, **policy: Any) -> Transport:
    return Transport(
        Endpoints.at("http://127.0.0.1:9"),
        network=httpx.MockTransport(handler),
        policy=RetryPolicy(first_wait_s=0.001, longest_wait_s=0.01, **policy),
        limiter=RateLimiter(None),
    )


def specialist(client: ChatCompletionClient, **options: Any) -> SpecialistAgent:
    return SpecialistAgent("literature", client, tools=[SourceTool("pubmed")], **options)


async def found(agent: SpecialistAgent, *messages: Any, via: Transport | None = None) -> Findings:
    agent.join(RunContext(via or transport()))
    return cast(Findings, await spoken(agent, *(messages or [asked()])))


async def test_the_model_reads_what_came_between_marked_lines_people_get_text_and_others_findings() -> None:
    client = scripted(calls("migraine"), "Done.", READ, SEEN)
    agent, run = specialist(client), RunContext(transport())
    agent.join(run)
    *_, text, response = [event async for event in agent.on_messages_stream([asked()], CancellationToken())]
    assert isinstance(response, Response)
    assert isinstance(text, TextMessage)
    assert "pubmed: ok, 1 of 1" in text.content
    assert text not in (response.inner_messages or [])
    assert isinstance(response.chat_message, FindingsMessage)
    findings, usage = response.chat_message.content, response.chat_message.models_usage
    assert usage is not None
    assert usage.prompt_tokens > 900  # of choosing and of reading
    assert [record.key for record in findings.records] == ["pmid:11111111"]
    assert "Propranolol in migraine prevention" in str(client.create_calls[1]["messages"])
    before, _, block = client.create_calls[2]["messages"][-1].content.partition(f"<records {run.marker}>\n")
    assert "Propranolol" not in before
    assert "Propranolol reduced migraine attacks." in block
    assert block.endswith(f"\n</records {run.marker}>")
    assert findings.reflection == SEEN
    assert SEEN in text.content
    assert SEEN in response.chat_message.to_model_text()
    assert [(each.key, each.drug, each.verdict) for each in findings.readings] == [
        ("pmid:11111111", "propranolol", "supports")
    ]
    assert findings.summary == "1 record. 1 result on 1 drug."
    assert findings.digest is not None
    assert [(each.drug, each.direction, each.id, each.quote) for each in findings.digest.lines] == [
        ("propranolol", "supports", "pmid:11111111", "Propranolol reduced migraine attacks.")
    ]


async def test_a_record_is_read_once_also_by_an_agent_that_goes_on_elsewhere() -> None:
    client = scripted(
        calls("migraine"), "Done.", READ, SEEN, calls("migraine prevention"), SEEN, calls("migraine again"), SEEN
    )
    agent = specialist(client)
    await found(agent)
    assert (await found(agent, verdict(iteration=1))).readings == []
    other = specialist(client)
    await other.load_state(await agent.save_state())
    assert (await found(other, verdict(iteration=2))).readings == []
    assert len(client.create_calls) == 8


WANTED = [
    {"closes": "More.", "specialist": "literature", "query": "timolol AND migraine"},
    {"closes": "More.", "specialist": "trials", "query": "candesartan AND migraine"},
]
ASKED_FOR = verdict(iteration=1, next_searches=WANTED, next_search_queries=[str(search["query"]) for search in WANTED])


async def test_what_the_judge_asks_for_is_asked_as_it_stands_and_by_whom_it_names() -> None:
    client = scripted(calls("migraine"), "Done.", READ, SEEN, SEEN)
    agent = specialist(client, fallback=BaselineChatCompletionClient(estimates_tokens=False))
    await found(agent)
    findings = await found(agent, ASKED_FOR)
    [asked_for] = [reply.asked for reply in findings.replies]
    assert "timolol" in asked_for
    assert "candesartan" not in asked_for
    assert findings.reflection == SEEN
    assert len(client.create_calls) == 5, "where each search found something, nobody is asked for more"


async def test_where_a_search_of_the_judges_found_nothing_the_model_searches_on() -> None:
    def without_timolol(request: httpx.Request) -> httpx.Response:
        if "timolol" in str(request.url) and request.url.path.endswith("esearch.fcgi"):
            nothing = {**SEARCH["esearchresult"], "count": "0", "idlist": []}
            return httpx.Response(200, json={"esearchresult": nothing})
        return pubmed(request)

    client = scripted(calls("migraine"), "Done.", READ, SEEN, calls("beta blockers AND migraine"), SEEN, SEEN)
    agent = specialist(client, fallback=BaselineChatCompletionClient(estimates_tokens=False))
    via = transport(without_timolol)
    await found(agent, via=via)
    findings = await found(agent, ASKED_FOR, via=via)
    assert [len(reply.records) for reply in findings.replies] == [0, 1]
    assert "beta blockers" in findings.replies[1].asked


async def test_a_reflection_is_asked_for_with_what_was_read_alone() -> None:
    client = scripted(calls("migraine"), "Done.", READ, SEEN)
    await found(specialist(client))
    reflecting = client.create_calls[-1]
    assert "tools" not in reflecting or not reflecting["tools"]
    assert len(reflecting["messages"]) == 2, "the prompt, and what was read"
    shown = reflecting["messages"][-1].content
    assert "- migraine: pubmed 1 of 1" in shown
    assert "Propranolol in migraine prevention" not in shown, "what it was shown before is not shown again"


async def test_a_turn_has_three_rounds_of_calls_and_a_reflection_of_few_words() -> None:
    client = scripted(*(calls(f"migraine {at}") for at in range(3)), NOTHING_READ, "word " * 300)
    findings = await found(specialist(client))
    assert [reply.asked for reply in findings.replies] == [f"migraine {at}" for at in range(3)]
    assert len(findings.reflection.split()) == MAX_REFLECTION
    more = await found(specialist(scripted(*(calls(f"migraine {at}") for at in range(3)), NOTHING_READ, calls("more"))))
    assert (len(more.replies), more.reflection) == (3, "")


async def test_a_model_that_fails_after_its_searches_loses_none_of_them() -> None:
    findings = await found(specialist(scripted(calls("migraine")), fallback=BaselineChatCompletionClient()))
    assert [record.key for record in findings.records] == ["pmid:11111111"]
    assert findings.reflection == ""
    assert findings.reading_notes == ["1 record not read by the model: the model did not answer (ValueError)"]
    assert findings.notes == ["literature: the model failed (ValueError) after its searches; what came is used"]


async def test_bad_arguments_are_noted_and_do_not_stop_the_turn() -> None:
    bad = calls("migraine")
    bad.content[0].arguments = '{"url": "http://evil"}'  # type: ignore[union-attr]
    client = scripted(bad, "Hm.", "Hm.")
    findings = await found(specialist(client))
    assert findings.notes == ["literature: search_pubmed was called with unusable arguments"]
    assert "Nothing was searched: call your tools." in client.create_calls[-1]["messages"][-1].content


@pytest.mark.parametrize("first", ["I would search PubMed for migraine.", ""], ids=["prose", "empty"])
async def test_a_turn_without_a_search_is_tried_again(first: str) -> None:
    findings = await found(specialist(scripted(first, calls("migraine"), SEEN, NOTHING_READ)))
    assert [record.key for record in findings.records] == ["pmid:11111111"]
    assert (findings.notes, findings.is_by_model) == ([], True)


async def test_a_specialist_sees_what_was_read_of_what_it_found_before_it_reflects() -> None:
    client = scripted(calls("migraine"), "Done.", READ, SEEN)
    assert (await found(specialist(client))).reflection == SEEN
    shown = client.create_calls[-1]["messages"][-1].content
    assert '"key": "pmid:11111111"' in shown
    assert '"says": {"propranolol": "supports"}' in shown


async def test_a_model_that_fails_is_replaced_and_named() -> None:
    findings = await found(specialist(scripted(), fallback=BaselineChatCompletionClient()))
    assert {record.key for record in findings.records} == {"pmid:11111111"}
    assert findings.notes == ["literature: the model failed (ValueError); the baseline analyst answered instead"]
    alone = await found(specialist(scripted()))
    assert alone.summary == "Nothing searched: literature: the model failed (ValueError); there was no fallback"


async def test_a_turn_ends_in_time_with_what_came() -> None:
    async def hang(_: httpx.Request) -> httpx.Response:
        await asyncio.sleep(30)
        raise AssertionError

    agent = specialist(scripted(calls("migraine"), "Seen."), turn_timeout_s=0.2)
    agent.join(RunContext(transport(hang, first_timeout_s=30, attempt_timeout_s=30)))
    late = await asyncio.wait_for(spoken(agent, asked()), 20)
    assert late.notes == ["literature: stopped after 0.2 s; what came until then is used"]
