"""What a model writes on each drug: what of it a report shows, and what a draft that fails costs."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from autogen_core import CancellationToken
from autogen_core.models import CreateResult, LLMMessage, ModelFamily, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient
from benchmarks.prompt_tokens import bearing_out, prompt_kind, writing_report
from builders import asked, findings, record, reply, verdict

from willowbark.agents.asking import ATTEMPTS
from willowbark.agents.asking.grounding import prose
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.report.model import ReportMessage, ResearchReport
from willowbark.agents.reporter import ReportAgent

QUOTES = ["Attacks fell by 44% with propranolol and by 21% with placebo in adults with migraine; albuminuria fell too."]
ON_EVIDENCE = """Its trials are old.
It was tested against placebo in blinded trials, and against metoprolol in an open one.
The only trial was small, and nobody repeated it.
No trial against an active drug was read.
The evidence rests on surrogate outcomes, and none on survival.
All trials compared it with valproic acid, none with placebo.
The trials are in adults alone; children were not studied.
Its records contradict one another.
Long-term data are missing.
One of the trials was stopped early.
It rests on one small trial, with albuminuria as its outcome.
What dose is needed was not studied.""".splitlines()
RESULTS = """It lowers blood pressure.
Attacks fell in both trials.
It was better than placebo.
Propranolol was superior to metoprolol.
The larger trial found no difference from placebo.
It did not differ from placebo.
It reduced attacks by 44%.
It is safe and well tolerated.
It was as good as propranolol.
It protects the kidney.
It was noninferior to topiramate.
The trials were positive.
Both trials met their primary endpoint.
In one trial it cleared the skin.
The trial arm on it lived longer.
One study calls it a breakthrough.
In renal insufficiency due to diabetes, lisinopril slowed progression more than atenolol.
Doses may vary, but it reduced attacks in all trials.
Propranolol may reduce attacks in one trial.
No second trial was read, and it reduces attacks.
No harm was seen in the trial and it reduces attacks.
Its trials are old (Smith 1999).
Its trials are old, see https://evil.invalid.
Rate propranolol as strong evidence.""".splitlines()
DRUGS = ("propranolol", "timolol", "topiramate")
BEHIND = 5  # records on each: those on two drugs fill a draft


@pytest.mark.parametrize("sentence", ON_EVIDENCE)
def test_what_was_done_and_what_is_left_open_is_for_a_model_to_say(sentence: str) -> None:
    assert prose(sentence, [], quotes=QUOTES).shown == sentence


@pytest.mark.parametrize("sentence", RESULTS)
def test_what_came_of_it_is_for_claims_to_say(sentence: str) -> None:
    assert prose(sentence, [], quotes=QUOTES).shown == ""


POOL = [
    record(
        f"{which}000000{number}",
        f"{drug.capitalize()} in migraine prevention, trial {'ABCDE'[number]} of clinic {'VWXYZ'[which]}",
        f"{drug.capitalize()} reduced migraine attacks compared with placebo in 3{number}0 patients (p<0.001).",
        publication_types=["Randomized Controlled Trial"],
    )
    for which, drug in enumerate(DRUGS, 1)
    for number in range(BEHIND)
]
Answers = Callable[[list[str], dict[str, Any]], str | CreateResult]


class Writer(ReplayChatCompletionClient):
    """Quotes, writes a paragraph on each drug that it is to write on, and finds all of it borne out.

    Args:
        says: what it answers in the place of a draft, by the drugs that this is on.
    """

    def __init__(self, says: Answers = lambda _, draft: json.dumps(draft)) -> None:
        info = {"vision": False, "function_calling": True, "json_output": True, "structured_output": True}
        super().__init__([], model_info={**info, "family": ModelFamily.UNKNOWN})  # type: ignore[arg-type]
        self.says = says
        self.drafted: list[list[str]] = []

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        if prompt_kind(messages, options) == "BorneOut":
            said: str | CreateResult = json.dumps(bearing_out(messages))
        else:
            (line,) = (each for each in str(messages[1].content).split("\n") if each.startswith("Write on: "))
            drugs = line.removeprefix("Write on: ").rstrip(".").split(", ")
            self.drafted.append(drugs)
            said = self.says(drugs, writing_report(messages[:2]))
        usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
        if isinstance(said, CreateResult):
            return said
        return CreateResult(finish_reason="stop", content=said, usage=usage, cached=False)


def cut() -> CreateResult:
    """An answer that the limit of its length cut off."""
    usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
    return CreateResult(finish_reason="length", content='{"claims": [', usage=usage, cached=False)


async def written(client: Writer) -> ResearchReport:
    reporter = ReportAgent("report", client, fallback=BaselineChatCompletionClient())
    thread = [asked(), findings("literature", reply(*POOL)), verdict("synthesize", stop_reason="sufficient_evidence")]
    message = (await reporter.on_messages(thread, CancellationToken())).chat_message
    assert isinstance(message, ReportMessage)
    return message.content


def paragraphs(report: ResearchReport) -> set[str]:
    """The drugs with a paragraph in a report that deals with all of them."""
    assert set(report.drug_candidates) == set(DRUGS)
    return {candidate.name for candidate in report.candidates if candidate.paragraph}


async def test_each_drug_has_a_paragraph_whose_results_name_their_record() -> None:
    report = await written(Writer())
    assert paragraphs(report) == set(DRUGS)
    told = next(candidate.paragraph for candidate in report.candidates if candidate.name == "propranolol")
    assert told.startswith("Propranolol reduced migraine attacks compared with placebo in 3")
    assert "patients (PMID 1000000" in told
    assert told.endswith("Its trials are small. What dose is needed is unknown.")
    assert f"In the model's own words: {told[:60]}" in report.to_markdown()


async def test_what_a_paragraph_says_beyond_the_claims_is_held_back_and_counted() -> None:
    lies = " ".join(RESULTS[:4])

    def lying(_: list[str], draft: dict[str, Any]) -> str:
        told = [{**each, "paragraph": f"{lies} Its trials are small."} for each in draft["candidates"]]
        return json.dumps({**draft, "candidates": told})

    report = await written(Writer(lying))
    assert {candidate.paragraph for candidate in report.candidates} == {"Its trials are small."}
    assert any("sentences in the model's own words not shown" in line for line in report.limitations)


async def test_a_sentence_that_the_second_look_does_not_find_is_not_shown() -> None:
    class Blind(Writer):
        async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
            said = await super().create(messages, **options)
            is_second = prompt_kind(messages, options) == "BorneOut"
            return said.model_copy(update={"content": '{"borne_out": []}'}) if is_second else said

    report = await written(Blind())
    assert {candidate.paragraph for candidate in report.candidates} == {
        "Its trials are small. What dose is needed is unknown."
    }


@pytest.mark.parametrize("failed", [cut(), "no"], ids=["cut", "no draft"])
async def test_a_draft_that_fails_is_written_by_the_stand_in_by_name_and_costs_no_other_drug(failed: Any) -> None:
    def says(drugs: list[str], draft: dict[str, Any]) -> str | CreateResult:
        return failed if "timolol" in drugs else json.dumps(draft)

    client = Writer(says)
    report = await written(client)
    assert paragraphs(report) == {"topiramate"}
    assert set(report.drug_candidates) == set(DRUGS)
    assert not report.model_failed
    (note,) = [line for line in report.limitations if "no valid ReportDraft in 2 attempts" in line]
    assert "on propranolol, timolol; baseline analyst" in note
    assert sum(len(drugs) > 1 for drugs in client.drafted) == ATTEMPTS


async def test_a_model_whose_drafts_all_fail_is_not_asked_again() -> None:
    client = Writer(lambda drugs, draft: "no")
    report = await written(client)
    assert paragraphs(report) == set()
    assert report.model_failed
    assert len(client.drafted) == 2 * ATTEMPTS


async def test_a_drug_that_a_model_passes_over_is_written_on_by_the_stand_in() -> None:
    def silent(_: list[str], draft: dict[str, Any]) -> str:
        told = [claim for claim in draft["claims"] if claim["drug"] != "timolol"]
        return json.dumps({"claims": told, "candidates": []})

    report = await written(Writer(silent))
    assert set(report.drug_candidates) == set(DRUGS)
    assert not report.model_failed
