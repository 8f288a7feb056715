"""What a question becomes before it is searched for."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from willowbark.tools.errors import UsageError
from willowbark.tools.questions import (
    QuestionError,
    parse_question,
    plain_query,
    preprocess_query,
    validate_question,
)
from willowbark.tools.questions.question import LONGEST_QUESTION

PIECES = st.sampled_from(
    [
        *'"()[]:*-+,.?!/\u201c\u2019\u2014\u00ad\u200b\u00a0',
        *("AND", "OR", "NOT", "or", "and", "but not", "WHO", "A", "2", "type", "vitamin", "hepatitis"),
        *("What", "drugs", "might", "help", "prevent", "treat", "for", "in", "disease", "therapy", "gene"),
        *(
            "migraine",
            "migraine attacks",
            "long",
            "COVID",
            "covid-19",
            "insulin",
            "resistance",
            "diabetes",
            "insipidus",
        ),
        *(
            "beta-blockers",
            "propranolol",
            "Inderal",
            "(BAY 94-8862)",
            "(PD)",
            "[tiab]",
            "[MeSH Terms]",
            '"quoted words"',
        ),
        *("AREA[Condition]", "RANGE[2020,MAX]", "TITLE:", "fever*", "tumor necrosis factor", "quit smoking", "aids"),
    ]
)


def test_words_of_asking_vanish_and_names_gain_synonyms() -> None:
    query = preprocess_query("Which existing drugs could help treat migraine?")

    assert query.startswith('(migraine OR "migraine disorders" OR ')
    assert "AND" not in query


def test_prevent_carries_meaning() -> None:
    assert preprocess_query("What prevents gout?").startswith("(prevents OR prevent OR prevention OR prophylaxis OR ")


@pytest.mark.parametrize(
    "kept",
    [
        '("migraine disorders"[MeSH Terms] OR migraine[tiab]) NOT aura',
        'AREA[Condition]migraine AND AREA[InterventionName]("propranolol")',
        'TITLE:"long covid"',
        "migraine disorders[MeSH Terms] AND propranolol[tiab]",
        '"hepatitis A"',
        "WHO",
    ],
    ids=["pubmed", "clinicaltrials", "europepmc", "tagged-words", "quoted", "the-organisation"],
)
def test_what_the_user_wrote_in_query_syntax_stays(kept: str) -> None:
    assert preprocess_query(kept) == kept


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("Does vitamin A help?", '"vitamin A"'),
        ("hepatitis A treatments", '"hepatitis A"'),
        ("gene therapy for pain", '"gene therapy"'),
        ("insulin resistance", '"insulin resistance"'),
        ("migraine attacks", '"migraine attacks"'),
        ("tumor necrosis factor", '"tumor necrosis factor"'),
    ],
)
def test_names_of_several_words_stay_in_one_piece(question: str, words: str) -> None:
    assert words in preprocess_query(question)


def test_operators_between_concepts_stay() -> None:
    query = preprocess_query("migraine AND propranolol NOT aura")

    assert ") AND (propranolol OR " in query
    assert query.endswith(" NOT aura")


def test_a_plain_or_joins_and_but_not_excludes() -> None:
    assert preprocess_query("acromegaly or narcolepsy") == "(acromegaly OR narcolepsy)"
    assert preprocess_query("acromegaly but not narcolepsy") == "acromegaly NOT narcolepsy"


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("Compare etanercept and adalimumab in rheumatoid arthritis", "etanercept OR adalimumab"),
        ("Is etanercept for rheumatoid arthritis better than adalimumab?", "etanercept OR adalimumab"),
        (
            "adalimumab or infliximab versus etanercept in rheumatoid arthritis",
            "adalimumab OR infliximab OR etanercept",
        ),
    ],
)
def test_drugs_to_compare_are_alternatives_since_trials_against_placebo_name_one(question: str, query: str) -> None:
    assert preprocess_query(question) == f'({query}) AND "rheumatoid arthritis"'


def test_drugs_to_compare_stay_as_they_are_in_query_syntax_of_ones_own() -> None:
    asked = "(etanercept AND adalimumab) rheumatoid arthritis"
    assert preprocess_query(f"Compare {asked}").startswith("(etanercept AND adalimumab) AND")


def test_another_name_in_brackets_is_no_further_condition() -> None:
    query = preprocess_query("finerenone (BAY 94-8862)")

    assert " AND " not in query
    assert "finerenone OR " in query


def test_typographic_quotes_dashes_and_blanks_are_made_plain() -> None:
    assert preprocess_query("  “Erdheim\u2013Chester”\u00a0\u200b ") == '"Erdheim-Chester"'


def test_a_question_of_noise_alone_keeps_its_words() -> None:
    assert preprocess_query("What might help?") == "What might help"


@settings(deadline=None)
@given(
    st.one_of(
        st.text(max_size=80), st.lists(PIECES, max_size=12).map(" ".join), st.lists(PIECES, max_size=8).map("".join)
    )
)
def test_preparing_a_query_twice_changes_nothing(question: str) -> None:
    once = preprocess_query(question)

    assert preprocess_query(once) == once


@settings(deadline=None)
@given(st.lists(PIECES, max_size=12).map(" ".join))
def test_a_plain_query_holds_no_syntax(question: str) -> None:
    assert not set('[]()"') & set(plain_query(question))


def test_a_plain_query_holds_the_words_that_carry_meaning() -> None:
    assert plain_query("Which existing drugs could prevent migraine attacks?") == "prevent migraine attacks"


def test_a_class_of_diabetes_drugs_does_not_make_diabetes_the_condition() -> None:
    parsed = parse_question("Which diabetes drugs show promise for cancer?")

    assert parsed.conditions == ("cancer",)
    assert parsed.drug_classes == ("antidiabetic drugs",)
    assert parsed.drugs == ()
    assert parsed.intent == "treatment"
    assert parsed.terms == ("diabetes drugs", "cancer")


def test_drugs_for_one_condition_are_a_class_where_another_is_asked_about() -> None:
    assert parse_question("Which gout drugs might treat psoriasis?").drug_classes == ("gout drugs",)
    assert parse_question("Which gout drugs might treat psoriasis?").conditions == ("psoriasis",)
    assert parse_question("Which gout drugs work best?").conditions == ("gout",)
    assert parse_question("Which gout drugs work best?").drug_classes == ()


def test_a_condition_in_other_words_gains_its_names() -> None:
    assert preprocess_query("Do antidepressants help smokers quit?").endswith(
        'AND ("smokers quit" OR "smoking cessation" OR "quit smoking" OR "quitting smoking" OR "stop smoking" '
        'OR "nicotine dependence" OR "tobacco use disorder" OR "tobacco dependence" OR "nicotine addiction")'
    )


@pytest.mark.parametrize(
    ("question", "conditions", "intent"),
    [
        ("What existing drugs might help treat long COVID fatigue?", ("long covid", "fatigue"), "treatment"),
        ("Which drugs prevent migraine?", ("migraine",), "prevention"),
        ("diabetic kidney disease", ("diabetic nephropathy",), "unknown"),
        ("What helps people quit smoking?", ("smoking cessation",), "treatment"),
        ("Do antidepressants help smokers quit?", ("smoking cessation",), "treatment"),
        ("Which medicines help smokers?", ("smoking cessation",), "treatment"),
        ("What helps smokers with COPD?", ("chronic obstructive pulmonary disease",), "treatment"),
        ("Which drugs help me lose weight?", ("obesity",), "treatment"),
        ("Which blood pressure drugs prevent migraine?", ("migraine",), "prevention"),
        ("What treats Erdheim-Chester?", ("erdheim-chester",), "treatment"),
        ("What works against hypersomnolence of unknown cause?", ("hypersomnolence of unknown cause",), "treatment"),
    ],
)
def test_a_question_names_its_condition_and_intent(question: str, conditions: tuple[str, ...], intent: str) -> None:
    parsed = parse_question(question)

    assert parsed.conditions == conditions
    assert parsed.intent == intent


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
    ],
    ids=["empty", "blank", "long", "digits", "operators", "nul", "escape", "surrogates", "replaced"],
)
def test_what_is_no_question_is_refused_in_one_line(text: str, reason: str) -> None:
    with pytest.raises(QuestionError, match=reason) as refused:
        validate_question(text)

    assert "\n" not in str(refused.value)


def test_bytes_are_no_question() -> None:
    with pytest.raises(QuestionError, match="not bytes"):
        validate_question(b"migraine")  # type: ignore[arg-type]


def test_a_refused_question_is_a_usage_error_and_a_value_error() -> None:
    assert issubclass(QuestionError, UsageError)
    assert issubclass(QuestionError, ValueError)


@pytest.mark.parametrize("text", ["Migraine?", "偏頭痛の薬は?", "Was hilft gegen Migräne?", "x" * LONGEST_QUESTION])
def test_a_question_in_any_language_is_taken(text: str) -> None:
    assert validate_question(f" {text}\n") == text


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What harm do statins do?", "statins"),
        ("What are the side effects of propranolol?", "propranolol"),
        ("What is the mechanism of action of colchicine in gout?", "colchicine gout"),
        ("Which drugs have FDA approval for migraine?", "migraine"),
        ("Which drugs increase the risk of falls?", "falls"),
        ("What are the side effects?", "side effects"),
        ("Does risk factor control help in stroke?", "risk factor control stroke"),
    ],
)
def test_words_that_say_what_is_asked_are_not_searched_for_unless_nothing_else_is_left(
    question: str, words: str
) -> None:
    assert plain_query(question) == words


@pytest.mark.parametrize(
    ("question", "sex"),
    [
        ("Which drugs treat osteoporosis in men?", "men"),
        ("Does it help women with migraine?", "women"),
        ("Does it help men and women?", None),
        ("Which drugs treat migraine?", None),
        ("Can pregnant women take it?", None),
    ],
)
def test_a_question_may_be_on_men_or_on_women_alone(question: str, sex: str | None) -> None:
    assert parse_question(question).sex == sex


def test_whom_a_harm_may_befall_is_not_searched_for_beside_it() -> None:
    query = preprocess_query("Does varenicline increase the risk of suicidal ideation in smokers?")
    assert query.startswith("(varenicline OR ")
    assert not any(word in query for word in ("smok", "increase", "risk"))
