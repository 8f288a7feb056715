"""A model names passages by number, and code puts the words."""

import pytest
from builders import record

from willowbark.agents.asking.numbering import UnknownPassage, show_passages, words_at
from willowbark.agents.asking.reader import ToRead
from willowbark.tools.records.evidence import Evidence

RESULT = "Attacks fell by 2.1 a month with propranolol (P = 0.01)."
ENDS = "Propranolol prevents attacks."
TRIAL = record("1", "Propranolol in migraine", f"All had migraine. {RESULT} {ENDS}")
PASSAGES = {"1": "All had migraine.", "2": RESULT, "3": ENDS, "r1": "Fewer attacks came.", "t1": "Attacks | 4 | 6"}


def shown(trial: Evidence) -> ToRead:
    return ToRead(trial, ("propranolol",), "migraine")


@pytest.mark.parametrize(
    ("quote", "words"),
    [
        ("2", RESULT),
        ("[2]", RESULT),
        ("2-3", f"{RESULT} {ENDS}"),
        ("2, 3", f"{RESULT} {ENDS}"),
        ("2 and 3", f"{RESULT} {ENDS}"),
        ("1, 3", f"All had migraine. … {ENDS}"),
        ("r1", "Fewer attacks came."),
        ("T1.", "Attacks | 4 | 6"),
        (RESULT, RESULT),
        (f"[2] {RESULT} [3] {ENDS}", f"{RESULT} {ENDS}"),
        ("As others found [2] before.", "As others found [2] before."),
        ("", ""),
        ("Rates of 2 and 3", "Rates of 2 and 3"),
    ],
)
def test_a_quote_is_what_stands_at_its_numbers_or_what_it_says(quote: str, words: str) -> None:
    assert words_at(quote, PASSAGES) == words


@pytest.mark.parametrize(
    ("quote", "why"),
    [
        ("4", r"names a passage that its record does not have \(4\)"),
        ("r2", r"does not have \(r2\)"),
        ("0", r"does not have \(0\)"),
        ("1-3, r1, t1", "names more than 4 passages"),
        ("1-99999999999", r"does not have \(4\)"),
        ("9" * 1800, r"does not have \(9{20}\)"),
    ],
)
def test_a_number_that_stands_for_nothing_is_refused(quote: str, why: str) -> None:
    with pytest.raises(UnknownPassage, match=why):
        words_at(quote, PASSAGES)


def test_every_sentence_of_a_record_has_a_number_and_keeps_it_in_economy() -> None:
    assert shown(TRIAL).line["text"] == show_passages({"1": "All had migraine.", "2": RESULT, "3": ENDS})
    assert shown(TRIAL).passages == {"1": "All had migraine.", "2": RESULT, "3": ENDS}
    short = ToRead(TRIAL, ("propranolol",), "migraine", in_short=True)
    assert short.passages.items() <= shown(TRIAL).passages.items()


def test_rows_of_tables_and_sentences_of_results_are_numbered_through_all_parts() -> None:
    sections = [
        {"kind": "results", "title": "Results", "text": f"{RESULT} {ENDS}\nMore came later."},
        {"kind": "table", "title": "Table 1", "text": "Drug | Attacks\nPropranolol | 4"},
        {"kind": "table", "title": "Table 2", "text": "Placebo | 6"},
    ]
    trial = TRIAL.noting(full_text={"sections": sections, "decides": "pivotal trial"})
    line = ToRead(trial, ("propranolol",), "migraine", is_whole=True).line
    assert line["results"] == [f"Results: [r1] {RESULT} [r2] {ENDS} [r3] More came later."]
    assert line["tables"] == ["Table 1: [t1] Drug | Attacks [t2] Propranolol | 4", "Table 2: [t3] Placebo | 6"]
