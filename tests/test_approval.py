"""A person's say before the report: what they are shown, what they may type, what holds when they say nothing."""

import asyncio
import json
from typing import Any

import pytest
from autogen_agentchat.messages import UserInputRequestedEvent
from autogen_core import CancellationToken
from builders import asked, findings, reading, record, reply, spoken, verdict

from willowbark.agents.approval import Approval, ApprovalAnswer, ApprovalMessage, ApprovalRequest, NobodyToAsk, Proposal
from willowbark.agents.approver import MAX_ATTEMPTS, ApproverAgent
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import RunContext
from willowbark.agents.report.model import ResearchReport
from willowbark.agents.reporter import ReportAgent

RECORDS = [
    record(
        "1",
        "Propranolol in migraine prophylaxis: a randomized trial",
        "Propranolol significantly reduced the frequency of migraine attacks compared with placebo.",
        publication_types=["Randomized Controlled Trial"],
    ),
    record(
        "2",
        "Montelukast for migraine prophylaxis: a randomized trial",
        "Montelukast was not effective in preventing migraine attacks compared with placebo.",
        publication_types=["Randomized Controlled Trial"],
    ),
]
SAID = RECORDS[1].content.splitlines()[-1]
FAILED = reading(
    "pmid:2",
    "montelukast",
    effect="no_difference",
    reader="model",
    passages=[{"text": SAID, "start": 0, "end": len(SAID)}],
)
THREAD = [
    asked(),
    findings("literature", reply(*RECORDS), readings=[FAILED]),
    verdict("synthesize", stop_reason="sufficient_evidence"),
]


def proposal(name: str) -> Proposal:
    return Proposal(name=name, supporting=2, contradicting=1, certainty="low", evidence_quality="weak")


REQUEST = ApprovalRequest(
    question="Which?",
    candidates=tuple(proposal(name) for name in ("propranolol", "valproic acid", "montelukast")),
    timeout_s=30,
    default="all",
)


async def decided(agent: ApproverAgent) -> Any:
    return await spoken(agent, *THREAD)


async def reported(*messages: Any) -> Any:
    return await spoken(ReportAgent("report", BaselineChatCompletionClient()), *THREAD, *messages)


@pytest.mark.parametrize(
    ("typed", "accepted", "reason"),
    [
        ("all", ("propranolol", "valproic acid", "montelukast"), ""),
        (" YES ", ("propranolol", "valproic acid", "montelukast"), ""),
        ("none", (), ""),
        ("none; too weak", (), "too weak"),
        ("1,3", ("propranolol", "montelukast"), ""),
        ("3, 1, 3", ("montelukast", "propranolol"), ""),
        ("1 3", ("propranolol", "montelukast"), ""),
        ("1, 3,", ("propranolol", "montelukast"), ""),
        ("2; the others are dear", ("valproic acid",), "the others are dear"),
        ("Valproic Acid", ("valproic acid",), ""),
        ("montelukast, propranolol", ("montelukast", "propranolol"), ""),
    ],
)
def test_an_answer_is_understood_as_people_type_it(typed: str, accepted: tuple[str, ...], reason: str) -> None:
    assert REQUEST.read(typed) == ApprovalAnswer(accepted=accepted, reason=reason)


@pytest.mark.parametrize("typed", ["", " ", "; because", "0", "4", "1,9", "aspirin", "1-3", "²"], ids=repr)
def test_an_answer_that_could_mean_anything_is_asked_again(typed: str) -> None:
    with pytest.raises(ValueError, match=r"candidates|answer all"):
        REQUEST.read(typed)
    with pytest.raises(ValueError, match="aspirin"):
        REQUEST.only("aspirin")
    smuggled = Approval.by("program", "Python", REQUEST.candidates, ApprovalAnswer(accepted=("aspirin", "Propranolol")))
    assert smuggled.accepted == ["propranolol"]


async def test_a_user_proxys_input_function_is_asked_with_the_candidates() -> None:
    prompts: list[str] = []

    def answer(prompt: str) -> str:
        prompts.append(prompt)
        return "propranolol; enough for us"

    agent = ApproverAgent(input_func=answer)
    assert UserInputRequestedEvent in [type(e) async for e in agent.on_messages_stream(THREAD, CancellationToken())]
    approval = await decided(ApproverAgent(input_func=answer))

    assert (approval.decided_by, approval.via) == ("person", "AutoGen user proxy")
    assert approval.accepted == ["propranolol"]
    assert [(one.name, one.reason) for one in approval.set_aside] == [("montelukast", "enough for us")]
    assert "montelukast: 0 supporting, 1 contradicting" in prompts[0]


async def test_a_mistyped_answer_is_asked_again_and_then_nobody_answered() -> None:
    answers = iter(["what?", "1"])
    assert (await decided(ApproverAgent(input_func=lambda _: next(answers)))).decided_by == "person"

    prompts: list[str] = []
    approval = await decided(ApproverAgent(input_func=lambda prompt: prompts.append(prompt) or "what?"))
    assert len(prompts) == MAX_ATTEMPTS
    assert (approval.decided_by, approval.because) == ("default", f"no answer of {MAX_ATTEMPTS} could be understood")


@pytest.mark.parametrize(("default", "accepted"), [("all", 2), ("none", 0)])
async def test_without_an_answer_in_time_the_default_holds(default: Any, accepted: int) -> None:
    async def away(_: ApprovalRequest) -> ApprovalAnswer:
        await asyncio.Event().wait()
        raise AssertionError

    approval = await decided(ApproverAgent(approve=away, default=default, timeout_s=0.01))

    assert (approval.decided_by, approval.because) == ("default", "nobody answered within 0.01 s")
    assert (len(approval.accepted), len(approval.set_aside)) == (accepted, 2 - accepted)


@pytest.mark.parametrize("error", [EOFError(), ValueError("what it knows stays unsaid"), NobodyToAsk("asleep")])
async def test_asking_that_fails_leaves_the_default_and_says_why(error: Exception) -> None:
    def broken(_: str) -> str:
        raise error

    approval = await decided(ApproverAgent(input_func=broken))

    assert approval.decided_by == "default"
    assert approval.because in ("the input was closed", "asking failed (ValueError)", "asleep")


async def test_a_decision_from_an_earlier_life_asks_nobody() -> None:
    agent = ApproverAgent(input_func=lambda _: pytest.fail("asked again"))
    before = Approval.by("person", "terminal", REQUEST.candidates, REQUEST.none("no"))
    agent.join(RunContext(decided=before))
    assert await decided(agent) == before
    nothing = await spoken(ApproverAgent(), asked(), findings("literature"))
    assert nothing.because == "there was no candidate to ask about"


async def test_an_approver_comes_back_from_its_state() -> None:
    first, loaded = ApproverAgent(input_func=lambda _: "all"), ApproverAgent()
    await decided(first)
    await loaded.load_state(json.loads(json.dumps(await first.save_state())))
    assert await loaded.save_state() == await first.save_state()


async def test_what_is_set_aside_is_not_in_the_report_which_says_so() -> None:
    both = await reported()
    assert set(both.drug_candidates) == {"propranolol", "montelukast"}
    assert both.approval == Approval(decided_by="nobody")
    assert "Nobody was asked to approve the candidates." in both.methodology.content

    approval = await decided(ApproverAgent(input_func=lambda _: "propranolol; harms"))
    report = await reported(ApprovalMessage(content=approval, source="approver"))

    assert report.drug_candidates == ["propranolol"]
    assert {claim.drug for one in report.candidates for claim in one.claims} == {"propranolol"}
    assert {row.drug for row in report.evidence_table} == {"propranolol"}
    assert report.claims_kept < both.claims_kept
    assert report.claims_dropped == both.claims_dropped
    assert "1 of 2 accepted" in report.methodology.content
    assert "**montelukast** was set aside (0 supporting, 1 contradicting, " in report.to_markdown()
    assert sum(report.flow.excluded.values()) + report.flow.included == report.flow.screened
    assert ResearchReport.model_validate_json(report.to_json()) == report


async def test_a_report_without_an_accepted_candidate_does_not_call_the_evidence_missing() -> None:
    approval = await decided(ApproverAgent(input_func=lambda _: "none"))
    report = await reported(ApprovalMessage(content=approval, source="approver"))

    assert (report.drug_candidates, report.claims_kept) == ([], 0)
    assert "2 candidates were set aside by a person (AutoGen user proxy)" in report.executive_summary
    assert "2 candidates were set aside by a person (AutoGen user proxy)" in report.conclusion
    assert "could be verified" not in report.to_markdown()
