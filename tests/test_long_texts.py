"""What a model writes, and what a record says, is gone through once, however long: work is counted, not time."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from builders import count_calls

from willowbark.tools.appraisal.candidates import appraise_candidates
from willowbark.tools.questions import parse_question, preprocess_query
from willowbark.tools.reading.text import LONGEST_SENTENCE, sentence_spans
from willowbark.tools.records.evidence import Citation, Evidence

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


QUESTION = "Which existing drugs could prevent migraine attacks?"
RECORDS = {
    "sentences": "Propranolol reduced attacks compared with placebo (p<0.001). Timolol did not in 60 patients. ",
    "a name again and again": "migraine ",
    "names without an end": "propranolol, timolol and ",
    "figures without an end": "12.5 (95% CI 1.2 to 3.4) ",
    "brackets without an end": "(((propranolol ",
}


def appraise(text: str) -> None:
    title = "Propranolol in migraine: a randomized trial"
    cited = Citation(source="pubmed", title=title, url="https://pubmed.ncbi.nlm.nih.gov/2/")
    record = Evidence(content=f"{title}\n\n{text}", citation=cited, metadata={"pmid": "2"})
    appraise_candidates(parse_question(QUESTION), [record])


@pytest.mark.parametrize("words", RECORDS.values(), ids=RECORDS)
def test_four_times_the_abstract_is_about_four_times_the_work(words: str) -> None:
    length = 4 * LONGEST_SENTENCE
    text = words * (4 * length // len(words))
    assert work(appraise, text) < AT_MOST * work(appraise, text[:length])


def test_what_has_no_full_stop_is_read_in_parts_and_none_is_lost() -> None:
    words = "propranolol " * LONGEST_SENTENCE
    letters = "x" * (2 * LONGEST_SENTENCE + 5)
    for text in (words, letters, f"{' ' * 3 * LONGEST_SENTENCE}x"):
        spans = sentence_spans(text)
        assert max(end - start for start, end in spans) <= LONGEST_SENTENCE
        assert "".join(text[start:end] for start, end in spans).replace(" ", "") == text.replace(" ", "")
    assert sentence_spans("Drug A helped. Drug B did not.") == [(0, 14), (15, 30)]
