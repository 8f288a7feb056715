"""What a model writes, and what a record says, is gone through once, however long: work is counted, not time."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from builders import count_calls
from faults.local_files import SENTENCES, appraise

from willowbark.tools.questions import parse_question, preprocess_query
from willowbark.tools.reading.text import LONGEST_SENTENCE, split_spans

SHORT, LONG = 200, 800  # words
AT_MOST = 6.5  # times the work for four times the words; what grows with the square takes sixteen
_LETTERS = random.Random(7)
_WORDS = ["".join(_LETTERS.choices("bcdfghjklmnpqrst", k=_LETTERS.randint(3, 9))) for _ in range(LONG)]


def work(of: Callable[[str], Any], text: str) -> int:
    of(text[:10])  # what is loaded once does not count
    return count_calls(lambda: of(text))


@pytest.mark.parametrize("of", [parse_question, preprocess_query], ids=lambda each: each.__name__)
@pytest.mark.parametrize("joint", [" ", " OR ", " NOT ", " (", ' "'])
def test_four_times_the_words_are_about_four_times_the_work(of: Callable[[str], Any], joint: str) -> None:
    short, long = (work(of, joint.join(_WORDS[:words])) for words in (SHORT, LONG))
    assert long < AT_MOST * short


@pytest.mark.parametrize("cue", ["what which drugs", "can propranolol could"])
def test_words_of_asking_that_come_again_and_again_are_not_tried_with_each_other(cue: str) -> None:
    short, long = (work(parse_question, f"{cue} " * words) for words in (SHORT // 4, LONG // 4))
    assert long < AT_MOST * short


def test_brackets_in_brackets_have_an_end() -> None:
    assert "migraine" in preprocess_query("(" * 1999 + "migraine")


@pytest.mark.parametrize("words", SENTENCES.values(), ids=SENTENCES)
def test_four_times_the_abstract_is_about_four_times_the_work(words: str) -> None:
    length = 4 * LONGEST_SENTENCE
    text = words * (4 * length // len(words))
    assert work(appraise, text) < AT_MOST * work(appraise, text[:length])


def test_what_has_no_full_stop_is_read_in_parts_and_none_is_lost() -> None:
    words = "propranolol " * LONGEST_SENTENCE
    letters = "x" * (2 * LONGEST_SENTENCE + 5)
    for text in (words, letters, f"{' ' * 3 * LONGEST_SENTENCE}x"):
        spans = split_spans(text)
        assert max(end - start for start, end in spans) <= LONGEST_SENTENCE
        assert "".join(text[start:end] for start, end in spans).replace(" ", "") == text.replace(" ", "")
    assert split_spans("Drug A helped. Drug B did not.") == [(0, 14), (15, 30)]
