"""A specialist and a source of one's own: called by the judge, asked, and shown in the report by their own names."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from autogen_core.models import ChatCompletionClient
from builders import QUESTION, judge_draft, scripted

from willowbark.agents.assessment import AssessmentMessage
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import RunContext
from willowbark.agents.findings import FindingsMessage
from willowbark.agents.judge import JudgeAgent, JudgeLimits
from willowbark.agents.report.model import ReportMessage
from willowbark.agents.reporter import ReportAgent
from willowbark.agents.specialist import SpecialistAgent
from willowbark.teams import ResearchTeam
from willowbark.tools.enclosure import new_marker
from willowbark.tools.evidence import Citation, Evidence
from willowbark.tools.http.transport import Transport
from willowbark.tools.records import Approval, Drug
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
                source.entry(f"{drug} approved", record=Approval.model_validate({"drug": drug, **day})),
            )
        ]

        async def ask() -> Any:
            return source.reply(" OR ".join(args.drugs), found)

        return {source.name: ask}


def team(model: ChatCompletionClient, judge: ChatCompletionClient | None = None) -> ResearchTeam:
    """Two specialists whose names nobody knows, a judge and a report agent; nothing is asked of the network."""
    fallback = BaselineChatCompletionClient(estimates_tokens=False)
    options: Mapping[str, Any] = {} if judge is None else {"fallback": fallback}
    members = [
        SpecialistAgent("archive", model, tools=[SearchNotes()], description="Reads the clinic's notes.", **options),
        SpecialistAgent("pharmacy", model, tools=[LookUpNotes()], description="Knows the clinic's drugs.", **options),
        JudgeAgent("judge", judge or model, limits=JudgeLimits(max_iterations=4), **options),
        ReportAgent("report", BaselineChatCompletionClient()),
    ]
    return ResearchTeam(members, BaselineChatCompletionClient(), run=RunContext())  # type: ignore[arg-type]


async def searches(team: ResearchTeam) -> tuple[dict[str, list[int]], ReportMessage, list[str]]:
    """The rounds in which each specialist got a reply, the report, and what the judge noted."""
    rounds, notes = dict[str, list[int]](), list[str]()
    messages = (await team.run(task=QUESTION)).messages
    for message in messages:
        if isinstance(message, FindingsMessage) and message.content.replies:
            rounds.setdefault(message.source, []).append(message.content.iteration)
        if isinstance(message, AssessmentMessage):
            notes += message.content.notes
    report = messages[-1]
    assert isinstance(report, ReportMessage)
    return rounds, report, notes


async def test_the_baseline_analyst_calls_specialists_by_what_they_declare() -> None:
    rounds, report, _ = await searches(team(BaselineChatCompletionClient()))

    assert rounds["archive"][:2] == [1, 2]
    assert rounds["pharmacy"] != []
    whole = report.content.to_appendix()
    (candidate,) = [each for each in report.content.candidates if each.name == "propranolol"]
    assert "Blocks beta receptors" in json.dumps(candidate.model_dump(mode="json"))
    assert "first 1966-03-01 by the Swissmedic" in whole
    assert {entry.source for entry in report.content.search_log} == {"clinic"}
    assert {each["source"] for each in report.content.references} == {"clinic"}


async def test_a_language_model_is_told_who_there_is_and_calls_whom_it_names() -> None:
    def said(*next_searches: dict[str, str]) -> str:
        scores = dict.fromkeys(("mechanism_score", "clinical_evidence_score", "candidates_score"), 3)
        return json.dumps(judge_draft(**scores, confidence=0.3, next_searches=next_searches))

    judge = scripted(
        said(
            {"closes": "More.", "specialist": "pharmacy", "query": "propranolol"},
            {"closes": "More.", "specialist": "literature", "query": "propranolol AND migraine"},
        ),
        said(),
        said(),
    )
    rounds, report, notes = await searches(team(scripted(*["no idea"] * 9), judge))

    assert rounds == {"archive": [1], "pharmacy": [2]}
    assert notes == ["Not every search proposed by the judge was made: no specialist has the name given"]
    prompt = str(judge.create_calls[0]["messages"][-1].content)
    assert "- archive (takes queries): Reads the clinic's notes.\n- pharmacy (takes drugs): Knows" in prompt
    assert report.content.candidates[0].name == "propranolol"


@pytest.mark.parametrize("name", ["", "Clinic", "two words", "x" * 41, "a<b"])
def test_a_source_has_a_name_that_is_one(name: str) -> None:
    with pytest.raises(ValueError, match="source"):
        Citation(source=name, title="T", url="")
