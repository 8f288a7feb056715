"""The judge: a model proposes, rules decide."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from autogen_agentchat.base import ChatAgent
from autogen_agentchat.messages import TextMessage
from autogen_core import CancellationToken
from builders import asked, drug_record, findings, record, reply, scripted, verdict

from willowbark.agents.assessment import SHOWN_RECORDS, AssessmentMessage, JudgeAssessment, shown_records
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import RunContext
from willowbark.agents.judge import JudgeAgent, JudgeLimits
from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.search import Status

TRIAL = record(
    "1",
    "Propranolol in migraine prevention: a double-blind trial",
    "Propranolol reduced migraine attacks compared with placebo in 500 patients (p<0.001).",
    publication_types=["Randomized Controlled Trial"],
)


def proposal(**changes: Any) -> str:
    usual = {
        "mechanism_reasoning": "well established",
        "mechanism_score": 9,
        "clinical_reasoning": "several good trials",
        "clinical_evidence_score": 9,
        "drug_candidates": ["propranolol"],
        "candidates_score": 9,
        "key_findings": [],
        "gaps": ["more trials"],
        "next_searches": [],
        "reasoning": "The evidence is good enough for a report.",
        "confidence": 0.9,
    }
    return json.dumps(usual | changes)


async def judged(
    *messages: Any, answer: str | None = None, judge: JudgeAgent | None = None, **limits: Any
) -> JudgeAssessment:
    agent = judge or JudgeAgent("judge", scripted(answer or proposal()), limits=JudgeLimits(**limits))
    response = await agent.on_messages(list(messages), CancellationToken())
    assert isinstance(response.chat_message, AssessmentMessage)
    return response.chat_message.content


ROUND = (asked(), findings("literature", reply(TRIAL)))


async def test_good_evidence_is_sufficient() -> None:
    verdict = await judged(*ROUND)
    assert (verdict.sufficient, verdict.recommendation, verdict.stop_reason) == (
        True,
        "synthesize",
        "sufficient_evidence",
    )


@pytest.mark.parametrize(
    "changes",
    [{"confidence": 0.79}, {"mechanism_score": 5}, {"candidates_score": 5}],
    ids=["confidence", "mechanism", "candidates"],
)
async def test_each_threshold_keeps_the_search_going(changes: dict[str, Any]) -> None:
    verdict = await judged(*ROUND, answer=proposal(**changes))
    assert (verdict.sufficient, verdict.recommendation) == (False, "continue")


async def test_a_model_cannot_decide_by_itself() -> None:
    wish = proposal(confidence=0.1, sufficient=True, recommendation="synthesize", stop_reason="sufficient_evidence")
    verdict = await judged(*ROUND, answer=wish)
    assert (verdict.sufficient, verdict.recommendation, verdict.stop_reason) == (False, "continue", None)


async def test_counts_come_from_the_records() -> None:
    wish = proposal(**{"sources_breakdown": {"peer_reviewed": 99}, "sources_score": 10})
    details = (await judged(*ROUND, answer=wish)).details
    assert details.sources_breakdown == {"peer_reviewed": 1, "clinical_trials": 0, "preprints": 0, "other": 0}
    assert details.sources_score == 2


async def test_candidates_that_no_record_names_are_struck() -> None:
    wish = proposal(**{"drug_candidates": ["propranolol", "migrastatin"]})
    verdict = await judged(*ROUND, answer=wish)
    assert verdict.details.drug_candidates == ["propranolol"]
    assert verdict.notes == ["judge: 1 of the model's candidates left out, since no record was read on them"]


async def test_scores_without_any_candidate_are_nil() -> None:
    details = (await judged(asked(), findings("literature", reply(status=Status.EMPTY)))).details
    assert (details.candidates_score, details.clinical_evidence_score) == (0, 0)


async def test_the_last_round_ends_the_search() -> None:
    verdict = await judged(*ROUND, answer=proposal(confidence=0.1), max_iterations=1)
    assert verdict.stop_reason == "max_iterations_reached"


async def test_a_nearly_used_token_budget_ends_the_search() -> None:
    verdict = await judged(*ROUND, answer=proposal(confidence=0.1), max_tokens=120)  # the findings took 110
    assert verdict.stop_reason == "token_budget_exceeded"


@pytest.mark.parametrize("budget", ["token_budget_exceeded", "timeout"])
async def test_a_budget_of_the_run_that_is_used_up_ends_the_search(budget: Any) -> None:
    judge = JudgeAgent("judge", scripted(proposal(confidence=0.1), proposal(confidence=0.1)))
    judge.join(RunContext(exhausted=lambda iteration: budget if iteration == 2 else None))
    assert (await judged(*ROUND, judge=judge)).stop_reason is None
    assert (await judged(findings("literature", reply(TRIAL), iteration=2), judge=judge)).stop_reason == budget


async def test_a_nearly_used_time_budget_ends_the_search() -> None:
    early = TextMessage(content="Which drugs?", source="user", created_at=datetime.now(UTC) - timedelta(seconds=95))
    verdict = await judged(early, ROUND[1], answer=proposal(confidence=0.1), max_seconds=100)
    assert verdict.stop_reason == "timeout"


async def test_a_round_without_news_ends_the_search() -> None:
    judge = JudgeAgent("judge", scripted(proposal(confidence=0.1), proposal(confidence=0.1)))
    assert (await judged(*ROUND, judge=judge)).recommendation == "continue"
    again = await judged(findings("literature", reply(TRIAL), iteration=2), judge=judge)
    assert (again.iteration, again.stop_reason) == (2, "no_new_evidence")


async def test_a_round_with_news_does_not() -> None:
    judge = JudgeAgent("judge", scripted(proposal(confidence=0.1), proposal(confidence=0.1)))
    await judged(*ROUND, judge=judge)
    news = findings(
        "mechanism", reply(drug_record("propranolol", "Beta blocker", "ADRB1"), source="chembl"), iteration=2
    )
    assert (await judged(news, judge=judge)).recommendation == "continue"


async def test_a_judge_with_nothing_left_to_ask_ends_the_search() -> None:
    assert (await judged(*ROUND, answer=proposal(confidence=0.1, gaps=[]))).stop_reason == "no_new_evidence"


@pytest.mark.parametrize(
    ("statuses", "reason"),
    [
        ([Status.UNAVAILABLE], "sources_unreachable"),
        ([Status.UNAVAILABLE, Status.BAD_QUERY], "sources_unreachable"),
        ([Status.BAD_QUERY], "no_new_evidence"),
        ([], "no_new_evidence"),
        ([Status.UNAVAILABLE, Status.EMPTY], None),
    ],
)
async def test_a_round_in_which_nothing_answered_ends_the_search(statuses: list[Status], reason: str | None) -> None:
    said = [reply(status=status, warnings=["no connection"]) for status in statuses]
    verdict = await judged(asked(), findings("literature", *said), answer=proposal(confidence=0.1))
    assert verdict.stop_reason == reason


async def test_no_network_is_the_reason_whatever_budget_is_used_up_by_it() -> None:
    down = findings("literature", reply(status=Status.UNAVAILABLE, warnings=["no connection"]))
    assert (await judged(asked(), down, max_iterations=1, max_tokens=1)).stop_reason == "sources_unreachable"


async def test_a_model_that_fails_is_replaced_and_named() -> None:
    judge = JudgeAgent("judge", scripted(), fallback=BaselineChatCompletionClient())
    verdict = await judged(*ROUND, judge=judge)
    assert "propranolol" in verdict.details.drug_candidates
    (note,) = verdict.notes
    assert (
        note
        == f"judge: the model did not answer (ValueError); {BaselineChatCompletionClient.display_name} answered instead"
    )


async def test_without_model_and_fallback_the_rules_still_decide() -> None:
    verdict = await judged(*ROUND, judge=JudgeAgent("judge", scripted(), limits=JudgeLimits(max_iterations=1)))
    assert verdict.stop_reason == "max_iterations_reached"
    assert verdict.confidence == 0


async def test_people_get_text_before_the_typed_message() -> None:
    judge = JudgeAgent("judge", scripted(proposal()))
    events = [event async for event in judge.on_messages_stream(list(ROUND), CancellationToken())]
    assert isinstance(events[0], TextMessage)
    assert "synthesize" in events[0].content


async def test_a_judge_survives_json_and_goes_on_counting() -> None:
    judge = JudgeAgent("judge", scripted(proposal(confidence=0.1)), limits=JudgeLimits(max_iterations=2))
    await judged(*ROUND, judge=judge)
    other = JudgeAgent("judge", scripted(proposal(confidence=0.1)), limits=JudgeLimits(max_iterations=2))
    await other.load_state(await judge.save_state())
    news = findings("literature", reply(record("2", "Timolol in migraine", "Timolol helped.")), iteration=2)
    assert (await judged(news, judge=other)).stop_reason == "max_iterations_reached"


def test_a_judge_survives_dump_and_load() -> None:
    judge = JudgeAgent("judge", BaselineChatCompletionClient(), limits=JudgeLimits(max_iterations=3, max_tokens=9))
    loaded = ChatAgent.load_component(judge.dump_component())
    assert isinstance(loaded, JudgeAgent)
    assert loaded.limits == judge.limits


def test_specialists_read_gaps_and_next_queries() -> None:
    text = verdict(gaps=["mechanism of timolol"], next_search_queries=["timolol"]).to_model_text()
    assert text.startswith("Round 1: continue")
    assert "Next query: timolol" in text


async def test_a_model_reads_what_the_databases_say_of_the_candidates_however_many_studies_there_are() -> None:
    drug = drug_record("propranolol", "Beta-1 adrenergic receptor antagonist", "ADRB1")
    studies = [record(str(n), f"Migraine prevention study {n}", "Migraine attacks were counted.") for n in range(2, 80)]
    pool = [drug, TRIAL, *studies]

    shown = shown_records(pool, appraise_candidates("Which drugs prevent migraine?", pool))

    assert drug in shown
    assert len(shown) == SHOWN_RECORDS + 1


def test_the_records_that_decide_on_a_candidate_are_read_however_many_fit_the_question_better() -> None:
    fitting = [record(str(n), f"Migraine prevention study {n}", "Migraine attacks were counted.") for n in range(2, 80)]
    far = record(
        "99", "Nadolol to prevent migraine", "Nadolol reduced migraine attacks compared with placebo (p<0.001)."
    )
    pool = [TRIAL, *fitting, far]

    candidates = appraise_candidates("Which drugs prevent migraine?", pool)
    assert "nadolol" in [each.drug for each in candidates if each.has_verdict]
    shown = shown_records(pool, candidates)

    assert far in shown
    assert len(shown) == SHOWN_RECORDS


async def test_a_model_judges_readings_and_sees_no_abstract() -> None:
    idle = "Background of no use. " * 40
    long = record("7", "Propranolol in migraine", f"{idle}Propranolol reduced migraine attacks.")
    client = scripted(proposal())
    await judged(asked(), findings("literature", reply(TRIAL, long)), judge=JudgeAgent("judge", client))
    said = str(client.create_calls[0]["messages"][-1].content)
    assert '"key": "pmid:1", "drug": "propranolol", "says": "supports"' in said
    assert "Propranolol reduced migraine attacks" in said
    assert "Background of no use" not in said


async def test_a_model_reads_one_line_a_query_whatever_sources_and_pages_it_had() -> None:
    client = scripted(proposal())
    pages = [each.model_copy(update={"total": 3}) for each in (reply(TRIAL), reply())]
    failed = reply(source="europepmc", status=Status.UNAVAILABLE)
    await judged(asked(), findings("literature", *pages, failed), judge=JudgeAgent("judge", client))
    said = str(client.create_calls[0]["messages"][-1].content)
    assert "Searches so far:\n- migraine: pubmed 1 of 3, europepmc 0 of 0 (unavailable)\nAppraisal" in said


async def test_a_synonym_of_a_candidate_is_that_candidate() -> None:
    wish = proposal(drug_candidates=["Inderal"])
    assert (await judged(*ROUND, answer=wish)).details.drug_candidates == ["propranolol"]
