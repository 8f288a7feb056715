"""What a model says is missing, held to what was read."""

import json
from collections.abc import Mapping, Set

import pytest
from autogen_agentchat.messages import BaseChatMessage
from builders import asked, findings, reply, scripted, spoken, verdict
from test_written_answer import PROPRANOLOL, TRUE, draft, mended, verdicts

from willowbark.agents.checking.gaps import Aspect, find_false_gap, hold_gaps
from willowbark.agents.report.model import ResearchReport
from willowbark.agents.reporter import ReportAgent

READ: Mapping[str, Set[Aspect]] = {
    "": {"registered trials"},
    "ondansetron": {"results", "harms"},
    "metoclopramide": {"results"},
}


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("Missing: aprepitant, scopolamine, harms of ondansetron and haloperidol.", "harms of ondansetron"),
        ("No trial of ondansetron was read.", "results of ondansetron"),
        ("Registered trials.", "registered trials"),
        ("Harms of metoclopramide.", ""),
        ("Ondansetron and metoclopramide against haloperidol in children.", ""),
        ("Newer drugs such as aprepitant and scopolamine.", ""),
        ("Figures of ondansetron.", ""),
    ],
)
def test_only_what_can_be_looked_up_is_called_read(text: str, there: str) -> None:
    assert find_false_gap(text, READ) == there


def test_a_gap_of_the_judge_that_a_record_fills_is_left_out() -> None:
    assert hold_gaps(["Harms of ondansetron.", "Harms of haloperidol."], READ) == ["Harms of haloperidol."]


async def report_of(*answers: str) -> ResearchReport:
    """A report on a trial of propranolol by a scripted model, whose judge named gaps."""
    agent = ReportAgent("report", scripted(*answers), checker=scripted(*[verdicts("yes", "yes")] * 2))
    judged = verdict("synthesize", stop_reason="no_new_evidence")
    gaps = ["Results of propranolol.", "Results of timolol."]
    judged.content = judged.content.model_copy(update={"gaps": gaps})
    messages: list[BaseChatMessage] = [asked(), findings("literature", reply(PROPRANOLOL)), judged]
    report = await spoken(agent, *messages)
    assert isinstance(report, ResearchReport)
    return report


async def test_a_written_gap_that_a_record_fills_comes_back_and_the_judges_is_not_shown() -> None:
    false = {"text": "Any result of propranolol.", "keys": ["table"]}
    true = {"text": "Any result of timolol.", "keys": ["table"]}
    parts = {"bottom_line": [TRUE], "missing": [false]}
    report = await report_of(draft(answer=parts), mended((1, true)))
    assert report.written is not None
    assert [(each.part, each.text) for each in report.written.answer] == [
        ("bottom_line", TRUE["text"]),
        ("missing", true["text"]),
    ]
    assert report.gaps == ["Results of timolol."]


async def test_parts_stand_under_their_headings_in_their_order_and_none_without_sentences() -> None:
    harm = {"text": "Propranolol 80 mg was compared with placebo.", "keys": ["pmid:1"]}
    parts = {"harms": [harm], "bottom_line": [TRUE], "works": []}
    report = await report_of(draft(answer=parts))
    assert report.written is not None
    assert [heading for heading, _ in report.written.parts()] == ["", "Harms, and who must not have it"]
    page = report.to_markdown()
    assert f"**written** {TRUE['text']} [1]\n\n**Harms, and who must not have it**\n\n- {harm['text']} [1]" in page
    assert f"Harms, and who must not have it: {harm['text']}" in report.to_digest().summary
    assert "What works" not in page
    assert json.loads(report.to_json())["written"]["answer"][1]["part"] == "harms"


async def test_no_part_of_an_answer_is_lost_to_a_longer_one() -> None:
    long = {"text": f"{TRUE['text']} {'Propranolol reduced attacks against placebo. ' * 5}".strip(), "keys": ["pmid:1"]}
    parts = {name: [long] * 4 for name in ("works", "failed", "harms", "makes_worse")}
    report = await report_of(draft(answer=parts))
    assert report.written is not None
    words = [len(each.text.split()) for each in report.written.answer]
    assert sum(words) <= 250
    assert {each.part for each in report.written.answer} == set(parts)
