"""Queries for the trials and reviews on a condition."""

import pytest

from willowbark.tools.questions import parse_question
from willowbark.tools.questions.trials import KINDS_OF_STUDIES, list_first_queries, list_trial_queries, remove_kinds
from willowbark.tools.sources.studies.clinicaltrials import clean_term
from willowbark.tools.sources.studies.europepmc import translate_query


def queries_on(question: str) -> list[str]:
    return list_trial_queries(parse_question(question))


def test_a_condition_is_named_word_by_word_in_any_order() -> None:
    in_titles, in_abstracts = queries_on("Which drugs treat heart failure with preserved ejection fraction?")
    words = ("heart", "failure", "preserved", "ejection", "fraction")
    assert f"({' AND '.join(f'{word}[ti]' for word in words)})" in in_titles
    assert f"({' AND '.join(f'{word}[tiab]' for word in words)})" in in_abstracts
    assert in_titles.endswith(f" AND {KINDS_OF_STUDIES}")


def test_words_that_say_disease_of_any_condition_are_not_asked_for() -> None:
    [query, _] = queries_on("Which drugs treat gastroesophageal reflux disease?")
    assert "gastroesophageal[ti] AND reflux[ti]" in query
    assert "disease[ti]" not in query


def test_a_question_that_says_more_than_the_usual_name_is_asked_as_it_says() -> None:
    [query, _] = queries_on("Which drugs treat postoperative pain?")
    assert "postoperative[ti]" in query
    assert "(pain[ti] OR" not in query


@pytest.mark.parametrize(
    "question",
    ["Does propranolol prevent migraine?", "Which triptans treat migraine?", "Is propranolol safe in pregnancy?"],
)
def test_questions_on_named_drugs_or_harm_have_no_query_for_all_trials(question: str) -> None:
    assert queries_on(question) == []
    assert list_first_queries(parse_question(question)) == [parse_question(question).text]


def test_a_registry_is_not_asked_for_kinds_of_studies() -> None:
    [query, _] = queries_on("Which drugs treat gout?")
    assert remove_kinds(query).startswith("(gout[ti]")
    assert "randomized" not in clean_term(query)


def test_europe_pmc_gets_the_same_in_its_own_fields() -> None:
    [query, _] = queries_on("Which drugs treat gout?")
    sent = translate_query(query)
    assert "TITLE:gout" in sent
    assert 'PUB_TYPE:"randomized controlled trial"' in sent
    assert "[" not in sent
