"""Queries for the trials and reviews on a condition."""

import pytest

from willowbark.tools.lexicon import condition_synonyms
from willowbark.tools.lexicon.matching import read_table, split_names
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


def test_titles_are_searched_for_what_is_measured_in_a_condition_too_and_abstracts_are_not() -> None:
    in_titles, in_abstracts = queries_on("Which drugs treat glaucoma?")
    assert "(intraocular[ti] AND pressure[ti])" in in_titles
    assert "intraocular" not in in_abstracts


def test_title_words_are_those_of_conditions_and_none_repeats_a_name() -> None:
    rows = read_table("title_words.tsv")
    assert [row["name"] for row in rows if not parse_question(f"Which drugs treat {row['name']}?").conditions] == []
    names = {row["name"]: {*map(str.casefold, condition_synonyms(row["name"]))} for row in rows}
    assert [row["name"] for row in rows if names[row["name"]] & {*split_names(row["titles"])}] == []


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
