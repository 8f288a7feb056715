"""The judge: a model proposes, rules decide; reading goes on while it pays and the depth allows it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from autogen_agentchat.messages import TextMessage
from builders import (
    QUESTION,
    TRIAL,
    asked,
    drug_record,
    findings,
    judge_draft,
    judged_drug,
    record,
    reply,
    scripted,
    spoken,
)

from willowbark.agents.asking.claims import Verdicts
from willowbark.agents.asking.fits import StudyTopic, ask_fits
from willowbark.agents.assessment import (
    MOST_RECORDS,
    SETTLED_AFTER,
    AssessmentRequest,
    JudgeAssessment,
    Progress,
    count_progress,
    select_records,
)
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.context import RunContext
from willowbark.agents.findings import Dossier
from willowbark.agents.judge import JudgeAgent, JudgeLimits
from willowbark.agents.report.material import Material
from willowbark.agents.report.texts import write_line
from willowbark.tools.appraisal.candidates import Candidate, appraise_candidates
from willowbark.tools.appraisal.certainty import CertaintyLevel, appraise_candidate
from willowbark.tools.appraisal.judgement import JudgedDrug, JudgeView, StruckRow, judge_candidates
from willowbark.tools.questions import parse_question
from willowbark.tools.reading.corrections import Correction, CorrectionBook, get_time
from willowbark.tools.search import SourceReply, Status


def proposal(**changes: Any) -> str:
    return json.dumps(judge_draft(**changes))


async def judged(
    *messages: Any, answer: str | None = None, judge: JudgeAgent | None = None, **limits: Any
) -> JudgeAssessment:
    agent = judge or JudgeAgent("judge", scripted(answer or proposal()), limits=JudgeLimits(**limits))
    return cast(JudgeAssessment, await spoken(agent, *messages))


ROUND = (asked(), findings("literature", reply(TRIAL)))


UNSURE = {"confidence": 0.1}
EARLY = TextMessage(content="Which drugs?", source="user", created_at=datetime.now(UTC) - timedelta(seconds=95))


def answering(*statuses: Status) -> Any:
    return findings("literature", *(reply(status=status, warnings=["no connection"]) for status in statuses))


@pytest.mark.parametrize(
    ("thread", "changes", "limits", "reason"),
    [
        (ROUND, {}, {}, "sufficient_evidence"),
        (ROUND, {"confidence": 0.79}, {}, None),
        (ROUND, {"mechanism_score": 5}, {}, "sufficient_evidence"),  # nobody asks how the drug acts
        (ROUND, {"is_enough": False}, {}, None),
        (ROUND, {"candidates_score": 5}, {}, None),
        (ROUND, {**UNSURE, "recommendation": "synthesize", "stop_reason": "sufficient_evidence"}, {}, None),
        (ROUND, {**UNSURE, "gaps": []}, {}, "no_new_evidence"),
        (ROUND, UNSURE, {"max_iterations": 1}, "max_iterations_reached"),
        (ROUND, UNSURE, {"max_tokens": 120}, "token_budget_exceeded"),  # the findings took 110
        ((EARLY, ROUND[1]), UNSURE, {"max_seconds": 100}, "timeout"),
        ((asked(), answering(Status.UNAVAILABLE)), UNSURE, {"max_tokens": 1}, "sources_unreachable"),
        ((asked(), answering(Status.UNAVAILABLE, Status.BAD_QUERY)), UNSURE, {}, "sources_unreachable"),
        ((asked(), answering(Status.BAD_QUERY)), UNSURE, {}, "no_new_evidence"),
        ((asked(), answering()), UNSURE, {}, "no_new_evidence"),
        ((asked(), answering(Status.UNAVAILABLE, Status.EMPTY)), UNSURE, {}, None),
    ],
)
async def test_whether_the_search_goes_on_is_decided_by_rule(
    thread: Any, changes: dict[str, Any], limits: dict[str, Any], reason: str | None
) -> None:
    verdict = await judged(*thread, answer=proposal(**changes), **limits)
    assert verdict.stop_reason == reason
    assert verdict.recommendation == ("continue" if reason is None else "synthesize")
    assert verdict.sufficient is (reason == "sufficient_evidence")


async def test_a_search_that_its_limit_of_tokens_ends_says_so_and_how_to_lift_it() -> None:
    verdict = await judged(*ROUND, answer=proposal(**UNSURE), max_tokens=120)

    assert "of at most 120 tokens: raise `max_tokens` to go further, or set it to `none`" in verdict.notes[-1]


async def test_a_budget_of_the_run_that_is_used_up_ends_the_search() -> None:
    judge = JudgeAgent("judge", scripted(proposal(**UNSURE), proposal(**UNSURE)))
    judge.join(RunContext(exhausted=lambda iteration: "timeout" if iteration == 2 else None))
    assert (await judged(*ROUND, judge=judge)).stop_reason is None
    assert (await judged(findings("literature", reply(TRIAL), iteration=2), judge=judge)).stop_reason == "timeout"


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (findings("literature", reply(TRIAL), iteration=2), "no_new_evidence"),
        (
            findings("mechanism", reply(drug_record("propranolol", "Blocker", "ADRB1"), source="chembl"), iteration=2),
            None,
        ),
    ],
    ids=["nothing new", "news"],
)
async def test_a_round_without_news_ends_the_search_also_for_a_judge_loaded_from_its_state(
    found: Any, reason: str | None
) -> None:
    judge, other = (JudgeAgent("judge", scripted(proposal(**UNSURE))) for _ in range(2))
    assert (await judged(*ROUND, judge=judge)).recommendation == "continue"
    await other.load_state(json.loads(json.dumps(await judge.save_state())))
    again = await judged(found, judge=other)
    assert (again.iteration, again.stop_reason) == (2, reason)


async def test_counts_come_from_the_records_and_scores_without_a_candidate_are_nil() -> None:
    wish = proposal(**{"sources_breakdown": {"peer_reviewed": 99}, "sources_score": 10})
    details = (await judged(*ROUND, answer=wish)).details
    assert details.sources_breakdown == {"peer_reviewed": 1, "clinical_trials": 0, "preprints": 0, "other": 0}
    assert details.sources_score == 2
    none = (await judged(asked(), findings("literature", reply(status=Status.EMPTY)))).details
    assert (none.candidates_score, none.clinical_evidence_score) == (0, 0)


async def test_a_judges_own_words_stand_where_they_rest_on_what_was_read() -> None:
    wish = proposal(
        decides=[
            {"text": "Propranolol reduced attacks in 500 patients.", "keys": ["pmid:1"]},
            {"text": "It cured 987 patients.", "keys": ["pmid:1"]},
            {"text": "Timolol works as well.", "keys": ["pmid:1"]},
            {"text": "It is known to work.", "keys": ["pmid:2"]},
        ],
        gaps=["A second trial is missing.", "See https://evil.invalid/ for more."],
        drugs=[judged_drug("Inderal", reason="One trial.", keys=["pmid:1"]), judged_drug("migrastatin")],
    )
    verdict = await judged(*ROUND, answer=wish)
    assert verdict.details.drug_candidates == ["propranolol"]
    assert [each.text for each in verdict.view.decides] == ["Propranolol reduced attacks in 500 patients."]
    assert verdict.view.by
    assert (verdict.view.drugs[0].drug, verdict.view.drugs[0].keys) == ("propranolol", ["pmid:1"])
    assert verdict.gaps == ["A second trial is missing."]
    assert set(verdict.details.key_findings) == {f"propranolol: “{TRIAL.content.splitlines()[-1]}” (PMID 1)"}
    assert len(verdict.view.dropped) == 4
    assert "judge: 1 of the model's candidates excluded, since no record was read on them" in verdict.notes


async def test_a_gap_may_name_a_drug_that_no_record_holds_and_a_strike_needs_its_reason() -> None:
    strikes = [
        {"evidence_key": "pmid:1", "drug": "propranolol", "reason": "It cured 987 patients."},
        {"evidence_key": "pmid:2", "drug": "propranolol", "reason": "It is a subgroup."},
    ]
    verdict = await judged(*ROUND, answer=proposal(gaps=["Trials of timolol are missing."], strikes=strikes))
    assert verdict.gaps == ["Trials of timolol are missing."]
    assert verdict.view.struck == []
    assert verdict.view.dropped == ["a figure stands in none of its records"]


async def test_topics_of_which_a_model_tells_nothing_are_counted() -> None:
    topics = [StudyTopic(aim="treat", condition=name, people="") for name in ("migraine", "asthma")]
    told = json.dumps({"fits": [{"number": 1, "condition": "yes", "people": "yes"}]})
    answer = await ask_fits(scripted(told), QUESTION, topics, "x")
    assert list(answer.fits) == [topics[0].name]
    assert answer.failures == ["it left out 1 of 2 topics"]


async def test_what_a_judge_strikes_counts_for_nothing_and_whom_a_drug_is_not_for_keeps_it_from_leading() -> None:
    asked_of = parse_question("Which drugs prevent migraine?")
    [found] = appraise_candidates(asked_of, [TRIAL])
    row = StruckRow(key=TRIAL.key, drug="propranolol", reason="It is a subgroup.")
    [struck] = judge_candidates([found], JudgeView(by="m", struck=[row]))
    assert (found.appraisal.supporting, struck.appraisal.supporting) == ([TRIAL.key], [])
    assert struck.appraisal.notes == [f"Left out: {TRIAL.key} was struck by the judge: It is a subgroup."]
    undone = Correction(
        change="count", record=TRIAL.key, drug="propranolol", condition="migraine", who="Anna", at=get_time()
    )
    book = CorrectionBook([undone])
    [counted] = judge_candidates([found], JudgeView(by="m", struck=[row]), book, ["migraine"])
    assert counted.appraisal.supporting == [TRIAL.key]
    [elsewhere] = judge_candidates([found], JudgeView(by="m", struck=[row]), book, ["asthma"])
    assert elsewhere.appraisal.supporting == []
    not_for = JudgedDrug(drug="propranolol", not_for="they have asthma")
    [barred] = judge_candidates([found], JudgeView(by="m", drugs=[not_for]))
    assert (found.does_not_lead, barred.does_not_lead) == (False, True)


async def test_of_the_judges_level_and_the_computed_one_the_lower_counts_with_its_reason() -> None:
    [found] = appraise_candidates(parse_question("Which drugs prevent migraine?"), [TRIAL])
    computed = found.appraisal.certainty.level
    views = [
        JudgeView(by="m", drugs=[JudgedDrug(drug="propranolol", level=level, reason="It is short.")])
        for level in (CertaintyLevel.very_low, CertaintyLevel.high)
    ]
    [lower], [higher] = (judge_candidates([found], view) for view in views)
    assert (computed, lower.appraisal.certainty.level) == (CertaintyLevel.moderate, CertaintyLevel.very_low)
    assert lower.appraisal.certainty.lowered[-1] == "Judge: very low, where the rules come to moderate: It is short."
    assert (higher.appraisal.certainty.level, higher.appraisal.certainty.judged) == (computed, CertaintyLevel.high)


async def test_a_model_that_fails_is_replaced_and_named() -> None:
    judge = JudgeAgent("judge", scripted(), fallback=BaselineChatCompletionClient())
    verdict = await judged(*ROUND, judge=judge)
    assert "propranolol" in verdict.details.drug_candidates
    assert verdict.notes[0].startswith("judge: the model did not answer (ValueError); baseline analyst")
    alone = await judged(*ROUND, judge=JudgeAgent("judge", scripted(), limits=JudgeLimits(max_iterations=1)))
    assert (alone.stop_reason, alone.details.drug_candidates) == ("max_iterations_reached", ["propranolol"])


def test_a_model_reads_what_databases_say_and_what_decides_however_many_studies_fit_better() -> None:
    drug = drug_record("propranolol", "Beta-1 adrenergic receptor antagonist", "ADRB1")
    fitting = [record(str(n), f"Migraine prevention study {n}", "Migraine attacks were counted.") for n in range(2, 80)]
    said = "Nadolol reduced migraine attacks compared with placebo (p<0.001)."
    far = record("99", "Nadolol to prevent migraine", said)
    pool = [drug, TRIAL, *fitting, far]

    shown = select_records(pool, appraise_candidates(parse_question("Which drugs prevent migraine?"), pool))

    assert drug in shown
    assert far in shown
    assert len(shown) == MOST_RECORDS + 1


async def test_a_model_sees_drugs_that_failed_or_did_harm_however_many_helped() -> None:
    def told(drug: str, **keys: list[str]) -> Candidate:
        return Candidate(drug=drug, appraisal=appraise_candidate([]).model_copy(update=keys))

    mentions = ["pmid:98", "pmid:99"]
    helped = [told(f"help{at}", supporting=[f"pmid:{at}"], not_assessed=mentions) for at in range(30)]
    failed = [
        told(f"failure{at}", contradicting=[f"pmid:{at}{place:02}" for place in range(at)]) for at in range(1, 12)
    ]
    given: Any = {"question": "Which drugs?", "iteration": 1, "searches": [], "pool": 41, "records": []}
    said = AssessmentRequest(candidates=[*helped, *failed], progress=Progress(), **given).text

    assert (said.count("- help"), said.count("- failure")) == (14, 6)
    assert "- help0: 1 supporting, very low certainty" in said
    assert "- failure11: 11 contradicting, very low certainty" in said


async def test_a_model_judges_readings_without_abstracts_and_one_line_a_query_whatever_pages_it_had() -> None:
    idle = "Background of no use. " * 40
    long = record("7", "Propranolol in migraine", f"{idle}Propranolol reduced migraine attacks.")
    client = scripted(proposal())
    pages = [each.model_copy(update={"total": 3}) for each in (reply(TRIAL, long), reply())]
    failed = reply(source="europepmc", status=Status.UNAVAILABLE)
    await judged(asked(), findings("literature", *pages, failed), judge=JudgeAgent("judge", client))
    said = str(client.create_calls[0]["messages"][-1].content)
    assert "Specialists:\n- literature (takes queries, numbers, citations): " in said
    assert '"key": "pmid:1", "drug": "propranolol", "says": "supports"' in said
    assert '"against": "placebo"' in said
    assert "Propranolol reduced migraine attacks" in said
    assert "Background of no use" not in said
    assert "of those found:\n- migraine: pubmed 2 of 3, europepmc 0 of 0 (unavailable)\nAppraisal" in said


async def test_what_a_judge_asks_for_and_does_not_get_is_said_back_with_the_reason() -> None:
    searches = [
        {"closes": "More.", "specialist": "nobody", "query": "timolol AND migraine"},
        {"closes": "More.", "specialist": "literature", "query": "candesartan AND migraine"},
        {"closes": "More.", "specialist": "literature", "query": "migraine AND (timolol)"},
    ]
    client = scripted(proposal(**UNSURE, next_searches=searches), proposal(**UNSURE))
    judge = JudgeAgent("judge", client, limits=JudgeLimits(max_tokens=5000, max_iterations=3))
    first = await judged(*ROUND, judge=judge)
    assert first.notes == ["Not every search proposed by the judge was made: no specialist has the name given"]
    assert [search.query for search in first.next_searches] == [search["query"] for search in searches[1:]]
    came = reply(TRIAL).model_copy(update={"asked": "migraine AND (timolol)"})
    second = await judged(findings("literature", came, iteration=2, reflection="Few trials."), judge=judge)
    assert second.notes[0].startswith("Not every search proposed by the judge was made: sources do not take the query")
    said = str(client.create_calls[1]["messages"][-1].content)
    assert "timolol AND migraine: no specialist has the name given\n- candesartan AND migraine" in said
    assert "- literature: Few trials." in said
    assert "Budget: 1 round left; 1 of at most 300 publications and trials read; 3," in said


def search(query: str = "q", source: str = "pubmed", read: int = 50, hits: int = 770) -> SourceReply:
    return SourceReply(source=source, query=query, status=Status.OK, records=[TRIAL] * read, total=hits)


def test_hits_are_those_of_the_widest_search_of_each_kind() -> None:
    searches = [
        search(),
        search("drugs", hits=90),
        search(source="europepmc", hits=800),
        search(source="clinicaltrials"),
    ]
    found = count_progress(searches, [TRIAL], 300)
    assert (found.read, found.hits, found.unread) == (1, 1570, ["q", "drugs"])


def test_a_query_is_unread_until_its_pages_are_as_many_as_its_hits_or_one_is_empty() -> None:
    assert count_progress([search(hits=100), search(hits=0)], [], 300).unread == []
    assert count_progress([search(hits=101), search(hits=0)], [], 300).unread == ["q"]
    assert count_progress([search(hits=101), search(read=0)], [], 300).unread == []


@pytest.mark.parametrize(
    ("changes", "goes_on"),
    [
        ({}, True),
        ({"unread": []}, False),
        ({"read": 300}, False),
        ({"unchanged": SETTLED_AFTER - 1}, True),
        ({"unchanged": SETTLED_AFTER}, False),
    ],
    ids=["unread hits", "all read", "as deep as asked", "not settled", "settled"],
)
def test_reading_goes_on_while_it_pays_and_the_depth_allows_it(changes: dict[str, Any], goes_on: bool) -> None:
    assert Progress(**{"read": 200, "hits": 770, "unread": ["q"], **changes}).goes_on is goes_on


def page(number: int, *pmids: str) -> Any:
    found = [record(pmid, f"Migraine, a comment {pmid}", "Nothing was tested.") for pmid in pmids]
    one = reply(TRIAL, *found, asked="migraine drugs").model_copy(update={"total": 770})
    return findings("literature", one, iteration=number)


OTHERS = (findings("mechanism"), findings("trials"))


async def test_a_model_ends_the_search_though_hits_are_unread_and_reading_goes_on_until_it_says_so() -> None:
    ended = await judged(asked(), page(1), *OTHERS, answer=proposal(gaps=[]))
    assert ended.stop_reason == "sufficient_evidence"
    verdict = await judged(asked(), page(1), *OTHERS, answer=proposal(gaps=[], is_enough=False))
    assert (verdict.sufficient, verdict.recommendation) == (False, "continue")
    assert (verdict.next_search_queries, verdict.next_specialists) == (["migraine drugs"], ["literature", "trials"])


async def test_at_the_depth_asked_for_nobody_is_asked_to_read_on_but_mechanisms_are() -> None:
    wish = proposal(confidence=0.1, next_searches=searches("literature", "mechanism"))
    verdict = await judged(asked(), page(1), *OTHERS, answer=wish, max_records=1)
    assert (verdict.recommendation, verdict.next_specialists) == ("continue", ["mechanism"])
    done = proposal(confidence=0.1, next_searches=searches("trials"))
    ended = await judged(asked(), page(1), *OTHERS, answer=done, max_records=1)
    assert ended.stop_reason == "depth_reached"


async def test_the_search_ends_where_the_last_records_changed_no_verdict() -> None:
    client = scripted(*[proposal(confidence=0.1)] * 2)
    judge = JudgeAgent("judge", client, limits=JudgeLimits())
    judge.join(RunContext())
    first = await judged(asked(), page(1), judge=judge)
    assert (first.recommendation, first.progress.unchanged) == ("continue", 0)
    others = [str(number) for number in range(20_000_000, 20_000_000 + SETTLED_AFTER)]
    second = await judged(page(2, *others), judge=judge)
    assert second.stop_reason == "verdicts_settled"
    assert (second.progress.read, second.progress.unchanged) == (1 + SETTLED_AFTER, SETTLED_AFTER)


def searches(*specialists: str) -> list[dict[str, str]]:
    return [{"closes": "More.", "specialist": name, "query": "migraine"} for name in specialists]


def ending(verdict: JudgeAssessment) -> str:
    dossier = Dossier(question=QUESTION)
    found = Material(dossier=dossier, assessments=[verdict], pool=[], candidates=[], verdicts=Verdicts())
    return write_line("summary", "ending", m=found)


@pytest.mark.parametrize(
    ("reason", "changes", "words"),
    [
        ("verdicts_settled", {"unchanged": 100}, "the last 100 records changed no verdict; 300 of 770 hits were read"),
        ("depth_reached", {}, "the requested depth of 300 records was reached; 300 of 770 hits were read"),
        ("no_new_evidence", {"hits": 300}, "further searches found nothing new; all 300 hits were read"),
        (
            "no_new_evidence",
            {"read": 290},
            "the remaining hits were unavailable or duplicates; 290 of 770 hits were read",
        ),
        (
            "no_new_evidence",
            {"hits": 300, "unread": ["gout"]},
            "further searches found nothing new; 300 records read, though not all hits of each source were fetched",
        ),
        ("sufficient_evidence", {}, "the evidence was judged sufficient; 300 of 770 hits were read"),
    ],
)
async def test_a_report_says_why_the_search_ended_and_how_much_was_read(
    reason: Any, changes: dict[str, Any], words: str
) -> None:
    verdict = await judged(asked(), page(1))
    told = {"stop_reason": reason, "progress": Progress(**{"read": 300, "hits": 770, **changes})}
    assert ending(verdict.model_copy(update=told)) == words
