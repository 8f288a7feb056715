"""Who is meant and what for: the drug's part in a study, its purpose, and which sentences and outcomes count."""

import re

import pytest

from willowbark.tools.appraisal import Direction, conclusion_of, prevents
from willowbark.tools.evidence import Evidence
from willowbark.tools.reading.passages import is_background, passages
from willowbark.tools.reading.purpose import purpose_of
from willowbark.tools.reading.roles import given_to_all, in_background, stands_by
from willowbark.tools.reading.topic import topic_in

DRUG = re.compile("nadolol", re.IGNORECASE)


@pytest.mark.parametrize(
    "text",
    [
        "Timolol was added to nadolol; bleeding was rarer.",
        "Nadolol-induced bradycardia in a runner.",
        "Adults with an inadequate response to nadolol took timolol.",
        "All patients received antiemetics and nadolol before timolol or placebo.",
        "Rescue nadolol was allowed in both arms.",
    ],
)
def test_what_everybody_took_or_what_did_the_harm_only_stands_by(text: str) -> None:
    assert stands_by(text, DRUG)


@pytest.mark.parametrize(
    "text", ["Nadolol lowered pressure.", "Rescue nadolol was rare. Nadolol twice a day lowered pressure."]
)
def test_a_drug_that_is_tested_anywhere_does_not_merely_stand_by(text: str) -> None:
    assert not stands_by(text, DRUG)


def test_a_mention_after_despite_is_background() -> None:
    text = "Attacks went on despite nadolol."
    found = DRUG.search(text)
    assert found
    assert in_background(text, found.start(), found.end())


@pytest.mark.parametrize(
    ("text", "has_inert", "is_given"),
    [
        ("Nadolol plus timolol was compared with nadolol alone.", False, True),
        ("Timolol plus nadolol against placebo plus nadolol.", True, True),
        ("Timolol or placebo.", True, False),
        ("Nadolol alone was compared with sclerotherapy.", False, False),
        ("Timolol + nadolol was compared with atenolol + nadolol.", False, True),
    ],
)
def test_a_drug_in_every_arm_is_not_what_is_compared(text: str, has_inert: bool, is_given: bool) -> None:
    assert given_to_all(text, DRUG, has_inert=has_inert) is is_given


def test_where_each_of_two_drugs_is_given_alone_both_are_tested() -> None:
    text = "Nadolol alone, timolol alone, or nadolol plus timolol."
    assert not given_to_all(text, DRUG, has_inert=False, others=frozenset({"timolol"}))


@pytest.mark.parametrize(
    ("title", "text", "purpose"),
    [
        ("Nadolol in acute migraine", "Nadolol gave pain relief within two hours.", "relief"),
        ("Nadolol for migraine prophylaxis", "Nadolol lowered attack frequency.", "prevention"),
        (
            "Nadolol in migraine",
            "Monthly attacks were rarer on nadolol; an acute attack was treated as usual.",
            "prevention",
        ),
        ("Nadolol in migraine", "Nadolol helped.", "unknown"),
        (
            "Triptans in people on prophylaxis",
            "Timolol prevented attacks. Nadolol was taken for an acute attack. Nadolol aborted attacks.",
            "relief",
        ),
    ],
)
def test_the_purpose_is_read_where_the_drug_is_named(title: str, text: str, purpose: str) -> None:
    assert purpose_of(title, text, DRUG) == purpose


def test_a_drug_that_ends_attacks_is_no_answer_to_a_question_about_preventing_them() -> None:
    title, text = "Nadolol in acute migraine", "Nadolol gave more pain relief than placebo at two hours (p<0.01)."
    asked = [
        conclusion_of(title, text, "nadolol", "migraine", intent=intent).direction
        for intent in ("treatment", "prevention")
    ]
    assert asked == [Direction.supports, Direction.neutral]


@pytest.mark.parametrize(
    ("title", "content", "is_so"),
    [
        ("Nadolol for migraine prophylaxis", "Nadolol lowered attack frequency.", True),
        ("Nadolol in acute migraine", "Nadolol aborted the attack.", False),
    ],
)
def test_a_record_prevents_or_it_does_not(title: str, content: str, is_so: bool) -> None:
    record = Evidence.model_validate(
        {"content": content, "citation": {"source": "pubmed", "title": title, "url": "https://example.org/1"}}
    )
    assert prevents(record, "nadolol") is is_so


@pytest.mark.parametrize(
    ("sentence", "known"),
    [
        ("Nadolol has been widely recommended against bleeding.", True),
        ("Previous studies suggest that nadolol lowers pressure.", True),
        ("Our results show what previous studies suggested.", False),
        ("Nadolol lowered pressure by 20% (p<0.01).", False),
    ],
)
def test_what_was_known_before_is_no_result(sentence: str, known: bool) -> None:
    assert is_background(sentence) is known


def test_without_headings_results_begin_after_the_aim() -> None:
    text = "Beta-blockers work in angina. We randomised 40 adults to nadolol or placebo. Attacks fell on nadolol."
    assert next(p.text for p in passages("Nadolol", text)).startswith("We randomised")


def test_a_short_form_of_the_condition_names_it() -> None:
    topic = topic_in("Nausea after surgery (PONV) is common.", "nausea")
    assert topic.names_outcome("The incidence of PONV fell")
    assert not topic.names_outcome("in patients with nausea")


def test_what_is_asked_about_is_not_a_side_effect() -> None:
    text = "Nausea was less frequent with ondansetron than with placebo (p<0.01)."
    found = conclusion_of("Ondansetron against nausea", text, "ondansetron", "nausea and vomiting")
    assert found.direction is Direction.supports


@pytest.mark.parametrize(
    ("text", "drug", "verdict"),
    [
        ("Nadolol plus timolol reduced bleeding more than nadolol alone (p<0.01).", "nadolol", "neutral"),
        ("Ligation was more effective than nadolol against bleeding.", "nadolol", "neutral"),
        ("Nadolol was less effective than ligation against bleeding.", "nadolol", "contradicts"),
        ("Bleeding did not differ between the 40 mg and 80 mg doses of nadolol.", "nadolol", "unclear"),
        ("Adding nadolol to ligation did not reduce bleeding further.", "nadolol", "contradicts"),
        ("Timolol offers no advantage over nadolol against bleeding.", "nadolol", "neutral"),
        ("Nadolol induced a mean reduction in bleeding of 25% (p<0.01).", "nadolol", "supports"),
        (
            "The probability of remaining free of bleeding was higher with nadolol than with placebo.",
            "nadolol",
            "supports",
        ),
        ("Time to bleeding was longer with nadolol than with placebo (p=0.02).", "nadolol", "supports"),
        ("Control of bleeding was poor in patients given nadolol before.", "nadolol", "neutral"),
    ],
)
def test_a_comparison_speaks_for_the_drug_only_where_it_is_what_differs(text: str, drug: str, verdict: str) -> None:
    found = conclusion_of("Prevention of variceal bleeding", f"We treated 80 adults. {text}", drug, "variceal bleeding")
    given = found.direction.value
    assert given == verdict or {given, verdict} <= {"neutral", "unclear"}
