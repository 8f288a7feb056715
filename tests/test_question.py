"""What a question asks, and what it becomes before it is searched for."""

import asyncio
import json
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest
from autogen_core import CancellationToken
from benchmarks import questions
from benchmarks.questions import read_table_rows
from builders import record, scripted
from faults.answering import Answer, AnsweringClient, Asked
from hypothesis import given
from hypothesis import strategies as st

from willowbark.agents.asking import understand
from willowbark.agents.baseline import BaselineChatCompletionClient
from willowbark.agents.baseline.client import choose_answer
from willowbark.agents.report.content import OTHER_CALLS
from willowbark.teams.ledger import Ledger
from willowbark.teams.run.research import replay, research, research_stream
from willowbark.tools.appraisal.candidates import appraise_candidates, is_left_out, list_drugs_in_use
from willowbark.tools.errors import UsageError
from willowbark.tools.http.endpoints import Endpoints
from willowbark.tools.lexicon import canonical_condition, condition_synonyms, find_conditions
from willowbark.tools.lexicon.matching import phrase_key, read_table
from willowbark.tools.questions import (
    LONGEST_QUESTION,
    QuestionError,
    complete_follow_up,
    parse_question,
    preprocess_query,
    validate_question,
    widen_query,
)

CASES = Path(__file__).parent / "cases"
SMALLEST_SHARE = {"made on": 0.95, "apart": 0.85}
ABBREVIATIONS_THAT_ARE_WORDS = 10
NOT_SEARCHED_FOR = 25  # of a thousand: further spellings of conditions with more than eight names

PIECES = st.sampled_from(
    [
        *'"()[]:*-+,.?!/\u201c\u2019\u2014\u00ad\u200b\u00a0',
        *"AND|OR|NOT|or|and|but not|WHO|A|2|type|vitamin|hepatitis|What|drugs|might|help|prevent|treat|for|in".split(
            "|"
        ),
        *"disease|therapy|gene|migraine|migraine attacks|long|COVID|covid-19|insulin|resistance|diabetes".split("|"),
        *'insipidus|beta-blockers|propranolol|Inderal|(BAY 94-8862)|(PD)|[tiab]|[MeSH Terms]|"quoted words"'.split("|"),
        *"AREA[Condition]|RANGE[2020,MAX]|TITLE:|fever*|tumor necrosis factor|quit smoking|aids|without".split("|"),
    ]
)
WHOLE = [
    '("migraine disorders"[MeSH Terms] OR migraine[tiab]) NOT aura',
    'AREA[Condition]migraine AND AREA[InterventionName]("propranolol")',
    'TITLE:"long covid"',
    "migraine disorders[MeSH Terms] AND propranolol[tiab]",
    '"hepatitis A"',
    "WHO",
]
"""What users write in query syntax."""


@pytest.mark.parametrize(
    ("question", "query"),
    [
        *((whole, whole) for whole in WHOLE),
        ("acromegaly or narcolepsy", "(acromegaly OR narcolepsy)"),
        ("acromegaly but not narcolepsy", "acromegaly NOT narcolepsy"),
        ("  “Erdheim\u2013Chester”\u00a0\u200b ", '"Erdheim-Chester"'),
        ("What might help?", "What might help"),
        ("acromegaly AND gizmo 12", 'acromegaly AND "gizmo 12"'),
        ("acromegaly AND tea (green)", "acromegaly AND tea AND green"),
        ("acromegaly AND tea (QX-12)", "acromegaly AND (tea OR QX-12)"),
        ("hepatitis A treatments", '"hepatitis A"'),
        ("finerenone (BAY 94-8862)", '(finerenone OR "BAY 94-8862" OR bay94-8862 OR kerendia)'),
        (
            "Compare etanercept and adalimumab in rheumatoid arthritis",
            '(etanercept OR adalimumab) AND "rheumatoid arthritis"',
        ),
        (
            "adalimumab or infliximab versus etanercept in rheumatoid arthritis",
            '(adalimumab OR infliximab OR etanercept) AND "rheumatoid arthritis"',
        ),
    ],
)
def test_a_question_becomes_a_query(question: str, query: str) -> None:
    assert preprocess_query(question) == query


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("Which existing drugs could help treat migraine?", ['(migraine OR "migraine disorders" OR ']),
        ("What prevents gout?", ["(prevents OR prevent OR prevention OR prophylaxis OR "]),
        ("migraine AND propranolol NOT aura", [") AND (propranolol OR ", " NOT aura"]),
        ("Does vitamin A help?", ['"vitamin A"']),
        ("gene therapy for pain", ['"gene therapy" AND ']),
        ("insulin resistance", ['"insulin resistance"']),
        ("migraine attacks", ['"migraine attacks"']),
        ("Compare (etanercept AND adalimumab) gout", ["(etanercept AND adalimumab) AND"]),
        ("Do antidepressants help smokers quit?", ['AND ("smokers quit" OR "smoking cessation" OR "quit smoking"']),
        ("Can varenicline increase the risk of falls in smokers?", ["(varenicline OR ", ") AND falls"]),
    ],
)
def test_names_gain_synonyms_and_words_of_asking_vanish(question: str, parts: list[str]) -> None:
    query = preprocess_query(question)
    assert [part for part in parts if part not in query] == []
    assert not {"help", "treat", "drugs", "increase", "risk"} & set(query.split())


@given(
    st.one_of(
        st.text(max_size=80), st.lists(PIECES, max_size=12).map(" ".join), st.lists(PIECES, max_size=8).map("".join)
    )
)
def test_preparing_a_query_twice_changes_nothing_and_a_plain_query_holds_no_syntax(question: str) -> None:
    once = preprocess_query(question)

    assert preprocess_query(once) == once
    assert not set('[]()"') & set(parse_question(question).words)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Which existing drugs could prevent migraine attacks?", "prevent migraine attacks"),
        ("What are the side effects of propranolol?", "propranolol"),
        ("What is the mechanism of action of colchicine in gout?", "colchicine gout"),
        ("Which drugs have FDA approval for migraine?", "migraine"),
        ("Which drugs increase the risk of falls?", "falls"),
        ("What are the side effects?", "side effects"),
        ("Does risk factor control help in stroke?", "stroke"),
    ],
)
def test_words_that_say_what_is_asked_are_not_searched_for_unless_nothing_else_is_left(
    question: str, words: str
) -> None:
    assert parse_question(question).words == words


@pytest.mark.parametrize(
    ("question", "fields"),
    [
        ("Which diabetes drugs might help in cancer?", {"terms": ("diabetes drugs", "cancer"), "is_preventive": False}),
        ("Which blood pressure drugs prevent migraine?", {"is_preventive": True}),
        ("Which drugs treat osteoporosis in men?", {"people": ("men",)}),
        ("Does it help women with migraine?", {"people": ("women",)}),
        ("Does it help men and women?", {"people": ()}),
        ("Can pregnant women take it?", {"people": ("pregnancy",)}),
        ("What treats depression except SSRIs or lithium?", {"excluded_drugs": ("lithium",)}),
    ],
)
def test_a_question_is_read_for_whom_it_asks_and_what_it_wants(question: str, fields: dict[str, Any]) -> None:
    asked = parse_question(question)
    assert {name: getattr(asked, name) for name in fields} == fields


@pytest.mark.parametrize("part", SMALLEST_SHARE)
def test_the_kind_of_a_question_is_told_in_many_wordings(part: str) -> None:
    asked = [row for row in read_table_rows(CASES / "questions.tsv") if row["part"] == part]
    right = sum(parse_question(row["question"]).kind == row["kind"] for row in asked)

    assert right / len(asked) >= SMALLEST_SHARE[part]


@pytest.mark.parametrize("row", list(read_table_rows(CASES / "readings.tsv")), ids=itemgetter("question"))
def test_names_what_is_left_out_and_the_kind_are_read_in_a_question(row: dict[str, str]) -> None:
    asked = parse_question(complete_follow_up(row["question"], row["after"]) if row["after"] else row["question"])

    assert questions.write_reading(asked) == row["reading"]
    if asked.left_out:  # a route is named in few records
        assert (" NOT " in f" {asked.query}") is bool(asked.excluded_drugs or asked.excluded_classes)


def test_what_is_left_out_is_no_candidate() -> None:
    text = "Topiramate, propranolol and timolol prevented migraine. Propranolol was better than placebo."
    asked = parse_question("Which drugs other than topiramate prevent migraine, without beta blockers?")

    assert appraise_candidates(asked, [record("1", text[:55], text)]) == []
    assert list_drugs_in_use(asked, [record("1", text[:55], text)]) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n\t ", "empty"),
        ("x" * (LONGEST_QUESTION + 1), "2,001 characters"),
        ("12345 ???", "no words"),
        ("AND NOT ()", "no words"),
        ("migraine\x00", "control characters"),
        ("\x1b[31mmigraine", "control characters"),
        ("\udcff\udcfe migraine", "control characters"),
        ("PK\ufffd\ufffd migraine", "control characters"),
        (b"migraine", "not bytes"),
    ],
    ids=["empty", "blank", "long", "digits", "operators", "nul", "escape", "surrogates", "replaced", "bytes"],
)
def test_what_is_no_question_is_refused_in_one_line(text: Any, reason: str) -> None:
    with pytest.raises(QuestionError, match=reason) as refused:
        validate_question(text)

    assert "\n" not in str(refused.value)
    assert isinstance(refused.value, UsageError)
    assert isinstance(refused.value, ValueError)


def _synonyms() -> list[tuple[str, str]]:
    rows = read_table("conditions.tsv")
    return [(row["name"], name) for row in rows for name in condition_synonyms(row["name"])[1:]]


def test_conditions_are_found_under_all_their_names() -> None:
    """In questions and in records; only MeSH's inverted names ("diabetes mellitus, type 2") are not."""
    asked = [name for common, name in _synonyms() if parse_question(f"Drugs for {name}?").conditions != (common,)]
    read = [
        name for common, name in _synonyms() if common not in [found.name for found in find_conditions(f"In {name}.")]
    ]
    lower = [name for _, name in _synonyms() if canonical_condition(name.lower()) is None]

    assert {name for name in (*asked, *read) if ", " not in name} == set()
    assert len(lower) <= ABBREVIATIONS_THAT_ARE_WORDS


def test_a_condition_is_searched_for_under_nearly_all_its_names() -> None:
    def is_searched_for(common: str, name: str) -> bool:
        query = preprocess_query(f"Drugs for {common}").strip("()")
        return any(f" {phrase_key(each)} " in f" {phrase_key(name)} " for each in query.split(" OR "))

    missed = [name for common, name in _synonyms() if not is_searched_for(common, name)]

    assert len(missed) <= NOT_SEARCHED_FOR, missed


@pytest.mark.parametrize(
    "row", [row for row in questions.read_table_rows() if row["part"] == "made on"], ids=itemgetter("question")
)
def test_a_question_is_read_whole_or_asked_back(row: dict[str, str]) -> None:
    assert questions.describe_reading(row["question"], row["after"]) == row["reading"]


def test_a_query_is_widened_by_what_names_nothing_and_keeps_what_it_leaves_out() -> None:
    query = preprocess_query("Which drugs prevent gout in children without colchicine?")

    assert list(widen_query(query)) == [
        query.replace(" AND children", ""),
        query.replace(" AND children", "").split(") AND ", 1)[1],
    ]


@pytest.mark.parametrize(
    ("question", "drugs"),
    [
        ("non-hormonal drugs for hot flashes", ["estradiol", "megestrol", "tibolone"]),
        ("Which drugs help in back pain without opioids?", ["alfentanil", "tramadol", "tapentadol"]),
        ("opioid-free treatment of low back pain", ["fentanyl", "remifentanil"]),
    ],
)
def test_a_class_that_is_left_out_leaves_out_all_that_belong_to_it(question: str, drugs: list[str]) -> None:
    asked = parse_question(question)

    assert [drug for drug in drugs if not is_left_out(drug, asked)] == []
    assert not is_left_out("gabapentin", asked)


async def test_a_model_puts_into_words_what_the_rules_do_not_understand() -> None:
    draft = {"kind": "prevent", "condition": "migraine", "people": "children", "drug": "", "without": "opioids"}
    said, _ = await understand("Was beugt Migräne vor?", scripted(json.dumps(draft)))
    asked = parse_question(said)

    assert (asked.kind, asked.conditions, asked.population) == ("prevent", ("migraine",), "children")
    assert asked.excluded_classes == ("opioids",)
    with pytest.raises(QuestionError, match="rules read English"):
        await understand("Was hilft gegen Migräne?", scripted(json.dumps({**draft, "kind": "none"})))
    with pytest.raises(QuestionError, match="rules read English"):
        await understand("Was hilft gegen Migräne?", BaselineChatCompletionClient())
    with pytest.raises(QuestionError, match=r"rules read English.*; .*did not answer"):  # it has no answer left
        await understand("Was hilft gegen Migräne?", scripted())


class Silent(BaselineChatCompletionClient):
    """A model that never answers."""

    reads_requests = False

    async def create(self, *_: Any, **__: Any) -> Any:
        return await asyncio.Event().wait()


async def test_a_model_that_does_not_put_a_question_into_words_is_left_at_the_limit_or_at_a_stop() -> None:
    with pytest.raises(QuestionError, match=r"rules read English.*; the model did not answer within 0\.05 s"):
        await understand("Was hilft gegen Migräne?", Silent(), timeout_s=0.05)
    token = CancellationToken()
    asyncio.get_running_loop().call_later(0.05, token.cancel)
    assert await understand("Was hilft gegen Migräne?", Silent(), token) == ("Was hilft gegen Migräne?", None)


@pytest.mark.whole
async def test_what_a_question_took_to_understand_stands_in_the_account_of_every_life_of_its_run() -> None:
    draft = {"kind": "prevent", "condition": "migraine", "people": "", "drug": "", "without": ""}
    told = json.dumps(draft)

    def answer(asked: Asked) -> Answer:
        if asked.answer_type == "QuestionDraft":
            return told
        return choose_answer(None, asked.messages, [{"name": name, "description": ""} for name in asked.tools])

    client = AnsweringClient(answer)
    client.reads_requests = False
    with Ledger(None) as ledger:
        report = await research(
            "Was beugt Migräne vor?",
            model_client=client,
            offline=True,
            max_iterations=1,
            sources=("pubmed",),
            ledger=ledger,
            run_id="the-run",
        )
        again = await replay("the-run", ledger)

    assert report.research_question == "Which existing drugs could prevent migraine?"
    (beside,) = [turn for turn in report.usage if turn.agent == OTHER_CALLS]
    assert beside.completion_tokens == len(told) // 4
    assert again.usage == report.usage


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("non-sedating drugs for allergic rhinitis", "is not a known drug class"),
        ("heart pills for hypertension", "is not a known drug class"),
        ("Is ketamine better than ECT in depression?", "“ECT” is not known"),
        (
            "Does pioglitazone worsen macular oedema?",
            "do you mean “Can pioglitazone cause macular edema?” or “Does pioglitazone help in macular edema?”?",
        ),
    ],
)
def test_a_property_of_drugs_or_a_comparator_that_is_not_known_is_asked_back(question: str, said: str) -> None:
    assert said in (parse_question(question).objection or "")


@pytest.mark.parametrize(
    ("typed", "kind", "understood"),
    [
        ("aspirin repurposing", "uses", "What is aspirin studied for?"),
        ("repurposing of aspirin?", "uses", "What is aspirin studied for?"),
        ("aspirin repurposing cancer", "treat", "Does aspirin help in cancer?"),
        ("aspirin cardiovascular", "treat", "Does aspirin help in cardiovascular disease?"),
        ("sildenafil heart", "treat", "Does sildenafil help in heart disease?"),
    ],
)
def test_a_few_bare_words_are_answered_as_the_question_for_which_they_stand(
    typed: str, kind: str, understood: str
) -> None:
    read = parse_question(typed)

    assert (read.kind, read.understood, read.objection) == (kind, understood, None)
    assert parse_question(understood).understood == "", "a whole question is not completed"


@pytest.mark.parametrize("typed", ["aspirin banana", "aspirin price", "buy aspirin", "aspirin 2024"])
def test_bare_words_that_may_mean_anything_are_asked_back(typed: str) -> None:
    read = parse_question(typed)

    assert read.understood == ""
    assert read.objection is not None


async def test_a_run_on_bare_words_says_what_it_understood(endpoints: Endpoints) -> None:
    events = [event async for event in research_stream("aspirin repurposing", endpoints=endpoints, max_iterations=1)]
    report = events[-1].report
    lines = [event.message for event in events if event.type == "progress"]

    assert lines[0] == "Understood as “What is aspirin studied for?”"
    assert report is not None
    assert "aspirin repurposing (understood as “What is aspirin studied for?”)" in report.to_markdown()


async def test_a_run_on_one_form_of_a_condition_says_where_it_answers_for_all(endpoints: Endpoints) -> None:
    question = "Which existing drugs could treat essential hypertension?"
    events = [event async for event in research_stream(question, endpoints=endpoints, max_iterations=1)]
    report = events[-1].report

    assert report is not None
    note = "(answered for all forms of hypertension, not essential hypertension alone)"
    assert f"{question} {note}" in report.to_markdown()


@pytest.mark.parametrize("typed", ["flu children", "psoriasis elderly"])
def test_a_condition_typed_in_a_few_words_asks_what_treats_it(typed: str) -> None:
    read = parse_question(typed)
    assert (read.kind, read.objection) == ("treat", None)


@pytest.mark.parametrize(
    ("before", "question", "whole"),
    [
        ("Which drugs cause hair loss?", "and weight gain?", "Can any drug cause weight gain?"),
        ("Is metformin safe in renal failure?", "What about liver failure?", "Is metformin safe in liver failure?"),
        ("Is naproxen safe in pregnancy?", "And ibuprofen?", "Is ibuprofen safe in pregnancy?"),
        ("side effects of propranolol", "and topiramate?", "Can topiramate cause side effects?"),
        ("Which drugs prevent migraine?", "thanks", "thanks"),
        ("What prevents gout?", "and zinc and timolol?", "Does zinc and timolol prevent gout?"),
        ("Is metformin safe in renal failure?", "What treats psoriasis?", "What treats psoriasis?"),
        ("What are the symptoms of migraine?", "what about topiramate?", "Does topiramate help in migraine?"),
        (
            "Is propranolol better than timolol for migraine?",
            "what about topiramate?",
            "Is propranolol better than topiramate for migraine?",
        ),
        ("Which drugs should be avoided in heart failure?", "and ibuprofen?", "Is ibuprofen safe in heart failure?"),
        ("Can I take ibuprofen with warfarin?", "and paracetamol?", "Is acetaminophen safe with warfarin?"),
        (
            "Which drugs prevent migraine but not propranolol?",
            "what about propranolol?",
            "Does propranolol prevent migraine?",
        ),
        (
            "Which drugs treat pain in patients on warfarin?",
            "What about ibuprofen?",
            "Does ibuprofen help in pain in people taking warfarin?",
        ),
        (
            "Which drugs treat pain in patients on warfarin and aspirin?",
            "and in children?",
            "Which existing drugs might treat pain in children in people taking warfarin and aspirin?",
        ),
        (
            "Which drugs treat pain in patients on warfarin?",
            "What about people taking lithium?",
            "Which existing drugs might treat pain in people taking lithium?",
        ),
        (
            "Which drugs treat pain in patients on warfarin?",
            "Is ibuprofen safe?",
            "Is ibuprofen safe (for pain, in people taking warfarin)?",
        ),
        (
            "Is ibuprofen better than naproxen for pain in people on warfarin?",
            "what about acetaminophen?",
            "Is ibuprofen better than acetaminophen for pain in people taking warfarin?",
        ),
        ("Which drugs treat pain in patients on warfarin?", "What treats gout?", "What treats gout?"),
    ],
)
def test_a_follow_up_keeps_what_was_asked_of_the_name_before(before: str, question: str, whole: str) -> None:
    assert complete_follow_up(question, before) == whole
