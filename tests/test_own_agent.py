"""A specialist and a source of one's own: called by the judge, asked, and shown in the report by their own names."""

import json
from typing import Any

import pytest
from builders import QUESTION

from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import RunContext
from willowbark.agents.findings import FindingsMessage
from willowbark.agents.judge import JudgeAgent, JudgeLimits
from willowbark.agents.report.model import ReportMessage
from willowbark.agents.reporter import ReportAgent
from willowbark.agents.specialist import SpecialistAgent
from willowbark.teams import ResearchTeam
from willowbark.tools.http.transport import Transport
from willowbark.tools.records import Drug, DrugApproval
from willowbark.tools.records.enclosure import new_marker
from willowbark.tools.records.evidence import Citation, Evidence
from willowbark.tools.search import Source
from willowbark.tools.toolbox import DrugArgs, EvidenceTool, Questions, SearchArgs, ToolReply

TRIAL = (
    "Propranolol in migraine prevention: a randomised trial\n\nPropranolol reduced the frequency of migraine attacks "
    "compared with placebo in 120 patients (4.1 to 2.0 a month, p<0.001)."
)


class ClinicNotes(Source):
    name = "clinic"
    description = "Notes of a clinic."

    def entry(self, place: str, **said: Any) -> Evidence:
        citation = Citation(source=self.name, title=place, url=f"https://clinic.example/{place.replace(' ', '-')}")
        return Evidence(content=said.pop("content", place), citation=citation, **said)


class SearchNotes(EvidenceTool[SearchArgs]):
    def __init__(self) -> None:
        self._marker = new_marker()
        super().__init__(SearchArgs, ToolReply, "look_through_notes", ClinicNotes.description)

    def _questions(self, args: SearchArgs, transport: Transport) -> Questions:
        source = ClinicNotes(transport)
        found = [source.entry("trial of propranolol", content=TRIAL, metadata={"has_abstract": True, "year": 2001})]

        async def ask() -> Any:
            return source.reply(args.query, found)

        return {source.name: ask}


class LookUpNotes(EvidenceTool[DrugArgs]):
    def __init__(self) -> None:
        self._marker = new_marker()
        super().__init__(DrugArgs, ToolReply, "look_up_drugs", ClinicNotes.description)

    def _questions(self, args: DrugArgs, transport: Transport) -> Questions:
        source = ClinicNotes(transport)
        acts = {"mechanism_of_action": "Blocks beta receptors", "gene_symbols": ["ADRB1"]}
        day = {"agency": "Swissmedic", "first_approved": "1966-03-01"}
        found = [
            entry
            for drug in args.drugs
            for entry in (
                source.entry(f"{drug} acts", record=Drug.model_validate({"drug": drug, "mechanisms": [acts]})),
                source.entry(f"{drug} approved", record=DrugApproval.model_validate({"drug": drug, **day})),
            )
        ]

        async def ask() -> Any:
            return source.reply(" OR ".join(args.drugs), found)

        return {source.name: ask}


async def test_the_baseline_analyst_calls_specialists_by_what_they_declare() -> None:
    """Two specialists whose names nobody knows, a judge and a report agent; nothing is asked of the network."""
    model, rounds = BaselineChatCompletionClient(), dict[str, list[int]]()
    members = [
        SpecialistAgent("archive", model, tools=[SearchNotes()]),
        SpecialistAgent("pharmacy", model, tools=[LookUpNotes()]),
        JudgeAgent("judge", model, limits=JudgeLimits(max_iterations=4)),
        ReportAgent("report", model),
    ]
    messages = (await ResearchTeam(list(members), model, run=RunContext()).run(task=QUESTION)).messages
    for message in messages:
        if isinstance(message, FindingsMessage) and message.content.replies:
            rounds.setdefault(message.source, []).append(message.content.iteration)
    report = messages[-1]
    assert isinstance(report, ReportMessage)

    assert rounds["archive"][:2] == [1, 2]
    assert rounds["pharmacy"] != []
    whole = report.content.to_appendix()
    (candidate,) = [each for each in report.content.candidates if each.name == "propranolol"]
    assert "Blocks beta receptors" in json.dumps(candidate.model_dump(mode="json"))
    assert "first 1966-03-01 by the Swissmedic" in whole
    assert {entry.source for entry in report.content.search_log} == {"clinic"}
    assert {each["source"] for each in report.content.references} == {"clinic"}


@pytest.mark.parametrize("name", ["", "Clinic", "two words", "x" * 41, "a<b"])
def test_a_source_has_a_name_that_is_one(name: str) -> None:
    with pytest.raises(ValueError, match="source"):
        Citation(source=name, title="T", url="")
