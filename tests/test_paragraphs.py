"""What a draft that fails costs, where drugs are drafted in parts."""

import json
from collections.abc import Callable, Sequence
from typing import Any, cast

import pytest
from autogen_core.models import CreateResult, LLMMessage, ModelFamily, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient
from benchmarks.prompt_tokens import quote_passages
from builders import asked, findings, record, reply, spoken, verdict

from willowbark.agents.asking import ATTEMPTS
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.report import writing
from willowbark.agents.report.model import ResearchReport
from willowbark.agents.reporter import ReportAgent

DRUGS = ("propranolol", "timolol", "topiramate")
BEHIND = 5  # records on each: those on two drugs fill a draft


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


@pytest.fixture(autouse=True)
def two_drugs_fill_a_draft(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "PART", 2 * BEHIND)


Answers = Callable[[list[str], dict[str, Any]], str | CreateResult]


class Writer(ReplayChatCompletionClient):
    """Quotes what was read of each drug that it is to write on.

    Args:
        says: what it answers in the place of a draft, by the drugs that this is on.
    """

    def __init__(self, says: Answers = lambda _, draft: json.dumps(draft)) -> None:
        info = {"vision": False, "function_calling": True, "json_output": True, "structured_output": True}
        super().__init__([], model_info={**info, "family": ModelFamily.UNKNOWN})  # type: ignore[arg-type]
        self.says = says
        self.drafted: list[list[str]] = []
        self.told = set[str]()

    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        lines = str(messages[1].content).split("\n")
        drugs = [line.removeprefix("- ").partition(":")[0] for line in lines if line.startswith("- ")]
        self.drafted.append(drugs)
        said = self.says(drugs, quote_passages(messages[:2]))
        if isinstance(said, str) and said.startswith("{"):
            self.told |= {claim["drug"] for claim in json.loads(said)["claims"]}
        usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
        if isinstance(said, CreateResult):
            return said
        return CreateResult(finish_reason="stop", content=said, usage=usage, cached=False)


def cut() -> CreateResult:
    """An answer that the limit of its length cut off."""
    usage = RequestUsage(prompt_tokens=1, completion_tokens=1)
    return CreateResult(finish_reason="length", content='{"claims": [', usage=usage, cached=False)


async def written(client: Writer) -> ResearchReport:
    reporter = ReportAgent("report", client, words="quoted", fallback=BaselineChatCompletionClient())
    thread = [asked(), findings("literature", reply(*POOL)), verdict("synthesize", stop_reason="sufficient_evidence")]
    return cast(ResearchReport, await spoken(reporter, *thread))


def by_stand_in(report: ResearchReport, client: Writer) -> set[str]:
    """The drugs on which the model's own draft says nothing, in a report that deals with all of them."""
    assert set(report.drug_candidates) == set(DRUGS)
    return {candidate.name for candidate in report.candidates} - client.told


@pytest.mark.parametrize("failed", [cut(), "no"], ids=["cut", "no draft"])
async def test_a_draft_that_fails_is_written_by_the_stand_in_by_name_and_costs_no_other_drug(failed: Any) -> None:
    def says(drugs: list[str], draft: dict[str, Any]) -> str | CreateResult:
        return failed if "timolol" in drugs else json.dumps(draft)

    client = Writer(says)
    report = await written(client)
    assert by_stand_in(report, client) == {"propranolol", "timolol"}
    assert set(report.drug_candidates) == set(DRUGS)
    assert not report.model_failed
    (note,) = [line for line in report.limitations if "no valid ReportDraft in 2 attempts" in line]
    assert "on propranolol, timolol; baseline analyst" in note
    assert sum(len(drugs) > 1 for drugs in client.drafted) == ATTEMPTS


async def test_a_model_whose_drafts_all_fail_is_not_asked_again() -> None:
    client = Writer(lambda drugs, draft: "no")
    report = await written(client)
    assert by_stand_in(report, client) == set(DRUGS)
    assert report.model_failed
    assert len(client.drafted) == 2 * ATTEMPTS


async def test_a_drug_that_a_model_passes_over_is_written_on_by_the_stand_in() -> None:
    def silent(_: list[str], draft: dict[str, Any]) -> str:
        told = [claim for claim in draft["claims"] if claim["drug"] != "timolol"]
        return json.dumps({"claims": told})

    report = await written(Writer(silent))
    assert set(report.drug_candidates) == set(DRUGS)
    assert not report.model_failed
