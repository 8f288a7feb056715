"""Relevance follows the words and the source's own order, and nothing else."""

import pytest
from builders import evidence
from hypothesis import given
from hypothesis import strategies as st

from willowbark.tools.lexicon.stemming import stems
from willowbark.tools.ranking import rank

TEXTS = st.text(min_size=1, max_size=40) | st.sampled_from(
    ["migraine", "Migraine prevention", "naltrexone fatigue", "—", "β"]
)


@given(st.text(max_size=60), st.lists(TEXTS, max_size=6))
def test_relevance_lies_between_0_and_1_and_repeats(question: str, contents: list[str]) -> None:
    records = [evidence(text, pmid=at + 1) for at, text in enumerate(contents)]

    ranked = rank(question, records)

    assert ranked == rank(question, records)
    assert sorted(r.key for r in ranked) == sorted(r.key for r in records)
    assert all(0 <= r.relevance <= 1 for r in ranked)
    assert [r.relevance for r in ranked] == sorted((r.relevance for r in ranked), reverse=True)


def test_a_better_fit_is_more_relevant() -> None:
    fits = [
        evidence("Soil bacteria.", pmid="1"),
        evidence("Drugs to prevent migraine.", pmid="2"),
        evidence("Migraine.", pmid="3"),
    ]

    ranked = rank("Which drugs prevent migraine?", fits)

    assert [r.key for r in ranked] == ["pmid:2", "pmid:3", "pmid:1"]
    assert len({r.relevance for r in ranked}) == 3


@pytest.mark.parametrize("question", ["", "?!", "which drugs might help", "zzz"])
def test_without_a_matching_word_the_sources_order_decides(question: str) -> None:
    ranked = rank(question, [evidence("A", pmid="9"), evidence("B", pmid="5")])

    assert [r.key for r in ranked] == ["pmid:9", "pmid:5"]
    assert ranked[0].relevance > ranked[1].relevance


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("COVID", "post-COVID-19 fatigue"),
        ("Sjogren", "Sjögren’s syndrome"),
        ("Sjögren", "SJÖGREN disease"),
        ("β-blocker", "β blockers in angina"),
        ("偏头痛", "偏头痛 prevention"),
    ],
)
def test_a_word_is_found_however_it_is_written(asked: str, written: str) -> None:
    assert rank(asked, [evidence("soil", pmid="1"), evidence(written, pmid="2")])[0].key == "pmid:2"


def test_stems_leave_out_what_every_question_says() -> None:
    assert stems("What existing drugs might help treat long COVID fatigue?") == ("long", "covid", "fatigu")
