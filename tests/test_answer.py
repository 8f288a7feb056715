"""Answers to yes/no questions, which a benchmark measures."""

import doctest

import pytest
from benchmarks import answer
from benchmarks.answer import answer_of


def test_the_example_holds() -> None:
    assert doctest.testmod(answer).failed == 0


@pytest.mark.parametrize(
    ("question", "text", "verdict"),
    [
        ("Does A1 reduce pain?", "Conclusion: A1 reduced pain significantly.", "yes"),
        ("Does A1 reduce pain?", "Conclusion: A1 did not reduce pain.", "no"),
        ("Is A1 as safe as B2?", "Conclusion: A1 and B2 had similar complication rates.", "yes"),
        ("Does hospital type affect cost?", "Conclusion: Costs were similar across hospital types.", "no"),
        ("Is old age a contraindication to surgery?", "Conclusion: Surgery is safe and effective in old age.", "no"),
        ("Is heparin safe here?", "Conclusion: Heparin led to significant complication rates.", "no"),
        ("Do we need a full dose?", "Conclusion: A half dose may be sufficient.", "no"),
        ("Are A1 and B2 the same?", "Conclusion: A1 was 50% longer than B2.", "no"),
        ("Does A1 reduce pain?", "Results: Pain did not differ. Scores were not changed. Use was not lower.", "no"),
    ],
)
def test_what_denies_depends_on_the_question(question: str, text: str, verdict: str) -> None:
    assert answer_of(question, text).verdict == verdict


def test_no_text_answers_maybe() -> None:
    assert answer_of("Is it?", "").verdict == "maybe"
