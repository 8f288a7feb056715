"""A study's question is matched to the one asked by aim, condition and people, never by words alone."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from willowbark.tools.appraisal.fit import COUNTED, FITS, Topic, judge_fit
from willowbark.tools.lexicon.conditions import known_names
from willowbark.tools.lexicon.tree import list_tree_numbers
from willowbark.tools.questions import Question, parse_question
from willowbark.tools.records.study import Aim

TREAT = parse_question("Which existing drugs might treat migraine?")
PREVENT = parse_question("Which existing drugs could prevent migraine?")
ACUTE = parse_question("Which drugs help in acute migraine?")
IN_TREE = sorted(name for name in set(known_names()) if list_tree_numbers(name))


def on(*conditions: str, asked: Question = TREAT) -> Question:
    return replace(asked, conditions=conditions)


@pytest.mark.parametrize(
    ("asked", "condition", "people", "fit"),
    [
        ("depression", "depressive symptoms", "", "same"),
        ("depression", "major depressive disorder", "", "narrower"),
        ("depression", "treatment-resistant depression in adults", "", "narrower"),
        ("major depressive disorder", "depressive disorder", "", "wider"),
        ("hypertension", "hypertension in type 2 diabetes", "", "same"),
        ("type 2 diabetes", "hypertension in type 2 diabetes", "", "comorbid"),
        ("type 2 diabetes", "hypertension", "patients with type 2 diabetes", "comorbid"),
        ("hypertension", "hypertension", "patients with type 2 diabetes", "same"),
        ("heart failure", "depression in patients with heart failure", "", "comorbid"),
        ("diabetes", "diabetic nephropathy", "", "complication"),
        ("type 2 diabetes", "diabetic nephropathy", "", "complication"),
        ("cirrhosis", "ascites due to cirrhosis", "", "complication"),
        ("migraine", "a complication of migraine", "", "complication"),
        ("migraine", "something else in people with migraine", "", "comorbid"),
        ("arthritis", "NSAID-induced gastric ulcers in patients with arthritis", "", "comorbid"),
        ("hypertension", "portal hypertension", "", "other"),
        ("hypertension", "pulmonary arterial hypertension", "", "other"),
        ("stroke", "stroke in people with atrial fibrillation", "", "same"),
        ("atrial fibrillation", "prevention of stroke in atrial fibrillation", "", "comorbid"),
        ("gout", "depression", "", "other"),
        ("gout", "", "", "other"),
        ("examplitis", "severe examplitis", "", "narrower"),
    ],
)
def test_the_condition_decides_by_the_tree_and_apart_from_the_people(
    asked: str, condition: str, people: str, fit: str
) -> None:
    assert judge_fit(Topic(condition, people), on(asked)) == fit


@pytest.mark.parametrize(
    ("asked", "aim", "condition", "fit"),
    [
        (on("stroke", asked=PREVENT), "prevent", "stroke", "same"),
        (on("stroke", asked=PREVENT), "treat", "stroke", "other"),
        (on("stroke"), "treat", "stroke", "same"),
        (on("stroke"), "prevent", "stroke", "other"),
        (on("gout"), "prevent", "gout flares", "same"),
        (ACUTE, "prevent", "migraine attacks", "other"),
        (ACUTE, "treat", "migraine attacks", "same"),
        (on("parkinsonism"), "harm", "parkinsonism", "adverse_effect"),
        (on("gout"), "mechanism", "gout", "other"),
        (on("gout"), None, "gout", "same"),
    ],
)
def test_only_the_asked_aim_counts(asked: Question, aim: Aim | None, condition: str, fit: str) -> None:
    assert judge_fit(Topic(condition, aim=aim), asked) == fit


def test_what_is_prevented_in_people_who_have_the_condition_treats_it() -> None:
    topic = Topic("depression", "adults with remitted depression", "prevent")
    assert judge_fit(topic, on("depression")) == "same"


@given(st.sampled_from(IN_TREE))
def test_a_condition_under_any_of_its_names_fits_itself(name: str) -> None:
    assert judge_fit(Topic(name), on(name)) in COUNTED


@given(st.sampled_from(IN_TREE), st.sampled_from(IN_TREE))
def test_a_further_condition_asked_about_never_makes_a_fit_worse(one: str, other: str) -> None:
    alone = judge_fit(Topic(one), on(other))
    together = judge_fit(Topic(one), on(other, "gout"))
    assert FITS.index(together) <= FITS.index(alone)


@given(st.sampled_from(IN_TREE), st.sampled_from(["harm", "mechanism", "other"]))
def test_studies_of_harm_kinetics_or_cost_never_support(name: str, aim: Aim) -> None:
    assert judge_fit(Topic(name, aim=aim), on(name)) not in COUNTED


def test_a_question_without_a_condition_is_fitted_by_every_study() -> None:
    assert judge_fit(Topic("gout"), on()) == "same"
