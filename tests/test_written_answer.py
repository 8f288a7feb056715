"""An answer in a model's words: what stands, what comes back once, what is dropped, and what is said of it."""

import asyncio
import json
import re
from io import BytesIO
from typing import Any, cast
from zipfile import ZipFile

import pytest
from autogen_core import CancellationToken
from autogen_core.models import CreateResult, LLMMessage, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient
from builders import asked, findings, record, reply, scripted, spoken, verdict

from willowbark.agents.baseline.client import BaselineChatCompletionClient
from willowbark.agents.checking.written import CheckedSentence, WrittenAnswer
from willowbark.agents.exports import as_html
from willowbark.agents.exports.formats import render
from willowbark.agents.report.content import SummaryPart
from willowbark.agents.report.model import ResearchReport
from willowbark.agents.report.once import leave_out_told
from willowbark.agents.reporter import ReportAgent
from willowbark.tools.appraisal.judgement import JudgedReason, JudgeView

PROPRANOLOL = record(
    "1",
    "Propranolol in migraine prevention: a randomised trial",
    "Propranolol 80 mg reduced migraine attacks by 43% compared with placebo (p<0.001).",
    publication_types=["Randomized Controlled Trial"],
)
TIMOLOL = record(
    "2",
    "Timolol in migraine prevention: a randomised trial",
    "Timolol 20 mg did not reduce migraine attacks compared with placebo (p=0.6).",
    publication_types=["Randomized Controlled Trial"],
)
TRUE = {"text": "Propranolol 80 mg reduced attacks by 43% against placebo.", "keys": ["pmid:1"]}
FORGED = {"text": "Propranolol 80 mg reduced attacks by 63% against placebo.", "keys": ["pmid:1"]}
FAILED = {"text": "Timolol did not reduce attacks.", "keys": ["pmid:2"]}


def draft(*answer: dict[str, Any], **parts: Any) -> str:
    """A writer's answer, whose sentences are its bottom line."""
    empty: dict[str, Any] = {"drugs": [], "mechanism": [], "would_change": []}
    return json.dumps({"answer": {"bottom_line": list(answer)}, **empty, **parts})


def verdicts(*borne_out: str, words: str = "", advises: bool = False) -> str:
    """A checker's answer on so many sentences."""
    lines = [
        {"number": at, "words": words, "borne_out": each, "advises": advises} for at, each in enumerate(borne_out, 1)
    ]
    return json.dumps({"verdicts": lines})


def mended(*sentences: tuple[int, dict[str, Any]]) -> str:
    """What a writer makes of the sentences that came back."""
    return json.dumps({"sentences": [{"number": number, **sentence} for number, sentence in sentences]})


async def report_by(
    writer: ReplayChatCompletionClient, checker: ReplayChatCompletionClient | None = None, **options: Any
) -> ResearchReport:
    """A report on two trials by scripted models."""
    agent = ReportAgent("report", writer, checker=checker, fallback=BaselineChatCompletionClient(), **options)
    pool = reply(PROPRANOLOL, TIMOLOL)
    messages = [asked(), findings("literature", pool), verdict("synthesize", stop_reason="no_new_evidence")]
    return cast(ResearchReport, await spoken(agent, *messages))


async def test_true_sentences_stand_with_their_citations_and_who_wrote_and_checked_them() -> None:
    paragraph = {"drug": "Propranolol", "sentences": [TRUE]}
    writer = scripted(draft(TRUE, FAILED, drugs=[paragraph], would_change=[FAILED]))
    report = await report_by(writer, scripted(verdicts("yes", "yes")))
    written = report.written
    assert written is not None
    assert [(each.text, each.citations, each.is_checked) for each in written.answer] == [
        (TRUE["text"], ["pmid:1"], True),
        (FAILED["text"], ["pmid:2"], True),
    ]
    assert [paragraph.drug for paragraph in written.drugs] == ["propranolol"]
    assert [each.text for each in written.would_change] == [FAILED["text"]]
    assert (written.made, written.reworded, written.dropped, written.warning) == (4, 0, [], "")
    assert not report.model_failed

    page = report.to_markdown()
    assert f"**written** {TRUE['text']} [1] {FAILED['text']} [2]" in page
    assert "checked by ReplayChatCompletionClient" in page or "checked in another call" in page
    assert "**computed** from the studies that were read, by code:" in page
    assert report.executive_summary.startswith(f"{TRUE['text']} {FAILED['text']}")
    assert 100 <= len(report.executive_summary) <= 1000
    assert report.to_digest().summary.startswith(str(TRUE["text"]))


def test_the_computed_lines_do_not_repeat_what_the_written_answer_says() -> None:
    rated = "Certainty is low for propranolol and very low for timolol."
    written = WrittenAnswer(answer=[CheckedSentence(text=rated)], writer="a", checker="b")
    told = SummaryPart(text="Propranolol may help to prevent migraine (low certainty). Read by nobody else.")
    parts = [
        told,
        SummaryPart(label="Propranolol", text="low certainty; better than placebo."),
        SummaryPart(label="Candesartan", text="low certainty; better than placebo."),
        SummaryPart(label="No benefit shown", text="timolol (1 study against it)."),
        SummaryPart(text="This is not medical advice."),
    ]
    assert [part.line for part in leave_out_told(parts, written)] == [
        "Read by nobody else.",
        "Candesartan: low certainty; better than placebo.",
        "No benefit shown: timolol (1 study against it).",
        "This is not medical advice.",
    ]
    assert leave_out_told(parts, None) == parts


async def test_a_judges_sentence_that_its_record_does_not_bear_out_is_left_out_and_counted() -> None:
    true, false = (JudgedReason(text=text, keys=["pmid:1"]) for text in ("It was one trial.", "It was open."))
    judged = verdict("synthesize", stop_reason="no_new_evidence")
    view = JudgeView(by="m", decides=[true, false])
    judged.content = judged.content.model_copy(update={"view": view})
    agent = ReportAgent("report", scripted(draft(TRUE)), checker=scripted(verdicts("yes", "yes", "partly")))
    report = cast(ResearchReport, await spoken(agent, asked(), findings("literature", reply(PROPRANOLOL)), judged))
    assert report.judge_view.decides == [true]
    assert report.judge_view.dropped == ["its records do not bear it out"]
    assert "It was open." not in report.to_json()


async def test_every_form_of_a_report_shows_what_is_written_as_written() -> None:
    report = await report_by(scripted(draft(TRUE, FAILED)), scripted(verdicts("yes", "yes")))
    assert report.written is not None
    page = as_html(report).decode()
    assert str(TRUE["text"]) in page
    assert report.written.provenance in page
    assert "written" in json.loads(report.to_json())
    assert str(TRUE["text"]) in json.loads(report.to_json())["written"]["answer"][0]["text"]
    parts = ZipFile(BytesIO(render(report, "docx"))).read("word/document.xml").decode()
    assert f"written {TRUE['text']}" in re.sub(r"<[^>]+>", "", parts)


async def test_a_sentence_that_fails_comes_back_once_with_the_reason_and_stands_mended() -> None:
    writer = scripted(draft(FORGED), mended((1, TRUE)))
    report = await report_by(writer, scripted(verdicts("yes")))
    written = report.written
    assert written is not None
    assert [each.text for each in written.answer] == [TRUE["text"]]
    assert (written.made, written.reworded, len(written.dropped)) == (1, 1, 0)
    assert "1 sentence, 1 reworded" in written.provenance


async def test_what_fails_twice_is_dropped_and_counted_with_its_reason_and_none_of_its_words() -> None:
    writer = scripted(draft(TRUE, FORGED), mended((1, FORGED)))
    report = await report_by(writer, scripted(verdicts("yes")))
    written = report.written
    assert written is not None
    assert [each.text for each in written.answer] == [TRUE["text"]]
    assert [each.reason for each in written.dropped] == ["a figure stands in nothing cited"]
    assert "63%" not in report.to_json()
    assert "Dropped, since a figure stands in nothing cited: 1" in report.to_appendix()


async def test_a_checkers_no_drops_a_partly_comes_back_with_the_words_and_advice_is_dropped() -> None:
    partly = {"text": "Propranolol reduced attacks in everybody.", "keys": ["pmid:1"]}
    writer = scripted(draft(FAILED, partly), mended((1, TRUE)))
    judged = [
        {"number": 1, "words": "", "borne_out": "no", "advises": False},
        {"number": 2, "words": "in everybody", "borne_out": "partly", "advises": False},
    ]
    report = await report_by(writer, scripted(json.dumps({"verdicts": judged}), verdicts("yes")))
    assert report.written is not None
    assert [each.text for each in report.written.answer] == [TRUE["text"]]
    assert [each.reason for each in report.written.dropped] == ["its passages do not bear it out"]

    report = await report_by(scripted(draft(TRUE, FAILED)), scripted(verdicts("yes", "yes", advises=True)))
    assert report.written is None
    assert report.model_failed


async def test_a_checker_that_fails_is_told_above_the_words() -> None:
    report = await report_by(scripted(draft(TRUE)), scripted("no JSON", "nor here"))
    assert report.written is not None
    assert report.written.unchecked == 1
    page = report.to_markdown()
    above, _, _ = page.partition(str(TRUE["text"]))
    assert "Not checked against the passages that it cites, since the model gave no valid CheckDraft" in above
    assert report.executive_summary.find("Not checked") >= 0
    assert "checked" not in report.written.provenance
    assert not report.model_failed


async def test_a_checker_that_leaves_sentences_out_is_asked_again_and_then_not_believed() -> None:
    report = await report_by(scripted(draft(TRUE, FAILED)), scripted(verdicts("yes"), verdicts("yes", "yes")))
    assert report.written is not None
    assert report.written.unchecked == 0
    report = await report_by(scripted(draft(TRUE, FAILED)), scripted(verdicts("yes"), verdicts("yes")))
    assert report.written is not None
    assert report.written.unchecked == 2


@pytest.mark.parametrize("first", ["Here is my report: propranolol works.", draft()], ids=["prose", "an empty draft"])
async def test_prose_and_an_empty_draft_are_asked_for_again_once(first: str) -> None:
    report = await report_by(scripted(first, draft(TRUE)), scripted(verdicts("yes")))
    assert report.written is not None
    assert not report.model_failed
    report = await report_by(scripted(first, first))
    assert report.written is None
    assert report.model_failed
    assert "no valid WrittenDraft in 2 attempts" in "\n".join(report.limitations)


async def test_quoted_words_print_no_word_of_a_model() -> None:
    claim = {"evidence_key": "pmid:1", "drug": "propranolol", "stance": "supports", "quote": PROPRANOLOL.content[-82:]}
    report = await report_by(scripted(json.dumps({"claims": [claim]}), json.dumps({"claims": []})), words="quoted")
    assert report.written is None


async def test_the_baseline_analyst_writes_no_prose() -> None:
    agent = ReportAgent("report", BaselineChatCompletionClient())
    pool = reply(PROPRANOLOL, TIMOLOL)
    messages = [asked(), findings("literature", pool), verdict("synthesize", stop_reason="no_new_evidence")]
    report = await spoken(agent, *messages)
    assert report.written is None
    assert "**written**" not in report.to_markdown()


async def test_a_judges_or_computed_level_bounds_the_words() -> None:
    sure = {"text": "Propranolol prevents attacks (high certainty).", "keys": ["pmid:1", "table"]}
    report = await report_by(scripted(draft(sure)), scripted(verdicts("yes")))
    assert report.written is not None
    level = report.candidates[0].certainty
    assert level != "high"
    assert [each.text for each in report.written.answer] == [f"Propranolol prevents attacks ({level} certainty)."]
    assert report.written.reworded == 1


async def test_words_beyond_the_length_are_dropped_whole_sentence_by_sentence() -> None:
    long = {
        "text": f"{TRUE['text']} {'Propranolol reduced attacks against placebo. ' * 12}".strip(),
        "keys": ["pmid:1"],
    }
    report = await report_by(scripted(draft(answer={"works": [long] * 5})), scripted(verdicts("yes")))
    assert report.written is not None
    assert sum(len(each.text.split()) for each in report.written.answer) <= 250
    assert {each.reason for each in report.written.dropped} == {"is beyond the length"}


class Waiting(ReplayChatCompletionClient):
    """A checker that never answers."""

    async def create(self, messages: Any, **options: Any) -> CreateResult:
        token: CancellationToken = options["cancellation_token"]
        waits = asyncio.ensure_future(asyncio.sleep(600))
        token.link_future(waits)
        self.begun.set()
        await waits
        raise AssertionError("it is cancelled before")

    begun: asyncio.Event


async def test_a_run_that_is_cancelled_while_its_words_are_checked_ends_at_once() -> None:
    checker = Waiting([], model_info=scripted("").model_info)
    checker.begun = asyncio.Event()
    agent = ReportAgent("report", scripted(draft(TRUE)), checker=checker)
    token = CancellationToken()
    messages = [asked(), findings("literature", reply(PROPRANOLOL)), verdict("synthesize")]
    turn = asyncio.ensure_future(agent.on_messages(messages, token))
    await checker.begun.wait()
    token.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(turn, 60)


class Counting(ReplayChatCompletionClient):
    """Keeps what it was asked."""

    async def create(self, messages: Any, **options: Any) -> CreateResult:
        self.asked.append(list(messages))
        return await super().create(messages, **options)

    asked: list[list[LLMMessage]]


async def test_a_sentence_is_put_to_the_checker_once_and_with_nothing_but_its_passages() -> None:
    checker = Counting([verdicts("yes")], model_info=scripted("").model_info)
    checker.asked = []
    paragraph = {"drug": "propranolol", "sentences": [TRUE]}
    report = await report_by(scripted(draft(TRUE, drugs=[paragraph])), checker)
    assert report.written is not None
    assert report.written.unchecked == 0
    [messages] = checker.asked
    prompt = str(messages[-1].content)
    assert "Propranolol 80 mg reduced migraine attacks by 43%" in prompt
    assert "Timolol" not in prompt
    assert "Which existing drugs" not in prompt


async def test_tokens_of_writer_and_checker_are_told_apart() -> None:
    agent = ReportAgent("report", scripted(draft(TRUE)), checker=scripted(verdicts("yes")))
    messages = [asked(), findings("literature", reply(PROPRANOLOL)), verdict("synthesize")]
    response = await agent.on_messages(messages, CancellationToken())
    usage = response.chat_message.models_usage
    assert isinstance(usage, RequestUsage)
    assert usage.completion_tokens > 0


def test_a_report_agent_keeps_its_words_and_checker_as_a_component() -> None:
    baseline = BaselineChatCompletionClient()
    agent = ReportAgent("report", baseline, words="quoted", checker=baseline)
    again = ReportAgent.load_component(agent.dump_component())
    assert again.dump_component() == agent.dump_component()
    assert again.dump_component().config["words"] == "quoted"


async def test_a_paragraph_under_a_drug_that_its_records_are_not_on_is_dropped() -> None:
    paragraphs = [{"drug": "zonisamide", "sentences": [TRUE]}, {"drug": "propranolol", "sentences": [TRUE]}]
    report = await report_by(scripted(draft(TRUE, drugs=paragraphs)), scripted(verdicts("yes", "yes")))
    assert report.written is not None
    assert [paragraph.drug for paragraph in report.written.drugs] == ["propranolol"]
    assert [each.reason for each in report.written.dropped] == ["no cited record is on the drug that it stands under"]
